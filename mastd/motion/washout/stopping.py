"""Where an axis that brakes at once comes to rest: the measure of what it may still do.

The axis is a mass moved by its jerk: position x, velocity v, acceleration a. The stop that is planned from
any state takes the acceleration to zero and on to −θ at the jerk J, holds it, and takes it back to zero at J
so that velocity and acceleration vanish together (θ is not reached where the velocity is too small for it).
Everything here looks at the upper end; the lower one is the same with all signs turned.

A part of a stop from a = 0 at the speed u covers

    u²/2θ + uθ/2J   where u ≥ θ²/J,   else u √(u/J);

a state with a ≠ 0 is on such a stop already: it left a = 0 at the time a/J from now at the speed v + a²/2J.
"""

from __future__ import annotations

import math

from mastd.kernel import fused_kernel


@fused_kernel
def stopping_distance(speed: float, braking: float, jerk: float) -> float:
    """Return the way in m of a stop from ``speed`` ≥ 0 and no acceleration."""
    if speed >= braking * braking / jerk:
        return 0.5 * speed * (speed / braking + braking / jerk)
    return speed * math.sqrt(speed / jerk)


@fused_kernel
def highest_position(
    position: float, velocity: float, acceleration: float, braking: float, jerk: float
) -> float:
    """Return the highest position of the planned stop, θ = ``braking`` and J = ``jerk``."""
    x, v, a = position, velocity, acceleration
    after = v + a * abs(a) / (2.0 * jerk)  # the velocity when the acceleration has been taken to zero
    if not after > 0.0:
        if not v > 0.0:
            return x
        # Turns while the acceleration is still being taken back.
        time = (-a - math.sqrt(max(a * a - 2.0 * jerk * v, 0.0))) / jerk
        return x + time * (v + time * (0.5 * a + time * jerk / 6.0))
    if a < -braking:
        time = (-braking - a) / jerk
        x += time * (v + time * (0.5 * a + time * jerk / 6.0))
        v += time * (a + 0.5 * time * jerk)
        a = -braking
    since = a / jerk
    start = x + since * (v + a * since / 3.0)
    return start + stopping_distance(v + 0.5 * a * since, braking, jerk)


@fused_kernel
def highest_velocity(velocity: float, acceleration: float, jerk: float) -> float:
    """Return the highest velocity while the acceleration is taken to zero at ``jerk``."""
    if acceleration > 0.0:
        return velocity + acceleration * acceleration / (2.0 * jerk)
    return velocity
