"""Residual of the whole car at its present state, and its Jacobian: F of (29) and (35) of Kang 2014."""

from __future__ import annotations

from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel, merged_kernel
from mastd.lanes import LANES, broadcast, hsum, load, load_row, store_row
from mastd.vehicle.blocks.fields import GROUP, LOCAL_BODY, WHEEL
from mastd.vehicle.blocks.matrix_blocks import Weights
from mastd.vehicle.elements.anti_roll_bar.force import bar_rhs
from mastd.vehicle.elements.anti_roll_bar.jacobian import bar_compliance
from mastd.vehicle.elements.registry import element_forces, element_jacobian, start_elements
from mastd.vehicle.equations.frames import bodies_to_frame, chassis_to_frame, choose_frame
from mastd.vehicle.equations.inertia_jacobian import inertia_jacobian
from mastd.vehicle.joints.arrays import CONSTRAINT
from mastd.vehicle.joints.force import joint_forces, joint_rates
from mastd.vehicle.joints.jacobian import joint_jacobian
from mastd.vehicle.state.arrays import Arrays, wheel_blocks
from mastd.vehicle.tyres.registry import tyre_forces, tyre_jacobian


@merged_kernel
def evaluate_residual(car: Arrays, gravity: float, relative: bool, rates: bool) -> None:
    """Evaluate the residual and the constraint violations; with ``rates`` their rates and accelerations too.

    The frame is the chassis' if ``relative``. The forces of the chassis are in ``chassis_residual``, those of
    a body in its local body, of a wheel's spin, a bar and a constraint in their own blocks.
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
        line = car.groups[group]
        joint_forces(car.joints, line, car.local_bodies)
        element_forces(car.elements, line, car.local_bodies, car.weights[group])
        tyre_forces(wheel_blocks(car), car.bodies, line, car.weights[group])
        if rates:
            joint_rates(car.joints, line, car.local_bodies)
        _scatter_interface_forces(car, group)


@fused_kernel
def _scatter_interface_forces(car: Arrays, group: int) -> None:
    """Add the forces on a group's interface bodies to the bodies that they stand for."""
    line = car.groups[group]
    weight = load_row(car.weights, group)
    local = line[GROUP.first_local]
    for k in range(6):
        car.chassis_residual[k] += hsum(weight * load(car.local_bodies, local, LOCAL_BODY.force + k))
    for interface in range(local + 1, local + line[GROUP.interfaces]):
        for lane in range(LANES):
            use, source = car.weights[group, lane], car.interface_source[interface, lane]
            for k in range(6):
                part = use * car.local_bodies[interface, LOCAL_BODY.force + k, lane]
                if source < 0:
                    car.chassis_residual[k] += part
                else:
                    car.local_bodies[source, LOCAL_BODY.force + k, car.interface_lane[interface, lane]] += (
                        part
                    )


@merged_kernel
def group_jacobian(car: Arrays, cells: FloatArray, group: int, weights: Weights) -> None:
    """Evaluate the weighted Jacobian of a group's residual, after ``evaluate_residual``."""
    _, velocity, displacement, joint, bar = weights
    line = car.groups[group]
    first, size = line[GROUP.first_cell], line[GROUP.size]
    for entry in range(first, first + size * size):
        store_row(cells, entry, broadcast(0.0))
    inertia_jacobian(car, cells, group, weights)
    joint_jacobian(car.joints, line, car.local_bodies, cells, joint, displacement)
    element_jacobian(car.elements, line, car.local_bodies, cells, joint, velocity, displacement)
    tyre_jacobian(wheel_blocks(car), car.bodies, line, cells, weights)
    bar_compliance(car.elements.bars, line, cells, bar)


@fused_kernel
def collect_rhs(car: Arrays, relative: bool, constraint_field: int, scale: float, bar_scale: float) -> None:
    """Collect as right-hand side the residual, Φ of joints times ``scale`` and of bars times ``bar_scale``.

    In relative coordinates the chassis' row is the sum over all bodies, as in (38) and (40) of Kang 2014.
    """
    for k in range(6):
        car.chassis_unknowns[k] = car.chassis_residual[k]
    for group in range(car.groups.shape[0]):
        line = car.groups[group]
        u, local = line[GROUP.first_unknown], line[GROUP.first_local] + line[GROUP.interfaces]
        weight = load_row(car.weights, group)
        for k in range(6):
            whole = broadcast(0.0)
            for body in range(line[GROUP.bodies]):
                force = load(car.local_bodies, local + body, LOCAL_BODY.force + k)
                store_row(car.unknowns, u + 6 * body + k, force)
                whole = whole + force
            if relative:
                car.chassis_unknowns[k] += hsum(weight * whole)
        if line[GROUP.wheel] >= 0:
            spin = load(car.wheels, line[GROUP.wheel], WHEEL.spin_residual)
            store_row(car.unknowns, u + line[GROUP.spin_unknown], spin)
        bar_rhs(car.elements.bars, line, car.unknowns, bar_scale)
        _constraint_rows(car, group, constraint_field, scale)


@fused_kernel
def constraint_rhs(car: Arrays, constraint_field: int, scale: float) -> None:
    """Collect Φ (or its rate) − scale · its acceleration as the only right-hand side."""
    for k in range(6):
        car.chassis_unknowns[k] = 0.0
    for group in range(car.groups.shape[0]):
        line = car.groups[group]
        for row in range(line[GROUP.row_unknown]):
            store_row(car.unknowns, line[GROUP.first_unknown] + row, broadcast(0.0))
        first = line[GROUP.first_unknown] + line[GROUP.row_unknown]
        for row in range(line[GROUP.rows]):
            violation = load(car.joints.rows, line[GROUP.first_row] + row, constraint_field)
            other = load(car.joints.rows, line[GROUP.first_row] + row, CONSTRAINT.acceleration)
            store_row(car.unknowns, first + row, violation - scale * other)


@fused_kernel
def _constraint_rows(car: Arrays, group: int, constraint_field: int, scale: float) -> None:
    line = car.groups[group]
    first = line[GROUP.first_unknown] + line[GROUP.row_unknown]
    for row in range(line[GROUP.rows]):
        value = load(car.joints.rows, line[GROUP.first_row] + row, constraint_field)
        store_row(car.unknowns, first + row, scale * value)
