"""Bodies in the axes of the frame: eqs. (3), (7) and the inertia terms of (28), (33), (34) of document 000.

The frame is the chassis in the proposed method and the inertial one in the conventional method. In both,
positions are taken from the chassis' centre of mass, so that the numbers stay small wherever the car drives.

Correction to the document: the moment of the inertia forces contains ω′ × J′ω′, which its (28) and (34) lose. What a
wheel's spin adds to its carrier is in ``tyre``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mastd.kernel import fused_kernel
from mastd.lanes import LANES, load, splat, store
from mastd.vehicle import fields as f
from mastd.vehicle.layout import Arrays
from mastd.vehicle.vectors import composed, cross, matrix_of, put, symmetric_times, take, to_frame, turned

Floats = NDArray[np.float64]


@fused_kernel
def choose_frame(car: Arrays, relative: bool) -> None:
    """Set the frame: the chassis' axes (proposed method) or the inertial ones."""
    for k in range(9):
        car.frame[k] = car.chassis[f.ROTATION + k] if relative else (1.0 if k % 4 == 0 else 0.0)


@fused_kernel
def chassis_to_frame(car: Arrays, gravity: float) -> None:
    """Start the chassis' out-of-balance force with its inertia, weight and the external force and moment."""
    frame, chassis, constants = car.frame, car.chassis, car.chassis_constants
    mass = constants[f.MASS]
    a0, a1, a2 = to_frame(
        frame, chassis[f.ACCELERATION], chassis[f.ACCELERATION + 1], chassis[f.ACCELERATION + 2] + gravity
    )
    w0, w1, w2 = chassis[f.ANGULAR_VELOCITY], chassis[f.ANGULAR_VELOCITY + 1], chassis[f.ANGULAR_VELOCITY + 2]
    b0, b1, b2 = (
        chassis[f.ANGULAR_ACCELERATION],
        chassis[f.ANGULAR_ACCELERATION + 1],
        chassis[f.ANGULAR_ACCELERATION + 2],
    )
    xx, yy, zz = constants[f.INERTIA], constants[f.INERTIA + 1], constants[f.INERTIA + 2]
    xy, xz, yz = constants[f.INERTIA + 3], constants[f.INERTIA + 4], constants[f.INERTIA + 5]
    h0, h1, h2 = symmetric_times(xx, yy, zz, xy, xz, yz, w0, w1, w2)
    g0, g1, g2 = cross(w0, w1, w2, h0, h1, h2)
    t0, t1, t2 = symmetric_times(xx, yy, zz, xy, xz, yz, b0, b1, b2)
    external = car.external
    f0, f1, f2 = chassis_axes_to_frame(car, external[0], external[1], external[2])
    m0, m1, m2 = chassis_axes_to_frame(
        car, t0 + g0 - external[3], t1 + g1 - external[4], t2 + g2 - external[5]
    )
    residual = car.chassis_residual
    residual[0], residual[1], residual[2] = mass * a0 - f0, mass * a1 - f1, mass * a2 - f2
    residual[3], residual[4], residual[5] = m0, m1, m2


@fused_kernel
def chassis_axes_to_frame(car: Arrays, x: float, y: float, z: float) -> tuple[float, float, float]:
    """Return a vector given in chassis axes in the axes of the frame."""
    c = car.chassis
    k = f.ROTATION
    return to_frame(
        car.frame,
        c[k] * x + c[k + 1] * y + c[k + 2] * z,
        c[k + 3] * x + c[k + 4] * y + c[k + 5] * z,
        c[k + 6] * x + c[k + 7] * y + c[k + 8] * z,
    )


@fused_kernel
def attitudes(car: Arrays) -> None:
    """Renew all attitudes and rotation matrices from the start of the step and the turn since: eq. (45)."""
    c = car.chassis
    s, t = f.START_ATTITUDE, f.TURN
    w, x, y, z = composed(c[s], c[s + 1], c[s + 2], c[s + 3], c[t], c[t + 1], c[t + 2])
    c[f.ATTITUDE], c[f.ATTITUDE + 1], c[f.ATTITUDE + 2], c[f.ATTITUDE + 3] = w, x, y, z
    entries = matrix_of(w, x, y, z)
    for k in range(9):
        c[f.ROTATION + k] = entries[k]
    bodies = car.bodies
    for b in range(bodies.shape[0]):
        renew_attitude(bodies, b)


@fused_kernel
def renew_attitude(bodies: Floats, b: int) -> None:
    """Renew attitude and rotation matrix of one item of the bodies."""
    s, t = f.START_ATTITUDE, f.TURN
    w, x, y, z = composed(
        load(bodies, b, s),
        load(bodies, b, s + 1),
        load(bodies, b, s + 2),
        load(bodies, b, s + 3),
        load(bodies, b, t),
        load(bodies, b, t + 1),
        load(bodies, b, t + 2),
    )
    store(bodies, b, f.ATTITUDE, w)
    put(bodies, b, f.ATTITUDE + 1, x, y, z)
    r0, r1, r2, r3, r4, r5, r6, r7, r8 = matrix_of(w, x, y, z)
    put(bodies, b, f.ROTATION, r0, r1, r2)
    put(bodies, b, f.ROTATION + 3, r3, r4, r5)
    put(bodies, b, f.ROTATION + 6, r6, r7, r8)


@fused_kernel
def bodies_to_frame(car: Arrays, group: int, gravity: float, rates: bool) -> None:
    """Fill the slots of a group: its own bodies with their inertia and weight, then those it is joined to.

    ``rates`` adds accelerations, which the constraints of acceleration need.
    """
    line = car.groups[group]
    slots = car.slots
    first_slot = line[f.G_FIRST_SLOT]
    own = first_slot + line[f.G_JOINED]
    for k in range(line[f.G_BODIES]):
        _body_to_frame(car, line[f.G_FIRST_BODY] + k, own + k, gravity, rates)
    _chassis_slot(car, first_slot, rates)
    count = f.SLOT_FIELDS if rates else f.S_FRAME_FIELDS
    for k in range(1, line[f.G_JOINED]):
        slot = first_slot + k
        for lane in range(LANES):
            source, other = car.source_slot[slot, lane], car.source_lane[slot, lane]
            if source < 0:
                source, other = first_slot, lane
            for field in range(count):
                slots[slot, field, lane] = slots[source, field, other]
        for field in range(f.S_FORCE, f.S_FORCE + 6):
            store(slots, slot, field, splat(0.0))


@fused_kernel
def _chassis_slot(car: Arrays, slot: int, rates: bool) -> None:
    frame, chassis, slots = car.frame, car.chassis, car.slots
    put(slots, slot, f.S_POSITION, splat(0.0), splat(0.0), splat(0.0))
    for row in range(3):
        for column in range(3):
            value = 0.0
            for k in range(3):
                value += frame[3 * k + row] * chassis[f.ROTATION + 3 * k + column]
            store(slots, slot, f.S_ROTATION + 3 * row + column, splat(value))
    v, w = f.VELOCITY, f.ANGULAR_VELOCITY
    v0, v1, v2 = to_frame(frame, chassis[v], chassis[v + 1], chassis[v + 2])
    put(slots, slot, f.S_VELOCITY, splat(v0), splat(v1), splat(v2))
    w0, w1, w2 = chassis_axes_to_frame(car, chassis[w], chassis[w + 1], chassis[w + 2])
    put(slots, slot, f.S_ANGULAR, splat(w0), splat(w1), splat(w2))
    put(slots, slot, f.S_FORCE, splat(0.0), splat(0.0), splat(0.0))
    put(slots, slot, f.S_MOMENT, splat(0.0), splat(0.0), splat(0.0))
    if rates:
        a, b = f.ACCELERATION, f.ANGULAR_ACCELERATION
        a0, a1, a2 = to_frame(frame, chassis[a], chassis[a + 1], chassis[a + 2])
        put(slots, slot, f.S_ACCELERATION, splat(a0), splat(a1), splat(a2))
        b0, b1, b2 = chassis_axes_to_frame(car, chassis[b], chassis[b + 1], chassis[b + 2])
        put(slots, slot, f.S_ANGULAR_ACCELERATION, splat(b0), splat(b1), splat(b2))


@fused_kernel
def _body_to_frame(car: Arrays, b: int, slot: int, gravity: float, rates: bool) -> None:
    frame, chassis, bodies, slots, constants = car.frame, car.chassis, car.bodies, car.slots, car.body_constants
    x, y, z = take(bodies, b, f.POSITION)
    p0, p1, p2 = to_frame(frame, x - chassis[0], y - chassis[1], z - chassis[2])
    put(slots, slot, f.S_POSITION, p0, p1, p2)
    for column in range(3):
        r0, r1, r2 = to_frame(
            frame,
            load(bodies, b, f.ROTATION + column),
            load(bodies, b, f.ROTATION + 3 + column),
            load(bodies, b, f.ROTATION + 6 + column),
        )
        store(slots, slot, f.S_ROTATION + column, r0)
        store(slots, slot, f.S_ROTATION + 3 + column, r1)
        store(slots, slot, f.S_ROTATION + 6 + column, r2)
    x, y, z = take(bodies, b, f.VELOCITY)
    v0, v1, v2 = to_frame(frame, x, y, z)
    put(slots, slot, f.S_VELOCITY, v0, v1, v2)
    w0, w1, w2 = take(bodies, b, f.ANGULAR_VELOCITY)
    x, y, z = turned(slots, slot, f.S_ROTATION, w0, w1, w2)
    put(slots, slot, f.S_ANGULAR, x, y, z)
    mass = load(constants, b, f.MASS)
    x, y, z = take(bodies, b, f.ACCELERATION)
    a0, a1, a2 = to_frame(frame, x, y, z + gravity)
    put(slots, slot, f.S_FORCE, mass * a0, mass * a1, mass * a2)
    xx, yy, zz = take(constants, b, f.INERTIA)
    xy, xz, yz = take(constants, b, f.INERTIA + 3)
    h0, h1, h2 = symmetric_times(xx, yy, zz, xy, xz, yz, w0, w1, w2)
    g0, g1, g2 = cross(w0, w1, w2, h0, h1, h2)
    b0, b1, b2 = take(bodies, b, f.ANGULAR_ACCELERATION)
    t0, t1, t2 = symmetric_times(xx, yy, zz, xy, xz, yz, b0, b1, b2)
    x, y, z = turned(slots, slot, f.S_ROTATION, t0 + g0, t1 + g1, t2 + g2)
    put(slots, slot, f.S_MOMENT, x, y, z)
    if rates:
        a0, a1, a2 = to_frame(
            frame,
            load(bodies, b, f.ACCELERATION),
            load(bodies, b, f.ACCELERATION + 1),
            load(bodies, b, f.ACCELERATION + 2),
        )
        put(slots, slot, f.S_ACCELERATION, a0, a1, a2)
        x, y, z = turned(slots, slot, f.S_ROTATION, b0, b1, b2)
        put(slots, slot, f.S_ANGULAR_ACCELERATION, x, y, z)
