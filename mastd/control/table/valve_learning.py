"""Learns, while the table moves, what each valve passes and how soft the oil is: no two valves are alike.

Over a window of time the oil that came through a valve is what the piston has taken, what it was compressed,
and what leaked:

    Δl + κ ΔF/k + λ Σ c F T = g Σ v(o, F) T,

v the nominal no-load speed at the measured spool and force, less the overlap u, and c the nominal leakage.
Four unknowns of a link, g (gain of the valve), u, κ (softness of the oil) and λ (leakage), are tracked by a
Kalman filter on its linearisation, from their nominal values with their usual spread. A table that stands
tells nothing and changes nothing. They stay within bounds, and the control follows them slowly.
"""

from __future__ import annotations

import math

import numpy as np

from mastd.arrays import FloatArray
from mastd.dynamics.actuator import (
    BULK_MODULUS,
    GAIN,
    LEAK_SPEED,
    OVERLAP,
    SATURATION,
    available_force,
    oil_spring,
)
from mastd.kernel import fused_kernel

WINDOW_TIME = 0.02
"""s of a window."""
MIN_WINDOW = 4
"""Periods of a window at least."""

# columns of a link's memory
_G, _U, _K, _L = 0, 1, 2, 3
UNKNOWNS = 4
_P = UNKNOWNS
_H = _P + UNKNOWNS * UNKNOWNS
_GAIN = _H + UNKNOWNS
_PASSED, _SLOPE, _LEAKED, _START_LENGTH, _START_FORCE, _COUNT, _LAST_PASSED, _LAST_SLOPE = range(
    _GAIN + UNKNOWNS, _GAIN + UNKNOWNS + 8
)
LEARNING_COLUMNS = _LAST_SLOPE + 1

LENGTH_NOISE = 5.0e-6
"""Of a window's travel in m: noise of two lengths, of the spool, of the pressures."""
MIN_CHANGE = 5.0e-5
"""Travel and compression in m below which a window says more of noise and leakage than of the valve."""
MIN_SQUEEZE = 2.0e-5
"""Oil in m of travel that the noise of the pressures does not hide."""
MODEL_SHARE = 0.02
"""Of the flow in a window that the model may be wrong by."""
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


def learning_memory(rows: FloatArray, share: float) -> FloatArray:
    """Return the memory (n, LEARNING_COLUMNS) at the beginning; ``share`` of the usual spread is unknown."""
    memory = np.zeros((rows.shape[0], LEARNING_COLUMNS))
    memory[:, _G] = memory[:, _K] = memory[:, _L] = 1.0
    memory[:, _U] = rows[:, OVERLAP]
    for k, spread in enumerate(SPREAD):
        memory[:, _P + (UNKNOWNS + 1) * k] = (share * spread) ** 2
    return memory


@fused_kernel
def learn(
    known: FloatArray,
    rows: FloatArray,
    memory: FloatArray,
    lengths: FloatArray,
    forces: FloatArray,
    spools: FloatArray,
    supply: float,
    period: float,
    whole: bool,
) -> None:
    """Take one sample of all links in; let ``rows``, what the control counts on, follow.

    ``known`` (n, …) are the rows before anything was learned; ``lengths``, ``forces``, ``spools`` (n,) as
    measured. ``whole``: this sample follows on the last one; otherwise the windows begin anew.
    """
    window = max(float(MIN_WINDOW), WINDOW_TIME / period - 0.5)
    for i in range(rows.shape[0]):
        m = memory[i]
        opening, force = spools[i], forces[i]
        size = abs(opening) - m[_U]
        root = known[i, GAIN] * math.sqrt(available_force(known[i], supply, force, opening > 0.0))
        passed = slope = 0.0
        if size > 0.0:
            bent = 1.0 + (known[i, SATURATION] * size) ** 2
            passed = math.copysign(root * size / math.sqrt(bent), opening)
            slope = math.copysign(root / (bent * math.sqrt(bent)), opening)
        usable = whole and abs(opening) <= 1.0 and m[_COUNT] > 0.0
        if usable:
            m[_PASSED] += 0.5 * period * (passed + m[_LAST_PASSED])
            m[_SLOPE] += 0.5 * period * (slope + m[_LAST_SLOPE])
            m[_LEAKED] += period * known[i, LEAK_SPEED] * force
            m[_COUNT] += 1.0
            if m[_COUNT] > window:
                spring = oil_spring(known[i], lengths[i])
                largest = known[i, OVERLAP] + MAX_CHANGE_OF_OVERLAP
                _take_window(m, lengths[i], force, spring, largest)
                usable = False
        if not usable:
            m[_PASSED] = m[_SLOPE] = m[_LEAKED] = 0.0
            m[_START_LENGTH], m[_START_FORCE] = lengths[i], force
            m[_COUNT] = 1.0 if abs(opening) <= 1.0 else 0.0
        m[_LAST_PASSED], m[_LAST_SLOPE] = passed, slope
        share = min(1.0, period / FOLLOW_TIME)
        rows[i, GAIN] += share * (known[i, GAIN] * m[_G] - rows[i, GAIN])
        rows[i, OVERLAP] += share * (m[_U] - rows[i, OVERLAP])
        rows[i, BULK_MODULUS] += share * (known[i, BULK_MODULUS] / m[_K] - rows[i, BULK_MODULUS])
        rows[i, LEAK_SPEED] += share * (known[i, LEAK_SPEED] * m[_L] - rows[i, LEAK_SPEED])


@fused_kernel
def _take_window(m: FloatArray, length: float, force: float, spring: float, largest_overlap: float) -> None:
    """Take the window that has ended into g, u, κ and λ of a link."""
    travel = length - m[_START_LENGTH]
    # Not the change of force over stiffness: along the stroke the stiffness changes, and squeezes nothing.
    squeezed = (force - m[_START_FORCE]) / spring
    if not abs(travel) + abs(squeezed) > MIN_CHANGE:
        return
    m[_H + _G], m[_H + _U] = m[_PASSED], -m[_G] * m[_SLOPE]
    # Noise of the pressures would count as softness.
    m[_H + _K] = -squeezed if abs(squeezed) > MIN_SQUEEZE else 0.0
    m[_H + _L] = -m[_LEAKED]
    missed = travel - (m[_G] * m[_PASSED] - m[_K] * squeezed - m[_L] * m[_LEAKED])
    total = LENGTH_NOISE**2 + (MODEL_SHARE * m[_PASSED]) ** 2 + (MODEL_SHARE * squeezed) ** 2
    for j in range(UNKNOWNS):
        product = 0.0
        for k in range(UNKNOWNS):
            product += m[_P + UNKNOWNS * j + k] * m[_H + k]
        m[_GAIN + j] = product
        total += product * m[_H + j]
    inverse = 1.0 / total
    if not missed * missed * inverse < 25.0:
        return  # no such flow comes from what is unknown: a sensor, or an end stop
    for j in range(UNKNOWNS):
        m[j] += m[_GAIN + j] * inverse * missed
        for k in range(UNKNOWNS):
            m[_P + UNKNOWNS * j + k] -= m[_GAIN + j] * m[_GAIN + k] * inverse
    m[_P] = max(m[_P], MIN_SPREAD[0] ** 2)
    m[_P + 5] = max(m[_P + 5], MIN_SPREAD[1] ** 2)
    m[_P + 10] = max(m[_P + 10], MIN_SPREAD[2] ** 2)
    m[_P + 15] = max(m[_P + 15], MIN_SPREAD[3] ** 2)
    m[_G] = min(max(m[_G], 1.0 - MAX_GAIN_CHANGE), 1.0 + MAX_GAIN_CHANGE)
    m[_U] = min(max(m[_U], 0.0), largest_overlap)
    m[_K] = min(max(m[_K], 1.0 - MAX_SOFTENING), 1.0 + MAX_SOFTENING)
    m[_L] = min(max(m[_L], 0.0), MAX_LEAKAGE)
