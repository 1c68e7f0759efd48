"""Tyres of a vehicle file: linear ones with their numbers, or a Magic Formula property file.

Which of the two is meant shows in the keys: what has ``magic_formula`` is a property file. The file is only
found here; it is read where the model is built.
"""

from __future__ import annotations

import math
from typing import Annotated, Final

from pydantic import Discriminator, Field, Tag, ValidationInfo, field_validator

from mastd.settings.core.base import Settings, beside
from mastd.settings.core.quantity import Damping, Length, Ratio, SlipAngleGain, Stiffness, Velocity

_LINEAR: Final = "linear tyre"
_MAGIC_FORMULA: Final = "Magic Formula tyre"


class TyreSettings(Settings):
    """A tyre whose forces are linear in deflection and slip."""

    free_radius: Length = Field(gt=0)
    rolling_radius: Length = Field(gt=0)
    """Forward speed over spin of the freely rolling wheel."""
    stiffness: Stiffness = Field(gt=0)
    damping: Damping = Field(0.0, ge=0)
    longitudinal_slip_stiffness: float = Field(ge=0)
    """Longitudinal force per slip and wheel load."""
    cornering_stiffness: SlipAngleGain = Field(ge=0)
    """Lateral force per slip angle and wheel load."""
    least_speed: Velocity = Field(1.0, gt=0)
    """Speed below which slip is related to this speed instead of the wheel's own."""

    @field_validator("rolling_radius")
    @classmethod
    def _below_free_radius(cls, rolling: float, info: ValidationInfo) -> float:
        free = info.data.get("free_radius", math.inf)
        if not rolling <= free:
            raise ValueError(f"is {rolling:g} m, a tyre rolls on at most its free radius, {free:g} m")
        return rolling


class MagicTyreSettings(Settings):
    """A tyre by the Magic Formula."""

    magic_formula: str
    """Property file (``.tir``), a path from the vehicle file's own directory."""
    friction: Ratio = Field(1.0, gt=0)
    """Multiplies both peak frictions of the file: another ground than that of the measurement."""

    @field_validator("magic_formula")
    @classmethod
    def _found(cls, file: str, info: ValidationInfo) -> str:
        return beside(file, info)


def _kind(tyre: object) -> str:
    if isinstance(tyre, dict):
        return _MAGIC_FORMULA if "magic_formula" in tyre else _LINEAR
    return _MAGIC_FORMULA if isinstance(tyre, MagicTyreSettings) else _LINEAR


AnyTyre = Annotated[
    Annotated[TyreSettings, Tag(_LINEAR)] | Annotated[MagicTyreSettings, Tag(_MAGIC_FORMULA)],
    Discriminator(_kind),
]
