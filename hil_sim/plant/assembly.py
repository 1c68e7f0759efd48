"""Fills the plant's arrays from the table's settings and the plant's truth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from hil_sim.plant.block import (
    ACTUATOR,
    BODY,
    BODY_STATE,
    CALIBRATION,
    COUNTER,
    DRIVE,
    GUIDE,
    HISTORY_ROWS,
    NOMINAL,
    SENSOR,
    SUPPLY,
    SUPPORT,
    VALVE_ROWS,
    PlantArrays,
    plant_arrays,
)
from hil_sim.plant.true_hydraulics import fill_supply, fill_valves, true_valves
from hil_sim.plant.truth import ActuatorTruth, PlantTruth
from mastd.arrays import FloatArray
from mastd.errors import SettingsError
from mastd.settings.table.guides import ALL_FREEDOMS
from mastd.settings.table.held import CARRYING
from mastd.settings.table.hydraulics import MAX_VALVES
from mastd.settings.table.table import ActuatorType, TableSettings
from mastd.wire.common.layout import Layout

MAX_STEP = 125.0e-6
"""Longest inner step (s)."""
GUIDE_FREQUENCY = 150.0
"""Natural frequency of the bare table on bearings of no stated stiffness (Hz)."""
GUIDE_DAMPING = 0.05
"""Damping ratio of the bare table on its bearings."""

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


def assemble(table: TableSettings, truth: PlantTruth, period: float, seed: int) -> PlantArrays:
    """Return the arrays with all parameters set and all states zero; ``period`` is that of the commands (s).

    Raises SettingsError for a truth that does not fit the table.
    """
    supports = len(table.supports) + len(truth.static_supports)
    block = plant_arrays(len(table.links), supports, len(table.sensors.accelerometers), len(table.packs))
    ticks = math.ceil(period * table.drive.update_rate - 1e-9)
    tick = period / ticks
    steps = math.ceil(tick / MAX_STEP - 1e-9)
    block.counters[COUNTER.tick_steps] = steps
    block.counters[COUNTER.seed] = seed
    _fill_actuators(block, table, truth, tick / steps)
    _fill_body(block, table, truth)
    for k, supply in enumerate(table.packs.values()):
        fill_supply(block.supply[k], block.supply_state[k], supply, truth.supply)
        block.supply[k, SUPPLY.line_volume] /= table.types[0].cylinder.bulk_modulus
    block.actuators[:, ACTUATOR.supply] = table.fed_by
    _fill_drive(block, table, period, tick)
    _fill_sensors(block, table, truth, tick)
    return block


def nominal_actuator(type_: ActuatorType) -> dict[str, float]:
    """Return the nominal hydraulic parameters of one actuator by the names of ``ActuatorTruth``."""
    actuator, valve = type_.cylinder, type_.valve
    friction = actuator.friction
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
    """Return the true hydraulics of each actuator: nominal, spread by the seed, or as the truth says.

    Raises SettingsError when the truth names an actuator that the table does not have, or one twice.
    """
    names = [actuator.name for actuator in table.links]
    stated: dict[str, ActuatorTruth] = {}
    problems = []
    for index, actuator in enumerate(truth.actuators):
        if actuator.link not in names:
            problems.append(
                f"actuators[{index}].link: no actuator {actuator.link!r}, the table has {', '.join(names)}"
            )
        elif actuator.link in stated:
            problems.append(f"actuators[{index}].link: {actuator.link!r} listed twice")
        stated[actuator.link] = actuator
    if problems:
        raise SettingsError([f"plant truth {truth.name!r}: {problem}" for problem in problems])
    generator = np.random.Generator(np.random.PCG64(truth.deviation.seed))
    factors = 1.0 + truth.deviation.spread * generator.uniform(-1.0, 1.0, (len(names), len(_SPREAD)))
    actuators = []
    for name, type_, row in zip(names, table.types, factors, strict=True):
        values = nominal_actuator(type_)
        for key, factor in zip(_SPREAD, row, strict=True):
            values[key] *= float(factor)
        values["breakaway"] *= float(row[_SPREAD.index("coulomb")])
        if name in stated:
            own = stated[name].model_dump(
                exclude_none=True, exclude={"link", "valves", "transducer_scale", "transducer_offset"}
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
        "lengths": [actuator.transducer for actuator in table.links],
        "pressures": [sensor for actuator in table.links for sensor in actuator.pressure_transducers],
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


def _fill_actuators(block: PlantArrays, table: TableSettings, truth: PlantTruth, step: float) -> None:
    longest_delay = (VALVE_ROWS - 2) * block.counters[COUNTER.tick_steps] * step
    columns = {
        ACTUATOR.area_1: "area_1",
        ACTUATOR.area_2: "area_2",
        ACTUATOR.dead_length: "dead_length",
        ACTUATOR.bulk_modulus: "bulk_modulus",
        ACTUATOR.leakage: "leakage",
        ACTUATOR.relief_pressure: "relief_pressure",
        ACTUATOR.coulomb: "coulomb",
        ACTUATOR.breakaway: "breakaway",
        ACTUATOR.stribeck_speed: "stribeck_velocity",
        ACTUATOR.viscous: "viscous",
        ACTUATOR.bristle_stiffness: "bristle_stiffness",
        ACTUATOR.bristle_damping: "bristle_damping",
        ACTUATOR.stop_stiffness: "stop_stiffness",
        ACTUATOR.stop_damping: "stop_damping",
        ACTUATOR.opening_rate: "opening_rate",
        ACTUATOR.overlap: "overlap",
    }
    trues = true_actuators(table, truth)
    valves = true_valves(table, truth)
    for row, actuator, type_, true in zip(block.actuators, table.links, table.types, trues, strict=True):
        row[ACTUATOR.table_joint : ACTUATOR.table_joint + 3] = actuator.table_joint
        row[ACTUATOR.base_joint : ACTUATOR.base_joint + 3] = actuator.base_joint
        row[ACTUATOR.neutral_length] = actuator.neutral_length
        row[ACTUATOR.stroke] = actuator.stroke
        for column, key in columns.items():
            row[column] = true[key]
        row[ACTUATOR.relief_conductance] = truth.cylinder.relief_conductance
        row[ACTUATOR.cushion_length] = truth.cylinder.cushion_length
        row[ACTUATOR.cushion_opening] = truth.cylinder.cushion_opening
        row[ACTUATOR.valve_gain], row[ACTUATOR.saturation] = valve_gain(
            fill_valves(row, valves.get(actuator.name), type_.valve.count, true, step) * true["rated_flow"],
            type_.valve.rated_pressure_drop,
            true["saturation"],
        )
        row[ACTUATOR.port_ratio] = type_.valve.port_ratio
        # The trapezoidal rule of the spool's second-order lag over one step.
        omega = 2.0 * math.pi * true["natural_frequency"]
        damped = step * true["damping_ratio"] * omega
        square = 0.25 * (step * omega) ** 2
        row[ACTUATOR.spool_rate_kept] = (1.0 - damped - square) / (1.0 + damped + square)
        row[ACTUATOR.spool_rate_gain] = step * omega * omega / (1.0 + damped + square)
        if type_.valve.pilot_frequency is not None:
            turn = math.pi * type_.valve.pilot_frequency * step
            row[ACTUATOR.pilot_ratio] = 2.0 * turn / (1.0 + turn)
        if not max(row[ACTUATOR.valve_delay : ACTUATOR.valve_delay + MAX_VALVES]) * step <= longest_delay:
            late = f"valve delay {true['delay']:g} s exceeds {longest_delay:g} s"
            raise SettingsError([f"{actuator.name}: {late}"])


def _fill_body(block: PlantArrays, table: TableSettings, truth: PlantTruth) -> None:
    mass = table.body.mass
    moment = mass * np.array(table.body.centre_of_mass)
    inertia = _about_c(mass, np.array(table.body.centre_of_mass), np.array(table.body.inertia))
    parameters = block.body
    payload = truth.payload
    if payload is not None:
        centre = np.array(payload.centre_of_gravity)
        ratio = payload.sprung.share if payload.sprung is not None else 0.0
        rigid = payload.mass * (1.0 - ratio)
        mass += rigid
        moment = moment + rigid * centre
        inertia = inertia + _about_c(rigid, centre, np.array(payload.inertia))
        if payload.sprung is not None:
            sprung = payload.mass * ratio
            omega = 2.0 * math.pi * payload.sprung.frequency
            parameters[BODY.sprung_mass] = sprung
            parameters[BODY.sprung_position : BODY.sprung_position + 3] = centre
            parameters[BODY.sprung_stiffness] = sprung * omega * omega
            parameters[BODY.sprung_damping] = 2.0 * payload.sprung.damping_ratio * sprung * omega
            block.body_state[BODY_STATE.sprung + 2] = -table.gravity / (omega * omega)
    _fill_guides(block, table)
    parameters[BODY.gravity] = table.gravity
    parameters[BODY.mass] = mass
    parameters[BODY.first_moment : BODY.first_moment + 3] = moment
    parameters[BODY.inertia : BODY.inertia + 9] = inertia.ravel()
    matrix = np.zeros((6, 6))
    matrix[:3, :3] = mass * np.eye(3)
    matrix[:3, 3:] = -_skew(moment)
    matrix[3:, :3] = _skew(moment)
    matrix[3:, 3:] = inertia
    parameters[BODY.inverse_mass : BODY.inverse_mass + 36] = np.linalg.inv(matrix).ravel()
    for row, support in zip(block.supports, (*table.supports, *truth.static_supports), strict=True):
        row[SUPPORT.position : SUPPORT.position + 3] = support.position
        row[SUPPORT.force], row[SUPPORT.stiffness] = support.force, support.stiffness
        row[SUPPORT.damping] = support.damping
        row[SUPPORT.gas_slope], row[SUPPORT.exponent] = support.gas_slope, support.exponent
        row[SUPPORT.neutral_height] = table.neutral_position[2] + support.position[2]


def _fill_guides(block: PlantArrays, table: TableSettings) -> None:
    """The rotations that are held have the natural frequency of the translations."""
    mass = table.body.mass
    inertia = np.diag(_about_c(mass, np.array(table.body.centre_of_mass), np.array(table.body.inertia)))
    stiffness = table.guides.stiffness
    omega = 2.0 * math.pi * GUIDE_FREQUENCY if stiffness is None else math.sqrt(stiffness / mass)
    block.body[BODY.guided] = float(len(table.freedoms) < len(ALL_FREEDOMS))
    block.body[BODY.neutral : BODY.neutral + 3] = table.neutral_position
    block.body[BODY.guide_friction] = table.guides.friction
    for row, axis, size in zip(block.guides, ALL_FREEDOMS, [mass] * 3 + list(inertia), strict=True):
        if axis in table.freedoms:
            row[GUIDE.free] = 1.0
        else:
            row[GUIDE.stiffness] = size * omega * omega
            row[GUIDE.damping] = 2.0 * GUIDE_DAMPING * size * omega


def _about_c(mass: float, centre: FloatArray, inertia: FloatArray) -> FloatArray:
    """Return the inertia (3, 3) about C of a body with principal ``inertia`` about its own ``centre``."""
    return np.diag(inertia) + mass * (float(centre @ centre) * np.eye(3) - np.outer(centre, centre))


def _skew(vector: FloatArray) -> FloatArray:
    x, y, z = vector
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def _fill_drive(block: PlantArrays, table: TableSettings, period: float, tick: float) -> None:
    drive = table.drive
    parameters = block.drive
    parameters[DRIVE.tick] = tick
    parameters[DRIVE.period] = period
    parameters[DRIVE.high_pass_rate] = 2.0 * math.pi * drive.pressure_high_pass
    parameters[DRIVE.orifice_law] = float(drive.orifice_law)
    parameters[DRIVE.command_timeout] = drive.command_timeout
    parameters[DRIVE.fade_time] = drive.fade_time
    parameters[DRIVE.hold_time] = drive.hold_time
    parameters[DRIVE.lowering_speed] = drive.lowering_speed
    parameters[DRIVE.rejoin_acceleration] = drive.rejoin_acceleration
    for row, actuator, type_ in zip(block.nominal, table.links, table.types, strict=True):
        cylinder, valve, gains = type_.cylinder, type_.valve, type_.gains
        row[NOMINAL.return_pressure] = type_.supply.return_pressure
        area_1, area_2 = cylinder.piston_areas
        row[NOMINAL.length_gain] = type_.length_gain
        row[NOMINAL.pressure_damping] = type_.pressure_damping
        row[NOMINAL.rate_feedforward] = gains.rate_feedforward
        row[NOMINAL.valve_lead] = type_.valve_lead
        row[NOMINAL.force_feedforward] = gains.force_feedforward
        row[NOMINAL.neutral_length] = actuator.neutral_length
        row[NOMINAL.stroke] = actuator.stroke
        row[NOMINAL.area_1] = area_1
        row[NOMINAL.area_2] = area_2
        row[NOMINAL.gain] = valve.speed_gain(cylinder.piston_areas)
        row[NOMINAL.saturation] = valve.bend
        middle = cylinder.dead_length + actuator.stroke
        row[NOMINAL.stiffness] = cylinder.bulk_modulus * (area_1 + area_2) / middle
        row[NOMINAL.leak_speed] = cylinder.leakage / cylinder.mean_area**2
        height = table.neutral_position[2] + actuator.table_joint[2] - actuator.base_joint[2]
        ratio = height / actuator.neutral_length
        carries = ratio > CARRYING and "heave" in table.freedoms
        row[NOMINAL.descent] = ratio if carries else 0.0


def _fill_sensors(block: PlantArrays, table: TableSettings, truth: PlantTruth, tick: float) -> None:
    sensors = table.sensors
    parameters = block.sensors
    parameters[SENSOR.length_noise] = sensors.length.noise
    parameters[SENSOR.length_resolution] = sensors.length.resolution
    parameters[SENSOR.pressure_noise] = sensors.pressure.noise
    parameters[SENSOR.pressure_resolution] = sensors.pressure.resolution
    parameters[SENSOR.spool_noise] = sensors.spool.noise
    parameters[SENSOR.spool_resolution] = sensors.spool.resolution
    parameters[SENSOR.accelerometer_noise] = sensors.acceleration.noise
    parameters[SENSOR.accelerometer_resolution] = sensors.acceleration.resolution
    longest = (HISTORY_ROWS - 2) * tick
    for column, name, delay in (
        (SENSOR.length_delay, "length", sensors.length.delay),
        (SENSOR.pressure_delay, "pressure", sensors.pressure.delay),
        (SENSOR.spool_delay, "spool", sensors.spool.delay),
        (SENSOR.accelerometer_delay, "acceleration", sensors.acceleration.delay),
    ):
        if not delay <= longest:
            raise SettingsError(
                [f"sensors.{name}.delay is {delay:g} s, the simulated plant keeps at most {longest:g} s"]
            )
        parameters[column] = delay / tick
    n = len(table.links)
    calibration = block.calibration
    calibration[:, CALIBRATION.factor] = 1.0
    stated = {actuator.link: actuator for actuator in truth.actuators}
    for i, actuator in enumerate(table.links):
        own = stated.get(actuator.name)
        scale = own.transducer_scale if own is not None else 1.0
        offset = own.transducer_offset if own is not None else 0.0
        calibration[i, : CALIBRATION.drift] = (
            actuator.transducer.scale * scale,
            actuator.transducer.scale * offset + actuator.transducer.offset,
        )
        for chamber, transducer in enumerate(actuator.pressure_transducers):
            calibration[n + 2 * i + chamber, : CALIBRATION.drift] = transducer.scale, transducer.offset
    for k, accelerometer in enumerate(sensors.accelerometers):
        block.accelerometers[k, :3] = accelerometer.position
        block.accelerometers[k, 3:] = accelerometer.direction
        channel = 4 * n + 7 * len(table.packs) + k
        calibration[channel, : CALIBRATION.drift] = accelerometer.scale, accelerometer.offset
