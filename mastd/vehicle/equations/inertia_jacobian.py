"""Derivatives of inertia and external forces by displacements, velocities and accelerations.

Each function adds to the group's matrix with the weights of acceleration, velocity and displacement in the
sum M + β̂ ∂F/∂v + β ∂F/∂q. A vector fixed in a body turns with it, δs = δπ × s, and so do its rate ω ×
s and the inertia moment, whose components in body axes stay: δ(ω × s) = δπ × (ω × s).
"""

from __future__ import annotations

from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel
from mastd.lanes import broadcast, load, store_row
from mastd.vehicle.blocks.fields import BODY, CHASSIS, GROUP, INERTIA, LOCAL_BODY
from mastd.vehicle.blocks.matrix_blocks import Matrix, Weights, add_cross, add_diagonal, add_product
from mastd.vehicle.blocks.vectors import Triple, cross, load3, rotate, symmetric_times
from mastd.vehicle.equations.frames import chassis_axes_to_frame
from mastd.vehicle.state.arrays import Arrays


@fused_kernel
def inertia_jacobian(car: Arrays, cells: FloatArray, group: int, weights: Weights) -> None:
    """Add mass, inertia and gyroscopic terms of a group's own bodies."""
    line = car.groups[group]
    matrix = Matrix(cells, line[GROUP.first_cell], line[GROUP.size])
    own = line[GROUP.first_local] + line[GROUP.interfaces]
    for k in range(line[GROUP.bodies]):
        body_jacobian(car, matrix, 6 * k, line[GROUP.first_body] + k, own + k, weights)


@fused_kernel
def body_jacobian(car: Arrays, matrix: Matrix, b: int, body: int, local: int, weights: Weights) -> None:
    """Add mass, inertia and gyroscopic terms of one body at column b."""
    bodies, constants, local_bodies = car.bodies, car.body_constants, car.local_bodies
    (cells, first, size), acceleration = matrix, weights.acceleration
    add_diagonal(cells, first, size, b, b, acceleration * load(constants, body, INERTIA.mass))
    for column in range(3):
        # Column by column of the body's axes: R (…) Rᵀ = Σ (R …) rᵀ, r the columns of R.
        axis = (
            load(local_bodies, local, LOCAL_BODY.rotation + column),
            load(local_bodies, local, LOCAL_BODY.rotation + 3 + column),
            load(local_bodies, local, LOCAL_BODY.rotation + 6 + column),
        )
        moment = _moment_by(
            bodies, constants, local_bodies, body, local, column, acceleration, weights.velocity
        )
        add_product(cells, first, size, b + 3, b + 3, moment, axis)
    moment = _inertia_moment(bodies, constants, local_bodies, body, local)
    add_cross(cells, first, size, b + 3, b + 3, broadcast(-weights.displacement), moment)


@fused_kernel
def _entries(constants: FloatArray, body: int) -> tuple[Triple, Triple]:
    return load3(constants, body, INERTIA.moments), load3(constants, body, INERTIA.products)


@fused_kernel
def _moment_by(
    bodies: FloatArray,
    constants: FloatArray,
    local_bodies: FloatArray,
    body: int,
    local: int,
    column: int,
    acceleration: float,
    velocity: float,
) -> Triple:
    """Return the inertia moment, in the frame, for a unit of (angular) acceleration and velocity about one
    axis."""
    moments, products = _entries(constants, body)
    one, zero = broadcast(1.0), broadcast(0.0)
    e0 = one if column == 0 else zero
    e1 = one if column == 1 else zero
    e2 = one if column == 2 else zero
    j0, j1, j2 = symmetric_times(moments, products, e0, e1, e2)
    w0, w1, w2 = load3(bodies, body, BODY.angular_velocity)
    h0, h1, h2 = symmetric_times(moments, products, w0, w1, w2)
    g0, g1, g2 = cross(w0, w1, w2, j0, j1, j2)
    k0, k1, k2 = cross(e0, e1, e2, h0, h1, h2)
    return rotate(
        local_bodies,
        local,
        LOCAL_BODY.rotation,
        acceleration * j0 + velocity * (g0 + k0),
        acceleration * j1 + velocity * (g1 + k1),
        acceleration * j2 + velocity * (g2 + k2),
    )


@fused_kernel
def _inertia_moment(
    bodies: FloatArray, constants: FloatArray, local_bodies: FloatArray, body: int, local: int
) -> Triple:
    moments, products = _entries(constants, body)
    w0, w1, w2 = load3(bodies, body, BODY.angular_velocity)
    h0, h1, h2 = symmetric_times(moments, products, w0, w1, w2)
    g0, g1, g2 = cross(w0, w1, w2, h0, h1, h2)
    b0, b1, b2 = load3(bodies, body, BODY.angular_acceleration)
    t0, t1, t2 = symmetric_times(moments, products, b0, b1, b2)
    return rotate(local_bodies, local, LOCAL_BODY.rotation, t0 + g0, t1 + g1, t2 + g2)


@fused_kernel
def chassis_jacobian(car: Arrays, core: FloatArray, weights: Weights) -> None:
    """Write the chassis' own 6 × 6: mass, inertia, gyroscopic terms. ``core`` (36, LANES), row by row.

    The chassis is the first local body of the first group; every lane holds the same.
    """
    local = car.groups[0, GROUP.first_local]
    for entry in range(36):
        store_row(core, entry, broadcast(0.0))
    body_jacobian(car, Matrix(core, 0, 6), 0, CHASSIS, local, weights)
    # Applied force and moment turn with the chassis.
    frame, external = car.frame, car.external
    x, y, z = broadcast(external[0]), broadcast(external[1]), broadcast(external[2])
    add_cross(
        core, 0, 6, 0, 3, broadcast(weights.displacement), chassis_axes_to_frame(frame, car.bodies, x, y, z)
    )
    x, y, z = broadcast(external[3]), broadcast(external[4]), broadcast(external[5])
    add_cross(
        core, 0, 6, 3, 3, broadcast(weights.displacement), chassis_axes_to_frame(frame, car.bodies, x, y, z)
    )
