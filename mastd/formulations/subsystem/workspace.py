"""Tables and scratch of the subsystem synthesis of Song and Kim, made once for a tree and its choices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final, NamedTuple

import numpy as np

from mastd.arrays import FloatArray, IntArray
from mastd.errors import UsageError
from mastd.formulations.tree.arrays import BODY_GROUP, CUT_ROW, FREE, LINK, Tree
from mastd.formulations.tree.build import constraint_rows
from mastd.formulations.tree.subsystems import CARTESIAN, Subsystem, base_links
from mastd.index_table import Entry, index_table, size_of
from mastd.vehicle.state.arrays import Layout


class SubsystemRow(NamedTuple):
    """A row of the table of subsystems."""

    kind: Annotated[int, Entry("", "``subsystems.RELATIVE_JOINT`` or ``subsystems.CARTESIAN``")]
    first_link: Annotated[int, Entry("", "first of its links in ``links``")]
    links: Annotated[int, Entry("", "number of links")]
    first_coordinate: Annotated[
        int, Entry("", "first of its free coordinates in ``coordinates`` and ``order``")
    ]
    first_group: Annotated[int, Entry("", "first of its body groups with rows in ``groups``")]
    groups: Annotated[int, Entry("", "number of these groups")]
    first_free: Annotated[int, Entry("", "first of its rows in ``reduced``")]
    free: Annotated[int, Entry("", "number of independent coordinates")]
    first_equation: Annotated[int, Entry("", "first of all its joints' rows in ``equations``")]
    equations: Annotated[int, Entry("", "number of these rows")]
    first_solution: Annotated[int, Entry("", "first of its rows in ``solution``")]
    rows: Annotated[int, Entry("", "number of cut rows, and so of dependent coordinates")]


class CompositeRow(NamedTuple):
    """State inertia and force of a link, about the chassis' centre of mass."""

    mass: Annotated[int, Entry("kg", "")]
    moment: Annotated[int, Entry("kg m", "mass times position", 3)]
    inertia: Annotated[int, Entry("kg m2", "xx, yy, zz, xy, xz, yz", 6)]
    force: Annotated[int, Entry("N, N m", "residual force and moment", 6)]


SUBSYSTEM: Final = index_table(SubsystemRow)
SUBSYSTEM_SIZE: Final = size_of(SUBSYSTEM)
COMPOSITE: Final = index_table(CompositeRow)
COMPOSITE_SIZE: Final = size_of(COMPOSITE)


class SubsystemWorkspace(NamedTuple):
    """What ``subsystem.solve_subsystems`` works with; f: most independent coordinates of a subsystem."""

    table: IntArray
    """(subsystems, SUBSYSTEM)."""
    links: IntArray
    """Links by subsystem, in height order."""
    local_index: IntArray
    """(links) place of a link within its subsystem, -1: of the base."""
    base: IntArray
    """Links of the base, the chassis first."""
    motions: IntArray
    """Coordinates of the chassis that are not held."""
    coordinates: IntArray
    """Free coordinates by subsystem, rising."""
    order: IntArray
    """The same: in each subsystem first the dependent ones, then the independent."""
    dependent: IntArray
    """(n) 1 for a coordinate that is a dependent one at present."""
    column: IntArray
    """(n) place of a coordinate in its subsystem's ``order``, -1: none."""
    groups: IntArray
    """Body groups with rows by subsystem."""
    equations: IntArray
    """Rows of all joints of the subsystems in Cartesian coordinates, as ``build_tree.constraint_rows``."""
    composite: FloatArray
    """(links, COMPOSITE) of a link and all above it; of the chassis: of the whole vehicle."""
    state_columns: FloatArray
    """(n, 6) B_j of (23)."""
    coupling: FloatArray
    """(coordinates of a subsystem, 7) M_yqᵀ and −P_q of (27)."""
    mass: FloatArray
    """(coordinates of a subsystem)², M_qq in the present order."""
    product: FloatArray
    """Mass times B and g of (30)."""
    block: FloatArray
    """Ψ_z of (14) with its right-hand sides, of one subsystem."""
    solution: FloatArray
    """(…, f + 1) by subsystem: −Φ_u⁻¹Φ_v and Φ_u⁻¹γ of (30), or N and p of (16)."""
    reduced: FloatArray
    """(…, f + 7) by subsystem, a line for each independent coordinate: inertia, the base's share, force."""
    motion: FloatArray
    """(links of a subsystem, 6) accelerations against the base, beyond γ."""
    rates: FloatArray
    """(f) accelerations of the independent coordinates."""
    core: FloatArray
    """(6, 7) inertia and force of (1)."""
    acceleration: FloatArray
    """(6) Ẏ₀."""


def subsystem_workspace(
    layout: Layout, tree: Tree, subsystems: Sequence[Subsystem], kinds: Sequence[int]
) -> SubsystemWorkspace:
    """Return tables and scratch for subsystems with these formulations, one each.

    Raise UsageError for a subsystem whose joints cannot be its Cartesian constraints: they are redundant, or
    leave more freedom than its coordinates tell.
    """
    number = {int(line[LINK.body]): link for link, line in enumerate(tree.links)}
    n, count = len(tree.u), len(tree.links)
    table = np.zeros((len(subsystems), SUBSYSTEM_SIZE), dtype=np.int64)
    local_index = np.full(count, -1, dtype=np.int64)
    links: list[int] = []
    coordinates: list[int] = []
    groups: list[int] = []
    equations: list[list[int]] = []
    lines = reduced = 0
    for line, subsystem, kind in zip(table, subsystems, kinds, strict=True):
        own = [
            int(k) for k in np.flatnonzero(np.isin(tree.link_of, subsystem.links)) if tree.fixed[k] == FREE
        ]
        frees = len(own) - len(subsystem.rows)
        inner = [int(g) for g in np.unique(tree.links[list(subsystem.links), LINK.group])]
        inner = [g for g in inner if tree.groups[g, BODY_GROUP.rows] > 0]
        joints: list[list[int]] = []
        if kind == CARTESIAN:
            joints = [row for k in subsystem.primitives for row in constraint_rows(layout, k, number)]
            _check(layout.model.name, subsystem, len(joints), frees)
        line[[SUBSYSTEM.kind, SUBSYSTEM.first_link, SUBSYSTEM.links]] = kind, len(links), len(subsystem.links)
        line[[SUBSYSTEM.first_coordinate, SUBSYSTEM.rows]] = len(coordinates), len(subsystem.rows)
        line[[SUBSYSTEM.first_free, SUBSYSTEM.free, SUBSYSTEM.first_solution]] = reduced, frees, lines
        line[[SUBSYSTEM.first_equation, SUBSYSTEM.equations]] = len(equations), len(joints)
        local_index[list(subsystem.links)] = range(len(subsystem.links))
        links += subsystem.links
        coordinates += own
        line[[SUBSYSTEM.first_group, SUBSYSTEM.groups]] = len(groups), len(inner)
        groups += inner
        equations += joints
        reduced += frees
        lines += 6 * len(subsystem.links) if kind == CARTESIAN else len(subsystem.rows)
    max_rows, max_free = _max(table, SUBSYSTEM.rows), _max(table, SUBSYSTEM.free)
    size = max((int(line[SUBSYSTEM.rows] + line[SUBSYSTEM.free]) for line in table), default=0)
    moved = max(
        (6 * int(line[SUBSYSTEM.links]) for line in table if line[SUBSYSTEM.kind] == CARTESIAN), default=0
    )
    return SubsystemWorkspace(
        table=table,
        links=np.array(links, dtype=np.int64),
        local_index=local_index,
        base=np.array(base_links(tree), dtype=np.int64),
        motions=np.flatnonzero(tree.fixed[:6] == FREE).astype(np.int64),
        coordinates=np.array(coordinates, dtype=np.int64),
        order=np.array(coordinates, dtype=np.int64),
        dependent=np.zeros(n, dtype=np.int64),
        column=np.full(n, -1, dtype=np.int64),
        groups=np.array(groups, dtype=np.int64),
        equations=np.array(equations, dtype=np.int64).reshape(-1, CUT_ROW.primitive + 1),
        composite=np.zeros((count, COMPOSITE_SIZE)),
        state_columns=np.zeros((n, 6)),
        coupling=np.zeros((size, 7)),
        mass=np.zeros((size, size)),
        product=np.zeros((max_rows, max_free + 1)),
        block=np.zeros((moved, moved + max_free + 1)),
        solution=np.zeros((lines, max_free + 1)),
        reduced=np.zeros((reduced, max_free + 7)),
        motion=np.zeros((moved // 6, 6)),
        rates=np.zeros(max_free),
        core=np.zeros((6, 7)),
        acceleration=np.zeros(6),
    )


def _max(table: IntArray, field: int) -> int:
    return int(table[:, field].max(initial=0))


def _check(vehicle: str, subsystem: Subsystem, rows: int, frees: int) -> None:
    unknowns = 6 * len(subsystem.links)
    if rows + frees != unknowns:
        raise UsageError(
            f"{vehicle}: {subsystem.name} cannot be taken in Cartesian coordinates: {rows} joint equations"
            f" and {frees} independent coordinates are not its {unknowns} unknowns; take joint coordinates"
        )
