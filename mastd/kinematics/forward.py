"""Forward kinematics for callers: solvers as frozen objects, and the one kernel of the control cycle.

``Observer`` is the paper's solver (section III.4) with everything precomputed; ``Newton`` serves geometries
on which the observer does not contract. Both answer with a ``ForwardSolution`` and never with a wrong number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from mastd.arrays import FloatArray
from mastd.errors import KinematicsError
from mastd.kernel import fused_kernel
from mastd.kinematics import design
from mastd.kinematics.batch import observe_batch
from mastd.kinematics.geometry import DEGREES_OF_FREEDOM, Geometry, Legs
from mastd.kinematics.newton import newton
from mastd.kinematics.observer import observe, observe_from_neutral, observe_second_order
from mastd.kinematics.rotation import rotation
from mastd.kinematics.workspace import lengths_at, stroke_contraction

__all__ = [
    "ForwardSolution",
    "Newton",
    "Observer",
    "newton",
    "null_residual",
    "observe",
    "observe_batch",
    "observe_from_neutral",
    "observe_second_order",
]


# Σ|l̂ − l| of eq. (7) at which a solve ends: ε = 1 µm in section IV.3 of the paper.
TOLERANCE = 1e-6

# Size of the last update at which a solve of measured lengths ends.
UPDATE_TOLERANCE = 1e-8

MAXIMUM_UPDATES = 20

# Above this spectral radius a table would need too many updates within its strokes to serve a control cycle.
MAX_CONTRACTION = 0.5


@dataclass(frozen=True, eq=False)
class ForwardSolution:
    """Answer of a solver: ``pose`` (6,) in m and rad, or None if not converged; residual Σ|l̂ − l| in m."""

    pose: FloatArray | None
    converged: bool
    updates: int
    residual: float


@dataclass(frozen=True, eq=False)
class Observer:
    """Observer of a geometry, eqs. (11)–(18); everything but the first five fields is computed.

    ``gain`` (6, n) K, ``curvature`` (6, 36) for the second-order correction, ``neutral_lengths`` (n,) of
    pose 0, ``null_vectors`` (n − 6, n), ``contraction`` the largest spectral radius of I − K Jᵀ within the
    strokes. Raises KinematicsError, naming the figure, for a geometry on which the observer does not
    contract over the whole stroke of every link.
    """

    geometry: Geometry
    second_order: bool = False
    tolerance: float = TOLERANCE
    update_tolerance: float = UPDATE_TOLERANCE
    maximum_updates: int = MAXIMUM_UPDATES
    gain: FloatArray = field(init=False)
    curvature: FloatArray = field(init=False)
    neutral_lengths: FloatArray = field(init=False)
    null_vectors: FloatArray = field(init=False)
    contraction: float = field(init=False)

    def __post_init__(self) -> None:
        gain = design.observer_gain(self.geometry)
        contraction = stroke_contraction(self.geometry, gain)
        if not contraction <= MAX_CONTRACTION:
            raise KinematicsError(
                f"geometry: an update of the observer leaves {contraction:.3g} of the error at the worst "
                f"pose within the strokes, {MAX_CONTRACTION:g} or less is due; use Newton, shorter "
                "strokes or longer links"
            )
        computed = {
            "gain": gain,
            "curvature": design.observer_curvature(self.geometry, gain),
            "neutral_lengths": lengths_at(self.geometry, np.zeros((1, DEGREES_OF_FREEDOM)))[0],
            "null_vectors": design.null_vectors(self.geometry),
            "contraction": contraction,
        }
        for name, value in computed.items():
            object.__setattr__(self, name, value)

    def solve(self, lengths: FloatArray, start: FloatArray | None = None) -> ForwardSolution:
        """Find the pose of ``lengths`` (n,) in m, from pose ``start`` (6,) or from neutral."""
        measured = _checked_lengths(lengths, self.geometry.links)
        pose = np.zeros(DEGREES_OF_FREEDOM) if start is None else np.array(start, dtype=np.float64)
        limits = (self.tolerance, self.update_tolerance, self.maximum_updates)
        if self.second_order:
            converged, updates, residual = observe_second_order(
                self.geometry.legs,
                self.neutral_lengths,
                self.gain,
                self.curvature,
                measured,
                *limits,
                pose,
                np.empty(DEGREES_OF_FREEDOM**2),
            )
        else:
            converged, updates, residual = observe(self.geometry.legs, self.gain, measured, *limits, pose)
        return ForwardSolution(pose if converged else None, converged, updates, residual)


@dataclass(frozen=True, eq=False)
class Newton:
    """Newton–Raphson of eq. (8), with the exact Euler-rate Jacobian or the geometric one of eq. (9b)."""

    geometry: Geometry
    euler_rates: bool = True
    tolerance: float = TOLERANCE
    update_tolerance: float = UPDATE_TOLERANCE
    maximum_updates: int = MAXIMUM_UPDATES

    def solve(self, lengths: FloatArray, start: FloatArray | None = None) -> ForwardSolution:
        """Find the pose of ``lengths`` (n,) in m, from pose ``start`` (6,) or from neutral."""
        measured = _checked_lengths(lengths, self.geometry.links)
        pose = np.zeros(DEGREES_OF_FREEDOM) if start is None else np.array(start, dtype=np.float64)
        converged, updates, residual = newton(
            self.geometry.legs,
            self.euler_rates,
            measured,
            self.tolerance,
            self.update_tolerance,
            self.maximum_updates,
            pose,
        )
        return ForwardSolution(pose if converged else None, converged, updates, residual)


def _checked_lengths(lengths: FloatArray, links: int) -> FloatArray:
    measured = np.ascontiguousarray(lengths, dtype=np.float64)
    if measured.shape != (links,):
        raise KinematicsError(f"lengths have shape {measured.shape}, the geometry has {links} links")
    return measured


@fused_kernel
def null_residual(
    legs: Legs,
    null_vectors: FloatArray,
    lengths: FloatArray,
    pose: FloatArray,
    redundancy: FloatArray,
) -> None:
    """Write N (l̂ − l) into ``redundancy`` (n − 6,), m: what the lengths contradict each other by.

    ``null_vectors`` N is (n − 6, n). For the paper's table the one number tells whether the transducers of
    the four vertical links agree, ½ (−g₁ + g₂ − g₃ + g₄).
    """
    r00, r01, r02, r10, r11, r12, r20, r21, r22 = rotation(pose[3], pose[4], pose[5])
    redundancy[:] = 0.0
    for i in range(legs.table_joints.shape[0]):
        px = legs.table_joints[i, 0]
        py = legs.table_joints[i, 1]
        pz = legs.table_joints[i, 2]
        x = legs.neutral_position[0] + pose[0] - legs.base_joints[i, 0] + r00 * px + r01 * py + r02 * pz
        y = legs.neutral_position[1] + pose[1] - legs.base_joints[i, 1] + r10 * px + r11 * py + r12 * pz
        z = legs.neutral_position[2] + pose[2] - legs.base_joints[i, 2] + r20 * px + r21 * py + r22 * pz
        error = math.sqrt(x * x + y * y + z * z) - lengths[i]
        for k in range(redundancy.shape[0]):
            redundancy[k] += null_vectors[k, i] * error
