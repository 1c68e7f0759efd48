"""Steps of the estimator of rates and accelerations; ``mastd.control.estimation.motion_estimate`` calls them.

The mathematics is described there. Sets of sensors are bits, sensor 1 lowest.
"""

from __future__ import annotations

import math

from mastd.arrays import FloatArray
from mastd.control.estimation.layout import (
    COUNT,
    MOTION,
    PARAMETER,
    SENSOR,
    SENSOR_STATUS,
    STATUS,
    TRACE,
    MotionModel,
    MotionState,
)
from mastd.kernel import fused_kernel

MISSING_SAMPLES = 5
"""So many unusable readings in a row are reported."""
JUMPED_SAMPLES = 20
"""So many cycles in a row in which the others contradict a sensor exclude it until a reset."""
ACQUISITION_TIME = 1.0
"""After the start or a reset an accelerometer may differ by its maximum offset for this long (s)."""
FIRST_AVERAGE = 0.15
"""Time that the first mean of an offset is taken over (s); it grows to the setting."""
MEMORY_TIME = 0.5
"""Time constant of the recent acceleration at a sensor, for the relative tolerance (s)."""
MIN_PARITY = 0.02
"""Ratio of a sensor's error that its set contradicts, below which the set cannot confirm it."""

INVALID, STUCK, DISAGREES, DRIFTED, JUMPS = 1, 2, 3, 4, 5
REASONS = {
    INVALID: "has no valid reading",
    STUCK: "repeats the same reading",
    DISAGREES: "disagrees with the lengths and the other accelerometers",
    DRIFTED: "has drifted beyond its maximum offset",
    JUMPS: "jumps, the other accelerometers do not",
}


@fused_kernel
def set_index(count: int, left_out: int) -> int:
    """Return the index of the set without the sensors in the bits ``left_out``."""
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
        return 0
    if out == 1:
        return 1 + first
    if out == 2:
        return 1 + count + first * count - first * (first + 1) // 2 + second - first - 1
    return 1 + count + count * (count - 1) // 2


@fused_kernel
def confirmed(parity: FloatArray, j: int, errors: FloatArray) -> float:
    """Return the error of sensor j by the ``parity`` (m, m) of its set, NaN if the set cannot tell."""
    weight = parity[j, j]
    if not weight > MIN_PARITY:
        return math.nan
    total = 0.0
    for i in range(errors.shape[0]):
        total += parity[j, i] * errors[i]
    return float(total / weight)


@fused_kernel
def track(pose: FloatArray, steps: int, restart: bool, c: FloatArray, motion: FloatArray) -> None:
    """Advance the tracking filter over ``steps`` periods, on a smooth path to the measured pose.

    ``c`` are the parameters of the model.
    """
    period = c[PARAMETER.period]
    span = period * steps
    for k in range(6):
        q, v, a = motion[MOTION.pose + k], motion[MOTION.rate + k], motion[MOTION.acceleration + k]
        if restart:
            rate = (pose[k] - q) / span if steps > 0 else 0.0
            motion[MOTION.pose + k], motion[MOTION.rate + k] = pose[k], rate
            motion[MOTION.acceleration + k] = 0.0
            motion[MOTION.tracked + k], motion[MOTION.tracked_rate + k] = pose[k], rate
            motion[MOTION.tracked_acceleration + k] = 0.0
            motion[MOTION.missed + k] = 0.0
            continue
        missed = pose[k] - (q + span * (v + 0.5 * span * a))
        motion[MOTION.missed + k] = missed
        x, dx = motion[MOTION.tracked + k], motion[MOTION.tracked_rate + k]
        ddx = motion[MOTION.tracked_acceleration + k]
        for j in range(1, steps + 1):
            t = j * period
            ratio = j / steps
            error = q + t * (v + 0.5 * t * a) + missed * ratio * ratio * ratio
            error -= x + period * (dx + 0.5 * period * ddx)
            x += period * (dx + 0.5 * period * ddx) + c[PARAMETER.position_gain] * error
            dx += period * ddx + c[PARAMETER.rate_gain] * error
            ddx += c[PARAMETER.acceleration_gain] * error
        motion[MOTION.tracked + k], motion[MOTION.tracked_rate + k] = x, dx
        motion[MOTION.tracked_acceleration + k] = ddx


@fused_kernel
def fuse(steps: int, restart: bool, c: FloatArray, gains: FloatArray, motion: FloatArray) -> None:
    """Advance position and rate with the new acceleration, in ``work``, and correct them; take it over.

    ``gains`` (2, 6) are those of the set of sensors, ``c`` the parameters of the model.
    """
    period = c[PARAMETER.period]
    for k in range(6):
        new = motion[MOTION.work + k]
        q0, v0, a0 = motion[MOTION.pose + k], motion[MOTION.rate + k], motion[MOTION.acceleration + k]
        motion[MOTION.acceleration + k] = new
        if restart:
            motion[MOTION.tracked_acceleration + k] = new
            continue
        q, v = q0, v0
        position_gain, rate_gain = gains[0, k], gains[1, k]
        for j in range(1, steps + 1):
            t = j * period
            ratio = j / steps
            a = a0 + (new - a0) * (j - 1) / steps
            b = a0 + (new - a0) * ratio
            error = q0 + t * (v0 + 0.5 * t * a0) + motion[MOTION.missed + k] * ratio * ratio * ratio
            q += period * v + period * period * (2.0 * a + b) / 6.0
            v += 0.5 * period * (a + b)
            error -= q
            q += position_gain * error
            v += rate_gain * error
        motion[MOTION.pose + k], motion[MOTION.rate + k] = q, v


@fused_kernel
def blend(unobserved: FloatArray, motion: FloatArray) -> None:
    """Take position and rate from the tracking filter in the directions that no accelerometer sees.

    ``unobserved`` is N (6, 6) of the set of sensors.
    """
    for k in range(6):
        dq = dv = 0.0
        for j in range(6):
            weight = unobserved[k, j]
            dq += weight * (motion[MOTION.tracked + j] - motion[MOTION.pose + j])
            dv += weight * (motion[MOTION.tracked_rate + j] - motion[MOTION.rate + j])
        motion[MOTION.work + k], motion[MOTION.work + 6 + k] = dq, dv
    for k in range(6):
        motion[MOTION.pose + k] += motion[MOTION.work + k]
        motion[MOTION.rate + k] += motion[MOTION.work + 6 + k]


@fused_kernel
def unusable_sensors(readings: FloatArray, valid: int, model: MotionModel, state: MotionState) -> int:
    """Count invalid and repeated readings; return the bits of the sensors that cannot be used now."""
    status, sensors = state.status, state.sensor_status
    stuck = model.counts[COUNT.stuck]
    left_out = status[STATUS.failed]
    for i in range(model.counts[COUNT.sensors]):
        value = readings[i]
        if not (valid >> i & 1 and abs(value) < 1e9):
            left_out |= 1 << i
            sensors[SENSOR_STATUS.missing, i] += 1
            continue
        sensors[SENSOR_STATUS.missing, i] = 0
        repeated = sensors[SENSOR_STATUS.repeated, i] + 1 if value == state.traces[TRACE.last, i] else 0
        sensors[SENSOR_STATUS.repeated, i] = repeated
        state.traces[TRACE.last, i] = value
        if 0 < stuck <= repeated and not status[STATUS.failed] >> i & 1:
            status[STATUS.failed] |= 1 << i
            sensors[SENSOR_STATUS.reason, i] = STUCK
            left_out |= 1 << i
    return int(left_out)


@fused_kernel
def _expected(sensors: FloatArray, i: int, motion: FloatArray) -> float:
    """Return what sensor i would see of the estimate of the last cycle."""
    expected = 0.0
    for k in range(6):
        expected += sensors[i, SENSOR.sensitivity + k] * motion[MOTION.body + k]
    return expected


@fused_kernel
def jumping_sensor(left_out: int, model: MotionModel, state: MotionState) -> int:
    """Return the bit of a sensor that has left the others since the last cycle, 0 for none."""
    status, seen = state.status, state.traces[TRACE.seen]
    count = model.counts[COUNT.sensors]
    worst, largest = -1, model.parameters[PARAMETER.jump]
    for i in range(count):
        if left_out >> i & 1:
            continue
        distance = abs(seen[i] - _expected(model.sensors, i, state.motion))
        if distance > largest:
            worst, largest = i, distance
    if worst < 0:
        status[STATUS.jumped] = 0
        return 0
    jump = seen[worst] - _expected(model.sensors, worst, state.motion)
    error = confirmed(model.parity[set_index(count, left_out)], worst, seen)
    if not abs(error - jump) < 0.5 * abs(jump):
        status[STATUS.jumped] = 0
        return 0
    status[STATUS.jumped] = status[STATUS.jumped] + 1 if status[STATUS.jumper] == worst else 1
    status[STATUS.jumper] = worst
    if status[STATUS.jumped] >= JUMPED_SAMPLES:
        status[STATUS.failed] |= 1 << worst
        state.sensor_status[SENSOR_STATUS.reason, worst] = JUMPS
    return 1 << worst


@fused_kernel
def compare(missing: int, steps: int, restart: bool, model: MotionModel, state: MotionState) -> None:
    """Pass each sensor through the shadow of the tracking filter and update its difference from the lengths.

    A ``missing`` sensor follows the estimate, so that it has no difference when it comes back.
    """
    c, traces, motion = model.parameters, state.traces, state.motion
    period = c[PARAMETER.period]
    for i in range(model.counts[COUNT.sensors]):
        tracked = estimated = 0.0
        for k in range(6):
            tracked += model.sensors[i, SENSOR.sensitivity + k] * motion[MOTION.tracked_body + k]
            estimated += model.sensors[i, SENSOR.sensitivity + k] * motion[MOTION.body + k]
        new = estimated if missing >> i & 1 else traces[TRACE.seen, i]
        old = traces[TRACE.previous, i]
        traces[TRACE.previous, i] = new
        if restart:
            traces[TRACE.shadow, i] = traces[TRACE.shadow_rate, i] = 0.0
            traces[TRACE.shadow_acceleration, i] = new
            traces[TRACE.difference, i] = 0.0
            continue
        x, dx = traces[TRACE.shadow, i], traces[TRACE.shadow_rate, i]
        ddx = traces[TRACE.shadow_acceleration, i]
        for j in range(1, steps + 1):
            a = old + (new - old) * (j - 1) / steps
            b = old + (new - old) * j / steps
            error = x + period * dx + period * period * ((2.0 * a + b) / 6.0 - 0.5 * ddx)
            dx += period * (0.5 * (a + b) - ddx) - c[PARAMETER.rate_gain] * error
            x = (1.0 - c[PARAMETER.position_gain]) * error
            ddx += c[PARAMETER.acceleration_gain] * error
        traces[TRACE.shadow, i], traces[TRACE.shadow_rate, i] = x, dx
        traces[TRACE.shadow_acceleration, i] = ddx
        traces[TRACE.recent, i] = max(abs(tracked), c[PARAMETER.decay] * traces[TRACE.recent, i])
        weight = min(1.0, c[PARAMETER.smoothing] * steps)
        traces[TRACE.difference, i] += weight * (ddx - tracked - traces[TRACE.difference, i])


@fused_kernel
def _learn_offset(i: int, model: MotionModel, state: MotionState) -> float:
    """Update the offset of sensor i; return its difference from the lengths over the allowed one."""
    c, traces, sensors = model.parameters, state.traces, state.sensor_status
    age, difference = sensors[SENSOR_STATUS.age, i], traces[TRACE.difference, i]
    allowed = model.sensors[i, SENSOR.threshold] + c[PARAMETER.relative_tolerance] * traces[TRACE.recent, i]
    if age < model.counts[COUNT.acquisition]:
        allowed += c[PARAMETER.offset_limit]
    # the error left after n samples falls as 1/n³, the noise of the mean as 1/n
    gain = max(3.0 / (model.counts[COUNT.averaged] + age), c[PARAMETER.offset_gain])
    traces[TRACE.offset, i] += gain * difference
    sensors[SENSOR_STATUS.age, i] += 1
    if abs(traces[TRACE.offset, i]) > c[PARAMETER.offset_limit]:
        state.status[STATUS.failed] |= 1 << i
        sensors[SENSOR_STATUS.reason, i] = DRIFTED
    return float(abs(difference) / allowed)


@fused_kernel
def exclude_wrong(missing: int, model: MotionModel, state: MotionState) -> None:
    """Learn the offsets; exclude a sensor that differs, and that the others or time confirm."""
    status, differences = state.status, state.traces[TRACE.difference]
    count = model.counts[COUNT.sensors]
    worst, largest, second = -1, 1.0, 0.0
    for i in range(count):
        if missing >> i & 1:
            differences[i] = 0.0
            continue
        ratio = _learn_offset(i, model, state)
        if ratio > largest:
            if worst >= 0:
                second = largest
            worst, largest = i, ratio
        elif ratio > second:
            second = ratio
    if worst < 0:
        status[STATUS.suspected] = 0
        return
    error = differences[worst]
    other = confirmed(model.parity[set_index(count, missing)], worst, differences)
    if math.isnan(other):
        status[STATUS.suspected] = status[STATUS.suspected] + 1 if second < 0.5 else 0
        wrong = status[STATUS.suspected] > model.counts[COUNT.confirmation]
    else:
        wrong = abs(other - error) < 0.5 * abs(error)
    if wrong:
        status[STATUS.failed] |= 1 << worst
        state.sensor_status[SENSOR_STATUS.reason, worst] = DISAGREES
        status[STATUS.suspected] = 0
