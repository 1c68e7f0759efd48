"""Text from elsewhere (names of profiles, files, vehicles) as text that can be shown."""

from __future__ import annotations

from typing import Final
from unicodedata import category

_NO_TEXT: Final = frozenset({"Cc", "Cf", "Cs", "Cn"})
"""Kinds of characters: controls, invisible ones that turn text round, halves of characters, none at all."""


def printable(text: str) -> str:
    """Return a text with every unprintable character replaced by a mark; line ends and tabs remain."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c in "\n\t" or category(c) not in _NO_TEXT else "\ufffd" for c in text)


def one_line(text: str) -> str:
    """Return a printable text whose line ends and tabs are spaces."""
    return printable(text).replace("\n", " ").replace("\t", " ")
