"""Settings of the hydraulics: actuator, servo valves, and the drive that closes inner loops.

Chamber 1 extends the actuator. All values are nominal ones, which the daemon may know; the simulated plant's
truth is a settings object of its own.
"""

from __future__ import annotations

import math
from typing import Annotated, Final, Literal

import numpy as np
from pydantic import Field, ValidationInfo, field_validator

from mastd.arrays import ComplexArray, FloatArray
from mastd.settings.core.base import Settings
from mastd.settings.core.quantity import (
    Acceleration,
    Area,
    Damping,
    Flow,
    Force,
    Frequency,
    Length,
    OilLeakage,
    Pressure,
    Rate,
    Ratio,
    Stiffness,
    Time,
    Velocity,
)

PositiveArea = Annotated[Area, Field(gt=0)]
Feedback = Literal["chamber_pressures", "pressure_difference", "load_cell", "none"]
"""What measures the force of an actuator."""


EQUAL_AREAS: Final = 1e-3
"""Relative difference up to which piston areas are equal."""
MAX_VALVES: Final = 3
"""In parallel on one actuator."""


class FrictionSettings(Settings):
    """Seal and bearing friction of one actuator (LuGre: a bristle that deflects, then slides)."""

    coulomb: Force = Field(ge=0)
    """Sliding friction."""
    breakaway: Force = Field(ge=0)
    """Friction at which the rod breaks away from rest."""
    stribeck_velocity: Velocity = Field(gt=0)
    """Velocity over which friction falls from breakaway to sliding."""
    viscous: Damping = Field(ge=0)
    """Friction proportional to velocity."""
    bristle_stiffness: Stiffness = Field(gt=0)
    """Stiffness before breakaway."""
    bristle_damping: Damping = Field(ge=0)
    """Damping before breakaway."""

    @field_validator("breakaway")
    @classmethod
    def _not_below_coulomb(cls, breakaway: float, info: ValidationInfo) -> float:
        coulomb = info.data.get("coulomb", 0.0)
        if not (breakaway >= coulomb):
            raise ValueError(f"is {breakaway:g} N, it must be at least coulomb, {coulomb:g} N")
        return breakaway


class EndStopSettings(Settings):
    """Mechanical stop at either end of the stroke."""

    stiffness: Stiffness = Field(gt=0)
    damping: Damping = Field(ge=0)


class ActuatorSettings(Settings):
    """One cylinder, double-acting, or single-acting where chamber 2 has no area: it then only pushes."""

    maximum_force: Force = Field(gt=0)
    piston_areas: tuple[PositiveArea, Annotated[Area, Field(ge=0)]]
    """Chamber 1, which extends the actuator, and chamber 2; 0 where that is vented to the tank."""
    dead_length: Length = Field(gt=0)
    """Oil column left in a chamber when the piston stands on that chamber's end stop."""
    bulk_modulus: Pressure = Field(gt=0)
    """Effective bulk modulus of oil, air and hoses."""
    leakage: OilLeakage = Field(ge=0)
    """Flow across the piston per pressure difference."""
    relief_pressure: Pressure = Field(gt=0)
    """Cross-port relief: a chamber's pressure does not exceed this."""
    friction: FrictionSettings
    end_stop: EndStopSettings
    feedback: Feedback = "chamber_pressures"
    """What measures the force: transducers of both chambers, one of their difference, a load cell between rod
    and table, or nothing."""

    @field_validator("feedback")
    @classmethod
    def _areas_are_equal(cls, feedback: Feedback, info: ValidationInfo) -> Feedback:
        first, second = info.data.get("piston_areas", (0.0, 0.0))
        if feedback == "pressure_difference" and abs(first - second) > EQUAL_AREAS * first:
            raise ValueError(
                f"is pressure_difference, which gives the force of equal piston areas only, and these are "
                f"{1e4 * first:.4g} and {1e4 * second:.4g} cm2: chamber_pressures or load_cell"
            )
        return feedback

    @property
    def single_acting(self) -> bool:
        """It only pushes."""
        return not self.piston_areas[1] > 0.0

    @property
    def mean_area(self) -> float:
        """Area in m² that turns the load pressure into force: the mean of both, of one chamber its own."""
        first, second = self.piston_areas
        return first if self.single_acting else 0.5 * (first + second)

    @property
    def least_area(self) -> float:
        """The smaller area in m² of those that push or pull."""
        return self.piston_areas[0] if self.single_acting else min(self.piston_areas)


class LagSettings(Settings):
    """A second-order lag behind a delay, with a first-order one before it where there is a ``pilot``."""

    natural_frequency: Frequency = Field(gt=0)
    damping_ratio: float = Field(gt=0)
    delay: Time = Field(ge=0)

    @property
    def pilot(self) -> float | None:
        """Corner in Hz of the first-order lag, None without one."""
        return None

    @property
    def low_frequency_lag(self) -> float:
        """Lag in s at low frequencies, without the delay."""
        pilot = 0.0 if self.pilot is None else 0.5 / (math.pi * self.pilot)
        return self.damping_ratio / (math.pi * self.natural_frequency) + pilot

    @property
    def corner_frequency(self) -> float:
        """Natural frequency in Hz of the second-order lag alone that is as late at low frequencies."""
        if self.pilot is None:
            return self.natural_frequency
        return self.damping_ratio / (math.pi * self.low_frequency_lag)

    def denominator(self, frequency: FloatArray) -> ComplexArray:
        """Return 1 over the spool's response to its command at ``frequency`` in Hz, without the delay."""
        ratio = frequency / self.natural_frequency
        lag = 1.0 + 2j * self.damping_ratio * ratio - ratio**2
        if self.pilot is not None:
            lag = lag * (1.0 + 1j * frequency / self.pilot)
        return np.asarray(lag)


class ValveSettings(LagSettings):
    """The servo valve of an actuator, or several like ones in parallel, spool loops closed by the drive."""

    count: int = Field(default=1, ge=1, le=MAX_VALVES)
    """Valves in parallel: one command opens all, their flows add; the other data are those of each."""
    pilot_frequency: Annotated[Frequency, Field(gt=0)] | None = None
    """Corner of the first-order lag that the further pilot of a four-stage valve adds; without it none."""
    opening_rate: Rate = Field(gt=0)
    """Fastest change of the opening, 1 is fully open."""
    overlap: Ratio = Field(ge=0, lt=0.5)
    """Spool travel on either side of centre that passes no oil."""
    rated_flow: Flow = Field(gt=0)
    """Flow at full opening and the rated pressure drop over both lands together, half over that of chamber 1.
    """
    port_ratio: Ratio = Field(default=1.0, ge=0.2, le=5)
    """Flow gain of the port of chamber 2 over that of chamber 1; the ratio of the areas keeps both pressure
    drops alike with a single rod (Merritt 1967)."""
    rated_pressure_drop: Pressure = Field(gt=0)
    saturation: Ratio = Field(gt=0, le=1)
    """Flow at full opening over the flow that the ports alone would pass (valve body); 1 is none."""

    @property
    def port_gain(self) -> float:
        """Flow of the fully open ports of chamber 1, before saturation, over √Δp in m³/(s √Pa)."""
        return self.count * self.rated_flow / math.sqrt(0.5 * self.rated_pressure_drop) / self.saturation

    @property
    def bend(self) -> float:
        """s of φ(o) = o/√(1 + (s o)²), by which the flow saturates."""
        return math.sqrt(1.0 - self.saturation**2) / self.saturation

    def speed_gain(self, areas: tuple[float, float]) -> float:
        """Return the speed gain G in m/s per √N on a piston of ``areas``: K₁/√(A₁³ + A₂³ (K₁/K₂)²)."""
        return self.port_gain / math.sqrt(areas[0] ** 3 + areas[1] ** 3 / self.port_ratio**2)

    @property
    def pilot(self) -> float | None:
        """Corner in Hz of the lag of a fourth stage."""
        return self.pilot_frequency


class DriveGainSettings(Settings):
    """Gains of the drive: length loop with feed-forward, and pressure damping."""

    length_gain: Annotated[Rate, Field(ge=0)] | None = None
    """Velocity asked for per length error; computed from the table where it is left out."""
    rate_feedforward: Annotated[Ratio, Field(ge=0)] = 1.0
    """Share of the commanded rate that goes straight to the valve."""
    valve_lead: Annotated[Time, Field(ge=0)] | None = None
    """Acceleration feed-forward: the rate is taken this far ahead, against the lag of the valve; if left out,
    the valve's delay and its lag at low frequencies, 2 ζ/ω."""
    force_feedforward: Annotated[Ratio, Field(ge=0)] = 1.0
    """Share of the oil column's compression, from the rate of the force reference, that goes to the valve."""
    pressure_damping: Annotated[Rate, Field(ge=0)] | None = None
    """Gain c of the high-passed load pressure about the force reference, 2 ζ ω of the oil column; computed
    from the table where it is left out."""


class ActuatorTypeSettings(ActuatorSettings):
    """One type of actuator: the cylinder, its valve, and the gains that the drive has for it."""

    valve: ValveSettings
    drive: DriveGainSettings | None = None
    """Without it those of the table's drive."""
    supply: str | None = None
    """Name of the supply that feeds it, where there are several and the link does not say."""


class DriveSettings(DriveGainSettings):
    """The drive: its gains, and what it does without commands."""

    update_rate: Frequency = Field(gt=0)
    """Rate at which the drive closes its loops; rounded up to a whole number of ticks per command period."""
    pressure_high_pass: Annotated[Frequency, Field(gt=0)] = 1.0
    """Below, a standing force is not fought."""
    orifice_law: bool = True
    """Divide the valve command by the square root of the pressure drop that the force reference leaves."""
    command_timeout: Time = Field(gt=0)
    """Age of the last command at which the drive fades its rate out by itself."""
    fade_time: Time = Field(gt=0)
    """Time over which the last rate fades to zero, within the stroke left."""
    hold_time: Time = Field(ge=0)
    """Time between standstill and lowering without commands."""
    lowering_speed: Velocity = Field(gt=0)
    rejoin_acceleration: Acceleration = Field(gt=0)
    """Bound of what the drive adds to move over to a command that does not continue its set-point."""
