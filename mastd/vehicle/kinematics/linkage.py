"""A linkage with the chassis held: the positions that its joints allow, nothing of forces and rates.

Plain numpy on a handful of bodies, for suspension kinematics. A pose is positions (nb, 3) of the centres of
mass and attitudes (nb, 4) of all bodies, in the axes of the held chassis (those of the design position).
Conditions, as a wheel's height or a spring's length, are further equations beside those of the joints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mastd.arrays import FloatArray
from mastd.errors import MastdError
from mastd.vehicle.blocks.rotation import cross, rotate_attitude, rotation_matrix
from mastd.vehicle.joints.primitive import Primitive, PrimitiveKind
from mastd.vehicle.model.definition import Model

ITERATIONS = 25
TOLERANCE = 1e-11
"""Metres (and radians, of dot-1) by which a joint may be open."""
MAX_STEP = 0.1
"""Metres and radians of one iteration."""
REDUNDANT = 1e-10
"""Relative singular value of equations that depend on each other."""


class LinkageError(MastdError):
    """A position the linkage cannot take, with the joint that stays open and by how much."""


@dataclass(frozen=True, eq=False)
class Pose:
    """Where the bodies are, (nb, 3) and (nb, 4)."""

    position: FloatArray
    attitude: FloatArray

    @cached_property
    def matrix(self) -> FloatArray:
        """(nb, 3, 3) from body axes."""
        return rotation_matrix(self.attitude)


@dataclass(frozen=True)
class WheelHeight:
    """The height of a wheel's centre, m."""

    wheel: int


@dataclass(frozen=True)
class SpringLength:
    """The length of a spring-damper, m."""

    spring: int


Condition = WheelHeight | SpringLength


def design_pose(model: Model) -> Pose:
    """Return the design position."""
    attitude = np.tile([1.0, 0.0, 0.0, 0.0], (len(model.bodies), 1))
    return Pose(np.array([body.centre for body in model.bodies], dtype=np.float64), attitude)


class Linkage:
    """The bodies that may move, their joints, and the Newton method that closes these."""

    def __init__(self, model: Model, bodies: Sequence[int], primitives: Sequence[int]) -> None:
        self.model = model
        self.bodies = tuple(bodies)
        self.primitives = tuple(model.primitives[index] for index in primitives)
        self._columns = {body: slice(6 * index, 6 * index + 6) for index, body in enumerate(self.bodies)}
        self._joints = [p.joint for p in self.primitives for _ in range(p.kind.rows)]

    @property
    def rows(self) -> int:
        """Number of the joints' equations."""
        return len(self._joints)

    def point(self, pose: Pose, body: int, design: FloatArray) -> FloatArray:
        """Return where a point fixed in a body is, given its design position."""
        arm = design - self.model.bodies[body].centre
        return np.asarray(pose.position[body] + pose.matrix[body] @ arm)

    def rate_row(self, pose: Pose, body: int, point: FloatArray, direction: FloatArray) -> FloatArray:
        """Return the row (6 bodies) that takes velocities to the velocity of a point along a direction."""
        row = np.zeros(6 * len(self.bodies))
        if body in self._columns:
            arm = point - pose.position[body]
            row[self._columns[body]] = np.concatenate([direction, cross(arm, direction)])
        return row

    def joints(self, pose: Pose, drive: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return Φ (rows) and its Jacobian (rows, 6 bodies); ``drive`` (n_drives): displacements, m."""
        parts = [self._primitive(pose, primitive, drive) for primitive in self.primitives]
        if not parts:
            return np.zeros(0), np.zeros((0, 6 * len(self.bodies)))
        return np.concatenate([part[0] for part in parts]), np.vstack([part[1] for part in parts])

    def _primitive(
        self, pose: Pose, primitive: Primitive, drive: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        i, j = primitive.first, primitive.second
        points = self.point(pose, i, primitive.point_first), self.point(pose, j, primitive.point_second)
        axes = pose.matrix[i] @ primitive.axis_first, pose.matrix[j] @ primitive.axis_second
        centres = pose.position[i], pose.position[j]
        rows = np.zeros((primitive.kind.rows, 6 * len(self.bodies)))
        for body, part in zip((i, j), primitive.jacobian(points, axes, centres), strict=True):
            if body in self._columns:
                # Added to +0, so that no -0 is left: least squares (LAPACK's reflections) round by its sign.
                rows[:, self._columns[body]] += part
        driven = float(drive[primitive.drive]) if primitive.drive >= 0 else 0.0
        return primitive.violation(points, axes, driven), rows

    def drive_rates(self, drive: int) -> FloatArray:
        """Return the rates (rows) that the joints' equations demand for a unit rate of one drive."""
        demands = [
            float(primitive.drive == drive and primitive.kind is PrimitiveKind.DOT_2)
            for primitive in self.primitives
            for _ in range(primitive.kind.rows)
        ]
        return np.array(demands)

    def measure(self, pose: Pose, condition: Condition) -> tuple[float, FloatArray]:
        """Return the present value of a condition's quantity, and its row."""
        if isinstance(condition, WheelHeight):
            wheel = self.model.wheels[condition.wheel]
            centre = self.point(pose, wheel.carrier, wheel.centre)
            return float(centre[2]), self.rate_row(pose, wheel.carrier, centre, np.array([0.0, 0.0, 1.0]))
        spring = self.model.springs[condition.spring]
        first = self.point(pose, spring.first, spring.point_first)
        second = self.point(pose, spring.second, spring.point_second)
        length = float(np.linalg.norm(second - first))
        direction = (second - first) / length
        row = self.rate_row(pose, spring.second, second, direction)
        return length, row - self.rate_row(pose, spring.first, first, direction)

    def moved(self, pose: Pose, step: FloatArray) -> Pose:
        """Return the pose displaced and turned by a step (6 bodies)."""
        position, attitude = pose.position.copy(), pose.attitude.copy()
        for body, columns in self._columns.items():
            position[body] += step[columns][:3]
            attitude[body] = rotate_attitude(attitude[body], step[columns][3:])
        return Pose(position, attitude)

    def close(
        self, pose: Pose, drive: FloatArray, conditions: Sequence[Condition], targets: FloatArray
    ) -> Pose:
        """Return the pose that closes all joints and meets the conditions, by Newton from a pose nearby.

        Where more is free than the conditions say (a rod's turn about itself) the smallest step is taken.
        Raises LinkageError where no such pose is found within a bounded number of iterations.
        """
        for iteration in range(ITERATIONS + 1):
            violation, jacobian = self.joints(pose, drive)
            measures = [self.measure(pose, condition) for condition in conditions]
            short = np.array([value for value, _ in measures]) - targets
            equations = np.concatenate([violation, short])
            if np.max(np.abs(equations), initial=0.0) <= TOLERANCE:
                return pose
            if iteration < ITERATIONS:
                rows = np.vstack([jacobian, *(row for _, row in measures)])
                step = -np.linalg.lstsq(rows, equations, rcond=REDUNDANT)[0]
                pose = self.moved(pose, step * min(1.0, MAX_STEP / float(np.max(np.abs(step)))))
        raise LinkageError(self._open(equations, conditions))

    def velocities(
        self,
        pose: Pose,
        drive: FloatArray,
        conditions: Sequence[Condition],
        demands: tuple[FloatArray, FloatArray],
    ) -> FloatArray:
        """Return velocities (6 bodies) for demanded rates of the joints' equations and of the conditions."""
        _, jacobian = self.joints(pose, drive)
        rows = np.vstack([jacobian, *(self.measure(pose, condition)[1] for condition in conditions)])
        return np.asarray(np.linalg.lstsq(rows, np.concatenate(demands), rcond=REDUNDANT)[0])

    def body_velocity(self, velocities: FloatArray, body: int) -> FloatArray:
        """Return velocity and angular velocity (6) of one body; zeros if it is held."""
        return velocities[self._columns[body]] if body in self._columns else np.zeros(6)

    def _open(self, equations: FloatArray, conditions: Sequence[Condition]) -> str:
        joints = equations[: self.rows]
        worst = int(np.argmax(np.abs(joints))) if joints.size else 0
        parts = []
        # What is a hundred times less than the worst is only its consequence.
        least = max(TOLERANCE, 0.01 * float(np.max(np.abs(equations))))
        if np.max(np.abs(joints), initial=0.0) > least:
            parts.append(f"{self._joints[worst]} stays open by {1e3 * abs(joints[worst]):.3g} mm")
        for condition, rest in zip(conditions, equations[self.rows :], strict=True):
            if not abs(rest) <= least:
                name = (
                    f"wheel {self.model.wheels[condition.wheel].name}"
                    if isinstance(condition, WheelHeight)
                    else self.model.springs[condition.spring].name
                )
                parts.append(f"{name} is {1e3 * abs(rest):.3g} mm from where it should be")
        return "; ".join(parts)
