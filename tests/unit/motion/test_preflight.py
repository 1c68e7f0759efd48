"""The proof before motion: each limit, the passing scale, oil over repeats, the command's document."""

from __future__ import annotations

import argparse
import json
import math
import re
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mastd.cli import main
from mastd.commands.check import command as check_command
from mastd.errors import KinematicsError, SettingsError
from mastd.motion.preflight import preflight
from mastd.motion.preflight.limits import Examiner, Findings, Limit, Windows, all_windows
from mastd.motion.preflight.preflight import check
from mastd.motion.preflight.verdict import MAX_SCALE, Preflight
from mastd.motion.profile.compiler import program
from mastd.settings.core.loader import load, load_text
from mastd.settings.core.starter import find, names
from mastd.settings.profile.profile import ProfileSettings
from mastd.settings.table.payload import NoPayload
from mastd.settings.table.table import TableSettings
from tests.support.present import present


@pytest.fixture(scope="module")
def table() -> TableSettings:
    """Return the starter table."""
    return load(find("table", "table"), TableSettings)


def profile(segments: str, head: str = "") -> ProfileSettings:
    """Return a profile of segments in YAML flow style, one a line."""
    lines = "".join(f"  - {line}\n" for line in segments.strip().splitlines())
    return load_text(f"name: p\n{head}segments:\n{lines}", "p.yaml", ProfileSettings)


def sine(axis: str, size: str, frequency: float, duration: float = 4.0) -> str:
    """Return a sine segment."""
    axes = f"{{{axis}: {{{size}}}}}"
    return f"{{kind: sine, frequency: {frequency:g} Hz, axes: {axes}, duration: {duration:g} s}}"


def limits(result: Preflight) -> dict[str, Limit]:
    """Return the limits by name."""
    return {limit.name: limit for limit in result.limits}


def with_table(table: TableSettings, **changes: object) -> TableSettings:
    """Return the table with other limits."""
    return table.model_copy(update={"limits": table.limits.model_copy(update=changes)})


def test_the_demo_profile(table: TableSettings) -> None:
    """Class B at 40 km/h, 0.5 to 5 Hz, 12 t: about 12 mm, 0.11 m/s and 155 kN, and it passes."""
    demo = load(find("profile", "class_b_road"), ProfileSettings)
    result = check(demo, table)
    assert result.ok
    assert result.duration == pytest.approx(30.0)
    found = limits(result)
    assert found["stroke"].worst == pytest.approx(12e-3, rel=0.1)
    assert found["velocity"].worst == pytest.approx(0.11, rel=0.1)
    assert found["push_force"].worst == pytest.approx(155e3, rel=0.03)
    assert found["push_force"].limit == pytest.approx(0.9 * 196e3)
    assert "vertical" in found["push_force"].where
    assert 1.3 < result.scale < 2.2


@pytest.mark.parametrize("name", names("profile"))
def test_starter_profiles_pass(table: TableSettings, name: str) -> None:
    """Every profile that is shipped passes on the table that is shipped."""
    assert check(load(find("profile", name), ProfileSettings), table).ok


@pytest.mark.parametrize(
    ("name", "segment", "where"),
    [
        ("stroke", sine("heave", "amplitude: 49 mm", 0.5), "vertical"),
        ("velocity", sine("surge", "amplitude: 20 mm", 5.0), "actuator 7: longitudinal"),
        ("acceleration", sine("sway", "peak: 1.3 g", 6.0), "lateral"),
        ("push_force", sine("heave", "peak: 1.2 g", 6.0), "vertical"),
        ("pull_force", sine("surge", "peak: 0.7 g", 4.0), "actuator 7: longitudinal"),
        ("valve_flow", sine("heave", "amplitude: 28 mm", 5.0), "vertical"),
        ("pose", sine("pitch", "amplitude: 2.1 deg", 0.5), "pitch"),
    ],
)
def test_each_limit_is_told(table: TableSettings, name: str, segment: str, where: str) -> None:
    """A motion beyond one limit is refused with that limit's name, place and time."""
    result = check(profile(segment), table)
    limit = limits(result)[name]
    assert not result.ok
    assert limit.margin < 0.0
    assert limit.worst > limit.limit
    assert where in limit.where
    assert 0.2 <= limit.time_s <= 3.8
    assert 0.0 < result.scale < 1.0


def test_figures_of_a_heave_sine(table: TableSettings) -> None:
    """Heave by hand: stroke, velocity, acceleration, force and flow of the four vertical actuators."""
    amplitude, omega = 10e-3, 2.0 * math.pi * 2.0
    result = check(profile(sine("heave", "amplitude: 10 mm", 2.0, 20.0), "fade: 5 s\n"), table)
    found = limits(result)
    assert found["stroke"].worst == pytest.approx(amplitude, rel=2e-3)
    assert found["velocity"].worst == pytest.approx(amplitude * omega, rel=2e-3)
    assert found["acceleration"].worst == pytest.approx(amplitude * omega**2, rel=2e-3)
    weight, inertia = 35e3 * 9.80665 / 4.0, 35e3 * amplitude * omega**2 / 4.0
    assert found["push_force"].worst == pytest.approx(weight + inertia, rel=2e-3)
    travel, leakage = 4.0 * 95e-4 * amplitude * omega, 4.0 * 5e-12 * weight / 95e-4
    # Vertical actuators only push here, and the others do nothing.
    assert found["pull_force"].worst == pytest.approx(0.0, abs=1.0)
    assert result.oil[""].peak_flow == pytest.approx(travel + leakage, rel=0.01)
    # A faded sine's mean is that of its window: each fade counts one half.
    assert result.oil[""].mean_flow == pytest.approx(2.0 / math.pi * travel * 15.0 / 20.0 + leakage, rel=0.01)


@pytest.mark.parametrize("point", ["C", "T"])
def test_the_scale_is_where_it_stops_passing(table: TableSettings, point: str) -> None:
    """At ``scale`` the profile passes, a little above it does not; weight is not scaled."""
    road = (
        "{kind: road, road_class: C, speed: 40 km/h, band: [0.5 Hz, 8 Hz], duration: 10 s, wheelbase: 3 m, "
        "track_width: 2 m}"
    )
    payload = (
        "{kind: rigid, mass: 8 t, centre_of_gravity: [0.5 m, 0 m, 1.5 m], inertia: [5 t m2, 9 t m2, 9 t m2]}"
    )
    head = f"payload: {payload}\npoint: {point}\n"
    first = check(profile(road, head), table)
    assert not first.ok
    at_scale = check(profile(road, f"{head}gain: {first.scale}\n"), table)
    above = check(profile(road, f"{head}gain: {first.scale * 1.005}\n"), table)
    assert at_scale.ok
    assert 1.0 <= at_scale.scale <= 1.005
    assert not above.ok


def test_the_scale_is_proved_on_the_whole_motion(
    table: TableSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the part of the motion that the search walks misses the worst point, the proof finds it."""
    wanted = check(profile(sine("heave", "amplitude: 20 mm", 1.0)), table).scale
    real, calls = preflight._hot_windows, []

    def blind_at_first(findings: Findings) -> Windows:
        calls.append(1)
        windows = real(findings)
        return [flags & False for flags in windows] if len(calls) == 1 else windows

    monkeypatch.setattr(preflight, "_hot_windows", blind_at_first)
    again = check(profile(sine("heave", "amplitude: 20 mm", 1.0)), table).scale
    assert again == pytest.approx(wanted, rel=0.003)
    assert len(calls) >= 2


def test_a_payload_that_cannot_be_carried(table: TableSettings) -> None:
    """Where the weight alone exceeds the force no scale passes; where nothing moves every scale does."""
    payload = (
        "{kind: rigid, mass: 45 t, centre_of_gravity: [0 m, 0 m, 1 m], inertia: [50 t m2, 50 t m2, 50 t m2]}"
    )
    result = check(profile(sine("heave", "amplitude: 1 mm", 1.0), f"payload: {payload}\n"), table)
    assert not result.ok
    assert result.scale == 0.0
    still = check(profile("{kind: hold, duration: 1 s}"), table)
    assert still.ok
    assert still.scale == MAX_SCALE


def test_repeats_give_the_times_and_oil_of_the_whole(table: TableSettings) -> None:
    """A segment repeated is the segment written down as often: same limits, same oil, same worst times."""
    segment = sine("heave", "amplitude: 30 mm", 2.5, 5.0)
    repeated = profile(segment.replace("}, duration", "}, repeats: 6, duration"), "")
    written = profile("\n".join([segment] * 6))
    whole = profile(segment, "repeats: 6\n")
    supply = present(table.supply)
    smaller = supply.model_copy(update={"pump_flow": 0.585 * supply.pump_flow})
    thirsty = table.model_copy(update={"supply": smaller})
    once = check(profile(segment), thirsty)
    results = [check(made, thirsty) for made in (repeated, written, whole)]
    assert 0.0 < results[0].oil[""].least_oil < once.oil[""].least_oil - 3e-3
    for result in results[1:]:
        assert result.oil[""].least_oil == pytest.approx(results[0].oil[""].least_oil, rel=1e-9)
        assert result.oil[""].mean_flow == pytest.approx(results[0].oil[""].mean_flow, rel=1e-3)
        assert limits(result)["accumulator"].time_s == limits(results[0])["accumulator"].time_s
        assert result.duration == pytest.approx(30.0)


def test_oil_that_runs_out_late(table: TableSettings) -> None:
    """More draw than pump: seconds of it the accumulators bear, many repeats they do not."""
    segment = sine("heave", "amplitude: 30 mm", 2.5, 6.0)
    supply = present(table.supply)
    smaller = supply.model_copy(update={"pump_flow": 0.6 * supply.pump_flow})
    thirsty = table.model_copy(update={"supply": smaller})
    examiner = Examiner(thirsty, NoPayload())
    short = check(profile(segment), thirsty)
    used = short.oil[""]
    assert used.mean_flow > smaller.pump_flow
    assert limits(short)["accumulator"].margin > 0.0
    long = check(profile(segment, "repeats: 40\n"), thirsty)
    assert not long.ok
    assert limits(long)["accumulator"].margin < 0.0
    assert limits(long)["mean_flow"].margin < 0.0
    assert 6.0 < limits(long)["accumulator"].time_s < 200.0
    # Independent: the flow series of one play, summed with the pump and the ceiling in plain Python.
    timeline = program(profile(segment), thirsty).timeline()
    flows = examiner.walk(timeline, all_windows(timeline)).flows[0][0]
    oil = full = (
        limits(short)["accumulator"].limit
        + (used.least_oil - limits(short)["accumulator"].limit) / limits(short)["accumulator"].margin
    )
    least = oil
    for flow in flows[:-1]:
        oil = min(full, oil + (smaller.pump_flow - flow) * 1e-3)
        least = min(least, oil)
    assert used.least_oil == pytest.approx(least, rel=1e-6)


HUGE = ("0", "1e-300", "1e-3", "1", "5", "1e6", "1e15", "1e300", "-1")


def test_pose_that_the_observer_does_not_find(table: TableSettings) -> None:
    """A motion far outside the strokes is told by the forward kinematics; the document stays valid JSON."""
    far = with_table(table, stroke_margin=0.0)
    result = check(profile(sine("roll", "amplitude: 89 deg", 0.5)), far)
    assert not result.ok
    assert limits(result)["forward_kinematics"].margin < 0.0
    json.dumps(result.document(), allow_nan=False)


@pytest.mark.filterwarnings("error")
@settings(max_examples=60)
@given(
    amplitude=st.sampled_from(HUGE),
    gain=st.sampled_from(HUGE),
    mass=st.sampled_from(HUGE),
    centre=st.tuples(*3 * [st.sampled_from(("0", "1", "-1000", "1000", "2147483648", "1e300"))]),
    inertia=st.sampled_from(HUGE),
)
def test_a_check_of_any_numbers_ends_in_a_document_or_in_lines_that_tell_why(
    table: TableSettings, amplitude: str, gain: str, mass: str, centre: tuple[str, ...], inertia: str
) -> None:
    at = ", ".join(f"{part} m" for part in centre)
    each = ", ".join(3 * [f"{inertia} kg m2"])
    text = (
        f"name: p\ngain: {gain}\npayload: {{kind: rigid, mass: {mass} t, centre_of_gravity: [{at}], "
        f"inertia: [{each}]}}\nsegments: [{{kind: sine, frequency: 2 Hz, duration: 1 s, fade: 0.2 s, "
        f"axes: {{heave: {{amplitude: {amplitude} mm}}}}}}]\n"
    )
    try:
        read = load_text(text, "p.yaml", ProfileSettings)
    except SettingsError:
        return
    result = check(read, table)
    json.dumps(result.document(), allow_nan=False)
    assert not re.search(r"\bnan\b", result.text().splitlines()[-2])
    assert result.scale >= 1.0 if result.ok else result.scale < 1.0


def test_numbers_beyond_all_bounds(table: TableSettings) -> None:
    """A motion whose figures are no numbers any more does not pass for that."""
    result = check(profile(sine("heave", "amplitude: 1.0e+300 km", 2.0)), table)
    assert not result.ok
    assert result.scale == 0.0
    json.dumps(result.document(), allow_nan=False)
    assert max(len(line) for line in result.text().splitlines()) < 150


@pytest.mark.real_time
def test_minutes_in_seconds(table: TableSettings) -> None:
    """A long profile is checked, scale and all, within seconds of processor time."""
    road = (
        "{kind: road, road_class: B, speed: 40 km/h, band: [0.5 Hz, 5 Hz], duration: 300 s, "
        "wheelbase: 3.6 m, track_width: 1.9 m}"
    )
    check(profile("{kind: hold, duration: 1 s}"), table)
    start = time.process_time()
    result = check(profile(road), table)
    assert result.duration == pytest.approx(300.0)
    assert time.process_time() - start < 6.0


def run(*words: str) -> int:
    """Run the check command with its own parser."""
    parser = argparse.ArgumentParser()
    check_command.add_parsers(parser.add_subparsers())
    arguments = parser.parse_args(["check", *words])
    return int(arguments.run(arguments))


def test_command_document(capsys: pytest.CaptureFixture[str]) -> None:
    """``check --json`` prints one document with the promised keys, and 0 for a profile that passes."""
    assert run("sine", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["ok"] is True
    assert document["scale"] > 1.0
    for limit in document["limits"]:
        assert set(limit) == {"name", "worst", "limit", "unit", "margin", "time_s", "where"}
    assert {limit["name"] for limit in document["limits"]} >= {
        "stroke",
        "velocity",
        "push_force",
        "accumulator",
    }


def test_command_table_and_codes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The readable table names what is exceeded and the scale; exit 1, and errors of the file as lines."""
    path = tmp_path / "wild.yaml"
    path.write_text(f"name: wild\nsegments:\n  - {sine('heave', 'amplitude: 60 mm', 1.0)}\n")
    assert run(str(path)) == 1
    text = capsys.readouterr().out
    assert "exceeded" in text
    assert "maximum span that would pass: 79." in text
    path.write_text("name: wild\nsegments:\n  - {kind: hold}\n")
    with pytest.raises(SettingsError) as caught:
        run(str(path))
    assert caught.value.exit_code == 2
    assert caught.value.problems[0].startswith(f"{path}:3:5: segments[0].duration:")


@pytest.mark.parametrize(
    ("mass", "pressure", "lines"),
    [
        (45.0, 210, [r"mass +80 +68\.35 +t +-17% .*table and payload, at rest +<- exceeded"]),
        (
            45.0,
            201,
            [r"mass .*exceeded", r"supply pressure +210\.5 +201 +bar +-5% .*actuator 1: .*, at rest +<- exc"],
        ),
    ],
)
def test_what_the_table_cannot_carry_is_told_with_its_limit(
    mass: float, pressure: int, lines: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Four actuators of 0.9 · 196 kN hold 71.95 t, of which 0.95 can be raised; pressure: 80 t on 95 cm²."""
    table, path = tmp_path / "table.yaml", tmp_path / "heavy.yaml"
    text = find("table", "table").read_text(encoding="utf-8")
    table.write_text(text.replace("  pressure: 210 bar", f"  pressure: {pressure} bar"), encoding="utf-8")
    path.write_text(
        f"name: heavy\npayload: {{kind: rigid, mass: {mass} t, centre_of_gravity: [0 m, 0 m, 0 m], "
        "inertia: [9 t m2, 9 t m2, 9 t m2]}\nsegments:\n  - {kind: hold, duration: 1 s}\n",
        encoding="utf-8",
    )
    assert run(str(path), "--table", str(table)) == 1
    told = capsys.readouterr().out
    for line in lines:
        assert re.search(line, told), told
    assert "maximum span that would pass: 0.0%" in told
    played = ["--sim", "--lockstep", "--link", "direct", "--out", str(tmp_path / "runs")]
    assert main(["run", str(path), "--table", str(table), *played]) == 2
    told = capsys.readouterr().err
    assert "heavy.yaml: refused, the check failed" in told
    assert re.search(lines[-1], told)


def test_strokes_too_long_for_the_forward_kinematics_are_refused(tmp_path: Path) -> None:
    table = tmp_path / "table.yaml"
    text = find("table", "table").read_text(encoding="utf-8")
    table.write_text(text.replace("stroke: 50 mm", "stroke: 600 mm"), encoding="utf-8")
    with pytest.raises(
        KinematicsError, match=rf"{table}: geometry: .* of the error .*, limit 0\.5, and 12 updates"
    ):
        run("sine", "--table", str(table))


def test_a_real_record(table: TableSettings) -> None:
    """A published strong-motion record at a scale and in a band that the table can follow."""
    path = Path(__file__).parents[3].parent / "shared" / "data" / "records" / "usgs_RSN763_GIL067.AT2"
    if not path.is_file():
        pytest.skip("the folder of real records is not beside this checkout")
    record = f"{{kind: record, band: [0.5 Hz, 15 Hz], axes: {{sway: {{file: {path}, scale: 80 %}}}}}}"
    result = check(profile(record), table)
    assert result.ok
    report = result.files.records[0].report
    assert report.before.acceleration == pytest.approx(0.8 * 0.3585328 * 9.80665, rel=1e-9)
    assert report.after.acceleration == pytest.approx(report.before.acceleration, rel=0.1)
    assert 0.005 < limits(result)["stroke"].worst < 0.048
    assert np.isfinite(result.scale)
