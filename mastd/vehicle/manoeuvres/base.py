"""The manoeuvres of the car alone: settled and rolling at speed, over a ground, under a driver's controls."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

import numpy as np

from mastd.errors import UsageError
from mastd.roads.ground import Ground, Side
from mastd.settings.vehicle.solver_names import Formulation
from mastd.vehicle.drivers.base import SAMPLE, Driver, Seen
from mastd.vehicle.drivers.controls import ControlLaw, hands_off, ramp
from mastd.vehicle.manoeuvres.summary import Finding
from mastd.vehicle.model.definition import Model
from mastd.vehicle.solver.choice import Solver
from mastd.vehicle.state.trace import Trace, join

Accuracy: TypeAlias = Literal["fast", "exact"]

KM_PER_H: Final = 1.0 / 3.6
_CHUNK: Final = 500
MAX_STEPS: Final = 2_000_000
"""Bounds the memory that a trace takes."""


@dataclass(frozen=True, eq=False)
class Manoeuvre:
    """One run: it begins settled, straight ahead, all wheels rolling."""

    name: str
    speed: float
    """m/s."""
    duration: float
    """s; a driver may end it before."""
    ground: Ground
    controls: ControlLaw
    """What is done whatever the car does; drivers write over it."""
    drivers: Callable[[], Sequence[Driver]] = tuple
    """Makes the drivers of one run, who act in this order."""
    gear: int = 0
    """That is engaged in the beginning, of a vehicle with a powertrain; 0 neutral."""
    findings: Callable[[Trace], tuple[Finding, ...]] = lambda trace: ()
    """What this manoeuvre tells beside the summary of any run."""


def jturn(
    model: Model,
    *,
    speed: float = 60.0 * KM_PER_H,
    duration: float = 4.0,
    rack: float = -0.007,
    start: float = 0.5,
    ramp_start: float = 0.5,
    ramp_end: float = 1.0,
) -> Manoeuvre:
    """Return the J-turn: the first rack goes to ``rack`` (m, left positive) from ``ramp_start`` to
    ``ramp_end`` (s).

    Raises UsageError, one line each, if the vehicle has no rack, it does not travel so far, or the times do
    not follow each other.
    """
    if not model.drives:
        raise UsageError(f"jturn: {model.name} has no rack to steer with")
    drive = model.drives[0]
    problems = []
    if not abs(rack) <= drive.limit:
        problems.append(
            f"--rack: {rack * 1e3:g} mm is beyond the travel of {drive.name}, ±{drive.limit * 1e3:g} mm"
        )
    if not ramp_start < ramp_end:
        problems.append(f"--ramp-end: {ramp_end:g} s is not after --ramp-start, {ramp_start:g} s")
    if problems:
        raise UsageError("\n".join(problems))
    return Manoeuvre("jturn", speed, duration, Ground.flat(), ramp(model, 0, rack, ramp_start, ramp_end))


def bump(
    model: Model,
    *,
    speed: float = 40.0 * KM_PER_H,
    duration: float = 2.5,
    distance: float = 5.0,
    length: float = 1.2,
    height: float = 0.03,
    side: Side = "both",
) -> Manoeuvre:
    """Return the run straight over a half-sine bump that begins at x = ``distance`` (all lengths in m)."""
    ground = Ground.bump(distance, length, height, side)
    return Manoeuvre("bump", speed, duration, ground, hands_off(model))


def driven(manoeuvre: Manoeuvre, controls: ControlLaw, duration: float) -> Manoeuvre:
    """Return the manoeuvre under other controls, for ``duration`` s."""
    return replace(manoeuvre, controls=controls, duration=duration, drivers=tuple, gear=0)


def step_count(duration: float, step: float) -> int:
    """Return how many steps reach ``duration``, its rounding aside; raise UsageError if that is no number."""
    wanted = duration / step
    if not 0.0 < wanted <= MAX_STEPS:
        raise UsageError(
            f"--duration: {duration:g} s is {wanted:.10g} steps of {step:g} s, expected 1 to {MAX_STEPS}"
        )
    return max(1, math.ceil(wanted - 1e-9))


def play(
    model: Model,
    manoeuvre: Manoeuvre,
    *,
    step: float = 1e-3,
    solver: Solver | Formulation = "chassis",
    accuracy: Accuracy = "fast",
    progress: Callable[[float], None] | None = None,
    trouble: Callable[[str], None] | None = None,
) -> tuple[Trace, float]:
    """Run a manoeuvre; return its trace, from t = 0 on, and the thread's CPU time for one step, s.

    Drivers are asked every 10 ms, or every step where that is longer. ``progress`` is called with the time
    (s) that has been simulated. The first chunk of steps, which may have to compile, is not in the CPU time.
    ``trouble`` is called with what a formulation says of a step that failed, in a line.
    A run whose numbers are not finite any more ends there, and one that a driver has brought to its end.
    """
    from mastd.vehicle.simulation.simulation import Simulation

    count = step_count(manoeuvre.duration, step)
    simulation = Simulation(model, step=step, solver=solver, accuracy=accuracy, ground=manoeuvre.ground)
    simulation.start(manoeuvre.speed, manoeuvre.gear)
    drivers = manoeuvre.drivers()
    sample = max(1, round(SAMPLE / step)) if drivers else _CHUNK
    traces = [simulation.sample()]
    seconds, done = 0.0, 0
    first = sample if drivers else 1
    while done < count:
        chunk = min(sample if done else first, count - done)
        times = np.asarray(step * np.arange(done + 1, done + chunk + 1), dtype=np.float64)
        controls = manoeuvre.controls(times)
        seen = Seen.last(traces[-1])
        for driver in drivers:
            driver.act(seen, times, controls)
        rows = controls.rows(model)
        begun = time.thread_time()
        traces.append(simulation.run(rows))
        seconds += time.thread_time() - begun if done else 0.0
        done += chunk
        if progress is not None:
            progress(done * step)
        if trouble is not None and simulation.trouble:
            trouble(simulation.trouble)
            break
        if not np.isfinite(traces[-1].chassis[-1]).all():
            break
        if drivers and any(driver.done for driver in drivers):
            break
    return join(traces), seconds / max(done - first, 1)
