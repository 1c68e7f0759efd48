"""The numbers of one cycle against their bounds: one compiled look at the frame and the plant's truth.

The command of cycle k is compared with that of cycle k − 1: what is sent has to be a motion, so length and
rate must change by what the rates and accelerations sent say (trapezoidal rule), within tolerances that a
smooth motion does not use up. Comparisons are written so that NaN fails them.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np

from mastd.arrays import FloatArray, IntArray
from mastd.kernel import kernel
from mastd.kinematics.geometry import Geometry
from mastd.loop.measurement.frame import Frame
from mastd.settings.table.table import TableSettings


class Number(enum.IntEnum):
    """What a cycle's numbers can violate."""

    NOTHING = 0
    COMMAND_FINITE = 1
    STROKE = 2
    RATE = 3
    ACCELERATION = 4
    JERK = 5
    LENGTH_CONTINUOUS = 6
    RATE_CONTINUOUS = 7
    STANDS = 8
    STARTS_FROM_MEASURED = 9
    TABLE_ACCELERATION = 10


MEANINGS: dict[Number, str] = {
    Number.COMMAND_FINITE: "every number of reference and command is finite",
    Number.STROKE: "commanded lengths lie within the stroke",
    Number.RATE: "commanded rates lie within the limit",
    Number.ACCELERATION: "commanded accelerations lie within the limit",
    Number.JERK: "commanded accelerations change no faster than the limit of the jerk",
    Number.LENGTH_CONTINUOUS: "commanded lengths go on from cycle to cycle as their rates say",
    Number.RATE_CONTINUOUS: "commanded rates go on from cycle to cycle as their accelerations say",
    Number.STANDS: "nothing moves where the table has to stand",
    Number.STARTS_FROM_MEASURED: "a fresh start is made from where the table is",
    Number.TABLE_ACCELERATION: "the true table is not shaken more than stated",
}

(
    COMMAND_FINITE,
    STROKE,
    RATE,
    ACCELERATION,
    JERK,
    LENGTH_CONTINUOUS,
    RATE_CONTINUOUS,
    STANDS,
    STARTS_FROM_MEASURED,
    TABLE_ACCELERATION,
) = (int(number) for number in list(Number)[1:])

# What applies to a cycle, as bits.
ENABLED = 1
"""The drive follows the command."""
CONTINUES = 2
"""The command has to go on from the last cycle's, one period later."""
STANDING = 4
"""No motion may be asked for."""
STOOD = 8
"""Nor was any in the last cycle: the lengths stay."""
BALANCED = 5.0e-6
"""m a period by which the balance may move a length of a standing table: 80 kN of internal force, where it is
a fault, at the gain of the starter settings."""
FRESH = 16
"""The command starts from the measured pose."""
ON_STOPS = 32
"""The table may lie on its stops, beyond the stroke by what they give."""
QUIET = 64
"""The drive has followed all the time: the bound of the table's acceleration holds."""
SKIPPED = 128
"""Periods have passed without a command: lengths may have gone on by what the rate limit allows."""

# places in the array of bounds
(
    B_STROKE,
    B_ON_STOPS,
    B_RATE,
    B_ACCELERATION,
    B_JERK,
    B_LENGTH,
    B_RATE_STEP,
    B_START,
    B_TABLE,
    B_TABLE_ANGULAR,
    BOUNDS,
) = range(11)


_NAMES = (
    "beyond_stroke_m",
    "beyond_stroke_on_stops_m",
    "rate_m_s",
    "acceleration_m_s2",
    "jerk_m_s3",
    "length_step_m",
    "rate_step_m_s",
    "fresh_start_m",
    "table_acceleration_m_s2",
    "table_angular_acceleration_rad_s2",
)


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
    rate_step: float = 1e-3
    start: float = 2e-3
    """Between reference and measured pose at a fresh start (m and rad)."""
    table_acceleration: float = 30.0
    """Of the true C, in m/s²."""
    table_angular_acceleration: float = 30.0
    """In rad/s²."""


class Numbers:
    """Holds bounds, places and the last command; ``inspect`` looks at one cycle."""

    def __init__(self, frame: Frame, geometry: Geometry, table: TableSettings, bounds: Bounds) -> None:
        limits = table.limits
        n = geometry.links
        acceleration = limits.acceleration if bounds.acceleration is None else bounds.acceleration
        jerk: float | None = getattr(limits, "jerk", None) if bounds.jerk is None else bounds.jerk
        self.bounds: FloatArray = np.array(
            [
                bounds.stroke,
                bounds.on_stops,
                limits.velocity if bounds.rate is None else bounds.rate,
                acceleration,
                # Without a limit: what the largest acceleration has at the fastest frequency of a profile.
                2.0 * np.pi * 100.0 * acceleration if jerk is None else jerk,
                bounds.length_step,
                bounds.rate_step,
                bounds.start,
                bounds.table_acceleration,
                bounds.table_angular_acceleration,
            ]
        )
        self.largest: FloatArray = np.zeros(BOUNDS)
        """Largest value met of each bound's quantity."""
        self._frame = frame.values
        self._places: IntArray = np.array(
            [n, frame.index["command.lengths"], frame.index["reference"], frame.index["pose"]], dtype=np.int64
        )
        self._lengths = np.stack([geometry.neutral_lengths, geometry.strokes])
        self._last: FloatArray = np.zeros((3, n))
        self._detail: FloatArray = np.zeros(3)
        self._period = 0.0

    def inspect(self, truth: FloatArray, bits: int, dt: float) -> Number:
        """Return the first thing that is violated; ``bits`` say what applies, ``dt`` since the last command.

        ``truth`` holds the plant's true pose, rates and accelerations (6 each) first.
        """
        found = inspect(
            self._frame,
            truth,
            self._places,
            self._lengths,
            self.bounds,
            self._last,
            self.largest,
            self._detail,
            bits,
            dt,
        )
        return Number(found) if found else Number.NOTHING

    def largest_by_name(self) -> dict[str, float]:
        """Return the largest value met of each bounded number, SI."""
        return dict(zip(_NAMES, self.largest.tolist(), strict=True))

    def describe(self) -> str:
        """Return place, value and bound of what ``inspect`` has found."""
        place, value, bound = self._detail
        return f"number {int(place) + 1}: {value:.6g}, bound {bound:.6g}"


@kernel
def _exceeds(
    code: int, place: int, value: float, bound: float, index: int, largest: FloatArray, detail: FloatArray
) -> int:
    largest[index] = max(largest[index], value)
    if value <= bound:
        return 0
    detail[0], detail[1], detail[2] = place, value, bound
    return code


@kernel
def inspect(
    frame: FloatArray,
    truth: FloatArray,
    places: IntArray,
    lengths: FloatArray,
    bounds: FloatArray,
    last: FloatArray,
    largest: FloatArray,
    detail: FloatArray,
    bits: int,
    dt: float,
) -> int:
    """Return the code of the first violation (``Number``), 0 for none, and keep the command.

    ``last`` (3, n) is the command of the cycle before; ``places``: links, then where command, motion and
    measured pose begin in the frame; ``lengths`` (2, n): neutral lengths and strokes; ``detail`` (3,) takes
    place, value and bound.
    """
    n, at, motion, pose = places[0], places[1], places[2], places[3]
    found = 0
    for k in range(4 * n):
        if not abs(frame[at + k]) < 1e300:
            detail[0], detail[1], detail[2] = k, frame[at + k], 1e300
            return COMMAND_FINITE
    for k in range(24):
        if not abs(frame[motion + k]) < 1e300:
            detail[0], detail[1], detail[2] = k, frame[motion + k], 1e300
            return COMMAND_FINITE
    if bits & ENABLED:
        margin, which = bounds[B_STROKE], B_STROKE
        if bits & ON_STOPS:
            margin, which = bounds[B_ON_STOPS], B_ON_STOPS
        for i in range(n):
            length, rate, acceleration = frame[at + i], frame[at + n + i], frame[at + 2 * n + i]
            value = abs(length - lengths[0, i]) - lengths[1, i]
            if not found:
                found = _exceeds(STROKE, i, value, margin, which, largest, detail)
            if not found:
                found = _exceeds(RATE, i, abs(rate), bounds[B_RATE], B_RATE, largest, detail)
            if not found:
                found = _exceeds(
                    ACCELERATION,
                    i,
                    abs(acceleration),
                    bounds[B_ACCELERATION],
                    B_ACCELERATION,
                    largest,
                    detail,
                )
            if not found and bits & CONTINUES:
                value = abs(length - last[0, i] - 0.5 * dt * (rate + last[1, i]))
                found = _exceeds(LENGTH_CONTINUOUS, i, value, bounds[B_LENGTH], B_LENGTH, largest, detail)
                if not found:
                    value = abs(rate - last[1, i] - 0.5 * dt * (acceleration + last[2, i]))
                    found = _exceeds(
                        RATE_CONTINUOUS, i, value, bounds[B_RATE_STEP], B_RATE_STEP, largest, detail
                    )
                if not found:
                    value = abs(acceleration - last[2, i]) / dt
                    found = _exceeds(JERK, i, value, bounds[B_JERK], B_JERK, largest, detail)
            if not found and bits & SKIPPED:
                value = abs(length - last[0, i])
                if not value <= dt * bounds[B_RATE] + bounds[B_LENGTH]:
                    detail[0], detail[1], detail[2] = i, value, dt * bounds[B_RATE]
                    found = LENGTH_CONTINUOUS
            if not found and bits & STANDING:
                moved = abs(length - last[0, i]) if bits & STOOD else 0.0
                moved = max(moved - BALANCED, 0.0)
                if not abs(rate) + abs(acceleration) + moved <= 1e-12:
                    detail[0], detail[1], detail[2] = i, abs(rate) + abs(acceleration) + moved, 1e-12
                    found = STANDS
        if not found and bits & FRESH:
            for k in range(6):
                value = abs(frame[motion + k] - frame[pose + k])
                if not found:
                    found = _exceeds(
                        STARTS_FROM_MEASURED, k, value, bounds[B_START], B_START, largest, detail
                    )
        if not found and bits & QUIET:
            for k in range(6):
                index = B_TABLE if k < 3 else B_TABLE_ANGULAR
                value = abs(truth[12 + k])
                if not found:
                    found = _exceeds(TABLE_ACCELERATION, k, value, bounds[index], index, largest, detail)
    for i in range(n):
        last[0, i], last[1, i], last[2, i] = frame[at + i], frame[at + n + i], frame[at + 2 * n + i]
    return found
