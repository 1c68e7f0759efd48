"""The look ahead: a path beyond the limits is slowed or ended on itself, one within is not touched."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from mastd.arrays import FloatArray
from mastd.control.reference.preview import PathLimits
from mastd.control.reference.reference import MotionLimits, Reference
from mastd.kinematics.geometry import Geometry
from mastd.kinematics.workspace import lengths_at
from mastd.motion.profile.timeline import Timeline, join
from mastd.settings.core.loader import load
from mastd.settings.table.table import TableSettings
from tests.support.lab import ROOT

DT = 1e-3
STOP_TIME = 0.5
GEOMETRY = Geometry.from_settings(load(ROOT / "config" / "table.yaml", TableSettings))
PATH = PathLimits(GEOMETRY, 0.2, 3.0, np.full(7, 0.045), np.array([0.05] * 3 + [0.06, 0.035, 0.03]))
LIMITS = MotionLimits(
    np.array([[0.1] * 6, [0.5] * 6, [10.0] * 6]),
    np.array([[2.0] * 6, [50.0] * 6]),
    0.02,
    STOP_TIME,
    1.0,
    PATH,
)


def sine(frequency: float, axis: int, amplitude: float, quiet: tuple[float, float] = (0.0, 9.0)) -> Timeline:
    """Eight seconds of a sine on one axis, at 40 % outside ``quiet``."""
    times = np.arange(8001) * DT
    u = np.minimum(np.minimum(times, 8.0 - times) / 0.5, 1.0)
    v = np.clip(np.minimum(times - quiet[0], quiet[1] - times) / 0.5 + 1.0, 0.0, 1.0)
    rise, loud = (x**4 * (35.0 - 84.0 * x + 70.0 * x**2 - 20.0 * x**3) for x in (u, v))
    samples = np.zeros((8001, 6))
    samples[:, axis] = amplitude * rise * (0.4 + 0.6 * loud) * np.sin(2 * np.pi * frequency * times)
    return join([(samples, 1)], 1)


def walls(reach: float) -> MotionLimits:
    """Return limits in whose way only ``reach`` m and the pose's limits are."""
    return replace(LIMITS, path=replace(PATH, velocity=1.0, acceleration=20.0, reach=np.full(7, reach)))


class Played:
    """A profile played for a while, with a look at every cycle."""

    def __init__(
        self, timeline: Timeline, steps: int, level: float = 1.0, limits: MotionLimits = LIMITS
    ) -> None:
        self.reference = reference = Reference(np.zeros((4, 6)), limits)
        self.timeline = timeline
        reference.set_gain(level)
        reference.play(np.zeros(6))
        self.rows: list[tuple[float, float, float, str]] = []
        self.motion: list[FloatArray] = []
        self.go_on(steps)

    def go_on(self, steps: int) -> None:
        for _ in range(steps):
            self.reference.advance(DT, self.timeline)
            reference = self.reference
            self.rows.append((reference.time, reference.speed, reference.gain, reference.blocked))
            self.motion.append(reference.motion.copy())

    @property
    def lengths(self) -> FloatArray:
        return lengths_at(GEOMETRY, np.array(self.motion)[:, 0]) - GEOMETRY.neutral_lengths

    def numbers(self) -> FloatArray:
        return np.array([row[:3] for row in self.rows])

    def stays_on_its_path(self) -> bool:
        time, _, level = self.numbers().T
        path = self.timeline.sample(time)[:, 0] * level[:, None]
        return bool(np.abs(np.array(self.motion)[:, 0] - path).max() < 1e-12)


def test_a_profile_within_the_limits_is_played_bit_for_bit() -> None:
    timeline = sine(2.0, 2, 0.012)
    played = Played(timeline, 8000)
    unwatched = Played(timeline, 8000, limits=replace(LIMITS, path=None))
    assert np.array_equal(played.motion, unwatched.motion)
    assert (played.numbers()[:, 1] == 1.0).all()


def test_an_actuator_that_would_be_too_fast_slows_the_whole_pose_and_full_speed_comes_back() -> None:
    played = Played(sine(2.0, 2, 0.02, quiet=(3.0, 5.0)), 9500)
    speeds = played.numbers()[:, 1]
    assert np.abs(np.diff(played.lengths, axis=0)).max() / DT <= PATH.velocity * 1.001
    assert np.abs(np.diff(played.lengths, 2, axis=0)).max() / DT**2 <= PATH.acceleration
    assert speeds[1000] == 1.0, "the quiet beginning runs as it is"
    assert speeds.min() == pytest.approx(PATH.velocity / (0.02 * 2 * np.pi * 2.0), rel=0.02)
    assert speeds[-1] == 1.0
    assert played.stays_on_its_path()
    assert not any(row[3] for row in played.rows)


def test_an_actuator_that_would_accelerate_too_much_slows_the_whole_pose() -> None:
    played = Played(sine(5.0, 0, 0.005), 9000)
    assert np.abs(np.diff(played.lengths, 2, axis=0)).max() / DT**2 <= PATH.acceleration * 1.01
    assert played.stays_on_its_path()


@pytest.mark.parametrize(
    ("axis", "amplitude", "reach", "said"),
    [
        (2, 0.047, 0.045, "actuator 1 would become too long, allowed: 45 mm"),
        (2, -0.047, 0.045, "actuator 1 would become too short"),
        (4, -0.034, 0.045, "actuator 3 would become too long"),
        (5, 0.034, 0.045, "yaw would go above 1.719 deg"),
        (5, -0.034, 0.045, "yaw would go below minus 1.719 deg"),
    ],
)
def test_before_a_wall_the_table_stands_and_says_what_is_in_the_way(
    axis: int, amplitude: float, reach: float, said: str
) -> None:
    played = Played(sine(0.3, axis, amplitude), 4000, limits=walls(reach))
    assert played.reference.speed == 0.0
    assert said in played.reference.blocked
    assert np.abs(played.lengths).max() <= reach
    assert (np.abs(np.array(played.motion)[:, 0]) <= PATH.pose).all()
    assert played.stays_on_its_path()
    jerk = np.abs(np.diff(np.array(played.motion)[:, 0], 3, axis=0)).max() / DT**3
    assert jerk <= 20.0


def test_a_lower_level_frees_a_blocked_path() -> None:
    played = Played(sine(0.3, 2, 0.047), 3000, limits=walls(0.045))
    assert played.reference.blocked
    played.reference.slow(0.0)
    assert not played.reference.blocked, "held, it is not asked to go on"
    played = Played(sine(0.3, 2, 0.047), 3000, level=0.9, limits=walls(0.045))
    assert not played.reference.blocked
    assert played.reference.speed == 1.0


def test_a_rising_level_is_looked_ahead_at() -> None:
    timeline = sine(2.0, 2, 0.012)
    played = Played(timeline, 1500)
    played.reference.set_gain(1.6)
    played.go_on(6000)
    assert np.abs(np.diff(played.lengths, axis=0)).max() / DT <= PATH.velocity * 1.001
    assert 0.8 < played.numbers()[3500:6000, 1].min() < 0.9
    assert played.stays_on_its_path()


def test_an_operators_hold_goes_before_the_limiters_speed() -> None:
    played = Played(sine(2.0, 2, 0.02), 3000)
    assert 0.0 < played.reference.speed < 1.0
    played.reference.slow(0.0)
    played.go_on(round(STOP_TIME / DT) + 2)
    assert played.reference.standing
    played.reference.slow(1.0)
    played.go_on(1500)
    assert 0.0 < played.reference.speed < 1.0
    assert np.abs(np.diff(played.lengths, axis=0)).max() / DT <= PATH.velocity * 1.001


def test_a_move_to_the_lower_stops_is_not_blocked_and_one_beyond_the_limits_on_its_way_is() -> None:
    reference = Reference(np.zeros((4, 6)), LIMITS)
    down = np.array([0.0, 0, -0.049, 0, 0, 0])
    for target in (down, np.zeros(6)):
        duration = reference.move(target)
        for _ in range(round(duration / DT) + 2):
            reference.advance(DT)
        assert reference.standing
        assert reference.motion[0] == pytest.approx(target, abs=1e-12)


def test_a_path_that_begins_before_a_wall_does_not_begin() -> None:
    played = Played(sine(2.0, 2, 0.012), 500, limits=walls(0.001))
    assert (played.numbers()[:, :2] == 0.0).all()
    assert "too long" in played.reference.blocked
    assert np.abs(played.motion).max() <= 1e-12


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(-0.048, 0.048), min_size=3, max_size=3),
    st.lists(st.floats(-0.2, 0.2), min_size=3, max_size=3),
    st.lists(st.floats(-0.004, 0.004), min_size=3, max_size=3),
)
@example([0.0, 0.0, 0.0415], [0.0, 0.0, 0.15], [0.0, 0.0, 0.002])
def test_a_brake_keeps_table_and_command_within_the_limits_where_the_actuators_can(
    measured: list[float], rates: list[float], lead: list[float]
) -> None:
    limits = walls(0.045)
    assert limits.path is not None
    pose, rate, ahead = (np.array([*values, 0.0, 0.0, 0.0]) for values in (measured, rates, lead))
    shortest = 1.875 * float(np.abs(rate).max()) / limits.path.acceleration
    assume(limits.path.contain(pose + 0.5 * shortest * rate))
    assume(limits.path.contain(pose + ahead) and limits.path.contain(pose + ahead + 0.5 * shortest * rate))
    reference = Reference(np.array([pose + ahead, rate, np.zeros(6), np.zeros(6)]), limits)
    reference.brake(pose, rate)
    while not reference.standing:
        reference.advance(DT)
        assert limits.path.contain(reference.path[0])
        assert limits.path.contain(reference.motion[0])
