"""The compiled half of sensing: can the sample be, what is the pose, which limits are passed; one call.

The kernel reads and writes the frame itself. Where its parts stand, and the constants of table and guard,
come in two arrays made once by ``Constants``: few arguments keep the call cheap.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mastd.control.estimate import estimate
from mastd.kernel import kernel
from mastd.kinematics.conditioning import condition_number
from mastd.kinematics.forward import Observer
from mastd.kinematics.jacobian import euler_jacobian
from mastd.loop.frame import Frame
from mastd.safety.inspection import (
    LAST_RATE,
    LIMITS,
    MEASURED_ACCELERATION,
    forget_unwatched,
    inspect_links,
    inspect_scalars,
    unusable,
)
from mastd.settings.table import TableSettings

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

FOUND = 1
"""Bit of the mask that says that the pose was found (fault codes begin at 1)."""

# places in the array of places: sizes, then where in the frame, then where in the constants
LINKS, NULLS, UPDATES = range(3)
(
    RAW,
    PRESSURES,
    LENGTH,
    RATE,
    FORCE,
    POSE,
    POSE_RATE,
    POSE_ACCELERATION,
    SCALARS,
    CONDITION,
    COMMANDED,
    COMMANDED_RATE,
    COMMANDED_ACCELERATION,
) = range(3, 16)
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
) = range(16, 28)
PLACES = 28

_FIELDS = {
    RAW: "sample.lengths",
    PRESSURES: "sample.pressures",
    LENGTH: "length",
    RATE: "length_rate",
    FORCE: "force",
    POSE: "pose",
    POSE_RATE: "pose_rate",
    SCALARS: "residual",
    CONDITION: "conditioning",
    COMMANDED: "command.lengths",
    COMMANDED_RATE: "command.rates",
    COMMANDED_ACCELERATION: "command.accelerations",
}


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
        self.places: Integers = np.full(PLACES, -1, dtype=np.int64)
        self.places[LINKS] = geometry.links
        self.places[NULLS] = len(observer.null_vectors)
        self.places[UPDATES] = maximum_updates
        for place, name in _FIELDS.items():
            self.places[place] = frame.index[name]
        self.places[POSE_ACCELERATION] = frame.index.get("pose_acceleration", -1)
        start = 0
        for place, part in parts.items():
            self.places[place] = start
            start += part.size


@kernel
def measured_accelerations(
    rates: Array, pose_acceleration: Array, jacobian: Array, dt: float, smoothing: float, memory: Array
) -> None:
    """Write the links' measured accelerations (n,), m/s², into their row of the guard's ``memory``.

    With an estimate of the pose's acceleration (6,) it is J q̈: the Jacobian's own change adds less than
    v²/l, 0.3 m/s² at 0.6 m/s. Without one (0,) it is the filtered difference of the filtered ``rates``.
    """
    for i in range(rates.shape[0]):
        if pose_acceleration.shape[0] == 6:
            total = 0.0
            for k in range(6):
                total += jacobian[i, k] * pose_acceleration[k]
            memory[MEASURED_ACCELERATION, i] = total
        elif dt > 0.0:
            difference = (rates[i] - memory[LAST_RATE, i]) / dt
            memory[MEASURED_ACCELERATION, i] += smoothing * (difference - memory[MEASURED_ACCELERATION, i])
        else:
            memory[MEASURED_ACCELERATION, i] = 0.0
        memory[LAST_RATE, i] = rates[i]


@kernel
def sense(
    frame: Array,
    places: Integers,
    constants: Array,
    state: Array,
    scalars: Integers,
    bounds: Array,
    memory: Array,
    counts: Integers,
    delays: Integers,
    detail: Array,
    watched: int,
    dt: float,
    smoothing: float,
) -> int:
    """Estimate and guard one sample in the frame; return the mask of faults and ``FOUND``.

    If a reading cannot be, nothing is changed and the result is −1 times that of
    ``mastd.safety.inspection.unusable``. ``state`` (8 n + 36,): last lengths and pose, and scratch.
    ``scalars`` … ``detail`` are the guard's, ``watched`` the mask of the codes to look at; ``dt`` and
    ``smoothing`` those of ``mastd.control.estimate.estimate``.
    """
    n, nulls = places[LINKS], places[NULLS]
    c, p = constants, places
    raw_lengths = frame[p[RAW] : p[RAW] + n]
    raw_pressures = frame[p[PRESSURES] : p[PRESSURES] + 2 * n]
    length_calibration = c[p[LENGTH_CALIBRATION] : p[LENGTH_CALIBRATION] + 2 * n].reshape((n, 2))
    pressure_calibration = c[p[PRESSURE_CALIBRATION] : p[PRESSURE_CALIBRATION] + 4 * n].reshape((2 * n, 2))
    neutral_lengths = c[p[NEUTRAL_LENGTHS] : p[NEUTRAL_LENGTHS] + n]
    strokes = c[p[STROKES] : p[STROKES] + n]
    limits = c[p[GUARD_LIMITS] : p[GUARD_LIMITS] + LIMITS]
    broken = unusable(
        raw_lengths,
        raw_pressures,
        length_calibration,
        pressure_calibration,
        state[:n],
        neutral_lengths,
        strokes,
        limits,
        dt,
    )
    if broken:
        return -broken
    table_joints = c[p[TABLE_JOINTS] : p[TABLE_JOINTS] + 3 * n].reshape((n, 3))
    base_joints = c[p[BASE_JOINTS] : p[BASE_JOINTS] + 3 * n].reshape((n, 3))
    neutral_position = c[p[NEUTRAL_POSITION] : p[NEUTRAL_POSITION] + 3]
    lengths = frame[p[LENGTH] : p[LENGTH] + n]
    rates = frame[p[RATE] : p[RATE] + n]
    forces = frame[p[FORCE] : p[FORCE] + n]
    pose = frame[p[POSE] : p[POSE] + 6]
    found = estimate(
        raw_lengths,
        raw_pressures,
        length_calibration,
        pressure_calibration,
        c[p[AREAS] : p[AREAS] + 2],
        c[p[NULL_VECTORS] : p[NULL_VECTORS] + nulls * n].reshape((nulls, n)),
        table_joints,
        base_joints,
        neutral_position,
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
        pose,
        frame[p[POSE_RATE] : p[POSE_RATE] + 6],
        frame[p[SCALARS] : p[SCALARS] + 4],
    )
    jacobian = state[2 * n : 8 * n].reshape((n, 6))
    euler_jacobian(table_joints, base_joints, neutral_position, pose, jacobian)
    frame[p[CONDITION]] = condition_number(jacobian, state[8 * n : 8 * n + 36].reshape((6, 6)))
    estimated = p[POSE_ACCELERATION]
    pose_acceleration = frame[estimated : estimated + 6] if estimated >= 0 else frame[:0]
    measured_accelerations(rates, pose_acceleration, jacobian, dt, smoothing, memory)
    mask = inspect_links(
        lengths,
        rates,
        forces,
        frame[p[COMMANDED] : p[COMMANDED] + n],
        frame[p[COMMANDED_RATE] : p[COMMANDED_RATE] + n],
        frame[p[COMMANDED_ACCELERATION] : p[COMMANDED_ACCELERATION] + n],
        memory[MEASURED_ACCELERATION],
        neutral_lengths,
        strokes,
        limits,
        dt,
        watched,
        memory,
        counts,
        delays,
        detail,
    )
    mask |= inspect_scalars(frame, found, scalars, bounds, counts, delays, detail)
    forget_unwatched(watched, counts)
    mask &= watched
    if found:
        mask |= FOUND
    return mask
