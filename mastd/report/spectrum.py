"""Spectra of the acceleration asked and achieved over the time in which the profile played.

They are those that the figures compare (``mastd.record.acceleration``), unfiltered, of the point that makes
the profile's motion. Of a record without accelerations they are second differences of the pose of C, so that
a steep spectrum of displacements does not leak over the whole band. Averages are Welch's over Hann windows
that overlap by half; the transfer function is H1 = S(asked, achieved) / S(asked, asked), for which noise of
the achieved motion is no bias.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.record.acceleration import accelerations_at, judged_point
from mastd.record.alignment import Aligned, Window, aligned_motion, find_window
from mastd.record.reader import Run
from mastd.record.result import profile_band
from mastd.settings.core.axes import AXES
from mastd.signals.band import MAX_RATIO, judging_band
from mastd.signals.metrics import second_derivative
from mastd.signals.spectra import power_spectral_density, squared_coherence, transfer_function
from mastd.signals.transfer_points import ASKED_RATIO, MIN_AVERAGES, averages_of, averaging_segment

_AROUND: Final = (0.4, 4.0)
"""Of the band's lower and upper end: the frequencies that are shown."""


@dataclass(frozen=True, eq=False)
class AxisSpectra:
    """Of one axis at ``frequency`` (k,) in Hz: densities in (m/s²)²/Hz or (rad/s²)²/Hz, ``transfer`` complex.

    ``meaningful`` (k,) says where enough was asked for for transfer and coherence; both are None of a run
    that is too short for an average.
    """

    frequency: FloatArray
    asked: FloatArray
    achieved: FloatArray
    transfer: np.ndarray[tuple[int], np.dtype[np.complex128]] | None
    coherence: FloatArray | None
    meaningful: np.ndarray[tuple[int], np.dtype[np.bool_]]


@dataclass(frozen=True, eq=False)
class Spectra:
    """Spectra of all axes of a run; ``band`` is the one in which it is judged, Hz."""

    axes: dict[str, AxisSpectra]
    band: tuple[float, float]
    shown: tuple[float, float]
    averages: int
    resolution: float


def spectra_of(run: Run) -> Spectra | None:
    """Return the spectra of a run, None of one that is too short or holds no motion."""
    states = run.metadata.get("states")
    names = [str(name) for name in states] if isinstance(states, list) else []
    motion = _accelerations(run, find_window(run, names)) if "RUNNING" in names else None
    if motion is None:
        return None
    achieved, asked = motion.achieved, motion.asked
    rate = 1.0 / run.period
    band = judging_band(profile_band(run))
    segment = averaging_segment(len(asked), rate, band[0])
    if segment is None:
        return None
    averages = averages_of(len(asked), segment)
    resolution = rate / segment
    shown = (max(resolution, _AROUND[0] * band[0]), min(_AROUND[1] * band[1], MAX_RATIO * rate))
    axes: dict[str, AxisSpectra] = {
        axis: _axis(asked[:, column], achieved[:, column], rate, segment, averages, band)
        for column, axis in enumerate(AXES)
    }
    return Spectra(axes, band, shown, averages, resolution)


def _accelerations(run: Run, window: Window | None) -> Aligned | None:
    motion = aligned_motion(run, window)
    if motion is None:
        return None
    rate = 1.0 / run.period
    differences = (second_derivative(values, rate) for values in (motion.achieved, motion.asked))
    return accelerations_at(run, window, motion, judged_point(run)) or Aligned(*differences)


def _axis(
    wanted: FloatArray, given: FloatArray, rate: float, segment: int, averages: int, band: tuple[float, float]
) -> AxisSpectra:
    frequency, asked_density = power_spectral_density(wanted, 1.0 / rate, segment)
    _, achieved_density = power_spectral_density(given, 1.0 / rate, segment)
    inside = (frequency >= band[0]) & (frequency <= band[1])
    floor = ASKED_RATIO * float(np.max(asked_density[inside], initial=0.0))
    meaningful = inside & (asked_density > floor) & (frequency > 0.0)
    transfer = coherence = None
    if averages >= MIN_AVERAGES and meaningful.any():
        with np.errstate(invalid="ignore", divide="ignore"):
            _, transfer = transfer_function(wanted, given, 1.0 / rate, segment)
            _, coherence = squared_coherence(wanted, given, 1.0 / rate, segment)
    return AxisSpectra(frequency, asked_density, achieved_density, transfer, coherence, meaningful)
