"""The state of a car in the order of its model, and its way into the compiled blocks."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from mastd.arrays import FloatArray
from mastd.lanes import LANES
from mastd.vehicle.blocks.fields import BODY, CHASSIS, GROUP, WHEEL
from mastd.vehicle.elements.anti_roll_bar.arrays import BAR
from mastd.vehicle.joints.arrays import CONSTRAINT
from mastd.vehicle.joints.primitive import PrimitiveKind
from mastd.vehicle.model.definition import Model
from mastd.vehicle.state.arrays import Arrays, Layout


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
        values[BODY.position : BODY.position + 3] = state.position[body]
        values[BODY.attitude : BODY.attitude + 4] = state.attitude[body]
        values[BODY.start_attitude : BODY.start_attitude + 4] = state.attitude[body]
        values[BODY.rotation_vector : BODY.rotation_vector + 3] = 0.0
        values[BODY.velocity : BODY.velocity + 3] = state.velocity[body]
        values[BODY.angular_velocity : BODY.angular_velocity + 3] = state.angular_velocity[body]
        values[BODY.acceleration : BODY.acceleration + 3] = state.acceleration[body]
        values[BODY.angular_acceleration : BODY.angular_acceleration + 3] = state.angular_acceleration[body]
        values[BODY.mean_acceleration : BODY.mean_acceleration + 3] = state.acceleration[body]
        values[BODY.mean_angular_acceleration : BODY.mean_angular_acceleration + 3] = (
            state.angular_acceleration[body]
        )
    for wheel, (item, lane) in enumerate(layout.wheel):
        car.wheels[item, WHEEL.spin, lane] = state.spin[wheel]
        car.wheels[item, WHEEL.spin_acceleration, lane] = state.spin_acceleration[wheel]
        car.wheels[item, WHEEL.mean_spin_acceleration, lane] = state.spin_acceleration[wheel]
        car.wheels[item, WHEEL.deflection : WHEEL.deflection + 2, lane] = state.deflection[wheel]
    start = 0
    for primitive, (row, lane) in zip(model.primitives, layout.row, strict=True):
        count = primitive.kind.rows
        rows = car.joints.rows[row : row + count]
        rows[:, CONSTRAINT.multiplier, lane] = state.multipliers[start : start + count]
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
                (car.bodies, GROUP.first_body, GROUP.bodies),
                (car.joints.rows, GROUP.first_row, GROUP.rows),
            ):
                items = slice(int(line[first]), int(line[first] + line[count]))
                block[items, :, lane] = block[items, :, 0]
            if line[GROUP.wheel] >= 0:
                car.wheels[line[GROUP.wheel], :, lane] = car.wheels[line[GROUP.wheel], :, 0]
            if line[GROUP.bar] >= 0:
                bars[line[GROUP.bar], :, lane] = bars[line[GROUP.bar], :, 0]


def read_state(layout: Layout) -> State:
    """Return the state in the arrays."""
    car, model = layout.arrays, layout.model
    item_lanes = layout.body
    values = np.array([car.bodies[item, :, lane] for item, lane in item_lanes])
    wheels = [car.wheels[item, :, lane] for item, lane in layout.wheel]
    multipliers = [
        car.joints.rows[row + k, CONSTRAINT.multiplier, lane]
        for primitive, (row, lane) in zip(model.primitives, layout.row, strict=True)
        for k in range(primitive.kind.rows)
    ]
    return State(
        position=values[:, BODY.position : BODY.position + 3].copy(),
        attitude=values[:, BODY.attitude : BODY.attitude + 4].copy(),
        velocity=values[:, BODY.velocity : BODY.velocity + 3].copy(),
        angular_velocity=values[:, BODY.angular_velocity : BODY.angular_velocity + 3].copy(),
        acceleration=values[:, BODY.acceleration : BODY.acceleration + 3].copy(),
        angular_acceleration=values[:, BODY.angular_acceleration : BODY.angular_acceleration + 3].copy(),
        spin=np.array([wheel[WHEEL.spin] for wheel in wheels]),
        spin_acceleration=np.array([wheel[WHEEL.spin_acceleration] for wheel in wheels]),
        deflection=np.array([wheel[WHEEL.deflection : WHEEL.deflection + 2] for wheel in wheels]).reshape(
            -1, 2
        ),
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
