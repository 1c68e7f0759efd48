"""Amplitude, phase and harmonics of a sine, corrected while it plays: one compiled period.

To the path that is asked for, accelerations a_k cos kθ + b_k sin kθ of each axis of the pose are added, k
from 1 to ``HARMONICS``, with the positions, rates and jerks that belong to them; θ = ω·(path time since the
play of the sine began). As a part of the path they go slower, stand and grow with it
(``mastd.control.reference.time_scaling``, ``mastd.control.reference.master_gain``), and rise and fall with
the sine's own window (``mastd.motion.profile.fades``).

What is missing is found by demodulation: over M ≥ 2 whole periods, with a Hann window whose zeros lie on all
other multiples of the frequency,

    z_k = 2 Σ w (measured − asked) e^(−ikθ) / Σ w,      w = 1 − cos(2π·share of the window),

measured being the acceleration that this cycle's sample shows, asked and θ those of the cycle before, which
it answers. Each window then takes a share 1 − e^(−window/``TIME``) of it off the phasors: an integrator for
each multiple, stable while the table's response to its reference is turned by less than a quarter of a
period (in simulation: 10° up to 80 Hz, where its gain is down to 0.35). New phasors come in by the smooth
step of the fades, not before the time that the control has looked ahead to, so what was foreseen holds.

No link is moved by more of it than ``BUDGET``: Σ k·|Σ_axis J·phasor_k| stays below it for every link, J the
Euler-rate Jacobian. Weighted with k that bounds position, rate, acceleration and jerk alike against those of
a sine of that acceleration. While path time does not run at full speed, an envelope takes it all away.
"""

from __future__ import annotations

import math

import numpy as np

from mastd.arrays import FloatArray
from mastd.control.reference.kernels import LEVEL, WARP, compose
from mastd.control.reference.master_gain import (
    ERROR,
    GAIN,
    LEVEL_SIZE,
    LEVEL_TARGET,
    TIME_CONSTANT,
    advance_level,
    level_at,
    scale_path,
)
from mastd.control.reference.preview import LIMIT
from mastd.control.reference.time_scaling import FIRST, SECOND, SPEED, WANTED, WARP_SIZE, advance_speed
from mastd.control.reference.time_scaling import TIME as PATH_TIME
from mastd.control.sine.corrected_sine import (
    BUDGET,
    HARMONICS,
    OMEGA,
    PLAY,
    REST,
    RISE,
    TIME,
    sine_at,
    smooth_step_jets,
    time_in_play,
    window_jets,
    window_time,
)
from mastd.kernel import fused_kernel, separate_kernel
from mastd.kinematics.geometry import Legs
from mastd.kinematics.jacobian import euler_jacobian

# what changes every cycle
ELAPSED, PERIOD, AHEAD, WAITED, ON_PATH, ANSWERED, BROKEN = range(7)
NOW = 7
"""s since the last cycle; s of a period; s that is looked ahead; s that references wait for the valves;
whether the profile is the path, whether this cycle's sample answers the last one's reference alone, whether
the motion does not go on from the last one."""

MAX_HARMONICS = 10
MAX_SHARE = 0.5
"""Of what is missing, that one window takes off."""
MIN_WEIGHT = 0.9
"""Share of a window's samples that must have come."""
MIN_LEVEL = 0.02
"""Below it nothing is learned: what is measured would be divided by it."""
BLEND_SHARE = 0.9
"""Of a window, in which new phasors come in: they are in before the next ones, and begin only after what has
been looked ahead to."""
HELD_SHARE, STEP_SHARE = 0.9, 0.1
"""Of the budget, for phasors and for their change in a window: while it comes in, its rate adds to the latter
by at most as much again."""
MIN_ENVELOPE_TIME = 0.1
"""s: time constant of the envelope, or one radian of the sine where that is longer."""

(
    OWNER,
    PLACE,
    LEAVING,
    WINDOW,
    BLEND,
    WEIGHT,
    BOUNDED,
    STEADY,
    LAST_TIME,
    LAST_COSINE,
    LAST_SINE,
    LAST_LEVEL,
) = range(12)
"""Sine that the phasors belong to, sine that is played, −1 for none; whether its path was left; path time at
which window and blend began, window −1 for none; sum of weights; whether the budget bounds it; of the last
cycle: whether it can be learned from, path time, cos θ, sin θ, level."""
LAST_ASKED = 12
_SIZES = (
    LAST_ASKED + 6,
    WARP_SIZE,
    LEVEL_SIZE,
    LEVEL_SIZE,
    WARP_SIZE,
    4 * 4,
    3 * 24,
    MAX_HARMONICS * 12,
    MAX_HARMONICS * 12,
    MAX_HARMONICS * 12,
)
(HEAD, OWN_WARP, OWN_LEVEL, ENVELOPE, LATER_WARP, FACTORS, PATHS, HELD, STEP, SUMS) = (
    sum(_SIZES[:place]) for place in range(len(_SIZES))
)
STATE_SIZE = sum(_SIZES)
"""Phasors are laid out as (MAX_HARMONICS, 12): a of the six axes, then b."""


def correction_state() -> FloatArray:
    """Return the state before anything is played."""
    state = np.zeros(STATE_SIZE)
    state[[OWNER, PLACE, WINDOW]] = -1.0
    state[BLEND] = -math.inf
    return state


@fused_kernel
def copy(source: FloatArray, target: FloatArray) -> None:
    """Write ``source`` into ``target``, without the copy between that an assignment would make."""
    for k in range(source.shape[0]):
        target[k] = source[k]


@fused_kernel
def add_waves(sine: FloatArray, phasors: FloatArray, cosine: float, sinus: float, path: FloatArray) -> None:
    """Write position, rate, acceleration, jerk (4, 6) that the ``phasors`` are at a phase of the sine."""
    path[:] = 0.0
    c, s = 1.0, 0.0
    for k in range(int(sine[HARMONICS])):
        c, s = c * cosine - s * sinus, s * cosine + c * sinus
        omega = (k + 1.0) * sine[OMEGA]
        inverse = 1.0 / omega
        square = inverse * inverse
        for axis in range(6):
            a, b = phasors[k, axis], phasors[k, 6 + axis]
            level = a * c + b * s
            slope = b * c - a * s
            path[0, axis] -= level * square
            path[1, axis] -= slope * inverse
            path[2, axis] += level
            path[3, axis] += slope * omega


@fused_kernel
def add_correction(
    sine: FloatArray,
    state: FloatArray,
    warp: FloatArray,
    level: FloatArray,
    envelope: FloatArray,
    motion: FloatArray,
    out: FloatArray,
) -> None:
    """Write ``motion`` (4, 6) and what corrects it, at the path time and its speed that ``warp`` tells.

    ``level`` and ``envelope`` (4,): gain of the path by its time, share of the correction by time.
    """
    held = state[HELD:STEP].reshape((MAX_HARMONICS, 12))
    step = state[STEP:SUMS].reshape((MAX_HARMONICS, 12))
    factors = state[FACTORS:PATHS].reshape((4, 4))
    paths = state[PATHS:HELD].reshape((3, 4, 6))
    time = warp[PATH_TIME]
    local = time_in_play(sine, time)
    cosine, sinus = math.cos(sine[OMEGA] * local), math.sin(sine[OMEGA] * local)
    blend_rate = 1.0 / (BLEND_SHARE * window_time(sine))
    window_jets(sine, local, factors[0])
    smooth_step_jets((time - state[BLEND]) * blend_rate, blend_rate, factors[1])
    add_waves(sine, held, cosine, sinus, paths[0])
    if factors[1, 0] > 0.0:
        add_waves(sine, step, cosine, sinus, paths[1])
        scale_path(factors[1], paths[1])
        for row in range(4):
            for axis in range(6):
                paths[0, row, axis] += paths[1, row, axis]
    scale_path(factors[0], paths[0])
    scale_path(level, paths[0])
    compose(paths[0], warp, paths[2])
    scale_path(envelope, paths[2])
    for row in range(4):
        for axis in range(6):
            out[row, axis] = motion[row, axis] + paths[2, row, axis]


@fused_kernel
def demand(sine: FloatArray, phasors: FloatArray, jacobian: FloatArray) -> float:
    """Return what the link that is moved most is moved by, each multiple weighted with its number: m/s²."""
    largest = 0.0
    for i in range(jacobian.shape[0]):
        total = 0.0
        for k in range(int(sine[HARMONICS])):
            a, b = 0.0, 0.0
            for axis in range(6):
                a += jacobian[i, axis] * phasors[k, axis]
                b += jacobian[i, axis] * phasors[k, 6 + axis]
            total += (k + 1.0) * math.sqrt(a * a + b * b)
        largest = max(largest, total)
    return largest


@fused_kernel
def take_off(sine: FloatArray, state: FloatArray, waited: float, jacobian: FloatArray) -> None:
    """Take a share of what a whole window has shown off the phasors, within the budget."""
    held = state[HELD:STEP].reshape((MAX_HARMONICS, 12))
    step = state[STEP:SUMS].reshape((MAX_HARMONICS, 12))
    sums = state[SUMS:].reshape((MAX_HARMONICS, 12))
    share = min(1.0 - math.exp(-window_time(sine) / sine[TIME]), MAX_SHARE)
    scale = 2.0 * share / state[WEIGHT]
    for k in range(int(sine[HARMONICS])):
        # What was asked is answered so much later: the correction must come as much earlier.
        turn = (k + 1.0) * sine[OMEGA] * waited
        c, s = scale * math.cos(turn), scale * math.sin(turn)
        for axis in range(6):
            held[k, axis] += step[k, axis]
            held[k, 6 + axis] += step[k, 6 + axis]
            a, b = sums[k, axis], sums[k, 6 + axis]
            step[k, axis] = held[k, axis] - (a * c + b * s)
            step[k, 6 + axis] = held[k, 6 + axis] - (b * c - a * s)
    wanted = demand(sine, step, jacobian)
    most = HELD_SHARE * sine[BUDGET]
    kept = min(1.0, most / wanted) if wanted > 0.0 else 1.0
    state[BOUNDED] = kept < 1.0
    for k in range(int(sine[HARMONICS])):
        for column in range(12):
            step[k, column] = kept * step[k, column] - held[k, column]
    change = demand(sine, step, jacobian)
    most = STEP_SHARE * sine[BUDGET]
    kept = min(1.0, most / change) if change > 0.0 else 1.0
    for k in range(int(sine[HARMONICS])):
        for column in range(12):
            step[k, column] *= kept


@fused_kernel
def forget_window(state: FloatArray) -> None:
    """Begin the next demodulation anew."""
    state[WINDOW], state[WEIGHT] = -1.0, 0.0
    state[SUMS:] = 0.0


@fused_kernel
def note_sample(sine: FloatArray, state: FloatArray, measured: FloatArray) -> None:
    """Add what the last cycle's reference has been answered by to the demodulation."""
    sums = state[SUMS:].reshape((MAX_HARMONICS, 12))
    share = (state[LAST_TIME] - state[WINDOW]) / window_time(sine)
    weight = 1.0 - math.cos(2.0 * math.pi * share)
    state[WEIGHT] += weight
    weight /= state[LAST_LEVEL]
    c, s = 1.0, 0.0
    cosine, sinus = state[LAST_COSINE], state[LAST_SINE]
    for k in range(int(sine[HARMONICS])):
        c, s = c * cosine - s * sinus, s * cosine + c * sinus
        for axis in range(6):
            missing = weight * (measured[axis] - state[LAST_ASKED + axis])
            sums[k, axis] += missing * c
            sums[k, 6 + axis] += missing * s


@fused_kernel
def set_envelope(envelope: FloatArray, target: float) -> None:
    """Let the envelope go to ``target`` from now on."""
    for k in range(3):
        envelope[ERROR + k] += envelope[LEVEL_TARGET] - target
    envelope[LEVEL_TARGET] = target


@fused_kernel
def stop_envelope(envelope: FloatArray, value: float) -> None:
    """Put the envelope to ``value`` at once: while there is nothing to be seen of it."""
    envelope[ERROR : ERROR + 3] = envelope[GAIN:] = 0.0
    envelope[LEVEL_TARGET] = envelope[GAIN] = value


@fused_kernel
def forget_sine(state: FloatArray) -> None:
    """Let go of the sine and of what was learned."""
    state[OWNER] = state[PLACE] = -1.0
    state[LEAVING] = state[STEADY] = state[BOUNDED] = 0.0


@fused_kernel
def meet_sine(sines: FloatArray, state: FloatArray, number: int) -> None:
    """Take over which sine is played; one that goes on, or comes again next, keeps its phasors."""
    state[PLACE] = float(number)
    state[STEADY] = state[BOUNDED] = 0.0
    if number < 0:
        return
    envelope = state[ENVELOPE:LATER_WARP]
    envelope[TIME_CONSTANT] = max(MIN_ENVELOPE_TIME, 1.0 / sines[number, OMEGA])
    stop_envelope(envelope, 1.0 if state[OWN_WARP + SPEED] == 1.0 else 0.0)
    if state[OWNER] != number:
        state[OWNER] = float(number)
        state[BLEND] = -math.inf
        state[HELD:SUMS] = 0.0


@fused_kernel
def find_place(sines: FloatArray, reference: FloatArray, state: FloatArray, now: FloatArray) -> int:
    """Return the sine that is played, or whose correction is still fading; −1 for none. Own clock goes on."""
    warp, level = state[OWN_WARP:OWN_LEVEL], state[OWN_LEVEL:ENVELOPE]
    envelope = state[ENVELOPE:LATER_WARP]
    if now[BROKEN] > 0.0:
        state[STEADY] = 0.0
        stop_envelope(envelope, 0.0)
        if state[LEAVING] > 0.0:
            forget_sine(state)
    if now[ON_PATH] > 0.0 and state[LEAVING] == 0.0:
        copy(reference[WARP : WARP + WARP_SIZE], warp)
        copy(reference[LEVEL : LEVEL + LEVEL_SIZE], level)
        number = sine_at(sines, warp[PATH_TIME])
        if float(number) != state[PLACE]:
            meet_sine(sines, state, number)
        return number
    if state[PLACE] < 0.0 or (envelope[GAIN] == 0.0 and envelope[LEVEL_TARGET] == 0.0):
        forget_sine(state)
        return -1
    if state[LEAVING] == 0.0:
        # The path is another one: this one is followed at its last speed until nothing of it is left.
        state[LEAVING], state[STEADY] = 1.0, 0.0
        warp[FIRST] = warp[SECOND] = 0.0
        warp[WANTED] = warp[SPEED]
        level[LEVEL_TARGET] = level[GAIN]
        level[ERROR : ERROR + 3] = level[GAIN + 1 :] = 0.0
    warp[PATH_TIME] += warp[SPEED] * now[ELAPSED]
    if sine_at(sines, warp[PATH_TIME]) != int(state[PLACE]):
        forget_sine(state)
    return int(state[PLACE])


@separate_kernel
def correct(
    sines: FloatArray,
    reference: FloatArray,
    preview: FloatArray,
    state: FloatArray,
    now: FloatArray,
    legs: Legs,
    jacobian: FloatArray,
    measured: FloatArray,
    motion: FloatArray,
    later: FloatArray,
    corrected: FloatArray,
    corrected_later: FloatArray,
) -> bool:
    """Write the corrected ``motion`` (4, 6) and ``later`` (m, 4, 6); return False if there is no correction.

    ``sines`` (k, SINE_SIZE); ``reference``, ``preview``: blocks of the reference generator after its advance;
    ``state`` of ``correction_state``; ``now`` (NOW,); ``legs`` of the geometry, ``jacobian`` (n, 6) to
    be written; ``measured`` (6,): acceleration of the pose that this cycle's sample shows.
    """
    number = find_place(sines, reference, state, now)
    if number < 0:
        return False
    sine = sines[number]
    warp, level = state[OWN_WARP:OWN_LEVEL], state[OWN_LEVEL:ENVELOPE]
    envelope = state[ENVELOPE:LATER_WARP]
    full = warp[SPEED] == 1.0 and warp[WANTED] == 1.0 and state[LEAVING] == 0.0
    target = 1.0 if full else 0.0
    if envelope[LEVEL_TARGET] != target:
        set_envelope(envelope, target)
    advance_level(envelope, now[ELAPSED])

    if state[STEADY] > 0.0 and now[BROKEN] == 0.0:
        if state[WINDOW] >= 0.0 and state[LAST_TIME] - state[WINDOW] >= window_time(sine):
            if state[WEIGHT] * now[PERIOD] >= MIN_WEIGHT * window_time(sine):
                euler_jacobian(legs, motion[0], jacobian)
                take_off(sine, state, now[WAITED], jacobian)
                state[BLEND] = warp[PATH_TIME] + now[AHEAD]
            forget_window(state)
        if state[WINDOW] < 0.0:
            state[WINDOW] = state[LAST_TIME]
        if now[ANSWERED] > 0.0:
            note_sample(sine, state, measured)
    elif state[WINDOW] >= 0.0:
        forget_window(state)

    count = later.shape[0]
    ahead_warp = state[LATER_WARP:FACTORS]
    factors = state[FACTORS:PATHS].reshape((4, 4))
    for k in range(count):
        ahead = now[AHEAD] - (count - 1 - k) * now[PERIOD]
        copy(warp, ahead_warp)
        if ahead > 0.0:
            wanted = warp[WANTED]
            if state[LEAVING] == 0.0:
                wanted = min(wanted, preview[LIMIT])
            advance_speed(ahead_warp, wanted, ahead)
        else:
            ahead_warp[PATH_TIME] = max(warp[PATH_TIME] + ahead * warp[SPEED], 0.0)
        if sine_at(sines, ahead_warp[PATH_TIME]) == number:
            level_at(level, max(ahead_warp[PATH_TIME] - warp[PATH_TIME], 0.0), factors[2])
            level_at(envelope, max(ahead, 0.0), factors[3])
            add_correction(sine, state, ahead_warp, factors[2], factors[3], later[k], corrected_later[k])
        else:
            for row in range(4):
                copy(later[k, row], corrected_later[k, row])
    add_correction(sine, state, warp, level[GAIN:], envelope[GAIN:], motion, corrected)

    local = time_in_play(sine, warp[PATH_TIME])
    state[LAST_TIME], state[LAST_LEVEL] = warp[PATH_TIME], level[GAIN]
    state[LAST_COSINE], state[LAST_SINE] = math.cos(sine[OMEGA] * local), math.sin(sine[OMEGA] * local)
    copy(motion[2], state[LAST_ASKED:OWN_WARP])
    settled = envelope[GAIN] == 1.0 and level[ERROR] == 0.0 and level[ERROR + 2] == 0.0
    risen = min(local, sine[PLAY] - local) >= sine[REST] + sine[RISE]
    state[STEADY] = full and settled and risen and level[GAIN] >= MIN_LEVEL
    return True
