"""Which source documents can be recomputed, and the choice of single items by identifier."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path

from mastd.errors import UsageError
from mastd.reproduce.item import Item


def _jin_2012(table: Path) -> list[Item]:
    from mastd.kinematics.geometry import Geometry
    from mastd.reproduce.jin_2012.free_table import FreeTableSettings
    from mastd.reproduce.jin_2012.tables import items
    from mastd.settings.core.loader import load

    return items(Geometry.from_settings(load(table, FreeTableSettings)))


def _kang_2014(_table: Path) -> list[Item]:
    from mastd.reproduce.kang_2014.tables import items
    from mastd.vehicle.model.library import find

    return items(find("benchmark_sedan"))


def _kang_yoon(_table: Path) -> list[Item]:
    from mastd.reproduce.kang_yoon import executed, tables

    return [*tables.items(), *executed.items()]


def _song_kim(_table: Path) -> list[Item]:
    from mastd.reproduce.song_kim.tables import items

    return items()


def _kr_10_1310276(_table: Path) -> list[Item]:
    from mastd.reproduce.kr_10_1310276.tables import items

    return items()


# Document → all its items; those of the table are computed from the table settings in a file.
DOCUMENTS: dict[str, Callable[[Path], list[Item]]] = {
    "000": _kang_2014,
    "001": _kang_yoon,
    "002": _song_kim,
    "003": _kr_10_1310276,
    "004": _jin_2012,
}


def select(identifiers: list[str], table: Path) -> list[Item]:
    """Return the items whose identifier begins with one of ``identifiers``, or all of them.

    An identifier ends at a dot: ``004.table3`` chooses all of Table 3. Raises UsageError, one line each, for
    identifiers that choose nothing.
    """
    unknown = [name for name in identifiers if name.split(".")[0] not in DOCUMENTS]
    if unknown:
        known = ", ".join(DOCUMENTS)
        raise UsageError("\n".join(f"{name}: no such document, known are {known}" for name in unknown))
    documents = [name for name in DOCUMENTS if _chosen(name, identifiers)]
    found = [item for name in documents for item in DOCUMENTS[name](table)]
    problems = []
    for wanted in identifiers:
        if not any(_begins(item.identifier, wanted) for item in found):
            near = difflib.get_close_matches(wanted, [item.identifier for item in found], n=1, cutoff=0.4)
            problems.append(f"{wanted}: no such item" + (f", did you mean {near[0]}?" if near else ""))
    if problems:
        raise UsageError("\n".join(problems))
    return [
        item
        for item in found
        if not identifiers or any(_begins(item.identifier, wanted) for wanted in identifiers)
    ]


def _begins(identifier: str, wanted: str) -> bool:
    return identifier == wanted or identifier.startswith(wanted.rstrip(".") + ".")


def _chosen(document: str, identifiers: list[str]) -> bool:
    return not identifiers or any(name.split(".")[0] == document for name in identifiers)
