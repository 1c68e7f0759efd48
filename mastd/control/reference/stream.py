"""A path that is made while it is followed: knots at equal times, joined by quintics.

Somebody who cannot be asked what comes later (a driven vehicle, a rig) gives pose, rates and accelerations of
the next knot, one period after the last. Between two knots each axis is the quintic that has both knots'
positions, rates and accelerations, so that the path can be read at any time between, at any speed of its
time, with continuous accelerations. Knots are kept for as long as a stall may make the path skip them.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from mastd.arrays import FloatArray
from mastd.index_table import Entry, index_table, size_of
from mastd.kernel import fused_kernel

KNOTS = 256
"""Knots that are kept: a quarter of a second at 1 kHz."""
_KNOT = 18


class StreamIndex(NamedTuple):
    """Block of a stream."""

    period: Annotated[int, Entry("s", "between two knots")]
    newest: Annotated[int, Entry("1", "number of the newest knot")]
    knots: Annotated[int, Entry("m, rad, s", "pose, rates, accelerations of each, a ring", KNOTS * _KNOT)]


STREAM = index_table(StreamIndex)


def stream_block(period: float) -> FloatArray:
    """Return the block of a stream with knots ``period`` s apart, all of them at the neutral pose."""
    block = np.zeros(size_of(STREAM))
    block[STREAM.period] = period
    return block


@fused_kernel
def begin_stream(stream: FloatArray, motion: FloatArray) -> None:
    """Begin at path time 0 with pose, rates and accelerations ``motion`` (≥ 3, 6)."""
    stream[STREAM.newest] = -1.0
    add_knot(stream, motion)


@fused_kernel
def add_knot(stream: FloatArray, motion: FloatArray) -> None:
    """Add the next knot: pose, rates, accelerations ``motion`` (≥ 3, 6)."""
    stream[STREAM.newest] += 1.0
    first = STREAM.knots + _KNOT * (int(stream[STREAM.newest]) % KNOTS)
    for row in range(3):
        for axis in range(6):
            stream[first + 6 * row + axis] = motion[row, axis]


@fused_kernel
def read_stream(stream: FloatArray, time: float, path: FloatArray) -> None:
    """Write pose and its first three derivatives at path time ``time`` s into ``path`` (4, 6).

    Beyond the newest knot the path is that at the newest one.
    """
    h = stream[STREAM.period]
    newest = int(stream[STREAM.newest])
    left = min(max(math.floor(time / h), newest - KNOTS + 1, 0), newest - 1)
    if left < 0:
        for axis in range(6):
            path[0, axis], path[1, axis] = stream[STREAM.knots + axis], stream[STREAM.knots + 6 + axis]
            path[2, axis], path[3, axis] = stream[STREAM.knots + 12 + axis], 0.0
        return
    u = min(time / h - left, 1.0)
    a = STREAM.knots + _KNOT * (left % KNOTS)
    b = STREAM.knots + _KNOT * ((left + 1) % KNOTS)
    for axis in range(6):
        p, v, w = stream[a + axis], stream[a + 6 + axis] * h, stream[a + 12 + axis] * h * h
        # What the cubic from the left leaves at the right, in position, rate and acceleration.
        d0 = stream[b + axis] - (p + v + 0.5 * w)
        d1 = stream[b + 6 + axis] * h - (v + w)
        d2 = stream[b + 12 + axis] * h * h - w
        c3 = 10.0 * d0 - 4.0 * d1 + 0.5 * d2
        c4 = -15.0 * d0 + 7.0 * d1 - d2
        c5 = 6.0 * d0 - 3.0 * d1 + 0.5 * d2
        path[0, axis] = p + u * (v + u * (0.5 * w + u * (c3 + u * (c4 + u * c5))))
        path[1, axis] = (v + u * (w + u * (3.0 * c3 + u * (4.0 * c4 + u * 5.0 * c5)))) / h
        path[2, axis] = (w + u * (6.0 * c3 + u * (12.0 * c4 + u * 20.0 * c5))) / (h * h)
        path[3, axis] = (6.0 * c3 + u * (24.0 * c4 + u * 60.0 * c5)) / (h * h * h)
