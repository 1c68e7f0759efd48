"""A subsystem in relative Cartesian coordinates: (3)–(20) of Song and Kim.

Coordinates are taken in inertial axes, in which (7) becomes E_i0 = [1, −r̃; 0, 1] and G_i0 = 1. For h_i0
of (8), any accelerations will do at which forces and second derivatives of violations are known: here γ of
the tree. The constraints (13) are all joints of the subsystem, their rows those of the shared kernel
``joint_rows``; a rigid motion of all bodies opens no joint, so they hold for motions against the base. The
independent θ are the tree's independent coordinates: each is read from the two bodies of its joint, and these
readings are Γ of (14).

Corrections to the paper. (16): ÿ_0i = Ψ_z⁻¹ (γ̂ − Ψ_θ θ̈) ≡ N θ̈ + p. (17): M_Eθ = M_EG N,
ĝ_E = g_E − M_EG p, g_θ = Nᵀ (g_G − M_GG p). (18): θ̈ = M_θθ⁻¹ (g_θ − M_Eθᵀ ÿ₀).
(19), (20): M^c = M_EE − M_Eθ M_θθ⁻¹ M_Eθᵀ and g^c = ĝ_E − M_Eθ M_θθ⁻¹ g_θ.
"""

from __future__ import annotations

from mastd.formulations.subsystem.algebra import (
    MIN_PIVOT,
    add_to_lower,
    independent_accelerations,
    reduce_to_base,
    state_inertia,
)
from mastd.formulations.subsystem.workspace import COMPOSITE, SUBSYSTEM, SubsystemWorkspace
from mastd.formulations.tree.arrays import CUT_ROW, LINK, Tree
from mastd.formulations.tree.recursion import UNIVERSAL, row_of
from mastd.kernel import fused_kernel, merged_kernel
from mastd.vehicle.blocks.linear_algebra import solve_augmented
from mastd.vehicle.blocks.vectors import Triple, cross, dot, symmetric_times
from mastd.vehicle.joints.arrays import CONSTRAINT
from mastd.vehicle.state.arrays import Arrays


@merged_kernel
def reduce_cartesian(tree: Tree, car: Arrays, work: SubsystemWorkspace, s: int) -> bool:
    """Add a subsystem's effective inertia and force to the base; False if its joints and independent
    coordinates do not determine it."""
    gather_constraints(tree, car, work, s)
    if not null_space(work, s):
        return False
    project(tree, work, s)
    return reduce_to_base(work, s)


@fused_kernel
def gather_constraints(tree: Tree, car: Arrays, work: SubsystemWorkspace, s: int) -> None:
    """Write Ψ_z of (14), and beside it −Ψ_θ and γ̂ of (16), to ``block``."""
    fields = work.table[s]
    size, frees, rows = 6 * fields[SUBSYSTEM.links], fields[SUBSYSTEM.free], fields[SUBSYSTEM.equations]
    block, first = work.block, work.table[s, SUBSYSTEM.first_equation]
    for i in range(size):
        for k in range(size + frees + 1):
            block[i, k] = 0.0
    for i in range(rows):
        row = work.equations[first + i]
        lane = row[CUT_ROW.lane]
        own, other = work.local_index[row[CUT_ROW.link_a]], work.local_index[row[CUT_ROW.link_b]]
        for k in range(6):
            if own >= 0:
                block[i, 6 * own + k] = tree.cells[row[CUT_ROW.cell_a] + k, lane]
            if other >= 0:
                block[i, 6 * other + k] = tree.cells[row[CUT_ROW.cell_b] + k, lane]
        block[i, size + frees] = -car.joints.rows[row[CUT_ROW.item], CONSTRAINT.acceleration, lane]
    independent = work.table[s, SUBSYSTEM.first_coordinate] + work.table[s, SUBSYSTEM.rows]
    for k in range(frees):
        _read_into(tree, work, rows + k, work.order[independent + k])
        block[rows + k, size + k] = 1.0


@fused_kernel
def null_space(work: SubsystemWorkspace, s: int) -> bool:
    """Write N and p of (16) to ``solution``; return whether Ψ_z has full rank."""
    fields = work.table[s]
    size, frees, out = 6 * fields[SUBSYSTEM.links], fields[SUBSYSTEM.free], fields[SUBSYSTEM.first_solution]
    if not solve_augmented(work.block, size, size + frees + 1, MIN_PIVOT):
        return False
    for i in range(size):
        for k in range(frees + 1):
            work.solution[out + i, k] = work.block[i, size + k]
    return True


@fused_kernel
def project(tree: Tree, work: SubsystemWorkspace, s: int) -> None:
    """Write M_θθ, M_Eθᵀ and g_θ of (17) to ``reduced``, and add M_EE and ĝ_E to the base."""
    fields = work.table[s]
    links, count, frees = fields[SUBSYSTEM.first_link], fields[SUBSYSTEM.links], fields[SUBSYSTEM.free]
    first, solution, reduced = work.table[s, SUBSYSTEM.first_free], work.solution, work.reduced
    base = reduced.shape[1] - 7
    for i in range(first, first + frees):
        for k in range(base + 7):
            reduced[i, k] = 0.0
    for local_index in range(count):
        i = work.links[links + local_index]
        state_inertia(tree, work, i)
        mass, inertia, position = tree.mass[i], tree.inertia[i], tree.position[i]
        at = work.table[s, SUBSYSTEM.first_solution] + 6 * local_index
        for k in range(frees + 1):
            # Momenta that the motion makes: M N, and M p with the residual.
            f0, f1, f2 = mass * solution[at, k], mass * solution[at + 1, k], mass * solution[at + 2, k]
            t0, t1, t2 = symmetric_times(
                (inertia[0], inertia[1], inertia[2]),
                (inertia[3], inertia[4], inertia[5]),
                solution[at + 3, k],
                solution[at + 4, k],
                solution[at + 5, k],
            )
            m0, m1, m2 = cross(position[0], position[1], position[2], f0, f1, f2)
            if k < frees:
                line = reduced[first + k]
                line[base] += f0
                line[base + 1] += f1
                line[base + 2] += f2
                line[base + 3] += m0 + t0
                line[base + 4] += m1 + t1
                line[base + 5] += m2 + t2
            else:
                _add_force(work, i, (f0, f1, f2), (m0 + t0, m1 + t1, m2 + t2))
                f0, f1, f2 = f0 + tree.residual[i, 0], f1 + tree.residual[i, 1], f2 + tree.residual[i, 2]
                t0, t1, t2 = t0 + tree.residual[i, 3], t1 + tree.residual[i, 4], t2 + tree.residual[i, 5]
            for n in range(min(k + 1, frees)):
                value = solution[at, n] * f0 + solution[at + 1, n] * f1 + solution[at + 2, n] * f2
                value += solution[at + 3, n] * t0 + solution[at + 4, n] * t1 + solution[at + 5, n] * t2
                if k < frees:
                    reduced[first + n, k] += value
                else:
                    reduced[first + n, base + 6] -= value
        add_to_lower(work, i, 0)


@fused_kernel
def _add_force(work: SubsystemWorkspace, i: int, force: Triple, moment: Triple) -> None:
    """Add to a link's residual force and moment about the chassis' centre of mass."""
    for k in range(3):
        work.composite[i, COMPOSITE.force + k] += force[k]
        work.composite[i, COMPOSITE.force + 3 + k] += moment[k]


@merged_kernel
def expand_cartesian(tree: Tree, work: SubsystemWorkspace, s: int) -> None:
    """Write the accelerations of a subsystem's coordinates when those of the base stand: (18), (16)."""
    independent_accelerations(work, s)
    fields = work.table[s]
    count, frees, out = fields[SUBSYSTEM.links], fields[SUBSYSTEM.free], fields[SUBSYSTEM.first_solution]
    for local_index in range(count):
        for c in range(6):
            at = out + 6 * local_index + c
            value = work.solution[at, frees]
            for k in range(frees):
                value += work.solution[at, k] * work.rates[k]
            work.motion[local_index, c] = value
    first, rows = work.table[s, SUBSYSTEM.first_coordinate], work.table[s, SUBSYSTEM.rows]
    for i in range(rows):
        tree.udot[work.order[first + i]] = _read(tree, work, work.order[first + i])
    for k in range(frees):
        tree.udot[work.order[first + rows + k]] = work.rates[k]


@fused_kernel
def _direction(tree: Tree, k: int) -> Triple:
    """Return what a coordinate is read with: its axis, of a cross joint without the part of the other."""
    i = tree.link_of[k]
    x, y, z = row_of(tree.axis, k, 0)
    if tree.links[i, LINK.kind] == UNIVERSAL:
        other = 2 * tree.links[i, LINK.first] + 1 - k
        p, q, r = row_of(tree.axis, other, 0)
        cosine = dot(x, y, z, p, q, r)
        inverse = 1.0 / (1.0 - cosine * cosine)
        x, y, z = (x - cosine * p) * inverse, (y - cosine * q) * inverse, (z - cosine * r) * inverse
    return x, y, z


@fused_kernel
def _levers(tree: Tree, i: int, lower: int, d: Triple) -> tuple[Triple, Triple]:
    """Return arm × d, of a joint from the centres of its upper and its lower body."""
    x, y, z = row_of(tree.arm, i, 0)
    u, v, w = (
        x + tree.position[i, 0] - tree.position[lower, 0],
        y + tree.position[i, 1] - tree.position[lower, 1],
        z + tree.position[i, 2] - tree.position[lower, 2],
    )
    return cross(x, y, z, d[0], d[1], d[2]), cross(u, v, w, d[0], d[1], d[2])


@fused_kernel
def _read_into(tree: Tree, work: SubsystemWorkspace, row: int, k: int) -> None:
    """Write the row of Γ of a coordinate: how it follows from the motions of the bodies of its joint."""
    i = tree.link_of[k]
    lower = tree.links[i, LINK.lower]
    own, other = 6 * work.local_index[i], 6 * work.local_index[lower]
    d = _direction(tree, k)
    if tree.rotational[k] > 0:
        for c in range(3):
            work.block[row, own + 3 + c] = d[c]
            if other >= 0:
                work.block[row, other + 3 + c] = -d[c]
        return
    upper_lever, lower_lever = _levers(tree, i, lower, d)
    for c in range(3):
        work.block[row, own + c] = d[c]
        work.block[row, own + 3 + c] = upper_lever[c]
        if other >= 0:
            work.block[row, other + c] = -d[c]
            work.block[row, other + 3 + c] = -lower_lever[c]


@fused_kernel
def _read(tree: Tree, work: SubsystemWorkspace, k: int) -> float:
    """Return a coordinate's acceleration from those of the bodies of its joint."""
    i = tree.link_of[k]
    lower = tree.links[i, LINK.lower]
    own, other = work.local_index[i], work.local_index[lower]
    d = _direction(tree, k)
    z = work.motion
    if tree.rotational[k] > 0:
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
