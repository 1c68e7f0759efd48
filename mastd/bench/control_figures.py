"""Figures of one play: the true motion beside what was asked for, in the band that was played."""

from __future__ import annotations

import numpy as np

from mastd.bench.control_plays import Played
from mastd.settings.segments import AXES
from mastd.signals.band import band_filter, judging_band
from mastd.signals.metrics import ROTATION_ARM, best_lag, cross_axis, nrmse, rms
from mastd.signals.spectra import transfer_function

Figures = dict[str, float]
"""Name → figure; one that cannot be had is missing."""
LINES = 0.5
"""Hz between the lines of a frequency response."""
HALF_POWER = 10.0 ** (-3.0 / 20.0)


def motion_figures(played: Played, axis: str, band: tuple[float, float]) -> Figures:
    """Return what the play of noise along ``axis`` shows within ``band`` (Hz)."""
    achieved = band_filter(played.achieved, played.rate, judging_band(band))
    asked = band_filter(played.asked, played.rate, judging_band(band))
    column = AXES.index(axis)
    own, wanted = achieved[:, column], asked[:, column]
    arms = np.where(np.arange(6) < 3, 1.0, ROTATION_ARM)
    sizes = {name: float(arms[k]) * rms(achieved[:, k]) for k, name in enumerate(AXES)}
    figures: dict[str, float | None] = {
        "raw_nrmse": nrmse(own, wanted),
        "cross_axis": cross_axis(sizes, frozenset({axis}))[axis],
        "internal_force_rms_n": rms(played.internal_force),
        "pose_error_m": float(arms[column]) * rms(played.true_pose[:, column] - played.asked_pose[:, column]),
    }
    fit = best_lag(own, wanted, played.rate)
    if fit is not None:
        figures["best_lag_nrmse"], figures["lag_s"] = fit
    return {name: value for name, value in figures.items() if value is not None and np.isfinite(value)}


def response_figures(played: Played, axis: str, flat_up_to: float, band: tuple[float, float]) -> Figures:
    """Return how far the table follows: −3 dB, and the largest deviation in dB up to ``flat_up_to`` Hz."""
    column = AXES.index(axis)
    segment = round(played.rate / LINES)
    lines, response = transfer_function(
        played.asked[:, column], played.achieved[:, column], 1.0 / played.rate, segment
    )
    inside = (lines >= band[0] + LINES) & (lines <= band[1] - LINES)
    lines, size = lines[inside], np.abs(response[inside])
    below = np.flatnonzero(size < HALF_POWER)
    low = lines <= flat_up_to
    figures = {
        "bandwidth_hz": float(lines[below[0]] if len(below) else lines[-1]),
        "flatness_db": float(np.max(np.abs(20.0 * np.log10(size[low])))),
    }
    return {name: value for name, value in figures.items() if np.isfinite(value)}
