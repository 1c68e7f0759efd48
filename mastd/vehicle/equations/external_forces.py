"""Forces that are taken once a step, at its predicted end: powertrain, air, straps, chocks.

They vary slowly against the step, or are soft against the masses that they act on, so that taking them at the
prediction costs no accuracy that is worth an iteration; the equations of a step see them as constants.
"""

from __future__ import annotations

import numpy as np

from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel, separate_kernel
from mastd.lanes import LANES
from mastd.roads.ground import from_ground, surface_velocity
from mastd.vehicle.blocks.body_points import in_body_axes, point_of_body
from mastd.vehicle.blocks.fields import AIR, BODY, CHASSIS, GROUP, STRAP, WHEEL
from mastd.vehicle.blocks.vectors import cross
from mastd.vehicle.powertrain.step import drive_wheels
from mastd.vehicle.state.arrays import Arrays
from mastd.vehicle.tyres.registry import prepare_tyres


@fused_kernel
def prepare_wheels(car: Arrays, moving: bool) -> None:
    """Write what tyres keep during a step; ``moving``: one begins."""
    for group in range(car.groups.shape[0]):
        prepare_tyres(car.wheels, car.tyres, car.groups[group], moving)


@fused_kernel
def apply_external_forces(car: Arrays, ground: FloatArray) -> None:
    """Add the forces of air and straps to the chassis' external ones, write those of chocks to the wheels."""
    if car.air[AIR.drag] != 0.0 or car.air[AIR.front_lift] != 0.0 or car.air[AIR.rear_lift] != 0.0:
        push_by_air(car.bodies, car.air, car.external)
    if car.straps.shape[0] > 0:
        pull_straps(car.bodies, car.straps, car.external, car.strap_wrench, ground)
    for group in range(car.groups.shape[0]):
        item = car.groups[group, GROUP.wheel]
        if item >= 0:
            carrier = car.groups[group, GROUP.carrier] - car.groups[group, GROUP.interfaces]
            chock_wheels(car.bodies, car.wheels, ground, car.groups[group, GROUP.first_body] + carrier, item)


@fused_kernel
def turn_wheels(car: Arrays, step: float) -> None:
    """Advance the powertrain by a step at the predicted spins; add its torques to those of the inputs."""
    if car.drive_constants.shape[0] == 0:
        return
    wheels = car.wheels
    for item in range(wheels.shape[0]):
        for lane in range(LANES):
            car.drive_wheels[0, car.wheel_of[item, lane]] = wheels[item, WHEEL.spin, lane]
    drive_wheels(
        car.drive_constants, car.drive_state, car.driver, car.drive_wheels[0], step, car.drive_wheels[1]
    )
    for item in range(wheels.shape[0]):
        for lane in range(LANES):
            wheels[item, WHEEL.drive_torque, lane] += car.drive_wheels[1, car.wheel_of[item, lane]]


@separate_kernel
def push_by_air(bodies: FloatArray, air: FloatArray, external: FloatArray) -> None:
    """Add drag against the chassis' velocity and lift along its z axis, with the square of the speed."""
    u, v, w = in_body_axes(
        bodies,
        CHASSIS,
        0,
        bodies[CHASSIS, BODY.velocity, 0],
        bodies[CHASSIS, BODY.velocity + 1, 0],
        bodies[CHASSIS, BODY.velocity + 2, 0],
    )
    square = u * u + v * v + w * w
    speed = np.sqrt(square)
    drag, front, rear = air[AIR.drag], air[AIR.front_lift] * square, air[AIR.rear_lift] * square
    _push(external, air, AIR.drag_point, -drag * speed * u, -drag * speed * v, -drag * speed * w)
    _push(external, air, AIR.front_point, 0.0, 0.0, front)
    _push(external, air, AIR.rear_point, 0.0, 0.0, rear)


@fused_kernel
def _push(external: FloatArray, arms: FloatArray, first: int, x: float, y: float, z: float) -> None:
    """Add a force at an arm, and its moment."""
    external[0] += x
    external[1] += y
    external[2] += z
    u, v, w = cross(arms[first], arms[first + 1], arms[first + 2], x, y, z)
    external[3] += u
    external[4] += v
    external[5] += w


@separate_kernel
def pull_straps(
    bodies: FloatArray, straps: FloatArray, external: FloatArray, wrench: FloatArray, ground: FloatArray
) -> None:
    """Add the straps' pull: stiffness · (length − free length) + damping · rate where they are taut."""
    for k in range(6):
        wrench[k] = 0.0
    for n in range(straps.shape[0]):
        position, speed = point_of_body(
            bodies, CHASSIS, 0, straps[n, STRAP.point], straps[n, STRAP.point + 1], straps[n, STRAP.point + 2]
        )
        a = from_ground(
            ground, straps[n, STRAP.anchor], straps[n, STRAP.anchor + 1], straps[n, STRAP.anchor + 2]
        )
        g = surface_velocity(ground, a[0], a[1])
        d0, d1, d2 = a[0] - position[0], a[1] - position[1], a[2] - position[2]
        length = np.sqrt(d0 * d0 + d1 * d1 + d2 * d2)
        d0, d1, d2 = d0 / length, d1 / length, d2 / length
        rate = d0 * (g[0] - speed[0]) + d1 * (g[1] - speed[1]) + d2 * (g[2] - speed[2])
        stretch = length - straps[n, STRAP.free_length]
        tension = 0.0
        if stretch > 0.0:
            tension = max(straps[n, STRAP.stiffness] * stretch + straps[n, STRAP.damping] * rate, 0.0)
        straps[n, STRAP.tension] = tension
        x, y, z = tension * d0, tension * d1, tension * d2
        u, v, w = in_body_axes(bodies, CHASSIS, 0, x, y, z)
        _push(external, straps[n], STRAP.point, u, v, w)
        wrench[0] -= x
        wrench[1] -= y
        wrench[2] -= z
        wrench[3] -= a[1] * z - a[2] * y
        wrench[4] -= a[2] * x - a[0] * z
        wrench[5] -= a[0] * y - a[1] * x


@separate_kernel
def chock_wheels(bodies: FloatArray, wheels: FloatArray, ground: FloatArray, body: int, wheel: int) -> None:
    """Write the push of the chocks on one item of the wheels: along the ground's x axis, back to between
    them."""
    for lane in range(LANES):
        for k in range(3):
            wheels[wheel, WHEEL.chock_force + k, lane] = 0.0
        if wheels[wheel, WHEEL.chock_stiffness, lane] == 0.0:
            continue
        at = WHEEL.chock_centre
        x, y, z = wheels[wheel, at, lane], wheels[wheel, at + 1, lane], wheels[wheel, at + 2, lane]
        a = from_ground(ground, x, y, z)
        b = from_ground(ground, x + 1.0, y, z)
        e0, e1, e2 = b[0] - a[0], b[1] - a[1], b[2] - a[2]
        c = WHEEL.centre
        position, speed = point_of_body(
            bodies,
            body,
            lane,
            wheels[wheel, c, lane],
            wheels[wheel, c + 1, lane],
            wheels[wheel, c + 2, lane],
        )
        g = surface_velocity(ground, position[0], position[1])
        way = e0 * (position[0] - a[0]) + e1 * (position[1] - a[1]) + e2 * (position[2] - a[2])
        rate = e0 * (speed[0] - g[0]) + e1 * (speed[1] - g[1]) + e2 * (speed[2] - g[2])
        depth = abs(way) - wheels[wheel, WHEEL.chock_clearance, lane]
        if not depth > 0.0:
            continue
        side = 1.0 if way > 0.0 else -1.0
        force = wheels[wheel, WHEEL.chock_stiffness, lane] * depth
        force += wheels[wheel, WHEEL.chock_damping, lane] * side * rate
        force = -side * max(force, 0.0)
        wheels[wheel, WHEEL.chock_force, lane] = force * e0
        wheels[wheel, WHEEL.chock_force + 1, lane] = force * e1
        wheels[wheel, WHEEL.chock_force + 2, lane] = force * e2
