"""A look at a step of a driven vehicle, compiled: whether it is sound, and what is felt at the seat."""

from __future__ import annotations

import math
from typing import Final

from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel
from mastd.vehicle.blocks.fields import REPORT
from mastd.vehicle.payload.seat import feel
from mastd.vehicle.state.trace import ANGLES, CHASSIS_WIDTH, VELOCITY

SOUND: Final = 0
MISSED: Final = 1
"""The step did not meet its tolerances."""
BROKEN: Final = 2
"""Not all of its numbers are finite."""

ROLL, PITCH, AHEAD, ASIDE, OUTSIDE, WHEEL = range(6)
"""Places of a glance: roll and pitch in rad, speeds along and across the chassis in m/s, how far the wheel
that is furthest outside is beside the road in m, and which one it is."""
GLANCE: Final = 6

_ANGLES, _VELOCITY = ANGLES.start, VELOCITY.start


@fused_kernel
def judge(
    table: FloatArray,
    wheels: int,
    drives: int,
    seat: FloatArray,
    gravity: float,
    row: FloatArray,
    felt: FloatArray,
    glance: FloatArray,
) -> int:
    """Look at the step whose signals are ``table`` (1, width); return SOUND, MISSED or BROKEN.

    Sound signals go to ``row``, what is felt at ``seat`` (3) to ``felt`` (9), see
    ``mastd.vehicle.payload.seat``, and what a watch looks at to ``glance`` (GLANCE): all three stay as they
    are after a step that is BROKEN. ``wheels`` and ``drives`` count those of the vehicle.
    """
    for k in range(table.shape[1]):
        if not abs(table[0, k]) < math.inf:
            return BROKEN
    for k in range(table.shape[1]):
        row[k] = table[0, k]
    feel(row, seat, gravity, felt)
    glance[ROLL], glance[PITCH] = row[_ANGLES], row[_ANGLES + 1]
    glance[AHEAD], glance[ASIDE] = row[_VELOCITY], row[_VELOCITY + 1]
    # Metres outside are the last columns of the wheels, before the racks' and the engine's.
    first = row.shape[0] - 1 - drives - wheels
    glance[OUTSIDE], glance[WHEEL] = 0.0, 0.0
    for k in range(wheels):
        if row[first + k] > glance[OUTSIDE]:
            glance[OUTSIDE], glance[WHEEL] = row[first + k], float(k)
    return SOUND if row[CHASSIS_WIDTH + REPORT.converged] > 0.0 else MISSED
