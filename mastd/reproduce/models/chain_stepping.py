"""Steps of a chain by implicit Euler (3)–(4) of KR 10-1310276, under each policy of updating the Jacobian."""

from __future__ import annotations

from mastd.arrays import FloatArray
from mastd.formulations.integrators.implicit_euler import (
    COUNT,
    LIMIT,
    POSITION_PERTURBATION,
    VELOCITY_PERTURBATION,
    ImplicitEuler,
    Policy,
    columns_to_update,
    invert,
    multiply_by_inverse,
    next_column,
    perturbation,
    put_column,
    replace_column,
    solve_by_factorisation,
)
from mastd.kernel import separate_kernel
from mastd.reproduce.models.chain import Chain, accelerate, analytic_column, sum_outboard


@separate_kernel
def numerical_column(chain: Chain, j: int, by_position: FloatArray, by_velocity: FloatArray) -> None:
    """Write column j of f_x and of f_v, (n) each, by the differences (5)–(6), after ``accelerate``.

    Two more evaluations of f; the state is left as it was, to the last bit.
    """
    _difference(chain, chain.q, j, POSITION_PERTURBATION, by_position)
    _difference(chain, chain.u, j, VELOCITY_PERTURBATION, by_velocity)


@separate_kernel
def _difference(chain: Chain, moved: FloatArray, j: int, relative: float, column: FloatArray) -> None:
    kept = moved[j]
    epsilon = perturbation(kept, relative)
    moved[j] = kept + epsilon
    accelerate(chain, column)
    moved[j] = kept
    for i in range(len(column)):
        column[i] = (column[i] - chain.acceleration[i]) / epsilon


@separate_kernel
def advance_chain(chain: Chain, euler: ImplicitEuler, policy: int, columns: int, numerical: bool) -> int:
    """Do one step; return 1 if A has become singular.

    ``policy`` is a ``Policy``, ``columns`` the number that a round robin updates in a step; ``numerical``
    takes them by differences instead of exactly. The first step updates all.
    """
    accelerate(chain, chain.acceleration)
    due = columns_to_update(euler, policy, columns)
    if due > 0 and not numerical:
        sum_outboard(chain)
    n = len(chain.q)
    failed = 0
    all_columns = policy == Policy.FULL or euler.counts[COUNT.steps] == 0
    for k in range(due):
        j = k if all_columns else next_column(euler, policy, chain.u)
        if numerical:
            numerical_column(chain, j, euler.position_column, euler.velocity_column)
        else:
            analytic_column(chain, j, euler.position_column, euler.velocity_column)
        if all_columns:
            put_column(euler, j)
        else:
            failed += replace_column(euler, j)
    if policy == Policy.FULL:
        failed += solve_by_factorisation(euler, chain.acceleration, chain.u)
    else:
        if all_columns:
            failed += invert(euler)
        failed += multiply_by_inverse(euler, chain.acceleration, chain.u)
    if failed != 0:
        return 1
    h = euler.limits[LIMIT.step]
    for i in range(n):
        chain.u[i] += euler.increment[i]
        chain.q[i] += h * chain.u[i]
    return 0


@separate_kernel
def advance_chain_often(
    chain: Chain, euler: ImplicitEuler, policy: int, columns: int, numerical: bool, steps: int
) -> int:
    """Do ``steps`` steps of ``advance_chain``; return how many were done before A became singular."""
    for done in range(steps):
        if advance_chain(chain, euler, policy, columns, numerical) != 0:
            return done
    return steps
