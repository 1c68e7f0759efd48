"""Inverse kinematics, Jacobians and the control point against independent calculations."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from mastd.arrays import FloatArray
from mastd.errors import KinematicsError
from mastd.kinematics import rotation
from mastd.kinematics.control_point import motion_at_point, motion_of_centre, pose_at_point, pose_of_centre
from mastd.kinematics.geometry import Geometry
from mastd.kinematics.inverse import actuator_motion
from mastd.kinematics.workspace import jacobians_at, lengths_at
from mastd.settings.core.loader import load
from mastd.settings.table.table import TableSettings

TABLE = Path(__file__).parents[3] / "config" / "table.yaml"


GEOMETRY = Geometry.from_settings(load(TABLE, TableSettings))


@pytest.fixture
def geometry() -> Geometry:
    return GEOMETRY


def independent_lengths(geometry: Geometry, pose: FloatArray) -> FloatArray:
    matrix = Rotation.from_euler("ZYX", [pose[5], pose[4], pose[3]]).as_matrix()
    joints = geometry.neutral_position + pose[:3] + geometry.table_joints @ matrix.T
    return np.asarray(np.linalg.norm(joints - geometry.base_joints, axis=1))


angles = st.floats(-7.0, 7.0)
poses = st.tuples(*[st.floats(-1.0, 1.0)] * 3, *[st.floats(-3.0, 3.0)] * 3).map(np.array)


@settings(deadline=None, max_examples=50)
@given(roll=angles, pitch=angles, yaw=angles)
def test_rotation_is_yaw_pitch_roll_for_any_angle(roll: float, pitch: float, yaw: float) -> None:
    ours = np.array(rotation.rotation(roll, pitch, yaw)).reshape(3, 3)
    theirs = Rotation.from_euler("ZYX", [yaw, pitch, roll]).as_matrix()
    assert np.abs(ours - theirs).max() < 4e-15


@settings(deadline=None, max_examples=50)
@given(st.floats(-rotation.SMALL_ANGLE, rotation.SMALL_ANGLE))
def test_short_series_are_exact_to_rounding(angle: float) -> None:
    sine, cosine = rotation.small_sine_cosine(angle)
    assert abs(sine - math.sin(angle)) <= 2 * math.ulp(max(abs(math.sin(angle)), 1e-300))
    assert abs(cosine - math.cos(angle)) <= 2 * math.ulp(1.0)


@settings(deadline=None, max_examples=50)
@given(poses)
def test_lengths_agree_with_an_independent_calculation(pose: FloatArray) -> None:
    ours, theirs = lengths_at(GEOMETRY, pose)[0], independent_lengths(GEOMETRY, pose)
    assert np.abs(ours - theirs).max() < 1e-13


def test_neutral_lengths_are_1200_mm(geometry: Geometry) -> None:
    assert np.allclose(lengths_at(geometry, np.zeros((1, 6)))[0], 1.2, rtol=0, atol=1e-15)


def motion_of(geometry: Geometry, state: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    lengths, rates, accelerations = (np.empty(geometry.actuators) for _ in range(3))
    actuator_motion(
        geometry.legs,
        state[0],
        state[1],
        state[2],
        lengths,
        rates,
        accelerations,
    )
    return lengths, rates, accelerations


@pytest.mark.parametrize("seed", range(5))
def test_length_rates_and_accelerations_are_derivatives_of_the_lengths(geometry: Geometry, seed: int) -> None:
    pose, rate, acceleration = np.random.default_rng(seed).normal(0, 0.4, (3, 6))

    def lengths(time: float) -> FloatArray:
        return independent_lengths(geometry, pose + time * rate + 0.5 * time**2 * acceleration)

    h = 1e-3
    first = (8 * (lengths(h) - lengths(-h)) - (lengths(2 * h) - lengths(-2 * h))) / (12 * h)
    second = (16 * (lengths(h) + lengths(-h)) - (lengths(2 * h) + lengths(-2 * h)) - 30 * lengths(0.0)) / (
        12 * h**2
    )
    _, rates, accelerations = motion_of(geometry, np.array([pose, rate, acceleration]))
    assert np.abs(rates - first).max() < 1e-9
    assert np.abs(accelerations - second).max() < 1e-7


@pytest.mark.parametrize("seed", range(5))
def test_euler_jacobian_is_the_derivative_of_the_lengths(geometry: Geometry, seed: int) -> None:
    pose = np.random.default_rng(seed).normal(0, 0.3, 6)
    h = 1e-5
    columns = [
        (independent_lengths(geometry, pose + h * unit) - independent_lengths(geometry, pose - h * unit))
        / (2 * h)
        for unit in np.eye(6)
    ]
    ours = jacobians_at(geometry, pose, euler_rates=True)[0]
    assert np.abs(ours - np.array(columns).T).max() < 1e-9


@pytest.mark.parametrize("seed", range(5))
def test_geometric_jacobian_maps_angular_velocity_in_ground_axes(geometry: Geometry, seed: int) -> None:
    generator = np.random.default_rng(seed)
    pose, twist = generator.normal(0, 0.3, 6), generator.normal(0, 1, 6)

    def lengths(time: float) -> FloatArray:
        matrix = Rotation.from_rotvec(time * twist[3:]).as_matrix()
        matrix = matrix @ Rotation.from_euler("ZYX", pose[[5, 4, 3]]).as_matrix()
        joints = geometry.neutral_position + pose[:3] + time * twist[:3] + geometry.table_joints @ matrix.T
        return np.asarray(np.linalg.norm(joints - geometry.base_joints, axis=1))

    h = 1e-6
    assert np.abs(jacobians_at(geometry, pose)[0] @ twist - (lengths(h) - lengths(-h)) / (2 * h)).max() < 1e-8


def test_control_point_moves_as_the_rigid_table_does(geometry: Geometry) -> None:
    pose = np.array([0.01, -0.02, 0.005, 0.02, -0.03, 0.01])
    matrix = Rotation.from_euler("ZYX", pose[[5, 4, 3]]).as_matrix()
    point = geometry.control_point
    assert np.allclose(pose_at_point(pose, point)[:3], pose[:3] + matrix @ point - point, rtol=0, atol=1e-15)
    assert np.allclose(pose_of_centre(pose_at_point(pose, point), point), pose, rtol=0, atol=1e-15)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10_000))
def test_motion_of_centre_inverts_motion_at_point(seed: int) -> None:
    generator = np.random.default_rng(seed)
    motion, point = generator.normal(0, 0.3, (3, 6)), generator.normal(0, 1, 3)
    there, back = np.empty((3, 6)), np.empty((3, 6))
    motion_at_point(motion, point, there)
    motion_of_centre(there, point, back)
    assert np.abs(back - motion).max() < 1e-12


def test_motion_at_point_has_consistent_derivatives() -> None:
    pose, rate, acceleration = np.random.default_rng(8).normal(0, 0.3, (3, 6))
    point = np.array([0.3, -0.7, 1.5])
    out = np.empty((3, 6))
    motion_at_point(np.array([pose, rate, acceleration]), point, out)

    def at(time: float) -> FloatArray:
        return pose_at_point(pose + time * rate + 0.5 * time**2 * acceleration, point)

    h = 1e-4
    assert np.abs(out[1] - (at(h) - at(-h)) / (2 * h)).max() < 1e-7
    assert np.abs(out[2] - (at(h) - 2 * at(0.0) + at(-h)) / h**2).max() < 1e-6


def _without(name: str, value: object) -> Callable[[dict[str, FloatArray]], None]:
    def change(fields: dict[str, FloatArray]) -> None:
        fields[name] = np.asarray(value, dtype=np.float64)

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_without("table_joints", np.zeros((5, 3))), "shape"),
        (_without("strokes", np.zeros(7)), "stroke"),
        (_without("neutral_position", [0.0, np.nan, 2.1]), "not finite"),
    ],
)
def test_geometry_refuses_what_cannot_be_a_table(
    geometry: Geometry, change: Callable[[dict[str, FloatArray]], None], words: str
) -> None:
    fields = {name: getattr(geometry, name) for name in Geometry.__dataclass_fields__}
    change(fields)
    with pytest.raises(KinematicsError, match=words):
        Geometry(**fields)


def test_geometry_needs_six_actuators_with_length(geometry: Geometry) -> None:
    fields = {name: getattr(geometry, name) for name in Geometry.__dataclass_fields__}
    five = {name: value[:5] if len(value) == 7 else value for name, value in fields.items()}
    with pytest.raises(KinematicsError, match="minimum 6"):
        Geometry(**five)
    joints = geometry.base_joints.copy()
    joints[2] = geometry.table_joints[2] + geometry.neutral_position
    with pytest.raises(KinematicsError, match="coincide"):
        Geometry(**{**fields, "base_joints": joints})
    with pytest.raises(ValueError, match="read-only"):
        geometry.strokes[0] = 1.0
