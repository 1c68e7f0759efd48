"""Our car in one manoeuvre, measured by the processor time of this thread."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.bench.registry import Figure
from mastd.bench.vehicle.timing import interleaved, ratio_of_turns
from mastd.settings.vehicle.solver_names import Formulation
from mastd.vehicle.drivers.controls import Controls
from mastd.vehicle.manoeuvres.base import Accuracy, Manoeuvre, bump, jturn, step_count
from mastd.vehicle.model.definition import Model
from mastd.vehicle.model.library import find
from mastd.vehicle.powertrain.fields import DRIVER
from mastd.vehicle.simulation.simulation import Simulation
from mastd.vehicle.solver.choice import Solver

VEHICLE: Final = "benchmark_sedan"
STEP: Final = 1e-3
MANOEUVRES: Final[dict[str, Callable[[Model], Manoeuvre]]] = {"bump": bump, "jturn": jturn}
_FORMULATIONS: Final[tuple[Formulation, Formulation]] = ("inertial", "chassis")
"""Conventional and proposed."""
_GEAR: Final = 3
_WARMING_STEPS: Final = 500
_CHUNK: Final = 20
"""Steps between two looks at the clock where single steps matter: it costs as much as a tenth of a step."""


class Car:
    """A vehicle, settled and rolling, and the inputs of one manoeuvre."""

    def __init__(
        self,
        model: Model,
        manoeuvre: Manoeuvre,
        *,
        solver: Solver | Formulation = "chassis",
        accuracy: Accuracy = "fast",
    ) -> None:
        self._simulation = Simulation(
            model, step=STEP, solver=solver, accuracy=accuracy, ground=manoeuvre.ground
        )
        self._speed, self._gear = manoeuvre.speed, manoeuvre.gear
        times: FloatArray = STEP * np.arange(1, step_count(manoeuvre.duration, STEP) + 1, dtype=np.float64)
        self._inputs = manoeuvre.controls(times).rows(model)

    def drive(self) -> float:
        """Drive the manoeuvre; return the processor time of a step in µs."""
        self._warm()
        begun = time.thread_time_ns()
        self._simulation.advance(self._inputs)
        return (time.thread_time_ns() - begun) * 1e-3 / len(self._inputs)

    def drive_in_chunks(self) -> FloatArray:
        """Drive the manoeuvre a few steps at a time; return the time of a step in µs, (number of chunks,)."""
        self._warm()
        whole = len(self._inputs) // _CHUNK * _CHUNK
        chunks = np.split(self._inputs[:whole], whole // _CHUNK)
        stamps = np.empty(len(chunks) + 1, np.int64)
        advance, clock = self._simulation.advance, time.thread_time_ns
        stamps[0] = clock()
        for index, chunk in enumerate(chunks, start=1):
            advance(chunk)
            stamps[index] = clock()
        return np.diff(stamps) * 1e-3 / _CHUNK

    def joint_error(self) -> float:
        """Drive the manoeuvre; return the largest constraint error of position in m, NaN if a step failed."""
        self._simulation.start(self._speed, self._gear)
        trace = self._simulation.run(self._inputs)
        return float(trace.joint_error.max()) if trace.first_unconverged is None else float("nan")

    def _warm(self) -> None:
        """Go to the start, with everything compiled and the caches warm after the others' turn."""
        self._simulation.start(self._speed, self._gear)
        self._simulation.advance(self._inputs[:_WARMING_STEPS])
        self._simulation.start(self._speed, self._gear)


def in_gear(manoeuvre: Manoeuvre) -> Manoeuvre:
    """Return a manoeuvre of a vehicle with a powertrain in its third gear, a fifth of the throttle open."""

    def controls(times: FloatArray) -> Controls:
        found = manoeuvre.controls(times)
        found.driver[:, DRIVER.throttle], found.driver[:, DRIVER.gear] = 0.2, _GEAR
        return found

    return replace(manoeuvre, controls=controls, gear=_GEAR)


def methods(rounds: int) -> dict[str, tuple[Figure, FloatArray, FloatArray]]:
    """Compare the proposed method of Kang 2014 with the conventional one, on the same kernels and solver.

    Both close all of eq. (42): accuracy ``exact``. Returns for each manoeuvre the ratio of their times, and
    the times of a step in µs of the conventional and the proposed method, (rounds,).
    """
    model = find(VEHICLE)
    measures = {
        (formulation, name): Car(model, make(model), solver=formulation, accuracy="exact").drive
        for name, make in MANOEUVRES.items()
        for formulation in _FORMULATIONS
    }
    times = interleaved(measures, rounds)
    found = {}
    for name in MANOEUVRES:
        conventional, proposed = (times[formulation, name] for formulation in _FORMULATIONS)
        found[name] = (ratio_of_turns(proposed, conventional), conventional, proposed)
    return found
