"""What `mastd identify` has found out about a table: a dated file that the control can be told to use."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from mastd.settings.core.base import Settings
from mastd.settings.core.quantity import Damping, Force, Inertia, Length, Mass, Pressure, Ratio, Time


class RatioEstimate(Settings):
    """A ratio with the standard deviation of its estimate."""

    value: Annotated[Ratio, Field(ge=0.3, le=3)]
    uncertainty: Annotated[Ratio, Field(ge=0)]


class ShareEstimate(Settings):
    """A share that may be none, with its standard deviation."""

    value: Annotated[Ratio, Field(ge=0, le=0.1)]
    uncertainty: Annotated[Ratio, Field(ge=0)]


class TimeEstimate(Settings):
    """A time with its standard deviation."""

    value: Annotated[Time, Field(ge=0, le=0.01)]
    uncertainty: Annotated[Time, Field(ge=0)]


class PressureEstimate(Settings):
    """A bulk modulus with its standard deviation."""

    value: Annotated[Pressure, Field(ge=5e7, le=3e9)]
    uncertainty: Annotated[Pressure, Field(ge=0)]


class ForceEstimate(Settings):
    """A friction force with its standard deviation."""

    value: Annotated[Force, Field(ge=0, le=5e4)]
    uncertainty: Annotated[Force, Field(ge=0)]


class DampingEstimate(Settings):
    """A damping with its standard deviation."""

    value: Annotated[Damping, Field(ge=0, le=5e5)]
    uncertainty: Annotated[Damping, Field(ge=0)]


class MassEstimate(Settings):
    """A mass with its standard deviation."""

    value: Annotated[Mass, Field(ge=0)]
    uncertainty: Annotated[Mass, Field(ge=0)]


class LengthEstimate(Settings):
    """A length with its standard deviation."""

    value: Length
    uncertainty: Annotated[Length, Field(ge=0)]


class InertiaEstimate(Settings):
    """A moment or product of inertia with its standard deviation."""

    value: Inertia
    uncertainty: Annotated[Inertia, Field(ge=0)]


class IdentifiedActuator(Settings):
    """One actuator with its valve."""

    link: str
    """Its name in the table's settings."""
    valve_gain: RatioEstimate
    """Flow over that of the nominal valve at the same opening and pressures."""
    valve_delay: TimeEstimate
    """From the drive's command to the spool, beside the nominal lag."""
    valve_overlap: ShareEstimate
    """Opening on either side of the centre that passes nothing."""
    bulk_modulus: PressureEstimate
    coulomb: ForceEstimate
    viscous: DampingEstimate


class IdentifiedPayload(Settings):
    """What stands on the table, as a rigid body."""

    mass: MassEstimate
    centre_of_gravity: tuple[LengthEstimate, LengthEstimate, LengthEstimate]
    """In P."""
    inertia: tuple[InertiaEstimate, InertiaEstimate, InertiaEstimate]
    """About its centre of gravity, about the axes of P."""


class IdentifiedSettings(Settings):
    """The whole file."""

    name: str
    made: str
    """Date and time, ISO 8601."""
    table: str
    """Name of the table; another one is refused."""
    run_sha256: str
    """Of the record that it was made from."""
    nominal_payload: str
    """The payload that the play was made with, in one line; what was found serves no other payload."""
    links: tuple[IdentifiedActuator, ...]
    payload: IdentifiedPayload | None = None
