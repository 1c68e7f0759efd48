"""Which kernels make a stage of a count: named as in the source documents where these have a name for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from mastd.formulations.constraints import drive_forces, evaluate, partition, projection
from mastd.formulations.integrators import explicit, implicit_euler, partial_jacobian
from mastd.formulations.methods import (
    dispatch,
    independent,
    lagrange,
    mass_matrix,
    partitioning,
    sparse_cholesky,
)
from mastd.formulations.subsystem import algebra, cartesian
from mastd.formulations.subsystem import joint as subsystem_joint
from mastd.formulations.subsystem import solve as subsystem
from mastd.formulations.tree import recursion
from mastd.vehicle.elements.anti_roll_bar.force import bar_forces, start_bars
from mastd.vehicle.elements.spring_damper.force import spring_forces
from mastd.vehicle.equations import external_forces, frames, reaction, residual
from mastd.vehicle.equations.ground_contact import sample_ground
from mastd.vehicle.joints.force import joint_forces, joint_rates
from mastd.vehicle.joints.jacobian import joint_rows
from mastd.vehicle.solver import chord_jacobian, compiled_step, full_jacobian, generalized_alpha, newton
from mastd.vehicle.tyres.registry import tyre_forces

Kernel = Callable[..., Any]
Kernels = Mapping[str, tuple[Kernel, ...]]

_EVALUATION: Final[Kernels] = {
    "frames": (
        frames.attitudes,
        frames.choose_frame,
        frames.chassis_to_frame,
        frames.bodies_to_frame,
        frames.positions_to_frame,
    ),
    "joints": (joint_forces, joint_rates, newton.violations),
    "forces": (
        spring_forces,
        bar_forces,
        start_bars,
        external_forces.apply_external_forces,
        external_forces.turn_wheels,
        sample_ground,
    ),
    "tyres": (tyre_forces, external_forces.prepare_wheels),
    "report": (
        compiled_step.ground_wrench,
        reaction.reaction,
        drive_forces.drive_forces,
        projection.max_violation_rate,
    ),
}
"""Of what all solvers share."""

NEWTON_STAGES: Final[Kernels] = {
    **_EVALUATION,
    "prediction": (generalized_alpha.predict,),
    "matrices": (full_jacobian.evaluate_jacobian,),
    "factors": (full_jacobian.factorise,),
    "right-hand sides": (residual.collect_rhs, residual.constraint_rhs),
    "substitution": (full_jacobian.substitute_full, chord_jacobian.substitute_chord),
    "correction": (newton.correct, newton.correct_free),
}
"""Of a step of ``chassis`` and ``inertial``."""

CONSTRAINTS: Final = "constraints"
"""Outer stages of an evaluation over the tree: cut joints closed, and rates with them;"""
EVALUATION: Final = "evaluation"
"""the shared kernels' forces;"""
SOLVE: Final = "solve"
"""the accelerations of the formulation."""
EXCHANGE: Final = "exchange"
"""What is carried between tree and car."""
COLUMNS: Final = "columns"
"""Outer stage of implicit Euler: evaluations for new columns of its Jacobian."""

TREE_STAGES: Final[Kernels] = {
    **_EVALUATION,
    CONSTRAINTS: (projection.project_positions, projection.project_velocities),
    EVALUATION: (evaluate.evaluate_forces,),
    SOLVE: (dispatch.solve,),
    EXCHANGE: (
        evaluate.write_positions,
        evaluate.write_velocities,
        evaluate.read_forces,
        evaluate.write_accelerations,
        evaluate.prescribe_drives,
    ),
    "R, d": (recursion.forward_kinematics,),
    "W, U": (recursion.joint_axes,),
    "V": (recursion.velocity_columns,),
    "ω, v": (recursion.link_velocities,),
    "γ": (recursion.bias_accelerations,),
    "I": (recursion.link_inertias,),
    "joint rows": (joint_rows,),
    "Φ_q": (evaluate.assemble_jacobian,),
    "LU of Φ_d": (partition.update_partition, partition.factor_groups, partition.factor_dependent),
    "B_di": (partition.independent_columns,),
    "b_di": (partition.velocity_terms,),
    "g_di": (partition.acceleration_terms,),
    "q_d": (partition.expand,),
    "V_di, W_di": (independent.velocity_matrices,),
    "M, f": (mass_matrix.add_inertia,),
    "projection": (partitioning._project,),
    "Cholesky": (sparse_cholesky.factor,),
    "solution": (sparse_cholesky.solve,),
    "LU": (lagrange._solve_dense,),
    "forward": (lagrange._carry_rows, sparse_cholesky.forward),
    "backward": (sparse_cholesky.backward,),
    "state inertias": (
        subsystem.assemble_base,
        subsystem_joint.composite_inertias,
        algebra.state_inertia,
        algebra.add_to_lower,
    ),
    "M_yq, M_qq, P_q": (subsystem_joint.assemble_coupling,),
    "Ψ": (cartesian.gather_constraints, cartesian.null_space),
    "M*, Q*": (subsystem_joint.project, cartesian.project),
    "effective": (algebra.reduce_to_base,),
    "base": (algebra.solve_base,),
    "subsystem accelerations": (subsystem_joint.expand_joint, cartesian.expand_cartesian),
    COLUMNS: (partial_jacobian._perturb, partial_jacobian._difference_column),
    "implicit equations": (
        implicit_euler.invert,
        implicit_euler.replace_column,
        implicit_euler.multiply_by_inverse,
        implicit_euler.solve_by_factorisation,
    ),
    "integration": (
        explicit.save_start,
        explicit.displace_state,
        explicit.write_slopes,
        explicit.stage_inputs,
        explicit.take_inputs,
        explicit.keep_inputs,
    ),
}
"""Of evaluations over the tree and of steps by them."""
