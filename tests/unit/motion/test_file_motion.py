"""Profiles whose motion comes from files: several channels to rigid motion, time bases, scaling, refusals."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from mastd.arrays import FloatArray
from mastd.cli import main
from mastd.errors import FormatError, SettingsError
from mastd.formats.core.measurement import Channel, Measurement, Series
from mastd.formats.mts import rpc3
from mastd.formats.strong_motion import knet
from mastd.motion.preflight.preflight import check
from mastd.motion.profile.compiler import program
from mastd.motion.profile.measured import reduction
from mastd.motion.profile.sources import Files, Source, part_of
from mastd.settings.core.axes import AXES
from mastd.settings.core.loader import load, load_text
from mastd.settings.core.starter import find
from mastd.settings.profile.file_segments import MeasuredChannel
from mastd.settings.profile.profile import ProfileSettings
from mastd.settings.table.table import TableSettings

STEP = 1.0 / 256.0
TIMES: FloatArray = np.asarray(STEP * np.arange(2560.0), dtype=np.float64)
BAND = "band: [1 Hz, 30 Hz]"
DIRECTIONS = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1), "-x": (-1, 0, 0), "-y": (0, -1, 0)}


@pytest.fixture(scope="module")
def table() -> TableSettings:
    """Return the starter table."""
    return load(find("table", "table"), TableSettings)


def burst(times: NDArray[np.floating], centre: float, frequency: float, derivative: int) -> FloatArray:
    """Return a derivative of exp(−((t − centre)/0.6)²) sin(2π f (t − centre))."""
    x = times - centre
    rate = -2.0 * x / 0.36 + 2j * math.pi * frequency
    series = np.exp(-(x**2) / 0.36) * np.exp(2j * math.pi * frequency * x)
    return np.asarray((series * (1.0, rate, rate**2 - 2.0 / 0.36)[derivative]).imag)


def rsp(path: Path, channels: Sequence[tuple[str, str, FloatArray]], step: float = STEP) -> Path:
    """Write channels of name, unit and values."""
    made = tuple(Channel(name, unit, np.asarray(values)) for name, unit, values in channels)
    rpc3.write(path, Measurement("rpc3", (Series(made, step),)))
    return path


def profile(path: Path, segment: str, head: str = "") -> ProfileSettings:
    """Return a profile of one segment in flow style, beside the files in ``path``."""
    return load_text(f"name: p\n{head}segments:\n  - {segment}\n", str(path / "p.yaml"), ProfileSettings)


def played(path: Path, table: TableSettings, segment: str, head: str = "") -> FloatArray:
    """Return the samples (knots, 6) of the commanded point."""
    return program(profile(path, segment, head), table).blocks[0].samples


def record(path: Path, derivative: int = 2, frequency: float = 4.0, size: float = 0.01) -> str:
    """Write a burst of heave; return the axes of a record of it."""
    unit = ("mm", "cm/s", "g")[derivative]
    factor = (1e3, 1e2, 1.0 / 9.80665)[derivative]
    values = size * factor * burst(TIMES, 5.0, frequency, derivative)
    rsp(path / "heave.rsp", [("heave", unit, values)])
    return "axes: {heave: {file: heave.rsp}}"


# several channels to one rigid motion


def tell(axes: str = "[heave, roll, pitch]", more: str = "", channels: str | None = None) -> str:
    """Return a measured segment over four corners."""
    corners = ", ".join(
        f"{name}: {{at: [{x} m, {y} m, 0.2 m], along: z}}"
        for name, x, y in (("lf", 1.8, 1), ("rf", 1.8, -1), ("lr", -1.4, 1), ("rr", -1.4, -1))
    )
    return (
        f"{{kind: measured, file: road.rsp, {BAND}, baseline: none, axes: {axes}, fade: 0.2 s{more}, "
        f"channels: {{{channels or corners}}}}}"
    )


def corners(heave: FloatArray, roll: FloatArray, pitch: FloatArray) -> dict[str, FloatArray]:
    """Return what four corners measure along z."""
    return {
        name: heave + y * roll - x * pitch
        for name, x, y in (("lf", 1.8, 1.0), ("rf", 1.8, -1.0), ("lr", -1.4, 1.0), ("rr", -1.4, -1.0))
    }


def test_corners_give_heave_roll_and_pitch(tmp_path: Path, table: TableSettings) -> None:
    """Accelerations of four corners of a moved body are that motion again, each peak at its own time."""
    heave, roll, pitch = (
        size * burst(TIMES, at, frequency, 2)
        for size, at, frequency in ((4e-3, 4.0, 5.0), (2e-3, 5.0, 8.0), (3e-3, 6.0, 3.0))
    )
    measured = corners(heave, roll, pitch)
    rsp(tmp_path / "road.rsp", [(name, "m/s2", values) for name, values in measured.items()])
    motion = program(profile(tmp_path, tell()), table)
    samples = motion.blocks[0].samples
    assert not np.any(samples[:, [0, 1, 5]])
    # Where the motion begins in the samples is found by the heave, the others must fit to it.
    begin = np.argmax(samples[:, 2]) - np.argmax(burst(np.linspace(0.0, 10.0, 10_001), 4.0, 5.0, 0))
    at = 1e-3 * (np.arange(len(samples)) - begin)
    wanted = [
        size * burst(at, centre, frequency, 0)
        for size, centre, frequency in ((4e-3, 4.0, 5.0), (2e-3, 5.0, 8.0), (3e-3, 6.0, 3.0))
    ]
    for axis, truth in zip((2, 3, 4), wanted, strict=True):
        assert np.max(np.abs(samples[:, axis] - truth)) < 0.02 * np.max(np.abs(truth))
    note = motion.notes.reductions[0]
    assert note.axes == ("heave", "roll", "pitch")
    assert max(note.left_over.values()) < 1e-5


def test_the_commanded_point_is_what_the_channels_turn_about(tmp_path: Path, table: TableSettings) -> None:
    """With point T the axes are those of T: a body turned about T makes pitch alone."""
    top = table.control_point[2]
    pitch = 2e-3 * burst(TIMES, 5.0, 5.0, 2)
    channels = [("high", 1.0), ("low", -0.5)]
    rsp(tmp_path / "road.rsp", [(name, "m/s2", (z - top) * pitch) for name, z in channels])
    keys = ", ".join(f"{name}: {{at: [0.3 m, 0 m, {z} m], along: x}}" for name, z in channels)
    samples = played(tmp_path, table, tell("[surge, pitch]", channels=keys), "point: T\n")
    assert np.max(np.abs(samples[:, 4])) == pytest.approx(2e-3, rel=0.02)
    assert np.max(np.abs(samples[:, 0])) < 1e-6
    about_centre = played(tmp_path, table, tell("[surge, pitch]", channels=keys))
    assert np.max(np.abs(about_centre[:, 0])) == pytest.approx(2e-3 * top, rel=0.02)


places = st.lists(st.tuples(*[st.floats(-2.0, 2.0)] * 3), min_size=9, max_size=9)


@settings(max_examples=60, deadline=None)
@given(places, st.lists(st.sampled_from(sorted(DIRECTIONS)), min_size=9, max_size=9), st.integers(0, 10**6))
def test_any_points_of_a_body_give_its_motion(
    points: list[tuple[float, float, float]], along: list[str], seed: int
) -> None:
    """Points moved by an exact small rotation give the six axes back, wherever they are and look."""
    channels = [
        MeasuredChannel.model_validate({"at": at, "along": to}) for at, to in zip(points, along, strict=True)
    ]
    about = np.array([0.1, -0.2, 0.5])
    try:
        reduced = reduction(channels, AXES, about)
    except ValueError:
        assume(False)
    pose = 1e-6 * np.random.default_rng(seed).normal(size=6)
    angle = float(np.linalg.norm(pose[3:]))
    a, b, c = pose[3:] / angle
    skew = np.array([[0, -c, b], [c, 0, -a], [-b, a, 0]])
    turned = np.eye(3) + math.sin(angle) * skew + (1.0 - math.cos(angle)) * skew @ skew
    seen = [
        np.dot(DIRECTIONS[to], pose[:3] + turned @ (np.array(at) - about) - (np.array(at) - about))
        for at, to in zip(points, along, strict=True)
    ]
    assert reduced.solution @ seen == pytest.approx(pose, abs=1e-9)
    # Of second order in 1e-6 rad; a ratio to the channel's own motion has no bound where that cancels.
    assert reduced.rows @ (reduced.solution @ seen) == pytest.approx(np.array(seen), abs=1e-10)


def test_what_no_rigid_motion_follows_is_told_by_channel(tmp_path: Path, table: TableSettings) -> None:
    """Four corners warped against each other: heave, roll and pitch follow nothing of it."""
    heave, warp = 0.03 * burst(TIMES, 5.0, 5.0, 2), 0.04 * burst(TIMES, 5.0, 5.0, 2)
    signs = {"lf": 1.0, "rf": -1.0, "lr": -1.0, "rr": 1.0}
    rsp(tmp_path / "road.rsp", [(name, "m/s2", heave + sign * warp) for name, sign in signs.items()])
    left = program(profile(tmp_path, tell()), table).notes.reductions[0].left_over
    # Of the sizes 0.07 and −0.01 of channels that warp in and out of phase, 0.04 is the warp.
    assert left["lf"] == pytest.approx(4.0 / 7.0, rel=1e-3)
    assert left["rf"] == pytest.approx(4.0, rel=1e-3)


def test_channels_of_other_quantities_units_and_numbers(tmp_path: Path, table: TableSettings) -> None:
    """Velocities in mm/s and displacements in cm, by name and number, scaled, are the same motion."""
    kinds = {"lf": ("g", 2, 1 / 9.80665), "rf": ("mm/s", 1, 1e3), "lr": ("cm", 0, 1e2), "rr": ("", 2, -1.0)}
    values = [
        (name, unit, 3e-3 * factor * burst(TIMES, 5.0, 5.0, order))
        for name, (unit, order, factor) in kinds.items()
    ]
    rsp(tmp_path / "road.rsp", values)
    keys = (
        "lf: {at: [1 m, 1 m, 0 m], along: z}, '2': {at: [1 m, -1 m, 0 m], along: z}, "
        "lr: {at: [-1 m, 1 m, 0 m], along: z}, "
        "rr: {at: [-1 m, -1 m, 0 m], along: -z, unit: m/s2}"
    )
    motion = program(profile(tmp_path, tell(channels=keys)), table)
    assert max(motion.notes.reductions[0].left_over.values()) < 0.01
    samples = motion.blocks[0].samples
    assert np.max(np.abs(samples[:, 2])) == pytest.approx(3e-3 * 0.993, rel=0.01)
    assert np.max(np.abs(samples[:, 3:])) < 2e-5


@pytest.mark.parametrize(
    ("segment", "said"),
    [
        (
            tell(channels="a: {at: [1 m, 0 m, 0 m], along: z}, b: {at: [2 m, 0 m, 0 m], along: z}"),
            "segments[0].axes: 3 axes cannot be determined from 2 channels",
        ),
        (tell("[heave, heave]"), "segments[0].axes[1]: heave is listed twice"),
        (tell("[heave, up]"), "segments[0].axes[1]: 'up': expected one of surge, sway, heave"),
        (tell(channels="a: {at: [1 m, 0 m], along: z}"), "channels.a.at[2]: the list has no item 3"),
        (
            tell(channels="a: {at: [1 m, 0 m, 0 m], along: up}"),
            "segments[0].channels.a.along: 'up': expected one of",
        ),
        (
            tell(channels="1: {at: [1 m, 0 m, 0 m], along: z}"),
            "a key must be a name, not '1'; put it in quotes",
        ),
        (tell(more=", stroke: 4 mm, length_scale: 0.5"), "length_scale: give either stroke or length_scale"),
        (tell(more=", length_scale: 150 %"), "length_scale: 150 % is out of range: must be at most"),
    ],
)
def test_refusals_of_the_text(tmp_path: Path, segment: str, said: str) -> None:
    """What the profile itself gets wrong is refused at its place."""
    rsp(tmp_path / "road.rsp", [("lf", "m/s2", TIMES)])
    with pytest.raises(SettingsError) as caught:
        profile(tmp_path, segment)
    problems = caught.value.problems
    assert all(problem.startswith(f"{tmp_path}/p.yaml:3:") for problem in problems)
    assert any(said in problem for problem in problems), problems


@pytest.mark.parametrize(
    ("channels", "axes"),
    [
        ("a: {at: [1 m, 0 m, 0 m], along: z}, b: {at: [-1 m, 0 m, 0 m], along: z}", "[heave, roll]"),
        ("a: {at: [1 m, 1 m, 0 m], along: z}, b: {at: [-1 m, 1.01 m, 0 m], along: z}", "[heave, roll]"),
        ("a: {at: [0 m, 0 m, 0 m], along: z}, b: {at: [0 m, 0 m, 0 m], along: z}", "[pitch]"),
        ("a: {at: [0 m, 0 m, 1 m], along: x}, b: {at: [0 m, 0 m, 1 m], along: -x}", "[surge, pitch]"),
    ],
)
def test_points_that_cannot_tell_the_axes_apart(
    tmp_path: Path, table: TableSettings, channels: str, axes: str
) -> None:
    """Points in line, or the same point twice, are refused in one line with the condition number."""
    rsp(tmp_path / "road.rsp", [("a", "m/s2", TIMES), ("b", "m/s2", TIMES)])
    with pytest.raises(SettingsError, match=r"do not determine .* \(condition number") as caught:
        program(profile(tmp_path, tell(axes, channels=channels)), table)
    assert len(caught.value.problems) == 1


# what a file does not say


@pytest.mark.parametrize(
    ("unit", "given_unit", "axis", "said"),
    [
        ("", "", "heave", "heave.rsp: heave: states no unit: write it, for instance unit: m/s2"),
        ("", "", "yaw", "heave: states no unit: write it, for instance unit: deg/s2"),
        ("g", ", unit: mm/s2", "heave", "states the unit 'g', given is 'mm/s2'"),
        ("furlong", "", "heave", "unknown unit 'furlong', expected for instance m/s2"),
        ("kN", "", "heave", "contains force, expected acceleration, velocity or length along an axis"),
        (
            "g",
            "",
            "roll",
            "contains acceleration, expected angular acceleration, angular velocity or angle about",
        ),
        ("rad", "", "sway", "contains angle, expected acceleration, velocity or length along an axis"),
        ("V", "", "heave", "contains values in V"),
        ("g", ", step: 5 ms", "heave", "states a step of 0.00390625 s, given is 0.005 s"),
        ("g", ", channel: 2", "heave", "no channel '2', available: 'heave'"),
    ],
)
def test_what_a_file_does_not_say_is_not_guessed(
    tmp_path: Path, table: TableSettings, unit: str, given_unit: str, axis: str, said: str
) -> None:
    """One line that names the key to write, or both values where file and profile differ."""
    rsp(tmp_path / "heave.rsp", [("heave", unit, TIMES)])
    segment = f"{{kind: record, {BAND}, axes: {{{axis}: {{file: heave.rsp{given_unit}}}}}}}"
    with pytest.raises(SettingsError) as caught:
        program(profile(tmp_path, segment), table)
    assert len(caught.value.problems) == 1
    assert caught.value.problems[0].startswith("p: segments[0]: ")
    assert said in caught.value.problems[0]


def test_all_channels_with_something_missing_are_told(tmp_path: Path, table: TableSettings) -> None:
    """Two channels without a unit are two lines."""
    rsp(tmp_path / "road.rsp", [(name, "", TIMES) for name in ("lf", "rf", "lr", "rr")])
    keys = ", ".join(
        f"{name}: {{at: [{x} m, {y} m, 0 m], along: z{unit}}}"
        for name, x, y, unit in (("lf", 1, 1, ", unit: g"), ("rf", 1, -1, ""), ("lr", -1, 1, ""))
    )
    with pytest.raises(SettingsError) as caught:
        program(profile(tmp_path, tell(channels=keys)), table)
    assert [problem.split(": ")[3] for problem in caught.value.problems] == ["rf", "lr"]


def series(values: FloatArray, step: float | None = STEP, start: float = 0.0, unit: str = "m/s2") -> Series:
    """Return one channel."""
    return Series((Channel("a", unit, values),), step, start)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (series(TIMES, None), "states no step from value to value: write it, for instance step: 5 ms"),
        (Series((Channel("a", "g", TIMES),), None, abscissae=TIMES**2), "unevenly spaced in time"),
        (
            Series((Channel("a", "g", TIMES),), 5.0, axis_unit=""),
            "its times state no unit, they are 5 apart: write the step, for instance step: 5 ms",
        ),
        (Series((Channel("a", "m", TIMES),), 0.1, axis="u", axis_unit="m"), "its values are along u in m"),
        (series(np.where(TIMES == STEP, np.nan, TIMES)), "value 2 of 2560 is not a finite number"),
        (series(TIMES[:5]), "5 values, a motion takes 8 at least"),
        (series(TIMES, -1.0), "a step of -1 s"),
        (series(TIMES, 1e-320), "a step of 9.99989e-321 s"),
    ],
)
def test_what_is_no_motion(made: Series, said: str) -> None:
    """Series without a step, of a place, with gaps, or next to empty are refused in one line."""
    files = Files({"f.csv": Measurement("csv", (made,))})
    with pytest.raises(FormatError) as caught:
        files.source("f.csv", None, None, None, 1.0, angular=False)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_all_that_a_file_does_not_say_is_told_at_once() -> None:
    files = Files({"f.csv": Measurement("csv", (series(TIMES, None, unit=""),))})
    with pytest.raises(FormatError) as caught:
        files.source("f.csv", None, None, None, 1.0, angular=False)
    step, unit = str(caught.value).splitlines()
    assert "write it, for instance step: 5 ms" in step
    assert "write it, for instance unit: m/s2" in unit


def test_a_scale_beyond_all_tables_is_refused(tmp_path: Path, table: TableSettings) -> None:
    rsp(tmp_path / "road.rsp", [("lf", "m/s2", TIMES), ("rf", "m/s2", TIMES), ("lr", "m/s2", TIMES)])
    keys = ", ".join(
        f"{name}: {{at: [{x} m, {y} m, 0 m], along: z, scale: 1e300}}"
        for name, x, y in (("lf", 1, 1), ("rf", 1, -1), ("lr", -1, 1))
    )
    with pytest.raises(SettingsError, match="are implausible for a table"):
        program(profile(tmp_path, tell(channels=keys)), table)


def test_a_step_and_a_unit_that_are_given(tmp_path: Path) -> None:
    """A bare column is read with what the profile says of it, milliseconds of time are seconds."""
    bare = Measurement("text", (series(TIMES, None, unit=""),))
    in_ms = Measurement("text", (Series((Channel("a", "g", TIMES),), 5.0, 20.0, axis_unit="ms"),))
    files = Files({"bare.txt": bare, "ms.txt": in_ms})
    source = files.source("bare.txt", None, "mm/s", 0.02, -2.0, angular=False)
    assert source.record.step == 0.02
    assert source.record.derivative == 1
    assert np.allclose(source.record.values, -2e-3 * TIMES)
    unstated = Measurement("csv", (Series((Channel("a", "g", TIMES),), 5.0, 20.0, axis_unit=""),))
    told = Files({"t.csv": unstated}).source("t.csv", None, None, 0.005, 1.0, angular=False).record
    assert (told.step, told.start) == (0.005, 0.02)
    timed = files.source("ms.txt", "1", "g", None, 1.0, angular=False).record
    assert (timed.step, timed.start, timed.derivative) == (0.005, 0.02, 2)


# one time base


def starts(*stated: tuple[str | None, float]) -> tuple[list[float], str]:
    """Return where files of a stated start time, whose series begin at a time, are placed."""
    files = Files(
        {
            f"{k}": Measurement("x", (series(TIMES, start=start),), {} if at is None else {"start time": at})
            for k, (at, start) in enumerate(stated)
        }
    )
    sources = [files.source(f"{k}", None, None, None, 1.0, angular=False) for k in range(len(stated))]
    placed, how = files.on_one_base(sources)
    return [source.record.start for source in placed], how


def test_files_are_placed_by_the_start_times_that_they_state() -> None:
    """Stated times shift to the microsecond, zones are understood; with one missing all begin together."""
    placed, how = starts(
        ("2011-03-11T14:46:20.25", 0.0), ("2011-03-11T14:46:20", 0.5), ("2011-03-11T14:46:21", 0)
    )
    assert placed == pytest.approx([0.0, 0.25, 0.75], abs=1e-9)
    assert how == "aligned by the start times in the files"
    placed, _ = starts(("2011-03-11T05:46:20Z", 0.0), ("2011-03-11T14:46:18+09:00", 0.0))
    assert placed == pytest.approx([2.0, 0.0], abs=1e-9)
    for other in (None, "about noon", "2011-03-11T14:46:20Z"):
        placed, how = starts(("2011-03-11T14:46:20.25", 3.0), (other, 0.0))
        assert placed == [0.0, 0.0]
        assert "aligned at their beginnings" in how


def test_channels_of_one_file_keep_its_times() -> None:
    """Two series of one file, one begun later, are not moved, whether it states a start time or not."""
    both = Measurement("mdf4", (series(TIMES, start=7.0), Series((Channel("b", "g", TIMES),), 0.01, 7.5)))
    files = Files({"f": both})
    placed, how = files.on_one_base(
        [files.source("f", name, None, None, 1.0, angular=False) for name in ("a", "b")]
    )
    assert [source.record.start for source in placed] == [0.0, 0.5]
    assert how == ""


def test_a_part_of_the_files_is_played() -> None:
    """The part begins at its start for all channels, each at its own first value in it."""
    both = Measurement("mdf4", (series(TIMES), Series((Channel("b", "g", TIMES),), 0.03, 0.01)))
    files = Files({"f": both})
    sources = [files.source("f", name, None, None, 1.0, angular=False) for name in ("a", "b")]
    placed, _ = files.on_one_base(sources)
    first, second = (source.record for source in part_of(placed, 2.0, 3.0))
    assert (first.start, len(first.values), first.values[0]) == (0.0, 769, 2.0)
    assert second.start == pytest.approx(0.02)
    assert second.end <= 3.0 < second.end + second.step
    with pytest.raises(FormatError, match=r"goes from 0 s to 9\.99.* s, no part of it is between start"):
        part_of(placed, 9.99, None)
    with pytest.raises(FormatError, match="maximum 1800 s: write a part"):
        part_of([files.source("f", "a", None, None, 1.0, angular=False), *placed_late(files)], 0.0, None)


def placed_late(files: Files) -> list[Source]:
    """Return a source that begins an hour later."""
    files.read["late"] = Measurement("x", (series(TIMES, start=3600.0),))
    return [files.source("late", None, None, None, 1.0, angular=False)]


def test_components_of_unlike_files_meet_at_the_right_time(tmp_path: Path, table: TableSettings) -> None:
    """One motion in two files of other steps and lengths: sway and heave are the same at every knot."""
    rsp(tmp_path / "a.rsp", [("a", "m/s2", 0.01 * burst(TIMES, 5.0, 4.0, 2))])
    fine = np.asarray(0.0013 * np.arange(6000.0))
    rsp(tmp_path / "b.rsp", [("b", "m/s2", 0.01 * burst(fine, 5.0, 4.0, 2))], 0.0013)
    samples = played(
        tmp_path,
        table,
        f"{{kind: record, {BAND}, baseline: none, axes: {{sway: {{file: a.rsp}}, heave: {{file: b.rsp}}}}}}",
    )
    assert np.max(np.abs(samples[:, 1] - samples[:, 2])) < 2e-8
    assert np.max(np.abs(samples[:, 1])) == pytest.approx(0.01, rel=0.02)


def test_components_that_began_at_other_times(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two K-NET files, the first axis' begun 12.25 s late: moved by that, and told."""
    for name, at, second, offset in (("late", 5.0, "12.25", 0.0), ("early", 5.0, "00", 3.0)):
        values = 20.0 * burst(TIMES, at, 4.0, 0) + offset
        made = Measurement(
            "knet",
            (Series((Channel(name, "gal", values),), STEP),),
            {"start time": f"2024-01-01T16:10:{second}+09:00"},
        )
        knet.write(tmp_path / f"{name}.NS", made)
    path = tmp_path / "p.yaml"
    path.write_text(
        f"name: p\nsegments:\n  - {{kind: record, {BAND}, fade: 0.5 s, "
        "axes: {surge: {file: late.NS}, sway: {file: early.NS}}}\n"
    )
    assert main(["check", str(path)]) == 0
    text = capsys.readouterr().out
    assert "every 3.90625 ms, 12.25 s after the first\n" in text
    assert "segments[0]: aligned by the start times in the files" in text
    assert f"warning: {tmp_path}/early.NS: values have a constant offset of 3 gal" in text
    motion = program(load(path, ProfileSettings), load(find("table", "table"), TableSettings))
    surge, sway = motion.blocks[0].samples[:, :2].T
    assert np.argmax(surge) - np.argmax(sway) == pytest.approx(12_250, abs=1)
    assert np.max(surge) == pytest.approx(np.max(sway), rel=1e-3)


def test_angular_records(tmp_path: Path, table: TableSettings) -> None:
    """Angular rates in deg/s about an axis become its angle."""
    rsp(tmp_path / "a.rsp", [("r", "deg/s", np.degrees(5e-3 * burst(TIMES, 5.0, 4.0, 1)))])
    segment = f"{{kind: record, {BAND}, axes: {{yaw: {{file: a.rsp, scale: -1}}}}}}"
    motion = program(profile(tmp_path, segment), table)
    assert np.min(motion.blocks[0].samples[:, 5]) == pytest.approx(-5e-3, rel=0.05)
    assert motion.notes.records[0].report.quantity == "angular velocity"
    with pytest.raises(SettingsError, match="no axis of it moves along surge, sway or heave"):
        program(profile(tmp_path, segment.replace("axes", "stroke: 4 mm, axes")), table)


# scaling


@pytest.mark.parametrize("length_scale", [0.25, 0.6, 1.0])
def test_lengths_are_scaled_and_accelerations_kept(
    tmp_path: Path, table: TableSettings, length_scale: float
) -> None:
    """d(t) becomes S·d(t/√S): displacements S times, accelerations as they were, both sooner."""
    axes = record(tmp_path)
    segment = f"{{kind: record, band: [1 Hz, 20 Hz], fade: 0.2 s, {axes}}}"
    plain = program(profile(tmp_path, segment), table)
    scaled = program(profile(tmp_path, segment.replace("fade", f"length_scale: {length_scale}, fade")), table)
    before, after = (motion.timeline().sample(np.linspace(0.0, 12.0, 12_001)) for motion in (plain, scaled))
    peaks = [np.max(np.abs(motion[:, order, 2])) for motion in (before, after) for order in range(4)]
    root = math.sqrt(length_scale)
    for order, law in enumerate((length_scale, root, 1.0, 1.0 / root)):
        assert peaks[4 + order] == pytest.approx(law * peaks[order], rel=2e-3)
    crossings = [np.flatnonzero(np.diff(np.sign(motion[:, 2, 2]))) for motion in (before, after)]
    places = [np.argmax(np.abs(motion[:, 2, 2])) for motion in (before, after)]
    spans = [
        np.diff(times[np.argsort(np.abs(times - place))[:2]])
        for times, place in zip(crossings, places, strict=True)
    ]
    assert abs(spans[1]) == pytest.approx(abs(spans[0]) * root, abs=2)
    assert scaled.band == pytest.approx((1.0 / root, 20.0 / root))
    note = scaled.notes.scalings[0]
    assert note.duration == pytest.approx((TIMES[-1], TIMES[-1] * root))


def test_a_stroke_is_met_and_never_stretched_to(tmp_path: Path, table: TableSettings) -> None:
    """The largest displacement is the stroke, the segment's gain counted; a motion below it stays."""
    segment = f"{{kind: record, band: [1 Hz, 20 Hz], stroke: 4 mm, {record(tmp_path)}}}"
    for gain in ("1", "-2"):
        motion = program(profile(tmp_path, segment.replace("stroke", f"gain: {gain}, stroke")), table)
        assert np.max(np.abs(motion.blocks[0].samples)) == pytest.approx(4e-3, rel=2e-3)
        scale = motion.notes.scalings[0].similitude.length_scale
        assert scale == pytest.approx(0.4 / abs(float(gain)), rel=0.02)
    small = program(profile(tmp_path, segment.replace("4 mm", "40 mm")), table)
    assert small.notes.scalings[0].similitude.length_scale == 1.0
    unscaled = program(profile(tmp_path, segment.replace("stroke: 4 mm, ", "")), table)
    assert np.array_equal(small.blocks[0].samples, unscaled.blocks[0].samples)


def test_a_measured_body_keeps_the_accelerations_of_its_points(tmp_path: Path, table: TableSettings) -> None:
    """Heave, roll and pitch at a quarter of the lengths: every corner accelerates as it was measured."""
    heave, roll, pitch = (
        size * burst(TIMES, at, frequency, 2)
        for size, at, frequency in ((4e-3, 4.8, 5.0), (2e-3, 5.0, 6.0), (3e-3, 5.2, 3.0))
    )
    measured = corners(heave, roll, pitch)
    rsp(tmp_path / "road.rsp", [(name, "m/s2", values) for name, values in measured.items()])
    motion = program(profile(tmp_path, tell(more=", length_scale: 25 %")), table)
    accelerations = motion.timeline().sample(np.linspace(0.0, 6.0, 6001))[:, 2]
    found = corners(*accelerations[:, 2:5].T)
    for name, values in measured.items():
        assert np.max(found[name]) == pytest.approx(np.max(values), rel=0.03)
        assert np.min(found[name]) == pytest.approx(np.min(values), rel=0.03)


def test_a_band_that_cannot_be_played_so_fast(tmp_path: Path, table: TableSettings) -> None:
    """At a hundredth of the lengths a band up to 20 Hz would end at 200 Hz."""
    segment = f"{{kind: record, band: [1 Hz, 20 Hz], length_scale: 0.01, {record(tmp_path)}}}"
    with pytest.raises(SettingsError, match=r"to 10 to 200 Hz, at most 100 Hz.* upper end to 10 Hz"):
        program(profile(tmp_path, segment), table)


# what check says


def test_check_says_what_was_changed(tmp_path: Path, table: TableSettings) -> None:
    """Offset, taper, rest, energy outside the band, peaks, law and numbers: to read and as JSON."""
    axes = record(tmp_path, size=0.02)
    path = tmp_path / "p.yaml"
    path.write_text(
        "name: p\nsegments:\n"
        f"  - {{kind: record, band: [1 Hz, 20 Hz], baseline: linear, length_scale: 49 %, {axes}}}\n"
    )
    result = check(load(path, ProfileSettings), table)
    text = result.text()
    for said in (
        "segments[0]: heave: heave.rsp, heave: acceleration, 9.996 s, every 3.90625 ms",
        "m/s2 per s) removed, ends tapered over 0.2 s, 6 s of rest added at both ends; ",
        "of its energy was outside 1 to 20 Hz",
        "peaks, integrated uncorrected -> corrected: 1",
        "accelerations x 1, frequencies x 1/sqrt(S): S = 0.49, sqrt(S) = 0.7",
        "9.996 s of the file take 6.997 s, its band of 1 to 20 Hz runs as 1.429 to 28.57 Hz",
    ):
        assert said in text
    document: dict[str, Any] = json.loads(json.dumps(result.document(), allow_nan=False))
    (told,) = document["records"]
    assert told["axis"] == "heave"
    assert told["quantity"] == "acceleration"
    assert set(told["before"]) == set(told["after"]) == {"acceleration", "velocity", "displacement"}
    assert told["after"]["displacement"] == pytest.approx(0.02, rel=0.02)
    assert told["padding"] == 6.0
    assert document["scalings"][0]["played_band_hz"] == pytest.approx([1 / 0.7, 20 / 0.7])
    assert document["scalings"][0]["length_scale"] == 0.49


def test_check_says_what_no_motion_can_follow(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Condition number and the share of each channel are told."""
    rsp(
        tmp_path / "road.rsp",
        [
            (name, "m/s2", 0.05 * burst(TIMES, 5.0, frequency, 2))
            for name, frequency in zip(("lf", "rf", "lr", "rr"), (4, 4.5, 5, 5.5), strict=True)
        ],
    )
    path = tmp_path / "p.yaml"
    path.write_text(f"name: p\ngain: 0.1\nsegments:\n  - {tell()}\n")
    assert main(["check", "--json", str(path)]) == 0
    (reduced,) = json.loads(capsys.readouterr().out)["reductions"]
    assert 1.0 < reduced["condition"] < 3.0
    assert list(reduced["left_over"]) == ["lf", "rf", "lr", "rr"]
    assert all(0.0 < share < 1.0 for share in reduced["left_over"].values())
    assert main(["check", str(path)]) == 0
    text = capsys.readouterr().out
    assert "heave, roll, pitch from 4 channels by least squares, condition number" in text
    assert "residual of each channel's rms: lf " in text


def test_files_that_a_profile_names(tmp_path: Path) -> None:
    """All input files are known, each once: records, measured channels, vehicles."""
    rsp(tmp_path / "road.rsp", [("lf", "m/s2", TIMES)])
    record(tmp_path)
    made = load_text(
        "name: p\npayload: {kind: vehicle, vehicle: sedan}\nsegments:\n"
        f"  - {tell()}\n  - {{kind: record, {BAND}, axes: {{heave: {{file: heave.rsp}}, "
        "sway: {file: heave.rsp}}}\n",
        str(tmp_path / "p.yaml"),
        ProfileSettings,
    )
    assert [Path(name).name for name in made.input_files()] == ["road.rsp", "heave.rsp", "sedan.yaml"]
