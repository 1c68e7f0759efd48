"""Operations of both coordinate sets of document 002 on a quarter car, by the steps of its Table 1.

The paper counts by hand what its formulas ask for; here the shipped kernels are counted as they are executed,
on the shipped quarter car (double wishbones, a tie rod without mass, the chassis as a base that is held). The
kernels leave out what is zero by structure, in the elimination of Ψ_z above all, which is most of the paper's
count of relative Cartesian coordinates.

What all formulations of ``mastd`` share stands apart (``shared``): gaps of all joints, their derivatives and
accelerations, and forces. So Position and RHS lack the joints' part in both sets; the set of Cartesian
coordinates needs all of it, that of joint coordinates what concerns the two joints that are cut.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from mastd.reproduce.item import Item, answer, at_most
from mastd.vehicle.formulations.counting import Stages, all_operations
from mastd.vehicle.formulations.counting_work import Extent

VEHICLE: Final = "quarter_car"
SETS: Final = {"cartesian": "relative Cartesian coordinates", "joint": "relative joint coordinates"}

PAPER: Final[Mapping[str, Mapping[str, tuple[int, int]]]] = {
    "cartesian": {
        "position": (401, 302),
        "velocity": (414, 302),
        "rhs": (245, 196),
        "mass_force": (3594, 3241),
        "effective": (25, 24),
        "acceleration": (49, 42),
    },
    "joint": {
        "position": (764, 727),
        "velocity": (290, 220),
        "rhs": (127, 194),
        "mass_force": (1290, 1139),
        "effective": (177, 160),
        "acceleration": (311, 292),
    },
}
"""Table 1: multiplications with divisions, additions with subtractions."""

SPOKEN: Final = {
    "position": "Position",
    "velocity": "Velocity",
    "rhs": "RHS",
    "mass_force": "Mass/Force",
    "effective": "Effective mass/force",
    "acceleration": "Acceleration",
}

_KINEMATICS: Final = ("closing/R, d", "closing/W, U", "closing/I")
STAGES: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "cartesian": {
        "position": _KINEMATICS,
        "velocity": ("look/ω, v",),
        "rhs": ("look/γ",),
        "mass_force": (
            "solve/state inertias",
            "solve/Ψ",
            "solve/M*, Q*",
            "solve/M*, Q*/state inertias",
        ),
        "effective": ("solve/effective",),
        "acceleration": ("solve/subsystem accelerations",),
    },
    "joint": {
        "position": (*_KINEMATICS, "closing/V", "closing/Φ_q"),
        "velocity": ("look/ω, v",),
        "rhs": ("look/γ",),
        "mass_force": (
            "solve/state inertias",
            "solve/M_yq, M_qq, P_q",
            "solve/Φ_u",
            "solve/M*, Q*",
        ),
        "effective": ("solve/effective",),
        "acceleration": ("solve/subsystem accelerations",),
    },
}
_SHARED: Final = ("joints", "joint rows", "frames", "forces", "tyres", "exchange")


@dataclass(frozen=True)
class Count:
    """Multiplications with divisions and roots, additions with subtractions."""

    multiplications: int
    additions: int

    @property
    def total(self) -> int:
        """Both, as the paper compares them."""
        return self.multiplications + self.additions


def items() -> list[Item]:
    """Return Table 1 of document 002 beside what the kernels execute."""
    wanted = [(VEHICLE, f"subsystem-{name}", Extent.EVALUATION) for name in SETS]
    counts = dict(zip(SETS, all_operations(wanted), strict=True))
    found, totals = [], {}
    for name, spoken in SETS.items():
        steps = {step: _count(counts[name], stages) for step, stages in STAGES[name].items()}
        for step, done in steps.items():
            paper = PAPER[name][step]
            prefix, what = f"002.operations.{name}.{step}", f"Table 1, {spoken}: {SPOKEN[step]}"
            found.append(_beside(f"{prefix}.multiplications", f"{what}, M·D", paper[0], done.multiplications))
            found.append(_beside(f"{prefix}.additions", f"{what}, A·S", paper[1], done.additions))
        totals[name] = sum(done.total for done in steps.values())
        printed = sum(map(sum, PAPER[name].values()))
        identifier, what = f"002.operations.{name}.total", f"Table 1, {spoken}: operations in all"
        found.append(at_most(identifier, what, printed, totals[name], "1", bound=printed))
    what = "Table 1: operations of Cartesian coordinates over those of joint coordinates"
    ratio = totals["cartesian"] / totals["joint"]
    found.append(Item("002.operations.ratio", what, 1.55, ratio, "1", ratio > 1.0))
    shared = _count(counts["joint"], [path for path in counts["joint"] if path.split("/")[-1] in _SHARED])
    what = "operations of what both sets share: all joints' gaps, derivatives and accelerations, and forces"
    found.append(answer("002.operations.shared", what, shared.total, "1"))
    return found


def _beside(identifier: str, what: str, paper: int, ours: int) -> Item:
    """Return the item of a figure that is shown beside the paper's, of another program."""
    return Item(identifier, what, paper, ours, "1", True)


def _count(stages: Stages, names: Sequence[str]) -> Count:
    parts = [stages[name] for name in names if name in stages]
    return Count(
        sum(part.multiplications + part.divisions + part.roots for part in parts),
        sum(part.additions for part in parts),
    )
