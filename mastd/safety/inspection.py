"""Compiled detectors: reject implausible samples, and compare measurements with the limits of the table.

Comparisons are written so that NaN trips them. Nothing here knows settings: ``mastd.safety.guard`` fills the
arrays of ``GuardModel`` and ``GuardState``.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from mastd.arrays import FloatArray, IntArray
from mastd.index_table import Entry, index_table, size_of
from mastd.kernel import kernel
from mastd.safety.codes import Code

# codes as plain numbers: a compiled function takes them as constants
STROKE = int(Code.STROKE)
VELOCITY = int(Code.VELOCITY)
FORCE = int(Code.FORCE)
INTERNAL_FORCE = int(Code.INTERNAL_FORCE)
FOLLOWING_ERROR = int(Code.FOLLOWING_ERROR)
FORWARD_KINEMATICS = int(Code.FORWARD_KINEMATICS)
LENGTH_STUCK = int(Code.LENGTH_STUCK)
ACCELERATION = int(Code.ACCELERATION)
JERK = int(Code.JERK)
SENSOR_FROZEN = int(Code.SENSOR_FROZEN)
SPOOL_LOST = int(Code.SPOOL_LOST)


class LimitRow(NamedTuple):
    """Limits of the table and of its sensors."""

    stroke_margin: Annotated[int, Entry("m", "distance to keep from the end of stroke")]
    velocity: Annotated[int, Entry("m/s", "maximum length rate")]
    following_minimum: Annotated[int, Entry("m", "following error allowed at rest")]
    following_at_velocity: Annotated[int, Entry("m", "following error allowed at maximum velocity")]
    jerk: Annotated[int, Entry("m/s3", "maximum commanded jerk")]
    stuck_band: Annotated[int, Entry("m", "band within which a length does not move")]
    stuck_travel: Annotated[int, Entry("m", "commanded travel after which it must have moved")]
    overrange: Annotated[int, Entry("m", "readable length beyond the stroke")]
    jump_margin: Annotated[int, Entry("m", "step of a length beyond what the velocity allows")]


class MemoryRow(NamedTuple):
    """Rows of the memory, one number per actuator each."""

    anchor: Annotated[int, Entry("m", "reading from which the length has not moved away")]
    minimum_command: Annotated[int, Entry("m", "smallest commanded length since then")]
    maximum_command: Annotated[int, Entry("m", "largest commanded length since then")]
    measured_acceleration: Annotated[int, Entry("m/s2", "from the estimated motion of the pose")]
    commanded_acceleration: Annotated[int, Entry("m/s2", "of the command before")]
    following_peak: Annotated[int, Entry("m", "maximum following error since it was reset")]


class ReadingRow(NamedTuple):
    """Rows of the memory of forces and spools, one number per reading each."""

    last: int
    repeats: Annotated[int, Entry("1", "equal readings in a row")]


class ScalarRow(NamedTuple):
    """Columns of the table of scalars."""

    column: Annotated[int, Entry("1", "column in the frame")]
    code: Annotated[int, Entry("1", "code of the fault")]
    leaks: Annotated[int, Entry("1", "a value within the limits takes one off the count")]
    number: Annotated[int, Entry("1", "of the like ones, −1 for the only one")]


LIMIT = index_table(LimitRow)
LIMITS = size_of(LIMIT)
MEMORY = index_table(MemoryRow)
READING = index_table(ReadingRow)
SCALAR = index_table(ScalarRow)


class GuardModel(NamedTuple):
    """Constants of the detectors for n actuators and m measured lengths; codes index ``delays``.

    ``neutral_lengths``, ``strokes`` (m,) in m and ``reaches`` (m,) in m/s, the fastest that a length can
    change; maximum ``velocities``, ``forces`` and ``accelerations`` (n,) along the actuators; ``patterns``
    (n − 6,) in N, the limits of the patterns of internal force; ``limits`` (LIMITS,); ``ranges`` (r, 2) of
    the readings of the forces, calibrated, lowest and highest; ``scalars`` (k, 4) and ``bounds`` (k, 2),
    minimum and maximum, of the conditions that are one number of the frame; ``delays`` in samples.
    """

    neutral_lengths: FloatArray
    strokes: FloatArray
    reaches: FloatArray
    velocities: FloatArray
    forces: FloatArray
    accelerations: FloatArray
    patterns: FloatArray
    limits: FloatArray
    ranges: FloatArray
    scalars: IntArray
    bounds: FloatArray
    delays: IntArray


class GuardState(NamedTuple):
    """Memory of the detectors; codes index ``counts`` and ``detail``.

    ``memory`` (6, n) and ``readings`` (2, r + n) as in ``MEMORY`` and ``READING``; ``counts``: samples for
    which a condition has lasted; ``detail`` (codes, 3): actuator, pattern or reading (0-based, −1 for none),
    value and limit.
    """

    memory: FloatArray
    readings: FloatArray
    counts: IntArray
    detail: FloatArray


class Measured(NamedTuple):
    """Measured lengths, rates, forces and accelerations of the actuators, (n,) each, SI.

    ``patterns`` (n − 6,): forces in the patterns of internal force, N.
    """

    lengths: FloatArray
    rates: FloatArray
    forces: FloatArray
    accelerations: FloatArray
    patterns: FloatArray


class Commanded(NamedTuple):
    """Commanded lengths, rates and accelerations that the sample answers, (n,) each, SI."""

    lengths: FloatArray
    rates: FloatArray
    accelerations: FloatArray


NOT_FINITE, OUT_OF_RANGE, JUMPED = 0, 1, 2
"""Reasons of a rejection."""
_REASON = 1 << 20


@kernel
def encode_rejection(reason: int, channel: int) -> int:
    """Return a negative number that holds ``reason`` and ``channel``: lengths, then those of forces."""
    return -int(reason * _REASON + channel + 1)


def decode_rejection(code: int) -> tuple[int, int]:
    """Return reason and channel of what ``encode_rejection`` has returned."""
    return divmod(-code - 1, _REASON)


@kernel
def validate_sample(
    raw_lengths: FloatArray,
    raw_forces: FloatArray,
    length_calibration: FloatArray,
    force_calibration: FloatArray,
    previous: FloatArray,
    model: GuardModel,
    dt: float,
) -> int:
    """Return 0 if all readings are plausible, else the ``encode_rejection`` of the first that is not.

    ``previous`` (m,) are the last accepted lengths in m, ``dt`` in s lies between them and these; 0 for none.
    """
    n = raw_lengths.shape[0]
    limits = model.limits
    for i in range(n):
        if not -1e300 < raw_lengths[i] < 1e300:
            return encode_rejection(NOT_FINITE, i)
    for i in range(raw_forces.shape[0]):
        if not -1e300 < raw_forces[i] < 1e300:
            return encode_rejection(NOT_FINITE, n + i)
    jumped = -1
    for i in range(n):
        length = length_calibration[i, 0] * raw_lengths[i] + length_calibration[i, 1]
        if not abs(length - model.neutral_lengths[i]) <= model.strokes[i] + limits[LIMIT.overrange]:
            return encode_rejection(OUT_OF_RANGE, i)
        reach = model.reaches[i] * dt + limits[LIMIT.jump_margin]
        if dt > 0.0 and not abs(length - previous[i]) <= reach:
            jumped = i
    for i in range(raw_forces.shape[0]):
        value = force_calibration[i, 0] * raw_forces[i] + force_calibration[i, 1]
        if not model.ranges[i, 0] <= value <= model.ranges[i, 1]:
            return encode_rejection(OUT_OF_RANGE, n + i)
    return encode_rejection(JUMPED, jumped) if jumped >= 0 else 0


@kernel
def _count(
    code: int, trips: bool, index: int, value: float, limit: float, model: GuardModel, state: GuardState
) -> int:
    """Count a condition; return its bit once it has lasted longer than its delay."""
    if not trips:
        state.counts[code] = 0
        return 0
    state.counts[code] += 1
    state.detail[code, 0] = index
    state.detail[code, 1] = value
    state.detail[code, 2] = limit
    return (1 << code) if state.counts[code] > model.delays[code] else 0


@kernel
def _inspect_magnitude(
    code: int, values: FloatArray, limits: FloatArray, model: GuardModel, state: GuardState
) -> int:
    """Compare the magnitudes of ``values`` (n,) with ``limits`` (n,); nothing where there are no values."""
    if values.shape[0] == 0:
        return 0
    worst, largest = -1, 0.0
    for i in range(values.shape[0]):
        excess = abs(values[i]) - limits[i]
        if not excess <= 0.0 and (worst < 0 or excess > largest):
            worst, largest = i, excess
    return _count(code, worst >= 0, worst, values[worst], limits[worst], model, state)


@kernel
def _inspect_stroke(lengths: FloatArray, model: GuardModel, state: GuardState) -> int:
    """Compare the lengths with the stroke less its margin."""
    margin = model.limits[LIMIT.stroke_margin]
    worst, largest = -1, 0.0
    for i in range(lengths.shape[0]):
        excess = abs(lengths[i] - model.neutral_lengths[i]) - (model.strokes[i] - margin)
        if not excess <= 0.0 and (worst < 0 or excess > largest):
            worst, largest = i, excess
    stretch = lengths[worst] - model.neutral_lengths[worst]
    return _count(STROKE, worst >= 0, worst, stretch, model.strokes[worst] - margin, model, state)


@kernel
def _inspect_following(
    lengths: FloatArray, commanded: Commanded, watched: bool, model: GuardModel, state: GuardState
) -> int:
    """Compare measured with commanded lengths; keep the peak of the error while it is ``watched``."""
    limits = model.limits
    worst, largest, limit = -1, 0.0, 0.0
    for i in range(lengths.shape[0]):
        at_rate = limits[LIMIT.following_at_velocity] * abs(commanded.rates[i]) / limits[LIMIT.velocity]
        allowed = max(limits[LIMIT.following_minimum], at_rate)
        error = abs(lengths[i] - commanded.lengths[i])
        if watched and error > state.memory[MEMORY.following_peak, i]:
            state.memory[MEMORY.following_peak, i] = error
        excess = error - allowed
        if not excess <= 0.0 and (worst < 0 or excess > largest):
            worst, largest, limit = i, excess, allowed
    offset = lengths[worst] - commanded.lengths[worst]
    return _count(FOLLOWING_ERROR, worst >= 0, worst, offset, limit, model, state)


@kernel
def _inspect_jerk(accelerations: FloatArray, dt: float, model: GuardModel, state: GuardState) -> int:
    """Compare the change of the commanded accelerations with the limit of jerk."""
    limit = model.limits[LIMIT.jerk]
    last = state.memory[MEMORY.commanded_acceleration]
    worst, largest, jerk = -1, 0.0, 0.0
    for i in range(accelerations.shape[0]):
        if dt > 0.0:
            change = (accelerations[i] - last[i]) / dt
            excess = abs(change) - limit
            if not excess <= 0.0 and (worst < 0 or excess > largest):
                worst, largest, jerk = i, excess, change
        last[i] = accelerations[i]
    return _count(JERK, worst >= 0, worst, jerk, limit, model, state)


@kernel
def _inspect_stuck(
    lengths: FloatArray, commanded: FloatArray, watched: bool, model: GuardModel, state: GuardState
) -> int:
    """Find a length that stays within a band while its command travels."""
    band, limit = model.limits[LIMIT.stuck_band], model.limits[LIMIT.stuck_travel]
    memory = state.memory
    worst, travel = -1, 0.0
    for i in range(lengths.shape[0]):
        if watched and abs(lengths[i] - memory[MEMORY.anchor, i]) <= band:
            memory[MEMORY.minimum_command, i] = min(memory[MEMORY.minimum_command, i], commanded[i])
            memory[MEMORY.maximum_command, i] = max(memory[MEMORY.maximum_command, i], commanded[i])
            travelled = memory[MEMORY.maximum_command, i] - memory[MEMORY.minimum_command, i]
            if travelled > limit and travelled > travel:
                worst, travel = i, travelled
        else:
            memory[MEMORY.anchor, i] = lengths[i]
            memory[MEMORY.minimum_command, i] = commanded[i]
            memory[MEMORY.maximum_command, i] = commanded[i]
    return _count(LENGTH_STUCK, worst >= 0, worst, travel, limit, model, state)


@kernel
def inspect_actuators(
    measured: Measured, commanded: Commanded, dt: float, watched: int, model: GuardModel, state: GuardState
) -> int:
    """Return the mask (bit = fault code) of the actuators' conditions that have lasted too long.

    ``dt`` in s is the time since the last sample, 0 for none; ``watched`` the mask of the codes in force.
    """
    lengths = measured.lengths
    follows = bool((watched >> FOLLOWING_ERROR) & 1)
    moves = bool((watched >> LENGTH_STUCK) & 1)
    mask = _inspect_stroke(lengths, model, state)
    mask |= _inspect_magnitude(VELOCITY, measured.rates, model.velocities, model, state)
    mask |= _inspect_magnitude(FORCE, measured.forces, model.forces, model, state)
    if measured.patterns.shape[0] > 0:
        mask |= _inspect_magnitude(INTERNAL_FORCE, measured.patterns, model.patterns, model, state)
    mask |= _inspect_following(lengths, commanded, follows, model, state)
    mask |= _inspect_magnitude(ACCELERATION, measured.accelerations, model.accelerations, model, state)
    mask |= _inspect_jerk(commanded.accelerations, dt, model, state)
    mask |= _inspect_stuck(lengths, commanded.lengths, moves, model, state)
    return mask


@kernel
def inspect_readings(readings: FloatArray, spools: int, model: GuardModel, state: GuardState) -> int:
    """Return the mask of frozen forces and spools, and of lost spools.

    ``readings`` (m,) are those of the forces, then the ``spools`` last ones. A sensor that works has noise: a
    reading that is the same bit for bit in every sample is frozen.
    """
    lost, frozen = -1, -1
    memory = state.readings
    m = readings.shape[0]
    for k in range(m):
        if not -1e300 < readings[k] < 1e300:
            if k >= m - spools:
                lost = k
            continue
        repeats = memory[READING.repeats, k] + 1.0 if readings[k] == memory[READING.last, k] else 0.0
        memory[READING.repeats, k] = repeats
        memory[READING.last, k] = readings[k]
        if repeats > model.delays[SENSOR_FROZEN]:
            frozen = k
    mask = _count(SPOOL_LOST, lost >= 0, lost, 0.0, 0.0, model, state)
    if frozen >= 0:
        state.detail[SENSOR_FROZEN, 0] = frozen
        mask |= 1 << SENSOR_FROZEN
    return mask


@kernel
def inspect_scalars(frame: FloatArray, converged: bool, model: GuardModel, state: GuardState) -> int:
    """Return the mask of the conditions that are one number of the frame each, and of a pose not found.

    Where a condition leaks, a value within its bounds takes one off the count instead of clearing it: the
    condition has to last longer than not. Of several with one code, which follow on one another, the first
    that is not within its bounds counts.
    """
    mask = _count(FORWARD_KINEMATICS, not converged, -1, 0.0, 0.0, model, state)
    counts, last, outside = state.counts, model.scalars.shape[0] - 1, -1
    for k in range(last + 1):
        value, code = frame[model.scalars[k, SCALAR.column]], model.scalars[k, SCALAR.code]
        low, high = model.bounds[k, 0], model.bounds[k, 1]
        inside = low <= value <= high
        if code == outside or (inside and k < last and model.scalars[k + 1, SCALAR.code] == code):
            continue
        outside = -1 if inside else code
        if inside and model.scalars[k, SCALAR.leaks]:
            counts[code] = max(counts[code] - 1, 0)
            if counts[code] > model.delays[code]:
                mask |= 1 << code
        else:
            index = model.scalars[k, SCALAR.number]
            mask |= _count(code, not inside, index, value, low if value < low else high, model, state)
    return mask


@kernel
def clear_unmonitored(watched: int, counts: IntArray) -> None:
    """Clear the counts of all codes that are not ``watched`` (bit = code)."""
    for code in range(counts.shape[0]):
        if not (watched >> code) & 1:
            counts[code] = 0
