"""Between which values a tyre is to be believed: wider than motorcycles and mining trucks need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

_LIMITS: Final = {
    "UNLOADED_RADIUS": (0.05, 3.0, "m"),
    "FNOMIN": (10.0, 1e6, "N"),
    "VERTICAL_STIFFNESS": (1e4, 1e8, "N/m"),
}
"""Least and greatest value in SI of what has a unit."""
_FRICTION: Final = (0.05, 3.0)
_THOUSAND: Final = 1e3


def improbable(coefficients: Mapping[str, float]) -> Iterator[tuple[str, str]]:
    """Yield the name and the problem of each value (SI) that is above zero and yet no tyre's, and of ranges
    without the nominal load or the upright wheel."""
    for name, (low, high, unit) in _LIMITS.items():
        value = coefficients.get(name, low)
        if value > 0.0 and not low <= value <= high:
            slipped = any(low <= value * factor <= high for factor in (_THOUSAND, 1.0 / _THOUSAND))
            question = ": is [UNITS] right?" if slipped else ""
            yield name, f"{value:g} {unit}, expected {low:g} to {high:g} {unit}{question}"
    low, high = _FRICTION
    for name, scale in (("PDX1", "LMUX"), ("PDY1", "LMUY")):
        factor = coefficients.get(scale, 1.0)
        friction = coefficients[name] * factor if name in coefficients else low
        if friction > 0.0 and not low <= friction <= high:
            scaled = f" times {scale}, {factor:g}," if scale in coefficients else ""
            shown = f"{coefficients[name]:g}{scaled} is a friction of {friction:g}"
            yield name, f"{shown}, expected {low:g} to {high:g}"
    yield from _ranges(coefficients)


def _ranges(coefficients: Mapping[str, float]) -> Iterator[tuple[str, str]]:
    nominal, greatest = coefficients.get("FNOMIN"), coefficients.get("FZMAX")
    if nominal is not None and greatest is not None and greatest > 0.0 and not greatest > nominal:
        yield "FZMAX", f"{greatest:g} N is not above the nominal load, FNOMIN, {nominal:g} N"
    min_camber, max_camber = coefficients.get("CAMMIN"), coefficients.get("CAMMAX")
    if min_camber is not None and not min_camber < 0.0:
        yield "CAMMIN", f"{min_camber:g} rad is not below zero; the range must hold the upright wheel"
    if max_camber is not None and not max_camber > 0.0:
        yield "CAMMAX", f"{max_camber:g} rad is not above zero; the range must hold the upright wheel"
