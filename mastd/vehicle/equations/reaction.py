"""What a vehicle's motion says about its wrench on the ground: weight less rate of momentum.

The forces of tyres are those of the last iterate that was evaluated, and a correction follows it: the car
goes on by what the corrected accelerations say. What they take of the weight is what the ground must have
carried, and with it momentum is kept to rounding, however far the iteration went.
"""

from __future__ import annotations

from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel
from mastd.lanes import broadcast, hsum, load, load_row
from mastd.vehicle.blocks.body_points import in_inertial_axes
from mastd.vehicle.blocks.fields import BODY, CHASSIS, GROUP, INERTIA, WHEEL
from mastd.vehicle.blocks.vectors import Triple, cross, load3, rotate, symmetric_times
from mastd.vehicle.state.arrays import Arrays


@fused_kernel
def guided(car: Arrays) -> bool:
    """Return whether motions of the chassis are held, by forces that are not the ground's."""
    found = False
    for k in range(6):
        found = found or car.held[k] != 0.0
    return found


@fused_kernel
def reaction(car: Arrays, gravity: float, wrench: FloatArray) -> None:
    """Write the wrench (6) on the ground that belongs to the accelerations: force and moment about the
    origin, inertial axes, of a car that is not ``guided``.

    Σ m (g − a), Σ r × m (g − a) − R (J α + ω × J ω) and the wheels' −I d(Ω axis)/dt, with what else acts
    from outside, the air, added.
    """
    bodies = car.bodies
    # Straps pull at the car and hold to the ground; ``external`` has them too.
    for k in range(6):
        wrench[k] = car.strap_wrench[k]
    x, y, z = in_inertial_axes(bodies, CHASSIS, 0, car.external[0], car.external[1], car.external[2])
    u, v, w = in_inertial_axes(bodies, CHASSIS, 0, car.external[3], car.external[4], car.external[5])
    p = BODY.position
    a, b, c = cross(bodies[CHASSIS, p, 0], bodies[CHASSIS, p + 1, 0], bodies[CHASSIS, p + 2, 0], x, y, z)
    _add(
        wrench,
        broadcast(0.25),
        (broadcast(x), broadcast(y), broadcast(z)),
        (broadcast(u + a), broadcast(v + b), broadcast(w + c)),
    )
    force, moment = _of_body(bodies, car.body_constants, CHASSIS, gravity)
    _add(wrench, broadcast(0.25), force, moment)
    for group in range(car.groups.shape[0]):
        line, weight = car.groups[group], load_row(car.weights, group)
        for body in range(line[GROUP.first_body], line[GROUP.first_body] + line[GROUP.bodies]):
            force, moment = _of_body(bodies, car.body_constants, body, gravity)
            _add(wrench, weight, force, moment)
        if line[GROUP.wheel] >= 0:
            carrier = line[GROUP.first_body] + line[GROUP.carrier] - line[GROUP.interfaces]
            nothing = broadcast(0.0)
            _add(
                wrench,
                weight,
                (nothing, nothing, nothing),
                _of_spin(bodies, car.wheels, carrier, line[GROUP.wheel]),
            )


@fused_kernel
def _add(wrench: FloatArray, weight: float, force: Triple, moment: Triple) -> None:
    """Add the lanes of a force and a moment, weighted."""
    for k in range(3):
        wrench[k] += hsum(weight * force[k])
        wrench[3 + k] += hsum(weight * moment[k])


@fused_kernel
def _of_body(bodies: FloatArray, constants: FloatArray, body: int, gravity: float) -> tuple[Triple, Triple]:
    """Return m (g − a) and its moment about the origin less the rate of the spin, of a body in lanes."""
    mass = load(constants, body, INERTIA.mass)
    ax, ay, az = load3(bodies, body, BODY.acceleration)
    x, y, z = -mass * ax, -mass * ay, -mass * (az + gravity)
    px, py, pz = load3(bodies, body, BODY.position)
    a, b, c = cross(px, py, pz, x, y, z)
    moments, products = load3(constants, body, INERTIA.moments), load3(constants, body, INERTIA.products)
    wx, wy, wz = load3(bodies, body, BODY.angular_velocity)
    hx, hy, hz = symmetric_times(moments, products, wx, wy, wz)
    gx, gy, gz = cross(wx, wy, wz, hx, hy, hz)
    ux, uy, uz = load3(bodies, body, BODY.angular_acceleration)
    hx, hy, hz = symmetric_times(moments, products, ux, uy, uz)
    u, v, w = rotate(bodies, body, BODY.rotation, hx + gx, hy + gy, hz + gz)
    return (x, y, z), (a - u, b - v, c - w)


@fused_kernel
def _of_spin(bodies: FloatArray, wheels: FloatArray, carrier: int, wheel: int) -> Triple:
    """Return −I (dΩ/dt axis + Ω ω × axis) of a wheel on its carrier, in lanes."""
    inertia = load(wheels, wheel, WHEEL.axial_inertia)
    change, spin = load(wheels, wheel, WHEEL.spin_acceleration), load(wheels, wheel, WHEEL.spin)
    x, y, z = load3(wheels, wheel, WHEEL.axis)
    wx, wy, wz = load3(bodies, carrier, BODY.angular_velocity)
    u, v, w = cross(wx, wy, wz, x, y, z)
    x, y, z = change * x + spin * u, change * y + spin * v, change * z + spin * w
    x, y, z = rotate(bodies, carrier, BODY.rotation, x, y, z)
    return -inertia * x, -inertia * y, -inertia * z
