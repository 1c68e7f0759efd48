"""One period of motion cueing, compiled: from what is felt in the vehicle to what the seat on the table does.

Each of the six axes of the seat is asked for the acceleration

    c = k·in + t″ − (2ζω + ω₁)(v − t′) − (ω² + 2ζωω₁)(x − t) − ω²ω₁ z,   z = ∫ (x − t) dt,

x, v its own position and velocity, t the tilt (rotations only). While no limit acts this is the high-pass
s²/(s² + 2ζωs + ω²) · s/(s + ω₁) of k·in, doubly integrated, added to t. The feedback acts on where the axis
really is, so it does not matter how it came there.

Where an axis has a return acceleration θ, the part k·in − … is kept within [min(k·in, 0) − θ, max(k·in, 0) +
θ], less the gravity that is felt along a translation by the table's attitude: both together never point
against the vehicle by more than θ. What z had gathered for an input that is gone is given up as far as that
limit acts, never the other way.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

from mastd.arrays import FloatArray
from mastd.index_table import Entry, index_table, size_of
from mastd.kernel import fused_kernel
from mastd.kinematics.rotation import rotation, sines_cosines
from mastd.motion.washout.limiter import AXIS, BOX, advance_axis, enter
from mastd.motion.washout.seat_point import centre_motion, point_motion


class CueColumns(NamedTuple):
    """Constants of an axis behind those of its box."""

    gain: Annotated[int, Entry("1", "k")]
    rate_feedback: Annotated[int, Entry("1/s", "factor of v")]
    position_feedback: Annotated[int, Entry("1/s^2", "factor of x")]
    integral_feedback: Annotated[int, Entry("1/s^3", "factor of z")]
    return_acceleration: Annotated[int, Entry("m/s^2, rad/s^2", "θ, infinite for none")]


class TiltColumns(NamedTuple):
    """Constants of a tilt behind those of its box."""

    corner: Annotated[int, Entry("rad/s", "ω of the low-pass")]
    damping: Annotated[int, Entry("1", "ζ of the low-pass")]


CUE = index_table(CueColumns, size_of(BOX))
TILT = index_table(TiltColumns, size_of(BOX))


class WashoutArrays(NamedTuple):
    """Constants and state of the motion cueing."""

    point: FloatArray
    """(3,): the seat in P."""
    constants: FloatArray
    """(6, CUE)."""
    tilt_constants: FloatArray
    """(2, TILT)."""
    axes: FloatArray
    """(6, AXIS)."""
    tilts: FloatArray
    """(2, AXIS)."""
    integrals: FloatArray
    """(6,)."""
    before: FloatArray
    """(4, 6): the seat's motion at the start of the period, with its jerk within."""


PITCH_TILT, ROLL_TILT = 0, 1
"""Rows of the tilts: the one for forward acceleration, the one for acceleration to the left."""
_TILT_OF_ROTATION = (ROLL_TILT, PITCH_TILT)


@fused_kernel
def _scaled(value: float, gain: float) -> float:
    """Return gain·value, 0 for what is not finite."""
    scaled = gain * value
    if not abs(scaled) < math.inf:
        return 0.0
    return scaled


@fused_kernel
def _held(value: float, largest: float) -> float:
    return min(max(value, -largest), largest)


@fused_kernel
def advance_tilt(
    constants: FloatArray, tilt: FloatArray, wanted: float, gravity: float, period: float
) -> None:
    """Advance a tilt towards the angle at which a component of gravity is ``wanted`` m/s²."""
    target = 0.0
    if gravity > 0.0:
        target = math.asin(_held(wanted / gravity, 1.0))
    corner = constants[TILT.corner]
    soon = tilt[AXIS.position] + period * (tilt[AXIS.velocity] + 0.5 * period * tilt[AXIS.acceleration])
    rate = tilt[AXIS.velocity] + period * tilt[AXIS.acceleration]
    towards = corner * (corner * (target - soon) - 2.0 * constants[TILT.damping] * rate)
    advance_axis(constants, tilt, towards, period)


@fused_kernel
def advance_cue(
    constants: FloatArray,
    axis: FloatArray,
    integral: float,
    cue: float,
    tilt: tuple[float, float, float],
    gravity_felt: float,
    period: float,
) -> float:
    """Advance one axis by a period towards ``cue`` = k·in, and return its integral z.

    ``tilt``: angle, rate, acceleration.
    """
    angle, tilt_rate, tilt_acceleration = tilt
    largest = constants[BOX.max_acceleration]
    cue = _held(cue, largest)
    velocity = axis[AXIS.velocity] + period * axis[AXIS.acceleration] - tilt_rate
    position = (
        axis[AXIS.position] + period * (axis[AXIS.velocity] + 0.5 * period * axis[AXIS.acceleration]) - angle
    )
    back = constants[CUE.integral_feedback]
    integral += period * position
    part = (
        cue
        - constants[CUE.rate_feedback] * velocity
        - constants[CUE.position_feedback] * position
        - back * integral
    )
    low = min(cue, 0.0) - constants[CUE.return_acceleration] - gravity_felt
    high = max(cue, 0.0) + constants[CUE.return_acceleration] - gravity_felt
    if part > high:
        if back > 0.0 and integral < 0.0:
            integral = min(integral + (part - high) / back, 0.0)
        part = high
    elif part < low:
        if back > 0.0 and integral > 0.0:
            integral = max(integral + (part - low) / back, 0.0)
        part = low
    advance_axis(constants, axis, part + tilt_acceleration, period)
    return integral


@fused_kernel
def step(
    arrays: WashoutArrays,
    felt: FloatArray,
    gravity: float,
    ratio: float,
    period: float,
    motion: FloatArray,
    asked: FloatArray,
    given: FloatArray,
) -> None:
    """Advance the seat by one period.

    ``felt`` (9,): specific force, angular velocity and angular acceleration at the vehicle's seat in its
    axes; ``ratio`` of it. Written: ``motion`` (4, 6) of C at the end; ``asked`` and ``given`` (6,).
    """
    constants, tilt_constants, axes, tilts = (
        arrays.constants,
        arrays.tilt_constants,
        arrays.axes,
        arrays.tilts,
    )
    integrals, before = arrays.integrals, arrays.before
    ratio = min(ratio, 1.0) if ratio > 0.0 else 0.0
    if not 0.0 <= gravity < math.inf:
        gravity = 0.0
    for axis in range(3):
        asked[axis] = _scaled(felt[axis] - (gravity if axis == 2 else 0.0), ratio * constants[axis, CUE.gain])
        asked[axis + 3] = _scaled(felt[axis + 3], ratio * constants[axis + 3, CUE.gain])
    advance_tilt(tilt_constants[PITCH_TILT], tilts[PITCH_TILT], -asked[0], gravity, period)
    advance_tilt(tilt_constants[ROLL_TILT], tilts[ROLL_TILT], asked[1], gravity, period)
    for axis in range(6):
        before[0, axis] = axes[axis, AXIS.position]
        before[1, axis] = axes[axis, AXIS.velocity]
        before[2, axis] = axes[axis, AXIS.acceleration]
    for axis in range(3, 6):
        cue = _scaled(felt[axis + 3], ratio * constants[axis, CUE.gain])
        tilt, rate, acceleration = 0.0, 0.0, 0.0
        if axis < 5:
            row = _TILT_OF_ROTATION[axis - 3]
            tilt, rate = tilts[row, AXIS.position], tilts[row, AXIS.velocity]
            acceleration = tilts[row, AXIS.acceleration]
        integrals[axis] = advance_cue(
            constants[axis], axes[axis], integrals[axis], cue, (tilt, rate, acceleration), 0.0, period
        )
    for axis in range(3):
        gravity_felt = 0.0
        if axis == 0:
            gravity_felt = -gravity * math.sin(axes[4, AXIS.position])
        elif axis == 1:
            gravity_felt = gravity * math.sin(axes[3, AXIS.position])
        integrals[axis] = advance_cue(
            constants[axis], axes[axis], integrals[axis], asked[axis], (0.0, 0.0, 0.0), gravity_felt, period
        )
    for axis in range(6):
        before[3, axis] = axes[axis, AXIS.jerk]
    read(arrays.point, before, period, motion)
    feel_table(axes, gravity, given)


@fused_kernel
def read(point: FloatArray, before: FloatArray, time: float, motion: FloatArray) -> None:
    """Write the motion (4, 6) of C at ``time`` s after the start of the period that began with ``before``."""
    for axis in range(6):
        x, v, a, jerk = before[0, axis], before[1, axis], before[2, axis], before[3, axis]
        motion[0, axis] = x + time * (v + time * (0.5 * a + time * jerk / 6.0))
        motion[1, axis] = v + time * (a + 0.5 * time * jerk)
        motion[2, axis] = a + time * jerk
        motion[3, axis] = jerk
    centre_motion(point, motion, motion)


@fused_kernel
def feel_table(axes: FloatArray, gravity: float, given: FloatArray) -> None:
    """Write what the seat on the table feels: specific force less [0, 0, g] and angular velocity, in P."""
    roll, pitch, yaw = axes[3, AXIS.position], axes[4, AXIS.position], axes[5, AXIS.position]
    r00, r01, r02, r10, r11, r12, r20, r21, r22 = rotation(roll, pitch, yaw)
    sr, cr, sp, cp, _, _ = sines_cosines(roll, pitch, yaw)
    x, y, z = axes[0, AXIS.acceleration], axes[1, AXIS.acceleration], axes[2, AXIS.acceleration] + gravity
    given[0] = r00 * x + r10 * y + r20 * z
    given[1] = r01 * x + r11 * y + r21 * z
    given[2] = r02 * x + r12 * y + r22 * z - gravity
    roll_rate, pitch_rate, yaw_rate = axes[3, AXIS.velocity], axes[4, AXIS.velocity], axes[5, AXIS.velocity]
    given[3] = roll_rate - yaw_rate * sp
    given[4] = pitch_rate * cr + yaw_rate * sr * cp
    given[5] = -pitch_rate * sr + yaw_rate * cr * cp


@fused_kernel
def begin(arrays: WashoutArrays, centre: FloatArray) -> None:
    """Start from the motion ``centre`` (4, 6) of C; what the table is tilted by is washed out."""
    axes, before = arrays.axes, arrays.before
    point_motion(arrays.point, centre, before)
    for axis in range(6):
        enter(arrays.constants[axis], axes[axis], before[0, axis], before[1, axis], before[2, axis])
        before[3, axis] = 0.0
    for row in range(2):
        enter(arrays.tilt_constants[row], arrays.tilts[row], 0.0, 0.0, 0.0)
