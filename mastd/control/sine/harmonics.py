"""Amplitude, phase and harmonics of a sine, corrected while it plays: one compiled period.

To the path that is asked for, accelerations a_k cos kθ + b_k sin kθ of each axis of the pose are added, k
from 1 to ``HARMONICS``, with the positions, rates and jerks that belong to them; θ = ω·(path time since the
play of the sine began). As a part of the path they go slower, stand and grow with it
(``mastd.control.reference.time_scaling``, ``mastd.control.reference.master_gain``), and rise and fall with
the sine's own window (``mastd.motion.profile.fades``).

What is missing is found by demodulation: over M ≥ 2 whole periods, with a Hann window whose zeros lie on all
other multiples of the frequency,

    z_k = 2 Σ w (measured − asked) e^(−ikθ) / Σ w,      w = 1 − cos(2π·part of the window),

measured being the acceleration that this cycle's sample shows, asked and θ those of the cycle before, which
it answers. Each window then takes a part 1 − e^(−window/``time``) of it off the phasors: an integrator for
each multiple, stable while the table's response to its reference is shifted by less than a quarter of a
period (in simulation: 10° up to 80 Hz, where its gain is down to 0.35). New phasors come in by the smooth
step of the fades, not before the time that the control has looked ahead to, so what was foreseen holds.

No actuator is moved by more of it than its budget: Σ k·|Σ_axis J·phasor_k| stays below it for
each, J the Euler-rate Jacobian. Weighted with k that bounds position, rate, acceleration and jerk alike
against those of a sine of that acceleration. While path time does not run at full speed, an envelope fades it
out.
"""

from __future__ import annotations

import math

from mastd.arrays import FloatArray
from mastd.control.reference.kernels import compose
from mastd.control.reference.master_gain import MASTER_GAIN, advance_gain, gain_at, scale_path
from mastd.control.reference.preview import PREVIEW
from mastd.control.reference.time_scaling import TIME_SCALING, advance_time
from mastd.control.sine.corrected_sine import (
    SINE,
    sine_at,
    smooth_step_jets,
    time_in_play,
    window_jets,
    window_time,
)
from mastd.control.sine.state import CYCLE, MEMORY, Correction, Followed
from mastd.kernel import fused_kernel, separate_kernel
from mastd.kinematics.geometry import Legs
from mastd.kinematics.jacobian import euler_jacobian

MAX_PART = 0.5
"""Of what is missing, that one window takes off."""
MIN_WEIGHT = 0.9
"""Part of a window's samples that must have come."""
MIN_GAIN = 0.02
"""Below it nothing is learned: what is measured would be divided by it."""
BLEND_PART = 0.9
"""Of a window, in which new phasors come in: they are in before the next ones, and begin only after what has
been looked ahead to."""
HELD_PART, STEP_PART = 0.9, 0.1
"""Of the budget, for phasors and for their change in a window: while it comes in, its rate adds to the latter
by at most as much again."""
MIN_ENVELOPE_TIME = 0.1
"""s: time constant of the envelope, or one radian of the sine where that is longer."""


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
    for k in range(int(sine[SINE.harmonics])):
        c, s = c * cosine - s * sinus, s * cosine + c * sinus
        omega = (k + 1.0) * sine[SINE.omega]
        inverse = 1.0 / omega
        square = inverse * inverse
        for axis in range(6):
            a, b = phasors[k, axis], phasors[k, 6 + axis]
            value = a * c + b * s
            slope = b * c - a * s
            path[0, axis] -= value * square
            path[1, axis] -= slope * inverse
            path[2, axis] += value
            path[3, axis] += slope * omega


@fused_kernel
def add_correction(
    sine: FloatArray,
    state: Correction,
    scaling: FloatArray,
    gain: FloatArray,
    envelope: FloatArray,
    motion: FloatArray,
    out: FloatArray,
) -> None:
    """Write ``motion`` (4, 6) and what corrects it, at the path time and speed of ``scaling``.

    ``gain`` and ``envelope`` (4,): of the path by its time, of the correction by time.
    """
    factors, paths = state.factors, state.paths
    time = scaling[TIME_SCALING.time]
    local = time_in_play(sine, time)
    cosine, sinus = math.cos(sine[SINE.omega] * local), math.sin(sine[SINE.omega] * local)
    blend_rate = 1.0 / (BLEND_PART * window_time(sine))
    window_jets(sine, local, factors[0])
    smooth_step_jets((time - state.memory[MEMORY.blend]) * blend_rate, blend_rate, factors[1])
    add_waves(sine, state.held, cosine, sinus, paths[0])
    if factors[1, 0] > 0.0:
        add_waves(sine, state.step, cosine, sinus, paths[1])
        scale_path(factors[1], paths[1])
        for row in range(4):
            for axis in range(6):
                paths[0, row, axis] += paths[1, row, axis]
    scale_path(factors[0], paths[0])
    scale_path(gain, paths[0])
    compose(paths[0], scaling, paths[2])
    scale_path(envelope, paths[2])
    for row in range(4):
        for axis in range(6):
            out[row, axis] = motion[row, axis] + paths[2, row, axis]


@fused_kernel
def demand(sine: FloatArray, phasors: FloatArray, jacobian: FloatArray) -> float:
    """Return the largest acceleration of an actuator, each multiple weighted with its number: m/s²."""
    largest = 0.0
    for i in range(jacobian.shape[0]):
        total = 0.0
        for k in range(int(sine[SINE.harmonics])):
            a, b = 0.0, 0.0
            for axis in range(6):
                a += jacobian[i, axis] * phasors[k, axis]
                b += jacobian[i, axis] * phasors[k, 6 + axis]
            total += (k + 1.0) * math.sqrt(a * a + b * b)
        largest = max(largest, total)
    return largest


@fused_kernel
def update_phasors(sine: FloatArray, state: Correction, delay: float) -> None:
    """Subtract a part of what a whole window has shown from the phasors, within the budget."""
    held, step, sums = state.held, state.step, state.sums
    part = min(1.0 - math.exp(-window_time(sine) / sine[SINE.time]), MAX_PART)
    scale = 2.0 * part / state.memory[MEMORY.weight]
    for k in range(int(sine[SINE.harmonics])):
        # What was asked is answered so much later: the correction must come as much earlier.
        lag = (k + 1.0) * sine[SINE.omega] * delay
        c, s = scale * math.cos(lag), scale * math.sin(lag)
        for axis in range(6):
            held[k, axis] += step[k, axis]
            held[k, 6 + axis] += step[k, 6 + axis]
            a, b = sums[k, axis], sums[k, 6 + axis]
            step[k, axis] = held[k, axis] - (a * c + b * s)
            step[k, 6 + axis] = held[k, 6 + axis] - (b * c - a * s)
    wanted = demand(sine, step, state.jacobian)
    largest = HELD_PART * sine[SINE.budget]
    kept = min(1.0, largest / wanted) if wanted > 0.0 else 1.0
    state.memory[MEMORY.bounded] = kept < 1.0
    for k in range(int(sine[SINE.harmonics])):
        for column in range(12):
            step[k, column] = kept * step[k, column] - held[k, column]
    change = demand(sine, step, state.jacobian)
    largest = STEP_PART * sine[SINE.budget]
    kept = min(1.0, largest / change) if change > 0.0 else 1.0
    for k in range(int(sine[SINE.harmonics])):
        for column in range(12):
            step[k, column] *= kept


@fused_kernel
def reset_window(state: Correction) -> None:
    """Drop the present demodulation."""
    state.memory[MEMORY.window], state.memory[MEMORY.weight] = -1.0, 0.0
    state.sums[:] = 0.0


@fused_kernel
def note_sample(sine: FloatArray, state: Correction, measured: FloatArray) -> None:
    """Add what the last cycle's reference has been answered by to the demodulation."""
    memory, sums = state.memory, state.sums
    ratio = (memory[MEMORY.last_time] - memory[MEMORY.window]) / window_time(sine)
    weight = 1.0 - math.cos(2.0 * math.pi * ratio)
    memory[MEMORY.weight] += weight
    weight /= memory[MEMORY.last_gain]
    c, s = 1.0, 0.0
    cosine, sinus = memory[MEMORY.last_cosine], memory[MEMORY.last_sine]
    for k in range(int(sine[SINE.harmonics])):
        c, s = c * cosine - s * sinus, s * cosine + c * sinus
        for axis in range(6):
            missing = weight * (measured[axis] - memory[MEMORY.last_asked + axis])
            sums[k, axis] += missing * c
            sums[k, 6 + axis] += missing * s


@fused_kernel
def set_envelope(envelope: FloatArray, target: float) -> None:
    """Let the envelope go to ``target`` from now on."""
    for k in range(3):
        envelope[MASTER_GAIN.error + k] += envelope[MASTER_GAIN.target] - target
    envelope[MASTER_GAIN.target] = target


@fused_kernel
def stop_envelope(envelope: FloatArray, value: float) -> None:
    """Set the envelope to ``value`` at once: while it has no effect."""
    envelope[MASTER_GAIN.error : MASTER_GAIN.time_constant] = envelope[MASTER_GAIN.gain :] = 0.0
    envelope[MASTER_GAIN.target] = envelope[MASTER_GAIN.gain] = value


@fused_kernel
def drop_sine(memory: FloatArray) -> None:
    """Drop the sine and what was learned."""
    memory[MEMORY.owner] = memory[MEMORY.playing] = -1.0
    memory[MEMORY.leaving] = memory[MEMORY.steady] = memory[MEMORY.bounded] = 0.0


@fused_kernel
def begin_sine(sines: FloatArray, state: Correction, number: int) -> None:
    """Take over which sine is played; one that goes on, or comes again next, keeps its phasors."""
    memory, envelope = state.memory, state.envelope
    memory[MEMORY.playing] = float(number)
    memory[MEMORY.steady] = memory[MEMORY.bounded] = 0.0
    if number < 0:
        return
    envelope[MASTER_GAIN.time_constant] = max(MIN_ENVELOPE_TIME, 1.0 / sines[number, SINE.omega])
    stop_envelope(envelope, 1.0 if state.scaling[TIME_SCALING.speed] == 1.0 else 0.0)
    if memory[MEMORY.owner] != number:
        memory[MEMORY.owner] = float(number)
        memory[MEMORY.blend] = -math.inf
        state.held[:] = 0.0
        state.step[:] = 0.0


@fused_kernel
def find_sine(sines: FloatArray, followed: Followed, state: Correction, cycle: FloatArray) -> int:
    """Advance the own clock; return the sine that is played, or whose correction still fades; −1 for none."""
    memory, scaling, gain, envelope = state.memory, state.scaling, state.gain, state.envelope
    if cycle[CYCLE.broken] > 0.0:
        memory[MEMORY.steady] = 0.0
        stop_envelope(envelope, 0.0)
        if memory[MEMORY.leaving] > 0.0:
            drop_sine(memory)
    if cycle[CYCLE.on_path] > 0.0 and memory[MEMORY.leaving] == 0.0:
        copy(followed.scaling, scaling)
        copy(followed.gain, gain)
        number = sine_at(sines, scaling[TIME_SCALING.time])
        if float(number) != memory[MEMORY.playing]:
            begin_sine(sines, state, number)
        return number
    faded = envelope[MASTER_GAIN.gain] == 0.0 and envelope[MASTER_GAIN.target] == 0.0
    if memory[MEMORY.playing] < 0.0 or faded:
        drop_sine(memory)
        return -1
    if memory[MEMORY.leaving] == 0.0:
        # The path is another one: this one is followed at its last speed until its correction has faded.
        memory[MEMORY.leaving], memory[MEMORY.steady] = 1.0, 0.0
        scaling[TIME_SCALING.rate] = scaling[TIME_SCALING.acceleration] = 0.0
        scaling[TIME_SCALING.requested] = scaling[TIME_SCALING.speed]
        gain[MASTER_GAIN.target] = gain[MASTER_GAIN.gain]
        gain[MASTER_GAIN.error : MASTER_GAIN.time_constant] = gain[MASTER_GAIN.gain + 1 :] = 0.0
    scaling[TIME_SCALING.time] += scaling[TIME_SCALING.speed] * cycle[CYCLE.elapsed]
    if sine_at(sines, scaling[TIME_SCALING.time]) != int(memory[MEMORY.playing]):
        drop_sine(memory)
    return int(memory[MEMORY.playing])


@fused_kernel
def learn(sine: FloatArray, followed: Followed, state: Correction, cycle: FloatArray, legs: Legs) -> None:
    """Demodulate this cycle's sample; at the end of a window take new phasors."""
    memory = state.memory
    if memory[MEMORY.steady] > 0.0 and cycle[CYCLE.broken] == 0.0:
        passed = memory[MEMORY.last_time] - memory[MEMORY.window]
        if memory[MEMORY.window] >= 0.0 and passed >= window_time(sine):
            if memory[MEMORY.weight] * cycle[CYCLE.period] >= MIN_WEIGHT * window_time(sine):
                euler_jacobian(legs, followed.motion[0], state.jacobian)
                update_phasors(sine, state, cycle[CYCLE.delay])
                memory[MEMORY.blend] = state.scaling[TIME_SCALING.time] + cycle[CYCLE.ahead]
            reset_window(state)
        if memory[MEMORY.window] < 0.0:
            memory[MEMORY.window] = memory[MEMORY.last_time]
        if cycle[CYCLE.answered] > 0.0:
            note_sample(sine, state, followed.measured)
    elif memory[MEMORY.window] >= 0.0:
        reset_window(state)


@fused_kernel
def scale_ahead(followed: Followed, state: Correction, ahead: float) -> None:
    """Write the time scaling ``ahead`` s from now."""
    scaling, there = state.scaling, state.ahead_scaling
    copy(scaling, there)
    if ahead > 0.0:
        requested = scaling[TIME_SCALING.requested]
        if state.memory[MEMORY.leaving] == 0.0:
            requested = min(requested, followed.preview[PREVIEW.limit])
        advance_time(there, requested, ahead)
    else:
        time = scaling[TIME_SCALING.time] + ahead * scaling[TIME_SCALING.speed]
        there[TIME_SCALING.time] = max(time, 0.0)


@fused_kernel
def note_cycle(sine: FloatArray, state: Correction, motion: FloatArray, full: bool) -> None:
    """Keep what the next cycle's sample answers; ``full``: path time runs at full speed."""
    memory, gain, envelope = state.memory, state.gain, state.envelope
    time = state.scaling[TIME_SCALING.time]
    local = time_in_play(sine, time)
    memory[MEMORY.last_time], memory[MEMORY.last_gain] = time, gain[MASTER_GAIN.gain]
    memory[MEMORY.last_cosine] = math.cos(sine[SINE.omega] * local)
    memory[MEMORY.last_sine] = math.sin(sine[SINE.omega] * local)
    copy(motion[2], memory[MEMORY.last_asked :])
    settled = gain[MASTER_GAIN.error] == 0.0 and gain[MASTER_GAIN.error + 2] == 0.0
    settled = settled and envelope[MASTER_GAIN.gain] == 1.0
    risen = min(local, sine[SINE.play] - local) >= sine[SINE.rest] + sine[SINE.rise]
    memory[MEMORY.steady] = full and settled and risen and gain[MASTER_GAIN.gain] >= MIN_GAIN


@separate_kernel
def correct(
    sines: FloatArray,
    followed: Followed,
    state: Correction,
    cycle: FloatArray,
    legs: Legs,
    later: FloatArray,
    corrected: FloatArray,
    corrected_later: FloatArray,
) -> bool:
    """Write the corrected motion (4, 6) and ``later`` (m, 4, 6); return False if there is no correction.

    ``sines`` (k, SINE); ``followed`` after the generator's advance; ``cycle`` (CYCLE,).
    """
    number = find_sine(sines, followed, state, cycle)
    if number < 0:
        return False
    sine = sines[number]
    scaling, gain, envelope = state.scaling, state.gain, state.envelope
    full = scaling[TIME_SCALING.speed] == 1.0 and scaling[TIME_SCALING.requested] == 1.0
    full = full and state.memory[MEMORY.leaving] == 0.0
    target = 1.0 if full else 0.0
    if envelope[MASTER_GAIN.target] != target:
        set_envelope(envelope, target)
    advance_gain(envelope, cycle[CYCLE.elapsed])
    learn(sine, followed, state, cycle, legs)
    count, there, factors = later.shape[0], state.ahead_scaling, state.factors
    for k in range(count):
        ahead = cycle[CYCLE.ahead] - (count - 1 - k) * cycle[CYCLE.period]
        scale_ahead(followed, state, ahead)
        if sine_at(sines, there[TIME_SCALING.time]) == number:
            gain_at(gain, max(there[TIME_SCALING.time] - scaling[TIME_SCALING.time], 0.0), factors[2])
            gain_at(envelope, max(ahead, 0.0), factors[3])
            add_correction(sine, state, there, factors[2], factors[3], later[k], corrected_later[k])
        else:
            for row in range(4):
                copy(later[k, row], corrected_later[k, row])
    factor, faded = gain[MASTER_GAIN.gain :], envelope[MASTER_GAIN.gain :]
    add_correction(sine, state, scaling, factor, faded, followed.motion, corrected)
    note_cycle(sine, state, followed.motion, full)
    return True
