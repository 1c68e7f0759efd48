"""Which supply feeds an actuator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mastd.settings.core.base import Problem
from mastd.settings.table.supply import SupplySettings


def strongest(known: dict[str, Any], name: str | None = None) -> SupplySettings | None:
    """Return of the validated settings ``known`` the supply ``name``, else that of the highest pressure."""
    supplies = known.get("supplies", {})
    every = [known["supply"]] if known.get("supply") is not None else list(supplies.values())
    return supplies.get(name) or max(every, key=lambda supply: supply.pressure, default=None)


def wrong_supplies(
    names: Sequence[str], own: Sequence[bool], fed: Sequence[bool], supplies: Mapping[str, SupplySettings]
) -> list[Problem]:
    """Return what is wrong with the ``names`` of the links' supplies; ``own``: stated by the link itself.

    ``fed``: of those that a supply feeds.
    """
    problems: list[Problem] = []
    known = ", ".join(supplies) or "none, supply feeds all"
    for index, name in enumerate(names):
        if not name and supplies and fed[index]:
            problems.append(((index,), f"supply is missing, here or in its type; known supplies are {known}"))
        elif name and name not in supplies:
            place = (index, "supply") if own[index] else (index,)
            problems.append((place, f"{name!r} is no supply of supplies: {known}"))
    return problems
