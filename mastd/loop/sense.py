"""The compiled half of sensing: is the sample finite, what is the pose, which limits are passed; one call.

The kernel reads and writes the frame itself. Where its parts stand, and the constants of table and guard,
come in two arrays made once by ``Constants``: few arguments keep the call cheap.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mastd.control.estimate import estimate
from mastd.kernel import kernel
from mastd.kinematics.forward import Observer
from mastd.loop.frame import Frame
from mastd.safety.guard import LIMITS, finite, inspect
from mastd.settings.table import TableSettings

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

FOUND = 1
"""Bit of the mask that says that the pose was found (fault codes begin at 1)."""

# places in the array of places: sizes, then where in the frame, then where in the constants
LINKS, NULLS, UPDATES = range(3)
RAW, PRESSURES, SUPPLY, LENGTH, RATE, FORCE, POSE, POSE_RATE, SCALARS, COMMANDED, COMMANDED_RATE = range(
    3, 14
)
(
    LENGTH_CALIBRATION,
    PRESSURE_CALIBRATION,
    AREAS,
    NULL_VECTORS,
    TABLE_JOINTS,
    BASE_JOINTS,
    NEUTRAL_POSITION,
    GAIN,
    TOLERANCES,
    NEUTRAL_LENGTHS,
    STROKES,
    GUARD_LIMITS,
) = range(14, 26)
PLACES = 26


class Constants:
    """``places`` (PLACES,) and ``values``: where the kernel finds everything, and the constants."""

    def __init__(
        self,
        table: TableSettings,
        observer: Observer,
        frame: Frame,
        guard_limits: Array,
        tolerances: tuple[float, float],
        maximum_updates: int,
    ) -> None:
        geometry = observer.geometry
        parts: dict[int, Array] = {
            LENGTH_CALIBRATION: np.array(
                [[link.transducer.scale, link.transducer.offset] for link in table.links]
            ),
            PRESSURE_CALIBRATION: np.array(
                [
                    [sensor.scale, sensor.offset]
                    for link in table.links
                    for sensor in link.pressure_transducers
                ]
            ),
            AREAS: np.array(table.actuator.piston_areas),
            NULL_VECTORS: observer.null_vectors,
            TABLE_JOINTS: geometry.table_joints,
            BASE_JOINTS: geometry.base_joints,
            NEUTRAL_POSITION: geometry.neutral_position,
            GAIN: observer.gain,
            TOLERANCES: np.array(tolerances),
            NEUTRAL_LENGTHS: geometry.neutral_lengths,
            STROKES: geometry.strokes,
            GUARD_LIMITS: guard_limits,
        }
        self.values: Array = np.concatenate([part.ravel() for part in parts.values()])
        self.places: Integers = np.zeros(PLACES, dtype=np.int64)
        self.places[LINKS] = geometry.links
        self.places[NULLS] = len(observer.null_vectors)
        self.places[UPDATES] = maximum_updates
        for place, name in (
            (RAW, "sample.lengths"),
            (PRESSURES, "sample.pressures"),
            (SUPPLY, "sample.supply_pressure"),
            (LENGTH, "length"),
            (RATE, "length_rate"),
            (FORCE, "force"),
            (POSE, "pose"),
            (POSE_RATE, "pose_rate"),
            (SCALARS, "residual"),
            (COMMANDED, "command.lengths"),
            (COMMANDED_RATE, "command.rates"),
        ):
            self.places[place] = frame.index[name]
        start = 0
        for place, part in parts.items():
            self.places[place] = start
            start += part.size


@kernel
def sense(
    frame: Array,
    places: Integers,
    constants: Array,
    state: Array,
    counts: Integers,
    delays: Integers,
    detail: Array,
    watched: int,
    dt: float,
    smoothing: float,
) -> int:
    """Estimate and guard one sample in the frame; return the mask of faults and ``FOUND``.

    If a length or pressure is not finite nothing is changed and the result is −1 − k, with k counting
    lengths, then pressures. ``state`` (2 n,): last lengths and pose, and scratch. ``counts``, ``delays``,
    ``detail`` and ``watched`` are those of ``mastd.safety.guard.inspect``; ``dt`` and ``smoothing`` those of
    ``mastd.control.estimate.estimate``.
    """
    n, nulls = places[LINKS], places[NULLS]
    broken = finite(frame, places[RAW], places[RAW] + 3 * n)
    if broken >= 0:
        return int(places[RAW] - broken - 1)
    c, p = constants, places
    lengths = frame[p[LENGTH] : p[LENGTH] + n]
    rates = frame[p[RATE] : p[RATE] + n]
    forces = frame[p[FORCE] : p[FORCE] + n]
    scalars = frame[p[SCALARS] : p[SCALARS] + 4]
    found = estimate(
        frame[p[RAW] : p[RAW] + n],
        frame[p[PRESSURES] : p[PRESSURES] + 2 * n],
        c[p[LENGTH_CALIBRATION] : p[LENGTH_CALIBRATION] + 2 * n].reshape((n, 2)),
        c[p[PRESSURE_CALIBRATION] : p[PRESSURE_CALIBRATION] + 4 * n].reshape((2 * n, 2)),
        c[p[AREAS] : p[AREAS] + 2],
        c[p[NULL_VECTORS] : p[NULL_VECTORS] + nulls * n].reshape((nulls, n)),
        c[p[TABLE_JOINTS] : p[TABLE_JOINTS] + 3 * n].reshape((n, 3)),
        c[p[BASE_JOINTS] : p[BASE_JOINTS] + 3 * n].reshape((n, 3)),
        c[p[NEUTRAL_POSITION] : p[NEUTRAL_POSITION] + 3],
        c[p[GAIN] : p[GAIN] + 6 * n].reshape((6, n)),
        c[p[TOLERANCES] : p[TOLERANCES] + 2],
        p[UPDATES],
        dt,
        smoothing,
        state[: n + 6],
        state[n + 6 : n + 6 + nulls],
        lengths,
        rates,
        forces,
        frame[p[POSE] : p[POSE] + 6],
        frame[p[POSE_RATE] : p[POSE_RATE] + 6],
        scalars,
    )
    mask = inspect(
        lengths,
        rates,
        forces,
        frame[p[COMMANDED] : p[COMMANDED] + n],
        frame[p[COMMANDED_RATE] : p[COMMANDED_RATE] + n],
        frame[p[SUPPLY]],
        scalars[2],
        found,
        watched,
        c[p[NEUTRAL_LENGTHS] : p[NEUTRAL_LENGTHS] + n],
        c[p[STROKES] : p[STROKES] + n],
        c[p[GUARD_LIMITS] : p[GUARD_LIMITS] + LIMITS],
        counts,
        delays,
        detail,
    )
    if found:
        mask |= FOUND
    return mask
