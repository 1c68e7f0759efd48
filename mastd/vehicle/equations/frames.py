"""Bodies in the axes of the frame: eqs. (3), (7) and the inertia terms of (28), (33), (34) of Kang 2014.

The frame is the chassis in the proposed method and the inertial one in the conventional method. In both,
positions are taken from the chassis' centre of mass, so that the numbers stay small wherever the car drives.

Correction to the paper: the moment of the inertia forces contains ω′ × J′ω′, which its (28) and (34) lose.
What a wheel's spin adds to its carrier is in ``tyre``.
"""

from __future__ import annotations

from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel
from mastd.lanes import LANES, broadcast, first_lane, load, store
from mastd.vehicle.blocks.fields import (
    BODY,
    CHASSIS,
    GROUP,
    INERTIA,
    LOCAL_BODY,
    LOCAL_BODY_SIZE,
    LOCAL_MOTION_SIZE,
)
from mastd.vehicle.blocks.rotation import quaternion_matrix, rotate_quaternion
from mastd.vehicle.blocks.vectors import (
    cross,
    load3,
    rotate,
    store3,
    symmetric_times,
    to_frame,
)
from mastd.vehicle.state.arrays import Arrays


@fused_kernel
def choose_frame(car: Arrays, relative: bool) -> None:
    """Set the frame: the chassis' axes (proposed method) or the inertial ones."""
    for k in range(9):
        car.frame[k] = car.bodies[CHASSIS, BODY.rotation + k, 0] if relative else (1.0 if k % 4 == 0 else 0.0)


@fused_kernel
def chassis_to_frame(car: Arrays, gravity: float) -> None:
    """Start the chassis' residual with its inertia, weight and the external force and moment."""
    frame, bodies, constants = car.frame, car.bodies, car.body_constants
    mass = load(constants, CHASSIS, INERTIA.mass)
    x, y, z = load3(bodies, CHASSIS, BODY.acceleration)
    a0, a1, a2 = to_frame(frame, x, y, z + gravity)
    w0, w1, w2 = load3(bodies, CHASSIS, BODY.angular_velocity)
    b0, b1, b2 = load3(bodies, CHASSIS, BODY.angular_acceleration)
    moments = load3(constants, CHASSIS, INERTIA.moments)
    products = load3(constants, CHASSIS, INERTIA.products)
    h0, h1, h2 = symmetric_times(moments, products, w0, w1, w2)
    g0, g1, g2 = cross(w0, w1, w2, h0, h1, h2)
    t0, t1, t2 = symmetric_times(moments, products, b0, b1, b2)
    external = car.external
    f0, f1, f2 = chassis_axes_to_frame(
        frame, bodies, broadcast(external[0]), broadcast(external[1]), broadcast(external[2])
    )
    m0, m1, m2 = chassis_axes_to_frame(
        frame, bodies, t0 + g0 - external[3], t1 + g1 - external[4], t2 + g2 - external[5]
    )
    residual = car.chassis_residual
    residual[0], residual[1], residual[2] = (
        first_lane(mass * a0 - f0),
        first_lane(mass * a1 - f1),
        first_lane(mass * a2 - f2),
    )
    residual[3], residual[4], residual[5] = first_lane(m0), first_lane(m1), first_lane(m2)


@fused_kernel
def chassis_axes_to_frame(
    frame: FloatArray, bodies: FloatArray, x: float, y: float, z: float
) -> tuple[float, float, float]:
    """Return a vector given in chassis axes, in lanes, in the axes of the frame."""
    u, v, w = rotate(bodies, CHASSIS, BODY.rotation, x, y, z)
    return to_frame(frame, u, v, w)


@fused_kernel
def attitudes(car: Arrays) -> None:
    """Renew all attitudes and rotation matrices from the start of the step and the turn since: eq. (45)."""
    bodies = car.bodies
    for b in range(bodies.shape[0]):
        renew_attitude(bodies, b)


@fused_kernel
def renew_attitude(bodies: FloatArray, b: int) -> None:
    """Renew attitude and rotation matrix of one item of the bodies."""
    s, t = BODY.start_attitude, BODY.rotation_vector
    w, x, y, z = rotate_quaternion(
        load(bodies, b, s),
        load(bodies, b, s + 1),
        load(bodies, b, s + 2),
        load(bodies, b, s + 3),
        load(bodies, b, t),
        load(bodies, b, t + 1),
        load(bodies, b, t + 2),
    )
    store(bodies, b, BODY.attitude, w)
    store3(bodies, b, BODY.attitude + 1, x, y, z)
    r0, r1, r2, r3, r4, r5, r6, r7, r8 = quaternion_matrix(w, x, y, z)
    store3(bodies, b, BODY.rotation, r0, r1, r2)
    store3(bodies, b, BODY.rotation + 3, r3, r4, r5)
    store3(bodies, b, BODY.rotation + 6, r6, r7, r8)


@fused_kernel
def positions_to_frame(car: Arrays, group: int) -> None:
    """Write position and rotation alone of a group's local bodies."""
    line = car.groups[group]
    local_bodies, first_local = car.local_bodies, line[GROUP.first_local]
    own = first_local + line[GROUP.interfaces]
    for k in range(line[GROUP.bodies]):
        position_to_frame(car.frame, car.bodies, local_bodies, line[GROUP.first_body] + k, own + k)
    store3(local_bodies, first_local, LOCAL_BODY.position, broadcast(0.0), broadcast(0.0), broadcast(0.0))
    rotate_to_frame(car.frame, car.bodies, local_bodies, CHASSIS, first_local)
    _copy_joined(car, group, LOCAL_BODY.velocity)


@fused_kernel
def _copy_joined(car: Arrays, group: int, count: int) -> None:
    line = car.groups[group]
    local_bodies, first_local = car.local_bodies, line[GROUP.first_local]
    for local in range(first_local + 1, first_local + line[GROUP.interfaces]):
        for lane in range(LANES):
            source, other = car.interface_source[local, lane], car.interface_lane[local, lane]
            if source < 0:
                source, other = first_local, lane
            for field in range(count):
                local_bodies[local, field, lane] = local_bodies[source, field, other]


@fused_kernel
def bodies_to_frame(car: Arrays, group: int, gravity: float, rates: bool) -> None:
    """Fill the local bodies of a group: its own with their inertia and weight, then its interface bodies.

    ``rates`` adds accelerations, which the constraints of acceleration need.
    """
    line = car.groups[group]
    local_bodies = car.local_bodies
    first_local = line[GROUP.first_local]
    own = first_local + line[GROUP.interfaces]
    for k in range(line[GROUP.bodies]):
        _body_to_frame(
            car.frame,
            car.bodies,
            car.body_constants,
            local_bodies,
            line[GROUP.first_body] + k,
            own + k,
            gravity,
            rates,
        )
    _chassis_to_local(car.frame, car.bodies, local_bodies, first_local, rates)
    _copy_joined(car, group, LOCAL_BODY_SIZE if rates else LOCAL_MOTION_SIZE)
    for local in range(first_local + 1, own):
        for field in range(LOCAL_BODY.force, LOCAL_BODY.force + 6):
            store(local_bodies, local, field, broadcast(0.0))


@fused_kernel
def _chassis_to_local(
    frame: FloatArray, bodies: FloatArray, local_bodies: FloatArray, local: int, rates: bool
) -> None:
    store3(local_bodies, local, LOCAL_BODY.position, broadcast(0.0), broadcast(0.0), broadcast(0.0))
    rotate_to_frame(frame, bodies, local_bodies, CHASSIS, local)
    x, y, z = load3(bodies, CHASSIS, BODY.velocity)
    v0, v1, v2 = to_frame(frame, x, y, z)
    store3(local_bodies, local, LOCAL_BODY.velocity, v0, v1, v2)
    x, y, z = load3(bodies, CHASSIS, BODY.angular_velocity)
    w0, w1, w2 = rotate(local_bodies, local, LOCAL_BODY.rotation, x, y, z)
    store3(local_bodies, local, LOCAL_BODY.angular_velocity, w0, w1, w2)
    store3(local_bodies, local, LOCAL_BODY.force, broadcast(0.0), broadcast(0.0), broadcast(0.0))
    store3(local_bodies, local, LOCAL_BODY.moment, broadcast(0.0), broadcast(0.0), broadcast(0.0))
    if rates:
        _accelerations(frame, bodies, local_bodies, CHASSIS, local)


@fused_kernel
def rotate_to_frame(
    frame: FloatArray, bodies: FloatArray, local_bodies: FloatArray, b: int, local: int
) -> None:
    """Write the rotation matrix of a body, body → frame axes, to its local body: A_ci of (3)."""
    for column in range(3):
        r0, r1, r2 = to_frame(
            frame,
            load(bodies, b, BODY.rotation + column),
            load(bodies, b, BODY.rotation + 3 + column),
            load(bodies, b, BODY.rotation + 6 + column),
        )
        store(local_bodies, local, LOCAL_BODY.rotation + column, r0)
        store(local_bodies, local, LOCAL_BODY.rotation + 3 + column, r1)
        store(local_bodies, local, LOCAL_BODY.rotation + 6 + column, r2)


@fused_kernel
def position_to_frame(
    frame: FloatArray, bodies: FloatArray, local_bodies: FloatArray, b: int, local: int
) -> None:
    """Write position and rotation of a body to its local body: (3), in the axes of the frame."""
    x, y, z = load3(bodies, b, BODY.position)
    u, v, w = load3(bodies, CHASSIS, BODY.position)
    p0, p1, p2 = to_frame(frame, x - u, y - v, z - w)
    store3(local_bodies, local, LOCAL_BODY.position, p0, p1, p2)
    rotate_to_frame(frame, bodies, local_bodies, b, local)


@fused_kernel
def _accelerations(
    frame: FloatArray, bodies: FloatArray, local_bodies: FloatArray, b: int, local: int
) -> None:
    x, y, z = load3(bodies, b, BODY.acceleration)
    a0, a1, a2 = to_frame(frame, x, y, z)
    store3(local_bodies, local, LOCAL_BODY.acceleration, a0, a1, a2)
    x, y, z = load3(bodies, b, BODY.angular_acceleration)
    b0, b1, b2 = rotate(local_bodies, local, LOCAL_BODY.rotation, x, y, z)
    store3(local_bodies, local, LOCAL_BODY.angular_acceleration, b0, b1, b2)


@fused_kernel
def _body_to_frame(
    frame: FloatArray,
    bodies: FloatArray,
    constants: FloatArray,
    local_bodies: FloatArray,
    b: int,
    local: int,
    gravity: float,
    rates: bool,
) -> None:
    position_to_frame(frame, bodies, local_bodies, b, local)
    x, y, z = load3(bodies, b, BODY.velocity)
    v0, v1, v2 = to_frame(frame, x, y, z)
    store3(local_bodies, local, LOCAL_BODY.velocity, v0, v1, v2)
    w0, w1, w2 = load3(bodies, b, BODY.angular_velocity)
    x, y, z = rotate(local_bodies, local, LOCAL_BODY.rotation, w0, w1, w2)
    store3(local_bodies, local, LOCAL_BODY.angular_velocity, x, y, z)
    mass = load(constants, b, INERTIA.mass)
    x, y, z = load3(bodies, b, BODY.acceleration)
    a0, a1, a2 = to_frame(frame, x, y, z + gravity)
    store3(local_bodies, local, LOCAL_BODY.force, mass * a0, mass * a1, mass * a2)
    moments, products = load3(constants, b, INERTIA.moments), load3(constants, b, INERTIA.products)
    h0, h1, h2 = symmetric_times(moments, products, w0, w1, w2)
    g0, g1, g2 = cross(w0, w1, w2, h0, h1, h2)
    b0, b1, b2 = load3(bodies, b, BODY.angular_acceleration)
    t0, t1, t2 = symmetric_times(moments, products, b0, b1, b2)
    x, y, z = rotate(local_bodies, local, LOCAL_BODY.rotation, t0 + g0, t1 + g1, t2 + g2)
    store3(local_bodies, local, LOCAL_BODY.moment, x, y, z)
    if rates:
        _accelerations(frame, bodies, local_bodies, b, local)
