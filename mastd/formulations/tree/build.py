"""From a model, its layout and its topology to the arrays of the tree."""

from __future__ import annotations

import numpy as np

from mastd.arrays import FloatArray, IntArray
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
from mastd.formulations.tree.body_groups import BodyGroup
from mastd.formulations.tree.topology import Link, Topology, TreeJoint
from mastd.vehicle.blocks.columns import column_of
from mastd.vehicle.blocks.fields import CHASSIS, GROUP
from mastd.vehicle.joints.arrays import PRIMITIVE_INDEX
from mastd.vehicle.model.definition import Model
from mastd.vehicle.state.arrays import Layout

_POSITIONS = {TreeJoint.FREE: 7, TreeJoint.SPHERICAL: 4}
"""Numbers in ``q`` of the joints that have more of them than coordinates."""
_ROTATIONAL = {
    TreeJoint.FREE: (0, 0, 0, 1, 1, 1),
    TreeJoint.SPHERICAL: (1, 1, 1),
    TreeJoint.UNIVERSAL: (1, 1),
    TreeJoint.REVOLUTE: (1,),
    TreeJoint.PRISMATIC: (0,),
}


def tree_of(layout: Layout, topology: Topology, body_groups: tuple[BodyGroup, ...]) -> Tree:
    """Return the arrays of a vehicle's tree, in the design position at rest."""
    model, links = layout.model, topology.links
    number = {link.body: i for i, link in enumerate(links)}
    counts = [link.joint.coordinates for link in links]
    firsts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    position_starts = np.concatenate(
        [
            [0],
            np.cumsum([_POSITIONS.get(joint, joint.coordinates) for joint in (link.joint for link in links)]),
        ]
    ).astype(np.int64)
    n = int(firsts[-1])
    table = np.full((len(links), LINK_SIZE), -1, dtype=np.int64)
    paths: list[list[int]] = []
    start = 0
    for i, link in enumerate(links):
        lower = number[link.lower] if link.lower >= 0 else -1
        own = list(range(int(firsts[i]), int(firsts[i + 1])))
        paths.append((paths[lower] if lower >= 0 else []) + own)
        item, lane = layout.body[link.body]
        table[i, [LINK.item, LINK.lane, LINK.slot]] = item, lane, layout.local[link.body][0]
        table[i, [LINK.lower, LINK.kind, LINK.first, LINK.coordinates]] = (
            lower,
            int(link.joint),
            firsts[i],
            counts[i],
        )
        table[i, [LINK.position, LINK.path, LINK.path_size]] = position_starts[i], start, len(paths[i])
        table[i, [LINK.drive, LINK.body]] = link.drive, link.body
        start += len(paths[i])
    fixed = np.full(n, FREE, dtype=np.int64)
    fixed[list(model.held)] = HELD
    drives = np.full(len(model.drives), -1, dtype=np.int64)
    for i, link in enumerate(links):
        if link.drive >= 0:
            fixed[firsts[i]] = DRIVEN
            drives[link.drive] = firsts[i]
    groups, members, rows = _groups(layout, topology, body_groups, number, table, fixed)
    m = len(rows)
    columns = _row_columns(rows, table, paths)
    outside = _outside(groups, members, rows, columns, fixed)
    q = np.zeros(int(position_starts[-1]))
    for i, link in enumerate(links):
        if link.joint in (TreeJoint.FREE, TreeJoint.SPHERICAL):
            q[position_starts[i] + (3 if link.joint is TreeJoint.FREE else 0)] = 1.0
    q[:3] = model.bodies[CHASSIS].centre
    factor = int(np.sum(groups[:, BODY_GROUP.rows] ** 2))
    b_size = int(
        np.sum(groups[:, BODY_GROUP.rows] * (groups[:, BODY_GROUP.free] + groups[:, BODY_GROUP.outsides]))
    )
    wheels = len(model.wheels)
    return Tree(
        links=table,
        path=np.array([k for path in paths for k in path], dtype=np.int64),
        link_of=np.repeat(np.arange(len(links), dtype=np.int64), counts),
        rotational=np.array([k for link in links for k in _ROTATIONAL[link.joint]], dtype=np.int64),
        fixed=fixed,
        joints=np.array([_constants(model, link) for link in links]),
        mass=np.array([model.bodies[link.body].mass for link in links]),
        inertia_constants=np.array([_inertia(model, link.body) for link in links]),
        row_columns=np.array(columns, dtype=np.int64).reshape(-1, 3),
        outside=np.array(outside, dtype=np.int64),
        row_table=np.array(rows, dtype=np.int64).reshape(m, CUT_ROW_SIZE),
        groups=groups,
        members=members,
        q=q,
        u=np.zeros(n),
        udot=np.zeros(n),
        quaternion=np.zeros((len(links), 4)),
        rotation=np.zeros((len(links), 9)),
        position=np.zeros((len(links), 3)),
        lower_arm=np.zeros((len(links), 3)),
        arm=np.zeros((len(links), 3)),
        axis=np.zeros((n, 3)),
        velocity=np.zeros((len(links), 3)),
        omega=np.zeros((len(links), 3)),
        gamma_v=np.zeros((len(links), 3)),
        gamma_w=np.zeros((len(links), 3)),
        v=np.zeros((start, 3)),
        w=np.zeros((start, 3)),
        inertia=np.zeros((len(links), 6)),
        residual=np.zeros((len(links), 6)),
        cells=np.zeros((layout.cells, layout.arrays.weights.shape[1])),
        row_forms=np.zeros((m, 12)),
        phi=np.zeros((m, n)),
        violation=np.zeros(m),
        bias=np.zeros(m),
        lu=np.zeros(factor),
        pivots=np.zeros(m, dtype=np.int64),
        row_size=np.zeros(m),
        quality=np.full(len(groups), CHOOSE),
        b_cells=np.zeros(b_size),
        g_cells=np.zeros(m),
        spin=np.zeros(wheels),
        spin_rate=np.zeros(wheels),
        deflection=np.zeros((wheels, 2)),
        deflection_rate=np.zeros((wheels, 2)),
        wheel_indices=np.array(layout.wheel, dtype=np.int64).reshape(wheels, 2),
        carriers=np.array([number[wheel.carrier] for wheel in model.wheels], dtype=np.int64),
        drive_rows=drives,
    )


def _groups(
    layout: Layout,
    topology: Topology,
    body_groups: tuple[BodyGroup, ...],
    number: dict[int, int],
    table: IntArray,
    fixed: IntArray,
) -> tuple[IntArray, IntArray, list[list[int]]]:
    """Return the table of body groups, their coordinates and their rows; mark the links' groups."""
    groups = np.zeros((len(body_groups), BODY_GROUP_SIZE), dtype=np.int64)
    members: list[int] = []
    rows: list[list[int]] = []
    factor = 0
    for g, group in enumerate(body_groups):
        links = sorted(number[body] for body in group.bodies)
        table[links, LINK.group] = g
        own = [int(table[i, LINK.first]) + k for i in links for k in range(int(table[i, LINK.coordinates]))]
        free = [k for k in own if fixed[k] == FREE]
        first = len(rows)
        rows += [row for cut in group.cuts for row in constraint_rows(layout, cut, number)]
        count = len(rows) - first
        groups[g, : BODY_GROUP.factor + 1] = (
            len(members),
            len(own),
            first,
            count,
            len(free) - count,
            0,
            factor,
        )
        members += free + [k for k in own if fixed[k] != FREE]
        factor += count * count
    return groups, np.array(members, dtype=np.int64), rows


def _row_columns(rows: list[list[int]], table: IntArray, paths: list[list[int]]) -> list[list[int]]:
    """Return the columns of all rows; complete the rows by their first one and their number."""
    found: list[list[int]] = []
    for row in rows:
        links = row[CUT_ROW.link_a], row[CUT_ROW.link_b]
        start = len(found)
        for side in range(2):
            others = set(paths[links[1 - side]])
            first = int(table[links[side], LINK.path])
            path = enumerate(paths[links[side]])
            found += [[first + p, k, side] for p, k in path if k not in others]
        row += [start, len(found) - start]
    return found


def _outside(
    groups: IntArray,
    members: IntArray,
    rows: list[list[int]],
    columns: list[list[int]],
    fixed: IntArray,
) -> list[int]:
    """Return for each group the coordinates of others in its rows; note in the table where they stand."""
    found: list[int] = []
    cell = 0
    for line in groups:
        own = set(members[line[BODY_GROUP.first] : line[BODY_GROUP.first] + line[BODY_GROUP.size]].tolist())
        touched: set[int] = set()
        for row in rows[line[BODY_GROUP.first_row] : line[BODY_GROUP.first_row] + line[BODY_GROUP.rows]]:
            touched |= {
                column[1]
                for column in columns[row[CUT_ROW.first] : row[CUT_ROW.first] + row[CUT_ROW.columns]]
            }
        free = sorted(k for k in touched - own if fixed[k] == FREE)
        given = sorted(k for k in touched - own if fixed[k] == DRIVEN)
        line[[BODY_GROUP.outside, BODY_GROUP.outsides, BODY_GROUP.prescribed]] = (
            len(found),
            len(free),
            len(given),
        )
        line[BODY_GROUP.cell] = cell
        cell += int(line[BODY_GROUP.rows] * (line[BODY_GROUP.free] + len(free)))
        found += free + given
    return found


def constraint_rows(layout: Layout, cut: int, number: dict[int, int]) -> list[list[int]]:
    """Return the rows of a cut primitive as in the table of rows."""
    car, primitive = layout.arrays, layout.model.primitives[cut]
    row, lane = layout.row[cut]
    group = next(
        g
        for g in range(len(car.groups))
        if car.groups[g, GROUP.first_row] <= row < car.groups[g, GROUP.first_row] + car.groups[g, GROUP.rows]
    )
    line = car.groups[group]
    within = row - int(line[GROUP.first_row])
    first = int(line[GROUP.first_primitive])
    position_starts = range(first, first + int(line[GROUP.primitives]))
    item = next(k for k in position_starts if car.joints.primitives[k, PRIMITIVE_INDEX.row] == within)
    columns = [
        column_of(line, int(car.joints.primitives[item, slot]))
        for slot in (PRIMITIVE_INDEX.first, PRIMITIVE_INDEX.second)
    ]
    size = int(line[GROUP.size])
    found = []
    for k in range(primitive.kind.rows):
        start = int(line[GROUP.first_cell]) + (int(line[GROUP.row_unknown]) + within + k) * size
        links = number[primitive.first], number[primitive.second]
        found.append([row + k, lane, *links, start + columns[0], start + columns[1], cut])
    return found


def _constants(model: Model, link: Link) -> FloatArray:
    upper = model.bodies[link.body].centre
    point = upper if link.joint is TreeJoint.FREE else link.point
    # The chassis' own numbers are its position: its joint is the origin.
    lower = upper if link.lower < 0 else model.bodies[link.lower].centre
    return np.concatenate([point - lower, point - upper, link.axes[0], link.axes[1]])


def _inertia(model: Model, body: int) -> FloatArray:
    j = model.bodies[body].inertia
    return np.array([j[0, 0], j[1, 1], j[2, 2], j[0, 1], j[0, 2], j[1, 2]])
