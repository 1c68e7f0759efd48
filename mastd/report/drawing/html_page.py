"""A page as one HTML file that needs nothing else: no network, no scripts, pictures inside."""

from __future__ import annotations

from html import escape

from mastd.report.drawing.blocks import (
    Banner,
    Beside,
    Block,
    Cell,
    Facts,
    Heading,
    Page,
    Paragraph,
    Pictures,
    Source,
    Table,
)
from mastd.report.drawing.drawing import draw
from mastd.report.drawing.style import style_sheet
from mastd.report.drawing.svg import svg
from mastd.report.text import printable

_WARNING = ' class="warning"'
_HEAD = (
    '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    '<meta http-equiv="Content-Security-Policy"'
    " content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
)


def html(page: Page) -> str:
    """Return a page as HTML. Every text of it is escaped: names of profiles and files are not ours."""
    body = "\n".join(_block(block) for block in page.blocks)
    return (
        f"{_HEAD}<title>{_text(page.title)}</title>\n<style>{style_sheet()}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _block(block: Block) -> str:
    match block:
        case Heading():
            return f"<h2>{_text(block.text)}</h2>"
        case Banner():
            lines = "".join(f"<p>{_text(line)}</p>" for line in block.lines)
            return (
                f"<header><div><h1>{_text(block.title)}</h1>{lines}</div>"
                f'<strong class="verdict {block.tone}">{_text(block.verdict)}</strong></header>'
            )
        case Paragraph():
            return f"<p{_WARNING if block.warning else ''}>{_text(block.text)}</p>"
        case Facts():
            title = f"<h3>{_text(block.title)}</h3>" if block.title else ""
            rows = "".join(f"<dt>{_text(name)}</dt><dd>{_text(value)}</dd>" for name, value in block.rows)
            return f"{title}<dl>{rows}</dl>"
        case Table():
            return _folded(_table(block), block.folded)
        case Source():
            return _folded(f"<pre>{_text(block.text)}</pre>", block.folded)
        case Beside():
            parts = ("".join(map(_block, part)) for part in (block.left, block.right))
            return '<div class="beside">' + "".join(f"<section>{part}</section>" for part in parts) + "</div>"
        case Pictures():
            panels = "".join(
                f'<div class="{"w" if panel.wide else "n"}">{svg(draw(panel), panel.title)}</div>'
                for panel in block.panels
            )
            return _folded(f'<div class="pictures">{panels}</div>', block.folded)


def _folded(content: str, title: str) -> str:
    return f"<details><summary>{_text(title)}</summary>{content}</details>" if title else content


def _table(table: Table) -> str:
    head = "".join(f'<th scope="col">{_text(title)}</th>' for title in table.head)
    rows = "".join(f"<tr>{''.join(_cell(cell) for cell in row)}</tr>" for row in table.rows)
    kind = ' class="numbers"' if table.numbers else ""
    return f'<div class="wide"><table{kind}><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def _cell(cell: Cell) -> str:
    return f'<td class="{cell.tone}">{_text(cell.text)}</td>' if cell.tone else f"<td>{_text(cell.text)}</td>"


def _text(text: str) -> str:
    """Return text that may stand anywhere."""
    return escape(printable(text))
