"""Judge a step of a driven vehicle, compiled: whether it is sound, and what is felt at the seat."""

from __future__ import annotations

import math
from typing import Annotated, Final, NamedTuple

from mastd.arrays import FloatArray
from mastd.index_table import Entry, index_table
from mastd.kernel import fused_kernel
from mastd.vehicle.blocks.fields import REPORT
from mastd.vehicle.payload.seat import feel
from mastd.vehicle.state.trace import ANGLES, CHASSIS_WIDTH, VELOCITY

SOUND: Final = 0
MISSED: Final = 1
"""The step did not meet its tolerances."""
BROKEN: Final = 2
"""Not all of its numbers are finite."""


class WatchedIndex(NamedTuple):
    """What the fallbacks watch after a step."""

    roll: Annotated[int, Entry("rad", "")]
    pitch: Annotated[int, Entry("rad", "")]
    forward: Annotated[int, Entry("m/s", "speed along the chassis")]
    lateral: Annotated[int, Entry("m/s", "speed across the chassis")]
    outside: Annotated[int, Entry("m", "how far the wheel that is furthest outside is beside the road")]
    wheel: Annotated[int, Entry("1", "which wheel that is")]


WATCHED = index_table(WatchedIndex)

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
    watched: FloatArray,
) -> int:
    """Judge the step whose signals are ``table`` (1, width); return SOUND, MISSED or BROKEN.

    Sound signals go to ``row``, what is felt at ``seat`` (3) to ``felt`` (9), see
    ``mastd.vehicle.payload.seat``, and what the fallbacks watch to ``watched`` (WATCHED): all three stay as
    they are after a step that is BROKEN. ``wheels`` and ``drives`` count those of the vehicle.
    """
    for k in range(table.shape[1]):
        if not abs(table[0, k]) < math.inf:
            return BROKEN
    for k in range(table.shape[1]):
        row[k] = table[0, k]
    feel(row, seat, gravity, felt)
    watched[WATCHED.roll], watched[WATCHED.pitch] = row[_ANGLES], row[_ANGLES + 1]
    watched[WATCHED.forward], watched[WATCHED.lateral] = row[_VELOCITY], row[_VELOCITY + 1]
    # Metres outside are the last columns of the wheels, before the racks' and the engine's.
    first = row.shape[0] - 1 - drives - wheels
    watched[WATCHED.outside], watched[WATCHED.wheel] = 0.0, 0.0
    for k in range(wheels):
        if row[first + k] > watched[WATCHED.outside]:
            watched[WATCHED.outside], watched[WATCHED.wheel] = row[first + k], float(k)
    return SOUND if row[CHASSIS_WIDTH + REPORT.converged] > 0.0 else MISSED
