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

from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel
from mastd.kinematics.rotation import rotation, sines_cosines
from mastd.motion.washout.limiter import (
    ACCELERATION,
    BOX_SIZE,
    JERK,
    MAX_ACCELERATION,
    POSITION,
    VELOCITY,
    advance_axis,
    enter,
)
from mastd.motion.washout.seat_point import centre_motion, point_motion

GAIN, RATE_FEEDBACK, PLACE_FEEDBACK, INTEGRAL_FEEDBACK, RETURN = range(BOX_SIZE, BOX_SIZE + 5)
"""Places in an axis' constants behind those of its box: k, factors of v, x and z, θ (infinite: none)."""
CUE_SIZE = BOX_SIZE + 5

TILT_CORNER, TILT_DAMPING = range(BOX_SIZE, BOX_SIZE + 2)
"""Places in a tilt's constants behind those of its box: ω in rad/s and ζ of the low-pass."""
TILT_SIZE = BOX_SIZE + 2

PITCH_TILT, ROLL_TILT = range(2)
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
    corner = constants[TILT_CORNER]
    soon = tilt[POSITION] + period * (tilt[VELOCITY] + 0.5 * period * tilt[ACCELERATION])
    rate = tilt[VELOCITY] + period * tilt[ACCELERATION]
    towards = corner * (corner * (target - soon) - 2.0 * constants[TILT_DAMPING] * rate)
    advance_axis(constants, tilt, towards, period)


@fused_kernel
def advance_cue(
    constants: FloatArray,
    axis: FloatArray,
    integral: float,
    cue: float,
    tilt: float,
    tilt_rate: float,
    tilt_acceleration: float,
    gravity_felt: float,
    period: float,
) -> float:
    """Advance one axis by a period towards ``cue`` = k·in, and return its integral z."""
    largest = constants[MAX_ACCELERATION]
    cue = _held(cue, largest)
    velocity = axis[VELOCITY] + period * axis[ACCELERATION] - tilt_rate
    place = axis[POSITION] + period * (axis[VELOCITY] + 0.5 * period * axis[ACCELERATION]) - tilt
    back = constants[INTEGRAL_FEEDBACK]
    integral += period * place
    part = cue - constants[RATE_FEEDBACK] * velocity - constants[PLACE_FEEDBACK] * place - back * integral
    low = min(cue, 0.0) - constants[RETURN] - gravity_felt
    high = max(cue, 0.0) + constants[RETURN] - gravity_felt
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
    point: FloatArray,
    constants: FloatArray,
    tilt_constants: FloatArray,
    axes: FloatArray,
    tilts: FloatArray,
    integrals: FloatArray,
    before: FloatArray,
    felt: FloatArray,
    gravity: float,
    share: float,
    period: float,
    motion: FloatArray,
    asked: FloatArray,
    given: FloatArray,
) -> None:
    """Advance the seat by one period.

    ``point`` (3,) the seat in P; ``constants`` (6, CUE_SIZE), ``tilt_constants`` (2, TILT_SIZE); state:
    ``axes`` (6, AXIS_SIZE), ``tilts`` (2, AXIS_SIZE), ``integrals`` (6,); ``felt`` (9,): specific force,
    angular velocity and angular acceleration at the vehicle's seat in its axes; ``share`` of it. Written:
    ``before`` (4, 6), the seat's motion at the start of the period with its jerk within; ``motion`` (4, 6) of
    C at its end; ``asked`` and ``given`` (6,).
    """
    share = min(share, 1.0) if share > 0.0 else 0.0
    if not 0.0 <= gravity < math.inf:
        gravity = 0.0
    for axis in range(3):
        asked[axis] = _scaled(felt[axis] - (gravity if axis == 2 else 0.0), share * constants[axis, GAIN])
        asked[axis + 3] = _scaled(felt[axis + 3], share * constants[axis + 3, GAIN])
    advance_tilt(tilt_constants[PITCH_TILT], tilts[PITCH_TILT], -asked[0], gravity, period)
    advance_tilt(tilt_constants[ROLL_TILT], tilts[ROLL_TILT], asked[1], gravity, period)
    for axis in range(6):
        before[0, axis] = axes[axis, POSITION]
        before[1, axis] = axes[axis, VELOCITY]
        before[2, axis] = axes[axis, ACCELERATION]
    for axis in range(3, 6):
        cue = _scaled(felt[axis + 3], share * constants[axis, GAIN])
        tilt, rate, acceleration = 0.0, 0.0, 0.0
        if axis < 5:
            row = _TILT_OF_ROTATION[axis - 3]
            tilt, rate = tilts[row, POSITION], tilts[row, VELOCITY]
            acceleration = tilts[row, ACCELERATION]
        integrals[axis] = advance_cue(
            constants[axis], axes[axis], integrals[axis], cue, tilt, rate, acceleration, 0.0, period
        )
    for axis in range(3):
        gravity_felt = 0.0
        if axis == 0:
            gravity_felt = -gravity * math.sin(axes[4, POSITION])
        elif axis == 1:
            gravity_felt = gravity * math.sin(axes[3, POSITION])
        integrals[axis] = advance_cue(
            constants[axis], axes[axis], integrals[axis], asked[axis], 0.0, 0.0, 0.0, gravity_felt, period
        )
    for axis in range(6):
        before[3, axis] = axes[axis, JERK]
    read(point, before, period, motion)
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
    roll, pitch, yaw = axes[3, POSITION], axes[4, POSITION], axes[5, POSITION]
    r00, r01, r02, r10, r11, r12, r20, r21, r22 = rotation(roll, pitch, yaw)
    sr, cr, sp, cp, _, _ = sines_cosines(roll, pitch, yaw)
    x, y, z = axes[0, ACCELERATION], axes[1, ACCELERATION], axes[2, ACCELERATION] + gravity
    given[0] = r00 * x + r10 * y + r20 * z
    given[1] = r01 * x + r11 * y + r21 * z
    given[2] = r02 * x + r12 * y + r22 * z - gravity
    roll_rate, pitch_rate, yaw_rate = axes[3, VELOCITY], axes[4, VELOCITY], axes[5, VELOCITY]
    given[3] = roll_rate - yaw_rate * sp
    given[4] = pitch_rate * cr + yaw_rate * sr * cp
    given[5] = -pitch_rate * sr + yaw_rate * cr * cp


@fused_kernel
def begin(
    point: FloatArray,
    constants: FloatArray,
    tilt_constants: FloatArray,
    centre: FloatArray,
    axes: FloatArray,
    tilts: FloatArray,
    before: FloatArray,
) -> None:
    """Start from the motion ``centre`` (4, 6) of C; what the table is tilted by is washed out."""
    point_motion(point, centre, before)
    for axis in range(6):
        enter(constants[axis], axes[axis], before[0, axis], before[1, axis], before[2, axis])
        before[3, axis] = 0.0
    for row in range(2):
        enter(tilt_constants[row], tilts[row], 0.0, 0.0, 0.0)
