"""Jin 2012 (Jin, Na and Jeon 2012) recomputed: mobility, bounds, Tables 3 and 4, Figure 9, singularities.

Everything is computed from the geometry that is given; only the paper's own numbers stand here. Tolerances:
2 % for the means of Newton–Raphson, 0.5 % beyond the rounding of the printed digits elsewhere; the printed
standard deviations of the observer are ten times too small (a slip of the decimal point) and are compared as
ten times what is printed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mastd.arrays import FloatArray
from mastd.bench.kinematics.newton import NORMAL_ROWS
from mastd.bench.kinematics.rows import Rows, newton_rows, observe_rows
from mastd.kinematics import design, workspace
from mastd.kinematics.geometry import DEGREES_OF_FREEDOM, Geometry
from mastd.kinematics.observer import SolveLimits
from mastd.reproduce.item import Item, compare
from mastd.reproduce.jin_2012.workspace import find_singular_pose, isotropy, mobility, rank

# Section IV.1: the grid of 7⁶ poses (the paper's first "1" of the angles is −1).
GRID_TRANSLATIONS = np.array([-10.0, -5.0, -3.0, 0.0, 3.0, 5.0, 10.0]) * 1e-3
GRID_ANGLES = np.radians([-1.0, -0.5, -0.3, 0.0, 0.3, 0.5, 1.0])

# Section IV.3: ε of eq. (7).
TOLERANCE = 1e-6
_MAXIMUM_UPDATES = 20

# Section IV.4: two lengths are the same if they differ by no more than this.
_AGREEMENT = 1e-9

_SMALL = 0.005
_NEWTON_MEANS = 0.02


@dataclass(frozen=True)
class _Column:
    """One column of Table 3, µm."""

    updates_max: int
    updates_mean: float
    means: tuple[float, ...]
    deviations: tuple[float, ...]


_NEWTON = _Column(
    4,
    2.87,
    (0.00594, 0.00641, 0.00734, 0.00686, 0.00532, 0.00546, 0.00487),
    (0.05924, 0.05991, 0.05996, 0.06011, 0.03492, 0.03630, 0.02328),
)
_OBSERVER = _Column(
    5,
    3.64,
    (-0.0127, -0.0097, -0.0039, -0.0070, -0.0040, -0.0187, -0.0363),
    (0.0042, 0.0054, 0.0048, 0.0046, 0.0076, 0.0070, 0.0116),
)

# Table 4: actuators that move together, and how far to either side, mm.
_TABLE_4 = (((1, 2), 14), ((3, 4), 14), ((2, 3), 50), ((1, 4), 50), ((5,), 35), ((6,), 29), ((7,), 50))

# Eq. (10), rad.
_BOUNDS = (("roll", 0.062), ("pitch", 0.035), ("yaw", 0.035))

# Eq. (20), arms in mm.
_NEUTRAL_JACOBIAN = np.array(
    [
        [0, 0, 1, -800, 1400, 0],
        [0, 0, 1, 800, 1400, 0],
        [0, 0, 1, 800, -1400, 0],
        [0, 0, 1, -800, -1400, 0],
        [0, 1, 0, 0, 0, 1400],
        [0, 1, 0, 0, 0, -1400],
        [1, 0, 0, 0, 0, 0],
    ],
    dtype=np.float64,
)


def grid() -> FloatArray:
    """Return the 117,649 poses (m, 6) of section IV.1, m and rad."""
    axes = [GRID_TRANSLATIONS] * 3 + [GRID_ANGLES] * 3
    return np.ascontiguousarray(np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 6))


def items(geometry: Geometry) -> list[Item]:
    """Return every comparison with Jin 2012."""
    # Without the refusals of the observer: a geometry with an actuator left out is to show what it changes.
    gain = np.asfortranarray(np.linalg.pinv(design.neutral_jacobian(geometry)))
    poses = grid()
    return [
        compare(
            "004.mobility",
            "degrees of freedom by eq. (2): 6 of the table, 2 spins an actuator",
            20,
            mobility(geometry.actuators),
            "1",
        ),
        *_neutral(geometry),
        *_bounds(geometry),
        *_contraction(geometry, gain, poses),
        *_table_3(geometry, gain, poses),
        *_table_4(geometry, gain),
        _figure_9(geometry, poses),
        *_singular(geometry),
    ]


def _neutral(geometry: Geometry) -> list[Item]:
    jacobian = design.neutral_jacobian(geometry) * np.array([1.0, 1.0, 1.0, 1e3, 1e3, 1e3])
    same_shape = jacobian.shape == _NEUTRAL_JACOBIAN.shape
    difference = float(np.max(np.abs(jacobian - _NEUTRAL_JACOBIAN))) if same_shape else None
    return [
        compare(
            "004.jacobian.neutral_difference",
            "eq. (20): largest difference of an entry of Jᵀ at neutral, arms in mm",
            0,
            difference,
            "1, mm",
            absolute=1e-9,
        ),
        compare(
            "004.jacobian.neutral_rank",
            "rank of J at neutral",
            6,
            rank(geometry, np.zeros(6)),
            "1",
        ),
    ]


def _bounds(geometry: Geometry) -> list[Item]:
    """Eq. (10): the turn that alone uses up the stroke of an actuator, by J₀; the paper cuts it to 1 mrad."""
    jacobian = np.abs(design.neutral_jacobian(geometry))
    with np.errstate(divide="ignore"):
        bounds = np.min(geometry.strokes[:, None] / jacobian, axis=0)
    found = []
    for axis, (name, paper) in enumerate(_BOUNDS, start=3):
        ours = float(bounds[axis])
        what = f"eq. (10): bound of {name} by the strokes, cut to 1 mrad in print"
        within = paper <= ours < paper + 1e-3
        finite = ours if np.isfinite(ours) else None
        found.append(Item(f"004.bound.{name}_rad", what, paper, finite, "rad", within))
    return found


def _contraction(geometry: Geometry, gain: FloatArray, poses: FloatArray) -> list[Item]:
    radii = {
        "grid": float(np.max(workspace.contraction(geometry, gain, poses))),
        "stroke": workspace.stroke_contraction(geometry, gain),
    }
    domains = {"grid": "over the grid", "stroke": "over the whole stroke of every actuator"}
    return [
        Item(
            f"004.contraction.{name}",
            f"eqs. (17)–(18): largest spectral radius of I − K Jᵀ {domains[name]}; it converges below 1",
            1.0,
            radius,
            "1",
            radius < 1.0,
        )
        for name, radius in radii.items()
    ]


def _table_3(geometry: Geometry, gain: FloatArray, poses: FloatArray) -> list[Item]:
    lengths = workspace.lengths_at(geometry, poses)
    limits = SolveLimits(TOLERANCE, 0.0, _MAXIMUM_UPDATES)
    cold = np.zeros_like(poses)
    found: list[Item] = []
    for method, column, factor in (("observer", _OBSERVER, 10.0), ("newton", _NEWTON, 1.0)):
        rows = Rows.of(len(poses))
        if method == "observer":
            observe_rows(geometry.legs, gain, lengths, limits, cold, rows)
            name, means = "observer (15)", _SMALL
        else:
            newton_rows(geometry.legs, False, lengths, limits, cold, np.empty((NORMAL_ROWS, 6)), rows)
            name, means = "Newton–Raphson (8) with (9)", _NEWTON_MEANS
        converged = bool(rows.converged.all())
        errors = (workspace.lengths_at(geometry, rows.poses) - lengths) * 1e6
        prefix = f"004.table3.{method}"
        found += [
            compare(
                f"{prefix}.updates_max",
                f"Table 3, {name}: maximum updates",
                column.updates_max,
                float(rows.updates.max()) if converged else None,
                "1",
            ),
            compare(
                f"{prefix}.updates_mean",
                f"Table 3, {name}: mean of updates",
                column.updates_mean,
                float(rows.updates.mean()) if converged else None,
                "1",
                relative=_SMALL,
            ),
        ]
        digits = 0.5e-4 if method == "observer" else 0.5e-5
        mean_digits = digits if method == "observer" else 0.0
        for actuator, (mean, deviation) in enumerate(zip(column.means, column.deviations, strict=True)):
            present = converged and actuator < geometry.actuators
            found += [
                compare(
                    f"{prefix}.mean_um.{actuator + 1}",
                    f"Table 3, {name}: mean of g{actuator + 1}",
                    mean,
                    float(errors[:, actuator].mean()) if present else None,
                    "um",
                    relative=means,
                    absolute=mean_digits,
                ),
                compare(
                    f"{prefix}.sd_um.{actuator + 1}",
                    f"Table 3, {name}: standard deviation of g{actuator + 1}"
                    + (", ten times the printed figure" if factor != 1.0 else ""),
                    round(deviation * factor, 9),
                    float(errors[:, actuator].std()) if present else None,
                    "um",
                    relative=_SMALL,
                    absolute=digits * factor,
                ),
            ]
    return found


def _table_4(geometry: Geometry, gain: FloatArray) -> list[Item]:
    found = []
    for actuators, paper in _TABLE_4:
        ours = None
        if max(actuators) <= geometry.actuators:
            group = tuple(actuator - 1 for actuator in actuators)
            least, greatest = workspace.independent_range(geometry, gain, group, agreement=_AGREEMENT)
            ours = round(min(abs(least), greatest) * 1e3, 6)
        names = "_".join(str(actuator) for actuator in actuators)
        spoken = " and ".join(str(actuator) for actuator in actuators)
        what = f"Table 4: range ± in which actuator {spoken} may move alone, whole mm"
        found.append(compare(f"004.table4.links_{names}_mm", what, paper, ours, "mm"))
    return found


def _figure_9(geometry: Geometry, poses: FloatArray) -> Item:
    index = isotropy(geometry, np.vstack((np.zeros((1, DEGREES_OF_FREEDOM)), poses)))
    with np.errstate(divide="ignore", invalid="ignore"):
        change = float(np.max(np.abs(index[1:] / index[0] - 1.0))) * 100.0
    what = "Figure 9: largest change of the isotropy index over the grid"
    return compare("004.figure9.isotropy_change", what, 1.2, change, "%", absolute=0.05)


def _singular(geometry: Geometry) -> list[Item]:
    """Section III.5: shift the table until actuators 5 and 6 lie on one line, or 1 to 4 in one plane."""
    poses: dict[str, FloatArray | None] = {"figure_7b": None, "figure_8": None}
    vectors = geometry.neutral_vectors
    if geometry.actuators > 5:
        line = geometry.base_joints[4] - geometry.base_joints[5]
        along = np.linalg.norm(vectors[4]) * line / np.linalg.norm(line) - vectors[4]
        poses["figure_7b"] = np.concatenate((along, np.zeros(3)))
        flat = np.array([np.linalg.norm(vectors[0]), 0.0, 0.0]) - vectors[0]
        poses["figure_8"] = np.concatenate((flat, np.zeros(3)))
    whats = {
        "figure_7b": "Figure 7(b): distance to singularity where actuators 5 and 6 are collinear",
        "figure_8": "Figure 8: distance to singularity where actuators 1 to 4 are coplanar",
    }
    found = []
    for name, pose in poses.items():
        # Found from nearby, not only confirmed: 20 mm and 20 mrad beside the pose that the paper describes.
        distance = None if pose is None else find_singular_pose(geometry, pose + 0.02)[1]
        found.append(compare(f"004.singular.{name}", whats[name], 0, distance, "1", absolute=1e-9))
    return found
