"""Learns, while the table moves, what each valve passes and how soft the oil is: no two valves are alike.

Over a window of time the oil that came through a valve is what the piston has taken, what it was compressed,
and what leaked:

    Δl + κ ΔF/k + λ Σ c F T = g Σ v(o, F) T,

v the nominal no-load speed at the measured spool and force, less the overlap u, and c the nominal leakage.
Four unknowns of an actuator, g (gain of the valve), u, κ (softness of the oil) and λ (leakage), are tracked
by a Kalman filter on its linearisation, from their nominal values with their usual spread. A table that
stands tells nothing and changes nothing. They stay within bounds, and the control follows them slowly.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from mastd.arrays import FloatArray
from mastd.control.table.data import Learned, Measured
from mastd.control.table.feedforward import supply_of
from mastd.dynamics.actuator import ACTUATOR, available_force, oil_spring
from mastd.index_table import Entry, index_table, size_of
from mastd.kernel import fused_kernel

WINDOW_TIME = 0.02
"""s of a window."""
MIN_WINDOW = 4
"""Minimum periods of a window."""

UNKNOWNS = 4
"""Numbers that are learned of an actuator: g, u, κ, λ."""


class ValveMemory(NamedTuple):
    """Columns of the memory of an actuator."""

    gain: Annotated[int, Entry("1", "g")]
    overlap: Annotated[int, Entry("1", "u")]
    softness: Annotated[int, Entry("1", "κ")]
    leakage: Annotated[int, Entry("1", "λ")]
    covariance: Annotated[int, Entry("1", "of the four, row by row", UNKNOWNS * UNKNOWNS)]
    equation: Annotated[int, Entry("m", "what each of the four contributes to the travel", UNKNOWNS)]
    kalman: Annotated[int, Entry("m", "covariance times equation", UNKNOWNS)]
    passed: Annotated[int, Entry("m", "travel by the nominal valve in this window")]
    slope: Annotated[int, Entry("m", "its derivative by the opening")]
    leaked: Annotated[int, Entry("m", "travel by the nominal leakage in this window")]
    start_length: Annotated[int, Entry("m", "length at the start of the window")]
    start_force: Annotated[int, Entry("N", "force at the start of the window")]
    samples: Annotated[int, Entry("1", "samples of the window")]
    last_passed: Annotated[int, Entry("m/s", "speed by the nominal valve at the last sample")]
    last_slope: Annotated[int, Entry("m/s", "its derivative by the opening")]
    noise: Annotated[int, Entry("m", "of a window's travel")]


V = index_table(ValveMemory)
LEARNING_COLUMNS = size_of(V)

LENGTH_NOISE = 5.0e-6
"""Least noise of a window's travel in m: of two lengths, of the spool, of the pressures."""
SPOOL_RATIO = 0.6
"""Part of what the noise of the spool would let through a valve in a window that is left in the mean."""
MIN_CHANGE = 10.0
"""Travel and compression, over the noise, below which a window says more of noise than of the valve.

Beside the overlap the noise of the spool is not averaged out: a valve that is open by less passes nothing.
"""
MIN_SQUEEZE = 2.0e-5
"""Oil in m of travel that the noise of the pressures does not hide."""
MODEL_ERROR = 0.02
"""Relative error of the model in the flow of a window."""
SPREAD = (0.1, 0.004, 0.1, 0.5)
"""Usual spread of g, u, κ and λ."""
MIN_SPREAD = (0.002, 1.0e-4, 0.004, 0.01)
"""Spread that always remains, so that what changes can be followed."""
MAX_GAIN_CHANGE = 0.3
MAX_CHANGE_OF_OVERLAP = 0.02
MAX_SOFTENING = 0.4
MAX_LEAKAGE = 5.0
FOLLOW_TIME = 0.2
"""Time constant in s in which the control follows what was learned."""


def learning_memory(rows: FloatArray, spread_ratio: float, speeds: FloatArray) -> FloatArray:
    """Return the memory (n, LEARNING_COLUMNS) before the first sample.

    ``spread_ratio``: how much of the usual spread is unknown; ``speeds`` (n,) in m/s that the noise of the
    spool alone would make of an actuator.
    """
    memory = np.zeros((rows.shape[0], LEARNING_COLUMNS))
    memory[:, V.gain] = memory[:, V.softness] = memory[:, V.leakage] = 1.0
    memory[:, V.overlap] = rows[:, ACTUATOR.overlap]
    memory[:, V.noise] = np.maximum(LENGTH_NOISE, SPOOL_RATIO * WINDOW_TIME * speeds)
    for k, spread in enumerate(SPREAD):
        memory[:, V.covariance + (UNKNOWNS + 1) * k] = (spread_ratio * spread) ** 2
    return memory


@fused_kernel
def learn_valves(
    learned: Learned, measured: Measured, seals: FloatArray, inputs: FloatArray, period: float, whole: bool
) -> None:
    """Take one sample of all actuators; let ``learned.actuators``, which the control uses, follow.

    ``seals`` (n,): friction in N that the oil pushes in addition to what a load cell feels.
    ``whole``: this sample follows on the last one; otherwise the windows begin again.
    """
    for i in range(learned.actuators.shape[0]):
        m, known, row = learned.valve_memory[i], learned.known[i], learned.actuators[i]
        if known[ACTUATOR.full_speed] > 0.0:
            continue  # neither valve nor oil
        opening = measured.spools[i]
        force = measured.forces[i] + (1.0 - known[ACTUATOR.felt_friction]) * seals[i]
        passed, slope = _nominal_speed(m, known, opening, force, supply_of(known, inputs))
        usable = whole and abs(opening) <= 1.0 and m[V.samples] > 0.0
        if usable:
            m[V.passed] += 0.5 * period * (passed + m[V.last_passed])
            m[V.slope] += 0.5 * period * (slope + m[V.last_slope])
            m[V.leaked] += period * known[ACTUATOR.leak_speed] * force
            m[V.samples] += 1.0
            if m[V.samples] > max(float(MIN_WINDOW), WINDOW_TIME / period - 0.5):
                _take_window(m, known, measured.lengths[i], force)
                usable = False
        if not usable:
            m[V.passed] = m[V.slope] = m[V.leaked] = 0.0
            m[V.start_length], m[V.start_force] = measured.lengths[i], force
            m[V.samples] = 1.0 if abs(opening) <= 1.0 else 0.0
        m[V.last_passed], m[V.last_slope] = passed, slope
        _follow(row, known, m, min(1.0, period / FOLLOW_TIME))


@fused_kernel
def _nominal_speed(
    m: FloatArray, known: FloatArray, opening: float, force: float, supply: float
) -> tuple[float, float]:
    """Return the no-load speed of the nominal valve less the learned overlap, and its slope, m/s."""
    size = abs(opening) - m[V.overlap]
    root = known[ACTUATOR.gain] * math.sqrt(available_force(known, supply, force, opening > 0.0))
    passed = slope = 0.0
    if size > 0.0:
        bent = 1.0 + (known[ACTUATOR.saturation] * size) ** 2
        passed = math.copysign(root * size / math.sqrt(bent), opening)
        slope = math.copysign(root / (bent * math.sqrt(bent)), opening)
    return passed, slope


@fused_kernel
def _follow(row: FloatArray, known: FloatArray, m: FloatArray, ratio: float) -> None:
    """Let the numbers of an actuator follow what was learned, by ``ratio`` of the difference."""
    row[ACTUATOR.gain] += ratio * (known[ACTUATOR.gain] * m[V.gain] - row[ACTUATOR.gain])
    row[ACTUATOR.overlap] += ratio * (m[V.overlap] - row[ACTUATOR.overlap])
    modulus = known[ACTUATOR.bulk_modulus] / m[V.softness]
    row[ACTUATOR.bulk_modulus] += ratio * (modulus - row[ACTUATOR.bulk_modulus])
    row[ACTUATOR.leak_speed] += ratio * (known[ACTUATOR.leak_speed] * m[V.leakage] - row[ACTUATOR.leak_speed])


@fused_kernel
def _take_window(m: FloatArray, known: FloatArray, length: float, force: float) -> None:
    """Take the window that has ended into g, u, κ and λ of an actuator."""
    travel = length - m[V.start_length]
    # Not the change of force over stiffness: along the stroke the stiffness changes, and squeezes nothing.
    squeezed = (force - m[V.start_force]) / oil_spring(known, length)
    if not abs(travel) + abs(squeezed) > MIN_CHANGE * m[V.noise]:
        return
    m[V.equation + V.gain], m[V.equation + V.overlap] = m[V.passed], -m[V.gain] * m[V.slope]
    # Noise of the pressures would count as softness.
    m[V.equation + V.softness] = -squeezed if abs(squeezed) > MIN_SQUEEZE else 0.0
    m[V.equation + V.leakage] = -m[V.leaked]
    missed = travel - (m[V.gain] * m[V.passed] - m[V.softness] * squeezed - m[V.leakage] * m[V.leaked])
    total = m[V.noise] ** 2 + (MODEL_ERROR * m[V.passed]) ** 2 + (MODEL_ERROR * squeezed) ** 2
    for j in range(UNKNOWNS):
        product = 0.0
        for k in range(UNKNOWNS):
            product += m[V.covariance + UNKNOWNS * j + k] * m[V.equation + k]
        m[V.kalman + j] = product
        total += product * m[V.equation + j]
    inverse = 1.0 / total
    if not missed * missed * inverse < 25.0:
        return  # no such flow comes from what is unknown: a sensor, or an end stop
    for j in range(UNKNOWNS):
        m[j] += m[V.kalman + j] * inverse * missed
        for k in range(UNKNOWNS):
            m[V.covariance + UNKNOWNS * j + k] -= m[V.kalman + j] * m[V.kalman + k] * inverse
    _bound(m, known[ACTUATOR.overlap] + MAX_CHANGE_OF_OVERLAP)


@fused_kernel
def _bound(m: FloatArray, max_overlap: float) -> None:
    """Keep the four within their bounds, and their spreads above the smallest ones."""
    for k in range(UNKNOWNS):
        own = V.covariance + (UNKNOWNS + 1) * k
        m[own] = max(m[own], MIN_SPREAD[k] ** 2)
    m[V.gain] = min(max(m[V.gain], 1.0 - MAX_GAIN_CHANGE), 1.0 + MAX_GAIN_CHANGE)
    m[V.overlap] = min(max(m[V.overlap], 0.0), max_overlap)
    m[V.softness] = min(max(m[V.softness], 1.0 - MAX_SOFTENING), 1.0 + MAX_SOFTENING)
    m[V.leakage] = min(max(m[V.leakage], 0.0), MAX_LEAKAGE)
