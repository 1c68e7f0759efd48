"""The oil of one actuator: what came through the valve moved the piston, compressed, or leaked across it.

A chamber of volume V at pressure p holds V (1 + p/β) of oil, so that between two instants

    Δ(V₁ (1 + p₁/β)) = g ∫ Q₁ dt − L ∫ (p₁ − p₂) dt,
    Δ(V₂ (1 + p₂/β)) = g ∫ Q₂ dt + L ∫ (p₁ − p₂) dt

(Merritt 1967, continuity of a chamber) with the flow Q of the nominal valve at the measured opening and
pressures, orifice by orifice: Q = G w/√(1 + (s w)²) √Δp, w the opening less the overlap. Linear in g, 1/β and
L; the overlap and the spool's zero enter by their derivatives, repeated until they stand still.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
from scipy import signal
from scipy.interpolate import CubicSpline

from mastd.arrays import FloatArray
from mastd.control.identification.regression import Fit, least_squares
from mastd.index_table import Entry, index_table
from mastd.settings.table.hydraulics import ActuatorSettings, ValveSettings

BAND = (0.7, 40.0)
"""Hz in which the balance is looked at: below, the spool's noise adds up; above, the transducers'."""
BLOCK_TIME = 1.0
_MAX_ROUNDS = 8
_STANDS_STILL = 1e-6
"""Step of the overlap, of the full opening, at which the rounds end."""
_MAX_OVERLAP = 0.1


class OilRow(NamedTuple):
    """Parameters of the regression; the last two stand for gain times step of overlap and zero."""

    gain: int
    softness: Annotated[int, Entry("1/Pa", "inverse of the bulk modulus")]
    leakage: Annotated[int, Entry("m3/(s Pa)", "between the chambers")]
    overlap: int
    zero: int


_OIL = index_table(OilRow)


@dataclass(frozen=True, eq=False)
class OilFit:
    """One actuator, each value with its standard deviation."""

    gain: tuple[float, float]
    """Over that of the nominal valve."""
    overlap: tuple[float, float]
    bulk_modulus: tuple[float, float]
    """Pa."""
    leakage: tuple[float, float]
    """m³/(s Pa)."""
    zero: tuple[float, float]
    """Reading of the spool at which the valve is closed."""
    residual: float
    """Effective value of the oil unaccounted for, as travel of the piston in m."""


def fit_oil(
    extension: FloatArray,
    pressures: FloatArray,
    spool: FloatArray,
    supply: FloatArray,
    stroke: float,
    actuator: ActuatorSettings,
    valve: ValveSettings,
    period: float,
) -> OilFit:
    """Fit the oil equation of one actuator.

    ``extension`` (k,) from mid-stroke in m, ``pressures`` (k, 2) and ``supply`` (k, 2: supply, return) in Pa,
    ``spool`` (k,). Raises ValueError if the motion does not determine it.
    """
    column = stroke + actuator.dead_length
    areas = np.array(actuator.piston_areas)
    volumes = areas * np.stack((column + extension, column - extension), axis=1)
    chambers = slice(1) if actuator.single_acting else slice(2)
    leaked = _integral(pressures[:, 0] - pressures[:, 1], period)
    orifices = _orifices(pressures, supply)
    keep = _interior(len(spool), period)
    target = _banded(volumes, period)[keep, chambers] / areas[chambers]
    overlap, zero = valve.overlap, 0.0
    fit = None
    for _ in range(_MAX_ROUNDS):
        flow, slope = _flow(spool, overlap, zero, orifices, valve)
        design = np.stack(
            (
                _integral(flow, period),
                -volumes * pressures,
                np.stack((-leaked, leaked), axis=1),
                _integral(-slope * np.sign(spool - zero)[:, None], period),
                _integral(-slope, period),
            ),
            axis=2,
        )
        design = _banded(design, period)[keep, chambers] / areas[chambers, None]
        fit = least_squares(design, target, round(BLOCK_TIME / period))
        steps = fit.values[[_OIL.overlap, _OIL.zero]] / fit.values[_OIL.gain]
        overlap = min(max(overlap + steps[0], 0.0), _MAX_OVERLAP)
        zero = min(max(zero + steps[1], -_MAX_OVERLAP), _MAX_OVERLAP)
        if np.all(np.abs(steps) < _STANDS_STILL):
            break
    assert fit is not None
    return _result(fit, overlap, zero)


def _result(fit: Fit, overlap: float, zero: float) -> OilFit:
    gain, softness = float(fit.values[_OIL.gain]), float(fit.values[_OIL.softness])
    if not (gain > 0.0 and softness > 0.0):
        raise ValueError("negative valve gain or bulk modulus: sign error of spool or pressures")
    deviations = fit.deviations
    return OilFit(
        (gain, float(deviations[_OIL.gain])),
        (overlap, float(deviations[_OIL.overlap]) / gain),
        (1.0 / softness, float(deviations[_OIL.softness]) / softness**2),
        (float(fit.values[_OIL.leakage]), float(deviations[_OIL.leakage])),
        (zero, float(deviations[_OIL.zero]) / gain),
        fit.residual,
    )


def _orifices(pressures: FloatArray, supply: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return √Δp with the sign of the flow into each chamber (k, 2), for an opening to 1 and to 2."""
    from_supply = _root(supply[:, :1] - pressures)
    to_return = _root(supply[:, 1:] - pressures)
    extending = np.stack((from_supply[:, 0], to_return[:, 1]), axis=1)
    retracting = np.stack((to_return[:, 0], from_supply[:, 1]), axis=1)
    return extending, retracting


def _root(drop: FloatArray) -> FloatArray:
    return np.asarray(np.sign(drop) * np.sqrt(np.abs(drop)))


def _flow(
    spool: FloatArray,
    overlap: float,
    zero: float,
    orifices: tuple[FloatArray, FloatArray],
    valve: ValveSettings,
) -> tuple[FloatArray, FloatArray]:
    """Return the nominal valves' flow into each chamber (k, 2) and its derivative by the opening, signed."""
    ports, bend = valve.port_gain * np.array([1.0, valve.port_ratio]), valve.bend
    opening = spool - zero
    port = np.clip(np.abs(opening) - overlap, 0.0, 1.0)
    root = np.where(opening[:, None] > 0.0, *orifices)
    factor = 1.0 / np.sqrt(1.0 + (bend * port) ** 2)
    flow = (port * factor)[:, None] * root * ports
    slope = np.where(port > 0.0, factor**3, 0.0)[:, None] * root * ports
    return flow, slope * np.sign(opening)[:, None]


def _integral(values: FloatArray, period: float) -> FloatArray:
    """Return the integral over time of rows (k, …) from the first, by a cubic spline through them."""
    times = period * np.arange(len(values))
    return np.asarray(CubicSpline(times, values, axis=0).antiderivative()(times))


def _banded(values: FloatArray, period: float) -> FloatArray:
    sections = signal.butter(2, BAND, "bandpass", fs=1.0 / period, output="sos")
    return np.asarray(signal.sosfiltfilt(sections, values - values.mean(axis=0), axis=0))


def _interior(rows: int, period: float) -> slice:
    """Return the rows that the ends of the band-pass do not reach."""
    margin = round(0.5 / BAND[0] / period)
    return slice(margin, rows - margin)
