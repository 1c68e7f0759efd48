"""How wide text is on a sheet; the font is the one that comes with matplotlib."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from matplotlib.font_manager import FontProperties, findfont, get_font

from mastd.report.text import one_line

_SIZE: Final = 100.0


@lru_cache(maxsize=64)
def properties(size: float, bold: bool, code: bool) -> FontProperties:
    """Return the font of a size in points."""
    family = "DejaVu Sans Mono" if code else "DejaVu Sans"
    return FontProperties(family=family, size=size, weight="bold" if bold else "normal")


@lru_cache(maxsize=4)
def _font(bold: bool, code: bool) -> Any:
    return get_font(findfont(properties(10.0, bold, code)))


@lru_cache(maxsize=20_000)
def width(text: str, size: float, bold: bool = False, code: bool = False) -> float:
    """Return the width of a line of text in points."""
    font = _font(bold, code)
    font.set_size(_SIZE, 72.0)  # the renderers share the font and set sizes of their own
    font.set_text(one_line(text))
    return float(font.get_width_height()[0]) / 64.0 * size / _SIZE


def wrapped(text: str, space: float, size: float, bold: bool = False, code: bool = False) -> list[str]:
    """Return a text in lines that fit into ``space`` points; words that do not fit alone are cut."""
    if code:  # its spaces have a meaning
        return _pieces(text, space, size, bold, code)
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if width(longer, size, bold, code) <= space:
            lines[-1] = longer
            continue
        pieces = _pieces(word, space, size, bold, code)
        lines += pieces if lines[-1] else []
        if not lines[-1]:
            lines = [*lines[:-1], *pieces]
    return lines


def _pieces(word: str, space: float, size: float, bold: bool, code: bool) -> list[str]:
    """Return a word in parts that fit."""
    pieces = []
    while width(word, size, bold, code) > space and len(word) > 1:
        count = max(1, int(len(word) * space / width(word, size, bold, code)))
        while count > 1 and width(word[:count], size, bold, code) > space:
            count -= 1
        pieces.append(word[:count])
        word = word[count:]
    return [*pieces, word]
