"""The plant's numbers: named tuples of arrays for the kernels, and index tables that name their columns.

Parameters hold what the plant is truly like, states what moves. The physics is in ``hydraulics``, ``supply``,
``table_body``, ``servo_drive`` and ``sensors``.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from mastd.arrays import FloatArray, IntArray
from mastd.index_table import Entry, index_table, size_of
from mastd.settings.table.hydraulics import MAX_VALVES


class ActuatorColumns(NamedTuple):
    """True parameters of an actuator."""

    table_joint: Annotated[int, Entry("m", "in P", 3)]
    base_joint: Annotated[int, Entry("m", "in B", 3)]
    neutral_length: Annotated[int, Entry("m", "")]
    stroke: Annotated[int, Entry("m", "to either side of neutral")]
    area_1: Annotated[int, Entry("m^2", "piston, chamber 1")]
    area_2: Annotated[int, Entry("m^2", "piston, chamber 2")]
    dead_length: Annotated[int, Entry("m", "")]
    bulk_modulus: Annotated[int, Entry("Pa", "")]
    leakage: Annotated[int, Entry("m^3/(s Pa)", "across the piston")]
    relief_pressure: Annotated[int, Entry("Pa", "")]
    relief_conductance: Annotated[int, Entry("m^3/(s Pa)", "")]
    coulomb: Annotated[int, Entry("N", "")]
    breakaway: Annotated[int, Entry("N", "")]
    stribeck_speed: Annotated[int, Entry("m/s", "")]
    bristle_stiffness: Annotated[int, Entry("N/m", "")]
    bristle_damping: Annotated[int, Entry("N s/m", "")]
    viscous: Annotated[int, Entry("N s/m", "")]
    stop_stiffness: Annotated[int, Entry("N/m", "")]
    stop_damping: Annotated[int, Entry("N s/m", "")]
    cushion_length: Annotated[int, Entry("m", "")]
    cushion_opening: Annotated[int, Entry("1", "ratio of the port still open at the stop")]
    valve_gain: Annotated[int, Entry("m^3/(s Pa^0.5)", "fully open port, before saturation")]
    saturation: Annotated[int, Entry("1", "s of table-control.md 5.1")]
    overlap: Annotated[int, Entry("1", "")]
    opening_rate: Annotated[int, Entry("1/s", "limit")]
    spool_rate_kept: Annotated[int, Entry("1", "discrete valve: ratio of the spool's rate after one step")]
    spool_rate_gain: Annotated[int, Entry("1/s", "discrete valve: rate gained per step and opening error")]
    valves: Annotated[int, Entry("1", "in parallel")]
    valve_delay: Annotated[int, Entry("inner steps", "of each valve, not necessarily whole", MAX_VALVES)]
    valve_share: Annotated[int, Entry("1", "of the flow of all, of each valve", MAX_VALVES)]
    port_ratio: Annotated[int, Entry("1", "gain of the port of chamber 2 over that of chamber 1")]
    supply: Annotated[int, Entry("1", "number of the supply that feeds it")]
    pilot_ratio: Annotated[int, Entry("1", "discrete lag of a fourth stage: part made up per step, or 0")]
    feedback: Annotated[int, Entry("1", "FEEDBACK_CODES: what measures the force")]
    full_speed: Annotated[int, Entry("m/s", "of an electric drive at opening 1, 0 of a hydraulic actuator")]
    maximum_force: Annotated[int, Entry("N", "of an electric drive, as the next five")]
    maximum_power: Annotated[int, Entry("W", "")]
    stiffness: Annotated[int, Entry("N/m", "")]
    damping: Annotated[int, Entry("N s/m", "")]
    moving_mass: Annotated[int, Entry("kg", "of motor and screw, at the rod")]
    braked: Annotated[int, Entry("1", "1 where a brake holds it without power")]


class ActuatorStateColumns(NamedTuple):
    """State of an actuator."""

    oil_1: Annotated[int, Entry("m^3", "oil in chamber 1 as its volume at zero pressure")]
    oil_2: Annotated[int, Entry("m^3", "oil in chamber 2 as its volume at zero pressure")]
    spool: Annotated[int, Entry("1", "opening")]
    spool_rate: Annotated[int, Entry("1/s", "")]
    pilot: Annotated[int, Entry("1", "opening that a fourth stage asks for")]
    bristle: Annotated[int, Entry("m", "")]
    length: Annotated[int, Entry("m", "")]
    length_rate: Annotated[int, Entry("m/s", "")]
    pressure_1: Annotated[int, Entry("Pa", "")]
    pressure_2: Annotated[int, Entry("Pa", "")]
    force: Annotated[int, Entry("N", "on the table along the actuator, end stops included")]
    friction: Annotated[int, Entry("N", "")]
    drive_position: Annotated[int, Entry("m", "extension of an electric drive less its deflection")]


Wrench = tuple[float, float, float, float, float, float]
"""Force and moment about C, in P (N, N m)."""


class MidStep(NamedTuple):
    """The table in the middle of a step: R (P to B), position of C in B, twist and gravity in P."""

    r11: float
    r12: float
    r13: float
    r21: float
    r22: float
    r23: float
    r31: float
    r32: float
    r33: float
    px: float
    py: float
    pz: float
    vx: float
    vy: float
    vz: float
    wx: float
    wy: float
    wz: float
    gx: float
    gy: float
    gz: float


class BodyIndex(NamedTuple):
    """Parameters of the table's body with its payload."""

    gravity: Annotated[int, Entry("m/s^2", "")]
    guided: Annotated[int, Entry("1", "1 where guides hold an axis")]
    neutral: Annotated[int, Entry("m", "C in B at neutral", 3)]
    guide_friction: Annotated[int, Entry("N", "Coulomb friction along the free translations")]
    mass: Annotated[int, Entry("kg", "")]
    first_moment: Annotated[int, Entry("kg m", "mass times centre of mass, in P", 3)]
    inertia: Annotated[int, Entry("kg m^2", "about C in P", 9)]
    inverse_mass: Annotated[int, Entry("1/kg", "inverse of the 6 by 6 mass matrix at C in P", 36)]
    sprung_mass: Annotated[int, Entry("kg", "")]
    sprung_position: Annotated[int, Entry("m", "in P", 3)]
    sprung_stiffness: Annotated[int, Entry("N/m", "")]
    sprung_damping: Annotated[int, Entry("N s/m", "")]


class BodyStateIndex(NamedTuple):
    """State of the table's body."""

    position: Annotated[int, Entry("m", "C in B, absolute", 3)]
    attitude: Annotated[int, Entry("1", "unit quaternion P to B, scalar first", 4)]
    twist: Annotated[int, Entry("m/s, rad/s", "velocity of C and angular velocity, in P", 6)]
    acceleration: Annotated[int, Entry("m/s^2, rad/s^2", "inertial of C, and angular, in P", 6)]
    sprung: Annotated[int, Entry("m", "displacement of the sprung mass in P", 3)]
    sprung_rate: Annotated[int, Entry("m/s", "", 3)]
    payload_wrench: Annotated[int, Entry("N, N m", "external payload, at C in P", 6)]


class GuideColumns(NamedTuple):
    """The guides' hold on a coordinate of the pose, N and N m per m, rad and s."""

    stiffness: int
    damping: int
    free: Annotated[int, Entry("1", "1 for an axis in which the table moves")]


class SupportColumns(NamedTuple):
    """A static support."""

    position: Annotated[int, Entry("m", "in P", 3)]
    force: Annotated[int, Entry("N", "at neutral")]
    stiffness: Annotated[int, Entry("N/m", "")]
    damping: Annotated[int, Entry("N s/m", "")]
    gas_slope: Annotated[int, Entry("1/m", "relative growth of the gas's volume per rise, 0 without gas")]
    exponent: Annotated[int, Entry("1", "of the gas")]
    neutral_height: Annotated[int, Entry("m", "in B")]


class SupplyIndex(NamedTuple):
    """Parameters of a supply."""

    high_pressure: Annotated[int, Entry("Pa", "")]
    low_pressure: Annotated[int, Entry("Pa", "")]
    return_pressure: Annotated[int, Entry("Pa", "")]
    pressure_ramp: Annotated[int, Entry("Pa/s", "")]
    pump_flow: Annotated[int, Entry("m^3/s", "")]
    pump_droop: Annotated[int, Entry("Pa", "")]
    pump_time: Annotated[int, Entry("s", "")]
    accumulator_volume: Annotated[int, Entry("m^3", "")]
    precharge: Annotated[int, Entry("Pa", "")]
    exponent: Annotated[int, Entry("1", "of the gas law")]
    line_volume: Annotated[int, Entry("m^3", "")]
    line_loss: Annotated[int, Entry("Pa s^2/m^6", "")]
    bleed_conductance: Annotated[int, Entry("m^3/(s Pa^0.5)", "")]
    tank_volume: Annotated[int, Entry("m^3", "")]
    heat_capacity: Annotated[int, Entry("J/K", "")]
    cooling: Annotated[int, Entry("W/K", "")]
    cooler_temperature: Annotated[int, Entry("K", "")]
    filter_loss: Annotated[int, Entry("Pa s/m^3", "")]
    min_pressure: Annotated[int, Entry("Pa", "")]
    max_temperature: Annotated[int, Entry("K", "")]
    min_level: Annotated[int, Entry("1", "of the tank")]
    max_filter_drop: Annotated[int, Entry("Pa", "")]
    drive_minimum: Annotated[int, Entry("Pa", "below which the drive stops by itself and does not start")]


class SupplyStateIndex(NamedTuple):
    """State of a supply."""

    pressure: Annotated[int, Entry("Pa", "at the valves; without hydraulics, 1 while the power is on")]
    power: Annotated[int, Entry("1", "1 while electric drives have power")]
    accumulator_oil: Annotated[int, Entry("m^3", "")]
    accumulator_pressure: Annotated[int, Entry("Pa", "")]
    set_pressure: Annotated[int, Entry("Pa", "")]
    pump_delivery: Annotated[int, Entry("m^3/s", "")]
    tank_oil: Annotated[int, Entry("m^3", "")]
    temperature: Annotated[int, Entry("K", "")]
    supply_flow: Annotated[int, Entry("m^3/s", "")]
    return_flow: Annotated[int, Entry("m^3/s", "")]
    filter_drop: Annotated[int, Entry("Pa", "")]
    drawn: Annotated[int, Entry("m^3", "oil drawn from the supply since the last tick")]
    returned: Annotated[int, Entry("m^3", "oil given back since the last tick")]
    pump_health: Annotated[int, Entry("1", "ratio of its flow that the pump can deliver; 0 after its loss")]
    level_loss: Annotated[int, Entry("1", "injected, ratio of the tank")]
    filter_blockage: Annotated[int, Entry("Pa", "injected, added to the filter's pressure drop")]
    step_drawn: Annotated[int, Entry("m^3", "oil drawn in an inner step")]
    step_returned: Annotated[int, Entry("m^3", "oil given back in an inner step")]
    stage: Annotated[int, Entry("1", "reached")]
    filtered: Annotated[int, Entry("Pa", "pressure as the drive smooths it")]


class DriveIndex(NamedTuple):
    """Parameters of the servo drive."""

    tick: Annotated[int, Entry("s", "")]
    period: Annotated[int, Entry("s", "of the commands")]
    high_pass_rate: Annotated[int, Entry("rad/s", "")]
    orifice_law: Annotated[int, Entry("1", "1 where the load is compensated")]
    command_timeout: Annotated[int, Entry("s", "")]
    fade_time: Annotated[int, Entry("s", "")]
    hold_time: Annotated[int, Entry("s", "")]
    lowering_speed: Annotated[int, Entry("m/s", "")]
    rejoin_acceleration: Annotated[int, Entry("m/s^2", "")]


class NominalColumns(NamedTuple):
    """Nominal parameters of an actuator, as the drive knows it from the table's settings, and its gains."""

    length_gain: Annotated[int, Entry("1/s", "")]
    pressure_damping: Annotated[int, Entry("1/s", "")]
    rate_feedforward: Annotated[int, Entry("1", "")]
    valve_lead: Annotated[int, Entry("s", "")]
    force_feedforward: Annotated[int, Entry("1", "")]
    neutral_length: Annotated[int, Entry("m", "")]
    stroke: Annotated[int, Entry("m", "")]
    area_1: Annotated[int, Entry("m^2", "")]
    area_2: Annotated[int, Entry("m^2", "")]
    reading_1: Annotated[int, Entry("N per unit", "force by the first reading of the feedback")]
    reading_2: Annotated[int, Entry("N per unit", "and by the second")]
    full_speed: Annotated[int, Entry("m/s", "of an electric drive, 0 of a hydraulic actuator")]
    gain: Annotated[int, Entry("m/(s N^0.5)", "valve gain over the root of the cubed areas")]
    saturation: Annotated[int, Entry("1", "")]
    stiffness: Annotated[int, Entry("N/m", "of the oil columns")]
    leak_speed: Annotated[int, Entry("m/(s N)", "piston speed lost to leakage")]
    return_pressure: Annotated[int, Entry("Pa", "")]
    descent: Annotated[int, Entry("1", "vertical component of the actuator at neutral: its part in lowering")]


class AxisColumns(NamedTuple):
    """State of the drive for one actuator: command, set-point, what fades out, valve."""

    command_length: Annotated[int, Entry("m", "")]
    command_rate: Annotated[int, Entry("m/s", "")]
    command_acceleration: Annotated[int, Entry("m/s^2", "")]
    command_force: Annotated[int, Entry("N", "")]
    command_trim: Annotated[int, Entry("m/s", "")]
    command_force_rate: Annotated[int, Entry("N/s", "")]
    set_length: Annotated[int, Entry("m", "")]
    set_rate: Annotated[int, Entry("m/s", "")]
    set_acceleration: Annotated[int, Entry("m/s^2", "")]
    set_force: Annotated[int, Entry("N", "")]
    set_force_rate: Annotated[int, Entry("N/s", "")]
    offset_length: Annotated[int, Entry("m", "set-point less command at a rejoin")]
    offset_rate: Annotated[int, Entry("m/s", "")]
    offset_acceleration: Annotated[int, Entry("m/s^2", "")]
    offset_force: Annotated[int, Entry("N", "")]
    fade_length: Annotated[int, Entry("m", "set-point at the start of a fade")]
    fade_rate: Annotated[int, Entry("m/s", "")]
    fade_acceleration: Annotated[int, Entry("m/s^2", "")]
    high_pass: Annotated[int, Entry("N", "")]
    valve_command: Annotated[int, Entry("1", "opening")]


class DriveStateIndex(NamedTuple):
    """State of the servo drive as a whole."""

    clock: Annotated[int, Entry("s", "time in the present drive state")]
    command_age: Annotated[int, Entry("s", "")]
    rejoin_clock: Annotated[int, Entry("s", "")]
    rejoin_duration: Annotated[int, Entry("s", "")]
    fade_duration: Annotated[int, Entry("s", "")]
    descent_rate: Annotated[int, Entry("m/s", "")]


class SensorIndex(NamedTuple):
    """Noise, resolution and delay of each kind of sensor; delays in ticks."""

    length_noise: int
    length_resolution: int
    length_delay: int
    pressure_noise: int
    pressure_resolution: int
    spool_noise: int
    spool_resolution: int
    spool_delay: int
    accelerometer_noise: int
    accelerometer_resolution: int
    accelerometer_delay: int


class CalibrationColumns(NamedTuple):
    """A sensor's channel, faults included: reading = factor · value + offset + drift · ticks since its start,
    and added noise."""

    factor: int
    offset: int
    drift: Annotated[int, Entry("1/tick", "")]
    drift_start: Annotated[int, Entry("tick", "")]
    added_noise: Annotated[int, Entry("1", "standard deviation, in units of the reading")]


class AccelerometerColumns(NamedTuple):
    """Where an accelerometer is and what it measures."""

    position: Annotated[int, Entry("m", "in P", 3)]
    direction: Annotated[int, Entry("1", "in P", 3)]


class CounterIndex(NamedTuple):
    """Counters and switches (int64)."""

    tick_steps: Annotated[int, Entry("1", "inner steps per drive tick")]
    step: Annotated[int, Entry("1", "inner steps since the start")]
    seed: int
    drive_state: int
    stage_request: int
    stage_reached: int
    estop: int
    timed_out: int
    locked_out: Annotated[int, Entry("1", "the drive must receive DISABLED before it follows again")]
    commanded: Annotated[int, Entry("1", "a command has ever arrived")]
    supply_fault: int
    flags: int


ACTUATOR = index_table(ActuatorColumns)
ACTUATOR_STATE = index_table(ActuatorStateColumns)
BODY = index_table(BodyIndex)
BODY_STATE = index_table(BodyStateIndex)
GUIDE = index_table(GuideColumns)
SUPPORT = index_table(SupportColumns)
SUPPLY = index_table(SupplyIndex)
SUPPLY_STATE = index_table(SupplyStateIndex)
DRIVE = index_table(DriveIndex)
DRIVE_STATE = index_table(DriveStateIndex)
NOMINAL = index_table(NominalColumns)
AXIS = index_table(AxisColumns)
SENSOR = index_table(SensorIndex)
CALIBRATION = index_table(CalibrationColumns)
ACCELEROMETER = index_table(AccelerometerColumns)
COUNTER = index_table(CounterIndex)

HISTORY_ROWS = 32
"""Ticks the sensors' history holds, so also the longest sensor delay in ticks."""
BODY_HISTORY = 9
"""Columns of the body in the history, in P: specific force of C, angular acceleration, angular velocity."""
VALVE_ROWS = 32
"""Ticks of valve commands kept, so also the longest valve delay in ticks."""


class PlantArrays(NamedTuple):
    """The plant as its kernels take it; n actuators, and in brackets the index table of a row."""

    actuators: FloatArray
    """(n, ACTUATOR)."""
    actuator_states: FloatArray
    """(n, ACTUATOR_STATE)."""
    body: FloatArray
    body_state: FloatArray
    guides: FloatArray
    """(6, GUIDE)."""
    supports: FloatArray
    """(supports, SUPPORT)."""
    supply: FloatArray
    """(supplies, SUPPLY)."""
    supply_state: FloatArray
    """(supplies, SUPPLY_STATE)."""
    drive: FloatArray
    drive_state: FloatArray
    nominal: FloatArray
    """(n, NOMINAL)."""
    axes: FloatArray
    """(n, AXIS)."""
    sensors: FloatArray
    force_sensors: FloatArray
    """(2n, 3): noise, resolution and delay in ticks of both readings of each actuator's force."""
    accelerometers: FloatArray
    """(accelerometers, ACCELEROMETER)."""
    displacements: FloatArray
    """(displacement transducers, 6): point of the table in P, point of the base in B."""
    calibration: FloatArray
    """(channels, CALIBRATION)."""
    history: FloatArray
    """(HISTORY_ROWS, 4n + BODY_HISTORY + displacements): lengths, forces, spools, body, the rest."""
    valve_history: FloatArray
    """(VALVE_ROWS, n)."""
    drive_measured: FloatArray
    """(3n,): lengths and readings of the forces as the drive reads them."""
    valve_commands: FloatArray
    """(n,)."""
    unit_vectors: FloatArray
    """(n, 6), scratch: each actuator's direction and moment arm in P."""
    command: FloatArray
    """(5n + 6,): lengths, rates, accelerations, force references, trims, payload wrench."""
    measured: FloatArray
    """(channels,): a sample with everything that a table may have."""
    truth: FloatArray
    """(18 + n,): pose, rates, accelerations, forces."""
    counters: IntArray


def plant_arrays(
    actuators: int, supports: int, accelerometers: int, supplies: int, displacements: int
) -> PlantArrays:
    """Return the arrays of a plant of this size, all zero."""
    channels = 4 * actuators + 7 * supplies + accelerometers + displacements
    return PlantArrays(
        actuators=np.zeros((actuators, size_of(ACTUATOR))),
        actuator_states=np.zeros((actuators, size_of(ACTUATOR_STATE))),
        body=np.zeros(size_of(BODY)),
        body_state=np.zeros(size_of(BODY_STATE)),
        guides=np.zeros((6, size_of(GUIDE))),
        supports=np.zeros((supports, size_of(SUPPORT))),
        supply=np.zeros((supplies, size_of(SUPPLY))),
        supply_state=np.zeros((supplies, size_of(SUPPLY_STATE))),
        drive=np.zeros(size_of(DRIVE)),
        drive_state=np.zeros(size_of(DRIVE_STATE)),
        nominal=np.zeros((actuators, size_of(NOMINAL))),
        axes=np.zeros((actuators, size_of(AXIS))),
        sensors=np.zeros(size_of(SENSOR)),
        force_sensors=np.zeros((2 * actuators, 3)),
        accelerometers=np.zeros((accelerometers, size_of(ACCELEROMETER))),
        displacements=np.zeros((displacements, 6)),
        calibration=np.zeros((channels, size_of(CALIBRATION))),
        history=np.zeros((HISTORY_ROWS, 4 * actuators + BODY_HISTORY + displacements)),
        valve_history=np.zeros((VALVE_ROWS, actuators)),
        drive_measured=np.zeros(3 * actuators),
        valve_commands=np.zeros(actuators),
        unit_vectors=np.zeros((actuators, 6)),
        command=np.zeros(5 * actuators + 6),
        measured=np.zeros(channels),
        truth=np.zeros(18 + actuators),
        counters=np.zeros(size_of(COUNTER), dtype=np.int64),
    )
