"""Learns, while the table moves, what each valve passes and how soft the oil is: no two valves are alike.

Over a window of time the oil that came through a valve is what the piston has taken, what it was compressed,
and what leaked:

    Δl + κ Δ(F/k) + leakage = g Σ v(o, F) T,

v the nominal no-load speed at the measured spool and force, less the overlap u. The three unknowns g (gain of
the valve), u and κ (softness of the oil) of a link are tracked by a Kalman filter on its linearisation, from
their nominal values with their usual spread. A table that stands tells nothing and changes nothing. They stay
within bounds, and the control follows them slowly.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

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

Array = NDArray[np.float64]

WINDOW = 20
"""Periods of a window."""
LEARNED = 3
"""g, u and κ of a link."""

# columns of a link's memory
_G, _U, _K = 0, 1, 2
_P = 3  # covariance, 3 × 3
_PASSED, _SLOPE, _LEAKED, _START_LENGTH, _START_OIL, _COUNT, _LAST_PASSED, _LAST_SLOPE = range(12, 20)
LEARNING_COLUMNS = 20

LENGTH_NOISE = 5.0e-6
"""Of a window's travel in m: noise of two lengths, of the spool, of the pressures."""
LEAST_FLOW = 1.0e-4
"""Travel in m below which a window says more of noise and of the edges of the overlap than of the valve."""
LEAST_SQUEEZE = 2.0e-5
"""Oil in m of travel that the noise of the pressures does not hide."""
MODEL_SHARE = 0.02
"""Of the flow in a window that the model may be wrong by."""
SPREAD = (0.1, 0.004, 0.1)
"""Usual spread of g, u and κ."""
LEAST_SPREAD = (0.002, 1.0e-4, 0.004)
"""Spread that always remains, so that what changes can be followed."""
LARGEST_GAIN_CHANGE = 0.3
LARGEST_OVERLAP = 0.02
LARGEST_SOFTENING = 0.4
FOLLOW_TIME = 0.2
"""Time constant in s in which the control follows what was learned."""


def learning_memory(rows: Array, share: float) -> Array:
    """Return the memory (n, LEARNING_COLUMNS) at the beginning; ``share`` of the usual spread is unknown."""
    memory = np.zeros((rows.shape[0], LEARNING_COLUMNS))
    memory[:, _G] = memory[:, _K] = 1.0
    memory[:, _U] = rows[:, OVERLAP]
    for k, spread in enumerate(SPREAD):
        memory[:, _P + 4 * k] = (share * spread) ** 2
    return memory


@fused_kernel
def learn(
    known: Array,
    rows: Array,
    memory: Array,
    lengths: Array,
    forces: Array,
    spools: Array,
    supply: float,
    period: float,
    whole: bool,
) -> None:
    """Take one sample of all links in; let ``rows``, what the control counts on, follow.

    ``known`` (n, …) are the rows before anything was learned; ``lengths``, ``forces``, ``spools`` (n,) as
    measured. ``whole``: this sample follows on the last one; otherwise the windows begin anew.
    """
    for i in range(rows.shape[0]):
        m = memory[i]
        opening, force = spools[i], forces[i]
        spring = oil_spring(known[i], lengths[i])
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
            if m[_COUNT] > WINDOW:
                _take_window(m, lengths[i], force / spring)
                usable = False
        if not usable:
            m[_PASSED] = m[_SLOPE] = m[_LEAKED] = 0.0
            m[_START_LENGTH], m[_START_OIL] = lengths[i], force / spring
            m[_COUNT] = 1.0 if abs(opening) <= 1.0 else 0.0
        m[_LAST_PASSED], m[_LAST_SLOPE] = passed, slope
        share = min(1.0, period / FOLLOW_TIME)
        rows[i, GAIN] += share * (known[i, GAIN] * m[_G] - rows[i, GAIN])
        rows[i, OVERLAP] += share * (m[_U] - rows[i, OVERLAP])
        rows[i, BULK_MODULUS] += share * (known[i, BULK_MODULUS] / m[_K] - rows[i, BULK_MODULUS])


@fused_kernel
def _take_window(m: Array, length: float, oil: float) -> None:
    """Take the window that has ended into g, u and κ of a link."""
    travel = length - m[_START_LENGTH] + m[_LEAKED]
    squeezed = oil - m[_START_OIL]
    h0, h1, h2 = m[_PASSED], -m[_G] * m[_SLOPE], -squeezed
    missed = travel - (m[_G] * m[_PASSED] - m[_K] * squeezed)
    noise = LENGTH_NOISE**2 + (MODEL_SHARE * m[_PASSED]) ** 2 + (MODEL_SHARE * squeezed) ** 2
    p0 = m[_P] * h0 + m[_P + 1] * h1 + m[_P + 2] * h2
    p1 = m[_P + 3] * h0 + m[_P + 4] * h1 + m[_P + 5] * h2
    p2 = m[_P + 6] * h0 + m[_P + 7] * h1 + m[_P + 8] * h2
    if not abs(m[_PASSED]) > LEAST_FLOW:
        return
    if not abs(squeezed) > LEAST_SQUEEZE:
        h2 = 0.0  # noise of the pressures would count as softness
    inverse = 1.0 / (h0 * p0 + h1 * p1 + h2 * p2 + noise)
    if not missed * missed * inverse < 25.0:
        return  # no such flow comes from what is unknown: a sensor, or an end stop
    m[_G] += p0 * inverse * missed
    m[_U] += p1 * inverse * missed
    m[_K] += p2 * inverse * missed
    for row in range(3):
        left = p0 if row == 0 else p1 if row == 1 else p2
        m[_P + 3 * row] -= left * p0 * inverse
        m[_P + 3 * row + 1] -= left * p1 * inverse
        m[_P + 3 * row + 2] -= left * p2 * inverse
    m[_P] = max(m[_P], LEAST_SPREAD[0] ** 2)
    m[_P + 4] = max(m[_P + 4], LEAST_SPREAD[1] ** 2)
    m[_P + 8] = max(m[_P + 8], LEAST_SPREAD[2] ** 2)
    m[_G] = min(max(m[_G], 1.0 - LARGEST_GAIN_CHANGE), 1.0 + LARGEST_GAIN_CHANGE)
    m[_U] = min(max(m[_U], 0.0), LARGEST_OVERLAP)
    m[_K] = min(max(m[_K], 1.0 - LARGEST_SOFTENING), 1.0 + LARGEST_SOFTENING)
