"""A subsystem in relative joint coordinates: (21)–(32) of Song and Kim.

The state vector of a body is Ŷ = (ṙ + r × ω, ω): the velocity of the body where it passes, or would pass, the
origin, here the chassis' centre of mass. Therefore it goes from body to body without a lever, (23).

The terms D_j of (24) are not summed up here: seen from the centres of mass, their sums along a branch are the
tree's γ, which the residual forces of the bodies contain. P_y and P_q of (27) are made of these.
Φ_u is parted by the tree's body groups; Φ_u⁻¹ Φ_v and Φ_u⁻¹ γ are put together from those of ``partition``.

Corrections to the paper. (27): the second line is M_yqᵀ Ẏ₀ + M_qq q̈ + Φ_qᵀ λ = P_q. (29): it is
M* v̈ = Q* − Q*_y Ẏ₀ with, U standing for Φ_u⁻¹ Φ_v,

    M*   = M_vv − M_vu U − Uᵀ (M_uv − M_uu U)
    Q*   = P_v − M_vu Φ_u⁻¹ γ − Uᵀ (P_u − M_uu Φ_u⁻¹ γ)
    Q*_y = M_yvᵀ − Uᵀ M_yuᵀ

(30): ü = Φ_u⁻¹ γ − U v̈. (31): M^c = M_yy − Q*_yᵀ M*⁻¹ Q*_y. (32): P^c = P_y − M_yu Φ_u⁻¹ γ − Q*_yᵀ M*⁻¹ Q*.
"""

from __future__ import annotations

from mastd.formulations.subsystem.algebra import (
    add_to_lower,
    independent_accelerations,
    reduce_to_base,
    state_inertia,
)
from mastd.formulations.subsystem.workspace import COMPOSITE, SUBSYSTEM, SubsystemWorkspace
from mastd.formulations.tree.arrays import BODY_GROUP, LINK, Tree
from mastd.formulations.tree.recursion import row_of
from mastd.kernel import fused_kernel, merged_kernel


@merged_kernel
def reduce_joint(tree: Tree, work: SubsystemWorkspace, s: int) -> bool:
    """Add a subsystem's effective inertia and force to the base; return whether its own is positive."""
    composite_inertias(tree, work, s)
    assemble_coupling(tree, work, s)
    gather_dependence(tree, work, s)
    project(work, s)
    return reduce_to_base(work, s)


@fused_kernel
def composite_inertias(tree: Tree, work: SubsystemWorkspace, s: int) -> None:
    """Sum up state inertia and force from the outermost links down to the base: M_yy and P_y of (27)."""
    first, count = work.table[s, SUBSYSTEM.first_link], work.table[s, SUBSYSTEM.links]
    for k in range(count):
        state_inertia(tree, work, work.links[first + k])
    for back in range(count):
        i = work.links[first + count - 1 - back]
        lower = tree.links[i, LINK.lower]
        add_to_lower(work, i, lower if work.local_index[lower] >= 0 else 0)


@fused_kernel
def assemble_coupling(tree: Tree, work: SubsystemWorkspace, s: int) -> None:
    """Write B_j of (23), M_yq, M_qq and P_q of (27), coordinates in the present order."""
    fields = work.table[s]
    first, size = fields[SUBSYSTEM.first_coordinate], fields[SUBSYSTEM.rows] + fields[SUBSYSTEM.free]
    columns, whole, mass = work.state_columns, work.composite, work.mass
    for n in range(size):
        for k in range(size):
            mass[n, k] = 0.0
    for n in range(size):
        # Rising: the columns of the coordinates below stand already.
        k = work.coordinates[first + n]
        i = tree.link_of[k]
        x, y, z = row_of(tree.axis, k, 0)
        w0, w1, w2 = 0.0, 0.0, 0.0
        if tree.rotational[k] > 0:
            w0, w1, w2 = x, y, z
            p0, p1, p2 = (
                tree.position[i, 0] + tree.arm[i, 0],
                tree.position[i, 1] + tree.arm[i, 1],
                tree.position[i, 2] + tree.arm[i, 2],
            )
            x, y, z = p1 * w2 - p2 * w1, p2 * w0 - p0 * w2, p0 * w1 - p1 * w0
        columns[k, 0], columns[k, 1], columns[k, 2] = x, y, z
        columns[k, 3], columns[k, 4], columns[k, 5] = w0, w1, w2
        m = whole[i, COMPOSITE.mass]
        s0, s1, s2 = row_of(whole, i, COMPOSITE.moment)
        f0, f1, f2 = m * x, m * y, m * z
        t0, t1, t2 = s1 * z - s2 * y, s2 * x - s0 * z, s0 * y - s1 * x
        if tree.rotational[k] > 0:
            f0, f1, f2 = f0 + w1 * s2 - w2 * s1, f1 + w2 * s0 - w0 * s2, f2 + w0 * s1 - w1 * s0
            xx, yy, zz = row_of(whole, i, COMPOSITE.inertia)
            xy, xz, yz = row_of(whole, i, COMPOSITE.inertia + 3)
            t0 = t0 + xx * w0 + xy * w1 + xz * w2
            t1 = t1 + xy * w0 + yy * w1 + yz * w2
            t2 = t2 + xz * w0 + yz * w1 + zz * w2
        at = work.column[k]
        coupling = work.coupling[at]
        coupling[0], coupling[1], coupling[2] = f0, f1, f2
        coupling[3], coupling[4], coupling[5] = t0, t1, t2
        force = (
            x * whole[i, COMPOSITE.force]
            + y * whole[i, COMPOSITE.force + 1]
            + z * whole[i, COMPOSITE.force + 2]
        )
        if tree.rotational[k] > 0:
            force += (
                w0 * whole[i, COMPOSITE.force + 3]
                + w1 * whole[i, COMPOSITE.force + 4]
                + w2 * whole[i, COMPOSITE.force + 5]
            )
        coupling[6] = force
        path = tree.links[i, LINK.path]
        for p in range(path, path + tree.links[i, LINK.path_size]):
            lower = tree.path[p]
            other = work.column[lower]
            if lower > k or other < 0:
                continue
            value = columns[lower, 0] * f0 + columns[lower, 1] * f1 + columns[lower, 2] * f2
            if tree.rotational[lower] > 0:
                value += columns[lower, 3] * t0 + columns[lower, 4] * t1 + columns[lower, 5] * t2
            mass[at, other] = value
            mass[other, at] = value


@fused_kernel
def gather_dependence(tree: Tree, work: SubsystemWorkspace, s: int) -> None:
    """Write −Φ_u⁻¹ Φ_v and Φ_u⁻¹ γ of (30) to ``solution``: those of the body groups of the subsystem."""
    fields = work.table[s]
    rows, frees, out = fields[SUBSYSTEM.rows], fields[SUBSYSTEM.free], fields[SUBSYSTEM.first_solution]
    solution = work.solution
    for i in range(out, out + rows):
        for k in range(frees):
            solution[i, k] = 0.0
    first = work.table[s, SUBSYSTEM.first_group]
    for g in range(first, first + work.table[s, SUBSYSTEM.groups]):
        group = tree.groups[work.groups[g]]
        own, outside, cell = group[BODY_GROUP.free], group[BODY_GROUP.outsides], group[BODY_GROUP.cell]
        member = group[BODY_GROUP.first] + group[BODY_GROUP.rows]
        for i in range(group[BODY_GROUP.rows]):
            at = out + work.column[tree.members[group[BODY_GROUP.first] + i]]
            for k in range(own):
                position = work.column[tree.members[member + k]] - rows
                solution[at, position] = tree.b_cells[cell + k]
            for k in range(outside):
                position = work.column[tree.outside[group[BODY_GROUP.outside] + k]] - rows
                solution[at, position] = tree.b_cells[cell + own + k]
            solution[at, frees] = tree.g_cells[group[BODY_GROUP.first_row] + i]
            cell += own + outside


@fused_kernel
def project(work: SubsystemWorkspace, s: int) -> None:
    """Write M*, Q*_y and Q* of (29) to ``reduced``, and P_y − M_yu Φ_u⁻¹ γ of (32) to the base."""
    fields = work.table[s]
    rows, frees, first = fields[SUBSYSTEM.rows], fields[SUBSYSTEM.free], fields[SUBSYSTEM.first_free]
    out, solution, mass, coupling = (
        work.table[s, SUBSYSTEM.first_solution],
        work.solution,
        work.mass,
        work.coupling,
    )
    product, reduced = work.product, work.reduced
    base = reduced.shape[1] - 7
    for i in range(rows):
        for k in range(frees + 1):
            value = mass[i, rows + k] if k < frees else coupling[i, 6]
            for n in range(rows):
                value += mass[i, n] * solution[out + n, k]
            product[i, k] = value
    for i in range(frees):
        for k in range(i, frees + 1):
            value = mass[rows + i, rows + k] if k < frees else coupling[rows + i, 6]
            for n in range(rows):
                value += mass[rows + i, n] * solution[out + n, k] + solution[out + n, i] * product[n, k]
            if k < frees:
                reduced[first + i, k] = value
            else:
                reduced[first + i, base + 6] = -value
        for c in range(6):
            value = coupling[rows + i, c]
            for n in range(rows):
                value += solution[out + n, i] * coupling[n, c]
            reduced[first + i, base + c] = value
    for n in range(rows):
        for c in range(6):
            work.core[c, 6] -= coupling[n, c] * solution[out + n, frees]


@merged_kernel
def expand_joint(tree: Tree, work: SubsystemWorkspace, s: int) -> None:
    """Write the accelerations of a subsystem's coordinates when those of the base stand: (29), (30)."""
    independent_accelerations(work, s)
    fields = work.table[s]
    first, rows, frees = fields[SUBSYSTEM.first_coordinate], fields[SUBSYSTEM.rows], fields[SUBSYSTEM.free]
    out = work.table[s, SUBSYSTEM.first_solution]
    for i in range(rows):
        value = work.solution[out + i, frees]
        for k in range(frees):
            value += work.solution[out + i, k] * work.rates[k]
        tree.udot[work.order[first + i]] = value
    for k in range(frees):
        tree.udot[work.order[first + rows + k]] = work.rates[k]
