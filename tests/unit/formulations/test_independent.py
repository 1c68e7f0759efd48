"""The formulations of Kang and Yoon agree with each other and with the plain equations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mastd.counting.paper_car import paper_car
from mastd.formulations.constraints.partition import acceleration_terms, independent_columns
from mastd.formulations.integrators.stepper import TreeSteps
from mastd.formulations.methods.independent import independent_workspace, solve_independent
from mastd.formulations.methods.lagrange import (
    lagrange_workspace,
    reduced_workspace,
    solve_lagrange,
    solve_reduced,
)
from mastd.formulations.methods.mass_matrix import add_inertia
from mastd.formulations.methods.partitioning import partitioning_workspace, solve_partitioning
from mastd.formulations.methods.sparse_cholesky import elimination_order, factor, pattern_of, solve
from mastd.formulations.tree.arrays import BODY_GROUP, FREE, LINK, Tree
from mastd.formulations.tree.topology import TreeJoint
from mastd.roads.ground import Ground
from mastd.vehicle.equilibrium.dense_equations import System
from mastd.vehicle.model import library
from mastd.vehicle.solver.choice import Solver
from mastd.vehicle.state.arrays import Arrays, lay_out
from mastd.vehicle.state.inputs import InputLayout
from mastd.vehicle.state.motion import design_state
from tests.support.formulations.random_trees import accelerations, choose, equations, random_tree

SEEDS = range(60)
CAR = lay_out(library.find("quarter_car")).arrays
"""Any: the formulations of Kang and Yoon need nothing of the car but what is in the tree. Without one,
kernels would be compiled again."""
SOLVERS: dict[str, tuple[Callable[..., Any], Callable[..., int]]] = {
    "lagrange": (lagrange_workspace, solve_lagrange),
    "reduced-lagrange": (reduced_workspace, solve_reduced),
    "reduced-lagrange, dense": (lambda tree: reduced_workspace(tree, dense=True), solve_reduced),
    "partitioning": (partitioning_workspace, solve_partitioning),
    "partitioning, dense": (lambda tree: partitioning_workspace(tree, dense=True), solve_partitioning),
    "independent": (independent_workspace, solve_independent),
}


def _choose(tree: Tree) -> None:
    """Do what stands before each formulation."""
    assert choose(tree) == 0
    independent_columns(tree)
    acceleration_terms(tree)


def _throw(tree: Tree, seed: int) -> None:
    """Give a tree other numbers in the same places."""
    rng = np.random.default_rng(1000 + seed)
    for block in (tree.v, tree.w, tree.residual, tree.phi, tree.bias):
        np.multiply(block, rng.uniform(-2.0, 2.0, block.shape), out=block)


def _agree(found: Any, expected: Any) -> None:
    assert np.abs(found - expected).max() <= 1e-10 * np.abs(expected).max()


@pytest.mark.parametrize("name", SOLVERS)
def test_accelerations_are_those_of_the_plain_equations(name: str) -> None:
    make, run = SOLVERS[name]
    for seed in SEEDS:
        tree = random_tree(np.random.default_rng(seed))
        _choose(tree)
        expected = accelerations(tree)
        work = make(tree)
        before = tree.udot.copy()
        tree.udot[tree.fixed == FREE] = np.nan
        assert run(tree, CAR, work) == 0
        _agree(tree.udot, expected)
        np.testing.assert_array_equal(tree.udot[tree.fixed != FREE], before[tree.fixed != FREE])


@pytest.mark.parametrize("name", SOLVERS)
def test_a_room_serves_any_choice_of_independent_coordinates(name: str) -> None:
    make, run = SOLVERS[name]
    changed = 0
    for seed in SEEDS:
        tree = random_tree(np.random.default_rng(seed))
        _choose(tree)
        work = make(tree)
        assert run(tree, CAR, work) == 0
        members = tree.members.copy()
        _throw(tree, seed)
        _choose(tree)
        changed += not np.array_equal(members, tree.members)
        expected = accelerations(tree)
        assert run(tree, CAR, work) == 0
        _agree(tree.udot, expected)
    assert changed > 10


@pytest.mark.parametrize("name", ["lagrange", "reduced-lagrange", "reduced-lagrange, dense"])
@pytest.mark.parametrize("fault", ["redundant", "not a number"])
def test_a_group_whose_rows_depend_on_each_other_is_named(name: str, fault: str) -> None:
    make, run = SOLVERS[name]
    tree = next(
        tree
        for tree in (random_tree(np.random.default_rng(seed)) for seed in SEEDS)
        if np.count_nonzero(tree.groups[:, BODY_GROUP.rows] > 1) > 1
    )
    _choose(tree)
    group = int(np.flatnonzero(tree.groups[:, BODY_GROUP.rows] > 1)[-1])
    row = int(tree.groups[group, BODY_GROUP.first_row])
    touched = np.flatnonzero((tree.phi[row] != 0.0) & (tree.phi[row + 1] != 0.0))
    tree.phi[row : row + 2] = 0.0
    tree.phi[row, touched] = np.arange(1.0, len(touched) + 1)
    tree.phi[row + 1] = 2.5 * tree.phi[row] if fault == "redundant" else np.where(tree.phi[row], np.nan, 0.0)
    assert run(tree, CAR, make(tree)) == 1 + group


def _loose_ends(tree: Tree) -> list[int]:
    """Return the links that carry nothing and whose groups have no rows, but for the chassis and racks."""
    alone = tree.groups[tree.links[:, LINK.group], BODY_GROUP.rows] == 0
    standing = tree.links[:, LINK.lower] > 0
    return [i for i in np.flatnonzero(alone & standing).tolist() if i not in tree.links[:, LINK.lower]]


@pytest.mark.parametrize("name", SOLVERS)
def test_bodies_without_mass_are_refused_by_their_group(name: str) -> None:
    make, run = SOLVERS[name]
    trees = (random_tree(np.random.default_rng(seed)) for seed in SEEDS)
    tree, leaf = next((tree, leaf) for tree in trees for leaf in _loose_ends(tree))
    _choose(tree)
    tree.mass[leaf], tree.inertia[leaf] = 0.0, 0.0
    assert run(tree, CAR, make(tree)) == 1 + tree.links[leaf, LINK.group]


def _vehicle(name: str) -> tuple[Tree, Arrays]:
    """Return a vehicle in a position that its joints allow, with random forces and second derivatives."""
    rng = np.random.default_rng(8)
    model = paper_car() if name == "paper_car" else library.find(name)
    steps = TreeSteps(System(model), 1e-3, Solver("independent"), 1e-12)
    tree, ground = steps.tree, Ground.flat().parameters
    steps.load(design_state(model))
    steps.begin(ground)
    for line in tree.links:
        if line[LINK.kind] in (TreeJoint.REVOLUTE, TreeJoint.PRISMATIC, TreeJoint.UNIVERSAL):
            own = slice(int(line[LINK.position]), int(line[LINK.position] + line[LINK.coordinates]))
            tree.q[own] += rng.normal(0.0, 0.02, int(line[LINK.coordinates]))
    drives = np.tile([0.02, 0.0, 0.5], (len(model.drives), 1))
    steps.evaluate(InputLayout.of(model).row(drive=drives), ground)
    assert not steps.trouble
    tree.residual[:] = rng.normal(0.0, 1000.0, tree.residual.shape)
    tree.bias[:] = rng.normal(0.0, 10.0, tree.bias.shape)
    acceleration_terms(tree)
    return tree, steps.layout.arrays


@pytest.mark.parametrize("name", [*library.names(), "paper_car"])
def test_all_move_a_vehicle_the_same_way(name: str) -> None:
    tree, car = _vehicle(name)
    expected = accelerations(tree)
    for make, run in SOLVERS.values():
        tree.udot[tree.fixed == FREE] = np.nan
        work = make(tree)
        assert run(tree, car, work) == 0
        _agree(tree.udot, expected)


class _Counting:
    """A number that counts the products made of it and of others."""

    products = 0

    def __init__(self, value: float) -> None:
        self.value = value

    def __mul__(self, other: _Counting) -> _Counting:
        _Counting.products += 1
        return _Counting(self.value * other.value)

    def __add__(self, other: _Counting | float) -> _Counting:
        return _Counting(self.value + (other.value if isinstance(other, _Counting) else other))

    def __sub__(self, other: _Counting) -> _Counting:
        return _Counting(self.value - other.value)


def _counting(block: Any) -> Any:
    return np.array([_Counting(x) for x in block.ravel()], dtype=object).reshape(block.shape)


def test_inertia_and_force_take_the_products_of_table_2() -> None:
    tree, _ = _vehicle("paper_car")
    work, size = lagrange_workspace(tree), len(tree.u)
    counting = tree._replace(
        **{name: _counting(getattr(tree, name)) for name in ("mass", "inertia", "residual", "v", "w")}
    )
    matrix, force = _counting(np.zeros((size, size))), _counting(np.zeros(size))
    _Counting.products = 0
    plain = getattr(add_inertia, "py_func", add_inertia)
    plain(counting, work.columns, counting.v, counting.w, counting.residual, matrix, force)
    lower = tree.links[:, LINK.path_size]
    paths = [tree.path[line[LINK.path] : line[LINK.path] + line[LINK.path_size]] for line in tree.links]
    rotational = np.array([tree.rotational[path].sum() for path in paths])
    mass = 3 * lower + 3 * (lower + 1) * lower // 2 + 9 * rotational + 3 * (rotational + 1) * rotational // 2
    # The 27 of each body are in its residual force already.
    assert _Counting.products == np.sum(mass + 3 * (lower + rotational))


def test_a_tree_is_eliminated_without_fill() -> None:
    for seed in SEEDS:
        tree = random_tree(np.random.default_rng(seed))
        joined = equations(tree)[0] != 0.0
        order = elimination_order(joined)
        pattern = pattern_of(joined[np.ix_(order, order)])
        assert 2 * len(pattern.rows) + len(joined) == np.count_nonzero(joined)


def test_factors_with_fill_solve_the_equations() -> None:
    rng = np.random.default_rng(5)
    for size in (1, 2, 7, 20):
        joined = rng.random((size, size)) < 0.15
        joined |= joined.T | np.eye(size, dtype=np.bool_)
        order = elimination_order(joined)
        assert sorted(order) == list(range(size))
        joined = joined[np.ix_(order, order)]
        matrix = np.where(joined, rng.normal(size=(size, size)), 0.0)
        matrix = matrix + matrix.T + 20.0 * np.eye(size)
        right_side = rng.normal(size=size)
        pattern, factors, values = pattern_of(joined), np.tril(matrix), right_side.copy()
        assert factor(pattern, factors) == 0
        solve(pattern, factors, values)
        np.testing.assert_allclose(matrix @ values, right_side, atol=1e-12)


def test_the_row_that_makes_a_matrix_singular_is_told() -> None:
    joined = np.ones((4, 4), dtype=np.bool_)
    root = np.random.default_rng(6).normal(size=(4, 3))
    assert factor(pattern_of(joined), root @ root.T) == 4
    assert factor(pattern_of(joined), np.full((4, 4), np.nan)) == 1
