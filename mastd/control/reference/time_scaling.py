"""Time scaling: the speed of path time σ = dτ/dt follows its target between 0 and 1 and never leaves them.

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

Along a path that keeps the rates V and accelerations A this adds at most 3A·σσ̇ + V·σ̈ to the jerk, at an
actuator as in pose space (a length along a path is a function of τ too). ``min_stop_time`` solves that for T.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

from mastd.arrays import FloatArray
from mastd.index_table import Entry, index_table
from mastd.kernel import kernel


class TimeScalingIndex(NamedTuple):
    """State and bounds of the time scaling."""

    time: Annotated[int, Entry("s", "path time τ")]
    speed: Annotated[int, Entry("1", "σ")]
    rate: Annotated[int, Entry("1/s", "dσ/dt")]
    acceleration: Annotated[int, Entry("1/s^2", "d²σ/dt²")]
    requested: Annotated[int, Entry("1", "target that the operator set")]
    max_rate: Annotated[int, Entry("1/s", "S")]
    max_acceleration: Annotated[int, Entry("1/s^2", "J")]


TIME_SCALING = index_table(TimeScalingIndex)

MAX_WAY = 1.0
"""Path time over T that a stop can cover at most: 0.81, from σ = 0.75 while it rises at S."""

JERK_RATIO = 0.25
"""Ratio of an actuator's jerk limit that changes of speed, and of the master gain, may add each."""

INSTANT = 1e-7
"""Seconds before its end at which a change of speed counts as ended: more than roundings add up to. The last
step of σ̇ may be that of this much more time."""


@kernel
def advance_time(scaling: FloatArray, target: float, dt: float) -> None:
    """Advance ``scaling`` (TIME_SCALING,) by ``dt`` s while σ goes to ``target``; exact for any ``dt``."""
    change = target - scaling[TIME_SCALING.speed]
    rate = scaling[TIME_SCALING.rate]
    if change == 0.0 and rate == 0.0:
        scaling[TIME_SCALING.time] += dt * scaling[TIME_SCALING.speed]
        scaling[TIME_SCALING.acceleration] = 0.0
        return
    top, bend = scaling[TIME_SCALING.max_rate], scaling[TIME_SCALING.max_acceleration]
    # Mirrored so that the change is a rise: from the present rate to the peak, at it, and down to zero.
    sign = 1.0 if change - rate * abs(rate) / (2.0 * bend) > 0.0 else -1.0
    rate *= sign
    change *= sign
    peak = min(math.sqrt(max(bend * change + 0.5 * rate * rate, 0.0)), top)
    first = max((peak - rate) / bend, 0.0)
    last = peak / bend
    middle = 0.0
    if peak > 0.0:
        middle = max((change - (2.0 * peak * peak - rate * rate) / (2.0 * bend)) / peak, 0.0)
    left = dt
    time, speed, second = scaling[TIME_SCALING.time], scaling[TIME_SCALING.speed], 0.0
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
        scaling[TIME_SCALING.time] = time + left * target
        scaling[TIME_SCALING.speed] = target
        scaling[TIME_SCALING.rate], scaling[TIME_SCALING.acceleration] = 0.0, 0.0
    else:
        scaling[TIME_SCALING.time] = time
        scaling[TIME_SCALING.speed] = min(max(speed, 0.0), 1.0)
        scaling[TIME_SCALING.rate], scaling[TIME_SCALING.acceleration] = sign * rate, sign * second


def speed_bounds(duration: float) -> tuple[float, float]:
    """Return S in 1/s and J in 1/s² with which σ goes from 0 to 1, or back, in ``duration`` s."""
    return 1.5 / duration, 4.5 / duration**2


def min_stop_time(velocity: float, acceleration: float, jerk: float) -> float:
    """Return the shortest change of speed in s that adds no more than ``jerk`` to a path's own.

    The path keeps ``velocity`` and ``acceleration``, all of an actuator (or of C) in SI: the greater root of
    jerk·T² = 4.5·acceleration·T + 4.5·velocity.
    """
    linear = 4.5 * acceleration
    return (linear + math.sqrt(linear * linear + 18.0 * velocity * jerk)) / (2.0 * jerk)
