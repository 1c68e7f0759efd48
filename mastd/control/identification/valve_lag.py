"""The lag of a valve: by how much later than a nominal one without delay its spool moves.

The asked opening goes through the nominal second-order lag; the frequency response from that to the measured
spool is then

    e^(−jωτ) · (ω_v²/(ω_v² − ω² + 2jζω_vω)) / (the same with nominal values),

fitted to H1 with the weight that its coherence gives it (Bendat and Piersol 2010, eq. 9.90: the relative
variance of H1 is (1 − γ²)/(2 γ² averages), in real and imaginary part alike).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import signal
from scipy.linalg import expm
from scipy.optimize import least_squares

from mastd.arrays import ComplexArray, FloatArray
from mastd.settings.table.hydraulics import ValveSettings

BAND = (0.7, 60.0)
"""Hz in which the response is fitted, as far as it is coherent."""
MIN_COHERENCE = 0.5
SEGMENT_TIME = 4.0
LINE_DEPENDENCE = 1.5
"""Neighbouring lines of a Hann window are correlated: so many count for one."""


@dataclass(frozen=True, eq=False)
class LagFit:
    """One valve's lag, each value with its deviation, and the response it was fitted to."""

    delay: tuple[float, float]
    """s beyond the nominal second-order lag, at low frequency: a slower spool counts as delay."""
    dead_time: tuple[float, float]
    natural_frequency: tuple[float, float]
    """Hz."""
    damping_ratio: tuple[float, float]
    frequency: FloatArray
    response: ComplexArray
    """From the nominal lag without delay to the spool, (f,)."""
    fitted: ComplexArray
    """What the values found make of it, (f,)."""


def fit_lag(
    commands: FloatArray, spool: FloatArray, valve: ValveSettings, ticks: int, period: float
) -> LagFit:
    """Return the lag of one valve from ``commands`` (k · ticks,) at the drive's ticks and ``spool`` (k,).

    Raises ValueError if the spool does not follow the commands.
    """
    nominal = _lagged(commands, valve, period / ticks)[::ticks]
    segment = min(round(SEGMENT_TIME / period), len(spool) // 4)
    frequency, across = signal.csd(nominal, spool, 1.0 / period, nperseg=segment)
    own = signal.welch(nominal, 1.0 / period, nperseg=segment)[1]
    answer = signal.welch(spool, 1.0 / period, nperseg=segment)[1]
    coherence = np.minimum(np.abs(across) ** 2 / np.maximum(own * answer, 1e-300), 1.0 - 1e-9)
    used = (frequency >= BAND[0]) & (frequency <= BAND[1]) & (coherence >= MIN_COHERENCE)
    if np.count_nonzero(used) < 8:
        raise ValueError("valve lag cannot be identified: the spool does not follow its command")
    response = across[used] / own[used]
    # Hann segments that overlap by half count for nearly as many as they are: 8/9 of 2 n.
    averages = 2.0 * len(spool) / segment * (8.0 / 9.0)
    weight = np.sqrt(2.0 * averages * coherence[used] / (1.0 - coherence[used])) / np.abs(response)
    omega = 2.0 * math.pi * frequency[used]
    before = _second_order(omega, valve.natural_frequency, valve.damping_ratio)

    def fitted(values: FloatArray) -> ComplexArray:
        dead_time, natural_frequency, damping_ratio = values
        gain = np.exp(-1j * omega * dead_time) * _second_order(omega, natural_frequency, damping_ratio)
        return np.asarray(gain / before)

    def misfit(values: FloatArray) -> FloatArray:
        off = weight * (response - fitted(values))
        return np.concatenate((off.real, off.imag))

    start = np.array([valve.delay, valve.natural_frequency, valve.damping_ratio])
    fit = least_squares(misfit, start, x_scale=[1e-4, 10.0, 0.1], method="trf")
    scale = max(1.0, 2.0 * fit.cost / max(len(fit.fun) - 3, 1)) * LINE_DEPENDENCE
    covariance = np.linalg.inv(fit.jac.T @ fit.jac) * scale
    return _result(fit.x, covariance, valve, frequency[used], response, fitted(fit.x))


def _result(
    values: FloatArray,
    covariance: FloatArray,
    valve: ValveSettings,
    frequency: FloatArray,
    response: ComplexArray,
    fitted: ComplexArray,
) -> LagFit:
    dead_time, natural_frequency, damping_ratio = (float(value) for value in values)
    omega = 2.0 * math.pi * natural_frequency
    delay = (
        dead_time + 2.0 * damping_ratio / omega - valve.damping_ratio / (math.pi * valve.natural_frequency)
    )
    slope = np.array([1.0, -2.0 * damping_ratio / omega / natural_frequency, 2.0 / omega])
    deviations = np.sqrt(np.diag(covariance))
    return LagFit(
        (delay, float(np.sqrt(slope @ covariance @ slope))),
        (dead_time, float(deviations[0])),
        (natural_frequency, float(deviations[1])),
        (damping_ratio, float(deviations[2])),
        frequency,
        response,
        fitted,
    )


def _second_order(omega: FloatArray, natural_frequency: float, damping_ratio: float) -> ComplexArray:
    ratio = omega / (2.0 * math.pi * natural_frequency)
    return np.asarray(1.0 / (1.0 - ratio * ratio + 2j * damping_ratio * ratio))


def _lagged(commands: FloatArray, valve: ValveSettings, tick: float) -> FloatArray:
    """Return the nominal spool at each tick for commands (k,) that are held in between, exactly."""
    omega = 2.0 * math.pi * valve.natural_frequency
    matrix = np.array(
        [[0.0, 1.0, 0.0], [-omega * omega, -2.0 * valve.damping_ratio * omega, omega * omega], [0.0] * 3]
    )
    if valve.pilot_frequency is not None:
        pilot = 2.0 * math.pi * valve.pilot_frequency
        matrix = np.insert(np.insert(matrix, 2, 0.0, axis=0), 2, 0.0, axis=1)
        matrix[1, 2:], matrix[2, 2:] = [omega * omega, 0.0], [-pilot, pilot]
    step, last = expm(matrix * tick), len(matrix) - 1
    spool = np.eye(1, last)
    top = signal.ss2tf(step[:last, :last], step[:last, last:], spool, np.zeros((1, 1)))
    start = signal.lfilter_zi(top[0][0], top[1]) * commands[0]
    return np.asarray(signal.lfilter(top[0][0], top[1], commands, zi=start)[0])
