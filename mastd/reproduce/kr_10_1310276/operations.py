"""Operations of the steps of a chain, as polynomials of its number of links.

They are those of the shipped kernels, term by term; a test counts what the kernels really execute and finds
the same. Additions, subtractions, multiplications and divisions count, comparisons and changes of sign do
not; on top come a sine and a cosine of each link in each evaluation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from mastd.formulations.integrators.implicit_euler import Policy


@dataclass(frozen=True)
class Operations:
    """Coefficients of n³, n², n and 1: of multiplications with divisions, and of additions with
    subtractions."""

    multiplications: tuple[float, float, float, float]
    additions: tuple[float, float, float, float]

    def __call__(self, n: int) -> float:
        """Return how many operations a chain of ``n`` links takes."""
        cubic, square, linear, constant = (
            a + b for a, b in zip(self.multiplications, self.additions, strict=True)
        )
        return ((cubic * n + square) * n + linear) * n + constant


ACCELERATIONS: Final = Operations((0, 0, 46, 0), (0, 0, 35, -2))
"""f(q, q̇), once."""
OUTBOARD_SUMS: Final = Operations((0, 0, 21, 0), (0, 0, 25, 0))
"""What all exact columns of one state share."""
EXACT_COLUMN: Final = Operations((0, 0, 24.5, 6.5), (0, 0, 24.5, 4.5))
"""One column of f_x and of f_v, the mean over all columns."""
NUMERICAL_COLUMN: Final = Operations((0, 0, 94, 0), (0, 0, 72, 2))
"""One column of f_x and of f_v by (5)–(6): two more evaluations."""
REPLACEMENT: Final = Operations((0, 2, 3, 2), (0, 2, 3, 1))
"""The inverse follows one column."""
PRODUCTS: Final = Operations((0, 2, 6, 3), (0, 2, 3, 2))
"""(4) with the inverse at hand, one of its equations checked."""
FACTORISATION: Final = Operations((1 / 3, 4, 8 / 3, 0), (1 / 3, 2.5, 1 / 6, 0))
"""(4) with a new factorisation."""
MOVE: Final = Operations((0, 0, 1, 0), (0, 0, 2, 0))
"""(3)."""


def step_operations(policy: Policy, n: int, *, numerical: bool) -> float:
    """Return the operations of one step of a chain of ``n`` links that is not the first one."""
    common = ACCELERATIONS(n) + MOVE(n)
    if policy == Policy.NONE:
        return common + PRODUCTS(n)
    column = NUMERICAL_COLUMN(n) if numerical else EXACT_COLUMN(n)
    shared = 0.0 if numerical else OUTBOARD_SUMS(n)
    if policy == Policy.FULL:
        return common + shared + n * column + FACTORISATION(n)
    return common + shared + column + REPLACEMENT(n) + PRODUCTS(n)
