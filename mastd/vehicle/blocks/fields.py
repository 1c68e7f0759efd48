"""Component numbers of the blocks in which the compiled vehicle keeps its numbers.

Every block is ``[item, component, lane]``; the lanes are the equal corners (or axles) of one group. A *slot*
is a body as one group sees it: first the bodies it is joined to (the chassis, then its axle's), then its own.
"""

from __future__ import annotations

from typing import Final

# Body, and chassis: state in inertial axes (angular quantities in body axes)
POSITION: Final = 0
ATTITUDE: Final = 3
VELOCITY: Final = 7
ANGULAR_VELOCITY: Final = 10
ACCELERATION: Final = 13
ANGULAR_ACCELERATION: Final = 16
MEAN_ACCELERATION: Final = 19
"""The a of the generalized-alpha formula that carries the history; angular part behind it."""
MEAN_ANGULAR: Final = 22
START_ATTITUDE: Final = 25
"""Attitude at the beginning of the step."""
TURN: Final = 29
"""Rotation vector since the beginning of the step, body axes."""
ROTATION: Final = 32
"""Rotation matrix of the present attitude, body → inertial axes."""
BODY_FIELDS: Final = 41

# Constants of a body
MASS: Final = 0
INERTIA: Final = 1
"""xx, yy, zz, xy, xz, yz about the centre of mass."""
BODY_CONSTANTS: Final = 7

# Slot: a body in the axes of the frame, origin in the chassis' centre of mass
S_POSITION: Final = 0
S_ROTATION: Final = 3
"""Body → frame axes."""
S_VELOCITY: Final = 12
"""Of the centre of mass against the ground, frame axes."""
S_ANGULAR: Final = 15
S_FORCE: Final = 18
"""Out-of-balance force: inertia − applied + joints."""
S_MOMENT: Final = 21
S_ACCELERATION: Final = 24
S_ANGULAR_ACCELERATION: Final = 27
SLOT_FIELDS: Final = 30
S_FRAME_FIELDS: Final = 18
"""Fields that a group copies of the bodies it is joined to, where accelerations do not matter."""

# Row of a constraint
MULTIPLIER: Final = 0
GAP: Final = 1
GAP_RATE: Final = 2
GAP_ACCELERATION: Final = 3
ROW_FIELDS: Final = 4

# Joint primitive: table of integers and block of constants
P_KIND: Final = 0
P_FIRST: Final = 1
P_SECOND: Final = 2
P_ROW: Final = 3
"""Row within the group."""
P_DRIVE: Final = 4
"""Item of the drives' block, -1: not driven."""
PRIMITIVE_FIELDS: Final = 5
POINT_FIRST: Final = 0
POINT_SECOND: Final = 3
AXIS_FIRST: Final = 6
AXIS_SECOND: Final = 9
LENGTH: Final = 12
PRIMITIVE_CONSTANTS: Final = 13

# Drive of a primitive: displacement, rate, acceleration
DRIVE_FIELDS: Final = 3

# Wheel
W_CENTRE: Final = 0
W_AXIS: Final = 3
AXIAL_INERTIA: Final = 6
FREE_RADIUS: Final = 7
ROLLING_RADIUS: Final = 8
TYRE_STIFFNESS: Final = 9
TYRE_DAMPING: Final = 10
SLIP_STIFFNESS: Final = 11
CORNERING_STIFFNESS: Final = 12
MIN_SPEED: Final = 13
SPIN: Final = 14
SPIN_ACCELERATION: Final = 15
MEAN_SPIN: Final = 16
CONTACT: Final = 17
"""Wheel centre for which the ground below was looked up, inertial axes."""
HEIGHT: Final = 20
"""Of that point above the ground."""
SLOPE: Final = 21
"""dz/dx and dz/dy of the ground."""
GROUND_VELOCITY: Final = 23
DRIVE_TORQUE: Final = 26
MOTOR_TORQUE: Final = 27
LOAD: Final = 28
TYRE_FORCE: Final = 29
"""On the wheel at the contact point, frame axes."""
TYRE_HEIGHT: Final = 32
SPIN_RESIDUAL: Final = 33
REST_LOAD: Final = 34
"""Wheel load for which the frozen matrices were made."""
FRICTION: Final = 35
"""Of the ground: a factor on the tyre's own."""
GROUND_TURN: Final = 36
"""Angular velocity of the ground, inertial axes."""
OUTSIDE: Final = 39
"""m that the wheel is beside the road or the table."""
BRAKE_CAPACITY: Final = 40
"""N m that the friction brake takes at most."""
BRAKE_FRICTION: Final = 41
"""N m of it that acts, positive forwards."""
PUSH: Final = 42
"""Further force at the wheel centre, of a chock: inertial axes."""
MIRRORED: Final = 45
"""−1 where the tyre is mounted on the other side than the one it was measured on, else 1."""
SLIP: Final = 46
"""Relaxed slips κ′ and tan α′ of a Magic Formula tyre."""
SLIP_START: Final = 48
"""Those of the deflections at the beginning of the step."""
RELAXATION: Final = 50
"""Change of deflection per change of slip along and across in this step, m."""
SLIDING: Final = 52
"""Share 0…1 to which the contact slides, in this step."""
ROLLING: Final = 53
"""Share 0…1 to which offsets act that a tyre at rest does not have, in this step."""
ROLLING_SPEED: Final = 54
"""Spin times rolling radius at the beginning of the step, m/s."""
CONTACT_FORCE: Final = 55
"""Along and across the direction in which the wheel points."""
PLACE_ARM: Final = 57
"""Wheel centre seen from the carrier's centre of mass; with the next ones in the axes of the frame."""
PLACE_AXIS: Final = 60
PLACE_VELOCITY: Final = 63
"""Of the wheel centre against the ground."""
PLACE_NORMAL: Final = 66
"""(−dz/dx, −dz/dy, 1) of the ground."""
TYRE_MOMENT: Final = 69
"""On the wheel about its centre, frame axes."""
FULL_BRAKE: Final = 72
"""N m that the friction brake takes at full pedal."""
CHOCK_GAP: Final = 73
"""m that the wheel rolls either way until it is chocked; its stiffness 0: no chock."""
CHOCK_STIFFNESS: Final = 74
CHOCK_DAMPING: Final = 75
CHOCK_PLACE: Final = 76
"""Wheel centre at rest, in the ground's axes."""
DEFLECTION: Final = 79
"""Of a Magic Formula tyre's carcass along and across, m."""
DEFLECTION_START: Final = 81
"""The same at the beginning of the step, as far as the load can hold it."""
BALANCE: Final = 83
"""What the wheel adds to the out-of-balance force and moment of its carrier."""
START_LOAD: Final = 89
"""Load at the beginning of the step, at least MIN_LOAD, N."""
ENVELOPED: Final = 90
"""1 where the ground's height is that of what a wheel feels, 0 where it is that of a plane."""
WHEEL_FIELDS: Final = 91

# Strap from the chassis to the ground
T_POINT: Final = 0
"""On the chassis, from its centre of mass."""
T_ANCHOR: Final = 3
"""In the ground's axes."""
T_LENGTH: Final = 6
"""Free length, m."""
T_STIFFNESS: Final = 7
T_DAMPING: Final = 8
T_TENSION: Final = 9
"""N: a result."""
STRAP_FIELDS: Final = 10

# Air: each an area times half the density, and where it acts, from the chassis' centre of mass
A_DRAG: Final = 0
A_FRONT_LIFT: Final = 4
A_REAR_LIFT: Final = 8
AIR_FIELDS: Final = 12

# Group
G_FIRST_BODY: Final = 0
G_BODIES: Final = 1
G_FIRST_SLOT: Final = 2
G_JOINED: Final = 3
"""Number of slots of bodies it is joined to, the chassis first."""
G_FIRST_PRIMITIVE: Final = 4
G_PRIMITIVES: Final = 5
G_FIRST_SPRING: Final = 6
G_SPRINGS: Final = 7
G_WHEEL: Final = 8
G_BAR: Final = 9
G_BAR_END: Final = 10
G_BAR_END_SLOT: Final = 11
G_FIRST_ROW: Final = 12
G_ROWS: Final = 13
G_FIRST_UNKNOWN: Final = 14
G_UNKNOWNS: Final = 15
"""Own unknowns: six a body, the spin, the bar's force, the multipliers."""
G_SIZE: Final = 16
"""Own unknowns and those of the bodies (six each) and the bar it is joined to."""
G_FIRST_CELL: Final = 17
G_SPIN_UNKNOWN: Final = 18
G_BAR_UNKNOWN: Final = 19
G_ROW_UNKNOWN: Final = 20
G_CARRIER_SLOT: Final = 21
"""Slot of the wheel's carrier, counted within the group."""
G_TYRE: Final = 22
"""LINEAR_TYRE or MAGIC_TYRE."""
GROUP_FIELDS: Final = 23

LINEAR_TYRE: Final = 0
MAGIC_TYRE: Final = 1

# What a step tells the tyres
C_REACH: Final = 0
"""s: change of a speed per change of its acceleration in a step."""
C_RATE: Final = 1
"""1/s: 1 / step; 0: slips are those of steady motion; negative: slips stay as they stand."""
CLOCK_FIELDS: Final = 2
