"""Tables of a page: figures of the axes, criteria, ride and vehicle, from the document of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from mastd.record.acceleration import is_lower_bound
from mastd.report.drawing.blocks import Cell, Table, cells
from mastd.report.numbers import NOTHING, figure, group

Result = Mapping[str, Any]

FIGURES: Final = (
    ("nrmse", "NRMSE", 1.0),
    ("best_lag_nrmse", "NRMSE, delay-compensated", 1.0),
    ("lag_s", "lag, ms", 1e3),
    ("peak_ratio", "peak ratio", 1.0),
    ("cross_axis", "cross axis", 1.0),
)
"""Key of a result's axis, title, factor."""
ACCELERATION_FIGURES: Final = (
    ("nrmse", "NRMSE", 1.0),
    ("best_lag_nrmse", "NRMSE, delay-compensated", 1.0),
    ("lag_s", "lag, ms", 1e3),
    ("peak_ratio", "peak ratio", 1.0),
    ("spectrum_outside_share", "RRS outside TRS ±10 %, % of points", 1e2),
    ("flatness_hz", "±1.5 dB up to, Hz", 1.0),
    ("bandwidth_hz", "−3 dB at, Hz", 1.0),
    ("thd", "distortion, %", 1e2),
    ("cross_axis", "cross axis", 1.0),
)
"""Key among the figures of an axis's acceleration, title, factor."""
LOWER_BOUNDS: Final = ("flatness_hz", "bandwidth_hz")
SEAT_ROWS: Final = (
    ("weighted_rms_ms2", "weighted rms, m/s²"),
    ("vdv_ms175", "vibration dose, m/s^1.75"),
    ("mtvv_ms2", "largest second (MTVV), m/s²"),
    ("crest_factor", "crest factor"),
)
CUE_COLUMNS: Final = (
    ("rms_asked", "rms command"),
    ("rms_given", "rms feedback"),
    ("rms_error", "rms of error"),
    ("correlation", "correlation"),
    ("largest_false_reversal", "largest false cue"),
)
WHEEL_COLUMNS: Final = (
    ("least_load_n", "minimum load, kN", 1e-3),
    ("largest_load_n", "maximum load, kN", 1e-3),
    ("aloft_share", "wheel lift, % of time", 1e2),
    ("largest_travel_m", "maximum travel, mm", 1e3),
)
_CRITERIA: Final[Mapping[str, tuple[str, float]]] = {
    "nrmse": ("NRMSE", 1.0),
    "best_lag_nrmse": ("NRMSE, delay-compensated", 1.0),
    "lag": ("lag, ms", 1e3),
    "peak_ratio": ("peak ratio", 1.0),
    "cross_axis": ("cross axis", 1.0),
    "acceleration_nrmse": ("NRMSE of acceleration", 1.0),
    "acceleration_best_lag_nrmse": ("NRMSE of acceleration, delay-compensated", 1.0),
    "spectrum_outside_share": ("RRS outside TRS ±10 %, % of points", 1e2),
    "thd": ("harmonic distortion, %", 1e2),
    "missed_share": ("cycles missed, %", 1e2),
    "internal_force": ("internal force, rms, kN", 1e-3),
    "unasked_motion": ("acceleration not asked for, m/s²", 1.0),
}
"""Last part of a criterion's name → its words and the factor to their unit."""
EXPLANATION: Final = (
    "Axes without command are called idle. NRMSE: rms of feedback minus command over the rms of the command,"
    " in the profile's band; delay-compensated: the same with the command delayed by the lag of best fit."
    " Peak ratio: peak feedback over peak command. Cross axis: acceleration of an idle axis over that"
    " of all axes with a command; of one of these, the largest of the idle axes over its own; rotations"
    " count at 1.4 m."
)
ACCELERATION_EXPLANATION: Final = (
    "Acceleration of the control point of the profile's motion, without gravity. Response spectrum (RRS, "
    "TRS):"
    " percentage of points (5 % damping, 12 per octave) more than 10 % off. ±1.5 dB, −3 dB: the first"
    " frequency at which the transfer function leaves the range; ≥: not within the band of the command."
    " Distortion: harmonics 2 to 5 of a sine over its fundamental, without its rise and fall."
)


def axis_table(result: Result, axes: Sequence[str]) -> Table:
    """Return the figures of ``axes``; those with a command come first."""
    driven = result["driven"]
    order = sorted(axes, key=lambda axis: axis not in driven)
    rows = []
    for axis in order:
        values = result["axes"][axis]
        name = axis if axis in driven else f"{axis}, idle"
        rows.append(cells(name, *(figure(values[key], factor) for key, _, factor in FIGURES)))
    return Table(("axis", *(title for _, title, _ in FIGURES)), tuple(rows), numbers=True)


def acceleration_table(result: Result, axes: Sequence[str]) -> Table | None:
    """Return the figures of the accelerations of those of ``axes`` that have any, None where none has."""
    own = {axis: group(result, "axes", axis, "acceleration") for axis in axes}
    rows = []
    for axis in sorted(axes, key=lambda axis: own[axis].get("nrmse") is None):
        if any(value is not None for value in own[axis].values()):
            name = axis if own[axis].get("nrmse") is not None else f"{axis}, idle"
            rows.append(cells(name, *acceleration_text(own[axis])))
    if not rows:
        return None
    point = f"acceleration of {result['acceleration_point']}"
    return Table((point, *(title for _, title, _ in ACCELERATION_FIGURES)), tuple(rows), numbers=True)


def acceleration_text(figures: Mapping[str, Any]) -> tuple[str, ...]:
    """Return ACCELERATION_FIGURES of one axis in words; a frequency that is a lower bound says so."""
    return tuple(
        ("≥ " if key in LOWER_BOUNDS and is_lower_bound(figures, key) else "")
        + figure(figures.get(key), factor)
        for key, _, factor in ACCELERATION_FIGURES
    )


def criterion_text(name: str) -> tuple[str, float]:
    """Return the name of a criterion in words, and the factor to the unit that they name."""
    axis, _, kind = name.rpartition(".")
    title, factor = _CRITERIA.get(kind, (kind, 1.0))
    return (f"{axis}: {title}" if axis else title), factor


def limit_text(limit: object, factor: float) -> str:
    """Return the limit of a criterion in words."""
    if isinstance(limit, list | tuple):
        return " … ".join(figure(value, factor) for value in limit)
    return f"at most {figure(limit, factor)}"


def criteria_table(criteria: Sequence[Mapping[str, Any]]) -> Table:
    """Return every criterion with its figure and whether it is met, those that are not first."""
    rows = []
    for criterion in sorted(criteria, key=lambda criterion: bool(criterion["pass"])):
        text, factor = criterion_text(str(criterion["name"]))
        met = Cell("met", "good") if criterion["pass"] else Cell("NOT MET", "bad")
        value, limit = figure(criterion["value"], factor), limit_text(criterion["limit"], factor)
        rows.append((*cells(text, value, limit), met))
    return Table(("criterion", "figure", "allowed", ""), tuple(rows), numbers=True)


def seat_table(result: Result) -> Table | None:
    """Return the comfort at the vehicle's seat, None where the record has none."""
    seat = group(result, "vehicle", "seat")
    if not seat:
        return None
    rows = [cells(title, *(figure(value) for value in seat[key].values())) for key, title in SEAT_ROWS]
    rows.append(cells("total value for comfort, m/s²", figure(seat["total_value_ms2"]), "", ""))
    if seat["reaction"]:
        rows.append(cells("called", str(seat["reaction"]), "", ""))
    return Table(("seat, ISO 2631-1", "x", "y", "z"), tuple(rows), numbers=True)


def wheel_table(result: Result) -> Table | None:
    """Return the figures of each wheel, None where the record has none."""
    wheels = group(result, "vehicle", "wheels")
    if not wheels:
        return None
    rows = [
        cells(name, *(figure(values[key], factor) for key, _, factor in WHEEL_COLUMNS))
        for name, values in wheels.items()
    ]
    return Table(("wheel", *(title for _, title, _ in WHEEL_COLUMNS)), tuple(rows), numbers=True)


def cue_table(result: Result) -> Table | None:
    """Return the figures of the cueing, None where the record has none."""
    cueing = group(result, "cueing")
    if not cueing:
        return None
    rows = [
        cells(
            f"{axis}, {'m/s²' if len(axis) == 1 else 'rad/s'}",
            *(figure(values[key]) for key, _ in CUE_COLUMNS),
        )
        for axis, values in cueing.items()
    ]
    return Table(("cue", *(title for _, title in CUE_COLUMNS)), tuple(rows), numbers=True)


def comparison_rows(results: Sequence[Result], axes: Sequence[str]) -> tuple[tuple[Cell, ...], ...]:
    """Return every figure of ``axes`` and of the whole that any of the runs has, a column for each run."""
    rows: list[tuple[Cell, ...]] = []
    for axis in axes:
        for key, title, factor in FIGURES:
            values = [figure(result["axes"][axis][key], factor) for result in results]
            if any(value != NOTHING for value in values):
                rows.append(cells(f"{axis}: {title}", *values))
        own = [acceleration_text(group(result, "axes", axis, "acceleration")) for result in results]
        for (_, title, _), *columns in zip(ACCELERATION_FIGURES, *own, strict=True):
            if any(value != NOTHING for value in columns):
                rows.append(cells(f"{axis}, acceleration: {title}", *columns))
    rows.append(
        cells(
            "internal force, rms, kN",
            *(figure(result["internal_force_rms_n"], 1e-3) for result in results),
        )
    )
    peaks = (figure(result["internal_force_peak_n"], 1e-3) for result in results)
    rows.append(cells("internal force, peak, kN", *peaks))
    for key, title in (("cycles", "cycles"), ("missed", "missed"), ("lost_frames", "frames lost")):
        rows.append(cells(title, *(figure(result[key], digits=10) for result in results)))
    totals = [figure(group(result, "vehicle", "seat").get("total_value_ms2")) for result in results]
    if any(value != NOTHING for value in totals):
        rows.append(cells("seat: total value for comfort, m/s²", *totals))
    names = dict.fromkeys(str(criterion["name"]) for result in results for criterion in result["criteria"])
    for name in names:
        text, factor = criterion_text(name)
        rows.append((Cell(f"criterion {text}"), *(_met(result, name, factor) for result in results)))
    return tuple(rows)


def _met(result: Result, name: str, factor: float) -> Cell:
    for criterion in result["criteria"]:
        if criterion["name"] == name:
            text = limit_text(criterion["limit"], factor)
            return Cell(f"met ({text})", "good") if criterion["pass"] else Cell(f"NOT MET ({text})", "bad")
    return Cell("no command")
