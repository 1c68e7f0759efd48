"""Forward kinematics for callers: the observer of a geometry, with everything precomputed.

The kernels are in ``mastd.kinematics.observer``. A solver answers with a ``ForwardSolution`` and never with a
wrong number. Solvers to compare with, Newton's method among them: ``mastd.bench.kinematics``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from mastd.arrays import FloatArray
from mastd.errors import KinematicsError
from mastd.kinematics import design
from mastd.kinematics.geometry import DEGREES_OF_FREEDOM, Geometry
from mastd.kinematics.observer import SolveLimits, observe
from mastd.kinematics.workspace import contraction as error_factors
from mastd.kinematics.workspace import lengths_at, measured_reach, stroke_poses
from mastd.settings.table.table import TableSettings

# Σ|l̂ − l| < 1 µm as in section IV.3 of Jin 2012; the size of an update at which measured lengths end.
DEFAULT_LIMITS = SolveLimits(tolerance=1e-6, update_tolerance=1e-8, maximum_updates=20)

# Above this spectral radius a table would need too many updates within its strokes to serve a control cycle.
MAX_CONTRACTION = 0.5

# Below it the number of updates is no longer told from the spectral radius: the error turns as it shrinks.
_LEAST_CONTRACTION = 0.05


@dataclass(frozen=True, eq=False)
class ForwardSolution:
    """Answer of a solver: ``pose`` (6,) in m and rad, or None if not converged; residual Σ|l̂ − l| in m."""

    pose: FloatArray | None
    converged: bool
    updates: int
    residual: float


class ForwardSolver(Protocol):
    """What finds the pose of lengths."""

    def solve(self, lengths: FloatArray, start: FloatArray | None = None) -> ForwardSolution:
        """Find the pose of ``lengths`` (n,) in m, from pose ``start`` (6,) or from neutral."""


@dataclass(frozen=True, eq=False)
class Observer:
    """Observer of a geometry, eqs. (11)–(18); everything but geometry and limits is computed.

    ``gain`` (6, n) K, ``neutral_lengths`` (n,) of pose 0, ``null_vectors`` (n − 6, n), ``contraction`` the
    largest spectral radius of I − K Jᵀ within the strokes, ``farthest`` Σ|x| of a pose there in m and rad.
    ``limits`` have as many updates as given, and as ``updates`` says. Raises KinematicsError, naming the
    figure, for a geometry on which the observer does not contract over the whole stroke of every actuator.
    """

    geometry: Geometry
    limits: SolveLimits = DEFAULT_LIMITS
    gain: FloatArray = field(init=False)
    neutral_lengths: FloatArray = field(init=False)
    null_vectors: FloatArray = field(init=False)
    contraction: float = field(init=False)
    farthest: float = field(init=False)

    def __post_init__(self) -> None:
        gain = design.observer_gain(self.geometry)
        poses = stroke_poses(self.geometry, gain)
        contraction = float(np.max(error_factors(self.geometry, gain, poses)))
        if not contraction <= MAX_CONTRACTION:
            raise KinematicsError(
                f"geometry: an update of the observer leaves {contraction:.3g} of the error at the worst "
                f"pose within the strokes, limit {MAX_CONTRACTION:g}; shorter strokes or longer actuators "
                "would do"
            )
        computed = {
            "gain": gain,
            "neutral_lengths": lengths_at(self.geometry, np.zeros((1, DEGREES_OF_FREEDOM)))[0],
            "null_vectors": design.null_vectors(self.geometry),
            "contraction": contraction,
            "farthest": float(np.max(np.sum(np.abs(poses), axis=1))),
        }
        for name, value in computed.items():
            object.__setattr__(self, name, value)
        updates = max(self.limits.maximum_updates, self.updates(self.limits.update_tolerance))
        limits = self.limits._replace(maximum_updates=updates, reach=measured_reach(self.geometry))
        object.__setattr__(self, "limits", limits)

    @classmethod
    def of(cls, table: TableSettings, source: object) -> Observer:
        """Return the observer of a table; raise KinematicsError that names its settings' ``source``."""
        try:
            return cls(Geometry.from_settings(table))
        except KinematicsError as error:
            raise KinematicsError(f"{source}: {error}") from error

    def updates(self, size: float) -> int:
        """Return how many updates a solve takes at most from neutral to any pose within the strokes.

        The last one is smaller than ``size``, the sum of its magnitudes in m and rad: a geometric series with
        ``contraction``.
        """
        ratio = max(self.contraction, _LEAST_CONTRACTION)
        return 2 + math.ceil(math.log(min(size / self.farthest, 1.0)) / math.log(ratio))

    def solve(self, lengths: FloatArray, start: FloatArray | None = None) -> ForwardSolution:
        """Find the pose of ``lengths`` (n,) in m, from pose ``start`` (6,) or from neutral."""
        measured, pose = checked(lengths, start, self.geometry)
        found = observe(self.geometry.legs, self.gain, measured, self.limits, pose)
        return solution(pose, found)


def checked(
    lengths: FloatArray, start: FloatArray | None, geometry: Geometry
) -> tuple[FloatArray, FloatArray]:
    """Return ``lengths`` as kernels take them, and the pose to start from; raise for another number."""
    measured = np.ascontiguousarray(lengths, dtype=np.float64)
    if measured.shape != (geometry.actuators,):
        raise KinematicsError(
            f"lengths have shape {measured.shape}, the geometry has {geometry.actuators} actuators"
        )
    pose = np.zeros(DEGREES_OF_FREEDOM) if start is None else np.array(start, dtype=np.float64)
    return measured, pose


def solution(pose: FloatArray, found: tuple[bool, int, float]) -> ForwardSolution:
    """Return what a kernel found and left in ``pose``."""
    converged, updates, residual = found
    return ForwardSolution(pose if converged else None, converged, updates, residual)
