"""KR 10-1310276: operations as executed, measures of departure, and what the text claims on small chains."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mastd.formulations.integrators.implicit_euler import Policy, implicit_euler
from mastd.reproduce.kr_10_1310276.cars import braking_items, jturn_items
from mastd.reproduce.kr_10_1310276.chains import CASES, Run, departs_at, distances, drive, reference
from mastd.reproduce.kr_10_1310276.operations import step_operations
from mastd.reproduce.kr_10_1310276.tables import case_items, difference_error, exponent, time_items
from mastd.reproduce.models.chain import chain_of
from mastd.reproduce.models.chain_stepping import advance_chain
from mastd.vehicle.model.library import find
from tests.support.lab import PATIENCE

ROOT = Path(__file__).resolve().parents[3]
COUNTED_SIZES = (3, 4, 6, 9)
PLAIN = """
import json
from tests.unit.reproduce.test_kr_10_1310276 import executed
print(json.dumps(executed()))
"""

SWING, CURL, WHIP = CASES


class Counted(float):
    """A number that counts additions, subtractions, multiplications and divisions."""

    operations = 0

    def __neg__(self) -> Counted:
        return Counted(float.__neg__(self))

    def __abs__(self) -> Counted:
        return Counted(float.__abs__(self))


def _count(name: str) -> None:
    base = getattr(float, name)

    def operate(left: Counted, right: float) -> Counted:
        Counted.operations += 1
        return Counted(base(left, right))

    setattr(Counted, name, operate)


for _name in ("add", "sub", "mul", "truediv"):
    _count(f"__{_name}__")
    _count(f"__r{_name}__")


def counted(arrays: Any) -> Any:
    """Return a named tuple with counting numbers in the place of float64."""
    return type(arrays)(
        *(
            np.array([Counted(value) for value in array.ravel()], object).reshape(array.shape)
            if array.dtype == np.float64
            else array
            for array in arrays
        )
    )


def executed() -> list[list[float]]:
    """Return policy, n, whether by differences, and the mean operations of a step over a round."""
    found = []
    for n in COUNTED_SIZES:
        for policy in Policy:
            for numerical in (False, True):
                chain = counted(chain_of(n, stiffness=100.0, damping=1.0))
                euler = counted(implicit_euler(n, 1e-3))
                advance_chain(chain, euler, policy, 1, numerical)
                Counted.operations = 0
                for _ in range(n):
                    advance_chain(chain, euler, policy, 1, numerical)
                found.append([int(policy), n, numerical, Counted.operations / n])
    return found


@pytest.mark.real_time
def test_operations_are_those_that_the_kernels_execute() -> None:
    """In a process where kernels are plain functions. Of the fastest coordinate: the same columns, not the
    same number of each, so within the spread of exact columns."""
    told = subprocess.run(
        [sys.executable, "-c", PLAIN],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(ROOT)},
        check=True,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    counts = json.loads(told.stdout)
    assert len(counts) == len(COUNTED_SIZES) * len(Policy) * 2
    for policy, n, numerical, operations in counts:
        spread = 0.15 if policy == Policy.FASTEST and not numerical else 1e-12
        assert operations == pytest.approx(
            step_operations(Policy(policy), n, numerical=numerical), rel=spread
        )


def test_the_exponent_is_that_of_the_power() -> None:
    assert exponent({n: 3.0 * n**1.5 for n in (4, 8, 16)}) == pytest.approx(1.5)


def run_of(positions: list[list[float]], *, blown_up: bool = False) -> Run:
    """Return a run of one link whose end is at these places."""
    return Run(np.array(positions)[:, :, None], 0.0, blown_up)


def test_a_run_departs_where_it_is_a_hundredth_away_or_ends() -> None:
    full = run_of([[0.0, 0.0], [0.1, 0.0], [0.2, 0.0]])
    assert departs_at(full, full) is None
    assert departs_at(run_of([[0.0, 0.0], [0.1, 0.02], [0.2, 0.0]]), full) == 2
    assert departs_at(run_of([[0.0, 0.0], [0.1, 0.0]], blown_up=True), full) == 3
    np.testing.assert_allclose(distances(run_of([[0.3, 0.4]]).positions, full.positions), [0.5])


def test_near_its_rest_shape_a_round_robin_is_as_good_as_full_renewal() -> None:
    """Paragraph 10: beside the error of implicit Euler itself, what is lost is negligible."""
    full = drive(SWING, 8, Policy.FULL)
    own = distances(full.positions, reference(SWING, 8)).max()
    lost = distances(drive(SWING, 8, Policy.ROUND_ROBIN).positions, full.positions).max()
    assert not full.blown_up
    assert 0.0 < lost < 0.01 * own


def test_where_the_shape_changes_it_is_not() -> None:
    """Errors of a step grow under the fastest coordinate's column, and die away under full update."""
    found = {item.identifier: item for item in case_items(CURL, 8, 50)}
    ours = {name.removeprefix("003.curl."): item.ours or 0.0 for name, item in found.items()}
    assert ours["full.amplification"] < 1.0
    assert ours["fastest.amplification"] > 1.0
    assert ours["fastest.blows_up_at_step"] > ours["fastest.departs_at_step"]
    assert ours["round-robin.over_error"] > 1.0
    assert ours["round-robin-4.over_error"] < ours["round-robin.over_error"] < ours["none.over_error"]
    assert all(item.within for item in found.values())


def test_a_departure_where_the_text_claims_none_is_not_within(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mastd.reproduce.kr_10_1310276.chains.DEPARTED", 1e-9)
    found = [
        item for item in case_items(SWING, 4, 0) if item.identifier == "003.swing.round-robin.departs_at_step"
    ]
    assert [item.within for item in found] == [False]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_differences_make_columns_good_to_five_digits(case: Any) -> None:
    assert difference_error(case, 8) < 1e-5


@pytest.mark.real_time
def test_times_are_told_of_each_policy_and_size() -> None:
    found = {item.identifier: item.ours or 0.0 for item in time_items((4, 32), 3)}
    for policy in ("full", "round-robin", "fastest", "none"):
        assert found[f"003.time.{policy}.4"] < found[f"003.time.{policy}.32"]
    assert found["003.time.gain"] > 2.0


def test_cars_are_compared_in_the_jturn_and_under_brakes() -> None:
    model = find("benchmark_sedan")
    found = [*jturn_items(model, (5e-3,), 1.2), *braking_items(model)]
    ours = {item.identifier.removeprefix("003."): item.ours or 0.0 for item in found}
    assert all(item.within for item in found)
    assert ours["jturn.5ms.round-robin.over_error"] < 0.1 < ours["jturn.5ms.none.over_error"]
    # By the decay of slip it is 20 km/h, 5.6 m/s, from where errors begin to grow.
    assert 3.0 < ours["braking.none.fails_at_ms"] < 5.6
    assert ours["braking.round-robin.spin_rads"] < ours["braking.fastest.spin_rads"] < 1.0
