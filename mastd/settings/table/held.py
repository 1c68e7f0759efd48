"""What the actuators hold: the freedom left free and the condition number at neutral, where the table rests.

``joints``: of each actuator, the table's in P and the base's in B; ``freedoms``: axes that no guides hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.settings.core.axes import AXES, Axis
from mastd.settings.core.base import Problem
from mastd.settings.core.quantity import Point

LEAST_HOLD: Final = 1e-9
"""Singular value that counts as zero: directions have length 1, rotations are at the longest lever arm."""
CARRYING: Final = 0.1
"""Vertical part of an actuator's direction from which it carries the table."""
Joints = Sequence[tuple[Point, Point]]


def left_free(joints: Joints, neutral_position: Point, freedoms: Sequence[Axis]) -> list[Problem]:
    """Return the axis that nothing holds at the neutral position as a problem, none where there is none.

    Fewer actuators than freedoms are no concern of it.
    """
    if not freedoms or len(joints) < len(freedoms):
        return []
    rows = _rows(joints, neutral_position)
    arm = max(float(np.max(np.linalg.norm(rows[:, 3:], axis=1))), LEAST_HOLD)
    _, values, shapes = np.linalg.svd(_free(rows / np.repeat([1.0, arm], 3), freedoms))
    if values[-1] > LEAST_HOLD:
        return []
    axis = freedoms[int(np.argmax(np.abs(shapes[-1])))]
    what = (
        f"the {len(joints)} actuators leave the table free in {axis} at its neutral position, where the "
        "pose is singular: give one of them a direction or a lever arm there, or state freedoms without it"
    )
    return [((), what)]


def condition(joints: Joints, neutral_position: Point, freedoms: Sequence[Axis]) -> float:
    """Return the condition number by Frobenius norms, over that of freedoms, as it is watched in motion."""
    rows = _free(_rows(joints, neutral_position), freedoms)
    return float(np.linalg.norm(rows) * np.linalg.norm(np.linalg.pinv(rows))) / max(len(freedoms), 1)


def lowest_heave(vectors: FloatArray, strokes: FloatArray) -> float:
    """Return the heave in m at which the first actuator that carries the table meets its inner stop.

    ``vectors`` (n, 3) from base joint to table joint at neutral, ``strokes`` (n,) to either side, m. 0 where
    no actuator is steeper than ``CARRYING``.
    """
    steepness = vectors[:, 2] / np.linalg.norm(vectors, axis=1)
    carrying = steepness > CARRYING
    return -float(np.min(strokes[carrying] / steepness[carrying])) if carrying.any() else 0.0


def neutral_vectors(joints: Joints, neutral_position: Point) -> FloatArray:
    """Return the vectors (n, 3) from base joint to table joint at neutral in B, m."""
    table, base = np.array(joints, dtype=float).transpose(1, 0, 2)
    return np.asarray(np.array(neutral_position) + table - base)


def _free(rows: FloatArray, freedoms: Sequence[Axis]) -> FloatArray:
    return rows[:, [AXES.index(axis) for axis in freedoms]]


def _rows(joints: Joints, neutral_position: Point) -> FloatArray:
    """Return the rates (n, 6) of the lengths per rate of each axis: eqs. (19)–(20) of Jin 2012."""
    table, vectors = np.array([joint for joint, _ in joints]), neutral_vectors(joints, neutral_position)
    units = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), LEAST_HOLD)
    return np.hstack([units, np.cross(table, units)])
