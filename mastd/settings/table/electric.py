"""Settings of electric drives: ball screw or linear motor behind the velocity loop of a servo amplifier.

The drive follows a speed v_ref like a second-order lag behind a delay; its force on the table is
F = k ∫(v − ẋ) dt + d (v − ẋ), k and d of screw, nut and bearings, or of the velocity loop of a linear motor
(its integral and proportional gain). All values are nominal ones.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field

from mastd.settings.core.base import Settings
from mastd.settings.core.quantity import (
    Damping,
    Force,
    Mass,
    Power,
    Stiffness,
    Velocity,
)
from mastd.settings.table.hydraulics import (
    DriveGainSettings,
    EndStopSettings,
    Feedback,
    FrictionSettings,
    LagSettings,
)

NO_FEEDBACK: Final = "none"


class VelocityLoopSettings(LagSettings):
    """The velocity loop of the amplifier: speed over the speed asked for, as a second-order lag."""


class ElectricSettings(Settings):
    """One electric drive."""

    kind: Literal["ball_screw", "linear_motor"]
    """Without power a ball screw is held by its brake, a linear motor moves freely."""
    maximum_force: Force = Field(gt=0)
    """Peak force of the motor at the rod."""
    maximum_speed: Velocity = Field(gt=0)
    maximum_power: Annotated[Power, Field(gt=0)]
    """Peak mechanical power at the rod: force times speed."""
    stiffness: Stiffness = Field(gt=0)
    """Of screw, nut and bearings; for a linear motor the integral gain of its velocity loop, force per
    length."""
    damping: Damping = Field(ge=0)
    """Of the same; for a linear motor the proportional gain, force per velocity."""
    moving_mass: Mass = Field(default=0.0, ge=0)
    """Inertia of motor and screw, reflected at the rod: J (2π/lead)². A linear motor's moving part belongs to
    the body."""
    velocity_loop: VelocityLoopSettings
    feedback: Literal["load_cell", "none"] = NO_FEEDBACK
    """What measures the force."""
    friction: FrictionSettings
    """Of guides, nut and seals of the drive."""
    end_stop: EndStopSettings


class ElectricTypeSettings(ElectricSettings):
    """One type of electric drives with the gains that the drive has for it."""

    drive: DriveGainSettings | None = None
    """Without it those of the table's drive."""


FEEDBACK_CODES: Final[dict[Feedback, int]] = {
    "none": 0,
    "chamber_pressures": 1,
    "pressure_difference": 2,
    "load_cell": 3,
}
"""Number of each kind of force feedback on the plant link."""
