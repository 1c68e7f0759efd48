"""Kang 2014: items without a printed number, and the measures of a matrix that changes."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import pytest

from mastd.arrays import FloatArray
from mastd.commands import reproduce
from mastd.reproduce import registry
from mastd.reproduce.item import Item, answer, at_most, compare
from mastd.reproduce.kang_2014.measures import (
    Changes,
    contraction,
    position_error,
    relative_change,
    scales,
)
from mastd.reproduce.kang_2014.tables import RATE_TOLERANCE, iteration_items
from mastd.vehicle.state.trace import POSITION, Trace


def run(*words: str) -> int:
    parser = argparse.ArgumentParser()
    reproduce.add_parsers(parser.add_subparsers(required=True))
    arguments = parser.parse_args(["reproduce", *words])
    return int(arguments.run(arguments))


def matrix(size: int = 12) -> FloatArray:
    return np.random.default_rng(5).normal(size=(size, size)) + 4.0 * np.eye(size)


def test_a_number_that_the_paper_does_not_print_is_null(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def items(_table: Path) -> list[Item]:
        return [
            answer("000.open", "an open question", 0.25, "m"),
            compare("000.closed", "printed", 2, 2, "1"),
        ]

    monkeypatch.setattr(registry, "DOCUMENTS", {"000": items})
    assert run("000", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [(item["id"], item["paper"], item["ours"], item["within"]) for item in found] == [
        ("000.open", None, 0.25, True),
        ("000.closed", 2, 2.0, True),
    ]
    assert run("000") == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[1].split()[:3] == ["000.open", "-", "0.25"]
    assert printed[-1] == "2 of 2 within the tolerances of document 000"


def test_no_number_is_never_within(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    nothing = float("nan")
    items = [answer("000.a", "", nothing, "1"), at_most("000.b", "", 2, nothing, "1", bound=2)]
    monkeypatch.setattr(registry, "DOCUMENTS", {"000": lambda _: items, "004": lambda _: items})
    assert run("000", "--json") == 1
    found = json.loads(capsys.readouterr().out)
    assert [(item["ours"], item["within"]) for item in found] == [(None, False)] * 2


def test_a_bound_is_within_up_to_itself() -> None:
    assert at_most("000.a", "", 0.42, 0.45, "1", bound=0.45).within
    assert not at_most("000.a", "", 0.42, 0.46, "1", bound=0.45).within
    assert not answer("000.a", "", 1.0, "1", within=False).within


def test_the_change_of_a_matrix_has_no_units() -> None:
    """Of a diagonal matrix in any units one entry grows by a tenth: 0.1 / √N, whatever the entry."""
    diagonal = np.array([1e-6, 3.0, 2e5, 40.0])
    for entry in range(4):
        grown = diagonal.copy()
        grown[entry] *= 1.1
        assert relative_change(np.diag(diagonal), np.diag(grown)) == pytest.approx(0.05)
    assert relative_change(matrix(), matrix()) == 0.0


def test_scaled_rows_and_columns_are_alike() -> None:
    units = 10.0 ** np.random.default_rng(1).uniform(-6, 6, size=(2, 12))
    mixed = matrix() * units[0][:, None] * units[1]
    rows, columns = scales(mixed)
    scaled = np.abs(mixed * rows[:, None] * columns)
    assert scaled.max(axis=0) == pytest.approx(np.ones(12), rel=0.05)
    assert scaled.max(axis=1) == pytest.approx(np.ones(12), rel=0.05)


@pytest.mark.parametrize("change", [0.1, 0.3, 2.0])
def test_the_contraction_is_that_of_the_iteration(change: float) -> None:
    """Long iteration of x ← x − first⁻¹ now x shrinks, or grows, by the contraction each time."""
    first = matrix()
    now = first + change * np.random.default_rng(6).normal(size=first.shape)
    error = np.random.default_rng(7).normal(size=12)
    sizes = []
    for _ in range(400):
        error = error - np.linalg.solve(first, now @ error)
        sizes.append(np.log(np.linalg.norm(error)))
        error /= np.linalg.norm(error)
    expected = contraction(first, now)
    assert np.exp(np.mean(sizes[100:])) == pytest.approx(expected, rel=0.02)
    assert (expected < 1.0) == (change < 1.0)


def test_a_matrix_that_only_turns_changes_as_its_axes_do() -> None:
    """Half a turn about z makes another matrix in inertial axes, and the same one in axes that turn too."""
    first = matrix(3)
    turn = np.diag([-1.0, -1.0, 1.0])
    turned = turn @ first @ turn.T
    found = Changes.over([first, turned])
    assert found.relative > 0.2
    assert Changes.over([first, turn.T @ turned @ turn]).relative == pytest.approx(0.0, abs=1e-12)


def test_the_changes_of_a_run_are_its_largest() -> None:
    first = np.eye(3)
    found = Changes.over([first, 1.4 * first, 1.1 * first])
    assert found.relative == pytest.approx(0.4)
    assert found.contraction == pytest.approx(0.4)


def trace(step: float, duration: float, speed: float, *, converged: bool = True) -> Trace:
    """Return a run straight ahead; its first sample is at the end of the first step."""
    time: FloatArray = step * np.arange(1, round(duration / step) + 1, dtype=np.float64)
    none = np.zeros(len(time))
    chassis = np.zeros((len(time), 18))
    chassis[:, POSITION] = np.outer(time, [speed, 0.0, 0.0])
    return Trace(
        wheels=(),
        time=time,
        chassis=chassis,
        wheel_loads=np.zeros((len(time), 0)),
        spin=np.zeros((len(time), 0)),
        wheel_travel=np.zeros((len(time), 0)),
        tyre_force=np.zeros((len(time), 0, 2)),
        slip=np.zeros((len(time), 0, 2)),
        outside=np.zeros((len(time), 0)),
        rack_force=np.zeros((len(time), 0)),
        engine_speed=none,
        iterations=np.ones(len(time), np.int64),
        residual=none,
        converged=np.full(len(time), converged),
        joint_error=none,
        velocity_error=none,
    )


@pytest.mark.parametrize("step", [1e-3, 2e-3, 5e-3, 10e-3])
def test_runs_are_compared_at_the_same_times(step: float) -> None:
    reference = trace(1e-4, 2.0, 15.0)
    assert position_error(trace(step, 2.0, 15.0), reference) == pytest.approx(0.0, abs=1e-12)
    assert position_error(trace(step, 2.0, 15.1), reference) == pytest.approx(0.2)


def test_runs_that_cannot_be_compared_have_no_error() -> None:
    reference = trace(1e-4, 2.0, 15.0)
    assert np.isnan(position_error(trace(1e-3, 2.0, 15.0, converged=False), reference))
    assert np.isnan(position_error(trace(1e-3, 3.0, 15.0), reference))
    assert np.isnan(position_error(trace(1.55e-3, 1.55, 15.0), reference))


def counted(iterations: int, gap: float, *, converged: bool = True) -> Trace:
    """Return a run whose last step alone took so many iterations and left such a gap."""
    run = trace(1e-3, 1.0, 15.0, converged=converged)
    run.iterations[-1], run.joint_error[-1] = iterations, gap
    return run


def test_one_or_two_iterations_are_within_where_the_gaps_are_small_too() -> None:
    def missed(run: Trace, tolerance: float = RATE_TOLERANCE) -> set[str]:
        items = iteration_items("000.iterations.bump.proposed", "bump", tolerance, run)
        return {item.identifier.rsplit("proposed_", maxsplit=1)[-1] for item in items if not item.within}

    assert missed(counted(2, 0.9e-8)) == set()
    assert missed(counted(3, 0.9e-8)) == {"max"}
    assert missed(counted(2, 1.1e-8)) == {"gap_m"}
    assert missed(counted(2, float("nan"))) == {"gap_m"}
    assert missed(counted(2, 0.0, converged=False)) == {"mean", "max"}
    assert missed(counted(5, 0.0), 1e-8) == set()
    assert missed(counted(5, 0.0, converged=False), 1e-8) == {"mean_tight", "max_tight"}


@pytest.mark.evidence
def test_kang_2014_is_reproduced(capsys: pytest.CaptureFixture[str]) -> None:
    """Everything but the ratio of times, which is the bench's."""
    run("000", "--json")
    found = json.loads(capsys.readouterr().out)
    assert {item["id"] for item in found} >= {
        "000.matrix.inertial_change",
        "000.matrices.jturn",
        "000.inertial_chord.fails_at_s",
        "000.time.jturn",
        "000.steps.jturn.10ms.proposed_error_m",
    }
    missed = [item for item in found if not item["within"] and not item["id"].startswith("000.time")]
    assert not missed
