"""Kang and Yoon recomputed: formulas against loops that count, patterns against numbers, its shares."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from mastd.arrays import FloatArray
from mastd.counting import symbolic
from mastd.counting.column_patterns import Pattern, Patterns, pivots
from mastd.counting.operation_formulas import Extent, Method, kinematics_of, steps_of
from mastd.formulations.tree.body_groups import body_groups
from mastd.formulations.tree.design_rank import cut_jacobian
from mastd.formulations.tree.topology import topology_of
from mastd.reproduce.kang_yoon import executed, tables
from mastd.reproduce.registry import select
from mastd.vehicle.model import library, mobility
from mastd.vehicle.model.definition import Model
from tests.unit.formulations.test_topology import model_named

EVERY = [*library.names(), "paper car"]


def patterns_of(model: Model) -> Patterns:
    topology = topology_of(model)
    return Patterns(model, topology, body_groups(model, topology))


def steps(model: Model, method: Method, extent: Extent = Extent.WHOLE) -> dict[str, int]:
    topology = topology_of(model)
    found = steps_of(model, topology, body_groups(model, topology), method, extent)
    return {step.name: step.multiplications for step in found}


def filled(pattern: Pattern, seed: int) -> FloatArray:
    """Return a positive definite matrix of random numbers with a pattern, in its order."""
    order = list(pattern)
    random = np.random.default_rng(seed).uniform(0.5, 1.0, (len(order), len(order)))
    mask = np.array([[column in pattern[row] for column in order] for row in order])
    return np.where(mask, random + random.T, 0.0) + 4.0 * len(order) * np.eye(len(order))


def random_pattern(size: int, seed: int) -> Pattern:
    random = np.random.default_rng(seed).uniform(size=(size, size)) < 0.2
    mask = random | random.T | np.eye(size, dtype=bool)
    return {row: set(np.flatnonzero(mask[row]).tolist()) for row in range(size)}


def factorised(matrix: FloatArray) -> tuple[FloatArray, int]:
    """Return the Cholesky factor, and how many multiplications and divisions of non-zeros it took."""
    lower, count = np.tril(matrix), 0
    for k in range(len(lower)):
        lower[k, k] = np.sqrt(lower[k, k])
        for i in range(k + 1, len(lower)):
            if lower[i, k] != 0.0:
                lower[i, k] /= lower[k, k]
                count += 1
        for j in range(k + 1, len(lower)):
            for i in range(j, len(lower)):
                if lower[i, k] != 0.0 and lower[j, k] != 0.0:
                    lower[i, j] -= lower[i, k] * lower[j, k]
                    count += 1
    return lower, count


def product_count(first: FloatArray, second: FloatArray) -> int:
    """Return the products of non-zeros in first @ second."""
    return int(np.sum((first != 0.0).astype(int) @ (second != 0.0).astype(int)))


@pytest.mark.parametrize("size", [1, 2, 5, 15])
def test_formulas_of_full_matrices_are_what_loops_count(size: int) -> None:
    full = {row: set(range(size)) for row in range(size)}
    _, count = factorised(filled(full, 1))
    assert symbolic.cholesky(size) == count
    assert symbolic.sparse_cholesky(symbolic.eliminated(full)) == count
    assert symbolic.sparse_solution(symbolic.eliminated(full)) == symbolic.cholesky_solution(size)
    assert symbolic.lu(size) == sum((size - k - 1) * (size - k) for k in range(size)), "one division, a row"
    assert symbolic.lu_solution(size) == sum(range(size)) + sum(range(1, size + 1))


@pytest.mark.parametrize("seed", range(20))
def test_sparse_formulas_are_what_loops_count(seed: int) -> None:
    pattern = random_pattern(12, seed)
    lower, count = factorised(filled(pattern, seed))
    below = symbolic.eliminated(pattern)
    found = {
        column: set((np.flatnonzero(lower[column + 1 :, column]) + column + 1).tolist()) for column in pattern
    }
    assert below == found
    assert symbolic.sparse_cholesky(below) == count
    assert symbolic.sparse_solution(below) == 2 * np.count_nonzero(lower)
    right = np.zeros(12)
    right[seed % 12] = 1.0
    assert symbolic.forward_reach(below, {seed % 12}) == set(
        np.flatnonzero(np.linalg.solve(lower, right)).tolist()
    )


@pytest.mark.parametrize("name", EVERY)
def test_as_many_columns_are_independent_as_the_vehicle_has_freedoms(name: str) -> None:
    model = model_named(name)
    patterns = patterns_of(model)
    assert len(patterns.independent) == mobility.freedom(model)
    assert len(patterns.unknown) - len(patterns.constraint_rows) == mobility.freedom(model)


@pytest.mark.parametrize("name", EVERY)
def test_dependent_columns_chosen_in_the_design_position_are_regular(name: str) -> None:
    model = model_named(name)
    topology = topology_of(model)
    for group in body_groups(model, topology):
        if group.cuts:
            matrix = cut_jacobian(model, topology.links, group.cuts, group.bodies)
            assert np.linalg.cond(matrix[:, pivots(matrix)]) < 1e3, group.name


@pytest.mark.parametrize("name", EVERY)
def test_dependent_columns_depend_on_what_their_cuts_constrain(name: str) -> None:
    """B_di solved in the design position over the columns of all bodies: zero but for images."""
    model = model_named(name)
    topology = topology_of(model)
    patterns = patterns_of(model)
    free = {link.body for link in topology.links if link.drive < 0}
    columns = sorted(patterns.unknown)
    held = [column for column in range(6) if column in model.held]
    matrix = cut_jacobian(model, topology.links, topology.cuts, free)
    matrix = np.delete(matrix, held, axis=1)
    dependent = [columns.index(column) for column in columns if patterns.images[column] != {column}]
    others = [place for place in range(len(columns)) if place not in dependent]
    solved = np.abs(np.linalg.solve(matrix[:, dependent], matrix[:, others])) > 1e-9
    for row, place in zip(solved, dependent, strict=True):
        found = {columns[others[k]] for k in np.flatnonzero(row)}
        assert found <= patterns.images[columns[place]]
    images = {image for place in dependent for image in patterns.images[columns[place]]}
    assert {columns[others[k]] for k in np.flatnonzero(solved.any(axis=0))} == images


@pytest.mark.parametrize("name", EVERY)
def test_patterns_of_the_reduced_equations_are_those_of_numbers(name: str) -> None:
    """R and M with random numbers where they may have any: products and factors counted one by one."""
    model = model_named(name)
    patterns = patterns_of(model)
    unknown, independent = patterns.unknown, patterns.independent
    kept = np.array([column in set(independent) for column in unknown])
    mass = filled(patterns.mass(), 3)
    random = np.random.default_rng(4).uniform(0.5, 1.0, (len(unknown), len(independent)))
    mask = np.array([[other in patterns.images[column] for other in independent] for column in unknown])
    rates = np.where(mask, random, 0.0)
    found = steps(model, Method.PARTITIONING, Extent.STRUCTURE)
    assert found["product"] == product_count(mass[:, ~kept], rates[~kept])
    product = mass @ rates
    # one half of the symmetric product, that in which rows of lower bodies (the chassis) need no product
    upper = sum(
        product_count(rates[~kept, k : k + 1].T, product[~kept][:, np.array(independent) >= column])
        for k, column in enumerate(independent)
    )
    assert found["projected_mass"] == upper
    reduced = rates.T @ product
    order = {column: place for place, column in enumerate(independent)}
    expected = {
        column: {other for other in independent if reduced[order[column], order[other]] != 0.0}
        for column in independent
    }
    assert patterns.reduced_mass() == expected
    _, count = factorised(reduced + 1e3 * len(unknown) * np.eye(len(independent)))
    assert found["cholesky"] == steps(model, Method.INDEPENDENT)["cholesky"] == count


def test_multipliers_by_structure_take_the_products_of_numbers() -> None:
    model = model_named("paper car")
    patterns = patterns_of(model)
    lower, count = factorised(filled(patterns.mass(), 5))
    rows = np.array([[column in row for column in patterns.unknown] for row in patterns.constraint_rows])
    reached = np.linalg.solve(lower, rows.T.astype(float))
    reached[np.abs(reached) < 1e-300] = 0.0
    found = steps(model, Method.REDUCED_LAGRANGE, Extent.STRUCTURE)
    assert found["mass_cholesky"] == count
    pairs = (reached != 0.0).astype(int)
    products = np.triu(pairs.T @ pairs).sum() + pairs.sum()
    assert found["multiplier_equations"] == products
    each = np.count_nonzero(lower, axis=0)
    assert found["mass_solutions"] == each @ pairs.sum(axis=1) + each.sum()


def test_the_mass_matrix_takes_the_products_of_its_sums() -> None:
    """Eq. (18) of each body in loops: m V, its half product with V, I W, its half product with W."""
    model = model_named("paper car")
    topology = topology_of(model)
    patterns = patterns_of(model)
    count = 0
    for link in topology.links:
        translations, rotations = patterns.columns(link.body)
        for k in range(translations):
            count += 3 + sum(3 for _ in range(k + 1))
        for k in range(rotations):
            count += 9 + sum(3 for _ in range(k + 1))
    assert steps(model, Method.LAGRANGE)["mass_matrix"] == count


def test_table_1_of_the_papers_car_by_hand() -> None:
    """22 bodies, 39 coordinates, 33 of them rotations, 16 points; the chassis is the lowest body."""
    model = model_named("paper car")
    topology = topology_of(model)
    kinematics = kinematics_of(model, topology, body_groups(model, topology))
    front = 4 + 7 + 7 + 8 + 5  # lower arm, knuckle, strut, wheel, tie rod: rotations of these and below
    rear = 4 + 7 + 4 + 8 + 5
    front_points = (3 + 7) + (5 + 7)  # strut top, tie rod's end
    rear_points = (4 + 7) + (5 + 7)
    rotational = 3 + 3 + 2 * (front + rear + front_points + rear_points)
    assert [step.multiplications for step in kinematics] == [
        27 * 21,
        9 * (21 + 22 + 16),
        3 * 39 + 6 * 21,
        9 * 33,
        6 * rotational,
        3 * 33 + 15 * 21,
        12 * 21 + 18 * (22 + 16),
        45 * 22,
    ]


def test_table_3_of_the_papers_car_by_hand() -> None:
    """Independent: front lower and rear upper arms; B_di of a front corner has the rack's column too."""
    model = model_named("paper car")
    topology = topology_of(model)
    names = [model.bodies[link.body].name for link in topology.links for _ in range(link.joint.coordinates)]
    chosen = {names[column] for column in patterns_of(model).independent if "arm" in names[column]}
    ends = ("front", "lower"), ("rear", "upper")
    assert chosen == {f"{end} {side} {arm} arm" for end, arm in ends for side in ("left", "right")}
    front = (3 + 3) + (4 + 3) + (2 + 2) + (3 + 3)  # knuckle, strut, tie rod, wheel: of V and of W
    rear = (1 + 1) + (4 + 4) + (2 + 2) + (4 + 4)  # lower arm, knuckle, toe link, wheel
    found = steps(model, Method.INDEPENDENT)
    assert found["independent_matrices"] == 3 * 2 * (2 * front + 1 * rear)
    assert found["independent_terms"] == 3 * 2 * (front + rear)


def test_a_driven_rack_adds_kinematics_but_no_column() -> None:
    model = library.find("mcpherson_hatchback")
    topology = topology_of(model)
    patterns = patterns_of(model)
    names = [body.name for body in model.bodies]
    assert patterns.columns(names.index("front rack")) == (6, 3), "those of the chassis alone"
    assert patterns.columns(names.index("front left tie rod")) == (8, 5)
    assert topology.coordinates == len(patterns.unknown) + 1
    assert {width for _, width in patterns.group_sizes} == {1}


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("method", [Method.PARTITIONING, Method.REDUCED_LAGRANGE])
def test_what_is_left_out_of_the_matrices_only_saves(name: str, method: Method) -> None:
    model = model_named(name)
    sums = [sum(steps(model, method, extent).values()) for extent in Extent]
    assert all(less < more for more, less in pairwise(sums))


def test_shares_of_the_four_methods_are_the_papers_within_a_point() -> None:
    items = {item.identifier: item for item in tables.items()}
    assert all(item.within for item in items.values())
    for name, paper in (("independent", 12.0), ("partitioning", 62.3), ("reduced_lagrange", 80.6)):
        item = items[f"001.formula.{name}.percent"]
        assert item.paper == paper
        assert item.ours == pytest.approx(paper, abs=1.0)
        ours, reference = (items[f"001.formula.{each}.total"].ours for each in (name, "lagrange"))
        assert ours is not None
        assert reference is not None
        assert item.ours == pytest.approx(100.0 * ours / reference)
    assert items["001.formula.lagrange.total"].ours == pytest.approx(100e3, rel=0.01)


def test_totals_are_the_sums_of_the_steps_shown() -> None:
    items = {item.identifier: item.ours or 0.0 for item in tables.items()}
    shared = sum(value for key, value in items.items() if key.startswith("001.formula.kinematics."))
    for method in Method:
        prefix = f"001.formula.{method.value}."
        own = {key: value for key, value in items.items() if key.startswith(prefix) and "percent" not in key}
        whole = own.pop(f"{prefix}total")
        assert whole == shared + sum(own.values())


@pytest.mark.real_time
def test_executed_multiplications_are_those_of_the_formulas_or_explained_term_by_term() -> None:
    items = {item.identifier: item for item in executed.items()}
    assert all(item.within for item in items.values())
    values = {identifier: item.ours or 0.0 for identifier, item in items.items()}
    shared = sum(value for key, value in values.items() if key.startswith("001.executed.kinematics."))
    for method in Method:
        prefix = f"001.executed.{method.value}."
        own = {key.removeprefix(prefix): value for key, value in values.items() if key.startswith(prefix)}
        whole, share = own.pop("total"), own.pop("percent", 100.0)
        points = [own.pop(key) for key in list(own) if key.endswith("_points")]
        assert whole == shared + sum(own.values())
        assert share == pytest.approx(100.0 * whole / values["001.executed.lagrange.total"])
        formula = {item.identifier: item.ours or 0.0 for item in tables.items()}
        expected = 100.0 if method is Method.LAGRANGE else formula[f"001.formula.{method.value}.percent"]
        assert share == pytest.approx(expected + sum(points), abs=1e-9 if points else 1.0)
        assert bool(points) == (abs(share - expected) > 1.0)


@pytest.mark.real_time
def test_kang_and_yoon_is_chosen_by_its_number() -> None:
    chosen = select(["001.structure"], Path("unused"))
    assert [item.ours for item in chosen] == [22, 39, 8, 24, 15, 10]
