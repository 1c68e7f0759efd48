"""What a suspension is to its wheel in the design position: rates, lever ratios, roll centre, unsprung mass.

All for a unit of wheel travel of one corner, the axle's other wheels and the chassis held, joints rigid. With
i the compression of a spring per travel, k its stiffness, F its force, the wheel's rate is Σ k i² + F di/dz.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.vehicle.kinematics.linkage import Linkage, Pose, SpringLength, WheelHeight, design_pose
from mastd.vehicle.model.definition import Axle, Model

_PROBE: Final = 1e-3
"""m of travel either way for the change of a lever ratio."""


@dataclass(frozen=True)
class CornerRates:
    """One wheel's suspension."""

    wheel: int
    position: tuple[float, float]
    """x and y of the wheel's centre, vehicle frame, m."""
    rate: float
    """N/m at the wheel, its tyre left out."""
    bar_rate: float
    """What the anti-roll bar adds where both wheels go opposite ways, N/m at the wheel."""
    roll_centre: float
    """Height above the ground of the point about which the contact centre moves, at the car's middle, m."""
    unsprung: float
    """Mass that moves with the wheel, by its kinetic energy, kg."""


def wheel_rates(model: Model) -> tuple[CornerRates, ...]:
    """Return the rates of all wheels, in the model's order.

    Stops are taken as not touched; a wheel without corner of its own is none. Raises LinkageError for joints
    that do not close.
    """
    found = [corner for axle in model.axles if axle.corners for corner in _axle(model, axle)]
    return tuple(sorted(found, key=lambda corner: corner.wheel))


def _axle(model: Model, axle: Axle) -> list[CornerRates]:
    corners = [model.corners[index] for index in axle.corners]
    bodies = [*axle.bodies, *(body for corner in corners for body in corner.bodies)]
    primitives = [*axle.primitives, *(index for corner in corners for index in corner.primitives)]
    linkage = Linkage(model, bodies, primitives)
    heights = [WheelHeight(corner.wheel) for corner in corners]
    design = np.array([model.wheels[corner.wheel].centre[2] for corner in corners])
    still = np.zeros(len(model.drives))

    def rates(pose: Pose, index: int) -> FloatArray:
        demand = np.zeros(len(corners))
        demand[index] = 1.0
        return linkage.velocities(pose, still, heights, (np.zeros(linkage.rows), demand))

    def levers(pose: Pose, index: int) -> FloatArray:
        moving = rates(pose, index)
        springs = corners[index].springs
        return np.array([-float(linkage.measure(pose, SpringLength(k))[1] @ moving) for k in springs])

    found = []
    for index, corner in enumerate(corners):
        offset = np.zeros(len(corners))
        offset[index] = _PROBE
        pose = design_pose(model)
        up, down = (linkage.close(pose, still, heights, design + sign * offset) for sign in (1.0, -1.0))
        middle = levers(pose, index)
        slope = (levers(up, index) - levers(down, index)) / (2.0 * _PROBE)
        springs = [model.springs[index] for index in corner.springs]
        lengths = [linkage.measure(pose, SpringLength(index))[0] for index in corner.springs]
        elastic = [spring.elastic(length) for spring, length in zip(springs, lengths, strict=True)]
        forces, stiffness = np.array(elastic).reshape(-1, 2).T
        moving = rates(pose, index)
        wheel = model.wheels[corner.wheel]
        contact = np.array([wheel.centre[0], wheel.centre[1], 0.0])
        sideways = linkage.rate_row(pose, wheel.carrier, contact, np.array([0.0, 1.0, 0.0])) @ moving
        found.append(
            CornerRates(
                wheel=corner.wheel,
                position=(float(wheel.centre[0]), float(wheel.centre[1])),
                rate=float(stiffness @ middle**2 + forces @ slope),
                bar_rate=_bar_rate(model, axle, linkage, pose, moving),
                roll_centre=float(wheel.centre[1] * sideways),
                unsprung=_moving_mass(model, linkage, moving),
            )
        )
    return found


def _bar_rate(model: Model, axle: Axle, linkage: Linkage, pose: Pose, moving: FloatArray) -> float:
    """Return 2 k j² with j the travel of the bar's end per wheel travel."""
    if axle.bar < 0:
        return 0.0
    bar = model.bars[axle.bar]
    up = np.array([0.0, 0.0, 1.0])
    lever = sum(
        float(linkage.rate_row(pose, body, point, up) @ moving)
        for body, point in ((bar.body_left, bar.point_left), (bar.body_right, bar.point_right))
    )
    return 2.0 * bar.stiffness * lever**2


def _moving_mass(model: Model, linkage: Linkage, moving: FloatArray) -> float:
    mass = 0.0
    for index in linkage.bodies:
        body = model.bodies[index]
        velocity = linkage.body_velocity(moving, index)
        mass += body.mass * float(velocity[:3] @ velocity[:3])
        mass += float(velocity[3:] @ body.inertia @ velocity[3:])
    return mass
