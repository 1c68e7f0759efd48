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
from mastd.kinematics.newton import WORK_ROWS
from mastd.kinematics.observer import NO_WORK, SolveLimits, observe
from mastd.kinematics.workspace import contraction as error_factors
from mastd.kinematics.workspace import lengths_at, measured_reach, stroke_poses
from mastd.settings.table.table import TableSettings

# Σ|l̂ − l| < 1 µm as in section IV.3 of Jin 2012; the size of an update at which measured lengths end.
DEFAULT_LIMITS = SolveLimits(tolerance=1e-6, update_tolerance=1e-8, maximum_updates=20)

# Above this spectral radius a table would need too many updates within its strokes to serve a control cycle.
MAX_CONTRACTION = 0.5

# Most updates of Newton's method from neutral to any pose; from the last pose it takes two or three.
NEWTON_UPDATES = 12

# m and rad within which they must lead to the pose.
NEWTON_TOLERANCE = 1e-5

# Parts of the way to the corners of the workspace at which Newton's method is tried.
WAYPOINTS = (0.5, 1.0)

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
    ``limits`` have as many updates as given, and as ``updates`` says. Where the observer does not contract
    fast enough over the whole stroke of every actuator, its updates are Newton's (``limits.work``). Raises
    KinematicsError, naming the figure, where these do not find every pose either.
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
        computed = {
            "gain": gain,
            "neutral_lengths": lengths_at(self.geometry, np.zeros((1, DEGREES_OF_FREEDOM)))[0],
            "null_vectors": design.null_vectors(self.geometry),
            "contraction": contraction,
            "farthest": float(np.max(np.sum(np.abs(poses), axis=1))),
        }
        for name, value in computed.items():
            object.__setattr__(self, name, value)
        newton = not contraction <= MAX_CONTRACTION
        work = np.zeros((self.geometry.actuators + WORK_ROWS, DEGREES_OF_FREEDOM)) if newton else NO_WORK
        limits = self.limits._replace(reach=measured_reach(self.geometry), work=work)
        object.__setattr__(self, "limits", limits)
        if newton:
            self._require_newton(poses)
        updates = max(limits.maximum_updates, self.updates(limits.update_tolerance))
        object.__setattr__(self, "limits", limits._replace(maximum_updates=updates))

    @classmethod
    def of(cls, table: TableSettings, source: object) -> Observer:
        """Return the observer of a table; raise KinematicsError that names its settings' ``source``.

        So it does where ``of_lengths`` has none.
        """
        try:
            observer = cls(Geometry.from_settings(table))
            observer.of_lengths(table)
            return observer
        except KinematicsError as error:
            raise KinematicsError(f"{source}: {error}") from error

    def of_lengths(self, table: TableSettings) -> Observer:
        """Return the observer of all measured lengths: itself where only the actuators have transducers."""
        return Observer(Geometry.of_lengths(table)) if table.sensors.displacement else self

    def updates(self, size: float) -> int:
        """Return how many updates a solve takes at most from neutral to any pose within the strokes.

        The last one is smaller than ``size``, the sum of its magnitudes in m and rad: a geometric series with
        ``contraction``; of Newton's ``NEWTON_UPDATES`` at most.
        """
        if len(self.limits.work):
            return NEWTON_UPDATES
        ratio = max(self.contraction, _LEAST_CONTRACTION)
        return 2 + math.ceil(math.log(min(size / self.farthest, 1.0)) / math.log(ratio))

    def _require_newton(self, poses: FloatArray) -> None:
        """Raise KinematicsError where Newton's updates lead from neutral elsewhere than to ``poses`` (m, 6).

        The corners of the workspace, and on the way there.
        """
        limits = self.limits._replace(maximum_updates=NEWTON_UPDATES)
        for part in WAYPOINTS:
            for pose, lengths in zip(part * poses, lengths_at(self.geometry, part * poses), strict=True):
                found = np.zeros(DEGREES_OF_FREEDOM)
                converged, _, _ = observe(self.geometry.legs, self.gain, lengths, limits, found)
                missed = float(np.max(np.abs(found - pose)))
                if not (converged and missed <= NEWTON_TOLERANCE):
                    raise KinematicsError(
                        f"geometry: an update of the observer leaves {self.contraction:.3g} of the error at "
                        f"the worst pose within the strokes, limit {MAX_CONTRACTION:g}, and "
                        f"{NEWTON_UPDATES} updates of Newton's method do not lead to it from neutral; "
                        "shorter strokes or longer actuators would do"
                    )

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
