"""Where an axis has its ticks, and how they are written."""

from __future__ import annotations

import math

from mastd.report.drawing.picture import Range

Tick = tuple[float, str]
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def linear_ticks(span: Range, maximum: int) -> list[Tick]:
    """Return at most about ``maximum`` ticks at round numbers within a range."""
    low, high = span
    if not (math.isfinite(low) and math.isfinite(high) and high > low):
        return []
    rough = (high - low) / max(maximum, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1.0, 2.0, 5.0, 10.0) if factor * power >= 0.8 * rough)
    first, last = math.ceil(low / step - 1e-6), math.floor(high / step + 1e-6)
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    return [(number * step, _plain(number * step, digits)) for number in range(first, last + 1)]


def logarithmic_ticks(span: Range, maximum: int) -> list[Tick]:
    """Return at most about ``maximum`` ticks at powers of ten, with 2 and 5 times them where they fit."""
    low, high = span
    if not 0.0 < low < high < math.inf:
        return []
    decades = math.log10(high / low)
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    if 3.0 * decades <= maximum:
        found = [factor * 10.0**power for power in range(first, last + 1) for factor in (1.0, 2.0, 5.0)]
        return [(value, f"{value:g}") for value in found if low <= value * (1 + 1e-9) and value <= high]
    every = max(1, math.ceil(decades / maximum))
    powers = [power for power in range(first, last + 1) if power % every == 0]
    return [(10.0**power, power_of_ten(power)) for power in powers if low <= 10.0**power <= high]


def power_of_ten(power: int) -> str:
    """Return a power of ten as it is written on an axis."""
    return f"{10.0**power:g}" if -2 <= power <= 3 else "10" + str(power).translate(_SUPERSCRIPTS)


def _plain(value: float, digits: int) -> str:
    text = f"{value:.{digits}f}"
    return text.replace("-", "−") if float(text) else f"{0:.{digits}f}"
