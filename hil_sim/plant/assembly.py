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
    SUPPLY_STATE,
    SUPPORT,
    VALVE_ROWS,
    PlantArrays,
    plant_arrays,
)
from hil_sim.plant.supply import fill_supply
from hil_sim.plant.truth import PlantTruth, ValveTruth, true_actuators
from mastd.arrays import FloatArray, IntArray
from mastd.dynamics.actuator import ACTUATOR as KNOWN
from mastd.dynamics.actuator import actuator_rows
from mastd.errors import SettingsError
from mastd.settings.core.axes import AXES
from mastd.settings.table.actuators import ActuatorType
from mastd.settings.table.electric import FEEDBACK_CODES, ElectricSettings
from mastd.settings.table.held import CARRYING
from mastd.settings.table.hydraulics import MAX_VALVES
from mastd.settings.table.table import TableSettings
from mastd.wire.common.layout import Layout

MAX_STEP = 125.0e-6
"""Longest inner step (s)."""
GUIDE_FREQUENCY = 150.0
"""Natural frequency of the bare table on bearings of no stated stiffness (Hz)."""
GUIDE_DAMPING = 0.05
"""Damping ratio of the bare table on its bearings."""


def assemble(table: TableSettings, truth: PlantTruth, period: float, seed: int) -> PlantArrays:
    """Return the arrays with all parameters set and all states zero; ``period`` is that of the commands (s).

    Raises SettingsError for a truth that does not fit the table.
    """
    supports = len(table.supports) + len(truth.static_supports)
    block = plant_arrays(
        len(table.links),
        supports,
        len(table.sensors.accelerometers),
        max(1, len(table.packs)),
        len(table.sensors.displacement),
    )
    ticks = math.ceil(period * table.drive.update_rate - 1e-9)
    tick = period / ticks
    steps = math.ceil(tick / MAX_STEP - 1e-9)
    block.counters[COUNTER.tick_steps] = steps
    block.counters[COUNTER.seed] = seed
    _fill_actuators(block, table, truth, tick / steps)
    _fill_body(block, table, truth)
    block.supply_state[:, SUPPLY_STATE.pump_health] = 1.0
    # Without hydraulics the "pressure" is 1 while the power is on.
    block.supply[:, SUPPLY.tank_volume] = block.supply_state[:, SUPPLY_STATE.tank_oil] = 1.0
    block.supply[:, SUPPLY.drive_minimum] = 0.5
    for k, supply in enumerate(table.packs.values()):
        first = next(type_.cylinder for type_ in table.types if type_.electric is None)
        fill_supply(block.supply[k], block.supply_state[k], supply, truth.supply)
        block.supply[k, SUPPLY.line_volume] /= first.bulk_modulus
    block.actuators[:, ACTUATOR.supply] = table.fed_by
    _fill_drive(block, table, period, tick)
    _fill_sensors(block, table, truth, tick)
    return block


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
        "accelerometers": table.sensors.accelerometers,
        "displacements": table.sensors.displacement,
    }
    links = table.links
    sensors["pressures"] = [one for link in links for one in link.pressure_transducers or ()]
    sensors["pressure_differences"] = [
        link.pressure_difference_transducer for link in links if link.pressure_difference_transducer
    ]
    sensors["load_cells"] = [link.load_cell for link in links if link.load_cell]
    for name, several in sensors.items():
        if not several:
            continue
        scales[layout.slices[name]] = [sensor.scale for sensor in several]
        offsets[layout.slices[name]] = [sensor.offset for sensor in several]
    return scales, offsets


def valve_gain(rated_flow: float, rated_pressure_drop: float, saturation: float) -> tuple[float, float]:
    """Return G (m³/s per root Pa) and s of a valve (table-control.md 5.1)."""
    gain = rated_flow / math.sqrt(0.5 * rated_pressure_drop) / saturation
    return gain, math.sqrt(1.0 - saturation * saturation) / saturation


def sample_columns(table: TableSettings) -> IntArray:
    """Return which numbers of ``PlantArrays.measured`` a sample of ``table`` has, in its order."""
    n = len(table.links)
    pairs = [(kind, n + 2 * i) for i, kind in enumerate(table.feedback)]
    chambers = [k for kind, first in pairs if kind == "chamber_pressures" for k in (first, first + 1)]
    single = [
        first for wanted in ("pressure_difference", "load_cell") for kind, first in pairs if kind == wanted
    ]
    supply = range(4 * n, 4 * n + 7 * len(table.packs))
    last = 4 * n + 7 * max(1, len(table.packs))
    accelerometers = range(last, last + len(table.sensors.accelerometers))
    beside = range(accelerometers.stop, accelerometers.stop + len(table.sensors.displacement))
    spools = range(3 * n, 4 * n)
    return np.array([*range(n), *chambers, *single, *spools, *supply, *accelerometers, *beside])


def _fill_actuators(block: PlantArrays, table: TableSettings, truth: PlantTruth, step: float) -> None:
    longest_delay = (VALVE_ROWS - 2) * block.counters[COUNTER.tick_steps] * step
    columns = {
        ACTUATOR.coulomb: "coulomb",
        ACTUATOR.breakaway: "breakaway",
        ACTUATOR.stribeck_speed: "stribeck_velocity",
        ACTUATOR.viscous: "viscous",
        ACTUATOR.bristle_stiffness: "bristle_stiffness",
        ACTUATOR.bristle_damping: "bristle_damping",
        ACTUATOR.stop_stiffness: "stop_stiffness",
        ACTUATOR.stop_damping: "stop_damping",
    }
    hydraulic = {
        ACTUATOR.area_1: "area_1",
        ACTUATOR.area_2: "area_2",
        ACTUATOR.dead_length: "dead_length",
        ACTUATOR.bulk_modulus: "bulk_modulus",
        ACTUATOR.leakage: "leakage",
        ACTUATOR.relief_pressure: "relief_pressure",
        ACTUATOR.opening_rate: "opening_rate",
        ACTUATOR.overlap: "overlap",
    }
    trues = true_actuators(table, truth)
    valves = _true_valves(table, truth)
    for row, actuator, type_, true in zip(block.actuators, table.links, table.types, trues, strict=True):
        row[ACTUATOR.table_joint : ACTUATOR.table_joint + 3] = actuator.table_joint
        row[ACTUATOR.base_joint : ACTUATOR.base_joint + 3] = actuator.base_joint
        row[ACTUATOR.neutral_length] = actuator.neutral_length
        row[ACTUATOR.stroke] = actuator.stroke
        row[ACTUATOR.feedback] = FEEDBACK_CODES[type_.feedback]
        for column, key in (columns if type_.electric is not None else {**columns, **hydraulic}).items():
            row[column] = true[key]
        count = type_.valve.count if type_.electric is None else 1
        gain = _fill_valves(row, valves.get(actuator.name), count, true, step)
        if type_.electric is not None:
            _fill_electric(row, type_.electric, true)
        else:
            row[ACTUATOR.relief_conductance] = truth.cylinder.relief_conductance
            row[ACTUATOR.cushion_length] = truth.cylinder.cushion_length
            row[ACTUATOR.cushion_opening] = truth.cylinder.cushion_opening
            row[ACTUATOR.valve_gain], row[ACTUATOR.saturation] = valve_gain(
                gain * true["rated_flow"], type_.valve.rated_pressure_drop, true["saturation"]
            )
            row[ACTUATOR.port_ratio] = type_.valve.port_ratio
        # The trapezoidal rule of the spool's second-order lag over one step.
        omega = 2.0 * math.pi * true["natural_frequency"]
        damped = step * true["damping_ratio"] * omega
        square = 0.25 * (step * omega) ** 2
        row[ACTUATOR.spool_rate_kept] = (1.0 - damped - square) / (1.0 + damped + square)
        row[ACTUATOR.spool_rate_gain] = step * omega * omega / (1.0 + damped + square)
        pilot = type_.lag.pilot
        if pilot is not None:
            turn = math.pi * pilot * step
            row[ACTUATOR.pilot_ratio] = 2.0 * turn / (1.0 + turn)
        if not max(row[ACTUATOR.valve_delay : ACTUATOR.valve_delay + MAX_VALVES]) * step <= longest_delay:
            late = f"delay {true['delay']:g} s exceeds {longest_delay:g} s"
            raise SettingsError([f"{actuator.name}: {late}"])


def _fill_electric(row: FloatArray, electric: ElectricSettings, true: dict[str, float]) -> None:
    row[ACTUATOR.full_speed] = electric.maximum_speed * true["speed_gain"]
    row[ACTUATOR.maximum_force] = electric.maximum_force
    row[ACTUATOR.maximum_power] = electric.maximum_power
    row[ACTUATOR.stiffness], row[ACTUATOR.damping] = true["stiffness"], true["damping"]
    row[ACTUATOR.moving_mass] = electric.moving_mass
    row[ACTUATOR.braked] = float(electric.kind == "ball_screw")
    row[ACTUATOR.opening_rate] = np.inf
    # What oil would do with these is not computed, but they must not divide by zero.
    row[ACTUATOR.bulk_modulus] = 1.0


def _true_valves(table: TableSettings, truth: PlantTruth) -> dict[str, tuple[ValveTruth, ...]]:
    """Return what the truth says of the valves in parallel of an actuator, by its name.

    Raises SettingsError where it has another number of them than the table.
    """
    counts = {
        link.name: type_.valve.count if type_.electric is None else 1
        for link, type_ in zip(table.links, table.types, strict=True)
    }
    stated = {actuator.link: actuator.valves for actuator in truth.actuators if actuator.valves is not None}
    for name, valves in stated.items():
        if len(valves) != counts[name]:
            what = f"{len(valves)} valves of {name!r}, the table has {counts[name]} in parallel (valve.count)"
            raise SettingsError([f"plant truth {truth.name!r}: {what}"])
    return stated


def _fill_valves(
    row: FloatArray, stated: tuple[ValveTruth, ...] | None, count: int, true: dict[str, float], step: float
) -> float:
    """Write delay and share of each valve of an actuator; return the sum of their gains."""
    valves = stated or (ValveTruth(),) * count
    total = sum(valve.gain for valve in valves)
    row[ACTUATOR.valves] = count
    for k, valve in enumerate(valves):
        row[ACTUATOR.valve_delay + k] = (true["delay"] if valve.delay is None else valve.delay) / step
        row[ACTUATOR.valve_share + k] = valve.gain / total
    return total


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
    block.body[BODY.guided] = float(len(table.freedoms) < len(AXES))
    block.body[BODY.neutral : BODY.neutral + 3] = table.neutral_position
    block.body[BODY.guide_friction] = table.guides.friction
    for row, axis, size in zip(block.guides, AXES, [mass] * 3 + list(inertia), strict=True):
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
    known = actuator_rows(table)
    for i, (row, actuator, type_) in enumerate(zip(block.nominal, table.links, table.types, strict=True)):
        gains = type_.gains
        row[NOMINAL.return_pressure] = known[i, KNOWN.return_pressure]
        row[NOMINAL.length_gain] = type_.length_gain
        row[NOMINAL.pressure_damping] = type_.pressure_damping
        row[NOMINAL.rate_feedforward] = gains.rate_feedforward
        row[NOMINAL.valve_lead] = type_.valve_lead
        row[NOMINAL.force_feedforward] = gains.force_feedforward
        row[NOMINAL.neutral_length] = actuator.neutral_length
        row[NOMINAL.stroke] = actuator.stroke
        row[NOMINAL.area_1] = known[i, KNOWN.area_1]
        row[NOMINAL.area_2] = known[i, KNOWN.area_2]
        row[NOMINAL.reading_1], row[NOMINAL.reading_2] = _force_per_reading(type_)
        row[NOMINAL.full_speed] = known[i, KNOWN.full_speed]
        row[NOMINAL.gain] = known[i, KNOWN.gain]
        row[NOMINAL.saturation] = known[i, KNOWN.saturation]
        row[NOMINAL.stiffness] = known[i, KNOWN.stiffness]
        if type_.electric is None:
            areas = known[i, KNOWN.area_1] + known[i, KNOWN.area_2]
            row[NOMINAL.stiffness] = known[i, KNOWN.bulk_modulus] * areas / known[i, KNOWN.column]
        row[NOMINAL.leak_speed] = known[i, KNOWN.leak_speed]
        height = table.neutral_position[2] + actuator.table_joint[2] - actuator.base_joint[2]
        ratio = height / actuator.neutral_length
        carries = ratio > CARRYING and "heave" in table.freedoms
        row[NOMINAL.descent] = ratio if carries else 0.0


def _force_per_reading(type_: ActuatorType) -> tuple[float, float]:
    """Return what the two readings of an actuator's feedback count in its force, N per unit."""
    if type_.feedback == "chamber_pressures":
        return type_.cylinder.piston_areas[0], -type_.cylinder.piston_areas[1]
    if type_.feedback == "pressure_difference":
        return type_.cylinder.piston_areas[0], 0.0
    return float(type_.feedback == "load_cell"), 0.0


def _fill_sensors(block: PlantArrays, table: TableSettings, truth: PlantTruth, tick: float) -> None:
    sensors = table.sensors
    parameters = block.sensors
    parameters[SENSOR.length_noise] = sensors.length.noise
    parameters[SENSOR.length_resolution] = sensors.length.resolution
    if sensors.pressure is not None:
        parameters[SENSOR.pressure_noise] = sensors.pressure.noise
        parameters[SENSOR.pressure_resolution] = sensors.pressure.resolution
    parameters[SENSOR.spool_noise] = sensors.spool.noise
    parameters[SENSOR.spool_resolution] = sensors.spool.resolution
    parameters[SENSOR.accelerometer_noise] = sensors.acceleration.noise
    parameters[SENSOR.accelerometer_resolution] = sensors.acceleration.resolution
    longest = (HISTORY_ROWS - 2) * tick
    for column, name, delay in (
        (SENSOR.length_delay, "length", sensors.length.delay),
        (SENSOR.spool_delay, "spool", sensors.spool.delay),
        (SENSOR.accelerometer_delay, "acceleration", sensors.acceleration.delay),
    ):
        if not delay <= longest:
            raise SettingsError(
                [f"sensors.{name}.delay is {delay:g} s, the simulated plant keeps at most {longest:g} s"]
            )
        parameters[column] = delay / tick
    n = len(table.links)
    for i, kind in enumerate(table.feedback):
        sensor = sensors.force if kind == "load_cell" else sensors.pressure
        if sensor is None or kind == "none":
            continue
        if not sensor.delay <= longest:
            what = f"of the forces is {sensor.delay:g} s, the simulated plant keeps at most {longest:g} s"
            raise SettingsError([f"sensors: delay {what}"])
        block.force_sensors[2 * i : 2 * i + 2] = sensor.noise, sensor.resolution, sensor.delay / tick
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
        single = actuator.pressure_difference_transducer or actuator.load_cell
        transducers = actuator.pressure_transducers or ((single,) if single is not None else ())
        for reading, transducer in enumerate(transducers):
            calibration[n + 2 * i + reading, : CALIBRATION.drift] = transducer.scale, transducer.offset
    for k, accelerometer in enumerate(sensors.accelerometers):
        block.accelerometers[k, :3] = accelerometer.position
        block.accelerometers[k, 3:] = accelerometer.direction
        channel = 4 * n + 7 * max(1, len(table.packs)) + k
        calibration[channel, : CALIBRATION.drift] = accelerometer.scale, accelerometer.offset
    first = len(calibration) - len(sensors.displacement)
    errors = _displacement_errors(table, truth)
    for k, beside in enumerate(sensors.displacement):
        block.displacements[k, :3] = beside.table_point
        block.displacements[k, 3:] = beside.base_point
        scale, offset = errors.get(beside.name, (1.0, 0.0))
        calibration[first + k, : CALIBRATION.drift] = (
            beside.scale * scale,
            beside.scale * offset + beside.offset,
        )


def _displacement_errors(table: TableSettings, truth: PlantTruth) -> dict[str, tuple[float, float]]:
    """Return true scale and offset of the displacement transducers that the truth names.

    Raises SettingsError for a name that the table does not have, or one listed twice.
    """
    names = [one.name for one in table.sensors.displacement]
    found: dict[str, tuple[float, float]] = {}
    for index, one in enumerate(truth.displacement):
        place = f"plant truth {truth.name!r}: displacement[{index}].transducer"
        if one.transducer not in names:
            raise SettingsError(
                [
                    f"{place}: no displacement transducer {one.transducer!r}, the table has "
                    f"{', '.join(names) or 'none'}"
                ]
            )
        if one.transducer in found:
            raise SettingsError([f"{place}: {one.transducer!r} listed twice"])
        found[one.transducer] = one.scale, one.offset
    return found
