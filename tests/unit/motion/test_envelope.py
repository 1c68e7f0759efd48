"""The proof of the seat's boxes: no motion inside them ever asks more, and not much less is asked by some."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from mastd.arrays import FloatArray
from mastd.index_table import size_of
from mastd.motion.preflight.envelope import Envelope, Proof, mean_speeds, prove
from mastd.motion.preflight.limits import Examiner, Limit, all_windows
from mastd.motion.preflight.preflight import check
from mastd.motion.profile.compiler import pose_of_centre
from mastd.motion.profile.timeline import KNOT_SPACING, Timeline, join
from mastd.motion.washout.design import Boxes, boxes
from mastd.motion.washout.limiter import AXIS, advance_axis, box, enter
from mastd.settings.core.loader import load
from mastd.settings.core.starter import find
from mastd.settings.profile.cueing import RideSettings, WashoutSettings
from mastd.settings.profile.profile import ProfileSettings
from mastd.settings.table.payload import RigidPayload
from mastd.settings.table.supports import SupportSettings
from mastd.settings.table.table import TableSettings
from tests.support.formats.opencrg_texts import crg

SEAT = np.array([0.0, 0.0, 1.5])
CABIN = RigidPayload(
    kind="rigid",
    mass=2000.0,
    centre_of_gravity=(0.0, 0.0, 1.7),
    inertia=(1300.0, 2200.0, 2200.0),
)
BY_ACTUATOR = ("stroke", "velocity", "acceleration", "jerk", "push_force", "pull_force", "valve_flow", "pose")


@pytest.fixture(scope="module")
def table() -> TableSettings:
    """Return the starter table."""
    return load(find("table", "table"), TableSettings)


def named(limits: tuple[Limit, ...]) -> dict[str, Limit]:
    return {limit.name: limit for limit in limits}


def inside(limits: Boxes, random: np.random.Generator, knots: int = 3000) -> FloatArray:
    """Return a motion (knots, 6) of the seat that fills its boxes and leaves none: a sine on each axis."""
    times = np.arange(knots) * KNOT_SPACING
    motion = np.zeros((knots, 6))
    for axis in range(6):
        if limits.travel[axis] == 0.0:
            continue
        # Near the frequency at which travel and velocity, or velocity and acceleration, are full together.
        at = random.choice(
            [
                limits.velocity[axis] / limits.travel[axis],
                limits.acceleration[axis] / limits.velocity[axis],
            ]
        ) * random.uniform(0.8, 1.3)
        size = min(
            limits.travel[axis],
            limits.velocity[axis] / at,
            limits.acceleration[axis] / at**2,
            limits.jerk[axis] / at**3,
        )
        motion[:, axis] = 0.999 * size * np.sin(at * times + random.uniform(0.0, 2.0 * np.pi))
    return motion


def lengths(seat: FloatArray, table: TableSettings) -> FloatArray:
    """Return the actuator lengths (m, n) at coordinates (m, 6) of the seat, by matrices and square roots."""
    turns = Rotation.from_euler("ZYX", seat[:, [5, 4, 3]]).as_matrix()
    arms = np.array([actuator.table_joint for actuator in table.links]) - SEAT
    joints = np.array(table.neutral_position) + SEAT + seat[:, None, :3] + arms @ np.swapaxes(turns, 1, 2)
    bases = np.array([actuator.base_joint for actuator in table.links])
    return np.asarray(np.linalg.norm(joints - bases, axis=2))


def walk(motion: FloatArray, table: TableSettings) -> dict[str, Limit]:
    """Return the limits of a seat's motion as `mastd check` finds them, its first and last knots apart."""
    timeline = join([(pose_of_centre(motion, SEAT), 1)], 1)
    inner = Timeline(
        timeline.coefficients[8:-8].copy(),
        timeline.first_rows,
        timeline.intervals - 16,
        np.array([0, int(timeline.intervals[0]) - 16]),
        1,
    )
    examiner = Examiner(table, CABIN)
    return named(examiner.limits(inner, examiner.walk(inner, all_windows(inner)))[0])


@pytest.mark.parametrize("cueing", [WashoutSettings(kind="washout"), RideSettings(kind="ride")])
def test_the_defaults_pass_with_a_cabin_of_two_tons(
    cueing: WashoutSettings | RideSettings, table: TableSettings
) -> None:
    proof = prove(cueing, SEAT, table, CABIN)
    assert proof.ok
    assert proof.scale > 1.0
    others = {"mean_flow", "accumulator", "mass", "supply_pressure"}
    assert set(BY_ACTUATOR) | others == set(named(proof.limits))


@pytest.mark.parametrize("cueing", [WashoutSettings(kind="washout"), RideSettings(kind="ride")])
def test_no_motion_inside_the_boxes_asks_more(
    cueing: WashoutSettings | RideSettings, table: TableSettings
) -> None:
    """Through the profile's own spline and survey, which know nothing of the proof."""
    proved = named(prove(cueing, SEAT, table, CABIN).limits)
    random = np.random.default_rng(1)
    worst = dict.fromkeys(BY_ACTUATOR, 0.0)
    for _ in range(25):
        found = walk(inside(boxes(cueing), random), table)
        for name in BY_ACTUATOR:
            assert found[name].worst <= proved[name].worst * (1.0 + 1e-6), name
            worst[name] = max(worst[name], found[name].worst / proved[name].worst)
        assert found["accumulator"].worst >= proved["accumulator"].worst
        assert found["mean_flow"].worst <= proved["mean_flow"].worst
    assert min(worst["stroke"], worst["velocity"]) > 0.5
    assert worst["push_force"] > 0.75


def test_of_supports_no_motion_inside_the_boxes_asks_more(table: TableSettings) -> None:
    """A strong spring and damper; speeds are below 1 m/s, where v counts more than v²."""
    damper = SupportSettings(name="damper", position=(0.0, 0.0, -0.9), force=0.0, stiffness=1e6, damping=4e6)
    held = table.model_copy(update={"supports": (damper,)})
    cueing = WashoutSettings(kind="washout")
    proved, bare = (named(prove(cueing, SEAT, of, CABIN).limits)["push_force"].worst for of in (held, table))
    random = np.random.default_rng(1)
    worst = max(walk(inside(boxes(cueing), random), held)["push_force"].worst for _ in range(10))
    assert 1.2 * bare < worst <= proved * (1.0 + 1e-6)
    assert worst > 0.7 * proved


def test_corners_of_the_travel_are_reached_exactly(table: TableSettings) -> None:
    """Standing in the corners and on points between, the strokes come within 1 % of the proved one."""
    cueing = WashoutSettings(kind="washout")
    proved = named(prove(cueing, SEAT, table, CABIN).limits)["stroke"].worst
    travel = boxes(cueing).travel
    random = np.random.default_rng(2)
    places: FloatArray = np.vstack(
        (random.choice([-1.0, 1.0], (300, 6)), random.uniform(-1.0, 1.0, (300, 6)))
    )
    neutral = np.array([actuator.neutral_length for actuator in table.links])
    longest = float(np.max(np.abs(lengths(places * travel, table) - neutral)))
    assert 0.985 * proved <= longest <= proved


@pytest.mark.parametrize("sizes", [(0.02, 0.5, 2.0, 10.0), (0.02, 0.1, 5.0, 0.1)])
def test_rates_accelerations_and_jerks_at_the_corners_of_all_boxes(
    sizes: tuple[float, float, float, float], table: TableSettings
) -> None:
    """Against derivatives of the plain lengths by time, where products of rates and accelerations count."""
    rows = np.repeat(np.array(sizes)[:, None], 6, axis=1)
    proved = named(Envelope(Boxes(*rows), SEAT, table, CABIN).limits())
    random = np.random.default_rng(3)
    step = 4e-3
    times = np.arange(-4, 5) * step
    powers = np.stack([np.ones_like(times), times, times**2 / 2.0, times**3 / 6.0], axis=1)
    worst = np.zeros(4)
    for _ in range(800):
        path: FloatArray = powers @ (rows * random.choice([-1.0, 1.0], (4, 6)))
        fitted = np.polynomial.polynomial.polyfit(times / times[-1], lengths(path, table), 7)
        for order in range(1, 4):
            derivative = fitted[order] * math.factorial(order) / times[-1] ** order
            worst[order] = max(worst[order], float(np.max(np.abs(derivative))))
    for order, name, share in ((1, "velocity", 0.8), (2, "acceleration", 0.8), (3, "jerk", 0.35)):
        assert share * proved[name].worst <= worst[order] <= proved[name].worst, name


@pytest.mark.parametrize("axis", range(6))
def test_of_one_axis_alone_the_proof_is_not_twice_too_much(axis: int, table: TableSettings) -> None:
    """A sine that fills velocity and acceleration at once, against the proof of that axis' box alone."""
    velocity, at = (0.1, 12.0) if axis < 3 else (0.06, 8.0)
    size = velocity / at
    rows = np.zeros((4, 6))
    rows[:, axis] = size, velocity, velocity * at, velocity * at**2
    proved = named(Envelope(Boxes(*rows), SEAT, table, CABIN).limits())
    motion = np.zeros((3000, 6))
    motion[:, axis] = size * np.sin(at * np.arange(3000) * KNOT_SPACING)
    found = walk(motion, table)
    for name in ("stroke", "velocity", "acceleration", "jerk", "push_force"):
        assert found[name].worst <= proved[name].worst * (1.0 + 1e-6)
        assert found[name].worst >= 0.5 * proved[name].worst, name


def test_the_scale_is_the_last_that_passes(table: TableSettings) -> None:
    cueing = WashoutSettings(kind="washout")
    proof = prove(cueing, SEAT, table, CABIN)
    envelope = Envelope(boxes(cueing), SEAT, table, CABIN)
    assert Proof(envelope.limits(proof.scale), proof.scale).ok
    assert not Proof(envelope.limits(proof.scale + 0.002), proof.scale).ok


def test_too_much_travel_is_told_and_no_scale_helps(table: TableSettings) -> None:
    cueing = WashoutSettings.model_validate(
        {"kind": "washout", "surge": {"travel": 0.04}, "pitch": {"travel": 0.02}}
    )
    proof = prove(cueing, SEAT, table, CABIN)
    assert not proof.ok
    assert proof.scale == 0.0
    stroke = named(proof.limits)["stroke"]
    assert stroke.margin < -0.3
    assert "longitudinal" in stroke.where


def test_a_cabin_that_is_too_heavy_is_told(table: TableSettings) -> None:
    heavy = CABIN.model_copy(update={"mass": 40_000.0})
    proof = prove(WashoutSettings(kind="washout"), SEAT, table, heavy)
    assert named(proof.limits)["push_force"].margin < 0.0
    assert proof.scale == 0.0


@pytest.mark.parametrize(("travel", "velocity", "acceleration"), [(0.02, 0.1, 2.0), (0.005, 0.5, 3.0)])
def test_the_way_in_any_time_is_the_mean_and_one_burst(
    travel: float, velocity: float, acceleration: float
) -> None:
    """From wall to wall as hard as the box allows, over windows of all lengths."""
    limits = box(travel, velocity, acceleration, 100.0 * acceleration, acceleration, KNOT_SPACING)
    axis = np.zeros(size_of(AXIS))
    enter(limits, axis, 0.0, 0.0, 0.0)
    way = np.zeros(8000)
    for k in range(1, len(way)):
        before = axis[AXIS.position]
        advance_axis(limits, axis, 1e3 if axis[AXIS.velocity] >= 0.0 else -1e3, KNOT_SPACING)
        way[k] = way[k - 1] + abs(axis[AXIS.position] - before)
    means, bursts = mean_speeds(np.array([travel]), np.array([velocity]), np.array([acceleration]))
    for length in (10, 50, 100, 300, 1000, 5000):
        furthest = float(np.max(way[length:] - way[:-length]))
        assert furthest <= means[0] * length * KNOT_SPACING + bursts[0]
    assert way[-1] >= 0.7 * means[0] * len(way) * KNOT_SPACING


def test_what_is_not_applied_of_the_road_of_a_drive_is_told(tmp_path: Path, table: TableSettings) -> None:
    crg(tmp_path / "road.crg", more="$ROAD_CRG_OPTS\nBORDER_MODE_U = 3\n$\n")
    text = find("profile", "lane_change_in_the_seat").read_text(encoding="utf-8")
    profile = tmp_path / "drive.yaml"
    profile.write_text(f"{text.rstrip()}\n  road: {{kind: opencrg, file: road.crg}}\n", encoding="utf-8")
    (warning,) = check(load(profile, ProfileSettings), table).warnings
    assert warning.startswith(f"{tmp_path / 'road.crg'}:")
    assert "BORDER_MODE_U = 3 (the road again) is not applied" in warning
