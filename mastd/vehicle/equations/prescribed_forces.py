"""Forces that somebody outside the simulation gives: torques of motors on wheels, forces of dampers.

A given torque goes the way of the inputs' drive torque: on the wheel about its axis, its reaction on the
chassis. A given damper force is added to what the spring-damper of the wheel's suspension gives by itself,
along the same line; the solver takes it as a constant of the step.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mastd.arrays import FloatArray
from mastd.errors import UsageError
from mastd.lanes import LANES
from mastd.settings.core.error_text import near
from mastd.vehicle.blocks.fields import GROUP
from mastd.vehicle.elements.spring_damper.arrays import SPRING
from mastd.vehicle.model.definition import Model
from mastd.vehicle.state.arrays import Arrays, Layout

Integers = NDArray[np.intp]


def wheel_index(model: Model, wheel: str) -> int:
    """Return the place of a wheel in ``Model.wheels``; raise UsageError for one that there is not."""
    names = [each.name for each in model.wheels]
    if wheel not in names:
        raise UsageError(f"{model.name}: no wheel {wheel!r}, {near(wheel, names)}")
    return names.index(wheel)


def damper_of_wheel(model: Model, wheel: str) -> int:
    """Return the index into ``Model.springs`` of the spring-damper that damps a wheel's suspension.

    Of the spring-dampers of the wheel's corner: the one that has damping; where none has, the one that is no
    spring, a damper of zero; or the only one that there is. Raises UsageError for a wheel that there is not,
    and where more than one would do.
    """
    corner = next(each for each in model.corners if each.wheel == wheel_index(model, wheel))
    springs = {index: model.springs[index] for index in corner.springs}
    damping = [index for index, spring in springs.items() if spring.damps]
    no_springs = [index for index, spring in springs.items() if not spring.carries_load]
    for chosen in (damping, no_springs, list(springs)):
        if len(chosen) == 1:
            return chosen[0]
        if chosen:
            names = ", ".join(model.springs[index].name for index in chosen)
            why = f"{len(chosen)} have damping" if chosen is damping else "none has damping"
            raise UsageError(
                f"{model.name}: wheel {wheel}: not clear which of {names} is its damper, {why}; give exactly"
                " one of them damping, in the vehicle's file"
            )
    raise UsageError(f"{model.name}: wheel {wheel}: its corner {corner.name} has no spring-damper to push")


class PrescribedForces:
    """What is given to one vehicle; it holds until something else is.

    ``torques`` (nw): N m on the wheels, forward positive, for whoever writes the inputs of a step. The damper
    forces stand in the vehicle's own block, so that a snapshot of it keeps them.
    """

    def __init__(self, layout: Layout) -> None:
        """Find the dampers; forces for a wheel that has none of its own (``damper_of_wheel``) do nothing."""
        self.torques = np.zeros(len(layout.model.wheels))
        self._springs = layout.arrays.elements.springs.values
        self._at, self._wheels = _damper_indices(layout)
        self._spread = np.zeros(len(self._at))

    def take(self, torques: FloatArray, forces: FloatArray) -> None:
        """Take torques (nw), N m, and damper forces (nw), N, pushing the damper's ends apart positive."""
        self.torques[:] = torques
        # Clipping the places is what lets numpy write to ``out`` without a buffer; all are within.
        forces.take(self._wheels, out=self._spread, mode="clip")
        self._springs.put(self._at, self._spread)

    def drop(self) -> None:
        """Go back to nothing given."""
        self.torques[:] = 0.0
        self._spread[:] = 0.0
        self._springs.put(self._at, self._spread)


def _damper_indices(layout: Layout) -> tuple[Integers, Integers]:
    """Return where the springs' block, read as a line, holds the given forces, and of which wheel each is.

    Unused lanes repeat the first one of their group: a corner that nobody sees must not swing undamped.
    """
    shape = layout.arrays.elements.springs.values.shape
    at, wheels = [], []
    for index, wheel in enumerate(layout.model.wheels):
        try:
            item, lane = layout.spring[damper_of_wheel(layout.model, wheel.name)]
        except UsageError:
            continue
        for each in (lane, *(_unused(layout.arrays, item) if lane == 0 else ())):
            at.append(int(np.ravel_multi_index((item, SPRING.prescribed, each), shape)))
            wheels.append(index)
    return np.array(at, dtype=np.intp), np.array(wheels, dtype=np.intp)


def _unused(car: Arrays, item: int) -> list[int]:
    """Return the lanes of a spring's group that stand for nothing."""
    first, count = car.groups[:, GROUP.first_spring], car.groups[:, GROUP.springs]
    group = int(np.flatnonzero((first <= item) & (item < first + count))[0])
    return [lane for lane in range(LANES) if car.weights[group, lane] == 0.0]
