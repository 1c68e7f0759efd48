"""The similitude that fits a motion into a stroke and leaves its accelerations as they are (Froude)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from mastd.settings.profile.segments import MAX_FREQUENCY

LAW = "displacements x S, times and velocities x sqrt(S), accelerations x 1, frequencies x 1/sqrt(S)"


@dataclass(frozen=True)
class Similitude:
    """Lengths × ``length_scale`` (S), times × √S: accelerations, lengths per time squared, stay."""

    length_scale: float

    @property
    def time_scale(self) -> float:
        """Times, and velocities, are multiplied by it."""
        return math.sqrt(self.length_scale)

    def band(self, band: tuple[float, float]) -> tuple[float, float]:
        """Return the frequencies in Hz at which a band is played; ValueError if none can be so high."""
        low, high = band[0] / self.time_scale, band[1] / self.time_scale
        if not high <= MAX_FREQUENCY:
            raise ValueError(
                f"lengths x {self.length_scale:.4g} bring the band of {band[0]:g} to {band[1]:g} Hz to "
                f"{low:.4g} to {high:.4g} Hz, at most {MAX_FREQUENCY:g} Hz can be run: lower the band's "
                f"upper end to {MAX_FREQUENCY * self.time_scale:.3g} Hz or less, or allow more stroke"
            )
        return low, high


def of_stroke(stroke: float, peak: float) -> Similitude:
    """Return the similitude that brings a peak displacement down to a stroke, both in m; never one up."""
    return Similitude(min(1.0, stroke / peak) if peak > 0.0 else 1.0)
