"""The blocks of a page as rows of lines, boxes and words for sheets of paper.

Places are in points from the upper left corner of a row. A row is never torn by the end of a sheet.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from mastd.report.blocks import (
    Banner,
    Beside,
    Block,
    Cell,
    Facts,
    Heading,
    Paragraph,
    Pictures,
    Source,
    Table,
    cells,
)
from mastd.report.drawing import Box, Line, Words, draw
from mastd.report.fonts import width, wrapped
from mastd.report.picture import Panel

Item = Line | Box | Words

_TITLE, _HEAD, _TEXT, _SMALL, _CODE = 15.0, 10.5, 7.5, 6.8, 6.0
_LEADING: Final = 1.32
_GAP: Final = 10.0
"""Between columns, and between panels."""
_SCALE: Final = 0.72
"""Of a panel's pixels in points: its letters are then as large as those of tables."""
_MOST_SOURCE_LINES: Final = 200


@dataclass(frozen=True, eq=False)
class Row:
    """What stands side by side; ``keep`` says that the next row must stand on the same sheet."""

    height: float
    items: tuple[Item, ...]
    keep: bool = False


def rows_of(blocks: Iterable[Block], room: float) -> list[Row]:
    """Return the rows of blocks that are ``room`` points wide."""
    return [row for block in blocks for row in _rows(block, room)]


def _rows(block: Block, room: float) -> list[Row]:
    match block:
        case Heading():
            rule = Line(np.array([[0.0, 22.0], [room, 22.0]]), "frame", 0.6)
            return [Row(27.0, (Words(0.0, 18.0, block.text, size=_HEAD, bold=True), rule), keep=True)]
        case Banner():
            return _banner(block, room)
        case Paragraph():
            return _paragraph(block, room)
        case Facts():
            pairs = tuple(cells(name, value) for name, value in block.rows)
            return [*_grid(pairs, room, names="quiet"), Row(4.0, ())]
        case Table():
            head = [replace(row, keep=True) for row in _grid((cells(*block.head),), room, block, ruled=True)]
            title = _folded(block.folded)
            return [*title, *head, *_grid(block.rows, room, block, ruled=True), Row(6.0, ())]
        case Source():
            lines = block.text.replace("\t", "    ").split("\n")[:_MOST_SOURCE_LINES]
            return [*_folded(block.folded), *_source(lines, room)]
        case Pictures():
            return [*_folded(block.folded), *_pictures(block.panels, room), Row(4.0, ())]
        case Beside():
            return _beside(block, room)


def _banner(banner: Banner, room: float) -> list[Row]:
    verdict = width(banner.verdict, _TITLE, bold=True)
    titles = wrapped(banner.title, room - verdict - 20.0, _TITLE, bold=True)
    items: list[Item] = [
        Words(room, _TITLE, banner.verdict, banner.tone or "words", _TITLE, "end", bold=True)
    ]
    y = 0.0
    for title in titles:
        y += _TITLE * 1.2
        items.append(Words(0.0, y - 3.0, title, size=_TITLE, bold=True))
    for text in banner.lines:
        for line in wrapped(text, room, _TEXT):
            y += _TEXT * _LEADING
            items.append(Words(0.0, y, line, "quiet", _TEXT))
    return [Row(y + 6.0, tuple(items))]


def _paragraph(paragraph: Paragraph, room: float) -> list[Row]:
    size, tone = (_TEXT, "words") if paragraph.warning else (_SMALL, "quiet")
    left = 8.0 if paragraph.warning else 0.0
    lines = wrapped(paragraph.text, room - left, size)
    height = size * _LEADING * len(lines) + 5.0
    items: list[Item] = [
        Words(left, size * _LEADING * (number + 1), line, tone, size) for number, line in enumerate(lines)
    ]
    if paragraph.warning:
        items.append(Box(0.0, 2.0, 2.5, height - 4.0, "warn"))
    return [Row(height, tuple(items))]


def _folded(title: str) -> list[Row]:
    return [Row(15.0, (Words(0.0, 11.0, title, size=_TEXT, bold=True),), keep=True)] if title else []


def _source(lines: Sequence[str], room: float) -> list[Row]:
    found = [part for line in lines for part in wrapped(line, room, _CODE, code=True)]
    return [Row(_CODE * _LEADING, (Words(0.0, _CODE, line, "words", _CODE, code=True),)) for line in found]


def _grid(
    rows: Sequence[tuple[Cell, ...]],
    room: float,
    table: Table | None = None,
    ruled: bool = False,
    names: str = "words",
) -> list[Row]:
    """Return rows of cells below each other; the columns of a table are those of its head, too."""
    if not rows:
        return []
    every = [*rows, *(table.rows if table else ()), *((cells(*table.head),) if table else ())]
    columns = _column_widths(every, room)
    of_head = table is not None and rows[0] == cells(*table.head)
    numbers = table is not None and table.numbers
    found = []
    for row in rows:
        parts = [
            wrapped(cell.text, column + 0.5, _TEXT, of_head)
            for cell, column in zip(row, columns, strict=True)
        ]
        height = _TEXT * _LEADING * max(len(lines) for lines in parts) + (3.0 if ruled else 1.0)
        items: list[Item] = []
        left = 0.0
        for place, (cell, lines, column) in enumerate(zip(row, parts, columns, strict=True)):
            tone = "quiet" if of_head else (cell.tone or (names if place == 0 else "words"))
            right = numbers and place > 0
            for number, line in enumerate(lines):
                x, y = left + (column if right else 0.0), _TEXT * _LEADING * (number + 1) - 1.0
                items.append(Words(x, y, line, tone, _TEXT, "end" if right else "start", of_head))
            left += column + _GAP
        if ruled:
            end = min(left - _GAP, room)
            items.append(Line(np.array([[0.0, height - 0.5], [end, height - 0.5]]), "grid", 0.5))
        found.append(Row(height, tuple(items)))
    return found


def _column_widths(rows: Sequence[tuple[Cell, ...]], room: float) -> list[float]:
    """Return the widths of columns: what they need, or so much that no word is torn and the rest by need."""
    room -= _GAP * (len(rows[0]) - 1)
    texts = [[row[place].text for row in rows] for place in range(len(rows[0]))]
    needed = [max(width(text, _TEXT, bold=True) for text in column) for column in texts]
    if sum(needed) <= room:
        return needed
    share = room / len(needed)
    least = [
        min(max(width(word, _TEXT, bold=True) for text in column for word in text.split(" ")), share)
        for column in texts
    ]
    more = [whole - some for whole, some in zip(needed, least, strict=True)]
    factor = (room - sum(least)) / sum(more)
    return [some + factor * rest for some, rest in zip(least, more, strict=True)]


def _pictures(panels: Sequence[Panel], room: float) -> list[Row]:
    """Return the panels in rows of one wide and one narrow, or of three narrow ones."""
    narrow = (room - 2.0 * _GAP) / 3.0
    wide = room - narrow - _GAP
    found: list[Row] = []
    line: list[tuple[Panel, float]] = []
    left = room
    for panel in panels:
        own = wide if panel.wide else narrow
        if line and own > left + 1.0:
            found.append(_panels(line))
            line, left = [], room
        line.append((panel, own))
        left -= own + _GAP
    return [*found, _panels(line)] if line else found


def _panels(line: Sequence[tuple[Panel, float]]) -> Row:
    items: list[Item] = []
    left = height = 0.0
    for panel, own in line:
        drawing = draw(panel, own / _SCALE)
        items += [moved(item, left, 0.0, _SCALE) for item in drawing.items]
        height = max(height, drawing.height * _SCALE)
        left += own + _GAP
    return Row(height + 4.0, tuple(items))


def _beside(block: Beside, room: float) -> list[Row]:
    """Return two parts as one row if they are short, else below each other."""
    half = (room - 2.0 * _GAP) / 2.0
    left, right = rows_of(block.left, half), rows_of(block.right, half)
    height = max(sum(row.height for row in part) for part in (left, right))
    if height > room:
        return [*rows_of(block.left, room), *rows_of(block.right, room)]
    items: list[Item] = []
    for part, x in ((left, 0.0), (right, half + 2.0 * _GAP)):
        y = 0.0
        for row in part:
            items += [moved(item, x, y) for item in row.items]
            y += row.height
    return [Row(height, tuple(items))]


def moved(item: Item, x: float, y: float, scale: float = 1.0) -> Item:
    """Return an item larger by ``scale`` and then moved."""
    if isinstance(item, Line):
        points = item.points * scale + np.array([x, y])
        return replace(item, points=points, width=item.width * scale)
    if isinstance(item, Box):
        return Box(
            x + item.left * scale,
            y + item.top * scale,
            item.width * scale,
            item.height * scale,
            item.tone,
        )
    return replace(item, x=x + item.x * scale, y=y + item.y * scale, size=item.size * scale)
