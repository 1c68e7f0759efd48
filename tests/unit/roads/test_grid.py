"""Roads along a reference line: places and slopes against curves calculated by themselves."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from mastd.arrays import FloatArray
from mastd.roads.grid import RoadGrid, grid_parameters, grid_position
from mastd.roads.ground import Ground, outside, surface, surface_friction

SPACING = 0.5
RADIUS = 40.0
ACROSS = np.array([-3.0, -1.75, -0.5, 0.25, 2.0, 3.5])


def bend(u: float | FloatArray) -> FloatArray:
    """Return x, y at u on a circle to the left."""
    return np.array([RADIUS * np.sin(u / RADIUS), RADIUS * (1.0 - np.cos(u / RADIUS))])


def spiral(u: float) -> FloatArray:
    """Return x, y at u of a line whose heading is 0.5 sin(u / 15)."""
    x, _ = quad(lambda s: math.cos(0.5 * math.sin(s / 15.0)), 0.0, u)
    y, _ = quad(lambda s: math.sin(0.5 * math.sin(s / 15.0)), 0.0, u)
    return np.array([x, y])


def road(line: FloatArray, seed: int = 0) -> RoadGrid:
    heights = np.random.default_rng(seed).normal(0.0, 0.05, (len(line), len(ACROSS)))
    return RoadGrid(10.0, SPACING, line, ACROSS, heights)


U: FloatArray = SPACING * np.arange(200, dtype=np.float64)
CIRCLE = bend(U).T
WINDING = np.array([spiral(u) for u in U])
STRAIGHT = U[:, np.newaxis] * np.array([math.cos(2.5), math.sin(2.5)]) + np.array([3.0, -7.0])
LINES = {"circle": CIRCLE, "winding": WINDING, "straight": STRAIGHT}
ROADS = {name: road(line) for name, line in LINES.items()}
PARAMETERS = {name: grid_parameters(road) for name, road in ROADS.items()}


@settings(deadline=None)
@given(u=st.floats(0.5, 99.0), v=st.floats(-3.0, 3.5))
def test_a_place_on_a_bend_has_its_arc_and_radius(u: float, v: float) -> None:
    x, y = bend(u) * (1.0 - v / RADIUS) + np.array([0.0, v])
    found = grid_position(PARAMETERS["circle"], x, y)
    # Chords of 0.5 m stand for arcs that are 3 µm longer: 0.7 mm in 100 m.
    assert found == pytest.approx((10.0 + u, v), abs=1.5e-3)
    assert outside(PARAMETERS["circle"], x, y) < 1.5e-3


@settings(deadline=None)
@given(u=st.floats(0.5, 99.0), v=st.floats(-3.0, 3.5))
def test_a_place_on_a_winding_road_has_its_foot_and_distance(u: float, v: float) -> None:
    heading = 0.5 * math.sin(u / 15.0)
    x, y = spiral(u) + v * np.array([-math.sin(heading), math.cos(heading)])
    assert grid_position(PARAMETERS["winding"], x, y) == pytest.approx((10.0 + u, v), abs=2e-3)


@pytest.mark.parametrize("name", LINES)
def test_heights_are_those_of_the_grid_at_its_points(name: str) -> None:
    line, heights, parameters = LINES[name], ROADS[name].heights, PARAMETERS[name]
    chords = np.gradient(line, axis=0)
    tangents = chords / np.hypot(*chords.T)[:, np.newaxis]
    for section in range(5, 195, 11):
        normal = np.array([-tangents[section, 1], tangents[section, 0]])
        for side, v in enumerate(ACROSS):
            x, y = line[section] + v * normal
            assert surface(parameters, x, y)[0] == pytest.approx(heights[section, side], abs=2e-4)


@pytest.mark.parametrize("name", LINES)
@settings(deadline=None)
@given(u=st.floats(-3.0, 102.0), v=st.floats(-5.0, 5.0))
def test_slopes_are_the_derivatives_of_the_height(name: str, u: float, v: float) -> None:
    line, parameters, small = LINES[name], PARAMETERS[name], 1e-7
    k = int(np.clip(u / SPACING, 0, 198))
    tangent = (line[k + 1] - line[k]) / SPACING
    x, y = line[k] + tangent * (u - k * SPACING) + v * np.array([-tangent[1], tangent[0]])
    found_u, found_v = grid_position(parameters, x, y)
    section = (found_u - 10.0) / SPACING
    if abs(section - round(section)) < 1e-5 or np.abs(ACROSS - found_v).min() < 1e-5:
        return  # on a line of the grid, where it bends
    _, slope_x, slope_y = surface(parameters, x, y)
    by_x = (surface(parameters, x + small, y)[0] - surface(parameters, x - small, y)[0]) / (2.0 * small)
    by_y = (surface(parameters, x, y + small)[0] - surface(parameters, x, y - small)[0]) / (2.0 * small)
    assert (slope_x, slope_y) == pytest.approx((by_x, by_y), abs=1e-6)


@pytest.mark.parametrize("name", LINES)
def test_a_road_goes_on_level_beyond_its_ends_and_edges(name: str) -> None:
    line, heights, parameters = LINES[name], ROADS[name].heights, PARAMETERS[name]
    tangent = (line[1] - line[0]) / np.hypot(*(line[1] - line[0]))
    left = np.array([-tangent[1], tangent[0]])
    before = line[0] - 4.0 * tangent + 2.0 * left
    assert outside(parameters, *before) == pytest.approx(4.0, abs=0.03)
    assert surface(parameters, *before)[0] == pytest.approx(heights[0, 4], abs=1e-3)
    beside = line[0] + 7.5 * left + 0.001 * tangent
    assert outside(parameters, *beside) == pytest.approx(4.0, abs=0.03)
    corner = line[0] - 3.0 * tangent - 7.0 * left
    assert outside(parameters, *corner) == pytest.approx(5.0, abs=0.05)
    assert surface(parameters, *corner) == pytest.approx((heights[0, 0], 0.0, 0.0), abs=1e-9)
    for far in ((1e7, -1e7), (math.nan, 0.0), (0.0, math.inf)):
        assert len(surface(parameters, *far)) == 3


def test_friction_is_split_along_the_reference_line() -> None:
    ground = Ground(PARAMETERS["circle"]).with_friction(0.9, 0.3, 40.0, 60.0)
    for u, factors in ((29.0, (1.0, 1.0)), (31.0, (0.9, 0.3)), (49.0, (0.9, 0.3)), (51.0, (1.0, 1.0))):
        for v, factor in zip((0.2, -0.2), factors, strict=True):
            x, y = bend(u) * (1.0 - v / RADIUS) + np.array([0.0, v])
            assert surface_friction(ground.parameters, x, y) == factor


def test_two_legs_of_a_hairpin_keep_apart() -> None:
    """Out 60 m, round a half circle of 8 m, and back 16 m beside: each leg has its own heights."""
    out = np.column_stack([np.arange(0.0, 60.0, 0.5), np.zeros(120)])
    angles = np.linspace(0.0, math.pi, 52)[1:-1]
    turn = np.column_stack([60.0 + 8.0 * np.sin(angles), 8.0 - 8.0 * np.cos(angles)])
    line = np.concatenate([out, turn, out[::-1] + np.array([0.5, 16.0])])
    heights = np.where(np.arange(len(line)) < 145, 1.0, 2.0)[:, np.newaxis] * np.ones(len(ACROSS))
    parameters = grid_parameters(RoadGrid(0.0, 0.5, line, ACROSS, heights))
    for x in np.linspace(1.0, 55.0, 60):
        for v in (-2.5, 0.0, 3.0):
            assert surface(parameters, x, v)[0] == pytest.approx(1.0)
            assert surface(parameters, x, 16.0 - v)[0] == pytest.approx(2.0)


def test_a_road_is_put_where_the_car_is() -> None:
    put = ROADS["straight"].put(5.0, 1.0)
    parameters = grid_parameters(put)
    assert grid_position(parameters, 15.0, 3.0) == pytest.approx((20.0, 2.0), abs=1e-9)
    assert surface(parameters, 5.0, 1.0)[0] == pytest.approx(0.0, abs=1e-12)
    level = np.interp(0.0, ACROSS, ROADS["straight"].heights[0])
    assert surface(parameters, 7.0, 3.0)[0] == pytest.approx(ROADS["straight"].heights[4, 4] - level)


@pytest.mark.parametrize(
    ("line", "across", "heights", "told"),
    [
        (CIRCLE[:1], ACROSS, np.zeros((1, 6)), "two or more along and across"),
        (CIRCLE, ACROSS[::-1], np.zeros((200, 6)), "must increase"),
        (CIRCLE, ACROSS, np.full((200, 6), math.nan), "finite"),
        (CIRCLE, 15.0 * ACROSS, np.zeros((200, 6)), "u = 10.5 m: a radius of 40 m is too small for edges"),
    ],
)
def test_what_is_no_road_is_refused(
    line: FloatArray, across: FloatArray, heights: FloatArray, told: str
) -> None:
    with pytest.raises(ValueError, match=told):
        grid_parameters(RoadGrid(10.0, SPACING, line, across, heights))
