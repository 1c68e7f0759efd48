"""From a sample to the table's pose, the rates of its links and their forces.

Lengths are calibrated (scale · raw + offset), the pose is found by the observer of Jin 2012, eq. (15),
warm from the last pose; rates of the lengths are first-order filtered differences; a leg's force is
p₁A₁ − p₂A₂. The internal force is the part of the forces along the null vectors of Jᵀ, the redundancy
residual the part of the length residuals along them; with one redundant link both carry a sign, with more
they are root sums of squares. Rates and accelerations of the pose:
``mastd.control.estimation.motion_estimate``.
"""

from __future__ import annotations

import math

from mastd.arrays import FloatArray
from mastd.kernel import kernel
from mastd.kinematics.forward import null_residual, observe
from mastd.kinematics.geometry import Legs


@kernel
def estimate(
    raw_lengths: FloatArray,
    pressures: FloatArray,
    length_calibration: FloatArray,
    pressure_calibration: FloatArray,
    areas: FloatArray,
    null_vectors: FloatArray,
    legs: Legs,
    gain: FloatArray,
    tolerances: FloatArray,
    maximum_updates: int,
    dt: float,
    smoothing: float,
    previous: FloatArray,
    redundancy: FloatArray,
    lengths: FloatArray,
    length_rates: FloatArray,
    forces: FloatArray,
    pose: FloatArray,
    scalars: FloatArray,
) -> bool:
    """Return whether the pose was found; the outputs are lengths … ``scalars``.

    ``length_calibration`` (n, 2) and ``pressure_calibration`` (2n, 2) hold scale and offset, ``areas`` (2,)
    the piston areas of chamber 1 and 2; ``tolerances`` [residual, update] in m; ``dt`` time since the last
    usable sample in s (0 for none: rates start at zero); ``smoothing`` is dt/(dt + time constant);
    ``previous`` (n,) last lengths, updated; ``redundancy`` (n − 6,) is scratch; ``scalars`` (4,) are
    residual, updates, redundancy residual, internal force. If the pose is not found, it stays.
    """
    n = lengths.shape[0]
    for i in range(n):
        lengths[i] = length_calibration[i, 0] * raw_lengths[i] + length_calibration[i, 1]
        j, k = 2 * i, 2 * i + 1
        extending = pressure_calibration[j, 0] * pressures[j] + pressure_calibration[j, 1]
        retracting = pressure_calibration[k, 0] * pressures[k] + pressure_calibration[k, 1]
        forces[i] = extending * areas[0] - retracting * areas[1]
    converged, updates, residual = observe(
        legs,
        gain,
        lengths,
        tolerances[0],
        tolerances[1],
        maximum_updates,
        pose,
    )
    scalars[0], scalars[1] = residual, updates
    null_residual(legs, null_vectors, lengths, pose, redundancy)
    scalars[2], scalars[3] = 0.0, 0.0
    for j in range(null_vectors.shape[0]):
        internal = 0.0
        for i in range(n):
            internal += null_vectors[j, i] * forces[i]
        scalars[2] = redundancy[j] if j == 0 else math.hypot(scalars[2], redundancy[j])
        scalars[3] = internal if j == 0 else math.hypot(scalars[3], internal)
    for i in range(n):
        if dt > 0.0:
            length_rates[i] += smoothing * ((lengths[i] - previous[i]) / dt - length_rates[i])
        previous[i] = lengths[i]
    return bool(converged)


def smoothing_factor(corner_hz: float, period: float) -> float:
    """Return the share of a new difference that a first-order filter of ``corner_hz`` takes over."""
    return period / (period + 1.0 / (2.0 * math.pi * corner_hz))
