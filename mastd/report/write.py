"""A page to a file of the kind that its ending names."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from mastd.errors import UsageError
from mastd.report.drawing.blocks import Page

ENDINGS: Final = (".html", ".pdf", ".png", ".svg")


def require_ending(path: Path) -> None:
    """Raise UsageError for a file whose ending names no kind of page."""
    if path.suffix.lower() not in ENDINGS:
        raise UsageError(f"{path}: a page must end in {', '.join(ENDINGS)}")


def write_page(page: Page, path: Path) -> None:
    """Write a page as HTML, PDF, PNG or SVG; its directory is made.

    Raises UsageError if the ending is another one or the file cannot be written.
    """
    require_ending(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix.lower() == ".html":
            from mastd.report.drawing.html_page import html

            path.write_text(html(page), encoding="utf-8")
        else:
            from mastd.report.drawing.sheets import write_sheets

            write_sheets(page, path)
    except OSError as error:
        raise UsageError(f"{path}: cannot write the page: {error.strerror or error}") from error
