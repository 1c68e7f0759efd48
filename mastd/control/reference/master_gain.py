"""The master gain: the profile's path p(τ) becomes λ(τ)·p(τ), λ following its target through three lags.

Three equal first-order lags in a row, time constant ``level_time``/10, over *path time*: on hold λ stands
with the path, and at half speed it changes at half speed. With the differences eᵢ of the lags' outputs to
the target and x = Δτ/T, an advance is exact for any Δτ,

    e₁ ← e⁻ˣ e₁,   e₂ ← e⁻ˣ (e₂ + x e₁),   e₃ ← e⁻ˣ (e₃ + x e₂ + x²/2 e₁),

    λ = target + e₃,   λ′ = (e₂ − e₃)/T,   λ″ = (e₁ − 2e₂ + e₃)/T²,   λ‴ = (−3e₁ + 3e₂ − e₃)/T³.

Every output is a weighted mean of earlier targets, so λ never leaves their hull; λ, λ′ and λ″ are
continuous when the target changes. After ``level_time`` 0.3 % of a change are left. A level of 1 that has
settled leaves the path bit for bit as it is. The poses of a path are relative to neutral, which the gain
leaves in place.
"""

from __future__ import annotations

import math

import numpy as np

from mastd.arrays import FloatArray
from mastd.kernel import kernel

LEVEL_TARGET, ERROR, TIME_CONSTANT, GAIN = 0, 1, 4, 5
"""Places in the level's block: target, e₁ e₂ e₃, T in s, then λ and its three derivatives by τ."""
LEVEL_SIZE = 9

LAGS_PER_CHANGE = 10.0
"""Time constants in ``level_time``."""
SETTLED = 1e-10
"""Difference to the target at which the rest of a change is left out: 5 pm at 50 mm."""
LEVEL_PEAKS = (0.2707, 0.2306, 1.0)
"""Largest |λ′|T, |λ″|T², |λ‴|T³ of a unit step."""


@kernel
def level_at(level: FloatArray, advance: float, gain: FloatArray) -> None:
    """Write λ and its three derivatives ``advance`` s of path time ahead into ``gain`` (4,)."""
    e1, e2, e3 = level[ERROR], level[ERROR + 1], level[ERROR + 2]
    if e1 == 0.0 and e2 == 0.0 and e3 == 0.0:
        gain[0], gain[1], gain[2], gain[3] = level[LEVEL_TARGET], 0.0, 0.0, 0.0
        return
    constant = level[TIME_CONSTANT]
    x = advance / constant
    share = math.exp(-x)
    e3 = share * (e3 + x * (e2 + 0.5 * x * e1))
    e2 = share * (e2 + x * e1)
    e1 = share * e1
    gain[0] = level[LEVEL_TARGET] + e3
    gain[1] = (e2 - e3) / constant
    gain[2] = (e1 - 2.0 * e2 + e3) / constant**2
    gain[3] = (3.0 * (e2 - e1) - e3) / constant**3


@kernel
def advance_level(level: FloatArray, advance: float) -> None:
    """Advance the block (LEVEL_SIZE,) by ``advance`` s of path time."""
    e1, e2, e3 = level[ERROR], level[ERROR + 1], level[ERROR + 2]
    if e1 == 0.0 and e2 == 0.0 and e3 == 0.0:
        return
    x = advance / level[TIME_CONSTANT]
    share = math.exp(-x)
    level[ERROR + 2] = share * (e3 + x * (e2 + 0.5 * x * e1))
    level[ERROR + 1] = share * (e2 + x * e1)
    level[ERROR] = share * e1
    if abs(level[ERROR]) + abs(level[ERROR + 1]) + abs(level[ERROR + 2]) <= SETTLED:
        level[ERROR : ERROR + 3] = 0.0
    level_at(level, 0.0, level[GAIN : GAIN + 4])


@kernel
def scale_path(gain: FloatArray, path: FloatArray) -> None:
    """Multiply ``path`` (4, 6), a pose and its τ-derivatives, by λ of ``gain`` (4,): the product rule."""
    g0, g1, g2, g3 = gain[0], gain[1], gain[2], gain[3]
    if g0 == 1.0 and g1 == 0.0 and g2 == 0.0 and g3 == 0.0:
        return
    for axis in range(6):
        p0, p1, p2, p3 = path[0, axis], path[1, axis], path[2, axis], path[3, axis]
        path[0, axis] = g0 * p0
        path[1, axis] = g1 * p0 + g0 * p1
        path[2, axis] = g2 * p0 + 2.0 * g1 * p1 + g0 * p2
        path[3, axis] = g3 * p0 + 3.0 * (g2 * p1 + g1 * p2) + g0 * p3


def least_level_time(reach: float, velocity: float, acceleration: float, jerk: float) -> float:
    """Return the shortest ``level_time`` in s with which a change of level adds no more than ``jerk``.

    ``reach`` is the largest pose from neutral; before and after the change the motion keeps ``velocity`` and
    ``acceleration``. Solves λ‴·reach + 3λ″·velocity + 3λ′·acceleration ≤ jerk with the peaks of each.
    """
    first, second, third = LEVEL_PEAKS
    roots = np.roots([third * reach, 3.0 * second * velocity, 3.0 * first * acceleration, -jerk])
    rate = max(float(root.real) for root in roots if abs(root.imag) <= 1e-9 * abs(root) + 1e-12)
    return LAGS_PER_CHANGE / rate


def level_refusal(target: float, limit: float) -> str:
    """Return why ``target`` is no level to play at, empty where it is; ``limit``: what `check` proved."""
    if 0.0 <= target <= limit:
        return ""
    if not math.isfinite(target) or target < 0.0:
        return f"level is refused: {target:g} is no share; 0 % to {100.0 * limit:.1f} % are possible"
    return (
        f"level is refused: {100.0 * target:.1f} % is above what `check` proved for this profile; "
        f"0 % to {100.0 * limit:.1f} % are possible"
    )
