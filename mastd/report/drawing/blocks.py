"""What a page consists of, whatever file it becomes."""

from __future__ import annotations

from dataclasses import dataclass

from mastd.report.drawing.picture import Panel


@dataclass(frozen=True)
class Cell:
    """Text in a table; ``tone`` is ``good``, ``bad``, ``code`` or nothing of them."""

    text: str
    tone: str = ""


@dataclass(frozen=True)
class Heading:
    """Begins a part of the page."""

    text: str


@dataclass(frozen=True)
class Banner:
    """The head of a page: its title, a verdict in one word with its tone, and lines that say it in words."""

    title: str
    verdict: str
    tone: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Paragraph:
    """A few sentences; ``warning`` is what a reader must not overlook."""

    text: str
    warning: bool = False


@dataclass(frozen=True)
class Facts:
    """Names with what is known of them."""

    rows: tuple[tuple[str, str], ...]
    title: str = ""


@dataclass(frozen=True)
class Table:
    """Rows below a head; a first column of names, ``numbers`` says that the others are figures.

    ``folded`` is the line that opens a long table, where a file can be opened like that.
    """

    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    numbers: bool = False
    folded: str = ""


@dataclass(frozen=True)
class Source:
    """Text that stands as somebody wrote it."""

    text: str
    folded: str


@dataclass(frozen=True)
class Pictures:
    """Panels in their order: they fill rows of one wide and one narrow, or of three narrow ones."""

    panels: tuple[Panel, ...]
    folded: str = ""


@dataclass(frozen=True)
class Beside:
    """Two parts side by side, where there is room for that."""

    left: tuple[Block, ...]
    right: tuple[Block, ...]


Block = Heading | Banner | Paragraph | Facts | Table | Source | Pictures | Beside


@dataclass(frozen=True)
class Page:
    """A whole page."""

    title: str
    blocks: tuple[Block, ...]


def cells(*texts: str) -> tuple[Cell, ...]:
    """Return plain texts as a row of a table."""
    return tuple(Cell(text) for text in texts)
