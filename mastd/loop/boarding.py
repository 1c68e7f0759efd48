"""What a profile has simulated, made ready for the loop: slow, and done before it begins or beside it."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

from mastd.dynamics.table_model import TableModel
from mastd.errors import UsageError
from mastd.loop.hils import TableVehicle
from mastd.settings.export import as_json
from mastd.settings.payload import NoPayload, VehiclePayload
from mastd.settings.profile import ProfileSettings
from mastd.settings.table import TableSettings
from mastd.vehicle.boarding import vehicle_on_table
from mastd.vehicle.model import Model, Seat

_KEY_BYTES = 6
"""Of a digest: what a float64 holds exactly."""


def table_vehicle(profile: ProfileSettings, table: TableSettings, period: float) -> TableVehicle | None:
    """Return the vehicle that a profile has on the table, settled, None for none.

    Raises as ``mastd.vehicle.boarding.vehicle_on_table`` does, UsageError for a seat that there is not.
    """
    payload = profile.payload
    if not isinstance(payload, VehiclePayload):
        return None
    vehicle = vehicle_on_table(payload, table, period)
    seat = seat_of(vehicle.model, payload.seat, payload.vehicle)
    return TableVehicle(vehicle, seat, period, _key(payload))


def table_model(profile: ProfileSettings, table: TableSettings) -> TableModel:
    """Return the nominal model of the table with what it carries."""
    payload = profile.payload
    return TableModel.from_settings(table, NoPayload() if isinstance(payload, VehiclePayload) else payload)


def seat_of(model: Model, name: str | None, file: str) -> Seat:
    """Return a seat by its name, or the first one; a vehicle without any sits in the chassis' centre of mass.

    Raises UsageError, with the seats that there are.
    """
    if name is None:
        return model.seats[0] if model.seats else Seat("chassis", np.zeros(3))
    for seat in model.seats:
        if seat.name == name:
            return seat
    known = ", ".join(seat.name for seat in model.seats) or "none"
    raise UsageError(f"{file}: it has no seat {name!r}; its seats are: {known}")


def _key(payload: VehiclePayload) -> int:
    """Return a number that tells this payload from others, above 0."""
    text = f"{as_json(payload)}{Path(payload.vehicle).read_text(encoding='utf-8')}"
    return 1 + int.from_bytes(hashlib.sha256(text.encode()).digest()[:_KEY_BYTES], "little")
