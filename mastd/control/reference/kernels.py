"""The compiled part of the reference generator: its state block, and one period of whatever is followed."""

from __future__ import annotations

import enum

import numpy as np

from mastd.arrays import FloatArray, IntArray
from mastd.control.reference.master_gain import GAIN, LEVEL_SIZE, advance_level, level_at, scale_path
from mastd.control.reference.paths import brake_path, fade_out, move_path
from mastd.control.reference.preview import (
    CELLS,
    FRESH,
    GRID,
    LIMIT,
    LINKS,
    NEXT,
    POINTS_PER_CYCLE,
    note_point,
    update_limit,
)
from mastd.control.reference.stream import read_stream
from mastd.control.reference.time_scaling import FIRST, SECOND, SPEED, TIME, WANTED, WARP_SIZE, advance_speed
from mastd.kernel import kernel
from mastd.motion.profile.timeline import evaluate


class Source(enum.IntEnum):
    """What the path is."""

    REST = 0
    MOVE = 1
    PROFILE = 2
    BRAKE = 3
    STREAM = 4


REST, MOVE, PROFILE, BRAKE, STREAM = (int(source) for source in Source)
ON_PATH = frozenset({Source.PROFILE, Source.STREAM})
"""Sources that a loaded profile makes."""

# places in the generator's state block
_SIZES = (WARP_SIZE, LEVEL_SIZE, 24, 24, 18, 2, 6, 6, 6, 4, 4, 1, WARP_SIZE, 2)
(WARP, LEVEL, PATH, AHEAD, OFFSET, FADE, START, TARGET, RATES, STEP, FACTOR, DURATION, LATER, LATER_FADE) = (
    sum(_SIZES[:place]) for place in range(len(_SIZES))
)
STATE_SIZE = sum(_SIZES)

_AT_ONCE = 1 << 30
"""Points of the preview in one cycle: all of them."""


@kernel
def write_path(
    source: int,
    state: FloatArray,
    stream: FloatArray,
    coefficients: FloatArray,
    first_rows: IntArray,
    intervals: IntArray,
    starts: IntArray,
    repeats: int,
    time: float,
    path: FloatArray,
) -> None:
    """Write the path of ``source`` at path time ``time``, level apart, into ``path`` (4, 6); REST stays."""
    if source == PROFILE:
        evaluate(coefficients, first_rows, intervals, starts, repeats, time, path)
    elif source == STREAM:
        read_stream(stream, time, path)
    elif source == MOVE:
        start, target = state[START : START + 6], state[TARGET : TARGET + 6]
        move_path(start, target, state[DURATION], time, state[STEP : STEP + 4], path)
    elif source == BRAKE:
        brake_path(state[START : START + 6], state[RATES : RATES + 6], state[DURATION], time, path)


@kernel
def look_ahead(
    source: int,
    state: FloatArray,
    stream: FloatArray,
    preview: FloatArray,
    coefficients: FloatArray,
    first_rows: IntArray,
    intervals: IntArray,
    starts: IntArray,
    repeats: int,
    points: int,
) -> None:
    """Look at the points of the grid that have come within the horizon, at most ``points`` of them."""
    now = np.floor(state[WARP + TIME] / GRID)
    end = now + preview[CELLS] - 1.0
    preview[NEXT] = max(preview[NEXT], now)
    path = state[AHEAD : AHEAD + 24].reshape((4, 6))
    while preview[NEXT] <= end and points > 0:
        time = preview[NEXT] * GRID
        write_path(source, state, stream, coefficients, first_rows, intervals, starts, repeats, time, path)
        if source == PROFILE:
            ahead = max(time - state[WARP + TIME], 0.0)
            level_at(state[LEVEL : LEVEL + LEVEL_SIZE], ahead, state[FACTOR : FACTOR + 4])
            scale_path(state[FACTOR : FACTOR + 4], path)
        note_point(preview, path)
        points -= 1
    update_limit(preview, now, preview[NEXT] > end)


@kernel
def compose(path: FloatArray, warp: FloatArray, out: FloatArray) -> None:
    """Write pose, rates, accelerations, jerks (4, 6) of the path at the speed of its time."""
    s, s1, s2 = warp[SPEED], warp[FIRST], warp[SECOND]
    for axis in range(6):
        out[0, axis] = path[0, axis]
        out[1, axis] = path[1, axis] * s
        out[2, axis] = path[2, axis] * s * s + path[1, axis] * s1
        out[3, axis] = path[3, axis] * s * s * s + 3.0 * path[2, axis] * s * s1 + path[1, axis] * s2


@kernel
def foresee(
    source: int,
    state: FloatArray,
    stream: FloatArray,
    preview: FloatArray,
    coefficients: FloatArray,
    first_rows: IntArray,
    intervals: IntArray,
    starts: IntArray,
    repeats: int,
    ahead: float,
    out: FloatArray,
) -> None:
    """Write into ``out`` (4, 6) what ``advance`` would after ``ahead`` s more, if nothing is asked meanwhile.

    Negative ``ahead`` looks back, which is exact only while the speed of path time does not change.
    """
    warp = state[LATER : LATER + WARP_SIZE]
    warp[:] = state[WARP : WARP + WARP_SIZE]
    if ahead > 0.0:
        advance_speed(warp, min(warp[WANTED], preview[LIMIT]), ahead)
    else:
        warp[TIME] = max(warp[TIME] + ahead * warp[SPEED], 0.0)
    path = state[AHEAD : AHEAD + 24].reshape((4, 6))
    if source == REST:
        path[:] = state[PATH : PATH + 24].reshape((4, 6))
    write_path(source, state, stream, coefficients, first_rows, intervals, starts, repeats, warp[TIME], path)
    if source == PROFILE:
        passed = max(warp[TIME] - state[WARP + TIME], 0.0)
        level_at(state[LEVEL : LEVEL + LEVEL_SIZE], passed, state[FACTOR : FACTOR + 4])
        scale_path(state[FACTOR : FACTOR + 4], path)
    compose(path, warp, out)
    fade = state[LATER_FADE : LATER_FADE + 2]
    fade[:] = state[FADE : FADE + 2]
    if fade[1] > 0.0 and fade[0] + ahead > 0.0:
        fade_out(state[OFFSET : OFFSET + 18].reshape((3, 6)), fade, ahead, out)


@kernel
def advance(
    source: int,
    state: FloatArray,
    stream: FloatArray,
    preview: FloatArray,
    coefficients: FloatArray,
    first_rows: IntArray,
    intervals: IntArray,
    starts: IntArray,
    repeats: int,
    dt: float,
    out: FloatArray,
    ahead: float,
    period: float,
    later: FloatArray,
) -> None:
    """Advance path time by ``dt``, write the path of ``source``, compose ``out`` (4, 6) and look ahead.

    ``state`` (STATE_SIZE,) is the generator's block, ``stream`` that of a path that is made on the way,
    ``preview`` the look-ahead's; the arrays after them are the timeline's. ``later`` (m, 4, 6) takes the
    motions ``ahead`` s after the new one and the m − 1 before that, ``period`` s apart, oldest first.
    """
    warp = state[WARP : WARP + WARP_SIZE]
    looking = preview[LINKS] > 0.0 and source in (PROFILE, MOVE)
    if looking and preview[FRESH] != 0.0:
        preview[FRESH] = 0.0
        look_ahead(
            source, state, stream, preview, coefficients, first_rows, intervals, starts, repeats, _AT_ONCE
        )
        warp[SPEED] = min(warp[SPEED], preview[LIMIT])  # a path begins at rest, so at any speed
    before = warp[TIME]
    advance_speed(warp, min(warp[WANTED], preview[LIMIT]), dt)
    path = state[PATH : PATH + 24].reshape((4, 6))
    write_path(source, state, stream, coefficients, first_rows, intervals, starts, repeats, warp[TIME], path)
    if source == PROFILE:
        advance_level(state[LEVEL : LEVEL + LEVEL_SIZE], warp[TIME] - before)
        scale_path(state[LEVEL + GAIN : LEVEL + GAIN + 4], path)
    compose(path, warp, out)
    if state[FADE + 1] > 0.0:
        fade_out(state[OFFSET : OFFSET + 18].reshape((3, 6)), state[FADE : FADE + 2], dt, out)
    if looking:
        look_ahead(
            source,
            state,
            stream,
            preview,
            coefficients,
            first_rows,
            intervals,
            starts,
            repeats,
            POINTS_PER_CYCLE,
        )
    count = later.shape[0]
    for k in range(count):
        foresee(
            source,
            state,
            stream,
            preview,
            coefficients,
            first_rows,
            intervals,
            starts,
            repeats,
            ahead - (count - 1 - k) * period,
            later[k],
        )
