"""The state of a car in the order of its model, and its way into the compiled blocks."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from mastd.arrays import FloatArray
from mastd.lanes import LANES
from mastd.vehicle.blocks import fields as f
from mastd.vehicle.elements.anti_roll_bar.arrays import BAR
from mastd.vehicle.model.definition import Model, PrimitiveKind
from mastd.vehicle.state.arrays import Arrays, Layout
from mastd.vehicle.state.grouping import CHASSIS


@dataclass(frozen=True)
class State:
    """All that moves, in the order of the model's bodies, wheels, constraint rows and bars."""

    position: FloatArray
    """(bodies, 3) centres of mass, inertial axes."""
    attitude: FloatArray
    """(bodies, 4) unit quaternions w, x, y, z, body → inertial axes."""
    velocity: FloatArray
    angular_velocity: FloatArray
    """(bodies, 3) in body axes."""
    acceleration: FloatArray
    angular_acceleration: FloatArray
    spin: FloatArray
    """(wheels) angular velocity about the wheel axis, of the wheel, not against its carrier."""
    spin_acceleration: FloatArray
    deflection: FloatArray
    """(wheels, 2) of the carcasses of Magic Formula tyres along and across, m."""
    multipliers: FloatArray
    """(constraint rows), forces in the axes of the system's frame: inertial here."""
    bar_forces: FloatArray

    def copy(self) -> State:
        """Return a state that shares no array with this one."""
        return State(**{field.name: getattr(self, field.name).copy() for field in fields(self)})


def design_state(model: Model) -> State:
    """Return the design position at rest, without forces."""
    bodies, wheels = len(model.bodies), len(model.wheels)
    return State(
        position=np.array([body.centre for body in model.bodies]),
        attitude=np.tile([1.0, 0.0, 0.0, 0.0], (bodies, 1)),
        velocity=np.zeros((bodies, 3)),
        angular_velocity=np.zeros((bodies, 3)),
        acceleration=np.zeros((bodies, 3)),
        angular_acceleration=np.zeros((bodies, 3)),
        spin=np.zeros(wheels),
        spin_acceleration=np.zeros(wheels),
        deflection=np.zeros((wheels, 2)),
        multipliers=np.zeros(model.rows),
        bar_forces=np.zeros(len(model.bars)),
    )


def write_state(layout: Layout, state: State) -> None:
    """Write a state into the arrays; empty lanes get the state of their group's first lane."""
    car, model, bars = layout.arrays, layout.model, layout.arrays.elements.bars.bars
    for body, (item, lane) in enumerate(layout.body):
        values = car.bodies[item, :, lane]
        values[f.POSITION : f.POSITION + 3] = state.position[body]
        values[f.ATTITUDE : f.ATTITUDE + 4] = state.attitude[body]
        values[f.START_ATTITUDE : f.START_ATTITUDE + 4] = state.attitude[body]
        values[f.TURN : f.TURN + 3] = 0.0
        values[f.VELOCITY : f.VELOCITY + 3] = state.velocity[body]
        values[f.ANGULAR_VELOCITY : f.ANGULAR_VELOCITY + 3] = state.angular_velocity[body]
        values[f.ACCELERATION : f.ACCELERATION + 3] = state.acceleration[body]
        values[f.ANGULAR_ACCELERATION : f.ANGULAR_ACCELERATION + 3] = state.angular_acceleration[body]
        values[f.MEAN_ACCELERATION : f.MEAN_ACCELERATION + 3] = state.acceleration[body]
        values[f.MEAN_ANGULAR : f.MEAN_ANGULAR + 3] = state.angular_acceleration[body]
    for wheel, (item, lane) in enumerate(layout.wheel):
        car.wheels[item, f.SPIN, lane] = state.spin[wheel]
        car.wheels[item, f.SPIN_ACCELERATION, lane] = state.spin_acceleration[wheel]
        car.wheels[item, f.MEAN_SPIN, lane] = state.spin_acceleration[wheel]
        car.wheels[item, f.DEFLECTION : f.DEFLECTION + 2, lane] = state.deflection[wheel]
    start = 0
    for primitive, (row, lane) in zip(model.primitives, layout.row, strict=True):
        count = primitive.kind.rows
        car.rows[row : row + count, f.MULTIPLIER, lane] = state.multipliers[start : start + count]
        start += count
    for bar, (item, lane) in enumerate(layout.bar):
        bars[item, BAR.force, lane] = state.bar_forces[bar]
    car.bodies[CHASSIS] = car.bodies[CHASSIS, :, :1]
    repeat_first_lane(car)


def repeat_first_lane(car: Arrays) -> None:
    """Copy the state of each group's first lane into the lanes that are not in use."""
    bars = car.elements.bars.bars
    for group, line in enumerate(car.groups):
        for lane in range(LANES):
            if car.weights[group, lane] > 0:
                continue
            for block, first, count in (
                (car.bodies, f.G_FIRST_BODY, f.G_BODIES),
                (car.rows, f.G_FIRST_ROW, f.G_ROWS),
            ):
                items = slice(int(line[first]), int(line[first] + line[count]))
                block[items, :, lane] = block[items, :, 0]
            if line[f.G_WHEEL] >= 0:
                car.wheels[line[f.G_WHEEL], :, lane] = car.wheels[line[f.G_WHEEL], :, 0]
            if line[f.G_BAR] >= 0:
                bars[line[f.G_BAR], :, lane] = bars[line[f.G_BAR], :, 0]


def read_state(layout: Layout) -> State:
    """Return the state in the arrays."""
    car, model = layout.arrays, layout.model
    places = layout.body
    values = np.array([car.bodies[item, :, lane] for item, lane in places])
    wheels = [car.wheels[item, :, lane] for item, lane in layout.wheel]
    multipliers = [
        car.rows[row + k, f.MULTIPLIER, lane]
        for primitive, (row, lane) in zip(model.primitives, layout.row, strict=True)
        for k in range(primitive.kind.rows)
    ]
    return State(
        position=values[:, f.POSITION : f.POSITION + 3].copy(),
        attitude=values[:, f.ATTITUDE : f.ATTITUDE + 4].copy(),
        velocity=values[:, f.VELOCITY : f.VELOCITY + 3].copy(),
        angular_velocity=values[:, f.ANGULAR_VELOCITY : f.ANGULAR_VELOCITY + 3].copy(),
        acceleration=values[:, f.ACCELERATION : f.ACCELERATION + 3].copy(),
        angular_acceleration=values[:, f.ANGULAR_ACCELERATION : f.ANGULAR_ACCELERATION + 3].copy(),
        spin=np.array([wheel[f.SPIN] for wheel in wheels]),
        spin_acceleration=np.array([wheel[f.SPIN_ACCELERATION] for wheel in wheels]),
        deflection=np.array([wheel[f.DEFLECTION : f.DEFLECTION + 2] for wheel in wheels]).reshape(-1, 2),
        multipliers=np.array(multipliers),
        bar_forces=np.array([car.elements.bars.bars[item, BAR.force, lane] for item, lane in layout.bar]),
    )


def turned_forces(model: Model, state: State, turn: FloatArray) -> State:
    """Return the state with the multipliers of its ball joints, which are forces, turned by a matrix (3,
    3)."""
    multipliers, row = state.multipliers.copy(), 0
    for primitive in model.primitives:
        if primitive.kind is PrimitiveKind.SPHERICAL:
            multipliers[row : row + 3] = turn @ multipliers[row : row + 3]
        row += primitive.kind.rows
    return replace(state, multipliers=multipliers)
