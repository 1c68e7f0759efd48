"""A vehicle put on the table, as a profile's payload says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mastd.errors import GroundError, MastdError, UsageError
from mastd.settings.table.payload import VehiclePayload
from mastd.settings.table.table import TableSettings
from mastd.vehicle.equilibrium.settle import EquilibriumError
from mastd.vehicle.model import library
from mastd.vehicle.model.definition import Model, Seat
from mastd.vehicle.payload.on_table import VehicleOnTable
from mastd.vehicle.solver.choice import Solver


def vehicle_on_table(payload: VehiclePayload, table: TableSettings, step: float) -> VehicleOnTable:
    """Return the payload's vehicle, settled on the table under the table's gravity.

    ``step``: period of the loop, s. Raises SettingsError with every problem of the vehicle's file,
    GroundError with each wheel that stands beside the table, EquilibriumError for a vehicle that falls over,
    UsageError for a seat or restraints that there are not, or that are too stiff for the step; each with the
    vehicle's file.
    """
    model = model_on_table(payload, table)
    position = position_on_table(payload, table, model)
    length, width, _ = table.body.size
    _refuse_beside(payload, table, model, position)
    half = (0.5 * length, 0.5 * width)
    held = restrained(payload, model)
    try:
        seat_of(model, payload.seat)  # so that a check, too, refuses one that there is not
        solver = Solver(payload.solver, payload.integrator, payload.jacobian)
        return VehicleOnTable(model, step, position, half, restrained=held, solver=solver)
    except (GroundError, EquilibriumError, UsageError) as error:
        raise _of_file(payload, error) from error


def restrained(payload: VehiclePayload, model: Model) -> bool:
    """Return whether tie-downs and chocks are on; raise UsageError where they are asked for and none are."""
    there = bool(model.tie_downs or model.chocks)
    if payload.restrained and not there:
        raise UsageError(
            f"{payload.vehicle}: payload.restrained: it has neither tie_downs nor chocks; add some to its "
            "file, or leave restrained out"
        )
    return there if payload.restrained is None else payload.restrained


def seat_of(model: Model, name: str | None) -> Seat:
    """Return a seat by its name, or the first one; a vehicle without any sits in the chassis' centre of mass.

    Raises UsageError as ``Model.seat`` does.
    """
    if name is not None:
        return model.seat(name)
    return model.seats[0] if model.seats else Seat("chassis", np.zeros(3))


def model_on_table(payload: VehiclePayload, table: TableSettings) -> Model:
    """Return the payload's vehicle under the table's gravity; raise SettingsError with all problems of its
    file."""
    return replace(library.find(payload.vehicle), gravity=table.gravity)


def position_on_table(
    payload: VehiclePayload, table: TableSettings, model: Model
) -> tuple[float, float, float]:
    """Return where the origin of the vehicle's axes stands, in P, m.

    Without a position the middle of what the wheels span stands in the middle of the table.
    """
    if payload.position is not None:
        return (*payload.position, table.body.top_height)
    centres = np.array([wheel.centre for wheel in model.wheels])
    middle = 0.5 * (np.min(centres, axis=0) + np.max(centres, axis=0))
    return (-float(middle[0]), -float(middle[1]), table.body.top_height)


def _refuse_beside(
    payload: VehiclePayload, table: TableSettings, model: Model, position: tuple[float, float, float]
) -> None:
    """Raise GroundError, one line for each wheel whose middle is beside the table."""
    half = 0.5 * np.array(table.body.size[:2])
    sides = (("before", "behind"), ("left of", "right of"))
    lines = []
    for wheel in model.wheels:
        at = wheel.centre[:2] + position[:2]
        beside = [
            f"{1e3 * (abs(at[axis]) - half[axis]):.0f} mm {sides[axis][0 if at[axis] > 0.0 else 1]} it"
            for axis in range(2)
            if not abs(at[axis]) <= half[axis]
        ]
        if beside:
            lines.append(f"{wheel.name} is {' and '.join(beside)}")
    if lines:
        size = f"{2e3 * half[0]:.0f} mm x {2e3 * half[1]:.0f} mm"
        raise GroundError(
            "\n".join(
                f"{payload.vehicle}: wheel off the table ({table.name}, {size}): {line}; "
                "change position in the profile's payload, or take a shorter or narrower vehicle"
                for line in lines
            )
        )


def _of_file(payload: VehiclePayload, error: MastdError) -> MastdError:
    """Return the same error with the vehicle's file before each line."""
    return type(error)("\n".join(f"{payload.vehicle}: {line}" for line in str(error).splitlines()))
