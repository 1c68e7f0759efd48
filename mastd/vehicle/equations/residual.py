"""The out-of-balance forces of the whole car at its present state: F of (29) and (35) of Kang 2014."""

from __future__ import annotations

from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel, merged_kernel
from mastd.lanes import LANES, load, load_row, splat, store_row, total
from mastd.vehicle.blocks.fields import CONSTRAINT, GROUP, LOCAL_BODY, WHEEL
from mastd.vehicle.elements.anti_roll_bar.force import bar_right_side
from mastd.vehicle.elements.anti_roll_bar.jacobian import bar_compliance
from mastd.vehicle.elements.registry import element_forces, element_jacobian, start_elements
from mastd.vehicle.equations.frames import bodies_to_frame, chassis_to_frame, choose_frame
from mastd.vehicle.equations.inertia_jacobian import inertia_matrix
from mastd.vehicle.equations.joints import joint_forces, joint_rates
from mastd.vehicle.equations.joints_jacobian import joint_matrix
from mastd.vehicle.state.arrays import Arrays
from mastd.vehicle.tyres.linear import tyre_forces
from mastd.vehicle.tyres.linear_jacobian import tyre_matrix


@merged_kernel
def out_of_balance(car: Arrays, gravity: float, relative: bool, rates: bool) -> None:
    """Write all out-of-balance forces, spin moments and gaps; with ``rates`` those of speed and acceleration
    too.

    The frame is the chassis' if ``relative``. The forces of the chassis are in ``chassis_residual``, those of
    a body in its slot, of a wheel's spin, a bar and a constraint in their own blocks.
    """
    choose_frame(car, relative)
    chassis_to_frame(car, gravity)
    start_elements(car.elements)
    groups = car.groups.shape[0]
    for group in range(groups):
        bodies_to_frame(car, group, gravity, rates)
    # The corners' forces on an axle's bodies are complete before those go on to the chassis.
    for backward in range(groups):
        group = groups - 1 - backward
        joint_forces(car, group)
        element_forces(car.elements, car.groups[group], car.slots, car.weights[group])
        tyre_forces(car, group)
        if rates:
            joint_rates(car, group)
        _pass_on(car, group)


@fused_kernel
def _pass_on(car: Arrays, group: int) -> None:
    """Add the forces on the bodies that a group is joined to, to those bodies."""
    line = car.groups[group]
    weight = load_row(car.weights, group)
    slot = line[GROUP.first_local]
    for k in range(6):
        car.chassis_residual[k] += total(weight * load(car.slots, slot, LOCAL_BODY.force + k))
    for joined in range(slot + 1, slot + line[GROUP.interfaces]):
        for lane in range(LANES):
            use, source = car.weights[group, lane], car.source_slot[joined, lane]
            for k in range(6):
                part = use * car.slots[joined, LOCAL_BODY.force + k, lane]
                if source < 0:
                    car.chassis_residual[k] += part
                else:
                    car.slots[source, LOCAL_BODY.force + k, car.source_lane[joined, lane]] += part


@merged_kernel
def group_matrix(
    car: Arrays,
    cells: FloatArray,
    group: int,
    acceleration: float,
    velocity: float,
    displacement: float,
    joint: float,
    bar: float,
) -> None:
    """Write the derivative of a group's out-of-balance forces, weighted, after ``out_of_balance``.

    ``joint`` weights the rows of constraints and bars and the columns of their forces, ``bar`` the bars'
    compliance.
    """
    line = car.groups[group]
    first, size = line[GROUP.first_cell], line[GROUP.size]
    for entry in range(first, first + size * size):
        store_row(cells, entry, splat(0.0))
    inertia_matrix(car, cells, group, acceleration, velocity, displacement)
    joint_matrix(car, cells, group, joint, displacement)
    element_jacobian(car.elements, line, car.slots, cells, joint, velocity, displacement)
    tyre_matrix(car, cells, group, acceleration, velocity, displacement)
    bar_compliance(car.elements.bars, line, cells, bar)


@fused_kernel
def right_sides(car: Arrays, relative: bool, gap_field: int, scale: float, bar_scale: float) -> None:
    """Collect as right sides out-of-balance forces, gaps of joints times ``scale`` and of bars ``bar_scale``.

    In relative coordinates the chassis' row is the sum over all bodies, as in (38) and (40) of Kang 2014.
    """
    for k in range(6):
        car.chassis_unknowns[k] = car.chassis_residual[k]
    for group in range(car.groups.shape[0]):
        line = car.groups[group]
        u, slot = line[GROUP.first_unknown], line[GROUP.first_local] + line[GROUP.interfaces]
        weight = load_row(car.weights, group)
        for k in range(6):
            whole = splat(0.0)
            for body in range(line[GROUP.bodies]):
                force = load(car.slots, slot + body, LOCAL_BODY.force + k)
                store_row(car.unknowns, u + 6 * body + k, force)
                whole = whole + force
            if relative:
                car.chassis_unknowns[k] += total(weight * whole)
        if line[GROUP.wheel] >= 0:
            spin = load(car.wheels, line[GROUP.wheel], WHEEL.spin_residual)
            store_row(car.unknowns, u + line[GROUP.spin_unknown], spin)
        bar_right_side(car.elements.bars, line, car.unknowns, bar_scale)
        _gap_rows(car, group, gap_field, scale)


@fused_kernel
def gap_sides(car: Arrays, gap_field: int, scale: float) -> None:
    """Collect a gap (or its rate) − scale · its acceleration as the only right sides."""
    for k in range(6):
        car.chassis_unknowns[k] = 0.0
    for group in range(car.groups.shape[0]):
        line = car.groups[group]
        for row in range(line[GROUP.row_unknown]):
            store_row(car.unknowns, line[GROUP.first_unknown] + row, splat(0.0))
        first = line[GROUP.first_unknown] + line[GROUP.row_unknown]
        for row in range(line[GROUP.rows]):
            gap = load(car.rows, line[GROUP.first_row] + row, gap_field)
            other = load(car.rows, line[GROUP.first_row] + row, CONSTRAINT.acceleration)
            store_row(car.unknowns, first + row, gap - scale * other)


@fused_kernel
def _gap_rows(car: Arrays, group: int, gap_field: int, scale: float) -> None:
    line = car.groups[group]
    first = line[GROUP.first_unknown] + line[GROUP.row_unknown]
    for row in range(line[GROUP.rows]):
        store_row(car.unknowns, first + row, scale * load(car.rows, line[GROUP.first_row] + row, gap_field))
