"""Packages that only some formats need, and texts in a shape that every library takes."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from mastd.errors import UsageError


def package(name: str, extra: str, title: str) -> Any:
    """Import a package that reading or writing ``title`` needs; UsageError where it is missing."""
    require(name, extra, title)
    return import_module(name)


def require(name: str, extra: str, title: str) -> None:
    """Raise UsageError where a package is missing, without importing it, which may take a second."""
    if find_spec(name.partition(".")[0]) is None:
        raise UsageError(f"{title} needs the package {name}: pip install 'mastd[{extra}]'")


def plain(text: str) -> str:
    """Return a text without what C libraries cannot store: characters of value 0, halves of characters."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()


def distinct(names: Iterable[str], taken: Iterable[str] = ()) -> list[str]:
    """Return names made unique among themselves and those taken: the second ``x`` is ``x (2)``."""
    used = set(taken)
    found = []
    for name in names:
        number, one = 1, name
        while one in used:
            number += 1
            one = f"{name} ({number})"
        used.add(one)
        found.append(one)
    return found


def one_line(text: str, maximum: int = 300) -> str:
    """Return a text in one line of at most ``maximum`` characters."""
    return " ".join(text.split())[:maximum]
