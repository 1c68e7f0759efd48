"""Findings of a run about each actuator and the body of a table, each with its standard deviation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from mastd.control.identification.body import CORNER, BodyFit, fit_body
from mastd.control.identification.drive_law import ticks_of, valve_commands
from mastd.control.identification.measurement import Measurement, aligned
from mastd.control.identification.oil import OilFit, fit_oil
from mastd.control.identification.payload import PayloadFit, payload_of
from mastd.control.identification.valve_lag import LagFit, fit_lag
from mastd.dynamics.table_model import TableModel
from mastd.kinematics.geometry import Geometry
from mastd.settings.table.payload import NoPayload
from mastd.settings.table.table import TableSettings

GAIN_MODEL: Final = 1e-3
"""Of the gain: the square-root law of an orifice ends at small pressure drops."""
OVERLAP_MODEL: Final = 3e-5
BULK_MODULUS_MODEL: Final = 3e-3
"""Relative: transducers that are read 0.1 ms apart see the compression at another time than the flow."""
DELAY_MODEL: Final = 1e-5
"""s within which the drive's readings between two recorded ones are known."""
COULOMB_MODEL: Final = 5e-3
"""Relative: the shape of friction at reversal is the nominal one."""
VISCOUS_MODEL: Final = 0.02
"""Relative: part of the shape of friction at low speed can pass for viscous."""
BODY_MODEL: Final = 2e-4
"""Of the whole body's mass, and of its inertia and moment of like size."""
MIN_PAYLOAD: Final = 5e-3
"""Of the table's mass; a payload below that is none."""
_MAX_BODY_RESIDUAL: Final = 5.0
"""Times what the pressures' noise alone leaves."""
_MAX_OIL_RESIDUAL: Final = 50e-6
"""Oil that may be unaccounted for, as travel of the piston in m."""


@dataclass(frozen=True, eq=False)
class ActuatorFindings:
    """What one actuator is, each as value and standard deviation."""

    name: str
    gain: tuple[float, float]
    delay: tuple[float, float]
    overlap: tuple[float, float]
    bulk_modulus: tuple[float, float]
    coulomb: tuple[float, float]
    viscous: tuple[float, float]
    oil: OilFit
    lag: LagFit


@dataclass(frozen=True, eq=False)
class Findings:
    """What was found; ``payload`` is None where nothing is on the table."""

    actuators: tuple[ActuatorFindings, ...]
    body: BodyFit
    payload: PayloadFit | None
    notes: tuple[str, ...]
    """What makes them doubtful, in words."""


def not_identified(table: TableSettings) -> str:
    """Return why the actuators of ``table`` cannot be identified, empty where they can."""
    for index, (link, kind) in enumerate(zip(table.links, table.feedback, strict=True)):
        if kind != "chamber_pressures":
            return (
                f"actuator {index + 1}, {link.name}: valve, oil and friction are found from both chamber "
                f"pressures, and its feedback is {kind}"
            )
    return ""


def find(measured: Measurement, table: TableSettings) -> Findings:
    """Return the findings of a run. ValueError, with the actuator's name, for what it does not determine."""
    if refusal := not_identified(table):
        raise ValueError(refusal)
    geometry = Geometry.from_settings(table)
    at_once = aligned(measured, table.sensors)
    body = fit_body(at_once, table, geometry)
    commands = valve_commands(measured, table)
    ticks = ticks_of(table, measured.period)
    actuators = []
    for index, (actuator, type_) in enumerate(zip(table.links, table.types, strict=True)):
        try:
            oil = fit_oil(
                at_once.lengths[:, index] - actuator.neutral_length,
                at_once.pressures[:, index],
                at_once.spools[:, index],
                at_once.supply[:, index],
                actuator.stroke,
                type_.cylinder,
                type_.valve,
                measured.period,
            )
            lag = fit_lag(commands[:, index], at_once.spools[:, index], type_.valve, ticks, measured.period)
        except ValueError as error:
            raise ValueError(f"actuator {index + 1}, {actuator.name}: {error}") from error
        actuators.append(_actuator(actuator.name, oil, lag, body, index))
    return Findings(
        tuple(actuators), body, _payload(body, table), _notes(tuple(actuators), body, table, measured)
    )


def _actuator(name: str, oil: OilFit, lag: LagFit, body: BodyFit, index: int) -> ActuatorFindings:
    coulomb, viscous = float(body.coulomb[index]), float(body.viscous[index])
    return ActuatorFindings(
        name,
        _with_model(oil.gain, GAIN_MODEL * oil.gain[0]),
        _with_model(lag.delay, DELAY_MODEL),
        _with_model(oil.overlap, OVERLAP_MODEL),
        _with_model(oil.bulk_modulus, BULK_MODULUS_MODEL * oil.bulk_modulus[0]),
        _with_model((coulomb, float(body.coulomb_deviation[index])), COULOMB_MODEL * coulomb),
        _with_model((viscous, float(body.viscous_deviation[index])), VISCOUS_MODEL * viscous),
        oil,
        lag,
    )


def _with_model(value: tuple[float, float], model: float) -> tuple[float, float]:
    """Return value and deviation with what the model leaves out beside what the residuals show."""
    return value[0], float(np.hypot(value[1], model))


def _payload(body: BodyFit, table: TableSettings) -> PayloadFit | None:
    own = TableModel.from_settings(table, NoPayload()).values
    mass, moment, inertia = body.body[0], np.abs(body.body[1:4]), np.abs(body.body[4:7])
    size = np.array([mass, *[np.max(moment)] * 3, *inertia, *[np.min(inertia)] * 3])
    covariance = body.body_covariance + np.diag((BODY_MODEL * size) ** 2)
    standing = mass - own[0]
    if not standing > max(MIN_PAYLOAD * table.body.mass, 3.0 * np.sqrt(covariance[0, 0])):
        return None
    return payload_of(body.body, covariance, own)


def _notes(
    actuators: tuple[ActuatorFindings, ...], body: BodyFit, table: TableSettings, measured: Measurement
) -> tuple[str, ...]:
    notes = []
    area = max(math.hypot(*type_.cylinder.piston_areas) for type_ in table.types)
    # Of white noise the low-pass passes the ratio of its corner to the band of the samples.
    pressure = table.sensors.pressure
    noise = (pressure.noise if pressure is not None else 0.0) * area * np.sqrt(2.0 * CORNER * measured.period)
    if body.residual > _MAX_BODY_RESIDUAL * max(float(noise), 20.0):
        notes.append(
            f"{body.residual / 1e3:.2g} kN residual per actuator, expected from noise"
            f" {noise / 1e3:.2g} kN:"
            " the payload does not move as one rigid body, or a pressure or an acceleration"
            " is read wrong"
        )
    notes += [
        f"{actuator.name}: oil volume residual of {actuator.oil.residual * 1e6:.0f} um of travel: wrong"
        " reading of a pressure, the spool or the length, or air in the oil"
        for actuator in actuators
        if actuator.oil.residual > _MAX_OIL_RESIDUAL
    ]
    return tuple(notes)
