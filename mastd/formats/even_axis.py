"""Whether a column of places (times, as a rule) is even, and what its start and step are then."""

from __future__ import annotations

from typing import Final

import numpy as np

from mastd.formats.measurement import Array

_EVEN: Final = 1e-6
"""Of a step: places that are off by no more are even; clocks that files state are rounded to some ns."""


def even(places: Array) -> tuple[float, float] | None:
    """Return (start, step) so that ``places`` (n,) are start + k · step, None where they are uneven.

    Of all steps that fit, it is the one that fits best; of equal ones the shortest decimal number, or the
    inverse of a whole number, which recorders have. Places that are rounded to float64 far from 0 are even
    where they are so to their last digit, and that digit is below 1 % of the step.
    """
    count = len(places)
    if count < 2 or not np.all(np.isfinite(places)):
        return None
    start = float(places[0])
    mean = (float(places[-1]) - start) / (count - 1)
    if not 0.0 < mean < np.inf:
        return None
    last_digit = float(np.spacing(np.max(np.abs(places))))
    if last_digit > 0.01 * mean:
        return None
    numbers = np.arange(count, dtype=np.float64)
    step = min(
        _candidates(mean, float(places[1]) - start),
        key=lambda candidate: float(np.max(np.abs(start + candidate * numbers - places))),
    )
    off = float(np.max(np.abs(start + step * numbers - places)))
    return (start, step) if off <= max(_EVEN * step, last_digit) else None


def _candidates(mean: float, first: float) -> list[float]:
    rate = 1.0 / mean
    candidates = [float(f"{mean:.9g}"), float(f"{mean:.12g}"), mean, first]
    if 1.0 <= rate < 1e12:
        candidates.insert(0, 1.0 / round(rate))
    return candidates


def first_fall(places: Array) -> int | None:
    """Return the number of the first place that is not greater than the one before, None if all are."""
    with np.errstate(invalid="ignore"):
        falls = np.flatnonzero(~(np.diff(places) > 0.0))
    return int(falls[0]) + 1 if len(falls) else None
