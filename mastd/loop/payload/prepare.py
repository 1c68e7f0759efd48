"""What a profile has simulated, made ready for the loop: slow, and done before it begins or beside it."""

from __future__ import annotations

import hashlib

import numpy as np

from mastd.control.sine.correction import NOTHING, corrected_sines
from mastd.dynamics.table_model import Carried, TableModel
from mastd.errors import UsageError
from mastd.kinematics.geometry import Geometry
from mastd.loop.measurement.frame import channel_columns, vehicle_channels
from mastd.loop.payload.external_vehicle import ExternalVehicle
from mastd.loop.payload.hils import TableVehicle
from mastd.loop.payload.loaded_profile import Driven, LoadedProfile, OnTable
from mastd.loop.payload.oils import DrivenVehicle
from mastd.loop.payload.profile_inputs import ProfileInputs
from mastd.loop.payload.rig_motion import PoseDrive, SeatDrive
from mastd.loop.payload.virtual_drive import VirtualDrive
from mastd.motion.profile.timeline import at_rest
from mastd.record.channels import Channel
from mastd.safety.profile_limits import tabulate
from mastd.settings.core.export import as_json
from mastd.settings.profile.oils import OperatorDriver
from mastd.settings.profile.profile import ProfileSettings
from mastd.settings.profile.stream import PoseStream, StreamSettings
from mastd.settings.table.identified import IdentifiedPayload, IdentifiedSettings
from mastd.settings.table.identified_file import payload_line
from mastd.settings.table.payload import ExternalPayload, VehiclePayload
from mastd.settings.table.table import TableSettings
from mastd.signals.comfort import MIN_RATE
from mastd.vehicle.payload.load import seat_of, vehicle_on_table
from mastd.vehicle.payload.rigid import as_one_body

_KEY_BYTES = 6
"""Of a digest: what a float64 holds exactly."""
WIDEST_BANDWIDTH = 0.05
"""Bandwidth of a stream of poses in units of the rate: 50 Hz at 1 kHz."""


def table_vehicle(inputs: ProfileInputs, period: float) -> OnTable | None:
    """Return the vehicle that a profile has on the table, settled, None for none.

    One that a rig simulates stands there as a rigid body until the rig is bound.

    Raises as ``mastd.vehicle.payload.load.vehicle_on_table`` does, UsageError for a seat that there is not.
    """
    payload, table = inputs.profile.payload, inputs.table
    if isinstance(payload, ExternalPayload):
        return ExternalVehicle(payload, table.gravity, period, _key(as_json(payload)))
    if not isinstance(payload, VehiclePayload):
        return None
    _refuse_slow(period)
    vehicle = vehicle_on_table(payload, table, period)
    key = _key(as_json(payload), inputs.payload_digests)
    return TableVehicle(vehicle, seat_of(vehicle.model, payload.seat), period, key)


def driven_vehicle(profile: ProfileSettings, period: float) -> Driven | None:
    """Return what makes the motion while a profile is played, ready to start, None for none: the vehicle
    whose driver is moved, or a rig's stream.

    Raises MastdError as ``VirtualDrive.of`` does, UsageError for a seat that there is not, or for a stream
    that cannot be followed in this period.
    """
    if profile.stream is not None:
        return _stream_drive(profile.stream, period)
    oils = profile.oils
    if oils is None:
        return None
    _refuse_slow(period)
    drive = VirtualDrive.of(oils, profile.seed, period)
    return DrivenVehicle(drive, period, by_hand=isinstance(oils.driver, OperatorDriver))


def _stream_drive(stream: StreamSettings, period: float) -> PoseDrive | SeatDrive:
    if not isinstance(stream, PoseStream):
        return SeatDrive(stream, period)
    widest = WIDEST_BANDWIDTH / period
    if not stream.bandwidth <= widest:
        raise UsageError(
            f"stream.bandwidth: {stream.bandwidth:g} Hz is too high for a rate of {1.0 / period:g} Hz,"
            f" at most {widest:g} Hz can"
        )
    return PoseDrive(stream, period)


def channels_of(vehicle: OnTable | None, driven: Driven | None) -> tuple[Channel, ...]:
    """Return the channels of what is simulated, which a record has beside the table's."""
    simulated = vehicle or driven
    if simulated is None or isinstance(simulated, ExternalVehicle | PoseDrive):
        return ()  # of what a rig does there is nothing but what it gives
    return vehicle_channels(simulated.wheels, driven=driven is not None)


def table_model(
    profile: ProfileSettings, table: TableSettings, identified: IdentifiedSettings | None = None
) -> TableModel:
    """Return the model of the table with what it carries, a vehicle as one rigid body.

    What was identified of this very payload replaces what the profile says.
    """
    payload = profile.payload
    found = identified.payload if identified is not None else None
    if identified is not None and found is not None and identified.nominal_payload == payload_line(payload):
        return TableModel.from_settings(table, found_body(found))
    carried = as_one_body(payload, table) if isinstance(payload, VehiclePayload) else payload
    return TableModel.from_settings(table, carried)


def found_body(payload: IdentifiedPayload) -> Carried:
    """Return the rigid body that was identified."""
    return Carried(
        payload.mass.value,
        np.array([part.value for part in payload.centre_of_gravity]),
        np.diag([part.value for part in payload.inertia]),
    )


def _refuse_slow(period: float) -> None:
    if not 1.0 / period >= MIN_RATE:
        raise UsageError(
            f"rate: {1.0 / period:g} Hz; a simulated vehicle requires at least {MIN_RATE:g} Hz so that the "
            "seat's acceleration can be frequency-weighted"
        )


def _key(payload: object, files: str = "") -> int:
    """Return a number that tells a payload's settings and the digests of its files from others, above 0."""
    return 1 + int.from_bytes(hashlib.sha256(f"{payload}{files}".encode()).digest()[:_KEY_BYTES], "little")


def ready_profile(
    inputs: ProfileInputs,
    period: float,
    level_limit: float,
    *,
    slot: int = -1,
    identified: IdentifiedSettings | None = None,
) -> LoadedProfile:
    """Return a checked profile as the loop takes it over; ``level_limit``: what the check has proved;
    ``identified``: what was found out about table and payload.

    Raises SettingsError, FormatError, KinematicsError for a motion that cannot be made, and what the vehicles
    raise.
    """
    profile, table, motion = inputs.profile, inputs.table, inputs.motion
    vehicle = table_vehicle(inputs, period)
    driven = driven_vehicle(profile, period)
    timeline = at_rest() if motion is None else motion.timeline()
    sines = NOTHING
    if motion is not None:
        sines = corrected_sines(profile, motion, timeline, Geometry.from_settings(table))
    return LoadedProfile(
        1,
        slot,
        profile.name,
        timeline,
        level_limit,
        table_model(profile, table, identified).values,
        tabulate(profile.limits, channel_columns(table)),
        vehicle.key if vehicle is not None else 0,
        vehicle,
        driven is not None,
        driven,
        None if motion is None else motion.band,
        sines,
        profile.all_rigs(),
    )
