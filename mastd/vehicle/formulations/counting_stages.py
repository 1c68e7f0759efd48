"""Which kernels make a stage of a count: named as in the source documents where these have a name for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from mastd.vehicle import (
    balance,
    forces,
    frames,
    fresh,
    frozen,
    generalized_alpha,
    joints,
    newton,
    outer_forces,
    reaction,
    stepping,
    tyre,
)
from mastd.vehicle.formulations import (
    accelerations,
    closing,
    drive_forces,
    evaluate,
    implicit_euler,
    independent,
    lagrange,
    marching,
    mass_matrix,
    partial_step,
    partition,
    partitioning,
    recursion,
    sparse_cholesky,
    subsystem,
    subsystem_algebra,
    subsystem_cartesian,
    subsystem_joint,
)
from mastd.vehicle.ground_contact import look_up_ground
from mastd.vehicle.joint_matrix import joint_rows

Kernel = Callable[..., Any]
Kernels = Mapping[str, tuple[Kernel, ...]]

_LOOK: Final[Kernels] = {
    "frames": (
        frames.attitudes,
        frames.choose_frame,
        frames.chassis_to_frame,
        frames.bodies_to_frame,
        frames.places_to_frame,
    ),
    "joints": (joints.joint_forces, joints.joint_rates, newton.gaps),
    "forces": (
        forces.spring_forces,
        forces.bar_forces,
        forces.start_bars,
        outer_forces.act_from_outside,
        outer_forces.turn_wheels,
        look_up_ground,
    ),
    "tyres": (tyre.tyre_forces, outer_forces.prepare_wheels),
    "report": (stepping.ground_wrench, reaction.reaction, drive_forces.drive_forces, closing.largest_rate),
}
"""Of what all solvers share."""

NEWTON_STAGES: Final[Kernels] = {
    **_LOOK,
    "prediction": (generalized_alpha.predict,),
    "matrices": (fresh.make_matrices,),
    "factors": (fresh.factorise,),
    "right sides": (balance.right_sides, balance.gap_sides),
    "substitution": (fresh.substitute_fresh, frozen.substitute),
    "correction": (newton.correct, newton.correct_free),
}
"""Of a step of ``chassis`` and ``inertial``."""

CLOSING: Final = "closing"
"""Outer stages of an evaluation over the tree: cut joints closed, and rates with them;"""
LOOK: Final = "look"
"""the shared kernels' forces;"""
SOLVE: Final = "solve"
"""the accelerations of the formulation."""
EXCHANGE: Final = "exchange"
"""What is carried between tree and car."""
COLUMNS: Final = "columns"
"""Outer stage of implicit Euler: evaluations for new columns of its Jacobian."""

TREE_STAGES: Final[Kernels] = {
    **_LOOK,
    CLOSING: (closing.close_places, closing.close_rates),
    LOOK: (evaluate.look_at_forces,),
    SOLVE: (accelerations.solve,),
    EXCHANGE: (
        evaluate.show_places,
        evaluate.show_rates,
        evaluate.take_forces,
        evaluate.show_accelerations,
        evaluate.give_drives,
    ),
    "R, d": (recursion.place_links,),
    "W, U": (recursion.directions,),
    "V": (recursion.velocity_columns,),
    "ω, v": (recursion.velocities,),
    "γ": (recursion.velocity_terms,),
    "I": (recursion.inertias,),
    "joint rows": (joint_rows,),
    "Φ_q": (evaluate.take_rows,),
    "LU of Φ_d": (partition.renew, partition.factor_groups, partition.factor_dependent),
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
        subsystem.start_base,
        subsystem_joint.compose,
        subsystem_algebra.state_inertia,
        subsystem_algebra.pass_down,
    ),
    "M_yq, M_qq, P_q": (subsystem_joint.couple,),
    "Ψ": (subsystem_cartesian.gather_constraints, subsystem_cartesian.null_space),
    "M*, Q*": (subsystem_joint.project, subsystem_cartesian.project),
    "effective": (subsystem_algebra.reduce_to_base,),
    "base": (subsystem_algebra.solve_base,),
    "subsystem accelerations": (subsystem_joint.expand_joint, subsystem_cartesian.expand_cartesian),
    COLUMNS: (partial_step._perturb, partial_step._take_column),
    "implicit equations": (
        implicit_euler.invert,
        implicit_euler.replace_column,
        implicit_euler.multiply_by_inverse,
        implicit_euler.solve_afresh,
    ),
    "integration": (
        marching.keep,
        marching.move_state,
        marching.write_slopes,
        marching.stage_inputs,
        marching.begin_step,
        marching.end_step,
    ),
}
"""Of evaluations over the tree and of steps by them."""
