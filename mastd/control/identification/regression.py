"""Solve least squares with an uncertainty that accounts for correlated residuals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mastd.arrays import FloatArray

BLOCKS_PER_VALUE = 3
"""Minimum number of blocks of residuals for each parameter."""
MIN_BLOCK = 4


@dataclass(frozen=True, eq=False)
class Fit:
    """Values (p,) with their covariance (p, p), and the effective value of what they leave unexplained."""

    values: FloatArray
    covariance: FloatArray
    residual: float

    @property
    def deviations(self) -> FloatArray:
        """Standard deviations (p,)."""
        return np.asarray(np.sqrt(np.maximum(np.diag(self.covariance), 0.0)))


def least_squares(design: FloatArray, target: FloatArray, block: int) -> Fit:
    """Return the values (p,) that explain ``target`` (k, m) by ``design`` (k, m, p).

    Residuals within ``block`` rows of k, and between the m of a row, may depend on each other in any way: the
    covariance is the sandwich H⁻¹ (Σ s sᵀ) H⁻¹ with the scores s summed over blocks (Liang and Zeger 1986),
    corrected for the values that were fitted, and nowhere below that of independent residuals. Where there
    are too few rows the blocks become shorter.
    Raises ValueError if the rows are too few even so, or do not determine the values.
    """
    rows, outputs, unknowns = design.shape
    block = min(block, rows // (BLOCKS_PER_VALUE * unknowns))
    if block < MIN_BLOCK:
        raise ValueError("not identifiable: the run is too short to separate the parameters")
    blocks = rows // block
    used = blocks * block
    x = design[:used].reshape(used * outputs, unknowns)
    y = target[:used].reshape(used * outputs)
    # Columns of like size, so that the condition number depends on the parameters, not on their units.
    scale = np.sqrt(np.mean(x * x, axis=0))
    if not np.all(scale > 0.0):
        raise ValueError("not identifiable: a parameter has no effect on the measurement")
    x = x / scale
    normal = x.T @ x
    if not np.linalg.cond(normal) < 1e12:
        raise ValueError("not identifiable: the parameters cannot be separated")
    inverse = np.linalg.inv(normal)
    values = inverse @ (x.T @ y)
    residual = y - x @ values
    scores = (x * residual[:, None]).reshape(blocks, block * outputs, unknowns).sum(axis=1)
    spread = scores.T @ scores * (blocks / (blocks - unknowns))
    covariance = inverse @ spread @ inverse
    white = inverse * float(residual @ residual) / (used * outputs - unknowns)
    lift = np.sqrt(np.maximum(np.diag(white) / np.maximum(np.diag(covariance), 1e-300), 1.0))
    covariance *= np.outer(lift, lift)
    return Fit(values / scale, covariance / np.outer(scale, scale), float(np.sqrt(np.mean(residual**2))))
