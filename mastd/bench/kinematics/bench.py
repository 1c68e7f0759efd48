"""Benches of the kinematics on the 117,649 poses of Jin 2012, section IV.1.

Every figure is the processor time of a compiled loop over the grid, divided by the number of poses; a run is
one such loop. The sweeps take turns within a run, so that other load on the machine meets all of them alike.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np

from mastd.arrays import FloatArray
from mastd.bench.kinematics.batch import LANES, SCRATCH_SIZE, Batch, observe_batch
from mastd.bench.kinematics.newton import NORMAL_ROWS
from mastd.bench.kinematics.rows import (
    Rows,
    newton_library_rows,
    newton_rows,
    observe_neutral_rows,
    observe_rows,
    second_order_rows,
)
from mastd.bench.kinematics.second_order import SecondOrderObserver
from mastd.bench.registry import Figure, bench, figure, ratio
from mastd.kinematics.geometry import Geometry
from mastd.kinematics.inverse import actuator_lengths_batch
from mastd.kinematics.workspace import lengths_at
from mastd.settings.core.loader import load
from mastd.settings.core.starter import find
from mastd.settings.table.table import TableSettings

RUNS = 30
SLOW_RUNS = 3
WORST_POSES = 1500
WORST_REPEATS = 64

_TRANSLATIONS = np.array([-10.0, -5.0, -3.0, 0.0, 3.0, 5.0, 10.0]) * 1e-3
_ANGLES = np.radians([-1.0, -0.5, -0.3, 0.0, 0.3, 0.5, 1.0])

# A warm start is one cycle of 1 ms behind: at 0.1 m/s and 0.1 rad/s about 0.1 mm and 0.1 mrad in each axis.
_CYCLE_MOTION = 1e-4


class Setting:
    """The starter table, the grid and its lengths, and the arguments that the sweeps share."""

    def __init__(self) -> None:
        geometry = Geometry.from_settings(load(find("table", "table"), TableSettings))
        self.observer = SecondOrderObserver(geometry)
        self.legs = geometry.legs
        grid = np.meshgrid(*[_TRANSLATIONS] * 3, *[_ANGLES] * 3, indexing="ij")
        self.poses = np.ascontiguousarray(np.stack(grid, axis=-1).reshape(-1, 6))
        self.lengths = lengths_at(geometry, self.poses)
        self.limits = self.observer.limits
        self.found = Rows.of(len(self.poses))


def seconds(function: Callable[[], object]) -> float:
    """Return the processor time of one call."""
    begun = time.thread_time()
    function()
    return time.thread_time() - begun


def interleave(functions: dict[str, Callable[[], object]], runs: int) -> dict[str, FloatArray]:
    """Return the times (runs,) of each function in s, after one call each that compiles and warms up."""
    for function in functions.values():
        function()
    times = np.empty((runs, len(functions)))
    for run in range(runs):
        for column, function in enumerate(functions.values()):
            times[run, column] = seconds(function)
    return {name: times[:, column] for column, name in enumerate(functions)}


@bench("ik.us")
def inverse_kinematics() -> dict[str, Figure]:
    """Inverse kinematics of one pose."""
    setting = Setting()
    lengths = np.empty_like(setting.lengths)
    times = interleave({"ik": lambda: actuator_lengths_batch(setting.legs, setting.poses, lengths)}, RUNS)
    return {"ik.us": figure(times["ik"] / len(lengths) * 1e6, "us")}


@bench(
    "fk.observer_us",
    "fk.observer_warm_us",
    "fk.second_order_us",
    "fk.second_order_over_observer",
    "fk.newton_us",
    "fk.newton_lapack_us",
    "fk.newton_svd_us",
    "fk.newton_over_observer",
)
def forward_kinematics() -> dict[str, Figure]:
    """Forward kinematics of one pose: observer cold and warm, second order, Newton three ways."""
    setting = Setting()
    model, lengths, found = setting.observer.model, setting.lengths, setting.found
    given = (lengths, setting.limits)
    cold, w, work = np.zeros_like(setting.poses), np.empty(36), np.empty((NORMAL_ROWS, 6))
    fitted, jacobian = np.empty(lengths.shape[1]), np.empty((lengths.shape[1], 6))
    signs = np.random.default_rng(4).choice((-1.0, 1.0), size=setting.poses.shape)
    warm = setting.poses + _CYCLE_MOTION * signs

    def library(singular_values: bool) -> Callable[[], object]:
        return lambda: newton_library_rows(setting.legs, singular_values, *given, fitted, jacobian, found)

    times = interleave(
        {
            "observer_us": lambda: observe_neutral_rows(setting.legs, model, *given, found),
            "observer_warm_us": lambda: observe_rows(setting.legs, model.gain, *given, warm, found),
            "second_order_us": lambda: second_order_rows(setting.legs, model, *given, cold, w, found),
            "newton_us": lambda: newton_rows(setting.legs, False, *given, cold, work, found),
        },
        RUNS,
    )
    times |= interleave({"newton_lapack_us": library(False), "newton_svd_us": library(True)}, SLOW_RUNS)
    figures = {f"fk.{name}": figure(values / len(lengths) * 1e6, "us") for name, values in times.items()}
    observed = figures["fk.observer_us"].median
    newton = min(figures[f"fk.{name}"].median for name in times if name.startswith("newton"))
    figures["fk.second_order_over_observer"] = ratio(figures["fk.second_order_us"].median / observed, RUNS)
    figures["fk.newton_over_observer"] = ratio(newton / observed, RUNS)
    return figures


@bench("fk.worst_over_mean")
def worst_pose() -> dict[str, Figure]:
    """How much longer the observer takes for the slowest pose of a sample of the grid than for the mean."""
    setting = Setting()
    found = Rows.of(WORST_REPEATS)
    chosen = setting.lengths[:: len(setting.lengths) // WORST_POSES]
    best = np.full(len(chosen), np.inf)
    for _ in range(SLOW_RUNS):
        for row, lengths in enumerate(chosen):
            repeated = np.tile(lengths, (WORST_REPEATS, 1))
            solve = partial(
                observe_neutral_rows, setting.legs, setting.observer.model, repeated, setting.limits, found
            )
            elapsed = seconds(solve)
            best[row] = min(best[row], elapsed)
    return {"fk.worst_over_mean": ratio(float(best.max() / best.mean()), len(chosen))}


@bench("fk.batch_poses_per_s")
def batch() -> dict[str, Figure]:
    """Poses that the batch form solves in a second on one core."""
    setting = Setting()
    rows = len(setting.lengths)
    found = Batch(np.empty((rows, 6)), np.empty(rows), np.empty(rows, np.bool_))
    solve = partial(
        observe_batch,
        setting.legs,
        setting.observer.model,
        setting.lengths,
        setting.limits,
        found,
        np.empty(SCRATCH_SIZE),
        np.empty(LANES, np.int64),
    )
    times = interleave({"batch": solve}, RUNS)
    return {"fk.batch_poses_per_s": figure(rows / times["batch"], "1/s")}
