"""Lines of text: labelled rows, wrapped ones, bars. Nothing here is wider than it was asked to be."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from mastd.panel.view import Display, Glyphs

LABEL: Final = 8
"""Columns of the name in front of a row."""
QUIET: Final = "dim"
BAD: Final = "bold red"
CARE: Final = "bold yellow"
_PLAIN: Final = str.maketrans(
    {
        "…": "~",
        "µ": "u",
        "±": "+",
        "°": "'",
        "·": "-",
        "→": ">",
        "–": "-",
        "—": "-",
        "’": "'",
        "−": "-",
        "×": "x",
    }
)

Piece = str | tuple[str, str]
"""A text, or a text with its style."""


def joined(pieces: Iterable[Piece]) -> Text:
    """Return pieces behind each other."""
    line = Text()
    for piece in pieces:
        if isinstance(piece, str):
            line.append(piece)
        else:
            line.append(*piece)
    return line


def row(label: str, *pieces: Piece) -> Text:
    """Return pieces behind a label."""
    return joined([(f"{label:<{LABEL}}", QUIET), *pieces])


def wrapped(label: str, text: str, width: int, style: str = "") -> list[Text]:
    """Return a text behind a label, on as many lines as it needs."""
    parts = _parts(text, max(width - LABEL, 1))
    return [row("" if number else label, (part, style)) for number, part in enumerate(parts)]


def paragraph(text: str, width: int, style: str = "") -> list[Text]:
    """Return a text on as many lines as it needs."""
    return [Text(part, style) for part in _parts(text, max(width, 1))]


def _parts(text: str, space: int) -> list[str]:
    """Cut between words, and within words that are longer than a line."""
    parts, line = [], ""
    for word in text.split():
        while cell_len(word) > space:
            if line:
                parts.append(line)
                line = ""
            head = _head(word, space)
            parts.append(head)
            word = word[len(head) :]  # noqa: PLW2901
        if line and cell_len(line) + 1 + cell_len(word) > space:
            parts.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*parts, line] if line or not parts else parts


def _head(word: str, space: int) -> str:
    """Return the beginning of a word that fits, one character at least."""
    taken, used = 0, 0
    for character in word:
        used += cell_len(character)
        if used > space:
            break
        taken += 1
    return word[: max(taken, 1)]


def fitted(line: Text, display: Display) -> Text:
    """Return a line that is no wider than the terminal and has only characters that it knows."""
    if not display.unicode:
        plain = line.plain.translate(_PLAIN)
        line = line.copy()
        line.plain = "".join(character if character.isascii() else "?" for character in plain)
    if line.cell_len > display.width:
        line = line.copy()
        line.truncate(display.width)
        if display.width > 1:
            line = line[: max(len(line) - 1, 0)]
            line.append(("…" if display.unicode else "~"), QUIET)
    return line


def ends(left: Text, right: Text, width: int) -> Text:
    """Return a line with a text at either end; the right one gives way."""
    space = width - left.cell_len - right.cell_len
    return Text.assemble(left, " " * space, right) if space > 0 else left


def filled(text: str, width: int) -> str:
    """Return a text with blanks up to the width, cut if it is longer."""
    return set_cell_size(text, width)


def track(ratio: float | None, width: int, drawn: Glyphs) -> str:
    """Return a bar of ``width`` from end to end with a mark at ``ratio``, −1 to 1; beyond it an arrow."""
    inner = width - 2
    if ratio is None:
        return f"{drawn.left}{'stroke not known'[:inner]:^{inner}}{drawn.right}"
    cells = list(drawn.track * inner)
    cells[inner // 2] = drawn.middle
    left, right = drawn.left, drawn.right
    if not ratio >= -1.0:
        left = "<"
    elif not ratio <= 1.0:
        right = ">"
    else:
        cells[min(int(0.5 * (ratio + 1.0) * inner), inner - 1)] = drawn.marker
    return f"{left}{''.join(cells)}{right}"


def progress(ratio: float | None, width: int, drawn: Glyphs) -> str:
    """Return a bar that is filled up to ``ratio``, 0 to 1."""
    inner = max(width - 2, 0)
    full = 0 if ratio is None else round(min(max(ratio, 0.0), 1.0) * inner)
    return f"[{drawn.full * full}{drawn.empty * (inner - full)}]"
