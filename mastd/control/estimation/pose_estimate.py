"""Estimate the pose of the table, the rates of its lengths and the actuator forces from one sample.

Lengths are calibrated (scale · raw + offset), the pose is found by the observer of Jin 2012, eq. (15), warm
from the last pose; rates of the lengths are first-order filtered differences; an actuator's force is
p₁A₁ − p₂A₂, A Δp, or what its load cell reads. The internal force is the part of the forces along the null
vectors of Jᵀ, the redundancy residual the part of the length residuals along them; with one redundant
actuator both carry a sign, with more they are root sums of squares. Rates and accelerations of the pose:
``mastd.control.estimation.motion_estimate``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from mastd.arrays import FloatArray, IntArray
from mastd.kernel import kernel
from mastd.kinematics.geometry import Legs
from mastd.kinematics.observer import SolveLimits, null_residual, observe


class PoseModel(NamedTuple):
    """Constants of the estimate for n actuators.

    ``length_calibration`` (n, 2) and ``force_calibration`` (r, 2) hold scale and offset, ``owners`` (r,) the
    actuators of the readings of forces and ``weights`` (r,) what each counts there, N per unit;
    ``measured_forces`` is n, or 0 where none is measured; ``null_vectors`` (n − 6, n) of Jᵀ; ``gain`` (6, n)
    of the observer, ``limits`` of its solve.
    """

    length_calibration: FloatArray
    force_calibration: FloatArray
    owners: IntArray
    weights: FloatArray
    measured_forces: int
    null_vectors: FloatArray
    legs: Legs
    gain: FloatArray
    limits: SolveLimits


class PoseEstimate(NamedTuple):
    """What is estimated, SI: lengths, their rates and forces (n,), pose (6,) and ``scalars`` (4,).

    The scalars are residual (m), updates, redundancy residual (m) and internal force (N).
    """

    lengths: FloatArray
    rates: FloatArray
    forces: FloatArray
    pose: FloatArray
    scalars: FloatArray


@kernel
def _calibrate(
    raw_lengths: FloatArray, raw_forces: FloatArray, model: PoseModel, estimate: PoseEstimate
) -> None:
    """Write lengths and forces."""
    lengths, forces = model.length_calibration, model.force_calibration
    for i in range(raw_lengths.shape[0]):
        estimate.lengths[i] = lengths[i, 0] * raw_lengths[i] + lengths[i, 1]
    for i in range(estimate.forces.shape[0]):
        estimate.forces[i] = 0.0
    for k in range(raw_forces.shape[0]):
        value = forces[k, 0] * raw_forces[k] + forces[k, 1]
        estimate.forces[model.owners[k]] += value * model.weights[k]


@kernel
def _project_on_null_space(model: PoseModel, redundancy: FloatArray, estimate: PoseEstimate) -> None:
    """Write redundancy residual and internal force; ``redundancy`` (n − 6,) is scratch."""
    null_vectors, scalars = model.null_vectors, estimate.scalars
    null_residual(model.legs, null_vectors, estimate.lengths, estimate.pose, redundancy)
    scalars[2], scalars[3] = 0.0, 0.0
    for j in range(null_vectors.shape[0]):
        internal = 0.0
        for i in range(null_vectors.shape[1]):
            internal += null_vectors[j, i] * estimate.forces[i]
        scalars[2] = redundancy[j] if j == 0 else math.hypot(scalars[2], redundancy[j])
        scalars[3] = internal if j == 0 else math.hypot(scalars[3], internal)


@kernel
def estimate_pose(
    raw_lengths: FloatArray,
    raw_forces: FloatArray,
    model: PoseModel,
    dt: float,
    smoothing: float,
    previous: FloatArray,
    redundancy: FloatArray,
    estimate: PoseEstimate,
) -> bool:
    """Return whether the pose was found; if it was not, it stays. The results are in ``estimate``.

    ``dt`` is the time since the last accepted sample in s (0 for none: rates start at zero); ``smoothing`` is
    dt/(dt + time constant); ``previous`` (n,) last lengths, updated; ``redundancy`` (n − 6,) is scratch.
    """
    _calibrate(raw_lengths, raw_forces, model, estimate)
    lengths = estimate.lengths
    converged, updates, residual = observe(model.legs, model.gain, lengths, model.limits, estimate.pose)
    estimate.scalars[0], estimate.scalars[1] = residual, updates
    _project_on_null_space(model, redundancy, estimate)
    for i in range(lengths.shape[0]):
        if dt > 0.0:
            estimate.rates[i] += smoothing * ((lengths[i] - previous[i]) / dt - estimate.rates[i])
        previous[i] = lengths[i]
    return bool(converged)


def smoothing_factor(corner_hz: float, period: float) -> float:
    """Return the weight of a new difference in a first-order filter of ``corner_hz``."""
    return period / (period + 1.0 / (2.0 * math.pi * corner_hz))
