"""Gas springs: a piston on a gas of constant mass, p Vⁿ = constant.

F = A (p₀ (V₀ / V)ⁿ − p_atm) with V = V₀ + A (l − l₀), p₀ and V₀ those at design length l₀; n = 1 is the slow
(isothermal) change, n = 1.4 the fast (adiabatic) one of nitrogen or air. In lengths of the gas column,
c = V₀ / A: F = A p₀ (c / (c + l − l₀))ⁿ − A p_atm. Below ``MIN_COLUMN`` of c the force is continued straight:
that near its end a real piston has met its stop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Final, NamedTuple, Self

from mastd.arrays import FloatArray, aligned_zeros
from mastd.index_table import Entry, index_table, size_of
from mastd.kernel import fused_kernel
from mastd.lanes import LANES
from mastd.settings.vehicle.forces import ATMOSPHERE, GasSpringSettings
from mastd.vehicle.elements.spring_damper.law import Law

MIN_COLUMN: Final = 0.05
"""Of the gas column at design length, below which the force goes on straight."""


@dataclass(frozen=True)
class GasSpring(Law):
    """Gas behind a piston, in the design position."""

    carries_load: ClassVar[bool] = True

    area: float
    """Of the piston, m2."""
    pressure: float
    """Absolute, at design length, Pa."""
    volume: float
    """Of the gas at design length, m3."""
    exponent: float
    design_length: float
    """Of the spring-damper, m."""

    def moved(self, longer: float) -> Self:
        """Return the gas spring of a spring-damper that is longer in the design position."""
        return replace(self, design_length=self.design_length + longer)

    def elastic(self, length: float) -> tuple[float, float]:
        """Return force (compression positive, N) and stiffness (N/m) at a length of the spring-damper."""
        force, slope = gas_force(pack_gas([self], {0: (0, 0)}, 1), 0, 0, length)
        return force, -slope


class GasRow(NamedTuple):
    """Constants of a gas spring."""

    force: Annotated[int, Entry("N", "area · absolute pressure at design length, 0: no gas spring")]
    column: Annotated[int, Entry("m", "length of the gas column at design length")]
    exponent: Annotated[int, Entry("1", "n of p Vⁿ")]
    design_length: Annotated[int, Entry("m", "of the spring-damper")]
    outside: Annotated[int, Entry("N", "area · atmospheric pressure")]


GAS: Final = index_table(GasRow)


def gas_spring_of(settings: GasSpringSettings, length: float) -> GasSpring:
    """Return the gas spring of a spring-damper with this design length."""
    return GasSpring(settings.area, settings.pressure, settings.volume, settings.exponent, length)


def pack_gas(
    springs: Sequence[GasSpring | None], item_lanes: Mapping[int, tuple[int, int]], items: int
) -> FloatArray:
    """Return (springs, GAS, LANES) of the spring-dampers at these places (item, lane)."""
    values = aligned_zeros((items, size_of(GAS), LANES))
    for index, gas in enumerate(springs):
        if gas is not None:
            item, lane = item_lanes[index]
            row = values[item, :, lane]
            row[GAS.force] = gas.area * gas.pressure
            row[GAS.column] = gas.volume / gas.area
            row[GAS.exponent] = gas.exponent
            row[GAS.design_length] = gas.design_length
            row[GAS.outside] = gas.area * ATMOSPHERE
    return values


@fused_kernel
def gas_force(gas: FloatArray, item: int, lane: int, length: float) -> tuple[float, float]:
    """Return the force of a gas spring, compression positive, and its slope by length; zeros without one."""
    force = gas[item, GAS.force, lane]
    if not (force > 0.0):
        return 0.0, 0.0
    column, exponent = gas[item, GAS.column, lane], gas[item, GAS.exponent, lane]
    present, beyond = column + length - gas[item, GAS.design_length, lane], 0.0
    least = MIN_COLUMN * column
    if present < least:
        present, beyond = least, present - least
    force = force * (column / present) ** exponent
    slope = -exponent * force / present
    return force + slope * beyond - gas[item, GAS.outside, lane], slope
