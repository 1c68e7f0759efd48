"""From a vehicle's signals to the numbers of the frame: seat, comfort, wheels. One compiled call a period."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel
from mastd.signals.comfort import STATE_SIZE, design, weigh
from mastd.vehicle.blocks.fields import REPORT, REPORT_SIZE
from mastd.vehicle.payload.seat import FELT, feel
from mastd.vehicle.state.trace import CHASSIS_WIDTH
from mastd.wire.common import vehicle_block as b

_OF_WHEEL = (0, 2, 3, 4, 7)
"""Which quantities of a wheel in ``TraceLayout`` become ``PER_WHEEL``."""


class SeatSensor(NamedTuple):
    """What is measured at one seat: where, and the frequency weighting with its state."""

    position: FloatArray
    """(3), m from the chassis' centre of mass."""
    gravity: float
    weights: FloatArray
    """Constants of ``mastd.signals.comfort``."""
    weighing: FloatArray
    """(STATE_SIZE), state of the weighting."""
    felt: FloatArray
    """(FELT), what the seat feels, written."""

    @classmethod
    def of(cls, position: FloatArray, gravity: float, period: float) -> SeatSensor:
        """Return the sensor of a seat at ``position``, for samples ``period`` s apart."""
        return cls(position, gravity, design(1.0 / period), np.zeros(STATE_SIZE), np.zeros(FELT))


@fused_kernel
def note_vehicle(
    row: FloatArray, load: FloatArray, wheels: int, seat: SeatSensor, first: int, out: FloatArray
) -> float:
    """Write the numbers of ``vehicle_block`` into ``out``; return how far a wheel is outside, m.

    ``row``: the vehicle's signals (``TraceLayout``); ``first``: index of the first wheel. NaN where the
    vehicle's motion, or what it loads a table with, ``load`` (6), is not finite.
    """
    gravity, felt = seat.gravity, seat.felt
    feel(row, seat.position, gravity, felt)
    sound = 0.0
    for k in range(CHASSIS_WIDTH):
        sound += 0.0 * row[k]
    for k in range(6):
        sound += 0.0 * load[k]
    for k in range(3):
        out[b.ACCELERATION + k] = row[6 + k]
        out[b.SEAT + k] = felt[k]
        out[b.ATTITUDE + k] = row[9 + k]
    out[b.SEAT + 2] -= gravity
    weigh(seat.weights, seat.weighing, out[b.SEAT : b.SEAT + 3], out[b.WEIGHTED : b.WEIGHTED + 9])
    out[b.SPEED] = row[3]
    out[b.YAW_RATE] = row[14]
    out[b.ITERATIONS] = row[CHASSIS_WIDTH + REPORT.iterations]
    out[b.CONVERGED] = row[CHASSIS_WIDTH + REPORT.converged]
    beside = 0.0
    start = CHASSIS_WIDTH + REPORT_SIZE
    for wheel in range(wheels):
        at = first + wheel
        for quantity in _OF_WHEEL:
            out[at] = row[start + quantity * wheels + wheel]
            at += wheels
        beside = max(beside, row[start + 7 * wheels + wheel])
    return beside + sound if math.isfinite(sound) else math.nan
