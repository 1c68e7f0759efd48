"""Steps of the estimator of rates and accelerations, and where everything stands in its arrays.

The mathematics is told in ``mastd.control.estimation.motion_estimate``, which calls these once per cycle.
Arguments: ``c`` the constants, ``sizes`` the integer ones, ``state`` and ``counters`` what is remembered.
Sets of sensors are bits, sensor 1 lowest.
"""

from __future__ import annotations

import math

from mastd.arrays import FloatArray, IntArray
from mastd.kernel import fused_kernel

MISSING_SAMPLES = 5
"""So many unusable readings in a row are told to the technician."""
JUMPED_SAMPLES = 20
"""So many cycles in a row in which a sensor is contradicted by the others leave it out for good."""
ACQUISITION_TIME = 1.0
"""After the start or a reset an accelerometer may differ by the largest offset for this long (s)."""
FIRST_AVERAGE = 0.15
"""Time that the first mean of an offset is taken over (s); it grows to the setting."""
MEMORY_TIME = 0.5
"""Time constant in which the acceleration at a sensor's place is forgotten (s): the relative tolerance."""
MIN_PARITY = 0.02
"""Share of a sensor's error that its set contradicts, below which the set cannot confirm it."""

# state: the first MOTION values are the result
POSE, RATE, ACCELERATION, ANGULAR_VELOCITY, ANGULAR_ACCELERATION = 0, 6, 12, 18, 21
MOTION = 24
TRACKED, TRACKED_RATE, TRACKED_ACCELERATION = 24, 30, 36
BODY, TRACKED_BODY, MISSED, WORK = 42, 48, 54, 60
SENSORS = 72
# columns of (m,) behind SENSORS
SEEN, PREVIOUS, SHADOW, SHADOW_RATE, SHADOW_ACCELERATION, DIFFERENCE, OFFSET, REACH, LAST = range(9)
COLUMNS = 9

# counters (integers)
FAILED, STARTED, SETTLED, SUSPECTED, JUMPER, JUMPED, PENDING, LEFT_OUT = range(8)
COUNTERS = 8
# columns of (m,) behind COUNTERS
MISSING, REPEATED, AGE, REASON = range(4)
INTEGER_COLUMNS = 4
INVALID, STUCK, DISAGREES, DRIFTED, JUMPS = 1, 2, 3, 4, 5
REASONS = {
    INVALID: "has no valid reading",
    STUCK: "repeats the same reading",
    DISAGREES: "disagrees with the lengths and the other accelerometers",
    DRIFTED: "has drifted beyond its maximum offset",
    JUMPS: "jumps, the other accelerometers do not",
}

# constants
(
    PERIOD,
    GRAVITY,
    POSITION_GAIN,
    RATE_GAIN,
    ACCELERATION_GAIN,
    SMOOTHING,
    TOLERANCE_SHARE,
    OFFSET_LIMIT,
    OFFSET_SHARE,
    MEMORY,
    JUMP,
) = range(11)
TABLE = 11
# row of a sensor: position 3, direction 3, scale, offset, threshold, row of H 6
ROW = 15
# sizes (integers)
COUNT, MAX_STEPS, STUCK_LIMIT, SETTLING, ACQUISITION, AVERAGED, CONFIRMATION = range(7)


@fused_kernel
def set_start(count: int, left_out: int) -> int:
    """Return where the set without the sensors in the bits ``left_out`` begins in the constants."""
    first = second = -1
    out = 0
    for i in range(count):
        if left_out >> i & 1:
            out += 1
            if first < 0:
                first = i
            elif second < 0:
                second = i
    if out == 0:
        index = 0
    elif out == 1:
        index = 1 + first
    elif out == 2:
        index = 1 + count + first * count - first * (first + 1) // 2 + second - first - 1
    else:
        index = 1 + count + count * (count - 1) // 2
    return TABLE + ROW * count + index * (6 * count + 36 + count * count + 13)


@fused_kernel
def confirmed(
    constants: FloatArray, parity: int, count: int, j: int, errors: FloatArray, start: int
) -> float:
    """Return the error of sensor j that its set's parity tells, NaN if the set has no say."""
    weight = constants[parity + j * count + j]
    if not weight > MIN_PARITY:
        return math.nan
    total = 0.0
    for i in range(count):
        total += constants[parity + j * count + i] * errors[start + i]
    return float(total / weight)


@fused_kernel
def track(pose: FloatArray, steps: int, restart: bool, c: FloatArray, state: FloatArray) -> None:
    """Advance the tracking filter over ``steps`` periods, on a smooth path to the measured pose."""
    period = c[PERIOD]
    span = period * steps
    for k in range(6):
        q, v, a = state[POSE + k], state[RATE + k], state[ACCELERATION + k]
        if restart:
            rate = (pose[k] - q) / span if steps > 0 else 0.0
            state[POSE + k], state[RATE + k], state[ACCELERATION + k] = pose[k], rate, 0.0
            state[TRACKED + k], state[TRACKED_RATE + k], state[TRACKED_ACCELERATION + k] = pose[k], rate, 0.0
            state[MISSED + k] = 0.0
            continue
        missed = pose[k] - (q + span * (v + 0.5 * span * a))
        state[MISSED + k] = missed
        x, dx, ddx = state[TRACKED + k], state[TRACKED_RATE + k], state[TRACKED_ACCELERATION + k]
        for j in range(1, steps + 1):
            t = j * period
            share = j / steps
            error = q + t * (v + 0.5 * t * a) + missed * share * share * share
            error -= x + period * (dx + 0.5 * period * ddx)
            x += period * (dx + 0.5 * period * ddx) + c[POSITION_GAIN] * error
            dx += period * ddx + c[RATE_GAIN] * error
            ddx += c[ACCELERATION_GAIN] * error
        state[TRACKED + k], state[TRACKED_RATE + k], state[TRACKED_ACCELERATION + k] = x, dx, ddx


@fused_kernel
def fuse(steps: int, restart: bool, c: FloatArray, start: int, state: FloatArray) -> None:
    """Advance position and rate with the new acceleration, in WORK, and correct them; take it over."""
    period = c[PERIOD]
    for k in range(6):
        new = state[WORK + k]
        q0, v0, a0 = state[POSE + k], state[RATE + k], state[ACCELERATION + k]
        state[ACCELERATION + k] = new
        if restart:
            state[TRACKED_ACCELERATION + k] = new
            continue
        q, v = q0, v0
        position_gain, rate_gain = c[start + k], c[start + 6 + k]
        for j in range(1, steps + 1):
            t = j * period
            share = j / steps
            a = a0 + (new - a0) * (j - 1) / steps
            b = a0 + (new - a0) * share
            error = q0 + t * (v0 + 0.5 * t * a0) + state[MISSED + k] * share * share * share
            q += period * v + period * period * (2.0 * a + b) / 6.0
            v += 0.5 * period * (a + b)
            error -= q
            q += position_gain * error
            v += rate_gain * error
        state[POSE + k], state[RATE + k] = q, v


@fused_kernel
def blend(c: FloatArray, unobserved: int, state: FloatArray) -> None:
    """Take position and rate from the tracking filter in the directions that no accelerometer sees."""
    for k in range(6):
        dq = dv = 0.0
        for j in range(6):
            share = c[unobserved + 6 * k + j]
            dq += share * (state[TRACKED + j] - state[POSE + j])
            dv += share * (state[TRACKED_RATE + j] - state[RATE + j])
        state[WORK + k], state[WORK + 6 + k] = dq, dv
    for k in range(6):
        state[POSE + k] += state[WORK + k]
        state[RATE + k] += state[WORK + 6 + k]


@fused_kernel
def usable(readings: FloatArray, valid: int, sizes: IntArray, state: FloatArray, counters: IntArray) -> int:
    """Count unusable and repeated readings; return the bits of the sensors that cannot be used now."""
    count = sizes[COUNT]
    left_out = counters[FAILED]
    last = SENSORS + LAST * count
    for i in range(count):
        value = readings[i]
        if not (valid >> i & 1 and abs(value) < 1e9):
            left_out |= 1 << i
            counters[COUNTERS + MISSING * count + i] += 1
            continue
        counters[COUNTERS + MISSING * count + i] = 0
        repeated = COUNTERS + REPEATED * count + i
        counters[repeated] = counters[repeated] + 1 if value == state[last + i] else 0
        state[last + i] = value
        if 0 < sizes[STUCK_LIMIT] <= counters[repeated] and not counters[FAILED] >> i & 1:
            counters[FAILED] |= 1 << i
            counters[COUNTERS + REASON * count + i] = STUCK
            left_out |= 1 << i
    return int(left_out)


@fused_kernel
def jumping(left_out: int, c: FloatArray, sizes: IntArray, state: FloatArray, counters: IntArray) -> int:
    """Return the bit of a sensor that has left the others since the last cycle, 0 for none."""
    count = sizes[COUNT]
    seen = SENSORS + SEEN * count
    worst, largest = -1, c[JUMP]
    for i in range(count):
        if left_out >> i & 1:
            continue
        expected = 0.0
        row = TABLE + ROW * i + 9
        for k in range(6):
            expected += c[row + k] * state[BODY + k]
        distance = abs(state[seen + i] - expected)
        if distance > largest:
            worst, largest = i, distance
    if worst < 0:
        counters[JUMPED] = 0
        return 0
    expected = 0.0
    row = TABLE + ROW * worst + 9
    for k in range(6):
        expected += c[row + k] * state[BODY + k]
    jump = state[seen + worst] - expected
    parity = set_start(count, left_out) + 6 * count + 36
    told = confirmed(c, parity, count, worst, state, seen)
    if not abs(told - jump) < 0.5 * abs(jump):
        counters[JUMPED] = 0
        return 0
    counters[JUMPED] = counters[JUMPED] + 1 if counters[JUMPER] == worst else 1
    counters[JUMPER] = worst
    if counters[JUMPED] >= JUMPED_SAMPLES:
        counters[FAILED] |= 1 << worst
        counters[COUNTERS + REASON * count + worst] = JUMPS
    return 1 << worst


@fused_kernel
def compare(
    missing: int, steps: int, restart: bool, c: FloatArray, sizes: IntArray, state: FloatArray
) -> None:
    """Pass each sensor through the shadow of the tracking filter and update its difference from the lengths.

    A ``missing`` sensor follows the estimate, so that it has no difference when it comes back.
    """
    count = sizes[COUNT]
    period = c[PERIOD]
    for i in range(count):
        at = SENSORS + i
        row = TABLE + ROW * i + 9
        tracked = estimated = 0.0
        for k in range(6):
            tracked += c[row + k] * state[TRACKED_BODY + k]
            estimated += c[row + k] * state[BODY + k]
        new = estimated if missing >> i & 1 else state[at + SEEN * count]
        old = state[at + PREVIOUS * count]
        state[at + PREVIOUS * count] = new
        if restart:
            state[at + SHADOW * count] = state[at + SHADOW_RATE * count] = 0.0
            state[at + SHADOW_ACCELERATION * count] = new
            state[at + DIFFERENCE * count] = 0.0
            continue
        x, dx = state[at + SHADOW * count], state[at + SHADOW_RATE * count]
        ddx = state[at + SHADOW_ACCELERATION * count]
        for j in range(1, steps + 1):
            a = old + (new - old) * (j - 1) / steps
            b = old + (new - old) * j / steps
            error = x + period * dx + period * period * ((2.0 * a + b) / 6.0 - 0.5 * ddx)
            dx += period * (0.5 * (a + b) - ddx) - c[RATE_GAIN] * error
            x = (1.0 - c[POSITION_GAIN]) * error
            ddx += c[ACCELERATION_GAIN] * error
        state[at + SHADOW * count], state[at + SHADOW_RATE * count] = x, dx
        state[at + SHADOW_ACCELERATION * count] = ddx
        state[at + REACH * count] = max(abs(tracked), c[MEMORY] * state[at + REACH * count])
        difference = at + DIFFERENCE * count
        state[difference] += min(1.0, c[SMOOTHING] * steps) * (ddx - tracked - state[difference])


@fused_kernel
def judge(missing: int, c: FloatArray, sizes: IntArray, state: FloatArray, counters: IntArray) -> None:
    """Learn the offsets; leave out a sensor that differs, and that the others or time confirm."""
    count = sizes[COUNT]
    worst, largest, second = -1, 1.0, 0.0
    for i in range(count):
        at = SENSORS + i
        if missing >> i & 1:
            state[at + DIFFERENCE * count] = 0.0
            continue
        age = COUNTERS + AGE * count + i
        difference, offset = state[at + DIFFERENCE * count], at + OFFSET * count
        allowed = c[TABLE + ROW * i + 8] + c[TOLERANCE_SHARE] * state[at + REACH * count]
        if counters[age] < sizes[ACQUISITION]:
            allowed += c[OFFSET_LIMIT]
        # the error left after n samples falls as 1/n³, the noise of the mean as 1/n
        state[offset] += max(3.0 / (sizes[AVERAGED] + counters[age]), c[OFFSET_SHARE]) * difference
        counters[age] += 1
        if abs(state[offset]) > c[OFFSET_LIMIT]:
            counters[FAILED] |= 1 << i
            counters[COUNTERS + REASON * count + i] = DRIFTED
        share = abs(difference) / allowed
        if share > largest:
            if worst >= 0:
                second = largest
            worst, largest = i, share
        elif share > second:
            second = share
    if worst < 0:
        counters[SUSPECTED] = 0
        return
    error = state[SENSORS + DIFFERENCE * count + worst]
    parity = set_start(count, missing) + 6 * count + 36
    told = confirmed(c, parity, count, worst, state, SENSORS + DIFFERENCE * count)
    if math.isnan(told):
        counters[SUSPECTED] = counters[SUSPECTED] + 1 if second < 0.5 else 0
        wrong = counters[SUSPECTED] > sizes[CONFIRMATION]
    else:
        wrong = abs(told - error) < 0.5 * abs(error)
    if wrong:
        counters[FAILED] |= 1 << worst
        counters[COUNTERS + REASON * count + worst] = DISAGREES
        counters[SUSPECTED] = 0
