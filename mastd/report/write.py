"""A page to a file of the kind that its ending names."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from mastd.errors import FormatError, UsageError
from mastd.formats.core.files import replacing_named
from mastd.report.drawing.blocks import Page

ENDINGS: Final = (".html", ".pdf", ".png", ".svg")


def require_ending(path: Path) -> None:
    """Raise UsageError for a file whose ending names no kind of page."""
    if path.suffix.lower() not in ENDINGS:
        raise UsageError(f"{path}: a page must end in {', '.join(ENDINGS)}")


def write_page(page: Page, path: Path) -> None:
    """Write a page as HTML, PDF, PNG or SVG, whole or not at all; its directory is made.

    Raises UsageError if the ending is another one, FormatError if the file cannot be written.
    """
    require_ending(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FormatError(f"{path}: cannot be written: {error.strerror}") from error
    with replacing_named(path) as whole:
        if path.suffix.lower() == ".html":
            from mastd.report.drawing.html_page import html

            whole.write_text(html(page), encoding="utf-8", errors="backslashreplace")
        else:
            from mastd.report.drawing.sheets import write_sheets

            write_sheets(page, whole)
