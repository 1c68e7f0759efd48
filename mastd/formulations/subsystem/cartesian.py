"""A subsystem in relative Cartesian coordinates: (3)–(20) of Song and Kim.

Coordinates are taken in inertial axes, in which (7) becomes E_i0 = [1, −r̃; 0, 1] and G_i0 = 1. For h_i0
of (8), any accelerations may stand at which forces and second derivatives of gaps have been evaluated: here γ
of the tree. The constraints (13) are all joints of the subsystem, their rows those of the shared kernel
``joint_rows``; a rigid motion of all bodies opens no joint, so they hold for motions against the base. The
independent θ are the tree's independent coordinates: each is read from the two bodies of its joint, and these
readings are Γ of (14).

Corrections to the paper. (16): ÿ_0i = Ψ_z⁻¹ (γ̂ − Ψ_θ θ̈) ≡ N θ̈ + p. (17): M_Eθ = M_EG N,
ĝ_E = g_E − M_EG p, g_θ = Nᵀ (g_G − M_GG p). (18): θ̈ = M_θθ⁻¹ (g_θ − M_Eθᵀ ÿ₀).
(19), (20): M^c = M_EE − M_Eθ M_θθ⁻¹ M_Eθᵀ and g^c = ĝ_E − M_Eθ M_θθ⁻¹ g_θ.
"""

from __future__ import annotations

from mastd.formulations.subsystem.algebra import (
    independent_rates,
    pass_down,
    reduce_to_base,
    solved,
    state_inertia,
)
from mastd.formulations.subsystem.workspace import (
    C_FORCE,
    S_COORDINATE,
    S_EQUATION,
    S_EQUATIONS,
    S_FREE,
    S_FREES,
    S_LINK,
    S_LINKS,
    S_ROWS,
    S_SOLUTION,
    SubsystemRoom,
)
from mastd.formulations.tree import arrays as a
from mastd.formulations.tree.arrays import Tree
from mastd.formulations.tree.recursion import UNIVERSAL
from mastd.kernel import fused_kernel, merged_kernel
from mastd.vehicle.blocks.fields import CONSTRAINT
from mastd.vehicle.blocks.vectors import Triple, cross, dot, symmetric_times
from mastd.vehicle.state.arrays import Arrays


@merged_kernel
def reduce_cartesian(tree: Tree, car: Arrays, room: SubsystemRoom, s: int) -> bool:
    """Add a subsystem's effective inertia and force to the base; False if its joints and independent
    coordinates do not determine it."""
    gather_constraints(tree, car, room, s)
    if not null_space(room, s):
        return False
    project(tree, room, s)
    return reduce_to_base(room, s)


@fused_kernel
def gather_constraints(tree: Tree, car: Arrays, room: SubsystemRoom, s: int) -> None:
    """Write Ψ_z of (14), and beside it −Ψ_θ and γ̂ of (16), to ``block``."""
    size, frees, rows = 6 * room.table[s, S_LINKS], room.table[s, S_FREES], room.table[s, S_EQUATIONS]
    block, first = room.block, room.table[s, S_EQUATION]
    for i in range(size):
        for k in range(size + frees + 1):
            block[i, k] = 0.0
    for i in range(rows):
        row = room.equations[first + i]
        lane = row[a.R_LANE]
        own, other = room.seat[row[a.R_LINK_A]], room.seat[row[a.R_LINK_B]]
        for k in range(6):
            if own >= 0:
                block[i, 6 * own + k] = tree.cells[row[a.R_CELL_A] + k, lane]
            if other >= 0:
                block[i, 6 * other + k] = tree.cells[row[a.R_CELL_B] + k, lane]
        block[i, size + frees] = -car.rows[row[a.R_ROW], CONSTRAINT.acceleration, lane]
    independent = room.table[s, S_COORDINATE] + room.table[s, S_ROWS]
    for k in range(frees):
        _read_into(tree, room, rows + k, room.order[independent + k])
        block[rows + k, size + k] = 1.0


@fused_kernel
def null_space(room: SubsystemRoom, s: int) -> bool:
    """Write N and p of (16) to ``solution``; return whether Ψ_z has full rank."""
    size, frees, out = 6 * room.table[s, S_LINKS], room.table[s, S_FREES], room.table[s, S_SOLUTION]
    if not solved(room.block, size, size + frees + 1):
        return False
    for i in range(size):
        for k in range(frees + 1):
            room.solution[out + i, k] = room.block[i, size + k]
    return True


@fused_kernel
def project(tree: Tree, room: SubsystemRoom, s: int) -> None:
    """Write M_θθ, M_Eθᵀ and g_θ of (17) to ``reduced``, and add M_EE and ĝ_E to the base."""
    links, count, frees = room.table[s, S_LINK], room.table[s, S_LINKS], room.table[s, S_FREES]
    first, solution, reduced = room.table[s, S_FREE], room.solution, room.reduced
    base = reduced.shape[1] - 7
    for i in range(first, first + frees):
        for k in range(base + 7):
            reduced[i, k] = 0.0
    for seat in range(count):
        i = room.links[links + seat]
        state_inertia(tree, room, i)
        mass, inertia, place = tree.mass[i], tree.inertia[i], tree.place[i]
        at = room.table[s, S_SOLUTION] + 6 * seat
        for k in range(frees + 1):
            # Momenta that the motion makes: M N, and M p with what is out of balance.
            f0, f1, f2 = mass * solution[at, k], mass * solution[at + 1, k], mass * solution[at + 2, k]
            t0, t1, t2 = symmetric_times(
                inertia[0],
                inertia[1],
                inertia[2],
                inertia[3],
                inertia[4],
                inertia[5],
                solution[at + 3, k],
                solution[at + 4, k],
                solution[at + 5, k],
            )
            m0, m1, m2 = cross(place[0], place[1], place[2], f0, f1, f2)
            if k < frees:
                line = reduced[first + k]
                line[base] += f0
                line[base + 1] += f1
                line[base + 2] += f2
                line[base + 3] += m0 + t0
                line[base + 4] += m1 + t1
                line[base + 5] += m2 + t2
            else:
                _add_force(room, i, (f0, f1, f2), (m0 + t0, m1 + t1, m2 + t2))
                f0, f1, f2 = f0 + tree.residual[i, 0], f1 + tree.residual[i, 1], f2 + tree.residual[i, 2]
                t0, t1, t2 = t0 + tree.residual[i, 3], t1 + tree.residual[i, 4], t2 + tree.residual[i, 5]
            for n in range(min(k + 1, frees)):
                value = solution[at, n] * f0 + solution[at + 1, n] * f1 + solution[at + 2, n] * f2
                value += solution[at + 3, n] * t0 + solution[at + 4, n] * t1 + solution[at + 5, n] * t2
                if k < frees:
                    reduced[first + n, k] += value
                else:
                    reduced[first + n, base + 6] -= value
        pass_down(room, i, 0)


@fused_kernel
def _add_force(room: SubsystemRoom, i: int, force: Triple, moment: Triple) -> None:
    """Add to a link's out-of-balance force and moment about the chassis' centre of mass."""
    for k in range(3):
        room.composite[i, C_FORCE + k] += force[k]
        room.composite[i, C_FORCE + 3 + k] += moment[k]


@merged_kernel
def expand_cartesian(tree: Tree, room: SubsystemRoom, s: int) -> None:
    """Write the accelerations of a subsystem's coordinates when those of the base stand: (18), (16)."""
    independent_rates(room, s)
    count, frees, out = room.table[s, S_LINKS], room.table[s, S_FREES], room.table[s, S_SOLUTION]
    for seat in range(count):
        for c in range(6):
            at = out + 6 * seat + c
            value = room.solution[at, frees]
            for k in range(frees):
                value += room.solution[at, k] * room.rates[k]
            room.motion[seat, c] = value
    first, rows = room.table[s, S_COORDINATE], room.table[s, S_ROWS]
    for i in range(rows):
        tree.udot[room.order[first + i]] = _read(tree, room, room.order[first + i])
    for k in range(frees):
        tree.udot[room.order[first + rows + k]] = room.rates[k]


@fused_kernel
def _direction(tree: Tree, k: int) -> Triple:
    """Return what a coordinate is read with: its axis, of a cross joint without the part of the other."""
    i = tree.link_of[k]
    x, y, z = tree.axis[k, 0], tree.axis[k, 1], tree.axis[k, 2]
    if tree.links[i, a.L_KIND] == UNIVERSAL:
        other = 2 * tree.links[i, a.L_FIRST] + 1 - k
        p, q, r = tree.axis[other, 0], tree.axis[other, 1], tree.axis[other, 2]
        share = dot(x, y, z, p, q, r)
        inverse = 1.0 / (1.0 - share * share)
        x, y, z = (x - share * p) * inverse, (y - share * q) * inverse, (z - share * r) * inverse
    return x, y, z


@fused_kernel
def _levers(tree: Tree, i: int, lower: int, d: Triple) -> tuple[Triple, Triple]:
    """Return arm × d, of a joint from the centres of its upper and its lower body."""
    x, y, z = tree.arm[i, 0], tree.arm[i, 1], tree.arm[i, 2]
    u, v, w = (
        x + tree.place[i, 0] - tree.place[lower, 0],
        y + tree.place[i, 1] - tree.place[lower, 1],
        z + tree.place[i, 2] - tree.place[lower, 2],
    )
    return cross(x, y, z, d[0], d[1], d[2]), cross(u, v, w, d[0], d[1], d[2])


@fused_kernel
def _read_into(tree: Tree, room: SubsystemRoom, row: int, k: int) -> None:
    """Write the row of Γ of a coordinate: how it follows from the motions of the bodies of its joint."""
    i = tree.link_of[k]
    lower = tree.links[i, a.L_LOWER]
    own, other = 6 * room.seat[i], 6 * room.seat[lower]
    d = _direction(tree, k)
    if tree.turning[k] > 0:
        for c in range(3):
            room.block[row, own + 3 + c] = d[c]
            if other >= 0:
                room.block[row, other + 3 + c] = -d[c]
        return
    upper_lever, lower_lever = _levers(tree, i, lower, d)
    for c in range(3):
        room.block[row, own + c] = d[c]
        room.block[row, own + 3 + c] = upper_lever[c]
        if other >= 0:
            room.block[row, other + c] = -d[c]
            room.block[row, other + 3 + c] = -lower_lever[c]


@fused_kernel
def _read(tree: Tree, room: SubsystemRoom, k: int) -> float:
    """Return a coordinate's acceleration from those of the bodies of its joint."""
    i = tree.link_of[k]
    lower = tree.links[i, a.L_LOWER]
    own, other = room.seat[i], room.seat[lower]
    d = _direction(tree, k)
    z = room.motion
    if tree.turning[k] > 0:
        value = dot(d[0], d[1], d[2], z[own, 3], z[own, 4], z[own, 5])
        if other >= 0:
            value -= dot(d[0], d[1], d[2], z[other, 3], z[other, 4], z[other, 5])
        return value
    p, q = _levers(tree, i, lower, d)
    value = dot(d[0], d[1], d[2], z[own, 0], z[own, 1], z[own, 2])
    value += dot(p[0], p[1], p[2], z[own, 3], z[own, 4], z[own, 5])
    if other >= 0:
        value -= dot(d[0], d[1], d[2], z[other, 0], z[other, 1], z[other, 2])
        value -= dot(q[0], q[1], q[2], z[other, 3], z[other, 4], z[other, 5])
    return value
