"""Steps of a vehicle by implicit Euler (3)–(4) of KR 10-1310276, on independent coordinates of Kang and Yoon.

KR patent 10-1310276 (registered in 2013) covers integration with a Jacobian that is updated in part. This is
an alternative for comparison, and never the default.

What moves in (4) are the rates of the independent coordinates, the spins of the wheels and the deflections of
Magic Formula tyres; the last two have no position that acts back, so their columns of f_x are zero. Columns
are made by the differences (5)–(6): a coordinate is moved with the dependent ones that follow it, or its rate
with theirs, and the accelerations are evaluated again, by whatever formulation the solver has. The first step
makes all columns, and so does a step after which other coordinates are the independent ones.

Accelerations at the beginning of a step are those that the last one ended with, with its inputs; so a step
without columns takes one evaluation. In (4) this puts what acts from outside off by one step, an error of the
formula's own order.

The loads from which Magic Formula tyres take their relaxation are those of the evaluation before: for a
difference they are put back, or it would contain what another column moved.
"""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple

import numpy as np

from mastd.arrays import FloatArray, IntArray
from mastd.formulations.constraints.partition import expand, velocity_terms
from mastd.formulations.integrators.explicit import IntegratorState, displace_state, save_start
from mastd.formulations.integrators.implicit_euler import (
    COUNT,
    LIMIT,
    POSITION_PERTURBATION,
    VELOCITY_PERTURBATION,
    ImplicitEuler,
    Policy,
    columns_to_update,
    implicit_euler,
    invert,
    multiply_by_inverse,
    next_column,
    perturbation,
    put_column,
    replace_column,
    solve_by_factorisation,
)
from mastd.formulations.methods.dispatch import EvaluationSettings, Workspaces, evaluate
from mastd.formulations.tree.arrays import BODY_GROUP, HELD, KEEP_CHOICE, Tree
from mastd.index_table import Entry, index_table, size_of
from mastd.kernel import fused_kernel, merged_kernel
from mastd.lanes import LANES
from mastd.vehicle.blocks.fields import WHEEL
from mastd.vehicle.magic_formula.tyre import MagicTyre
from mastd.vehicle.model.definition import Model
from mastd.vehicle.state.arrays import Arrays

ROUND_ROBIN_COLUMNS: Final = 1
"""Columns that a round robin updates in a step."""
SINGULAR_STEP: Final = -2
"""What a step returns whose matrix A is singular."""


class PlanRow(NamedTuple):
    """Which columns the present step makes."""

    all: Annotated[int, Entry("", "1 if it makes all of them")]
    column: Annotated[int, Entry("", "the one at hand")]


PLAN: Final = index_table(PlanRow)


class PartialJacobianWorkspace(NamedTuple):
    """Jacobian and workspace of a step; N = independent coordinates + wheels + 2 tyres that deflect."""

    euler: ImplicitEuler
    plan: IntArray
    """``PLAN``."""
    coordinates: IntArray
    """Independent coordinates to which the first columns belong."""
    deflecting: IntArray
    """Wheels whose tyres' deflections are states."""
    rates: FloatArray
    """(N) at the beginning of the step."""
    accelerations: FloatArray
    """(N) at the beginning of the step."""
    loads: FloatArray
    """(2, items of wheels, LANES) loads that the accelerations at the beginning were made with, and those
    that they left."""
    quality: FloatArray
    """(body groups) marks of the choice of independent coordinates."""
    terms: FloatArray
    """(m) what given rates add to the dependent ones."""


def partial_jacobian_workspace(
    tree: Tree, car: Arrays, model: Model, step: float
) -> PartialJacobianWorkspace:
    """Return the workspace for steps of ``step`` s before the first one; it serves one policy."""
    deflecting = [k for k, wheel in enumerate(model.wheels) if isinstance(wheel.tyre, MagicTyre)]
    free = int(np.sum(tree.groups[:, BODY_GROUP.free]))
    size = free + len(tree.spin) + 2 * len(deflecting)
    return PartialJacobianWorkspace(
        euler=implicit_euler(size, step),
        plan=np.zeros(size_of(PLAN), dtype=np.int64),
        coordinates=np.full(free, -1, dtype=np.int64),
        deflecting=np.array(deflecting, dtype=np.int64),
        rates=np.zeros(size),
        accelerations=np.zeros(size),
        loads=np.zeros((2, len(car.wheels), LANES)),
        quality=np.zeros(len(tree.groups)),
        terms=np.zeros(len(tree.row_table)),
    )


@merged_kernel
def implicit_step(
    tree: Tree,
    car: Arrays,
    workspaces: Workspaces,
    settings: EvaluationSettings,
    state: IntegratorState,
    work: PartialJacobianWorkspace,
    policy: int,
    ground: FloatArray,
) -> int:
    """Take a step; accelerations of its beginning stand in the tree, those of its end do after it.

    ``policy`` is a ``Policy``. Returns as ``evaluate``, or
    ``SINGULAR_STEP``.
    """
    failed = 0
    evaluations = _begin(tree, car, state, work, policy)
    for evaluation in range(evaluations + 1):
        last = evaluation == evaluations
        epsilon = 0.0
        if last:
            failed = _take_step(tree, car, state, work, policy)
        else:
            epsilon = _perturb(tree, car, state, work, policy, evaluation)
        if failed == 0 and (last or epsilon != 0.0):
            # A difference leaves the violations: to correct them would move what is not asked for.
            tolerance = settings.tolerance if last else np.inf
            failed = evaluate(
                tree,
                car,
                workspaces,
                EvaluationSettings(settings.formulation, settings.gravity, settings.brake_time, tolerance),
                state.inputs[1 if last else 0],
                ground if last else state.ground[0],
            )
        if failed == 0 and not last:
            failed = _difference_column(tree, work, evaluation, epsilon)
        if failed != 0:
            break
    return failed


@fused_kernel
def _begin(
    tree: Tree, car: Arrays, state: IntegratorState, work: PartialJacobianWorkspace, policy: int
) -> int:
    """Keep the state and its accelerations, and return how many evaluations the due columns take."""
    euler = work.euler
    save_start(tree, state)
    _save_loads(car, work.loads[1])
    if state.known[0] == 0:
        # The evaluation before was at this very state, and left the loads that it found.
        _save_loads(car, work.loads[0])
        euler.counts[COUNT.steps] = 0
        state.known[0] = 1
    if _choice_changed(tree, work):
        euler.counts[COUNT.steps] = 0
    _gather(tree, work, tree.u, tree.spin, tree.deflection, work.rates)
    _gather(tree, work, tree.udot, tree.spin_rate, tree.deflection_rate, work.accelerations)
    work.plan[PLAN.all] = 1 if policy == Policy.FULL or euler.counts[COUNT.steps] == 0 else 0
    # Only the step's last evaluation may choose other independent coordinates.
    for group in range(tree.groups.shape[0]):
        work.quality[group] = tree.quality[group]
        tree.quality[group] = KEEP_CHOICE
    return 2 * columns_to_update(euler, policy, ROUND_ROBIN_COLUMNS)


@fused_kernel
def _perturb(
    tree: Tree,
    car: Arrays,
    state: IntegratorState,
    work: PartialJacobianWorkspace,
    policy: int,
    evaluation: int,
) -> float:
    """Move one state, (6), and what follows it: its rate in even evaluations, its position in odd ones.

    Returns ε, 0 for what has no position.
    """
    free, plan = work.coordinates.shape[0], work.plan
    if evaluation % 2 == 0:
        all_columns = plan[PLAN.all] == 1
        plan[PLAN.column] = evaluation // 2 if all_columns else next_column(work.euler, policy, work.rates)
    j = plan[PLAN.column]
    epsilon = 0.0
    _clear_increment(state)
    if evaluation % 2 == 0:
        epsilon = perturbation(work.rates[j], VELOCITY_PERTURBATION)
        state.increment[_increment_index(tree, work, j)] = epsilon
    elif j < free:
        epsilon = POSITION_PERTURBATION
        state.increment[work.coordinates[j]] = epsilon
        for r in range(work.terms.shape[0]):
            work.terms[r] = 0.0
        expand(tree, work.terms, state.increment)
    displace_state(tree, state)
    _restore_loads(car, work.loads[0])
    return epsilon


@fused_kernel
def _difference_column(tree: Tree, work: PartialJacobianWorkspace, evaluation: int, epsilon: float) -> int:
    """Difference the accelerations of an evaluation, (5), and put the column in its place when it is whole.

    Returns 0 or ``SINGULAR_STEP``.
    """
    euler, j = work.euler, work.plan[PLAN.column]
    column = euler.velocity_column if evaluation % 2 == 0 else euler.position_column
    if epsilon != 0.0:
        _gather(tree, work, tree.udot, tree.spin_rate, tree.deflection_rate, column)
    for i in range(column.shape[0]):
        column[i] = (column[i] - work.accelerations[i]) / epsilon if epsilon != 0.0 else 0.0
    if evaluation % 2 == 0:
        return 0
    if work.plan[PLAN.all] == 1:
        put_column(euler, j)
        return 0
    return SINGULAR_STEP if replace_column(euler, j) != 0 else 0


@fused_kernel
def _take_step(
    tree: Tree, car: Arrays, state: IntegratorState, work: PartialJacobianWorkspace, policy: int
) -> int:
    """Put the tree into the state of the step's end, (3) and (4), dependent coordinates close to it.

    Returns 0 or ``SINGULAR_STEP``.
    """
    free = work.coordinates.shape[0]
    euler = work.euler
    for group in range(tree.groups.shape[0]):
        tree.quality[group] = work.quality[group]
    _restore_loads(car, work.loads[1])
    for item in range(work.loads.shape[1]):
        for lane in range(LANES):
            work.loads[0, item, lane] = work.loads[1, item, lane]
    if policy == Policy.FULL:
        failed = solve_by_factorisation(euler, work.accelerations, work.rates)
    else:
        failed = invert(euler) if work.plan[PLAN.all] == 1 else 0
        failed += multiply_by_inverse(euler, work.accelerations, work.rates)
    if failed != 0:
        return SINGULAR_STEP
    _clear_increment(state)
    for k in range(tree.fixed.shape[0]):
        if tree.fixed[k] == HELD:
            # What is held goes on at the speed that it has.
            state.increment[k] = euler.limits[LIMIT.step] * state.u[k]
    for j in range(free):
        state.increment[work.coordinates[j]] = euler.limits[LIMIT.step] * (work.rates[j] + euler.increment[j])
    for j in range(euler.increment.shape[0]):
        state.increment[_increment_index(tree, work, j)] = euler.increment[j]
    velocity_terms(tree, work.terms)
    for r in range(work.terms.shape[0]):
        work.terms[r] *= euler.limits[LIMIT.step]
    expand(tree, work.terms, state.increment)
    displace_state(tree, state)
    return 0


@fused_kernel
def _increment_index(tree: Tree, work: PartialJacobianWorkspace, j: int) -> int:
    """Return the place in ``IntegratorState.increment`` of rate, spin or deflection j."""
    n, wheels, free = tree.u.shape[0], tree.spin.shape[0], work.coordinates.shape[0]
    if j < free:
        return int(n + work.coordinates[j])
    if j < free + wheels:
        return int(2 * n + j - free)
    at = j - free - wheels
    return int(2 * n + wheels + 2 * work.deflecting[at // 2] + at % 2)


@fused_kernel
def _clear_increment(state: IntegratorState) -> None:
    for k in range(state.increment.shape[0]):
        state.increment[k] = 0.0


@fused_kernel
def _gather(
    tree: Tree,
    work: PartialJacobianWorkspace,
    rates: FloatArray,
    spins: FloatArray,
    deflections: FloatArray,
    out: FloatArray,
) -> None:
    """Write the states' part of rates (n), spins (wheels) and deflections (wheels, 2) to ``out`` (N)."""
    free, wheels = work.coordinates.shape[0], tree.spin.shape[0]
    for j in range(free):
        out[j] = rates[work.coordinates[j]]
    for wheel in range(wheels):
        out[free + wheel] = spins[wheel]
    for at in range(2 * work.deflecting.shape[0]):
        out[free + wheels + at] = deflections[work.deflecting[at // 2], at % 2]


@fused_kernel
def _choice_changed(tree: Tree, work: PartialJacobianWorkspace) -> bool:
    """Note the independent coordinates; return whether they are others than before."""
    changed = False
    j = 0
    for group in range(tree.groups.shape[0]):
        first = tree.groups[group, BODY_GROUP.first] + tree.groups[group, BODY_GROUP.rows]
        for k in range(first, first + tree.groups[group, BODY_GROUP.free]):
            if work.coordinates[j] != tree.members[k]:
                work.coordinates[j] = tree.members[k]
                changed = True
            j += 1
    return changed


@fused_kernel
def _save_loads(car: Arrays, loads: FloatArray) -> None:
    for item in range(loads.shape[0]):
        for lane in range(LANES):
            loads[item, lane] = car.wheels[item, WHEEL.load, lane]


@fused_kernel
def _restore_loads(car: Arrays, loads: FloatArray) -> None:
    for item in range(loads.shape[0]):
        for lane in range(LANES):
            car.wheels[item, WHEEL.load, lane] = loads[item, lane]
