"""What a driver does: laws of the rack and rows of a file, and what is refused."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mastd.errors import FormatError, UsageError
from mastd.vehicle.drivers.controls import hands_off, input_columns, ramp, rows_of_file
from mastd.vehicle.manoeuvres.base import bump, jturn, step_count
from mastd.vehicle.model.definition import Drive, Model, Wheel
from mastd.vehicle.model.library import find
from mastd.vehicle.state.inputs import InputLayout
from mastd.vehicle.tyres.linear_tyre import Tyre


def car(*drives: Drive, wheels: tuple[str, ...] = ("fl", "fr", "rl", "rr")) -> Model:
    """As much of a model as a driver has to do with: racks and names of wheels."""
    tyre = Tyre(0.33, 0.32, 2e5, 300.0, 20.0, 14.0, 1.0)
    ones = np.ones(3)
    return Model(
        name="driver's car",
        gravity=9.81,
        bodies=(),
        primitives=(),
        springs=(),
        bars=(),
        wheels=tuple(Wheel(name, 0, ones, ones, 22.0, 1.2, 0.7, tyre) for name in wheels),
        corners=(),
        axles=(),
        drives=drives,
    )


RACK = Drive("rack", 0.05, 0.08)
SECOND = Drive("second rack", 0.05, 0.04)


@settings(deadline=None)
@given(
    amplitude=st.floats(-0.08, 0.08),
    start=st.floats(0.0, 2.0),
    length=st.floats(0.05, 3.0),
    share=st.floats(0.02, 0.98),
)
def test_rate_and_acceleration_of_the_ramp_are_its_derivatives(
    amplitude: float, start: float, length: float, share: float
) -> None:
    law = ramp(car(RACK, SECOND), 0, amplitude, start, start + length)
    small = 1e-4 * length
    times = start + share * length + small * np.array([-1.0, 0.0, 1.0])
    before, now, after = law(times).drives[:, 0, :]
    scale = abs(amplitude) / length + 1e-9
    assert now[0] == pytest.approx(amplitude * (1.0 - math.cos(math.pi * share)) / 2.0, rel=1e-9, abs=1e-15)
    assert now[1] == pytest.approx((after[0] - before[0]) / (2.0 * small), rel=1e-5, abs=1e-5 * scale)
    assert now[2] == pytest.approx(
        (after[1] - before[1]) / (2.0 * small), rel=1e-5, abs=1e-5 * scale / length
    )


def test_the_ramp_begins_and_ends_at_rest_and_moves_nothing_else() -> None:
    law = ramp(car(RACK, SECOND), 0, -0.007, 0.5, 1.0)
    controls = law(np.array([0.0, 0.5, 0.75, 1.0, 4.0]))
    assert np.allclose(controls.drives[:, 0, 0], [0.0, 0.0, -0.0035, -0.007, -0.007], rtol=0, atol=1e-17)
    assert np.all(controls.drives[[0, 1, 3, 4], 0, 1:] == 0.0)
    assert np.all(controls.drives[:, 1, :] == 0.0)
    assert controls.drive_torque.shape == controls.brake_torque.shape == (5, 4)
    assert not controls.drive_torque.any()
    assert not controls.brake_torque.any()


def test_hands_off_is_nothing_for_any_car() -> None:
    controls = hands_off(car(wheels=("fl", "fr", "rl", "rr", "3l", "3r")))(np.linspace(0.0, 1.0, 11))
    assert controls.drives.shape == (11, 0, 3)
    assert controls.brake_torque.shape == (11, 6)


def test_the_columns_of_input_rows_carry_racks_wheels_and_units() -> None:
    racks, drives, brakes = input_columns(car(RACK, SECOND, wheels=("fl", "fr")))
    assert racks == ("rack_m", "second_rack_m")
    assert drives == ("drive_torque_fl_Nm", "drive_torque_fr_Nm")
    assert brakes == ("brake_torque_fl_Nm", "brake_torque_fr_Nm")


def rows(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "rows.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_rows_pass_through_their_points_in_any_order_of_columns(tmp_path: Path) -> None:
    path = rows(
        tmp_path,
        "brake_torque_rr_Nm,t_s,rack_m,drive_torque_fl_Nm\n0,0,0,100\n10,1,0.01,300\n30,2,0.01,300\n",
    )
    law, end = rows_of_file(path, car(RACK))
    assert end == 2.0
    controls = law(np.array([0.0, 0.5, 1.0, 1.5, 2.0, 3.0]))
    assert np.allclose(controls.drives[[0, 2, 4, 5], 0, 0], [0.0, 0.01, 0.01, 0.01], rtol=0, atol=1e-15)
    assert np.allclose(controls.drive_torque[:, 0], [100.0, 200.0, 300.0, 300.0, 300.0, 300.0])
    assert np.allclose(controls.brake_torque[:, 3], [0.0, 5.0, 10.0, 20.0, 30.0, 30.0])
    assert not controls.drive_torque[:, 1:].any()
    assert not controls.brake_torque[:, :3].any()


@settings(deadline=None)
@given(st.lists(st.floats(-0.08, 0.08), min_size=2, max_size=8))
def test_the_rack_between_rows_never_overshoots_and_starts_at_rest(
    tmp_path_factory: pytest.TempPathFactory, travel: list[float]
) -> None:
    points = [0.0, *travel]
    text = "t_s,rack_m\n" + "".join(f"{0.5 * k!r},{value!r}\n" for k, value in enumerate(points))
    law, end = rows_of_file(rows(tmp_path_factory.mktemp("rows"), text), car(RACK))
    times = np.linspace(0.0, end, 20 * (len(points) - 1) + 1)
    motion = law(times).drives[:, 0, :]
    assert motion[0, 0] == 0.0
    assert motion[0, 1] == 0.0
    assert np.allclose(motion[::20, 0], points, rtol=0, atol=1e-15)
    for k in range(len(points) - 1):
        low, high = sorted(points[k : k + 2])
        piece = motion[20 * k : 20 * k + 21, 0]
        assert np.all((piece >= low - 1e-12) & (piece <= high + 1e-12))


def test_rows_of_the_ramp_are_the_ramp(tmp_path: Path) -> None:
    law = ramp(car(RACK), 0, -0.007, 0.5, 1.0)
    times = np.linspace(0.0, 2.0, 201)
    path = tmp_path / "rows.csv"
    np.savetxt(
        path,
        np.column_stack((times, law(times).drives[:, 0, 0])),
        delimiter=",",
        header="t_s,rack_m",
        comments="",
        fmt="%.17g",
    )
    read, _ = rows_of_file(path, car(RACK))
    fine = np.linspace(0.0, 2.0, 2001)
    difference = np.abs(read(fine).drives[:, 0, :] - law(fine).drives[:, 0, :]).max(axis=0)
    assert difference[0] < 2e-6
    assert difference[1] < 1e-3
    assert np.all(read(np.array([2.0, 5.0])).drives[:, 0, 1:] == 0.0)


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("t_s,rack_mm\n0,0\n1,1\n", [":1:2: 'rack_mm' is no column of inputs, did you mean rack_m?"]),
        ("time,rack_m\n0,0\n1,0\n", [":1:1: 'time' is no column", ":1:1: the column t_s is missing"]),
        ("t_s,rack_m,rack_m\n0,0,0\n1,0,0\n", [":1:2: rack_m: listed more than once"]),
        ("t_s,drive_torque_xx_Nm,foo\n0,0,0\n", [":1:2: 'drive_torque_xx_Nm'", ":1:3: 'foo' is no column"]),
        ("t_s\n0\n1\n", [":1:1: nothing besides t_s; known are rack_m, second_rack_m, drive_torque_fl_Nm"]),
        ("0,0\n1,0.001\n", [":1:1: the first line must name the columns, t_s and some of rack_m"]),
        ("", [":1:1: the column t_s is missing"]),
        ("t_s,rack_m\n", ["no rows below the names"]),
        ("t_s,rack_m\n0,0\n", ["one row, expected at least two"]),
        ("t_s,rack_m\n0,0\n1,2mm\n2,nan\n", [":3:2: rack_m: '2mm'", ":4:2: rack_m: 'nan'"]),
        ("t_s,rack_m\n0,0,0\n1,0\n", [":2: 3 cells below 2 columns"]),
        ("t_s,rack_m\n0.1,0\n1,0\n", ["t_s begins at 0.1 s, the manoeuvre begins at 0 s"]),
        ("t_s,rack_m\n0,0\n1,0\n1,0\n", ["row 3: t_s 1 is not after 1"]),
        ("t_s,rack_m\n0,0\n1,-0.09\n", ["row 2: rack_m -0.09 m is beyond its travel ±0.08 m"]),
        (
            "t_s,rack_m,second_rack_m\n0,0.001,0\n1,0.09,0.05\n",
            [
                "row 1: rack_m begins at 0.001 m, the car starts straight",
                "row 2: rack_m 0.09 m is beyond its travel ±0.08 m",
                "row 2: second_rack_m 0.05 m is beyond its travel ±0.04 m",
            ],
        ),
    ],
)
def test_rows_that_are_none_are_refused_with_every_problem(
    tmp_path: Path, text: str, problems: list[str]
) -> None:
    path = rows(tmp_path, text)
    with pytest.raises(FormatError) as refused:
        rows_of_file(path, car(RACK, SECOND))
    lines = str(refused.value).splitlines()
    assert len(lines) == len(problems)
    for line, problem in zip(lines, problems, strict=True):
        assert line.startswith(str(path))
        assert problem in line


def test_rows_of_inputs_have_racks_and_torques_in_their_places(tmp_path: Path) -> None:
    model = car(RACK, SECOND)
    path = rows(
        tmp_path, "t_s,second_rack_m,drive_torque_fr_Nm,brake_torque_rl_Nm\n0,0,100,400\n1,0.01,100,400\n"
    )
    law, _ = rows_of_file(path, model)
    controls = law(np.array([0.25, 0.5]))
    layout, table = InputLayout.of(model), controls.rows(model)
    assert table.shape == (2, layout.width)
    assert not table[:, layout.drive(0)].any()
    assert np.array_equal(table[:, layout.drive(1)], controls.drives[:, 1])
    assert np.array_equal(table[1, layout.drive_torque], [0.0, 100.0, 0.0, 0.0])
    assert np.array_equal(table[1, layout.brake_capacity], [0.0, 0.0, 400.0, 0.0])
    assert not table[:, layout.driver].any()
    assert not table[:, layout.chassis_wrench].any()


def test_a_rack_that_is_still_moving_stops_with_the_last_row(tmp_path: Path) -> None:
    law, _ = rows_of_file(rows(tmp_path, "t_s,rack_m\n0,0\n1,0.01\n2,-0.03\n"), car(RACK))
    before, after = law(np.array([2.0 - 1e-9, 2.0])).drives[:, 0, :]
    assert before[1] < -0.01
    assert np.array_equal(after, [-0.03, 0.0, 0.0])


def test_a_file_that_is_not_there_or_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="cannot be read: No such file"):
        rows_of_file(tmp_path / "none.csv", car(RACK))
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FormatError, match="cannot be read"):
        rows_of_file(tmp_path / "bytes.csv", car(RACK))


def test_the_manoeuvres_of_the_benchmark_are_the_defaults() -> None:
    turn = jturn(car(RACK))
    assert turn.speed == pytest.approx(60.0 / 3.6)
    assert turn.duration == 4.0
    assert turn.ground.height(30.0, 0.0) == 0.0
    assert turn.controls(np.array([9.0])).drives[0, 0, 0] == pytest.approx(-0.007)
    over = bump(car())
    assert over.speed == pytest.approx(40.0 / 3.6)
    assert over.duration == 2.5
    assert over.ground.height(5.6, -0.8) == pytest.approx(0.03)


def test_a_turn_needs_a_rack_that_travels_so_far_and_times_in_order() -> None:
    with pytest.raises(UsageError, match="driver's car has no rack to steer with"):
        jturn(car())
    with pytest.raises(UsageError) as refused:
        jturn(car(RACK), rack=-0.081, ramp_start=1.0, ramp_end=1.0)
    first, second = str(refused.value).splitlines()
    assert first == "--rack: -81 mm is beyond the travel of rack, ±80 mm"
    assert second == "--ramp-end: 1 s is not after --ramp-start, 1 s"
    with pytest.raises(UsageError, match="--rack"):
        jturn(car(RACK), rack=math.nan)


def test_the_number_of_steps_reaches_the_duration() -> None:
    assert step_count(4.0, 1e-3) == 4000
    assert step_count(2.5, 1e-3) == 2500
    assert step_count(0.3, 0.1) == 3
    assert step_count(8.05, 1e-3) == 8050
    assert step_count(1.0, 0.3) == 4
    assert step_count(1e-3, 1e-2) == 1
    for duration, step in ((1e9, 1e-3), (0.0, 1e-3), (math.nan, 1e-3)):
        with pytest.raises(UsageError, match="--duration"):
            step_count(duration, step)


def test_brakes_below_zero_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError) as refused:
        rows_of_file(rows(tmp_path, "t_s,brake_torque_fl_Nm\n0,0\n1,-400\n"), car(RACK))
    assert "row 2: brake_torque_fl_Nm -400: a friction brake has 0 N m or more" in str(refused.value)


def test_a_gear_that_there_is_not_is_refused(tmp_path: Path) -> None:
    model = find("sedan")
    with pytest.raises(FormatError) as refused:
        rows_of_file(rows(tmp_path, "t_s,gear\n0,3\n1,9\n"), model)
    assert "row 2: gear 9: sedan has -1, 0, 1, 2, 3, 4, 5" in str(refused.value)


def test_pedals_move_in_straight_lines_and_are_checked(tmp_path: Path) -> None:
    braked = replace(car(RACK), wheels=tuple(replace(wheel, brake_torque=1e3) for wheel in car().wheels))
    law, _ = rows_of_file(rows(tmp_path, "t_s,brake_pedal\n0,0\n1,1\n"), braked)
    assert law(np.array([0.25])).driver[0] == pytest.approx([0.0, 0.25, 0.0, 0.0])
    with pytest.raises(FormatError, match="row 2: brake_pedal 2: a pedal is between 0 and 1"):
        rows_of_file(rows(tmp_path, "t_s,brake_pedal\n0,0\n1,2\n"), braked)
    with pytest.raises(FormatError, match="'throttle' is no column of inputs"):
        rows_of_file(rows(tmp_path, "t_s,throttle\n0,0\n1,1\n"), braked)
