"""Index tables of the blocks in which the compiled vehicle keeps its numbers.

Every block is ``[item, component, lane]``; the lanes are the equal corners (or axles) of one group. A *local
body* is a body as one group sees it, in the axes of the frame: first the interface bodies that the group is
connected to (the chassis, then its axle's), then its own.
"""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple

from mastd.index_table import Entry, index_table, size_of


class BodyRow(NamedTuple):
    """State of a body, and of the chassis: inertial axes, angular quantities in body axes."""

    position: Annotated[int, Entry("m", "centre of mass", 3)]
    attitude: Annotated[int, Entry("1", "unit quaternion w, x, y, z, body → inertial axes", 4)]
    velocity: Annotated[int, Entry("m/s", "of the centre of mass", 3)]
    angular_velocity: Annotated[int, Entry("rad/s", "body axes", 3)]
    acceleration: Annotated[int, Entry("m/s²", "of the centre of mass", 3)]
    angular_acceleration: Annotated[int, Entry("rad/s²", "body axes", 3)]
    mean_acceleration: Annotated[int, Entry("m/s²", "the a of generalized-alpha that carries the history", 3)]
    mean_angular_acceleration: Annotated[int, Entry("rad/s²", "its angular part", 3)]
    start_attitude: Annotated[int, Entry("1", "attitude at the beginning of the step", 4)]
    rotation_vector: Annotated[int, Entry("rad", "since the beginning of the step, body axes", 3)]
    rotation: Annotated[int, Entry("1", "matrix of the attitude by rows, body → inertial axes", 9)]


class InertiaRow(NamedTuple):
    """Constants of a body."""

    mass: Annotated[int, Entry("kg", "")]
    moments: Annotated[int, Entry("kg m²", "xx, yy, zz about the centre of mass", 3)]
    products: Annotated[int, Entry("kg m²", "entries xy, xz, yz of the inertia matrix", 3)]


class LocalBodyRow(NamedTuple):
    """A body in the axes of the frame, origin in the chassis' centre of mass."""

    position: Annotated[int, Entry("m", "centre of mass", 3)]
    rotation: Annotated[int, Entry("1", "matrix by rows, body → frame axes", 9)]
    velocity: Annotated[int, Entry("m/s", "of the centre of mass against the ground", 3)]
    angular_velocity: Annotated[int, Entry("rad/s", "", 3)]
    force: Annotated[int, Entry("N", "residual: inertia − applied + joints", 3)]
    moment: Annotated[int, Entry("N m", "residual about the centre of mass", 3)]
    acceleration: Annotated[int, Entry("m/s²", "", 3)]
    angular_acceleration: Annotated[int, Entry("rad/s²", "", 3)]


class WheelRow(NamedTuple):
    """Wheel with its tyre, its brake, what it rolls on and what holds it."""

    centre: Annotated[int, Entry("m", "from the carrier's centre of mass, its axes", 3)]
    axis: Annotated[int, Entry("1", "unit vector, the carrier's axes", 3)]
    axial_inertia: Annotated[int, Entry("kg m²", "")]
    free_radius: Annotated[int, Entry("m", "")]
    rolling_radius: Annotated[int, Entry("m", "")]
    tyre_stiffness: Annotated[int, Entry("N/m", "")]
    tyre_damping: Annotated[int, Entry("N s/m", "")]
    slip_stiffness: Annotated[int, Entry("1", "longitudinal, per load")]
    cornering_stiffness: Annotated[int, Entry("1/rad", "per load")]
    min_speed: Annotated[int, Entry("m/s", "of the slip's denominator")]
    spin: Annotated[int, Entry("rad/s", "absolute, about the axis")]
    spin_acceleration: Annotated[int, Entry("rad/s²", "")]
    mean_spin_acceleration: Annotated[int, Entry("rad/s²", "see BodyRow.mean_acceleration")]
    contact: Annotated[int, Entry("m", "wheel centre for which the ground was looked up, inertial axes", 3)]
    height: Annotated[int, Entry("m", "of that point above the ground")]
    slope: Annotated[int, Entry("1", "dz/dx and dz/dy of the ground", 2)]
    ground_velocity: Annotated[int, Entry("m/s", "inertial axes", 3)]
    drive_torque: Annotated[int, Entry("N m", "reacted by the chassis")]
    motor_torque: Annotated[int, Entry("N m", "reacted by the carrier")]
    load: Annotated[int, Entry("N", "vertical force of the ground")]
    tyre_force: Annotated[int, Entry("N", "on the wheel at the contact point, frame axes", 3)]
    tyre_height: Annotated[int, Entry("m", "")]
    spin_residual: Annotated[int, Entry("N m", "")]
    rest_load: Annotated[int, Entry("N", "load for which the chord Jacobian was made")]
    friction: Annotated[int, Entry("1", "of the ground: a factor on the tyre's own")]
    ground_angular_velocity: Annotated[int, Entry("rad/s", "inertial axes", 3)]
    outside: Annotated[int, Entry("m", "that the wheel is beside the road or the table")]
    brake_capacity: Annotated[int, Entry("N m", "that the friction brake takes at most")]
    brake_torque: Annotated[int, Entry("N m", "of it that acts, positive forwards")]
    chock_force: Annotated[int, Entry("N", "at the wheel centre, inertial axes", 3)]
    mirrored: Annotated[int, Entry("1", "−1: tyre mounted on the other side than it was measured on, else 1")]
    slip: Annotated[int, Entry("1", "relaxed slips κ′ and tan α′ of a Magic Formula tyre", 2)]
    start_slip: Annotated[int, Entry("1", "of the deflections at the beginning of the step", 2)]
    relaxation: Annotated[int, Entry("m", "change of deflection per change of slip in this step", 2)]
    sliding: Annotated[int, Entry("1", "0…1 to which the contact slides, in this step")]
    rolling: Annotated[int, Entry("1", "0…1 to which offsets act that a tyre at rest does not have")]
    rolling_speed: Annotated[int, Entry("m/s", "spin · rolling radius at the beginning of the step")]
    contact_force: Annotated[int, Entry("N", "along and across the direction in which the wheel points", 2)]
    frame_arm: Annotated[int, Entry("m", "wheel centre from the carrier's centre of mass, frame axes", 3)]
    frame_axis: Annotated[int, Entry("1", "frame axes", 3)]
    frame_velocity: Annotated[int, Entry("m/s", "of the wheel centre against the ground, frame axes", 3)]
    frame_normal: Annotated[int, Entry("1", "(−dz/dx, −dz/dy, 1) of the ground, frame axes", 3)]
    tyre_moment: Annotated[int, Entry("N m", "on the wheel about its centre, frame axes", 3)]
    max_brake_torque: Annotated[int, Entry("N m", "at full pedal")]
    chock_clearance: Annotated[int, Entry("m", "that the wheel rolls either way until it is chocked")]
    chock_stiffness: Annotated[int, Entry("N/m", "0: no chock")]
    chock_damping: Annotated[int, Entry("N s/m", "")]
    chock_centre: Annotated[int, Entry("m", "wheel centre at rest, in the ground's axes", 3)]
    deflection: Annotated[int, Entry("m", "of a Magic Formula tyre's carcass along and across", 2)]
    start_deflection: Annotated[int, Entry("m", "at the step's beginning, as far as the load can hold it", 2)]
    carrier_residual: Annotated[int, Entry("N", "what the wheel adds to its carrier's force and moment", 6)]
    start_load: Annotated[int, Entry("N", "at the beginning of the step, at least MIN_LOAD")]
    enveloped: Annotated[int, Entry("1", "1: height of the ground as a wheel feels it, 0: as a plane")]


class StrapRow(NamedTuple):
    """Strap from the chassis to the ground."""

    point: Annotated[int, Entry("m", "on the chassis, from its centre of mass", 3)]
    anchor: Annotated[int, Entry("m", "in the ground's axes", 3)]
    free_length: Annotated[int, Entry("m", "")]
    stiffness: Annotated[int, Entry("N/m", "")]
    damping: Annotated[int, Entry("N s/m", "")]
    tension: Annotated[int, Entry("N", "a result")]


class AirRow(NamedTuple):
    """Air: areas times half the density, and where each acts, from the chassis' centre of mass."""

    drag: Annotated[int, Entry("kg/m", "")]
    drag_point: Annotated[int, Entry("m", "", 3)]
    front_lift: Annotated[int, Entry("kg/m", "")]
    front_point: Annotated[int, Entry("m", "", 3)]
    rear_lift: Annotated[int, Entry("kg/m", "")]
    rear_point: Annotated[int, Entry("m", "", 3)]


class GroupRow(NamedTuple):
    """Where a group's parts are in the blocks, and where its unknowns are in its matrix."""

    first_body: int
    bodies: int
    first_local: Annotated[int, Entry("1", "first of its local bodies")]
    interfaces: Annotated[int, Entry("1", "number of interface bodies, the chassis first")]
    first_primitive: int
    primitives: int
    first_spring: int
    springs: int
    wheel: int
    bar: int
    bar_end: int
    bar_end_body: Annotated[int, Entry("1", "local body")]
    first_row: int
    rows: int
    first_unknown: int
    unknowns: Annotated[int, Entry("1", "own: six a body, the spin, the bar's force, the multipliers")]
    size: Annotated[int, Entry("1", "own unknowns and those of the interface: six a body, the bar")]
    first_cell: int
    spin_unknown: int
    bar_unknown: int
    row_unknown: int
    carrier: Annotated[int, Entry("1", "local body that carries the wheel")]
    tyre: Annotated[int, Entry("1", "its kind, of tyres/registry.py")]


class ClockRow(NamedTuple):
    """What a step tells the tyres and brakes."""

    reach: Annotated[int, Entry("s", "change of a speed per change of its acceleration in a step")]
    rate: Annotated[int, Entry("1/s", "1 / step; 0: slips of steady motion; negative: slips stay")]


class ReportRow(NamedTuple):
    """What a step reports."""

    iterations: int
    joint_error: Annotated[int, Entry("m", "largest constraint violation")]
    joint_rate: Annotated[int, Entry("m/s", "its largest rate")]
    max_move: Annotated[int, Entry("m", "largest correction of a position in the last iteration")]
    converged: Annotated[int, Entry("1", "1 if all are below their limits")]


BODY: Final = index_table(BodyRow)
BODY_SIZE: Final = size_of(BODY)
INERTIA: Final = index_table(InertiaRow)
INERTIA_SIZE: Final = size_of(INERTIA)
LOCAL_BODY: Final = index_table(LocalBodyRow)
LOCAL_BODY_SIZE: Final = size_of(LOCAL_BODY)
LOCAL_MOTION_SIZE: Final = LOCAL_BODY.force
"""Numbers that a group copies of its interface bodies, where accelerations do not matter."""
WHEEL: Final = index_table(WheelRow)
WHEEL_SIZE: Final = size_of(WHEEL)
STRAP: Final = index_table(StrapRow)
STRAP_SIZE: Final = size_of(STRAP)
AIR: Final = index_table(AirRow)
AIR_SIZE: Final = size_of(AIR)
GROUP: Final = index_table(GroupRow)
GROUP_SIZE: Final = size_of(GROUP)
CLOCK: Final = index_table(ClockRow)
REPORT: Final = index_table(ReportRow)
REPORT_SIZE: Final = size_of(REPORT)

CHASSIS: Final = 0
"""Its item in the blocks of bodies."""
