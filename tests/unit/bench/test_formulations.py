"""The bench of the vehicle's solvers: its names, its ladder of steps, its tables."""

from __future__ import annotations

from unittest.mock import Mock

import pytest

from mastd.bench import registry
from mastd.bench.formulations.bench import LADDER, MEASURES, SOLVERS, Drive, max_step, name_of
from mastd.bench.formulations.table import table
from mastd.bench.registry import Figure
from mastd.counting.work import solver_of
from mastd.vehicle.model.library import names
from mastd.vehicle.solver.choice import Solver


def stable_up_to(limit: float) -> Mock:
    """Return a drive that is stable up to a step."""
    drive = Mock(spec=Drive)
    drive.run.side_effect = lambda _solver, step: "a trace" if step <= limit else None
    return drive


def test_every_solver_has_its_figures_on_every_vehicle_and_takes_long() -> None:
    every = {
        name_of(vehicle, solver, measure) for vehicle in names() for solver in SOLVERS for measure in MEASURES
    }
    assert len(every) == len(names()) * len(SOLVERS) * len(MEASURES)
    assert every <= set(registry.long_names())
    assert "formulations.sedan.independent_adams_bashforth.us" in every


def test_every_solver_of_the_bench_is_one() -> None:
    assert [solver_of(name).formulation for name in SOLVERS] == [name.split(":")[0] for name in SOLVERS]


@pytest.mark.parametrize("step", [LADDER[0], LADDER[7], LADDER[-1]])
def test_the_largest_stable_step_is_found(step: float) -> None:
    drive = stable_up_to(step)
    assert max_step(drive, Solver()) == step
    assert drive.run.call_count <= 6


def test_a_solver_that_is_never_stable_has_no_largest_step() -> None:
    assert max_step(stable_up_to(0.0), Solver()) is None


def test_a_table_has_a_line_for_each_solver_that_was_measured() -> None:
    figures = {
        name_of("sedan", "chassis", "us"): Figure(8.0, "us", 11),
        name_of("sedan", "chassis", "operations"): Figure(41234.0, "1", 1),
        name_of("sedan", "chassis", "largest_step_ms"): Figure(4.0, "ms", 1),
        name_of("sedan", "chassis", "joint_error_m"): Figure(3e-9, "m", 1),
        name_of("sedan", "lagrange", "us"): Figure(412.3, "us", 11),
    }
    lines = table("sedan", figures).splitlines()
    assert lines[0] == "**sedan**"
    assert lines[4:] == [
        "| `chassis` | 8 | 41,234 | 4 ms | 2 | 3e-09 m |",
        "| `lagrange` | 412 | – | – | – | – |",
    ]
