"""Whether times in a table are even, and by which step: within what their printed digits leave open.

A step of 1/1024 s printed with four decimals is 0.0010, 0.0020, 0.0029: the times are not even, the step is.
It is looked for as one number s that explains every printed time, ``|t_k - t_0 - k s|`` at most half a unit
of the last digit, and of all that do the one of the fewest digits is taken, as a step or as a rate.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

import numpy as np

from mastd.arrays import FloatArray

_PRINTED: Final = re.compile(r"[+-]?(\d*)(?:\.(\d*))?(?:[eEdD]([+-]?\d{1,3}))?")
_COARSE: Final = 20.0
"""Units of the last digit in a step, below which a skipped sample could look like rounding."""
_SIMPLE: Final = 4
"""Digits that a step or rate may have that is reported from such times."""
_SINGLE: Final = 2.0**-23


@dataclass(frozen=True)
class Printed:
    """How finely numbers are printed: decimals and significant digits at most."""

    decimals: int
    significant: int

    def unit(self, values: FloatArray) -> FloatArray:
        """Return the last digit's unit of each value (n,)."""
        size = np.abs(values)
        exponents = np.floor(np.log10(np.where(size > 0.0, size, 1.0)))
        by_digits = np.where(size > 0.0, 10.0 ** (exponents + 1 - self.significant), 0.0)
        return np.asarray(np.maximum(by_digits, 10.0**-self.decimals))


@dataclass(frozen=True)
class Even:
    """A step that explains all times; ``warning`` says what had to be taken for rounding, "" for nothing."""

    step: float
    warning: str = ""


def printed(texts: Iterable[str]) -> Printed:
    """Return how finely some words print their numbers; words that are no numbers count for nothing."""
    decimals, significant = 0, 1
    for text in texts:
        match = _PRINTED.fullmatch(text.strip())
        if match is None:
            continue
        fraction = match[2] or ""
        digits = (match[1] + fraction).lstrip("0")
        decimals = max(decimals, min(len(fraction) - int(match[3] or 0), 300))
        significant = max(significant, len(digits))
    return Printed(decimals, significant)


def even(times: FloatArray, digits: Printed) -> Even | None:
    """Return the step of rising times (n,), None where no step explains them or there are fewer than two."""
    if len(times) < 2:
        return None
    with np.errstate(all="ignore"):
        return _even(times, digits)


def _even(times: FloatArray, digits: Printed) -> Even | None:
    maximum = float(np.max(np.abs(times)))
    exact = _steps(times, np.full(len(times) - 1, 4.0 * np.spacing(maximum)))
    if exact is not None:
        return Even(_reproducing(times, *exact))
    unit = digits.unit(times[1:])
    rounded = _steps(times, 0.5 * unit + 4.0 * np.spacing(maximum))
    if rounded is not None:
        return _of_rounded(rounded, float(np.max(unit)))
    single = _steps(times, 0.5 * unit + _SINGLE * maximum)
    if single is None:
        return None
    step = _simplest(*single)
    worst = float(np.max(np.abs(times - times[0] - step * np.arange(len(times)))))
    return Even(step, f"the times are even within {worst:.1g} s, as numbers of 32 bits are")


def _of_rounded(bounds: tuple[float, float], unit: float) -> Even | None:
    step = _simplest(*bounds)
    if step > _COARSE * unit:
        return Even(step)
    if min(_digits(step), _digits(1.0 / step)) > _SIMPLE:
        return None
    return Even(step, f"the times are printed in units of {unit:g}, the step is taken as {step:.9g}")


def _steps(times: FloatArray, allowed: FloatArray) -> tuple[float, float] | None:
    """Return the bounds of all steps above zero that leave no time more than ``allowed`` (n - 1,) off."""
    indices = np.arange(1, len(times))
    passed = times[1:] - times[0]
    low = float(np.max((passed - allowed) / indices))
    high = float(np.min((passed + allowed) / indices))
    return (max(low, 0.0), high) if low <= high and high > 0.0 else None


def _reproducing(times: FloatArray, low: float, high: float) -> float:
    """Return the step that gives all times to the last bit, if a likely one does; else the simplest."""
    simplest = _simplest(low, high)
    positions = np.arange(len(times))
    for step in (simplest, float(times[1] - times[0])):
        if np.array_equal(times[0] + step * positions, times):
            return step
    return simplest


def _simplest(low: float, high: float) -> float:
    """Return the number between two bounds above zero with the fewest digits, itself or its inverse."""
    step = _shortest(low, high)
    if low > 0.0 and math.isfinite(1.0 / low):
        rate = _shortest(1.0 / high, 1.0 / low)
        if _digits(rate) < _digits(step) and low <= 1.0 / rate <= high:
            return 1.0 / rate
    return step


def _shortest(low: float, high: float) -> float:
    middle = 0.5 * low + 0.5 * high
    for digits in range(17):
        value = float(f"{middle:.{digits}e}")
        if low <= value <= high and value > 0.0:
            return value
    return middle


def _digits(value: float) -> int:
    """Significant digits of the shortest text that gives a number."""
    return len(Decimal(repr(value)).normalize().as_tuple().digits)
