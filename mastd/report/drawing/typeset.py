"""The blocks of a page as rows of lines, boxes and words for sheets of paper.

Places are in points from the upper left corner of a row. A row is never torn by the end of a sheet.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from mastd.report.drawing.blocks import (
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
from mastd.report.drawing.drawing import Box, Line, TextItem, draw
from mastd.report.drawing.fonts import width, wrapped
from mastd.report.drawing.picture import Panel

Item = Line | Box | TextItem

_TITLE, _HEAD, _TEXT, _SMALL, _CODE = 15.0, 10.5, 7.5, 6.8, 6.0
_LEADING: Final = 1.32
_GAP: Final = 10.0
"""Between panels."""
_COLUMN_GAP: Final = 8.0
_SCALE: Final = 0.72
"""Of a panel's pixels in points: its letters are then as large as those of tables."""
_MAX_WORD_LENGTH: Final = 110.0
"""Points; digests and paths are torn before they take the room of everything else."""
_MAX_SOURCE_LINES: Final = 200


@dataclass(frozen=True, eq=False)
class Row:
    """What stands side by side; ``keep`` says that the next row must stand on the same sheet."""

    height: float
    items: tuple[Item, ...]
    keep: bool = False


def rows_of(blocks: Iterable[Block], space: float) -> list[Row]:
    """Return the rows of blocks that are ``space`` points wide."""
    return [row for block in blocks for row in _rows(block, space)]


def _rows(block: Block, space: float) -> list[Row]:
    match block:
        case Heading():
            rule = Line(np.array([[0.0, 22.0], [space, 22.0]]), "frame", 0.6)
            return [Row(27.0, (TextItem(0.0, 18.0, block.text, size=_HEAD, bold=True), rule), keep=True)]
        case Banner():
            return _banner(block, space)
        case Paragraph():
            return _paragraph(block, space)
        case Facts():
            return _facts(block, space)
        case Table():
            return _table(block, space)
        case Source():
            lines = block.text.replace("\t", "    ").split("\n")[:_MAX_SOURCE_LINES]
            return [*_folded(block.folded), *_source(lines, space)]
        case Pictures():
            return [*_folded(block.folded), *_pictures(block.panels, space), Row(4.0, ())]
        case Beside():
            return _beside(block, space)


def _banner(banner: Banner, space: float) -> list[Row]:
    verdict = width(banner.verdict, _TITLE, bold=True)
    titles = wrapped(banner.title, space - verdict - 20.0, _TITLE, bold=True)
    items: list[Item] = [
        TextItem(space, _TITLE, banner.verdict, banner.tone or "words", _TITLE, "end", bold=True)
    ]
    y = 0.0
    for title in titles:
        y += _TITLE * 1.2
        items.append(TextItem(0.0, y - 3.0, title, size=_TITLE, bold=True))
    for text in banner.lines:
        for line in wrapped(text, space, _TEXT):
            y += _TEXT * _LEADING
            items.append(TextItem(0.0, y, line, "quiet", _TEXT))
    return [Row(y + 6.0, tuple(items))]


def _paragraph(paragraph: Paragraph, space: float) -> list[Row]:
    size, tone = (_TEXT, "words") if paragraph.warning else (_SMALL, "quiet")
    left = 8.0 if paragraph.warning else 0.0
    lines = wrapped(paragraph.text, space - left, size)
    height = size * _LEADING * len(lines) + 5.0
    items: list[Item] = [
        TextItem(left, size * _LEADING * (number + 1), line, tone, size) for number, line in enumerate(lines)
    ]
    if paragraph.warning:
        items.append(Box(0.0, 2.0, 2.5, height - 4.0, "warn"))
    return [Row(height, tuple(items))]


def _folded(title: str) -> list[Row]:
    return [Row(15.0, (TextItem(0.0, 11.0, title, size=_TEXT, bold=True),), keep=True)] if title else []


def _source(lines: Sequence[str], space: float) -> list[Row]:
    found = [part for line in lines for part in wrapped(line, space, _CODE, code=True)]
    return [Row(_CODE * _LEADING, (TextItem(0.0, _CODE, line, "words", _CODE, code=True),)) for line in found]


def _table(table: Table, space: float) -> list[Row]:
    widths = _column_widths(_Columns.of(table), space)
    head = _line(cells(*table.head), widths, table.numbers, "quiet", bold=True)
    rows = [_ruled(_line(row, widths, table.numbers, "words"), space) for row in table.rows]
    return [*_folded(table.folded), replace(_ruled(head, space), keep=True), *rows, Row(6.0, ())]


def _facts(facts: Facts, space: float) -> list[Row]:
    if not facts.rows:
        return []
    rows = tuple(cells(name, value) for name, value in facts.rows)
    widths = _column_widths(_Columns.of(Table(("", ""), rows)), space)
    return [*_folded(facts.title), *(_line(row, widths, False, "quiet") for row in rows), Row(4.0, ())]


def _line(
    row: tuple[Cell, ...], widths: Sequence[float], numbers: bool, names: str, bold: bool = False
) -> Row:
    """Return cells side by side; ``names`` is the tone of the first one, and of a whole head."""
    items: list[Item] = []
    left, max_lines = 0.0, 1
    for index, (cell, space) in enumerate(zip(row, widths, strict=True)):
        lines = wrapped(cell.text, space + 0.5, _TEXT, bold)
        max_lines = max(max_lines, len(lines))
        right = numbers and index > 0
        tone = cell.tone or (names if index == 0 or bold else "words")
        for number, text in enumerate(lines):
            x, y = left + (space if right else 0.0), _TEXT * _LEADING * (number + 1) - 1.0
            items.append(TextItem(x, y, text, tone, _TEXT, "end" if right else "start", bold))
        left += space + _COLUMN_GAP
    return Row(_TEXT * _LEADING * max_lines + 1.0, tuple(items))


def _ruled(row: Row, space: float) -> Row:
    """Return a row with a line below it."""
    y = row.height + 1.5
    line = Line(np.array([[0.0, y], [space, y]]), "grid", 0.5)
    return Row(row.height + 2.0, (*row.items, line))


@dataclass(frozen=True)
class _Columns:
    """What the columns of a table need: ``whole`` for whole lines, ``min_widths`` for all but long words."""

    whole: tuple[float, ...]
    min_widths: tuple[float, ...]

    @classmethod
    def of(cls, table: Table) -> _Columns:
        whole, min_widths = [], []
        for index, title in enumerate(table.head):
            texts = [row[index].text for row in table.rows]
            words = [word for text in texts for word in text.split()]
            if table.numbers and index == 0:
                words = texts  # its names stay whole, the titles of figures give way
            head = max([4.0, *(width(word, _TEXT, bold=True) for word in title.split())])
            min_widths.append(max([head, *(min(width(word, _TEXT), _MAX_WORD_LENGTH) for word in words)]))
            whole.append(max([width(title, _TEXT, bold=True), 4.0, *(width(text, _TEXT) for text in texts)]))
        return cls(tuple(whole), tuple(min_widths))

    @property
    def gaps(self) -> float:
        """Width of the space between the columns."""
        return _COLUMN_GAP * (len(self.whole) - 1)


def _column_widths(columns: _Columns, space: float) -> list[float]:
    """Return the widths of columns: what they need, or so much that no word is torn and the rest by need."""
    space -= columns.gaps
    min_widths, whole = columns.min_widths, columns.whole
    if sum(whole) <= space:
        return list(whole)
    if sum(min_widths) >= space:
        return [space * some / sum(min_widths) for some in min_widths]
    factor = (space - sum(min_widths)) / (sum(whole) - sum(min_widths))
    return [some + factor * (all_of - some) for some, all_of in zip(min_widths, whole, strict=True)]


def _pictures(panels: Sequence[Panel], space: float) -> list[Row]:
    """Return the panels in rows of one wide and one narrow, or of three narrow ones."""
    narrow = (space - 2.0 * _GAP) / 3.0
    wide = space - narrow - _GAP
    found: list[Row] = []
    line: list[tuple[Panel, float]] = []
    left = space
    for panel in panels:
        own = wide if panel.wide else narrow
        if line and own > left + 1.0:
            found.append(_panels(line))
            line, left = [], space
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


def _beside(block: Beside, space: float) -> list[Row]:
    """Return two parts as one row if they are short and narrow enough, else below each other."""
    width = space - 2.0 * _GAP
    half = width / 2.0
    needs = [max([0.0, *map(_min_width, part)]) for part in (block.left, block.right)]
    first = half if max(needs) <= half else needs[0] + (width - sum(needs)) / 2.0
    left, right = rows_of(block.left, first), rows_of(block.right, width - first)
    height = max(sum(row.height for row in part) for part in (left, right))
    if height > space or sum(needs) > width:
        return [*rows_of(block.left, space), *rows_of(block.right, space)]
    items: list[Item] = []
    for part, x in ((left, 0.0), (right, first + 2.0 * _GAP)):
        y = 0.0
        for row in part:
            items += [moved(item, x, y) for item in row.items]
            y += row.height
    return [Row(height, tuple(items))]


def _min_width(block: Block) -> float:
    """Return the width in which a block of figures has no number torn."""
    if not isinstance(block, Table) or not block.numbers:
        return 0.0
    columns = _Columns.of(block)
    return sum(columns.min_widths) + columns.gaps


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
