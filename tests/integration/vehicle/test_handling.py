"""Manoeuvres with a driver, and the figures of a vehicle, by the command: laws that they must obey."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mastd.cli import main
from mastd.formats.core.columns import read_columns
from mastd.vehicle.drivers.car import Car
from mastd.vehicle.manoeuvres.line import peak_friction_of
from mastd.vehicle.model.library import find
from mastd.vehicle.state.trace import columns
from tests.support.lab import ROOT

WHEELS = ("fl", "fr", "rl", "rr")
WHEELBASE = 2.8
FRONT_MASS, REAR_MASS = 8165.5 / 9.81, 6804.5 / 9.81
"""Of the benchmark sedan by its wheel loads at rest, kg."""


def document(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    capsys.readouterr()
    assert main(["vehicle", *words, "--json"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    return json.loads(printed.out)


def value(found: Any, key: str) -> float:
    return float(found["findings"][key]["value"])


def sedan(tmp_path: Path, front: float, rear: float) -> str:
    """Return the file of a benchmark sedan with other cornering stiffnesses, 1/rad."""
    text = (ROOT / "config" / "vehicles" / "benchmark_sedan.yaml").read_text(encoding="utf-8")
    first, second = "cornering_stiffness: 14 1/rad", "cornering_stiffness: 17 1/rad"
    assert text.count(first) == text.count(second) == 1
    path = tmp_path / f"sedan_{front:g}_{rear:g}.yaml"
    text = text.replace(first, f"cornering_stiffness: {front} 1/rad")
    path.write_text(text.replace(second, f"cornering_stiffness: {rear} 1/rad"), encoding="utf-8")
    return str(path)


def test_the_understeer_gradient_goes_with_the_axles_cornering_stiffness(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Roll steer and whatever else the axles do stay: the difference is m_f / C_f − m_r / C_r alone."""
    found = [
        document(
            capsys,
            "ramp-steer",
            "--vehicle",
            sedan(tmp_path, front, rear),
            "--duration",
            "12s",
            "--step",
            "2ms",
        )
        for front, rear in ((14.0, 17.0), (10.0, 17.0))
    ]
    measured = [value(each, "understeer_gradient_rad_per_ms2") for each in found]
    # C = c F_z with F_z = m g: m / C = 1 / (c g).
    expected = (1.0 / 10.0 - 1.0 / 14.0) / 9.81
    assert measured[1] - measured[0] == pytest.approx(expected, rel=0.03)
    closed = [each["findings"]["understeer_gradient_rad_per_ms2"]["formula"] for each in found]
    assert closed[0] == pytest.approx((1.0 / 14.0 - 1.0 / 17.0) / 9.81, rel=0.01)
    assert closed[1] - closed[0] == pytest.approx(expected, rel=0.01)
    for each in found:
        assert value(each, "speed_error_ms") < 0.1
        assert value(each, "largest_lateral_acceleration_ms2") > 2.0


def test_a_slow_sine_has_the_gain_of_the_steady_turn(capsys: pytest.CaptureFixture[str]) -> None:
    """v / (l + K v²), with K of the ramp; the phase lags, more with the frequency."""
    speed = 80.0 / 3.6
    gradient = value(document(capsys, "ramp-steer", "--step", "2ms"), "understeer_gradient_rad_per_ms2")
    slow = document(capsys, "sine-steer", "--frequency", "0.1Hz", "--periods", "3", "--step", "2ms")
    assert value(slow, "yaw_rate_gain_per_s") == pytest.approx(
        speed / (WHEELBASE + gradient * speed**2), rel=0.012
    )
    quick = document(capsys, "sine-steer", "--frequency", "1.5Hz", "--step", "2ms")
    assert value(quick, "yaw_rate_phase_rad") < value(slow, "yaw_rate_phase_rad") < 0.0
    assert value(quick, "lateral_acceleration_gain_ms2_per_rad") < value(
        slow, "lateral_acceleration_gain_ms2_per_rad"
    )
    single = document(capsys, "sine-steer", "--periods", "1")
    assert "fewer than three periods" in single["findings"]["yaw_rate_gain_per_s"]["note"]


def test_a_ramp_that_is_too_small_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys, "ramp-steer", "--rack", "-0.5mm", "--duration", "3s")["findings"]
    assert found["understeer_gradient_rad_per_ms2"]["value"] is None
    assert "increase --rack or --speed" in found["understeer_gradient_rad_per_ms2"]["note"]
    assert main(["vehicle", "ramp-steer", "--rack", "-0.5mm", "--duration", "3s"]) == 0
    assert "understeer     -  (by formula" in capsys.readouterr().out


def test_a_lane_change_is_driven_to_the_other_lane_and_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "way.csv"
    found = document(capsys, "lane-change", "--speed", "50km/h", "--step", "2ms", "--out", str(path))
    assert value(found, "largest_deviation_m") < 0.25
    assert value(found, "speed_error_ms") < 0.1
    table = read_columns(path, columns(WHEELS))
    assert table[:, 2].max() == pytest.approx(3.5, abs=0.2)
    assert abs(table[-1, 2]) < 0.1
    assert abs(table[-1, 12]) < 0.02
    right = document(capsys, "lane-change", "--speed", "50km/h", "--step", "2ms", "--offset", "-3.5m")
    assert right["final_position_m"][1] == pytest.approx(-found["final_position_m"][1], abs=1e-4)


def test_on_a_circle_the_car_has_the_acceleration_of_its_speed_and_radius(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "circle.csv"
    words = ["lane-change", "--path", "circle:50m", "--speed", "40km/h", "--duration", "10s", "--step", "2ms"]
    found = document(capsys, *words, "--out", str(path))
    table = read_columns(path, columns(WHEELS))
    late = table[:, 0] > 6.0
    assert table[late, 8].mean() == pytest.approx((40.0 / 3.6) ** 2 / 50.0, rel=0.03)
    assert value(found, "largest_deviation_m") < 0.5


def test_braking_to_rest_takes_the_distance_of_its_deceleration(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = document(capsys, "brake", "--deceleration", "4m/s2", "--speed", "50km/h")
    assert value(found, "braking_distance_m") == pytest.approx((50.0 / 3.6) ** 2 / (2.0 * 4.0), rel=0.03)
    assert value(found, "mean_deceleration_ms2") == pytest.approx(4.0, rel=0.02)
    assert value(found, "braking_time_s") == pytest.approx(50.0 / 3.6 / 4.0, rel=0.03)
    assert value(found, "yaw_change_rad") == pytest.approx(0.0, abs=1e-6)
    assert found["duration_s"] < 8.0, "it ends when the car has stood for three seconds"
    assert main(["vehicle", "brake", "--deceleration", "4m/s2", "--duration", "1.5s"]) == 0
    assert "a longer --duration" in capsys.readouterr().out


def test_a_kerb_lifts_the_car_by_its_height(capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys, "kerb", "--height", "60mm", "--duration", "4s")
    level = document(capsys, "kerb", "--height", "60mm", "--distance", "500m", "--duration", "4s")
    assert found["final_position_m"][2] - level["final_position_m"][2] == pytest.approx(0.06, abs=2e-3)
    assert value(found, "largest_dynamic_load_share") > 0.1
    assert value(level, "largest_dynamic_load_share") < 1e-3


def test_a_rough_road_shakes_more_than_a_smooth_one(capsys: pytest.CaptureFixture[str]) -> None:
    """A class of ISO 8608 has four times the density of the one before, twice the rms."""
    shaken = [
        value(
            document(
                capsys, "road", "--road", f"class:{road_class}:3", "--duration", "5s", "--speed", "60km/h"
            ),
            "rms_vertical_acceleration_ms2",
        )
        for road_class in ("A", "B")
    ]
    assert shaken[1] == pytest.approx(2.0 * shaken[0], rel=0.1)
    assert value(document(capsys, "road", "--duration", "3s"), "rms_vertical_acceleration_ms2") < 0.02


def test_wheels_that_leave_the_road_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The road begins 1 m before the front wheels and is 20 m long; 10 m/s take them over its end."""
    path = tmp_path / "road.csv"
    x = np.linspace(0.0, 20.0, 201)
    np.savetxt(path, np.column_stack([x, 0.0 * x]), delimiter=",", header="x_m,z_m", comments="", fmt="%.9g")
    words = ["road", "--road", str(path), "--speed", "10m/s", "--duration", "2.5s"]
    found = document(capsys, *words)
    assert found["left_road_s"] == pytest.approx(2.1, abs=0.01)
    assert found["outside_m"]["fl"] == pytest.approx(4.0, abs=0.1)
    assert found["outside_m"]["rl"] == pytest.approx(4.0 - WHEELBASE, abs=0.1)
    assert main(["vehicle", *words]) == 0
    assert "off the road  fl, fr, rl, rr from t = 2.1" in capsys.readouterr().out
    stayed = document(capsys, "road", "--duration", "0.5s")
    assert stayed["left_road_s"] is None


def test_figures_stand_beside_their_closed_formulas(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "figures.csv"
    found = document(capsys, "figures", "--out", str(path))["figures"]
    for key, share in (
        ("heave_frequency_hz", 0.02),
        ("pitch_frequency_hz", 0.03),
        ("lowest_hop_frequency_hz", 0.05),
        ("roll_gradient_rad_per_ms2", 0.05),
    ):
        assert found[key]["value"] == pytest.approx(found[key]["formula"], rel=share), key
    assert found["mass_kg"]["value"] == pytest.approx(FRONT_MASS + REAR_MASS, rel=1e-4)
    assert found["wheelbase_m"]["value"] == pytest.approx(WHEELBASE)
    assert 0.1 < found["heave_damping"]["value"] < 0.6
    assert path.read_text(encoding="utf-8").startswith("mass_kg,centre_height_m")
    assert main(["vehicle", "figures", "--vehicle", "quarter_car"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "(by formula" in printed.out


def test_a_car_that_rows_brake_to_rest_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows, out = tmp_path / "rows.csv", tmp_path / "out.csv"
    names = ",".join(f"brake_torque_{wheel}_Nm" for wheel in WHEELS)
    rows.write_text(f"t_s,{names}\n0,0,0,0,0\n0.1,500,500,400,400\n4,500,500,400,400\n", encoding="utf-8")
    assert main(["vehicle", "road", "--in", str(rows), "--speed", "10km/h", "--out", str(out)]) == 0
    table = read_columns(out, columns(WHEELS))
    speed = table[:, 4]
    assert speed[0] > 2.7
    assert np.abs(speed[table[:, 0] > 3.0]).max() < 0.02
    assert table[-1, 1] > table[0, 1]
    capsys.readouterr()


def test_a_standing_start_gets_away_and_more_throttle_gets_farther(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["start", "--vehicle", "sedan", "--duration", "5.5s"]
    whole = document(capsys, *words)
    assert value(whole, "rolled_back_m") < 1e-3
    assert 1.0 < value(whole, "time_to_30_kmh_s") < value(whole, "time_to_50_kmh_s") < 5.0
    assert whole["findings"]["time_to_100_kmh_s"]["value"] is None, "not in this time"
    half = document(capsys, *words, "--throttle", "40%")
    assert value(half, "way_m") < 0.9 * value(whole, "way_m")
    assert value(half, "end_speed_ms") > 5.0


@pytest.mark.parametrize("vehicle", ["transporter_8x8", "sedan", "benchmark_sedan"])
def test_a_car_that_is_to_stand_does(vehicle: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A torque converter would move it, if nobody held the brake."""
    words = ["--vehicle", vehicle, "--duration", "1s", "--step", "2ms"]
    held = document(capsys, "road", *words, "--speed", "0km/h")
    settled = document(capsys, "settle", "--vehicle", vehicle)["chassis_pose"]
    assert held["final_position_m"][:2] == pytest.approx(settled[:2], abs=2e-3)


def test_nobody_gets_away_before_the_start(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "start.csv"
    words = ["start", "--vehicle", "transporter_8x8", "--duration", "2s", "--step", "2ms"]
    document(capsys, *words, "--out", str(path))
    lines = path.read_text(encoding="utf-8").splitlines()
    table = np.array([[float(cell) for cell in line.split(",")] for line in lines[1:]])
    before = table[:, 0] <= 0.5
    assert np.ptp(table[before, 1]) < 2e-3
    assert table[-1, 1] - table[0, 1] > 0.5


def test_a_car_that_spins_to_rest_has_stopped_when_its_tyres_stand(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Braked on one side it turns round and slides sideways and backwards; high, it sways on after that."""
    words = ["brake", "--vehicle", "transporter_8x8", "--friction-left", "30%", "--step", "2ms"]
    found = document(capsys, *words)
    assert abs(value(found, "yaw_change_rad")) > 1.0
    assert value(found, "creep_m") < 2e-4
    assert found["duration_s"] - 0.5 - value(found, "braking_time_s") > 3.0


def test_a_foot_holds_a_speed_by_throttle_and_gears(capsys: pytest.CaptureFixture[str]) -> None:
    """Against rolling resistance and air, which would take a car that rolls 2 m/s in this time."""
    words = ["--vehicle", "sedan", "--speed", "100km/h", "--duration", "6s"]
    held = document(capsys, "road", *words)
    rolling = document(capsys, "jturn", *words, "--rack", "0mm")
    way = held["final_position_m"][0] - rolling["final_position_m"][0]
    assert way > 4.0
    assert held["final_position_m"][0] == pytest.approx(100.0 / 3.6 * 6.0 - 1.27, abs=1.5)


def test_brakes_of_the_vehicle_stop_it_no_shorter_than_friction_lets_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words, path = ["brake", "--vehicle", "sedan", "--speed", "50km/h"], tmp_path / "dry.csv"
    dry = document(capsys, *words, "--pedal", "60%", "--out", str(path))["findings"]
    rows = read_columns(path, columns(WHEELS))
    begin = rows[rows[:, 0] >= 0.5 - 1e-9][0]
    assert begin[4] < 0.998 * 50.0 / 3.6, "it has rolled until then"
    of_the_speed = (rows[-1, 1] - begin[1]) * (50.0 / 3.6 / begin[4]) ** 2
    assert dry["braking_distance_m"]["value"] == pytest.approx(of_the_speed, rel=2e-3)
    model = find("sedan")
    friction = peak_friction_of(Car.of(model))
    assert friction is not None
    closed = (50.0 / 3.6) ** 2 / (2.0 * friction * model.gravity)
    assert dry["braking_distance_m"]["formula"] == pytest.approx(closed, rel=1e-4)
    assert dry["braking_distance_m"]["formula"] < dry["braking_distance_m"]["value"] < 20.0
    assert dry["locked_share"]["value"] == 0.0
    assert dry["creep_m"]["value"] < 1e-3
    wet = document(capsys, *words, "--pedal", "60%", "--friction-left", "40%", "--friction-right", "40%")
    assert wet["findings"]["braking_distance_m"]["formula"] == pytest.approx(
        dry["braking_distance_m"]["formula"] / 0.4, rel=0.01
    )
    assert value(wet, "braking_distance_m") > wet["findings"]["braking_distance_m"]["formula"]
    assert value(wet, "locked_share") > 0.5


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["ramp-steer", "--rack", "-81mm"], ["--rack: -81 mm is beyond the travel of front rack, ±80 mm"]),
        (["ramp-steer", "--duration", "1s"], ["--duration: 1 s leaves no time for the ramp"]),
        (["ramp-steer", "--speed", "0m/s"], ["--speed: a turn needs a speed above zero"]),
        (
            ["sine-steer", "--periods", "0", "--rack", "90mm"],
            ["--rack: 90 mm is beyond", "--periods: 0 is less than one"],
        ),
        (["sine-steer", "--duration", "2s"], ["--duration: 2 s, but the last period ends at 8.5 s"]),
        (["brake"], ["--pedal: benchmark sedan has no brakes"]),
        (["brake", "--pedal", "50%", "--deceleration", "3m/s2"], ["--deceleration: give it or --pedal"]),
        (["brake", "--pedal", "120%"], ["--pedal: 120% is more than there is"]),
        (["brake", "--friction-left", "0%"], ["--friction-left: 0% is not above zero"]),
        (
            ["brake", "--vehicle", "quarter_car", "--deceleration", "3m/s2"],
            ["is held along the road (held: surge), nothing can stop it"],
        ),
        (["start"], ["start: benchmark sedan has no powertrain"]),
        (["kerb", "--height", "400mm"], ["--height: 400 mm; a wheel rolls over kerbs above 0 mm and below"]),
        (["lane-change", "--path", "oval"], ["--path: oval: known are slalom, circle:RADIUS"]),
        (["lane-change", "--path", "circle:3m"], ["--path: circle:3m: a circle has a radius of 5 m or more"]),
        (["lane-change", "--path", "circle:3"], ["--path: circle:3: 3 has no unit"]),
        (["lane-change", "--path", "slalom", "--offset", "2m"], ["--offset: is that of the double lane"]),
        (["lane-change", "--path", "missing.csv"], ["missing.csv: cannot be read"]),
    ],
)
def test_bad_usage_is_one_line_each_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], words: list[str], told: list[str]
) -> None:
    assert main(["vehicle", *words]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    lines = printed.err.splitlines()
    assert len(lines) == len(told), lines
    for line, text in zip(lines, told, strict=True):
        assert text in line


def test_a_turn_is_the_same_whoever_asks_again(capsys: pytest.CaptureFixture[str]) -> None:
    runs = [document(capsys, "lane-change", "--duration", "2s") for _ in range(2)]
    for run in runs:
        del run["time_per_step_us"]
    assert runs[0] == runs[1]
    assert math.isfinite(runs[0]["final_yaw_rad"])
