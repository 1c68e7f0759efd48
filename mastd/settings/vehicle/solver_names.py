"""Names of the ways to solve a vehicle's equations, and which time integrators go with them."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, get_args

NewtonFormulation: TypeAlias = Literal["chassis", "inertial"]
"""Kang 2014: relative to the chassis with a constant (chord) Jacobian, and the usual full Newton."""
TreeFormulation: TypeAlias = Literal[
    "lagrange",
    "reduced-lagrange",
    "partitioning",
    "independent",
    "subsystem-joint",
    "subsystem-cartesian",
    "partial-jacobian",
]
"""Kang and Yoon (and what they compare with), Song and Kim, KR 10-1310276: accelerations
of tree coordinates."""
Formulation: TypeAlias = Literal[NewtonFormulation, TreeFormulation]
Integrator: TypeAlias = Literal["generalized-alpha", "runge-kutta", "adams-bashforth", "implicit-euler"]
JacobianPolicy: TypeAlias = Literal["full", "round-robin", "fastest", "none"]
"""Columns of the Jacobian that implicit Euler recomputes in a step, KR 10-1310276."""

NEWTON_FORMULATIONS: Final[tuple[NewtonFormulation, ...]] = get_args(NewtonFormulation)
TREE_FORMULATIONS: Final[tuple[TreeFormulation, ...]] = get_args(TreeFormulation)
FORMULATIONS: Final[tuple[Formulation, ...]] = (*NEWTON_FORMULATIONS, *TREE_FORMULATIONS)
TREE_INTEGRATORS: Final[tuple[Integrator, ...]] = ("runge-kutta", "adams-bashforth", "implicit-euler")
POLICIES: Final[tuple[JacobianPolicy, ...]] = get_args(JacobianPolicy)


def integrators_of(formulation: Formulation) -> tuple[Integrator, ...]:
    """Return the time integrators that go with a formulation, the usual one first."""
    if formulation in NEWTON_FORMULATIONS:
        return ("generalized-alpha",)
    if formulation == "partial-jacobian":
        return ("implicit-euler",)
    return TREE_INTEGRATORS


def misfit(
    formulation: Formulation, integrator: Integrator | None, policy: JacobianPolicy | None
) -> tuple[Literal["integrator", "jacobian"], str] | None:
    """Return the solver setting that conflicts with the others, and the reason; None where all agree.

    ``integrator`` None: the usual one; ``policy`` None: none was asked for.
    """
    fitting = integrators_of(formulation)
    steps_by = integrator or fitting[0]
    if steps_by not in fitting:
        return "integrator", f"solver {formulation} goes with {', '.join(fitting)}, not with {steps_by}"
    if policy is not None and steps_by != "implicit-euler":
        return "jacobian", f"{policy} goes with implicit-euler, solver {formulation} is stepped by {steps_by}"
    return None
