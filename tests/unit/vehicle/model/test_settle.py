"""The vehicle at rest: balances that hold for any car, known loads of one, and clear refusals."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from mastd.arrays import FloatArray
from mastd.vehicle.blocks.rotation import roll_pitch_yaw, rotate_attitude
from mastd.vehicle.equilibrium.dense_equations import System
from mastd.vehicle.equilibrium.settle import (
    Equilibrium,
    EquilibriumError,
    rolling,
    settle,
    straight_ahead,
    wheel_frames,
)
from mastd.vehicle.joints.primitive import PrimitiveKind
from mastd.vehicle.model.definition import Model
from mastd.vehicle.model.library import find
from mastd.vehicle.state.motion import State, design_state
from tests.support.vehicle.benchmark import benchmark_sedan
from tests.support.vehicle.oracle import Oracle
from tests.support.vehicle.variants import (
    equipped,
    with_bars,
    with_chassis_moved,
    with_last_axle_repeated,
    with_springs,
    with_stops,
)


def settled(model: Model, start: State | None = None, drive: FloatArray | None = None) -> Equilibrium:
    """Return the equilibrium of a model."""
    return settle(System(model), design_state(model) if start is None else start, drive=drive)


@pytest.fixture(scope="module")
def sedan() -> Model:
    return find("benchmark_sedan")


@pytest.fixture(scope="module")
def rest(sedan: Model) -> Equilibrium:
    return settled(sedan)


def unbalanced(model: Model, found: Equilibrium) -> tuple[float, FloatArray]:
    """Return weight minus wheel loads (N), and their moments about the origin (2) (N m)."""
    weights = model.gravity * np.array([body.mass for body in model.bodies])
    centres, _ = wheel_frames(model, found.state)
    moments = found.wheel_loads @ centres[:, :2] - weights @ found.state.position[:, :2]
    return float(np.sum(found.wheel_loads) - np.sum(weights)), moments


def test_the_benchmark_sedan_stands_where_it_is_known_to_stand(rest: Equilibrium) -> None:
    np.testing.assert_allclose(rest.wheel_loads, [4082.773, 4082.773, 3402.257, 3402.257], atol=0.1)
    assert rest.state.position[0, 2] == pytest.approx(0.55729296, abs=1e-8)
    assert rest.state.position[0, :2] == pytest.approx([-1.25991684, 0.0], abs=1e-7)
    roll, pitch, yaw = roll_pitch_yaw(rest.state.attitude[0])
    assert pitch == pytest.approx(2.904868e-3, abs=1e-9)
    assert [roll, yaw] == pytest.approx([0.0, 0.0], abs=1e-12)


def test_the_shared_description_gives_the_same_equilibrium(shared: Path, rest: Equilibrium) -> None:
    again = settled(benchmark_sedan(shared))
    np.testing.assert_allclose(again.wheel_loads, rest.wheel_loads, atol=1e-6)
    np.testing.assert_allclose(again.state.position[0], rest.state.position[0], atol=1e-10)


def test_nothing_moves_from_the_equilibrium(sedan: Model, rest: Equilibrium) -> None:
    oracle = Oracle(sedan)
    assert np.max(np.abs(oracle.residual(rest.state))) < 1e-4
    assert rest.residual_norm < 1e-4
    assert np.max(np.abs(oracle.constraints(rest.state)[0])) < 1e-10
    np.testing.assert_array_equal(rest.state.velocity, 0.0)
    np.testing.assert_array_equal(rest.state.spin, 0.0)


def test_an_independent_calculation_settles_in_the_same_place(sedan: Model) -> None:
    model = with_chassis_moved(equipped(sedan), (0.1, 0.05, 0.0))
    compiled, plain = settled(model), settle(Oracle(model), design_state(model))
    np.testing.assert_allclose(compiled.wheel_loads, plain.wheel_loads, atol=1e-4)
    np.testing.assert_allclose(compiled.state.position, plain.state.position, atol=1e-9)
    np.testing.assert_allclose(compiled.state.bar_forces, plain.state.bar_forces, atol=1e-4)


def test_the_centre_of_gravity_stays_over_its_place(sedan: Model, rest: Equilibrium) -> None:
    masses = np.array([body.mass for body in sedan.bodies])
    moved = masses @ (rest.state.position - design_state(sedan).position)
    np.testing.assert_allclose(moved[:2], 0.0, atol=1e-9 * np.sum(masses))


@pytest.mark.parametrize("shift", [(0.3, 0.0, 0.0), (-0.1, 0.12, 0.05)])
def test_loads_balance_the_weight_of_an_unevenly_loaded_car(
    sedan: Model, shift: tuple[float, float, float]
) -> None:
    model = with_chassis_moved(equipped(sedan), shift)
    force, moments = unbalanced(model, settled(model))
    assert force == pytest.approx(0.0, abs=1e-4)
    np.testing.assert_allclose(moments, 0.0, atol=1e-4)


def test_mirrored_loading_gives_mirrored_loads(sedan: Model) -> None:
    model = with_bars(sedan, 20e3)
    left = settled(with_chassis_moved(model, (0.0, 0.1, 0.0)))
    right = settled(with_chassis_moved(model, (0.0, -0.1, 0.0)))
    np.testing.assert_allclose(left.wheel_loads, right.wheel_loads[[1, 0, 3, 2]], atol=1e-6)
    np.testing.assert_allclose(left.state.bar_forces, -right.state.bar_forces, atol=1e-6)
    assert np.all(np.abs(left.state.bar_forces) > 10.0)
    rolls = [roll_pitch_yaw(found.state.attitude[0]) for found in (left, right)]
    np.testing.assert_allclose(rolls[0], rolls[1] * [-1.0, 1.0, -1.0], atol=1e-10)
    # Too much weight on the left: the left side goes down, a negative roll about x.
    assert rolls[0][0] < -1e-3


def test_anti_roll_bars_hold_the_body_upright(sedan: Model) -> None:
    rolls = []
    for stiffness in (1.0, 20e3, 200e3):
        model = with_chassis_moved(with_bars(sedan, stiffness), (0.0, 0.1, 0.0))
        rolls.append(abs(roll_pitch_yaw(settled(model).state.attitude[0])[0]))
    assert rolls[0] > 1.1 * rolls[1] > 1.1 * rolls[2]


def test_a_bump_stop_that_touches_carries_the_body(sedan: Model, rest: Equilibrium) -> None:
    soft = with_springs(sedan, 0.05)
    low = settled(with_stops(soft, 0.01, 0.1))
    lower = settled(with_stops(soft, 0.03, 0.1))
    assert lower.state.position[0, 2] + 0.005 < low.state.position[0, 2] < rest.state.position[0, 2]
    np.testing.assert_allclose(np.sum(low.wheel_loads), np.sum(rest.wheel_loads), atol=1e-4)


@pytest.mark.parametrize("height", [-0.2, 1.5])
def test_the_start_does_not_matter(sedan: Model, rest: Equilibrium, height: float) -> None:
    design, turn = design_state(sedan), np.array([0.1, -0.1, 0.0])
    start = replace(
        design,
        position=design.position + np.cross(turn, design.position) + np.array([0.0, 0.0, height]),
        attitude=rotate_attitude(design.attitude, turn),
        velocity=np.full_like(design.velocity, 3.0),
    )
    found = settled(sedan, start)
    np.testing.assert_allclose(found.wheel_loads, rest.wheel_loads, atol=1e-4)
    assert found.iterations < 20


def test_the_rack_steers_the_standing_wheels(sedan: Model, rest: Equilibrium) -> None:
    """The rack lies behind the axle: moved to the right it steers to the left."""
    found = settled(sedan, drive=np.array([-0.02]))
    _, axes = wheel_frames(sedan, found.state)
    steer = np.degrees(np.arctan2(-axes[:, 0], axes[:, 1]))
    assert np.all(steer[:2] > 8.0)
    assert np.all(np.abs(steer[2:]) < 0.2)
    assert np.sum(found.wheel_loads) == pytest.approx(np.sum(rest.wheel_loads), abs=1e-4)


def test_three_axles_settle(sedan: Model) -> None:
    model = with_last_axle_repeated(sedan, 1.2)
    found = settled(model)
    force, moments = unbalanced(model, found)
    assert len(found.wheel_loads) == 6
    assert force == pytest.approx(0.0, abs=1e-4)
    np.testing.assert_allclose(moments, 0.0, atol=1e-4)


def test_rolling_wheels_do_not_slip(sedan: Model, rest: Equilibrium) -> None:
    state = rolling(sedan, rest.state, 15.0)
    np.testing.assert_array_equal(state.velocity, np.tile([15.0, 0.0, 0.0], (len(sedan.bodies), 1)))
    _, axes = wheel_frames(sedan, state)
    along = 15.0 * np.cos(np.arctan2(-axes[:, 0], axes[:, 1]))
    np.testing.assert_allclose(state.spin * 0.320, along, rtol=1e-12)


def test_straight_ahead_is_steady_but_for_the_drag_of_toe(sedan: Model, rest: Equilibrium) -> None:
    oracle = Oracle(sedan)
    state = straight_ahead(System(sedan), rest.state, speed=25.0)
    assert np.max(np.abs(oracle.residual(state))) < 1e-4
    assert np.max(np.abs(oracle.constraints(state)[0])) < 1e-10
    _, rates, _ = oracle.constraints(state)
    assert np.max(np.abs(rates)) < 1e-9
    # Toe of α costs cornering stiffness · load · α² of each wheel, and no car here has more than 0.1° of it.
    assert -1e-3 < state.acceleration[0, 0] < 0.0
    np.testing.assert_allclose(state.acceleration[0, 1:], 0.0, atol=1e-6)


def test_a_car_that_falls_on_its_nose_is_refused(sedan: Model) -> None:
    model = with_chassis_moved(sedan, (1.9, 0.0, 0.0))
    with pytest.raises(EquilibriumError, match=r"rl 0\.0 N, rr 0\.0 N|rolls over"):
        settled(model)


def test_a_car_that_falls_on_its_side_is_refused(sedan: Model) -> None:
    model = with_chassis_moved(sedan, (0.0, 1.2, 0.0))
    with pytest.raises(EquilibriumError, match=r"fr 0\.0 N|rr 0\.0 N|rolls over"):
        settled(model)


def test_a_car_too_high_for_its_springs_is_refused(sedan: Model) -> None:
    model = with_chassis_moved(sedan, (0.0, 0.0, 6.0))
    with pytest.raises(EquilibriumError, match=r"unstable.*in roll|rolls over"):
        settled(model)


def test_a_linkage_that_does_not_close_is_named(sedan: Model) -> None:
    """A rod much too long for its two ends."""
    rod = next(p for p in sedan.primitives if p.kind is PrimitiveKind.DISTANCE)
    longer = tuple(replace(p, length=p.length + 1.0) if p is rod else p for p in sedan.primitives)
    with pytest.raises(EquilibriumError, match=r"front left .* stays open by"):
        settled(replace(sedan, primitives=longer))


def test_attitudes_turn_about_inertial_axes() -> None:
    attitude = np.array([1.0, 0.0, 0.0, 0.0])
    for turn in ([0.0, 0.0, 0.4], [0.0, 0.3, 0.0]):
        attitude = rotate_attitude(attitude, np.array(turn))
    # Yaw first, then pitch about the inertial y: Ry(0.3) Rz(0.4).
    matrix = roll_pitch_yaw(attitude)
    expected = np.array([np.cos(0.3) * np.cos(0.4), np.sin(0.4), -np.sin(0.3) * np.cos(0.4)])
    forward = np.array(
        [
            np.cos(matrix[1]) * np.cos(matrix[2]),
            np.cos(matrix[1]) * np.sin(matrix[2]),
            -np.sin(matrix[1]),
        ]
    )
    np.testing.assert_allclose(forward, expected, atol=1e-15)
    for vector in ([1e-12, 0.0, 0.0], [0.3, -1.2, 2.0], [0.0, 3.1, 0.0]):
        rotated = rotate_attitude(np.array([1.0, 0.0, 0.0, 0.0]), np.array(vector))
        found = Rotation.from_quat(np.roll(rotated, -1)).as_rotvec()
        np.testing.assert_allclose(found, vector, rtol=1e-12)
