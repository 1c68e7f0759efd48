"""The nominal friction of seals on a measured motion, so that its size can be found by comparison.

LuGre: dz/dt = v − σ₀ |v| z / g(v), F = σ₀ z + σ₁ dz/dt, g = F_c + (F_s − F_c)/(1 + (v/v_s)²) (Canudas de Wit
1995, with the Stribeck curve in its rational form).
"""

from __future__ import annotations

import numpy as np

from mastd.arrays import FloatArray
from mastd.dynamics.actuator import ACTUATOR

_MIN_TRAVEL = 1e-15


def sliding_friction(
    lengths: FloatArray, rates: FloatArray, coulomb: FloatArray, rows: FloatArray, period: float
) -> FloatArray:
    """Return friction without its viscous part over ``coulomb`` (k, n), for lengths and rates (k, n).

    ``coulomb`` (n,) in N, above zero; ``rows`` (n, ACTUATOR_COLUMNS) of ``actuator_rows``. Breakaway keeps
    its nominal ratio to ``coulomb``. Before breakaway the bristles deflect as the settings say. Each row's
    travel is taken at one speed, for which the bristle's equation is solved exactly: a reversal is over
    within a few periods. The first row starts with undeflected bristles.
    """
    nominal = rows[:, ACTUATOR.coulomb]
    breakaway = np.where(nominal > 0.0, rows[:, ACTUATOR.breakaway] / np.maximum(nominal, 1e-300), 1.0)
    stiffness, damping = rows[:, ACTUATOR.bristle_stiffness], rows[:, ACTUATOR.bristle_damping]

    def level(speeds: FloatArray) -> FloatArray:
        excess = (breakaway - 1.0) / (1.0 + (speeds / rows[:, ACTUATOR.stribeck_speed]) ** 2)
        return np.asarray(coulomb * (1.0 + excess))

    travel = np.diff(lengths, axis=0)
    limit = level(travel / period) / stiffness
    towards = limit * np.sign(travel)
    left = np.exp(-np.maximum(np.abs(travel), _MIN_TRAVEL) / limit)
    bristle = np.zeros_like(lengths)
    for row in range(len(travel)):
        bristle[row + 1] = towards[row] + (bristle[row] - towards[row]) * left[row]
    deflecting = rates - stiffness * np.abs(rates) * bristle / level(rates)
    return np.asarray((stiffness * bristle + damping * deflecting) / coulomb)
