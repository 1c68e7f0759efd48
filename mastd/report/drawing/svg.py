"""A drawing as inline SVG; its colours are those of the page's style sheet and follow its ground."""

from __future__ import annotations

from html import escape

import numpy as np

from mastd.arrays import FloatArray
from mastd.report.drawing.drawing import Box, Drawing, Line, TextItem
from mastd.report.text import one_line

FINENESS = 10
"""Steps of a coordinate in a pixel; lines are written in whole steps, which keeps pages small."""


def svg(drawing: Drawing, title: str) -> str:
    """Return a drawing as an ``svg`` element with its title as accessible label."""
    parts = [
        f'<svg viewBox="0 0 {drawing.width:g} {drawing.height:g}" width="{drawing.width:g}"'
        f' height="{drawing.height:g}" role="img" aria-label="{escape(one_line(title))}">'
    ]
    parts += [_item(item) for item in drawing.items]
    parts.append("</svg>")
    return "".join(parts)


def _item(item: Line | Box | TextItem) -> str:
    if isinstance(item, Box):
        return (
            f'<rect class="f {item.tone}" x="{item.left:.1f}" y="{item.top:.1f}"'
            f' width="{max(item.width, 0.0):.1f}" height="{max(item.height, 0.0):.1f}"/>'
        )
    if isinstance(item, Line):
        dash = f" {item.dash}" if item.dash else ""
        return f'<path class="l {item.tone}{dash}" stroke-width="{item.width:g}" d="{_path(item.points)}"/>'
    weight = ' font-weight="600"' if item.bold else ""
    anchor = f' text-anchor="{item.anchor}"' if item.anchor != "start" else ""
    return (
        f'<text class="f {item.tone}" x="{item.x:.1f}" y="{item.y:.1f}" font-size="{item.size:g}"'
        f"{anchor}{weight}>{escape(one_line(item.text))}</text>"
    )


def _path(points: FloatArray) -> str:
    """Return the commands of a path in pixels: absolute where a stretch begins, relative from there on."""
    sound = np.all(np.isfinite(points), axis=1)
    edges = np.flatnonzero(np.diff(np.concatenate(([False], sound, [False])).astype(np.int8)))
    parts = []
    for first, last in edges.reshape(-1, 2):
        whole = np.rint(points[first:last] * FINENESS).astype(np.int64)
        x, y = whole[0] / FINENESS
        steps = np.diff(whole, axis=0)
        steps = steps[np.any(steps != 0, axis=1)] if len(steps) > 1 else steps
        moves = "".join(_number(dx) + _number(dy) for dx, dy in steps.tolist())
        parts.append(f"M{x:g} {y:g}" + (f"l{moves.lstrip()}" if moves else "h.1"))
    return "".join(parts)


def _number(steps: int) -> str:
    """Return a relative coordinate as short as SVG allows, with the separator that it needs before it."""
    whole, tenths = divmod(abs(steps), FINENESS)
    digits = f"{whole or ''}.{tenths}" if tenths else f"{whole}"
    return f"-{digits}" if steps < 0 else f" {digits}"
