"""Do the cut equations depend on each other? Their rank over the tree's coordinates in the design position.

Rotations are multiplied by a length, the distance of the cuts from the joints below them, so that singular
values are of the order of 1, as in ``mastd/vehicle/model/mobility.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mastd.arrays import FloatArray
from mastd.errors import UsageError
from mastd.formulations.tree.joints import Link, TreeJoint
from mastd.vehicle.joints.primitive import PrimitiveKind
from mastd.vehicle.model.definition import Model
from mastd.vehicle.model.mobility import RANK_TOLERANCE, jacobian

_MIN_WEIGHT = 0.3
"""Of the largest weight in what depends: joints with at least this are named."""


def check_ranks(
    model: Model, links: Sequence[Link], cuts: Sequence[int], constrained: Sequence[Collection[int]]
) -> None:
    """Raise UsageError, one line for each set of cuts that has bodies in common and depends on itself.

    ``constrained``: of each cut the bodies whose coordinates it constrains.
    """
    problems = []
    for members in connected(constrained):
        chosen = [cuts[k] for k in members]
        bodies = {body for k in members for body in constrained[k]}
        repeated = _repeated(model, links, chosen, bodies)
        if repeated:
            problems.append(f"{model.name}: {repeated}")
    if problems:
        raise UsageError("\n".join(problems))


def full_rank(model: Model, links: Sequence[Link], cuts: Sequence[int], bodies: Collection[int]) -> bool:
    """Return whether cuts are independent over the coordinates of ``bodies`` that no drive prescribes."""
    matrix = cut_jacobian(model, links, cuts, bodies)
    _, values, _ = np.linalg.svd(matrix)
    return _rank(values) == len(matrix)


def connected(sets: Sequence[Collection[int]]) -> list[list[int]]:
    """Return the indices of sets that hang together by common members, each list rising."""
    found: list[tuple[list[int], set[int]]] = []
    for index, members in enumerate(sets):
        indices, merged = [index], set(members)
        apart = []
        for others, bodies in found:
            if merged & bodies:
                indices, merged = others + indices, merged | bodies
            else:
                apart.append((others, bodies))
        found = [*apart, (sorted(indices), merged)]
    return sorted(indices for indices, _ in found)


def cut_jacobian(
    model: Model, links: Sequence[Link], cuts: Sequence[int], bodies: Collection[int]
) -> FloatArray:
    """Return Φ_q (rows, coordinates of ``bodies`` but driven ones) in the design position, scaled.

    Columns in the order of the links.
    """
    carried = [link for link in links if link.body in bodies and link.drive < 0]
    width = sum(link.joint.coordinates for link in carried)
    length = _length(model, carried, cuts)
    lower = {link.body: link.lower for link in links}
    rows = [np.zeros((0, width))]
    for cut in cuts:
        primitive = model.primitives[cut]
        row = np.zeros((primitive.kind.rows, width))
        ends = primitive.first, primitive.second
        for body, form in zip(ends, jacobian(primitive, model.bodies), strict=True):
            first = 0
            for link in carried:
                last = first + link.joint.coordinates
                if _below(lower, link.body, body):
                    row[:, first:last] += form @ _velocities(link, model.bodies[body].centre, length)
                first = last
        rows.append(row * length if primitive.kind is PrimitiveKind.DOT_1 else row)
    return np.vstack(rows)


def joined(names: Sequence[str]) -> str:
    """Return names in quotes, as a list in words."""
    quoted = [f"'{name}'" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"


def _repeated(
    model: Model, links: Sequence[Link], cuts: Sequence[int], bodies: Collection[int]
) -> str | None:
    """Return in words which joints' equations depend on each other, None if none do."""
    left, values, _ = np.linalg.svd(cut_jacobian(model, links, cuts, bodies))
    excess = len(left) - _rank(values)
    if not excess:
        return None
    weights: dict[str, float] = {}
    row = 0
    for cut in cuts:
        primitive = model.primitives[cut]
        weight = float(np.sum(left[row : row + primitive.kind.rows, -excess:] ** 2))
        weights[primitive.joint] = weights.get(primitive.joint, 0.0) + weight
        row += primitive.kind.rows
    minimum = _MIN_WEIGHT * max(weights.values())
    names = [joint for joint, weight in weights.items() if weight >= minimum]
    verb = "repeats" if excess == 1 else "repeat"
    return (
        f"{excess} of {len(left)} equations of the cut loops {verb} others, at {joined(names)};"
        " leave out what is held twice"
    )


def _rank(values: NDArray[np.floating[Any]]) -> int:
    maximum = float(values[0]) if values.size else 0.0
    return int(np.count_nonzero(values > RANK_TOLERANCE * maximum))


def _velocities(link: Link, centre: FloatArray, length: float) -> FloatArray:
    """Return (6, coordinates): velocity of a point and angular velocity for each coordinate of a link."""
    if link.joint is TreeJoint.PRISMATIC:
        return np.concatenate([link.axes[0], np.zeros(3)])[:, np.newaxis]
    axes = {TreeJoint.REVOLUTE: link.axes[:1], TreeJoint.UNIVERSAL: link.axes}.get(link.joint, np.eye(3))
    turns = np.vstack([np.cross(axes, centre - link.point).T, axes.T]) / length
    if link.joint is TreeJoint.FREE:
        return np.hstack([np.vstack([np.eye(3), np.zeros((3, 3))]), turns])
    return turns


def _below(lower: dict[int, int], body: int, upper: int) -> bool:
    while upper >= 0:
        if upper == body:
            return True
        upper = lower[upper]
    return False


def _length(model: Model, links: Sequence[Link], cuts: Sequence[int]) -> float:
    """Return the effective distance of cuts from the joints that turn, 1 m if there is none."""
    distances = list(_distances(model, links, cuts))
    mean = float(np.sqrt(np.mean(np.square(distances)))) if distances else 0.0
    return mean if mean > 1e-6 else 1.0


def _distances(model: Model, links: Sequence[Link], cuts: Sequence[int]) -> Iterator[float]:
    for cut in cuts:
        primitive = model.primitives[cut]
        if primitive.kind is not PrimitiveKind.DOT_1:
            for link in links:
                yield float(np.linalg.norm(primitive.point_second - link.point))
