"""State of the sine correction: phasors, window and envelope, and what changes every cycle."""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from mastd.arrays import FloatArray
from mastd.control.reference.master_gain import MASTER_GAIN
from mastd.control.reference.time_scaling import TIME_SCALING
from mastd.index_table import Entry, index_table, size_of

MAX_HARMONICS = 10


class CycleIndex(NamedTuple):
    """What changes every cycle."""

    elapsed: Annotated[int, Entry("s", "since the last cycle")]
    period: Annotated[int, Entry("s", "")]
    ahead: Annotated[int, Entry("s", "that the control foresees")]
    delay: Annotated[int, Entry("s", "that references wait for the valves")]
    on_path: Annotated[int, Entry("1", "whether the profile is the path")]
    answered: Annotated[int, Entry("1", "whether this cycle's sample answers the last one's reference alone")]
    broken: Annotated[int, Entry("1", "whether the motion does not go on from the last one")]


CYCLE = index_table(CycleIndex)


class MemoryIndex(NamedTuple):
    """What is kept of the sine that is played, and of the last cycle."""

    owner: Annotated[int, Entry("1", "sine that the phasors belong to, −1 for none")]
    playing: Annotated[int, Entry("1", "sine that is played, −1 for none")]
    leaving: Annotated[int, Entry("1", "whether its path was left")]
    window: Annotated[int, Entry("s", "path time at which the window began, −1 for none")]
    blend: Annotated[int, Entry("s", "path time at which new phasors begin to come in")]
    weight: Annotated[int, Entry("1", "sum of weights in the window")]
    bounded: Annotated[int, Entry("1", "whether the budget bounds the correction")]
    steady: Annotated[int, Entry("1", "whether it can be learned from the last cycle")]
    last_time: Annotated[int, Entry("s", "path time")]
    last_cosine: Annotated[int, Entry("1", "cos θ")]
    last_sine: Annotated[int, Entry("1", "sin θ")]
    last_gain: Annotated[int, Entry("1", "master gain")]
    last_asked: Annotated[int, Entry("m/s^2, rad/s^2", "acceleration of the pose", 6)]


MEMORY = index_table(MemoryIndex)


class Correction(NamedTuple):
    """State of the correction; phasors are laid out as (MAX_HARMONICS, 12): a of the six axes, then b."""

    memory: FloatArray
    """(MEMORY,)."""
    scaling: FloatArray
    """(TIME_SCALING,) of the sine's path."""
    gain: FloatArray
    """(MASTER_GAIN,) of the sine's path."""
    envelope: FloatArray
    """(MASTER_GAIN,) of the correction, by time."""
    held: FloatArray
    step: FloatArray
    """What comes in."""
    sums: FloatArray
    """Of the demodulation."""
    ahead_scaling: FloatArray
    """(TIME_SCALING,), scratch."""
    factors: FloatArray
    """(4, 4), scratch: window, blend, gain and envelope ahead, each with its derivatives."""
    paths: FloatArray
    """(3, 4, 6), scratch."""
    jacobian: FloatArray
    """(n, 6), scratch."""


class Followed(NamedTuple):
    """What the reference generator has just followed, and what was measured."""

    scaling: FloatArray
    """(TIME_SCALING,)."""
    gain: FloatArray
    """(MASTER_GAIN,)."""
    preview: FloatArray
    """(PREVIEW,)."""
    motion: FloatArray
    """(4, 6)."""
    measured: FloatArray
    """(6,): acceleration of the pose that this cycle's sample shows."""


def correction_state(actuators: int) -> Correction:
    """Return the state before anything is played."""
    state = Correction(
        memory=np.zeros(size_of(MEMORY)),
        scaling=np.zeros(size_of(TIME_SCALING)),
        gain=np.zeros(size_of(MASTER_GAIN)),
        envelope=np.zeros(size_of(MASTER_GAIN)),
        held=np.zeros((MAX_HARMONICS, 12)),
        step=np.zeros((MAX_HARMONICS, 12)),
        sums=np.zeros((MAX_HARMONICS, 12)),
        ahead_scaling=np.zeros(size_of(TIME_SCALING)),
        factors=np.zeros((4, 4)),
        paths=np.zeros((3, 4, 6)),
        jacobian=np.zeros((actuators, 6)),
    )
    reset(state)
    return state


def reset(state: Correction) -> None:
    """Put the state to what it is before anything is played."""
    for array in state:
        array[:] = 0.0
    state.memory[[MEMORY.owner, MEMORY.playing, MEMORY.window]] = -1.0
    state.memory[MEMORY.blend] = -math.inf
