"""Figures of the accelerations of a run, from its record; see ``mastd.signals.acceleration_figures``.

Compared are the measured second derivatives of the pose, without gravity, and those of the reference, both
of the point that makes the profile's motion: the centre C, or the control point T. They are on the same
samples as the displacements (``mastd.record.alignment``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.record.alignment import Aligned, Window, aligned_accelerations
from mastd.record.reader import Run
from mastd.settings.core.axes import AXES
from mastd.signals.acceleration_figures import ARMS, Figures, acceleration_figures, no_figures
from mastd.signals.band import band_filter
from mastd.signals.metrics import rms
from mastd.signals.point_motion import acceleration_at_point, displacement_at_point

DRIVEN_RATIO: Final = 0.02
"""An axis counts as driven from this share of the largest reference on (effective displacement, 1.4 m)."""
MIN_DRIVEN: Final = 1e-6
NO_SINE: Final = 0.0


def driven_axes(reference: FloatArray) -> frozenset[str]:
    """Return the axes with commanded motion in a reference (k, 6), displacements filtered to the band."""
    sizes = ARMS * [rms(column) for column in reference.T]
    minimum = max(MIN_DRIVEN, DRIVEN_RATIO * float(np.max(sizes)))
    return frozenset(axis for axis, size in zip(AXES, sizes, strict=True) if size >= minimum)


def acceleration_results(
    run: Run, window: Window | None, motion: Aligned | None, band: tuple[float, float]
) -> tuple[str, dict[str, Figures]]:
    """Return the judged point, "C" or "T", and the figures of its accelerations in ``band`` per axis.

    ``motion``: the poses of C that go with them. All figures are None of a record without accelerations.
    """
    point = judged_point(run)
    accelerations = accelerations_at(run, window, motion, point)
    if motion is None or accelerations is None:
        return point, no_figures()
    rate, control_point = 1.0 / run.period, _control_point(run, point)
    asked = motion.asked if control_point is None else displacement_at_point(motion.asked, control_point)
    driven = driven_axes(band_filter(asked, rate, band))
    return point, acceleration_figures(
        accelerations.achieved, accelerations.asked, rate, band, driven, sines(_profile(run))
    )


def judged_point(run: Run) -> str:
    """Return the point whose accelerations are judged: the one that makes the profile's motion."""
    return "T" if _profile(run).get("point") == "T" else "C"


def accelerations_at(run: Run, window: Window | None, motion: Aligned | None, point: str) -> Aligned | None:
    """Return measured and commanded accelerations of point "C" or "T", each (k, 6), or None for none."""
    aligned = aligned_accelerations(run, window)
    control_point = _control_point(run, point)
    if aligned is None or motion is None or (point == "T" and control_point is None):
        return None
    if control_point is None:
        return aligned
    rate = 1.0 / run.period
    return Aligned(
        acceleration_at_point(motion.achieved, aligned.achieved, rate, control_point),
        acceleration_at_point(motion.asked, aligned.asked, rate, control_point),
    )


def sines(profile: Mapping[str, object]) -> dict[str, float]:
    """Return the frequency in Hz of each axis that a profile (as recorded) moves in nothing but one sine."""
    found: dict[str, set[float]] = {axis: set() for axis in AXES}
    segments = profile.get("segments")
    for segment in segments if isinstance(segments, list) else ():
        if not isinstance(segment, Mapping) or segment.get("kind") == "hold":
            continue
        named = segment.get("axes", segment.get("to"))
        frequency = segment.get("frequency") if segment.get("kind") == "sine" else NO_SINE
        sine = float(frequency) if isinstance(frequency, int | float) and frequency > 0.0 else NO_SINE
        for axis in AXES:
            if not isinstance(named, Mapping) or named.get(axis) is not None:
                found[axis].add(sine)
    return {axis: own.pop() for axis, own in found.items() if len(own) == 1 and NO_SINE not in own}


def is_lower_bound(figures: Mapping[str, object], key: str) -> bool:
    """Return whether a frequency among the figures is only as far as could be measured."""
    return figures.get(key) is not None and figures[key] == figures.get("measured_to_hz")


def _profile(run: Run) -> Mapping[str, object]:
    profile = run.metadata.get("profile")
    return profile if isinstance(profile, Mapping) else {}


def _control_point(run: Run, point: str) -> FloatArray | None:
    """Return where the control point lies in P, None for the centre."""
    table = run.metadata.get("table")
    control_point = table.get("control_point") if isinstance(table, Mapping) else None
    if point != "T" or not isinstance(control_point, list | tuple) or len(control_point) != 3:
        return None
    if not all(isinstance(number, int | float) for number in control_point):
        return None
    return np.array(control_point, dtype=np.float64)
