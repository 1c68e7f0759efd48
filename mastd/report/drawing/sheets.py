"""A page as sheets of paper: PDF in A4, PNG and SVG as one long sheet."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.backends.backend_pdf import PdfPages
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.path import Path as Outline
from matplotlib.transforms import Affine2D

from mastd.report.drawing.blocks import Page
from mastd.report.drawing.drawing import Box, Line, TextItem
from mastd.report.drawing.fonts import properties, width
from mastd.report.drawing.tones import TONES, VERDICTS
from mastd.report.drawing.typeset import Item, Row, moved, rows_of
from mastd.report.text import one_line

_A4: Final = (595.0, 842.0)
_MARGIN: Final = 36.0
_FOOT: Final = 20.0
_DPI: Final = 130
_LONGEST: Final = 14_000.0
"""Height of a long sheet in points; what does not fit is left to HTML and PDF."""
_DASHES: Final = {"dashed": (4.0, 2.7), "dotted": (1.0, 2.0)}


def write_sheets(page: Page, path: Path) -> None:
    """Write a page to a PDF, PNG or SVG file, by its ending; OSError if the file cannot be written."""
    with warnings.catch_warnings(), mpl.rc_context({"pdf.fonttype": 42, "pdf.compression": 6}):
        warnings.filterwarnings("ignore", message="Glyph")  # a font does not have every character there is
        rows = rows_of(page.blocks, _A4[0] - 2.0 * _MARGIN)
        if path.suffix.lower() == ".pdf":
            _write_pdf(page, rows, path)
        else:
            height = min(sum(row.height for row in rows) + 2.0 * _MARGIN, _LONGEST)
            figure = _figure(_placed(rows), height)
            figure.savefig(path, dpi=_DPI, metadata={"Title": page.title})


def _write_pdf(page: Page, rows: Sequence[Row], path: Path) -> None:
    sheets = _sheets(rows)
    with PdfPages(path, metadata={"Title": page.title, "Creator": "mastd report"}) as file:
        for number, sheet in enumerate(sheets, start=1):
            foot = TextItem(
                _A4[0] - _MARGIN, _A4[1] - _FOOT, f"{number} of {len(sheets)}", "quiet", 6.5, "end"
            )
            title = TextItem(_MARGIN, _A4[1] - _FOOT, page.title[:110], "quiet", 6.5)
            file.savefig(_figure([*_placed(sheet), title, foot], _A4[1]))


def _sheets(rows: Sequence[Row]) -> list[list[Row]]:
    """Return the rows sheet by sheet; a row that must not be the last one goes with the next."""
    space = _A4[1] - _MARGIN - _MARGIN - _FOOT / 2.0
    sheets: list[list[Row]] = [[]]
    left = space
    for group in _groups(rows):
        height = sum(row.height for row in group)
        if height > left and sheets[-1]:
            sheets.append([])
            left = space
        sheets[-1] += group
        left -= height
    return sheets


def _groups(rows: Sequence[Row]) -> list[list[Row]]:
    groups: list[list[Row]] = [[]]
    for row in rows:
        groups[-1].append(row)
        if not row.keep:
            groups.append([])
    return [group for group in groups if group]


def _placed(rows: Sequence[Row]) -> list[Item]:
    """Return all items of rows below each other, from the upper left corner of a sheet."""
    items: list[Item] = []
    y = _MARGIN
    for row in rows:
        items += [moved(item, _MARGIN, y) for item in row.items]
        y += row.height
    return items


def _figure(items: Sequence[Item], height: float) -> Figure:
    figure = Figure(figsize=(_A4[0] / 72.0, height / 72.0))
    figure.add_artist(_Ink(items, height))
    return figure


class _Ink(Artist):
    """Draws items by the renderer itself: a tenth of the time that as many artists would take."""

    def __init__(self, items: Sequence[Item], height: float) -> None:
        super().__init__()
        self._items = items
        self._height = height

    def draw(self, renderer: Any) -> None:
        """Draw all items; positions count from the upper left corner, the renderer's from the lower one."""
        scale = renderer.points_to_pixels(1.0)
        page = Affine2D().scale(scale, -scale).translate(0.0, self._height * scale)
        for item in self._items:
            gc = renderer.new_gc()
            gc.set_foreground(_colour(item.tone))
            if isinstance(item, Line):
                gc.set_linewidth(item.width)
                gc.set_joinstyle("round")
                gc.set_capstyle("butt" if item.dash else "round")
                if item.dash:
                    gc.set_dashes(0.0, _DASHES[item.dash])
                renderer.draw_path(gc, _outline(item), page)
            elif isinstance(item, Box):
                gc.set_linewidth(0.0)
                box = Outline.unit_rectangle()
                transform = Affine2D().scale(item.width, item.height).translate(item.left, item.top) + page
                renderer.draw_path(gc, box, transform, to_rgb(_colour(item.tone)))
            elif item.text:
                _write(renderer, gc, item, page, self._height * scale)
            gc.restore()


def _write(renderer: Any, gc: Any, text: TextItem, page: Affine2D, height: float) -> None:
    alignment = {"start": 0.0, "middle": 0.5, "end": 1.0}[text.anchor]
    left = text.x - alignment * width(text.text, text.size, text.bold, text.code)
    x, y = page.transform((left, text.y))
    font = properties(text.size, text.bold, text.code)
    renderer.draw_text(gc, x, height - y if renderer.flipy() else y, one_line(text.text), font, 0.0)


def _outline(line: Line) -> Outline:
    """Return the path of a line; after a gap it begins again."""
    sound = np.all(np.isfinite(line.points), axis=1)
    codes = np.where(np.concatenate(([False], sound[:-1])), Outline.LINETO, Outline.MOVETO)
    return Outline(line.points[sound], codes[sound].astype(np.uint8))


def _colour(tone: str) -> str:
    colours = TONES.get(tone) or VERDICTS.get(tone)
    return colours[0] if colours else "black"
