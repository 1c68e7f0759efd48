"""Settings of the table's body: mass, inertia and size (``body`` of ``config/table.yaml``)."""

from __future__ import annotations

import math
from typing import Annotated, Final

from pydantic import Field, ValidationInfo, field_validator

from mastd.settings.core.base import Settings
from mastd.settings.core.quantity import Inertia, Length, Mass, Point

LEAST_GYRATION: Final = 0.01
"""Least radius of gyration of a body over its longest side; the largest is that side."""

PositiveLength = Annotated[Length, Field(gt=0)]
PositiveInertia = Annotated[Inertia, Field(gt=0)]


class BodySettings(Settings):
    """The table as a rigid body, without payload."""

    mass: Mass = Field(gt=0)
    centre_of_mass: Point
    """In P."""
    inertia: tuple[PositiveInertia, PositiveInertia, PositiveInertia]
    """About the centre of mass, along the x, y and z axes of P."""
    size: tuple[PositiveLength, PositiveLength, PositiveLength]
    top_height: Length
    """Height of the table's top above C."""

    @field_validator("inertia")
    @classmethod
    def _triangle(cls, inertia: tuple[float, float, float]) -> tuple[float, float, float]:
        maximum = max(inertia)
        if not (maximum <= (sum(inertia) - maximum) * (1 + 1e-9)):
            raise ValueError(
                "physically impossible inertia: the largest moment exceeds the sum of the other two"
            )
        return inertia

    @field_validator("size")
    @classmethod
    def _fits_mass_and_inertia(
        cls, size: tuple[float, float, float], info: ValidationInfo
    ) -> tuple[float, float, float]:
        mass, longest = info.data.get("mass"), max(size)
        for axis, moment in zip("xyz", info.data.get("inertia", ()), strict=False):
            if mass is None:
                break
            radius = math.sqrt(moment / mass)
            if not (LEAST_GYRATION * longest <= radius <= longest):
                raise ValueError(
                    f"has a longest side of {longest:g} m, but {mass:g} kg with {moment:g} kg m2 about "
                    f"{axis} have a radius of gyration of {radius:.3g} m, expected "
                    f"{LEAST_GYRATION * longest:.3g} to {longest:.3g} m: correct mass, inertia or size"
                )
        return size
