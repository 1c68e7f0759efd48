"""Pages of reports: whole and self-contained whatever the record, and with the numbers of the document."""

from __future__ import annotations

import argparse
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mastd.arrays import FloatArray
from mastd.commands import report as report_command
from mastd.errors import UsageError
from mastd.record.reader import Run, open_run
from mastd.record.result import make_result
from mastd.record.writer import RunWriter
from mastd.report.drawing.blocks import Banner, Cell, Facts, Heading, Page, Paragraph, Source, Table
from mastd.report.drawing.drawing import draw
from mastd.report.drawing.html_page import html
from mastd.report.drawing.picture import Curve, Panel
from mastd.report.drawing.svg import svg
from mastd.report.drawing.thinning import broken, gap_ends, thinned
from mastd.report.pages.run import run_page
from mastd.report.pictures.motion import axis_panels
from mastd.report.pictures.spectra import NamedSpectra, spectrum_row
from mastd.report.reading import read, view_of
from mastd.report.spectrum import Spectra, spectra_of
from mastd.report.tables import ACCELERATION_FIGURES, LOWER_BOUNDS
from mastd.report.write import write_page
from mastd.settings.core.axes import AXES
from tests.support.lab import full_disk
from tests.support.synthetic_run import (
    COMPLETED,
    FAULT,
    GAIN,
    LAG,
    PERIOD_NS,
    RATE,
    STATES,
    Synthetic,
    metadata,
    record_in_service,
    synthetic,
    with_accelerations,
)
from tests.support.web_page import WebPage

HOSTILE = "</title><script>alert(1)</script> \" onload='x' & \u202egnp.exe\u0000 <!-- 中文 <b>"
SEGMENTS = [
    {"kind": "sine", "frequency": 2.0, "duration": 6.0, "axes": {"heave": {"amplitude": 0.004}}, "gain": 1.0},
    {"kind": "random", "duration": 2.0, "axes": {"roll": {"density": [[1.0, 0.1], [5.0, 0.2]]}}},
]


STOPPED: dict[str, object] = {**COMPLETED, "outcome": "stopped", "cause": "stopped by operator anna"}


def written(
    run: Synthetic,
    directory: Path,
    head: dict[str, object] | None = None,
    *,
    lost: tuple[int, ...] = (),
    events: tuple[dict[str, object], ...] = (),
) -> Path:
    """Write a run by the recorder's own writer, without the frames ``lost``."""
    directory.mkdir(parents=True, exist_ok=True)
    writer = RunWriter(directory / "run.mcap", run.channels, {**metadata(), **(head or {})})
    for event in events:
        writer.event(event)
    for number, frame in enumerate(run.frames):
        if number not in lost:
            writer.frame(number, memoryview(np.ascontiguousarray(frame).tobytes()))
    if not any(event["event"] == "end" for event in events):
        writer.event(COMPLETED)
    writer.finish({"ended_unix": 1.8e9 + 10.0})
    return directory / "run.mcap"


def page_of(path: Path) -> tuple[WebPage, dict[str, Any]]:
    run = read(path)
    result: dict[str, Any] = make_result(run)
    return WebPage(html(run_page(run, result))), result


def number(text: str) -> float | None:
    return None if text == "–" else float(text.replace("−", "-"))


def same(text: str, value: float | None, factor: float = 1.0) -> bool:
    shown = number(text)
    return shown is None if value is None else shown == pytest.approx(factor * value, rel=6e-4)


def test_the_numbers_on_the_page_are_those_of_the_document(tmp_path: Path) -> None:
    head: dict[str, object] = {
        "profile": {
            "name": "two parts",
            "segments": SEGMENTS,
            "payload": {"kind": "rigid", "mass": 12000.0, "centre_of_gravity": [0.0, 0.0, 2.0]},
            "verdict": {
                "axes": {"heave": {"lag": 0.001, "peak_ratio": [0.9, 1.1]}, "surge": {"nrmse": 0.5}},
                "missed_share": 0.01,
                "internal_force": 8000.0,
            },
        },
        "versions": {"mastd": "9.9"},
        "seeds": {"plant": 7},
        "input_files_sha256": {"east.AT2": "ab" * 32},
        "settings_text": {"profile": "name: two parts"},
    }
    events: tuple[dict[str, object], ...] = (
        {"event": "level", "share": 0.6},
        {"event": "request", "verb": "level", "refused": "", "share": 0.8},
        {
            "event": "rights",
            "degraded": True,
            "rights": [{"name": "lock", "obtained": False, "advice": "ulimit"}],
        },
        {**FAULT, "action": "INDICATE"},
    )
    page, result = page_of(written(synthetic(), tmp_path, head, events=events))
    axis_keys = (
        ("nrmse", 1.0),
        ("best_lag_nrmse", 1.0),
        ("lag_s", 1e3),
        ("peak_ratio", 1.0),
        ("cross_axis", 1.0),
    )
    for axis in AXES:
        driven = axis in result["driven"]
        cells = page.row("axis", axis if driven else f"{axis}, idle")[1:]
        for cell, (key, factor) in zip(cells, axis_keys, strict=True):
            assert same(cell, result["axes"][axis][key], factor), (axis, key, cell)
    words = {"heave.lag": "heave: lag, ms", "internal_force": "internal force, rms, kN"}
    for criterion in result["criteria"]:
        if criterion["name"] in words:
            _, value, _, met = page.row("criterion", words[criterion["name"]])
            assert same(value, criterion["value"], 1e3 if "lag" in criterion["name"] else 1e-3)
            assert met == ("met" if criterion["pass"] else "NOT MET")
    assert page.row("criterion", "surge: NRMSE")[1:] == ["–", "at most 0.5", "NOT MET"]
    assert page.row("criterion", "heave: peak ratio")[2] == "0.9 … 1.1"
    assert page.title == "two parts: FAIL"
    assert page.facts["cycles while running"] == "4000, 0 missed"
    assert page.facts["level"] == "60 %, 80 % from −0.4 s"
    assert page.facts["payload"] == "rigid body of 12 t, centre of gravity (0, 0, 2) m from C"
    assert page.facts["internal force"] == "4.123 kN rms, at most 5 kN"
    assert page.facts["SHA-256 of east.AT2"] == "ab" * 32
    assert page.facts["command_sha256"] == result["command_sha256"]
    assert "mastd 9.9" in page.facts["versions"]
    assert page.row("", "1")[1:] == ["sine of 2 Hz: heave ± 4 mm", "6 s"]
    assert page.row("", "2")[1].endswith("roll 0.1 (rad/s²)²/Hz at 1 Hz – 0.2 (rad/s²)²/Hz at 5 Hz")
    assert page.row("right", "lock")[1:] == ["no", "–", "ulimit"]
    (faults,) = [row for table in page.tables for row in table if "FOLLOWING_ERROR" in "".join(row)]
    assert faults[3] == FAULT["hint"]
    assert "DEGRADED_RT" in page.text
    assert {"heave, mm", "roll: transfer", "pitch: phase, °", "force, kN", "internal force, kN"} <= set(
        page.pictures
    )


def broadband(duration: float, noise: float = 0.0) -> tuple[Synthetic, list[tuple[float, float, float]]]:
    """Return a run whose heave is a sum of sines (amplitude, Hz, phase), achieved with GAIN and LAG."""
    random = np.random.default_rng(3)
    sines = [
        (0.004 / f**2, f, p)
        for f, p in zip(np.arange(0.55, 4.95, 0.05), random.uniform(0, 6.28, 88), strict=True)
    ]
    run = synthetic(duration)
    time = (np.arange(len(run.frames)) - run.first) / RATE

    def motion(at: FloatArray) -> FloatArray:
        waves: FloatArray = np.sum([a * np.sin(2 * np.pi * f * at + p) for a, f, p in sines], axis=0)
        return waves

    for axis in AXES:
        run.column(f"reference.{axis}")[:] = run.column(f"pose.{axis}")[:] = 0.0
    run.column("reference.heave")[:] = motion(time + 1.0 / RATE)
    run.column("pose.heave")[:] = GAIN * motion(time - LAG) + noise * random.standard_normal(len(time))
    return run, sines


def density_of(series: FloatArray, count: int) -> FloatArray:
    """Return the density of a series by hand: Hann windows of ``count`` samples, half overlapping."""
    window = np.sin(np.pi * np.arange(count) / count) ** 2
    powers = []
    for start in range(0, len(series) - count + 1, count // 2):
        part = series[start : start + count]
        powers.append(np.abs(np.fft.rfft(window * (part - part.mean()))) ** 2)
    density: FloatArray = np.mean(powers, axis=0) * 2.0 / (RATE * np.sum(window**2))
    return density


def test_spectra_are_those_of_a_motion_with_known_gain_and_lag(tmp_path: Path) -> None:
    run, sines = broadband(60.0)
    spectra = spectra_of(read(written(run, tmp_path)))
    assert spectra is not None
    heave = spectra.axes["heave"]
    count = round(RATE / spectra.resolution)
    time = np.arange(1, run.last - run.first + 2) / RATE
    asked = np.sum(
        [-a * (2 * np.pi * f) ** 2 * np.sin(2 * np.pi * f * time + p) for a, f, p in sines], axis=0
    )
    expected = density_of(asked, count)
    inside = (heave.frequency > 0.6) & (heave.frequency < 4.8)
    assert np.allclose(heave.asked[inside], expected[inside], rtol=0.01)
    assert np.allclose(heave.achieved[inside], GAIN**2 * expected[inside], rtol=0.01)
    assert np.array_equal(
        heave.meaningful, heave.meaningful & (heave.frequency >= 0.5) & (heave.frequency <= 5.0)
    )
    assert not spectra.axes["yaw"].meaningful.any()
    _, transfer, phase = spectrum_row(
        NamedSpectra(spectra, "achieved", "reference", driven=["heave"]), "heave"
    )
    (gain,) = [curve for curve in transfer.curves if curve.name == "|H1|"]
    (coherence,) = [curve for curve in transfer.curves if curve.name == "coherence"]
    at = inside & heave.meaningful
    assert np.allclose(gain.y[at], GAIN, rtol=2e-3)
    assert np.allclose(phase.curves[0].y[at], -360.0 * heave.frequency[at] * LAG, atol=0.3)
    assert np.all(coherence.y[at] > 0.999)
    assert np.isnan(gain.y[~heave.meaningful]).all()


def test_noise_of_the_achieved_motion_costs_coherence_and_not_gain(tmp_path: Path) -> None:
    run, _ = broadband(120.0, noise=4e-4)
    spectra = spectra_of(read(written(run, tmp_path)))
    assert spectra is not None
    heave = spectra.axes["heave"]
    assert heave.transfer is not None
    assert heave.coherence is not None
    at = (heave.frequency > 1.0) & (heave.frequency < 4.5)
    noise = 2.0 / RATE * 4e-4**2 * (2 * np.pi * heave.frequency[at]) ** 4  # of white noise, differentiated
    assert np.median(np.abs(heave.transfer[at])) == pytest.approx(GAIN, rel=0.01)
    clean = GAIN**2 * heave.asked[at]
    assert np.mean(heave.coherence[at]) == pytest.approx(np.mean(clean / (clean + noise)), abs=0.03)


def test_the_page_tells_how_well_the_acceleration_followed(tmp_path: Path) -> None:
    segments = [{"kind": "sine", "frequency": 2.0, "axes": {"pitch": {"amplitude": 0.001}}}]
    head: dict[str, object] = {"profile": {"name": "sines", "segments": segments}}
    run = with_accelerations(synthetic(20.0))
    turn = 2.0 * np.pi * 2.0 / RATE * np.arange(len(run.frames))
    run.column("reference_acceleration.pitch")[:] = np.sin(turn)
    run.column("pose_acceleration.pitch")[:] = np.sin(turn) + 0.02 * np.cos(3.0 * turn)
    path = written(run, tmp_path, head)
    page, result = page_of(path)
    for axis in ("heave", "roll", "pitch", "sway"):
        own = result["axes"][axis]["acceleration"]
        row = page.row("acceleration of C", f"{axis}, idle" if axis == "sway" else axis)
        for (key, _, factor), cell in zip(ACCELERATION_FIGURES, row[1:], strict=True):
            bounded = key in LOWER_BOUNDS and own[key] is not None
            assert cell.startswith("≥ ") == bounded, (axis, key, cell)
            assert same(cell.removeprefix("≥ "), own[key], factor), (axis, key, cell)
    assert result["axes"]["pitch"]["acceleration"]["thd"] == pytest.approx(0.02, rel=1e-3)
    assert result["axes"]["heave"]["acceleration"]["thd"] is None
    assert "Acceleration of the control point of the profile's motion" in page.text
    # What is drawn is what was judged: gain and bounds of the transfer function.
    spectra = spectra_of(read(path))
    assert spectra is not None
    _, transfer, _ = spectrum_row(NamedSpectra(spectra, "achieved", "reference"), "heave")
    assert [bound.value for bound in transfer.bounds] == pytest.approx([0.8414, 1.1885], abs=1e-4)
    assert np.nanmedian(transfer.curves[-1].y) == pytest.approx(GAIN, rel=5e-3)
    assert page_of(written(synthetic(), tmp_path / "old"))[0].text.count("acceleration of C") == 0


def test_a_broken_record_with_gaps_says_what_is_lost(tmp_path: Path) -> None:
    run = synthetic()
    path = written(run, tmp_path, lost=tuple(range(1000, 1200)))
    page, result = page_of(path)
    assert result["lost_frames"] == 200
    assert "200 frames of the record lost" in page.text
    assert page.facts["frames recorded"] == "4100, 200 lost in 1 gap"
    heave = axis_panels(view_of(read(path)), ["heave"], ["heave"])[0]
    assert all(np.isnan(curve.y).any() for curve in heave.curves), "a gap is seen"
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * 6 // 10])
    page, result = page_of(path)
    assert result["verdict"] == "stopped"
    assert "The record is damaged: the file is truncated" in page.text
    assert page.facts["record closed"] == "not closed (truncated)"


@pytest.mark.parametrize("frames", [1, 40])
def test_a_record_of_hardly_anything_has_a_page(frames: int, tmp_path: Path) -> None:
    run = synthetic(2.0)
    for state in ("READY", "RUNNING"):
        short = replace(run, frames=run.frames[run.first : run.first + frames].copy())
        short.column("state")[:] = STATES.index(state)
        path = written(short, tmp_path / state, {"profile": None, "table": None, "versions": None})
        page, result = page_of(path)
        assert page.title == f"{state}: {result['verdict'].upper()}"
    write_page(run_page(read(path), result), tmp_path / "page.pdf")


def test_a_record_without_a_single_number_has_a_page(tmp_path: Path) -> None:
    run = synthetic(2.0)
    for name in run.channels.columns:
        if name.split(".")[0] in (
            "pose",
            "reference",
            "force",
            "length",
            "late",
            "compute",
            "internal_force",
        ):
            run.column(name)[:] = np.nan
    page, result = page_of(written(run, tmp_path, {"duration": 2.0}))
    assert result["verdict"] == "fail"
    assert "no cycle times in the record" in page.text


def test_a_hostile_name_is_text_and_nothing_else(tmp_path: Path) -> None:
    def page(name: str, where: str) -> WebPage:
        profile = {"name": name, "description": name, "segments": [{"kind": name, name: name}, *SEGMENTS]}
        head: dict[str, object] = {
            "profile": profile,
            "versions": {name: name},
            "input_files_sha256": {name: name},
            "settings_text": {"profile": name},
            "plant": {"name": name, "mode": [name], "simulated": name},
            "serials": {name: [name]},
        }
        events: tuple[dict[str, object], ...] = (
            {**FAULT, "cause": name, "hint": name},
            {"event": name, name: name},
        )
        path = written(synthetic(2.0), tmp_path / where, head, events=events)
        return page_of(path)[0]

    hostile, tame = page(HOSTILE, "a"), page("tame", "b")
    assert hostile.tags == tame.tags
    assert "<script>alert(1)</script>" in hostile.text
    assert "\u202e" not in hostile.source
    assert "\0" not in hostile.source
    assert "中文" in hostile.title


@settings(max_examples=40)
@given(text=st.text(max_size=60), tone=st.sampled_from(["", "good", "bad"]))
def test_any_text_anywhere_leaves_a_page_whole(text: str, tone: str) -> None:
    table = Table((text, text), ((Cell(text, tone), Cell(text)),), folded=text)
    blocks = (
        Banner(text, text, "good", (text,)),
        Heading(text),
        Paragraph(text, warning=True),
        Facts(((text, text),), text),
        table,
        Source(text, text),
    )
    page = WebPage(html(Page(text, blocks)))
    assert page.tags["td"] == 2
    assert svg(draw(Panel(text)), text).count("<svg") == 1


values = st.lists(st.floats(-1e6, 1e6) | st.just(np.nan), min_size=1, max_size=400).map(np.array)


@given(values=values, points=st.integers(2, 60))
@example(values=np.array([5.0, np.nan, 7.0, 6.0, np.nan, np.nan, 9.0, 8.0]), points=4)
@example(values=-np.array([5.0, np.nan, 7.0, 6.0, np.nan, np.nan, 9.0, 8.0]), points=4)
def test_thinning_keeps_extremes_and_gaps(values: FloatArray, points: int) -> None:
    times = np.arange(len(values)) / 7.0
    x, y = thinned(times, values, points)
    assert np.all(np.diff(x) >= 0.0)
    assert len(x) <= max(points, 2) + 2 or len(values) <= 2 * points
    if np.isfinite(values).any():
        assert (np.nanmin(y), np.nanmax(y)) == (np.nanmin(values), np.nanmax(values))
    drawn = svg(draw(Panel("x", curves=(Curve(x, y, "achieved"),))), "x")
    assert "nan" not in drawn


@pytest.mark.parametrize("points", [2, 4, 1000])
def test_a_line_is_broken_where_samples_are_missing(points: int) -> None:
    times = np.concatenate((np.arange(0.0, 50.0), np.arange(80.0, 200.0)))
    ends = gap_ends(times, 2.0)
    assert np.array_equal(ends, [80.0])
    x, y = broken(*thinned(times, times**2, points), ends)
    (hole,) = np.flatnonzero(np.isnan(y))
    assert np.all(x[:hole] < 50.0)
    assert np.all(x[hole:] >= 80.0)


def parse(*words: object) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    report_command.add_parsers(parser.add_subparsers())
    return parser.parse_args(["report", *map(str, words)])


def test_a_fault_history_has_its_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = synthetic()
    run.frames[3000:, run.channels.column("state")] = STATES.index("STOPPING")
    directory = record_in_service(run, tmp_path, {**FAULT, "cause": "actuator 3 <b>"}, 3001)
    (path,) = directory.glob("fault-*.mcap")
    arguments = parse(path, "--json")
    assert arguments.run(arguments) == 3
    document = json.loads(capsys.readouterr().out)
    page = WebPage(Path(document["page"]).read_text(encoding="utf-8"))
    assert page.title == "fault history: actuator 3 <b>"
    assert f"Remedy: {FAULT['hint']}" in page.text
    assert page.facts["this file holds"] == "5.000 s before and 1.000 s after the fault"
    assert page.facts["in that run"] == "6.002 s after its first frame"
    assert f"in state {document['state']}, then {document['state_after']}" in page.text
    assert {f"{axis}, m{unit}, close-up" for axis, unit in (("heave", "m"), ("yaw", "rad"))} <= set(
        page.pictures
    )
    arguments = parse(path, "--out", tmp_path / "fault.pdf")
    assert arguments.run(arguments) == 3
    assert (tmp_path / "fault.pdf").read_bytes().startswith(b"%PDF")


def test_runs_stand_side_by_side_with_what_differs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = dict(metadata()["table"])  # type: ignore[call-overload]
    changed = {**table, "actuator": {"maximum_force": 150e3, "piston_areas": (95e-4, 95e-4)}}
    profile = {"name": "other road", "segments": SEGMENTS, "verdict": {"axes": {"roll": {"lag": 1e-4}}}}
    paths = [
        written(synthetic(), tmp_path / "one"),
        written(synthetic(), tmp_path / "two", {"table": changed, "seeds": {"plant": 4}}),
        written(
            synthetic(4.0), tmp_path / "three", {"profile": profile, "band": (0.5, 8.0), "duration": 4.0}
        ),
    ]
    arguments = parse(*paths, "--compare", "--json")
    assert arguments.run(arguments) == 1
    documents = json.loads(capsys.readouterr().out)
    assert {document["page"] for document in documents} == {str(tmp_path / "compare.html")}
    page = WebPage((tmp_path / "compare.html").read_text(encoding="utf-8"))
    for axis in ("heave", "roll", "sway"):
        for key, title, factor in (("lag_s", "lag, ms", 1e3), ("cross_axis", "cross axis", 1.0)):
            if axis == "sway" and key == "lag_s":
                continue
            cells = page.row("figure", f"{axis}: {title}")[1:]
            for cell, document in zip(cells, documents, strict=True):
                assert same(cell, document["axes"][axis][key], factor)
    assert page.row("figure", "criterion roll: lag, ms")[1:] == [
        "no command",
        "no command",
        "NOT MET (at most 0.1)",
    ]
    assert page.row("setting", "table.actuator.maximum_force")[1:] == ["196000", "150000", "196000"]
    assert page.row("setting", "seeds.plant")[1:] == ["–", "4", "–"]
    assert page.row("setting", "profile.name")[1:] == ["synthetic road", "synthetic road", "other road"]
    assert not any(row[0].startswith("table.links") for part in page.tables for row in part)
    assert "The runs have different profiles" in page.text
    assert "judged in different bands" in page.text
    assert {"heave, (m/s²)²/Hz", "roll: |H1|", "pitch: coherence", "heave, mm, close-up"} <= set(
        page.pictures
    )
    arguments = parse(*paths[:2], "--compare", "--out", tmp_path / "two.pdf")
    assert arguments.run(arguments) == 0
    assert f"page: {tmp_path / 'two.pdf'}" in capsys.readouterr().out
    same_twice = parse(paths[0], paths[0], "--compare", "--out", tmp_path / "same.html")
    same_twice.run(same_twice)
    page = WebPage((tmp_path / "same.html").read_text(encoding="utf-8"))
    assert "None in profile, settings and origin." in page.text
    assert "different profiles" not in page.text


def test_what_cannot_be_compared_or_written_is_one_line(tmp_path: Path) -> None:
    path = written(synthetic(2.0), tmp_path / "a")
    for words, message in (
        ((path, "--compare"), "two or more RUN"),
        (([path] * 7, "--compare"), "at most 6"),
        (([path] * 2, "--out", "x.html"), "one RUN"),
        ((path, "--out", "x.docx"), r"end in \.html"),
    ):
        flat = [word for part in words for word in (part if isinstance(part, list) else [part])]
        arguments = parse(*flat)
        with pytest.raises(UsageError, match=message):
            arguments.run(arguments)


@pytest.mark.parametrize("ending", ["html", "pdf", "png", "svg"])
def test_a_full_disk_hides_no_verdict_and_leaves_the_page_of_before(
    ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(synthetic(2.0), tmp_path / "a", events=(STOPPED,))
    page = tmp_path / f"page.{ending}"
    page.write_text("good", encoding="utf-8")
    arguments = parse(path, "--out", page)
    with full_disk(3000):
        assert arguments.run(arguments) == 2, "what was asked for is not there"
    said = capsys.readouterr().out
    assert ": STOPPED, ended in READY" in said
    assert f"no page: {page}: cannot be written: File too large" in said
    assert page.read_text(encoding="utf-8") == "good"
    assert {file.name for file in tmp_path.iterdir()} == {"a", page.name}


def test_a_page_that_nobody_asked_for_costs_no_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(synthetic(2.0), tmp_path / "a", events=(STOPPED,))
    arguments = parse(path, "--json")
    with full_disk(3000):
        assert arguments.run(arguments) == 5, "the verdict's own"
    document = json.loads(capsys.readouterr().out)
    assert document["verdict"] == "stopped"
    assert document["page"] is None
    assert document["no_page"].endswith("cannot be written: File too large")


@pytest.mark.parametrize("ending", ["pdf", "png", "svg"])
def test_sheets_hold_the_whole_page(ending: str, tmp_path: Path) -> None:
    path = written(synthetic(), tmp_path, {"profile": {"name": HOSTILE, "segments": SEGMENTS * 20}})
    run: Run = open_run(path)
    result = make_result(run)
    file = tmp_path / f"page.{ending}"
    write_page(run_page(run, result), file)
    data = file.read_bytes()
    assert data.startswith({"pdf": b"%PDF", "png": b"\x89PNG", "svg": b"<?xml"}[ending])
    if ending == "pdf":
        count = re.search(rb"/Count (\d+)", data)
        assert count is not None
        assert int(count[1]) >= 3


def test_what_is_read_for_a_page_gives_the_same_document(tmp_path: Path) -> None:
    path = written(synthetic(2.0), tmp_path)
    assert make_result(read(path)) == make_result(open_run(path))
    assert isinstance(spectra_of(read(path)), Spectra)
    assert PERIOD_NS == 2_000_000
