"""The speed of path time: σ = dτ/dt follows its target between 0 and 1, quickly, smoothly and never beyond.

σ is taken to its target like a mass on a track, by a bounded second derivative and a bounded first one:
σ̈ = ±J until |σ̇| = S, then at S, then σ̈ = ∓J until σ stands at its target with σ̇ = 0. For a change over the
whole range in ``duration`` T each of the three parts takes a third of it,

    S = 1.5/T,   J = 4.5/T²,

and a stop from full speed covers T/2 of path time. Three properties make this the generator of hold, stop,
resume and of the limiter alike:

- σ̇ is continuous and σ̈ bounded from *any* state, whenever the target changes, however often;
- σ never leaves [0, 1]: towards a target within it, σ̇²/2J is never more than what is left to either end, and
  a new target can only brake as hard;
- it ends after a finite time, exactly at its target.

Along a path that keeps the rates V and accelerations A the warp adds at most 3A·σσ̇ + V·σ̈ to the jerk, at a
link as in pose space (a length along a path is a function of τ too). ``least_duration`` solves that for T.
"""

from __future__ import annotations

import math

from mastd.arrays import FloatArray
from mastd.kernel import kernel

TIME, SPEED, FIRST, SECOND, WANTED, MAX_FIRST, MAX_SECOND = range(7)
"""Places in the block of the warp: τ in s, σ, σ̇ in 1/s, σ̈ in 1/s², the target that the operator set, S, J."""
WARP_SIZE = 7

MAX_WAY = 1.0
"""Path time over T that a stop can cover at most: 0.81, from σ = 0.75 while it rises at S."""

JERK_SHARE = 0.25
"""Share of a link's jerk limit that changes of speed, and changes of level, may add each."""

INSTANT = 1e-7
"""Seconds before its end at which a change of speed counts as ended: more than roundings add up to. The last
step of σ̇ may be that of this much more time."""


@kernel
def advance_speed(warp: FloatArray, target: float, dt: float) -> None:
    """Advance ``warp`` (WARP_SIZE,) by ``dt`` s while σ goes to ``target``; exact for any ``dt``."""
    gap = target - warp[SPEED]
    rate = warp[FIRST]
    if gap == 0.0 and rate == 0.0:
        warp[TIME] += dt * warp[SPEED]
        warp[SECOND] = 0.0
        return
    top, bend = warp[MAX_FIRST], warp[MAX_SECOND]
    # Mirrored so that the change is a rise: from the present rate to the peak, at it, and down to zero.
    sign = 1.0 if gap - rate * abs(rate) / (2.0 * bend) > 0.0 else -1.0
    rate *= sign
    gap *= sign
    peak = min(math.sqrt(max(bend * gap + 0.5 * rate * rate, 0.0)), top)
    first = max((peak - rate) / bend, 0.0)
    last = peak / bend
    middle = 0.0
    if peak > 0.0:
        middle = max((gap - (2.0 * peak * peak - rate * rate) / (2.0 * bend)) / peak, 0.0)
    left = dt
    time, speed, second = warp[TIME], warp[SPEED], 0.0
    for part in range(3):
        span = first if part == 0 else middle if part == 1 else last
        span = min(span, left)
        if span > 0.0:
            second = bend if part == 0 else 0.0 if part == 1 else -bend
            time += span * (speed + sign * span * (rate / 2.0 + second * span / 6.0))
            speed += sign * span * (rate + second * span / 2.0)
            rate += second * span
            left -= span
    if first + middle + last <= dt + INSTANT:
        warp[TIME] = time + left * target
        warp[SPEED], warp[FIRST], warp[SECOND] = target, 0.0, 0.0
    else:
        warp[TIME] = time
        warp[SPEED] = min(max(speed, 0.0), 1.0)
        warp[FIRST], warp[SECOND] = sign * rate, sign * second


def speed_bounds(duration: float) -> tuple[float, float]:
    """Return S in 1/s and J in 1/s² with which σ goes from 0 to 1, or back, in ``duration`` s."""
    return 1.5 / duration, 4.5 / duration**2


def least_duration(velocity: float, acceleration: float, jerk: float) -> float:
    """Return the shortest change of speed in s that adds no more than ``jerk`` to a path's own.

    The path keeps ``velocity`` and ``acceleration``, all three of a link (or of C) in SI: the greater root of
    jerk·T² = 4.5·acceleration·T + 4.5·velocity.
    """
    linear = 4.5 * acceleration
    return (linear + math.sqrt(linear * linear + 18.0 * velocity * jerk)) / (2.0 * jerk)
