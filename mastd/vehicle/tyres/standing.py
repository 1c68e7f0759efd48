"""The linear tyre that a Magic Formula tyre is like at rest."""

from __future__ import annotations

from mastd.vehicle.magic_formula.formula import rolling_radius
from mastd.vehicle.magic_formula.tyre import MagicTyre, depth_at, stiffness_at
from mastd.vehicle.tyres.linear_tyre import Tyre


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
