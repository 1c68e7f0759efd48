"""Settings of a run with the operator in the loop: who drives which vehicle on which road, and how the
motion at the seat becomes motion of the table."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator

from mastd.settings.core.base import Settings, beside
from mastd.settings.core.quantity import Acceleration, Length, Point, Ratio, Time, Velocity
from mastd.settings.profile.cueing import Cueing
from mastd.settings.table.payload import vehicle_file


class FlatRoad(Settings):
    """A level plane without end."""

    kind: Literal["flat"] = "flat"
    friction: Annotated[Ratio, Field(gt=0.0, le=2.0)] = 1.0
    """Multiplies the tyres' friction."""


class ClassRoad(Settings):
    """A random road of a class of ISO 8608, straight along x; it begins before the vehicle."""

    kind: Literal["class"]
    road_class: Literal["A", "B", "C", "D", "E", "F", "G", "H"]
    length: Annotated[Length, Field(ge=50.0, le=20_000.0)] = 1000.0


class KerbRoad(Settings):
    """A level plane with a kerb across it."""

    kind: Literal["kerb"]
    height: Annotated[Length, Field(gt=0.0, le=0.5)] = 0.1
    distance: Annotated[Length, Field(ge=0.0, le=1000.0)] = 20.0
    """From the foremost wheels at the start."""
    length: Annotated[Length, Field(ge=0.0)] | None = None
    """Along the road; without end if left out."""
    side: Literal["both", "left", "right"] = "both"


class OpenCrgRoad(Settings):
    """A road in an OpenCRG file; it begins before the vehicle."""

    kind: Literal["opencrg"]
    file: Annotated[str, Field(min_length=1)]
    """A relative path starts at the profile's own folder."""

    @field_validator("file")
    @classmethod
    def _found(cls, file: str, info: ValidationInfo) -> str:
        return beside(file, info)


Road = Annotated[FlatRoad | ClassRoad | KerbRoad | OpenCrgRoad, Field(discriminator="kind")]


class Cruise(Settings):
    """Keeps the speed, straight ahead."""

    kind: Literal["cruise"] = "cruise"


class LaneChange(Settings):
    """Drives a double lane change at the speed that it keeps."""

    kind: Literal["lane_change"]
    offset: Length = 3.5
    """Of the other lane; positive to the left."""
    preview: Annotated[Time, Field(ge=0.1, le=5.0)] = 0.6
    """How far ahead the driver looks."""


class EmergencyStop(Settings):
    """Brakes from the speed to standstill, straight ahead."""

    kind: Literal["brake"]
    start: Annotated[Time, Field(ge=0.0, le=600.0)] = 2.0
    pedal: Annotated[Ratio, Field(gt=0.0, le=1.0)] | None = None
    """Share of the brakes, of a vehicle that has some; all of them if neither is given."""
    deceleration: Annotated[Acceleration, Field(gt=0.0, le=15.0)] | None = None
    """Held instead of a pedal."""

    @field_validator("deceleration")
    @classmethod
    def _one(cls, deceleration: float | None, info: ValidationInfo) -> float | None:
        if deceleration is not None and info.data.get("pedal") is not None:
            raise ValueError("give it or pedal, not both")
        return deceleration


class RandomDriver(Settings):
    """Steers, accelerates and brakes at random, repeatably by the profile's seed."""

    kind: Literal["random"]
    lateral: Annotated[Acceleration, Field(gt=0.0, le=8.0)] = 3.0
    """Largest lateral acceleration that is steered for."""
    longitudinal: Annotated[Acceleration, Field(gt=0.0, le=8.0)] = 3.0
    """Largest acceleration and deceleration that is asked for."""
    top_speed: Annotated[Velocity, Field(gt=0.0, le=60.0)] = 25.0


class OperatorDriver(Settings):
    """Somebody who drives through the gateway: `mastd drive`, or a program of their own."""

    kind: Literal["operator"]
    timeout: Annotated[Time, Field(ge=0.05, le=10.0)] = 0.3
    """Without a message for so long the driver is lost: until then the inputs stay, then the vehicle coasts
    to a stop."""


ScriptedDriver = Annotated[
    Cruise | LaneChange | EmergencyStop | RandomDriver | OperatorDriver, Field(discriminator="kind")
]


class OilsSettings(Settings):
    """A vehicle that is driven, and the table that moves its driver."""

    vehicle: Annotated[str, Field(min_length=1)]
    """Name of a starter vehicle, or a vehicle file; a relative path starts at the profile's own folder."""
    seat: Annotated[str, Field(min_length=1)] | None = None
    """Seat of the vehicle whose motion is given; its first one if left out."""
    cabin_seat: Point
    """The driver's seat on the table, in P from C: that point makes the motion."""
    speed: Annotated[Velocity, Field(ge=0.0, le=80.0)]
    """At the start."""
    duration: Annotated[Time, Field(ge=0.1, le=86_400.0)]
    road: Road = FlatRoad()
    driver: ScriptedDriver = Cruise()
    cueing: Cueing

    _found = field_validator("vehicle")(vehicle_file)

    @field_validator("driver")
    @classmethod
    def _moves(cls, driver: ScriptedDriver, info: ValidationInfo) -> ScriptedDriver:
        speed = info.data.get("speed", math.inf)
        if isinstance(driver, LaneChange | EmergencyStop) and not speed > 0.0:
            raise ValueError(f"{driver.kind} needs a speed above zero")
        return driver
