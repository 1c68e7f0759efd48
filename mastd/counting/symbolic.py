"""Multiplications of factorisations and solutions, of full matrices and of patterns.

Divisions count as multiplications, square roots do not. A pattern is, for each column in the order of
elimination, the set of columns that it shares a row with.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

Below = dict[int, set[int]]
"""Of each column of a Cholesky factor, in the order of elimination, the rows below its diagonal."""


def lu(size: int) -> int:
    """Return the multiplications of the LU factorisation of a full matrix, (n³ − n) / 3."""
    return (size**3 - size) // 3


def lu_solution(size: int) -> int:
    """Return those of one solution with LU factors, n²."""
    return size**2


def cholesky(size: int) -> int:
    """Return those of the Cholesky factorisation of a full matrix, (n³ + 3 n² − 4 n) / 6."""
    return (size**3 + 3 * size**2 - 4 * size) // 6


def cholesky_solution(size: int) -> int:
    """Return those of one solution with Cholesky factors, n² + n: both have the diagonal to divide by."""
    return size**2 + size


def eliminated(pattern: Mapping[int, Collection[int]]) -> Below:
    """Return the pattern of the Cholesky factor, fill included; columns in the order of ``pattern``."""
    order = list(pattern)
    index = {column: k for k, column in enumerate(order)}
    below: Below = {
        column: {row for row in pattern[column] if index[row] > index[column]} for column in order
    }
    for column in order:
        rest = below[column]
        for row in rest:
            below[row] |= {other for other in rest if index[other] > index[row]}
    return below


def sparse_cholesky(below: Below) -> int:
    """Return the multiplications of a Cholesky factorisation with this factor."""
    return sum(len(rows) + len(rows) * (len(rows) + 1) // 2 for rows in below.values())


def sparse_solution(below: Below) -> int:
    """Return those of one solution, forward and back."""
    return sum(2 * (len(rows) + 1) for rows in below.values())


def forward_reach(below: Below, entries: Collection[int]) -> set[int]:
    """Return where L⁻¹ b can be other than zero when b can be in ``entries``."""
    reached = set(entries)
    for column, rows in below.items():
        if column in reached:
            reached |= rows
    return reached
