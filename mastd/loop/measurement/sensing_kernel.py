"""The compiled half of sensing: can the sample be, what is the pose, which limits are passed; one call.

The kernel reads and writes the frame itself. Where its parts stand, and the constants of table and guard,
come in two arrays made once by ``Constants``: few arguments keep the call cheap.
"""

from __future__ import annotations

import numpy as np

from mastd.arrays import FloatArray, IntArray
from mastd.control.estimation.estimate import estimate
from mastd.control.estimation.motion_estimate import estimate_motion
from mastd.control.estimation.motion_kernels import ACCELERATION, LEFT_OUT, PENDING, STARTED
from mastd.control.estimation.motion_kernels import RATE as MOTION_RATE
from mastd.kernel import kernel
from mastd.kinematics.conditioning import condition_number
from mastd.kinematics.forward import Observer
from mastd.kinematics.geometry import Legs
from mastd.kinematics.jacobian import euler_jacobian
from mastd.loop.measurement.frame import Frame
from mastd.safety.inspection import (
    LIMITS,
    MEASURED_ACCELERATION,
    forget_unwatched,
    inspect_links,
    inspect_readings,
    inspect_scalars,
    unusable,
)
from mastd.settings.table.table import TableSettings

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
    ACCELEROMETERS,
    COMMANDED,
    COMMANDED_RATE,
    COMMANDED_ACCELERATION,
) = range(3, 17)
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
) = range(17, 29)
PLACES = 29

_FIELDS = {
    RAW: "sample.lengths",
    PRESSURES: "sample.pressures",
    LENGTH: "length",
    RATE: "length_rate",
    FORCE: "force",
    POSE: "pose",
    POSE_RATE: "pose_rate",
    POSE_ACCELERATION: "pose_acceleration",
    SCALARS: "residual",
    CONDITION: "conditioning",
    ACCELEROMETERS: "sample.accelerometers",
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
        guard_limits: FloatArray,
        tolerances: tuple[float, float],
        maximum_updates: int,
    ) -> None:
        geometry = observer.geometry
        parts: dict[int, FloatArray] = {
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
        self.values: FloatArray = np.concatenate([part.ravel() for part in parts.values()])
        self.places: IntArray = np.full(PLACES, -1, dtype=np.int64)
        self.places[LINKS] = geometry.links
        self.places[NULLS] = len(observer.null_vectors)
        self.places[UPDATES] = maximum_updates
        for place, name in _FIELDS.items():
            self.places[place] = frame.index[name]
        start = 0
        for place, part in parts.items():
            self.places[place] = start
            start += part.size


@kernel
def measured_accelerations(
    pose_acceleration: FloatArray, jacobian: FloatArray, accelerations: FloatArray
) -> None:
    """Write the links' measured ``accelerations`` (n,), m/s².

    It is J q̈ with the estimated ``pose_acceleration`` (6,): the Jacobian's own change adds less than v²/l,
    0.3 m/s² at 0.6 m/s.
    """
    for i in range(accelerations.shape[0]):
        total = 0.0
        for k in range(6):
            total += jacobian[i, k] * pose_acceleration[k]
        accelerations[i] = total


@kernel
def estimate_pose_motion(
    frame: FloatArray,
    places: IntArray,
    found: bool,
    valid: int,
    steps: int,
    constants: FloatArray,
    sizes: IntArray,
    state: FloatArray,
    counters: IntArray,
) -> None:
    """Write the rates and accelerations of the pose into the frame; without a pose they stay.

    ``valid`` … ``counters`` are those of ``mastd.control.estimation.motion_estimate.estimate_motion``; the
    steps of samples without a pose are added to those of the next one with it.
    """
    if steps < 1:
        counters[STARTED] = 0
    counters[PENDING] += steps
    if not found:
        return
    first = places[ACCELEROMETERS]
    counters[LEFT_OUT] = estimate_motion(
        frame[places[POSE] : places[POSE] + 6],
        frame[first : first + sizes[0]],
        valid,
        counters[PENDING],
        constants,
        sizes,
        state,
        counters,
    )
    counters[PENDING] = 0
    for k in range(6):
        frame[places[POSE_RATE] + k] = state[MOTION_RATE + k]
        frame[places[POSE_ACCELERATION] + k] = state[ACCELERATION + k]


@kernel
def sense(
    frame: FloatArray,
    places: IntArray,
    constants: FloatArray,
    state: FloatArray,
    scalars: IntArray,
    bounds: FloatArray,
    memory: FloatArray,
    counts: IntArray,
    delays: IntArray,
    detail: FloatArray,
    watched: int,
    dt: float,
    smoothing: float,
    valid: int,
    steps: int,
    motion_constants: FloatArray,
    motion_sizes: IntArray,
    motion_state: FloatArray,
    motion_counters: IntArray,
    readings: FloatArray,
) -> int:
    """Estimate and guard one sample in the frame; return the mask of faults and ``FOUND``.

    If a reading cannot be, nothing is changed and the result is −1 times that of
    ``mastd.safety.inspection.unusable``. ``state`` (8 n + 36,): last lengths, and scratch.
    ``scalars`` … ``detail`` are the guard's, ``watched`` the mask of the codes to look at; ``dt`` and
    ``smoothing`` those of ``mastd.control.estimation.estimate.estimate``; ``valid`` … those of
    ``estimate_pose_motion``; ``readings`` (2, 3 n) the memory of ``inspect_readings``: pressures and spools
    stand in a row.
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
    legs = Legs(
        c[p[TABLE_JOINTS] : p[TABLE_JOINTS] + 3 * n].reshape((n, 3)),
        c[p[BASE_JOINTS] : p[BASE_JOINTS] + 3 * n].reshape((n, 3)),
        c[p[NEUTRAL_POSITION] : p[NEUTRAL_POSITION] + 3],
    )
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
        legs,
        c[p[GAIN] : p[GAIN] + 6 * n].reshape((6, n)),
        c[p[TOLERANCES] : p[TOLERANCES] + 2],
        p[UPDATES],
        dt,
        smoothing,
        state[:n],
        state[n : n + nulls],
        lengths,
        rates,
        forces,
        pose,
        frame[p[SCALARS] : p[SCALARS] + 4],
    )
    jacobian = state[2 * n : 8 * n].reshape((n, 6))
    euler_jacobian(legs, pose, jacobian)
    frame[p[CONDITION]] = condition_number(jacobian, state[8 * n : 8 * n + 36].reshape((6, 6)))
    estimate_pose_motion(
        frame, p, found, valid, steps, motion_constants, motion_sizes, motion_state, motion_counters
    )
    pose_acceleration = frame[p[POSE_ACCELERATION] : p[POSE_ACCELERATION] + 6]
    measured_accelerations(pose_acceleration, jacobian, memory[MEASURED_ACCELERATION])
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
    inspected = frame[p[PRESSURES] : p[PRESSURES] + 3 * n]
    mask |= inspect_readings(inspected, n, readings, counts, delays, detail)
    mask |= inspect_scalars(frame, found, scalars, bounds, counts, delays, detail)
    forget_unwatched(watched, counts)
    mask &= watched
    if found:
        mask |= FOUND
    return mask
