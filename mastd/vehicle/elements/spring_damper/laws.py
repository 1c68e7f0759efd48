"""The laws that act along a spring-damper's line besides its constant rates.

The lanes of a spring-damper compute its linear part; where a lane has more, ``law_force`` adds it, lane by
lane. A further law is a file like ``gas_spring.py`` and its line in each list here: ``LineLaws`` and
``laws_of`` (its model), ``Laws`` and ``pack_laws`` (its arrays), ``law_force`` (its force and slopes).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel
from mastd.settings.vehicle.forces import SpringSettings
from mastd.vehicle.elements.spring_damper.damper_table import DamperTables, pack_tables, table_force
from mastd.vehicle.elements.spring_damper.gas_spring import GAS, GasSpring, gas_force, gas_spring_of, pack_gas
from mastd.vehicle.elements.spring_damper.law import Law
from mastd.vehicle.elements.spring_damper.stop import (
    BUMP,
    REBOUND,
    Stop,
    bump_force,
    pack_stops,
    rebound_force,
    stop_of,
)


@dataclass(frozen=True, kw_only=True, eq=False)
class LineLaws:
    """The laws of one spring-damper; None: it has no such law."""

    damper_table: FloatArray | None = None
    """(n, 2) dl/dt in m/s (rebound positive) and force in N (tension positive), rising."""
    bump_stop: Stop | None = None
    rebound_stop: Stop | None = None
    gas_spring: GasSpring | None = None

    @property
    def has_laws(self) -> bool:
        """Whether there is any."""
        return any(getattr(self, each.name) is not None for each in fields(LineLaws))

    def laws(self) -> dict[str, Law]:
        """Return the laws by name, but for the damper's table."""
        every = {each.name: getattr(self, each.name) for each in fields(LineLaws)}
        return {name: law for name, law in every.items() if isinstance(law, Law)}


def laws_of(settings: SpringSettings, length: float) -> dict[str, Any]:
    """Return the laws of a spring-damper with this design length, by name."""
    bump, rebound, gas = settings.bump_stop, settings.rebound_stop, settings.gas_spring
    return {
        "damper_table": None if settings.damper is None else np.array(settings.damper),
        "bump_stop": None if bump is None else stop_of(bump, length, BUMP),
        "rebound_stop": None if rebound is None else stop_of(rebound, length, REBOUND),
        "gas_spring": None if gas is None else gas_spring_of(gas, length),
    }


class Laws(NamedTuple):
    """The laws of all spring-dampers, lane by lane."""

    damper_table: DamperTables
    bump_stop: FloatArray
    """As in ``pack_stops``."""
    rebound_stop: FloatArray
    gas_spring: FloatArray
    """As in ``pack_gas``."""


def pack_laws(springs: Sequence[LineLaws], item_lanes: Mapping[int, tuple[int, int]], items: int) -> Laws:
    """Return the laws of the spring-dampers at these places (item, lane) of their block."""
    return Laws(
        pack_tables([spring.damper_table for spring in springs], item_lanes, items),
        pack_stops([spring.bump_stop for spring in springs], item_lanes, items),
        pack_stops([spring.rebound_stop for spring in springs], item_lanes, items),
        pack_gas([spring.gas_spring for spring in springs], item_lanes, items),
    )


@fused_kernel
def law_force(laws: Laws, item: int, lane: int, length: float, rate: float) -> tuple[float, float, float]:
    """Return what the laws add to the force (compression positive), and its slopes by length and rate."""
    bump, bump_slope = bump_force(laws.bump_stop, item, lane, length)
    rebound, rebound_slope = rebound_force(laws.rebound_stop, item, lane, length)
    damper, damper_slope = table_force(laws.damper_table, item, lane, rate)
    force, by_length = bump + rebound + damper, bump_slope + rebound_slope
    if laws.gas_spring[item, GAS.force, lane] > 0.0:
        gas, gas_slope = gas_force(laws.gas_spring, item, lane, length)
        force, by_length = force + gas, by_length + gas_slope
    return force, by_length, damper_slope
