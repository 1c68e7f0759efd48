"""The vehicle as a tree of links: what every formulation in relative coordinates sees, as plain arrays.

Kang and Yoon, sections 2 and 3: links in height order (3), each on its lower body (1), coordinates of the
joints between them, velocity matrices W and V (8), (14) of which only the columns of a link's own lower
coordinates are kept, and the constraints of the joints that are cut (20). Positions are taken from the
chassis' centre of mass, all vectors are in inertial axes.

Wheels are rotors on their carriers, as everywhere in ``mastd.vehicle``: their spins stand beside the tree.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from mastd.arrays import FloatArray, IntArray

# Table of links
L_ITEM: Final = 0
"""Place in the bodies' block, and lane."""
L_LANE: Final = 1
L_SLOT: Final = 2
"""Own slot, -1 the chassis."""
L_LOWER: Final = 3
"""Number of the lower link, -1 the ground."""
L_KIND: Final = 4
"""``topology.TreeJoint``."""
L_FIRST: Final = 5
"""First coordinate, and how many."""
L_COUNT: Final = 6
L_PLACE: Final = 7
"""First of its numbers in ``q``."""
L_PATH: Final = 8
"""Where its lower coordinates, its own included, begin in ``path``, and how many they are: NLQ of Table 2."""
L_PATHS: Final = 9
L_DRIVE: Final = 10
"""Drive that gives its coordinate, -1: none."""
L_GROUP: Final = 11
"""Body group."""
L_BODY: Final = 12
"""Index in the model."""
LINK_FIELDS: Final = 13

# Constants of a link's joint
LOWER_POINT: Final = 0
"""Joint from the lower body's centre of mass, in the lower body's axes; from the ground's origin."""
UPPER_POINT: Final = 3
"""Joint from the own centre of mass, own axes."""
FIRST_AXIS: Final = 6
"""Fixed in the lower body (of a slide and a hinge in both)."""
SECOND_AXIS: Final = 9
"""Of a cross joint, fixed in the own body."""
JOINT_CONSTANTS: Final = 12

# Table of constraint rows, sorted by body group
R_ROW: Final = 0
"""Place in the rows' block, and lane."""
R_LANE: Final = 1
R_LINK_A: Final = 2
R_LINK_B: Final = 3
R_CELL_A: Final = 4
"""First of six entries in ``cells``: derivative by the motion of body A's centre and by its rotation."""
R_CELL_B: Final = 5
R_PRIMITIVE: Final = 6
"""Index in the model."""
R_FIRST: Final = 7
"""First of its columns in ``row_columns``, and how many."""
R_COUNT: Final = 8
ROW_FIELDS: Final = 9

# Table of body groups
B_FIRST: Final = 0
"""First of its coordinates in ``members``, and how many."""
B_COUNT: Final = 1
B_ROW: Final = 2
"""First of its rows, and how many: also the number of its dependent coordinates."""
B_ROWS: Final = 3
B_FREE: Final = 4
"""Number of its independent coordinates."""
B_CELL: Final = 5
"""Where its B_di (rows, independent + free outside ones) begins in ``b_cells``."""
B_FACTOR: Final = 6
"""Where the factors of its Φ_d (rows, rows) begin in ``lu``."""
B_OUTSIDE: Final = 7
"""First of the coordinates of other groups in its rows, in ``outside``: those of bodies that were taken out
of it. So many that are free, after them so many that are given."""
B_OUTSIDES: Final = 8
B_GIVEN: Final = 9
GROUP_FIELDS: Final = 10

FREE, HELD, DRIVEN = 0, 1, 2
"""How a coordinate moves: by the equations of motion, not at all, or as it is given."""


class Tree(NamedTuple):
    """All that the kernels of the formulations read and write. n coordinates, m rows, P columns."""

    links: IntArray
    """(links, LINK_FIELDS) in height order, the chassis first."""
    path: IntArray
    """(P) coordinates, each link's lower ones in rising order."""
    link_of: IntArray
    """(n) link of each coordinate."""
    turning: IntArray
    """(n) 1 where a coordinate turns, 0 where it shifts: then its columns of W are zero."""
    fixed: IntArray
    """(n) FREE, HELD or DRIVEN."""
    joints: FloatArray
    """(links, JOINT_CONSTANTS)."""
    mass: FloatArray
    """(links)."""
    inertia_constants: FloatArray
    """(links, 6) xx, yy, zz, xy, xz, yz about the centre of mass, own axes."""
    row_table: IntArray
    """(m, ROW_FIELDS)."""
    row_columns: IntArray
    """(…, 3) for each coordinate in a row its place in ``path``, the coordinate, and 0 (body A) or 1 (body
    B): those of the loop alone, since what both branches have below them cancels."""
    groups: IntArray
    """(body groups, GROUP_FIELDS)."""
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
    turn: FloatArray
    """(links, 9)."""
    place: FloatArray
    """(links, 3) centre of mass, from the chassis'."""
    reach: FloatArray
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
    """(links, 6) out-of-balance force and moment about the centre of mass with ``udot`` = 0: what γ and the
    gyroscopic moment ask for minus what acts."""
    cells: FloatArray
    """(layout's cells, LANES) room for the shared kernel of joint rows."""
    row_forms: FloatArray
    """(m, 12) a row's derivative by the motion of centre and body A, then of B."""
    phi: FloatArray
    """(m, n) Φ_q of (21)."""
    gap: FloatArray
    """(m) Φ."""
    bias: FloatArray
    """(m) second derivative of Φ with ``udot`` = 0: −g_c of (22)."""
    lu: FloatArray
    """Factors of each group's Φ_d."""
    pivots: IntArray
    """(m) exchanges of rows."""
    row_size: FloatArray
    """(m) room for the largest entries of the rows, by which their pivots compare."""
    quality: FloatArray
    """(body groups) share of the smallest in the largest pivot when the independent coordinates were
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
    wheel_places: IntArray
    """(wheels, 2) item and lane."""
    carriers: IntArray
    """(wheels) link of each wheel's carrier."""
    drive_rows: IntArray
    """(drives) coordinate of each drive."""
