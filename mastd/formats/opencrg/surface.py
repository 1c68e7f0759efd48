"""A road as an OpenCRG file stores it: its reference line by headings and slopes, heights beside it.

The laws are those of ASAM OpenCRG 1.2: between two rows the line goes straight, by one increment, with the
heading and the slope of the second row; heights are those of the line, plus banking times v, plus those of
the grid. Where the file states where the line ends, it is integrated from both ends, and each counts the more
the nearer it is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.errors import FormatError
from mastd.formats.opencrg.data import read_cells
from mastd.formats.opencrg.header import Header, Stated
from mastd.formats.opencrg.layout import layout_of

_ROUNDED: Final = 5e-4
"""How far a stated end may lie from where the line leads, m, for the digits of files."""
_ROUNDED_RATIO: Final = 1e-6
"""The same, of the line's length."""
_WRONG_RATIO: Final = 1e-2
"""Of the line's length, from which on a stated end is not believed."""
_STATED: Final = "the reference line is stated to end at"
_SAME: Final = 1e-6
"""Between the numbers at both ends of a line without a channel, which has one number."""
_BESIDE: Final = 1e-3
"""Between a number at an end and the channel's there, from which on the difference is reported."""


@dataclass(frozen=True, eq=False)
class StoredRoad:
    """Rows n along, long sections m across; SI.

    ``heights`` (n, m) above the line, NaN where there is none. ``headings``, ``slopes`` (n − 1): between the
    rows. ``banking`` (n). ``corner``: x, y, z of the line's start, ``heading`` its heading there. ``ends``:
    stated x, y, z of its end by their keys. ``channels``: of the reference line, as stored.
    """

    start: float
    spacing: float
    across: FloatArray
    heights: FloatArray
    headings: FloatArray
    slopes: FloatArray
    banking: FloatArray
    corner: tuple[float, float, float]
    heading: float
    ends: Mapping[str, Stated]
    channels: Mapping[str, FloatArray]
    straight: bool

    @property
    def length(self) -> float:
        """Of the line, m."""
        return self.spacing * (len(self.heights) - 1)

    def without_end(self, *keys: str) -> StoredRoad:
        """Return the same without what is stated of the line's end."""
        return replace(self, ends={key: end for key, end in self.ends.items() if key not in keys})


def stored_road(header: Header, data: bytes) -> StoredRoad:
    """Return the road that a file stores; raise FormatError, one line for each problem."""
    layout = layout_of(header)
    values = read_cells(header, data, layout.rows)
    channels = {name: values[:, k] for name, k in layout.reference.items()}
    _check_channels(header, channels, layout.start, layout.spacing)
    rows = len(values)
    headings = _between(header, channels.get("phi"), rows, "phi")
    slopes = _between(header, channels.get("slope"), rows, "s")
    banking = channels.get("banking")
    if banking is None:
        banking = np.full(rows, _constant(header, "b"))
    heading = header.number("reference_line_start_phi", float(headings[0]))
    return StoredRoad(
        layout.start,
        layout.spacing,
        layout.across,
        _columns(values, layout.sections),
        headings,
        slopes,
        banking,
        tuple(header.number(f"reference_line_start_{key}", 0.0) for key in "xyz"),  # type: ignore[arg-type]
        heading,
        {key: header.road[name] for key in "xyz" if (name := f"reference_line_end_{key}") in header.road},
        channels,
        "phi" not in channels,
    )


def _columns(values: FloatArray, columns: list[int]) -> FloatArray:
    """Return columns, as a part of the whole where they lie side by side: they may be large."""
    first = columns[0]
    beside = columns == list(range(first, first + len(columns)))
    taken: FloatArray = values[:, first : first + len(columns)] if beside else values[:, columns]
    return taken


def line_of(road: StoredRoad, warnings: list[str]) -> FloatArray:
    """Return x and y (n, 2) of the reference line, and add contradictions to ``warnings``.

    Raises FormatError where the line ends nowhere near the stated end.
    """
    steps = road.spacing * np.column_stack([np.cos(road.headings), np.sin(road.headings)])
    from_start = np.cumsum(np.vstack([road.corner[:2], steps]), axis=0)
    if not {"x", "y"} <= set(road.ends):
        return from_start
    end = np.array([road.ends["x"].value, road.ends["y"].value])
    x, y = from_start[-1]
    stated = f"{_STATED} x, y = {end[0]:g}, {end[1]:g} m, integrated headings give {x:g}, {y:g} m"
    near = _near(road, end - from_start[-1], road.ends["x"], stated)
    if near is None and road.straight:
        return from_start
    if near is not None:
        warnings.append(
            f"{near}: {'its headings are used' if road.straight else 'the difference is distributed'}"
        )
    return from_start if road.straight else _blended(from_start, end)


def levels_of(road: StoredRoad, warnings: list[str]) -> FloatArray:
    """Return z (n) of the reference line, as ``line_of`` does x and y."""
    from_start: FloatArray = np.cumsum(np.append(road.corner[2], road.spacing * road.slopes))
    if "z" not in road.ends:
        return from_start
    end = np.array([road.ends["z"].value])
    stated = f"{_STATED} z = {end[0]:g} m, integrated slopes give {from_start[-1]:g} m"
    near = _near(road, end - from_start[-1:], road.ends["z"], stated)
    if near is not None:
        warnings.append(f"{near}: the difference is distributed")
    spread: FloatArray = _blended(from_start[:, np.newaxis], end)[:, 0]
    return spread if near is not None or road.slopes.any() else from_start


def _near(road: StoredRoad, difference: FloatArray, end: Stated, stated: str) -> str | None:
    """Return None where an end is met, a warning where it is nearly; FormatError where it is not."""
    distance = math.hypot(*difference)
    if distance <= max(_ROUNDED, _ROUNDED_RATIO * road.length):
        return None
    if not distance <= _WRONG_RATIO * road.length:
        raise FormatError(f"{end.location}: {stated}: expected only one of them")
    return f"{end.location}: {stated}"


def _blended(from_start: FloatArray, end: FloatArray) -> FloatArray:
    """Return a line integrated from both ends, each weighing the more the nearer it is."""
    weight = np.linspace(0.0, 1.0, len(from_start))[:, np.newaxis]
    met: FloatArray = from_start + weight * (end - from_start[-1])
    return met


def _check_channels(header: Header, channels: Mapping[str, FloatArray], start: float, spacing: float) -> None:
    """Raise FormatError for a channel of the reference line without a number where one is used."""
    for name, values in channels.items():
        # Headings and slopes are those between two rows, of which the first has none before it.
        first = 0 if name == "banking" else 1
        wrong = np.flatnonzero(~np.isfinite(values[first:]))
        if len(wrong):
            row = int(wrong[0]) + first
            raise FormatError(
                f"{header.path}: data row {row + 1}, u = {start + row * spacing:g} m, reference line {name}: "
                "no finite number"
            )
        for key, row in (("start", first), ("end", -1)):
            stated = header.road.get(f"reference_line_{key}_{name if name == 'phi' else name[0]}")
            if stated is None or (key == "start" and name == "phi"):
                continue
            distance = stated.value - float(values[row])
            if not abs(math.remainder(distance, math.tau) if name == "phi" else distance) <= _BESIDE:
                header.warn(
                    f"{stated.location}: {name} at the {key} is stated as {stated.value:g}, the channel has "
                    f"{values[row]:g} there: the channel is used"
                )


def _between(header: Header, channel: FloatArray | None, rows: int, key: str) -> FloatArray:
    return channel[1:] if channel is not None else np.full(rows - 1, _constant(header, key))


def _constant(header: Header, key: str) -> float:
    """Return the number of a line that has no channel for it."""
    start, end = (header.road.get(f"reference_line_{side}_{key}") for side in ("start", "end"))
    value = 0.0 if start is None else start.value
    if end is not None:
        distance = math.remainder(end.value - value, math.tau) if key == "phi" else end.value - value
        if not abs(distance) <= _SAME:
            raise FormatError(
                f"{end.location}: REFERENCE_LINE_END_{key.upper()} is {end.value:g}, at the start {value:g}, "
                "without a channel in between"
            )
    return value
