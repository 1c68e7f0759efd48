"""Settings of a supply: pump, accumulators, oil, and what lies between them and the valves."""

from __future__ import annotations

import math
from typing import Annotated, Final

from pydantic import Field, ValidationInfo, field_validator

from mastd.settings.core.base import Problem, Settings, refuse
from mastd.settings.core.quantity import Flow, Pressure, Ratio, Temperature, Time, Volume

MAX_SUPPLIES: Final = 4
"""Of a table."""
TANK_RATIO: Final = 8.0
"""Oil in the tank over what the accumulators take, where it is not stated."""
LEAST_TANK: Final = 2.0
"""m³."""
LINE_RATIO: Final = 0.25
"""Flow that lines and filter are made for, over ``limits.maximum_flow``, where the pump gives less."""
RISE_ROUNDING: Final = 1.05
"""Time of filling over ``rise_time`` up to which they count as the same: the gas law is no better."""
RISE_RATIO: Final = 1.2
"""Time from stage to stage over that of filling, where it is not stated."""
LEAST_RISE: Final = 2.0
"""s; faster, the change of stage is a shock."""
FULL_POWER_RISE: Final = 16.0
"""K above its set temperature at which the cooler draws the pump's full power."""


class AccumulatorSettings(Settings):
    """All accumulators of the manifold together."""

    volume: Volume = Field(gt=0)
    precharge: Pressure = Field(gt=0)
    """Gas pressure without oil."""
    exponent: float = Field(ge=1, le=2)
    """Polytropic exponent of the gas."""

    def oil(self, pressure: float) -> float:
        """Return the oil in m³ that they hold at ``pressure`` in Pa; none at or below precharge.

        Gas of p Vᵏ = constant: V (1 − (precharge/p)^(1/k)).
        """
        ratio = min(1.0, self.precharge / pressure)
        return float(self.volume * (1.0 - ratio ** (1.0 / self.exponent)))


class OilSettings(Settings):
    """The oil in the tank at the start."""

    temperature: Temperature
    level: Ratio = Field(gt=0, le=1)
    tank_volume: Annotated[Volume, Field(gt=0)] | None = None
    """Oil in the tank at level 1; if left out, eight times what the accumulators take, at least 2 m³."""
    filter_pressure_drop: Pressure = Field(ge=0)
    """Pressure drop over the return filter at the flow that the lines are made for."""
    cooler_temperature: Temperature = 313.15
    """Set temperature of the cooler, which draws the pump's full power 16 K above it."""


class SupplyLimitSettings(Settings):
    """Where the supply is at fault."""

    minimum_pressure: Pressure = Field(gt=0)
    """Least supply pressure in the high stage."""
    maximum_flow: Flow = Field(gt=0)
    """Most that the valves may draw."""
    maximum_oil_temperature: Temperature
    minimum_oil_level: Ratio = Field(ge=0, lt=1)
    maximum_filter_pressure_drop: Pressure = Field(gt=0)


class SupplySettings(Settings):
    """The power pack: pump, accumulators, oil."""

    return_pressure: Pressure = Field(gt=0)
    low_pressure: Pressure = Field(gt=0)
    """Supply pressure in the low stage."""
    pressure: Pressure = Field(gt=0)
    """Supply pressure in the high stage."""
    pump_flow: Flow = Field(gt=0)
    line_pressure_loss: Pressure = Field(default=2.0e5, ge=0)
    """Pressure lost between accumulators and valves at the flow that the lines are made for: the pump's, at
    least a quarter of ``limits.maximum_flow``."""
    accumulator: AccumulatorSettings
    rise_time: Annotated[Time, Field(gt=0)] | None = None
    """Time over which the set pressure rises from one stage to the next; if left out, a fifth more than the
    pump takes to fill the accumulators, at least 2 s."""
    oil: OilSettings
    limits: SupplyLimitSettings

    @property
    def charge_time(self) -> float:
        """Time in s that the pump takes to fill the empty accumulators to the supply's pressure."""
        return self.accumulator.oil(self.pressure) / self.pump_flow

    @property
    def rise(self) -> float:
        """Time in s over which the set pressure rises, as stated or computed."""
        return self.rise_time or max(LEAST_RISE, RISE_RATIO * self.charge_time)

    @property
    def stage_time(self) -> float:
        """Time in s that a change of stage takes: ``rise``, or that of filling where it is longer."""
        return self.rise if self.charge_time <= RISE_ROUNDING * self.rise else self.charge_time

    @property
    def usable_oil(self) -> float:
        """Oil in m³ that the accumulators give down to the least pressure."""
        return self.accumulator.oil(self.pressure) - self.accumulator.oil(self.limits.minimum_pressure)

    @property
    def line_flow(self) -> float:
        """Flow in m³/s that lines and filter are made for."""
        return max(self.pump_flow, LINE_RATIO * self.limits.maximum_flow)

    @property
    def cooling(self) -> float:
        """Heat in W that the cooler draws per K above its set temperature."""
        return self.pressure * self.pump_flow / FULL_POWER_RISE

    @property
    def tank_volume(self) -> float:
        """Oil in the tank at level 1, m³."""
        if self.oil.tank_volume is not None:
            return self.oil.tank_volume
        return max(LEAST_TANK, TANK_RATIO * self.accumulator.oil(self.pressure))

    def text(self, name: str = "") -> str:
        """Return pressure, pump and accumulators as a line, of a supply with this name."""
        return (
            f"supply {name}".strip()
            + f": {self.pressure / 1e5:g} bar, pump {6e4 * self.pump_flow:.4g} L/min; "
            f"accumulators {1e3 * self.accumulator.oil(self.pressure):.3g} L, of which "
            f"{1e3 * self.usable_oil:.3g} L down to {self.limits.minimum_pressure / 1e5:g} bar, "
            f"charged in {self.charge_time:.3g} s"
            + (f", longer than its rise_time, {self.rise:g} s" if self.stage_time > self.rise else "")
        )

    @field_validator("low_pressure", "pressure")
    @classmethod
    def _rising(cls, pressure: float, info: ValidationInfo) -> float:
        below = "low_pressure" if info.field_name == "pressure" else "return_pressure"
        minimum = info.data.get(below, 0.0)
        if not (pressure > minimum):
            raise ValueError(f"is {pressure / 1e5:g} bar, it must be above {below}, {minimum / 1e5:g} bar")
        return pressure

    @field_validator("accumulator")
    @classmethod
    def _precharge_is_reached(
        cls, accumulator: AccumulatorSettings, info: ValidationInfo
    ) -> AccumulatorSettings:
        _below_supply("precharge", accumulator.precharge, info)
        return accumulator

    @field_validator("limits")
    @classmethod
    def _minimum_is_reached(cls, limits: SupplyLimitSettings, info: ValidationInfo) -> SupplyLimitSettings:
        _below_supply("minimum_pressure", limits.minimum_pressure, info)
        refuse(
            _empties_tank(
                limits, info.data.get("accumulator"), info.data.get("oil"), info.data.get("pressure")
            )
        )
        return limits


def _empties_tank(
    limits: SupplyLimitSettings,
    accumulator: AccumulatorSettings | None,
    oil: OilSettings | None,
    pressure: float | None,
) -> list[Problem]:
    """Return whether filling the accumulators takes the tank below its least level."""
    if accumulator is None or oil is None or oil.tank_volume is None or pressure is None:
        return []
    taken = accumulator.oil(pressure)
    level = oil.level - taken / oil.tank_volume
    if level >= limits.minimum_oil_level:
        return []
    what = (
        f"is {limits.minimum_oil_level:.0%}, but the accumulators take {1e3 * taken:.0f} L of the tank's "
        f"{1e3 * oil.tank_volume:.0f} L and leave {level:.0%}"
    )
    return [(("minimum_oil_level",), what)]


def _below_supply(name: str, pressure: float, info: ValidationInfo) -> None:
    supply = info.data.get("pressure", math.inf)
    if not (pressure < supply):
        what = f"is {pressure / 1e5:g} bar, it must be below the supply's pressure, {supply / 1e5:g} bar"
        refuse([((name,), what)])
