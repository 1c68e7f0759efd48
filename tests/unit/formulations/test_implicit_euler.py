"""Implicit Euler with a Jacobian updated in part: the inverse that follows, guards and policies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from mastd.arrays import FloatArray
from mastd.formulations.integrators.implicit_euler import (
    COUNT,
    POSITION_PERTURBATION,
    VELOCITY_PERTURBATION,
    ImplicitEuler,
    Policy,
    columns_to_update,
    implicit_euler,
    invert,
    multiply_by_inverse,
    next_column,
    perturbation,
    put_column,
    replace_column,
    solve_by_factorisation,
)

H = 0.01


@dataclass
class Linear:
    """q̈ = f_x q + f_v q̇, of which an integrator knows what it was given."""

    f_x: FloatArray
    f_v: FloatArray
    euler: ImplicitEuler

    @classmethod
    def any(cls, n: int, seed: int, *, stiffness: float = 1e4) -> Linear:
        """Return a system of ``n`` coordinates that the integrator knows, and its inverse."""
        rng = np.random.default_rng(seed)
        root = rng.normal(size=(n, n))
        linear = cls(
            -stiffness * (root @ root.T + np.eye(n)),
            -10.0 * np.eye(n) + rng.normal(size=(n, n)),
            implicit_euler(n, H),
        )
        for j in range(n):
            linear.show(j)
            put_column(linear.euler, j)
        assert invert(linear.euler) == 0
        return linear

    def show(self, j: int) -> None:
        """Write column j to where a new column stands."""
        self.euler.position_column[:] = self.f_x[:, j]
        self.euler.velocity_column[:] = self.f_v[:, j]

    @property
    def matrix(self) -> FloatArray:
        """A by its definition."""
        whole: FloatArray = np.eye(len(self.f_x)) - H * (self.f_v + H * self.f_x)
        return whole

    def inverse_error(self) -> float:
        """Return how far the integrator's inverse times A is from one."""
        return float(np.abs(self.euler.inverse.T @ self.matrix - np.eye(len(self.f_x))).max())

    def increment(self, q: FloatArray, u: FloatArray) -> FloatArray:
        """Return the increment of (4) by its definition."""
        right = H * (self.f_x @ q + self.f_v @ u + H * self.f_x @ u)
        return np.asarray(np.linalg.solve(self.matrix, right), np.float64)


@pytest.mark.parametrize("n", [1, 2, 5, 16])
def test_the_inverse_follows_every_replaced_column(n: int) -> None:
    linear = Linear.any(n, n)
    rng = np.random.default_rng(2)
    change: FloatArray = 2e3 * rng.normal(size=(40, n))
    for k in range(40):
        j = int(rng.integers(n))
        linear.f_x[:, j] += change[k]
        linear.f_v[:, j] += 1e-3 * change[k]
        linear.show(j)
        assert replace_column(linear.euler, j) == 0
    assert linear.inverse_error() < 1e-10
    assert linear.euler.counts[COUNT.replaced] == 40
    np.testing.assert_array_equal(linear.euler.position_columns.T, linear.f_x)


@pytest.mark.parametrize("n", [1, 3, 16])
def test_both_solutions_are_that_of_equation_4(n: int) -> None:
    linear = Linear.any(n, 3 + n)
    q, u = np.random.default_rng(4).normal(size=(2, n))
    expected = linear.increment(q, u)
    f = linear.f_x @ q + linear.f_v @ u
    assert multiply_by_inverse(linear.euler, f, u) == 0
    np.testing.assert_allclose(linear.euler.increment, expected, rtol=0, atol=1e-11 * np.abs(expected).max())
    linear.euler.increment[:] = 0.0
    assert solve_by_factorisation(linear.euler, f, u) == 0
    np.testing.assert_allclose(linear.euler.increment, expected, rtol=0, atol=1e-11 * np.abs(expected).max())


def test_rows_are_exchanged_where_a_pivot_is_zero() -> None:
    """A = [[0, 1], [1, 0]] has zeros where both eliminations begin."""
    linear = Linear(np.zeros((2, 2)), (np.eye(2) - np.eye(2)[::-1]) / H, implicit_euler(2, H))
    for j in range(2):
        linear.show(j)
        put_column(linear.euler, j)
    assert invert(linear.euler) == 0
    assert linear.inverse_error() < 1e-15
    f = np.array([3.0, 5.0])
    assert solve_by_factorisation(linear.euler, f, np.zeros(2)) == 0
    np.testing.assert_allclose(linear.euler.increment, H * f[::-1])


def test_digits_lost_near_a_singular_matrix_are_won_back() -> None:
    """From A = 1 to almost singular and back: by the formula alone the inverse keeps an error."""
    linear = Linear.any(3, 1)
    linear.f_x[:] = 0.0
    near = np.array([[1.0, 2.0, 0.3], [1.0, 2.0 + 1e-10, 0.7], [0.3, 0.1, 1.0]])
    for matrix in (np.eye(3), near, np.eye(3)):
        for j in range(3):
            linear.f_v[:, j] = (np.eye(3) - matrix)[:, j] / H
            linear.show(j)
            assert replace_column(linear.euler, j) == 0
    assert linear.euler.counts[COUNT.inversions] > 1
    assert linear.inverse_error() < 1e-11


def test_a_singular_matrix_is_told() -> None:
    linear = Linear.any(2, 1)
    linear.f_x[:], linear.f_v[:] = 0.0, np.eye(2) / H
    linear.show(0)
    assert replace_column(linear.euler, 0) == 1
    linear.show(1)
    put_column(linear.euler, 1)
    assert solve_by_factorisation(linear.euler, np.ones(2), np.zeros(2)) == 1


def test_errors_gathered_in_the_inverse_are_found_within_a_round() -> None:
    n = 8
    linear = Linear.any(n, 5)
    linear.euler.inverse[3] *= 1.0 + 1e-5
    q, u = np.random.default_rng(6).normal(size=(2, n))
    f = linear.f_x @ q + linear.f_v @ u
    for _ in range(n):
        assert multiply_by_inverse(linear.euler, f, u) == 0
    assert linear.euler.counts[COUNT.inversions] == 2
    assert linear.inverse_error() < 1e-11


def test_a_round_robin_of_a_hundred_thousand_steps_keeps_its_digits() -> None:
    n = 6
    linear = Linear.any(n, 7)
    rng = np.random.default_rng(8)
    shapes = linear.f_x * (1.0 + 0.3 * rng.normal(size=(50, n, n)))
    zero = np.zeros(n)
    for step in range(100_000):
        j = next_column(linear.euler, Policy.ROUND_ROBIN, zero)
        linear.f_x[:, j] = shapes[step % 50, :, j]
        linear.show(j)
        assert replace_column(linear.euler, j) == 0
    assert linear.inverse_error() < 1e-8


def test_policies_choose_their_columns() -> None:
    euler = implicit_euler(3, H)
    velocities = np.array([1.0, -7.0, 3.0])
    assert [columns_to_update(euler, policy, 2) for policy in Policy] == [3, 3, 3, 3], "the first step"
    euler.counts[COUNT.steps] = 1
    assert [columns_to_update(euler, policy, 2) for policy in Policy] == [3, 2, 1, 0]
    assert columns_to_update(euler, Policy.ROUND_ROBIN, 9) == 3
    assert [next_column(euler, Policy.ROUND_ROBIN, velocities) for _ in range(7)] == [0, 1, 2, 0, 1, 2, 0]
    assert next_column(euler, Policy.FASTEST, velocities) == 1
    assert next_column(euler, Policy.FASTEST, np.array([-2.0, 0.0, 2.0])) == 0


@pytest.mark.parametrize("value", [0.0, 1e-300, 0.3, -1.7, 123456.7])
@pytest.mark.parametrize("relative", [POSITION_PERTURBATION, VELOCITY_PERTURBATION])
def test_a_perturbation_is_what_the_value_really_changes_by(value: float, relative: float) -> None:
    epsilon = perturbation(value, relative)
    assert (value + epsilon) - value == epsilon
    assert epsilon == pytest.approx(relative * max(1.0, abs(value)), rel=1e-2)
