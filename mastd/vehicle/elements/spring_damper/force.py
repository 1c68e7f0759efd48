"""Forces of the spring-dampers on the bodies: (24) and (27) of Kang 2014."""

from __future__ import annotations

from mastd.arrays import FloatArray, IntArray
from mastd.kernel import fused_kernel
from mastd.lanes import LANES, load, sqrt, store
from mastd.vehicle.blocks.fields import GROUP
from mastd.vehicle.blocks.lines import arm, between, point_velocity, push
from mastd.vehicle.blocks.vectors import dot
from mastd.vehicle.elements.spring_damper.arrays import SPRING, SPRING_END, SpringDampers
from mastd.vehicle.elements.spring_damper.laws import Laws, law_force


@fused_kernel
def spring_forces(springs: SpringDampers, line: IntArray, local_bodies: FloatArray) -> None:
    """Add the forces of a group's spring-dampers; length, rate, force and slopes stay in their rows."""
    values, local = springs.values, line[GROUP.first_local]
    for k in range(line[GROUP.first_spring], line[GROUP.first_spring] + line[GROUP.springs]):
        i, j = local + springs.ends[k, SPRING_END.first], local + springs.ends[k, SPRING_END.second]
        p, q = (
            arm(values, local_bodies, k, SPRING.point_first, i),
            arm(values, local_bodies, k, SPRING.point_second, j),
        )
        d = between(local_bodies, i, j, p, q)
        v = point_velocity(local_bodies, i, j, p, q)
        length = sqrt(dot(d[0], d[1], d[2], d[0], d[1], d[2]))
        inverse = 1.0 / length
        rate = dot(d[0], d[1], d[2], v[0], v[1], v[2]) * inverse
        store(values, k, SPRING.length, length)
        store(values, k, SPRING.rate, rate)
        stiffness, damping = load(values, k, SPRING.stiffness), load(values, k, SPRING.damping)
        force = stiffness * (load(values, k, SPRING.free_length) - length) - damping * rate
        store(values, k, SPRING.force, force + load(values, k, SPRING.prescribed))
        store(values, k, SPRING.by_length, -stiffness)
        store(values, k, SPRING.by_rate, -damping)
        if springs.ends[k, SPRING_END.has_laws] > 0:
            _add_laws(springs.laws, values, k)
        scale = -load(values, k, SPRING.force) * inverse
        push(local_bodies, i, j, p, q, (scale * d[0], scale * d[1], scale * d[2]))


@fused_kernel
def _add_laws(laws: Laws, values: FloatArray, k: int) -> None:
    for lane in range(LANES):
        force, by_length, by_rate = law_force(
            laws, k, lane, values[k, SPRING.length, lane], values[k, SPRING.rate, lane]
        )
        values[k, SPRING.force, lane] += force
        values[k, SPRING.by_length, lane] += by_length
        values[k, SPRING.by_rate, lane] += by_rate
