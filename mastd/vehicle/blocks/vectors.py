"""Arithmetic of three-vectors, for numbers and for lanes alike (see ``mastd.lanes``).

Matrices lie row by row in nine neighbouring components of a block; ``matrix`` names the first of them.
"""

from __future__ import annotations

from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel
from mastd.lanes import load, select, store

Triple = tuple[float, float, float]


@fused_kernel
def dot(a0: float, a1: float, a2: float, b0: float, b1: float, b2: float) -> float:
    """Return the scalar product a · b."""
    return a0 * b0 + a1 * b1 + a2 * b2


@fused_kernel
def scaled(k: float, v: Triple) -> Triple:
    """Return k · v."""
    return k * v[0], k * v[1], k * v[2]


@fused_kernel
def cross(a0: float, a1: float, a2: float, b0: float, b1: float, b2: float) -> Triple:
    """Return the vector product a × b."""
    return a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0


@fused_kernel
def rotate(block: FloatArray, i: int, matrix: int, x: float, y: float, z: float) -> Triple:
    """Return R (x, y, z), R in lanes at ``block[i, matrix]``."""
    return (
        load(block, i, matrix) * x + load(block, i, matrix + 1) * y + load(block, i, matrix + 2) * z,
        load(block, i, matrix + 3) * x + load(block, i, matrix + 4) * y + load(block, i, matrix + 5) * z,
        load(block, i, matrix + 6) * x + load(block, i, matrix + 7) * y + load(block, i, matrix + 8) * z,
    )


@fused_kernel
def rotate_inverse(block: FloatArray, i: int, matrix: int, x: float, y: float, z: float) -> Triple:
    """Return Rᵀ (x, y, z), R in lanes at ``block[i, matrix]``."""
    return (
        load(block, i, matrix) * x + load(block, i, matrix + 3) * y + load(block, i, matrix + 6) * z,
        load(block, i, matrix + 1) * x + load(block, i, matrix + 4) * y + load(block, i, matrix + 7) * z,
        load(block, i, matrix + 2) * x + load(block, i, matrix + 5) * y + load(block, i, matrix + 8) * z,
    )


@fused_kernel
def to_frame(frame: FloatArray, x: float, y: float, z: float) -> Triple:
    """Return Cᵀ (x, y, z): inertial axes → axes of the frame; C (9) are numbers, (x, y, z) numbers or
    lanes."""
    return (
        frame[0] * x + frame[3] * y + frame[6] * z,
        frame[1] * x + frame[4] * y + frame[7] * z,
        frame[2] * x + frame[5] * y + frame[8] * z,
    )


@fused_kernel
def from_frame(frame: FloatArray, x: float, y: float, z: float) -> Triple:
    """Return C (x, y, z): axes of the frame → inertial axes."""
    return (
        frame[0] * x + frame[1] * y + frame[2] * z,
        frame[3] * x + frame[4] * y + frame[5] * z,
        frame[6] * x + frame[7] * y + frame[8] * z,
    )


@fused_kernel
def load3(block: FloatArray, i: int, first: int) -> Triple:
    """Return the vector in lanes at ``block[i, first]``."""
    return load(block, i, first), load(block, i, first + 1), load(block, i, first + 2)


@fused_kernel
def store3(block: FloatArray, i: int, first: int, x: float, y: float, z: float) -> None:
    """Write a vector in lanes to ``block[i, first]``."""
    store(block, i, first, x)
    store(block, i, first + 1, y)
    store(block, i, first + 2, z)


@fused_kernel
def add3(block: FloatArray, i: int, first: int, x: float, y: float, z: float) -> None:
    """Add a vector in lanes to the one at ``block[i, first]``."""
    store(block, i, first, load(block, i, first) + x)
    store(block, i, first + 1, load(block, i, first + 1) + y)
    store(block, i, first + 2, load(block, i, first + 2) + z)


@fused_kernel
def sub3(block: FloatArray, i: int, first: int, x: float, y: float, z: float) -> None:
    """Subtract a vector in lanes from the one at ``block[i, first]``."""
    store(block, i, first, load(block, i, first) - x)
    store(block, i, first + 1, load(block, i, first + 1) - y)
    store(block, i, first + 2, load(block, i, first + 2) - z)


@fused_kernel
def symmetric_times(moments: Triple, products: Triple, x: float, y: float, z: float) -> Triple:
    """Return J (x, y, z) for the symmetric J with ``moments`` xx, yy, zz and ``products`` xy, xz, yz."""
    (xx, yy, zz), (xy, xz, yz) = moments, products
    return xx * x + xy * y + xz * z, xy * x + yy * y + yz * z, xz * x + yz * y + zz * z


@fused_kernel
def propagate_nan(x: float, source: float) -> float:
    """Return x, or not a number where ``source`` is none (or infinite)."""
    return x + 0.0 * source


@fused_kernel
def max_abs(largest: float, value: float) -> float:
    """Return the larger of ``largest`` and |value|, lane by lane; what is not a number is kept."""
    size = select(value, value, -value)
    return select(largest - size, largest, propagate_nan(size, largest))
