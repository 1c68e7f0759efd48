"""What a vehicle has beside chassis and axles: brakes, the air around it, straps and chocks, held motions."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, ValidationInfo, field_validator

from mastd.settings.core.axes import Axis
from mastd.settings.core.base import Problem, Settings, refuse
from mastd.settings.core.error_text import near
from mastd.settings.core.quantity import Area, Damping, Density, Force, Length, Moment, Point, Stiffness


def _each_once(motions: tuple[Axis, ...]) -> tuple[Axis, ...]:
    refuse(
        [((k,), f"{motion} is held already") for k, motion in enumerate(motions) if motions.index(motion) < k]
    )
    return motions


Held = Annotated[tuple[Axis, ...], AfterValidator(_each_once)]


class BrakeSettings(Settings):
    """Friction brakes of an axle, one on each wheel, their calipers on the wheels' carriers."""

    torque: Moment = Field(ge=0)
    """At each wheel, with the pedal pressed to the floor."""


class AerodynamicsSettings(Settings):
    """Forces of air at rest, ½ · density · area · speed²."""

    density: Density = Field(1.204, gt=0)
    """Of the air; by default that of 20 degrees Celsius and 1013 hPa."""
    drag_area: Area = Field(ge=0)
    """Drag coefficient times frontal area."""
    centre: Point
    """Where the drag acts on the chassis."""
    front_lift_area: Area = 0.0
    """Lift coefficient of the front axle times frontal area, positive upwards."""
    rear_lift_area: Area = 0.0
    """Lift coefficient of the rear axle times frontal area, positive upwards."""
    front: Point | None = None
    """Where the front lift acts on the chassis; by default in the middle between the first axle's wheels."""
    rear: Point | None = None
    """Where the rear lift acts on the chassis; by default in the middle between the last axle's wheels."""


class SeatSettings(Settings):
    """A seat, fixed to the chassis: a place at which the ride is felt."""

    position: Point
    """Middle of the seat's surface, where a person sits on it, in the design position."""


class TieDownSettings(Settings):
    """A strap from the chassis to the ground: it pulls, and does not push."""

    point: Point
    """On the chassis, in the design position."""
    anchor: Point
    """On the ground, in the vehicle frame of the design position."""
    stiffness: Stiffness = Field(gt=0)
    damping: Damping = Field(0.0, ge=0)
    preload: Force = Field(0.0, ge=0)
    """Where the vehicle stands at rest."""

    @field_validator("anchor")
    @classmethod
    def _below(cls, anchor: Point, info: ValidationInfo) -> Point:
        point = info.data.get("point")
        if point is not None and not anchor[2] < point[2]:
            raise ValueError(
                f"at z = {1000 * anchor[2]:g} mm does not lie below the strap's point on the chassis, at "
                f"{1000 * point[2]:g} mm"
            )
        return anchor


class ChockSettings(Settings):
    """Wedges before and behind wheels."""

    wheels: Annotated[tuple[str, ...], Field(min_length=1)]
    """Names of the wheels: fl, fr, rl, rr, those of further axles 3l, 3r, …"""
    gap: Length = Field(0.0, ge=0)
    """Either way from where the wheel stands at rest."""
    stiffness: Stiffness = Field(gt=0)
    damping: Damping = Field(0.0, ge=0)


def wheel_name(axle: int, side: str) -> str:
    """Return the name of a wheel: fl, fr, rl, rr, then 3l, 3r, …; axles are counted from 0."""
    return ("f", "r")[axle] + side[0] if axle < 2 else f"{axle + 1}{side[0]}"


def chock_problems(chocks: ChockSettings, wheels: list[str]) -> list[Problem]:
    """Return which wheels of the chocks the vehicle does not have, or has chocked already."""
    problems: list[Problem] = []
    for k, name in enumerate(chocks.wheels):
        if name not in wheels:
            problems.append((("wheels", k), f"no wheel {name!r}, {near(name, wheels)}"))
        elif chocks.wheels.index(name) < k:
            problems.append((("wheels", k), f"wheel {name!r} has its chocks already"))
    return problems
