"""Shared memory through which the loader passes checked profiles to the loop without blocking it.

Two slots: the loader fills the one that is not running, the loop is then given its number. The memory is
mapped before the loop locks its own, so that taking a profile over costs it no system call. A slot is a head
of float64 numbers, followed by the arrays and by what is simulated beside them
(``mastd.loop.payload.pickling``).
"""

from __future__ import annotations

import mmap
import os
from typing import Annotated, NamedTuple

import numpy as np

from mastd.arrays import FloatArray, IntArray
from mastd.control.sine.corrected_sine import SINE_SIZE
from mastd.index_table import Entry, index_table, size_of
from mastd.loop.payload.loaded_profile import Driven, LoadedProfile, OnTable
from mastd.loop.payload.pickling import MAX_BYTES, pack, unpack
from mastd.motion.profile.timeline import KNOT_SPACING, Timeline
from mastd.ring.memory import shared_memory
from mastd.safety.profile_limits import LIMIT_NUMBERS, MAX_CHECKS
from mastd.settings.profile.profile import MAX_MOTION

SLOTS = 2
MAX_ROWS = round((MAX_MOTION + 10.0) / KNOT_SPACING)
"""Spline rows of the longest profile, with what its segments' ends add."""
MAX_BLOCKS = 1024
NAME_BYTES = 320
RIGS_BYTES = 320
"""Of the names of a profile's rigs, a line each: all that a profile may name."""
MODEL_SIZE = 11


class HeadRow(NamedTuple):
    """Head of a slot."""

    filled: Annotated[int, Entry("1", "1 once the slot is complete")]
    rows: Annotated[int, Entry("1", "rows of the spline")]
    blocks: Annotated[int, Entry("1", "blocks of the spline")]
    repeats: Annotated[int, Entry("1", "times that the spline is repeated")]
    level_limit: Annotated[int, Entry("1", "maximum master gain")]
    checks: Annotated[int, Entry("1", "checks of the profile's limits")]
    pickle: Annotated[int, Entry("bytes", "what is simulated beside the arrays")]
    vehicle_key: Annotated[int, Entry("1", "which vehicle that is")]
    is_driven: Annotated[int, Entry("1", "1 for a profile that makes its own motion")]
    sines: Annotated[int, Entry("1", "corrected sines")]
    model: Annotated[int, Entry("SI", "of table and payload", MODEL_SIZE)]
    name: Annotated[int, Entry("text", "of the profile", NAME_BYTES // 8)]
    rigs: Annotated[int, Entry("text", "names of its rigs, a line each", RIGS_BYTES // 8)]
    limits: Annotated[int, Entry("SI", "rows of the checks", MAX_CHECKS * LIMIT_NUMBERS)]
    sine_rows: Annotated[int, Entry("SI", "rows of the corrected sines", MAX_BLOCKS * SINE_SIZE)]


HEAD = index_table(HeadRow)
HEAD_SIZE = size_of(HEAD)
ARRAYS = HEAD_SIZE + 3 * (MAX_BLOCKS + 1) + 6 * MAX_ROWS
SLOT_NUMBERS = ARRAYS + MAX_BYTES // 8


class ProfileSlots:
    """Both slots; the loop makes them, the loader opens them by the file descriptor."""

    def __init__(self, descriptor: int | None = None) -> None:
        size = 8 * SLOT_NUMBERS * SLOTS
        self._owned = descriptor is None
        if descriptor is None:
            descriptor = shared_memory("profiles", size)
        self.descriptor = descriptor
        memory = mmap.mmap(descriptor, size)
        self._numbers: FloatArray = np.frombuffer(memory, dtype=np.float64)
        self._integers: IntArray = np.frombuffer(memory, dtype=np.int64)

    def close(self) -> None:
        """Let go of the memory; it vanishes with the last profile that was read from it."""
        if self._owned:
            os.close(self.descriptor)

    def write(self, slot: int, loaded: LoadedProfile) -> None:
        """Fill a slot that is not played; raise ValueError if the profile is larger than a slot."""
        simulated = loaded.vehicle or loaded.driven
        pickled = pack(simulated) if simulated is not None else b""
        timeline = loaded.timeline
        rows, blocks = len(timeline.coefficients), len(timeline.intervals)
        if rows > MAX_ROWS or blocks > MAX_BLOCKS:
            raise ValueError(
                f"{loaded.name}: {rows} rows in {blocks} blocks, maximum {MAX_ROWS} in {MAX_BLOCKS}"
            )
        head = self._numbers[slot * SLOT_NUMBERS :][:HEAD_SIZE]
        head[HEAD.filled] = 0.0
        head[HEAD.rows], head[HEAD.blocks], head[HEAD.repeats] = rows, blocks, timeline.repeats
        head[HEAD.level_limit], head[HEAD.checks] = loaded.level_limit, len(loaded.limits)
        head[HEAD.pickle], head[HEAD.vehicle_key] = len(pickled), loaded.vehicle_key
        head[HEAD.is_driven] = loaded.is_driven
        self._pickle(slot, len(pickled))[:] = pickled
        head[HEAD.model : HEAD.model + MODEL_SIZE] = loaded.model
        head[HEAD.name : HEAD.rigs] = _text_numbers(loaded.name, NAME_BYTES)
        head[HEAD.rigs : HEAD.limits] = _text_numbers("\n".join(loaded.rigs), RIGS_BYTES)
        head[HEAD.limits :][: loaded.limits.size] = loaded.limits.ravel()
        head[HEAD.sines] = len(loaded.corrected_sines)
        head[HEAD.sine_rows :][: loaded.corrected_sines.size] = loaded.corrected_sines.ravel()
        first_rows, intervals, starts, coefficients = self._arrays(slot, rows, blocks)
        first_rows[:] = timeline.first_rows
        intervals[:] = timeline.intervals
        starts[:] = timeline.starts
        coefficients[:] = timeline.coefficients
        head[HEAD.filled] = 1.0

    def read(self, slot: int, serial: int, *, vehicles: bool = True) -> LoadedProfile | None:
        """Return the profile in a slot, as views of the memory; None if there is none.

        ``serial`` is what its loading is called from now on. ``vehicles``: also make what is simulated, which
        takes some milliseconds. Raises ValueError for a vehicle that cannot be read.
        """
        if not 0 <= slot < SLOTS:
            return None
        head = self._numbers[slot * SLOT_NUMBERS :][:HEAD_SIZE]
        rows, blocks = int(head[HEAD.rows]), int(head[HEAD.blocks])
        if not (head[HEAD.filled] == 1.0 and 0 < rows <= MAX_ROWS and 0 < blocks <= MAX_BLOCKS):
            return None
        if not (0 <= int(head[HEAD.checks]) <= MAX_CHECKS and 0 <= int(head[HEAD.pickle]) <= MAX_BYTES):
            return None
        if not 0 <= int(head[HEAD.sines]) <= blocks:
            return None
        simulated = (
            unpack(self._pickle(slot, int(head[HEAD.pickle]))) if head[HEAD.pickle] and vehicles else None
        )
        if not isinstance(simulated, OnTable | Driven | None):
            raise ValueError("the slot holds no valid vehicle")
        first_rows, intervals, starts, coefficients = self._arrays(slot, rows, blocks)
        return LoadedProfile(
            serial,
            slot,
            _text(head[HEAD.name : HEAD.rigs]),
            Timeline(coefficients, first_rows, intervals, starts, int(head[HEAD.repeats])),
            float(head[HEAD.level_limit]),
            head[HEAD.model : HEAD.model + MODEL_SIZE],
            head[HEAD.limits :][: int(head[HEAD.checks]) * LIMIT_NUMBERS].reshape(-1, LIMIT_NUMBERS),
            int(head[HEAD.vehicle_key]),
            simulated if isinstance(simulated, OnTable) else None,
            bool(head[HEAD.is_driven]),
            simulated if isinstance(simulated, Driven) else None,
            corrected_sines=head[HEAD.sine_rows :][: int(head[HEAD.sines]) * SINE_SIZE].reshape(
                -1, SINE_SIZE
            ),
            rigs=tuple(_text(head[HEAD.rigs : HEAD.limits]).split()),
        )

    def _pickle(self, slot: int, size: int) -> memoryview:
        start = 8 * (slot * SLOT_NUMBERS + ARRAYS)
        return self._numbers.data.cast("B")[start : start + size]

    def _arrays(self, slot: int, rows: int, blocks: int) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
        start = slot * SLOT_NUMBERS + HEAD_SIZE
        whole = self._integers[start : start + 3 * (MAX_BLOCKS + 1)]
        step = MAX_BLOCKS + 1
        numbers = start + 3 * step
        return (
            whole[:blocks],
            whole[step : step + blocks],
            whole[2 * step : 2 * step + blocks + 1],
            self._numbers[numbers : numbers + 6 * rows].reshape(rows, 6),
        )


def _text_numbers(text: str, size: int) -> FloatArray:
    """Return a text as numbers of ``size`` bytes, cut off where it is longer."""
    return np.frombuffer(text.encode()[:size].ljust(size, b"\0"), dtype=np.float64)


def _text(numbers: FloatArray) -> str:
    return numbers.tobytes().rstrip(b"\0").decode("utf-8", "ignore")
