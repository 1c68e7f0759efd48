"""Settings of static supports: what carries or holds down the table beside its actuators, vertically in B."""

from __future__ import annotations

import math
from typing import Annotated, Final

from pydantic import Field, ValidationInfo, field_validator

from mastd.settings.core.base import Settings
from mastd.settings.core.quantity import Area, Damping, Force, Point, Stiffness, Volume
from mastd.settings.table.sensors import Name

DIATOMIC: Final = 1.4
"""Exponent of nitrogen and air where they exchange no heat."""

MIN_VOLUME: Final = 0.05
"""Least volume of a gas over that at neutral: beyond the travel the law would have no value."""


class SupportGasSettings(Settings):
    """Gas of constant mass behind a piston."""

    volume: Volume = Field(gt=0)
    """With the table at neutral."""
    area: Annotated[Area, Field(gt=0)]
    """Of the piston, or the effective one of a bellows."""
    exponent: float = Field(default=DIATOMIC, ge=1, le=2)
    """Polytropic exponent: 1 isothermal, 1.4 without exchange of heat."""

    @property
    def slope(self) -> float:
        """Change of the volume over the volume at neutral, 1/m of travel."""
        return self.area / self.volume


class SupportLaw(Settings):
    """An air spring, a strut, a hold-down: a force along the vertical of B at a point of the table.

    At a rise s of the point, with F₀ at neutral, F = F₀ − k s − c ṡ, or with gas F = F₀ (1 ± A s/V₀)⁻ⁿ − c ṡ:
    a rise expands the gas of a support that pushes (+) and compresses that of a hold-down (−).
    """

    position: Point
    """Where it meets the table, in P."""
    force: Force
    """On the table at neutral, upwards; below 0 for a hold-down."""
    stiffness: Stiffness = Field(default=0.0, ge=0)
    gas: SupportGasSettings | None = None
    """In place of ``stiffness``."""
    damping: Damping = Field(default=0.0, ge=0)

    @field_validator("gas")
    @classmethod
    def _one_spring(cls, gas: SupportGasSettings | None, info: ValidationInfo) -> SupportGasSettings | None:
        if gas is not None and info.data.get("stiffness", 0.0) > 0.0:
            raise ValueError(
                "stands beside stiffness: state one of the two, gas makes a stiffness of its own"
            )
        return gas

    @property
    def gas_slope(self) -> float:
        """Relative growth of the gas's volume per rise of the point, 1/m; 0 without gas."""
        if self.gas is None:
            return 0.0
        return self.gas.slope if self.force >= 0.0 else -self.gas.slope

    @property
    def exponent(self) -> float:
        """Of the gas."""
        return DIATOMIC if self.gas is None else self.gas.exponent

    def standing(self, rise: float) -> float:
        """Return the force in N at rest at a ``rise`` in m."""
        return self.force * math.pow(self._volume(rise), -self.exponent) - self.stiffness * rise

    def slope(self, rise: float) -> float:
        """Return the stiffness in N/m at a ``rise`` in m."""
        ratio = math.pow(self._volume(rise), -self.exponent - 1.0)
        return self.stiffness + self.exponent * self.force * self.gas_slope * ratio

    def _volume(self, rise: float) -> float:
        """Return the volume of the gas over that at neutral."""
        return max(1.0 + self.gas_slope * rise, MIN_VOLUME)


class SupportSettings(SupportLaw):
    """A static support of the table."""

    name: Name
