"""Whether a column of places (times, as a rule) is even, and what its start and step are then."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.errors import FormatError
from mastd.formats.core.measurement import Channel, Series
from mastd.formats.core.units import SiUnit, si_unit

_MORE: Final = {"ns": SiUnit("s", 1e-9), "nanoseconds": SiUnit("s", 1e-9)}
_EVEN: Final = 1e-3
"""Of a step: places that are off by no more are even. Times are rounded, to ns or µs as a rule, or summed."""


def even(positions: FloatArray) -> tuple[float, float] | None:
    """Return (start, step) so that ``positions`` (n,) are start + k · step, None where they are uneven.

    The step is the inverse of an integer or a short decimal number, as recorders have them, where that
    fits to the last digit of the places or nearly as well as any; else the one that does. Places that are
    rounded to float64 far from 0 are even where they are so to their last digit, and that digit is below 1 %
    of the step.
    """
    count = len(positions)
    if count < 2 or not np.all(np.isfinite(positions)):
        return None
    start = float(positions[0])
    mean = (float(positions[-1]) - start) / (count - 1)
    if not 0.0 < mean < np.inf:
        return None
    last_digit = float(np.spacing(np.max(np.abs(positions))))
    if last_digit > 0.01 * mean:
        return None
    numbers = np.arange(count, dtype=np.float64)
    candidates = _candidates(mean, float(positions[1]) - start)
    offs = [float(np.max(np.abs(start + candidate * numbers - positions))) for candidate in candidates]
    good = max(2.0 * min(offs), last_digit)
    step, off = next(pair for pair in zip(candidates, offs, strict=True) if pair[1] <= good)
    return (start, step) if off <= max(_EVEN * step, last_digit) else None


def _candidates(mean: float, first: float) -> list[float]:
    rate = 1.0 / mean
    candidates = [float(f"{mean:.9g}"), float(f"{mean:.12g}"), mean, first]
    if 1.0 <= rate < 1e12:
        candidates.insert(0, 1.0 / round(rate))
    return candidates


def first_fall(positions: FloatArray) -> int | None:
    """Return the index of the first value not greater than the one before, None if all are greater."""
    with np.errstate(invalid="ignore"):
        falls = np.flatnonzero(~(np.diff(positions) > 0.0))
    return int(falls[0]) + 1 if len(falls) else None


def series_on(
    positions: FloatArray, channels: tuple[Channel, ...], name: str = ""
) -> tuple[Series, tuple[str, ...]]:
    """Return channels on a column of times in s that a file holds, and warnings where it is no good axis."""
    found = even(positions)
    if found is not None:
        start, step = found
        return Series(channels, step, start, name=name), ()
    return _uneven(positions, channels, name)


def _uneven(
    positions: FloatArray, channels: tuple[Channel, ...], name: str
) -> tuple[Series, tuple[str, ...]]:
    series = Series(channels, None, abscissae=positions, name=name)
    fall = first_fall(positions)
    if fall is None:
        return series, ()
    of_which = f"{name}: " if name else ""
    warning = (
        f"{of_which}the times do not increase from value {fall - 1} ({positions[fall - 1]:g} s) to the next "
    )
    return series, (warning + f"({positions[fall]:g} s)",)


def check_stated(start: float, step: float | None) -> None:
    """Raise FormatError where a file of ours states a start or step that it was never written with."""
    if not math.isfinite(start) or not (step is None or 0.0 < step < math.inf):
        raise FormatError(f"damaged: states start {start} and step {step}")


def kept_or_own(
    positions: FloatArray, start: float, step: float | None, channels: tuple[Channel, ...], name: str
) -> tuple[Series, tuple[str, ...]]:
    """Return channels of a file of ours that states ``start`` and ``step`` beside its column of times.

    Where somebody has changed one of the two since, the column counts, with a warning.
    """
    check_stated(start, step)
    if step is None:
        return _uneven(positions, channels, name)
    stated = Series(channels, step, start, name=name)
    if len(positions) == stated.count and np.array_equal(stated.axis_values(), positions):
        return stated, ()
    series, warnings = series_on(positions, channels, name)
    of_which = f"{name}: " if name else ""
    text = f"{of_which}states start {start:g} s and step {step:g} s, its times are others: they count"
    return series, (text, *warnings)


def in_seconds(values: FloatArray, unit: str) -> FloatArray | None:
    """Convert times from a file's unit to s, None where the unit is not one of time."""
    meaning = _MORE.get(unit) or si_unit(unit)
    if meaning is None or meaning.symbol != "s":
        return None
    inverse = round(1.0 / meaning.factor)
    # An exact division where the factor, a negative power of ten, is not exact.
    return values / inverse if inverse > 1 else values * meaning.factor
