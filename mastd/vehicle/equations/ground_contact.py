"""The ground below each wheel, looked up once a step at the predicted place of the wheel's centre.

Within the step the ground is the plane through that point: the wheel moves by micrometres from prediction to
result, and the tyre stays implicit in height, slope and speed.
"""

from __future__ import annotations

from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel
from mastd.lanes import LANES
from mastd.roads.ground import is_plane, outside, surface, surface_friction, surface_turn, surface_velocity
from mastd.vehicle.blocks.fields import BODY, GROUP, WHEEL
from mastd.vehicle.blocks.vectors import load3, rotate, store3
from mastd.vehicle.state.arrays import Arrays


@fused_kernel
def _contact_points(car: Arrays, group: int) -> None:
    """Write the present wheel centre of a group, in inertial axes, as the point to look the ground up for."""
    line = car.groups[group]
    wheel = line[GROUP.wheel]
    if wheel < 0:
        return
    body = line[GROUP.first_body] + line[GROUP.carrier] - line[GROUP.interfaces]
    x, y, z = load3(car.wheels, wheel, WHEEL.centre)
    p0, p1, p2 = rotate(car.bodies, body, BODY.rotation, x, y, z)
    x, y, z = load3(car.bodies, body, BODY.position)
    store3(car.wheels, wheel, WHEEL.contact, x + p0, y + p1, z + p2)


@fused_kernel
def sample_ground(car: Arrays, ground: FloatArray) -> None:
    """Write height, slope, motion and friction of the ground below all wheels, at their present places."""
    wheels = car.wheels
    turn_x, turn_y, turn_z = surface_turn(ground)
    enveloped = 0.0 if is_plane(ground) else 1.0
    for group in range(car.groups.shape[0]):
        _contact_points(car, group)
    for item in range(wheels.shape[0]):
        for lane in range(LANES):
            x, y = wheels[item, WHEEL.contact, lane], wheels[item, WHEEL.contact + 1, lane]
            height, slope_x, slope_y = surface(ground, x, y)
            wheels[item, WHEEL.height, lane] = wheels[item, WHEEL.contact + 2, lane] - height
            wheels[item, WHEEL.slope, lane] = slope_x
            wheels[item, WHEEL.slope + 1, lane] = slope_y
            u, v, w = surface_velocity(ground, x, y)
            wheels[item, WHEEL.ground_velocity, lane] = u
            wheels[item, WHEEL.ground_velocity + 1, lane] = v
            wheels[item, WHEEL.ground_velocity + 2, lane] = w
            wheels[item, WHEEL.ground_angular_velocity, lane] = turn_x
            wheels[item, WHEEL.ground_angular_velocity + 1, lane] = turn_y
            wheels[item, WHEEL.ground_angular_velocity + 2, lane] = turn_z
            wheels[item, WHEEL.friction, lane] = surface_friction(ground, x, y)
            wheels[item, WHEEL.enveloped, lane] = enveloped
            wheels[item, WHEEL.outside, lane] = outside(ground, x, y)
