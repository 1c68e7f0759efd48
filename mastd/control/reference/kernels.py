"""The compiled part of the reference generator: its arrays, and one period of whatever is followed."""

from __future__ import annotations

import enum
from typing import Annotated, NamedTuple

import numpy as np

from mastd.arrays import FloatArray, IntArray
from mastd.control.reference.master_gain import MASTER_GAIN, advance_gain, gain_at, scale_path
from mastd.control.reference.paths import brake_path, fade_out, move_path
from mastd.control.reference.preview import (
    GRID,
    POINTS_PER_CYCLE,
    PREVIEW,
    Preview,
    note_point,
    update_limit,
)
from mastd.control.reference.stream import read_stream
from mastd.control.reference.time_scaling import TIME_SCALING, advance_time
from mastd.index_table import Entry, index_table, size_of
from mastd.kernel import entry_kernel, kernel
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


class TimesIndex(NamedTuple):
    """Times of moves, brakes and fades."""

    duration: Annotated[int, Entry("s", "of a move or brake")]
    fade: Annotated[int, Entry("s", "since the fade began, and of the whole fade: 0 for none", 2)]


TIMES = index_table(TimesIndex)


class State(NamedTuple):
    """What the generator keeps from period to period."""

    scaling: FloatArray
    """(TIME_SCALING,)."""
    gain: FloatArray
    """(MASTER_GAIN,)."""
    times: FloatArray
    """(TIMES,)."""
    path: FloatArray
    """(4, 6): the path at present, by path time, scaled by the master gain."""
    offset: FloatArray
    """(3, 6): position, rates, accelerations that fade out."""
    start: FloatArray
    """(6,) of a move or brake."""
    target: FloatArray
    """(6,) of a move."""
    rates: FloatArray
    """(6,) of a brake."""
    ahead: FloatArray
    """(4, 6), scratch: the path at another time."""
    ahead_scaling: FloatArray
    """(TIME_SCALING,), scratch."""
    factors: FloatArray
    """(3, 4), scratch: step of a move, gain ahead, fade ahead."""


STEP, GAIN, FADE = 0, 1, 2
"""Rows of ``factors``."""


class Spline(NamedTuple):
    """Arrays of ``mastd.motion.profile.timeline.Timeline``."""

    coefficients: FloatArray
    first_rows: IntArray
    intervals: IntArray
    starts: IntArray
    repeats: int


class Paths(NamedTuple):
    """What a path is read from: the generator's state, a stream's knots, a profile's spline."""

    state: State
    stream: FloatArray
    spline: Spline


def state_arrays() -> State:
    """Return the state before anything is followed, all zero."""
    return State(
        scaling=np.zeros(size_of(TIME_SCALING)),
        gain=np.zeros(size_of(MASTER_GAIN)),
        times=np.zeros(size_of(TIMES)),
        path=np.zeros((4, 6)),
        offset=np.zeros((3, 6)),
        start=np.zeros(6),
        target=np.zeros(6),
        rates=np.zeros(6),
        ahead=np.zeros((4, 6)),
        ahead_scaling=np.zeros(size_of(TIME_SCALING)),
        factors=np.zeros((3, 4)),
    )


_AT_ONCE = 1 << 30
"""Points of the preview in one cycle: all of them."""


@kernel
def write_path(source: int, paths: Paths, time: float, path: FloatArray) -> None:
    """Write the path of ``source`` at ``time`` into ``path`` (4, 6), without the master gain; REST stays."""
    state = paths.state
    if source == PROFILE:
        spline = paths.spline
        evaluate(
            spline.coefficients,
            spline.first_rows,
            spline.intervals,
            spline.starts,
            spline.repeats,
            time,
            path,
        )
    elif source == STREAM:
        read_stream(paths.stream, time, path)
    elif source == MOVE:
        move_path(state.start, state.target, state.times[TIMES.duration], time, state.factors[STEP], path)
    elif source == BRAKE:
        brake_path(state.start, state.rates, state.times[TIMES.duration], time, path)


@kernel
def evaluate_ahead(source: int, paths: Paths, preview: Preview, points: int) -> None:
    """Evaluate the points of the grid that have come within the horizon, at most ``points`` of them."""
    state = paths.state
    path, points_ahead = state.ahead, preview.state
    now = np.floor(state.scaling[TIME_SCALING.time] / GRID)
    end = now + preview.speeds.shape[0] - 1.0
    points_ahead[PREVIEW.next] = max(points_ahead[PREVIEW.next], now)
    while points_ahead[PREVIEW.next] <= end and points > 0:
        time = points_ahead[PREVIEW.next] * GRID
        write_path(source, paths, time, path)
        if source == PROFILE:
            ahead = max(time - state.scaling[TIME_SCALING.time], 0.0)
            gain_at(state.gain, ahead, state.factors[GAIN])
            scale_path(state.factors[GAIN], path)
        note_point(preview, path)
        points -= 1
    update_limit(preview, now, points_ahead[PREVIEW.next] > end)


@kernel
def compose(path: FloatArray, scaling: FloatArray, out: FloatArray) -> None:
    """Write pose, rates, accelerations, jerks (4, 6) of the path at the speed of its time."""
    s, s1 = scaling[TIME_SCALING.speed], scaling[TIME_SCALING.rate]
    s2 = scaling[TIME_SCALING.acceleration]
    for axis in range(6):
        out[0, axis] = path[0, axis]
        out[1, axis] = path[1, axis] * s
        out[2, axis] = path[2, axis] * s * s + path[1, axis] * s1
        out[3, axis] = path[3, axis] * s * s * s + 3.0 * path[2, axis] * s * s1 + path[1, axis] * s2


@kernel
def foresee(source: int, paths: Paths, limit: float, ahead: float, out: FloatArray) -> None:
    """Write into ``out`` (4, 6) what ``advance`` would after ``ahead`` s more, if nothing is asked meanwhile.

    ``limit``: of the preview on σ. Negative ``ahead`` looks back, which is exact only while the speed of path
    time does not change.
    """
    state = paths.state
    scaling, path = state.ahead_scaling, state.ahead
    for k in range(scaling.shape[0]):
        scaling[k] = state.scaling[k]
    if ahead > 0.0:
        advance_time(scaling, min(scaling[TIME_SCALING.requested], limit), ahead)
    else:
        time = scaling[TIME_SCALING.time] + ahead * scaling[TIME_SCALING.speed]
        scaling[TIME_SCALING.time] = max(time, 0.0)
    if source == REST:
        for row in range(4):
            for axis in range(6):
                path[row, axis] = state.path[row, axis]
    write_path(source, paths, scaling[TIME_SCALING.time], path)
    if source == PROFILE:
        passed = max(scaling[TIME_SCALING.time] - state.scaling[TIME_SCALING.time], 0.0)
        gain_at(state.gain, passed, state.factors[GAIN])
        scale_path(state.factors[GAIN], path)
    compose(path, scaling, out)
    fade = state.factors[FADE, :2]
    fade[0], fade[1] = state.times[TIMES.fade], state.times[TIMES.fade + 1]
    if fade[1] > 0.0 and fade[0] + ahead > 0.0:
        fade_out(state.offset, fade, ahead, out)


@entry_kernel
def advance(
    source: int,
    paths: Paths,
    preview: Preview,
    times: tuple[float, float, float],
    out: FloatArray,
    later: FloatArray,
) -> None:
    """Advance path time, write the path of ``source``, compose ``out`` (4, 6) and evaluate the points ahead.

    ``times``: s to advance, s of ``later`` after that, s of a period. ``later`` (m, 4, 6) takes the motions
    that long after the new one and the m − 1 before that, a period apart, oldest first.
    """
    dt, ahead, period = times
    state, scaling = paths.state, paths.state.scaling
    previewed = preview.neutral_lengths.shape[0] > 0 and source in (PROFILE, MOVE)
    if previewed and preview.state[PREVIEW.at_start] != 0.0:
        preview.state[PREVIEW.at_start] = 0.0
        evaluate_ahead(source, paths, preview, _AT_ONCE)
        # A path begins at rest, so at any speed.
        scaling[TIME_SCALING.speed] = min(scaling[TIME_SCALING.speed], preview.state[PREVIEW.limit])
    before = scaling[TIME_SCALING.time]
    advance_time(scaling, min(scaling[TIME_SCALING.requested], preview.state[PREVIEW.limit]), dt)
    write_path(source, paths, scaling[TIME_SCALING.time], state.path)
    if source == PROFILE:
        advance_gain(state.gain, scaling[TIME_SCALING.time] - before)
        scale_path(state.gain[MASTER_GAIN.gain :], state.path)
    compose(state.path, scaling, out)
    if state.times[TIMES.fade + 1] > 0.0:
        fade_out(state.offset, state.times[TIMES.fade :], dt, out)
    if previewed:
        evaluate_ahead(source, paths, preview, POINTS_PER_CYCLE)
    count = later.shape[0]
    for k in range(count):
        foresee(source, paths, preview.state[PREVIEW.limit], ahead - (count - 1 - k) * period, later[k])
