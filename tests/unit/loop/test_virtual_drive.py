"""A driven vehicle moves the table: three manoeuvres from the driver to the actuators, and what repeats."""

from __future__ import annotations

import argparse
import json
import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import signal
from scipy.ndimage import maximum_filter1d, minimum_filter1d
from scipy.spatial.transform import Rotation

from mastd.arrays import FloatArray
from mastd.commands.check import command as check
from mastd.errors import SettingsError
from mastd.loop.payload.pickling import pack, unpack
from mastd.loop.payload.virtual_drive import HOME, Played, VirtualDrive, play
from mastd.settings.core.loader import load
from mastd.settings.core.starter import find
from mastd.settings.profile.cueing import RideSettings, WashoutSettings
from mastd.settings.profile.oils import (
    ClassRoad,
    EmergencyStop,
    FlatRoad,
    KerbRoad,
    LaneChange,
    OperatorDriver,
    RandomDriver,
)
from mastd.settings.profile.profile import ProfileSettings
from mastd.settings.table.table import TableSettings
from mastd.vehicle.manoeuvres.base import play as play_alone
from mastd.vehicle.manoeuvres.line import lane_change
from mastd.vehicle.model import library
from mastd.vehicle.payload.checks import DriveError
from mastd.vehicle.state.trace import VELOCITY
from tests.support.vehicle.virtual_drives import CABIN_SEAT, DRIVES, KM_PER_H, PERIOD, drive_of, grid

MANOEUVRES: dict[str, dict[str, Any]] = {
    "lane change": {"driver": LaneChange(kind="lane_change"), "duration": 9.0},
    "kerb": {"road": KerbRoad(kind="kerb"), "speed": 30.0 * KM_PER_H, "duration": 5.0},
    "emergency stop": {"driver": EmergencyStop(kind="brake"), "duration": 6.0},
}
TRANSLATIONS = ("surge", "sway", "heave")
AXES = (*TRANSLATIONS, "roll", "pitch", "yaw")


each_manoeuvre = pytest.mark.parametrize("name", list(MANOEUVRES))


@cache
def played(name: str) -> tuple[VirtualDrive, Played]:
    """Return a manoeuvre after its end, and what happened."""
    drive = drive_of(**MANOEUVRES[name])
    return drive, play(drive)


def assert_in_boxes(poses: FloatArray) -> None:
    """The seat keeps travel, velocity and acceleration of its boxes while C makes ``poses`` (n, 6)."""
    turned = Rotation.from_euler("xyz", poses[:, 3:]).apply(CABIN_SEAT)
    places = np.column_stack([poses[:, :3] + turned - CABIN_SEAT, poses[:, 3:]])
    rates = np.diff(places, axis=0) / PERIOD
    pushes = np.diff(rates, axis=0) / PERIOD
    cueing = WashoutSettings(kind="washout")
    for column, axis in enumerate(AXES):
        box = getattr(cueing, axis)
        assert np.abs(places[:, column]).max() <= box.travel, axis
        assert np.abs(rates[:, column]).max() <= box.velocity, axis
        assert np.abs(pushes[:, column]).max() <= box.acceleration * (1.0 + 1e-6), axis


def reversal(asked: FloatArray, given: FloatArray, window: int) -> float:
    """Return by how much (m/s²) an axis accelerated against all that was asked within the last ``window``
    samples: what is left when it has had the time to follow."""
    most = maximum_filter1d(asked, window, origin=(window - 1) // 2, mode="nearest")
    least = minimum_filter1d(asked, window, origin=(window - 1) // 2, mode="nearest")
    above, below = given - np.maximum(most, 0.0), np.minimum(least, 0.0) - given
    return float(max(above.max(), below.max()))


def follow_time(cueing: WashoutSettings, axis: str) -> float:
    """Return the time (s) in which the axis' acceleration goes from end to end."""
    box = getattr(cueing, axis)
    return float(2.0 * box.acceleration / box.jerk)


@each_manoeuvre
def test_the_seat_stays_in_its_boxes(name: str) -> None:
    assert_in_boxes(played(name)[1].motion[:, 0])


@each_manoeuvre
def test_the_actuators_stay_within_stroke_and_rate(name: str) -> None:
    motion = played(name)[1].motion
    table = load(find("table", "table"), TableSettings)
    turns = Rotation.from_euler("xyz", motion[:, 0, 3:])
    for actuator in table.links:
        joint = motion[:, 0, :3] + table.neutral_position + turns.apply(actuator.table_joint)
        length = np.linalg.norm(joint - np.array(actuator.base_joint), axis=1) - actuator.neutral_length
        assert np.abs(length).max() <= actuator.stroke - table.limits.stroke_margin
        assert np.abs(np.diff(length)).max() / PERIOD <= table.limits.velocity


@each_manoeuvre
def test_nothing_is_felt_the_other_way(name: str) -> None:
    """Home go the axes below what is noticed: with the return acceleration of the settings at most."""
    _, drive = played(name)
    cueing = WashoutSettings(kind="washout")
    for column, axis in enumerate(TRANSLATIONS):
        window = 1 + math.ceil(follow_time(cueing, axis) / PERIOD)
        wrong = reversal(drive.asked[:, column], drive.given[:, column], window)
        # Tilting and centripetal accelerations, which are left out of the law, are of second order.
        assert wrong <= 1.1 * getattr(cueing, axis).return_acceleration + 0.03, (name, axis)
    if name == "emergency stop":
        asked = drive.asked[:, 0]
        corner = 2.0 * math.pi * cueing.surge.corner
        naive = signal.lfilter(*signal.bilinear([1, 0, 0], [1, 2 * corner, corner**2], 1 / PERIOD), asked)
        assert reversal(asked, naive, 51) > 3.0 * cueing.surge.return_acceleration


@each_manoeuvre
def test_the_cue_is_asked_for_and_its_error_told(name: str) -> None:
    _, drive = played(name)
    axis = {"lane change": 1, "kerb": 2, "emergency stop": 0}[name]
    error = drive.cue_error
    cueing = WashoutSettings(kind="washout")
    gain = getattr(cueing, AXES[axis]).gain
    driven = drive.felt[:, axis] - (9.80665 if axis == 2 else 0.0)
    before = slice(0, round(MANOEUVRES[name]["duration"] / PERIOD))
    assert drive.asked[before, axis] == pytest.approx(gain * driven[before], abs=1e-12)
    assert error.asked[axis] == max(error.asked[:3])
    assert error.missed[axis] == pytest.approx(
        math.sqrt(np.mean((drive.given[:, axis] - drive.asked[:, axis]) ** 2))
    )
    assert 0.0 < error.missed[axis] < error.asked[axis]


@each_manoeuvre
def test_a_drive_ends_at_rest_at_neutral(name: str) -> None:
    drive, seen = played(name)
    assert drive.finished
    assert seen.conditions == ()
    assert (np.abs(seen.motion[-1, :2]) <= HOME).all()
    assert MANOEUVRES[name]["duration"] < seen.time[-1] < MANOEUVRES[name]["duration"] + 10.0


def test_the_stop_is_hard_and_ends() -> None:
    _, seen = played("emergency stop")
    speed, times = seen.signals[:, VELOCITY][:, 0], seen.time
    assert np.abs(speed[times < 2.0] - 60.0 * KM_PER_H).max() < 0.5
    assert np.abs(speed[times > 5.0]).max() < 0.1
    assert -10.5 < np.median(seen.felt[(times > 2.5) & (times < 3.2), 0]) < -7.0
    assert seen.inputs[times > 2.2, 2] == pytest.approx(1.0)
    assert not seen.inputs[times < 2.0, 2].any()


def test_the_kerb_is_met_where_it_is() -> None:
    drive, seen = played("kerb")
    radius = library.find("sedan").wheels[0].tyre.free_radius
    touched = 20.0 - math.sqrt(2.0 * radius * 0.1 - 0.1**2)
    loads = seen.signals[:, drive.layout.wheel(0)]
    hit = int(np.argmax(loads[:, 0] > 1.5 * loads[0, 0]))
    way = float(np.sum(seen.signals[:hit, VELOCITY][:, 0])) * PERIOD
    assert way == pytest.approx(touched, abs=0.1)


def test_the_vehicle_does_what_it_does_alone() -> None:
    drive = drive_of(duration=2.5, driver=LaneChange(kind="lane_change"))
    rows = []
    for _ in range(2500):
        drive.step()
        rows.append(drive.signals[:18].copy())
    model = library.find("sedan")
    trace, _ = play_alone(model, lane_change(model, duration=2.5))
    assert np.array_equal(np.array(rows), trace.chassis[1:])


def steered(drive: VirtualDrive, first: int, count: int) -> bytes:
    """Drive by hand for some periods; return all that was seen."""
    seen = []
    for k in range(first, first + count):
        if k % 20 == 0:
            drive.receive(np.array([0.3 * math.sin(1e-3 * k), 0.4, 0.0, 0.0, 100.0]))
        drive.step()
        seen.append(np.concatenate([drive.motion.ravel(), drive.signals, drive.asked, drive.given]))
        seen.append(drive.inputs.copy())
    return b"".join(row.tobytes() for row in seen)


@pytest.mark.parametrize(
    "given",
    [
        {"driver": OperatorDriver(kind="operator")},
        {
            "driver": RandomDriver(kind="random"),
            "road": ClassRoad(kind="class", road_class="C"),
            "cueing": RideSettings(kind="ride"),
        },
    ],
    ids=["by hand", "at random"],
)
def test_it_repeats_also_out_of_a_parcel_and_after_a_new_beginning(given: dict[str, Any]) -> None:
    start = np.zeros((4, 6))
    start[0, :3] = 2e-3, -1e-3, 3e-3
    drive = drive_of(7, **given)
    drive.begin(start)
    first = steered(drive, 0, 1234)
    pickled = pack(drive)
    second = steered(drive, 1234, 700)
    copy = unpack(pickled)
    assert isinstance(copy, VirtualDrive)
    assert steered(copy, 1234, 700) == second
    for again in (drive, copy):
        again.begin(start)
        assert again.time == 0.0
        assert steered(again, 0, 1234) == first
    drive.begin(np.zeros((3, 6)))
    assert steered(drive, 0, 50) != first[: 50 * len(first) // 1234]


@pytest.mark.parametrize("seconds", [12.0, pytest.param(600.0, marks=pytest.mark.evidence)])
def test_random_driving_keeps_to_what_is_asked_for(seconds: float) -> None:
    driver = RandomDriver(kind="random", lateral=3.0, longitudinal=2.5, top_speed=25.0)
    drive = drive_of(3, driver=driver, duration=seconds)
    lateral, along, speeds, poses = [], [], [], []
    for _ in range(round(seconds / PERIOD)):
        drive.step()
        lateral.append(drive.signals[7])
        along.append(drive.signals[6])
        speeds.append(drive.signals[3])
        poses.append(drive.motion[0].copy())
        assert drive.conditions == ()
    # The car overshoots what is steered and braked for, as cars do, most where it brakes in a bend.
    assert 0.6 * 3.0 < np.abs(lateral).max() < 1.6 * 3.0
    assert np.quantile(np.abs(lateral), 0.99) < 1.2 * 3.0
    assert np.quantile(np.abs(along), 0.99) < 1.1 * 2.5  # changes of gear jerk
    assert min(speeds) > 0.0
    assert max(speeds) < 1.05 * 25.0
    assert np.ptp(speeds) > min(0.1 * seconds, 10.0)
    assert_in_boxes(np.array(poses))


def test_cruise_follows_a_road_that_bends(tmp_path: Path) -> None:
    way = 0.5 * np.arange(181)
    headings = np.clip((way - 20.0) / 60.0, 0.0, 0.75)
    flat = np.zeros(len(way))
    drive = drive_of(road=grid(tmp_path / "bend.crg", flat, flat, headings), speed=10.0, duration=7.0)
    beside = []
    for _ in range(7000):
        drive.step()
        beside.append(drive.signals[drive.layout.wheel(7)].max())
    assert drive.conditions == ()
    assert max(beside) == 0.0
    assert drive.signals[11] > 0.6


def test_slippery_roads_are_slippery() -> None:
    stops = [
        drive_of(road=FlatRoad(friction=mu), driver=EmergencyStop(kind="brake", start=0.0))
        for mu in (1.0, 0.4)
    ]
    for drive in stops:
        for _ in range(1200):
            drive.step()
    lost = [60.0 * KM_PER_H - drive.signals[3] for drive in stops]
    assert lost[1] == pytest.approx(0.4 * lost[0], rel=0.2)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"seat": "captain"}, "oils: seat: sedan has no seat 'captain', it has driver"),
        (
            {"road": KerbRoad(kind="kerb", height=0.4), "seat": "captain"},
            "oils: seat: sedan has no seat 'captain'.*\noils: road.height: 400 mm; the wheels",
        ),
        (
            {"road": ClassRoad(kind="class", road_class="A", length=100.0)},
            "oils: duration: 10 s at 16.6667 m/s are 167 m, the road ends after 101 m",
        ),
        (
            {"driver": RandomDriver(kind="random", top_speed=10.0)},
            "oils: speed: 16.6667 m/s is above the driver's top_speed, 10 m/s",
        ),
        ({"vehicle": "quarter_car"}, "held along the road"),
        (
            {"vehicle": "quarter_car", "driver": LaneChange(kind="lane_change")},
            "oils: driver.kind: .* has no rack to steer with",
        ),
        (
            {"vehicle": "benchmark_sedan", "driver": EmergencyStop(kind="brake", pedal=0.5)},
            "oils: driver.pedal: .* has no brakes; give deceleration instead",
        ),
    ],
)
def test_what_cannot_be_driven_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(DriveError, match=said):
        drive_of(**given)


@pytest.mark.parametrize("name", DRIVES)
def test_starter_drives_start(name: str) -> None:
    path = find("profile", name)
    assert path.read_text(encoding="utf-8").startswith("# yaml-language-server: $schema=../schemas/")
    profile = load(path, ProfileSettings)
    assert profile.oils is not None
    drive = VirtualDrive.of(profile.oils, profile.seed, PERIOD)
    drive.step()
    assert [condition.name for condition in drive.conditions] == (
        ["driver_lost"] if name == "drive_by_hand" else []
    )


def checked(*arguments: str) -> int:
    parser = argparse.ArgumentParser()
    check.add_parsers(parser.add_subparsers())
    given = parser.parse_args(["check", *arguments])
    return int(given.run(given))


def test_check_tells_the_cue_in_advance(capsys: pytest.CaptureFixture[str]) -> None:
    seen = played("kerb")[1].cue_error
    assert checked("kerb_in_the_seat", "--json") == 0
    cue = json.loads(capsys.readouterr().out)["cue"]
    assert cue["conditions"] == []
    assert 6.0 < cue["played_s"] < 16.0
    heave = cue["axes"]["heave"]
    assert heave["asked_rms"] == pytest.approx(seen.asked[2], rel=0.2)
    assert 0.0 < heave["missed_rms"] < heave["asked_rms"]
    assert heave["largest"] <= 0.02


def test_check_tells_a_drive_that_cannot_be_in_its_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "long.yaml"
    text = find("profile", "ride_in_the_seat").read_text(encoding="utf-8")
    path.write_text(text.replace("length: 1000 m", "length: 100 m"), encoding="utf-8")
    line = next(k for k, row in enumerate(text.splitlines(), start=1) if "duration:" in row)
    with pytest.raises(
        SettingsError, match=f"long.yaml:{line}:13: oils.duration: 60 s at 13.8889 m/s are 833 m"
    ):
        checked(str(path))
