"""What `mastd identify` finds out about a hidden truth, and how near it comes."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from mastd.bench.control.figures import Figures
from mastd.bench.control.plays import Played
from mastd.bench.control.truth import TableTruth
from mastd.control.identification.findings import find
from mastd.control.identification.measurement import Measurement
from mastd.control.identification.settings import settings_of
from mastd.settings.table.identified import IdentifiedSettings
from mastd.settings.table.identified_file import payload_line
from mastd.settings.table.payload import Payload
from mastd.settings.table.table import TableSettings

ERRORS = (
    "valve_gain_error",
    "valve_delay_error_s",
    "valve_overlap_error",
    "bulk_modulus_error",
    "coulomb_error",
    "mass_error",
    "centre_of_gravity_error_m",
)
"""Largest error of all actuators, as a share of the true value, but for delays (s) and overlaps (share of the
opening); then that of the payload."""


def measurement_of(played: Played, table: TableSettings) -> Measurement:
    """Return what was measured and commanded; in lockstep no period is missing."""
    actuators, sensors = len(table.links), table.sensors.accelerometers
    chambers = played.channels("pressure_1.1", 2 * actuators).reshape(-1, actuators, 2)
    transducers = [
        [(one.scale, one.offset) for one in actuator.pressure_transducers or ()] for actuator in table.links
    ]
    scale, offset = np.moveaxis(np.array(transducers), 2, 0)
    return Measurement(
        period=1.0 / played.rate,
        lengths=played.channels("length.1", actuators),
        pressures=scale * chambers + offset,
        spools=played.channels("spool.1", actuators),
        supply=np.repeat(played.channels("supply.supply_pressure", 2)[:, None], actuators, axis=1),
        accelerometers=played.channels("accelerometer.1", len(sensors)) * [one.scale for one in sensors]
        + [one.offset for one in sensors],
        pose=played.channels("pose.surge", 6),
        length_commands=played.channels("command.length.1", actuators),
        rate_commands=played.channels("command.rate.1", actuators),
        acceleration_commands=played.channels("command.acceleration.1", actuators),
        force_commands=played.channels("command.force.1", actuators),
        trims=played.channels("command.trim.1", actuators),
    )


def identify(played: Played, table: TableSettings, payload: Payload) -> IdentifiedSettings:
    """Return what a play tells; raise ValueError where it does not."""
    found = find(measurement_of(played, table), table)
    return settings_of(
        found, "bench", "1970-01-01T00:00:00+0000", table.name, "0" * 64, payload_line(payload)
    )


def errors(found: IdentifiedSettings, truth: TableTruth, table: TableSettings) -> Figures:
    """Return ERRORS of what was found."""

    def largest(values: Iterable[float]) -> float:
        return max(abs(value) for value in values)

    actuators = list(zip(found.links, truth.actuators, strict=True))
    flows = [type_.valve.rated_flow for type_ in table.types]
    figures = {
        "valve_gain_error": largest(
            own.valve_gain.value * flow / true.rated_flow - 1.0
            for flow, (own, true) in zip(flows, actuators, strict=True)
        ),
        "valve_delay_error_s": largest(own.valve_delay.value - true.delay for own, true in actuators),
        "valve_overlap_error": largest(own.valve_overlap.value - true.overlap for own, true in actuators),
        "bulk_modulus_error": largest(
            own.bulk_modulus.value / true.bulk_modulus - 1.0 for own, true in actuators
        ),
        "coulomb_error": largest(own.coulomb.value / true.coulomb - 1.0 for own, true in actuators),
    }
    if found.payload is None or truth.payload is None:
        return figures
    return {
        **figures,
        "mass_error": abs(found.payload.mass.value / truth.payload.mass - 1.0),
        "centre_of_gravity_error_m": largest(
            own.value - true
            for own, true in zip(
                found.payload.centre_of_gravity, truth.payload.centre_of_gravity, strict=True
            )
        ),
    }
