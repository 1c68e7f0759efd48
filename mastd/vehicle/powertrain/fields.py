"""Where the numbers of a powertrain stand: its constants, its state, the driver's columns.

All SI. Speeds are angular velocities, positive forwards; gearbox speeds are those of its input and output
shaft. A block of tables or differentials begins where a constant says, so both arrays are as long as needed.
"""

from __future__ import annotations

from typing import Final

THROTTLE_PEDAL: Final = 0
"""0…1."""
BRAKE_PEDAL: Final = 1
"""0…1; the powertrain does not look at it."""
CLUTCH_PEDAL: Final = 2
"""0…1, 1 is pressed."""
GEAR_LEVER: Final = 3
"""-1, -2 reverse, 0 neutral, 1, 2, … that gear, ``DRIVE``; what the gearbox does not have is neutral."""
DRIVE: Final = 100.0
"""Gear lever: the gearbox chooses among its forward gears."""

# State: what a recording takes comes first.
ENGINE_SPEED: Final = 0
"""rad/s."""
ENGINE_TORQUE: Final = 1
"""N m of the last step, friction included, on the engine's inertia."""
GEAR: Final = 2
"""Gear in use, or being engaged."""
CLUTCH_SLIP: Final = 3
"""rad/s, engine minus gearbox input."""
INPUT_SPEED: Final = 4
"""rad/s of the gearbox's input shaft."""
OUTPUT_SPEED: Final = 5
"""rad/s of its output shaft."""
TWIST: Final = 6
"""rad between gearbox output and the wheels' mean."""
CLUTCH_TORQUE: Final = 7
"""N m that the launch device took from the engine in the last step."""
INPUT_TORQUE: Final = 8
"""N m that the launch device gave to the gearbox's input."""
SHAFT_TORQUE: Final = 9
"""N m of the twisted shaft, at the gearbox's output."""
RATIO: Final = 10
"""Ratio in use, input over output speed; 0 in neutral."""
ENGAGED: Final = 11
"""1: input and output turn as the ratio says; 0: neutral, or the synchroniser slips."""
CHANGE_LEFT: Final = 12
"""s until a change under load is finished."""
OLD_RATIO: Final = 13
"""Ratio that the change began with."""
HOLD_LEFT: Final = 14
"""s until the gearbox may choose again."""
IDLE_INTEGRAL: Final = 15
"""Throttle that the idle controller's integral adds."""
LOCK_UP: Final = 16
"""0…1 how far the converter's lock-up is closed."""
THROTTLE: Final = 17
"""0…1 throttle of the last step, with idle controller, limiter and change of gear."""
MESH_TORQUE: Final = 18
"""N m on the input shaft that went into gears or synchroniser in the last step."""
WHEEL_SPEED: Final = 19
"""rad/s, the wheels' mean at the gearbox's output."""
STATE: Final = 20
"""First entry of the differentials' states, ``STATE_STRIDE`` each, in the order of ``constants``."""

S_LOCK: Final = 0
"""N m that the lock moves from the second to the first output."""
S_SPEED: Final = 1
"""rad/s at its input."""
S_TORQUE: Final = 2
"""N m at its input."""
STATE_STRIDE: Final = 3

# Constants.
ENGINE_INERTIA: Final = 0
THROTTLES: Final = 1
"""First entry of the throttles, then of the torques' rows, one a throttle."""
THROTTLE_COUNT: Final = 2
SPEEDS: Final = 3
SPEED_COUNT: Final = 4
TORQUES: Final = 5
IDLE_SPEED: Final = 6
"""0: no idle controller."""
IDLE_THROTTLE: Final = 7
"""That holds the idle speed without load."""
IDLE_GAIN: Final = 8
"""Throttle per rad/s."""
IDLE_RATE: Final = 9
"""Throttle per rad."""
LIMIT_SPEED: Final = 10
"""Speed from which on the throttle is taken back."""
LIMIT_BAND: Final = 11
STALL_SPEED: Final = 12
"""0: the engine does not go out."""
LAUNCH: Final = 13
"""0 rigid, 1 clutch, 2 converter."""
CLUTCH_CAPACITY: Final = 14
"""Of the clutch, or of the converter's lock-up."""
PEDAL_CLOSED: Final = 15
PEDAL_OPEN: Final = 16
CLOSING_BEGIN: Final = 17
CLOSING_END: Final = 18
"""Below ``CLOSING_BEGIN``: the pedal alone."""
CONVERTER: Final = 19
"""First entry of the speed ratios, the factors of pump torque and the torque ratios, in this order."""
CONVERTER_COUNT: Final = 20
LOCK_RATIO: Final = 21
LOCK_GEAR: Final = 22
LOCK_SPEED: Final = 23
LOCK_TIME: Final = 24
INPUT_INERTIA: Final = 25
OUTPUT_INERTIA: Final = 26
SYNCHRONISER: Final = 27
GEARS: Final = 28
"""Entry of neutral's ratio among the ratios."""
FORWARD: Final = 29
REVERSE: Final = 30
GEARBOX_LOSS: Final = 31
CHANGES: Final = 32
"""First entry of the change map: throttles, up, down; 0: changed by the driver alone."""
CHANGE_COUNT: Final = 33
CHANGE_TIME: Final = 34
CHANGE_THROTTLE: Final = 35
HOLD_TIME: Final = 36
STIFFNESS: Final = 37
DAMPING: Final = 38
NODES: Final = 39
"""First entry of the differentials, each before those that it drives."""
NODE_COUNT: Final = 40
CONSTANTS: Final = 41

N_FIRST: Final = 0
"""What its first output drives: a wheel's number, or -1 - the number of a differential."""
N_SECOND: Final = 1
N_SHARE: Final = 2
"""Of the first output in the torque."""
N_RATIO: Final = 3
"""Input speed over the speed of the differential's cage."""
N_LOSS: Final = 4
"""1 - efficiency."""
N_PRELOAD: Final = 5
N_BIAS: Final = 6
N_HUB: Final = 7
"""Speed of an output over that of its wheel."""
N_INERTIA: Final = 8
"""Of the difference between its outputs, kg m2."""
NODE_STRIDE: Final = 9

RIGID: Final = 0.0
CLUTCH: Final = 1.0
CONVERTER_KIND: Final = 2.0
