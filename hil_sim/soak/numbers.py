"""The numbers of one cycle against their bounds: one compiled check of the frame and the plant's truth.

The command of cycle k is compared with that of cycle k − 1: what is sent has to be a motion, so length and
rate must change by what the rates and accelerations sent say (trapezoidal rule), within tolerances that a
smooth motion does not use up. Comparisons are written so that NaN fails them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final, NamedTuple

import numpy as np

from mastd.arrays import FloatArray
from mastd.index_table import Entry, entries, index_table, size_of
from mastd.kernel import entry, kernel
from mastd.kinematics.geometry import Geometry
from mastd.loop.measurement.frame import Frame
from mastd.settings.table.table import TableSettings


class RuleCodes(NamedTuple):
    """What a cycle's numbers can violate; 0 is nothing."""

    command_finite: Annotated[int, Entry("", "every number of reference and command is finite")]
    stroke: Annotated[int, Entry("", "commanded lengths are within the stroke")]
    rate: Annotated[int, Entry("", "commanded rates are within the limit")]
    acceleration: Annotated[int, Entry("", "commanded accelerations are within the limit")]
    jerk: Annotated[int, Entry("", "commanded accelerations change no faster than the limit of the jerk")]
    length_continuous: Annotated[
        int, Entry("", "commanded lengths are continuous and agree with their rates")
    ]
    rate_continuous: Annotated[
        int, Entry("", "commanded rates are continuous and agree with their accelerations")
    ]
    stands: Annotated[int, Entry("", "nothing moves where the table must be at rest")]
    starts_from_measured: Annotated[int, Entry("", "a fresh start is made from where the table is")]
    table_acceleration: Annotated[int, Entry("", "the true table is not shaken more than stated")]


class BoundColumns(NamedTuple):
    """What is bounded, under the names of the report."""

    beyond_stroke_m: Annotated[int, Entry("m", "")]
    beyond_stroke_on_stops_m: Annotated[int, Entry("m", "where the table may rest on its stops")]
    rate_m_s: Annotated[int, Entry("m/s", "")]
    acceleration_m_s2: Annotated[int, Entry("m/s^2", "")]
    jerk_m_s3: Annotated[int, Entry("m/s^3", "")]
    length_step_m: Annotated[int, Entry("m", "deviation from the rates")]
    rate_step_m_s: Annotated[int, Entry("m/s", "deviation from the accelerations")]
    fresh_start_m: Annotated[int, Entry("m, rad", "between reference and measured pose")]
    table_acceleration_m_s2: Annotated[int, Entry("m/s^2", "true")]
    table_angular_acceleration_rad_s2: Annotated[int, Entry("rad/s^2", "true")]


RULE: Final = index_table(RuleCodes, 1)
RULES: Final = {name.upper(): rule.meaning for name, rule in entries(RuleCodes)}
"""Name and meaning of each rule."""
_RULE_NAMES: Final = ("", *RULES)
BOUND: Final = index_table(BoundColumns)
MAX_FINITE: Final = 1e300


class Applies(NamedTuple):
    """What applies to a cycle."""

    enabled: bool = False
    """The drive follows the command; nothing else is checked where it does not."""
    continues: bool = False
    """The command has to go on from the last cycle's, one period later."""
    standing: bool = False
    """No motion may be asked for."""
    stood: bool = False
    """Nor was any in the last cycle: the lengths stay."""
    from_measured: bool = False
    """The command starts from the measured pose."""
    on_stops: bool = False
    """The table may lie on its stops, beyond the stroke by what they give."""
    quiet: bool = False
    """The drive has followed all the time: the bound of the table's acceleration holds."""
    skipped: bool = False
    """Periods have passed without a command: lengths may have gone on by what the rate limit allows."""


class CheckArrays(NamedTuple):
    """What the check reads and keeps; n actuators."""

    command: FloatArray
    """Lengths, rates, accelerations and forces (4 n), of the frame."""
    reference: FloatArray
    """(24), of the frame."""
    pose: FloatArray
    """Measured (6), of the frame."""
    lengths: FloatArray
    """Neutral lengths and strokes (2, n)."""
    bounds: FloatArray
    """See ``BOUND``."""
    last: FloatArray
    """Lengths, rates and accelerations of the last command (3, n)."""
    maximum: FloatArray
    """Largest value met of each bound's quantity."""
    detail: FloatArray
    """Of a violation: position, value and bound."""


@dataclass(frozen=True)
class Bounds:
    """Bounds and tolerances of the numbers, SI; None where the table's settings say it.

    The tolerances of continuity are half of what the drive still takes for the same motion (20 um, 2 mm/s) or
    less; a smooth motion stays below a thousandth of the first.
    """

    stroke: float = 1e-6
    """Beyond the stroke."""
    on_stops: float = 1e-3
    """Beyond the stroke while the table may lie on its stops."""
    rate: float | None = None
    acceleration: float | None = None
    jerk: float | None = None
    length_step: float = 2e-6
    """Of the motion; what the force balance may move comes on top."""
    rate_step: float = 1e-3
    start: float = 2e-3
    """Between reference and measured pose at a fresh start (m and rad)."""
    table_acceleration: float = 30.0
    """Of the true C, in m/s²."""
    table_angular_acceleration: float = 30.0
    """In rad/s²."""


class Numbers:
    """Holds bounds and the last command; ``inspect`` checks one cycle."""

    def __init__(
        self, frame: Frame, geometry: Geometry, table: TableSettings, bounds: Bounds, balanced: float
    ) -> None:
        """``balanced``: m a period by which the force balance moves a length at most."""
        limits = table.limits
        n = geometry.actuators
        acceleration = limits.acceleration if bounds.acceleration is None else bounds.acceleration
        jerk: float | None = getattr(limits, "jerk", None) if bounds.jerk is None else bounds.jerk
        command, reference, pose = (frame.index[name] for name in ("command.lengths", "reference", "pose"))
        self._arrays = CheckArrays(
            command=frame.values[command : command + 4 * n],
            reference=frame.values[reference : reference + 24],
            pose=frame.values[pose : pose + 6],
            lengths=np.stack([geometry.neutral_lengths, geometry.strokes]),
            bounds=np.array(
                [
                    bounds.stroke,
                    bounds.on_stops,
                    max(table.velocities) if bounds.rate is None else bounds.rate,
                    acceleration,
                    # Without a limit: the maximum acceleration at the highest frequency of a profile.
                    2.0 * np.pi * 100.0 * acceleration if jerk is None else jerk,
                    bounds.length_step + balanced,
                    bounds.rate_step,
                    bounds.start,
                    bounds.table_acceleration,
                    bounds.table_angular_acceleration,
                ]
            ),
            last=np.zeros((3, n)),
            maximum=np.zeros(size_of(BOUND)),
            detail=np.zeros(3),
        )
        self._inspect = entry(inspect, (self._arrays, np.zeros(18), Applies(), 0.0))

    def inspect(self, truth: FloatArray, applies: Applies, dt: float) -> str:
        """Return the name of the first rule that is violated, empty for none; ``dt`` (s) since the last
        command.

        ``truth`` holds the plant's true pose, rates and accelerations (6 each) first.
        """
        found: int = self._inspect(self._arrays, truth, applies, dt)
        return _RULE_NAMES[found]

    def maxima(self) -> dict[str, float]:
        """Return the largest value met of each bounded number, SI."""
        return dict(zip(BoundColumns._fields, self._arrays.maximum.tolist(), strict=True))

    def describe(self) -> str:
        """Return position, value and bound of what ``inspect`` has found."""
        position, value, bound = self._arrays.detail
        return f"number {int(position) + 1}: {value:.6g}, bound {bound:.6g}"


@kernel
def inspect(arrays: CheckArrays, truth: FloatArray, applies: Applies, dt: float) -> int:
    """Return the code of the first violation (``RULE``), 0 for none, and keep the command."""
    if not (_finite(arrays.command, arrays.detail) and _finite(arrays.reference, arrays.detail)):
        return RULE.command_finite
    n = arrays.lengths.shape[1]
    found = 0
    if applies.enabled:
        for i in range(n):
            if found == 0:
                found = _check_actuator(arrays, i, applies, dt)
        if found == 0:
            found = _check_table(arrays, truth, applies)
    for i in range(n):
        for k in range(3):
            arrays.last[k, i] = arrays.command[k * n + i]
    return found


@kernel
def _finite(numbers: FloatArray, detail: FloatArray) -> bool:
    for k in range(len(numbers)):
        if not abs(numbers[k]) < MAX_FINITE:
            detail[0], detail[1], detail[2] = k, numbers[k], MAX_FINITE
            return False
    return True


@kernel
def _check_actuator(arrays: CheckArrays, i: int, applies: Applies, dt: float) -> int:
    """Return the code of the first violation of an actuator's command."""
    n = arrays.lengths.shape[1]
    length, rate, acceleration = arrays.command[i], arrays.command[n + i], arrays.command[2 * n + i]
    last_length, last_rate, last_acceleration = arrays.last[0, i], arrays.last[1, i], arrays.last[2, i]
    value = abs(length - arrays.lengths[0, i]) - arrays.lengths[1, i]
    bound = BOUND.beyond_stroke_on_stops_m if applies.on_stops else BOUND.beyond_stroke_m
    found = _exceeds(RULE.stroke, i, value, bound, arrays)
    if found == 0:
        found = _exceeds(RULE.rate, i, abs(rate), BOUND.rate_m_s, arrays)
    if found == 0:
        found = _exceeds(RULE.acceleration, i, abs(acceleration), BOUND.acceleration_m_s2, arrays)
    if found == 0 and applies.continues:
        value = abs(length - last_length - 0.5 * dt * (rate + last_rate))
        found = _exceeds(RULE.length_continuous, i, value, BOUND.length_step_m, arrays)
        if found == 0:
            value = abs(rate - last_rate - 0.5 * dt * (acceleration + last_acceleration))
            found = _exceeds(RULE.rate_continuous, i, value, BOUND.rate_step_m_s, arrays)
        if found == 0:
            value = abs(acceleration - last_acceleration) / dt
            found = _exceeds(RULE.jerk, i, value, BOUND.jerk_m_s3, arrays)
    if found == 0 and applies.skipped:
        value, allowed = abs(length - last_length), dt * arrays.bounds[BOUND.rate_m_s]
        if not value <= allowed + arrays.bounds[BOUND.length_step_m]:
            found = _violation(RULE.length_continuous, i, value, allowed, arrays.detail)
    if found == 0 and applies.standing:
        moved = abs(length - last_length) if applies.stood else 0.0
        value = abs(rate) + abs(acceleration) + max(moved - arrays.bounds[BOUND.length_step_m], 0.0)
        if not value <= 1e-12:
            found = _violation(RULE.stands, i, value, 1e-12, arrays.detail)
    return found


@kernel
def _check_table(arrays: CheckArrays, truth: FloatArray, applies: Applies) -> int:
    """Return the code of the first violation of the reference and of the true table."""
    found = 0
    for k in range(6):
        if found == 0 and applies.from_measured:
            value = abs(arrays.reference[k] - arrays.pose[k])
            found = _exceeds(RULE.starts_from_measured, k, value, BOUND.fresh_start_m, arrays)
    for k in range(6):
        if found == 0 and applies.quiet:
            bound = BOUND.table_acceleration_m_s2 if k < 3 else BOUND.table_angular_acceleration_rad_s2
            found = _exceeds(RULE.table_acceleration, k, abs(truth[12 + k]), bound, arrays)
    return found


@kernel
def _exceeds(rule: int, position: int, value: float, bound: int, arrays: CheckArrays) -> int:
    """Return the rule if the value exceeds its bound, else 0, and keep the maximum."""
    arrays.maximum[bound] = max(arrays.maximum[bound], value)
    if value <= arrays.bounds[bound]:
        return 0
    return _violation(rule, position, value, arrays.bounds[bound], arrays.detail)


@kernel
def _violation(rule: int, position: int, value: float, bound: float, detail: FloatArray) -> int:
    detail[0], detail[1], detail[2] = position, value, bound
    return rule
