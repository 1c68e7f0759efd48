"""Closing joints whose two points do not coincide in the design position: damped Gauss-Newton, unit by unit.

An axle's own bodies move first, against the chassis; then each corner, against chassis and axle. Each step is
the smallest motion that closes the joints to first order (Levenberg's damping while it does not get better);
the freedom of a corner is used to keep the height of its wheel's centre. The assembled position becomes the
design position: body frames are parallel to the vehicle frame again, and springs have their preload there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.vehicle.elements.spring_damper.element import SpringDamper
from mastd.vehicle.joints.primitive import Primitive, PrimitiveKind
from mastd.vehicle.model.definition import Body, Model, Wheel
from mastd.vehicle.model.mobility import MIN_TRAVEL, Finding, Unit, examine, residual, units_of, wheel_row

CLOSED: Final = 1e-12
"""Metres, or sine of an angle: joints are closed when no equation is farther off."""
OPEN: Final = 1e-9
"""Joints within this in the design position are left as they are: rounding of their own numbers."""
MAX_STEPS: Final = 100
MAX_TURN: Final = 0.3
"""Radians that a body turns at most in one step."""


def is_closed(model: Model, unit: Unit, tolerance: float = OPEN) -> bool:
    """Return whether all joints of a unit are closed in the design position."""
    return bool(_max_violation(model, unit) <= tolerance)


def assembled(model: Model) -> tuple[Model, list[Finding]]:
    """Return the model with all joints closed, and the units that cannot be closed, by joint and gap."""
    found: dict[int, Finding] = {}
    for number, axle in enumerate(model.axles):
        for unit in units_of(model, axle):
            if is_closed(model, unit):
                continue
            model = _closed(model, unit)
            if not is_closed(model, unit):
                found.setdefault(number, _open_joint(model, unit))  # the right side is the mirror image
    return model, list(found.values())


def _closed(model: Model, unit: Unit) -> Model:
    """Return the model with one unit closed as far as it can be."""
    best, damping = _norm(model, unit), 0.0
    height = _wheel_height(model, unit)
    for _ in range(MAX_STEPS):
        if _max_violation(model, unit) <= CLOSED:
            break
        trial = _stepped(model, unit, damping, height)
        norm = _norm(trial, unit)
        if norm < best:
            converged = not norm < best * (1.0 - 1e-9)
            model, best, damping = trial, norm, damping / 10.0 if damping > 1e-9 else 0.0
            if converged:
                break
        elif damping > 1e6:
            break
        else:
            damping = max(10.0 * damping, 1e-6)
    return model


def _wheel_height(model: Model, unit: Unit) -> float:
    return float(model.wheels[unit.wheel].centre[2]) if unit.wheel >= 0 else 0.0


def _stepped(model: Model, unit: Unit, damping: float, height: float) -> Model:
    """Return the model after one step of damped Gauss-Newton, the wheel's centre at ``height`` in m."""
    free = examine(model, unit)
    rank = free.rank
    violations = np.concatenate([_scaled(model.primitives[k], free.radius) for k in unit.primitives])
    values = free.values[:rank]
    amounts = (free.left[:, :rank].T @ violations) * values / (values**2 + damping * values[0] ** 2)
    change = -(free.right[:rank].T @ amounts)
    if unit.wheel >= 0:
        row = wheel_row(model, free)
        travel = free.right[rank:] @ row
        if np.linalg.norm(travel) >= MIN_TRAVEL:
            missing = height - _wheel_height(model, unit) - float(row @ change)
            change = change + missing / float(travel @ travel) * (free.right[rank:].T @ travel)
    step = change.reshape(-1, 6)
    turns = step[:, 3:] / free.radius
    maximum = float(np.max(np.linalg.norm(turns, axis=1)))
    shrink = min(1.0, MAX_TURN / maximum) if maximum > 0.0 else 1.0
    return moved(model, unit, shrink * step[:, :3], shrink * turns)


def moved(model: Model, unit: Unit, shifts: FloatArray, turns: FloatArray) -> Model:
    """Return the model with a unit's bodies shifted (n, 3) and turned by rotation vectors (n, 3).

    The turns are about the centres of mass.
    Springs keep their preload: free length and stops move with the length in the design position.
    """
    locations = {
        body: (model.bodies[body].centre, shift, _rotation(turn))
        for body, shift, turn in zip(unit.bodies, shifts, turns, strict=True)
    }

    def point(body: int, old: FloatArray) -> FloatArray:
        if body not in locations:
            return old
        centre, shift, rotation = locations[body]
        new: FloatArray = centre + shift + rotation @ (old - centre)
        return new

    def axis(body: int, old: FloatArray) -> FloatArray:
        return locations[body][2] @ old if body in locations else old

    def body(index: int, old: Body) -> Body:
        rotation = axis(index, np.eye(3))
        return replace(old, centre=point(index, old.centre), inertia=rotation @ old.inertia @ rotation.T)

    def primitive(old: Primitive) -> Primitive:
        return replace(
            old,
            point_first=point(old.first, old.point_first),
            point_second=point(old.second, old.point_second),
            axis_first=axis(old.first, old.axis_first),
            axis_second=axis(old.second, old.axis_second),
        )

    def wheel(old: Wheel) -> Wheel:
        return replace(old, centre=point(old.carrier, old.centre), axis=axis(old.carrier, old.axis))

    def spring(old: SpringDamper) -> SpringDamper:
        first, second = point(old.first, old.point_first), point(old.second, old.point_second)
        return old.with_points(first, second)

    return replace(
        model,
        bodies=tuple(body(k, old) for k, old in enumerate(model.bodies)),
        primitives=tuple(primitive(old) for old in model.primitives),
        wheels=tuple(wheel(old) for old in model.wheels),
        springs=tuple(spring(old) for old in model.springs),
        bars=tuple(
            old.with_points(point(old.body_left, old.point_left), point(old.body_right, old.point_right))
            for old in model.bars
        ),
    )


def _rotation(turn: FloatArray) -> FloatArray:
    """Return the rotation matrix (3, 3) of a rotation vector (Rodrigues)."""
    angle = float(np.linalg.norm(turn))
    x, y, z = turn
    tilde = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    first = np.sinc(angle / np.pi)
    second = 0.5 * np.sinc(0.5 * angle / np.pi) ** 2
    rotation: FloatArray = np.eye(3) + first * tilde + second * tilde @ tilde
    return rotation


def _scaled(primitive: Primitive, radius: float) -> FloatArray:
    """Return the gaps in m: sines of angles times the unit's radius."""
    violation = residual(primitive)
    return radius * violation if primitive.kind is PrimitiveKind.DOT_1 else violation


def _violations(model: Model, unit: Unit) -> list[float]:
    return [float(np.linalg.norm(residual(model.primitives[k]))) for k in unit.primitives]


def _max_violation(model: Model, unit: Unit) -> float:
    return max(_violations(model, unit), default=0.0)


def _norm(model: Model, unit: Unit) -> float:
    return float(np.linalg.norm(_violations(model, unit)))


def _open_joint(model: Model, unit: Unit) -> Finding:
    """Return the finding of the joint with the largest gap left."""
    violations = _violations(model, unit)
    index = unit.primitives[int(np.argmax(violations))]
    primitive, violation = model.primitives[index], max(violations)
    if primitive.kind is PrimitiveKind.DISTANCE:
        violation = abs(
            float(np.linalg.norm(primitive.point_second - primitive.point_first)) - primitive.length
        )
    if primitive.kind is PrimitiveKind.DOT_1:
        size = f"{np.degrees(np.arcsin(min(violation, 1.0))):.3g} deg"
    else:
        size = f"{1000 * violation:.4g} mm"
    what = f"{unit.name}: cannot be assembled, '{primitive.joint}' stays open by {size} at best"
    return Finding(what, (index,))
