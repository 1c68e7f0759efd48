"""Force elements of vehicle files: springs, dampers, stops, gas springs, anti-roll bars."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field, ValidationInfo, field_validator

from mastd.settings.core.base import Problem, Settings, refuse
from mastd.settings.core.quantity import Area, Damping, Force, Length, Pressure, Stiffness, Velocity, Volume
from mastd.settings.vehicle.parts import PositiveLength

ATMOSPHERE: Final = 101325.0
"""Pa: standard atmosphere."""


class StopSettings(Settings):
    """A bump or rebound stop: stiffness · x · (1 + (x / doubling)²) at a compression x of the stop."""

    gap: Length = Field(ge=0)
    """Travel of the spring from its design length until the stop is touched."""
    stiffness: Stiffness = Field(gt=0)
    doubling: PositiveLength | None = None
    """Compression at which the force is twice the linear one; linear if left out."""


class GasSpringSettings(Settings):
    """Gas behind a piston, as in a hydropneumatic suspension: area · (p − atmosphere), p Vⁿ constant."""

    area: Area = Field(gt=0)
    """Of the piston; a change of the spring's length times the area is a change of the gas's volume."""
    pressure: Pressure = Field(gt=ATMOSPHERE)
    """Absolute pressure of the gas at design length."""
    volume: Volume = Field(gt=0)
    """Of the gas at design length."""
    exponent: Annotated[float, Field(ge=1.0, le=1.7)] = 1.4
    """Polytropic exponent n: 1 for slow (isothermal), 1.4 for fast (adiabatic) changes of nitrogen or air."""


DamperPoint = tuple[Velocity, Force]


class SpringSettings(Settings):
    """A spring, a damper and stops between two points, whichever of them there are."""

    bodies: tuple[str, str]
    points: tuple[str, str]
    """A hardpoint of each body."""
    stiffness: Stiffness = Field(0.0, ge=0)
    preload: Force = 0.0
    """Force at design length, compression positive."""
    damping: Damping = Field(0.0, ge=0)
    """Of a linear damper."""
    damper: Annotated[tuple[DamperPoint, ...], Field(max_length=50)] | None = None
    """Instead: points of velocity and force; both positive in rebound, when it gets longer."""
    bump_stop: StopSettings | None = None
    rebound_stop: StopSettings | None = None
    gas_spring: GasSpringSettings | None = None

    @field_validator("preload")
    @classmethod
    def _carried(cls, preload: float, info: ValidationInfo) -> float:
        if preload != 0.0 and info.data.get("stiffness", 1.0) == 0.0:
            raise ValueError(
                f"is {preload:g} N without a stiffness, a preload needs a spring that carries it"
            )
        return preload

    @field_validator("damper")
    @classmethod
    def _rising(
        cls, table: tuple[tuple[float, float], ...] | None, info: ValidationInfo
    ) -> tuple[tuple[float, float], ...] | None:
        if table is None:
            return None
        if info.data.get("damping", 0.0) != 0.0:
            raise ValueError("give either damping (linear) or damper (a table)")
        refuse(damper_problems(table))
        return table


def damper_problems(table: tuple[tuple[float, float], ...]) -> list[Problem]:
    """Return why a damper's table of velocity and force does not rise through [0 m/s, 0 N]."""
    if len(table) < 2:
        return [((), f"{len(table)} points, a damper's table needs at least two")]
    problems: list[Problem] = []
    for k in range(1, len(table)):
        if not table[k][0] > table[k - 1][0]:
            what = f"{table[k][0]:g} m/s does not lie above the {table[k - 1][0]:g} m/s before it"
            problems.append(((k, 0), what))
        elif not table[k][1] > table[k - 1][1]:
            what = f"{table[k][1]:g} N does not lie above the {table[k - 1][1]:g} N before it, it must rise"
            problems.append(((k, 1), what))
    if not problems and (0.0, 0.0) not in table:
        problems.append(((), "has no point [0 m/s, 0 N]: a damper at rest makes no force"))
    return problems


class AntiRollBarSettings(Settings):
    """An anti-roll bar between the same point of the left and the right side."""

    body: str
    """Body of the corner that it is linked to."""
    point: str
    """Hardpoint where it is linked."""
    stiffness: Stiffness = Field(gt=0)
    """Force at either end for a difference in height between the ends."""
