"""Which supply feeds an actuator, and whether its pressure is enough."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mastd.settings.core.base import Problem
from mastd.settings.table.hydraulics import ActuatorSettings
from mastd.settings.table.supply import SupplySettings


def strongest(known: dict[str, Any], name: str | None = None) -> SupplySettings | None:
    """Return of the validated settings ``known`` the supply ``name``, else that of the highest pressure."""
    supplies = known.get("supplies", {})
    every = [known["supply"]] if known.get("supply") is not None else list(supplies.values())
    return supplies.get(name) or max(every, key=lambda supply: supply.pressure, default=None)


def wrong_supplies(
    names: Sequence[str], own: Sequence[bool], supplies: Mapping[str, SupplySettings]
) -> list[Problem]:
    """Return what is wrong with the ``names`` of the links' supplies; ``own``: stated by the link itself."""
    problems: list[Problem] = []
    known = ", ".join(supplies) or "none, supply feeds all"
    for index, name in enumerate(names):
        if not name and supplies:
            problems.append(((index,), f"supply is missing, here or in its type; known supplies are {known}"))
        elif name and name not in supplies:
            place = (index, "supply") if own[index] else (index,)
            problems.append((place, f"{name!r} is no supply of supplies: {known}"))
    return problems


def force_problems(actuator: ActuatorSettings, supply: SupplySettings | None) -> list[Problem]:
    """Return what the pressures of the supply do not give an actuator."""
    problems: list[Problem] = []
    if supply is None:
        return problems
    reach = actuator.least_area * (supply.pressure - supply.return_pressure)
    if not (actuator.maximum_force <= 1.05 * reach):
        what = (
            f"is {actuator.maximum_force / 1e3:g} kN, "
            f"but piston area and supply pressure give at most {reach / 1e3:.1f} kN"
        )
        problems.append((("maximum_force",), what))
    if not (actuator.relief_pressure >= supply.pressure):
        what = f"must be at least the supply's pressure, {supply.pressure / 1e5:g} bar"
        problems.append((("relief_pressure",), what))
    return problems
