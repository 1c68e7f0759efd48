"""What identify has found, as the text of its file; and how a payload is named in one line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Final, Protocol

from mastd.settings.table.identified import IdentifiedActuator, IdentifiedPayload, IdentifiedSettings
from mastd.settings.table.payload import ExternalPayload, NoPayload, RigidPayload, VehiclePayload

_UNITS: Final = {
    "valve_gain": (1.0, ""),
    "valve_delay": (1e3, " ms"),
    "valve_overlap": (1e2, " %"),
    "bulk_modulus": (1e-9, " GPa"),
    "coulomb": (1.0, " N"),
    "viscous": (1.0, " N s/m"),
    "mass": (1.0, " kg"),
    "centre_of_gravity": (1e3, " mm"),
    "inertia": (1.0, " kg m2"),
}
"""Factor to the unit of each key's values, and the unit."""


class _Estimate(Protocol):
    @property
    def value(self) -> float: ...

    @property
    def uncertainty(self) -> float: ...


def payload_line(payload: NoPayload | RigidPayload | VehiclePayload) -> str:
    """Return a payload in one line that no other payload has, for ``IdentifiedSettings.nominal_payload``."""
    if isinstance(payload, NoPayload):
        return "none"
    if isinstance(payload, VehiclePayload):
        return f"vehicle {payload.vehicle}"
    centre = ", ".join(f"{value!r}" for value in payload.centre_of_gravity)
    inertia = ", ".join(f"{value!r}" for value in payload.inertia)
    sort = f"rig {payload.rig}" if isinstance(payload, ExternalPayload) else "rigid"
    return f"{sort}, {payload.mass!r} kg at [{centre}] m, inertia [{inertia}] kg m2"


def identified_text(found: IdentifiedSettings) -> str:
    """Return the file's text; loading it gives the same values back, to seven digits."""
    return "\n".join(_lines(found)) + "\n"


def _lines(found: IdentifiedSettings) -> Iterator[str]:
    yield "# Made by mastd identify; config/daemon, control: identified names the file in use."
    for key in ("name", "made", "table", "run_sha256", "nominal_payload"):
        yield f"{key}: {json.dumps(getattr(found, key))}"
    yield "links:"
    for actuator in found.links:
        yield from _actuator_lines(actuator)
    if found.payload is not None:
        yield from _payload_lines(found.payload)


def _actuator_lines(actuator: IdentifiedActuator) -> Iterator[str]:
    yield f"  - link: {json.dumps(actuator.link)}"
    for key in ("valve_gain", "valve_delay", "valve_overlap", "bulk_modulus", "coulomb", "viscous"):
        yield f"    {key}: {_estimate(getattr(actuator, key), key)}"


def _payload_lines(payload: IdentifiedPayload) -> Iterator[str]:
    yield "payload:"
    yield f"  mass: {_estimate(payload.mass, 'mass')}"
    yield from _three("centre_of_gravity", payload.centre_of_gravity)
    yield from _three("inertia", payload.inertia)


def _three(key: str, estimates: Iterable[_Estimate]) -> Iterator[str]:
    yield f"  {key}:"
    for estimate in estimates:
        yield f"    - {_estimate(estimate, key)}"


def _estimate(estimate: _Estimate, key: str) -> str:
    factor, unit = _UNITS[key]
    value, uncertainty = factor * estimate.value, factor * estimate.uncertainty
    return f"{{value: {value:.7g}{unit}, uncertainty: {float(f'{uncertainty:.3g}'):g}{unit}}}"
