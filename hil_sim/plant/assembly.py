"""Fills the plant's state block from the table's settings and the plant's truth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from hil_sim.plant import block as b
from hil_sim.plant.block import Block
from hil_sim.plant.truth import ActuatorTruth, PlantTruth
from mastd.arrays import FloatArray
from mastd.errors import SettingsError
from mastd.settings.table.table import TableSettings
from mastd.wire.common.layout import Layout

MAX_STEP = 125.0e-6
"""Longest inner step (s)."""
MIN_SUPPLY_SHARE = 0.9
"""The drive stops by itself, and does not start, below this share of the supply's minimum pressure."""

# Parameters that the seeded deviation spreads, in the order of its random numbers.
_SPREAD = (
    "bulk_modulus",
    "leakage",
    "coulomb",
    "viscous",
    "natural_frequency",
    "damping_ratio",
    "delay",
    "opening_rate",
    "overlap",
    "rated_flow",
)


def assemble(table: TableSettings, truth: PlantTruth, period: float, seed: int) -> Block:
    """Return a block with all parameters set and all states zero; ``period`` is that of the commands (s).

    Raises SettingsError for a truth that does not fit the table.
    """
    block = Block(len(table.links), len(truth.static_supports), len(table.sensors.accelerometers))
    ticks = math.ceil(period * table.drive.update_rate - 1e-9)
    tick = period / ticks
    steps = math.ceil(tick / MAX_STEP - 1e-9)
    block.integers[b.TICK_STEPS] = steps
    block.integers[b.SEED] = seed
    _fill_links(block, table, truth, tick / steps)
    _fill_body(block, table, truth)
    _fill_supply(block, table, truth)
    _fill_drive(block, table, period, tick)
    _fill_sensors(block, table, truth, tick)
    return block


def nominal_actuator(table: TableSettings) -> dict[str, float]:
    """Return the nominal hydraulic parameters of one actuator by the names of ``ActuatorTruth``."""
    actuator = table.actuator
    friction = actuator.friction
    valve = table.valve
    return {
        "area_1": actuator.piston_areas[0],
        "area_2": actuator.piston_areas[1],
        "dead_length": actuator.dead_length,
        "bulk_modulus": actuator.bulk_modulus,
        "leakage": actuator.leakage,
        "relief_pressure": actuator.relief_pressure,
        "coulomb": friction.coulomb,
        "breakaway": friction.breakaway,
        "stribeck_velocity": friction.stribeck_velocity,
        "viscous": friction.viscous,
        "bristle_stiffness": friction.bristle_stiffness,
        "bristle_damping": friction.bristle_damping,
        "stop_stiffness": actuator.end_stop.stiffness,
        "stop_damping": actuator.end_stop.damping,
        "natural_frequency": valve.natural_frequency,
        "damping_ratio": valve.damping_ratio,
        "delay": valve.delay,
        "opening_rate": valve.opening_rate,
        "overlap": valve.overlap,
        "rated_flow": valve.rated_flow,
        "saturation": valve.saturation,
    }


def true_actuators(table: TableSettings, truth: PlantTruth) -> list[dict[str, float]]:
    """Return the true hydraulic parameters of each link: nominal, spread by the seed, or as the truth says.

    Raises SettingsError when the truth names a link that the table does not have, or one twice.
    """
    names = [link.name for link in table.links]
    stated: dict[str, ActuatorTruth] = {}
    problems = []
    for index, actuator in enumerate(truth.actuators):
        if actuator.link not in names:
            problems.append(
                f"actuators[{index}].link: no link {actuator.link!r}, the table has {', '.join(names)}"
            )
        elif actuator.link in stated:
            problems.append(f"actuators[{index}].link: {actuator.link!r} stands there twice")
        stated[actuator.link] = actuator
    if problems:
        raise SettingsError([f"plant truth {truth.name!r}: {problem}" for problem in problems])
    generator = np.random.Generator(np.random.PCG64(truth.deviation.seed))
    factors = 1.0 + truth.deviation.spread * generator.uniform(-1.0, 1.0, (len(names), len(_SPREAD)))
    actuators = []
    for name, row in zip(names, factors, strict=True):
        values = nominal_actuator(table)
        for key, factor in zip(_SPREAD, row, strict=True):
            values[key] *= float(factor)
        values["breakaway"] *= float(row[_SPREAD.index("coulomb")])
        if name in stated:
            own = stated[name].model_dump(
                exclude_none=True, exclude={"link", "transducer_scale", "transducer_offset"}
            )
            values.update(own)
        actuators.append(values)
    return actuators


class _Calibrated(Protocol):
    """A sensor of the table's settings."""

    @property
    def scale(self) -> float:
        """Calibrated per reading."""

    @property
    def offset(self) -> float:
        """Calibrated at reading zero."""


def calibration_of(table: TableSettings, layout: Layout) -> tuple[FloatArray, FloatArray]:
    """Return scale and offset of each value of a sample: calibrated = scale · reading + offset."""
    scales, offsets = np.ones(layout.size), np.zeros(layout.size)
    sensors: dict[str, Sequence[_Calibrated]] = {
        "lengths": [link.transducer for link in table.links],
        "pressures": [sensor for link in table.links for sensor in link.pressure_transducers],
        "accelerometers": table.sensors.accelerometers,
    }
    for name, several in sensors.items():
        scales[layout.slices[name]] = [sensor.scale for sensor in several]
        offsets[layout.slices[name]] = [sensor.offset for sensor in several]
    return scales, offsets


def valve_gain(rated_flow: float, rated_pressure_drop: float, saturation: float) -> tuple[float, float]:
    """Return G (m³/s per root Pa) and s of a valve (table-control.md 5.1)."""
    gain = rated_flow / math.sqrt(0.5 * rated_pressure_drop) / saturation
    return gain, math.sqrt(1.0 - saturation * saturation) / saturation


def _fill_links(block: Block, table: TableSettings, truth: PlantTruth, step: float) -> None:
    longest_delay = (b.VALVE_ROWS - 2) * block.integers[b.TICK_STEPS] * step
    columns = {
        b.AREA_1: "area_1",
        b.AREA_2: "area_2",
        b.DEAD_LENGTH: "dead_length",
        b.BULK_MODULUS: "bulk_modulus",
        b.LEAKAGE: "leakage",
        b.RELIEF_PRESSURE: "relief_pressure",
        b.COULOMB: "coulomb",
        b.BREAKAWAY: "breakaway",
        b.STRIBECK_SPEED: "stribeck_velocity",
        b.VISCOUS: "viscous",
        b.BRISTLE_STIFFNESS: "bristle_stiffness",
        b.BRISTLE_DAMPING: "bristle_damping",
        b.STOP_STIFFNESS: "stop_stiffness",
        b.STOP_DAMPING: "stop_damping",
        b.OPENING_RATE: "opening_rate",
        b.OVERLAP: "overlap",
    }
    for row, link, actuator in zip(
        block.link_parameters, table.links, true_actuators(table, truth), strict=True
    ):
        row[b.TABLE_JOINT : b.TABLE_JOINT + 3] = link.table_joint
        row[b.BASE_JOINT : b.BASE_JOINT + 3] = link.base_joint
        row[b.NEUTRAL_LENGTH] = link.neutral_length
        row[b.STROKE] = link.stroke
        for column, key in columns.items():
            row[column] = actuator[key]
        row[b.RELIEF_CONDUCTANCE] = truth.cylinder.relief_conductance
        row[b.CUSHION_LENGTH] = truth.cylinder.cushion_length
        row[b.CUSHION_OPENING] = truth.cylinder.cushion_opening
        row[b.VALVE_GAIN], row[b.SATURATION] = valve_gain(
            actuator["rated_flow"], table.valve.rated_pressure_drop, actuator["saturation"]
        )
        # The trapezoidal rule of the spool's second-order lag over one step.
        omega = 2.0 * math.pi * actuator["natural_frequency"]
        damped = step * actuator["damping_ratio"] * omega
        square = 0.25 * (step * omega) ** 2
        row[b.VALVE_KEEP] = (1.0 - damped - square) / (1.0 + damped + square)
        row[b.VALVE_PULL] = step * omega * omega / (1.0 + damped + square)
        if not actuator["delay"] <= longest_delay:
            raise SettingsError(
                [f"{link.name}: valve delay {actuator['delay']:g} s exceeds {longest_delay:g} s"]
            )
        row[b.VALVE_DELAY] = actuator["delay"] / step


def _fill_body(block: Block, table: TableSettings, truth: PlantTruth) -> None:
    mass = table.body.mass
    moment = mass * np.array(table.body.centre_of_mass)
    inertia = _about_c(mass, np.array(table.body.centre_of_mass), np.array(table.body.inertia))
    parameters = block.body_parameters
    payload = truth.payload
    if payload is not None:
        centre = np.array(payload.centre_of_gravity)
        share = payload.sprung.share if payload.sprung is not None else 0.0
        rigid = payload.mass * (1.0 - share)
        mass += rigid
        moment = moment + rigid * centre
        inertia = inertia + _about_c(rigid, centre, np.array(payload.inertia))
        if payload.sprung is not None:
            sprung = payload.mass * share
            omega = 2.0 * math.pi * payload.sprung.frequency
            parameters[b.SPRUNG_MASS] = sprung
            parameters[b.SPRUNG_POSITION : b.SPRUNG_POSITION + 3] = centre
            parameters[b.SPRUNG_STIFFNESS] = sprung * omega * omega
            parameters[b.SPRUNG_DAMPING] = 2.0 * payload.sprung.damping_ratio * sprung * omega
            block.body[b.SPRUNG + 2] = -table.gravity / (omega * omega)
    parameters[b.GRAVITY] = table.gravity
    parameters[b.MASS] = mass
    parameters[b.FIRST_MOMENT : b.FIRST_MOMENT + 3] = moment
    parameters[b.INERTIA : b.INERTIA + 9] = inertia.ravel()
    matrix = np.zeros((6, 6))
    matrix[:3, :3] = mass * np.eye(3)
    matrix[:3, 3:] = -_skew(moment)
    matrix[3:, :3] = _skew(moment)
    matrix[3:, 3:] = inertia
    parameters[b.INVERSE_MASS : b.INVERSE_MASS + 36] = np.linalg.inv(matrix).ravel()
    for row, support in zip(block.supports, truth.static_supports, strict=True):
        row[:3] = support.position
        row[3:6] = support.force, support.stiffness, support.damping
        row[6] = table.neutral_position[2] + support.position[2]


def _about_c(mass: float, centre: FloatArray, inertia: FloatArray) -> FloatArray:
    """Return the inertia (3, 3) about C of a body with principal ``inertia`` about its own ``centre``."""
    return np.diag(inertia) + mass * (float(centre @ centre) * np.eye(3) - np.outer(centre, centre))


def _skew(vector: FloatArray) -> FloatArray:
    x, y, z = vector
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def _fill_supply(block: Block, table: TableSettings, truth: PlantTruth) -> None:
    supply = table.supply
    details = truth.supply
    parameters = block.supply_parameters
    parameters[b.HIGH_PRESSURE] = supply.pressure
    parameters[b.LOW_PRESSURE] = supply.low_pressure
    parameters[b.RETURN_PRESSURE] = supply.return_pressure
    parameters[b.PRESSURE_RAMP] = supply.pressure / supply.rise_time
    parameters[b.PUMP_FLOW] = supply.pump_flow
    parameters[b.PUMP_DROOP] = details.pressure_droop
    parameters[b.PUMP_TIME] = details.pump_time
    parameters[b.ACCUMULATOR_VOLUME] = supply.accumulator.volume
    parameters[b.PRECHARGE] = supply.accumulator.precharge
    parameters[b.EXPONENT] = supply.accumulator.exponent
    parameters[b.LINE_VOLUME] = (
        details.line_volume * supply.accumulator.precharge / table.actuator.bulk_modulus
    )
    parameters[b.LINE_LOSS] = details.line_loss / supply.pump_flow**2
    ratio = supply.accumulator.precharge / supply.pressure
    stored = supply.accumulator.volume * (1.0 - ratio ** (1.0 / supply.accumulator.exponent))
    parameters[b.BLEED_CONDUCTANCE] = stored / details.bleed_time / math.sqrt(supply.pressure)
    parameters[b.TANK_VOLUME] = details.tank_volume
    parameters[b.HEAT_CAPACITY] = details.heat_capacity * details.tank_volume
    parameters[b.COOLING] = details.cooling
    parameters[b.COOLER_TEMPERATURE] = details.cooler_temperature
    parameters[b.FILTER_LOSS] = supply.oil.filter_pressure_drop / supply.pump_flow
    parameters[b.MINIMUM_PRESSURE] = supply.limits.minimum_pressure
    parameters[b.MAXIMUM_TEMPERATURE] = supply.limits.maximum_oil_temperature
    parameters[b.MINIMUM_LEVEL] = supply.limits.minimum_oil_level
    parameters[b.MAXIMUM_FILTER_DROP] = supply.limits.maximum_filter_pressure_drop
    block.supply[b.TANK_OIL] = supply.oil.level * details.tank_volume
    block.supply[b.TEMPERATURE] = supply.oil.temperature
    block.supply[b.PUMP_HEALTH] = 1.0


def _fill_drive(block: Block, table: TableSettings, period: float, tick: float) -> None:
    drive = table.drive
    parameters = block.drive_parameters
    parameters[b.TICK] = tick
    parameters[b.PERIOD] = period
    parameters[b.LENGTH_GAIN] = drive.length_gain
    parameters[b.PRESSURE_DAMPING] = drive.pressure_damping
    parameters[b.HIGH_PASS_RATE] = 2.0 * math.pi * drive.pressure_high_pass
    parameters[b.RATE_FEEDFORWARD] = drive.rate_feedforward
    parameters[b.VALVE_LEAD] = drive.valve_lead
    parameters[b.FORCE_FEEDFORWARD] = drive.force_feedforward
    parameters[b.ORIFICE_LAW] = float(drive.orifice_law)
    parameters[b.COMMAND_TIMEOUT] = drive.command_timeout
    parameters[b.FADE_TIME] = drive.fade_time
    parameters[b.HOLD_TIME] = drive.hold_time
    parameters[b.LOWERING_SPEED] = drive.lowering_speed
    parameters[b.REJOIN_ACCELERATION] = drive.rejoin_acceleration
    parameters[b.NOMINAL_RETURN] = table.supply.return_pressure
    parameters[b.MIN_SUPPLY] = MIN_SUPPLY_SHARE * table.supply.limits.minimum_pressure
    area_1, area_2 = table.actuator.piston_areas
    gain, saturation = valve_gain(
        table.valve.rated_flow, table.valve.rated_pressure_drop, table.valve.saturation
    )
    for row, link in zip(block.drive_nominal, table.links, strict=True):
        row[b.D_NEUTRAL] = link.neutral_length
        row[b.D_STROKE] = link.stroke
        row[b.D_AREA_1] = area_1
        row[b.D_AREA_2] = area_2
        row[b.D_GAIN] = gain / math.sqrt(area_1**3 + area_2**3)
        row[b.D_SATURATION] = saturation
        middle = table.actuator.dead_length + link.stroke
        row[b.D_STIFFNESS] = table.actuator.bulk_modulus * (area_1 + area_2) / middle
        row[b.D_LEAK_SPEED] = table.actuator.leakage / (0.5 * (area_1 + area_2)) ** 2
        height = table.neutral_position[2] + link.table_joint[2] - link.base_joint[2]
        share = height / link.neutral_length
        row[b.D_DESCENT] = share if share > 0.1 else 0.0


def _fill_sensors(block: Block, table: TableSettings, truth: PlantTruth, tick: float) -> None:
    sensors = table.sensors
    parameters = block.sensor_parameters
    parameters[b.LENGTH_NOISE] = sensors.length.noise
    parameters[b.LENGTH_RESOLUTION] = sensors.length.resolution
    parameters[b.PRESSURE_NOISE] = sensors.pressure.noise
    parameters[b.PRESSURE_RESOLUTION] = sensors.pressure.resolution
    parameters[b.SPOOL_NOISE] = sensors.spool.noise
    parameters[b.SPOOL_RESOLUTION] = sensors.spool.resolution
    parameters[b.ACCELEROMETER_NOISE] = sensors.acceleration.noise
    parameters[b.ACCELEROMETER_RESOLUTION] = sensors.acceleration.resolution
    longest = (b.HISTORY_ROWS - 2) * tick
    for column, name, delay in (
        (b.LENGTH_DELAY, "length", sensors.length.delay),
        (b.PRESSURE_DELAY, "pressure", sensors.pressure.delay),
        (b.SPOOL_DELAY, "spool", sensors.spool.delay),
        (b.ACCELEROMETER_DELAY, "acceleration", sensors.acceleration.delay),
    ):
        if not delay <= longest:
            raise SettingsError(
                [f"sensors.{name}.delay is {delay:g} s, the simulated plant keeps at most {longest:g} s"]
            )
        parameters[column] = delay / tick
    n = len(table.links)
    calibration = block.calibration
    calibration[:, b.FACTOR] = 1.0
    stated = {actuator.link: actuator for actuator in truth.actuators}
    for i, link in enumerate(table.links):
        own = stated.get(link.name)
        scale = own.transducer_scale if own is not None else 1.0
        offset = own.transducer_offset if own is not None else 0.0
        calibration[i, : b.DRIFT] = (
            link.transducer.scale * scale,
            link.transducer.scale * offset + link.transducer.offset,
        )
        for chamber, transducer in enumerate(link.pressure_transducers):
            calibration[n + 2 * i + chamber, : b.DRIFT] = transducer.scale, transducer.offset
    for k, accelerometer in enumerate(sensors.accelerometers):
        block.accelerometers[k, :3] = accelerometer.position
        block.accelerometers[k, 3:] = accelerometer.direction
        calibration[4 * n + 7 + k, : b.DRIFT] = accelerometer.scale, accelerometer.offset
