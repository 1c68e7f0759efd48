"""Multiplications that the shipped kernels execute on the car of Kang and Yoon, beside those of its formulas.

Both count divisions as multiplications. What is compared are the equations of motion of the tree; what comes
from the kernels that all formulations of ``mastd`` share (forces, residual forces, all joints' violations and
derivatives, also of joints that the tree needs no equations for) is reported once, as ``shared``.

The kernels of coordinate partitioning and of reduced Lagrange multipliers leave out what is zero by
structure; the paper's figures come from full matrices. Where that makes a share differ by more than a point,
each term tells the points that it makes (``points``), and these add up to the difference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from mastd.counting.operation_formulas import Extent, Method, kinematics_of, steps_of
from mastd.counting.operations import Stages, all_operations
from mastd.counting.paper_car import paper_car
from mastd.counting.work import Extent as Counted
from mastd.formulations.tree.body_groups import body_groups
from mastd.formulations.tree.topology import topology_of
from mastd.reproduce.item import Item, answer, compare
from mastd.reproduce.kang_yoon.tables import NEAREST, OF, PAPER_PERCENT, POINT, SPOKEN

SOLVERS: Final = {
    Method.LAGRANGE: "lagrange",
    Method.INDEPENDENT: "independent",
    Method.PARTITIONING: "partitioning",
    Method.REDUCED_LAGRANGE: "reduced-lagrange",
}


@dataclass(frozen=True)
class Term:
    """Steps of the formulas, and the stages that execute them."""

    name: str
    what: str
    steps: tuple[str, ...]
    stages: tuple[str, ...]
    why: str = ""
    """Why the two differ, in any method."""


KINEMATICS: Final = (
    Term(
        "places",
        "R, d and centres, (4), (5), (12), (13)",
        ("rotations", "positions"),
        ("constraints/R, d",),
        "attitudes are quaternions, and rotations in the joints are made here, which Table 1 leaves out",
    ),
    Term(
        "velocities",
        "ω and v, (6)",
        ("velocities",),
        ("evaluation/ω, v",),
        "velocities of centres, six more a body",
    ),
    Term(
        "joint_matrices",
        "W and U, (7)",
        ("joint_matrices",),
        ("constraints/W, U",),
        "axes of ball joints are those of the lower body and take none",
    ),
    Term(
        "velocity_matrices",
        "V, (9), (14), and Φ_q",
        ("velocity_matrices",),
        ("constraints/V", "constraints/Φ_q"),
        "Φ_q is made of the columns of the centres, not of V of the points",
    ),
    Term(
        "terms",
        "γ, (11), (16)",
        ("joint_terms", "point_terms"),
        ("evaluation/γ",),
        "those of the cuts' points stand in the shared kernels",
    ),
    Term("inertias", "I", ("inertias",), ("constraints/I",)),
)
_SYSTEM: Final = Term(
    "system",
    "M and f, (18), (19)",
    ("mass_matrix", "forces"),
    ("solve/M, f",),
    "27 of f for each body, I γ and ω × I ω, stand in the shared kernels",
)
_DEPENDENT: Final = Term(
    "dependent",
    "LU of Φ_d, B_di and g_di, (28), (30)",
    ("dependent_lu", "dependent_solutions"),
    ("constraints/LU of Φ_d", "constraints/B_di", "solve/g_di"),
    "group by group, and a division a row for the quality of the pivots",
)
_SMALL: Final = Term(
    "cholesky",
    "Cholesky and solution of the reduced equations",
    ("cholesky", "solution"),
    ("solve/Cholesky", "solve/solution/forward", "solve/solution/backward"),
    "doubly bordered and block-diagonal",
)
_DEPENDENT_RATES: Final = Term(
    "dependent_accelerations", "(27)", ("dependent_accelerations",), ("solve/q_d",), "group by group"
)

TERMS: Final[Mapping[Method, tuple[Term, ...]]] = {
    Method.LAGRANGE: (_SYSTEM, Term("lu", "LU and solution of (23)", ("lu", "solution"), ("solve/LU",))),
    Method.INDEPENDENT: (
        _DEPENDENT,
        Term(
            "independent_matrices",
            "V_di, W_di and γ_di, (33)–(36)",
            ("independent_matrices", "independent_terms"),
            ("solve/V_di, W_di",),
            "m γ and I γ of the new γ, 12 for each body above a dependent coordinate",
        ),
        _SYSTEM,
        _SMALL,
        _DEPENDENT_RATES,
    ),
    Method.PARTITIONING: (
        _SYSTEM,
        _DEPENDENT,
        Term(
            "projection",
            "M R, Rᵀ (M R), Rᵀ (f − M g)",
            ("product", "projected_mass", "projected_forces"),
            ("solve/projection",),
            "only where M and R have entries, none for the ones of R, and half of what is symmetric",
        ),
        _SMALL,
        _DEPENDENT_RATES,
    ),
    Method.REDUCED_LAGRANGE: (
        _SYSTEM,
        Term(
            "factors",
            "Cholesky of M and of Φ M⁻¹ Φᵀ",
            ("mass_cholesky", "cholesky"),
            ("solve/Cholesky",),
            "only where they have entries",
        ),
        Term(
            "mass_solutions",
            "M⁻¹ Φᵀ, M⁻¹ f",
            ("mass_solutions",),
            ("solve/forward",),
            "forward alone, L⁻¹ Φᵀ, and only where it has entries",
        ),
        Term(
            "multiplier_equations",
            "Φ M⁻¹ Φᵀ, Φ M⁻¹ f and M q = f + Φᵀ λ",
            ("multiplier_equations", "accelerations"),
            ("solve", "solve/backward"),
            "only where L⁻¹ Φᵀ has entries, and half of what is symmetric",
        ),
        Term(
            "multipliers",
            "solution for λ",
            ("solution",),
            ("solve/solution/forward", "solve/solution/backward"),
        ),
    ),
}


def items() -> list[Item]:
    """Return what the kernels execute of each method, term by term, in all, and in per cent."""
    formulas = {method: _formulas(method, NEAREST.get(method, Extent.WHOLE)) for method in Method}
    wanted = [("document-001", SOLVERS[method], Counted.EVALUATION) for method in Method]
    counts = dict(zip(Method, all_operations(wanted), strict=True))
    executed = {
        method: {term.name: _done(counts[method], term.stages) for term in (*KINEMATICS, *TERMS[method])}
        for method in Method
    }
    sums = {method: sum(terms.values()) for method, terms in executed.items()}
    reference, by_formula = sums[Method.LAGRANGE], sum(formulas[Method.LAGRANGE].values())
    found = []
    for term in KINEMATICS:
        steps = _steps(formulas[Method.LAGRANGE], term)
        count = executed[Method.LAGRANGE][term.name]
        found.append(
            answer(
                f"001.executed.kinematics.{term.name}", _told("all methods", term, steps, count), count, "1"
            )
        )
    for method in Method:
        for term in TERMS[method]:
            steps, count = _steps(formulas[method], term), executed[method][term.name]
            identifier = f"001.executed.{method.value}.{term.name}"
            found.append(answer(identifier, _told(SPOKEN[method], term, steps, count), count, "1"))
        what = f"multiplications executed, {SPOKEN[method]}, in all"
        found.append(answer(f"001.executed.{method.value}.total", what, sums[method], "1"))
        if method is Method.LAGRANGE:
            continue
        percent, expected = (
            100.0 * sums[method] / reference,
            100.0 * sum(formulas[method].values()) / by_formula,
        )
        found.append(_percentage(method, percent, expected))
        if abs(percent - expected) > POINT:
            for term in (*KINEMATICS, *TERMS[method]):
                points = 100.0 * executed[method][term.name] / reference
                points -= 100.0 * _steps(formulas[method], term) / by_formula
                what = f"points of the difference between executed and formula: {term.what}"
                identifier = f"001.executed.{method.value}.{term.name}_points"
                found.append(answer(identifier, what, points, "%"))
    shared = _all(counts[Method.LAGRANGE]) - sums[Method.LAGRANGE] - _projection(counts[Method.LAGRANGE])
    what = "multiplications executed by the kernels that all formulations share: joints and forces"
    found.append(answer("001.executed.shared", what, shared, "1"))
    return found


def _percentage(method: Method, percent: float, expected: float) -> Item:
    identifier, paper = f"001.executed.{method.value}.percent", PAPER_PERCENT[method]
    what = f"section 4: multiplications executed, {SPOKEN[method]}, {OF}"
    if abs(percent - expected) <= POINT:
        return compare(identifier, what, paper, percent, "%", absolute=POINT)
    return answer(identifier, f"{what}; the paper's {paper:g} % is that of full matrices", percent, "%")


def _told(spoken: str, term: Term, steps: int, count: int) -> str:
    what = f"multiplications executed, {spoken}: {term.what}; by formula {steps}"
    return f"{what}: {term.why}" if term.why and steps != count else what


def _formulas(method: Method, extent: Extent) -> dict[str, int]:
    model = paper_car()
    topology = topology_of(model)
    groups = body_groups(model, topology)
    steps = (*kinematics_of(model, topology, groups), *steps_of(model, topology, groups, method, extent))
    return {step.name: step.multiplications for step in steps}


def _steps(formula: Mapping[str, int], term: Term) -> int:
    return sum(formula[name] for name in term.steps)


def _done(stages: Stages, names: Sequence[str]) -> int:
    return sum(stages[name].multiplications + stages[name].divisions for name in names)


def _all(stages: Stages) -> int:
    return sum(part.multiplications + part.divisions for part in stages.values())


def _projection(stages: Stages) -> int:
    """Return what closes the joints of a method that needs no dependent coordinates for its accelerations."""
    names = "constraints/LU of Φ_d", "constraints/B_di", "constraints/b_di", "constraints/q_d", "solve/g_di"
    return _done(stages, [name for name in names if name in stages])
