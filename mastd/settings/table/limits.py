"""Settings of the table's limits: what no motion may exceed (``limits`` of ``config/table.yaml``)."""

from __future__ import annotations

import math
from typing import Annotated

from pydantic import Field, ValidationInfo, field_validator

from mastd.settings.core.base import Settings
from mastd.settings.core.quantity import (
    Acceleration,
    Angle,
    Force,
    Jerk,
    Length,
    Ratio,
    Velocity,
)
from mastd.settings.table.sensors import Name


class PoseLimitSettings(Settings):
    """Largest pose to either side of neutral, of C; an axis that guides hold needs none."""

    surge: Length | None = Field(default=None, gt=0)
    sway: Length | None = Field(default=None, gt=0)
    heave: Length | None = Field(default=None, gt=0)
    roll: Angle | None = Field(default=None, gt=0, lt=math.pi / 2)
    pitch: Angle | None = Field(default=None, gt=0, lt=math.pi / 2)
    yaw: Angle | None = Field(default=None, gt=0, lt=math.pi / 2)


class FollowingErrorSettings(Settings):
    """Allowed difference of measured and commanded length, linear in the commanded rate."""

    minimum: Length = Field(gt=0)
    """At standstill."""
    at_maximum_velocity: Length = Field(gt=0)
    """At the limit of the actuator velocity."""

    @field_validator("at_maximum_velocity")
    @classmethod
    def _not_below_minimum(cls, value: float, info: ValidationInfo) -> float:
        minimum = info.data.get("minimum", 0.0)
        if not (value >= minimum):
            raise ValueError(f"is {value:g} m, it must be at least minimum, {minimum:g} m")
        return value


class InternalForceSettings(Settings):
    """A pattern of internal force by name: actuators whose forces cancel on the table, and its limit."""

    name: Name
    actuators: Annotated[tuple[Name, ...], Field(min_length=2)]
    """Names of the links in it, as few as can work against each other."""
    force: Annotated[Force, Field(gt=0)] | None = None
    """Limit; if left out, that of ``internal_force``, or else computed as of any pattern."""


class LimitSettings(Settings):
    """What no motion may exceed."""

    velocity: Annotated[Velocity, Field(gt=0)] | None = None
    """Of an actuator; if left out, three quarters of the speed that each has without load. Where types
    differ, those that are slower have the speed that they reach as their limit."""
    acceleration: Acceleration = Field(gt=0)
    """Of an actuator."""
    jerk: Jerk = Field(gt=0)
    """Of an actuator, as commanded."""
    force_share: Ratio = Field(gt=0, le=1)
    """Of the actuators' maximum force."""
    stroke_margin: Length = Field(ge=0)
    """Kept free at either end of the stroke."""
    redundancy_residual: Length = Field(gt=0)
    """Largest disagreement of the measured lengths, along the null vector of the transposed Jacobian."""
    redundancy_drift: Length = Field(gt=0)
    """The same disagreement when it stands for long."""
    internal_force: Annotated[Force, Field(gt=0)] | None = None
    """Largest force in a pattern of internal force: the part of the actuators' forces along the unit vector
    of those that cancel on the table. If left out, a fifth of that at which the first actuator in the pattern
    has its maximum force."""
    internal_forces: tuple[InternalForceSettings, ...] = ()
    """Patterns with names and limits of their own; the others are computed from the geometry."""
    conditioning: float = Field(ge=1)
    """Largest condition number of the Jacobian, by Frobenius norms over 6, arms in m; 1 is the best."""
    pose: PoseLimitSettings
    following_error: FollowingErrorSettings
