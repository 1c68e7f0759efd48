"""Compiled detectors: which readings cannot be, and which limits of the table are passed.

Comparisons are written so that NaN trips them. Nothing here knows settings: ``mastd.safety.guard`` lays the
arrays out.
"""

from __future__ import annotations

from mastd.arrays import FloatArray, IntArray
from mastd.kernel import kernel
from mastd.safety.codes import Code

# codes as plain numbers: a compiled function freezes them
STROKE = int(Code.STROKE)
VELOCITY = int(Code.VELOCITY)
FORCE = int(Code.FORCE)
FOLLOWING_ERROR = int(Code.FOLLOWING_ERROR)
FORWARD_KINEMATICS = int(Code.FORWARD_KINEMATICS)
LENGTH_STUCK = int(Code.LENGTH_STUCK)
ACCELERATION = int(Code.ACCELERATION)
JERK = int(Code.JERK)
SENSOR_FROZEN = int(Code.SENSOR_FROZEN)
SPOOL_LOST = int(Code.SPOOL_LOST)

# positions in the array of limits
(
    STROKE_MARGIN,
    MAX_VELOCITY,
    MAX_FORCE,
    MIN_FOLLOWING,
    FOLLOWING_AT_VELOCITY,
    MAX_ACCELERATION,
    MAX_JERK,
    STUCK_BAND,
    STUCK_TRAVEL,
    OVERRANGE,
    JUMP_MARGIN,
    MIN_PRESSURE,
    MAX_PRESSURE,
    LIMITS,
) = range(14)

# rows of the guard's memory, one number per link each
(
    ANCHOR,  # reading from which the length has not moved away
    MIN_COMMAND,  # commanded since then
    MAX_COMMAND,
    MEASURED_ACCELERATION,
    LAST_COMMANDED_ACCELERATION,
    FOLLOWING_PEAK,  # greatest following error since it was reset
    MEMORY,
) = range(7)

# rows of the memory of pressures and spools, one number per reading each
LAST, STILL = range(2)

# columns of the table of scalars
COLUMN, SCALAR_CODE, LEAKS = range(3)

# why a reading cannot be used; what ``unusable`` returns is 0 or reason · REASON + place + 1
NOT_FINITE, OUT_OF_RANGE, JUMPED = range(3)
REASON = 1 << 20


@kernel
def unusable(
    raw_lengths: FloatArray,
    raw_pressures: FloatArray,
    length_calibration: FloatArray,
    pressure_calibration: FloatArray,
    previous: FloatArray,
    neutral_lengths: FloatArray,
    strokes: FloatArray,
    limits: FloatArray,
    dt: float,
) -> int:
    """Return 0 if all readings can be, else reason and place of the first that cannot.

    Places count the lengths, then the pressures. ``previous`` (n,) are the last believed lengths in m, ``dt``
    in s lies between them and these; 0 for none.
    """
    n = raw_lengths.shape[0]
    for i in range(n):
        if not -1e300 < raw_lengths[i] < 1e300:
            return int(NOT_FINITE * REASON + i + 1)
    for i in range(2 * n):
        if not -1e300 < raw_pressures[i] < 1e300:
            return int(NOT_FINITE * REASON + n + i + 1)
    reach = limits[MAX_VELOCITY] * dt + limits[JUMP_MARGIN]
    jumped = -1
    for i in range(n):
        length = length_calibration[i, 0] * raw_lengths[i] + length_calibration[i, 1]
        if not abs(length - neutral_lengths[i]) <= strokes[i] + limits[OVERRANGE]:
            return int(OUT_OF_RANGE * REASON + i + 1)
        if dt > 0.0 and not abs(length - previous[i]) <= reach:
            jumped = i
    for i in range(2 * n):
        pressure = pressure_calibration[i, 0] * raw_pressures[i] + pressure_calibration[i, 1]
        if not limits[MIN_PRESSURE] <= pressure <= limits[MAX_PRESSURE]:
            return int(OUT_OF_RANGE * REASON + n + i + 1)
    return JUMPED * REASON + jumped + 1 if jumped >= 0 else 0


@kernel
def _count(
    code: int,
    trips: bool,
    link: int,
    value: float,
    limit: float,
    counts: IntArray,
    delays: IntArray,
    detail: FloatArray,
) -> int:
    if not trips:
        counts[code] = 0
        return 0
    counts[code] += 1
    detail[code, 0] = link
    detail[code, 1] = value
    detail[code, 2] = limit
    return (1 << code) if counts[code] > delays[code] else 0


@kernel
def inspect_links(
    lengths: FloatArray,
    rates: FloatArray,
    forces: FloatArray,
    commanded: FloatArray,
    commanded_rates: FloatArray,
    commanded_accelerations: FloatArray,
    accelerations: FloatArray,
    neutral_lengths: FloatArray,
    strokes: FloatArray,
    limits: FloatArray,
    dt: float,
    watched: int,
    memory: FloatArray,
    counts: IntArray,
    delays: IntArray,
    detail: FloatArray,
) -> int:
    """Return the mask (bit = fault code) of the links' conditions that have stood longer than they may.

    All per link, in m, m/s, N, m/s²; ``dt`` in s is the time since the last sample, 0 for none. ``memory``
    (MEMORY, n) is this function's own. ``detail`` (codes, 3) receives link (0-based), value and limit of each
    condition's worst link.
    """
    stroke, rate, force, following, stuck, acceleration, jerk = -1, -1, -1, -1, -1, -1, -1
    stroke_excess, rate_excess, force_excess, following_excess, following_limit = 0.0, 0.0, 0.0, 0.0, 0.0
    acceleration_excess, jerk_excess, worst_jerk, travel = 0.0, 0.0, 0.0, 0.0
    moves = (watched >> LENGTH_STUCK) & 1
    follows = (watched >> FOLLOWING_ERROR) & 1
    for i in range(lengths.shape[0]):
        excess = abs(lengths[i] - neutral_lengths[i]) - (strokes[i] - limits[STROKE_MARGIN])
        if not excess <= 0.0 and (stroke < 0 or excess > stroke_excess):
            stroke, stroke_excess = i, excess
        excess = abs(rates[i]) - limits[MAX_VELOCITY]
        if not excess <= 0.0 and (rate < 0 or excess > rate_excess):
            rate, rate_excess = i, excess
        excess = abs(forces[i]) - limits[MAX_FORCE]
        if not excess <= 0.0 and (force < 0 or excess > force_excess):
            force, force_excess = i, excess
        at_rate = limits[FOLLOWING_AT_VELOCITY] * abs(commanded_rates[i]) / limits[MAX_VELOCITY]
        allowed = max(limits[MIN_FOLLOWING], at_rate)
        error = abs(lengths[i] - commanded[i])
        if follows and error > memory[FOLLOWING_PEAK, i]:
            memory[FOLLOWING_PEAK, i] = error
        excess = error - allowed
        if not excess <= 0.0 and (following < 0 or excess > following_excess):
            following, following_excess, following_limit = i, excess, allowed
        excess = abs(accelerations[i]) - limits[MAX_ACCELERATION]
        if not excess <= 0.0 and (acceleration < 0 or excess > acceleration_excess):
            acceleration, acceleration_excess = i, excess
        if dt > 0.0:
            change = (commanded_accelerations[i] - memory[LAST_COMMANDED_ACCELERATION, i]) / dt
            excess = abs(change) - limits[MAX_JERK]
            if not excess <= 0.0 and (jerk < 0 or excess > jerk_excess):
                jerk, jerk_excess, worst_jerk = i, excess, change
        memory[LAST_COMMANDED_ACCELERATION, i] = commanded_accelerations[i]
        if moves and abs(lengths[i] - memory[ANCHOR, i]) <= limits[STUCK_BAND]:
            memory[MIN_COMMAND, i] = min(memory[MIN_COMMAND, i], commanded[i])
            memory[MAX_COMMAND, i] = max(memory[MAX_COMMAND, i], commanded[i])
            travelled = memory[MAX_COMMAND, i] - memory[MIN_COMMAND, i]
            if travelled > limits[STUCK_TRAVEL] and travelled > travel:
                stuck, travel = i, travelled
        else:
            memory[ANCHOR, i] = lengths[i]
            memory[MIN_COMMAND, i] = commanded[i]
            memory[MAX_COMMAND, i] = commanded[i]
    i, j, k, m, a = stroke, rate, force, following, acceleration
    stretch, reach = lengths[i] - neutral_lengths[i], strokes[i] - limits[STROKE_MARGIN]
    offset = lengths[m] - commanded[m]
    mask = _count(STROKE, i >= 0, i, stretch, reach, counts, delays, detail)
    mask |= _count(VELOCITY, j >= 0, j, rates[j], limits[MAX_VELOCITY], counts, delays, detail)
    mask |= _count(FORCE, k >= 0, k, forces[k], limits[MAX_FORCE], counts, delays, detail)
    mask |= _count(FOLLOWING_ERROR, m >= 0, m, offset, following_limit, counts, delays, detail)
    most = limits[MAX_ACCELERATION]
    mask |= _count(ACCELERATION, a >= 0, a, accelerations[a], most, counts, delays, detail)
    mask |= _count(JERK, jerk >= 0, jerk, worst_jerk, limits[MAX_JERK], counts, delays, detail)
    mask |= _count(LENGTH_STUCK, stuck >= 0, stuck, travel, limits[STUCK_TRAVEL], counts, delays, detail)
    return mask


@kernel
def inspect_readings(
    readings: FloatArray,
    spools: int,
    memory: FloatArray,
    counts: IntArray,
    delays: IntArray,
    detail: FloatArray,
) -> int:
    """Return the mask of what is wrong with pressures and spools beside their range: frozen, or lost.

    ``readings`` (m,) are the pressures, then the ``spools`` last ones; ``memory`` (2, m) is this function's
    own. A sensor that works has noise: a reading that is the same bit for bit in every sample is frozen.
    ``detail`` receives the place of the reading.
    """
    lost, frozen = -1, -1
    m = readings.shape[0]
    for k in range(m):
        if not -1e300 < readings[k] < 1e300:
            if k >= m - spools:
                lost = k
            continue
        memory[STILL, k] = memory[STILL, k] + 1.0 if readings[k] == memory[LAST, k] else 0.0
        memory[LAST, k] = readings[k]
        if memory[STILL, k] > delays[SENSOR_FROZEN]:
            frozen = k
    mask = _count(SPOOL_LOST, lost >= 0, lost, 0.0, 0.0, counts, delays, detail)
    if frozen >= 0:
        detail[SENSOR_FROZEN, 0] = frozen
        mask |= 1 << SENSOR_FROZEN
    return mask


@kernel
def inspect_scalars(
    frame: FloatArray,
    converged: bool,
    scalars: IntArray,
    bounds: FloatArray,
    counts: IntArray,
    delays: IntArray,
    detail: FloatArray,
) -> int:
    """Return the mask of the conditions that are one number of the frame each.

    ``scalars`` (m, 3) holds the number's column in the frame, its code and whether it leaks; ``bounds``
    (m, 2) the lowest and the highest value. Where it leaks, a value inside takes one off the count instead of
    starting it anew: the condition has to stand longer than not.
    """
    mask = _count(FORWARD_KINEMATICS, not converged, -1, 0.0, 0.0, counts, delays, detail)
    for k in range(scalars.shape[0]):
        value, code = frame[scalars[k, COLUMN]], scalars[k, SCALAR_CODE]
        low, high = bounds[k, 0], bounds[k, 1]
        inside = low <= value <= high
        if inside and scalars[k, LEAKS]:
            counts[code] = max(counts[code] - 1, 0)
            if counts[code] > delays[code]:
                mask |= 1 << code
        else:
            mask |= _count(code, not inside, -1, value, low if value < low else high, counts, delays, detail)
    return mask


@kernel
def forget_unwatched(watched: int, counts: IntArray) -> None:
    """Start the counts of all codes anew that are not ``watched`` (bit = code)."""
    for code in range(counts.shape[0]):
        if not (watched >> code) & 1:
            counts[code] = 0
