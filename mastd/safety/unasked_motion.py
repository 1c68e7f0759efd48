"""Compiled detector of motion that nobody asked for: measured less reference acceleration of the pose.

Of each of the six axes the effective value (rms) over a window is compared with a limit that grows with what
is asked of this axis, and a little with what is asked of all. An oscillation of the control shows here long
before it reaches a limit of the table, and in axes that no profile drives.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mastd.arrays import FloatArray, IntArray
from mastd.kernel import kernel
from mastd.safety.codes import Code

UNASKED_MOTION = int(Code.UNASKED_MOTION)
MAXIMUM = 1.0e4
"""m/s² that anything above, and what is no number, counts as."""


class UnaskedModel(NamedTuple):
    """Limits of the detector."""

    arm: float
    """m at which a rotation counts as a translation."""
    limit: float
    """m/s² that may be unasked for where the table stands."""
    own_ratio: float
    """Of the acceleration asked of an axis, what may be missing or too much in it."""
    cross_ratio: float
    """Of the acceleration asked of all axes together, what may be unasked for in each."""


class UnaskedState(NamedTuple):
    """Memory of the detector; w samples are the window."""

    squares: FloatArray
    """(w, 12) squares of what is unasked for in each axis, then of what is asked of each, m²/s⁴."""
    sums: FloatArray
    """(12,) of the rows of ``squares``."""
    position: IntArray
    """(1,) row that is the oldest, -1 while the window is empty."""
    found: FloatArray
    """(3,) axis, effective value and limit of what has tripped last, m/s²."""

    @classmethod
    def of(cls, samples: int) -> UnaskedState:
        """Return the memory before anything was measured."""
        return cls(np.zeros((samples, 12)), np.zeros(12), np.full(1, -1, dtype=np.int64), np.zeros(3))


@kernel
def _clear(state: UnaskedState) -> None:
    state.position[0] = -1
    for k in range(12):
        state.sums[k] = 0.0
        for row in range(state.squares.shape[0]):
            state.squares[row, k] = 0.0


@kernel
def _replace(state: UnaskedState, row: int, column: int, value: float) -> None:
    """Put the square of ``value`` into the window in the place of the oldest."""
    size = abs(value)
    if not size <= MAXIMUM:
        size = MAXIMUM
    state.sums[column] = max(state.sums[column] + size * size - state.squares[row, column], 0.0)
    state.squares[row, column] = size * size


@kernel
def inspect_unasked(
    measured: FloatArray, asked: FloatArray, watched: int, model: UnaskedModel, state: UnaskedState
) -> int:
    """Return the bit of the fault while an axis moves as nobody asked, else 0.

    ``measured`` and ``asked`` (6,): second derivatives of the pose. Where the fault is not ``watched`` (bit =
    code) the window is empty.
    """
    sums, samples = state.sums, state.squares.shape[0]
    if not (watched >> UNASKED_MOTION) & 1:
        if state.position[0] >= 0:
            _clear(state)
        return 0
    row, total = max(state.position[0], 0), 0.0
    for axis in range(6):
        arm = model.arm if axis >= 3 else 1.0
        _replace(state, row, axis, arm * (measured[axis] - asked[axis]))
        _replace(state, row, axis + 6, arm * asked[axis])
        total += sums[axis + 6]
    state.position[0] = (row + 1) % samples
    found = 0
    for axis in range(6):
        value = (sums[axis] / samples) ** 0.5
        limit = model.limit + model.own_ratio * (sums[axis + 6] / samples) ** 0.5
        limit += model.cross_ratio * (total / samples) ** 0.5
        if value > limit and (not found or value - limit > state.found[1] - state.found[2]):
            state.found[0], state.found[1], state.found[2] = axis, value, limit
            found = 1 << UNASKED_MOTION
    return found
