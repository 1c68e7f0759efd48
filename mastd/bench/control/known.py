"""What is known of a table whose parameters are all known to two per cent, as in the control study."""

from __future__ import annotations

import numpy as np

from mastd.bench.control.truth import TableTruth
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
from mastd.settings.table.identified_file import payload_line
from mastd.settings.table.payload import Payload
from mastd.settings.table.table import TableSettings

ACCURACY = 0.02
"""Fraction of a value by which what is known is off, either way."""


def known_to_accuracy(
    truth: TableTruth, table: TableSettings, payload: Payload, seed: int
) -> IdentifiedSettings:
    """Return all values of ``truth``, each off by up to ACCURACY."""
    random = np.random.default_rng([seed, 11])

    def near(value: float) -> float:
        return float(value * (1.0 + ACCURACY * random.uniform(-1.0, 1.0)))

    actuators = tuple(
        IdentifiedActuator(
            link=one.link,
            valve_gain=RatioEstimate(
                value=near(one.rated_flow / type_.valve.rated_flow), uncertainty=ACCURACY
            ),
            valve_delay=TimeEstimate(value=near(one.delay), uncertainty=ACCURACY * one.delay),
            valve_overlap=ShareEstimate(value=near(one.overlap), uncertainty=ACCURACY * one.overlap),
            bulk_modulus=PressureEstimate(
                value=near(one.bulk_modulus), uncertainty=ACCURACY * one.bulk_modulus
            ),
            coulomb=ForceEstimate(value=near(one.coulomb), uncertainty=ACCURACY * one.coulomb),
            viscous=DampingEstimate(value=near(one.viscous), uncertainty=ACCURACY * one.viscous),
        )
        for one, type_ in zip(truth.actuators, table.types, strict=True)
    )
    found = None
    if truth.payload is not None:
        x, y, z = (
            LengthEstimate(value=near(coordinate), uncertainty=ACCURACY * abs(coordinate))
            for coordinate in truth.payload.centre_of_gravity
        )
        xx, yy, zz = (
            InertiaEstimate(value=near(moment), uncertainty=ACCURACY * moment)
            for moment in truth.payload.inertia
        )
        mass = truth.payload.mass
        found = IdentifiedPayload(
            mass=MassEstimate(value=near(mass), uncertainty=ACCURACY * mass),
            centre_of_gravity=(x, y, z),
            inertia=(xx, yy, zz),
        )
    return IdentifiedSettings(
        name="known to two per cent",
        made="1970-01-01T00:00:00",
        table=table.name,
        run_sha256="0" * 64,
        nominal_payload=payload_line(payload),
        links=actuators,
        payload=found,
    )
