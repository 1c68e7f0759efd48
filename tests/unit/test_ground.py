"""The ground under the wheels: heights, slopes and velocities of its kinds."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from mastd.kernel import kernel
from mastd.roads.ground import PARAMETERS, Ground, GroundKind, surface, surface_velocity, write_plane

FAR = st.floats(-100.0, 100.0)
TILT = st.floats(-0.2, 0.2)
THREE = st.tuples(*[st.floats(-3.0, 3.0)] * 3)


@kernel
def _profile(parameters: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """What a compiled step does: call the surface at many points."""
    for row in range(out.shape[0]):
        out[row, 2], out[row, 3], out[row, 4] = surface(parameters, out[row, 0], out[row, 1])


@settings(deadline=None)
@given(x=FAR, y=FAR)
def test_flat_ground_is_level_everywhere(x: float, y: float) -> None:
    assert surface(Ground.flat().parameters, x, y) == (0.0, 0.0, 0.0)
    assert surface_velocity(Ground.flat().parameters, x, y) == (0.0, 0.0, 0.0)


def test_a_bump_is_the_half_sine_and_zero_outside() -> None:
    parameters = Ground.bump(5.0, 1.2, 0.03).parameters
    table = np.zeros((4001, 5))
    table[:, 0] = np.linspace(4.0, 7.0, 4001)
    table[:, 1] = 0.79
    _profile(parameters, table)
    x, z, slope = table[:, 0], table[:, 2], table[:, 3]
    inside = (x > 5.0) & (x < 6.2)
    assert np.allclose(z[inside], 0.03 * np.sin(np.pi * (x[inside] - 5.0) / 1.2), rtol=0.0, atol=1e-16)
    assert np.all(z[~inside] == 0.0)
    assert np.all(slope[~inside] == 0.0)
    assert np.all(table[:, 4] == 0.0)
    assert z.max() == pytest.approx(0.03, abs=1e-8)
    for x0 in (5.0, 6.2, 5.0 - 1e-12, -1e9, math.inf):
        assert surface(parameters, x0, 0.0) == (0.0, 0.0, 0.0)


@settings(deadline=None)
@given(
    start=st.floats(-50.0, 50.0),
    length=st.floats(0.1, 20.0),
    height=st.floats(-0.3, 0.3),
    share=st.floats(0.01, 0.99),
    y=FAR,
)
def test_the_slope_is_the_derivative_of_the_height(
    start: float, length: float, height: float, share: float, y: float
) -> None:
    parameters = Ground.bump(start, length, height).parameters
    x, small = start + share * length, 1e-4 * length
    _, slope, across = surface(parameters, x, y)
    difference = (surface(parameters, x + small, y)[0] - surface(parameters, x - small, y)[0]) / (2 * small)
    assert slope == pytest.approx(difference, rel=1e-6, abs=1e-6 * abs(height) / length + 1e-9)
    assert across == 0.0


@pytest.mark.parametrize(("side", "left", "right"), [("both", 1, 1), ("left", 1, 0), ("right", 0, 1)])
def test_a_bump_can_be_under_one_track_only(side: str, left: int, right: int) -> None:
    ground = Ground.bump(5.0, 1.2, 0.03, side)  # type: ignore[arg-type]
    assert ground.height(5.6, 0.79) == pytest.approx(0.03 * left)
    assert ground.height(5.6, -0.79) == pytest.approx(0.03 * right)
    slopes = (surface(ground.parameters, 5.2, 0.79)[1] > 0.0, surface(ground.parameters, 5.2, -0.79)[1] > 0.0)
    assert slopes == (bool(left), bool(right))


@settings(deadline=None)
@given(point=THREE, roll=TILT, pitch=TILT, yaw=st.floats(-3.0, 3.0), across=st.tuples(FAR, FAR))
def test_points_fixed_on_a_moving_plane_lie_on_it_and_move_with_it(
    point: tuple[float, ...], roll: float, pitch: float, yaw: float, across: tuple[float, float]
) -> None:
    rotation = Rotation.from_euler("ZYX", [yaw, pitch, roll]).as_matrix()
    velocity, angular = np.array([0.3, -0.2, 0.5]), np.array([0.2, -0.4, 0.7])
    parameters = Ground.plane(np.array(point), rotation, velocity, angular).parameters
    arm = rotation @ np.array([*across, 0.0])
    place = np.array(point) + arm
    height, slope_x, slope_y = surface(parameters, place[0], place[1])
    assert height == pytest.approx(place[2], abs=1e-11)
    assert np.allclose(
        np.array([-slope_x, -slope_y, 1.0]) / math.hypot(slope_x, slope_y, 1.0), rotation[:, 2], atol=1e-12
    )
    moving = surface_velocity(parameters, place[0], place[1])
    assert np.allclose(moving, velocity + np.cross(angular, arm), rtol=0.0, atol=1e-11)


def test_the_loop_moves_the_plane_from_step_to_step() -> None:
    parameters = Ground.plane(np.zeros(3), np.eye(3)).parameters
    assert surface(parameters, 1.0, 2.0) == (0.0, 0.0, 0.0)
    write_plane(parameters, np.array([0.0, 0.0, 0.01]), np.eye(3), np.array([0.0, 0.0, 0.5]), np.zeros(3))
    assert surface(parameters, 1.0, 2.0) == (0.01, 0.0, 0.0)
    assert surface_velocity(parameters, 1.0, 2.0) == (0.0, 0.0, 0.5)


def test_grounds_are_values_and_their_arrays_are_copies() -> None:
    ground = Ground.bump(5.0, 1.2, 0.03)
    assert ground.parameters.shape == (PARAMETERS,)
    assert ground.parameters.dtype == np.float64
    ground.parameters[:] = 7.0
    assert ground == Ground.bump(5.0, 1.2, 0.03)
    assert ground.kind is GroundKind.BUMP
    with pytest.raises(dataclasses.FrozenInstanceError):
        ground.values = ()  # type: ignore[misc]


def test_what_is_no_ground_is_refused() -> None:
    for length in (0.0, -1.0, math.nan):
        with pytest.raises(ValueError, match="longer than 0 m"):
            Ground.bump(5.0, length, 0.03)
    with pytest.raises(ValueError, match="face up"):
        Ground.plane(np.zeros(3), np.diag([1.0, -1.0, -1.0]))
