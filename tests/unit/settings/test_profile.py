"""Profiles: starter files, refusals with their place, and the motion that is made of each segment."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mastd.errors import SettingsError
from mastd.motion.profile.compiler import compile_profile, pose_of_centre, program
from mastd.motion.profile.timeline import KNOT_SPACING
from mastd.settings.core.loader import load, load_text
from mastd.settings.core.starter import find
from mastd.settings.profile.profile import ProfileSettings
from mastd.settings.table.table import TableSettings
from tests.support.vehicle.virtual_drives import MOTIONS


@pytest.fixture(scope="module")
def table() -> TableSettings:
    """Return the starter table."""
    return load(find("table", "table"), TableSettings)


def profile(segments: str, head: str = "") -> ProfileSettings:
    """Return a profile of segments in YAML flow style, one a line."""
    lines = "".join(f"  - {line}\n" for line in segments.strip().splitlines())
    return load_text(f"name: p\n{head}segments:\n{lines}", "p.yaml", ProfileSettings)


@pytest.mark.parametrize("name", MOTIONS)
def test_starter_profiles_compile(table: TableSettings, name: str) -> None:
    """Every profile that is shipped loads, names its schema, and makes a motion from rest to rest."""
    path = find("profile", name)
    assert path.read_text(encoding="utf-8").startswith("# yaml-language-server: $schema=../schemas/")
    timeline = compile_profile(load(path, ProfileSettings), table)
    ends = timeline.sample(np.array([0.0, timeline.duration]))
    assert np.max(np.abs(ends[:, 0])) < 1e-12
    assert np.max(np.abs(ends[:, 1:])) < 1e-9


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "- {kind: rod, duration: 3 s}",
            "p.yaml:3:12: segments[0].kind: 'rod': expected one of hold, ramp, sine",
        ),
        (
            "- {kind: road, road_class: B, speed: 40 km/h, duration: 9 s, wheelbase: 3 m, track_width: 2 m}",
            "p.yaml:3:5: segments[0].band: key 'band' is missing",
        ),
        ("- {kind: hold, duration: 3}", "segments[0].duration: 3 has no unit"),
        ("- {kind: hold, duration: .nan}", "segments[0].duration: .nan is not a finite number"),
        ("- {kind: hold, duration: -3 s}", "p.yaml:3:28: segments[0].duration:"),
        ("- {kind: hold, durration: 3 s}", "did you mean 'duration'?"),
        (
            "- {kind: sine, frequency: 2 Hz, axes: {heave: {amplitude: 3 mm, peak: 1 g}}, duration: 3 s}",
            "segments[0].axes.heave.peak: give amplitude or peak (peak acceleration), not both",
        ),
        (
            "- {kind: sine, frequency: 2 Hz, axes: {heave: {phase: 3 deg}}, duration: 3 s}",
            "segments[0].axes.heave: amplitude or peak (peak acceleration) is missing",
        ),
        (
            "- {kind: sine, frequency: 2 Hz, axes: {heave: {amplitude: 3 deg}}, duration: 3 s}",
            "p.yaml:3:61: segments[0].axes.heave.amplitude: 'deg' is a unit of angle",
        ),
        (
            "- {kind: sine, frequency: 2 Hz, axes: {}, duration: 3 s}",
            "segments[0].axes: no axis given: expected one or more of surge",
        ),
        (
            "- {kind: sine, frequency: 2 Hz, axes: {yaw: {amplitude: 1 mrad}}, duration: 3 s, fade: 2 s}",
            "segments[0]: two fades of 2 s do not fit into 3 s",
        ),
        ("- {kind: sweep, start: 2 Hz, stop: 2 Hz, rate: 1 oct/min, axes: {}}", "stop: equals start"),
        (
            "- {kind: record, band: [1 Hz, 5 Hz], axes: {sway: {file: nowhere.AT2}}}",
            "segments[0].axes.sway.file: there is no file nowhere.AT2",
        ),
        (
            "- {kind: record, band: [5 Hz, 1 Hz], axes: {}}",
            "segments[0].band[1]: 1 Hz is not above 5 Hz",
        ),
        (
            "- {kind: random, duration: 4 s, axes: {heave: {density: [[2 Hz, 1 g2/Hz], [1 Hz, 1 g2/Hz]]}}}",
            "segments[0].axes.heave.density[1][0]: 1 Hz is not above the 2 Hz before it",
        ),
        (
            "- {kind: ramp, to: {heave: 3 mm}, duration: 3 s}",
            "segments[0]: the profile ends away from neutral",
        ),
        ("- {kind: hold, duration: 1799 s}\n  - {kind: hold, duration: 2 s}", "maximum 1800 s: use repeats"),
        ("[]", "segments: no segment: a profile needs at least one"),
        (
            "- {kind: random, duration: 4 s, axes: {heave: {density: [[2 Hz, 1 g2/Hz]]}}}",
            "segments[0].axes.heave.density: 1 break points, a density needs at least two",
        ),
    ],
)
def test_refusals(text: str, said: str) -> None:
    """Everything that is wrong in a profile is one line with its place."""
    with pytest.raises(SettingsError) as caught:
        load_text(f"name: p\nsegments:\n  {text}\n", "p.yaml", ProfileSettings)
    assert any(said in problem for problem in caught.value.problems), caught.value.problems
    assert all(problem.startswith("p.yaml:3:") or "p.yaml:2:" in problem for problem in caught.value.problems)


def test_one_mistake_is_one_line() -> None:
    """A mistake within a segment does not make others of the segments around it."""
    for text in ("{kind: rod, duration: 3 s}", "{kind: hold, duration: 3 m}"):
        with pytest.raises(SettingsError) as caught:
            profile(text)
        assert len(caught.value.problems) == 1


def test_distortion_is_judged_where_an_axis_plays_one_sine() -> None:
    """A bound on it elsewhere could never be met, so it is refused before anything moves."""
    sine = "{kind: sine, frequency: 5 Hz, axes: {heave: {peak: 0.3 g}}, duration: 9 s}"
    other = "{kind: sine, frequency: 6 Hz, axes: {heave: {peak: 0.1 g}}, duration: 9 s}"
    head = "verdict: {axes: {heave: {thd: 0.5 %, acceleration_best_lag_nrmse: 0.05}}}\n"
    bounds = profile(f"{sine}\n{{kind: hold, duration: 1 s}}\n{sine}", head).verdict.axes.heave
    assert bounds is not None
    assert bounds.thd == pytest.approx(0.005)
    with pytest.raises(SettingsError) as caught:
        profile(f"{sine}\n{other}", head)
    (problem,) = caught.value.problems
    assert "verdict.axes.heave.thd: applies only to a profile whose motion in heave is a single" in problem


def test_a_payload_that_no_body_has() -> None:
    """Moments of inertia that break the triangle's inequality are refused at their own place."""
    payload = (
        "{kind: rigid, mass: 1 t, centre_of_gravity: [0 m, 0 m, 1 m], inertia: [1 t m2, 1 t m2, 3 t m2]}"
    )
    with pytest.raises(SettingsError, match=r"payload\.inertia\[2\]: more than the sum"):
        profile("{kind: hold, duration: 1 s}", f"payload: {payload}\n")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("solver: idependent", "payload.solver: 'idependent': expected one of"),
        ("integrator: runge-kutta", "payload.integrator: solver chassis goes with generalized-alpha, not"),
        ("jacobian: none", "payload.jacobian: none goes with implicit-euler, solver chassis is stepped by"),
        ("restrained: maybe", "payload.restrained: "),
        ("jakobian: none", "payload.jakobian: unknown key"),
    ],
)
def test_what_is_wrong_with_a_vehicle_on_the_table_is_told_at_its_own_key(wrong: str, said: str) -> None:
    """The kind of payload is called like one of its keys."""
    head = f"payload:\n  kind: vehicle\n  vehicle: sedan\n  {wrong}\n"
    with pytest.raises(SettingsError) as caught:
        load_text(f"name: p\n{head}segments: [{{kind: hold, duration: 1 s}}]\n", "p.yaml", ProfileSettings)
    (problem,) = caught.value.problems
    assert problem.startswith("p.yaml:5:")
    assert said in problem


def test_files_are_found_beside_the_profile(tmp_path: Path, table: TableSettings) -> None:
    """A relative path starts at the profile's folder; a broken record is refused with its file and line."""
    data = "".join(f"{math.sin(0.3 * k) * 0.1:.6f}\n" for k in range(400))
    header = "T\nE\nACCELERATION TIME SERIES IN UNITS OF G\nNPTS= 400, DT= .01 SEC\n"
    (tmp_path / "my record.AT2").write_text(header + data)
    path = tmp_path / "p.yaml"
    path.write_text(
        "name: p\nfade: 0.5 s\nsegments:\n"
        "  - {kind: record, band: [1 Hz, 20 Hz], axes: {heave: {file: my record.AT2, scale: 50 %}}}\n"
    )
    motion = program(load(path, ProfileSettings), table)
    assert motion.notes.records[0].axis == "heave"
    assert motion.notes.records[0].report.before.acceleration == pytest.approx(0.05 * 9.80665, rel=0.01)
    (tmp_path / "my record.AT2").write_text(header.replace("400", "401") + data)
    with pytest.raises(SettingsError, match=r"segments\[0\].*my record.AT2:4: NPTS is 401, but 400"):
        program(load(path, ProfileSettings), table)


def test_band_is_that_of_all_segments() -> None:
    """The band spans what all segments excite; moves have none."""
    moves = "{kind: ramp, to: {heave: 1 mm}, duration: 1 s}\n{kind: ramp, to: {heave: 0 mm}, duration: 1 s}"
    assert profile(moves).band() is None
    shakes = (
        "{kind: sine, frequency: 2 Hz, axes: {yaw: {amplitude: 1 mrad}}, duration: 3 s}\n"
        "{kind: sweep, start: 9 Hz, stop: 1 Hz, rate: 30 oct/min, axes: {sway: {amplitude: 1 mm}}}\n"
        "{kind: random, duration: 4 s, axes: {heave: {density: [[3 Hz, 1 g2/Hz], [12 Hz, 1 g2/Hz]]}}}"
    )
    assert profile(shakes).band() == (1.0, 12.0)


def test_ramps_are_absolute_and_shaking_is_about_them(table: TableSettings) -> None:
    """A ramp goes to a pose, what follows shakes about it, and a hold stays there."""
    made = profile(
        "{kind: ramp, to: {heave: 8 mm, yaw: 0.5 deg}, duration: 1 s}\n"
        "{kind: sine, frequency: 5 Hz, axes: {heave: {amplitude: 2 mm}, roll: {peak: 1 rad/s2}}, "
        "duration: 3 s}\n"
        "{kind: hold, duration: 1 s}\n"
        "{kind: ramp, to: {heave: 0 mm}, duration: 1 s}\n"
        "{kind: ramp, to: {yaw: 0 deg}, duration: 1 s}"
    )
    timeline = compile_profile(made, table)
    assert timeline.duration == pytest.approx(7.0)
    pose = timeline.sample(np.array([0.999, 4.5, 6.0 - 1e-6, 7.0]))[:, 0]
    yaw = math.radians(0.5)
    assert pose[0] == pytest.approx([0, 0, 8e-3, 0, 0, yaw], abs=1e-9)
    assert pose[1] == pytest.approx([0, 0, 8e-3, 0, 0, yaw], abs=1e-12)
    assert pose[2] == pytest.approx([0, 0, 0, 0, 0, yaw], abs=1e-9)
    assert pose[3] == pytest.approx(np.zeros(6), abs=1e-12)
    inside = timeline.sample(np.linspace(2.1, 2.9, 801))
    assert np.max(inside[:, 0, 2]) == pytest.approx(10e-3, abs=1e-6)
    assert np.max(np.abs(inside[:, 2, 3])) == pytest.approx(1.0, rel=1e-4)


def test_a_sweep_keeps_its_peak_acceleration(table: TableSettings) -> None:
    """A sweep by peak acceleration has that peak all along, and its frequency moves by octaves per minute."""
    sweep = "{kind: sweep, start: 2 Hz, stop: 16 Hz, rate: 20 oct/min, axes: {heave: {peak: 0.1 g}}}"
    timeline = compile_profile(profile(sweep), table)
    assert timeline.duration == pytest.approx(3.0 / 20.0 * 60.0, abs=2e-3)
    heave = timeline.sample(np.arange(1.0, 8.0, KNOT_SPACING))[:, 2, 2]
    for part in np.array_split(heave, 6):
        assert np.max(np.abs(part)) == pytest.approx(0.0 + 0.1 * 9.80665, rel=0.02)
    crossings = np.flatnonzero(np.diff(np.sign(heave)))
    times = 1.0 + crossings * KNOT_SPACING
    half_periods = np.diff(times)
    expected = 2.0 * 2.0 ** ((times[:-1] + half_periods / 2.0) / 3.0)
    assert np.allclose(0.5 / half_periods, expected, rtol=0.04)


def test_gains_and_repeats(table: TableSettings) -> None:
    """Profile gain and segment gain multiply the motion, repeats play it again."""
    sine = (
        "{kind: sine, frequency: 2 Hz, axes: {sway: {amplitude: 4 mm}}, duration: 3 s, gain: %s, repeats: %d}"
    )
    whole = compile_profile(profile(sine % ("1", 1)), table)
    scaled = compile_profile(profile(sine % ("-50 %", 2), "gain: 0.5\nrepeats: 3\n"), table)
    assert scaled.duration == pytest.approx(3.0 * 2 * 3)
    times = np.linspace(0.0, 3.0, 50, endpoint=False)
    wanted = whole.sample(times) * -0.25
    for start in (0.0, 3.0, 15.0):
        assert np.allclose(scaled.sample(start + times), wanted, rtol=0.0, atol=1e-6)


def test_the_rear_axle_follows_the_front_one(table: TableSettings) -> None:
    """What pitch and heave say of the front wheels comes to the rear wheels after wheelbase over speed."""
    road = (
        "{kind: road, road_class: B, speed: 36 km/h, band: [0.5 Hz, 5 Hz], duration: 20 s, wheelbase: 3 m, "
        "track_width: 2 m, fade: 0.1 s}"
    )
    poses = compile_profile(profile(road), table).sample(np.arange(2.0, 18.0, KNOT_SPACING))[:, 0]
    heave, pitch = poses[:, 2], poses[:, 4]
    front = heave - 1.5 * np.tan(pitch)
    rear = heave + 1.5 * np.tan(pitch)
    delay = round(3.0 / 10.0 / KNOT_SPACING)
    assert np.allclose(rear[delay:], front[:-delay], rtol=0.0, atol=1e-9)
    assert np.std(poses[:, 3]) > 1e-4
    assert np.all(poses[:, [0, 1, 5]] == 0.0)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.floats(-0.3, 0.3), min_size=6, max_size=6),
    st.lists(st.floats(-3.0, 3.0), min_size=3, max_size=3),
)
def test_the_commanded_point_is_exact(motion: list[float], point: list[float]) -> None:
    """C placed so that any point of the table makes the motion asked for, whatever the angles."""
    samples, place = np.array([motion]), np.array(point)
    centre = pose_of_centre(samples, place)[0]
    (cr, cp, cy), (sr, sp, sy) = np.cos(motion[3:]), np.sin(motion[3:])
    about_x = np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
    about_y = np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
    about_z = np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]])
    moved = centre[:3] + about_z @ about_y @ about_x @ place - place
    assert np.allclose(moved, motion[:3], atol=1e-12)
    assert np.array_equal(centre[3:], motion[3:])


def test_seeds(table: TableSettings) -> None:
    """The profile's seed makes the road; segments and axes have noise of their own."""
    road = (
        "{kind: road, road_class: B, speed: 40 km/h, band: [0.5 Hz, 5 Hz], duration: 9 s, wheelbase: 3 m, "
        "track_width: 2 m}"
    )
    twice = f"{road}\n{road}"
    first, again, other = (compile_profile(profile(twice, f"seed: {s}\n"), table) for s in (1, 1, 2))
    assert np.array_equal(first.coefficients, again.coefficients)
    assert not np.allclose(first.coefficients, other.coefficients)
    times = np.linspace(2.0, 7.0, 500)
    halves = first.sample(times)[:, 0, 2], first.sample(times + 9.0)[:, 0, 2]
    assert abs(np.corrcoef(*halves)[0, 1]) < 0.6
