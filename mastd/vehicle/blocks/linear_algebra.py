"""Dense factorisation and solution by plain loops: LU with and without row exchange, LU in lanes.

Each factor routine works in place. L has ones on its diagonal and lies below it, U lies above it, and on the
diagonal stand the reciprocals of the pivots, so that a solution needs no division.
"""

from __future__ import annotations

from mastd.arrays import FloatArray, IntArray
from mastd.kernel import fused_kernel
from mastd.lanes import LANES, broadcast, load_row, store_row


@fused_kernel
def lu_factor(a: FloatArray, n: int) -> None:
    """Factor the leading n × n of ``a`` as L U without row exchange: pivots must not vanish."""
    for p in range(n):
        a[p, p] = 1.0 / a[p, p]
        for i in range(p + 1, n):
            a[i, p] *= a[p, p]
            for j in range(p + 1, n):
                a[i, j] -= a[i, p] * a[p, j]


@fused_kernel
def lu_factor_pivoted(a: FloatArray, n: int, pivots: IntArray, min_pivots: FloatArray, sparse: bool) -> int:
    """Factor the leading n × n of ``a`` as P A = L U with the largest pivot of each column.

    ``pivots`` (n) becomes the row that each one was exchanged with, ``min_pivots`` (n) are the sizes that
    pivots must exceed. ``sparse`` skips rows with a zero below the pivot. Returns 0, or 1 + the column
    without a pivot (also for one that is not a number).
    """
    for p in range(n):
        chosen = p
        for i in range(p + 1, n):
            if abs(a[i, p]) > abs(a[chosen, p]):
                chosen = i
        pivots[p] = chosen
        if chosen != p:
            for k in range(n):
                held = a[p, k]
                a[p, k] = a[chosen, k]
                a[chosen, k] = held
        if not abs(a[p, p]) > min_pivots[p]:
            return 1 + p
        inverse = 1.0 / a[p, p]
        a[p, p] = inverse
        for i in range(p + 1, n):
            if sparse and a[i, p] == 0.0:
                continue
            factor = a[i, p] * inverse
            a[i, p] = factor
            for j in range(p + 1, n):
                a[i, j] -= factor * a[p, j]
    return 0


@fused_kernel
def lu_solve(lu: FloatArray, n: int, x: FloatArray) -> None:
    """Replace the right-hand side ``x`` (n) by the solution, with the factors of ``lu_factor``."""
    for i in range(n):
        for p in range(i):
            x[i] -= lu[i, p] * x[p]
    for k in range(n):
        i = n - 1 - k
        for j in range(i + 1, n):
            x[i] -= lu[i, j] * x[j]
        x[i] *= lu[i, i]


@fused_kernel
def lu_solve_pivoted(lu: FloatArray, n: int, pivots: IntArray, x: FloatArray) -> None:
    """Replace the right-hand side ``x`` (n) by the solution, with the factors of ``lu_factor_pivoted``."""
    for i in range(n):
        held = x[i]
        x[i] = x[pivots[i]]
        x[pivots[i]] = held
    lu_solve(lu, n, x)


@fused_kernel
def solve_augmented(block: FloatArray, n: int, width: int, min_pivot: float) -> bool:
    """Solve A X = R in place by LU with row exchange, ``block`` (n, width) being [A R].

    Returns whether each pivot exceeded ``min_pivot`` of the largest one so far. Zeros cost nothing.
    """
    largest = 0.0
    for k in range(n):
        chosen = k
        for i in range(k + 1, n):
            if abs(block[i, k]) > abs(block[chosen, k]):
                chosen = i
        if chosen != k:
            for j in range(k, width):
                held = block[k, j]
                block[k, j] = block[chosen, j]
                block[chosen, j] = held
        pivot = abs(block[k, k])
        largest = max(largest, pivot)
        if not pivot > min_pivot * largest:
            return False
        inverse = 1.0 / block[k, k]
        block[k, k] = inverse
        for i in range(k + 1, n):
            if block[i, k] != 0.0:
                factor = block[i, k] * inverse
                for j in range(k + 1, width):
                    block[i, j] -= factor * block[k, j]
    for back in range(n):
        k = n - 1 - back
        for i in range(k + 1, n):
            if block[k, i] != 0.0:
                factor = block[k, i]
                for j in range(n, width):
                    block[k, j] -= factor * block[i, j]
        for j in range(n, width):
            block[k, j] *= block[k, k]
    return True


@fused_kernel
def invert(a: FloatArray, n: int, pivots: IntArray) -> bool:
    """Replace ``a`` (n, n) by its inverse, by Gauss–Jordan elimination with row exchange.

    ``pivots`` (n) is scratch. Returns whether there is one.
    """
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(a[i, k]) > abs(a[pivot, k]):
                pivot = i
        pivots[k] = pivot
        if not abs(a[pivot, k]) > 0.0:
            return False
        if pivot != k:
            for i in range(n):
                a[k, i], a[pivot, i] = a[pivot, i], a[k, i]
        factor = 1.0 / a[k, k]
        a[k, k] = 1.0
        for i in range(n):
            a[k, i] *= factor
        for other in range(n):
            if other != k:
                factor = a[other, k]
                a[other, k] = 0.0
                for i in range(n):
                    a[other, i] -= factor * a[k, i]
    for k in range(n - 1, -1, -1):
        pivot = pivots[k]
        if pivot != k:
            for i in range(n):
                a[i, k], a[i, pivot] = a[i, pivot], a[i, k]
    return True


@fused_kernel
def lu_factor_lanes(cells: FloatArray, first: int, size: int, n: int) -> None:
    """Eliminate the first n of ``size`` unknowns in all lanes: factors, and the Schur complement behind them.

    The matrix lies row by row from ``cells[first]`` on. Rows are not exchanged; one that has a zero below
    the pivot in every lane, as most rows of a chain of bodies have, is skipped.
    """
    for p in range(n):
        row = first + p * size
        inverse = 1.0 / load_row(cells, row + p)
        store_row(cells, row + p, inverse)
        for i in range(p + 1, size):
            at = first + i * size
            if _is_zero(cells, at + p):
                continue
            factor = load_row(cells, at + p) * inverse
            store_row(cells, at + p, factor)
            for j in range(p + 1, size):
                store_row(cells, at + j, load_row(cells, at + j) - factor * load_row(cells, row + j))


@fused_kernel
def _is_zero(cells: FloatArray, entry: int) -> bool:
    zero = True
    for lane in range(LANES):
        zero = zero and cells[entry, lane] == 0.0
    return zero


@fused_kernel
def forward_lanes(cells: FloatArray, first: int, size: int, n: int, rhs: FloatArray, x: FloatArray) -> None:
    """Write L⁻¹ rhs (n) to ``x`` (size), behind it what the other unknowns' right-hand sides get of it."""
    for i in range(size):
        value = load_row(rhs, i) if i < n else broadcast(0.0)
        for p in range(min(i, n)):
            value = value - load_row(cells, first + i * size + p) * load_row(x, p)
        store_row(x, i, value)


@fused_kernel
def backward_lanes(cells: FloatArray, first: int, size: int, n: int, x: FloatArray) -> None:
    """Replace the first n of ``x`` (size) by their solution, the others being known."""
    for k in range(n):
        i = n - 1 - k
        row = first + i * size
        value = load_row(x, i)
        for j in range(i + 1, size):
            value = value - load_row(cells, row + j) * load_row(x, j)
        store_row(x, i, value * load_row(cells, row + i))
