"""Steps of a vehicle by implicit Euler (3)–(4) of KR 10-1310276, on independent coordinates of Kang and Yoon.

KR patent 10-1310276 (registered in 2013) covers integration with a Jacobian that is renewed in part. This is
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

from typing import Final, NamedTuple

import numpy as np

from mastd.arrays import FloatArray, IntArray
from mastd.formulations.closing.partition import expand, velocity_terms
from mastd.formulations.integrators.explicit import March, keep, move_state
from mastd.formulations.integrators.implicit_euler import (
    POSITION_PERTURBATION,
    STEP,
    STEPS,
    VELOCITY_PERTURBATION,
    ImplicitEuler,
    Policy,
    columns_due,
    implicit_euler,
    invert,
    multiply_by_inverse,
    next_column,
    perturbation,
    put_column,
    replace_column,
    solve_afresh,
)
from mastd.formulations.methods.dispatch import Law, Rooms, evaluate
from mastd.formulations.tree import arrays as a
from mastd.formulations.tree.arrays import Tree
from mastd.kernel import fused_kernel, merged_kernel
from mastd.lanes import LANES
from mastd.vehicle.blocks.fields import WHEEL
from mastd.vehicle.model.definition import MagicTyre, Model
from mastd.vehicle.state.arrays import Arrays

SINGULAR_STEP: Final = -2
"""What a step returns whose matrix A is singular."""

AFRESH, COLUMN = 0, 1
_PLANS: Final = 2


class PartialRoom(NamedTuple):
    """Jacobian and room of a step; N = independent coordinates + wheels + 2 tyres that deflect."""

    euler: ImplicitEuler
    plan: IntArray
    """Of the present step: 1 if all columns are made ``AFRESH``, and the ``COLUMN`` at hand."""
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


def partial_room(tree: Tree, car: Arrays, model: Model, step: float) -> PartialRoom:
    """Return the room of steps of ``step`` s before the first one; it serves one policy."""
    deflecting = [k for k, wheel in enumerate(model.wheels) if isinstance(wheel.tyre, MagicTyre)]
    free = int(np.sum(tree.groups[:, a.B_FREE]))
    size = free + len(tree.spin) + 2 * len(deflecting)
    return PartialRoom(
        euler=implicit_euler(size, step),
        plan=np.zeros(_PLANS, dtype=np.int64),
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
    rooms: Rooms,
    law: Law,
    march: March,
    room: PartialRoom,
    policy: int,
    columns: int,
    ground: FloatArray,
) -> int:
    """Take a step; accelerations of its beginning stand in the tree, those of its end do after it.

    ``policy`` is a ``Policy``, ``columns`` the number that a round robin renews. Returns as ``evaluate``, or
    ``SINGULAR_STEP``.
    """
    failed = 0
    looks = _begin(tree, car, march, room, policy, columns)
    for look in range(looks + 1):
        last = look == looks
        epsilon = 0.0
        if last:
            failed = _move(tree, car, march, room, policy)
        else:
            epsilon = _perturb(tree, car, march, room, policy, look)
        if failed == 0 and (last or epsilon != 0.0):
            # A difference leaves the gaps as they are: to close them would move what is not asked for.
            gap = law.tolerance if last else np.inf
            failed = evaluate(
                tree,
                car,
                rooms,
                Law(law.formulation, law.gravity, law.reach, gap),
                march.inputs[1 if last else 0],
                ground if last else march.ground[0],
            )
        if failed == 0 and not last:
            failed = _take_column(tree, room, look, epsilon)
        if failed != 0:
            break
    return failed


@fused_kernel
def _begin(tree: Tree, car: Arrays, march: March, room: PartialRoom, policy: int, columns: int) -> int:
    """Keep the state and its accelerations, and return how many evaluations the due columns take."""
    euler = room.euler
    keep(tree, march)
    _keep_loads(car, room.loads[1])
    if march.known[0] == 0:
        # The evaluation before was at this very state, and left the loads that it found.
        _keep_loads(car, room.loads[0])
        euler.counts[STEPS] = 0
        march.known[0] = 1
    if _choice_changed(tree, room):
        euler.counts[STEPS] = 0
    _gather(tree, room, tree.u, tree.spin, tree.deflection, room.rates)
    _gather(tree, room, tree.udot, tree.spin_rate, tree.deflection_rate, room.accelerations)
    room.plan[AFRESH] = 1 if policy == Policy.FULL or euler.counts[STEPS] == 0 else 0
    # A mark of zero: no evaluation but the step's last one chooses other independent coordinates.
    for group in range(tree.groups.shape[0]):
        room.quality[group] = tree.quality[group]
        tree.quality[group] = 0.0
    return 2 * columns_due(euler, policy, columns)


@fused_kernel
def _perturb(tree: Tree, car: Arrays, march: March, room: PartialRoom, policy: int, look: int) -> float:
    """Move one state, (6), and what follows it: by its rate in even looks and by its position in odd ones.

    Returns ε, 0 for what has no position.
    """
    free, plan = room.coordinates.shape[0], room.plan
    if look % 2 == 0:
        afresh = plan[AFRESH] == 1
        plan[COLUMN] = look // 2 if afresh else next_column(room.euler, policy, room.rates)
    j = plan[COLUMN]
    epsilon = 0.0
    _stay(march)
    if look % 2 == 0:
        epsilon = perturbation(room.rates[j], VELOCITY_PERTURBATION)
        march.move[_place_of(tree, room, j)] = epsilon
    elif j < free:
        epsilon = POSITION_PERTURBATION
        march.move[room.coordinates[j]] = epsilon
        for r in range(room.terms.shape[0]):
            room.terms[r] = 0.0
        expand(tree, room.terms, march.move)
    move_state(tree, march)
    _put_loads(car, room.loads[0])
    return epsilon


@fused_kernel
def _take_column(tree: Tree, room: PartialRoom, look: int, epsilon: float) -> int:
    """Difference the accelerations of a look, (5), and put the column in its place when it is whole.

    Returns 0 or ``SINGULAR_STEP``.
    """
    euler, j = room.euler, room.plan[COLUMN]
    column = euler.velocity_column if look % 2 == 0 else euler.position_column
    if epsilon != 0.0:
        _gather(tree, room, tree.udot, tree.spin_rate, tree.deflection_rate, column)
    for i in range(column.shape[0]):
        column[i] = (column[i] - room.accelerations[i]) / epsilon if epsilon != 0.0 else 0.0
    if look % 2 == 0:
        return 0
    if room.plan[AFRESH] == 1:
        put_column(euler, j)
        return 0
    return SINGULAR_STEP if replace_column(euler, j) != 0 else 0


@fused_kernel
def _move(tree: Tree, car: Arrays, march: March, room: PartialRoom, policy: int) -> int:
    """Put the tree into the state of the step's end, (3) and (4), dependent coordinates close to it.

    Returns 0 or ``SINGULAR_STEP``.
    """
    free = room.coordinates.shape[0]
    euler = room.euler
    for group in range(tree.groups.shape[0]):
        tree.quality[group] = room.quality[group]
    _put_loads(car, room.loads[1])
    for item in range(room.loads.shape[1]):
        for lane in range(LANES):
            room.loads[0, item, lane] = room.loads[1, item, lane]
    if policy == Policy.FULL:
        failed = solve_afresh(euler, room.accelerations, room.rates)
    else:
        failed = invert(euler) if room.plan[AFRESH] == 1 else 0
        failed += multiply_by_inverse(euler, room.accelerations, room.rates)
    if failed != 0:
        return SINGULAR_STEP
    _stay(march)
    for k in range(tree.fixed.shape[0]):
        if tree.fixed[k] == a.HELD:
            # What is held goes on at the speed that it has.
            march.move[k] = euler.limits[STEP] * march.u[k]
    for j in range(free):
        march.move[room.coordinates[j]] = euler.limits[STEP] * (room.rates[j] + euler.increment[j])
    for j in range(euler.increment.shape[0]):
        march.move[_place_of(tree, room, j)] = euler.increment[j]
    velocity_terms(tree, room.terms)
    for r in range(room.terms.shape[0]):
        room.terms[r] *= euler.limits[STEP]
    expand(tree, room.terms, march.move)
    move_state(tree, march)
    return 0


@fused_kernel
def _place_of(tree: Tree, room: PartialRoom, j: int) -> int:
    """Return the place in ``March.move`` of rate, spin or deflection j."""
    n, wheels, free = tree.u.shape[0], tree.spin.shape[0], room.coordinates.shape[0]
    if j < free:
        return int(n + room.coordinates[j])
    if j < free + wheels:
        return int(2 * n + j - free)
    at = j - free - wheels
    return int(2 * n + wheels + 2 * room.deflecting[at // 2] + at % 2)


@fused_kernel
def _stay(march: March) -> None:
    for k in range(march.move.shape[0]):
        march.move[k] = 0.0


@fused_kernel
def _gather(
    tree: Tree,
    room: PartialRoom,
    rates: FloatArray,
    spins: FloatArray,
    deflections: FloatArray,
    out: FloatArray,
) -> None:
    """Write the states' part of rates (n), spins (wheels) and deflections (wheels, 2) to ``out`` (N)."""
    free, wheels = room.coordinates.shape[0], tree.spin.shape[0]
    for j in range(free):
        out[j] = rates[room.coordinates[j]]
    for wheel in range(wheels):
        out[free + wheel] = spins[wheel]
    for at in range(2 * room.deflecting.shape[0]):
        out[free + wheels + at] = deflections[room.deflecting[at // 2], at % 2]


@fused_kernel
def _choice_changed(tree: Tree, room: PartialRoom) -> bool:
    """Note the independent coordinates; return whether they are others than before."""
    changed = False
    j = 0
    for group in range(tree.groups.shape[0]):
        first = tree.groups[group, a.B_FIRST] + tree.groups[group, a.B_ROWS]
        for k in range(first, first + tree.groups[group, a.B_FREE]):
            if room.coordinates[j] != tree.members[k]:
                room.coordinates[j] = tree.members[k]
                changed = True
            j += 1
    return changed


@fused_kernel
def _keep_loads(car: Arrays, loads: FloatArray) -> None:
    for item in range(loads.shape[0]):
        for lane in range(LANES):
            loads[item, lane] = car.wheels[item, WHEEL.load, lane]


@fused_kernel
def _put_loads(car: Arrays, loads: FloatArray) -> None:
    for item in range(loads.shape[0]):
        for lane in range(LANES):
            car.wheels[item, WHEEL.load, lane] = loads[item, lane]
