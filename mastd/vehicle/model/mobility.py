"""Can the vehicle move as it should? Rank of the constraint Jacobian in the design position, unit by unit.

A unit is an axle's own bodies (rack, subframe) or a group, with the chassis held; or a corner, with chassis
and axle held. Drives are held. The whole Jacobian is block triangular in these units, so it has full
rank where every unit has. What is due: equations that do not depend on each other; of a corner exactly one
freedom, which moves the wheel up and down; springs against every freedom. Wheel spins enter no equation.

Columns are displacements of the centres of mass and rotations times a length, the unit's radius; rows of
dot-1 primitives are multiplied by it too. Singular values are then pure numbers of the order of 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.vehicle.joints.primitive import Primitive, PrimitiveKind
from mastd.vehicle.model.definition import Axle, Body, Corner, Model

RANK_TOLERANCE: Final = 1e-9
"""Singular values below this share of the largest one are zero: equations depend on each other."""
MAX_CONDITION: Final = 1e3
"""Largest over smallest singular value; 5 to 30 is usual. Beyond, a gap of 1 um in one joint moves a body
by a millimetre."""
MIN_TRAVEL: Final = 0.01
"""Vertical travel of the wheel over the motion of all bodies of a corner, below which it does not travel."""
MIN_SPRING: Final = 1e-4
"""Change of a spring's length over the motion, below which the spring does not hold it."""

_RATIO = 0.3
"""Of the largest share: joints and bodies with at least this are named."""


@dataclass(frozen=True)
class Finding:
    """One reason to refuse a model: what, and the joints (indices of primitives) or bodies it is about."""

    what: str
    primitives: tuple[int, ...] = ()
    bodies: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Unit:
    """Bodies that move while the others are held."""

    name: str
    bodies: tuple[int, ...]
    primitives: tuple[int, ...]
    springs: tuple[int, ...]
    wheel: int
    """Index of the wheel of a corner, -1 for an axle or a group."""


@dataclass(frozen=True, eq=False)
class Freedom:
    """Rank of one unit's equations."""

    unit: Unit
    radius: float
    """Length in m that makes rotations comparable with displacements."""
    left: FloatArray
    """(rows, rows) left singular vectors."""
    values: FloatArray
    """Singular values, falling."""
    right: FloatArray
    """(coordinates, coordinates) right singular vectors, one a row."""

    @property
    def rows(self) -> int:
        """Number of equations."""
        return len(self.left)

    @property
    def coordinates(self) -> int:
        """Six for each body."""
        return len(self.right)

    @property
    def rank(self) -> int:
        """Number of equations that do not depend on each other."""
        maximum = self.values[0] if self.values.size else 0.0
        return int(np.count_nonzero(self.values > RANK_TOLERANCE * maximum))

    @property
    def freedom(self) -> int:
        """Number of motions that the equations allow."""
        return self.coordinates - self.rank

    @property
    def redundant(self) -> int:
        """Number of equations too many."""
        return self.rows - self.rank

    @property
    def condition(self) -> float:
        """Largest over smallest singular value that is not zero."""
        return float(self.values[0] / self.values[self.rank - 1]) if self.rank else 1.0


def units(model: Model) -> Iterator[Unit]:
    """Yield all units of a model, axles before their corners."""
    for axle in model.axles:
        yield from units_of(model, axle)


def units_of(model: Model, axle: Axle) -> Iterator[Unit]:
    """Yield the axle's own bodies, if it has any, then its corners."""
    if axle.bodies:
        yield Unit(axle.name, axle.bodies, axle.primitives, axle.springs, -1)
    for index in axle.corners:
        yield corner_unit(model.corners[index])


def corner_unit(corner: Corner) -> Unit:
    """Return a corner as a unit."""
    return Unit(corner.name, corner.bodies, corner.primitives, corner.springs, corner.wheel)


def freedom(model: Model) -> int:
    """Return the freedoms of an accepted model without the wheels' spins: chassis, travel, springs."""
    return 6 * len(model.bodies) - model.rows - len(model.held)


def findings(model: Model) -> list[Finding]:
    """Return all reasons to refuse a model in its design position; none if it can move as it should."""
    found: list[Finding] = []
    for axle in model.axles:
        for unit in units_of(model, axle):
            reasons = _unit_findings(model, examine(model, unit))
            found.extend(reasons)
            if reasons and unit.wheel >= 0:
                break  # the right side is the mirror image
    return found


def examine(model: Model, unit: Unit) -> Freedom:
    """Return the singular values of a unit's equations in the design position."""
    radius = _radius(model, unit)
    columns = {body: k for k, body in enumerate(unit.bodies)}
    rows = [row for index in unit.primitives for row in _rows(model, index, columns, radius)]
    matrix = np.array(rows).reshape(len(rows), 6 * len(unit.bodies))
    left, values, right = np.linalg.svd(matrix)
    return Freedom(unit, radius, left, values, right)


def residual(primitive: Primitive) -> FloatArray:
    """Return the constraint (1 or 3) in the design position, drives at zero."""
    return primitive.violation(primitive.points, primitive.axes)


def jacobian(primitive: Primitive, bodies: Sequence[Body]) -> tuple[FloatArray, FloatArray]:
    """Return the derivatives (rows, 6) of ``residual`` to first and second body.

    Columns: displacement of the centre of mass, rotation in the vehicle's axes.
    """
    centres = bodies[primitive.first].centre, bodies[primitive.second].centre
    return primitive.jacobian(primitive.points, primitive.axes, centres)


def _rows(model: Model, index: int, columns: dict[int, int], radius: float) -> Iterator[FloatArray]:
    """Yield the scaled rows of one primitive over a unit's coordinates."""
    primitive = model.primitives[index]
    scale = np.array([1.0, 1.0, 1.0, 1.0 / radius, 1.0 / radius, 1.0 / radius])
    if primitive.kind is PrimitiveKind.DOT_1:
        scale = scale * radius
    whole = np.zeros((primitive.kind.rows, 6 * len(columns)))
    pair = (primitive.first, primitive.second)
    for body, part in zip(pair, jacobian(primitive, model.bodies), strict=True):
        if body in columns:
            start = 6 * columns[body]
            whole[:, start : start + 6] += part * scale
    yield from whole


def _radius(model: Model, unit: Unit) -> float:
    """Return the effective distance of a unit's joints from its bodies' centres, 1 m if all are in one."""
    distances: list[float] = []
    for index in unit.primitives:
        primitive = model.primitives[index]
        if primitive.kind is PrimitiveKind.DOT_1:
            continue
        ends = (primitive.first, primitive.point_first), (primitive.second, primitive.point_second)
        distances += [
            float(np.linalg.norm(point - model.bodies[body].centre))
            for body, point in ends
            if body in unit.bodies
        ]
    mean = float(np.sqrt(np.mean(np.square(distances)))) if distances else 0.0
    return mean if mean > 1e-6 else 1.0


def _unit_findings(model: Model, free: Freedom) -> list[Finding]:
    unit = free.unit
    motions = free.right[free.rank :]
    due = 1 if unit.wheel >= 0 else 0
    excess = _excess_motions(model, free, motions) if due else motions
    if free.redundant:
        return [_redundant(model, free, excess)]
    if free.freedom < due:
        what = (
            f"{unit.name}: over-constrained by 1, the wheel cannot travel: {free.rows} equations for "
            f"{free.coordinates} coordinates ({_joint_counts(model, unit)}); leave out one"
        )
        return [Finding(what, unit.primitives, unit.bodies)]
    if due and free.freedom > due:
        bodies, motion = _describe(model, free, excess)
        what = f"{unit.name}: under-constrained by {free.freedom - due}, {motion}; add a joint that holds it"
        return [Finding(what, bodies=bodies)]
    if not free.condition <= MAX_CONDITION:
        bodies, motion = _describe(model, free, free.right[free.rank - 1 : free.rank])
        joints = _blamed(model, unit, free.left[:, free.rank - 1 : free.rank], bodies)
        names = _joined([model.primitives[index].joint for index in joints])
        what = (
            f"{unit.name}: nearly singular, condition {free.condition:.3g}, at most {MAX_CONDITION:g}: "
            f"{names} hardly hold{'s' if len(joints) == 1 else ''} it, {motion}"
        )
        return [Finding(what, joints, bodies)]
    return _travel_findings(model, free, motions)


def _travel_findings(model: Model, free: Freedom, motions: FloatArray) -> list[Finding]:
    unit = free.unit
    if unit.wheel >= 0:
        travel = float(abs(motions @ wheel_row(model, free))[0])
        if not travel >= MIN_TRAVEL:
            bodies, motion = _describe(model, free, motions)
            what = f"{unit.name}: the wheel cannot travel up and down, the one freedom left is that {motion}"
            return [Finding(what, unit.primitives, bodies)]
    if not len(motions):
        return []
    springs = np.array([_spring_row(model, free, index) for index in unit.springs])
    springs = springs.reshape(-1, free.coordinates) @ motions.T
    _, values, right = np.linalg.svd(springs)
    held = int(np.count_nonzero(values > MIN_SPRING))
    if held == len(motions):
        return []
    bodies, motion = _describe(model, free, right[held:] @ motions)
    loose = f"{len(motions) - held} of {len(motions)} freedoms are"
    which = loose if len(motions) > 1 else "the one freedom is"
    what = f"{unit.name}: {which} held by no spring, {motion}"
    return [Finding(what, bodies=bodies)]


def _redundant(model: Model, free: Freedom, excess: FloatArray) -> Finding:
    """Return the finding of equations that depend on each other."""
    unit = free.unit
    joints = _blamed(model, unit, free.left[:, free.rank :])
    names = _joined([model.primitives[index].joint for index in joints])
    counts = f"{free.redundant} of {free.rows} equations repeat{'s' if free.redundant == 1 else ''} others"
    if free.rows <= free.coordinates - (unit.wheel >= 0) and len(excess):
        bodies, motion = _describe(model, free, excess)
        what = f"{unit.name}: singular in the design position, {counts}: {names}; and {motion}"
        return Finding(what, joints, bodies)
    return Finding(f"{unit.name}: over-constrained by {free.redundant}, {counts}: {names}", joints)


def _blamed(model: Model, unit: Unit, vectors: FloatArray, bodies: Sequence[int] = ()) -> tuple[int, ...]:
    """Return the first primitive of each joint with the largest shares in left singular vectors (rows, n).

    With ``bodies`` only joints of these: what holds a body badly are its own joints.
    """
    ratios: dict[str, float] = {}
    first: dict[str, int] = {}
    row = 0
    for index in unit.primitives:
        primitive = model.primitives[index]
        ratio = float(np.sum(vectors[row : row + primitive.kind.rows] ** 2))
        row += primitive.kind.rows
        if bodies and primitive.first not in bodies and primitive.second not in bodies:
            continue
        ratios[primitive.joint] = ratios.get(primitive.joint, 0.0) + ratio
        first.setdefault(primitive.joint, index)
    minimum = _RATIO * max(ratios.values())
    order = sorted(ratios, key=lambda joint: -round(ratios[joint], 6))
    return tuple(first[joint] for joint in order if ratios[joint] >= minimum)


def _describe(model: Model, free: Freedom, motions: FloatArray) -> tuple[tuple[int, ...], str]:
    """Return the bodies with the largest shares in motions (n, coordinates), and the motion in words."""
    parts = motions.reshape(len(motions), len(free.unit.bodies), 6)
    ratios = np.sum(parts**2, axis=(0, 2))
    order = [k for k in np.argsort(-np.round(ratios, 6), kind="stable") if ratios[k] >= _RATIO * ratios.max()]
    bodies = tuple(free.unit.bodies[k] for k in order)
    names = _joined([model.bodies[body].name for body in bodies])
    if len(motions) > 1:
        return bodies, f"{names} can move in {len(motions)} ways"
    first = int(order[0])
    twist = parts[0, first]
    shift, turn = twist[:3], twist[3:]
    turns = bool(np.linalg.norm(turn) >= 0.5 * np.linalg.norm(shift))
    vector = turn if turns else shift
    vector = vector / np.linalg.norm(vector) * (1.0 if vector[np.argmax(np.abs(vector))] > 0 else -1.0)
    direction = ", ".join(f"{value + 0.0:.2f}" for value in np.round(vector, 2))
    way = f"turn about [{direction}]" if turns else f"move along [{direction}]"
    return bodies, f"{names} can {way}"


def _excess_motions(model: Model, free: Freedom, motions: FloatArray) -> FloatArray:
    """Return the motions (n - 1, coordinates) beside the one that moves the wheel up and down most."""
    if len(motions) <= 1:
        return motions[:0]
    heights = motions @ wheel_row(model, free)
    _, _, right = np.linalg.svd(heights[np.newaxis])
    rest: FloatArray = right[1:] @ motions
    return rest


def wheel_row(model: Model, free: Freedom) -> FloatArray:
    """Return the (coordinates) derivative of the height of the wheel's centre."""
    wheel = model.wheels[free.unit.wheel]
    up = np.array([0.0, 0.0, 1.0])
    return _point_row(model, free, wheel.carrier, wheel.centre, up)


def _spring_row(model: Model, free: Freedom, index: int) -> FloatArray:
    """Return the (coordinates) derivative of a spring's length; zero where it is only a damper."""
    spring = model.springs[index]
    if not spring.carries_load:
        return np.zeros(free.coordinates)
    line = spring.point_second - spring.point_first
    line = line / np.linalg.norm(line)
    second = _point_row(model, free, spring.second, spring.point_second, line)
    return second - _point_row(model, free, spring.first, spring.point_first, line)


def _point_row(
    model: Model, free: Freedom, body: int, point: FloatArray, direction: FloatArray
) -> FloatArray:
    row = np.zeros(free.coordinates)
    if body in free.unit.bodies:
        start = 6 * free.unit.bodies.index(body)
        row[start : start + 3] = direction
        row[start + 3 : start + 6] = np.cross(point - model.bodies[body].centre, direction) / free.radius
    return row


def _joint_counts(model: Model, unit: Unit) -> str:
    counts: dict[str, int] = {}
    for index in unit.primitives:
        primitive = model.primitives[index]
        counts[primitive.joint] = counts.get(primitive.joint, 0) + primitive.kind.rows
    return ", ".join(f"{joint} {rows}" for joint, rows in counts.items())


def _joined(names: Sequence[str]) -> str:
    quoted = [f"'{name}'" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"
