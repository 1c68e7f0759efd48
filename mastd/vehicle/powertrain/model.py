"""From engine to wheels: what a powertrain is made of, and its arrays for the compiled step.

Engine — launch device (clutch, converter, or nothing) — gearbox — twisted shaft — differentials — wheels. The
equations stand in ``step``, the index tables of its numbers in ``fields``. All SI; speeds are
angular velocities; a ratio is input over output speed.

    constants, state = pack(powertrain, model.wheels)
    drive_wheels(constants, state, driver, spins, step, torques)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np

from mastd.arrays import FloatArray
from mastd.vehicle.powertrain.engine import engine_torque
from mastd.vehicle.powertrain.fields import (
    CLUTCH,
    CONSTANT,
    CONSTANTS,
    CONVERTER_KIND,
    DIFFERENTIAL_SIZE,
    DIFFERENTIALS,
    NODE,
    NODE_SIZE,
    STATE,
)
from mastd.vehicle.powertrain.step import drive_wheels

__all__ = [
    "ChangeMap",
    "Clutch",
    "Converter",
    "Differential",
    "Engine",
    "Gearbox",
    "LockUp",
    "Powertrain",
    "drive_wheels",
    "pack",
    "problems",
    "reflected_inertia",
    "start",
]


LIMIT_BAND: Final = 0.02
"""Fraction of the limit speed over which the limiter takes the throttle back to nothing."""


class HasSpin(Protocol):
    """What the powertrain asks of a wheel (``model.Wheel``)."""

    @property
    def axial_inertia(self) -> float:
        """Return the inertia about the spin axis, kg m2."""


@dataclass(frozen=True, eq=False)
class Engine:
    """A combustion engine or an electric machine: torque over throttle and speed, bilinear, held beyond."""

    inertia: float
    """With all that turns with it: flywheel, clutch cover, converter pump."""
    throttles: FloatArray
    """(n) rising from 0 to 1."""
    speeds: FloatArray
    """(m) rising, from 0 or above."""
    torques: FloatArray
    """(n, m) N m on the shaft; the row of throttle 0 is the engine's drag."""
    idle_speed: float = 0.0
    """0: no idle controller."""
    idle_response: float = 0.2
    """s in which the idle controller settles."""
    limit_speed: float = math.inf
    """From here on the throttle is taken back, to nothing within ``LIMIT_BAND``."""
    stall_speed: float = 0.0
    """Below this nothing burns, and the engine stays out; 0: it does not go out."""


@dataclass(frozen=True)
class Clutch:
    """A dry clutch: the pedal takes its capacity from all to nothing between two positions."""

    capacity: float
    closed_pedal: float = 0.2
    open_pedal: float = 0.8
    closing_speeds: tuple[float, float] | None = None
    """Engine speeds between which an automatic clutch closes; None: the pedal alone."""


@dataclass(frozen=True)
class LockUp:
    """The clutch that bridges a converter."""

    capacity: float
    speed_ratio: float
    """Turbine over pump speed from which on it closes."""
    first_gear: int
    open_speed: float
    """Turbine speed below which it is open."""
    closing_time: float


@dataclass(frozen=True, eq=False)
class Converter:
    """A converter: pump torque = factor · (pump speed)², turbine torque = ratio · pump torque."""

    speed_ratios: FloatArray
    """(n) turbine over pump speed, rising from 0 to 1."""
    factors: FloatArray
    """(n) N m s2/rad2, 0 at the last."""
    torque_ratios: FloatArray
    """(n) at least 1; never more power out than in."""
    lock_up: LockUp | None = None


@dataclass(frozen=True, eq=False)
class ChangeMap:
    """When an automatic gearbox changes: speeds of its input shaft over the throttle pedal."""

    throttles: FloatArray
    up: FloatArray
    down: FloatArray
    duration: float
    """s in which the ratio passes from the old to the new one."""
    throttle_share: float
    """What is left of the throttle meanwhile."""
    hold: float
    """s after a change until the next may begin."""


@dataclass(frozen=True)
class Gearbox:
    """Ratios, inertias and how gears are engaged."""

    forward: tuple[float, ...]
    """Above 0, from the first gear."""
    reverse: tuple[float, ...]
    """Below 0."""
    efficiency: float
    input_inertia: float
    output_inertia: float
    synchroniser_torque: float
    """Most that brings the input shaft to the speed of the gear to be engaged, at the input."""
    changes: ChangeMap | None = None
    """None: the driver changes gears."""


@dataclass(frozen=True)
class Differential:
    """A ratio, then a differential between two outputs: wheels, or further differentials.

    The lock moves up to ``preload`` + ``torque_share`` · |torque of the cage| from the faster to the slower
    output: both 0 is open, an infinite preload is locked for good.
    """

    name: str
    first: int | Differential
    """A wheel's number or what is driven; of an axle the left wheel."""
    second: int | Differential
    ratio: float = 1.0
    """In front of the differential."""
    efficiency: float = 1.0
    torque_split: float = 0.5
    """Of the first output in the torque."""
    preload: float = 0.0
    torque_share: float = 0.0
    hub_ratio: float = 1.0
    """Behind the differential, the same to both wheels; of differentials that drive wheels."""


@dataclass(frozen=True, eq=False)
class Powertrain:
    """The whole."""

    engine: Engine
    launch: Clutch | Converter | None
    """None: engine and gearbox input are one shaft."""
    gearbox: Gearbox
    stiffness: float
    """N m/rad of the twisted shaft, with all that yields behind the gearbox, at the gearbox's output."""
    damping: float
    """N m s/rad."""
    driveline: Differential
    """The differential that the gearbox drives."""


def pack(powertrain: Powertrain, wheels: Sequence[HasSpin]) -> tuple[FloatArray, FloatArray]:
    """Return constants and the state at rest in neutral, engine idling, for ``drive_wheels``.

    ``wheels`` are all of the vehicle, by whose numbers the driveline names them.
    """
    inertias = [wheel.axial_inertia for wheel in wheels]
    nodes = _listed(powertrain.driveline)
    numbers: list[float] = [0.0] * CONSTANTS
    _pack_engine(numbers, powertrain.engine)
    _pack_launch(numbers, powertrain.launch)
    _pack_gearbox(numbers, powertrain.gearbox)
    numbers[CONSTANT.stiffness], numbers[CONSTANT.damping] = powertrain.stiffness, powertrain.damping
    numbers[CONSTANT.node_count] = len(nodes)
    indices = {id(node): -1.0 - k for k, node in enumerate(nodes)}
    _append(numbers, CONSTANT.nodes, [x for node in nodes for x in _node_numbers(node, indices, inertias)])
    constants = np.array(numbers)
    _prepare_idle(constants, powertrain.engine)
    state = np.zeros(DIFFERENTIALS + DIFFERENTIAL_SIZE * len(nodes))
    state[STATE.engine_speed] = state[STATE.clutch_slip] = powertrain.engine.idle_speed
    return constants, state


def start(powertrain: Powertrain, wheels: Sequence[HasSpin], spins: FloatArray, gear: int) -> FloatArray:
    """Return the state of a car under way: wheels at these spins (rad/s), gear engaged, nothing twisted.

    The engine turns with the gearbox where that is above its idle speed. Raises ValueError for a gear that
    the gearbox does not have.
    """
    constants, state = pack(powertrain, wheels)
    if not -len(powertrain.gearbox.reverse) <= gear <= len(powertrain.gearbox.forward):
        raise ValueError(f"gear {gear} is not one of the gearbox's")
    ratio = constants[int(constants[CONSTANT.gears]) + gear]
    speed = _mean_speed(powertrain.driveline, spins)
    state[STATE.output_speed] = state[STATE.wheel_speed] = speed
    state[STATE.gear], state[STATE.ratio], state[STATE.engaged] = gear, ratio, float(gear != 0)
    state[STATE.input_speed] = ratio * speed
    lowest = powertrain.engine.idle_speed
    rigid = powertrain.launch is None
    state[STATE.engine_speed] = ratio * speed if rigid else max(lowest, ratio * speed)
    state[STATE.clutch_slip] = state[STATE.engine_speed] - state[STATE.input_speed]
    return state


def reflected_inertia(driveline: Differential, wheel_inertias: Sequence[float]) -> float:
    """Return the inertia (kg m2) of all driven wheels (kg m2 each) at the driveline's input."""
    first, second = _output_inertias(driveline, wheel_inertias)
    torque_split = driveline.torque_split
    return 1.0 / (torque_split**2 / first + (1.0 - torque_split) ** 2 / second) / driveline.ratio**2


def problems(powertrain: Powertrain, wheel_inertias: Sequence[float], step: float) -> list[str]:
    """Return why a step (s) is too long for the shaft; nothing if it is not.

    The wheels get the shaft's torque of predicted spins. With J their inertia at the gearbox's output, the
    motion of the shaft between them and an engine of any inertia is stable for c h² / J + 2 d h / J up to 1.7
    where the vehicle's formula damps most (ρ = 0), and up to 2 for ρ from 0.5; up to 1 is allowed.
    """
    inertia = reflected_inertia(powertrain.driveline, wheel_inertias)
    spring = powertrain.stiffness * step**2 / inertia
    damper = 2.0 * powertrain.damping * step / inertia
    if spring + damper <= 1.0:
        return []
    rate = 2.0 * powertrain.damping / inertia
    longest = 2.0 / (rate + math.sqrt(rate**2 + 4.0 * powertrain.stiffness / inertia))
    return [
        f"the shaft is too stiff for a step of {1e3 * step:g} ms: with the wheels' {inertia:.4g} kg m2 at "
        f"the gearbox's output, stiffness h² / J + 2 damping h / J is {spring:.3g} + {damper:.3g}, at most 1 "
        f"is stable; take a step up to {1e3 * longest:.3g} ms or a softer shaft"
    ]


def _listed(driveline: Differential) -> list[Differential]:
    """Return all differentials, each before those that it drives."""
    found = [driveline]
    for output in (driveline.first, driveline.second):
        if isinstance(output, Differential):
            found.extend(_listed(output))
    return found


def _output_inertias(node: Differential, wheel_inertias: Sequence[float]) -> tuple[float, float]:
    first, second = (
        reflected_inertia(output, wheel_inertias)
        if isinstance(output, Differential)
        else wheel_inertias[output] / node.hub_ratio**2
        for output in (node.first, node.second)
    )
    return first, second


def _mean_speed(node: Differential, spins: FloatArray) -> float:
    first, second = (
        _mean_speed(output, spins) if isinstance(output, Differential) else node.hub_ratio * spins[output]
        for output in (node.first, node.second)
    )
    return float(node.ratio * (node.torque_split * first + (1.0 - node.torque_split) * second))


def _append(numbers: list[float], entry: int, values: Sequence[float] | FloatArray) -> None:
    """Put a block at the end, and its place into an entry."""
    numbers[entry] = len(numbers)
    numbers.extend(float(value) for value in values)


def _pack_engine(numbers: list[float], engine: Engine) -> None:
    numbers[CONSTANT.engine_inertia] = engine.inertia
    numbers[CONSTANT.throttle_count], numbers[CONSTANT.speed_count] = (
        len(engine.throttles),
        len(engine.speeds),
    )
    _append(numbers, CONSTANT.throttles, engine.throttles)
    _append(numbers, CONSTANT.speeds, engine.speeds)
    _append(numbers, CONSTANT.torques, np.asarray(engine.torques).ravel())
    numbers[CONSTANT.limit_speed] = engine.limit_speed
    numbers[CONSTANT.limit_band] = LIMIT_BAND * engine.limit_speed if engine.limit_speed < math.inf else 1.0
    numbers[CONSTANT.stall_speed] = engine.stall_speed


def _prepare_idle(constants: FloatArray, engine: Engine) -> None:
    """Write the idle controller's gains: a double pole at 2 / response, and the throttle without load."""
    if not engine.idle_speed > 0.0:
        return
    drag, full = (engine_torque(constants, throttle, engine.idle_speed)[0] for throttle in (0.0, 1.0))
    constants[CONSTANT.idle_speed] = engine.idle_speed
    constants[CONSTANT.idle_throttle] = min(max(-drag / (full - drag), 0.0), 1.0)
    pole = 2.0 / engine.idle_response
    constants[CONSTANT.idle_gain] = 2.0 * pole * engine.inertia / (full - drag)
    constants[CONSTANT.idle_rate] = pole**2 * engine.inertia / (full - drag)


def _pack_launch(numbers: list[float], launch: Clutch | Converter | None) -> None:
    if isinstance(launch, Clutch):
        numbers[CONSTANT.launch], numbers[CONSTANT.clutch_capacity] = CLUTCH, launch.capacity
        numbers[CONSTANT.pedal_closed], numbers[CONSTANT.pedal_open] = launch.closed_pedal, launch.open_pedal
        if launch.closing_speeds is not None:
            numbers[CONSTANT.closing_begin], numbers[CONSTANT.closing_end] = launch.closing_speeds
    elif isinstance(launch, Converter):
        numbers[CONSTANT.launch] = CONVERTER_KIND
        numbers[CONSTANT.converter_count] = len(launch.speed_ratios)
        _append(
            numbers,
            CONSTANT.converter,
            np.concatenate([launch.speed_ratios, launch.factors, launch.torque_ratios]),
        )
        lock = launch.lock_up or LockUp(0.0, math.inf, 0, math.inf, 1.0)
        numbers[CONSTANT.clutch_capacity], numbers[CONSTANT.lock_ratio] = lock.capacity, lock.speed_ratio
        numbers[CONSTANT.lock_gear], numbers[CONSTANT.lock_speed] = lock.first_gear, lock.open_speed
        numbers[CONSTANT.lock_time] = lock.closing_time


def _pack_gearbox(numbers: list[float], gearbox: Gearbox) -> None:
    numbers[CONSTANT.input_inertia], numbers[CONSTANT.output_inertia] = (
        gearbox.input_inertia,
        gearbox.output_inertia,
    )
    numbers[CONSTANT.synchroniser], numbers[CONSTANT.gearbox_loss] = (
        gearbox.synchroniser_torque,
        1.0 - gearbox.efficiency,
    )
    numbers[CONSTANT.forward], numbers[CONSTANT.reverse] = len(gearbox.forward), len(gearbox.reverse)
    _append(numbers, CONSTANT.gears, [*reversed(gearbox.reverse), 0.0, *gearbox.forward])
    numbers[CONSTANT.gears] += len(gearbox.reverse)
    changes = gearbox.changes
    if changes is not None:
        numbers[CONSTANT.change_count] = len(changes.throttles)
        _append(numbers, CONSTANT.changes, np.concatenate([changes.throttles, changes.up, changes.down]))
        numbers[CONSTANT.change_time], numbers[CONSTANT.hold_time] = changes.duration, changes.hold
        numbers[CONSTANT.change_throttle] = changes.throttle_share


def _node_numbers(
    node: Differential, node_indices: dict[int, float], wheel_inertias: Sequence[float]
) -> list[float]:
    """Return a differential's block."""
    block = [0.0] * NODE_SIZE
    block[NODE.first], block[NODE.second] = (
        node_indices[id(output)] if isinstance(output, Differential) else float(output)
        for output in (node.first, node.second)
    )
    first, second = _output_inertias(node, wheel_inertias)
    block[NODE.torque_split], block[NODE.ratio], block[NODE.loss] = (
        node.torque_split,
        node.ratio,
        1.0 - node.efficiency,
    )
    block[NODE.preload], block[NODE.bias] = node.preload, node.torque_share
    block[NODE.hub] = node.hub_ratio
    block[NODE.inertia] = 1.0 / (1.0 / first + 1.0 / second)
    return block
