"""Bench of the estimator of rates and accelerations, on the starter table with its accelerometers.

The figure is the processor time of a compiled loop over readings at rest, divided by the cycles; a run is one
such loop.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from mastd.arrays import FloatArray
from mastd.bench.kinematics.bench import RUNS, interleave
from mastd.bench.registry import Figure, bench, figure
from mastd.control.estimation.layout import MotionModel, MotionState
from mastd.control.estimation.motion_estimate import MotionEstimator, estimate_motion
from mastd.kernel import kernel
from mastd.kinematics.forward import Observer
from mastd.kinematics.geometry import Geometry
from mastd.settings.core.loader import load
from mastd.settings.core.starter import find
from mastd.settings.daemon.daemon import DaemonSettings
from mastd.settings.table.table import TableSettings

CYCLES = 10_000


@kernel
def sweep(
    poses: FloatArray,
    readings: FloatArray,
    model: MotionModel,
    state: MotionState,
) -> int:
    """Estimate every cycle with all accelerometers valid; return the bits of those ever left out."""
    left_out = 0
    for k in range(poses.shape[0]):
        left_out |= estimate_motion(poses[k], readings[k], -1, 1, model, state)
    return left_out


@bench("estimate.us")
def estimate() -> dict[str, Figure]:
    """Rates and accelerations of one cycle from pose and accelerometers."""
    table = load(find("table", "table"), TableSettings)
    daemon = load(find("daemon", "simulated"), DaemonSettings)
    gain = Observer(Geometry.from_settings(table)).gain
    random = np.random.default_rng(0)
    poses = random.normal(0.0, table.sensors.length.noise, (CYCLES, len(table.links))) @ gain.T
    sensors = table.sensors.accelerometers
    readings = random.normal(0.0, table.sensors.acceleration.noise, (CYCLES, len(sensors)))
    readings += table.gravity * np.array([sensor.direction[2] for sensor in sensors])
    motion = MotionEstimator(table.sensors, table.gravity, daemon.estimator, gain, daemon.period_ns * 1e-9)
    call = partial(sweep, poses, readings, motion.model, motion.state)
    times = interleave({"estimate": call}, RUNS)
    return {"estimate.us": figure(times["estimate"] / CYCLES * 1e6, "us")}
