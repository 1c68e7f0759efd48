"""The linear tyre of a model, and its packing."""

from __future__ import annotations

from dataclasses import dataclass

from mastd.arrays import FloatArray
from mastd.settings.vehicle.tyres import TyreSettings
from mastd.vehicle.blocks.fields import WHEEL


@dataclass(frozen=True)
class Tyre:
    """Linear tyre with relaxation-free slip: the law in ``mastd/vehicle/tyres/linear.py``."""

    free_radius: float
    rolling_radius: float
    stiffness: float
    damping: float
    longitudinal_slip_stiffness: float
    """Per newton of wheel load."""
    cornering_stiffness: float
    """Per radian and newton of wheel load."""
    least_speed: float
    """m/s below which slip is related to this speed instead of the wheel's own."""


def linear_tyre_of(settings: TyreSettings) -> Tyre:
    """Return the tyre of the settings."""
    return Tyre(
        settings.free_radius,
        settings.rolling_radius,
        settings.stiffness,
        settings.damping,
        settings.longitudinal_slip_stiffness,
        settings.cornering_stiffness,
        settings.least_speed,
    )


def fill_linear_tyre(values: FloatArray, tyre: Tyre) -> None:
    """Write the slip of a tyre to the values (WHEEL) of its wheel."""
    values[WHEEL.slip_stiffness] = tyre.longitudinal_slip_stiffness
    values[WHEEL.cornering_stiffness] = tyre.cornering_stiffness
    values[WHEEL.min_speed] = tyre.least_speed
