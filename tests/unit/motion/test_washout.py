"""Motion cueing: the classical filter while nothing limits, and where something does, no false reversal."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest
from scipy import signal
from scipy.spatial.transform import Rotation

from mastd.arrays import FloatArray
from mastd.errors import SettingsError
from mastd.motion.washout.design import boxes
from mastd.motion.washout.seat_point import centre_motion, point_motion
from mastd.motion.washout.washout import Washout
from mastd.settings.core.base import Settings
from mastd.settings.core.loader import load_text
from mastd.settings.profile.cueing import Cueing, HighPass, RideSettings, WashoutSettings

G = 9.80665
PERIOD = 1e-3
SEAT = (0.3, 0.4, 1.5)
SURGE, SWAY, HEAVE, ROLL, PITCH, YAW = range(6)


class Group(Settings):
    """A file that holds the cueing alone."""

    cueing: Cueing


def cueing(text: str) -> WashoutSettings | RideSettings:
    """Return the cueing of YAML in flow style."""
    group: Group = load_text(f"cueing: {text}\n", "p.yaml", Group)
    return group.cueing


def washout(**axes: str) -> WashoutSettings:
    """Return washout settings with changes to axes in YAML flow style."""
    parts = "".join(f", {name}: {text}" for name, text in axes.items())
    found = cueing(f"{{kind: washout{parts}}}")
    assert isinstance(found, WashoutSettings)
    return found


def felt(axis: int | None = None, value: float = 0.0) -> FloatArray:
    """Return what is felt at rest, with an acceleration on one of the six axes."""
    row = np.zeros(9)
    row[2] = G
    if axis is not None:
        row[axis if axis < 3 else axis + 3] += value
    return row


def run(filter_: Washout, axis: int, history: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return asked, given and the seat's motion (n, 6), (n, 6), (n, 3, 6) of accelerations on one axis."""
    asked, given, seat = (
        np.empty((len(history), 6)),
        np.empty((len(history), 6)),
        np.empty((len(history), 3, 6)),
    )
    for k, value in enumerate(history):
        filter_.step(felt(axis, value), G)
        asked[k], given[k], seat[k] = filter_.asked, filter_.given, filter_.seat
    return asked, given, seat


def naive(axis: HighPass, cue: FloatArray) -> FloatArray:
    """Return the acceleration of the linear high-pass for ``cue``: nothing but the transfer function."""
    corner, slow = 2.0 * math.pi * axis.corner, 2.0 * math.pi * axis.slow_corner
    numerator, denominator = [1.0, 0.0, 0.0], [1.0, 2.0 * axis.damping * corner, corner**2]
    if slow > 0.0:
        numerator, denominator = [*numerator, 0.0], list(np.polymul(denominator, [1.0, slow]))
    times = np.arange(len(cue)) * PERIOD
    return np.asarray(signal.lsim((numerator, denominator), cue, times)[1])


def false_reversal(asked: FloatArray, given: FloatArray) -> float:
    """Return how far what is given points against what is asked at worst; all of it where that is nothing."""
    against = np.where(asked > 0.0, -given, np.where(asked < 0.0, given, np.abs(given)))
    return float(np.max(against))


def braking(peak: float, rise: float) -> FloatArray:
    """Return 2 s of braking, which comes and goes within ``rise`` s."""
    at = [1.0, 1.0 + rise, 3.0, 3.0 + rise]
    return np.asarray(np.interp(np.arange(6000) * PERIOD, at, [0.0, -peak, -peak, 0.0]))


def lane_changes(peak: float) -> FloatArray:
    """Return two lane changes, there and back, of a sine of 2 s each."""
    times = np.arange(8000) * PERIOD
    there = np.where((times >= 1.0) & (times < 3.0), np.sin(np.pi * (times - 1.0)), 0.0)
    back = np.where((times >= 4.0) & (times < 6.0), -np.sin(np.pi * (times - 4.0)), 0.0)
    return peak * (there + back)


def test_the_motion_of_c_and_of_the_seat_are_one_rigid_body() -> None:
    """Against rotation matrices and differences of them in time, and back again."""
    random = np.random.default_rng(1)
    for _ in range(20):
        motion = random.uniform(-1.0, 1.0, (4, 6)) * [[0.3], [1.0], [3.0], [10.0]]
        point = random.uniform(-2.0, 2.0, 3)
        centre, again = np.empty((4, 6)), np.empty((4, 6))
        centre_motion(point, motion, centre)
        point_motion(point, centre, again)
        assert again == pytest.approx(motion, abs=1e-11)
        step = 2e-3
        times = np.arange(-4, 5) * step
        powers = np.stack([times**n / math.factorial(n) for n in range(4)], axis=1)
        path = powers @ motion
        turned = Rotation.from_euler("ZYX", path[:, [5, 4, 3]]).apply(point) - point
        fitted = np.polynomial.polynomial.polyfit(times / times[-1], path[:, :3] - turned, 8)
        for order in range(4):
            derivative = fitted[order] * math.factorial(order) / times[-1] ** order
            assert centre[order, :3] == pytest.approx(derivative, abs=[1e-12, 1e-9, 1e-6, 1e-3][order])


@pytest.mark.parametrize("slow", ["0 Hz", "0.1 Hz"])
def test_unlimited_it_is_the_classical_filter(slow: str) -> None:
    """With room for everything and no return acceleration to speak of: second and third order."""
    room = (
        "travel: 1 m, velocity: 3 m/s, acceleration: 20 m/s2, jerk: 5000 m/s3, return_acceleration: 20 m/s2"
    )
    settings = washout(
        surge=f"{{gain: 1, corner: 0.8 Hz, slow_corner: {slow}, {room}}}", tilt="{angle: 0 mrad}"
    )
    history = braking(3.0, 0.1)
    asked, given, _ = run(Washout(settings, SEAT, PERIOD), SURGE, history)
    assert asked[:, SURGE] == pytest.approx(history)
    assert given[:, SURGE] == pytest.approx(naive(settings.surge, history), abs=0.02)


def test_a_rotation_is_the_classical_filter_too() -> None:
    settings = washout(yaw="{gain: 0.2, corner: 0.5 Hz, damping: 0.8}")
    history = 0.1 * np.sin(2.0 * np.pi * 1.0 * np.arange(4000) * PERIOD)
    _, _, seat = run(Washout(settings, SEAT, PERIOD), YAW, history)
    assert seat[:, 2, YAW] == pytest.approx(naive(settings.yaw, 0.2 * history), abs=1e-4)


@pytest.mark.parametrize("gain", [0.2, 1.0])
@pytest.mark.parametrize("rise", [0.0, 0.1, 0.3])
def test_the_end_of_a_braking_is_not_felt_as_acceleration(gain: float, rise: float) -> None:
    """3 m/s² for 2 s: the wrong way at most the return acceleration; the linear filter throws it back."""
    settings = washout(surge=f"{{gain: {gain:g}}}")
    asked, given, _ = run(Washout(settings, SEAT, PERIOD), SURGE, braking(3.0, rise))
    allowed = settings.surge.return_acceleration
    # A jump of what is asked is followed at the axis' jerk: until then the old cue is still there.
    late = round(min(gain * 3.0, settings.surge.acceleration) / settings.surge.jerk / PERIOD) + 2
    jumps = np.flatnonzero(np.abs(np.diff(asked[:, SURGE])) > 0.1)
    followed = np.ones(len(asked), dtype=np.bool_)
    for jump in jumps:
        followed[jump : jump + late] = False
    linear = naive(settings.surge, asked[:, SURGE])
    assert false_reversal(asked[followed, SURGE], given[followed, SURGE]) <= allowed + 1e-3
    assert false_reversal(asked[followed, SURGE], linear[followed]) > max(allowed, 0.25 * gain * 3.0)
    assert np.min(given[:1300, SURGE]) < -0.3 * gain


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_the_way_home_does_not_lead_past_it(sign: float) -> None:
    """What the integral had gathered against a long braking is gone when the braking is."""
    settings = washout(surge="{gain: 1, slow_corner: 0.2 Hz}", tilt="{angle: 0 mrad}")
    _, _, seat = run(Washout(settings, SEAT, PERIOD), SURGE, sign * braking(3.0, 0.1))
    place = -sign * seat[:, 0, SURGE]
    assert np.max(place) > 0.95 * settings.surge.travel
    assert np.min(place) > -0.2 * settings.surge.travel


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_tilt_from_before_and_the_way_home_do_not_add_up(sign: float) -> None:
    """Braking, for which the table tilts, then a burst forward: its way home meets the tilt still there."""
    at = [0.5, 0.6, 2.0, 2.05, 2.15, 2.2]
    history = np.interp(np.arange(4000) * PERIOD, at, [0.0, -3.0, -3.0, 6.0, 6.0, 0.0])
    settings = washout(tilt="{corner: 0.2 Hz}")
    asked, given, _ = run(Washout(settings, SEAT, PERIOD), SURGE, sign * history)
    felt_wrongly = false_reversal(asked[2250:, SURGE], given[2250:, SURGE])
    assert felt_wrongly <= settings.surge.return_acceleration + 2e-3
    assert felt_wrongly > 0.9 * settings.surge.return_acceleration


@pytest.mark.parametrize("peak", [1.0, 4.0, 9.0])
def test_lane_changes_do_not_reverse(peak: float) -> None:
    """The tilt of before and the end of the travel together stay below the return acceleration."""
    settings = washout()
    asked, given, seat = run(Washout(settings, SEAT, PERIOD), SWAY, lane_changes(peak))
    allowed = settings.sway.return_acceleration
    assert false_reversal(asked[:, SWAY], given[:, SWAY]) <= allowed + 2e-3
    assert np.max(np.abs(seat[:, 0, SWAY])) <= settings.sway.travel
    if peak > 1.0:
        assert false_reversal(asked[:, SWAY], naive(settings.sway, asked[:, SWAY])) > 1.2 * allowed


def test_a_rotation_may_be_kept_from_reversing() -> None:
    history = np.interp(np.arange(4000) * PERIOD, [0.5, 0.6, 1.0, 1.1], [0.0, 0.8, 0.8, 0.0])
    free, held = washout(roll="{gain: 0.5}"), washout(roll="{gain: 0.5, return_acceleration: 0.05 rad/s2}")
    _, _, seat = run(Washout(held, SEAT, PERIOD), ROLL, history)
    assert np.min(seat[:, 2, ROLL]) >= -0.05 - 1e-6
    _, _, seat = run(Washout(free, SEAT, PERIOD), ROLL, history)
    assert np.min(seat[:, 2, ROLL]) < -0.1


@pytest.mark.parametrize(("axis", "tilted", "sign"), [(SURGE, PITCH, -1.0), (SWAY, ROLL, 1.0)])
def test_what_lasts_is_made_by_tilting(axis: int, tilted: int, sign: float) -> None:
    """0.2 m/s² for long at a gain of 0.2: all of it is felt, and nothing of the tilting before."""
    settings = washout()
    filter_ = Washout(settings, SEAT, PERIOD)
    _, given, seat = run(filter_, axis, np.full(12_000, 0.2))
    assert given[-1, axis] == pytest.approx(0.04, abs=2e-3)
    assert seat[-1, 0, tilted] == pytest.approx(sign * math.asin(0.04 / G), rel=2e-3)
    _, given, seat = run(filter_, axis, np.full(9000, 9.0))
    tilt = settings.tilt
    assert abs(seat[-1, 0, tilted]) == pytest.approx(tilt.angle, rel=2e-3)
    assert np.max(np.abs(seat[:, 1, tilted])) <= tilt.rate * 1.01
    assert np.max(np.abs(seat[:, 2, tilted])) <= tilt.acceleration * 1.01


def test_it_goes_on_from_any_motion_of_the_table() -> None:
    """Pose, rates and accelerations of C have no step at the beginning, and the way leads to neutral."""
    start = np.zeros((3, 6))
    start[0] = [8e-3, -6e-3, 5e-3, 4e-3, -3e-3, 2e-3]
    start[1] = [0.02, 0.01, -0.02, 0.01, 0.0, 0.005]
    start[2] = [0.1, -0.1, 0.1, 0.05, 0.0, 0.0]
    filter_ = Washout(washout(), SEAT, PERIOD)
    filter_.begin(start)
    assert filter_.motion[:3] == pytest.approx(start, abs=1e-15)
    filter_.step(felt(), G)
    assert filter_.motion[0] == pytest.approx(start[0] + PERIOD * start[1], abs=1e-6)
    assert filter_.motion[2] == pytest.approx(start[2], abs=0.08)
    for _ in range(30_000):
        filter_.step(felt(), G)
    assert np.max(np.abs(filter_.motion[:2])) < 1e-4


def test_the_four_rows_are_derivatives_of_each_other_within_the_period_too() -> None:
    filter_ = Washout(washout(), SEAT, PERIOD)
    early, late = np.empty((4, 6)), np.empty((4, 6))
    random = np.random.default_rng(3)
    for _ in range(300):
        end = filter_.motion.copy()
        row = random.normal(size=9) * 3.0
        filter_.step(row, G)
        filter_.read(0.0, early)
        filter_.read(1.0, late)
        assert early[:3] == pytest.approx(end[:3], abs=1e-12)
        assert late == pytest.approx(filter_.motion, abs=1e-15)
        filter_.read(0.49, early)
        filter_.read(0.51, late)
        assert (late[:3] - early[:3]) / (0.02 * PERIOD) == pytest.approx(0.5 * (early + late)[1:], abs=1e-4)


def test_a_pause_a_copy_and_a_pickle_go_on_alike() -> None:
    filter_ = Washout(washout(), SEAT, PERIOD)
    run(filter_, SURGE, braking(3.0, 0.1)[:1500])
    copies = [copy.deepcopy(filter_), pickle.loads(pickle.dumps(filter_))]
    for row in np.random.default_rng(4).normal(size=(500, 9)):
        for one in (filter_, *copies):
            one.step(row, G)
    for one in copies:
        assert np.array_equal(one.motion, filter_.motion)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_no_cue(value: float) -> None:
    one, other = Washout(washout(), SEAT, PERIOD), Washout(washout(), SEAT, PERIOD)
    for k in range(300):
        one.step(felt(SURGE, 1.0), G)
        other.step(felt(SURGE, 1.0), G)
        if k % 10 == 0:
            one.step(np.full(9, value), G, value)
            other.step(felt(), G)
    assert np.array_equal(one.motion, other.motion)
    one.step(np.full(9, value), value, value)
    assert np.all(np.isfinite(one.motion))
    assert np.all(np.isfinite(one.given))
    with pytest.raises(ValueError, match="not finite"):
        one.begin(np.full((3, 6), value))


def test_the_share_fades_the_cue() -> None:
    filter_ = Washout(washout(), SEAT, PERIOD)
    filter_.step(np.arange(1.0, 10.0), G, 0.5)
    gains = np.array([0.2, 0.2, 0.3, 0.3, 0.3, 0.1])
    assert filter_.asked == pytest.approx(0.5 * gains * [1.0, 2.0, 3.0 - G, 4.0, 5.0, 6.0])
    still = Washout(washout(), SEAT, PERIOD)
    still.step(np.arange(1.0, 10.0), G, 0.0)
    assert not np.any(still.motion)


@pytest.mark.parametrize("kind", ["washout", "ride"])
def test_a_wild_minute_stays_in_the_boxes(kind: str) -> None:
    """Steps, noise and slow swings on all nine inputs at once."""
    settings = cueing(f"{{kind: {kind}}}")
    limits = boxes(settings)
    filter_ = Washout(settings, SEAT, PERIOD)
    random = np.random.default_rng(5)
    steps = np.repeat(random.normal(size=(120, 9)) * 15.0, 500, axis=0)
    rows = steps + random.normal(size=steps.shape) * 5.0 + felt()
    worst = np.zeros((3, 6))
    for row in rows:
        filter_.step(row, G)
        np.maximum(worst, np.abs(filter_.seat), out=worst)
    allowed = np.array([limits.travel, limits.velocity, limits.acceleration])
    assert np.all(worst <= allowed * (1.0 + 1e-9))
    assert np.all(worst[0] >= 0.5 * limits.travel)


def test_the_ride_mode_passes_what_is_above_its_corner() -> None:
    """Heave of 3 Hz comes through at its gain, a slow one does not; the other axes stay at neutral."""
    settings = cueing("{kind: ride}")
    times = np.arange(8000) * PERIOD
    _, given, seat = run(Washout(settings, SEAT, PERIOD), HEAVE, np.sin(2.0 * np.pi * 3.0 * times))
    quick = given[4000:, HEAVE]
    assert np.max(quick) == pytest.approx(0.5, rel=0.05)
    assert not np.any(seat[:, :, [SURGE, SWAY, YAW]])
    _, given, _ = run(Washout(settings, SEAT, PERIOD), HEAVE, np.sin(2.0 * np.pi * 0.1 * times))
    assert np.max(np.abs(given[4000:, HEAVE])) < 0.5 * 0.02
    _, _, seat = run(Washout(settings, SEAT, PERIOD), SURGE, np.full(3000, 5.0))
    assert not np.any(seat)


def test_the_ride_mode_comes_home_from_where_it_begins() -> None:
    filter_ = Washout(cueing("{kind: ride}"), SEAT, PERIOD)
    start = np.zeros((3, 6))
    start[0] = [0.02, -0.01, 0.01, 5e-3, 5e-3, 5e-3]
    filter_.begin(start)
    for _ in range(8000):
        filter_.step(felt(), G)
    assert np.max(np.abs(filter_.motion[:3])) < 1e-6


REFUSALS: list[tuple[str, str]] = [
    (
        "{kind: washout, surge: {return_acceleration: 3 m/s2}}",
        "return_acceleration: is 3 m/s2, must be at most",
    ),
    ("{kind: washout, surge: {travel: 0 mm}}", "travel"),
    ("{kind: washout, surge: {jerk: 1 m/s3}}", "jerk: is 1 m/s3, too little to follow the corner, at least"),
    ("{kind: washout, tilt: {angle: 16 mrad}}", "angle: is 0.016 rad, it must be below the largest of roll"),
    ("{kind: washout, tilt: {angle: 16 mrad}}", "stands for 0.157 m/s2|angle"),
    (
        "{kind: washout, surge: {return_acceleration: 0.05 m/s2}}",
        "which must be less than return_acceleration of surge",
    ),
    ("{kind: washout, roll: {return_acceleration: 0 rad/s2}}", "return_acceleration"),
    ("{kind: ride, surge: {gain: 1}}", "surge"),
    ("{kind: ride, heave: {corner: 0.8}}", "corner"),
]


@pytest.mark.parametrize(("text", "told"), REFUSALS)
def test_settings_that_cannot_be_are_refused_at_their_place(text: str, told: str) -> None:
    with pytest.raises(SettingsError, match=r"p\.yaml:1:\d+: cueing") as caught:
        cueing(text)
    assert any(part in str(caught.value) for part in told.split("|"))


def test_all_mistakes_of_an_axis_are_told_at_once() -> None:
    with pytest.raises(SettingsError) as caught:
        cueing("{kind: washout, surge: {jerk: 1 m/s3, return_acceleration: 3 m/s2}}")
    assert "surge.jerk" in str(caught.value)
    assert "surge.return_acceleration" in str(caught.value)


def test_an_axis_takes_what_is_left_out_from_its_own_defaults() -> None:
    whole, part = washout(), washout(surge="{gain: 50 %}")
    assert part.surge.gain == 0.5
    assert part.surge.travel == whole.surge.travel != whole.sway.travel
