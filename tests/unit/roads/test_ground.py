"""The ground under the wheels: heights, slopes and velocities of its kinds."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from mastd.arrays import FloatArray
from mastd.kernel import kernel
from mastd.roads.ground import (
    PARAMETERS,
    Ground,
    GroundKind,
    Side,
    from_ground,
    outside,
    surface,
    surface_friction,
    surface_turn,
    surface_velocity,
    write_plane,
)

FAR = st.floats(-100.0, 100.0)
TILT = st.floats(-0.2, 0.2)
THREE = st.tuples(*[st.floats(-3.0, 3.0)] * 3)


@kernel
def _profile(parameters: FloatArray, out: FloatArray) -> None:
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


@settings(deadline=None)
@given(point=THREE, speed=THREE, turn=THREE, roll=TILT, pitch=TILT, place=THREE)
def test_the_velocity_on_a_plane_is_the_rate_of_a_point_fixed_to_it(
    point: tuple[float, ...],
    speed: tuple[float, ...],
    turn: tuple[float, ...],
    roll: float,
    pitch: float,
    place: tuple[float, ...],
) -> None:
    """Two poses an instant apart, the turn taken as a rotation vector."""
    rotation = Rotation.from_euler("YX", [pitch, roll])
    instant = 1e-6

    def pose(time: float) -> Ground:
        turned = Rotation.from_rotvec(time * np.array(turn)) * rotation
        moved = np.array(point) + time * np.array(speed)
        return Ground.plane(moved, turned.as_matrix(), np.array(speed), np.array(turn))

    def where(time: float, height: float) -> FloatArray:
        return np.array(from_ground(pose(time).parameters, place[0], place[1], height))

    now = pose(0.0).parameters
    x, y, z = where(0.0, 0.0)
    assert surface(now, x, y)[0] == pytest.approx(z, abs=1e-12)
    rate = (where(instant, 0.0) - where(-instant, 0.0)) / (2.0 * instant)
    assert np.allclose(surface_velocity(now, x, y), rate, rtol=0.0, atol=1e-7)
    assert surface_turn(now) == turn
    # A point above it: along the normal.
    above = where(0.0, place[2]) - np.array([x, y, z])
    assert np.allclose(above, place[2] * rotation.as_matrix()[:, 2], atol=1e-12)


def test_fixed_ground_has_inertial_axes_and_stands_still() -> None:
    for ground in (Ground.flat(), Ground.bump(1.0, 2.0, 0.1), Ground.kerb(1.0, 0.1, 0.3)):
        parameters = ground.parameters
        assert from_ground(parameters, 1.5, -2.0, 0.25) == (1.5, -2.0, 0.25)
        assert surface_velocity(parameters, 1.5, -2.0) == (0.0, 0.0, 0.0)
        assert surface_turn(parameters) == (0.0, 0.0, 0.0)
        assert outside(parameters, 1e6, -1e6) == 0.0
        assert surface_friction(parameters, 3.0, 1.0) == 1.0


@settings(deadline=None, max_examples=50)
@given(
    height=st.floats(0.01, 0.25),
    clearance=st.floats(0.02, 0.3),
    length=st.sampled_from([0.0, 0.05, 0.3, 2.0, math.inf]),
    share=st.floats(0.0, 1.0),
)
def test_a_kerb_is_where_a_rigid_wheel_touches_it(
    height: float, clearance: float, length: float, share: float
) -> None:
    """The lowest centre of a disc that overlaps no point of the step, tried point by point."""
    radius, start = height + clearance, 4.0
    parameters = Ground.kerb(start, height, radius, length).parameters
    x = start - 1.2 * radius + share * (2.4 * radius + min(length, 2.5))
    road = np.linspace(x - radius, x + radius, 20001)
    step = np.where((road >= start) & (road <= start + length), height, 0.0)
    edges = np.array([start, min(start + length, 1e9)])
    near = np.abs(edges - x) < radius
    road, step = np.append(road, edges[near]), np.append(step, np.full(near.sum(), height))
    lowest = (step + np.sqrt(np.maximum(radius**2 - (road - x) ** 2, 0.0))).max() - radius
    z, slope, across = surface(parameters, x, 0.3)
    assert z == pytest.approx(lowest, abs=1e-6)
    assert abs(slope) <= math.sqrt(2.0 * radius * height - height**2) / (radius - height) * (1.0 + 1e-9)
    assert across == 0.0


@settings(deadline=None)
@given(x=st.floats(-1.0, 3.0))
def test_the_slope_of_a_kerb_is_the_derivative_of_its_height(x: float) -> None:
    parameters, small = Ground.kerb(0.0, 0.12, 0.31, 0.8).parameters, 1e-6
    before, after = surface(parameters, x - small, 0.0), surface(parameters, x + small, 0.0)
    middle = 0.5 * (before[1] + after[1])
    if abs(after[1] - before[1]) < 1e-3:  # not at a kink
        assert (after[0] - before[0]) / (2.0 * small) == pytest.approx(middle, abs=1e-4)


@pytest.mark.parametrize(("side", "left", "right"), [("both", 1, 1), ("left", 1, 0), ("right", 0, 1)])
def test_a_kerb_can_be_under_one_track_only(side: Side, left: int, right: int) -> None:
    ground = Ground.kerb(5.0, 0.1, 0.3, side=side)
    assert ground.height(6.0, 0.79) == 0.1 * left
    assert ground.height(6.0, -0.79) == 0.1 * right


def test_friction_differs_left_and_right_between_two_places() -> None:
    for whole in (Ground.flat(), Ground.bump(2.0, 1.0, 0.1), Ground.kerb(2.0, 0.1, 0.3)):
        parameters = whole.with_friction(0.9, 0.2, 10.0, 30.0).parameters
        factors = [surface_friction(parameters, x, y) for x in (9.9, 10.0, 29.9, 30.0) for y in (1.0, -1.0)]
        assert factors == [1.0, 1.0, 0.9, 0.2, 0.9, 0.2, 1.0, 1.0]
        assert surface(parameters, 2.5, 1.0) == surface(whole.parameters, 2.5, 1.0)


def test_friction_and_edges_move_with_a_plate() -> None:
    """A plate turned by 90 degrees about z: its x is the inertial y, its left the inertial -x."""
    ground = Ground.flat().with_friction(0.5, 0.25).with_extent(2.5, 1.0, (0.5, 0.0))
    parameters = ground.parameters
    turned = Rotation.from_euler("z", 90.0, degrees=True).as_matrix()
    write_plane(parameters, np.array([100.0, 50.0, 1.0]), turned, np.zeros(3), np.zeros(3))
    assert surface_friction(parameters, 99.5, 50.0) == 0.5
    assert surface_friction(parameters, 100.5, 50.0) == 0.25
    assert outside(parameters, 100.9, 52.9) == 0.0
    assert outside(parameters, 100.0, 53.5) == pytest.approx(0.5)
    assert outside(parameters, 100.0, 47.0) == pytest.approx(1.0)
    assert outside(parameters, 98.6, 53.3) == pytest.approx(0.5)
    tilted = Rotation.from_euler("y", 30.0, degrees=True).as_matrix()
    write_plane(parameters, np.zeros(3), tilted, np.zeros(3), np.zeros(3))
    assert outside(parameters, 3.5 * math.cos(math.radians(30.0)), 0.0) == pytest.approx(0.5)


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
        ground.values = np.zeros(PARAMETERS)  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        ground.values[0] = 7.0
    assert len({ground, Ground.bump(5.0, 1.2, 0.03), Ground.flat()}) == 2


def test_what_is_no_ground_is_refused() -> None:
    for length in (0.0, -1.0, math.nan):
        with pytest.raises(ValueError, match="longer than 0 m"):
            Ground.bump(5.0, length, 0.03)
    with pytest.raises(ValueError, match="face up"):
        Ground.plane(np.zeros(3), np.diag([1.0, -1.0, -1.0]))
    for height in (0.0, -0.1, 0.3, math.nan):
        with pytest.raises(ValueError, match=r"below the wheel radius, 0\.3 m"):
            Ground.kerb(5.0, height, 0.3)
    with pytest.raises(ValueError, match="not be shorter than 0 m"):
        Ground.kerb(5.0, 0.1, 0.3, -1.0)
    for factor in (0.0, -0.5, math.nan, math.inf):
        with pytest.raises(ValueError, match="factors above 0"):
            Ground.flat().with_friction(1.0, factor)
    with pytest.raises(ValueError, match="not after the start"):
        Ground.flat().with_friction(1.0, 0.5, 10.0, 10.0)
    with pytest.raises(ValueError, match="half extents above 0"):
        Ground.flat().with_extent(2.5, math.nan)
