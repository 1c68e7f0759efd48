"""Foot of the page of a run: the figures of a ride, where the record has any."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from matplotlib.figure import Figure

from mastd.record.ride_text import ride_block, wheel_block

_SIZE: Final = 5.8
_LINE: Final = 0.0086
"""Height of a line of that size, as a share of the page's."""
_BELOW, _ABOVE = 0.018, 0.012
_PLACES: Final = (0.06, 0.49, 0.745)
"""Where seat and cue, the first wheels and the others begin, as shares of the page's width."""
_WHEELS: Final = 12
"""Side by side with as many again: the most that a vehicle has."""


def foot_height(result: Mapping[str, Any]) -> float:
    """Return the share of the page's height that the foot takes, 0 where there is nothing to write."""
    lines = max(len(block) for block in _blocks(result))
    return _LINE * lines + _ABOVE if lines else 0.0


def write_foot(figure: Figure, result: Mapping[str, Any]) -> None:
    """Write seat and cue on the left, the wheels beside them."""
    top = _BELOW + foot_height(result) - _ABOVE
    for place, block in zip(_PLACES, _blocks(result), strict=True):
        figure.text(place, top, "\n".join(block), fontsize=_SIZE, va="top", family="monospace")


def _blocks(result: Mapping[str, Any]) -> tuple[list[str], list[str], list[str]]:
    return (
        ride_block(result),
        wheel_block(result, 0, _WHEELS),
        wheel_block(result, _WHEELS, 2 * _WHEELS),
    )
