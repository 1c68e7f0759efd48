"""One axis inside its box: |x| ≤ X, |v| ≤ V, |a| ≤ A, |jerk| ≤ J, whatever is asked of it, for ever.

Each period has one constant jerk, so position is a cubic of time and the box holds between the periods too.
The jerk is the wanted one, unless the axis could no longer stop inside the box after it: then it is the
nearest one after which it can. "Can stop" is the stop of ``mastd.motion.washout.stopping`` with a braking
acceleration θ ≤ A of its own, so that an axis which must feel gentle may brake gently before the wall and
still be moved hard.

The stop is planned with a part of θ and J, and inside a box that is smaller by what a grid of periods cannot
follow: a planned switch of jerk falls inside a period, which costs at most JT²/8 of velocity, and a reversal
may lie between the points that are evaluated. A jerk is judged
by the stop after several periods of it (``_PERIODS_AHEAD``): judged after one, the jerk that meets the wall
exactly over- and undershoots in turn, the sampling zero of an integrator.

An axis that begins outside its box, or too fast to stop in it, goes no further out than it must.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from mastd.arrays import FloatArray
from mastd.index_table import Entry, index_table
from mastd.kernel import fused_kernel
from mastd.motion.washout.stopping import highest_position, highest_velocity


class AxisIndex(NamedTuple):
    """State of an axis; m or rad and s."""

    position: int
    velocity: int
    acceleration: int
    jerk: Annotated[int, Entry("m/s^3, rad/s^3", "of the last period")]
    upper: Annotated[int, Entry("m, rad", "end of the box that is planned for")]
    lower: Annotated[int, Entry("m, rad", "end of the box that is planned for")]
    fastest: Annotated[int, Entry("m/s, rad/s", "velocity that is planned for")]


class BoxIndex(NamedTuple):
    """Constants of a box; m or rad and s."""

    max_acceleration: int
    max_jerk: int
    braking: Annotated[int, Entry("m/s^2, rad/s^2", "before a wall")]
    planned_travel: int
    planned_velocity: int
    planned_braking: int
    planned_jerk: int


AXIS = index_table(AxisIndex)
BOX = index_table(BoxIndex)


class Stop(NamedTuple):
    """What a stop is planned with."""

    wall: float
    fastest: float
    braking: float
    jerk: float


_PLANNED_JERK = 0.8
_PLANNED_BRAKING = 0.95
_PLANNED_BOX = 0.999
_PERIODS_AHEAD = 4.0
_HALVINGS = 20


def box(
    travel: float, velocity: float, acceleration: float, jerk: float, braking: float, period: float
) -> FloatArray:
    """Return the constants (BOX,) of an axis whose period is ``period`` s.

    ``travel`` X, ``velocity`` V, ``acceleration`` A, ``jerk`` J, all to either side, and the acceleration θ =
    ``braking`` ≤ A with which it stops before a wall; in m or rad and s.
    """
    lost = 0.125 * jerk * period**2
    reversal = 0.125 * braking * (_PERIODS_AHEAD * period) ** 2
    return np.array(
        [
            acceleration,
            jerk,
            braking,
            max(_PLANNED_BOX * travel - lost * math.sqrt(2.0 * travel / braking) - reversal, 0.0),
            max(_PLANNED_BOX * velocity - lost, 0.0),
            _PLANNED_BRAKING * braking,
            _PLANNED_JERK * jerk,
        ]
    )


@fused_kernel
def enter(box: FloatArray, axis: FloatArray, position: float, velocity: float, acceleration: float) -> None:
    """Start an axis from any state."""
    axis[AXIS.position] = position
    axis[AXIS.velocity] = velocity
    axis[AXIS.acceleration] = acceleration
    axis[AXIS.jerk] = 0.0
    axis[AXIS.upper] = math.inf
    axis[AXIS.lower] = -math.inf
    axis[AXIS.fastest] = math.inf
    _close_in(box, axis)


@fused_kernel
def _close_in(box: FloatArray, axis: FloatArray) -> None:
    """Draw the walls in to the box, as far as the axis can stop before them."""
    x, v, a = axis[AXIS.position], axis[AXIS.velocity], axis[AXIS.acceleration]
    braking, jerk = box[BOX.planned_braking], box[BOX.planned_jerk]
    axis[AXIS.upper] = max(
        box[BOX.planned_travel], min(axis[AXIS.upper], highest_position(x, v, a, braking, jerk))
    )
    axis[AXIS.lower] = min(
        -box[BOX.planned_travel], max(axis[AXIS.lower], -highest_position(-x, -v, -a, braking, jerk))
    )
    fastest = max(highest_velocity(v, a, jerk), highest_velocity(-v, -a, jerk))
    axis[AXIS.fastest] = max(box[BOX.planned_velocity], min(axis[AXIS.fastest], fastest))


@fused_kernel
def _stops(motion: tuple[float, float, float], jerk: float, time: float, stop: Stop) -> bool:
    """Return whether ``jerk`` for ``time`` s and a stop after it stay below wall and fastest of ``stop``.

    ``motion``: position, velocity, acceleration. A falling acceleration is held once it is at −braking.
    """
    x, v, a = motion
    if jerk < 0.0 and a > -stop.braking and a + jerk * time < -stop.braking:
        time = (-stop.braking - a) / jerk
    later = a + jerk * time
    speed = v + time * (a + 0.5 * time * jerk)
    top = highest_velocity(speed, later, stop.jerk)
    if a > 0.0 and later < 0.0:
        top = v - 0.5 * a * a / jerk
    if not top <= stop.fastest:
        return False
    position = x + time * (v + time * (0.5 * a + time * jerk / 6.0))
    return highest_position(position, speed, later, stop.braking, stop.jerk) <= stop.wall


@fused_kernel
def _below(
    motion: tuple[float, float, float], wanted: float, gentle: float, time: float, stop: Stop
) -> float:
    """Return the greatest jerk up to ``wanted``, not below ``gentle``, after which the axis can stop."""
    if wanted <= gentle or _stops(motion, wanted, time, stop):
        return wanted
    low, high = gentle, wanted
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if _stops(motion, middle, time, stop):
            low = middle
        else:
            high = middle
    return low


@fused_kernel
def advance_axis(box: FloatArray, axis: FloatArray, wanted: float, period: float) -> None:
    """Advance an axis by ``period`` s towards the acceleration ``wanted`` at its end; not a number is 0.

    ``box`` (BOX,) by ``box()``, ``axis`` (AXIS,).
    """
    x, v, a = axis[AXIS.position], axis[AXIS.velocity], axis[AXIS.acceleration]
    largest, braking, planned_jerk = box[BOX.max_jerk], box[BOX.planned_braking], box[BOX.planned_jerk]
    if not abs(wanted) < math.inf:
        wanted = 0.0
    low = min(max((-box[BOX.max_acceleration] - a) / period, -largest), largest)
    high = max(min((box[BOX.max_acceleration] - a) / period, largest), -largest)
    jerk = min(max((wanted - a) / period, low), high)
    ahead = _PERIODS_AHEAD * period
    # The hardest that a wall may make the axis brake: to −θ, and back to it no faster than planned.
    down = min(max((-box[BOX.braking] - a) / period, low), planned_jerk, high)
    up = max(min((box[BOX.braking] - a) / period, high), -planned_jerk, low)
    upper = Stop(axis[AXIS.upper], axis[AXIS.fastest], braking, planned_jerk)
    lower = Stop(-axis[AXIS.lower], axis[AXIS.fastest], braking, planned_jerk)
    jerk = _below((x, v, a), jerk, down, ahead, upper)
    jerk = -_below((-x, -v, -a), -jerk, -up, ahead, lower)
    axis[AXIS.position] = x + period * (v + period * (0.5 * a + period * jerk / 6.0))
    axis[AXIS.velocity] = v + period * (a + 0.5 * period * jerk)
    axis[AXIS.acceleration] = a + period * jerk
    axis[AXIS.jerk] = jerk
    _close_in(box, axis)
