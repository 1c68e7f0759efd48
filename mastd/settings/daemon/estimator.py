"""Settings of the estimator of the table's motion: group ``estimator`` of config/daemon/*.yaml."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from mastd.settings.core.base import Settings
from mastd.settings.core.quantity import Acceleration, Frequency, Ratio, Time


class EstimatorSettings(Settings):
    """What noise figures cannot tell: bandwidths, and what a sensor may be wrong by."""

    length_bandwidth: Annotated[Frequency, Field(gt=0, le=200)]
    """Of the tracking filter on the lengths alone, which checks the accelerometers and replaces them where
    there are none: lower is quieter and later."""
    bridged_gap: Annotated[Time, Field(ge=0, le=0.1)]
    """Time without usable samples that is bridged; after a longer one the estimate starts again."""
    offset_time: Annotated[Time, Field(gt=0)]
    """Time constant in which an accelerometer's remaining offset is learned from the lengths."""
    offset_limit: Annotated[Acceleration, Field(gt=0)]
    """Largest offset that is learned; an accelerometer with more is left out."""
    tolerance: Annotated[Acceleration, Field(gt=0)]
    """Difference of an accelerometer from what the lengths tell at its place, at standstill; six standard
    deviations of the noise if that is more."""
    tolerance_share: Annotated[Ratio, Field(ge=0, lt=1)]
    """Share of the acceleration at its place that it may differ by in addition."""
    jump: Annotated[Acceleration, Field(gt=0)]
    """Change of one accelerometer within a period that the others contradict: it is left out at once."""
    confirmation: Annotated[Time, Field(ge=0)]
    """Time after which a difference is believed that no other accelerometer can confirm."""
