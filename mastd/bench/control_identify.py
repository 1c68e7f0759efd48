"""What `mastd identify` finds out about a hidden truth, and how near it comes."""

from __future__ import annotations

from collections.abc import Iterable

from mastd.bench.control_figures import Figures
from mastd.bench.control_plays import Played
from mastd.bench.control_truth import TableTruth
from mastd.control.identification.findings import find
from mastd.control.identification.settings import settings_of
from mastd.record.identification import measurement
from mastd.settings.identified import IdentifiedSettings
from mastd.settings.identified_file import payload_line
from mastd.settings.payload import Payload
from mastd.settings.table import TableSettings

ERRORS = (
    "valve_gain_error",
    "valve_delay_error_s",
    "valve_overlap_error",
    "bulk_modulus_error",
    "coulomb_error",
    "mass_error",
    "centre_of_gravity_error_m",
)
"""Largest error of all links, as a share of the true value, but for delays (s) and overlaps (share of the
opening); then that of the payload."""


def identify(played: Played, table: TableSettings, payload: Payload) -> IdentifiedSettings:
    """Return what a play tells; raise FormatError or ValueError where it does not."""
    found = find(measurement(played.as_record(), table), table)
    return settings_of(
        found, "bench", "1970-01-01T00:00:00+0000", table.name, "0" * 64, payload_line(payload)
    )


def errors(found: IdentifiedSettings, truth: TableTruth, table: TableSettings) -> Figures:
    """Return ERRORS of what was found."""

    def largest(values: Iterable[float]) -> float:
        return max(abs(value) for value in values)

    links = list(zip(found.links, truth.actuators, strict=True))
    flow = table.valve.rated_flow
    figures = {
        "valve_gain_error": largest(
            own.valve_gain.value * flow / true.rated_flow - 1.0 for own, true in links
        ),
        "valve_delay_error_s": largest(own.valve_delay.value - true.delay for own, true in links),
        "valve_overlap_error": largest(own.valve_overlap.value - true.overlap for own, true in links),
        "bulk_modulus_error": largest(
            own.bulk_modulus.value / true.bulk_modulus - 1.0 for own, true in links
        ),
        "coulomb_error": largest(own.coulomb.value / true.coulomb - 1.0 for own, true in links),
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
