"""Settings of a vehicle (``config/vehicles``): chassis, axles, further bodies, air and restraints.

Vehicle frame: x forward, y left, z up (ISO 8855), origin on the ground. All points are those of the design
position; ``mastd/vehicle/model/build.py`` makes the model of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field, ValidationInfo, field_validator

from mastd.settings.core.axes import Axis
from mastd.settings.core.base import Problem, Settings, refuse
from mastd.settings.core.quantity import Acceleration
from mastd.settings.vehicle.axles import AnyAxle, AxleBase, GroupSettings
from mastd.settings.vehicle.equipment import (
    AerodynamicsSettings,
    ChockSettings,
    Held,
    SeatSettings,
    TieDownSettings,
    chock_problems,
    wheel_name,
)
from mastd.settings.vehicle.parts import BodySettings, Identifier, Name
from mastd.settings.vehicle.powertrain import PowertrainSettings


class VehicleSettings(Settings):
    """A vehicle."""

    name: Name
    gravity: Annotated[Acceleration, Field(gt=0.0)] = 9.80665
    held: Held = ()
    """Motions of the chassis that are held: a quarter car has one side of one axle, and heaves."""
    chassis: BodySettings
    axles: Annotated[tuple[AnyAxle, ...], Field(max_length=12, json_schema_extra={"minItems": 1})]
    """Front to rear, at least two, one where motions are held."""
    groups: dict[Identifier, GroupSettings] = Field(default_factory=dict)
    """Further bodies on the chassis: a cab, an engine, a load."""
    seats: Annotated[dict[Identifier, SeatSettings], Field(max_length=100)] = Field(default_factory=dict)
    """Places on the chassis at which the ride is felt; who drives sits on ``driver``."""
    powertrain: PowertrainSettings | None = None
    aerodynamics: AerodynamicsSettings | None = None
    tie_downs: Annotated[dict[Identifier, TieDownSettings], Field(max_length=40)] = Field(
        default_factory=dict
    )
    """Straps from the chassis to the ground."""
    chocks: ChockSettings | None = None

    @field_validator("axles")
    @classmethod
    def _front_to_rear(cls, axles: tuple[AxleBase, ...], info: ValidationInfo) -> tuple[AxleBase, ...]:
        held = info.data.get("held")
        if held is not None:
            refuse(_held_problems(axles, held))
        refuse([*_repeated_names(axles), *_out_of_order(axles)])
        return axles

    @field_validator("powertrain")
    @classmethod
    def _known_axles(
        cls, powertrain: PowertrainSettings | None, info: ValidationInfo
    ) -> PowertrainSettings | None:
        axles: tuple[AxleBase, ...] | None = info.data.get("axles")
        if powertrain is not None and axles is not None:
            refuse(powertrain.axle_problems(axle.name for axle in axles if len(axle.sides) == 2))
        return powertrain

    @field_validator("chocks")
    @classmethod
    def _known_wheels(cls, chocks: ChockSettings | None, info: ValidationInfo) -> ChockSettings | None:
        axles: tuple[AxleBase, ...] | None = info.data.get("axles")
        if chocks is not None and axles is not None:
            wheels = [wheel_name(k, side) for k, axle in enumerate(axles) for side in axle.sides]
            refuse(chock_problems(chocks, wheels))
        return chocks


def _held_problems(axles: tuple[AxleBase, ...], held: Sequence[Axis]) -> list[Problem]:
    """Return why these axles do not go with the motions that are held."""
    if not held and len(axles) < 2:
        what = f"{len(axles)} given, a vehicle has at least two axles, or one with held motions"
        return [((), what)]
    if held and len(axles) != 1:
        return [((), f"{len(axles)} given, a vehicle whose motions are held has one axle")]
    problems: list[Problem] = []
    if held and "pitch" not in held:
        problems.append(((), "a vehicle of one axle falls over, hold its pitch, too"))
    for k, axle in enumerate(axles):
        if axle.side is not None and "roll" not in held:
            problems.append(((k, "side"), "a vehicle of one side falls over, hold its roll, too"))
    return problems


def _repeated_names(axles: tuple[AxleBase, ...]) -> list[Problem]:
    names = [axle.name for axle in axles]
    return [
        ((k, "name"), f"{name!r} is the name of axles[{names.index(name)}] already")
        for k, name in enumerate(names)
        if names.index(name) < k
    ]


def _out_of_order(axles: tuple[AxleBase, ...]) -> list[Problem]:
    problems: list[Problem] = []
    for k in range(1, len(axles)):
        x, before = axles[k].hardpoints.wheel_centre[0], axles[k - 1].hardpoints.wheel_centre[0]
        if not x < before:
            what = (
                f"at x = {1000 * x:g} mm does not lie behind the axle before it, at {1000 * before:g} mm; "
                "expected axles in order from front to rear"
            )
            problems.append(((k, "hardpoints", "wheel_centre"), what))
    return problems
