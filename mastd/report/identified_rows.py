"""What identify has found beside what the settings say: rows for terminal and page, and the JSON document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mastd.settings.table.identified import IdentifiedSettings
from mastd.settings.table.payload import NoPayload, RigidPayload
from mastd.settings.table.table import TableSettings

_ACTUATOR_QUANTITIES = (
    ("valve_gain", "valve gain", 1.0, ""),
    ("valve_delay", "valve delay", 1e3, "ms"),
    ("valve_overlap", "valve overlap", 1e2, "%"),
    ("bulk_modulus", "bulk modulus", 1e-9, "GPa"),
    ("coulomb", "Coulomb friction", 1.0, "N"),
    ("viscous", "viscous friction", 1e-3, "kN s/m"),
)
"""Key, words, factor to the unit, unit."""


@dataclass(frozen=True)
class Row:
    """One value: what it is, of what, nominal (None where there is none), found, and its uncertainty."""

    quantity: str
    of: str
    nominal: float | None
    found: float
    uncertainty: float
    unit: str

    def texts(self) -> tuple[str, str, str, str, str]:
        """Return quantity, object, nominal value, identified value and uncertainty as texts with units."""
        unit = f" {self.unit}" if self.unit else ""
        nominal = "–" if self.nominal is None else f"{self.nominal:.5g}{unit}"
        return (
            self.quantity,
            self.of,
            nominal,
            f"{self.found:.5g}{unit}",
            f"± {_short(self.uncertainty)}{unit}",
        )


def _short(value: float) -> str:
    """Return a number to two significant digits, without an exponent where that is short."""
    return f"{float(f'{value:.2g}'):g}"


def rows_of(
    found: IdentifiedSettings, table: TableSettings, nominal: NoPayload | RigidPayload
) -> tuple[Row, ...]:
    """Return every value in the order of the file, quantity by quantity."""
    return (*_actuator_rows(found, table), *_payload_rows(found, nominal))


def _actuator_rows(found: IdentifiedSettings, table: TableSettings) -> Iterator[Row]:
    nominal = [
        {
            "valve_gain": 1.0,
            "valve_delay": valve.delay,
            "valve_overlap": valve.overlap,
            "bulk_modulus": cylinder.bulk_modulus,
            "coulomb": cylinder.friction.coulomb,
            "viscous": cylinder.friction.viscous,
        }
        for cylinder, valve in ((type_.cylinder, type_.valve) for type_ in table.types)
    ]
    for key, text, factor, unit in _ACTUATOR_QUANTITIES:
        for number, actuator in enumerate(found.links, start=1):
            estimate = getattr(actuator, key)
            yield Row(
                text,
                f"{number} {actuator.link}",
                factor * nominal[number - 1][key],
                factor * estimate.value,
                factor * estimate.uncertainty,
                unit,
            )


def _payload_rows(found: IdentifiedSettings, nominal: NoPayload | RigidPayload) -> Iterator[Row]:
    payload = found.payload
    if payload is None:
        return
    stated = nominal if isinstance(nominal, RigidPayload) else None
    mass = None if stated is None else 1e-3 * stated.mass
    yield Row("mass", "payload", mass, 1e-3 * payload.mass.value, 1e-3 * payload.mass.uncertainty, "t")
    for k, axis in enumerate("xyz"):
        coordinate = payload.centre_of_gravity[k]
        stated_value = None if stated is None else 1e3 * stated.centre_of_gravity[k]
        yield Row(
            "centre of gravity",
            f"payload {axis}",
            stated_value,
            1e3 * coordinate.value,
            1e3 * coordinate.uncertainty,
            "mm",
        )
    for k, axis in enumerate("xyz"):
        inertia = payload.inertia[k]
        stated_value = None if stated is None else stated.inertia[k]
        yield Row("inertia", f"payload {axis}", stated_value, inertia.value, inertia.uncertainty, "kg m2")


def text_table(rows: Sequence[Row]) -> str:
    """Return the rows as a table for a terminal."""
    texts = [("", "", "nominal", "found", "uncertainty"), *(row.texts() for row in rows)]
    widths = [max(len(text[column]) for text in texts) for column in range(5)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column < 2 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(text, widths, strict=True))
        ).rstrip()
        for text in texts
    )


def document_of(found: IdentifiedSettings, table: TableSettings) -> dict[str, object]:
    """Return the found values as plain SI data."""
    return {
        "table": table.name,
        **found.model_dump(mode="json", include={"links", "payload", "made", "name"}),
    }
