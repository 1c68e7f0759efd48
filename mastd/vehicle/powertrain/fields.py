"""Index tables of a powertrain: its constants, its state, the driver's columns.

All SI. Speeds are angular velocities, positive forwards; gearbox speeds are those of its input and output
shaft. A block of tables or differentials begins where a constant says, so both arrays are as long as needed.
"""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple

from mastd.index_table import Entry, index_table, size_of


class DriverColumns(NamedTuple):
    """What the driver does."""

    throttle: Annotated[int, Entry("1", "0…1")]
    brake: Annotated[int, Entry("1", "0…1; the powertrain does not look at it")]
    clutch: Annotated[int, Entry("1", "0…1, 1 is pressed")]
    gear: Annotated[
        int,
        Entry(
            "1",
            "-2, -1 reverse, 0 neutral, 1, 2, … that gear, ``DRIVE``; else neutral",
        ),
    ]


DRIVER: Final = index_table(DriverColumns)


DRIVE: Final = 100.0
"""Gear: the gearbox chooses among its forward gears."""


class StateRow(NamedTuple):
    """State of the powertrain; what a recording takes comes first."""

    engine_speed: Annotated[int, Entry("rad/s", "")]
    engine_torque: Annotated[
        int, Entry("N m", "of the last step, friction included, on the engine's inertia")
    ]
    gear: Annotated[int, Entry("1", "gear in use, or being engaged")]
    clutch_slip: Annotated[int, Entry("rad/s", "engine minus gearbox input")]
    input_speed: Annotated[int, Entry("rad/s", "of the gearbox's input shaft")]
    output_speed: Annotated[int, Entry("rad/s", "of its output shaft")]
    twist: Annotated[int, Entry("rad", "between gearbox output and the wheels' mean")]
    clutch_torque: Annotated[
        int, Entry("N m", "that the launch device took from the engine in the last step")
    ]
    input_torque: Annotated[int, Entry("N m", "that the launch device gave to the gearbox's input")]
    shaft_torque: Annotated[int, Entry("N m", "of the twisted shaft, at the gearbox's output")]
    ratio: Annotated[int, Entry("1", "ratio in use, input over output speed; 0 in neutral")]
    engaged: Annotated[
        int, Entry("1", "1: input and output turn as the ratio says; 0: neutral, or the synchroniser slips")
    ]
    change_left: Annotated[int, Entry("s", "until a change under load is finished")]
    old_ratio: Annotated[int, Entry("1", "ratio that the change began with")]
    hold_left: Annotated[int, Entry("s", "until the gearbox may choose again")]
    idle_integral: Annotated[int, Entry("1", "throttle that the idle controller's integral adds")]
    lock_up: Annotated[int, Entry("1", "0…1 how far the converter's lock-up is closed")]
    throttle: Annotated[
        int, Entry("1", "0…1 throttle of the last step, with idle controller, limiter and change of gear")
    ]
    mesh_torque: Annotated[
        int, Entry("N m", "on the input shaft that went into gears or synchroniser in the last step")
    ]
    wheel_speed: Annotated[int, Entry("rad/s", "the wheels' mean at the gearbox's output")]


STATE: Final = index_table(StateRow)
DIFFERENTIALS: Final = size_of(STATE)
"""First entry of the differentials' states, in the order of ``constants``."""


class DifferentialState(NamedTuple):
    """State of a differential."""

    lock: Annotated[int, Entry("N m", "that the lock moves from the second to the first output")]
    speed: Annotated[int, Entry("rad/s", "at its input")]
    torque: Annotated[int, Entry("N m", "at its input")]


DIFFERENTIAL: Final = index_table(DifferentialState)
DIFFERENTIAL_SIZE: Final = size_of(DIFFERENTIAL)


class ConstantRow(NamedTuple):
    """Constants; blocks begin where an entry says, so that both arrays are as long as needed."""

    engine_inertia: int
    throttles: Annotated[
        int, Entry("1", "first entry of the throttles, then of the torques' rows, one a throttle")
    ]
    throttle_count: int
    speeds: int
    speed_count: int
    torques: int
    idle_speed: Annotated[int, Entry("rad/s", "0: no idle controller")]
    idle_throttle: Annotated[int, Entry("1", "that holds the idle speed without load")]
    idle_gain: Annotated[int, Entry("s/rad", "throttle per speed")]
    idle_rate: Annotated[int, Entry("1/rad", "throttle per angle")]
    limit_speed: Annotated[int, Entry("rad/s", "speed from which on the throttle is taken back")]
    limit_band: int
    stall_speed: Annotated[int, Entry("rad/s", "0: the engine does not go out")]
    launch: Annotated[int, Entry("1", "0 rigid, 1 clutch, 2 converter")]
    clutch_capacity: Annotated[int, Entry("N m", "of the clutch, or of the converter's lock-up")]
    pedal_closed: int
    pedal_open: int
    closing_begin: int
    closing_end: Annotated[int, Entry("1", "below closing_begin: the pedal alone")]
    converter: Annotated[
        int,
        Entry(
            "1",
            "first entry of the speed ratios, factors of pump torque, torque ratios",
        ),
    ]
    converter_count: int
    lock_ratio: int
    lock_gear: int
    lock_speed: int
    lock_time: int
    input_inertia: int
    output_inertia: int
    synchroniser: int
    gears: Annotated[int, Entry("1", "entry of neutral's ratio among the ratios")]
    forward: int
    reverse: int
    gearbox_loss: int
    changes: Annotated[
        int, Entry("1", "first entry of the change map: throttles, up, down; 0: changed by the driver alone")
    ]
    change_count: int
    change_time: int
    change_throttle: int
    hold_time: int
    stiffness: int
    damping: int
    nodes: Annotated[int, Entry("1", "first entry of the differentials, each before those that it drives")]
    node_count: int


CONSTANT: Final = index_table(ConstantRow)
CONSTANTS: Final = size_of(CONSTANT)


class NodeRow(NamedTuple):
    """Constants of a differential."""

    first: Annotated[
        int,
        Entry("1", "what its first output drives: a wheel's number, or -1 - the number of a differential"),
    ]
    second: int
    torque_split: Annotated[int, Entry("1", "of the first output in the torque")]
    ratio: Annotated[int, Entry("1", "input speed over the speed of the differential's cage")]
    loss: Annotated[int, Entry("1", "1 - efficiency")]
    preload: int
    bias: int
    hub: Annotated[int, Entry("1", "speed of an output over that of its wheel")]
    inertia: Annotated[int, Entry("kg m2", "of the difference between its outputs")]


NODE: Final = index_table(NodeRow)
NODE_SIZE: Final = size_of(NODE)

RIGID: Final = 0.0
CLUTCH: Final = 1.0
CONVERTER_KIND: Final = 2.0
"""Kinds of launch devices."""
