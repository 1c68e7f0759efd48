"""One axis inside its box: |x| ≤ X, |v| ≤ V, |a| ≤ A, |jerk| ≤ J, whatever is asked of it, for ever.

Each period has one constant jerk, so position is a cubic of time and the box holds between the periods too.
The jerk is the wanted one, unless the axis could no longer stop inside the box after it: then it is the
nearest one after which it can. "Can stop" is the stop of ``mastd.motion.washout.stopping`` with a braking
acceleration θ ≤ A of its own, so that an axis which must feel gentle may brake gently before the wall and
still be moved hard.

The stop is planned with a share of θ and J, and inside a box that is smaller by what a grid of periods cannot
follow: a planned switch of jerk falls inside a period, which costs at most JT²/8 of velocity, and a turn may
lie between the points that are looked at. A jerk is judged
by the stop after several periods of it (``_PERIODS_AHEAD``): judged after one, the jerk that meets the wall
exactly over- and undershoots in turn, the sampling zero of an integrator.

An axis that begins outside its box, or too fast to stop in it, goes no further out than it must.
"""

from __future__ import annotations

import math

import numpy as np

from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel
from mastd.motion.washout.stopping import highest_position, highest_velocity

POSITION, VELOCITY, ACCELERATION, JERK, UPPER, LOWER, FASTEST = range(7)
"""Places in an axis' state: its motion, the jerk of the last period, and the box that is planned for."""
AXIS_SIZE = 7

(
    MAX_ACCELERATION,
    MAX_JERK,
    BRAKING,
    PLANNED_TRAVEL,
    PLANNED_VELOCITY,
    PLANNED_BRAKING,
    PLANNED_JERK,
) = range(7)
"""Places in a box."""
BOX_SIZE = 7

_PLANNED_JERK = 0.8
_PLANNED_BRAKING = 0.95
_PLANNED_BOX = 0.999
_PERIODS_AHEAD = 4.0
_HALVINGS = 20


def box(
    travel: float, velocity: float, acceleration: float, jerk: float, braking: float, period: float
) -> FloatArray:
    """Return the constants (BOX_SIZE,) of an axis whose period is ``period`` s.

    ``travel`` X, ``velocity`` V, ``acceleration`` A, ``jerk`` J, all to either side, and the acceleration θ =
    ``braking`` ≤ A with which it stops before a wall; in m or rad and s.
    """
    lost = 0.125 * jerk * period**2
    turn = 0.125 * braking * (_PERIODS_AHEAD * period) ** 2
    return np.array(
        [
            acceleration,
            jerk,
            braking,
            max(_PLANNED_BOX * travel - lost * math.sqrt(2.0 * travel / braking) - turn, 0.0),
            max(_PLANNED_BOX * velocity - lost, 0.0),
            _PLANNED_BRAKING * braking,
            _PLANNED_JERK * jerk,
        ]
    )


@fused_kernel
def enter(box: FloatArray, axis: FloatArray, position: float, velocity: float, acceleration: float) -> None:
    """Start an axis from any state."""
    axis[POSITION] = position
    axis[VELOCITY] = velocity
    axis[ACCELERATION] = acceleration
    axis[JERK] = 0.0
    axis[UPPER] = math.inf
    axis[LOWER] = -math.inf
    axis[FASTEST] = math.inf
    _close_in(box, axis)


@fused_kernel
def _close_in(box: FloatArray, axis: FloatArray) -> None:
    """Draw the walls in to the box, as far as the axis can stop before them."""
    x, v, a = axis[POSITION], axis[VELOCITY], axis[ACCELERATION]
    braking, jerk = box[PLANNED_BRAKING], box[PLANNED_JERK]
    axis[UPPER] = max(box[PLANNED_TRAVEL], min(axis[UPPER], highest_position(x, v, a, braking, jerk)))
    axis[LOWER] = min(-box[PLANNED_TRAVEL], max(axis[LOWER], -highest_position(-x, -v, -a, braking, jerk)))
    fastest = max(highest_velocity(v, a, jerk), highest_velocity(-v, -a, jerk))
    axis[FASTEST] = max(box[PLANNED_VELOCITY], min(axis[FASTEST], fastest))


@fused_kernel
def _stops(
    x: float,
    v: float,
    a: float,
    jerk: float,
    time: float,
    wall: float,
    fastest: float,
    braking: float,
    planned_jerk: float,
) -> bool:
    """Return whether ``jerk`` for ``time`` s and a stop after it stay below ``wall`` and ``fastest``.

    A falling acceleration is held once it is at −``braking``.
    """
    if jerk < 0.0 and a > -braking and a + jerk * time < -braking:
        time = (-braking - a) / jerk
    later = a + jerk * time
    speed = v + time * (a + 0.5 * time * jerk)
    top = highest_velocity(speed, later, planned_jerk)
    if a > 0.0 and later < 0.0:
        top = v - 0.5 * a * a / jerk
    if not top <= fastest:
        return False
    place = x + time * (v + time * (0.5 * a + time * jerk / 6.0))
    return highest_position(place, speed, later, braking, planned_jerk) <= wall


@fused_kernel
def _below(
    x: float,
    v: float,
    a: float,
    wanted: float,
    gentle: float,
    time: float,
    wall: float,
    fastest: float,
    braking: float,
    planned_jerk: float,
) -> float:
    """Return the greatest jerk up to ``wanted``, not below ``gentle``, after which the axis can stop."""
    if wanted <= gentle or _stops(x, v, a, wanted, time, wall, fastest, braking, planned_jerk):
        return wanted
    low, high = gentle, wanted
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if _stops(x, v, a, middle, time, wall, fastest, braking, planned_jerk):
            low = middle
        else:
            high = middle
    return low


@fused_kernel
def advance_axis(box: FloatArray, axis: FloatArray, wanted: float, period: float) -> None:
    """Advance an axis by ``period`` s towards the acceleration ``wanted`` at its end; not a number is 0.

    ``box`` (BOX_SIZE,) by ``box()``, ``axis`` (AXIS_SIZE,).
    """
    x, v, a = axis[POSITION], axis[VELOCITY], axis[ACCELERATION]
    largest, braking, planned_jerk = box[MAX_JERK], box[PLANNED_BRAKING], box[PLANNED_JERK]
    if not abs(wanted) < math.inf:
        wanted = 0.0
    low = min(max((-box[MAX_ACCELERATION] - a) / period, -largest), largest)
    high = max(min((box[MAX_ACCELERATION] - a) / period, largest), -largest)
    jerk = min(max((wanted - a) / period, low), high)
    ahead = _PERIODS_AHEAD * period
    # The hardest that a wall may make the axis brake: to −θ, and back to it no faster than planned.
    down = min(max((-box[BRAKING] - a) / period, low), planned_jerk, high)
    up = max(min((box[BRAKING] - a) / period, high), -planned_jerk, low)
    jerk = _below(x, v, a, jerk, down, ahead, axis[UPPER], axis[FASTEST], braking, planned_jerk)
    jerk = -_below(-x, -v, -a, -jerk, -up, ahead, -axis[LOWER], axis[FASTEST], braking, planned_jerk)
    axis[POSITION] = x + period * (v + period * (0.5 * a + period * jerk / 6.0))
    axis[VELOCITY] = v + period * (a + 0.5 * period * jerk)
    axis[ACCELERATION] = a + period * jerk
    axis[JERK] = jerk
    _close_in(box, axis)
