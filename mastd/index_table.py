"""Index tables: the one table from which the offsets of named numbers in an array come.

A kernel's data are arrays; where several quantities share one, a ``NamedTuple`` names them once, each with
size, unit and meaning, and ``index_table`` numbers them:

    class SpringRow(NamedTuple):
        stiffness: Annotated[int, Entry("N/m", "rate at design length")]
        force: Annotated[int, Entry("N", "on the second body, x y z", 3)]

    SPRING = index_table(SpringRow)    # SPRING.stiffness == 0, SPRING.force == 1
    SPRING_SIZE = size_of(SPRING)      # 4

The result is a named tuple of constants: a kernel that reads ``SPRING.force`` is compiled as with a number.
Blocks that cross processes have ``mastd.wire.common.layout`` instead, whose digest both ends share.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeVar, cast, get_type_hints

Table = TypeVar("Table", bound=tuple[Any, ...])


class Entry(NamedTuple):
    """Unit, meaning and size of one quantity of an index table."""

    unit: str
    meaning: str
    size: int = 1


def entries(table: type[Table]) -> Iterator[tuple[str, Entry]]:
    """Yield name and entry of each quantity; an entry without a note is one number without a unit."""
    for name, hint in get_type_hints(table, include_extras=True).items():
        notes = getattr(hint, "__metadata__", (Entry("1", ""),))
        yield name, notes[0]


def index_table(table: type[Table], first: int = 0) -> Table:
    """Return ``table`` with the offset of each quantity, from ``first`` on."""
    offsets = []
    at = first
    for _, entry in entries(table):
        offsets.append(at)
        at += entry.size
    numbered: Table = cast(Any, table)(*offsets)
    return numbered


def size_of(numbered: Table) -> int:
    """Return how many numbers a block of ``index_table`` holds, those before its first one included."""
    return int(numbered[-1]) + list(entries(type(numbered)))[-1][1].size
