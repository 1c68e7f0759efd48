"""Adding small blocks to a group's matrix, which lies row by row in ``cells[entry, lane]``."""

from __future__ import annotations

from typing import NamedTuple

from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel
from mastd.lanes import load_row, store_row
from mastd.vehicle.blocks.vectors import Triple, dot


class Weights(NamedTuple):
    """Weights of the derivatives in a Jacobian: M̂ = M + β̂ ∂F/∂v + β ∂F/∂q in a step."""

    acceleration: float
    velocity: float
    displacement: float
    joint: float
    """Of the rows of constraints and bars and of the columns of their forces."""
    bar: float
    """Of the bars' compliance."""


class Matrix(NamedTuple):
    """A group's matrix: ``size`` rows from ``cells[first]`` on."""

    cells: FloatArray
    first: int
    size: int


@fused_kernel
def add(cells: FloatArray, entry: int, value: float) -> None:
    """Add one number in each lane."""
    store_row(cells, entry, load_row(cells, entry) + value)


@fused_kernel
def add_diagonal(cells: FloatArray, first: int, size: int, i: int, j: int, value: float) -> None:
    """Add value · 1 (3 × 3) at row i, column j."""
    for k in range(3):
        add(cells, first + (i + k) * size + j + k, value)


@fused_kernel
def add_product(cells: FloatArray, first: int, size: int, i: int, j: int, a: Triple, b: Triple) -> None:
    """Add a bᵀ at row i, column j."""
    for k in range(3):
        for n in range(3):
            add(cells, first + (i + k) * size + j + n, a[k] * b[n])


@fused_kernel
def add_cross(cells: FloatArray, first: int, size: int, i: int, j: int, scale: float, v: Triple) -> None:
    """Add scale · ṽ, the matrix of the vector product v × …, at row i, column j."""
    x, y, z = scale * v[0], scale * v[1], scale * v[2]
    at = first + i * size + j
    add(cells, at + 1, -z)
    add(cells, at + 2, y)
    add(cells, at + size, z)
    add(cells, at + size + 2, -x)
    add(cells, at + 2 * size, -y)
    add(cells, at + 2 * size + 1, x)


@fused_kernel
def add_cross_cross(
    cells: FloatArray, first: int, size: int, i: int, j: int, scale: float, u: Triple, v: Triple
) -> None:
    """Add scale · ũ ṽ = scale · (v uᵀ − (u · v) 1) at row i, column j."""
    add_product(cells, first, size, i, j, (scale * v[0], scale * v[1], scale * v[2]), u)
    add_diagonal(cells, first, size, i, j, -scale * dot(u[0], u[1], u[2], v[0], v[1], v[2]))


@fused_kernel
def add_row(cells: FloatArray, first: int, size: int, row: int, j: int, weight: float, v: Triple) -> None:
    """Add weight · vᵀ to a constraint's row at column j, and its transpose to the constraint's column."""
    for k in range(3):
        value = weight * v[k]
        add(cells, first + row * size + j + k, value)
        add(cells, first + (j + k) * size + row, value)
