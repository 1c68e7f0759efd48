"""The vehicle as a tree of links: what every formulation in relative coordinates sees, as plain arrays.

Kang and Yoon, sections 2 and 3: links in height order (3), each on its lower body (1), coordinates of the
joints between them, velocity matrices W and V (8), (14) of which only the columns of a link's own lower
coordinates are kept, and the constraints of the joints that are cut (20). Positions are taken from the
chassis' centre of mass, all vectors are in inertial axes.

Wheels are rotors on their carriers, as everywhere in ``mastd.vehicle``: their spins stand beside the tree.
"""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple

import numpy as np

from mastd.arrays import FloatArray, IntArray
from mastd.index_table import Entry, index_table, size_of


class LinkRow(NamedTuple):
    """A row of the table of links."""

    item: Annotated[int, Entry("", "in the bodies' block")]
    lane: int
    slot: Annotated[int, Entry("", "own group-local index, -1 the chassis")]
    lower: Annotated[int, Entry("", "lower link, -1 the ground")]
    kind: Annotated[int, Entry("", "``topology.TreeJoint``")]
    first: Annotated[int, Entry("", "first coordinate")]
    coordinates: Annotated[int, Entry("", "number of coordinates")]
    position: Annotated[int, Entry("", "first of its numbers in ``q``")]
    path: Annotated[int, Entry("", "where its lower coordinates, its own included, begin in ``path``")]
    path_size: Annotated[int, Entry("", "how many these are: NLQ of Table 2")]
    drive: Annotated[int, Entry("", "drive that prescribes its coordinate, -1 none")]
    group: Annotated[int, Entry("", "body group")]
    body: Annotated[int, Entry("", "index in the model")]


class JointConstants(NamedTuple):
    """Constants of a link's joint; vectors."""

    lower_point: Annotated[int, Entry("m", "joint from the lower body's centre of mass, its axes", 3)]
    """From the ground's origin where the ground is the lower body."""
    upper_point: Annotated[int, Entry("m", "joint from the own centre of mass, own axes", 3)]
    first_axis: Annotated[
        int, Entry("1", "fixed in the lower body, of a prismatic or revolute joint in both", 3)
    ]
    second_axis: Annotated[int, Entry("1", "of a universal joint, fixed in the own body", 3)]


class CutRow(NamedTuple):
    """A row of the table of constraint rows, which is sorted by body group."""

    item: Annotated[int, Entry("", "in the rows' block")]
    lane: int
    link_a: int
    link_b: int
    cell_a: Annotated[int, Entry("", "first of six ``cells``: derivative by motion and rotation of body A")]
    cell_b: int
    primitive: Annotated[int, Entry("", "index in the model")]
    first: Annotated[int, Entry("", "first of its columns in ``row_columns``")]
    columns: Annotated[int, Entry("", "number of columns")]


class BodyGroupRow(NamedTuple):
    """A row of the table of body groups."""

    first: Annotated[int, Entry("", "first of its coordinates in ``members``")]
    size: Annotated[int, Entry("", "number of coordinates")]
    first_row: Annotated[int, Entry("", "first of its constraint rows")]
    rows: Annotated[int, Entry("", "number of rows, and so of dependent coordinates")]
    free: Annotated[int, Entry("", "number of independent coordinates")]
    cell: Annotated[int, Entry("", "where its B_di (rows, free + outsides) begins in ``b_cells``")]
    factor: Annotated[int, Entry("", "where the factors of its Φ_d (rows, rows) begin in ``lu``")]
    outside: Annotated[int, Entry("", "first of the coordinates of other groups in its rows, in ``outside``")]
    """Those of bodies that were taken out of it: first the free ones, then the prescribed ones."""
    outsides: Annotated[int, Entry("", "number of free ones")]
    prescribed: Annotated[int, Entry("", "number of prescribed ones")]


LINK: Final = index_table(LinkRow)
LINK_SIZE: Final = size_of(LINK)
JOINT: Final = index_table(JointConstants)
CUT_ROW: Final = index_table(CutRow)
CUT_ROW_SIZE: Final = size_of(CUT_ROW)
BODY_GROUP: Final = index_table(BodyGroupRow)
BODY_GROUP_SIZE: Final = size_of(BODY_GROUP)

FREE, HELD, DRIVEN = 0, 1, 2
"""How a coordinate moves: by the equations of motion, not at all, or as it is prescribed."""

CHOOSE: Final = np.inf
"""Mark in ``Tree.quality``: the independent coordinates of the group are to be chosen."""
KEEP_CHOICE: Final = 0.0
"""Mark in ``Tree.quality``: they stay as they are, however small the pivots become."""


class Tree(NamedTuple):
    """All that the kernels of the formulations read and write. n coordinates, m rows, P columns."""

    links: IntArray
    """(links, LINK) in height order, the chassis first."""
    path: IntArray
    """(P) coordinates, each link's lower ones in rising order."""
    link_of: IntArray
    """(n) link of each coordinate."""
    rotational: IntArray
    """(n) 1 where a coordinate turns, 0 where it shifts: then its columns of W are zero."""
    fixed: IntArray
    """(n) FREE, HELD or DRIVEN."""
    joints: FloatArray
    """(links, JOINT)."""
    mass: FloatArray
    """(links)."""
    inertia_constants: FloatArray
    """(links, 6) xx, yy, zz, xy, xz, yz about the centre of mass, own axes."""
    row_table: IntArray
    """(m, CUT_ROW)."""
    row_columns: IntArray
    """(…, 3) for each coordinate in a row its place in ``path``, the coordinate, and 0 (body A) or 1 (body
    B): those of the loop alone, since what both branches have below them cancels."""
    groups: IntArray
    """(body groups, BODY_GROUP)."""
    outside: IntArray
    """Coordinates of other groups in a group's rows."""
    members: IntArray
    """(n) coordinates by body group; within it the dependent ones, the independent, those that are fixed."""
    q: FloatArray
    """Per link: of a free one position and quaternion, of a ball joint its quaternion, else the
    coordinates."""
    u: FloatArray
    """(n) rates. Of a free link velocity and angular velocity, of a ball joint the relative angular velocity,
    in the lower body's axes."""
    udot: FloatArray
    """(n) their accelerations: the result of a formulation."""
    quaternion: FloatArray
    """(links, 4) body → inertial axes, and as matrix:"""
    rotation: FloatArray
    """(links, 9)."""
    position: FloatArray
    """(links, 3) centre of mass, from the chassis'."""
    lower_arm: FloatArray
    """(links, 3) joint from the lower body's centre of mass, inertial axes."""
    arm: FloatArray
    """(links, 3) joint from the own centre of mass, inertial axes."""
    axis: FloatArray
    """(n, 3) direction of each coordinate, inertial axes."""
    velocity: FloatArray
    """(links, 3) of the centre of mass."""
    omega: FloatArray
    gamma_v: FloatArray
    """(links, 3) accelerations that the rates and what is given make without ``udot``, (10), (11), (16)."""
    gamma_w: FloatArray
    v: FloatArray
    """(P, 3) columns of V of the centres of mass, beside ``path``."""
    w: FloatArray
    """(P, 3) columns of W."""
    inertia: FloatArray
    """(links, 6) as ``inertia_constants``, inertial axes."""
    residual: FloatArray
    """(links, 6) residual force and moment about the centre of mass with ``udot`` = 0: what γ and the
    gyroscopic moment ask for minus what acts."""
    cells: FloatArray
    """(layout's cells, LANES) scratch for the shared kernel of joint rows."""
    row_forms: FloatArray
    """(m, 12) a row's derivative by the motion of centre and body A, then of B."""
    phi: FloatArray
    """(m, n) Φ_q of (21)."""
    violation: FloatArray
    """(m) Φ."""
    bias: FloatArray
    """(m) second derivative of Φ with ``udot`` = 0: −g_c of (22)."""
    lu: FloatArray
    """Factors of each group's Φ_d."""
    pivots: IntArray
    """(m) exchanges of rows."""
    row_size: FloatArray
    """(m) scratch for the largest entries of the rows, by which their pivots compare."""
    quality: FloatArray
    """(body groups) smallest over the largest pivot when the independent coordinates were
    chosen; inf: they are to be chosen."""
    b_cells: FloatArray
    """B_di of (28)."""
    g_cells: FloatArray
    """(m) g_di of (30)."""
    spin: FloatArray
    """(wheels)."""
    spin_rate: FloatArray
    deflection: FloatArray
    """(wheels, 2) of Magic Formula tyres."""
    deflection_rate: FloatArray
    wheel_indices: IntArray
    """(wheels, 2) item and lane."""
    carriers: IntArray
    """(wheels) link of each wheel's carrier."""
    drive_rows: IntArray
    """(drives) coordinate of each drive."""
