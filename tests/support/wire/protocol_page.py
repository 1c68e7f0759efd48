"""docs/protocol.md for the tests that compare it with the code."""

from __future__ import annotations

from pathlib import Path

PAGE = (Path(__file__).parents[3] / "docs" / "protocol.md").read_text(encoding="utf-8")


def table_after(mark: str, text: str = PAGE) -> list[list[str]]:
    """Return the rows of the first table after ``mark`` in a Markdown text, without its heading."""
    lines = text[text.index(mark) :].splitlines()
    start = next(index for index, line in enumerate(lines) if line.startswith("|"))
    rows = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows
