"""Forward kinematics: the observer, its second order, Newton, the batch form, and when each must refuse."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mastd.arrays import FloatArray
from mastd.bench.kinematics import batch as batch_module
from mastd.bench.kinematics.batch import BLOCK, LANES, SCRATCH_SIZE, Batch, observe_batch
from mastd.bench.kinematics.newton import NORMAL_ROWS, Newton, solve_symmetric
from mastd.bench.kinematics.rows import Rows, newton_rows, observe_rows, second_order_rows
from mastd.bench.kinematics.second_order import SecondOrderObserver, length_hessian, observe_from_neutral
from mastd.errors import KinematicsError
from mastd.kinematics import workspace
from mastd.kinematics.forward import Observer
from mastd.kinematics.geometry import Geometry
from mastd.kinematics.observer import SolveLimits, null_residual, observe
from mastd.kinematics.rotation import SMALL_ANGLE
from mastd.kinematics.workspace import jacobians_at, lengths_at, within_strokes
from mastd.reproduce.jin_2012.tables import grid
from mastd.settings.core.loader import load, load_text
from mastd.settings.table.table import TableSettings
from tests.support.kinematics.bounds import pose_bounds
from tests.support.random_tables import random_table

TABLE = Path(__file__).parents[3] / "config" / "table.yaml"
GEOMETRY = Geometry.from_settings(load(TABLE, TableSettings))
OBSERVER = SecondOrderObserver(GEOMETRY)
LIMITS = SolveLimits(1e-6, 1e-8, 20)
LEGS = GEOMETRY.legs
POSE_SCALE = np.array([1.0, 1.0, 1.0, 1 / 0.8, 1 / 1.4, 1 / 1.4])
METHODS = ("observer", "second-order", "newton", "newton-geometric")


def solve(
    method: str,
    lengths: FloatArray,
    observer: SecondOrderObserver = OBSERVER,
    *,
    update_tolerance: float = 1e-8,
    maximum_updates: int = 20,
    start: FloatArray | None = None,
) -> Rows:
    found = Rows.of(len(lengths))
    starts = np.zeros((len(lengths), 6)) if start is None else start
    limits = SolveLimits(1e-6, update_tolerance, maximum_updates)
    legs = observer.geometry.legs
    if method == "observer":
        observe_rows(legs, observer.gain, lengths, limits, starts, found)
    elif method == "second-order":
        second_order_rows(legs, observer.model, lengths, limits, starts, np.empty(36), found)
    else:
        work = np.empty((NORMAL_ROWS, 6))
        newton_rows(legs, method == "newton", lengths, limits, starts, work, found)
    return found


def poses_with_lengths_within(limit: float, count: int, seed: int = 5) -> FloatArray:
    """Random poses, every length within ``limit`` of neutral, half of them scaled out to meet it."""
    generator = np.random.default_rng(seed)
    poses = generator.uniform(-1.3, 1.3, (60 * count, 6)) * limit * POSE_SCALE
    reach = np.abs(lengths_at(GEOMETRY, poses) - GEOMETRY.neutral_lengths).max(axis=1)
    outer = poses * (0.97 * limit / reach)[:, None]
    both = np.vstack((poses[reach <= limit][: count // 2], outer[: 2 * count]))
    reach = np.abs(lengths_at(GEOMETRY, both) - GEOMETRY.neutral_lengths).max(axis=1)
    return np.ascontiguousarray(both[reach <= limit][:count])


@pytest.mark.parametrize("method", METHODS)
def test_forward_inverts_inverse_over_the_grid(method: str) -> None:
    poses = grid()[::37]
    found = solve(method, lengths_at(GEOMETRY, poses))
    assert found.converged.all()
    assert found.residuals.max() < 1e-6
    assert np.abs(found.poses - poses).max() < 1e-6


@pytest.mark.parametrize(("limit", "most"), [(0.05, 6), (0.1, 10)])
def test_every_pose_within_reach_is_found_in_few_updates(limit: float, most: int) -> None:
    poses = poses_with_lengths_within(limit, 8000)
    assert len(poses) > 4000
    found = solve("observer", lengths_at(GEOMETRY, poses))
    assert found.converged.all()
    assert found.updates.max() <= most
    assert np.abs(found.poses - poses).max() < 2e-6


def test_second_order_needs_two_updates_on_the_grid() -> None:
    poses = grid()
    found = solve("second-order", lengths_at(GEOMETRY, poses))
    assert found.converged.all()
    assert found.updates.mean() <= 2.05
    assert found.updates.max() <= 3
    assert np.abs(found.poses - poses).max() < 1e-6


@pytest.mark.parametrize("method", METHODS)
def test_a_far_pose_is_found_rightly_or_not_at_all(method: str) -> None:
    generator = np.random.default_rng(11)
    for amplitude in (0.4, 0.8, 2.0):
        poses = generator.uniform(-amplitude, amplitude, (6000, 6)) * POSE_SCALE
        lengths = lengths_at(GEOMETRY, poses)
        far = np.abs(lengths - GEOMETRY.neutral_lengths).max(axis=1) > 0.3
        found = solve(method, lengths[far], maximum_updates=50)
        assert (found.residuals[found.converged] < 1e-6).all()
        again = lengths_at(GEOMETRY, found.poses[found.converged])
        assert np.abs(again - lengths[far][found.converged]).max(initial=0.0) < 1e-6


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, -1.2, 0.0, 1e-9, 30.0, 1e300])
def test_impossible_lengths_are_never_a_pose(method: str, bad: float) -> None:
    for actuator in range(7):
        lengths = np.full((1, 7), 1.2)
        lengths[0, actuator] = bad
        start = np.full((1, 6), 1e-3)
        found = solve(method, lengths, start=start)
        assert not found.converged[0]
        assert np.array_equal(found.poses, start), "the warm start must stay for the next cycle"
        assert found.updates[0] <= 20


@pytest.mark.parametrize("method", METHODS)
def test_a_length_below_zero_is_refused_even_where_the_residual_is_small(method: str) -> None:
    start = np.array([[-1.2 + 2e-7, 0.0, 0.0, 0.0, 0.0, 0.0]])
    lengths = lengths_at(GEOMETRY, start)
    assert 0.0 < lengths[0, 6] < 3e-7
    assert solve(method, lengths, start=start).converged[0]
    lengths[0, 6] = -lengths[0, 6]
    assert not solve(method, lengths, start=start).converged[0]


@pytest.mark.parametrize("method", METHODS)
def test_lengths_that_contradict_each_other_are_no_measurement(method: str) -> None:
    lengths = np.full((1, 7), 1.2)
    lengths[0, 0] += 0.001
    assert solve(method, lengths).converged[0]
    lengths[0, 0] += 0.016
    assert not solve(method, lengths).converged[0]


def test_a_solver_object_answers_none_for_impossible_lengths() -> None:
    solution = OBSERVER.solve(np.full(7, np.nan))
    assert solution.pose is None
    assert not solution.converged
    with pytest.raises(KinematicsError, match="7 actuators"):
        OBSERVER.solve(np.full(6, 1.2))


@pytest.mark.parametrize("method", METHODS)
def test_measured_lengths_stop_on_the_size_of_the_update(method: str) -> None:
    poses = poses_with_lengths_within(0.05, 500)
    noise = np.random.default_rng(2).normal(0, 20e-6, (len(poses), 7))
    lengths = lengths_at(GEOMETRY, poses) + noise
    found = solve(method, lengths, update_tolerance=1e-7)
    assert found.converged.all()
    assert found.updates.max() <= 9
    assert np.median(found.residuals) > 1e-5, "the floor of Σ|g|"
    assert np.abs(found.poses - poses).max() < 2e-4
    endless = solve(method, lengths, update_tolerance=0.0)
    assert not endless.converged[endless.residuals > 1e-6].any()


def test_observer_finds_the_least_squares_pose_of_measured_lengths() -> None:
    lengths = GEOMETRY.neutral_lengths + np.array([1e-5, -2e-5, 3e-5, 0.0, 1e-5, 0.0, 0.0])
    solution = OBSERVER.solve(lengths)
    expected = np.linalg.lstsq(jacobians_at(GEOMETRY, np.zeros((1, 6)))[0], lengths - 1.2, rcond=None)[0]
    assert solution.pose is not None
    assert np.abs(solution.pose - expected).max() < 1e-8


def test_redundancy_is_the_twist_of_the_four_vertical_actuators() -> None:
    assert np.allclose(OBSERVER.null_vectors, [[-0.5, 0.5, -0.5, 0.5, 0, 0, 0]], rtol=0, atol=1e-12)
    true = np.array([1e-3, -2e-3, 3e-3, 1e-3, -1e-3, 2e-3])
    lengths = lengths_at(GEOMETRY, true)[0]
    lengths[2] += 2e-4
    pose, redundancy = np.zeros(6), np.zeros(1)
    converged, updates, residual = observe(LEGS, OBSERVER.gain, lengths, LIMITS, pose)
    null_residual(LEGS, OBSERVER.null_vectors, lengths, pose, redundancy)
    assert converged
    assert updates <= 6
    assert redundancy[0] == pytest.approx(0.5 * 2e-4, rel=0.02)
    assert residual == pytest.approx(4 * 0.25 * 2e-4, rel=0.02)
    lengths[0] = np.nan
    before = pose.copy()
    assert not observe(LEGS, OBSERVER.gain, lengths, LIMITS, pose)[0]
    assert np.array_equal(pose, before)


def test_known_neutral_lengths_save_an_evaluation_and_change_nothing() -> None:
    for lengths in lengths_at(GEOMETRY, grid()[::5003]):
        cold, known = np.zeros(6), np.zeros(6)
        expected = observe(LEGS, OBSERVER.gain, lengths, LIMITS, cold)
        found = observe_from_neutral(LEGS, OBSERVER.model, lengths, LIMITS, known)
        assert found[:2] == expected[:2]
        assert np.abs(known - cold).max() < 1e-14


def batch(observer: SecondOrderObserver, lengths: FloatArray) -> Batch:
    count = len(lengths)
    found = Batch(np.empty((count, 6)), np.empty(count), np.empty(count, np.bool_))
    scratch, index = np.empty(SCRATCH_SIZE), np.empty(LANES, np.int64)
    observe_batch(observer.geometry.legs, observer.model, lengths, LIMITS, found, scratch, index)
    return found


@pytest.mark.parametrize("count", [1, LANES - 1, LANES, 5 * LANES + 3])
def test_batch_solves_any_number_of_rows(count: int) -> None:
    poses = poses_with_lengths_within(0.05, 400)[:count]
    found = batch(OBSERVER, lengths_at(GEOMETRY, poses))
    assert found.converged.all()
    assert found.residuals.max() < 1e-6
    assert np.abs(found.poses - poses).max() < 1e-6


def test_batch_refuses_row_by_row() -> None:
    poses = poses_with_lengths_within(0.05, 200)[:100]
    lengths = lengths_at(GEOMETRY, poses)
    lengths[3, 2], lengths[40, 0], lengths[99, 6] = np.nan, -1.2, 40.0
    lengths[7] += np.random.default_rng(1).normal(0, 2e-5, 7)
    far = np.array([0.0, 0.0, 0.0, 0.3, 0.0, 0.0])
    lengths[8] = lengths_at(GEOMETRY, far)[0]
    found = batch(OBSERVER, lengths)
    refused = [3, 40, 99]
    assert not found.converged[refused].any()
    assert np.isnan(found.poses[refused]).all()
    assert np.delete(found.converged, refused).all()
    assert np.abs(found.poses[8] - far).max() < 1e-6
    assert 1e-6 < found.residuals[7] < 1e-3


def test_batch_leaves_angles_beyond_the_series_to_the_scalar_kernel() -> None:
    constants, block = np.zeros(SCRATCH_SIZE), np.zeros(SCRATCH_SIZE)
    block[:] = 1.0
    batch_module._residual_block(constants, block)
    assert np.isnan(block[BLOCK.residual * LANES])
    block[3 * LANES : 6 * LANES] = SMALL_ANGLE
    batch_module._residual_block(constants, block)
    assert np.isfinite(block[BLOCK.residual * LANES])


def test_normal_equations_are_solved_as_by_the_library() -> None:
    factor = np.random.default_rng(0).normal(0, 1, (8, 6))
    matrix, right = factor.T @ factor, np.arange(1.0, 7.0)
    work = np.zeros((NORMAL_ROWS, 6))
    work[:6], work[12] = np.tril(matrix), right
    assert solve_symmetric(work) > 0.0
    assert np.allclose(work[12], np.linalg.solve(matrix, right), rtol=1e-12, atol=0)


def hexapod(generator: np.random.Generator, actuators: int) -> Geometry:
    """A well-spread random geometry of any number of actuators, which lean alternately both ways."""
    turns = np.arange(actuators) * 2 * np.pi / actuators + generator.uniform(-0.1, 0.1, actuators)
    lean = 0.6 * (-1.0) ** np.arange(actuators)
    around = np.column_stack((np.cos(turns), np.sin(turns), np.zeros(actuators)))
    base = np.column_stack((1.6 * np.cos(turns + lean), 1.6 * np.sin(turns + lean), np.zeros(actuators)))
    joints = around * generator.uniform(0.9, 1.1, (actuators, 1)) + [0, 0, -0.2]
    base[:, 2] = generator.uniform(-0.1, 0.1, actuators)
    position = np.array([0.0, 0.0, 1.8])
    lengths = np.linalg.norm(position + joints - base, axis=1)
    return Geometry(joints, base, position, lengths, np.full(actuators, 0.05), np.zeros(3))


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 100_000), actuators=st.integers(6, 10))
def test_any_geometry_that_contracts_inverts_its_inverse(seed: int, actuators: int) -> None:
    generator = np.random.default_rng(seed)
    geometry = hexapod(generator, actuators)
    try:
        observer = SecondOrderObserver(geometry)
    except KinematicsError:
        pose = generator.uniform(-0.01, 0.01, 6)
        solution = Newton(geometry).solve(lengths_at(geometry, pose)[0])
        assert not solution.converged or solution.residual < 1e-6
        return
    poses = generator.uniform(-0.03, 0.03, (50, 6))
    poses = np.ascontiguousarray(poses[within_strokes(geometry, poses)])
    lengths = lengths_at(geometry, poses)
    for method in METHODS:
        found = solve(method, lengths, observer)
        assert found.converged.all()
        assert np.abs(found.poses - poses).max(initial=0.0) < 1e-4
    assert batch(observer, lengths).converged.all()
    assert observer.null_vectors.shape == (actuators - 6, actuators)
    assert np.abs(observer.null_vectors @ jacobians_at(geometry, np.zeros(6))[0]).max(initial=0.0) < 1e-12


def test_hessian_is_the_second_difference_of_the_lengths() -> None:
    for geometry in (GEOMETRY, hexapod(np.random.default_rng(0), 8)):
        hessian = length_hessian(geometry)
        h = 1e-4
        for i, j in ((0, 0), (1, 4), (3, 3), (3, 4), (4, 5), (5, 2), (5, 5), (3, 5)):
            a, b = np.eye(6)[i] * h, np.eye(6)[j] * h
            corners = lengths_at(geometry, np.array([a + b, a - b, b - a, -a - b]))
            difference = (corners[0] - corners[1] - corners[2] + corners[3]) / (4 * h * h)
            assert np.abs(difference - hessian[:, i, j]).max() < 1e-6


def test_a_geometry_that_does_not_contract_is_refused_with_the_figure() -> None:
    wide = dataclasses.replace(GEOMETRY, strokes=np.full(7, 0.6))
    with pytest.raises(KinematicsError, match=r"leaves [0-9.]+ of the error.*0\.5, and 12 updates of Newton"):
        Observer(wide)
    pose = np.array([0.05, -0.05, 0.05, 0.05, 0.02, -0.02])
    solution = Newton(wide).solve(lengths_at(wide, pose)[0])
    assert solution.pose is not None
    assert np.abs(solution.pose - pose).max() < 1e-6


def test_strokes_that_are_long_against_the_actuators_are_served_by_newtons_updates() -> None:
    geometry = dataclasses.replace(hexapod(np.random.default_rng(4), 6), strokes=np.full(6, 0.45))
    observer = Observer(geometry)
    assert observer.contraction > 0.5
    poses = np.random.default_rng(5).uniform(-1.0, 1.0, (200, 6)) * [0.3, 0.3, 0.3, 0.2, 0.2, 0.3]
    poses = poses[within_strokes(geometry, poses)]
    assert len(poses) > 50
    for pose, lengths in zip(poses, lengths_at(geometry, poses), strict=True):
        found = observer.solve(lengths)
        assert found.pose is not None
        assert np.abs(found.pose - pose).max() < 1e-6
        again = observer.solve(lengths + 1e-4, found.pose)
        assert again.converged
        assert again.updates <= 3


def test_a_singular_neutral_pose_is_refused() -> None:
    joints = GEOMETRY.table_joints.copy(), GEOMETRY.base_joints.copy()
    keep = [0, 1, 2, 3, 4, 5]
    geometry = dataclasses.replace(
        GEOMETRY,
        table_joints=joints[0][keep],
        base_joints=joints[1][keep],
        neutral_lengths=GEOMETRY.neutral_lengths[keep],
        strokes=GEOMETRY.strokes[keep],
    )
    with pytest.raises(KinematicsError, match="rank 5 instead of 6"):
        Observer(geometry)


@pytest.mark.parametrize("seed", [1161, 1001, 1002, 1010, 1020])
def test_the_pose_is_found_from_neutral_wherever_the_strokes_end(seed: int) -> None:
    """Lengths with noise at corners of the workspace and at the lower stops, as the first sample has them."""
    geometry = Geometry.from_settings(load_text(random_table(seed), "table.yaml", TableSettings))
    observer = Observer(geometry)
    lowest = np.zeros((400, 6))
    lowest[:, 2] = np.linspace(0.0, -1.5 * geometry.strokes.max(), 400)
    inside = lowest[workspace.within_strokes(geometry, lowest)]
    random = np.random.default_rng(seed)
    corners = workspace.stroke_poses(geometry, observer.gain)
    poses = np.vstack([inside[-1:], random.permutation(corners)[:60]])
    noise = random.normal(0.0, 2e-6, (len(poses), geometry.actuators))
    for pose, lengths in zip(poses, lengths_at(geometry, poses) + noise, strict=True):
        solution = observer.solve(lengths)
        assert solution.pose is not None
        assert solution.updates <= observer.updates(1e-8)
        assert np.abs(solution.pose - pose).max() < 1e-4


def test_observer_reports_its_contraction_over_the_stroke() -> None:
    assert 0.10 < OBSERVER.contraction < 0.12


def test_newton_with_the_exact_jacobian_converges_quadratically() -> None:
    found = solve("newton", lengths_at(GEOMETRY, grid()))
    assert found.updates.max() == 3
    assert found.updates.mean() == pytest.approx(2.705, abs=1e-3)


def test_solve_from_a_warm_start_takes_fewer_updates() -> None:
    pose = np.array([0.005, -0.01, 0.01, 0.01, 0.005, -0.01])
    lengths = lengths_at(GEOMETRY, pose)[0]
    for observer in (OBSERVER, Observer(GEOMETRY)):
        warm, cold = observer.solve(lengths, pose + 1e-5), observer.solve(lengths)
        assert warm.updates < cold.updates
        assert warm.pose is not None
        assert np.abs(warm.pose - pose).max() < 1e-6


def test_pose_bounds_are_met_by_lengths_at_their_stops() -> None:
    bounds = pose_bounds(GEOMETRY)
    assert (bounds[:, 0] < 0).all()
    assert bounds[3, 1] == pytest.approx(0.0638, abs=2e-4)
    assert bounds[4, 1] == pytest.approx(0.0372, abs=2e-4)
    assert bounds[5, 1] == pytest.approx(0.0384, abs=2e-4)
    samples = poses_with_lengths_within(0.05, 2000)
    assert (samples >= bounds[:, 0] - 1e-9).all()
    assert (samples <= bounds[:, 1] + 1e-9).all()
