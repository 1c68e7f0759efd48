"""Figures that say how well accelerations were given, axis by axis: one function for reports and benches."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.settings.core.axes import AXES
from mastd.signals.band import MAX_RATIO, band_filter
from mastd.signals.distortion import total_harmonic_distortion
from mastd.signals.metrics import ROTATION_ARM, best_lag, cross_axis, nrmse, peak_ratio, rms
from mastd.signals.response_spectrum import octave_points, outside_ratio, response_spectrum
from mastd.signals.transfer_points import transfer_points

Figures = dict[str, float | None]

ARMS: Final = np.array([1.0, 1.0, 1.0, ROTATION_ARM, ROTATION_ARM, ROTATION_ARM])
SPECTRUM_TOLERANCE: Final = 0.1
_OCTAVES_WITHOUT_LOWEST: Final = 7.0
"""Octaves below the band's upper end at which response spectra begin where the band has no lower end."""
FIGURES: Final = (
    *("nrmse", "best_lag_nrmse", "lag_s", "peak_ratio", "spectrum_outside_share"),
    *("bandwidth_hz", "flatness_hz", "measured_to_hz", "thd", "cross_axis"),
)


def no_figures() -> dict[str, Figures]:
    """Return empty figures for all axes."""
    return {axis: dict.fromkeys(FIGURES) for axis in AXES}


def acceleration_figures(
    achieved: FloatArray,
    asked: FloatArray,
    rate: float,
    band: tuple[float, float],
    driven: Collection[str],
    sine_hz: float | Mapping[str, float] | None = None,
) -> dict[str, Figures]:
    """Return FIGURES for each of AXES; None is a figure that cannot be had, as all but one of an idle axis.

    ``achieved`` and ``asked`` (k, 6): accelerations of the judged point on the same samples at ``rate`` Hz,
    m/s² and rad/s² (second derivatives of the Euler angles). ``band``: the frequencies in Hz in which they
    are judged, see ``mastd.signals.band.judging_band``. ``driven``: the axes that were asked to move.
    ``sine_hz``: the frequency where all that was asked of the driven axes, or of those that it names, is one
    sine.

    Of both accelerations filtered to the band: ``nrmse``, ``best_lag_nrmse``, ``lag_s``, ``peak_ratio`` and
    ``cross_axis`` as in ``mastd.signals.metrics``; ``spectrum_outside_share``: the fraction of points of the
    response spectrum (5 % damping, 12 or more an octave from one end of the band to the other) that lie more
    than 10 % off. Of both as they are: ``bandwidth_hz``, ``flatness_hz`` and ``measured_to_hz`` of
    ``mastd.signals.transfer_points``; ``thd`` of ``mastd.signals.distortion``.

    Raises ValueError for other shapes, and for a band that is not 0 <= low < high.
    """
    if achieved.shape != asked.shape or achieved.ndim != 2 or achieved.shape[1] != len(AXES):
        raise ValueError(f"accelerations of {achieved.shape} and {asked.shape}, both should be (k, 6)")
    figures = no_figures()
    if len(asked) < 3 or not (np.all(np.isfinite(achieved)) and np.all(np.isfinite(asked))):
        return figures
    given, wanted = band_filter(achieved, rate, band), band_filter(asked, rate, band)
    sizes: dict[str, float] = {
        axis: float(ARMS[index]) * rms(given[:, index]) for index, axis in enumerate(AXES)
    }
    for axis, ratio in cross_axis(sizes, frozenset(driven)).items():
        figures[axis]["cross_axis"] = ratio
    for index, axis in enumerate(AXES):
        if axis not in driven:
            continue
        own = figures[axis]
        own |= _following(given[:, index], wanted[:, index], rate, band)
        points = transfer_points(achieved[:, index], asked[:, index], rate, band, own["lag_s"] or 0.0)
        own["bandwidth_hz"], own["flatness_hz"] = points.bandwidth_hz, points.flatness_hz
        own["measured_to_hz"] = points.measured_to_hz
        frequency = sine_hz.get(axis) if isinstance(sine_hz, Mapping) else sine_hz
        if frequency is not None:
            own["thd"] = total_harmonic_distortion(achieved[:, index], asked[:, index], rate, frequency)
    return figures


def _following(given: FloatArray, wanted: FloatArray, rate: float, band: tuple[float, float]) -> Figures:
    """Return the figures of one axis from its filtered accelerations (k,)."""
    fit = best_lag(given, wanted, rate)
    return {
        "nrmse": nrmse(given, wanted),
        "best_lag_nrmse": fit[0] if fit else None,
        "lag_s": fit[1] if fit else None,
        "peak_ratio": peak_ratio(given, wanted),
        "spectrum_outside_share": _outside_ratio(given, wanted, rate, band),
    }


def _outside_ratio(
    given: FloatArray, wanted: FloatArray, rate: float, band: tuple[float, float]
) -> float | None:
    low, high = band[0] or band[1] / 2.0**_OCTAVES_WITHOUT_LOWEST, min(band[1], MAX_RATIO * rate)
    if not low < high:
        return None
    spectra = response_spectrum(np.column_stack([given, wanted]), rate, octave_points((low, high)))
    return outside_ratio(spectra[:, 0], spectra[:, 1], SPECTRUM_TOLERANCE)
