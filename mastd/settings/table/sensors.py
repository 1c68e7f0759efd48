"""Settings of the table's sensors: calibration, resolution, noise, delay (``sensors`` of ``table.yaml``)."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, field_validator

from mastd.settings.core.base import Settings
from mastd.settings.core.quantity import Acceleration, Direction, Force, Length, Point, Pressure, Ratio, Time

Name = Annotated[str, Field(min_length=1, max_length=80)]


class CalibrationSettings(Settings):
    """One sensor: value = scale · reading + offset."""

    scale: float = 1.0
    serial: Name

    @field_validator("scale")
    @classmethod
    def _not_zero(cls, scale: float) -> float:
        if not (abs(scale) > 1e-6):
            raise ValueError(
                f"is {scale:g}, the sensor would have no effect; 1.0 leaves the reading unchanged"
            )
        return scale


class LengthTransducerSettings(CalibrationSettings):
    """Length transducer of an actuator."""

    offset: Length


class PressureTransducerSettings(CalibrationSettings):
    """Pressure transducer of a chamber."""

    offset: Pressure


class PressureDifferenceSettings(CalibrationSettings):
    """Transducer of the pressure in chamber 1 less that in chamber 2."""

    offset: Pressure


class LoadCellSettings(CalibrationSettings):
    """Load cell between rod and table, pushing positive."""

    offset: Force


class AccelerometerSettings(CalibrationSettings):
    """One single-axis accelerometer on the table; it measures specific force, gravity included."""

    name: Name
    position: Point
    """In P."""
    direction: Direction
    """In P."""
    offset: Acceleration


class LengthSensorSettings(Settings):
    """How the length transducers measure."""

    resolution: Length = Field(ge=0)
    noise: Length = Field(ge=0)
    """Root mean square."""
    delay: Time = Field(ge=0)
    overrange: Length = Field(gt=0)
    """How far past either end of its stroke an actuator can be read; beyond, the reading is wrong."""


class PressureSensorSettings(Settings):
    """How the pressure transducers measure."""

    resolution: Pressure = Field(ge=0)
    noise: Pressure = Field(ge=0)
    """Root mean square."""
    delay: Time = Field(ge=0)
    range: tuple[Pressure, Pressure]
    """Lowest and highest pressure that can be; a reading outside is wrong."""

    @field_validator("range")
    @classmethod
    def _ascending(cls, value: tuple[float, float]) -> tuple[float, float]:
        if not (value[0] < value[1]):
            raise ValueError("the lower end must come first")
        return value


class ForceSensorSettings(Settings):
    """How the load cells measure."""

    resolution: Force = Field(ge=0)
    noise: Force = Field(ge=0)
    """Root mean square."""
    delay: Time = Field(ge=0)
    range: tuple[Force, Force]
    """Greatest pull, negative, and push that can be; a reading outside is wrong."""

    @field_validator("range")
    @classmethod
    def _ascending(cls, value: tuple[float, float]) -> tuple[float, float]:
        if not (value[0] < value[1]):
            raise ValueError("the lower end must come first")
        return value


class SpoolSensorSettings(Settings):
    """How the spool transducers measure, 1 is fully open; of electric drives, speed over its maximum."""

    resolution: Ratio = Field(ge=0)
    noise: Ratio = Field(ge=0)
    """Root mean square."""
    delay: Time = Field(ge=0)


class AccelerationSensorSettings(Settings):
    """How the accelerometers measure."""

    resolution: Acceleration = Field(ge=0)
    noise: Acceleration = Field(ge=0)
    """Root mean square."""
    delay: Time = Field(ge=0)


class SensorSettings(Settings):
    """All sensors of the table."""

    length: LengthSensorSettings
    pressure: PressureSensorSettings | None = None
    """Needed where there is a supply or a transducer of pressures."""
    force: ForceSensorSettings | None = None
    """Needed where there are load cells."""
    spool: SpoolSensorSettings
    acceleration: AccelerationSensorSettings
    accelerometers: tuple[AccelerometerSettings, ...]
