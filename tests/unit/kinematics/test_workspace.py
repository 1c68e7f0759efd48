"""Jin 2012's statements on the workspace: mobility, contraction, singular poses, isotropy, Table 4."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from mastd.kinematics import design, workspace
from mastd.kinematics.geometry import Geometry
from mastd.reproduce.jin_2012 import workspace as jin_2012
from mastd.reproduce.jin_2012.tables import grid, items
from mastd.settings.core.loader import load
from mastd.settings.table.table import TableSettings
from tests.support.kinematics.bounds import pose_bounds

TABLE = Path(__file__).parents[3] / "config" / "table.yaml"
GEOMETRY = Geometry.from_settings(load(TABLE, TableSettings))
GAIN = design.observer_gain(GEOMETRY)


def test_mobility_is_six_and_two_spins_an_actuator() -> None:
    assert jin_2012.mobility(7) == 20
    assert jin_2012.mobility(6) == 18


def test_neutral_jacobian_is_equation_20() -> None:
    arms = design.neutral_jacobian(GEOMETRY) * [1, 1, 1, 1e3, 1e3, 1e3]
    assert np.allclose(arms[0], [0, 0, 1, -800, 1400, 0], rtol=0, atol=1e-9)
    assert np.allclose(arms[4], [0, 1, 0, 0, 0, 1400], rtol=0, atol=1e-9)
    assert np.allclose(GAIN @ design.neutral_jacobian(GEOMETRY), np.eye(6), rtol=0, atol=1e-14)


def test_corners_of_the_workspace_have_an_actuator_at_its_stop() -> None:
    poses = workspace.stroke_poses(GEOMETRY, GAIN)
    moved = np.abs(poses).max(axis=1) > 0
    used = np.abs(workspace.lengths_at(GEOMETRY, poses) - GEOMETRY.neutral_lengths) / GEOMETRY.strokes
    assert np.allclose(used[moved].max(axis=1), 1.0, rtol=0, atol=1e-9)
    assert moved.sum() > 40


def test_contraction_at_the_corners_bounds_that_within() -> None:
    corner = workspace.stroke_contraction(GEOMETRY, GAIN)
    generator = np.random.default_rng(6)
    poses = generator.uniform(-1, 1, (60_000, 6)) * pose_bounds(GEOMETRY)[:, 1]
    inside = poses[workspace.within_strokes(GEOMETRY, poses)]
    assert len(inside) > 2000
    assert workspace.contraction(GEOMETRY, GAIN, inside).max() <= corner
    assert corner == pytest.approx(0.113, abs=2e-3)
    poses = grid()
    edge = poses[np.all(np.abs(poses) == np.abs(poses).max(axis=0), axis=1)]
    assert workspace.contraction(GEOMETRY, GAIN, edge).max() == pytest.approx(0.067, abs=5e-4)
    assert workspace.contraction(GEOMETRY, GAIN, poses[::97]).max() < 0.0675


def test_contraction_is_the_mean_factor_of_successive_errors() -> None:
    pose = np.array([0.01, 0.01, -0.01, 0.0175, -0.0175, 0.0175])
    target = workspace.lengths_at(GEOMETRY, pose)[0]
    error = np.random.default_rng(0).normal(0, 1.0, 6)
    sizes = []
    for _ in range(300):
        error *= 1e-6 / np.linalg.norm(error)
        error = error + GAIN @ (target - workspace.lengths_at(GEOMETRY, pose + error)[0])
        sizes.append(float(np.linalg.norm(error)) / 1e-6)
    factor = np.exp(np.mean(np.log(sizes[50:])))
    assert workspace.contraction(GEOMETRY, GAIN, pose)[0] == pytest.approx(factor, rel=0.02)


@pytest.mark.parametrize(
    "pose",
    [
        (1.2, -1.2, 0.0, 0.0, 0.0, 0.0),
        (1.2, 0.0, -1.2, 0.0, 0.0, 0.0),
        (0.0, 1.2, -1.2, 0.0, 0.0, 0.0),
    ],
    ids=["figure 7b: links 5 and 6 on one line", "figure 8: links 1-4 flat along x", "flat along y"],
)
def test_the_singular_poses_of_the_paper_are_found(pose: tuple[float, ...]) -> None:
    singular = np.array(pose)
    assert jin_2012.rank(GEOMETRY, singular) == 5
    assert jin_2012.distance_to_singularity(GEOMETRY, singular)[0] < 1e-12
    assert not workspace.within_strokes(GEOMETRY, singular)[0]
    start = singular + np.random.default_rng(3).normal(0, 0.03, 6)
    assert jin_2012.distance_to_singularity(GEOMETRY, start)[0] > 1e-3
    found, distance = jin_2012.find_singular_pose(GEOMETRY, start)
    assert distance < 1e-9
    assert np.abs(found - singular).max() < 0.3


def test_no_pose_within_the_strokes_is_near_a_singular_one() -> None:
    poses = workspace.stroke_poses(GEOMETRY, GAIN)
    neutral = jin_2012.distance_to_singularity(GEOMETRY, np.zeros(6))[0]
    assert jin_2012.distance_to_singularity(GEOMETRY, poses).min() > 0.9 * neutral
    assert jin_2012.rank(GEOMETRY, np.zeros(6)) == 6


def test_isotropy_is_the_inverse_condition_number_in_mm() -> None:
    jacobian = workspace.jacobians_at(GEOMETRY, np.zeros(6))[0] * [1, 1, 1, 1e3, 1e3, 1e3]
    assert jin_2012.isotropy(GEOMETRY, np.zeros(6))[0] == pytest.approx(1 / np.linalg.cond(jacobian))
    assert jin_2012.isotropy(GEOMETRY, np.zeros(6))[0] == pytest.approx(1 / 2800)


def test_an_actuator_that_may_not_move_alone_has_no_range() -> None:
    assert workspace.independent_range(GEOMETRY, GAIN, (0,)) == (0.0, 0.0)
    assert workspace.independent_range(GEOMETRY, GAIN, (5,)) == pytest.approx((-0.029, 0.030))


def test_every_number_of_the_paper_is_reproduced() -> None:
    found = items(GEOMETRY)
    assert [item.identifier for item in found if not item.within] == []
    names = {item.identifier for item in found}
    assert len(names) == len(found)
    for method in ("observer", "newton"):
        prefix = f"004.table3.{method}"
        assert {f"{prefix}.updates_max", f"{prefix}.updates_mean"} <= names
        assert {
            f"{prefix}.{kind}_um.{actuator}" for kind in ("mean", "sd") for actuator in range(1, 8)
        } <= names
    assert {
        "004.mobility",
        "004.bound.roll_rad",
        "004.bound.pitch_rad",
        "004.bound.yaw_rad",
        "004.figure9.isotropy_change",
        "004.table4.links_1_2_mm",
        "004.table4.links_7_mm",
    } <= names
    ours = {item.identifier: item.ours for item in found}
    assert ours["004.table3.observer.updates_mean"] == pytest.approx(3.6445, abs=5e-5)
    assert ours["004.table3.newton.updates_mean"] == pytest.approx(2.8686, abs=5e-5)
    assert ours["004.table3.observer.mean_um.7"] == pytest.approx(-0.03632, abs=5e-6)
    assert ours["004.table3.newton.sd_um.7"] == pytest.approx(0.0233, abs=5e-5)


def test_a_moved_joint_shows_in_both_columns_of_table_3() -> None:
    joints = GEOMETRY.base_joints.copy()
    joints[0, 1] -= 0.05
    missed = {
        item.identifier
        for item in items(dataclasses.replace(GEOMETRY, base_joints=joints))
        if not item.within
    }
    for method in ("observer", "newton"):
        assert any(name.startswith(f"004.table3.{method}.mean_um.") for name in missed)


@pytest.mark.parametrize("left_out", [3, 6])
def test_an_actuator_left_out_changes_the_mobility(left_out: int) -> None:
    keep = [actuator for actuator in range(7) if actuator != left_out]
    geometry = Geometry(
        GEOMETRY.table_joints[keep],
        GEOMETRY.base_joints[keep],
        GEOMETRY.neutral_position,
        GEOMETRY.neutral_lengths[keep],
        GEOMETRY.strokes[keep],
        GEOMETRY.control_point,
    )
    found = {item.identifier: item for item in items(geometry)}
    assert found["004.mobility"].ours == 18
    assert not found["004.mobility"].within
    assert found["004.table3.observer.mean_um.7"].ours is None
