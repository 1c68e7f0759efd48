"""Magic Formula tyres, friction brakes, air, straps and chocks inside the compiled equations.

They are held against ``tests/support/vehicle/plain_wheel.py``, which has them once more from their
definitions, and against their own differences, at states in which every body moves on its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from mastd.arrays import FloatArray
from mastd.roads.ground import Ground, GroundKind
from mastd.vehicle.equilibrium.dense_equations import System
from mastd.vehicle.model.definition import Chock, Model
from mastd.vehicle.model.library import find
from mastd.vehicle.solver.generalized_alpha import Formula
from mastd.vehicle.state.motion import State
from tests.support.vehicle.magic_cars import InAStep, fasten, restrained, restraint_of, without_offsets
from tests.support.vehicle.oracle import Oracle
from tests.support.vehicle.plain_wheel import PlainCar, Restraint
from tests.support.vehicle.states import PLACE, any_inputs, anywhere

CARS = ("sedan", "mcpherson_hatchback", "transporter_8x8")
TILT = Rotation.from_rotvec([0.03, -0.02, 0.4]).as_matrix()
TABLE = PLACE + np.array([0.8, -1.1, 0.1])
DRIFT, TURN = np.array([0.1, 0.2, 0.3]), np.array([0.3, 0.2, 0.1])
TILTED = Ground.plane(TABLE, TILT)
GROUNDS = {
    "flat": Ground.flat(),
    "split friction": Ground.flat().with_friction(0.3, 0.8),
    "one side's bump": Ground.bump(PLACE[0] - 10.0, 20.0, 0.05, "right"),
    "tilted plane": TILTED,
    "slippery plane that moves and turns": Ground.plane(TABLE, TILT, DRIFT, TURN).with_friction(0.5, 0.9),
}
SPEEDS = (9.0, -6.0, 0.05)
STEP, REACH = 1e-3, 0.8e-3
ROUNDING = 1e-10
"""Of the largest term: carcass lengths of the plain wheel are differences themselves."""
DIFFERENCES = 3e-9

Change = Callable[[State, FloatArray], State]


@cache
def car(name: str) -> Model:
    """Return a shipped car without its engine, tied down and chocked."""
    return restrained(replace(find(name), powertrain=None))


def deflected(model: Model, seed: int, speed: float) -> State:
    """Return a state of ``anywhere`` with carcasses deflected by a centimetre: some stick, some slide."""
    random = np.random.default_rng(seed + 50)
    return replace(
        anywhere(model, seed, speed), deflection=0.01 * random.standard_normal((len(model.wheels), 2))
    )


def rolled_away(model: Model, state: State, ground: Ground, seed: int) -> Restraint:
    """Return taut straps, and chocks that wheels push against before or behind, or have not reached."""
    if ground.kind is GroundKind.PLANE:
        values = np.array(ground.values)
        found = restraint_of(model, state, values[9:12], values[12:21].reshape(3, 3))
    else:
        found = restraint_of(model, state)
    ways = np.zeros((len(model.wheels), 3))
    ways[:2, 0] = ((0.012, -0.004), (-0.012, 0.009), (0.003, -0.02))[seed]
    return Restraint(found.lengths, found.centres - ways)


def loads_before(model: Model) -> FloatArray:
    """Return loads that the wheels may have carried before a step, the first one in the air."""
    return np.linspace(0.0, 6000.0, len(model.wheels))


@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("name", CARS)
def test_the_residual_in_steady_motion_is_that_of_the_definitions(name: str, ground: str) -> None:
    model = car(name)
    for seed, speed in enumerate(SPEEDS):
        state, row = anywhere(model, seed, speed), any_inputs(model, seed)
        restraint = rolled_away(model, state, GROUNDS[ground], seed)
        system = System(model)
        fasten(system.layout, restraint)
        found = system.residual(state, row, GROUNDS[ground])
        assert_equal(found, PlainCar(model, restraint).residual(state, row, GROUNDS[ground]), ROUNDING)


@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("name", CARS)
def test_the_residual_within_a_step_is_that_of_the_definitions(name: str, ground: str) -> None:
    model, loads = car(name), loads_before(car(name))
    for seed, speed in enumerate(SPEEDS):
        state, row = deflected(model, seed, speed), any_inputs(model, seed)
        restraint = rolled_away(model, state, GROUNDS[ground], seed)
        system = InAStep(model, (REACH, 1.0 / STEP), loads, state.deflection)
        fasten(system.layout, restraint)
        found = system.residual(state, row, GROUNDS[ground])
        plain = PlainCar(model, restraint)
        assert_equal(found, plain.residual(state, row, GROUNDS[ground], STEP, REACH, loads), ROUNDING)


def differences(
    system: System, state: State, acting: tuple[FloatArray, Ground], change: Change, directions: FloatArray
) -> FloatArray:
    """Return the residual's differences of the fourth order for changes of the state, a column for each."""

    def at(steps: float, direction: FloatArray) -> FloatArray:
        return system.residual(change(state, steps * direction), *acting)

    columns = [
        (8.0 * (at(1.0, unit) - at(-1.0, unit)) - at(2.0, unit) + at(-2.0, unit)) / 12.0
        for unit in directions
    ]
    return np.stack(columns, axis=1)


def constantly_pushed(model: Model) -> Model:
    """Return the car with chocks of 1 kN whatever it does: their change counts as none within a step."""
    chocks = tuple(Chock(wheel, 0.0, 1e-6, 0.0) for wheel in (0, 1))
    return replace(model, tie_downs=(), aerodynamics=None, chocks=chocks)


@pytest.mark.parametrize("within", [False, True])
@pytest.mark.parametrize("ground", ["flat", "tilted plane"])
@pytest.mark.parametrize("name", CARS)
def test_the_matrices_are_the_derivatives(name: str, ground: str, within: bool) -> None:
    """By acceleration, velocity and displacement, in steady motion or within a step.

    A wheel is in the air; one brake holds, others slip, drive and motor torques act and chocks push. Share
    and speed of rolling are those of the step's beginning, so tyres have no offsets here, and where a wheel
    nearly stands its spin is left alone. At rest the dampers' tables have a kink in their curvature.
    """
    model = without_offsets(constantly_pushed(car(name)))
    oracle, loads = Oracle(model), loads_before(model)
    for seed, speed in enumerate((*SPEEDS, 0.0)):
        state = oracle.with_bars((deflected if within else anywhere)(model, seed, speed))
        if speed == 0.0:
            state = replace(state, velocity=0.0 * state.velocity, angular_velocity=0.0 * state.velocity)
        row = any_inputs(model, seed)
        system = InAStep(model, (REACH, 1.0 / STEP), loads, state.deflection) if within else System(model)
        far = np.tile([-1e9, 0.0, 0.0], (len(model.wheels), 1))
        fasten(system.layout, Restraint(np.zeros(0), far))
        directions = np.random.default_rng(1).standard_normal((6, system.size))
        if abs(speed) < 1.0:
            directions[:, 6 * len(model.bodies) :] = 0.0

        acting = row, GROUNDS[ground]
        found = system.matrices(state, *acting)
        moves: tuple[tuple[FloatArray, Change, float], ...] = (
            (found.mass, oracle.accelerate, 1e-2),
            (found.damping, oracle.push, 1e-4),
            (found.stiffness, lambda at, step: oracle.with_bars(oracle.move(at, step)), 2e-6),
        )
        for matrix, change, size in moves:
            if matrix is found.damping and speed == 0.0:
                continue
            due = differences(system, state, acting, change, size * directions) / size
            assert_equal(matrix @ directions.T, due, DIFFERENCES)


def test_the_matrix_of_a_step_is_made_for_the_loads_that_the_tyres_carry() -> None:
    model = without_offsets(replace(car("sedan"), tie_downs=(), chocks=(), aerodynamics=None))
    oracle, formula = Oracle(model), Formula.of(STEP, 0.2)
    state = deflected(model, 2, 9.0)
    loads = System(model).wheel_loads(state)
    system = InAStep(model, (formula.velocity, 1.0 / STEP), loads, state.deflection)

    def change(at: State, increment: FloatArray) -> State:
        pushed = oracle.push(oracle.accelerate(at, increment), formula.velocity * increment)
        return oracle.move(pushed, formula.position * increment)

    directions = np.random.default_rng(1).standard_normal((6, system.size))
    acting = system.inputs.row(), Ground.flat()
    due = differences(system, state, acting, change, 0.1 * directions) / 0.1
    matrix = System(model).step_jacobian(state, formula, Ground.flat(), False)[: system.size, : system.size]
    assert_equal(matrix @ directions.T, due, DIFFERENCES)


def assert_equal(ours: FloatArray, theirs: FloatArray, share: float) -> None:
    """Fail unless both agree to a share of the largest."""
    np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=share * max(1.0, float(np.max(np.abs(theirs)))))
