"""The nominal friction of seals on a measured motion, so that its size can be found by comparison.

LuGre: dz/dt = v − σ₀ |v| z / g(v), F = σ₀ z + σ₁ dz/dt, g = F_c + (F_s − F_c)/(1 + (v/v_s)²) (Canudas de Wit
1995, with the Stribeck curve in its rational form).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mastd.settings.hydraulics import FrictionSettings

FloatArray = NDArray[np.float64]


def sliding_friction(rates: FloatArray, coulomb: FloatArray, friction: FrictionSettings, period: float) -> FloatArray:
    """Return friction without its viscous part over ``coulomb`` (k, n), for link rates (k, n) in m/s.

    ``coulomb`` (n,) in N, above zero; breakaway keeps its nominal ratio to it. Before breakaway the bristles
    deflect as the settings say. The first row starts with undeflected bristles.
    """
    breakaway = friction.breakaway / friction.coulomb if friction.coulomb > 0.0 else 1.0
    excess = (breakaway - 1.0) / (1.0 + (rates / friction.stribeck_velocity) ** 2)
    level = coulomb * (1.0 + excess)
    decay = 1.0 / (1.0 + period * friction.bristle_stiffness * np.abs(rates) / level)
    bristle = np.empty_like(rates)
    now = np.zeros(rates.shape[1])
    for row in range(len(rates)):
        now = (now + period * rates[row]) * decay[row]
        bristle[row] = now
    before = np.vstack((np.zeros((1, rates.shape[1])), bristle[:-1]))
    force = friction.bristle_stiffness * 0.5 * (bristle + before)
    force += friction.bristle_damping * (bristle - before) / period
    return np.asarray(force / coulomb)
