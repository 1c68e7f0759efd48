"""Operations of both coordinate sets of Song and Kim on a quarter car, by the steps of its Table 1.

The paper counts by hand what its formulas ask for; here the shipped kernels are counted as they are executed,
on the shipped quarter car (double wishbones, a tie rod without mass, the chassis as a base that is held).
Where they differ:

* Position, Velocity, RHS: both sets take places and rates from the tree, where the paper's Cartesian set has
  its own coordinates (fewer operations) and its joint set general transformations C_ij and A″_ij at
  both sides of each joint (more; ours has one quaternion a joint).
* Mass/Force, Cartesian: three bodies make Ψ_z 18 × 18. Its full elimination with the columns of N and p takes
  5,001 operations (``full_elimination``); the paper's 6,835 suggest that it is among them. The kernels leave
  out zeros below a pivot, which is four fifths of it. In inertial axes G_i0 is 1 and costs nothing.
* Mass/Force, joint: a state inertia has ten numbers instead of 36, and so have sums of it.
* Effective mass/force, joint: the paper's contains M*, Q* and Q*_y, ours stand in Mass/Force.
* Acceleration, joint: those of the coordinates are the result; the paper continues to those of the bodies.

So the ratio depends on Ψ_z: both ratios are given, as executed and with a full Ψ_z.

What all formulations of ``mastd`` share is counted apart (``shared``): violations of joints, derivatives and
accelerations, and forces. So Position and RHS lack the joints' part in both sets; the set of Cartesian
coordinates needs all of it, that of joint coordinates what concerns the two joints that are cut.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from mastd.counting.operations import Stages, all_operations
from mastd.counting.work import Extent
from mastd.reproduce.item import Item, answer, at_most

VEHICLE: Final = "quarter_car"
SETS: Final = {"cartesian": "relative Cartesian coordinates", "joint": "relative joint coordinates"}

PAPER_RATIO: Final = 1.55
BODIES: Final = 3
"""Of the quarter car beside its chassis."""

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

_KINEMATICS: Final = ("constraints/R, d", "constraints/W, U", "constraints/I")
STAGES: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "cartesian": {
        "position": _KINEMATICS,
        "velocity": ("evaluation/ω, v",),
        "rhs": ("evaluation/γ",),
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
        "position": (*_KINEMATICS, "constraints/V", "constraints/Φ_q"),
        "velocity": ("evaluation/ω, v",),
        "rhs": ("evaluation/γ",),
        "mass_force": (
            "solve/state inertias",
            "solve/M_yq, M_qq, P_q",
            "constraints/LU of Φ_d",
            "constraints/B_di",
            "solve/g_di",
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


def full_elimination(size: int, sides: int) -> Count:
    """Return the operations that solve a full system of ``size`` equations with right-hand sides by LU."""
    below = size * (size - 1) // 2
    squares = (size - 1) * size * (2 * size - 1) // 6
    products = squares + 2 * sides * below
    return Count(products + below + size + sides * size, products)


def items() -> list[Item]:
    """Return Table 1 of Song and Kim beside what the kernels execute."""
    wanted = [(VEHICLE, f"subsystem-{name}", Extent.EVALUATION) for name in SETS]
    counts = dict(zip(SETS, all_operations(wanted), strict=True))
    found, totals = [], {}
    for name, spoken in SETS.items():
        steps = {step: _count(counts[name], stages) for step, stages in STAGES[name].items()}
        for step, done in steps.items():
            paper = PAPER[name][step]
            prefix = f"002.operations.{name}.{step}"
            what = f"Table 1, {spoken}: {SPOKEN[step]}, beside the paper's, not judged"
            found.append(_beside(f"{prefix}.multiplications", f"{what}, M·D", paper[0], done.multiplications))
            found.append(_beside(f"{prefix}.additions", f"{what}, A·S", paper[1], done.additions))
        totals[name] = sum(done.total for done in steps.values())
        printed = sum(map(sum, PAPER[name].values()))
        identifier, what = (
            f"002.operations.{name}.total",
            f"Table 1, {spoken}: operations in all: at most the paper's",
        )
        found.append(at_most(identifier, what, printed, totals[name], "1", bound=printed))
    what = "Table 1: operations of Cartesian coordinates over those of joint coordinates: above 1"
    ratio = totals["cartesian"] / totals["joint"]
    found.append(Item("002.operations.ratio", what, PAPER_RATIO, ratio, "1", ratio > 1.0))
    full = full_elimination(6 * BODIES, 2).total
    what = "Table 1: operations of a full elimination of Ψ_z with N and p, by formula"
    found.append(answer("002.operations.cartesian.full_elimination", what, full, "1"))
    more = totals["cartesian"] + full - _count(counts["cartesian"], ["solve/Ψ"]).total
    what = "Table 1: operations with a full Ψ_z over those of joint coordinates: above the printed ratio"
    ratio = more / totals["joint"]
    found.append(Item("002.operations.ratio_full", what, PAPER_RATIO, ratio, "1", ratio > PAPER_RATIO))
    shared = _count(counts["joint"], [path for path in counts["joint"] if path.split("/")[-1] in _SHARED])
    what = (
        "operations that both sets share: all joints' violations, derivatives and accelerations, and forces"
    )
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
