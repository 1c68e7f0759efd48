"""Types of numpy arrays in signatures; shapes stand in the docstrings."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
ComplexArray = NDArray[np.complex128]


def numbers(array: FloatArray) -> memoryview[float]:
    """Return a view of a contiguous array that gives and takes one number in half the array's own time."""
    return array.data.cast("B").cast("d")


def whole_numbers(array: IntArray) -> memoryview[int]:
    """Return a view of a contiguous array of int64, as ``numbers`` does."""
    return array.data.cast("B").cast("q")
