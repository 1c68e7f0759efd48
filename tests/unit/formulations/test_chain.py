"""Chains of KR 10-1310276: recursions beside dense matrices, columns beside the complex step, and steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mastd.arrays import FloatArray
from mastd.formulations.integrators.implicit_euler import COUNT, Policy, implicit_euler
from mastd.reproduce.models.chain import (
    LINK,
    Chain,
    accelerate,
    analytic_column,
    chain_of,
    sum_outboard,
)
from mastd.reproduce.models.chain_stepping import advance_chain, advance_chain_often, numerical_column

SIZES = (1, 2, 7, 16)


def any_chain(n: int, seed: int) -> Chain:
    """Return a chain of unequal links in any state."""
    rng = np.random.default_rng(seed)
    chain = chain_of(n)
    constants = chain.constants
    constants[:, LINK.mass] = rng.uniform(0.5, 2.0, n)
    constants[:, LINK.inertia] = rng.uniform(0.01, 0.2, n)
    constants[:, LINK.length] = rng.uniform(0.2, 0.5, n)
    constants[:, LINK.centre] = rng.uniform(-0.1, 0.4, n)
    constants[:, LINK.stiffness] = rng.uniform(0.0, 50.0, n)
    constants[:, LINK.damping] = rng.uniform(0.0, 2.0, n)
    chain.q[:], chain.u[:], chain.rest[:] = rng.normal(size=(3, n))
    return chain


def dense(chain: Chain) -> tuple[FloatArray, FloatArray]:
    """Return M and the joints' moments less those of weight and velocity, by the centres' Jacobians."""
    n = len(chain.q)
    constants = chain.constants
    theta, omega = np.cumsum(chain.q), np.cumsum(chain.u)
    along = np.column_stack([np.cos(theta), np.sin(theta)])
    across = np.column_stack([-np.sin(theta), np.cos(theta)])
    mass, moments = np.zeros((n, n)), -constants[:, LINK.damping] * chain.u
    moments += constants[:, LINK.stiffness] * (chain.rest - chain.q)
    for i in range(n):
        arms = np.append(constants[:i, LINK.length], constants[i, LINK.centre])
        # Rows: velocity of centre i by the links' own angular velocities, then by the joints' rates.
        by_links = arms[:, None] * across[: i + 1]
        by_joints = np.zeros((n, 2))
        by_joints[: i + 1] = np.cumsum(by_links[::-1], axis=0)[::-1]
        centripetal = -(arms * omega[: i + 1] ** 2) @ along[: i + 1]
        turn = (np.arange(n) <= i).astype(float)
        mass += constants[i, LINK.mass] * by_joints @ by_joints.T + constants[i, LINK.inertia] * np.outer(
            turn, turn
        )
        moments -= constants[i, LINK.mass] * by_joints @ (centripetal + np.array([0.0, chain.gravity[0]]))
    return mass, moments


def complex_columns(chain: Chain, j: int) -> list[FloatArray]:
    """Return column j of f_x and of f_v by a step of 1e-30 along the imaginary axis."""
    found = []
    for moved in ("q", "u"):
        arrays: Any = [array.astype(np.complex128) for array in chain]
        twin: Any = Chain(*arrays)
        getattr(twin, moved)[j] += 1e-30j
        accelerate(twin, twin.acceleration)
        found.append(twin.acceleration.imag / 1e-30)
    return found


@pytest.mark.parametrize("n", SIZES)
def test_the_recursion_accelerates_as_the_mass_matrix_does(n: int) -> None:
    for seed in range(5):
        chain = any_chain(n, seed)
        accelerate(chain, chain.acceleration)
        mass, moments = dense(chain)
        expected = np.linalg.solve(mass, moments)
        np.testing.assert_allclose(chain.acceleration, expected, rtol=0, atol=1e-10 * np.abs(expected).max())


@pytest.mark.parametrize("n", SIZES)
def test_exact_columns_are_those_of_the_complex_step(n: int) -> None:
    chain = any_chain(n, 11)
    accelerate(chain, chain.acceleration)
    sum_outboard(chain)
    found = np.empty((2, n))
    for j in range(n):
        analytic_column(chain, j, found[0], found[1])
        for ours, expected in zip(found, complex_columns(chain, j), strict=True):
            np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-11 * np.abs(expected).max())


@pytest.mark.parametrize("n", SIZES)
def test_differences_are_close_to_exact_columns_and_leave_the_state(n: int) -> None:
    chain = any_chain(n, 12)
    before = [array.copy() for array in (chain.q, chain.u)]
    accelerate(chain, chain.acceleration)
    kept = chain.acceleration.copy()
    found = np.empty((2, n))
    for j in range(n):
        numerical_column(chain, j, found[0], found[1])
        for ours, expected in zip(found, complex_columns(chain, j), strict=True):
            np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-5 * max(1.0, np.abs(expected).max()))
    for array, old in zip((chain.q, chain.u, chain.acceleration), (*before, kept), strict=True):
        np.testing.assert_array_equal(array, old)


def test_a_hanging_chain_hangs_on() -> None:
    """Straight down, no springs: an equilibrium, found as such by the first step."""
    chain, euler = chain_of(5), implicit_euler(5, 1e-2)
    chain.q[0] = -0.5 * np.pi
    assert advance_chain_often(chain, euler, int(Policy.FULL), 1, False, 100) == 100
    np.testing.assert_allclose(np.cumsum(chain.q), -0.5 * np.pi, rtol=0, atol=1e-9)


def runge_kutta(chain: Chain, step: float, steps: int) -> None:
    """Move a chain by the classical formula of fourth order."""

    def slope(state: FloatArray) -> FloatArray:
        chain.q[:], chain.u[:] = state
        accelerate(chain, chain.acceleration)
        return np.stack([state[1], chain.acceleration])

    state = np.stack([chain.q, chain.u])
    for _ in range(steps):
        first = slope(state)
        second = slope(state + 0.5 * step * first)
        third = slope(state + 0.5 * step * second)
        fourth = slope(state + step * third)
        state = state + step / 6.0 * (first + 2.0 * second + 2.0 * third + fourth)
    chain.q[:], chain.u[:] = state


@pytest.mark.parametrize("policy", list(Policy))
def test_every_policy_converges_to_the_true_motion_with_order_one(policy: Policy) -> None:
    """Even the Jacobian of t = 0 for all time: (4) then is another formula, still consistent."""

    def start() -> Chain:
        return chain_of(4, stiffness=20.0, damping=0.5)

    true = start()
    runge_kutta(true, 1e-3, 200)
    errors = []
    for step in (5e-4, 2.5e-4):
        chain, euler = start(), implicit_euler(4, step)
        steps = round(0.2 / step)
        assert advance_chain_often(chain, euler, int(policy), 1, False, steps) == steps
        errors.append(np.abs(chain.q - true.q).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(1.0, abs=0.1)
    assert errors[1] < 2e-3


def test_numerical_and_exact_columns_drive_alike() -> None:
    ends = []
    for numerical in (False, True):
        chain, euler = any_chain(6, 3), implicit_euler(6, 1e-3)
        assert advance_chain_often(chain, euler, int(Policy.ROUND_ROBIN), 2, numerical, 200) == 200
        ends.append(chain.q.copy())
    np.testing.assert_allclose(ends[1], ends[0], rtol=0, atol=1e-6)


def test_a_round_robin_of_all_columns_is_full_renewal() -> None:
    ends = []
    for policy in (Policy.FULL, Policy.ROUND_ROBIN):
        chain, euler = any_chain(6, 4), implicit_euler(6, 2e-3)
        assert advance_chain_often(chain, euler, int(policy), 6, False, 300) == 300
        ends.append(chain.q.copy())
    np.testing.assert_allclose(ends[1], ends[0], rtol=0, atol=1e-8)


def test_only_the_due_columns_are_renewed() -> None:
    renewed = {Policy.FULL: 0, Policy.ROUND_ROBIN: 3 * 9, Policy.FASTEST: 9, Policy.NONE: 0}
    for policy, replaced in renewed.items():
        chain, euler = chain_of(5, stiffness=100.0, damping=1.0), implicit_euler(5, 1e-3)
        for _ in range(10):
            assert advance_chain(chain, euler, int(policy), 3, False) == 0
        assert euler.counts[COUNT.steps] == 10
        assert euler.counts[COUNT.replaced] == replaced
        assert euler.counts[COUNT.inversions] == (policy != Policy.FULL)
