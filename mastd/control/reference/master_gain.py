"""The master gain: the profile's path p(τ) becomes λ(τ)·p(τ), λ following its target through three lags.

Three equal first-order lags in a row, time constant ``level_time``/10, over *path time*: on hold λ stands
with the path, and at half speed it changes at half speed. With the differences eᵢ of the lags' outputs to
the target and x = Δτ/T, an advance is exact for any Δτ,

    e₁ ← e⁻ˣ e₁,   e₂ ← e⁻ˣ (e₂ + x e₁),   e₃ ← e⁻ˣ (e₃ + x e₂ + x²/2 e₁),

    λ = target + e₃,   λ′ = (e₂ − e₃)/T,   λ″ = (e₁ − 2e₂ + e₃)/T²,   λ‴ = (−3e₁ + 3e₂ − e₃)/T³.

Every output is a weighted mean of earlier targets, so λ never leaves their hull; λ, λ′ and λ″ are
continuous when the target changes. After ``level_time`` 0.3 % of a change are left. A gain of 1 that has
settled leaves the path bit for bit as it is. The poses of a path are relative to neutral, which the gain
leaves in place.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from mastd.arrays import FloatArray
from mastd.index_table import Entry, index_table
from mastd.kernel import kernel


class MasterGainIndex(NamedTuple):
    """State of the master gain."""

    target: Annotated[int, Entry("1", "that the operator set")]
    error: Annotated[int, Entry("1", "e₁ e₂ e₃: outputs of the lags less the target", 3)]
    time_constant: Annotated[int, Entry("s", "T, of path time")]
    gain: Annotated[int, Entry("1, 1/s, 1/s^2, 1/s^3", "λ and its three derivatives by τ", 4)]


MASTER_GAIN = index_table(MasterGainIndex)

LAGS_PER_CHANGE = 10.0
"""Time constants in ``level_time``."""
SETTLED = 1e-10
"""Difference to the target at which the rest of a change is left out: 5 pm at 50 mm."""
GAIN_PEAKS = (0.2707, 0.2306, 1.0)
"""Largest |λ′|T, |λ″|T², |λ‴|T³ of a unit step."""


@kernel
def gain_at(master: FloatArray, advance: float, gain: FloatArray) -> None:
    """Write λ and its three derivatives ``advance`` s of path time ahead into ``gain`` (4,)."""
    e1, e2, e3 = master[MASTER_GAIN.error], master[MASTER_GAIN.error + 1], master[MASTER_GAIN.error + 2]
    if e1 == 0.0 and e2 == 0.0 and e3 == 0.0:
        gain[0], gain[1], gain[2], gain[3] = master[MASTER_GAIN.target], 0.0, 0.0, 0.0
        return
    constant = master[MASTER_GAIN.time_constant]
    x = advance / constant
    decay = math.exp(-x)
    e3 = decay * (e3 + x * (e2 + 0.5 * x * e1))
    e2 = decay * (e2 + x * e1)
    e1 = decay * e1
    gain[0] = master[MASTER_GAIN.target] + e3
    gain[1] = (e2 - e3) / constant
    gain[2] = (e1 - 2.0 * e2 + e3) / constant**2
    gain[3] = (3.0 * (e2 - e1) - e3) / constant**3


@kernel
def advance_gain(master: FloatArray, advance: float) -> None:
    """Advance the block (MASTER_GAIN) by ``advance`` s of path time."""
    e1, e2, e3 = master[MASTER_GAIN.error], master[MASTER_GAIN.error + 1], master[MASTER_GAIN.error + 2]
    if e1 == 0.0 and e2 == 0.0 and e3 == 0.0:
        return
    x = advance / master[MASTER_GAIN.time_constant]
    decay = math.exp(-x)
    master[MASTER_GAIN.error + 2] = decay * (e3 + x * (e2 + 0.5 * x * e1))
    master[MASTER_GAIN.error + 1] = decay * (e2 + x * e1)
    master[MASTER_GAIN.error] = decay * e1
    if (
        abs(master[MASTER_GAIN.error])
        + abs(master[MASTER_GAIN.error + 1])
        + abs(master[MASTER_GAIN.error + 2])
        <= SETTLED
    ):
        master[MASTER_GAIN.error : MASTER_GAIN.error + 3] = 0.0
    gain_at(master, 0.0, master[MASTER_GAIN.gain : MASTER_GAIN.gain + 4])


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


def min_level_time(reach: float, velocity: float, acceleration: float, jerk: float) -> float:
    """Return the shortest ``level_time`` in s with which a change of level adds no more than ``jerk``.

    ``reach`` is the largest pose from neutral; before and after the change the motion keeps ``velocity`` and
    ``acceleration``. Solves λ‴·reach + 3λ″·velocity + 3λ′·acceleration ≤ jerk with the peaks of each.
    """
    first, second, third = GAIN_PEAKS
    roots = np.roots([third * reach, 3.0 * second * velocity, 3.0 * first * acceleration, -jerk])
    rate = max(float(root.real) for root in roots if abs(root.imag) <= 1e-9 * abs(root) + 1e-12)
    return LAGS_PER_CHANGE / rate


def gain_refusal(target: float, limit: float) -> str:
    """Return why ``target`` cannot be the master gain, empty where it can; ``limit``: proved by `check`."""
    if 0.0 <= target <= limit:
        return ""
    if not math.isfinite(target) or target < 0.0:
        return f"level is refused: {target:g} is not a valid ratio; allowed: 0 % to {100.0 * limit:.1f} %"
    return (
        f"level is refused: {100.0 * target:.1f} % exceeds the maximum that `check` proved for this profile; "
        f"allowed: 0 % to {100.0 * limit:.1f} %"
    )
