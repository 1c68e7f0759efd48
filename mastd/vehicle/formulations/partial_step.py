"""Steps of a vehicle by implicit Euler (3)–(4) of document 003, on independent coordinates of 001.

KR patent 10-1310276 (registered in 2013) covers integration with a Jacobian that is renewed in part. This is an
alternative for comparison, and never the default.

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

from typing import NamedTuple

import numpy as np

from mastd.kernel import fused_kernel, separate_kernel
from mastd.lanes import LANES
from mastd.vehicle import fields as f
from mastd.vehicle.formulations import arrays as a
from mastd.vehicle.formulations.accelerations import Law, Rooms, evaluate, solve
from mastd.vehicle.formulations.arrays import Floats, Integers, Tree
from mastd.vehicle.formulations.closing import close_rates
from mastd.vehicle.formulations.evaluate import (
    give_drives,
    look_at_columns,
    look_at_forces,
    look_at_places,
)
from mastd.vehicle.formulations.implicit_euler import (
    POSITION_PERTURBATION,
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
    replace_column,
    solve_afresh,
)
from mastd.vehicle.formulations.marching import March, keep, move_state
from mastd.vehicle.formulations.partition import expand, factor_groups, velocity_terms
from mastd.vehicle.layout import Arrays
from mastd.vehicle.model import MagicTyre, Model

SINGULAR_STEP = -2
"""What a step returns whose matrix A is singular."""


class PartialRoom(NamedTuple):
    """Jacobian and room of a step; N = independent coordinates + wheels + 2 deflecting tyres."""

    euler: ImplicitEuler
    coordinates: Integers
    """Independent coordinates to which the first columns belong."""
    deflecting: Integers
    """Wheels whose tyres' deflections are states."""
    rates: Floats
    """(N) at the beginning of the step."""
    accelerations: Floats
    """(N) at the beginning of the step."""
    loads: Floats
    """(2, items of wheels, LANES) loads that the accelerations at the beginning were made with, and those they
    left."""
    terms: Floats
    """(m) what given rates and accelerations add to the dependent ones."""


def partial_room(tree: Tree, car: Arrays, model: Model, step: float) -> PartialRoom:
    """Return the room of steps of ``step`` s before the first one."""
    deflecting = [k for k, wheel in enumerate(model.wheels) if isinstance(wheel.tyre, MagicTyre)]
    free = int(np.sum(tree.groups[:, a.B_FREE]))
    size = free + len(tree.spin) + 2 * len(deflecting)
    return PartialRoom(
        euler=implicit_euler(size, step),
        coordinates=np.full(free, -1, dtype=np.int64),
        deflecting=np.array(deflecting, dtype=np.int64),
        rates=np.zeros(size),
        accelerations=np.zeros(size),
        loads=np.zeros((2, len(car.wheels), LANES)),
        terms=np.zeros(len(tree.row_table)),
    )


@separate_kernel
def implicit_step(
    tree: Tree,
    car: Arrays,
    rooms: Rooms,
    law: Law,
    march: March,
    room: PartialRoom,
    policy: int,
    columns: int,
    ground: Floats,
) -> int:
    """Take a step; accelerations of its beginning stand in the tree, those of its end do after it.

    ``policy`` is a ``Policy``, ``columns`` the number that a round robin renews. Returns as ``evaluate``, or
    ``SINGULAR_STEP``.
    """
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
    failed = _renew_columns(tree, car, rooms, law, march, room, policy, columns)
    if failed != 0:
        return failed
    if policy == Policy.FULL:
        failed = solve_afresh(euler, room.accelerations, room.rates)
    else:
        failed = multiply_by_inverse(euler, room.accelerations, room.rates)
    if failed != 0:
        return SINGULAR_STEP
    _move(tree, march, room)
    _put_loads(car, room.loads[1])
    _keep_loads(car, room.loads[0])
    return evaluate(tree, car, rooms, law, march.inputs[1], ground)


@separate_kernel
def _renew_columns(
    tree: Tree,
    car: Arrays,
    rooms: Rooms,
    law: Law,
    march: March,
    room: PartialRoom,
    policy: int,
    columns: int,
) -> int:
    """Make the columns that are due, and let the inverse follow; return as ``implicit_step``.

    Where all are due, those of f_v come first: they leave all links where they are.
    """
    euler = room.euler
    due = columns_due(euler, policy, columns)
    afresh = policy == Policy.FULL or euler.counts[STEPS] == 0
    j = 0
    for k in range(2 * due):
        by_velocity = k < due if afresh else k % 2 == 0
        if afresh:
            j = k % due
            column = euler.velocity_columns[j] if by_velocity else euler.position_columns[j]
        else:
            column = euler.velocity_column if by_velocity else euler.position_column
            if by_velocity:
                j = next_column(euler, policy, room.rates)
        placed = by_velocity and (afresh or k == 0)
        epsilon = _perturb(tree, march, room, j, by_velocity)
        if epsilon == 0.0:
            for i in range(column.shape[0]):
                column[i] = 0.0
        else:
            failed = _accelerate_at(tree, car, rooms, law, march, room, placed)
            if failed != 0:
                return failed
            _gather(tree, room, tree.udot, tree.spin_rate, tree.deflection_rate, column)
            for i in range(column.shape[0]):
                column[i] = (column[i] - room.accelerations[i]) / epsilon
        if not afresh and not by_velocity and replace_column(euler, j) != 0:
            return SINGULAR_STEP
    if afresh and policy != Policy.FULL and invert(euler) != 0:
        return SINGULAR_STEP
    return 0


@separate_kernel
def _perturb(tree: Tree, march: March, room: PartialRoom, j: int, by_velocity: bool) -> float:
    """Move one state, (6), and what follows it; return ε, 0 for what has no position."""
    n, wheels, free = tree.u.shape[0], tree.spin.shape[0], room.coordinates.shape[0]
    epsilon = 0.0
    _stay(march)
    if by_velocity:
        epsilon = perturbation(room.rates[j], VELOCITY_PERTURBATION)
        if j < free:
            march.move[n + room.coordinates[j]] = epsilon
        elif j < free + wheels:
            march.move[2 * n + j - free] = epsilon
        else:
            at = j - free - wheels
            march.move[2 * n + wheels + 2 * room.deflecting[at // 2] + at % 2] = epsilon
    elif j < free:
        epsilon = POSITION_PERTURBATION
        march.move[room.coordinates[j]] = epsilon
        for r in range(room.terms.shape[0]):
            room.terms[r] = 0.0
        expand(tree, room.terms, march.move)
    move_state(tree, march)
    return epsilon


@separate_kernel
def _accelerate_at(
    tree: Tree, car: Arrays, rooms: Rooms, law: Law, march: March, room: PartialRoom, placed: bool
) -> int:
    """Evaluate as the accelerations at the beginning were, with the gaps as they are and the same independent
    coordinates; ``placed``: all links are where the step begins. Returns as ``evaluate``."""
    inputs, ground = march.inputs[0], march.ground[0]
    _put_loads(car, room.loads[0])
    give_drives(tree, inputs)
    if not placed:
        look_at_places(tree, car)
        look_at_columns(tree, car)
        failed = factor_groups(tree)
        if failed != 0:
            return failed
    close_rates(tree)
    look_at_forces(tree, car, rooms.fresh, inputs, ground, law.gravity, law.reach)
    return solve(tree, car, rooms, law.formulation)


@separate_kernel
def _move(tree: Tree, march: March, room: PartialRoom) -> None:
    """Put the tree into the state of the step's end, (3) and (4), dependent coordinates close to it."""
    n, wheels, free = tree.u.shape[0], tree.spin.shape[0], room.coordinates.shape[0]
    euler = room.euler
    step = euler.limits[0]
    _stay(march)
    for j in range(free):
        k = room.coordinates[j]
        march.move[k] = step * (room.rates[j] + euler.increment[j])
        march.move[n + k] = euler.increment[j]
    for wheel in range(wheels):
        march.move[2 * n + wheel] = euler.increment[free + wheel]
    for at in range(2 * room.deflecting.shape[0]):
        k = 2 * n + wheels + 2 * room.deflecting[at // 2] + at % 2
        march.move[k] = euler.increment[free + wheels + at]
    velocity_terms(tree, room.terms)
    for r in range(room.terms.shape[0]):
        room.terms[r] *= step
    expand(tree, room.terms, march.move)
    move_state(tree, march)


@fused_kernel
def _stay(march: March) -> None:
    for k in range(march.move.shape[0]):
        march.move[k] = 0.0


@fused_kernel
def _gather(
    tree: Tree, room: PartialRoom, rates: Floats, spins: Floats, deflections: Floats, out: Floats
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
def _keep_loads(car: Arrays, loads: Floats) -> None:
    for item in range(loads.shape[0]):
        for lane in range(LANES):
            loads[item, lane] = car.wheels[item, f.LOAD, lane]


@fused_kernel
def _put_loads(car: Arrays, loads: Floats) -> None:
    for item in range(loads.shape[0]):
        for lane in range(LANES):
            car.wheels[item, f.LOAD, lane] = loads[item, lane]
