"""Reads a page of a report strictly: every tag closed in its order, nothing fetched, nothing executed."""

from __future__ import annotations

import re
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "hr", "img", "input"}
CLOSED_IN_ITSELF = {"path", "rect"}
KNOWN = {
    *("html", "head", "meta", "title", "style", "body", "main", "header", "div", "section", "strong"),
    *("h1", "h2", "h3", "p", "table", "thead", "tbody", "tr", "th", "td", "dl", "dt", "dd", "pre"),
    *("details", "summary", "svg", "path", "rect", "text"),
}


class WebPage(HTMLParser):
    """A page, or an AssertionError that says what is wrong with it."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        assert source.startswith("<!DOCTYPE html>\n")
        self.source = source
        self.text = ""
        self.title = ""
        self.tables: list[list[list[str]]] = []
        self.facts: dict[str, str] = {}
        self.pictures: list[str] = []
        self.tags: dict[str, int] = {}
        self._open: list[str] = []
        self._name = ""
        self.feed(source)
        self.close()
        assert not self._open, f"never closed: {self._open}"
        assert not re.search(r"https?://|url\(|@import|javascript:", source.partition("</style>")[0])

    def row(self, first_title: str, name: str) -> list[str]:
        """Return the row called ``name`` of the table whose head begins with ``first_title``."""
        for table in self.tables:
            if table[0][0] == first_title:
                for row in table[1:]:
                    if row[0] == name:
                        return row
        raise AssertionError(f"no row {name} in a table {first_title}")

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        assert tag in KNOWN, tag
        self.tags[tag] = self.tags.get(tag, 0) + 1
        names = [name for name, _ in attributes]
        assert len(names) == len(set(names)), (tag, names)
        assert not any(name.startswith("on") or name in ("src", "href", "style") for name in names), (
            tag,
            names,
        )
        if tag == "svg":
            self.pictures.append(str(dict(attributes)["aria-label"]))
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.tables[-1][-1].append("")
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        assert tag in CLOSED_IN_ITSELF, tag
        for name, value in attributes:
            if name not in ("class", "d"):
                float(str(value))
            if name == "d":
                assert re.fullmatch(r"[-0-9. Mlh]*", str(value)), value

    def handle_endtag(self, tag: str) -> None:
        assert self._open[-1:] == [tag], f"</{tag}> while open: {self._open}"
        self._open.pop()

    def handle_data(self, data: str) -> None:
        where = self._open[-1] if self._open else ""
        if where in ("td", "th"):
            self.tables[-1][-1][-1] += data
        elif where == "title":
            self.title += data
        elif where == "dt":
            self._name = data
        elif where == "dd":
            self.facts[self._name] = data
        if where != "style":
            self.text += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def unknown_decl(self, data: str) -> None:
        raise AssertionError(f"a declaration: {data}")
