"""What decides the verdict of a run: bounds on the figures of its result."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from mastd.settings.core.base import Settings
from mastd.settings.core.quantity import Acceleration, Force, Ratio, Time


class AxisCriteria(Settings):
    """Bounds on how well one axis followed; what is left out is not judged."""

    nrmse: Annotated[Ratio, Field(gt=0.0)] | None = None
    """Error of the displacement without shifting in time, as share of the reference (effective values)."""
    best_lag_nrmse: Annotated[Ratio, Field(gt=0.0)] | None = None
    """The same at the shift in time that fits best."""
    lag: Annotated[Time, Field(gt=0.0)] | None = None
    """That shift, whichever way."""
    peak_ratio: tuple[Ratio, Ratio] | None = None
    """Lowest and highest ratio of the achieved peak to the peak of the reference."""
    cross_axis: Annotated[Ratio, Field(gt=0.0)] | None = None
    """Acceleration on this axis that was not asked for, as share of what was asked for overall."""
    acceleration_nrmse: Annotated[Ratio, Field(gt=0.0)] | None = None
    """Error of the acceleration of the profile's point without shifting in time, as share of that asked."""
    acceleration_best_lag_nrmse: Annotated[Ratio, Field(gt=0.0)] | None = None
    """The same at the shift in time that fits best."""
    spectrum_outside_share: Annotated[Ratio, Field(ge=0.0, le=1.0)] | None = None
    """Greatest share of points of the response spectrum (5 % damping) that may lie more than 10 % off."""
    thd: Annotated[Ratio, Field(gt=0.0)] | None = None
    """Harmonics 2 … 5 of the acceleration as share of its fundamental, where the axis plays one sine."""


class CriteriaAxes(Settings):
    """Bounds for each axis that is judged."""

    surge: AxisCriteria | None = None
    sway: AxisCriteria | None = None
    heave: AxisCriteria | None = None
    roll: AxisCriteria | None = None
    pitch: AxisCriteria | None = None
    yaw: AxisCriteria | None = None


class Criteria(Settings):
    """What decides the verdict of a run."""

    axes: CriteriaAxes = CriteriaAxes()
    missed_share: Annotated[Ratio, Field(ge=0.0, le=1.0)] | None = None
    """Greatest share of control cycles that were missed."""
    lost_share: Annotated[Ratio, Field(ge=0.0, le=1.0)] = 0.001
    """Greatest share of the profile's frames that may be missing from the record."""
    longest_gap: Annotated[Time, Field(ge=0.0)] = 0.020
    """Longest time without a frame in it."""
    internal_force: Annotated[Force, Field(gt=0.0)] | None = None
    """Greatest effective value of the force that the redundant actuators exert on each other."""
    unasked_motion: Annotated[Acceleration, Field(gt=0.0)] | None = None
    """Greatest amplitude of the acceleration in an axis that is not driven; left out: 0.5 m/s²."""
