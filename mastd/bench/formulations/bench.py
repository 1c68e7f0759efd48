"""Benches of the vehicle's solvers: every formulation on every shipped vehicle, beside each other.

For each: processor time of a step, taken turn by turn in one run; operations of that step, counted on the
same kernels (``mastd.counting.operations``); largest joint error, and the largest step that is
stable. Vehicles with a rack drive the J-turn at 60 km/h, the others the bump at 40 km/h. Times and errors are
those of a step of a millisecond, or of the largest stable one where that is smaller.

Formulations over the tree have the same accelerations, so what concerns errors and stability is measured once
for each integrator.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.bench.registry import Figure, Scope, figure, long_bench
from mastd.bench.vehicle.timing import interleaved
from mastd.counting.operations import all_operations
from mastd.counting.tally import total
from mastd.counting.work import Extent, solver_of
from mastd.errors import UsageError
from mastd.vehicle.manoeuvres.base import Manoeuvre, bump, jturn, play
from mastd.vehicle.model.definition import Model
from mastd.vehicle.model.library import find, names
from mastd.vehicle.simulation.simulation import Simulation
from mastd.vehicle.solver.choice import Solver
from mastd.vehicle.state.trace import ACCELERATION, POSITION, Trace

SOLVERS: Final = (
    "chassis",
    "inertial",
    "lagrange",
    "reduced-lagrange",
    "partitioning",
    "independent",
    "independent:adams-bashforth",
    "subsystem-joint",
    "subsystem-cartesian",
    "partial-jacobian:full",
    "partial-jacobian:round-robin",
    "partial-jacobian:fastest",
    "partial-jacobian:none",
)
MEASURES: Final = ("us", "operations", "joint_error_m", "largest_step_ms")
STEP: Final = 1e-3
LADDER: Final = tuple(
    1e-3 * step
    for step in (
        *(0.1, 0.125, 0.16, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.8),
        *(1.0, 1.25, 1.6, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.5, 16.0, 20.0),
    )
)
"""Steps that are tried, s."""
DURATION: Final = 2.5
"""s of the manoeuvre."""
REFERENCE_STEP: Final = 5e-4
MAX_OFF: Final = 0.05
"""m that the chassis may be off the reference's path in a run that counts as stable,"""
MAX_SHAKEN: Final = 0.5
"""m/s² of its acceleration, root of the mean square."""
ROUNDS: Final = 11
TIMED_STEPS: Final = 200


@dataclass(frozen=True)
class Drive:
    """A vehicle's manoeuvre, and how it goes by the solver that all are compared with."""

    model: Model
    manoeuvre: Manoeuvre
    reference: Trace

    @classmethod
    def of(cls, name: str) -> Drive:
        """Return the drive of a shipped vehicle."""
        model = find(name)
        manoeuvre = replace(jturn(model) if model.drives else bump(model), duration=DURATION)
        return cls(model, manoeuvre, play(model, manoeuvre, step=REFERENCE_STEP, accuracy="exact")[0])

    def run(self, solver: Solver, step: float) -> Trace | None:
        """Drive it; return the trace, None if the run was not stable or the step is not taken at all."""
        try:
            trace, _ = play(self.model, self.manoeuvre, step=step, solver=solver)
        except UsageError:
            # A powertrain whose shaft is too stiff for the step.
            return None
        if trace.first_unconverged is not None:
            return None
        # A step that does not divide the duration ends a little after the reference.
        both = trace.time <= self.reference.time[-1]
        times, chassis = trace.time[both], trace.chassis[both]
        off = np.column_stack(
            [chassis[:, k] - self._reference(times, k) for k in range(*POSITION.indices(9))]
        )
        shaken = np.column_stack(
            [chassis[:, k] - self._reference(times, k) for k in range(*ACCELERATION.indices(9))]
        )
        sound = np.abs(off).max() <= MAX_OFF and np.sqrt(np.mean(shaken**2)) <= MAX_SHAKEN
        return trace if sound else None

    def _reference(self, times: FloatArray, column: int) -> FloatArray:
        return np.asarray(np.interp(times, self.reference.time, self.reference.chassis[:, column]))


def max_step(drive: Drive, solver: Solver, ladder: Sequence[float] = LADDER) -> float | None:
    """Return the largest step of a rising ladder that is stable, s, None if not even the smallest is.

    Steps above one that is not stable are taken for unstable.
    """
    low, high = -1, len(ladder)
    while high - low > 1:
        middle = (low + high) // 2
        if drive.run(solver, ladder[middle]) is None:
            high = middle
        else:
            low = middle
    return None if low < 0 else ladder[low]


class Timed:
    """Steps of a solver on a vehicle under way, to be timed."""

    def __init__(self, drive: Drive, solver: Solver, step: float) -> None:
        self._simulation = Simulation(drive.model, step=step, solver=solver, ground=drive.manoeuvre.ground)
        times = step * np.arange(1, TIMED_STEPS + 1, dtype=np.float64)
        self._inputs = drive.manoeuvre.controls(np.asarray(times, dtype=np.float64)).rows(drive.model)
        self._speed = drive.manoeuvre.speed

    def __call__(self) -> float:
        """Drive; return the processor time of a step in µs."""
        self._simulation.start(self._speed)
        self._simulation.advance(self._inputs[:20])
        begun = time.thread_time_ns()
        self._simulation.advance(self._inputs)
        return (time.thread_time_ns() - begun) * 1e-3 / TIMED_STEPS


def name_of(vehicle: str, solver: str, measure: str) -> str:
    """Return the name of a figure."""
    return f"formulations.{vehicle}.{solver.replace(':', '_').replace('-', '_')}.{measure}"


@long_bench(
    *(name_of(vehicle, solver, measure) for vehicle in names() for solver in SOLVERS for measure in MEASURES)
)
def formulations(wanted: Sequence[str], scope: Scope) -> dict[str, Figure]:
    """Measure the solvers that are asked for, vehicle by vehicle."""
    asked = set(wanted)
    chosen = {
        vehicle: [
            solver
            for solver in SOLVERS
            if not asked.isdisjoint(name_of(vehicle, solver, measure) for measure in MEASURES)
        ]
        for vehicle in names()
    }
    figures: dict[str, Figure] = {}
    for vehicle, solvers in chosen.items():
        if solvers:
            figures |= of_vehicle(vehicle, solvers)
            scope.report(f"{vehicle}: {', '.join(solvers)} measured")
    return figures


def of_vehicle(vehicle: str, solvers: Iterable[str], rounds: int = ROUNDS) -> dict[str, Figure]:
    """Return the figures of these solvers on a shipped vehicle."""
    drive = Drive.of(vehicle)
    parts = {name: solver_of(name) for name in solvers}
    stable = _stable_steps(drive, parts)
    steps = {name: min(STEP, stable[name] or STEP) for name in parts}
    times = interleaved({name: Timed(drive, parts[name], steps[name]) for name in parts}, rounds)
    counts = all_operations([(vehicle, name, Extent.STEP) for name in parts])
    errors: dict[tuple[str, str], Figure] = {}
    figures: dict[str, Figure] = {}
    for (name, solver), stages in zip(parts.items(), counts, strict=True):
        own = partial(name_of, vehicle, name)
        figures[own("us")] = figure(times[name], "us")
        figures[own("operations")] = Figure(total(stages).total, "1", 1)
        step = stable[name]
        if step is None:
            continue
        figures[own("largest_step_ms")] = Figure(1e3 * step, "ms", 1)
        key = _alike(solver)
        if key not in errors:
            trace = drive.run(solver, steps[name])
            if trace is not None:
                errors[key] = Figure(float(trace.joint_error.max()), "m", 1)
        if key in errors:
            figures[own("joint_error_m")] = errors[key]
    return figures


def _alike(solver: Solver) -> tuple[str, str]:
    """Return what errors and stability depend on: of formulations over the tree the integrator alone."""
    explicit = solver.steps_by in ("runge-kutta", "adams-bashforth")
    return (solver.steps_by, "") if explicit else (solver.formulation, solver.renews)


def _stable_steps(drive: Drive, solvers: Mapping[str, Solver]) -> dict[str, float | None]:
    tried: dict[tuple[str, str], Solver] = {}
    for solver in solvers.values():
        # The fastest one of those that are alike stands for them.
        if _alike(solver) not in tried or solver.formulation == "independent":
            tried[_alike(solver)] = solver
    found = {key: max_step(drive, solver) for key, solver in tried.items()}
    return {name: found[_alike(solver)] for name, solver in solvers.items()}
