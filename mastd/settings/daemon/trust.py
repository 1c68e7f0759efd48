"""Settings of what the loop may trust: how old its samples are, and whether the table does what was asked."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from mastd.settings.core.base import Settings
from mastd.settings.core.quantity import Acceleration, Length, Ratio, Time


class RoundTripSettings(Settings):
    """Time from sending a command until a sample answers it, in periods; 1 is the least."""

    indicate: Annotated[int, Field(ge=1, le=1000)]
    """Above this it is told."""
    fade: Annotated[int, Field(ge=1, le=1000)]
    """Above this the acceleration feedback is faded out."""
    stop: Annotated[int, Field(ge=1, le=1000)]
    """Above this the table is stopped."""
    window: Annotated[Time, Field(gt=0, le=10)]
    """The least round trip within this time is the delay; the rest is jitter."""
    jitter_share: Annotated[Ratio, Field(gt=0, le=1)]
    """Share of cycles over a second that may be above ``indicate`` without a delay."""
    lost_commands: Annotated[Ratio, Field(gt=0, le=1)]
    """Share of commands over a second, lost or over a period late, above which the table is stopped."""
    fade_time: Annotated[Time, Field(gt=0, le=1)]
    """In this time the feedback is faded out."""
    return_time: Annotated[Time, Field(gt=0, le=60)]
    """In this time it comes back."""

    @model_validator(mode="after")
    def _rising(self) -> RoundTripSettings:
        if not self.indicate <= self.fade <= self.stop:
            raise ValueError("indicate, fade and stop must rise in this order")
        return self


class UnaskedMotionSettings(Settings):
    """Measured less reference acceleration of each axis, as effective value over a window."""

    limit: Annotated[Acceleration, Field(gt=0)] | None = None
    """At standstill; if left out, what friction that is not known and noise of the accelerometers can make,
    at least 0.7 m/s²."""
    arm: Annotated[Length, Field(gt=0)] | None = None
    """Distance at which a rotation counts; if left out, the longest lever arm of an actuator about C, 1 m if
    none has any."""
    own_ratio: Annotated[Ratio, Field(ge=0, le=2)]
    """Of what is asked of the axis itself, added to the limit."""
    cross_ratio: Annotated[Ratio, Field(ge=0, le=2)]
    """Of what is asked of all axes together, added to the limit."""
    window: Annotated[Time, Field(gt=0, le=5)]
    patience: Annotated[Time, Field(ge=0, le=10)]
    """Time that is left after switching the feedback off until the table is stopped."""
