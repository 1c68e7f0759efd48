"""Settings of the daemon: rate, real-time rights, time-outs, guard delays, moves (config/daemon/*.yaml)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator

from mastd.settings.core.base import Settings, beside
from mastd.settings.core.quantity import (
    Acceleration,
    AngularAcceleration,
    AngularJerk,
    AngularVelocity,
    Frequency,
    Jerk,
    Length,
    Ratio,
    Time,
    Velocity,
)
from mastd.settings.daemon.control import ControlSettings
from mastd.settings.daemon.estimator import EstimatorSettings
from mastd.settings.daemon.gateway import GatewaySettings
from mastd.settings.daemon.trust import RoundTripSettings, UnaskedMotionSettings


class RealtimeSettings(Settings):
    """Rights that the loop asks for; each is tried, read back and reported."""

    priority: Annotated[int, Field(ge=1, le=98)] | None
    """SCHED_FIFO priority of the loop's thread; null asks for none."""
    lock_memory: bool
    """Lock all memory of the process."""
    timer_slack: Annotated[Time, Field(gt=0)] | None
    """Timer slack of the process; null leaves the system's."""
    cpu: Annotated[int, Field(ge=0)] | None
    """Processor the loop is bound to; null binds to none."""
    spin: Annotated[Time, Field(ge=0, le=5e-4)]
    """Busy wait before each deadline; only sensible on an isolated processor."""
    allow_without_rights: bool
    """Arm even when a right is missing (DEGRADED_RT)."""


class TimeoutSettings(Settings):
    """How long the loop waits for others."""

    plant_lost: Annotated[Time, Field(gt=0)]
    """Without any sample for this long the plant is lost."""
    sample_stale: Annotated[Time, Field(gt=0)]
    """Age of the newest sample at which the table is stopped."""
    supply_stage: Annotated[Time, Field(gt=0)] | None = None
    """Time the supply may take to reach a stage; if left out, five times what its settings say, at least
    10 s, at most two minutes more than that."""
    lowering: Annotated[Time, Field(gt=0)] | None = None
    """Time the drive may take to let the table down by itself; if left out, three times that from end to end
    of the shortest stroke, at least 30 s."""
    loop_stuck: Annotated[Time, Field(gt=0)]
    """A loop that stood still for longer powers off when it goes on."""
    gateway_lost: Annotated[Time, Field(gt=0)]
    """Without the gateway's heartbeat for this long the table is stopped."""


class GuardSettings(Settings):
    """How long a condition may stand before it is a fault."""

    sample_delay: Annotated[Time, Field(ge=0)]
    """Unusable samples in a row."""
    missing_share: Annotated[Ratio, Field(gt=0, le=1)]
    """Share of samples missing or not believed over a second."""
    jump_margin: Annotated[Length, Field(ge=0)]
    """A length that steps by this more than the velocity limit allows is not believed."""
    stuck_band: Annotated[Length, Field(ge=0)]
    """A length that stays within this band does not change: above the resolution, below the noise's peaks."""
    stuck_travel: Annotated[Length, Field(gt=0)]
    """Commanded travel after which a length that has not changed is stuck."""
    frozen_delay: Annotated[Time, Field(gt=0)]
    """A pressure or spool that reads the same, bit for bit, for this long is frozen: sensors have noise."""
    limit_delay: Annotated[Time, Field(ge=0)]
    """An actuator or the actuators together beyond a limit of the table; a stuck length."""
    drift_delay: Annotated[Time, Field(ge=0)]
    """Lengths apart by more than the limit of a drift."""
    following_delay: Annotated[Time, Field(ge=0)]
    """Following error beyond its limit."""
    rejoin_time: Annotated[Time, Field(ge=0)]
    """After a gap longer than ``following_delay`` the following error is not watched for this long: the drive
    takes the set-points up again from where it has bridged to."""
    supply_delay: Annotated[Time, Field(ge=0)]
    """Supply beyond one of its limits."""
    clock_difference: Annotated[Time, Field(gt=0)]
    """What plant time and the loop's time may drift apart within a second."""
    rate_filter: Annotated[Frequency, Field(gt=0)]
    """Corner of the first-order filter on differentiated lengths and poses."""


class OverrunSettings(Settings):
    """What happens when the loop cannot keep its rate."""

    maximum_missed: Annotated[int, Field(ge=1)]
    """Periods in a row that may be missed; more is a fault."""
    late_share: Annotated[Ratio, Field(gt=0, le=1)]
    """Share of periods that may be missed over a window."""
    late_window: Annotated[Time, Field(gt=0, le=600)]
    """Length of that window."""
    after_stall: Literal["rejoin", "stop"]
    """After a stall longer than the drive's time-out: go on by a bumpless rejoin, or stop."""


class BrakeSettings(Settings):
    """Deceleration from a measured speed: after an actuator did not follow, and to rejoin after a stall."""

    acceleration: Annotated[Acceleration, Field(gt=0)]
    """Translation of C."""
    jerk: Annotated[Jerk, Field(gt=0)]
    """Translation of C."""
    angular_acceleration: Annotated[AngularAcceleration, Field(gt=0)]
    """Each Euler angle."""
    angular_jerk: Annotated[AngularJerk, Field(gt=0)]
    """Each Euler angle."""
    distance: Annotated[Length, Field(gt=0)] | None = None
    """Longest way of C, and 1 m off it, that a deceleration may take; above it decelerates harder instead. If
    left out, 0.4 of the shortest stroke."""


class MoveSettings(Settings):
    """Limits of the daemon's own moves: raising, lowering, jogging, rejoining."""

    velocity: Annotated[Velocity, Field(gt=0)] | None = None
    """Translation of C; if left out, 20 mm/s, or what takes 15 s from end to end of the shortest stroke."""
    acceleration: Annotated[Acceleration, Field(gt=0)]
    """Translation of C."""
    jerk: Annotated[Jerk, Field(gt=0)]
    """Translation of C."""
    angular_velocity: Annotated[AngularVelocity, Field(gt=0)]
    """Each Euler angle."""
    angular_acceleration: Annotated[AngularAcceleration, Field(gt=0)]
    """Each Euler angle."""
    angular_jerk: Annotated[AngularJerk, Field(gt=0)]
    """Each Euler angle."""
    stop_time: Annotated[Time, Field(gt=0)]
    """Time in which hold, stop and resume change the speed of the profile."""
    level_time: Annotated[Time, Field(gt=0)]
    """Time in which a change of level is played in, of the profile's own time."""
    brake: BrakeSettings
    clearance: Annotated[Length, Field(gt=0)]
    """Height above the lower stops to which the table is lowered before the drive lets it down."""


class KinematicsSettings(Settings):
    """Bounds of the forward kinematics in the loop."""

    tolerance: Annotated[Length, Field(gt=0, le=1e-4)]
    """Sum of the length residuals below which the pose is found: what is shown is as wrong as that."""
    update_tolerance: Annotated[Length, Field(gt=0, le=1e-4)]
    """Size of an update below which the pose is found (measured lengths fit no pose exactly)."""
    maximum_updates: Annotated[int, Field(ge=1, le=50)] | None = None
    """Updates per cycle at most; if left out, as many as the farthest pose within the strokes takes from
    neutral."""


class DaemonSettings(Settings):
    """Everything of the daemon that is not the table and not the profile."""

    rate: Annotated[Frequency, Field(ge=100, le=10_000)]
    """Cycles per second."""
    realtime: RealtimeSettings
    timeouts: TimeoutSettings
    guard: GuardSettings
    overrun: OverrunSettings
    round_trip: RoundTripSettings
    unasked_motion: UnaskedMotionSettings
    moves: MoveSettings
    kinematics: KinematicsSettings
    estimator: EstimatorSettings
    control: ControlSettings
    gateway: GatewaySettings
    rigs: str | None = None
    """File with the rigs that may join (config/rigs.yaml), from the directory of this one; null for none."""

    @field_validator("rigs")
    @classmethod
    def _found(cls, rigs: str | None, info: ValidationInfo) -> str | None:
        return None if rigs is None else beside(rigs, info)

    @property
    def period_ns(self) -> int:
        """One period in nanoseconds."""
        return round(1e9 / self.rate)
