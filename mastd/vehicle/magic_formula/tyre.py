"""The Magic Formula tyre of a model: its packing, and how deep a load presses it in."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import scipy

from mastd.arrays import FloatArray
from mastd.formats.tyre.tir import TyreProperties
from mastd.settings.vehicle.tyres import MagicTyreSettings
from mastd.vehicle.blocks.fields import WHEEL
from mastd.vehicle.magic_formula.formula import normal_load, rolling_radius
from mastd.vehicle.magic_formula.from_tir import pack

DEEPEST: Final = 1.0
"""m; no wheel sinks as deep under any load."""
STRIDE: Final = 1e-6
"""m over which the stiffness is differenced: the law is smooth, and far from this small."""


@dataclass(frozen=True, eq=False)
class MagicTyre:
    """Tyre by the Magic Formula: the law in ``mastd/vehicle/magic_formula/formula.py``."""

    name: str
    """Of its property file, for messages."""
    coefficients: FloatArray
    """Packed as ``magic_formula`` reads them."""
    mirrored: bool
    """Mounted on the other side than the one it was measured on."""
    free_radius: float
    rolling_radius: float
    """Of the freely rolling wheel at nominal load, m."""
    stiffness: float
    """Vertical, about the nominal load, N/m."""
    damping: float


def magic_tyre_of(settings: MagicTyreSettings, properties: TyreProperties) -> MagicTyre:
    """Return the tyre for the side that it was measured on."""
    scales = {name: properties.get(name, 1.0) * settings.friction for name in ("LMUX", "LMUY")}
    scaled = replace(properties, coefficients={**properties.coefficients, **scales})
    nominal = properties.get("FNOMIN")
    coefficients = pack(scaled)
    return MagicTyre(
        name=properties.name,
        coefficients=coefficients,
        mirrored=False,
        free_radius=properties.get("UNLOADED_RADIUS"),
        rolling_radius=float(rolling_radius(coefficients, nominal)),
        stiffness=stiffness_at(coefficients, depth_at(coefficients, nominal)),
        damping=properties.get("VERTICAL_DAMPING"),
    )


def fill_magic_tyre(values: FloatArray, coefficients: FloatArray, tyre: MagicTyre) -> None:
    """Write a tyre to its coefficients (COUNT) and the values (WHEEL) of its wheel."""
    coefficients[:] = tyre.coefficients
    values[WHEEL.mirrored] = -1.0 if tyre.mirrored else 1.0


def depth_at(coefficients: FloatArray, load: float) -> float:
    """Return the depth of contact, m, at which a tyre carries a load, N, above 0."""
    found = scipy.optimize.brentq(
        lambda depth: normal_load(coefficients, depth, 0.0) - load, 0.0, DEEPEST, xtol=1e-13
    )
    return float(found)


def stiffness_at(coefficients: FloatArray, depth: float) -> float:
    """Return the slope of the load over the depth of contact, N/m, at a depth, m."""
    more, less = (float(normal_load(coefficients, depth + step, 0.0)) for step in (STRIDE, -STRIDE))
    return (more - less) / (2.0 * STRIDE)
