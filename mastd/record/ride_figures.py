"""Figures of a recorded ride: of the vehicle in the loop, and of the cue that a person on the table got.

All are those of the time in which the profile played. Channels that a record does not have leave their
figures out; figures that cannot be had are None.

Of the vehicle: what its seat felt by ISO 2631-1 (``mastd.signals.comfort``), weighted here from the channels
``seat.acceleration`` with all that the record holds before the profile, lost samples bridged by straight
lines; loads, time aloft (no load) and travel of each wheel; the fraction of steps that did not converge.

Of the cue, for each axis, a(t) asked and g(t) given: rms of a, g and g − a, their correlation (Pearson's),
and the largest false reversal (``mastd.signals.metrics.false_reversal``).
"""

from __future__ import annotations

from typing import Final

import numpy as np

from mastd.arrays import BoolArray, FloatArray
from mastd.formats.mcap.frames import FrameSeries
from mastd.record.reader import Run
from mastd.signals import comfort
from mastd.signals.metrics import false_reversal, rms

Figures = dict[str, float | None]
Span = tuple[float, float]
"""First and last time, both included, s of the record's clock."""

SEAT_AXES: Final = ("x", "y", "z")
CUE_AXES: Final = ("x", "y", "z", "roll", "pitch", "yaw")
SEAT_FIGURES: Final = ("weighted_rms_ms2", "vdv_ms175", "mtvv_ms2", "crest_factor")
WHEEL_FIGURES: Final = ("least_load_n", "largest_load_n", "aloft_share", "largest_travel_m")
CUE_FIGURES: Final = ("rms_asked", "rms_given", "rms_error", "correlation", "largest_false_reversal")
"""Metres and radians: x, y, z in m/s², roll, pitch, yaw in rad/s."""
_MAX_GAPS: Final = 10
"""Periods for each recorded sample beyond which a record has too little in it to be weighted."""
_NOTHING: Final = 1e-6
"""m/s² and rad/s: what varies less than that is rounding."""
_LOAD: Final = "vehicle.load."


def ride_figures(run: Run, span: Span | None) -> dict[str, object]:
    """Return the figures of ``vehicle`` and ``cueing`` that the record has channels for, see above.

    ``vehicle``: ``seat`` (for each of SEAT_FIGURES its x, y, z; ``total_value_ms2``; ``reaction``),
    ``wheels`` (name → WHEEL_FIGURES) and ``unconverged_share``; ``cueing``: axis → CUE_FIGURES. ``span`` is
    None where the profile never played.
    """
    figures: dict[str, object] = {}
    vehicle: dict[str, object] = {}
    if _has(run, [f"seat.acceleration.{axis}" for axis in SEAT_AXES]):
        vehicle["seat"] = _seat(run, span)
    wheels = [name.removeprefix(_LOAD) for name in run.columns if name.startswith(_LOAD)]
    if wheels:
        vehicle["wheels"] = {wheel: _wheel(run, wheel, span) for wheel in wheels}
    if "vehicle.converged" in run.columns:
        converged = _played(run, "vehicle.converged", span)
        vehicle["unconverged_share"] = _ratio(~(converged > 0.0))
    if vehicle:
        figures["vehicle"] = vehicle
    axes = [axis for axis in CUE_AXES if _has(run, [f"cue.asked.{axis}", f"cue.given.{axis}"])]
    if axes:
        figures["cueing"] = {axis: _cue(run, axis, span) for axis in axes}
    return figures


def _has(run: Run, names: list[str]) -> bool:
    return all(name in run.columns for name in names)


def _played(run: Run, name: str, span: Span | None) -> FloatArray:
    """Return the samples of one channel while the profile played."""
    if span is None:
        return np.empty(0)
    series = run.series_of(name)
    values: FloatArray = run.columns[name][_within(series, span)]
    return values


def _within(series: FrameSeries, span: Span) -> BoolArray:
    inside: BoolArray = (series.times >= span[0]) & (series.times <= span[1])
    return inside


def _ratio(those: BoolArray) -> float | None:
    return float(np.mean(those)) if len(those) else None


def _seat(run: Run, span: Span | None) -> dict[str, object]:
    """Return the comfort at the seat."""
    table: dict[str, Figures] = {figure: dict.fromkeys(SEAT_AXES) for figure in SEAT_FIGURES}
    for axis, weighting in zip(SEAT_AXES, comfort.AXIS_WEIGHTINGS, strict=True):
        name = f"seat.acceleration.{axis}"
        rate = run.series_of(name).rate_hz
        weighted = _weighted(run, name, weighting, span)
        if weighted is None:
            continue
        table["weighted_rms_ms2"][axis] = rms(weighted)
        table["vdv_ms175"][axis] = comfort.vibration_dose(weighted, rate)
        table["mtvv_ms2"][axis] = comfort.max_running_rms(weighted, rate)
        table["crest_factor"][axis] = comfort.crest_factor(weighted)
    x, y, z = (table["weighted_rms_ms2"][axis] for axis in SEAT_AXES)
    total: float | None = None
    if x is not None and y is not None and z is not None:
        total = comfort.vibration_total_value(x, y, z)
    reaction = None if total is None else comfort.reaction(total)
    return {**table, "total_value_ms2": total, "reaction": reaction}


def _weighted(run: Run, name: str, weighting: comfort.Weighting, span: Span | None) -> FloatArray | None:
    """Return the weighted samples of a channel while the profile played, one for each of its periods.

    None without any, with hardly any, and at a rate that is too low for the weighting.
    """
    series = run.series_of(name)
    values, rate = run.columns[name], series.rate_hz
    if span is None or rate < comfort.MIN_RATE:
        return None
    positions = np.rint(series.times * rate)
    first, last = (np.rint(time * rate) for time in span)
    sound = np.isfinite(values) & (positions <= last)
    inside = np.count_nonzero(sound & (positions >= first))
    if not (inside and last - positions[sound][0] <= _MAX_GAPS * np.count_nonzero(sound)):
        return None
    grid = np.arange(positions[sound][0], last + 1.0)
    whole = comfort.weighted(np.interp(grid, positions[sound], values[sound]), rate, weighting)
    played: FloatArray = whole[grid >= first]
    return played


def _wheel(run: Run, wheel: str, span: Span | None) -> Figures:
    """Return WHEEL_FIGURES of one wheel; its travel is the one of the largest magnitude, bump positive."""
    load = _finite(_played(run, f"{_LOAD}{wheel}", span))
    name = f"vehicle.travel.{wheel}"
    travel = _finite(_played(run, name, span)) if name in run.columns else np.empty(0)
    return {
        "least_load_n": float(np.min(load)) if len(load) else None,
        "largest_load_n": float(np.max(load)) if len(load) else None,
        "aloft_share": _ratio(load <= 0.0),
        "largest_travel_m": float(travel[np.argmax(np.abs(travel))]) if len(travel) else None,
    }


def _finite(values: FloatArray) -> FloatArray:
    return values[np.isfinite(values)]


def _cue(run: Run, axis: str, span: Span | None) -> Figures:
    """Return CUE_FIGURES of one axis."""
    asked, given = (_played(run, f"cue.{which}.{axis}", span) for which in ("asked", "given"))
    sound = np.isfinite(asked) & np.isfinite(given)
    asked, given = asked[sound], given[sound]
    if not len(asked):
        return dict.fromkeys(CUE_FIGURES)
    return {
        "rms_asked": rms(asked),
        "rms_given": rms(given),
        "rms_error": rms(given - asked),
        "correlation": _correlation(asked, given),
        "largest_false_reversal": false_reversal(asked, given, run.period),
    }


def _correlation(first: FloatArray, second: FloatArray) -> float | None:
    """Return Pearson's coefficient of two series of one length, None where either does not vary."""
    first, second = first - np.mean(first), second - np.mean(second)
    if not min(rms(first), rms(second)) > _NOTHING:
        return None
    sizes = float(np.linalg.norm(first) * np.linalg.norm(second))
    return float(np.clip(first @ second / sizes, -1.0, 1.0))
