"""Settings of a vehicle (``config/vehicles``): chassis, axles, further bodies.

Vehicle frame: x forward, y left, z up (ISO 8855), origin on the ground. All points are those of the design
position; ``mastd/vehicle/build.py`` makes the model of it.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, field_validator

from mastd.settings.base import Problem, Settings, refuse
from mastd.settings.quantity import Acceleration
from mastd.settings.vehicle_axles import AnyAxle, AxleBase, GroupSettings
from mastd.settings.vehicle_parts import BodySettings, Identifier, Name


class VehicleSettings(Settings):
    """A vehicle."""

    name: Name
    gravity: Annotated[Acceleration, Field(gt=0.0)] = 9.80665
    chassis: BodySettings
    axles: Annotated[tuple[AnyAxle, ...], Field(max_length=12, json_schema_extra={"minItems": 2})]
    """Front to rear."""
    groups: dict[Identifier, GroupSettings] = Field(default_factory=dict)
    """Further bodies on the chassis: a cab, an engine, a load."""

    @field_validator("axles")
    @classmethod
    def _front_to_rear(cls, axles: tuple[AxleBase, ...]) -> tuple[AxleBase, ...]:
        if len(axles) < 2:
            raise ValueError(f"{len(axles)} given, a vehicle has at least two axles")
        refuse([*_repeated_names(axles), *_out_of_order(axles)])
        return axles


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
                "axles stand in order from front to rear"
            )
            problems.append(((k, "hardpoints", "wheel_centre"), what))
    return problems
