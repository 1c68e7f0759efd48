"""Trees of random structure and random numbers: what a formulation may meet, and more.

The numbers satisfy no kinematics. A formulation must solve the equations that they stand for all the same,
and these are written down here plainly, with dense matrices.
"""

from __future__ import annotations

import numpy as np

from mastd.arrays import FloatArray
from mastd.formulations.constraints.partition import update_partition
from mastd.formulations.tree.arrays import (
    BODY_GROUP,
    BODY_GROUP_SIZE,
    CHOOSE,
    CUT_ROW,
    CUT_ROW_SIZE,
    DRIVEN,
    FREE,
    HELD,
    LINK,
    LINK_SIZE,
    Tree,
)

Generator = np.random.Generator

_ROTATIONAL = ((0,), (1,), (1, 1), (1, 1, 1), (0, 0, 0, 1, 1, 1))


class _Links:
    """Links as they are thrown on the tree."""

    def __init__(self) -> None:
        self.lower: list[int] = []
        self.group: list[int] = []
        self.own: list[list[int]] = []
        self.path: list[list[int]] = []
        self.rotational: list[int] = []
        self.fixed: list[int] = []

    def add(self, lower: int, group: int, rotational: tuple[int, ...], fixed: int = FREE) -> int:
        own = list(range(len(self.rotational), len(self.rotational) + len(rotational)))
        self.lower.append(lower)
        self.group.append(group)
        self.own.append(own)
        self.path.append((self.path[lower] if lower >= 0 else []) + own)
        self.rotational += rotational
        self.fixed += [fixed] * len(rotational)
        return len(self.lower) - 1


def random_tree(rng: Generator) -> Tree:
    """Return a chassis, racks that rows of several groups depend on, groups with rows, bodies on these."""
    links = _Links()
    chassis = links.add(-1, 0, _ROTATIONAL[4], HELD if rng.random() < 0.2 else FREE)
    groups = 1
    racks = []
    for _ in range(rng.integers(0, 3)):
        racks.append(
            links.add(chassis, groups, _ROTATIONAL[rng.integers(0, 2)], int(rng.choice([FREE, DRIVEN])))
        )
        groups += 1
    rows: list[tuple[int, list[int]]] = []
    for _ in range(rng.integers(1, 5)):
        own: list[int] = []
        for _ in range(rng.integers(2, 6)):
            lower = int(rng.choice([chassis, *racks, *own, *own]))
            own.append(links.add(lower, groups, _ROTATIONAL[rng.integers(0, 4)]))
        given = next((i for i in own if len(links.own[i]) == 1), -1)
        if given >= 0 and rng.random() < 0.3:
            links.fixed[links.own[given][0]] = DRIVEN
        inner = [k for i in own for k in links.own[i]]
        free = sum(links.fixed[k] == FREE for k in inner)
        touched = inner + [k for i in racks for k in links.own[i]]
        for _ in range(rng.integers(1, max(2, free))):
            rows.append((groups, sorted(rng.choice(touched, size=len(touched) - 1, replace=False).tolist())))
        if free < 2:
            del rows[-1]
        groups += 1
        if rng.random() < 0.7:
            links.add(int(rng.choice(own)), groups, _ROTATIONAL[1])
            groups += 1
    return _assemble(rng, links, rows, groups)


def _assemble(rng: Generator, links: _Links, rows: list[tuple[int, list[int]]], count: int) -> Tree:
    nb, n, m = len(links.lower), len(links.rotational), len(rows)
    fixed = np.array(links.fixed, dtype=np.int64)
    table = np.full((nb, LINK_SIZE), -1, dtype=np.int64)
    start = 0
    for i in range(nb):
        table[i, [LINK.lower, LINK.group]] = links.lower[i], links.group[i]
        table[i, [LINK.first, LINK.coordinates]] = links.own[i][0], len(links.own[i])
        table[i, [LINK.path, LINK.path_size]] = start, len(links.path[i])
        start += len(links.path[i])
    link_of = np.repeat(np.arange(nb, dtype=np.int64), table[:, LINK.coordinates])
    row_table = np.full((m, CUT_ROW_SIZE), -1, dtype=np.int64)
    columns: list[list[int]] = []
    phi = np.zeros((m, n))
    for r, (_, touched) in enumerate(rows):
        row_table[r, [CUT_ROW.first, CUT_ROW.columns]] = len(columns), len(touched)
        columns += [[-1, k, 0] for k in touched]
        phi[r, touched] = rng.normal(size=len(touched)) * 10.0 ** rng.uniform(-1.0, 1.0)
    groups = np.zeros((count, BODY_GROUP_SIZE), dtype=np.int64)
    members: list[int] = []
    outside: list[int] = []
    cell = factor = row = 0
    for g in range(count):
        own = [k for i in range(nb) if links.group[i] == g for k in links.own[i]]
        free = [k for k in own if fixed[k] == FREE]
        inner = [touched for group, touched in rows if group == g]
        others = sorted({k for touched in inner for k in touched} - set(own))
        moving, given = ([k for k in others if (fixed[k] == FREE) == state] for state in (True, False))
        width = len(free) - len(inner)
        groups[g, : BODY_GROUP.factor + 1] = len(members), len(own), row, len(inner), width, cell, factor
        groups[g, [BODY_GROUP.outside, BODY_GROUP.outsides, BODY_GROUP.prescribed]] = (
            len(outside),
            len(moving),
            len(given),
        )
        members += free + [k for k in own if fixed[k] != FREE]
        outside += moving + given
        row += len(inner)
        cell += len(inner) * (width + len(moving))
        factor += len(inner) ** 2
    path = np.array([k for one in links.path for k in one], dtype=np.int64)
    rotational = np.array(links.rotational, dtype=np.int64)
    root = rng.normal(size=(nb, 3, 3))
    inertia = np.einsum("bij,bkj->bik", root, root) + 0.1 * np.eye(3)
    empty = np.zeros((0, 0))
    nothing = np.zeros(0)
    return Tree(
        links=table,
        path=path,
        link_of=link_of,
        rotational=rotational,
        fixed=fixed,
        joints=empty,
        mass=rng.uniform(0.5, 20.0, nb),
        inertia_constants=empty,
        row_table=row_table,
        row_columns=np.array(columns, dtype=np.int64).reshape(-1, 3),
        groups=groups,
        outside=np.array(outside, dtype=np.int64),
        members=np.array(members, dtype=np.int64),
        q=nothing,
        u=rng.normal(size=n),
        udot=np.where(fixed == HELD, 0.0, rng.normal(size=n)),
        quaternion=empty,
        rotation=empty,
        position=empty,
        lower_arm=empty,
        arm=empty,
        axis=empty,
        velocity=empty,
        omega=empty,
        gamma_v=empty,
        gamma_w=empty,
        v=rng.normal(size=(start, 3)),
        w=rng.normal(size=(start, 3)) * rotational[path][:, None],
        # In rows, as a vehicle's tree has it: for another order kernels would be compiled again.
        inertia=np.ascontiguousarray(inertia[:, [0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]),
        residual=rng.normal(size=(nb, 6)),
        cells=empty,
        row_forms=empty,
        phi=phi,
        violation=nothing,
        bias=rng.normal(size=m),
        lu=np.zeros(factor),
        pivots=np.zeros(m, dtype=np.int64),
        row_size=np.zeros(m),
        quality=np.full(count, np.inf),
        b_cells=np.zeros(cell),
        g_cells=np.zeros(m),
        spin=nothing,
        spin_rate=nothing,
        deflection=empty,
        deflection_rate=empty,
        wheel_indices=np.zeros((0, 2), dtype=np.int64),
        carriers=np.zeros(0, dtype=np.int64),
        drive_rows=np.zeros(0, dtype=np.int64),
    )


def choose(tree: Tree) -> int:
    """Choose the dependent coordinates of all groups; return as ``update_partition`` does."""
    tree.quality[:] = CHOOSE
    return update_partition(tree)


def equations(tree: Tree) -> tuple[FloatArray, FloatArray]:
    """Return M (n, n) of (18) and the force (n) of (19), for all coordinates, from whole V and W."""
    n = len(tree.fixed)
    mass, force = np.zeros((n, n)), np.zeros(n)
    for i, line in enumerate(tree.links):
        columns = slice(int(line[LINK.path]), int(line[LINK.path] + line[LINK.path_size]))
        v, w = np.zeros((3, n)), np.zeros((3, n))
        v[:, tree.path[columns]], w[:, tree.path[columns]] = tree.v[columns].T, tree.w[columns].T
        xx, yy, zz, xy, xz, yz = tree.inertia[i]
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        mass += tree.mass[i] * v.T @ v + w.T @ inertia @ w
        force -= v.T @ tree.residual[i, :3] + w.T @ tree.residual[i, 3:]
    return mass, force


def accelerations(tree: Tree) -> FloatArray:
    """Return the accelerations (n) that the equations ask for, (17), (22), (23): fixed ones as they are."""
    mass, force = equations(tree)
    free = np.flatnonzero(tree.fixed == FREE)
    phi = tree.phi[:, free]
    m = len(phi)
    whole = np.block([[mass[np.ix_(free, free)], phi.T], [phi, np.zeros((m, m))]])
    found = tree.udot.copy()
    found[free] = np.linalg.solve(whole, np.concatenate([force[free], -tree.bias]))[: len(free)]
    return found
