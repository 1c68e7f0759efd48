"""The Magic Formula tyre at rest: how deep a load presses it in, and the linear tyre it is like there."""

from __future__ import annotations

from typing import Final

from scipy.optimize import brentq

from mastd.arrays import FloatArray
from mastd.vehicle.magic_formula.formula import normal_load, rolling_radius
from mastd.vehicle.model.definition import MagicTyre, Tyre

DEEPEST: Final = 1.0
"""m; no wheel sinks as deep under any load."""
STRIDE: Final = 1e-6
"""m over which the stiffness is differenced: the law is smooth, and far from this small."""


def depth_at(coefficients: FloatArray, load: float) -> float:
    """Return the depth of contact, m, at which a tyre carries a load, N, above 0."""
    found = brentq(lambda depth: normal_load(coefficients, depth, 0.0) - load, 0.0, DEEPEST, xtol=1e-13)
    return float(found)


def stiffness_at(coefficients: FloatArray, depth: float) -> float:
    """Return the slope of the load over the depth of contact, N/m, at a depth, m."""
    more, less = (float(normal_load(coefficients, depth + step, 0.0)) for step in (STRIDE, -STRIDE))
    return (more - less) / (2.0 * STRIDE)


def standing_tyre(tyre: MagicTyre, load: float) -> Tyre:
    """Return the linear tyre without damping and slip that stands as deep and as stiffly at a load, N > 0."""
    c = tyre.coefficients
    depth = depth_at(c, load)
    stiffness = stiffness_at(c, depth)
    return Tyre(
        free_radius=tyre.free_radius - depth + load / stiffness,
        rolling_radius=float(rolling_radius(c, load)),
        stiffness=stiffness,
        damping=0.0,
        longitudinal_slip_stiffness=0.0,
        cornering_stiffness=0.0,
        least_speed=1.0,
    )
