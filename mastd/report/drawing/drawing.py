"""From a panel to lines, boxes and words at places: what every kind of file draws alike.

Places are in pixels of the panel, x to the right, y down.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mastd.arrays import FloatArray
from mastd.report.drawing.picture import Bound, Curve, Panel, Range
from mastd.report.drawing.ticks import Tick, linear_ticks, logarithmic_ticks

WIDE, NARROW = 700.0, 340.0
"""Widths of panels; two narrow ones and the space between are a wide one with one."""
SMALL, NORMAL = 10.0, 11.5
"""Sizes of letters."""
_TOP, _BELOW, _LABEL, _RIGHT = 32.0, 17.0, 12.0, 10.0
_LEFT = 38.0
"""Least margin on the left, so that panels below each other begin at the same place."""
_LETTER = 0.56
"""Width of a letter as a fraction of its size, on average."""
_BAR_LABEL = 16
"""Pixels that the number below a bar needs."""
_LOG_DEPTH = 1e-6
_TOGETHER = 16.0
"""Marks nearer than that, in pixels, share a label."""


@dataclass(frozen=True, eq=False)
class Line:
    """A line through ``points`` (k, 2); rows with NaN break it."""

    points: FloatArray
    tone: str
    width: float
    dash: str = ""
    """"" for none, ``dashed`` or ``dotted``."""


@dataclass(frozen=True)
class Box:
    """A filled rectangle."""

    left: float
    top: float
    width: float
    height: float
    tone: str


@dataclass(frozen=True)
class TextItem:
    """A line of text whose ``anchor`` (start, middle, end) stands at a place, on its base line."""

    x: float
    y: float
    text: str
    tone: str = "words"
    size: float = SMALL
    anchor: str = "start"
    bold: bool = False
    code: bool = False


@dataclass(frozen=True, eq=False)
class Drawing:
    """What is drawn, the lowest first."""

    width: float
    height: float
    items: tuple[Line | Box | TextItem, ...]


def draw(panel: Panel, width: float | None = None) -> Drawing:
    """Return the drawing of a panel, ``width`` wide, or as wide as such a panel is on a screen."""
    width = (WIDE if panel.wide else NARROW) if width is None else width
    y_range = _y_range(panel)
    x_range = _x_range(panel)
    bottom = panel.height - _BELOW - (_LABEL if panel.x_label else 0.0)
    maximum = max(2, int((bottom - _TOP) / 19.0))
    y_ticks = (logarithmic_ticks if panel.y_log else linear_ticks)(y_range, maximum)
    left = max(_LEFT, 10.0 + SMALL * _LETTER * max((len(text) for _, text in y_ticks), default=1))
    right = width - _RIGHT
    x_ticks = _x_ticks(panel, x_range, right - left)
    to_x = _scale(x_range, (left, right), panel.x_log)
    to_y = _scale(y_range, (bottom, _TOP), panel.y_log)
    items: list[Line | Box | TextItem] = []
    if panel.shade is not None:
        low, high = (float(to_x(np.clip(value, *x_range))) for value in panel.shade)
        items.append(Box(low, _TOP, high - low, bottom - _TOP, "shade"))
    items += _grid(x_ticks, y_ticks, to_x, to_y, (left, right), bottom)
    items += [TextItem(left - 6.0, 12.0, panel.title, size=NORMAL, bold=True)]
    items += _legend(panel, right, left - 6.0 + NORMAL * _LETTER * 1.1 * len(panel.title))
    if panel.x_label:
        items.append(TextItem(right, panel.height - 3.0, panel.x_label, "quiet", anchor="end"))
    if panel.empty:
        middle = (left + right) / 2.0, (_TOP + bottom) / 2.0
        items.append(TextItem(*middle, panel.empty, "quiet", NORMAL, "middle"))
    items += _marks(panel, x_range, to_x, bottom)
    for bar in panel.bars:
        high, low = float(to_y(bar.high)), float(to_y(bar.low))
        half = 0.3 * abs(float(to_x(1.0) - to_x(0.0)))
        middle_x = float(to_x(bar.x))
        items.append(Box(middle_x - half, high, 2.0 * half, max(low - high, 1.5), bar.tone))
    for curve in panel.curves:
        points = _placed(curve, x_range, y_range, to_x, to_y)
        if len(points):
            items.append(Line(points, curve.tone, curve.width, "dashed" if curve.dashed else ""))
    items += [_bound(bound, to_x, to_y, (left, right), bottom) for bound in panel.bounds]
    return Drawing(width, panel.height, tuple(items))


def _x_ticks(panel: Panel, x_range: Range, width: float) -> list[Tick]:
    if panel.bars:
        every = -(-len(panel.bars) * _BAR_LABEL // int(width))
        return [(bar.x, f"{bar.x:g}") for bar in panel.bars[::every]]
    if panel.x_log:
        return logarithmic_ticks(x_range, int(width / 30.0))
    return linear_ticks(x_range, int(width / 60.0))


def _x_range(panel: Panel) -> Range:
    if panel.x_range is not None:
        return panel.x_range
    found = [values for curve in panel.curves if len(values := curve.x[np.isfinite(curve.x)])]
    if panel.bars:
        return min(bar.x for bar in panel.bars) - 0.6, max(bar.x for bar in panel.bars) + 0.6
    if not found:
        return (0.1, 1.0) if panel.x_log else (0.0, 1.0)
    low, high = min(float(x.min()) for x in found), max(float(x.max()) for x in found)
    return (low, high) if high > low else (low, low + 1.0)


def _y_range(panel: Panel) -> Range:
    """Return the range of y: what is given, or room for everything that is shown."""
    if panel.y_range is not None:
        return panel.y_range
    x_range = _x_range(panel)
    parts = [curve.y[(curve.x >= x_range[0]) & (curve.x <= x_range[1])] for curve in panel.curves]
    parts += [np.array([bar.low, bar.high]) for bar in panel.bars]
    parts += [np.array([bound.value for bound in panel.bounds if not bound.upright], dtype=np.float64)]
    values = np.concatenate(parts)
    values = values[np.isfinite(values) & ((values > 0.0) if panel.y_log else True)]
    if panel.y_log:
        if not len(values):
            return 0.1, 1.0
        high = float(values.max())
        return max(float(values.min()), _LOG_DEPTH * high) / 1.5, 1.5 * high
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    middle, half = (low + high) / 2.0, max((high - low) / 2.0, panel.minimum / 2.0)
    half = half if half > 0.0 else max(abs(middle) * 0.01, 1e-9)
    return middle - 1.06 * half, middle + 1.06 * half


def _scale(span: Range, positions: Range, logarithmic: bool) -> Callable[[FloatArray | float], FloatArray]:
    """Return the function from a value to its place."""
    low, high = (np.log10(value) for value in span) if logarithmic else span
    factor = (positions[1] - positions[0]) / (high - low)

    def to_pixels(value: FloatArray | float) -> FloatArray:
        with np.errstate(invalid="ignore", divide="ignore"):
            number = np.log10(value) if logarithmic else np.asarray(value, dtype=np.float64)
        placed: FloatArray = positions[0] + (number - low) * factor
        return placed

    return to_pixels


def _placed(
    curve: Curve,
    x_range: Range,
    y_range: Range,
    to_x: Callable[[FloatArray | float], FloatArray],
    to_y: Callable[[FloatArray | float], FloatArray],
) -> FloatArray:
    """Return the points of a curve within the range of x; what lies above or below stays at the edge."""
    inside = (curve.x >= x_range[0]) & (curve.x <= x_range[1])
    x, y = curve.x[inside], np.clip(curve.y[inside], *y_range)
    return np.column_stack([to_x(x), to_y(y)])


def _grid(
    x_ticks: list[Tick],
    y_ticks: list[Tick],
    to_x: Callable[[FloatArray | float], FloatArray],
    to_y: Callable[[FloatArray | float], FloatArray],
    sides: Range,
    bottom: float,
) -> list[Line | Box | TextItem]:
    left, right = sides
    items: list[Line | Box | TextItem] = []
    for value, text in x_ticks:
        position = float(to_x(value))
        items.append(_straight(position, _TOP, position, bottom, "grid", 0.8))
        items.append(TextItem(position, bottom + 11.0, text, "quiet", anchor="middle"))
    for value, text in y_ticks:
        position = float(to_y(value))
        items.append(_straight(left, position, right, position, "grid", 0.8))
        items.append(TextItem(left - 4.0, position + 3.3, text, "quiet", anchor="end"))
    items.append(_straight(left, bottom, right, bottom, "frame", 1.0))
    items.append(_straight(left, _TOP, left, bottom, "frame", 1.0))
    return items


def _legend(panel: Panel, right: float, left: float) -> list[Line | Box | TextItem]:
    """Return the names of the curves in the panel's head, from the right; what has no space is left out."""
    named = dict.fromkeys((curve.name, curve.tone, curve.dashed) for curve in panel.curves if curve.name)
    items: list[Line | Box | TextItem] = []
    position = right
    for name, tone, dashed in reversed(named):
        start = position - SMALL * _LETTER * len(name)
        if start - 22.0 < left:
            break
        items.append(TextItem(start, 12.0, name, "quiet"))
        items.append(_straight(start - 18.0, 8.8, start - 4.0, 8.8, tone, 2.2, "dashed" if dashed else ""))
        position = start - 28.0
    return items


def _marks(
    panel: Panel, x_range: Range, to_x: Callable[[FloatArray | float], FloatArray], bottom: float
) -> list[Line | Box | TextItem]:
    """Return the marks; the labels of close ones are joined to first–last."""
    items: list[Line | Box | TextItem] = []
    groups: list[tuple[float, list[str], str]] = []
    for mark in panel.marks:
        if not x_range[0] <= mark.x <= x_range[1]:
            continue
        position = float(to_x(mark.x))
        items.append(_straight(position, _TOP, position, bottom, mark.tone, 1.0, "dotted"))
        if groups and position - groups[-1][0] < _TOGETHER:
            groups[-1][1].append(mark.label)
        else:
            groups.append((position, [mark.label], mark.tone))
    for position, labels, tone in groups:
        text = labels[0] if len(labels) == 1 else f"{labels[0]}–{labels[-1]}"
        if text:
            items.append(TextItem(position, _TOP - 4.0, text, tone, 8.5, "middle"))
    return items


def _bound(
    bound: Bound,
    to_x: Callable[[FloatArray | float], FloatArray],
    to_y: Callable[[FloatArray | float], FloatArray],
    sides: Range,
    bottom: float,
) -> Line:
    if bound.upright:
        position = float(np.clip(to_x(bound.value), *sides))
        return _straight(position, _TOP, position, bottom, "limit", 1.1, "dashed")
    position = float(to_y(bound.value))
    return _straight(sides[0], position, sides[1], position, "limit", 1.1, "dashed")


def _straight(x0: float, y0: float, x1: float, y1: float, tone: str, width: float, dash: str = "") -> Line:
    return Line(np.array([[x0, y0], [x1, y1]]), tone, width, dash)
