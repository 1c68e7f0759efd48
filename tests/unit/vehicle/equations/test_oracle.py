"""The tests' own calculation of the vehicle's equations, held against time differences and balances."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from mastd.arrays import FloatArray
from mastd.roads.ground import Ground
from mastd.vehicle.model.definition import Model
from mastd.vehicle.model.library import find
from mastd.vehicle.state.inputs import InputLayout
from mastd.vehicle.state.motion import State, design_state
from tests.support.vehicle.oracle import (
    Motion,
    Oracle,
    tyre_contact,
)
from tests.support.vehicle.variants import equipped

STEP = 1e-4


@pytest.fixture(scope="module")
def sedan() -> Model:
    return equipped(find("benchmark_sedan"))


def any_motion(model: Model, seed: int = 3) -> State:
    """Return every body near its place and moving on its own, the joints torn apart."""
    random = np.random.default_rng(seed)
    state = design_state(model)
    bodies, wheels = len(model.bodies), len(model.wheels)
    turns = Rotation.from_rotvec(0.2 * random.standard_normal((bodies, 3)))
    return replace(
        state,
        position=state.position + 0.02 * random.standard_normal((bodies, 3)),
        attitude=np.roll(turns.as_quat(), 1, axis=1),
        velocity=np.array([9.0, 0.0, 0.0]) + random.standard_normal((bodies, 3)),
        angular_velocity=random.standard_normal((bodies, 3)),
        spin=30.0 + random.standard_normal(wheels),
        acceleration=random.standard_normal((bodies, 3)),
        angular_acceleration=random.standard_normal((bodies, 3)),
        spin_acceleration=random.standard_normal(wheels),
        multipliers=1e3 * random.standard_normal(model.rows),
        bar_forces=1e3 * random.standard_normal(len(model.bars)),
    )


def later(state: State, time: float) -> State:
    """Return the state after a short time with constant accelerations, exact to its second order."""
    turn = Rotation.from_rotvec(time * state.angular_velocity + 0.5 * time**2 * state.angular_acceleration)
    attitude = Rotation.from_quat(np.roll(state.attitude, -1, axis=1)) * turn
    return replace(
        state,
        position=state.position + time * state.velocity + 0.5 * time**2 * state.acceleration,
        attitude=np.roll(attitude.as_quat(), 1, axis=1),
        velocity=state.velocity + time * state.acceleration,
        angular_velocity=state.angular_velocity + time * state.angular_acceleration,
        spin=state.spin + time * state.spin_acceleration,
    )


def test_rates_of_the_constraints_are_their_time_derivatives(sedan: Model) -> None:
    oracle, state = Oracle(sedan), any_motion(sedan)
    drive = np.array([[0.003, 0.2, 1.5]])

    def values(time: float) -> tuple[FloatArray, FloatArray]:
        moved = np.array([[0.003 + 0.2 * time + 0.75 * time**2, 0.2 + 1.5 * time, 1.5]])
        value, rate, _ = oracle.constraints(later(state, time), moved)
        return value, rate

    _, rate, second = oracle.constraints(state, drive)
    (ahead, ahead_rate), (behind, behind_rate) = values(STEP), values(-STEP)
    np.testing.assert_allclose((ahead - behind) / (2 * STEP), rate, rtol=0, atol=1e-6)
    np.testing.assert_allclose((ahead_rate - behind_rate) / (2 * STEP), second, rtol=0, atol=1e-6)
    assert np.min(np.abs(rate)) > 0.0
    assert np.min(np.abs(second)) > 0.0


def test_constraint_forces_do_the_work_of_the_constraints_rates(sedan: Model) -> None:
    oracle, state = Oracle(sedan), any_motion(sedan)
    free = replace(state, multipliers=np.zeros_like(state.multipliers))
    forces = oracle.residual(state) - oracle.residual(free)
    np.testing.assert_allclose(forces, oracle.joint_jacobian(state).T @ state.multipliers, atol=1e-8)


def test_inertia_forces_are_the_rates_of_the_momenta(sedan: Model) -> None:
    weightless = replace(sedan, gravity=0.0, springs=(), bars=())
    oracle, state = Oracle(weightless), replace(any_motion(sedan), bar_forces=np.zeros(0))
    state = replace(state, multipliers=np.zeros_like(state.multipliers))
    high = replace(state, position=state.position + np.array([0.0, 0.0, 5.0]))
    residual = oracle.residual(high)
    bodies = residual[: 6 * len(sedan.bodies)].reshape(-1, 6).copy()
    spins = residual[6 * len(sedan.bodies) :]

    def momenta(time: float) -> FloatArray:
        moved = later(high, time)
        motion = Motion(weightless, moved)
        angular = np.zeros((len(sedan.bodies), 3))
        for index, body in enumerate(sedan.bodies):
            angular[index] = motion.matrix[index] @ body.inertia @ moved.angular_velocity[index]
        for index, wheel in enumerate(sedan.wheels):
            axis = motion.matrix[wheel.carrier] @ wheel.axis
            angular[wheel.carrier] += wheel.axial_inertia * moved.spin[index] * axis
        return angular

    # The wheel's own axial share of the rate belongs to the spin's equation.
    motion = Motion(weightless, high)
    for index, wheel in enumerate(sedan.wheels):
        bodies[wheel.carrier, 3:] += spins[index] * (motion.matrix[wheel.carrier] @ wheel.axis)
    rates = (momenta(STEP) - momenta(-STEP)) / (2 * STEP)
    np.testing.assert_allclose(bodies[:, 3:], rates, atol=1e-4)
    masses = np.array([body.mass for body in sedan.bodies])
    np.testing.assert_allclose(bodies[:, :3], masses[:, None] * state.acceleration, atol=1e-9)


def test_forces_inside_the_vehicle_cancel(sedan: Model) -> None:
    """The vehicle turned and high up, its joints closed; velocities, multipliers, bars at random."""
    oracle = Oracle(replace(sedan, gravity=0.0))
    state, turn = any_motion(sedan), Rotation.from_rotvec([0.3, -0.2, 1.1])
    nothing = np.zeros_like(state.acceleration)
    whole = replace(
        state,
        position=turn.apply(design_state(sedan).position) + np.array([0.0, 0.0, 9.0]),
        attitude=np.tile(np.roll(turn.as_quat(), 1), (len(sedan.bodies), 1)),
        acceleration=nothing,
        angular_velocity=nothing,
        angular_acceleration=nothing,
    )
    bodies = oracle.residual(whole)[: 6 * len(sedan.bodies)].reshape(-1, 6)
    about_origin = bodies[:, 3:] + np.cross(whole.position, bodies[:, :3])
    assert np.max(np.abs(bodies)) > 1e3
    np.testing.assert_allclose(bodies[:, :3].sum(axis=0), 0.0, atol=1e-8)
    np.testing.assert_allclose(about_origin.sum(axis=0), 0.0, atol=1e-8)


def test_the_tyre_on_a_slope_by_hand(sedan: Model) -> None:
    """Wheel upright, 10 m/s ahead and 0.2 m/s to the left, 31 rad/s, on the rising flank of a bump."""
    ground = Ground.bump(-0.3, 1.2, 0.02)
    state = design_state(sedan)
    state.velocity[:] = [10.0, 0.2, 0.0]
    state.spin[:] = 31.0
    height, slope = 0.02 * np.sin(np.pi / 4), 0.02 * np.pi / 1.2 * np.cos(np.pi / 4)
    load = 220e3 * (0.3285 - (0.31 - height)) + 300.0 * slope * 10.0
    contact = tyre_contact(Motion(sedan, state), 0, ground)
    assert contact.load == pytest.approx(load, rel=1e-12)
    along = -20.0 * load * (10.0 - 31.0 * 0.32) / 10.0
    np.testing.assert_allclose(contact.force, [along, -14.0 * load * 0.02, load], rtol=1e-12)
    np.testing.assert_allclose(contact.point, [0.0, 0.79, height], rtol=1e-12)
    axial = Oracle(sedan).residual(state, None, ground)[-4]
    assert axial == pytest.approx((0.31 - height) * along, rel=1e-12)


def test_torques_react_where_they_should(sedan: Model) -> None:
    """A drive torque is taken from the chassis, a brake torque from the carrier."""
    oracle, state = Oracle(sedan), design_state(sedan)
    rest = oracle.residual(state)
    layout = InputLayout.of(sedan)
    row = layout.row()
    row[layout.drive_torque.start], row[layout.motor_torque.start] = 300.0, -200.0
    change = oracle.residual(state, row) - rest
    bodies = change[: 6 * len(sedan.bodies)].reshape(-1, 6)
    assert change[-4] == pytest.approx(-100.0)
    assert bodies[0, 4] == pytest.approx(300.0)
    assert bodies[sedan.wheels[0].carrier, 4] == pytest.approx(-200.0)
    assert np.sum(np.abs(change)) == pytest.approx(600.0)
