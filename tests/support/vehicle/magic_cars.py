"""Cars on Magic Formula tyres for tests: tied down, without offsets, and looked at within a step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from mastd.arrays import FloatArray
from mastd.lanes import LANES
from mastd.roads.ground import Ground
from mastd.vehicle.blocks.fields import BODY, STRAP, WHEEL
from mastd.vehicle.blocks.matrix_blocks import Weights
from mastd.vehicle.blocks.rotation import rotation_matrix
from mastd.vehicle.equilibrium.dense_equations import System
from mastd.vehicle.equilibrium.settle import wheel_frames
from mastd.vehicle.magic_formula.coefficients import COMBINED, FX, FY, MY, MZ
from mastd.vehicle.magic_formula.tyre import MagicTyre, depth_at
from mastd.vehicle.model.definition import Chock, Model, TieDown
from mastd.vehicle.model.library import find
from mastd.vehicle.simulation.simulation import Simulation
from mastd.vehicle.solver.compiled_step import Evaluation, evaluate
from mastd.vehicle.solver.full_jacobian import FullJacobian
from mastd.vehicle.state.arrays import Layout
from mastd.vehicle.state.inputs import InputLayout
from mastd.vehicle.state.motion import State, design_state
from tests.support.vehicle.oracle import Motion
from tests.support.vehicle.plain_wheel import Restraint

STEP = 1e-3
HEAVY = "transporter_8x8"


@cache
def bare(name: str) -> Model:
    """Return a shipped car without engine and air."""
    return replace(find(name), powertrain=None, aerodynamics=None)


def pressed(model: Model, pedal: float) -> FloatArray:
    """Return a row of inputs with the brake's pedal pressed, 0 … 1."""
    layout = InputLayout.of(model)
    row = layout.row()
    row[layout.driver] = [0.0, pedal, 0.0, 0.0]
    return row


def tiled(row: FloatArray, seconds: float, step: float = STEP) -> FloatArray:
    """Return that row for each step of a time."""
    return np.tile(row, (round(seconds / step), 1))


def turning(model: Model, k: int) -> FloatArray:
    """Return inputs of a turn that begins within 0.3 s, with brakes on from 0.7 s."""
    row = pressed(model, 0.3 if k > 700 else 0.0)
    row[:2] = 0.012 * min(k / 300, 1.0), 0.04 if k < 300 else 0.0
    return row


def spins_on_carriers(model: Model, simulation: Simulation) -> FloatArray:
    """Return how fast the wheels turn on their carriers, rad/s."""
    motion = Motion(model, simulation.state)
    own = [
        simulation.state.spin[k] - motion.omega[wheel.carrier] @ motion.axis(wheel.carrier, wheel.axis).value
        for k, wheel in enumerate(model.wheels)
    ]
    return np.array(own)


def friction_torques(simulation: Simulation) -> FloatArray:
    """Return what the friction brakes took of the wheels in the last step, N m, positive forwards."""
    wheels = simulation.layout.arrays.wheels
    return np.array([wheels[item, WHEEL.brake_torque, lane] for item, lane in simulation.layout.wheel])


def with_coefficients(model: Model, changes: dict[int, float], wheels: Sequence[int] | None = None) -> Model:
    """Return the car with other packed coefficients in the tyres of these wheels, by default of all."""
    changed = list(model.wheels)
    for index, wheel in enumerate(model.wheels):
        if isinstance(wheel.tyre, MagicTyre) and (wheels is None or index in wheels):
            coefficients = wheel.tyre.coefficients.copy()
            for place, value in changes.items():
                coefficients[place] = value
            changed[index] = replace(wheel, tyre=replace(wheel.tyre, coefficients=coefficients))
    return replace(model, wheels=tuple(changed))


OFFSETS = (
    FX.PHX1,
    FX.PHX2,
    FX.PVX1,
    FX.PVX2,
    FY.PHY1,
    FY.PHY2,
    FY.PHY3,
    FY.PKY6,
    FY.PKY7,
    FY.PVY1,
    FY.PVY2,
    FY.PVY3,
    FY.PVY4,
)
RESISTANCE = (MY.QSY1, MY.QSY2, MY.QSY3, MY.QSY4, MY.QSY5, MY.QSY6)
RESIDUAL = (MZ.QHZ1, MZ.QHZ2, MZ.QHZ3, MZ.QHZ4, MZ.QDZ6, MZ.QDZ7, MZ.QDZ8, MZ.QDZ9, MZ.QDZ10, MZ.QDZ11)
DRAWN = (COMBINED.RVY1, COMBINED.RVY2, COMBINED.RVY3)


def without_offsets(model: Model) -> Model:
    """Return the car on tyres that pull nowhere and roll without resistance at no slip and camber."""
    return with_coefficients(model, dict.fromkeys((*OFFSETS, *RESISTANCE, *RESIDUAL, *DRAWN), 0.0))


def restrained(model: Model, stiffness: float = 1e6, preload: float = 4e3) -> Model:
    """Return the car with four straps, outwards and down from the corners of its chassis, and a chock at each
    wheel of the first axle."""
    centres = np.array([wheel.centre for wheel in model.wheels])
    straps = []
    for k, (wheel, name) in enumerate(
        ((centres[0], "fl"), (centres[1], "fr"), (centres[-2], "rl"), (centres[-1], "rr"))
    ):
        ahead = 0.5 if k < 2 else -0.5
        point = np.array([wheel[0] - ahead, 0.6 * wheel[1], 0.7])
        anchor = np.array([wheel[0] + ahead, 1.1 * wheel[1], 0.0])
        straps.append(TieDown(name, point, anchor, stiffness, 0.005 * stiffness, preload))
    chocks = tuple(Chock(wheel, 0.005, stiffness, 0.01 * stiffness) for wheel in (0, 1))
    return replace(model, tie_downs=tuple(straps), chocks=chocks)


def fasten(layout: Layout, restraint: Restraint) -> None:
    """Write the straps' free lengths and the chocks into a car's arrays."""
    car = layout.arrays
    car.straps[:, STRAP.free_length] = restraint.lengths
    for chock in layout.model.chocks:
        item, lane = layout.wheel[chock.wheel]
        values = car.wheels[item, :, lane]
        values[WHEEL.chock_centre : WHEEL.chock_centre + 3] = restraint.centres[chock.wheel]
        values[WHEEL.chock_clearance], values[WHEEL.chock_stiffness] = chock.clearance, chock.stiffness
        values[WHEEL.chock_damping] = chock.damping


def restraint_of(
    model: Model, state: State, place: FloatArray | None = None, turn: FloatArray | None = None
) -> Restraint:
    """Return straps with their preloads, and chocks about the wheels, where the car stands in a state;
    ``place`` (3) and ``turn`` (3, 3) of the ground."""
    origin, axes = np.zeros(3) if place is None else place, np.eye(3) if turn is None else turn
    centres, _ = wheel_frames(model, state)
    chassis = rotation_matrix(state.attitude[0])
    lengths = []
    for strap in model.tie_downs:
        point = state.position[0] + chassis @ (strap.point - model.bodies[0].centre)
        length = float(np.linalg.norm(origin + axes @ strap.anchor - point))
        lengths.append(length - strap.preload / strap.stiffness)
    return Restraint(np.array(lengths), (centres - origin) @ axes)


class InAStep(System):
    """The equations as a step has them that begins with given loads (wheels) and deflections (wheels, 2).

    ``clock``: reach (s) and rate (1/s) of the step.
    """

    def __init__(
        self, model: Model, clock: tuple[float, float], loads: FloatArray, deflection: FloatArray
    ) -> None:
        super().__init__(model)
        self._clock, self._loads, self._deflection = clock, loads, deflection

    def _evaluate_at(
        self,
        inputs: FloatArray | None,
        ground: Ground | None,
        relative: bool,
        weights: Weights | None,
        clock: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        car = self.layout.arrays
        car.wheels[:, WHEEL.load, :] = self._loads[car.wheel_of]
        for k in range(2):
            car.wheels[:, WHEEL.deflection + k, :] = self._deflection[car.wheel_of, k]
        super()._evaluate_at(inputs, ground, relative, weights, self._clock)


class Rig:
    """One wheel on a carrier that is led over flat ground step by step; its load is that of its depth."""

    def __init__(self, name: str = "sedan", wheel: int = 0, step: float = 1e-3) -> None:
        """Take the tyre of a shipped car's wheel, upright on the quarter car's knuckle."""
        tyre = find(name).wheels[wheel].tyre
        assert isinstance(tyre, MagicTyre)
        quarter = find("quarter_car")
        self.tyre: MagicTyre = tyre
        self.model = replace(quarter, wheels=(replace(quarter.wheels[0], tyre=tyre),))
        self.step = step
        self._system = System(self.model)
        self._carrier = self._system.layout.body[quarter.wheels[0].carrier]
        self._wheel = self._system.layout.wheel[0]
        self._state = design_state(self.model)
        self._system.residual(self._state)
        self._last = np.zeros(3)
        self._row, self._ground = self._system.inputs.row(), Ground.flat().parameters
        self._matrices, self._weights = FullJacobian.of(self._system.layout), Weights(0.0, 0.0, 0.0, 0.0, 0.0)

    def put(self, load: float) -> None:
        """Put the wheel down at rest with this load (N), its carcass relaxed."""
        values = self._values()
        values[WHEEL.deflection : WHEEL.deflection + 2] = 0.0
        self._last = np.array([0.0, 0.0, self.height(load)])
        self._evaluate_at(np.zeros(3), 0.0, 0.0)

    def height(self, load: float) -> float:
        """Return the height of the wheel's centre (m) for a load (N)."""
        return self.tyre.free_radius - depth_at(self.tyre.coefficients, load)

    def lead(self, place: FloatArray, spin: float = 0.0, yaw_rate: float = 0.0) -> FloatArray:
        """Take a step to a place (3) of the wheel's centre, m; return F_x, F_y and the load, N."""
        velocity = (place - self._last) / self.step
        self._last = place
        self._evaluate_at(velocity, spin, yaw_rate)
        return self.force

    def drive(self, velocity: FloatArray, spin: float, steps: int) -> FloatArray:
        """Take steps at a constant velocity (3); return F_x, F_y and the load of each, (steps, 3)."""
        return np.array([self.lead(self._last + self.step * velocity, spin) for _ in range(steps)])

    @property
    def force(self) -> FloatArray:
        """F_x, F_y and the load, N."""
        values = self._values()
        return np.array([*values[WHEEL.contact_force : WHEEL.contact_force + 2], values[WHEEL.load]])

    @property
    def deflection(self) -> FloatArray:
        """Of the carcass, (2), m."""
        return self._values()[WHEEL.deflection : WHEEL.deflection + 2].copy()

    def _values(self) -> FloatArray:
        item, lane = self._wheel
        values: FloatArray = self._system.layout.arrays.wheels[item, :, lane]
        return values

    def _evaluate_at(self, velocity: FloatArray, spin: float, yaw_rate: float) -> None:
        car, (item, lane) = self._system.layout.arrays, self._carrier
        body = self.model.wheels[0].carrier
        arm = self.model.wheels[0].centre - self.model.bodies[body].centre
        values = car.bodies[item, :, lane]
        turn = np.array([0.0, 0.0, yaw_rate])
        values[BODY.position : BODY.position + 3] = self._last - arm
        values[BODY.velocity : BODY.velocity + 3] = velocity - np.cross(turn, arm)
        values[BODY.angular_velocity : BODY.angular_velocity + 3] = turn
        self._values()[WHEEL.spin] = spin
        for lane in range(1, LANES):
            car.bodies[item, :, lane] = values
            car.wheels[self._wheel[0], :, lane] = self._values()
        evaluate(
            car,
            self._matrices,
            self._row,
            self._ground,
            Evaluation(
                weights=self._weights,
                gravity=self.model.gravity,
                relative=False,
                jacobian=False,
                factors=False,
                reach=self.step,
                rate=1.0 / self.step,
                moving=False,
            ),
        )
