"""The command `mastd vehicle`: manoeuvres, their documents, files and pictures, exit codes and refusals."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mastd.cli import main
from mastd.commands.vehicle.text import fault
from mastd.formats.core.columns import read_columns
from mastd.vehicle.manoeuvres.summary import Summary, Unconverged
from mastd.vehicle.state.trace import columns
from tests.support.lab import ROOT

WHEELS = ("fl", "fr", "rl", "rr")
REFERENCE_LOADS = (4082.77279, 4082.77279, 3402.25721, 3402.25721)
REFERENCE_POSE = (-1.25991684, 0.0, 0.55729296, 0.0, 0.00290486792, 0.0)
"""The benchmark sedan at rest, from the references' first row (x and yaw are free)."""


def document(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> Any:
    capsys.readouterr()
    assert main(["vehicle", *words, "--json"]) == code
    printed = capsys.readouterr()
    assert code or printed.err == ""
    return json.loads(printed.out)


def peer_table(path: Path) -> np.ndarray[Any, np.dtype[np.float64]]:
    return read_columns(path, columns(WHEELS))


def test_settle_tells_the_loads_and_the_pose(capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys, "settle")
    assert list(found) == ["wheel_loads_n", "chassis_pose"]
    assert tuple(found["wheel_loads_n"]) == WHEELS
    assert np.allclose(list(found["wheel_loads_n"].values()), REFERENCE_LOADS, rtol=0, atol=0.1)
    assert np.allclose(found["chassis_pose"], REFERENCE_POSE, rtol=0, atol=1e-3)
    assert np.allclose(found["chassis_pose"][2:5], REFERENCE_POSE[2:5], rtol=0, atol=1e-5)


def test_settle_on_paper_and_in_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rest.csv"
    assert main(["vehicle", "settle", "--out", str(path), "--solver", "inertial", "--step", "2ms"]) == 0
    printed = capsys.readouterr().out
    assert "load fl" in printed
    assert "4082.7" in printed
    assert "deg" in printed
    names = ("x_m", "y_m", "z_m", "roll_rad", "pitch_rad", "yaw_rad", *(f"fz_{wheel}_N" for wheel in WHEELS))
    found = document(capsys, "settle")
    expected = [*found["chassis_pose"], *found["wheel_loads_n"].values()]
    assert np.array_equal(read_columns(path, names)[0], expected)


def test_linearise_names_the_modes_of_chassis_and_wheels(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "modes.csv"
    undamped = document(capsys, "linearise", "--undamped", "--out", str(path))["modes"]
    assert all({"frequency_hz", "damping", "name"} <= set(mode) for mode in undamped)
    assert all(abs(mode["damping"]) < 1e-6 for mode in undamped)
    frequencies = {mode["name"]: mode["frequency_hz"] for mode in undamped}
    assert frequencies["roll"] == pytest.approx(1.612, abs=2e-3)
    assert {"heave", "roll", "pitch"} <= set(frequencies)
    assert list(frequencies.values()) == sorted(frequencies.values())
    assert len(path.read_text(encoding="utf-8").splitlines()) == 1 + len(undamped)
    damped = {mode["name"]: mode for mode in document(capsys, "linearise", "--speed", "60km/h")["modes"]}
    assert 0.1 < damped["heave"]["damping"] < 1.0
    assert main(["vehicle", "linearise", "--undamped"]) == 0
    assert "frequency, Hz" in capsys.readouterr().out


@pytest.mark.parametrize("solver", ["chassis", "inertial"])
def test_a_turn_goes_where_it_should(capsys: pytest.CaptureFixture[str], solver: str) -> None:
    found = document(capsys, "jturn", "--solver", solver)
    assert found["converged"] is True
    assert found["unconverged"] is None
    assert found["steps"] == 4000
    assert found["step_s"] == 1e-3
    assert found["peak_lateral_acceleration_ms2"] == pytest.approx(4.19, abs=0.02)
    assert found["final_yaw_rad"] == pytest.approx(0.8, abs=0.01)
    assert found["final_position_m"][1] > 10.0
    assert found["iterations"]["most"] >= found["iterations"]["mean"] >= 1.0
    assert found["joint_error_m"] <= 1e-8
    loads = found["wheel_loads_n"]
    assert loads["fr"] == pytest.approx({"least": 4076.2, "most": 5322.9}, abs=1.0)
    assert loads["rl"] == pytest.approx({"least": 2182.1, "most": 3403.1}, abs=1.0)
    assert found["time_per_step_us"] > 0.0


@pytest.mark.parametrize(
    ("words", "integrator"),
    [
        (["--solver", "independent"], "runge-kutta"),
        (["--solver", "lagrange", "--integrator", "adams-bashforth"], "adams-bashforth"),
        (["--solver", "subsystem-joint", "--cartesian", "rear left"], "runge-kutta"),
        (["--solver", "partial-jacobian", "--jacobian", "fastest", "--step", "0.5ms"], "implicit-euler"),
    ],
)
def test_a_turn_over_a_tree_of_links_goes_there_too(
    capsys: pytest.CaptureFixture[str], words: list[str], integrator: str
) -> None:
    found = document(capsys, "jturn", *words)
    assert found["converged"] is True
    assert found["integrator"] == integrator
    assert found["final_yaw_rad"] == pytest.approx(0.8, abs=0.01)
    assert found["joint_error_m"] <= 1e-9
    assert found["velocity_error_ms"] <= 1e-12
    assert found["wheel_loads_n"]["fr"] == pytest.approx({"least": 4076.2, "most": 5322.9}, abs=4.0)


def test_solvers_that_do_not_go_together_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for words, told in (
        (
            "--integrator runge-kutta",
            "integrator: solver chassis goes with generalized-alpha, not with runge-kutta",
        ),
        (
            "--solver partial-jacobian --integrator runge-kutta",
            "partial-jacobian goes with implicit-euler, not with",
        ),
        (
            "--solver independent --jacobian none",
            "jacobian: none goes with implicit-euler, solver independent is stepped by",
        ),
        ("--solver independent --cartesian front", "--cartesian: goes with --solver subsystem-joint"),
        ("--solver subsystem-joint --cartesian front", "front: no such subsystem"),
    ):
        assert main(["vehicle", "jturn", *words.split()]) == 2
        printed = capsys.readouterr().err.strip()
        assert told in printed
        assert len(printed.splitlines()) == 1


def test_solver_and_accuracy_are_those_that_are_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    runs = [
        document(capsys, "jturn", "--duration", "1.5s", "--solver", solver, "--accuracy", accuracy)
        for solver in ("chassis", "inertial")
        for accuracy in ("fast", "exact")
    ]
    ends = np.array([run["final_position_m"] for run in runs])
    assert np.abs(ends - ends[0]).max() < 1e-4
    assert len({tuple(end) for end in ends.tolist()}) == 4, "four ways to round, none is another one's"
    for run in runs:
        assert run["joint_error_m"] <= 1e-8
        assert (run["velocity_error_ms"] <= 1e-8) == (run["accuracy"] == "exact")


def test_a_turn_to_the_right_is_the_mirror_image(capsys: pytest.CaptureFixture[str]) -> None:
    left = document(capsys, "jturn", "--duration", "2s")
    right = document(capsys, "jturn", "--duration", "2s", "--rack", "7mm")
    assert left["final_position_m"][0] == pytest.approx(right["final_position_m"][0], abs=1e-6)
    assert left["final_position_m"][1] == pytest.approx(-right["final_position_m"][1], abs=1e-6)
    assert left["final_yaw_rad"] == pytest.approx(-right["final_yaw_rad"], abs=1e-7)
    assert left["wheel_loads_n"]["fr"]["most"] == pytest.approx(
        right["wheel_loads_n"]["fl"]["most"], abs=1e-2
    )


@pytest.mark.parametrize(
    ("manoeuvre", "acceleration", "limit"),
    [("jturn", "lateral_acceleration", 1e-3), ("bump", "vertical_acceleration", 1e-2)],
)
def test_the_benchmark_is_met(
    tmp_path: Path, shared: Path, manoeuvre: str, acceleration: str, limit: float
) -> None:
    path = tmp_path / "run.csv"
    assert main(["vehicle", manoeuvre, "--out", str(path)]) == 0
    expected = peer_table(shared / "data" / "sedan_benchmark" / f"reference_{manoeuvre}.csv")
    found = peer_table(path)
    assert np.allclose(found[::10, 0], expected[:, 0], rtol=0, atol=1e-9)
    error = found[::10] - expected
    assert np.linalg.norm(error[:, 1:4], axis=1).max() <= 1e-3
    column = {"lateral_acceleration": 8, "vertical_acceleration": 9}[acceleration]
    assert np.sqrt(np.mean(error[:, column] ** 2)) <= limit
    assert np.abs(error[0, 16:]).max() <= 0.1


def test_a_bump_under_one_side_rolls_the_car(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    both, left = tmp_path / "both.csv", tmp_path / "left.csv"
    assert main(["vehicle", "bump", "--duration", "1s", "--out", str(both)]) == 0
    assert main(["vehicle", "bump", "--duration", "1s", "--side", "left", "--out", str(left)]) == 0
    assert np.abs(peer_table(both)[:, 10]).max() < 1e-9
    assert peer_table(left)[:, 10].max() > 1e-3
    capsys.readouterr()


def test_a_deeper_bump_and_a_level_road(capsys: pytest.CaptureFixture[str]) -> None:
    peaks = [
        document(capsys, "bump", "--duration", "1s", "--height", height)["peak_vertical_acceleration_ms2"]
        for height in ("0mm", "10mm", "20mm")
    ]
    assert peaks[0] < 0.02
    assert peaks[1] > 0.5
    assert peaks[2] == pytest.approx(2.0 * peaks[1], rel=0.1)


def test_rows_of_a_file_steer_as_the_law_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    times = np.linspace(0.0, 2.0, 401)
    rack = -0.007 * (1.0 - np.cos(np.pi * np.clip((times - 0.5) / 0.5, 0.0, 1.0))) / 2.0
    path = tmp_path / "rows.csv"
    np.savetxt(
        path,
        np.column_stack((times, rack)),
        delimiter=",",
        header="t_s,front_rack_m",
        comments="",
        fmt="%.17g",
    )
    by_rows = document(capsys, "jturn", "--in", str(path))
    by_law = document(capsys, "jturn", "--duration", "2s")
    assert by_rows["duration_s"] == pytest.approx(2.0)
    assert np.allclose(by_rows["final_position_m"], by_law["final_position_m"], rtol=0, atol=1e-4)
    shorter = document(capsys, "jturn", "--in", str(path), "--duration", "0.4s")
    assert shorter["steps"] == 400
    assert abs(shorter["final_position_m"][1]) < 1e-6


def test_torques_of_rows_drive_and_brake(tmp_path: Path) -> None:
    speeds = {}
    for name, torque in (("drive", 300.0), ("brake", 300.0), ("none", 0.0)):
        kind = "brake" if name == "brake" else "drive"
        rows, out = tmp_path / f"{name}.csv", tmp_path / f"{name}_out.csv"
        header = ",".join(f"{kind}_torque_{wheel}_Nm" for wheel in ("rl", "rr"))
        rows.write_text(f"t_s,{header}\n0,{torque},{torque}\n1,{torque},{torque}\n", encoding="utf-8")
        assert main(["vehicle", "jturn", "--in", str(rows), "--out", str(out)]) == 0
        speeds[name] = peer_table(out)[-1, 4]
    mass = 2.0 * sum(REFERENCE_LOADS) / 2.0 / 9.81
    gained = 2.0 * 300.0 / 0.32 / mass
    assert speeds["drive"] - speeds["none"] == pytest.approx(gained, rel=0.1)
    assert speeds["brake"] - speeds["none"] == pytest.approx(-gained, rel=0.1)


@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_a_run_is_drawn(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"turn.{suffix}"
    assert main(["vehicle", "jturn", "--duration", "0.5s", "--plot", str(path)]) == 0
    head = path.read_bytes()[:200]
    assert head.startswith(b"\x89PNG") or b"<svg" in path.read_bytes()[:2000]
    assert path.stat().st_size > 10_000


def test_a_straight_run_is_drawn_with_speed_and_forces_and_without_its_rounding(tmp_path: Path) -> None:
    path = tmp_path / "stop.svg"
    words = ["brake", "--deceleration", "4m/s2", "--duration", "1.5s", "--step", "2ms", "--plot", str(path)]
    assert main(["vehicle", *words]) == 0
    # Text is drawn as curves, and stands beside them in comments.
    drawn = re.findall(r"<!-- (.*?) -->", path.read_text(encoding="utf-8"))
    assert {"speed ahead, m/s", "tyre force along, kN", "wheel spin, rad/s"} <= set(drawn)
    assert [text for text in drawn if text.startswith(("1e", "+"))] == []


def test_what_is_printed_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["vehicle", "bump", "--duration", "0.2s", "--accuracy", "exact"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "benchmark sedan" in printed.out
    assert "exact, 200 steps of 0.001 s" in printed.out
    assert "us a step" in printed.out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["jturn", "--step", "1"], ["--step: 1 has no unit"]),
        (
            ["jturn", "--step", "0ms", "--rack", "5deg"],
            ["--step: 0ms is not above zero", "--rack: 'deg' is a unit"],
        ),
        (
            ["bump", "--speed", "-1m/s", "--length", "0m"],
            ["--speed: -1m/s is below zero", "--length: 0m is not"],
        ),
        (["jturn", "--rack", "-81mm"], ["--rack: -81 mm is beyond the travel of front rack, ±80 mm"]),
        (["jturn", "--ramp-start", "2s"], ["--ramp-end: 1 s is not after --ramp-start, 2 s"]),
        (["jturn", "--duration", "10h"], ["--duration: 36000 s is 36000000 steps"]),
        (["bump", "--plot", "bump.bmp"], ["bump.bmp: a picture ends in .svg, .png, .pdf"]),
        (["settle", "--vehicle", "benchmark_sedam"], ["no such vehicle, did you mean benchmark_sedan?"]),
        (["linearise", "--vehicle", "missing.yaml"], ["missing.yaml: no such vehicle file"]),
        (["linearise", "--speed", "60kmh"], ["--speed: unknown unit 'kmh'"]),
        (["jturn", "--in", "missing.csv"], ["missing.csv: cannot be read"]),
    ],
)
def test_bad_usage_is_one_line_each_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], words: list[str], told: list[str]
) -> None:
    assert main(["vehicle", *words]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    lines = printed.err.splitlines()
    assert len(lines) == len(told)
    for line, text in zip(lines, told, strict=True):
        assert text in line


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["fly"], "argument MANOEUVRE: invalid choice: 'fly'"),
        ([], "the following arguments are required: MANOEUVRE"),
        (["bump", "--rack", "5mm"], "unrecognized arguments: --rack 5mm"),
        (["settle", "--speed", "5m/s"], "unrecognized arguments: --speed 5m/s"),
        (["jturn", "--solver", "euler"], "argument --solver: invalid choice: 'euler'"),
        (["jturn", "--accuracy", "best"], "argument --accuracy: invalid choice: 'best'"),
    ],
)
def test_options_that_mean_nothing_are_refused(
    capsys: pytest.CaptureFixture[str], words: list[str], told: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["vehicle", *words])
    assert ended.value.code == 2
    assert told in capsys.readouterr().err


def test_rows_that_do_not_fit_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("t_s,front_rack_mm\n0,0\n1,5\n", encoding="utf-8")
    assert main(["vehicle", "jturn", "--in", str(path)]) == 2
    assert (
        f"{path}:1:2: 'front_rack_mm' is no column of inputs, did you mean front_rack_m?"
        in capsys.readouterr().err
    )
    path.write_text("t_s,front_rack_m\n0,0\n1,0.005\n", encoding="utf-8")
    assert main(["vehicle", "jturn", "--in", str(path), "--duration", "2s"]) == 2
    assert "--duration: 2 s is longer than the rows" in capsys.readouterr().err
    assert main(["vehicle", "jturn", "--in", str(path), "--rack", "5mm"]) == 2
    assert "--rack: give it or --in, not both" in capsys.readouterr().err


def test_files_that_cannot_be_written_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    short = ["--duration", "0.01s"]
    for option in (["--out", f"{tmp_path}/none/x.csv"], ["--plot", f"{tmp_path}/none/x.svg"]):
        assert main(["vehicle", "jturn", *short, *option]) == 2
        assert "cannot be written: No such file or directory" in capsys.readouterr().err


def test_a_step_that_does_not_converge_is_a_fault(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["bump", "--height", "3m", "--length", "0.5m", "--distance", "0.5m", "--step", "20ms"]
    found = document(capsys, *words, code=3)
    assert found["converged"] is False
    assert 0.0 < found["unconverged"]["time_s"] <= 2.5
    path = tmp_path / "run.csv"
    assert main(["vehicle", *words, "--out", str(path)]) == 3
    printed = capsys.readouterr().err
    assert "the solver did not converge" in printed
    assert "; try a --step of 1 ms or --solver inertial" in printed
    assert path.read_text(encoding="utf-8").startswith("t_s,x_m")


@pytest.mark.parametrize(
    ("accuracy", "solver", "step", "remedy"),
    [
        ("fast", "chassis", 5e-3, "a --step of 1 ms or --solver inertial"),
        ("fast", "inertial", 5e-3, "a --step of 1 ms"),
        ("fast", "chassis", 1e-3, "a smaller --step or --solver inertial"),
        ("fast", "inertial", 1e-3, "a smaller --step"),
        ("exact", "chassis", 5e-3, "--accuracy fast, a --step of 1 ms or --solver inertial"),
        ("exact", "inertial", 1e-3, "--accuracy fast"),
    ],
)
def test_what_is_in_use_already_is_no_remedy(accuracy: str, solver: str, step: float, remedy: str) -> None:
    lost = Unconverged(time=0.5, move=1e-5, joint_error=0.0, velocity_error=0.0, roll=0.0)
    figures = Summary(0.0, 0.0, (), 0.0, (), (), 1.0, 30, 0.0, 0.0, (), None, lost)
    told = fault(figures, accuracy=accuracy, solver=solver, step=step)
    assert told.endswith(f"; try {remedy}")


def test_a_load_of_nothing_has_no_sign(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["vehicle", "kerb", "--duration", "1.5s"]) == 0
    printed = capsys.readouterr().out
    assert "(lifts off)" in printed
    assert " -0.0 " not in printed
    assert " -0.0000 " not in printed


def test_kc_tells_camber_toe_track_and_steer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, picture = tmp_path / "kc.csv", tmp_path / "kc.svg"
    words = ["kc", "--travel", "40mm", "--rack-travel", "10mm"]
    found = document(capsys, *words, "--out", str(path), "--plot", str(picture))
    front, rear = found["axles"]
    assert (front["axle"], rear["axle"]) == ("front", "rear")
    travel = np.array(front["travel"]["travel_m"])
    assert travel.shape == (41, 2)
    assert travel[0] == pytest.approx([-0.04, -0.04], abs=1e-9)
    camber = np.array(front["travel"]["camber_rad"])
    assert np.all(np.diff(camber, axis=0) < 0.0), "a wheel of this car leans inward as it rises"
    assert np.allclose(camber[:, 0], camber[:, 1], rtol=0, atol=1e-9)
    assert np.abs(np.array(front["travel"]["toe_rad"])[20]).max() < 1e-9
    steer = front["steer"][0]
    assert steer["drive"] == "front rack"
    assert np.all(np.diff(np.array(steer["steer_rad"]), axis=0) < 0.0), "tie rods behind the axle"
    assert rear["steer"] == []
    assert rear["travel"]["castor_rad"][0] == [None, None]
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("axle,sweep,corner,travel_m,camber_rad,toe_rad")
    assert len(lines) == 1 + 3 * 2 * 41
    assert b"<svg" in picture.read_bytes()[:2000]


def test_kc_on_paper(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["vehicle", "kc", "--travel", "20mm"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "axle rear, wheel rear left" in printed.out
    assert "track change, mm" in printed.out
    assert "front rack, mm" in printed.out
    assert main(["vehicle", "kc", "--travel", "2m"]) == 2
    assert "axle front: cannot reach wheel travel" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("manoeuvre", "text", "absurd", "told"),
    [
        ("settle", "mass: 1350 kg", "mass: 1e300 kg", "1e300 kg is out of range: must be at most 1e+07 kg"),
        ("bump", "damping: 4500 N s/m", "damping: 1e200 N s/m", "its numbers cannot be calculated with"),
    ],
)
def test_numbers_that_cannot_be_calculated_with_are_refused_in_one_line(
    manoeuvre: str, text: str, absurd: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shipped = (ROOT / "config" / "vehicles" / "benchmark_sedan.yaml").read_text(encoding="utf-8")
    assert text in shipped
    path = tmp_path / "absurd.yaml"
    path.write_text(shipped.replace(text, absurd, 1), encoding="utf-8")
    assert main(["vehicle", manoeuvre, "--vehicle", str(path)]) == 2
    line = capsys.readouterr().err
    assert line.startswith(f"{path}:")
    assert told in line
    assert line.count("\n") == 1
