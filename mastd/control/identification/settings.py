"""Findings as the settings that the control reads."""

from __future__ import annotations

from mastd.control.identification.findings import ActuatorFindings, Findings
from mastd.control.identification.payload import PayloadFit
from mastd.settings.table.identified import (
    DampingEstimate,
    ForceEstimate,
    IdentifiedActuator,
    IdentifiedPayload,
    IdentifiedSettings,
    InertiaEstimate,
    LengthEstimate,
    MassEstimate,
    PressureEstimate,
    RatioEstimate,
    ShareEstimate,
    TimeEstimate,
)


def settings_of(
    found: Findings, name: str, made: str, table: str, run_sha256: str, nominal_payload: str
) -> IdentifiedSettings:
    """Return the settings of the file; the texts are those of its head.

    What cannot be below zero and comes out so within its uncertainty is zero.
    """
    return IdentifiedSettings(
        name=name,
        made=made,
        table=table,
        run_sha256=run_sha256,
        nominal_payload=nominal_payload,
        links=tuple(_actuator(actuator) for actuator in found.actuators),
        payload=None if found.payload is None else _payload(found.payload),
    )


def _actuator(actuator: ActuatorFindings) -> IdentifiedActuator:
    delay, overlap, coulomb, viscous = (
        (max(value, 0.0), deviation)
        for value, deviation in (actuator.delay, actuator.overlap, actuator.coulomb, actuator.viscous)
    )
    return IdentifiedActuator(
        link=actuator.name,
        valve_gain=RatioEstimate(value=actuator.gain[0], uncertainty=actuator.gain[1]),
        valve_delay=TimeEstimate(value=delay[0], uncertainty=delay[1]),
        valve_overlap=ShareEstimate(value=overlap[0], uncertainty=overlap[1]),
        bulk_modulus=PressureEstimate(value=actuator.bulk_modulus[0], uncertainty=actuator.bulk_modulus[1]),
        coulomb=ForceEstimate(value=coulomb[0], uncertainty=coulomb[1]),
        viscous=DampingEstimate(value=viscous[0], uncertainty=viscous[1]),
    )


def _payload(payload: PayloadFit) -> IdentifiedPayload:
    x, y, z = (
        LengthEstimate(value=float(value), uncertainty=float(deviation))
        for value, deviation in zip(payload.centre, payload.centre_deviation, strict=True)
    )
    xx, yy, zz = (
        InertiaEstimate(value=float(value), uncertainty=float(deviation))
        for value, deviation in zip(payload.inertia, payload.inertia_deviation, strict=True)
    )
    return IdentifiedPayload(
        mass=MassEstimate(value=payload.mass, uncertainty=payload.mass_deviation),
        centre_of_gravity=(x, y, z),
        inertia=(xx, yy, zz),
    )
