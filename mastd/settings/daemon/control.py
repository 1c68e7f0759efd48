"""Settings of the table's control: group ``control`` of config/daemon/*.yaml.

What the drive itself closes stands in the table's settings (``drive``). Each part here can be switched off,
so that its worth can be measured; docs/theory.md has the figures.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator

from mastd.settings.core.axes import Axis
from mastd.settings.core.base import Settings, beside
from mastd.settings.core.quantity import Force, Frequency, Length, Mass, Rate, Ratio, Time, Velocity


class NotchSettings(Settings):
    """Takes a resonance of the specimen out of the acceleration feedback of one degree of freedom."""

    axis: Axis
    frequency: Annotated[Frequency, Field(gt=0.1, le=200)]
    width: Annotated[Frequency, Field(gt=0.01, le=100)]
    """Between the frequencies at which the gain is 1/√2 if the depth is full."""
    depth: Annotated[Ratio, Field(gt=0, le=1)] = 1.0
    """How much of it is taken out at the frequency; 1 is all."""


class FeedForwardSettings(Settings):
    """The nominal inverse of specimen, table, oil and valves: what the valves must do for a motion."""

    dynamics: Literal["payload", "table", "links", "none"]
    """What the force references are made of: the whole mass matrix with the payload; the bare table's; an
    equal share of the mass for each actuator by itself; nothing but the static weight."""
    friction: bool
    """Run the friction model on the reference and add its force to that of each actuator."""
    valve_inverse: bool
    """Compensate lag, delay and overlap of the valves; else the drive's own lead has to do."""
    preview: bool
    """Look ahead on a path that is known. Without it, and for motion that comes as it is made, the references
    of length and force wait for the valves."""
    valve_learning: bool
    """Learn gain and overlap of each valve and the softness of the oil while the table moves."""
    payload_learning: bool
    """Learn mass, centre of gravity and inertia of the payload while the table moves."""
    bandwidth: Annotated[Frequency, Field(ge=10, le=300)] | None = None
    """Above this the inverse of the valves is let go; if left out, 0.7 of the slowest valve's frequency."""
    stream_delay: Annotated[Time, Field(ge=0, le=0.02)]
    """How long the references of length and force wait without preview."""


FeedbackGain = Annotated[Rate, Field(ge=0, le=400)]


class AxisGainSettings(Settings):
    """Gain of the acceleration feedback of each axis."""

    surge: FeedbackGain
    sway: FeedbackGain
    heave: FeedbackGain
    roll: FeedbackGain
    pitch: FeedbackGain
    yaw: FeedbackGain


class AccelerationSettings(Settings):
    """Feedback of the measured acceleration about the reference, in pose space."""

    gain: FeedbackGain | None = None
    """Speed asked of a valve per deflection of the oil that the missing acceleration of the bare table means,
    for all axes."""
    gains: AxisGainSettings | None = None
    """The same for each axis. Computed from the table where neither is stated."""
    maximum_gain: FeedbackGain = 100.0
    """Largest gain that is computed."""
    notches: Annotated[tuple[NotchSettings, ...], Field(max_length=12)] = ()

    @field_validator("gains")
    @classmethod
    def _instead_of_one(cls, gains: AxisGainSettings | None, info: ValidationInfo) -> AxisGainSettings | None:
        if gains is not None and info.data.get("gain") is not None:
            raise ValueError("stands beside gain: state one for all axes, or one for each")
        return gains

    @property
    def axis_gains(self) -> tuple[float, ...]:
        """Gain of each axis; raises ValueError where they are still to be computed."""
        if self.gain is not None:
            return (self.gain,) * 6
        if self.gains is None:
            raise ValueError("the gains of the acceleration feedback have not been computed")
        return tuple(self.gains.model_dump().values())


class BalanceSettings(Settings):
    """Keeps actuators from working against each other: a slow, bounded trim of the lengths."""

    gain: Annotated[Rate, Field(ge=0, le=50)]
    """Rate at which an internal force is taken off the actuators by their oil's stiffness; 0 is off."""
    limit: Annotated[Length, Field(gt=0, le=0.05)] | None = None
    """Largest trim of an actuator; reached, it is a fault. If left out, what the softest actuator's oil gives
    way under its maximum force."""
    preload: Force = 0.0
    """Internal force along the null vector, kept against backlash; above 0 the first actuator pushes."""


class PayloadCheckSettings(Settings):
    """Is what stands on the table what the profile says? Compared by the pressures while it is raised."""

    enabled: bool
    mass: Annotated[Mass, Field(gt=0)] | None = None
    """Difference in mass that is a fault; if left out, a thirty-sixth of what the actuators can carry."""
    centre: Annotated[Length, Field(gt=0)] | None = None
    """Difference of the common centre of gravity of table and payload, across the vertical, that is a
    fault; if left out, 1.2 % of the table's longer side."""


class ControlSettings(Settings):
    """How the table is made to follow."""

    feedforward: FeedForwardSettings
    acceleration: AccelerationSettings
    balance: BalanceSettings
    payload_check: PayloadCheckSettings
    identified: str | None = None
    """File of `mastd identify` whose values take the place of the nominal ones; a relative path starts at
    the settings' own folder."""
    trim_limit: Annotated[Velocity, Field(ge=0)] | None = None
    """Most that the control may add to the speed that the drive asks of a valve; if left out, half of the
    fastest actuator's without load."""
    engage_time: Annotated[Time, Field(gt=0, le=10)]
    """Time in which the control comes in once the drive follows."""

    @field_validator("identified")
    @classmethod
    def _found(cls, identified: str | None, info: ValidationInfo) -> str | None:
        return None if identified is None else beside(identified, info)
