"""The guard: one compiled look at each sample, against every limit that the present state watches.

``inspect`` counts for how many cycles in a row a condition has stood; when the count passes the fault's
delay, its bit is set in the returned mask. Comparisons are written so that NaN trips them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mastd.kernel import kernel
from mastd.safety.faults import Code
from mastd.settings.daemon import GuardSettings
from mastd.settings.table import TableSettings

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

CODES = max(int(code) for code in Code) + 1

SAMPLE_NOT_FINITE = int(Code.SAMPLE_NOT_FINITE)
STROKE = int(Code.STROKE)
VELOCITY = int(Code.VELOCITY)
FORCE = int(Code.FORCE)
FOLLOWING_ERROR = int(Code.FOLLOWING_ERROR)
FORWARD_KINEMATICS = int(Code.FORWARD_KINEMATICS)
SUPPLY_PRESSURE = int(Code.SUPPLY_PRESSURE)
REDUNDANCY = int(Code.REDUNDANCY)

# positions in the array of limits
MARGIN, RATE, LOAD, FOLLOWING, FOLLOWING_AT_RATE, PRESSURE, DISAGREEMENT, LIMITS = range(8)


@kernel
def finite(values: Array, first: int, last: int) -> int:
    """Return the index of the first value in [first, last) that is not finite, or −1."""
    for index in range(first, last):
        if not (-1e300 < values[index] < 1e300):
            return index
    return -1


@kernel
def _count(
    code: int,
    trips: bool,
    link: int,
    value: float,
    limit: float,
    counts: Integers,
    delays: Integers,
    detail: Array,
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
def inspect(
    lengths: Array,
    rates: Array,
    forces: Array,
    commanded: Array,
    commanded_rates: Array,
    supply_pressure: float,
    redundancy_residual: float,
    converged: bool,
    watched: int,
    neutral_lengths: Array,
    strokes: Array,
    limits: Array,
    counts: Integers,
    delays: Integers,
    detail: Array,
) -> int:
    """Return the mask (bit = fault code) of the watched conditions that have stood longer than they may.

    ``lengths``, ``rates``, ``forces``, ``commanded``, ``commanded_rates`` (n,) in m, m/s, N; ``detail``
    (codes, 3) receives link (0-based), value and limit of each condition's worst link.
    """
    stroke_link, rate_link, force_link, following_link = -1, -1, -1, -1
    stroke_excess, rate_excess, force_excess, following_excess, following_limit = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(lengths.shape[0]):
        excess = abs(lengths[i] - neutral_lengths[i]) - (strokes[i] - limits[MARGIN])
        if not excess <= 0.0 and (stroke_link < 0 or excess > stroke_excess):
            stroke_link, stroke_excess = i, excess
        excess = abs(rates[i]) - limits[RATE]
        if not excess <= 0.0 and (rate_link < 0 or excess > rate_excess):
            rate_link, rate_excess = i, excess
        excess = abs(forces[i]) - limits[LOAD]
        if not excess <= 0.0 and (force_link < 0 or excess > force_excess):
            force_link, force_excess = i, excess
        allowed = max(limits[FOLLOWING], limits[FOLLOWING_AT_RATE] * abs(commanded_rates[i]) / limits[RATE])
        excess = abs(lengths[i] - commanded[i]) - allowed
        if not excess <= 0.0 and (following_link < 0 or excess > following_excess):
            following_link, following_excess, following_limit = i, excess, allowed
    i, j, k, m = stroke_link, rate_link, force_link, following_link
    stretch, reach = lengths[i] - neutral_lengths[i], strokes[i] - limits[MARGIN]
    error = lengths[m] - commanded[m]
    mask = _count(STROKE, i >= 0, i, stretch, reach, counts, delays, detail)
    mask |= _count(VELOCITY, j >= 0, j, rates[j], limits[RATE], counts, delays, detail)
    mask |= _count(FORCE, k >= 0, k, forces[k], limits[LOAD], counts, delays, detail)
    mask |= _count(FOLLOWING_ERROR, m >= 0, m, error, following_limit, counts, delays, detail)
    mask |= _count(FORWARD_KINEMATICS, not converged, -1, 0.0, 0.0, counts, delays, detail)
    lowest = limits[PRESSURE]
    starved = not supply_pressure >= lowest
    mask |= _count(SUPPLY_PRESSURE, starved, -1, supply_pressure, lowest, counts, delays, detail)
    apart = not abs(redundancy_residual) <= limits[DISAGREEMENT]
    mask |= _count(REDUNDANCY, apart, -1, redundancy_residual, limits[DISAGREEMENT], counts, delays, detail)
    for code in range(counts.shape[0]):
        if not (watched >> code) & 1:
            counts[code] = 0
    return mask & watched


def bits(*codes: Code) -> int:
    """Return the mask of ``codes``."""
    return sum(1 << int(code) for code in codes)


POSE = bits(Code.FORWARD_KINEMATICS, Code.REDUNDANCY)
"""Watched while the drive holds the table on its lower stops."""
MOTION = POSE | bits(Code.VELOCITY, Code.FORCE, Code.FOLLOWING_ERROR, Code.SUPPLY_PRESSURE)
"""Watched while the drive follows the daemon's set-points away from the end stops."""
LOWERING = MOTION & ~bits(Code.SUPPLY_PRESSURE)
"""Watched on the way down: a supply that fails only hastens what is under way."""
RAISED = MOTION | bits(Code.STROKE)
"""Watched while the table is up."""


class Guard:
    """Limits and counters for ``inspect``, built once from the settings."""

    def __init__(self, table: TableSettings, guard: GuardSettings, period: float) -> None:
        limits = table.limits
        self.limits = np.array(
            [
                limits.stroke_margin,
                limits.velocity,
                limits.force_share * table.actuator.maximum_force,
                limits.following_error.minimum,
                limits.following_error.at_maximum_velocity,
                table.supply.limits.minimum_pressure,
                limits.redundancy_residual,
            ]
        )
        self.counts: Integers = np.zeros(CODES, dtype=np.int64)
        self.delays: Integers = np.zeros(CODES, dtype=np.int64)
        self.detail = np.zeros((CODES, 3))
        for code, delay in (
            (Code.STROKE, guard.limit_delay),
            (Code.VELOCITY, guard.limit_delay),
            (Code.FORCE, guard.limit_delay),
            (Code.FOLLOWING_ERROR, guard.following_delay),
            (Code.FORWARD_KINEMATICS, guard.sample_delay),
            (Code.SUPPLY_PRESSURE, guard.supply_delay),
            (Code.REDUNDANCY, guard.limit_delay),
        ):
            self.delays[code] = round(delay / period)

    def describe(self, code: Code) -> str:
        """Return what was seen, for the fault's cause."""
        link, value, limit = self.detail[code]
        leg = f"link {int(link) + 1} " if link >= 0 else ""
        match code:
            case Code.STROKE:
                return f"{leg}at {value * 1e3:+.2f} mm, allowed ±{limit * 1e3:.2f} mm"
            case Code.VELOCITY:
                return f"{leg}at {value * 1e3:+.1f} mm/s, allowed ±{limit * 1e3:.1f} mm/s"
            case Code.FORCE:
                return f"{leg}at {value * 1e-3:+.1f} kN, allowed ±{limit * 1e-3:.1f} kN"
            case Code.FOLLOWING_ERROR:
                return f"{leg}off by {value * 1e3:+.2f} mm, allowed ±{limit * 1e3:.2f} mm"
            case Code.SUPPLY_PRESSURE:
                return f"{value * 1e-5:.0f} bar, at least {limit * 1e-5:.0f} bar"
            case Code.REDUNDANCY:
                return f"by {value * 1e3:+.3f} mm, allowed ±{limit * 1e3:.3f} mm"
            case _:
                return ""
