"""A vehicle on the measured table: how it is put on, how it follows, and what it forgets."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from mastd.arrays import FloatArray
from mastd.vehicle.equilibrium.settle import weight
from mastd.vehicle.model.definition import Model
from mastd.vehicle.model.library import find
from mastd.vehicle.payload.on_table import FADE, VehicleOnTable
from mastd.vehicle.solver.choice import Solver
from tests.support.vehicle.cosimulation import HEIGHT, TOP, middle_place, standing

STEP = 1e-3
FINE = 0.25e-3
"""s: with it the time integrators differ by less than a hundredth of what the table asks."""
POSITION = slice(0, 3)
"""Of the chassis, in a row of signals."""


@pytest.fixture(scope="module")
def sedan() -> Model:
    return find("sedan")


def weight_at(model: Model, pose: FloatArray, centre: FloatArray) -> FloatArray:
    """Return the weight at C in P axes, of a mass at ``centre`` in B axes from C."""
    turn = Rotation.from_euler("ZYX", pose[5:2:-1]).as_matrix()
    force = np.array([0.0, 0.0, -weight(model)])
    return np.concatenate([turn.T @ force, turn.T @ np.cross(centre, force)])


def shaken(count: int, step: float = STEP) -> FloatArray:
    """Return poses (count, 6) of a table that moves in all axes, from rest."""
    times = step * np.arange(1, count + 1)[:, np.newaxis]
    rates = 2.0 * np.pi * np.array([1.3, 0.9, 2.1, 1.7, 1.1, 0.7])
    fade = np.minimum(times / 0.3, 1.0) ** 3
    return np.asarray(fade * [4e-3, 5e-3, 8e-3, 6e-3, 4e-3, 3e-3] * np.sin(rates * times))


@pytest.mark.parametrize("name", ["benchmark_sedan", "sedan", "transporter_8x8"])
def test_it_stands_on_a_still_level_table_with_its_weight_and_stays(name: str) -> None:
    model = find(name)
    vehicle = standing(model, STEP)
    pose = np.array([3e-3, -2e-3, -50.23e-3, 0.0, 0.0, 0.02])
    vehicle.lie(pose)
    begin = vehicle.wrench.copy()
    assert begin[2] == pytest.approx(-weight(model), rel=1e-9)
    assert begin[[0, 1, 5]] == pytest.approx(np.zeros(3), abs=1e-3)
    # Its pitching moment about C is that of a weight between the axles.
    assert abs(begin[4]) < 0.2 * weight(model)
    start = vehicle.signals[POSITION].copy()
    for _ in range(500):
        vehicle.follow(pose, 1)
        assert vehicle.missed == 0
        assert vehicle.wrench == pytest.approx(begin, abs=1e-6 * weight(model))
    assert vehicle.signals[POSITION] == pytest.approx(start, abs=2e-9)


def test_a_tilt_at_the_start_is_taken_over_smoothly(sedan: Model) -> None:
    vehicle = standing(sedan, STEP)
    pose = np.array([0.0, 0.0, -0.05, 0.012, -0.008, 0.0])
    vehicle.lie(pose)
    # It begins as on a level table: the whole weight along the table's own normal.
    assert vehicle.wrench[2] == pytest.approx(-weight(sedan), rel=1e-9)
    assert np.abs(vehicle.wrench[:2]).max() < 1e-3
    wrenches = []
    for _ in range(round((FADE + 4.0) / STEP)):
        vehicle.follow(pose, 1)
        assert vehicle.missed == 0
        wrenches.append(vehicle.wrench.copy())
    found = np.array(wrenches)
    end = found[-1]
    turn = Rotation.from_euler("ZYX", pose[5:2:-1]).as_matrix()
    force = turn @ end[:3]
    assert force == pytest.approx([0.0, 0.0, -weight(sedan)], abs=2.0)
    # The moment is that of the weight below the centre of gravity, where the table's tilt has taken it.
    arm = (turn @ end[3:])[1] / weight(sedan), -(turn @ end[3:])[0] / weight(sedan)
    height = sum(body.mass * body.centre[2] for body in sedan.bodies) / sum(b.mass for b in sedan.bodies)
    level = standing(sedan, STEP).wrench
    moved = np.array(arm) - np.array([level[4], -level[3]]) / weight(sedan)
    leaned = (turn @ [0.0, 0.0, HEIGHT + height])[:2]
    # It leans out a little on its springs.
    assert moved == pytest.approx(leaned, rel=0.15)
    # Without a jolt: the lateral force goes to its end, beyond it by a seventh: the car rocks once.
    share = found[:, 0] / end[0]
    assert share.max() < 1.15
    assert np.abs(np.diff(found[:, 0])).max() < 3.0 * abs(end[0]) / (FADE / STEP)


def test_several_periods_in_one_call_are_a_straight_line(sedan: Model) -> None:
    at_once, one_by_one = standing(sedan, STEP), standing(sedan, STEP)
    poses = shaken(300)
    for k in range(0, 300, 3):
        start = poses[k - 1] if k else np.zeros(6)
        at_once.follow(poses[k + 2], 3)
        for n in range(1, 4):
            one_by_one.follow(start + (poses[k + 2] - start) * n / 3.0, 1)
        assert at_once.missed == 0
        assert at_once.wrench == pytest.approx(one_by_one.wrench, rel=1e-7, abs=1e-4)
    assert at_once.signals == pytest.approx(one_by_one.signals, rel=1e-6, abs=1e-6)


def test_no_period_leaves_everything_as_it_is(sedan: Model) -> None:
    vehicle, other = standing(sedan, STEP), standing(sedan, STEP)
    for pose in shaken(100):
        vehicle.follow(pose, 1)
        vehicle.follow(pose + 1.0, 0)
        other.follow(pose, 1)
    assert np.array_equal(vehicle.wrench, other.wrench)
    assert np.array_equal(vehicle.signals, other.signals)


def ridden(vehicle: VehicleOnTable, poses: FloatArray) -> FloatArray:
    """Return wrenches and signals, one row each pose."""
    rows = []
    for pose in poses:
        vehicle.follow(pose, 1)
        rows.append(np.concatenate([vehicle.wrench, vehicle.signals]))
    return np.array(rows)


@pytest.mark.parametrize("name", ["benchmark_sedan", "transporter_8x8"])
def test_lying_down_forgets_everything_to_the_last_bit(name: str) -> None:
    vehicle, poses = standing(find(name), STEP), shaken(200)
    first = ridden(vehicle, poses)
    vehicle.lie(np.zeros(6))
    assert np.array_equal(ridden(vehicle, poses), first)


@pytest.mark.parametrize("name", ["benchmark_sedan", "transporter_8x8"])
def test_a_copy_through_a_pickle_goes_on_to_the_last_bit(name: str) -> None:
    vehicle, poses = standing(find(name), STEP), shaken(300)
    ridden(vehicle, poses[:100])
    copy = pickle.loads(pickle.dumps(vehicle))
    assert np.array_equal(ridden(copy, poses[100:]), ridden(vehicle, poses[100:]))


def test_its_place_on_the_table_moves_its_wrench_and_nothing_else(sedan: Model) -> None:
    x, y, z = middle_place(sedan)
    poses = shaken(300) * [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]
    here, there = standing(sedan, STEP), VehicleOnTable(sedan, STEP, (x + 0.3, y - 0.1, z), (2.5, 1.0))
    there.lie(np.zeros(6))
    first, second = ridden(here, poses), ridden(there, poses)
    force = first[:, :3]
    moment = np.cross([0.3, -0.1, 0.0], force) + first[:, 3:6]
    assert second[:, :3] == pytest.approx(force, rel=1e-6, abs=1e-3)
    assert second[:, 3:6] == pytest.approx(moment, rel=1e-6, abs=1e-3)


@pytest.mark.evidence
@pytest.mark.parametrize("name", ["sedan", "mcpherson_hatchback", "transporter_8x8"])
def test_measuring_noise_does_not_make_it_creep(name: str) -> None:
    """Ten minutes on a still table whose measured pose has 2 µm rms through a smoothing filter."""
    vehicle, random = standing(find(name), STEP), np.random.default_rng(1)
    level, farthest = np.zeros(6), 0.0
    start = vehicle.signals[POSITION].copy()
    share = 1.0 - np.exp(-2.0 * np.pi * 60.0 * STEP)
    for _ in range(60):
        noise = 2e-6 * random.standard_normal((10_000, 6))
        for row in noise:
            level += share * (row - level)
            vehicle.follow(level, 1)
        farthest = max(farthest, float(np.abs(vehicle.signals[POSITION] - start).max()))
    print(f"{name}: {1e6 * farthest:.2f} µm")
    assert farthest < 20e-6


@pytest.mark.parametrize(
    "solver",
    [Solver("independent", "adams-bashforth"), Solver("subsystem-joint"), Solver("partial-jacobian")],
    ids=lambda solver: solver.formulation,
)
def test_whatever_solves_its_equations_it_gives_the_same_wrench(sedan: Model, solver: Solver) -> None:
    place, top = middle_place(sedan), TOP
    ours = VehicleOnTable(sedan, FINE, place, top, solver=solver)
    usual = VehicleOnTable(sedan, FINE, place, top)
    vehicles = (ours, usual)
    level = np.zeros(6)
    for vehicle in vehicles:
        vehicle.lie(level)
    begin = ours.wrench.copy()
    assert begin == pytest.approx(usual.wrench, abs=1e-6 * weight(sedan))
    wrenches = []
    for pose in shaken(2400, FINE) + level:
        for vehicle in vehicles:
            vehicle.follow(pose, 1)
            assert vehicle.missed == 0
        wrenches.append([vehicle.wrench.copy() for vehicle in vehicles])
    found = np.array(wrenches)
    moved = np.abs(found[:, 1] - begin).max(axis=0)
    assert moved[2] > 500.0
    # Tyres are of the first order with any of them.
    assert np.abs(found[:, 0] - found[:, 1]).max() < 0.015 * moved.max()
    # What it has learned of the motion is forgotten, by a copy in another process as well.
    copy = pickle.loads(pickle.dumps(ours))
    for vehicle in (ours, copy):
        vehicle.lie(level)
        for pose in shaken(50, FINE) + level:
            vehicle.follow(pose, 1)
        np.testing.assert_array_equal(vehicle.wrench, found[49, 0])
