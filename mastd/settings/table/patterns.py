"""Patterns of internal force: few actuators each, whose forces cancel on the table at neutral.

n actuators that hold m freedoms leave n − m independent ways to work against each other, the null space of
Jᵀ. Its basis here is of circuits: sets of rows of J that depend on each other, and would not if one were
missing. The smallest are taken first, of the same size the one that is least like those already taken, then
the one that loads its actuators most evenly, then the first in the order of the actuators.

``pattern`` is a unit vector (n,); the force in it is its product with the actuators' forces, in N: of four
that are loaded alike, twice the force of each. It counts the forces of its own actuators only.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.settings.core.axes import Axis
from mastd.settings.core.base import Problem
from mastd.settings.core.quantity import Point
from mastd.settings.table.held import Joints, free_rows, neutral_vectors

_DEPENDENT: Final = 1e-7
"""Singular value of rows of length 1 that counts as zero."""
_LEAST_PART: Final = 1e-4
"""Part of a unit vector below which an actuator is not in a pattern."""
_MOST_SETS: Final = 15_000
"""Sets of one size that are tried; larger ones are completed from rows that are independent."""
_ALIGNED: Final = 1e-3
"""Sine of an angle, and distance over length of two lines of force, below which they count as one."""


def members(vector: FloatArray) -> tuple[int, ...]:
    """Return the indices of the actuators that a pattern loads."""
    return tuple(int(i) for i in np.flatnonzero(np.abs(vector) > _LEAST_PART))


@lru_cache(maxsize=64)
def basis(
    joints: Joints, neutral: Point, freedoms: Sequence[Axis], stated: tuple[tuple[int, ...], ...] = ()
) -> FloatArray:
    """Return the patterns (n − m, n) of a table, those of the ``stated`` sets of actuators first.

    The first actuator of each pulls. The sets must be circuits (``wrong_patterns``).
    """
    rows = free_rows(joints, neutral, freedoms)
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    scale = np.linalg.norm(free_rows(joints, neutral, freedoms), axis=1)
    wanted = len(rows) - len(freedoms)
    taken = _Taken(len(rows))
    for chosen in stated:
        taken.add(_on_forces(_null_vectors(rows, np.array([chosen]))[0], chosen, scale))
    for size in range(2, len(freedoms) + 2):
        if len(taken.vectors) >= wanted:
            break
        sets = _sets(rows, size)
        taken.add_best([_on_forces(part, chosen, scale) for part, chosen in sets], wanted)
    found = np.array(taken.vectors[:wanted]).reshape(wanted, len(rows))
    found.flags.writeable = False
    return found


def wrong_patterns(
    stated: Sequence[Sequence[str]],
    names: Sequence[str],
    joints: Joints,
    neutral: Point,
    freedoms: Sequence[Axis],
) -> list[Problem]:
    """Return what is wrong with patterns that a file states by their actuators: each must be a circuit."""
    problems: list[Problem] = []
    rows = free_rows(joints, neutral, freedoms)
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    taken = _Taken(len(rows))
    for k, actuators in enumerate(stated):
        unknown = [name for name in actuators if name not in names]
        if unknown:
            what = f"{unknown[0]!r} is no name of links: {', '.join(names)}"
            problems.append(((k, "actuators", actuators.index(unknown[0])), what))
            continue
        chosen = tuple(sorted({names.index(name) for name in actuators}))
        _, values, shapes = np.linalg.svd(rows[list(chosen)].T)
        free = len(chosen) - int(np.sum(values > _DEPENDENT))
        parts = np.abs(shapes[-1])
        if free == 0:
            what = "these actuators cannot work against each other: no forces of theirs cancel on the table"
        elif free > 1:
            what = f"these actuators have {free} patterns, not one: state those of fewer actuators"
        elif np.min(parts) <= _LEAST_PART:
            idle = names[chosen[int(np.argmin(parts))]]
            what = f"{idle} takes no part in the pattern of the others: leave it out"
        elif not taken.add(_on_forces(shapes[-1], chosen, np.ones(len(rows)))):
            what = "it is a sum of the patterns above: leave it out"
        else:
            continue
        problems.append(((k, "actuators"), what))
    return problems


class _Taken:
    """Vectors of a basis in the making, and an orthonormal basis of what they span."""

    def __init__(self, size: int) -> None:
        self.vectors: list[FloatArray] = []
        self._span = np.zeros((0, size))

    def add(self, vector: FloatArray) -> bool:
        """Take a unit vector; return whether it is independent of those already taken, or else leave it."""
        left = vector - (self._span @ vector) @ self._span
        left -= (self._span @ left) @ self._span
        size = float(np.linalg.norm(left))
        if not size > 1e-4:
            return False
        self.vectors.append(vector)
        self._span = np.vstack([self._span, left / size])
        return True

    def add_best(self, candidates: list[FloatArray], wanted: int) -> None:
        """Take of ``candidates`` the one that is least like those taken, and so on, until ``wanted`` are."""
        while candidates and len(self.vectors) < wanted:
            array = np.array(candidates)
            left = np.linalg.norm(array - (array @ self._span.T) @ self._span, axis=1)
            best = int(np.argmax(np.round(left, 6)))
            if not self.add(candidates[best]):
                break


def _on_forces(part: FloatArray, chosen: Sequence[int], scale: FloatArray) -> FloatArray:
    """Return the pattern (n,) of length 1 of ``part``, null vector of the rows divided by their ``scale``."""
    vector = np.zeros(len(scale))
    vector[list(chosen)] = part / scale[list(chosen)]
    vector /= np.linalg.norm(vector)
    return np.asarray(-math.copysign(1.0, vector[chosen[0]]) * vector)


def _sets(rows: FloatArray, size: int) -> list[tuple[FloatArray, tuple[int, ...]]]:
    """Return null vector and actuators of the circuits of one size, the most evenly loaded first."""
    if math.comb(len(rows), size) <= _MOST_SETS:
        candidates = np.array(list(itertools.combinations(range(len(rows)), size)), dtype=int)
    else:
        candidates = _fundamental_sets(rows, size)
    if not len(candidates):
        return []
    vectors = _null_vectors(rows, candidates)
    residues = np.linalg.norm(np.einsum("ks,ksm->km", vectors, rows[candidates]), axis=1)
    evenness = np.min(np.abs(vectors), axis=1) / np.max(np.abs(vectors), axis=1)
    second = np.linalg.svd(rows[candidates], compute_uv=False)
    sure = second[:, size - 2] > _DEPENDENT**0.5 if size > 1 else True
    good = np.flatnonzero((residues < _DEPENDENT) & (np.min(np.abs(vectors), axis=1) > _LEAST_PART) & sure)
    order = sorted(good, key=lambda k: (-round(float(evenness[k]), 4), tuple(candidates[k])))
    return [(vectors[k], tuple(int(i) for i in candidates[k])) for k in order]


def _null_vectors(rows: FloatArray, candidates: FloatArray) -> FloatArray:
    """Return the vectors (k, s) that the rows of each of the ``candidates`` (k, s) take to (nearly) 0."""
    chosen = rows[candidates]
    left = np.linalg.svd(chosen)[0]
    return np.asarray(left[:, :, -1])


def _fundamental_sets(rows: FloatArray, size: int) -> FloatArray:
    """Return sets (k, size) of one row each and those of a basis of the rows of which it is a sum."""
    left, pivots = rows.copy(), []
    for _ in range(rows.shape[1]):
        best = int(np.argmax(np.round(np.linalg.norm(left, axis=1), 9)))
        direction = left[best] / np.linalg.norm(left[best])
        left = left - np.outer(left @ direction, direction)
        pivots.append(best)
    shares = np.linalg.lstsq(rows[pivots].T, rows.T, rcond=None)[0].T
    found = []
    for k, share in enumerate(shares):
        inside = sorted({k, *(pivots[j] for j in np.flatnonzero(np.abs(share) > _LEAST_PART))})
        if k not in pivots and len(inside) == size:
            found.append(inside)
    return np.array(found, dtype=int).reshape(len(found), size)


def pattern_name(vector: FloatArray, joints: Joints, neutral: Point, names: Sequence[str]) -> str:
    """Return what the actuators of a pattern do to the table, and which they are.

    Two on one line squeeze or stretch it between them; parallel ones bend it, or twist it where two of four
    push and two pull; all others brace against each other.
    """
    inside = members(vector)
    vectors = neutral_vectors(joints, neutral)[list(inside)]
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    along = units @ units[0]
    parallel = bool(np.all(np.abs(along) > 1.0 - _ALIGNED**2))
    listed = listing([names[i] for i in inside])
    if len(inside) == 2 and parallel:
        between = np.subtract(joints[inside[1]][0], joints[inside[0]][0])
        apart = float(np.linalg.norm(np.cross(between, units[0])))
        opposed = along[1] < 0.0
        if opposed and apart <= _ALIGNED * float(np.linalg.norm(vectors, axis=1).max()):
            return f"squeeze of {listed}"
        return f"{names[inside[0]]} against {names[inside[1]]}"
    pushing = vector[list(inside)] * along > 0.0
    if parallel:
        return f"{'twist' if len(inside) == 4 and np.sum(pushing) == 2 else 'bending'} of {listed}"
    return f"bracing of {listed}"


def listing(names: Sequence[str]) -> str:
    """Return names as a list, the words with which all of them begin once: vertical rear right, rear left."""
    words = [name.split() for name in names]
    common = 0
    while all(len(one) > common + 1 for one in words) and len({one[common] for one in words}) == 1:
        common += 1
    head = " ".join([*words[0][:common], ""])
    rest = [" ".join(one[common:]) for one in words]
    return f"{head}{', '.join(rest[:-1])} and {rest[-1]}"
