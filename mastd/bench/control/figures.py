"""Figures of one play: the true motion beside what was asked for, in the band that was played."""

from __future__ import annotations

import math
from collections.abc import Collection

from mastd.bench.control.plays import Played
from mastd.signals.acceleration_figures import acceleration_figures
from mastd.signals.band import judging_band
from mastd.signals.metrics import rms

Figures = dict[str, float]
"""Name → figure; one that cannot be had is missing."""
_NAMES = {"nrmse": "raw_nrmse"}


def axis_figures(played: Played, driven: Collection[str], sine_hz: float | None = None) -> dict[str, Figures]:
    """Return for each driven axis what ``mastd.signals.acceleration_figures`` says of the true motion."""
    found = acceleration_figures(
        played.achieved, played.asked, played.rate, judging_band(played.band), driven, sine_hz
    )
    return {
        axis: {
            _NAMES.get(name, name): value
            for name, value in found[axis].items()
            if value is not None and math.isfinite(value)
        }
        for axis in driven
    }


def motion_figures(played: Played, axis: str) -> Figures:
    """Return what a play of noise along ``axis`` shows."""
    figures = axis_figures(played, (axis,))[axis]
    del figures["bandwidth_hz"], figures["flatness_hz"]  # noise that ends at 20 Hz cannot tell
    return {
        **figures,
        "internal_force_rms_n": rms(played.internal_force),
        "indicated": float(len(played.indicated)),
    }


def response_figures(played: Played, axis: str) -> Figures:
    """Return how far the table follows wide noise along ``axis``."""
    figures = axis_figures(played, (axis,))[axis]
    return {name: figures[name] for name in ("bandwidth_hz", "flatness_hz") if name in figures}
