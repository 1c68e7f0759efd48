"""Kang and Yoon recomputed: structure of their car, and multiplications of the four methods.

The car is rebuilt from the text (``mastd/counting/paper_car.py``); tree, cuts and groups are
found, not given. Multiplications follow Tables 1–3 (``operation_formulas.py``); the paper prints their sums
only in per cent of those of Lagrange multipliers with LU.

* Independent coordinates: 12.8 % beside 12.0 %. Solving each group's Φ_d for B_di and g_di, (28) and (30),
  and the dependent accelerations (27) are 0.7 points, and Table 3 does not list them: without, it is 12.2 %.
  As much again is the rack's column in B_di of the front corners, which the f_j of Table 3, the independent
  coordinates of the group itself, leaves out.
* Coordinate partitioning: 61.5 % beside 62.3 %, with M and R = [B_di; 1] as full matrices. The products M R
  and Rᵀ (M R) are half of it. If of the second only one half is formed, as it is symmetric, it is 57.4 %.
* Reduced Lagrange multipliers: 80.7 % beside 80.6 %, with M as a full matrix and one half of Φ M⁻¹ Φᵀ; M⁻¹ Φᵀ
  is nearly half of all. With all of Φ M⁻¹ Φᵀ it is 91.4 %.

So these two come out each by itself within a point, but no one rule about symmetric products gives both. The
text says that the doubly bordered form serves them as well. With it throughout, 14.8 % and 22.5 % are left:
the paper's totals do not come from that, they are those of full matrices.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mastd.counting.operation_formulas import (
    OUTSIDE_THE_TABLES,
    Extent,
    Method,
    Step,
    kinematics_of,
    steps_of,
    total,
)
from mastd.counting.paper_car import paper_car
from mastd.formulations.tree.body_groups import BodyGroup, body_groups
from mastd.formulations.tree.topology import Topology, topology_of
from mastd.reproduce.item import Item, answer, compare
from mastd.vehicle.model.definition import Model

PAPER_PERCENT: Final = {Method.INDEPENDENT: 12.0, Method.PARTITIONING: 62.3, Method.REDUCED_LAGRANGE: 80.6}
"""Section 4: percent of the multiplications of Lagrange multipliers with LU."""

NEAREST: Final = {Method.PARTITIONING: Extent.WHOLE, Method.REDUCED_LAGRANGE: Extent.HALF}
"""What of the matrices is formed where that is not told: what comes nearest to the paper."""

POINT: Final = 1.0
"""Percentage points by which ours may differ without being explained."""

SPOKEN: Final = {
    Method.LAGRANGE: "Lagrange multipliers with LU",
    Method.INDEPENDENT: "independent coordinates",
    Method.PARTITIONING: "coordinate partitioning",
    Method.REDUCED_LAGRANGE: "reduced Lagrange multipliers",
}

FORMED: Final = {
    Extent.WHOLE: "all entries of all products",
    Extent.HALF: "one half of symmetric products",
    Extent.STRUCTURE: "nothing that is zero by structure",
}

OF: Final = f"of those of {SPOKEN[Method.LAGRANGE]}"


def items() -> list[Item]:
    """Return every comparison with Kang and Yoon."""
    model = paper_car()
    topology = topology_of(model)
    groups = body_groups(model, topology)
    return [*_structure(model, topology, groups), *_formulas(model, topology, groups)]


def _structure(model: Model, topology: Topology, groups: Sequence[BodyGroup]) -> list[Item]:
    rows = sum(model.primitives[cut].kind.rows for cut in topology.cuts)
    found = {
        "bodies": ("bodies", 22, len(model.bodies)),
        "coordinates": ("coordinates of the spanning tree", 39, topology.coordinates),
        "cuts": ("ball joints cut", 8, len(topology.cuts)),
        "equations": ("equations of the cuts", 24, rows),
        "freedoms": ("degrees of freedom", 15, topology.coordinates - rows),
        "groups": ("body groups", 10, len(groups)),
    }
    return [
        compare(f"001.structure.{name}", f"section 3.3, {what}, found from the joints", paper, ours, "1")
        for name, (what, paper, ours) in found.items()
    ]


def _formulas(model: Model, topology: Topology, groups: Sequence[BodyGroup]) -> list[Item]:
    """Multiplications by the formulas: of each step, in all, and in per cent."""
    shared = kinematics_of(model, topology, groups)
    steps = {
        method: steps_of(model, topology, groups, method, NEAREST.get(method, Extent.WHOLE))
        for method in Method
    }
    sums = {method: total(shared) + total(steps[method]) for method in Method}
    reference = sums[Method.LAGRANGE]
    found = _step_items("kinematics", "all methods", shared)
    for method in Method:
        found += _step_items(method.value, SPOKEN[method], steps[method])
        what = f"multiplications by formula, {SPOKEN[method]}, in all"
        found.append(answer(f"001.formula.{method.value}.total", what, sums[method], "1"))
        if method in PAPER_PERCENT:
            found.append(_percentage(method, "percent", "in all", sums[method] / reference))
    tables = [step for step in steps[Method.INDEPENDENT] if step.name not in OUTSIDE_THE_TABLES]
    part = (total(shared) + total(tables)) / reference
    found.append(
        _percentage(Method.INDEPENDENT, "tables_percent", "Tables 1-3 and the Cholesky solution alone", part)
    )
    for method, nearest in NEAREST.items():
        for extent in Extent:
            if extent is nearest:
                continue
            other = total(shared) + total(steps_of(model, topology, groups, method, extent))
            what = f"multiplications by formula, {SPOKEN[method]}, {FORMED[extent]}, {OF}"
            identifier = f"001.formula.{method.value}.{extent.value}_percent"
            found.append(answer(identifier, what, 100.0 * other / reference, "%"))
    return found


def _percentage(method: Method, name: str, which: str, ratio: float) -> Item:
    return compare(
        f"001.formula.{method.value}.{name}",
        f"section 4: multiplications by formula, {SPOKEN[method]}, {which}, {OF}",
        PAPER_PERCENT[method],
        100.0 * ratio,
        "%",
        absolute=POINT,
    )


def _step_items(prefix: str, spoken: str, steps: Sequence[Step]) -> list[Item]:
    return [
        answer(
            f"001.formula.{prefix}.{step.name}",
            f"multiplications by formula, {spoken}: {step.what}",
            step.multiplications,
            "1",
        )
        for step in steps
    ]
