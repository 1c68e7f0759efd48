"""Plain elimination for the subsystems of Song and Kim, and what they hand to the base."""

from __future__ import annotations

from typing import Final

from mastd.formulations.subsystem.workspace import COMPOSITE, COMPOSITE_SIZE, SUBSYSTEM, SubsystemWorkspace
from mastd.formulations.tree.arrays import Tree
from mastd.formulations.tree.recursion import row_of
from mastd.kernel import fused_kernel

MIN_PIVOT: Final = 1e-9
"""Of the largest pivot: below it equations depend on each other."""


@fused_kernel
def state_inertia(tree: Tree, work: SubsystemWorkspace, i: int) -> None:
    """Write state inertia and residual force of a link about the chassis' centre: M̂, −Q̂ of (26).

    M̂ = [m, −m r̃; m r̃, J − m r̃ r̃] has ten numbers, and so have sums of it.
    """
    whole, x, y, z, mass = (
        work.composite,
        tree.position[i, 0],
        tree.position[i, 1],
        tree.position[i, 2],
        tree.mass[i],
    )
    s0, s1, s2 = mass * x, mass * y, mass * z
    whole[i, COMPOSITE.mass] = mass
    whole[i, COMPOSITE.moment], whole[i, COMPOSITE.moment + 1], whole[i, COMPOSITE.moment + 2] = s0, s1, s2
    whole[i, COMPOSITE.inertia] = tree.inertia[i, 0] + s1 * y + s2 * z
    whole[i, COMPOSITE.inertia + 1] = tree.inertia[i, 1] + s0 * x + s2 * z
    whole[i, COMPOSITE.inertia + 2] = tree.inertia[i, 2] + s0 * x + s1 * y
    whole[i, COMPOSITE.inertia + 3] = tree.inertia[i, 3] - s0 * y
    whole[i, COMPOSITE.inertia + 4] = tree.inertia[i, 4] - s0 * z
    whole[i, COMPOSITE.inertia + 5] = tree.inertia[i, 5] - s1 * z
    f0, f1, f2 = row_of(tree.residual, i, 0)
    whole[i, COMPOSITE.force], whole[i, COMPOSITE.force + 1], whole[i, COMPOSITE.force + 2] = f0, f1, f2
    whole[i, COMPOSITE.force + 3] = tree.residual[i, 3] + y * f2 - z * f1
    whole[i, COMPOSITE.force + 4] = tree.residual[i, 4] + z * f0 - x * f2
    whole[i, COMPOSITE.force + 5] = tree.residual[i, 5] + x * f1 - y * f0


@fused_kernel
def add_to_lower(work: SubsystemWorkspace, i: int, lower: int) -> None:
    """Add inertia and force of a link to those of the one that carries it."""
    for k in range(COMPOSITE_SIZE):
        work.composite[lower, k] += work.composite[i, k]


@fused_kernel
def reduce_to_base(work: SubsystemWorkspace, s: int) -> bool:
    """Eliminate the independent coordinates of a subsystem: (19), (20), and (31), (32).

    What they take off the inertia of the base and add to the force on it goes to ``core``, the factors stay
    in ``reduced``. Returns whether the inertia is positive.
    """
    first, frees = work.table[s, SUBSYSTEM.first_free], work.table[s, SUBSYSTEM.free]
    reduced, core = work.reduced, work.core
    base = reduced.shape[1] - 7
    for k in range(frees):
        row = first + k
        if not reduced[row, k] > 0.0:
            return False
        inverse = 1.0 / reduced[row, k]
        reduced[row, k] = inverse
        for i in range(k + 1, frees):
            factor = reduced[row, i] * inverse
            for j in range(i, frees):
                reduced[first + i, j] -= factor * reduced[row, j]
            for j in range(base, base + 7):
                reduced[first + i, j] -= factor * reduced[row, j]
        for i in range(6):
            factor = reduced[row, base + i] * inverse
            for j in range(i, 7):
                core[i, j] -= factor * reduced[row, base + j]
    return True


@fused_kernel
def independent_accelerations(work: SubsystemWorkspace, s: int) -> None:
    """Write the accelerations of a subsystem's independent coordinates to ``rates``: (18), (29)."""
    first, frees = work.table[s, SUBSYSTEM.first_free], work.table[s, SUBSYSTEM.free]
    reduced = work.reduced
    base = reduced.shape[1] - 7
    for back in range(frees):
        k = frees - 1 - back
        value = reduced[first + k, base + 6]
        for c in range(work.motions.shape[0]):
            value -= reduced[first + k, base + work.motions[c]] * work.acceleration[work.motions[c]]
        for i in range(k + 1, frees):
            value -= reduced[first + k, i] * work.rates[i]
        work.rates[k] = value * reduced[first + k, k]


@fused_kernel
def solve_base(work: SubsystemWorkspace) -> None:
    """Write the acceleration of the base, (1); rows and columns of motions that are held are left out."""
    core, motions, whole = work.core, work.motions, work.composite
    for k in range(3):
        core[k, k] += whole[0, COMPOSITE.mass]
        core[3 + k, 3 + k] += whole[0, COMPOSITE.inertia + k]
    s0, s1, s2 = row_of(whole, 0, COMPOSITE.moment)
    core[0, 4] += s2
    core[0, 5] -= s1
    core[1, 3] -= s2
    core[1, 5] += s0
    core[2, 3] += s1
    core[2, 4] -= s0
    core[3, 4] += whole[0, COMPOSITE.inertia + 3]
    core[3, 5] += whole[0, COMPOSITE.inertia + 4]
    core[4, 5] += whole[0, COMPOSITE.inertia + 5]
    for k in range(6):
        core[k, 6] -= whole[0, COMPOSITE.force + k]
    count = motions.shape[0]
    for a in range(count):
        k = motions[a]
        inverse = 1.0 / core[k, k]
        core[k, k] = inverse
        for b in range(a + 1, count):
            i = motions[b]
            factor = core[k, i] * inverse
            for c in range(b, count):
                core[i, motions[c]] -= factor * core[k, motions[c]]
            core[i, 6] -= factor * core[k, 6]
    for back in range(count):
        a = count - 1 - back
        k = motions[a]
        value = core[k, 6]
        for b in range(a + 1, count):
            value -= core[k, motions[b]] * work.acceleration[motions[b]]
        work.acceleration[k] = value * core[k, k]
