"""Spring-dampers and anti-roll bars: what they add to the out-of-balance forces, (24) and (27) of
Kang 2014."""

from __future__ import annotations

from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel, separate_kernel
from mastd.lanes import LANES, load, root, store
from mastd.vehicle.blocks import fields as f
from mastd.vehicle.blocks.lines import arm, between, point_velocity, push
from mastd.vehicle.blocks.vectors import Triple, cross, decrease, dot, increase, take, turned
from mastd.vehicle.state.arrays import Arrays
from mastd.vehicle.state.force_laws import Laws, further_force


@fused_kernel
def spring_forces(car: Arrays, group: int) -> None:
    """Add a group's spring-dampers; length, rate, force and slopes stay in the springs' block."""
    line, slots, spring = car.groups[group], car.slots, car.spring
    slot = line[f.G_FIRST_SLOT]
    for k in range(line[f.G_FIRST_SPRING], line[f.G_FIRST_SPRING] + line[f.G_SPRINGS]):
        i, j = slot + car.springs[k, f.F_FIRST], slot + car.springs[k, f.F_SECOND]
        p, q = arm(spring, slots, k, 0, i), arm(spring, slots, k, 3, j)
        d = between(slots, i, j, p, q)
        v = point_velocity(slots, i, j, p, q)
        length = root(dot(d[0], d[1], d[2], d[0], d[1], d[2]))
        inverse = 1.0 / length
        rate = dot(d[0], d[1], d[2], v[0], v[1], v[2]) * inverse
        store(spring, k, f.SPRING_LENGTH, length)
        store(spring, k, f.SPRING_RATE, rate)
        stiffness, damping = load(spring, k, f.STIFFNESS), load(spring, k, f.DAMPING)
        force = stiffness * (load(spring, k, f.FREE_LENGTH) - length) - damping * rate
        store(spring, k, f.SPRING_FORCE, force + load(spring, k, f.SPRING_GIVEN))
        store(spring, k, f.FORCE_BY_LENGTH, -stiffness)
        store(spring, k, f.FORCE_BY_RATE, -damping)
        if car.springs[k, f.F_LAW] > 0:
            _add_laws(car.laws, spring, k)
        scale = -load(spring, k, f.SPRING_FORCE) * inverse
        push(slots, i, j, p, q, (scale * d[0], scale * d[1], scale * d[2]))


@fused_kernel
def _add_laws(laws: Laws, spring: FloatArray, k: int) -> None:
    for lane in range(LANES):
        force, by_length, by_rate = further_force(
            laws, k, lane, spring[k, f.SPRING_LENGTH, lane], spring[k, f.SPRING_RATE, lane]
        )
        spring[k, f.SPRING_FORCE, lane] += force
        spring[k, f.FORCE_BY_LENGTH, lane] += by_length
        spring[k, f.FORCE_BY_RATE, lane] += by_rate


@fused_kernel
def bar_forces(car: Arrays, group: int) -> None:
    """Add the force of the anti-roll bar at a corner's end of it, and its reaction on the chassis.

    The chassis' z axis is the third column of its rotation in the group's first slot.
    """
    line = car.groups[group]
    end = line[f.G_BAR_END]
    if end < 0:
        return
    chassis, slot = line[f.G_FIRST_SLOT], line[f.G_FIRST_SLOT] + line[f.G_BAR_END_SLOT]
    arm, up, reach = bar_geometry(car.ends, car.slots, end, chassis, slot)
    sign = load(car.ends, end, f.B_SIGN)
    force = sign * _gather_force(car, end)
    fx, fy, fz = force * up[0], force * up[1], force * up[2]
    increase(car.slots, slot, f.S_FORCE, fx, fy, fz)
    x, y, z = cross(arm[0], arm[1], arm[2], fx, fy, fz)
    increase(car.slots, slot, f.S_MOMENT, x, y, z)
    decrease(car.slots, chassis, f.S_FORCE, fx, fy, fz)
    x, y, z = cross(reach[0], reach[1], reach[2], fx, fy, fz)
    decrease(car.slots, chassis, f.S_MOMENT, x, y, z)
    height = sign * dot(up[0], up[1], up[2], reach[0], reach[1], reach[2])
    _scatter_height(car, group, end, f.BAR_GAP, -height)


@fused_kernel
def bar_geometry(
    ends: FloatArray, slots: FloatArray, end: int, chassis: int, slot: int
) -> tuple[Triple, Triple, Triple]:
    """Return the end's arm in its body, the chassis' z axis, and the end as seen from the chassis' centre."""
    x, y, z = take(ends, end, 0)
    arm = turned(slots, slot, f.S_ROTATION, x, y, z)
    up = (
        load(slots, chassis, f.S_ROTATION + 2),
        load(slots, chassis, f.S_ROTATION + 5),
        load(slots, chassis, f.S_ROTATION + 8),
    )
    x, y, z = take(slots, slot, f.S_POSITION)
    return arm, up, (x + arm[0], y + arm[1], z + arm[2])


@fused_kernel
def _gather_force(car: Arrays, end: int) -> float:
    for lane in range(LANES):
        bar = car.end_bar[end, lane]
        force = car.bars[bar, f.BAR_FORCE, car.end_lane[end, lane]] if bar >= 0 else 0.0
        car.ends[end, f.B_FORCE, lane] = force
    return load(car.ends, end, f.B_FORCE)


@fused_kernel
def _scatter_height(car: Arrays, group: int, end: int, field: int, height: float) -> None:
    store(car.ends, end, f.B_HEIGHT, height)
    for lane in range(LANES):
        bar = car.end_bar[end, lane]
        if bar >= 0:
            share = car.ends[end, f.B_HEIGHT, lane] * car.weights[group, lane]
            car.bars[bar, field, car.end_lane[end, lane]] += share


@separate_kernel
def strain_bars(car: Arrays) -> None:
    """Write the bars' forces from their ends' heights, after ``places_to_frame``: where they are no
    unknowns."""
    for bar in range(car.bars.shape[0]):
        store(car.bars, bar, f.BAR_FORCE, -load(car.bars, bar, f.BAR_OFFSET))
    for group in range(car.groups.shape[0]):
        end = car.groups[group, f.G_BAR_END]
        if end < 0:
            continue
        chassis = car.groups[group, f.G_FIRST_SLOT]
        slot = chassis + car.groups[group, f.G_BAR_END_SLOT]
        _, up, reach = bar_geometry(car.ends, car.slots, end, chassis, slot)
        height = load(car.ends, end, f.B_SIGN) * dot(up[0], up[1], up[2], reach[0], reach[1], reach[2])
        _scatter_height(car, group, end, f.BAR_FORCE, height)
    for bar in range(car.bars.shape[0]):
        store(
            car.bars,
            bar,
            f.BAR_FORCE,
            load(car.bars, bar, f.BAR_FORCE) / load(car.bars, bar, f.BAR_COMPLIANCE),
        )


@fused_kernel
def start_bars(car: Arrays) -> None:
    """Start the bars' gaps with force · compliance + the design's offset; the corners subtract their
    heights."""
    for bar in range(car.bars.shape[0]):
        force, compliance = load(car.bars, bar, f.BAR_FORCE), load(car.bars, bar, f.BAR_COMPLIANCE)
        store(car.bars, bar, f.BAR_GAP, force * compliance + load(car.bars, bar, f.BAR_OFFSET))
