"""Traces of a vehicle: their columns, their file, and how far one is from a reference."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mastd.arrays import FloatArray
from mastd.errors import FormatError
from mastd.formats.core.columns import read_columns
from mastd.vehicle.state.trace import ANGLES, Trace, columns, join, save_trace
from tests.support.vehicle.comparison import deviation, read_reference

WHEELS = ("fl", "fr", "rl", "rr")


def motion(times: FloatArray) -> Trace:
    """A car on a circle of 50 m, 2 rad/s, with loads that swing; closed formulae of time."""
    n, phase = len(times), 2.0 * times
    chassis = np.zeros((n, 18))
    chassis[:, 0:3] = np.column_stack((50.0 * np.sin(phase), 50.0 * (1.0 - np.cos(phase)), 0.5 + 0.0 * times))
    chassis[:, 3] = 100.0
    chassis[:, 7] = 200.0
    chassis[:, 8] = 0.1 * np.cos(phase)
    chassis[:, ANGLES] = np.column_stack(
        (0.01 * np.sin(phase), 0.0 * times, np.arctan2(np.sin(phase), np.cos(phase)))
    )
    chassis[:, 14] = 2.0
    loads = 4000.0 + 100.0 * np.sin(phase)[:, None] * np.array([1.0, -1.0, 1.0, -1.0])
    ones, none = np.ones(n), np.zeros((n, 4))
    return Trace(
        WHEELS,
        times,
        chassis,
        loads,
        none,
        none,
        np.zeros((n, 4, 2)),
        np.zeros((n, 4, 2)),
        none,
        np.zeros((n, 0)),
        0 * ones,
        np.ones(n, dtype=np.int64),
        1e-12 * ones,
        ones > 0,
        0 * ones,
        0 * ones,
    )


def test_the_columns_are_those_of_the_reference_files(shared: Path) -> None:
    for name in ("reference_bump.csv", "reference_jturn.csv"):
        with (shared / "data" / "sedan_benchmark" / name).open(encoding="utf-8") as file:
            assert tuple(file.readline().strip().split(",")) == columns(WHEELS)
    assert columns((*WHEELS, "3l", "3r"))[-2:] == ("fz_3l_N", "fz_3r_N")


def test_a_trace_in_a_file_keeps_every_digit(tmp_path: Path) -> None:
    trace = motion(np.linspace(0.0, 4.0, 401))
    save_trace(tmp_path / "run.csv", trace)
    table = read_columns(tmp_path / "run.csv", columns(WHEELS))
    assert table.shape == (401, 20)
    assert np.array_equal(table, trace.table())
    assert np.array_equal(table[:, 0], trace.time)
    assert np.array_equal(table[:, 1:12], trace.chassis[:, :11])
    assert np.array_equal(table[:, 13:16], trace.chassis[:, 12:15])
    assert np.array_equal(table[:, 16:], trace.wheel_loads)


def test_the_yaw_counts_on_past_half_a_turn() -> None:
    times = np.linspace(0.0, 4.0, 401)
    assert np.allclose(motion(times).table()[:, 12], 2.0 * times, rtol=0, atol=1e-12)


def test_what_is_not_finite_leaves_its_cell_empty(tmp_path: Path) -> None:
    trace = motion(np.linspace(0.0, 0.1, 11))
    trace.chassis[-2:, :] = math.nan
    trace.wheel_loads[-1, 2] = math.inf
    save_trace(tmp_path / "run.csv", trace)
    lines = (tmp_path / "run.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 12
    assert "nan" not in lines[-1]
    assert "inf" not in lines[-1]
    assert lines[-1].split(",")[1:16] == [""] * 15
    assert lines[-1].split(",")[18] == ""
    with pytest.raises(FormatError, match=r":12:"):
        read_reference(tmp_path / "run.csv", WHEELS)


def test_a_run_in_pieces_is_one_run() -> None:
    times = np.linspace(0.0, 1.0, 101)
    whole = motion(times)
    parts = join([motion(times[:1]), motion(times[1:40]), motion(times[40:])])
    assert len(parts) == 101
    assert np.array_equal(parts.table(), whole.table())
    assert parts.converged.dtype == np.bool_
    assert parts.wheels == WHEELS


def test_the_first_step_that_is_not_sound_is_found() -> None:
    trace = motion(np.linspace(0.0, 1.0, 101))
    assert trace.first_unconverged is None
    converged = trace.converged.copy()
    converged[[70, 90]] = False
    assert replace(trace, converged=converged).first_unconverged == 70
    trace.chassis[30, 4] = math.nan
    assert trace.first_unconverged == 30


def reference(tmp_path: Path, times: FloatArray) -> FloatArray:
    save_trace(tmp_path / "reference.csv", motion(times))
    return read_reference(tmp_path / "reference.csv", WHEELS)


def test_a_trace_deviates_by_what_was_added_to_it(tmp_path: Path) -> None:
    expected = reference(tmp_path, np.linspace(0.0, 2.0, 201))
    trace = motion(np.linspace(0.0, 2.0, 2001))
    same = deviation(trace, expected)
    assert same.position == pytest.approx(0.0, abs=1e-12)
    assert same.wheel_load == pytest.approx(0.0, abs=1e-9)
    trace.chassis[:, 0] += 3e-3
    trace.chassis[:, 1] -= 4e-3 * (trace.time > 1.5)
    trace.chassis[:, 2] += 12e-3
    trace.chassis[:, 7] += 2e-3 * np.sin(2.0 * np.pi * trace.time)
    trace.chassis[:, 8] += 5e-3
    trace.wheel_loads[:, 3] -= 0.25
    found = deviation(trace, expected)
    assert found.position == pytest.approx(13e-3, rel=1e-6)
    assert found.lateral_acceleration == pytest.approx(2e-3 / math.sqrt(2.0), rel=1e-2)
    assert found.vertical_acceleration == pytest.approx(5e-3, rel=1e-6)
    assert found.wheel_load == pytest.approx(0.25, rel=1e-6)


def test_samples_need_not_fall_on_the_references_times(tmp_path: Path) -> None:
    expected = reference(tmp_path, np.linspace(0.0, 2.0, 201))
    found = deviation(motion(np.linspace(0.0, 2.097, 700)), expected)
    assert found.position < 1e-7
    assert found.vertical_acceleration < 1e-9


def test_a_trace_that_fails_or_ends_early_is_near_to_nothing(tmp_path: Path) -> None:
    expected = reference(tmp_path, np.linspace(0.0, 2.0, 201))
    short = motion(np.linspace(0.0, 1.9, 191))
    failed = motion(np.linspace(0.0, 2.0, 201))
    failed.chassis[-1, 0] = math.nan
    for trace in (short, failed):
        found = deviation(trace, expected)
        assert not found.position <= 1e9
        assert not found.lateral_acceleration <= 1e9
        assert not found.vertical_acceleration <= 1e9
        assert not found.wheel_load <= 1e9


def test_a_reference_must_have_the_columns_and_rising_times(tmp_path: Path) -> None:
    path = tmp_path / "reference.csv"
    save_trace(path, motion(np.array([0.0, 0.2, 0.1])))
    with pytest.raises(FormatError, match="t_s must rise"):
        read_reference(path, WHEELS)
    save_trace(path, motion(np.array([0.0, 0.1])))
    with pytest.raises(FormatError, match="fz_3l_N is missing"):
        read_reference(path, (*WHEELS, "3l"))
