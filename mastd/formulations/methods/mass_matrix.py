"""Mass matrix (18) and force (19) of Kang and Yoon from velocity matrices of which only columns in use are
kept.

The same sums serve V and W of all coordinates and those of independent coordinates alone: a link's columns
are listed with their places in the system. Columns of W that are zero by structure are not listed; of the
symmetric matrix the lower triangle is made.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mastd.arrays import BoolArray, FloatArray, IntArray
from mastd.formulations.tree.arrays import FREE, LINK, Tree
from mastd.kernel import merged_kernel


class Columns(NamedTuple):
    """The columns of all links."""

    first: IntArray
    """(links + 1) where the columns of V of each link begin in the next two."""
    equation: IntArray
    """Place in the system, rising in each link."""
    at: IntArray
    """Row of the array of columns."""
    rotational_first: IntArray
    """(links + 1) the same of W."""
    rotational_equation: IntArray
    rotational_at: IntArray


def free_equations(tree: Tree, order: list[int] | None = None) -> IntArray:
    """Return (n) the place of each free coordinate in a system of all of them, −1 of the others.

    ``order``: of free coordinates, by their number among these; None: as they come.
    """
    free = np.flatnonzero(tree.fixed == FREE)
    equation = np.full(len(tree.fixed), -1, dtype=np.int64)
    equation[free if order is None else free[order]] = np.arange(len(free))
    return equation


def free_columns(tree: Tree, equation: IntArray) -> Columns:
    """Return the columns of all free coordinates, (V and W themselves)."""
    lists: list[list[int]] = [[0], [], [], [0], [], []]
    for line in tree.links:
        own = range(int(line[LINK.path]), int(line[LINK.path] + line[LINK.path_size]))
        listed = sorted((int(equation[tree.path[at]]), at) for at in own if equation[tree.path[at]] >= 0)
        rotational = [(k, at) for k, at in listed if tree.rotational[tree.path[at]]]
        for start, chosen in ((0, listed), (3, rotational)):
            lists[start + 1] += [k for k, _ in chosen]
            lists[start + 2] += [at for _, at in chosen]
            lists[start].append(len(lists[start + 1]))
    return Columns(*(np.array(one, dtype=np.int64) for one in lists))


def coupled_coordinates(tree: Tree) -> BoolArray:
    """Return (n_free, n_free) where the mass matrix of all free coordinates has entries: along the
    branches."""
    equation = free_equations(tree)
    coupled = np.eye(int(equation.max(initial=-1)) + 1, dtype=np.bool_)
    for line in tree.links:
        path = equation[tree.path[line[LINK.path] : line[LINK.path] + line[LINK.path_size]]]
        free = path[path >= 0]
        coupled[np.ix_(free, free)] = True
    return coupled


@merged_kernel
def add_inertia(
    tree: Tree,
    columns: Columns,
    v: FloatArray,
    w: FloatArray,
    residual: FloatArray,
    matrix: FloatArray,
    force: FloatArray,
) -> None:
    """Add Σ m Vᵀ V + Wᵀ J W to the lower triangle of ``matrix``, (18), and −Vᵀ r − Wᵀ s to ``force``, (19).

    ``residual`` (links, 6) holds r and s, as ``Tree.residual``; V and W (…, 3) inertial axes.
    """
    first, equation, source = columns.first, columns.equation, columns.at
    for i in range(tree.mass.shape[0]):
        mass = tree.mass[i]
        r0, r1, r2 = residual[i, 0], residual[i, 1], residual[i, 2]
        for c in range(first[i], first[i + 1]):
            column = v[source[c]]
            x, y, z = column[0], column[1], column[2]
            force[equation[c]] -= x * r0 + y * r1 + z * r2
            x, y, z = mass * x, mass * y, mass * z
            row = matrix[equation[c]]
            for k in range(first[i], c + 1):
                other = v[source[k]]
                row[equation[k]] += x * other[0] + y * other[1] + z * other[2]
    first, equation, source = columns.rotational_first, columns.rotational_equation, columns.rotational_at
    for i in range(tree.mass.shape[0]):
        j = tree.inertia[i]
        r0, r1, r2 = residual[i, 3], residual[i, 4], residual[i, 5]
        for c in range(first[i], first[i + 1]):
            column = w[source[c]]
            p, q, r = column[0], column[1], column[2]
            force[equation[c]] -= p * r0 + q * r1 + r * r2
            x = j[0] * p + j[3] * q + j[4] * r
            y = j[3] * p + j[1] * q + j[5] * r
            z = j[4] * p + j[5] * q + j[2] * r
            row = matrix[equation[c]]
            for k in range(first[i], c + 1):
                other = w[source[k]]
                row[equation[k]] += x * other[0] + y * other[1] + z * other[2]
