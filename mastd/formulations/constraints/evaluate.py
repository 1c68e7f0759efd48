"""Between the tree and the blocks of the car: what moves goes there, forces and constraint rows come back.

All joints, forces and tyres are those of ``mastd.vehicle``: they are evaluated by ``stepping.evaluate`` at a
state that has the accelerations γ, so that residual forces and second derivatives of the violations are those
of ``udot`` = 0.

The deflections of Magic Formula tyres are states of the equations here: with a rate of ``DERIVATIVE_RATE`` a
tyre's own step is so short that its deflection's change over it is the right-hand side of its differential
equation.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from mastd.arrays import FloatArray, IntArray
from mastd.formulations.tree.arrays import CUT_ROW, FREE, LINK, Tree
from mastd.formulations.tree.recursion import (
    bias_accelerations,
    forward_kinematics,
    joint_axes,
    link_inertias,
    link_velocities,
    row_of,
    velocity_columns,
)
from mastd.kernel import fused_kernel, merged_kernel, separate_kernel
from mastd.lanes import LANES
from mastd.vehicle.blocks.fields import BODY, CHASSIS, GROUP, LOCAL_BODY, WHEEL
from mastd.vehicle.blocks.matrix_blocks import Weights
from mastd.vehicle.blocks.rotation import rotate_vector_inverse
from mastd.vehicle.blocks.vectors import propagate_nan
from mastd.vehicle.elements.anti_roll_bar.force import strain_bars
from mastd.vehicle.equations.frames import choose_frame
from mastd.vehicle.joints.arrays import CONSTRAINT
from mastd.vehicle.joints.jacobian import joint_rows
from mastd.vehicle.solver.compiled_step import Evaluation, evaluate
from mastd.vehicle.solver.full_jacobian import FullJacobian
from mastd.vehicle.solver.newton import violations
from mastd.vehicle.state.arrays import Arrays

DERIVATIVE_RATE: Final = 1e9
"""1/s."""


@merged_kernel
def write_positions(tree: Tree, car: Arrays) -> None:
    """Write places and attitudes of all links to the bodies of the car."""
    for i in range(tree.links.shape[0]):
        item, lane = tree.links[i, LINK.item], tree.links[i, LINK.lane]
        values = car.bodies[item]
        for k in range(3):
            values[BODY.position + k, lane] = tree.q[k] + tree.position[i, k]
            values[BODY.rotation_vector + k, lane] = 0.0
        for k in range(4):
            values[BODY.attitude + k, lane] = tree.quaternion[i, k]
            values[BODY.start_attitude + k, lane] = tree.quaternion[i, k]
        for k in range(9):
            values[BODY.rotation + k, lane] = tree.rotation[i, k]
    _repeat(car.bodies, car.groups, car.weights, BODY.position, 3)
    _repeat(car.bodies, car.groups, car.weights, BODY.attitude, 4)
    _repeat(car.bodies, car.groups, car.weights, BODY.start_attitude, 4)
    _repeat(car.bodies, car.groups, car.weights, BODY.rotation_vector, 3)
    _repeat(car.bodies, car.groups, car.weights, BODY.rotation, 9)


@fused_kernel
def _repeat(bodies: FloatArray, groups: IntArray, weights: FloatArray, first: int, count: int) -> None:
    """Copy fields of the chassis to all lanes, and those of each group's first lane to lanes that are not in
    use."""
    for k in range(first, first + count):
        for lane in range(1, LANES):
            bodies[CHASSIS, k, lane] = bodies[CHASSIS, k, 0]
            for group in range(groups.shape[0]):
                if weights[group, lane] == 0.0:
                    item = groups[group, GROUP.first_body]
                    for body in range(item, item + groups[group, GROUP.bodies]):
                        bodies[body, k, lane] = bodies[body, k, 0]


@merged_kernel
def write_velocities(tree: Tree, car: Arrays) -> None:
    """Write velocities and the accelerations γ of all links to the bodies of the car, spins and deflections
    to its wheels."""
    for i in range(tree.links.shape[0]):
        item, lane = tree.links[i, LINK.item], tree.links[i, LINK.lane]
        w = rotate_vector_inverse(tree.rotation, i, tree.omega[i, 0], tree.omega[i, 1], tree.omega[i, 2])
        b = rotate_vector_inverse(
            tree.rotation, i, tree.gamma_w[i, 0], tree.gamma_w[i, 1], tree.gamma_w[i, 2]
        )
        for k in range(3):
            car.bodies[item, BODY.velocity + k, lane] = tree.velocity[i, k]
            car.bodies[item, BODY.angular_velocity + k, lane] = w[k]
            car.bodies[item, BODY.acceleration + k, lane] = tree.gamma_v[i, k]
            car.bodies[item, BODY.angular_acceleration + k, lane] = b[k]
    _repeat(car.bodies, car.groups, car.weights, BODY.velocity, 6)
    _repeat(car.bodies, car.groups, car.weights, BODY.acceleration, 6)
    for wheel in range(tree.wheel_indices.shape[0]):
        item, lane = tree.wheel_indices[wheel, 0], tree.wheel_indices[wheel, 1]
        _hold(tree, car.wheels, wheel, item, lane)
        car.wheels[item, WHEEL.spin, lane] = tree.spin[wheel]
        car.wheels[item, WHEEL.spin_acceleration, lane] = 0.0
        for k in range(2):
            car.wheels[item, WHEEL.deflection + k, lane] = tree.deflection[wheel, k]
    for group in range(car.groups.shape[0]):
        item = car.groups[group, GROUP.wheel]
        for lane in range(1, LANES):
            if item >= 0 and car.weights[group, lane] == 0.0:
                for k in (WHEEL.spin, WHEEL.spin_acceleration, WHEEL.deflection, WHEEL.deflection + 1):
                    car.wheels[item, k, lane] = car.wheels[item, k, 0]


@fused_kernel
def _hold(tree: Tree, wheels: FloatArray, wheel: int, item: int, lane: int) -> None:
    """Let a wheel turn with its carrier that its friction brake held when it was last looked at.

    Else it would creep: a brake that takes a while to stop its wheel lets it turn with what the carrier turns
    in the meantime.
    """
    capacity, friction = wheels[item, WHEEL.brake_capacity, lane], wheels[item, WHEEL.brake_torque, lane]
    if not abs(friction) < capacity:
        return
    i, at = tree.carriers[wheel], WHEEL.axis
    x, y, z = wheels[item, at, lane], wheels[item, at + 1, lane], wheels[item, at + 2, lane]
    spin = 0.0
    for k in range(3):
        along = (
            tree.rotation[i, 3 * k] * x + tree.rotation[i, 3 * k + 1] * y + tree.rotation[i, 3 * k + 2] * z
        )
        spin += along * tree.omega[i, k]
    tree.spin[wheel] = spin


@merged_kernel
def assemble_jacobian(tree: Tree, car: Arrays) -> None:
    """Take the rows' derivatives from the shared kernel, and make Φ_q of (21) of them and V and W."""
    joint_rows(car.joints, car.groups, car.local_bodies, tree.cells)
    for r in range(tree.row_table.shape[0]):
        lane = tree.row_table[r, CUT_ROW.lane]
        for k in range(6):
            tree.row_forms[r, k] = tree.cells[tree.row_table[r, CUT_ROW.cell_a] + k, lane]
            tree.row_forms[r, 6 + k] = tree.cells[tree.row_table[r, CUT_ROW.cell_b] + k, lane]
        first = tree.row_table[r, CUT_ROW.first]
        for c in range(first, first + tree.row_table[r, CUT_ROW.columns]):
            p, k, at = tree.row_columns[c, 0], tree.row_columns[c, 1], 6 * tree.row_columns[c, 2]
            form, v, w = tree.row_forms[r], tree.v[p], tree.w[p]
            value = form[at] * v[0] + form[at + 1] * v[1] + form[at + 2] * v[2]
            if tree.rotational[k] > 0:
                value += form[at + 3] * w[0] + form[at + 4] * w[1] + form[at + 5] * w[2]
            tree.phi[r, k] = value


@separate_kernel
def evaluate_positions(tree: Tree, car: Arrays) -> float:
    """Place all links for ``q`` and return the largest violation of the cut joints, m."""
    forward_kinematics(tree)
    write_positions(tree, car)
    choose_frame(car, False)
    violations(car)
    maximum = 0.0
    for r in range(tree.row_table.shape[0]):
        violation = car.joints.rows[
            tree.row_table[r, CUT_ROW.item], CONSTRAINT.violation, tree.row_table[r, CUT_ROW.lane]
        ]
        tree.violation[r] = violation
        # What is no number comes through.
        maximum = propagate_nan(max(maximum, abs(violation)), violation)
    return maximum


@separate_kernel
def evaluate_jacobian(tree: Tree, car: Arrays) -> None:
    """Write V, W, Φ_q and inertias, after ``evaluate_positions``."""
    joint_axes(tree)
    velocity_columns(tree)
    link_inertias(tree)
    assemble_jacobian(tree, car)


@separate_kernel
def evaluate_forces(
    tree: Tree,
    car: Arrays,
    matrices: FullJacobian,
    inputs: FloatArray,
    ground: FloatArray,
    gravity: float,
    brake_time: float,
) -> None:
    """Write γ, residual forces and second derivatives of the violations, after ``evaluate_jacobian``.

    ``brake_time``: s in which a friction brake may stop its wheel (``fields.C_REACH``).
    """
    for k in range(tree.drive_rows.shape[0]):
        car.joints.rows[car.drive_rows[k, 0], CONSTRAINT.multiplier, car.drive_rows[k, 1]] = 0.0
    strain_bars(car.elements.bars, car.groups, car.local_bodies, car.weights)
    link_velocities(tree)
    bias_accelerations(tree)
    write_velocities(tree, car)
    nothing = Weights(0.0, 0.0, 0.0, 0.0, 0.0)
    evaluation = Evaluation(nothing, gravity, False, False, False, brake_time, DERIVATIVE_RATE, True)
    evaluate(car, matrices, inputs, ground, evaluation)
    read_forces(tree, car)


@merged_kernel
def read_forces(tree: Tree, car: Arrays) -> None:
    """Take residual forces, second derivatives of the violations, and the wheels' rates from the car."""
    for i in range(tree.links.shape[0]):
        slot, lane = tree.links[i, LINK.slot], tree.links[i, LINK.lane]
        for k in range(6):
            tree.residual[i, k] = (
                car.chassis_residual[k] if slot < 0 else car.local_bodies[slot, LOCAL_BODY.force + k, lane]
            )
    for r in range(tree.row_table.shape[0]):
        row, lane = tree.row_table[r, CUT_ROW.item], tree.row_table[r, CUT_ROW.lane]
        tree.bias[r] = car.joints.rows[row, CONSTRAINT.acceleration, lane]
    for wheel in range(tree.wheel_indices.shape[0]):
        item, lane = tree.wheel_indices[wheel, 0], tree.wheel_indices[wheel, 1]
        values = car.wheels[item]
        tree.spin_rate[wheel] = -values[WHEEL.spin_residual, lane] / values[WHEEL.axial_inertia, lane]
        for k in range(2):
            change = values[WHEEL.deflection + k, lane] - values[WHEEL.start_deflection + k, lane]
            tree.deflection_rate[wheel, k] = DERIVATIVE_RATE * change
            # What a load cannot hold is let go at once.
            values[WHEEL.deflection + k, lane] = values[WHEEL.start_deflection + k, lane]


@merged_kernel
def prescribe_drives(tree: Tree, inputs: FloatArray) -> None:
    """Write displacement, rate and acceleration of the driven coordinates from a row of inputs."""
    for k in range(tree.drive_rows.shape[0]):
        coordinate = tree.drive_rows[k]
        position = tree.links[tree.link_of[coordinate], LINK.position]
        tree.q[position] = inputs[3 * k]
        tree.u[coordinate] = inputs[3 * k + 1]
        tree.udot[coordinate] = inputs[3 * k + 2]


@merged_kernel
def write_accelerations(tree: Tree, car: Arrays) -> None:
    """Write the accelerations γ + V u̇, (10), (15), to the bodies of the car, those of spins to its wheels."""
    for i in range(tree.links.shape[0]):
        x, y, z = row_of(tree.gamma_v, i, 0)
        p, q, r = row_of(tree.gamma_w, i, 0)
        first = tree.links[i, LINK.path]
        for at in range(first, first + tree.links[i, LINK.path_size]):
            k = tree.path[at]
            if tree.fixed[k] != FREE:
                continue
            value = tree.udot[k]
            x, y, z = x + value * tree.v[at, 0], y + value * tree.v[at, 1], z + value * tree.v[at, 2]
            p, q, r = p + value * tree.w[at, 0], q + value * tree.w[at, 1], r + value * tree.w[at, 2]
        b = rotate_vector_inverse(tree.rotation, i, p, q, r)
        item, lane = tree.links[i, LINK.item], tree.links[i, LINK.lane]
        linear = x, y, z
        for k in range(3):
            car.bodies[item, BODY.acceleration + k, lane] = linear[k]
            car.bodies[item, BODY.angular_acceleration + k, lane] = b[k]
    _repeat(car.bodies, car.groups, car.weights, BODY.acceleration, 6)
    for wheel in range(tree.wheel_indices.shape[0]):
        item, lane = tree.wheel_indices[wheel, 0], tree.wheel_indices[wheel, 1]
        car.wheels[item, WHEEL.spin_acceleration, lane] = tree.spin_rate[wheel]


def empty_matrices(cells: int) -> FullJacobian:
    """Return what ``evaluate`` is handed where no matrices are asked for."""
    return FullJacobian(np.zeros((cells, LANES)), np.zeros((36, LANES)), np.zeros((6, 6)), np.zeros(1))
