"""Cholesky factors of symmetric matrices of which it is known beforehand where they have entries.

L D Lᵀ, without roots. Where L has entries, those that elimination fills in included, is found once in Python;
the kernels visit only these. Of a vehicle the reduced equations are doubly bordered and block-diagonal, as
Kang and Yoon has it: corners, one by one, beside the chassis and the racks that they share.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from mastd.arrays import BoolArray, FloatArray, IntArray
from mastd.kernel import fused_kernel, merged_kernel

MIN_RATIO: Final = 1e-12
"""Of what elimination leaves of a diagonal entry: below it a matrix is singular."""


class Pattern(NamedTuple):
    """Where L has entries below its diagonal, column by column."""

    first: IntArray
    """(n + 1) where the rows of each column begin in ``rows``."""
    rows: IntArray
    """Rising in each column."""
    diagonal: FloatArray
    """(n) scratch for the diagonal before elimination."""


def elimination_order(coupled: BoolArray) -> list[int]:
    """Return an order of elimination with little fill: always one that has the fewest neighbours left.

    ``coupled`` (n, n), symmetric: where the matrix has entries. A tree, eliminated so, has no fill at all. Of
    equals the last comes first: in height order these are the leaves.
    """
    neighbours = [set(np.flatnonzero(row).tolist()) - {i} for i, row in enumerate(coupled)]
    left, order = set(range(len(coupled))), []
    while left:
        chosen = min(left, key=lambda i: (len(neighbours[i]), -i))
        for i in neighbours[chosen]:
            neighbours[i] |= neighbours[chosen]
            neighbours[i] -= {i, chosen}
        left.remove(chosen)
        order.append(chosen)
    return order


def pattern_of(coupled: BoolArray) -> Pattern:
    """Return where L has entries for a matrix with entries ``coupled`` (n, n), eliminated from 0 to n − 1."""
    n = len(coupled)
    below = [set(np.flatnonzero(coupled[i + 1 :, i] | coupled[i, i + 1 :]) + i + 1) for i in range(n)]
    for column in below:
        if column:
            first = min(column)
            below[first] |= column - {first}
    counts = [len(column) for column in below]
    return Pattern(
        first=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        rows=np.array([int(i) for column in below for i in sorted(column)], dtype=np.int64),
        diagonal=np.zeros(n),
    )


@fused_kernel
def clear(pattern: Pattern, matrix: FloatArray) -> None:
    """Write zeros to all entries of the lower triangle that are in use."""
    for j in range(pattern.diagonal.shape[0]):
        matrix[j, j] = 0.0
        for at in range(pattern.first[j], pattern.first[j + 1]):
            matrix[pattern.rows[at], j] = 0.0


@merged_kernel
def factor(pattern: Pattern, matrix: FloatArray) -> int:
    """Replace the lower triangle of ``matrix`` (n, n) by its factors: L, and 1/D on the diagonal.

    Returns 0, or 1 + the first row that depends on those before it (or is not a number).
    """
    first, rows = pattern.first, pattern.rows
    for j in range(pattern.diagonal.shape[0]):
        pattern.diagonal[j] = matrix[j, j]
    for j in range(pattern.diagonal.shape[0]):
        pivot = matrix[j, j]
        if not pivot > MIN_RATIO * pattern.diagonal[j]:
            return 1 + j
        inverse = 1.0 / pivot
        matrix[j, j] = inverse
        for at in range(first[j], first[j + 1]):
            i = rows[at]
            ratio = matrix[i, j] * inverse
            # Entries of this column below i are not divided yet, that of i is not any more needed whole.
            for other in range(at, first[j + 1]):
                k = rows[other]
                matrix[k, i] -= ratio * matrix[k, j]
            matrix[i, j] = ratio
    return 0


@fused_kernel
def forward(pattern: Pattern, factors: FloatArray, values: FloatArray) -> None:
    """Replace ``values`` (n) by L⁻¹ of them."""
    for j in range(pattern.diagonal.shape[0]):
        value = values[j]
        for at in range(pattern.first[j], pattern.first[j + 1]):
            values[pattern.rows[at]] -= factors[pattern.rows[at], j] * value


@fused_kernel
def backward(pattern: Pattern, factors: FloatArray, values: FloatArray) -> None:
    """Replace ``values`` (n) by L⁻ᵀ D⁻¹ of them."""
    for j in range(pattern.diagonal.shape[0] - 1, -1, -1):
        value = values[j] * factors[j, j]
        for at in range(pattern.first[j], pattern.first[j + 1]):
            value -= factors[pattern.rows[at], j] * values[pattern.rows[at]]
        values[j] = value


@fused_kernel
def solve(pattern: Pattern, factors: FloatArray, values: FloatArray) -> None:
    """Replace ``values`` (n) by the solution for them as right-hand side."""
    forward(pattern, factors, values)
    backward(pattern, factors, values)
