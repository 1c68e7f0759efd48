"""Derivatives of the spring-dampers' forces by displacements and velocities."""

from __future__ import annotations

from mastd.arrays import FloatArray, IntArray
from mastd.kernel import fused_kernel
from mastd.lanes import load
from mastd.vehicle.blocks.columns import column_of
from mastd.vehicle.blocks.fields import GROUP
from mastd.vehicle.blocks.lines import arm, between, line_stiffness, point_velocity
from mastd.vehicle.blocks.matrix_blocks import Matrix, add_product
from mastd.vehicle.blocks.rates import vector_rate
from mastd.vehicle.blocks.vectors import Triple, cross, scaled
from mastd.vehicle.elements.spring_damper.arrays import SPRING, SPRING_END, SpringDampers


@fused_kernel
def spring_jacobian(
    springs: SpringDampers,
    line: IntArray,
    local_bodies: FloatArray,
    cells: FloatArray,
    velocity: float,
    displacement: float,
) -> None:
    """Add the stiffness and damping of a group's spring-dampers to its matrix, with these two weights."""
    values, local = springs.values, line[GROUP.first_local]
    first, size = line[GROUP.first_cell], line[GROUP.size]
    for k in range(line[GROUP.first_spring], line[GROUP.first_spring] + line[GROUP.springs]):
        i, j = local + springs.ends[k, SPRING_END.first], local + springs.ends[k, SPRING_END.second]
        b = column_of(line, springs.ends[k, SPRING_END.first])
        c = column_of(line, springs.ends[k, SPRING_END.second])
        p = arm(values, local_bodies, k, SPRING.point_first, i)
        q = arm(values, local_bodies, k, SPRING.point_second, j)
        inverse = 1.0 / load(values, k, SPRING.length)
        n = scaled(inverse, between(local_bodies, i, j, p, q))
        force = -displacement * load(values, k, SPRING.force)
        tension = force * inverse
        line_stiffness(Matrix(cells, first, size), (b, c), p, q, n, force, tension)
        # Along the line: the spring's own slopes, and what the rotation of the line has too much above.
        along = -displacement * load(values, k, SPRING.by_length) - tension
        by_rate = -load(values, k, SPRING.by_rate)
        along = along + velocity * by_rate
        minus_n, p_n = scaled(-1.0, n), cross(p[0], p[1], p[2], n[0], n[1], n[2])
        minus_p_n, q_n = scaled(-1.0, p_n), cross(q[0], q[1], q[2], n[0], n[1], n[2])
        # The rate of length changes with the displacement too: across the line, and as the arms' rates turn.
        v, rate = point_velocity(local_bodies, i, j, p, q), load(values, k, SPRING.rate)
        u = (v[0] - rate * n[0]) * inverse, (v[1] - rate * n[1]) * inverse, (v[2] - rate * n[2]) * inverse
        x, y = _rate_by_rotation(local_bodies, i, p, n, u)
        u_b = -x[0] - y[0], -x[1] - y[1], -x[2] - y[2]
        x, y = _rate_by_rotation(local_bodies, j, q, n, u)
        u_c = x[0] + y[0], x[1] + y[1], x[2] + y[2]
        by_rate = displacement * by_rate
        for at, gradient in ((b, minus_n), (b + 3, minus_p_n), (c, n), (c + 3, q_n)):
            by_length, by_change = scaled(along, gradient), scaled(by_rate, gradient)
            add_product(cells, first, size, at, b, by_length, minus_n)
            add_product(cells, first, size, at, b + 3, by_length, minus_p_n)
            add_product(cells, first, size, at, c, by_length, n)
            add_product(cells, first, size, at, c + 3, by_length, q_n)
            add_product(cells, first, size, at, b, by_change, scaled(-1.0, u))
            add_product(cells, first, size, at, b + 3, by_change, u_b)
            add_product(cells, first, size, at, c, by_change, u)
            add_product(cells, first, size, at, c + 3, by_change, u_c)


@fused_kernel
def _rate_by_rotation(
    local_bodies: FloatArray, local: int, arm: Triple, n: Triple, u: Triple
) -> tuple[Triple, Triple]:
    """Return the derivative of the rate of length by the rotation of the body with this arm, in two parts:
    across the line, and by the rotation of the arm's own rate."""
    r = vector_rate(local_bodies, local, arm)
    return cross(arm[0], arm[1], arm[2], u[0], u[1], u[2]), cross(r[0], r[1], r[2], n[0], n[1], n[2])
