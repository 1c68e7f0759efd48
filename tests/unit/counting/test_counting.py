"""Kernels as plain functions: the same numbers as compiled, and each operation counted.

What runs plain kernels does so in a process of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mastd.counting import number as counted
from mastd.counting.number import Counted, CountedArray, CountedComplex, Operations, counting, plain
from mastd.counting.operations import all_operations, operations
from mastd.counting.tally import NONE, Tally, counting_kernels, total
from mastd.counting.work import Extent, work_of
from mastd.errors import UsageError
from mastd.formulations.tree import recursion
from mastd.formulations.tree.arrays import LINK, LINK_SIZE, Tree
from mastd.formulations.tree.topology import TreeJoint
from mastd.lanes import LANES
from mastd.vehicle.equilibrium.dense_equations import System
from mastd.vehicle.model.library import find
from tests.support.lab import PATIENCE
from tests.support.vehicle.states import any_inputs, anywhere

ROOT = Path(__file__).resolve().parents[3]


def told_by_plain_kernels(call: str) -> Any:
    """Return what a function of this module returns where kernels are plain functions."""
    program = f"import json; from tests.unit.counting.test_counting import *; print(json.dumps({call}))"
    told = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(ROOT)},
        check=True,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    return json.loads(told.stdout)


def equations(name: str) -> list[list[float]]:
    """Return the residual, and the violations' accelerations, of a vehicle far from rest."""
    model = find(name)
    system, state, inputs = System(model), anywhere(model, 1), any_inputs(model, 1)
    return [system.residual(state, inputs).tolist(), system.constraints(state)[2].tolist()]


def innermost(stages: Mapping[str, Operations], within: str = "") -> dict[str, Operations]:
    """Return the operations by the last name of each path, of paths that begin with ``within``."""
    found: dict[str, Operations] = {}
    for path, part in stages.items():
        if not within or path.split("/")[0] == within:
            name = path.split("/")[-1]
            found[name] = found.get(name, NONE).plus(part)
    return found


@pytest.mark.real_time
@pytest.mark.parametrize("name", ["benchmark_sedan", "mcpherson_hatchback"])
def test_plain_kernels_in_one_lane_find_what_compiled_ones_find_in_four(name: str) -> None:
    """Linear tyres and Magic Formula tyres; the bound is a share of the largest entry."""
    lanes, found = told_by_plain_kernels(f"(LANES, equations({name!r}))")
    assert (lanes, LANES) == (1, 4)
    for plain_one, expected in zip(found, equations(name), strict=True):
        bound = 1e-12 * float(np.abs(expected).max())
        np.testing.assert_allclose(plain_one, expected, rtol=0, atol=bound)


# The number


def counted_by(work: Any) -> tuple[list[int], Any]:
    """Return the operations of a call, and what it returns."""
    before = list(counted.tally)
    result = work()
    return [now - then for now, then in zip(counted.tally, before, strict=True)], result


@pytest.mark.parametrize(
    ("work", "operations_done", "value"),
    [
        (lambda x: x * 0.0 + 1.0, [1, 0, 1, 0, 0], 1.0),
        (lambda x: 3.0 - x / x, [0, 1, 1, 0, 0], 2.0),
        (lambda x: 1.0 / x + np.float64(2.0) * x, [1, 1, 1, 0, 0], 8.25),
        (lambda x: np.sqrt(x) - np.sin(x - x), [0, 0, 2, 1, 1], 2.0),
        (lambda x: -abs(-x) if x > 3 else x * x, [0, 0, 0, 0, 0], -4.0),
        (lambda x: max(x, 5.0) - min(x, 7.0), [0, 0, 1, 0, 0], 1.0),
        (lambda x: x**2, [1, 0, 0, 0, 0], 16.0),
    ],
)
def test_each_operation_counts_whatever_the_other_number_is(
    work: Any, operations_done: list[int], value: float
) -> None:
    found, result = counted_by(lambda: work(Counted(4.0)))
    assert found == operations_done
    assert plain(result) == value


def test_a_counted_number_divides_as_compiled_kernels_do() -> None:
    zero, one = Counted(0.0), Counted(1.0)
    assert plain(one / zero) == np.inf
    assert plain(-one / zero) == -np.inf
    assert np.isnan(plain(zero / zero))


def test_a_complex_product_is_four_products_and_two_sums() -> None:
    done, product = counted_by(lambda: CountedComplex(1.0, 2.0) * CountedComplex(3.0, -1.0))
    assert done == [4, 0, 2, 0, 0]
    assert (plain(product.real), plain(product.imag)) == (5.0, 5.0)
    done, _ = counted_by(lambda: CountedComplex(1.0, 2.0) / CountedComplex(3.0, -1.0))
    assert done == [3, 3, 3, 0, 0]


def test_nothing_that_is_written_to_an_array_escapes_the_count() -> None:
    block = counting(np.zeros((2, 3)))
    block[0, 1] = 2.0
    block[1] = np.array([1.0, 2.0, 3.0])
    assert isinstance(block[0], CountedArray)
    done, value = counted_by(lambda: block[0, 1] * block[1, 2] + block[0, 0])
    assert (done, plain(value)) == ([1, 0, 1, 0, 0], 6.0)
    with pytest.raises(TypeError, match="would not be counted"):
        float(block[0, 0])


def test_an_array_that_stands_twice_stays_one() -> None:
    shared = np.ones(2)
    first, (second, count) = counting((shared, (shared, 3)))
    first[0] = 5.0
    assert (plain(second[0]), count) == (5.0, 3)
    np.testing.assert_array_equal(plain(first), [5.0, 1.0])


def test_operations_go_to_the_stage_that_is_under_way() -> None:
    tally, x = Tally(), Counted(1.0)
    with tally.stage("outer"):
        x = x + x
        with tally.stage("inner"), tally.stage("outer"):
            x = x * x
        x = x + x
    with tally.stage("inner"):
        x = x / x
    x = x + x
    tally.note()
    once, sums = Operations(1, 0, 0, 0, 0), Operations(0, 0, 2, 0, 0)
    ratio = Operations(0, 1, 0, 0, 0)
    assert tally.stages == {
        "outer": sums,
        "outer/inner": once,
        "inner": ratio,
        "other": Operations(0, 0, 1, 0, 0),
    }
    assert total(tally.stages) == Operations(1, 1, 3, 0, 0)
    assert innermost(tally.stages)["inner"] == once.plus(ratio)
    assert innermost(tally.stages, "outer") == {"outer": sums, "inner": once}


# Kernels


def three_links() -> dict[str, list[int]]:
    """Count the kinematics of a free link, a second one on a hinge on it, a third on a ball joint on that."""
    counts, paths = (6, 1, 3), (6, 7, 10)
    links = np.zeros((3, LINK_SIZE), dtype=np.int64)
    links[:, LINK.lower] = -1, 0, 1
    links[:, LINK.kind] = TreeJoint.FREE, TreeJoint.REVOLUTE, TreeJoint.SPHERICAL
    links[:, LINK.first], links[:, LINK.coordinates] = (0, 6, 7), counts
    links[:, LINK.path], links[:, LINK.path_size] = (0, 6, 13), paths
    shapes = {"u": (10, 1), "axis": (10, 3), "v": (23, 3), "w": (23, 3), "rotation": (3, 9)}
    shapes |= dict.fromkeys(("inertia", "inertia_constants"), (3, 6))
    shapes |= dict.fromkeys(("position", "lower_arm", "arm", "velocity", "omega"), (3, 3))
    random = np.random.default_rng(1)
    blocks: dict[str, Any] = {name: random.standard_normal(shape) for name, shape in shapes.items()}
    blocks["u"] = blocks["u"].ravel()
    tree = Tree(**{name: blocks.get(name, np.zeros(0)) for name in Tree._fields})
    tree = tree._replace(
        links=links,
        path=np.array([k for count in paths for k in range(count)]),
        rotational=np.array([0, 0, 0, 1, 1, 1, 1, 1, 1, 1]),
    )
    found = {}
    for kernel in ("velocity_columns", "link_velocities", "link_inertias"):
        with counting_kernels({kernel: (getattr(recursion, kernel),)}) as tally:
            getattr(recursion, kernel)(counting(tree))
        found[kernel] = list(tally.stages[kernel])
    return found


@pytest.mark.real_time
def test_three_links_take_what_is_counted_by_hand() -> None:
    """A cross product is 6 multiplications and 3 sums.

    V: of the links' own coordinates 3, 1, 3 turn: a cross product each. Inherited ones that turn, 3 and 4,
    take a cross product and a sum of vectors; two distances of centres. 6 (3 + 4 + 7) products by Table 1 of
    Kang and Yoon. v, ω: a scaled vector and a sum of vectors for each of 10 coordinates; for each of 3 arms
    and 2 reaches a cross product and a sum of vectors. I: 9 entries of R J and 6 of (R J) Rᵀ, of three
    products each.
    """
    found = told_by_plain_kernels("three_links()")
    assert found["velocity_columns"] == [6 * (3 + 4 + 7), 0, 3 * 7 + 6 * 7 + 3 * 2, 0, 0]
    assert found["link_velocities"] == [3 * 10 + 6 * 5, 0, 3 * 10 + 6 * 5, 0, 0]
    assert found["link_inertias"] == [3 * 45, 0, 3 * 30, 0, 0]


@pytest.mark.real_time
def test_counts_repeat_and_name_their_stages() -> None:
    solvers = "chassis", "chassis", "inertial"
    found, again, fresh = all_operations([("quarter_car", solver, Extent.STEP) for solver in solvers])
    assert again == found
    assert {"frames", "joints", "tyres", "substitution"} <= set(found)
    assert not {"matrices", "matrices/factors"} & set(found)
    assert {"matrices", "matrices/factors"} <= set(fresh)


@pytest.mark.real_time
def test_the_car_of_kang_and_yoon_takes_the_multiplications_of_its_tables() -> None:
    """LU and solution of 63 equations, divisions by pivots as multiplications; I, M and f as in Tables 1, 2.

    Of the 27 multiplications of each body in f, (19), the kernel of M and f has none: I γ and ω × I ω stand
    in the residual forces that it is given.
    """
    found = innermost(operations("document-001", "lagrange", Extent.EVALUATION))
    assert found["LU"].multiplications == (63**3 - 63) // 3 + 63**2 + 63
    assert found["I"].multiplications == 45 * 22
    assert found["M, f"].multiplications == 6018 + 1551 - 27 * 22


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (("quarter_car", "guess", Extent.STEP), "guess: no such solver"),
        (("quarter_car", "chassis", Extent.EVALUATION), "chassis: solves a step as a whole"),
        (("quarter_car", "independent:generalized-alpha", Extent.STEP), "goes with runge-kutta"),
        (("document-001", "independent", Extent.STEP), "document-001: does not drive"),
        (("sedan", "partitioning:dense", Extent.STEP), "full matrices are counted of papers' cars alone"),
    ],
)
def test_what_cannot_be_counted_is_said_in_one_line(asked: tuple[str, str, Extent], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        work_of(*asked)
