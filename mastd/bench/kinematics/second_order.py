"""Forms of the observer to compare with: from a known neutral pose, and corrected to second order.

Stopping rules, arguments and results are those of ``mastd.kinematics.observer``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel
from mastd.kinematics.forward import ForwardSolution, Observer, checked, solution
from mastd.kinematics.geometry import Geometry, Legs
from mastd.kinematics.observer import SolveLimits, accept, observe, output_error
from mastd.kinematics.rotation import Six

# Generators of rotations about x, y and z.
_GENERATORS = np.zeros((3, 3, 3))
_GENERATORS[0, 1, 2], _GENERATORS[0, 2, 1] = -1.0, 1.0
_GENERATORS[1, 0, 2], _GENERATORS[1, 2, 0] = 1.0, -1.0
_GENERATORS[2, 0, 1], _GENERATORS[2, 1, 0] = -1.0, 1.0


class SecondOrder(NamedTuple):
    """What the forms of the observer know of the neutral pose.

    ``neutral_lengths`` (n,); ``gain`` K (6, n); ``curvature`` Q (6, 36) as [i, 6 k + j], the second
    derivative of output k by inputs i and j.
    """

    neutral_lengths: FloatArray
    gain: FloatArray
    curvature: FloatArray


@dataclass(frozen=True, eq=False)
class SecondOrderObserver(Observer):
    """Observer whose updates are corrected by the Hessian of the lengths at the neutral pose."""

    model: SecondOrder = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        curvature = observer_curvature(self.geometry, self.gain)
        object.__setattr__(self, "model", SecondOrder(self.neutral_lengths, self.gain, curvature))

    def solve(self, lengths: FloatArray, start: FloatArray | None = None) -> ForwardSolution:
        """Find the pose of ``lengths`` (n,) in m, from pose ``start`` (6,) or from neutral."""
        measured, pose = checked(lengths, start, self.geometry)
        found = observe_second_order(
            self.geometry.legs, self.model, measured, self.limits, pose, np.empty(36)
        )
        return solution(pose, found)


def length_hessian(geometry: Geometry) -> FloatArray:
    """Return the second derivatives (n, 6, 6) of the lengths by the pose at pose 0.

    With v the actuator vector and v_a, v_ab its derivatives: (v_a·v_b + v·v_ab) / l − (v·v_a)(v·v_b) / l³.
    """
    vectors = geometry.neutral_vectors
    lengths = np.linalg.norm(vectors, axis=1)
    first = np.zeros((6, geometry.actuators, 3))
    second = np.zeros((6, 6, geometry.actuators, 3))
    for axis in range(3):
        first[axis, :, axis] = 1.0
        first[3 + axis] = geometry.table_joints @ _GENERATORS[axis].T
        for other in range(3):
            # R = Rz Ry Rx: the generator of the later axis (z before y before x) stands on the left.
            left, right = max(axis, other), min(axis, other)
            product = _GENERATORS[left] @ _GENERATORS[right]
            second[3 + axis, 3 + other] = geometry.table_joints @ product.T
    along = np.einsum("nx,anx->an", vectors, first)
    curved = np.einsum("anx,bnx->nab", first, first) + np.einsum("nx,abnx->nab", vectors, second)
    return np.asarray(
        curved / lengths[:, None, None] - np.einsum("an,bn->nab", along, along) / lengths[:, None, None] ** 3
    )


def observer_curvature(geometry: Geometry, gain: FloatArray) -> FloatArray:
    """Return Q = K H as (6, 36): entry [i, 6 k + j] is the second derivative of output k by i and j."""
    product = np.einsum("kn,nij->ikj", gain, length_hessian(geometry))
    return np.ascontiguousarray(product.reshape(6, 36))


@fused_kernel
def neutral_error(model: SecondOrder, lengths: FloatArray) -> tuple[float, Six]:
    """Return Σ|l − l₀| and the six components of K (l − l₀): ``output_error`` of pose 0."""
    gain = model.gain
    residual = d0 = d1 = d2 = d3 = d4 = d5 = 0.0
    for i in range(lengths.shape[0]):
        error = lengths[i] - model.neutral_lengths[i]
        residual += abs(error)
        d0 += gain[0, i] * error
        d1 += gain[1, i] * error
        d2 += gain[2, i] * error
        d3 += gain[3, i] * error
        d4 += gain[4, i] * error
        d5 += gain[5, i] * error
    return residual, (d0, d1, d2, d3, d4, d5)


@fused_kernel
def observe_from_neutral(
    legs: Legs, model: SecondOrder, lengths: FloatArray, limits: SolveLimits, pose: FloatArray
) -> tuple[bool, int, float]:
    """Find the pose as ``observe`` does from pose 0, whose lengths are known: one evaluation less.

    Where it does not converge, ``pose`` is that of the first update.
    """
    residual, d = neutral_error(model, lengths)
    if residual < limits.tolerance:
        at = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        return accept(legs, lengths, residual, limits, at, pose), 0, residual
    pose[0], pose[1], pose[2], pose[3], pose[4], pose[5] = d
    rest = SolveLimits(
        limits.tolerance, limits.update_tolerance, limits.maximum_updates - 1, limits.reach, limits.work
    )
    converged, updates, residual = observe(legs, model.gain, lengths, rest, pose)
    return converged, updates + 1, residual


@fused_kernel
def contract(curvature: FloatArray, given: Six, d: Six, w: FloatArray) -> None:
    """Write Q(z − d/2, ·) into ``w`` (36,)."""
    v0, v1, v2 = given[0] - 0.5 * d[0], given[1] - 0.5 * d[1], given[2] - 0.5 * d[2]
    v3, v4, v5 = given[3] - 0.5 * d[3], given[4] - 0.5 * d[4], given[5] - 0.5 * d[5]
    for m in range(36):
        w[m] = (
            (v0 * curvature[0, m] + v1 * curvature[1, m])
            + (v2 * curvature[2, m] + v3 * curvature[3, m])
            + (v4 * curvature[4, m] + v5 * curvature[5, m])
        )


@fused_kernel
def corrected(w: FloatArray, row: int, d: Six) -> float:
    """Return the component of Q(z − d/2, d) whose six numbers in ``w`` begin at ``row``."""
    return float(
        w[row] * d[0]
        + w[row + 1] * d[1]
        + (w[row + 2] * d[2] + w[row + 3] * d[3])
        + (w[row + 4] * d[4] + w[row + 5] * d[5])
    )


@fused_kernel
def observe_second_order(
    legs: Legs,
    model: SecondOrder,
    lengths: FloatArray,
    limits: SolveLimits,
    pose: FloatArray,
    w: FloatArray,
) -> tuple[bool, int, float]:
    """Like ``observe``, each update corrected by the precomputed Hessian: x ← x + φ(l − l₀) − φ(l̂ − l₀).

    φ(y) = K y − ½ K H(K y, K y) inverts the lengths to second order. With d = K (l − l̂), z = K (l − l₀) and
    Q = K H the difference is d − Q(z − d/2, d). ``w`` (36,) is scratch. See docs/theory.md.
    """
    at = (pose[0], pose[1], pose[2], pose[3], pose[4], pose[5])
    cold = at == (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    change, given = neutral_error(model, lengths)
    residual = step = math.inf
    scale = 1.0
    for update in range(limits.maximum_updates + 1):
        if cold and update == 0:
            residual, d = change, given
        else:
            residual, d = output_error(legs, model.gain, lengths, at)
        if residual < limits.tolerance or step < limits.update_tolerance:
            return accept(legs, lengths, residual, limits, at, pose), update, residual
        if not residual < math.inf:
            return False, update, residual
        if update == 0 or (update == 1 and not cold):
            contract(model.curvature, given, d, w)
        elif cold:
            # The matrix was taken at z − d/2 = z/2; d is small now, and z itself is due.
            scale = 2.0
        at = (
            at[0] + (d[0] - scale * corrected(w, 0, d)),
            at[1] + (d[1] - scale * corrected(w, 6, d)),
            at[2] + (d[2] - scale * corrected(w, 12, d)),
            at[3] + (d[3] - scale * corrected(w, 18, d)),
            at[4] + (d[4] - scale * corrected(w, 24, d)),
            at[5] + (d[5] - scale * corrected(w, 30, d)),
        )
        step = abs(d[0]) + abs(d[1]) + abs(d[2]) + abs(d[3]) + abs(d[4]) + abs(d[5])
    return False, limits.maximum_updates, residual
