"""What stands on the table: nothing, a rigid body, or a vehicle that is simulated, here or by a rig."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from mastd.errors import UsageError
from mastd.settings.core.base import Settings, beside, refuse
from mastd.settings.core.quantity import Inertia, Length, Mass, Point
from mastd.settings.core.starter import find
from mastd.settings.rigs.name import RigName
from mastd.settings.vehicle.solver_names import Formulation, Integrator, JacobianPolicy, misfit


class NoPayload(Settings):
    """Nothing stands on the table."""

    kind: Literal["none"] = "none"


class RigidPayload(Settings):
    """A rigid body bolted to the table."""

    kind: Literal["rigid"]
    mass: Annotated[Mass, Field(gt=0.0)]
    centre_of_gravity: Point
    """Centre of gravity in table axes P, from C."""
    inertia: tuple[
        Annotated[Inertia, Field(gt=0.0)],
        Annotated[Inertia, Field(gt=0.0)],
        Annotated[Inertia, Field(gt=0.0)],
    ]
    """Principal moments of inertia about its own centre of gravity, along the table's axes."""

    @field_validator("inertia")
    @classmethod
    def _is_a_body(cls, inertia: tuple[float, float, float]) -> tuple[float, float, float]:
        for k in range(3):
            if not inertia[k] <= inertia[k - 1] + inertia[k - 2]:
                refuse(
                    [((k,), "more than the sum of the other two, physically impossible moments of inertia")]
                )
        return inertia


class ExternalPayload(RigidPayload):
    """A vehicle that a rig simulates on the measured table: it gives the wrench on the table.

    The rigid body is what the check and the control count on, and what stands in for the vehicle while its
    rig has not joined or is lost. A simulated plant feels the wrench; a real one carries the vehicle itself.
    """

    kind: Literal["rig"]  # type: ignore[assignment]  # the tag that tells it from a body that is only rigid
    rig: RigName


def vehicle_file(name: str, info: ValidationInfo) -> str:
    """Return the path of a vehicle: a starter's name, or a file from the directory of the settings' own.

    Raises ValueError where there is neither.
    """
    if Path(name).suffix in {".yaml", ".yml"} or len(Path(name).parts) > 1:
        return beside(name, info)
    try:
        return str(find("vehicle", name))
    except UsageError as error:
        raise ValueError(str(error)) from error


class VehiclePayload(Settings):
    """A vehicle that is simulated on the measured table (hardware in the loop).

    It stands with its brakes on. A simulated plant feels its forces; a real one carries the vehicle itself.
    """

    kind: Literal["vehicle"]
    vehicle: Annotated[str, Field(min_length=1)]
    """Name of a starter vehicle, or a vehicle file; a relative path starts at the profile's own folder."""
    position: tuple[Length, Length] | None = None
    """Where the origin of the vehicle's axes stands on the table's top, along x and y from its middle; if
    left out, the middle between its foremost and its hindmost wheels stands in the middle of the table."""
    restrained: bool | None = None
    """Whether its tie-downs and chocks are on; if left out, those that its file has."""
    seat: Annotated[str, Field(min_length=1)] | None = None
    """Seat of the vehicle whose vibration is recorded and weighted; its first one if left out."""

    solver: Formulation = "chassis"
    """How its equations are solved; all ways make the same motion, at different costs: see the theory."""
    integrator: Integrator | None = None
    """Formula in time of a solver that has a choice; its usual one if left out."""
    jacobian: JacobianPolicy | None = None
    """Which columns of its matrix implicit Euler makes anew in a step; if left out, all of them, and one
    after the other with `partial-jacobian`. To renew only a part is covered by KR patent 10-1310276."""

    _found = field_validator("vehicle")(vehicle_file)

    @model_validator(mode="after")
    def _goes_together(self) -> VehiclePayload:
        found = misfit(self.solver, self.integrator, self.jacobian)
        if found is not None:
            refuse([((found[0],), found[1])])
        return self


Payload = Annotated[NoPayload | RigidPayload | VehiclePayload | ExternalPayload, Field(discriminator="kind")]
SIMULATED: Final = ("vehicle", "rig")
"""Kinds of payload that are simulated: a plant that is simulated itself does not carry them, it feels their
wrench."""
