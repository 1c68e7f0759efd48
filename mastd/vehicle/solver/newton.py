"""One step by Newton's method: conventional in inertial axes, proposed in chassis axes (Fig. 2 of
Kang 2014).

Proposed: unknowns are the increments (4) of motion relative to the chassis, equations those of (33)–(41) in
chassis axes, the matrix is that of t = 0. Conventional: absolute increments, equations (28)–(32) in inertial
axes, the Jacobian and its factors in each step. Joints, forces and the order of elimination are the same.

The state itself is kept in inertial axes and the implicit formula is applied to it there, (43)–(45); so the
methods differ in axes and matrix, and not in what they converge to. The conventional rotations are δπ, not
δπ′: one turns into the other by the body's own attitude, and Newton's iterates are the same.

``fast`` closes the equations with the violations of position alone; the multipliers follow within the
integrator's damping. ``exact`` solves all of (42): Φ, its rate and its acceleration vanish, and the
integrator holds for the part of the motion that the joints leave free. The complement of that part is M̂⁻¹Φᵀ,
M̂ the matrix of the step: so three back-substitutions with the same factors solve the whole of (42).
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel, merged_kernel
from mastd.lanes import broadcast, hmax, load, load_row, sqrt, store
from mastd.vehicle.blocks.fields import BODY, CHASSIS, GROUP, LOCAL_BODY, REPORT, WHEEL
from mastd.vehicle.blocks.matrix_blocks import Weights
from mastd.vehicle.blocks.vectors import Triple, dot, from_frame, max_abs, rotate_inverse, sub3
from mastd.vehicle.elements.anti_roll_bar.force import correct_bar
from mastd.vehicle.equations.external_forces import apply_external_forces, prepare_wheels, turn_wheels
from mastd.vehicle.equations.frames import attitudes, bodies_to_frame, choose_frame, positions_to_frame
from mastd.vehicle.equations.ground_contact import sample_ground
from mastd.vehicle.equations.residual import collect_rhs, constraint_rhs, evaluate_residual
from mastd.vehicle.joints.arrays import CONSTRAINT
from mastd.vehicle.joints.force import joint_rates, joint_violations
from mastd.vehicle.solver.chord_jacobian import ChordJacobian, choose_chord, substitute_chord
from mastd.vehicle.solver.full_jacobian import FullJacobian, evaluate_jacobian, substitute_full
from mastd.vehicle.solver.generalized_alpha import Formula, correct_body, correct_spin, predict
from mastd.vehicle.state.arrays import Arrays
from mastd.vehicle.state.inputs import apply_inputs

MAX_RATES: Final = 8


class Method(NamedTuple):
    """How a step is solved, and when it is done."""

    relative: bool
    """Chassis axes and relative coordinates: the proposed method."""
    exact: bool
    full_newton: bool
    """Jacobian and factors of each step (in inertial axes), not those of t = 0."""
    gravity: float
    min_iterations: int
    max_iterations: int
    joint_error: float
    """Largest violation Φ, m (rad for the right angles of dot-1)."""
    joint_rate: float
    """Largest rate of Φ in the exact mode, m/s."""
    move: float
    """Largest correction of a position in the last iteration, m."""


class NewtonSolver(NamedTuple):
    """What steps are solved with."""

    formula: Formula
    method: Method
    chord: ChordJacobian
    full: FullJacobian


@merged_kernel
def advance(
    car: Arrays, solver: NewtonSolver, inputs: FloatArray, ground: FloatArray, report: FloatArray
) -> None:
    """Take one generalized-alpha step, solved by Newton; convergence data in ``report`` (REPORT)."""
    formula, method, chord, full = solver
    begin(car, formula, inputs, ground)
    speed, at = forward_speed(car), chord.speeds.shape[0]
    report[REPORT.converged] = 0.0
    report[REPORT.max_move] = np.inf
    for iteration in range(method.max_iterations + 1):
        if method.exact or iteration < method.max_iterations:
            evaluate_residual(car, method.gravity, method.relative, method.exact)
        if method.exact:
            report[REPORT.joint_error], report[REPORT.joint_rate] = (
                max_row(car, CONSTRAINT.violation),
                max_row(car, CONSTRAINT.rate),
            )
            if iteration >= method.min_iterations and _only_rates_left(method, report):
                report[REPORT.joint_rate] = _close_rates(car, method, chord, full, at)
        report[REPORT.iterations] = iteration + 0.0
        if iteration >= method.min_iterations and _done(method, report):
            report[REPORT.converged] = 1.0
            break
        if iteration == method.max_iterations:
            break
        if method.full_newton and iteration == 0:
            weights = Weights(1.0, formula.velocity, formula.position, 1.0, 1.0 / formula.position)
            evaluate_jacobian(car, full, weights, True)
        # Within a step only to a stiffer matrix: a wheel that touches and leaves must not make it alternate.
        at = min(at, choose_chord(car, chord, speed))
        report[REPORT.max_move] = _iterate(car, formula, method, chord, full, at)
        attitudes(car)
        if not method.exact:
            report[REPORT.joint_error] = max_violation(car)


@fused_kernel
def _done(method: Method, report: FloatArray) -> bool:
    near = report[REPORT.joint_error] <= method.joint_error and report[REPORT.max_move] <= method.move
    return bool(near and (not method.exact or report[REPORT.joint_rate] <= method.joint_rate))


@fused_kernel
def _only_rates_left(method: Method, report: FloatArray) -> bool:
    near = report[REPORT.joint_error] <= method.joint_error and report[REPORT.max_move] <= method.move
    return bool(near and not (report[REPORT.joint_rate] <= method.joint_rate))


@merged_kernel
def _close_rates(car: Arrays, method: Method, chord: ChordJacobian, full: FullJacobian, at: int) -> float:
    """Correct the velocities alone until the joints' rates vanish, at most MAX_RATES times; return the
    largest left.

    Where all else has converged it takes a third of a whole iteration: forces change by less than their
    tolerance.
    """
    rate = 0.0
    for _ in range(MAX_RATES):
        constraint_rhs(car, CONSTRAINT.rate, 0.0)
        if method.relative:
            substitute_chord(car, chord, at, False)
        else:
            substitute_full(car, full)
        correct_free(car, BODY.velocity, BODY.angular_velocity, method.relative)
        rate = max_constraint_rate(car, method.relative)
        if rate <= method.joint_rate:
            break
    return rate


@merged_kernel
def _iterate(
    car: Arrays, formula: Formula, method: Method, chord: ChordJacobian, full: FullJacobian, at: int
) -> float:
    """Correct accelerations and forces and, in the exact mode, what velocities and positions lack beyond the
    formula.

    Returns the largest correction of a position by the formula.
    """
    largest = 0.0
    for stage in range(3 if method.exact else 1):
        if stage == 0:
            field = CONSTRAINT.acceleration if method.exact else CONSTRAINT.violation
            # A bar's violation is one of position in both modes.
            bar_scale = 1.0 / formula.position
            collect_rhs(car, method.relative, field, 1.0 if method.exact else bar_scale, bar_scale)
        elif stage == 1:
            constraint_rhs(car, CONSTRAINT.rate, formula.velocity)
        else:
            constraint_rhs(car, CONSTRAINT.violation, formula.position)
        if method.relative:
            substitute_chord(car, chord, at, stage == 0)
        else:
            substitute_full(car, full)
        if stage == 0:
            largest = correct(car, formula, method.relative) * formula.position
        elif stage == 1:
            correct_free(car, BODY.velocity, BODY.angular_velocity, method.relative)
        else:
            correct_free(car, BODY.position, BODY.rotation_vector, method.relative)
    return largest


@merged_kernel
def begin(car: Arrays, formula: Formula, inputs: FloatArray, ground: FloatArray) -> None:
    """Take the inputs, predict the end of the step, and look up there the ground and the external
    forces."""
    apply_inputs(car, inputs)
    predict(car, formula)
    attitudes(car)
    sample_ground(car, ground)
    prepare_wheels(car, True)
    apply_external_forces(car, ground)
    turn_wheels(car, formula.step)


@fused_kernel
def forward_speed(car: Arrays) -> float:
    """Return the speed of the chassis along its own x axis."""
    bodies = car.bodies
    speed = 0.0
    for k in range(3):
        speed += bodies[CHASSIS, BODY.rotation + 3 * k, 0] * bodies[CHASSIS, BODY.velocity + k, 0]
    return speed


@fused_kernel
def correct(car: Arrays, formula: Formula, relative: bool) -> float:
    """Apply the increments of all accelerations and forces; return the largest of the accelerations."""
    largest = broadcast(0.0)
    for group in range(car.groups.shape[0]):
        line = car.groups[group]
        u, local = line[GROUP.first_unknown], line[GROUP.first_local] + line[GROUP.interfaces]
        for k in range(line[GROUP.bodies]):
            x, y, z = absolute_rows(car, u + 6 * k, 0, relative)
            p, q, r = absolute_rows(car, u + 6 * k + 3, 3, relative)
            largest = max_abs(max_abs(largest, dot(x, y, z, x, y, z)), dot(p, q, r, p, q, r))
            moved = from_frame(car.frame, x, y, z)
            turned = rotate_inverse(car.local_bodies, local + k, LOCAL_BODY.rotation, p, q, r)
            correct_body(car.bodies, formula, line[GROUP.first_body] + k, moved, turned)
        if line[GROUP.wheel] >= 0:
            spin = load_row(car.increments, u + line[GROUP.spin_unknown])
            correct_spin(car.wheels, formula, line[GROUP.wheel], spin)
            rolled = spin * load(car.wheels, line[GROUP.wheel], WHEEL.rolling_radius)
            largest = max_abs(largest, rolled * rolled)
        correct_forces(car, group)
    x, y, z = chassis_rows(car, 0)
    p, q, r = chassis_rows(car, 3)
    moved = from_frame(car.frame, x, y, z)
    turned = rotate_inverse(car.local_bodies, car.groups[0, GROUP.first_local], LOCAL_BODY.rotation, p, q, r)
    correct_body(car.bodies, formula, CHASSIS, moved, turned)
    largest = max_abs(largest, dot(x, y, z, x, y, z))
    return hmax(sqrt(largest))


@fused_kernel
def chassis_rows(car: Arrays, first: int) -> Triple:
    """Return three neighbouring increments of the chassis, the same in each lane."""
    core = car.chassis_unknowns
    return broadcast(core[first]), broadcast(core[first + 1]), broadcast(core[first + 2])


@fused_kernel
def absolute_rows(car: Arrays, row: int, of_chassis: int, relative: bool) -> Triple:
    """Return three neighbouring increments of a body, relative ones with the chassis' added: eq. (6)."""
    increments = car.increments
    x, y, z = load_row(increments, row), load_row(increments, row + 1), load_row(increments, row + 2)
    if relative:
        u, v, w = chassis_rows(car, of_chassis)
        x, y, z = x + u, y + v, z + w
    return x, y, z


@fused_kernel
def correct_forces(car: Arrays, group: int) -> None:
    """Subtract the increments of a group's multipliers and of its anti-roll bar's force."""
    line = car.groups[group]
    u = line[GROUP.first_unknown]
    correct_bar(car.elements.bars, line, car.increments)
    first = u + line[GROUP.row_unknown]
    for row in range(line[GROUP.first_row], line[GROUP.first_row] + line[GROUP.rows]):
        force = load(car.joints.rows, row, CONSTRAINT.multiplier)
        store(
            car.joints.rows,
            row,
            CONSTRAINT.multiplier,
            force - load_row(car.increments, first + row - line[GROUP.first_row]),
        )


@merged_kernel
def max_violation(car: Arrays) -> float:
    """Return the largest violation of all joints at the present positions, in the present frame."""
    violations(car)
    return max_row(car, CONSTRAINT.violation)


@fused_kernel
def violations(car: Arrays) -> None:
    """Write Φ of all joints at the present positions, in the present frame."""
    for group in range(car.groups.shape[0]):
        positions_to_frame(car, group)
        joint_violations(car.joints, car.groups[group], car.local_bodies)


@merged_kernel
def max_constraint_rate(car: Arrays, relative: bool) -> float:
    """Return the largest dΦ/dt at the present state, m/s."""
    choose_frame(car, relative)
    for group in range(car.groups.shape[0]):
        bodies_to_frame(car, group, 0.0, True)
        joint_rates(car.joints, car.groups[group], car.local_bodies)
    return max_row(car, CONSTRAINT.rate)


@fused_kernel
def max_row(car: Arrays, field: int) -> float:
    """Return the largest absolute value of one field over all constraint rows."""
    largest = broadcast(0.0)
    for row in range(car.joints.rows.shape[0]):
        largest = max_abs(largest, load(car.joints.rows, row, field))
    return hmax(largest)


@fused_kernel
def correct_free(car: Arrays, field: int, angular_field: int, relative: bool) -> None:
    """Subtract increments of one pair of fields alone: velocities or positions."""
    for group in range(car.groups.shape[0]):
        line = car.groups[group]
        u, local = line[GROUP.first_unknown], line[GROUP.first_local] + line[GROUP.interfaces]
        for k in range(line[GROUP.bodies]):
            x, y, z = absolute_rows(car, u + 6 * k, 0, relative)
            p, q, r = absolute_rows(car, u + 6 * k + 3, 3, relative)
            moved = from_frame(car.frame, x, y, z)
            turned = rotate_inverse(car.local_bodies, local + k, LOCAL_BODY.rotation, p, q, r)
            sub3(car.bodies, line[GROUP.first_body] + k, field, moved[0], moved[1], moved[2])
            sub3(car.bodies, line[GROUP.first_body] + k, angular_field, turned[0], turned[1], turned[2])
    x, y, z = chassis_rows(car, 0)
    p, q, r = chassis_rows(car, 3)
    moved = from_frame(car.frame, x, y, z)
    turned = rotate_inverse(car.local_bodies, car.groups[0, GROUP.first_local], LOCAL_BODY.rotation, p, q, r)
    sub3(car.bodies, CHASSIS, field, moved[0], moved[1], moved[2])
    sub3(car.bodies, CHASSIS, angular_field, turned[0], turned[1], turned[2])
