"""Findings as the settings that the control reads."""

from __future__ import annotations

from mastd.control.identification.findings import Findings, LinkFindings
from mastd.control.identification.payload import PayloadFit
from mastd.settings.table.identified import (
    DampingEstimate,
    ForceEstimate,
    IdentifiedLink,
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
        links=tuple(_link(link) for link in found.links),
        payload=None if found.payload is None else _payload(found.payload),
    )


def _link(link: LinkFindings) -> IdentifiedLink:
    delay, overlap, coulomb, viscous = (
        (max(value, 0.0), deviation)
        for value, deviation in (link.delay, link.overlap, link.coulomb, link.viscous)
    )
    return IdentifiedLink(
        link=link.name,
        valve_gain=RatioEstimate(value=link.gain[0], uncertainty=link.gain[1]),
        valve_delay=TimeEstimate(value=delay[0], uncertainty=delay[1]),
        valve_overlap=ShareEstimate(value=overlap[0], uncertainty=overlap[1]),
        bulk_modulus=PressureEstimate(value=link.bulk_modulus[0], uncertainty=link.bulk_modulus[1]),
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
