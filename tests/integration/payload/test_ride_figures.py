"""Figures of a ride, of channels whose figures are known, written by the project's own writer."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mastd.arrays import BoolArray, FloatArray
from mastd.commands.report import summary
from mastd.record.channels import Channel, ChannelSet
from mastd.record.reader import Run, open_run
from mastd.record.result import make_result
from mastd.record.writer import RunWriter
from mastd.report.drawing.html_page import html
from mastd.report.pages.run import run_page
from mastd.settings.core.axes import AXES
from mastd.signals.comfort import frequency_weighting
from tests.support.web_page import WebPage

RATE, PERIOD_NS = 1000.0, 1_000_000
STATES = ["OFF", "READY", "RUNNING", "LOWERING"]
BEFORE, PLAYED, AFTER = 4000, 8000, 300
COUNT = BEFORE + PLAYED + AFTER
TIMES = (np.arange(COUNT) - BEFORE) / RATE
PLAYING = slice(BEFORE, BEFORE + PLAYED)
OTHER = np.r_[0:BEFORE, BEFORE + PLAYED : COUNT]
NEEDED = (
    *("cycle", "step", "missed", "state", "fault", "late", "compute", "internal_force", "profile_time"),
    *(f"{quantity}.{axis}" for quantity in ("reference", "pose") for axis in AXES),
    "command.length.1",
)
SIZES = {"x": (0.6, 1.0), "y": (0.9, 4.0), "z": (1.7, 8.0)}
"""Of the seat's acceleration: amplitude in m/s² and frequency in Hz, whole periods in PLAYED."""


def sine(size: float, frequency: float) -> FloatArray:
    wave: FloatArray = size * np.sin(2.0 * np.pi * frequency * TIMES)
    return wave


def ride() -> dict[str, FloatArray]:
    """Return the channels of a ride; what lies before and after the profile must not count."""
    columns: dict[str, FloatArray] = {name: np.zeros(COUNT) for name in NEEDED}
    columns["cycle"][:] = np.arange(COUNT) + 1
    columns["step"][:] = np.arange(COUNT) + 500
    columns["state"][:] = STATES.index("READY")
    columns["state"][PLAYING] = STATES.index("RUNNING")
    columns["profile_time"] = np.where(columns["state"] == 2, TIMES, np.nan)
    columns["reference.heave"] = columns["pose.heave"] = sine(0.01, 2.0)
    for axis, (size, frequency) in SIZES.items():
        columns[f"seat.acceleration.{axis}"] = sine(size, frequency)
        columns[f"seat.acceleration.{axis}"][BEFORE + PLAYED :] = 50.0
    load = 4000.0 + sine(1500.0, 1.0)
    columns["vehicle.load.fl"], columns["vehicle.travel.fl"] = load.copy(), sine(0.02, 1.0) - 0.01
    columns["vehicle.load.rr"], columns["vehicle.travel.rr"] = np.full(COUNT, 3000.0), np.full(COUNT, 0.004)
    columns["vehicle.load.rr"][BEFORE + 100 : BEFORE + 600] = 0.0
    columns["vehicle.converged"] = np.ones(COUNT)
    columns["vehicle.converged"][BEFORE + 10 : BEFORE + 30] = 0.0
    columns["vehicle.load.fl"][BEFORE + 7] = columns["vehicle.travel.rr"][BEFORE + 8] = np.nan
    for name, wrong in (("load.fl", 9e9), ("load.rr", 0.0), ("travel.fl", 1.0), ("converged", 0.0)):
        columns[f"vehicle.{name}"][OTHER] = wrong
    return columns


def cue() -> dict[str, FloatArray]:
    """Return channels of a cue: x late by a quarter of a period, y kept and then reversed, yaw as asked."""
    columns = {f"cue.{which}.{axis}": np.zeros(COUNT) for which in ("asked", "given") for axis in "xyz"}
    columns["cue.asked.x"], columns["cue.given.x"] = sine(2.0, 1.0), 2.0 * np.cos(2.0 * np.pi * TIMES)
    columns["cue.asked.y"][BEFORE + 1000 : BEFORE + 5000] = 3.0
    columns["cue.given.y"][BEFORE + 1000 : BEFORE + 3000] = 2.5
    columns["cue.given.y"][BEFORE + 3000 : BEFORE + 4000] = -0.75
    columns["cue.given.y"][BEFORE + 5000 : BEFORE + 5500] = -2.0
    columns["cue.asked.y"][BEFORE + 5000 : BEFORE + 5500] = 0.05  # less than 2 % of the most: no direction
    columns["cue.given.y"][OTHER], columns["cue.asked.y"][OTHER] = -90.0, 90.0
    columns["cue.asked.yaw"] = columns["cue.given.yaw"] = sine(0.1, 3.0)
    return columns


def record(
    columns: dict[str, FloatArray], path: Path, kept: BoolArray | None = None, rate: float = RATE
) -> Run:
    """Write the channels as a run and read it back; ``kept`` (COUNT) says which frames are not lost."""
    channels = ChannelSet([Channel(name, "?") for name in columns], round(1e9 / rate))
    frames = np.column_stack([columns[channel.name] for channel in channels])
    metadata = {
        "states": STATES,
        "profile": {"name": "a ride"},
        "band": (0.5, 5.0),
        "duration": PLAYED / rate,
    }
    writer = RunWriter(path / "run.mcap", channels, metadata)
    for number, frame in enumerate(frames):
        if kept is None or kept[number]:
            writer.frame(number, memoryview(np.ascontiguousarray(frame).tobytes()))
    writer.finish({})
    return open_run(path)


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return make_result(record(ride() | cue(), tmp_path_factory.mktemp("ride")))


def weighted_amplitude(axis: str) -> float:
    size, frequency = SIZES[axis]
    return size * float(abs(frequency_weighting(np.array(frequency), "k" if axis == "z" else "d")))


def test_the_seats_figures_are_those_of_the_standards_weighting(result: dict[str, Any]) -> None:
    seat = result["vehicle"]["seat"]
    seconds = PLAYED / RATE
    for axis in "xyz":
        amplitude = weighted_amplitude(axis)
        assert seat["weighted_rms_ms2"][axis] == pytest.approx(amplitude / math.sqrt(2.0), rel=6e-3)
        assert seat["vdv_ms175"][axis] == pytest.approx(amplitude * (3.0 / 8.0 * seconds) ** 0.25, rel=6e-3)
        assert seat["mtvv_ms2"][axis] == pytest.approx(amplitude / math.sqrt(2.0), rel=6e-3)
        assert seat["crest_factor"][axis] == pytest.approx(math.sqrt(2.0), rel=6e-3)
    total = math.sqrt(sum(weighted_amplitude(axis) ** 2 / 2.0 for axis in "xyz"))
    assert seat["total_value_ms2"] == pytest.approx(total, rel=6e-3)
    assert 1.25 < total < 1.6
    assert seat["reaction"] == "uncomfortable to very uncomfortable"


def test_the_wheels_figures_are_those_of_the_time_in_which_the_profile_played(result: dict[str, Any]) -> None:
    assert result["vehicle"]["wheels"] == {
        "fl": {
            "least_load_n": pytest.approx(2500.0),
            "largest_load_n": pytest.approx(5500.0),
            "aloft_share": 0.0,
            "largest_travel_m": pytest.approx(-0.03),
        },
        "rr": {
            "least_load_n": 0.0,
            "largest_load_n": 3000.0,
            "aloft_share": pytest.approx(500 / PLAYED),
            "largest_travel_m": 0.004,
        },
    }
    assert result["vehicle"]["unconverged_share"] == pytest.approx(20 / PLAYED)


def test_the_cues_figures_are_those_that_were_put_in(result: dict[str, Any]) -> None:
    cueing = result["cueing"]
    assert list(cueing) == ["x", "y", "z", "yaw"]
    # A sine and a cosine: uncorrelated, and √2 of either apart. A quarter of a second is later than what
    # excuses a direction: at the end of each half period all that is given points against what was asked.
    late = cueing["x"]
    assert (late["rms_asked"], late["rms_given"]) == (
        pytest.approx(math.sqrt(2.0)),
        pytest.approx(math.sqrt(2.0)),
    )
    assert late["rms_error"] == pytest.approx(2.0)
    assert late["correlation"] == pytest.approx(0.0, abs=1e-9)
    assert late["largest_false_reversal"] == pytest.approx(2.0, rel=1e-3)
    kept = cueing["y"]
    assert kept["largest_false_reversal"] == 2.0, "it turns round when the asking ends"
    assert kept["rms_asked"] == pytest.approx(3.0 * math.sqrt(4.0 / 8.0), rel=1e-3)
    assert kept["rms_given"] == pytest.approx(math.sqrt((2.5**2 * 2.0 + 0.75**2 * 1.0 + 2.0**2 * 0.5) / 8.0))
    exact = cueing["yaw"]
    assert exact["correlation"] == pytest.approx(1.0)
    assert (exact["rms_error"], exact["largest_false_reversal"]) == (0.0, 0.0)
    assert cueing["z"] == {
        **dict.fromkeys(("rms_asked", "rms_given", "rms_error", "largest_false_reversal"), 0.0),
        "correlation": None,
    }


def test_a_record_without_these_channels_has_no_such_figures(tmp_path: Path) -> None:
    run = record({name: column for name, column in ride().items() if name in NEEDED}, tmp_path)
    result = make_result(run)
    assert not {"vehicle", "cueing"} & set(result)


def test_a_vehicle_without_a_seat_has_the_figures_of_its_wheels(tmp_path: Path) -> None:
    columns = {name: column for name, column in ride().items() if not name.startswith("seat.")}
    vehicle = make_result(record(columns, tmp_path))["vehicle"]
    assert isinstance(vehicle, dict)
    assert list(vehicle) == ["wheels", "unconverged_share"]


def test_a_profile_that_never_played_has_none_of_the_figures(tmp_path: Path) -> None:
    columns = ride() | cue()
    columns["state"][:] = STATES.index("READY")
    result = make_result(record(columns, tmp_path))
    vehicle, cueing = result["vehicle"], result["cueing"]
    assert isinstance(vehicle, dict)
    assert isinstance(cueing, dict)
    assert vehicle["unconverged_share"] is None
    assert vehicle["seat"]["total_value_ms2"] is None
    assert vehicle["seat"]["reaction"] is None
    assert {value for wheel in vehicle["wheels"].values() for value in wheel.values()} == {None}
    assert {value for axis in cueing.values() for value in axis.values()} == {None}
    assert "–" in summary(result)


def test_lost_and_invalid_samples_are_bridged(result: dict[str, Any], tmp_path: Path) -> None:
    columns = ride()
    columns["seat.acceleration.z"][BEFORE + 3000 : BEFORE + 3004] = np.nan
    columns["seat.acceleration.z"][:200] = np.nan  # the vehicle was not there yet
    kept = np.ones(COUNT, dtype=bool)
    kept[BEFORE + 5000 : BEFORE + 5003] = kept[BEFORE + 7000] = False
    found = make_result(record(columns, tmp_path, kept))["vehicle"]
    assert isinstance(found, dict)
    for figure in ("weighted_rms_ms2", "vdv_ms175"):
        for axis in "xyz":
            whole = result["vehicle"]["seat"][figure][axis]
            assert found["seat"][figure][axis] == pytest.approx(whole, rel=1e-3)


def test_a_record_too_slow_for_the_standard_has_no_comfort(tmp_path: Path) -> None:
    vehicle = make_result(record(ride(), tmp_path, rate=250.0))["vehicle"]
    assert isinstance(vehicle, dict)
    assert vehicle["seat"]["weighted_rms_ms2"] == {"x": None, "y": None, "z": None}
    assert vehicle["wheels"]["fl"]["largest_load_n"] == pytest.approx(5500.0)


def test_the_figures_stand_in_the_summary_and_on_the_page(result: dict[str, Any], tmp_path: Path) -> None:
    json.dumps(result, allow_nan=False)
    text = summary(result)
    for part in (
        "vibration total value for comfort 1.",
        " m/s2, uncomfortable to very uncomfortable\n",
        "0.25 % of the vehicle's steps did not converge",
    ):
        assert part in text
    lines = [line.split() for line in text.splitlines()]
    assert ["fl", "2.50…", "5.50", "0.00", "-30.0"] in lines
    assert ["rr", "0.00…", "3.00", "6.25", "4.0"] in lines
    assert ["y,", "m/s2", "2.121"] in [line[:3] for line in lines]
    run = record(ride() | cue(), tmp_path)
    page = WebPage(html(run_page(run, result)))
    assert page.row("wheel", "fl")[1:] == ["2.5", "5.5", "0", "−30"]
    assert page.row("wheel", "rr")[1:] == ["0", "3", "6.25", "4"]
    assert page.row("cue", "y, m/s²")[1] == "2.121"
    assert page.row("seat, ISO 2631-1", "called")[1] == "uncomfortable to very uncomfortable"
    assert "0.25 % of the vehicle's steps did not converge" in page.text
    assert {"wheel loads, kN", "seat acceleration, m/s²", "cue yaw, rad/s"} <= set(page.pictures)
