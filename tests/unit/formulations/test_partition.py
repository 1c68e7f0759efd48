"""Dependent and independent coordinates of body groups, Kang and Yoon."""

from __future__ import annotations

import numpy as np
import pytest

from mastd.arrays import FloatArray, IntArray
from mastd.formulations.constraints.partition import (
    REPARTITION_RATIO,
    acceleration_terms,
    expand,
    factor_groups,
    independent_columns,
    solve_dependent,
    solve_transposed,
    update_partition,
    velocity_terms,
)
from mastd.formulations.tree.arrays import BODY_GROUP, BODY_GROUP_SIZE, FREE, Tree
from tests.support.formulations.random_trees import choose, random_tree

SEEDS = range(30)


def _tree(seed: int) -> Tree:
    tree = random_tree(np.random.default_rng(seed))
    assert choose(tree) == 0
    return tree


def _parts(tree: Tree, group: int) -> tuple[slice, IntArray, IntArray]:
    """Return a group's rows, dependent coordinates and columns of B_di."""
    line = tree.groups[group]
    rows = slice(int(line[BODY_GROUP.first_row]), int(line[BODY_GROUP.first_row] + line[BODY_GROUP.rows]))
    first, last = line[BODY_GROUP.first], line[BODY_GROUP.first] + line[BODY_GROUP.rows]
    own = tree.members[last : last + line[BODY_GROUP.free]]
    outside = tree.outside[line[BODY_GROUP.outside] : line[BODY_GROUP.outside] + line[BODY_GROUP.outsides]]
    return rows, tree.members[first:last], np.concatenate([own, outside])


def _one_group(phi: FloatArray) -> Tree:
    """Return a tree with one group of these rows; all else is as small as it can be."""
    m, n = phi.shape
    tree = random_tree(np.random.default_rng(0))
    groups = np.zeros((1, BODY_GROUP_SIZE), dtype=np.int64)
    groups[0, : BODY_GROUP.factor + 1] = 0, n, 0, m, n - m, 0, 0
    return tree._replace(
        groups=groups,
        members=np.arange(n),
        fixed=np.zeros(n, dtype=np.int64),
        phi=phi,
        lu=np.zeros(m * m),
        b_cells=np.zeros(m * (n - m)),
        pivots=np.zeros(m, dtype=np.int64),
        row_size=np.zeros(m),
        quality=np.ones(1),
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_each_group_keeps_its_coordinates_and_no_fixed_one_becomes_dependent(seed: int) -> None:
    before = random_tree(np.random.default_rng(seed)).members
    tree = _tree(seed)
    for group, line in enumerate(tree.groups):
        own = slice(int(line[BODY_GROUP.first]), int(line[BODY_GROUP.first] + line[BODY_GROUP.size]))
        assert sorted(tree.members[own]) == sorted(before[own])
        _, dependent, columns = _parts(tree, group)
        assert not tree.fixed[dependent].any()
        assert not tree.fixed[columns].any()


@pytest.mark.parametrize("seed", SEEDS)
def test_dependent_coordinates_follow_the_independent_and_the_given_ones(seed: int) -> None:
    tree = _tree(seed)
    independent_columns(tree)
    terms, rates = np.zeros(len(tree.bias)), tree.u.copy()
    velocity_terms(tree, terms)
    expand(tree, terms, rates)
    np.testing.assert_allclose(tree.phi @ rates, 0.0, atol=1e-9)
    dependent = np.concatenate([_parts(tree, group)[1] for group in range(len(tree.groups))])
    others = np.setdiff1d(np.arange(len(rates)), dependent)
    np.testing.assert_array_equal(rates[others], tree.u[others])
    assert len(terms) == 0 or not np.allclose(rates[dependent], tree.u[dependent])


@pytest.mark.parametrize("seed", SEEDS)
def test_dependent_accelerations_satisfy_the_constraints(seed: int) -> None:
    tree = _tree(seed)
    independent_columns(tree)
    acceleration_terms(tree)
    free = tree.fixed == FREE
    rates = np.where(free, tree.udot, 0.0)
    expand(tree, tree.g_cells, rates)
    np.testing.assert_allclose(tree.phi[:, free] @ rates[free], -tree.bias, atol=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_both_solutions_are_those_of_a_dense_matrix(seed: int) -> None:
    tree = _tree(seed)
    right_side = np.random.default_rng(seed).normal(size=len(tree.bias))
    out, back = right_side.copy(), np.zeros_like(right_side)
    for group in range(len(tree.groups)):
        rows, dependent, _ = _parts(tree, group)
        phi = tree.phi[rows, :][:, dependent]
        solve_dependent(tree, group, out, out)
        solve_transposed(tree, group, right_side, back)
        np.testing.assert_allclose(phi @ out[rows], right_side[rows], atol=1e-9)
        np.testing.assert_allclose(phi.T @ back[rows], right_side[rows], atol=1e-9)


def test_the_choice_does_not_depend_on_the_units_of_a_row() -> None:
    phi = np.random.default_rng(4).normal(size=(3, 6))
    one, other = _one_group(phi), _one_group(phi * np.array([[1e3], [1.0], [1e-3]]))
    assert choose(one) == choose(other) == 0
    assert 0.5 * one.quality[0] < other.quality[0] < 2.0 * one.quality[0]
    np.testing.assert_array_equal(one.members, other.members)


def test_the_largest_entry_decides() -> None:
    tree = _one_group(np.array([[0.1, 1.0, 0.0, 0.2], [0.2, 0.3, 0.0, 0.9]]))
    assert choose(tree) == 0
    assert tree.quality[0] > 0.5
    assert set(tree.members[:2].tolist()) == {1, 3}
    assert set(tree.members[2:].tolist()) == {0, 2}


def _turned(angle: float) -> FloatArray:
    """Return the row of a point on a circle: past 45° the other coordinate is the better dependent one."""
    return np.array([[np.cos(angle), np.sin(angle)]])


def test_a_set_stands_until_it_has_degraded_and_changes_once_in_a_turn_to_and_fro() -> None:
    tree = _one_group(_turned(0.0))
    assert choose(tree) == 0
    taken = []
    angles = np.concatenate([np.linspace(0.0, 0.5 * np.pi, 200), np.linspace(0.5 * np.pi, 0.0, 200)])
    for angle in angles:
        tree.phi[:] = _turned(angle)
        assert update_partition(tree) == 0
        taken.append(int(tree.members[0]))
    changes = np.flatnonzero(np.diff(taken)) + 1
    assert len(changes) == 2
    there, back = angles[changes]
    assert np.tan(there) >= np.tan(back)
    assert there > back + 0.3


def test_a_set_that_can_be_no_better_is_not_changed_again_and_again() -> None:
    rng = np.random.default_rng(9)
    # Two rows, nearly the same: whatever is chosen is poor.
    row = rng.normal(size=5)
    tree = _one_group(np.array([row, row + rng.normal(size=5)]))
    assert choose(tree) == 0
    mark = tree.quality[0]
    tree.phi[1] = row + 1e-3 * rng.normal(size=5)
    assert update_partition(tree) == 0
    assert tree.quality[0] < REPARTITION_RATIO * mark
    members, mark = tree.members.copy(), tree.quality[0]
    for _ in range(5):
        tree.phi[1] += 1e-6 * rng.normal(size=5)
        assert update_partition(tree) == 0
        np.testing.assert_array_equal(tree.members, members)
        assert tree.quality[0] == mark


@pytest.mark.parametrize("fault", ["redundant", "empty", "not a number"])
def test_a_group_without_a_dependent_set_is_named(fault: str) -> None:
    seed = next(
        k for k in SEEDS if (random_tree(np.random.default_rng(k)).groups[:, BODY_GROUP.rows] > 1).any()
    )
    tree = _tree(seed)
    group = int(np.flatnonzero(tree.groups[:, BODY_GROUP.rows] > 1)[0])
    row = int(tree.groups[group, BODY_GROUP.first_row])
    tree.phi[row + 1] = {"redundant": 2.5 * tree.phi[row], "empty": 0.0, "not a number": np.nan}[fault]
    assert factor_groups(tree) == 1 + group
    assert update_partition(tree) == 1 + group
