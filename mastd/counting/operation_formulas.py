"""Multiplications of the four methods of Kang and Yoon, step by step: Tables 1–3, and what they leave out.

The tables cover kinematics, mass matrix and forces, and the independent velocity matrices. Of the solution
the paper names only the means: LU of the n + m equations for Lagrange multipliers; Cholesky of the doubly
bordered block-diagonal matrix for independent coordinates. For coordinate partitioning and reduced Lagrange
multipliers it prints nothing but totals. Products of matrices and solutions are counted here by the textbook:
divisions count as multiplications, square roots do not. How much of the matrices of these two is inspected
is the choice of ``Extent``; the paper does not tell.

Coordinates that are prescribed (driven, or held) take part in the kinematics and in nothing else. Rows of
distances and dots, which the paper's car does not have, are counted by ``_ROWS``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from mastd.counting.column_patterns import Patterns
from mastd.counting.symbolic import (
    cholesky,
    cholesky_solution,
    eliminated,
    forward_reach,
    lu,
    lu_solution,
    sparse_cholesky,
    sparse_solution,
)
from mastd.formulations.tree.body_groups import BodyGroup
from mastd.formulations.tree.topology import Topology
from mastd.vehicle.joints.primitive import PrimitiveKind
from mastd.vehicle.model.definition import Model


class Method(StrEnum):
    """The methods that section 4 of Kang and Yoon compares."""

    LAGRANGE = "lagrange"
    INDEPENDENT = "independent"
    PARTITIONING = "partitioning"
    REDUCED_LAGRANGE = "reduced_lagrange"


class Extent(StrEnum):
    """What coordinate partitioning and reduced Lagrange multipliers form of their matrices."""

    WHOLE = "whole"
    """All entries of all products."""
    HALF = "half"
    """Of products that are symmetric, one half and the diagonal."""
    STRUCTURE = "structure"
    """Of these only what can be other than zero by the bodies' and groups' places in the tree."""


OUTSIDE_THE_TABLES: Final = ("dependent_lu", "dependent_solutions", "dependent_accelerations")
"""Steps of independent coordinates that Table 3 does not list."""


@dataclass(frozen=True)
class Step:
    """One step of a method."""

    name: str
    what: str
    multiplications: int


_ROWS: Final = {
    PrimitiveKind.SPHERICAL: (0, 0),
    PrimitiveKind.DISTANCE: (13, 3),
    PrimitiveKind.DOT_1: (64, 3),
    PrimitiveKind.DOT_2: (43, 6),
}
"""Of a primitive's value, derivative and velocity terms: in all, and for each coordinate. Those of a ball
joint are differences of what Table 1 gives for its two points."""


def total(steps: Sequence[Step]) -> int:
    """Return the multiplications of all steps."""
    return sum(step.multiplications for step in steps)


def kinematics_of(model: Model, topology: Topology, groups: Sequence[BodyGroup]) -> tuple[Step, ...]:
    """Return the multiplications of Table 1, which all methods share, step by step."""
    return _Formulas(model, topology, Patterns(model, topology, groups)).kinematics()


def steps_of(
    model: Model,
    topology: Topology,
    groups: Sequence[BodyGroup],
    method: Method,
    extent: Extent = Extent.WHOLE,
) -> tuple[Step, ...]:
    """Return the multiplications of one evaluation of all accelerations after the kinematics, step by step.

    ``extent`` concerns coordinate partitioning and reduced Lagrange multipliers alone.
    """
    formulas = _Formulas(model, topology, Patterns(model, topology, groups))
    if method is Method.LAGRANGE:
        return formulas.lagrange()
    if method is Method.INDEPENDENT:
        return formulas.independent()
    if extent is Extent.STRUCTURE:
        return formulas.sparse_partitioning() if method is Method.PARTITIONING else formulas.sparse_reduced()
    full = formulas.partitioning if method is Method.PARTITIONING else formulas.reduced
    return full(symmetric_by_half=extent is Extent.HALF)


class _Formulas:
    def __init__(self, model: Model, topology: Topology, patterns: Patterns) -> None:
        self.model = model
        self.topology = topology
        self.patterns = patterns
        self.rows = len(patterns.constraint_rows)
        self.free = len(patterns.unknown)
        self.independent_count = len(patterns.independent)

    def kinematics(self) -> tuple[Step, ...]:
        """Table 1; the lowest body of its minus signs is the chassis, and 15 NRB⁻ is read as 15 Nb⁻."""
        links = self.topology.links
        bodies, coordinates = len(links), self.topology.coordinates
        upper = bodies - 1
        upper_coordinates = coordinates - links[0].joint.coordinates
        primitives = [self.model.primitives[cut] for cut in self.topology.cuts]
        ends = [
            end
            for primitive in primitives
            if primitive.kind is not PrimitiveKind.DOT_1
            for end in (primitive.first, primitive.second)
        ]
        points = len(ends)
        turning = {link.body: self.patterns.lower_rotations(link.body) for link in links}
        return (
            Step("rotations", "R of each body, (4)", 27 * upper),
            Step("positions", "d, centres and points p, (5), (12), (13)", 9 * (upper + bodies + points)),
            Step("velocities", "ω and v, (6)", 3 * coordinates + 6 * upper),
            Step("joint_matrices", "W and U of each joint, (7)", 9 * upper_coordinates),
            Step(
                "velocity_matrices",
                "V of bodies and points, (9), (16)",
                6 * (sum(turning.values()) + sum(turning[end] for end in ends)),
            ),
            Step(
                "joint_terms",
                "γ_ω and γ_d, (11)",
                3 * sum(link.joint.rotations for link in links) + 15 * upper,
            ),
            Step("point_terms", "γ_v and γ_p, (16)", 12 * upper + 18 * (bodies + points)),
            Step("inertias", "I of each body in inertial axes", 45 * bodies),
            *self._constraint_rows(),
        )

    def _constraint_rows(self) -> tuple[Step, ...]:
        count = 0
        for cut in self.topology.cuts:
            once, each = _ROWS[self.model.primitives[cut].kind]
            count += once + each * len(self.patterns.cut_columns(cut))
        return (
            (Step("constraint_rows", "Φ, Φ_q and g_c beyond those of ball joints", count),) if count else ()
        )

    def _system(self, columns: Sequence[tuple[int, int]]) -> tuple[Step, Step]:
        """Table 2, for the numbers of columns of V and W of each body."""
        mass = sum(3 * v + 3 * (v + 1) * v // 2 + 9 * w + 3 * (w + 1) * w // 2 for v, w in columns)
        force = sum(27 + 3 * (v + w) for v, w in columns)
        return Step("mass_matrix", "M, (18)", mass), Step("forces", "f, (19)", force)

    def _dependent_system(self) -> tuple[Step, Step]:
        return self._system([self.patterns.columns(link.body) for link in self.topology.links])

    def lagrange(self) -> tuple[Step, ...]:
        """Eq. (23): LU of n + m equations."""
        size = self.free + self.rows
        return (
            *self._dependent_system(),
            Step("lu", "LU of all n + m equations, (23)", lu(size)),
            Step("solution", "forward and back substitution", lu_solution(size)),
        )

    def independent(self) -> tuple[Step, ...]:
        """Eqs. (28), (30) group by group; Table 3; Table 2 with independent columns; Cholesky."""
        patterns = self.patterns
        counts = [patterns.dependent_counts(link.body) for link in self.topology.links]
        velocities = 3 * sum(count * width for body in counts for count, width in body)
        accelerations = 3 * sum(count for body in counts for count, _ in body)
        columns = [patterns.independent_columns(link.body) for link in self.topology.links]
        below = eliminated(patterns.reduced_mass())
        return (
            *self._group_solutions(),
            Step("independent_matrices", "V_di and W_di, (33), (34)", velocities),
            Step("independent_terms", "γ_v,di and γ_ω,di, (35), (36)", accelerations),
            *self._system(columns),
            Step("cholesky", "Cholesky", sparse_cholesky(below)),
            Step("solution", "forward and back substitution", sparse_solution(below)),
            self._dependent_accelerations(),
        )

    def _group_solutions(self) -> tuple[Step, Step]:
        """B_di and g_di by the LU of each group's Φ_d."""
        groups = self.patterns.group_sizes
        factors = sum(lu(rows) for rows, _ in groups)
        return (
            Step("dependent_lu", "LU of Φ_d, group by group", factors),
            Step(
                "dependent_solutions",
                "B_di and g_di, (28), (30), group by group",
                sum((width + 1) * lu_solution(rows) for rows, width in groups),
            ),
        )

    def _dependent_accelerations(self) -> Step:
        """(27), group by group."""
        return Step(
            "dependent_accelerations",
            "accelerations of dependent coordinates, (27)",
            sum(rows * width for rows, width in self.patterns.group_sizes),
        )

    def partitioning(self, *, symmetric_by_half: bool) -> tuple[Step, ...]:
        """R = [B_di; 1] of all coordinates; (Rᵀ M R) q_i = Rᵀ (f − M [g_di; 0]), all matrices full."""
        n, m, k = self.free, self.rows, self.independent_count
        return (
            *self._dependent_system(),
            Step("dependent_lu", "LU of Φ_d", lu(m)),
            Step("dependent_solutions", "B_di and g_di, (28), (30)", (k + 1) * lu_solution(m)),
            Step("product", "M R", n * n * k),
            Step("projected_mass", "Rᵀ (M R)", n * _entries(k, symmetric_by_half)),
            Step("projected_forces", "Rᵀ (f − M g)", n * n + n * k),
            Step("cholesky", "Cholesky", cholesky(k)),
            Step("solution", "forward and back substitution", cholesky_solution(k)),
            Step("dependent_accelerations", "accelerations of dependent coordinates, (27)", m * k),
        )

    def reduced(self, *, symmetric_by_half: bool) -> tuple[Step, ...]:
        """(Φ M⁻¹ Φᵀ) λ = g_c − Φ M⁻¹ f, then M q = f + Φᵀ λ; all matrices full."""
        n, m = self.free, self.rows
        return (
            *self._dependent_system(),
            Step("mass_cholesky", "Cholesky of M", cholesky(n)),
            Step("mass_solutions", "M⁻¹ Φᵀ and M⁻¹ f", (m + 1) * cholesky_solution(n)),
            Step("multiplier_equations", "Φ M⁻¹ Φᵀ and Φ M⁻¹ f", n * _entries(m, symmetric_by_half) + n * m),
            Step("cholesky", "Cholesky", cholesky(m)),
            Step("solution", "forward and back substitution", cholesky_solution(m)),
            Step("accelerations", "accelerations, M q = f + Φᵀ λ", n * m + cholesky_solution(n)),
        )

    def sparse_partitioning(self) -> tuple[Step, ...]:
        """As ``partitioning``, without what is zero by structure, and [.; 1] of R without products."""
        patterns = self.patterns
        mass, images = patterns.mass(), patterns.images
        unknown, kept = patterns.unknown, set(patterns.independent)
        dependent = [column for column in unknown if column not in kept]
        product = {  # M R: per row, the columns that are not zero
            row: {image for column in mass[row] for image in images[column]} for row in unknown
        }
        first = sum(len(images[column]) for row in unknown for column in mass[row] if column not in kept)
        # of the half of Rᵀ (M R) with higher bodies' columns: rows of lower ones need no product there
        second = sum(
            sum(other >= image for other in product[column])
            for column in dependent
            for image in images[column]
        )
        force = sum(column not in kept for row in unknown for column in mass[row])
        force += sum(len(images[column]) for column in dependent)
        below = eliminated(patterns.reduced_mass())
        return (
            *self._dependent_system(),
            *self._group_solutions(),
            Step("product", "M R", first),
            Step("projected_mass", "Rᵀ (M R)", second),
            Step("projected_forces", "Rᵀ (f − M g)", force),
            Step("cholesky", "Cholesky", sparse_cholesky(below)),
            Step("solution", "forward and back substitution", sparse_solution(below)),
            self._dependent_accelerations(),
        )

    def sparse_reduced(self) -> tuple[Step, ...]:
        """As ``reduced``, without what is zero by structure: M = L Lᵀ, Y = L⁻¹ Φᵀ, (Yᵀ Y) λ = …"""
        patterns = self.patterns
        below = eliminated(patterns.mass())
        reached = [forward_reach(below, row) for row in patterns.constraint_rows]
        forward = sum(1 + len(below[column]) for reach in reached for column in reach)
        pairs = [
            len(reached[row] & reached[other]) for row in range(self.rows) for other in range(row, self.rows)
        ]
        half = sparse_solution(below) // 2
        entries = sum(len(reach) for reach in reached)
        return (
            *self._dependent_system(),
            Step("mass_cholesky", "Cholesky of M", sparse_cholesky(below)),
            Step("mass_solutions", "L⁻¹ Φᵀ and L⁻¹ f", forward + half),
            Step("multiplier_equations", "Φ M⁻¹ Φᵀ and Φ M⁻¹ f", sum(pairs) + entries),
            Step("cholesky", "Cholesky", cholesky(self.rows)),
            Step("solution", "forward and back substitution", cholesky_solution(self.rows)),
            Step("accelerations", "accelerations, M q = f + Φᵀ λ", entries + half),
        )


def _entries(size: int, by_half: bool) -> int:
    return size * (size + 1) // 2 if by_half else size**2
