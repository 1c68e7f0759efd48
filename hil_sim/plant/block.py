"""The plant's one state block: a float64 array of parameters and states, and an int64 array of counters.

The compiled kernels see the plant as these two arrays only. This file names every column, so that the
kernels read like formulas; the physics is in ``hydraulics``, ``supply``, ``table_body``, ``servo_drive``
and ``sensors``.
"""

from __future__ import annotations

import numpy as np

from mastd.arrays import FloatArray, IntArray

# Columns of the actuators' true parameters, one row per link.
(
    TABLE_JOINT,  # 3 columns, in P (m)
    _,
    _,
    BASE_JOINT,  # 3 columns, in B (m)
    _,
    _,
    NEUTRAL_LENGTH,
    STROKE,
    AREA_1,
    AREA_2,
    DEAD_LENGTH,
    BULK_MODULUS,
    LEAKAGE,
    RELIEF_PRESSURE,
    RELIEF_CONDUCTANCE,
    COULOMB,
    BREAKAWAY,
    STRIBECK_SPEED,
    BRISTLE_STIFFNESS,
    BRISTLE_DAMPING,
    VISCOUS,
    STOP_STIFFNESS,
    STOP_DAMPING,
    CUSHION_LENGTH,
    CUSHION_OPENING,
    VALVE_GAIN,  # m3/s per square root of Pa and fully open port, before saturation
    SATURATION,  # s of table-control.md 5.1
    OVERLAP,
    OPENING_RATE,
    VALVE_KEEP,  # discrete valve: share of the spool rate kept over one step
    VALVE_PULL,  # discrete valve: spool rate gained per step and unit of opening error
    VALVE_DELAY,  # inner steps, not necessarily whole
    TRANSDUCER_SCALE,
    TRANSDUCER_OFFSET,
    LINK_PARAMETERS,
) = range(35)

# Columns of the actuators' states, one row per link.
(
    OIL_1,  # oil in chamber 1 as its volume at zero pressure (m3)
    OIL_2,
    SPOOL,
    SPOOL_RATE,
    BRISTLE,
    LENGTH,
    LENGTH_RATE,
    PRESSURE_1,
    PRESSURE_2,
    FORCE,  # on the table along the link, stops included (N)
    FRICTION,
    LINK_STATES,
) = range(12)

# Table body: parameters.
(
    GRAVITY,
    MASS,
    FIRST_MOMENT,  # 3: mass times centre of mass, in P (kg m)
    _,
    _,
    INERTIA,  # 9: about C in P
    _,
    _,
    _,
    _,
    _,
    _,
    _,
    _,
    INVERSE_MASS,  # 36: inverse of the 6 by 6 mass matrix at C in P
) = range(15)
SPRUNG_MASS = INVERSE_MASS + 36
SPRUNG_POSITION = SPRUNG_MASS + 1  # 3, in P
SPRUNG_STIFFNESS = SPRUNG_POSITION + 3
SPRUNG_DAMPING = SPRUNG_STIFFNESS + 1
BODY_PARAMETERS = SPRUNG_DAMPING + 1

# Table body: states.
POSITION = 0  # 3: C in B, absolute
ATTITUDE = 3  # 4: unit quaternion P to B, scalar first
TWIST = 7  # 6: velocity of C and angular velocity, in P
ACCELERATION = 13  # 6: inertial acceleration of C and angular acceleration, in P
SPRUNG = 19  # 3: displacement of the sprung mass in P
SPRUNG_RATE = 22  # 3
PAYLOAD_WRENCH = 25  # 6: external payload, at C in P
BODY_STATES = 31

# Static supports, one row each: position in P (3), force at neutral, stiffness, damping, neutral height.
SUPPORT_COLUMNS = 7

# Supply: parameters.
(
    HIGH_PRESSURE,
    LOW_PRESSURE,
    RETURN_PRESSURE,
    PRESSURE_RAMP,
    PUMP_FLOW,
    PUMP_DROOP,
    PUMP_TIME,
    ACCUMULATOR_VOLUME,
    PRECHARGE,
    EXPONENT,
    LINE_VOLUME,
    LINE_LOSS,
    BLEED_CONDUCTANCE,
    TANK_VOLUME,
    HEAT_CAPACITY,
    COOLING,
    COOLER_TEMPERATURE,
    FILTER_LOSS,
    MINIMUM_PRESSURE,
    MAXIMUM_TEMPERATURE,
    MINIMUM_LEVEL,
    MAXIMUM_FILTER_DROP,
    SUPPLY_PARAMETERS,
) = range(23)

# Supply: states.
(
    SUPPLY_PRESSURE,
    ACCUMULATOR_OIL,
    ACCUMULATOR_PRESSURE,
    SET_PRESSURE,
    PUMP_DELIVERY,
    TANK_OIL,
    TEMPERATURE,
    SUPPLY_FLOW,
    RETURN_FLOW,
    FILTER_DROP,
    DRAWN,  # oil drawn from the supply since the last tick (m3)
    RETURNED,
    PUMP_HEALTH,  # share of its flow that the pump can deliver: 1, or 0 after its loss
    LEVEL_LOSS,  # injected, share of the tank
    FILTER_BLOCKAGE,  # injected, added to the filter's pressure drop (Pa)
    SUPPLY_STATES,
) = range(16)

# Drive: parameters of all links (nominal values of the table's settings).
(
    TICK,
    PERIOD,
    LENGTH_GAIN,
    PRESSURE_DAMPING,
    HIGH_PASS_RATE,
    RATE_FEEDFORWARD,
    VALVE_LEAD,
    FORCE_FEEDFORWARD,
    ORIFICE_LAW,
    COMMAND_TIMEOUT,
    FADE_TIME,
    HOLD_TIME,
    LOWERING_SPEED,
    REJOIN_ACCELERATION,
    NOMINAL_RETURN,
    MIN_SUPPLY,
    DRIVE_PARAMETERS,
) = range(17)

# Drive: nominal parameters per link.
(
    D_NEUTRAL,
    D_STROKE,
    D_AREA_1,
    D_AREA_2,
    D_GAIN,  # valve gain over the root of the cubed areas: speed per root of net force
    D_SATURATION,
    D_STIFFNESS,
    D_LEAK_SPEED,  # m/s of piston lost to leakage per N
    D_DESCENT,  # vertical component of the link at neutral: its share in lowering
    DRIVE_LINK_PARAMETERS,
) = range(10)

# Drive: states per link.
(
    C_LENGTH,
    C_RATE,
    C_ACCELERATION,
    C_FORCE,
    C_TRIM,
    C_FORCE_RATE,
    SET_LENGTH,
    SET_RATE,
    SET_ACCELERATION,
    SET_FORCE,
    SET_FORCE_RATE,
    OFFSET_LENGTH,
    OFFSET_RATE,
    OFFSET_ACCELERATION,
    OFFSET_FORCE,
    FADE_LENGTH,
    FADE_RATE,
    FADE_ACCELERATION,
    HIGH_PASS,
    VALVE_COMMAND,
    DRIVE_LINK_STATES,
) = range(21)

# Drive: common states.
(
    DRIVE_CLOCK,  # time in the present drive state (s)
    COMMAND_AGE,
    REJOIN_CLOCK,
    REJOIN_SPAN,
    FADE_SPAN,
    DESCENT_RATE,
    FILTERED_SUPPLY,
    DRIVE_STATES,
) = range(8)

# Sensors: parameters.
(
    LENGTH_NOISE,
    LENGTH_RESOLUTION,
    LENGTH_DELAY,  # ticks
    PRESSURE_NOISE,
    PRESSURE_RESOLUTION,
    PRESSURE_DELAY,
    SPOOL_NOISE,
    SPOOL_RESOLUTION,
    SPOOL_DELAY,
    ACCELEROMETER_NOISE,
    ACCELEROMETER_RESOLUTION,
    ACCELEROMETER_DELAY,
    SENSOR_PARAMETERS,
) = range(13)

# Calibration of a sensor's channel, faults included: reading = factor · value + offset + drift · ticks since
# its start, and further noise.
(
    FACTOR,
    OFFSET,
    DRIFT,  # per tick
    DRIFT_START,  # tick
    FURTHER_NOISE,  # standard deviation, in units of the reading
    CALIBRATION_COLUMNS,
) = range(6)

ACCELEROMETER_COLUMNS = 6  # position in P (3), direction in P (3)
HISTORY_ROWS = 32
"""Ticks the sensors' history holds, so also the longest sensor delay in ticks."""
BODY_HISTORY = 9
"""Columns of the body in the history, in P: specific force of C, angular acceleration, angular velocity."""
VALVE_ROWS = 32
"""Ticks of valve commands kept, so also the longest valve delay in ticks."""

# Counters and switches (int64).
(
    LINKS,
    SUPPORTS,
    ACCELEROMETERS,
    TICK_STEPS,  # inner steps per drive tick
    STEP,  # inner steps since the start
    SEED,
    DRIVE_STATE,
    STAGE_REQUEST,
    STAGE_REACHED,
    ESTOP,
    TIMED_OUT,
    LOCKED_OUT,  # the drive wants to see DISABLED before it follows again
    COMMANDED,  # a command has ever arrived
    SUPPLY_FAULT,
    FLAGS,
    INTEGERS,
) = range(16)


class Block:
    """The plant's state: one float64 array with named parts, one int64 array of counters.

    Attributes are views into the float64 array. ``integers[INTEGERS:]`` holds the start of each part and the
    end of the last, in the order of ``shapes`` below; the kernels find the parts by it.
    """

    def __init__(self, links: int, supports: int, accelerometers: int) -> None:
        channels = 4 * links + 7 + accelerometers
        shapes: dict[str, tuple[int, ...]] = {
            "link_parameters": (links, LINK_PARAMETERS),
            "links": (links, LINK_STATES),
            "body_parameters": (BODY_PARAMETERS,),
            "body": (BODY_STATES,),
            "supports": (supports, SUPPORT_COLUMNS),
            "supply_parameters": (SUPPLY_PARAMETERS,),
            "supply": (SUPPLY_STATES,),
            "drive_parameters": (DRIVE_PARAMETERS,),
            "drive_nominal": (links, DRIVE_LINK_PARAMETERS),
            "drive_links": (links, DRIVE_LINK_STATES),
            "drive": (DRIVE_STATES,),
            "sensor_parameters": (SENSOR_PARAMETERS,),
            "accelerometers": (accelerometers, ACCELEROMETER_COLUMNS),
            "calibration": (channels, CALIBRATION_COLUMNS),
            "history": (HISTORY_ROWS, 4 * links + BODY_HISTORY),
            "valve_history": (VALVE_ROWS, links),
            "drive_measured": (3 * links,),
            "valve_commands": (links,),
            "unit_vectors": (links, 6),
            "command": (5 * links + 6,),
            "measured": (channels,),
            "truth": (18 + links,),
        }
        sizes = [int(np.prod(shape)) for shape in shapes.values()]
        starts = np.concatenate(([0], np.cumsum(sizes)))
        self.floats: FloatArray = np.zeros(int(starts[-1]))
        self.integers: IntArray = np.zeros(INTEGERS + len(starts), dtype=np.int64)
        self.integers[INTEGERS:] = starts
        self.integers[LINKS] = links
        self.integers[SUPPORTS] = supports
        self.integers[ACCELEROMETERS] = accelerometers
        views = {
            name: self.floats[start : start + size].reshape(shape)
            for (name, shape), start, size in zip(shapes.items(), starts, sizes, strict=False)
        }
        self.link_parameters = views["link_parameters"]
        self.links = views["links"]
        self.body_parameters = views["body_parameters"]
        self.body = views["body"]
        self.supports = views["supports"]
        self.supply_parameters = views["supply_parameters"]
        self.supply = views["supply"]
        self.drive_parameters = views["drive_parameters"]
        self.drive = views["drive"]
        self.drive_links = views["drive_links"]
        self.history = views["history"]
        self.drive_nominal = views["drive_nominal"]
        self.sensor_parameters = views["sensor_parameters"]
        self.accelerometers = views["accelerometers"]
        self.calibration = views["calibration"]
        self.command = views["command"]
        self.measured = views["measured"]
        self.truth = views["truth"]
