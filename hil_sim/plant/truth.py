"""Settings of the plant's truth: what the simulated table is really like, which the daemon never reads.

Everything the daemon may know stands in the table's settings and holds here too unless this file says
otherwise: per actuator in ``actuators``, or for all by a seeded ``deviation``.

``python -m hil_sim.plant.truth`` writes the JSON schema beside the starter files in ``config/plants``.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from mastd.errors import SettingsError
from mastd.settings import schema
from mastd.settings.core.base import Settings
from mastd.settings.core.quantity import (
    Area,
    Damping,
    Force,
    Frequency,
    Inertia,
    Length,
    Mass,
    OilLeakage,
    Point,
    Pressure,
    Rate,
    Ratio,
    Stiffness,
    Temperature,
    Time,
    Velocity,
    Volume,
)
from mastd.settings.core.quantity import Flow as OilFlow
from mastd.settings.core.starter import starter_directory
from mastd.settings.table.actuators import ActuatorType
from mastd.settings.table.supports import SupportLaw
from mastd.settings.table.table import TableSettings

PositiveInertia = Annotated[Inertia, Field(gt=0)]


class DeviationTruth(Settings):
    """Seeded spread of the hydraulic parameters: each is its nominal value times 1 ± up to ``spread``."""

    spread: Ratio = Field(ge=0, le=0.5)
    seed: int = Field(ge=0, le=2**31 - 1)


class ValveTruth(Settings):
    """True values of one of several valves in parallel."""

    gain: Ratio = Field(default=1.0, gt=0)
    """Its flow over that of the actuator's like valves."""
    delay: Time | None = Field(default=None, ge=0)
    """Otherwise that of the actuator's valves."""


class ActuatorTruth(Settings):
    """True values of one actuator; what is left out is nominal, with the seeded deviation."""

    link: str
    """Name of the actuator in the table's settings."""
    area_1: Area | None = Field(default=None, gt=0)
    area_2: Area | None = Field(default=None, gt=0)
    dead_length: Length | None = Field(default=None, gt=0)
    bulk_modulus: Pressure | None = Field(default=None, gt=0)
    leakage: OilLeakage | None = Field(default=None, ge=0)
    relief_pressure: Pressure | None = Field(default=None, gt=0)
    coulomb: Force | None = Field(default=None, ge=0)
    breakaway: Force | None = Field(default=None, ge=0)
    stribeck_velocity: Velocity | None = Field(default=None, gt=0)
    viscous: Damping | None = Field(default=None, ge=0)
    bristle_stiffness: Stiffness | None = Field(default=None, gt=0)
    bristle_damping: Damping | None = Field(default=None, ge=0)
    stop_stiffness: Stiffness | None = Field(default=None, gt=0)
    stop_damping: Damping | None = Field(default=None, ge=0)
    natural_frequency: Frequency | None = Field(default=None, gt=0)
    damping_ratio: float | None = Field(default=None, gt=0)
    delay: Time | None = Field(default=None, ge=0)
    opening_rate: Rate | None = Field(default=None, gt=0)
    overlap: Ratio | None = Field(default=None, ge=0, lt=0.5)
    rated_flow: OilFlow | None = Field(default=None, gt=0)
    saturation: Ratio | None = Field(default=None, gt=0, le=1)
    stiffness: Stiffness | None = Field(default=None, gt=0)
    """Of an electric drive."""
    damping: Damping | None = Field(default=None, ge=0)
    """Of an electric drive."""
    speed_gain: float | None = Field(default=None, gt=0)
    """Speed of an electric drive over the one asked for."""
    valves: tuple[ValveTruth, ...] | None = None
    """How each of the valves in parallel differs from the values above, which are those of all."""
    transducer_scale: float = Field(default=1.0, gt=0)
    """Reading of the length transducer per true length."""
    transducer_offset: Length = 0.0
    """Reading of the length transducer at true length zero."""


class DisplacementTruth(Settings):
    """True scale and offset of one displacement transducer beside the actuators."""

    transducer: str
    """Its name in the table's settings."""
    scale: float = Field(default=1.0, gt=0)
    """Reading per true length."""
    offset: Length = 0.0
    """Reading at true length zero."""


class CylinderTruth(Settings):
    """Details of the cylinders that only the simulation needs."""

    cushion_length: Length = Field(default=6.0e-3, gt=0)
    """Last part of the stroke in which the port that oil leaves by closes."""
    cushion_opening: Ratio = Field(default=0.05, gt=0, le=1)
    """Fraction of the port still open at the end stop."""
    relief_conductance: OilLeakage = Field(default=3.0e-10, ge=0)
    """Flow of the relief valve per pressure above its setting."""


class SupplyTruth(Settings):
    """Details of the power pack that only the simulation needs."""

    pressure_droop: Pressure = Field(default=1.0e6, gt=0)
    """The pump turns its flow down over this last part of the set pressure."""
    pump_time: Time = Field(default=0.05, gt=0)
    """Time constant of the pump's delivery."""
    line_volume: Volume = Field(default=0.03, gt=0)
    """Oil in lines and manifolds, whose compression is all that is left below the precharge."""
    line_loss: Pressure | None = Field(default=None, ge=0)
    """Pressure lost between accumulators and valves at the flow that the lines are made for; as tank and
    cooler those of the table's settings where they are left out."""
    bleed_time: Time = Field(default=4.0, gt=0)
    """Time in which the unloading valve would empty full accumulators at full pressure."""
    tank_volume: Volume | None = Field(default=None, gt=0)
    heat_capacity: float = Field(default=1.65e6, gt=0)
    """Of the oil, J/(m³ K): 870 kg/m³ and 1900 J/(kg K)."""
    cooling: float | None = Field(default=None, ge=0)
    """Heat drawn by the cooler per kelvin above its set temperature (W/K)."""
    cooler_temperature: Temperature | None = None


class SprungTruth(Settings):
    """The fraction of the payload that moves on springs, along the axes of P."""

    share: Ratio = Field(gt=0, lt=1)
    frequency: Frequency = Field(gt=0)
    """Of the sprung share on a table that stands still."""
    damping_ratio: float = Field(ge=0)


class PayloadTruth(Settings):
    """The real payload, fixed to the table."""

    mass: Mass = Field(gt=0)
    centre_of_gravity: Point
    """In P."""
    inertia: tuple[PositiveInertia, PositiveInertia, PositiveInertia]
    """About its centre of gravity, about the axes of P; rigid whatever share of the mass is sprung."""
    sprung: SprungTruth | None = None


class PlantTruth(Settings):
    """All that is true of the simulated plant beyond, or against, the table's settings."""

    name: str = "nominal"
    deviation: DeviationTruth = DeviationTruth(spread=0.0, seed=0)
    actuators: tuple[ActuatorTruth, ...] = ()
    displacement: tuple[DisplacementTruth, ...] = ()
    cylinder: CylinderTruth = CylinderTruth()
    supply: SupplyTruth = SupplyTruth()
    payload: PayloadTruth | None = None
    static_supports: tuple[SupportLaw, ...] = ()
    """Beside those of the table's settings: the daemon does not know them."""


# Parameters that the seeded deviation spreads, in the order of its random numbers.
_SPREAD = (
    "bulk_modulus",
    "leakage",
    "coulomb",
    "viscous",
    "natural_frequency",
    "damping_ratio",
    "delay",
    "opening_rate",
    "overlap",
    "rated_flow",
    "stiffness",
    "damping",
)


def nominal_actuator(type_: ActuatorType) -> dict[str, float]:
    """Return the nominal parameters of one actuator by the names of ``ActuatorTruth``."""
    friction, stop, lag, electric = type_.body.friction, type_.body.end_stop, type_.lag, type_.electric
    common = {
        "coulomb": friction.coulomb,
        "breakaway": friction.breakaway,
        "stribeck_velocity": friction.stribeck_velocity,
        "viscous": friction.viscous,
        "bristle_stiffness": friction.bristle_stiffness,
        "bristle_damping": friction.bristle_damping,
        "stop_stiffness": stop.stiffness,
        "stop_damping": stop.damping,
        "natural_frequency": lag.natural_frequency,
        "damping_ratio": lag.damping_ratio,
        "delay": lag.delay,
    }
    if electric is not None:
        return {**common, "stiffness": electric.stiffness, "damping": electric.damping, "speed_gain": 1.0}
    actuator, valve = type_.cylinder, type_.valve
    return {
        **common,
        "area_1": actuator.piston_areas[0],
        "area_2": actuator.piston_areas[1],
        "dead_length": actuator.dead_length,
        "bulk_modulus": actuator.bulk_modulus,
        "leakage": actuator.leakage,
        "relief_pressure": actuator.relief_pressure,
        "opening_rate": valve.opening_rate,
        "overlap": valve.overlap,
        "rated_flow": valve.rated_flow,
        "saturation": valve.saturation,
    }


def true_actuators(table: TableSettings, truth: PlantTruth) -> list[dict[str, float]]:
    """Return the true hydraulics of each actuator: nominal, spread by the seed, or as the truth says.

    Raises SettingsError when the truth names an actuator that the table does not have, or one twice.
    """
    names = [actuator.name for actuator in table.links]
    stated: dict[str, ActuatorTruth] = {}
    problems = []
    for index, actuator in enumerate(truth.actuators):
        if actuator.link not in names:
            problems.append(
                f"actuators[{index}].link: no actuator {actuator.link!r}, the table has {', '.join(names)}"
            )
        elif actuator.link in stated:
            problems.append(f"actuators[{index}].link: {actuator.link!r} listed twice")
        stated[actuator.link] = actuator
    if problems:
        raise SettingsError([f"plant truth {truth.name!r}: {problem}" for problem in problems])
    generator = np.random.Generator(np.random.PCG64(truth.deviation.seed))
    factors = 1.0 + truth.deviation.spread * generator.uniform(-1.0, 1.0, (len(names), len(_SPREAD)))
    actuators = []
    for name, type_, row in zip(names, table.types, factors, strict=True):
        values = nominal_actuator(type_)
        for key, factor in zip(_SPREAD, row, strict=True):
            if key in values:
                values[key] *= float(factor)
        values["breakaway"] *= float(row[_SPREAD.index("coulomb")])
        if name in stated:
            own = stated[name].model_dump(
                exclude_none=True, exclude={"link", "valves", "transducer_scale", "transducer_offset"}
            )
            foreign = sorted(set(own) - set(values))
            if foreign:
                what = f"{foreign[0]} is no parameter of {name!r}, which is "
                kind = "hydraulic" if type_.electric is None else "electric"
                raise SettingsError([f"plant truth {truth.name!r}: {what}{kind}"])
            values.update(own)
        actuators.append(values)
    return actuators


if __name__ == "__main__":
    written = starter_directory() / "plants" / "truth.schema.json"
    written.write_text(schema.text(PlantTruth), encoding="utf-8")
