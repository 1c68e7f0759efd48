"""Tables of a page: figures of the axes, criteria, ride and vehicle, from the document of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from mastd.record.channels import AXES
from mastd.report.blocks import Cell, Table, cells
from mastd.report.numbers import NOTHING, figure, group

Result = Mapping[str, Any]

FIGURES: Final = (
    ("nrmse", "NRMSE", 1.0),
    ("best_lag_nrmse", "NRMSE at best lag", 1.0),
    ("lag_s", "lag, ms", 1e3),
    ("peak_ratio", "peak ratio", 1.0),
    ("cross_axis", "cross axis", 1.0),
)
"""Key of a result's axis, title, factor."""
SEAT_ROWS: Final = (
    ("weighted_rms_ms2", "weighted rms, m/s²"),
    ("vdv_ms175", "vibration dose, m/s^1.75"),
    ("mtvv_ms2", "largest second (MTVV), m/s²"),
    ("crest_factor", "crest factor"),
)
CUE_COLUMNS: Final = (
    ("rms_asked", "rms asked"),
    ("rms_given", "rms given"),
    ("rms_error", "rms of error"),
    ("correlation", "correlation"),
    ("largest_false_reversal", "largest false reversal"),
)
WHEEL_COLUMNS: Final = (
    ("least_load_n", "least load, kN", 1e-3),
    ("largest_load_n", "largest load, kN", 1e-3),
    ("aloft_share", "aloft, % of time", 1e2),
    ("largest_travel_m", "largest travel, mm", 1e3),
)
_CRITERIA: Final[Mapping[str, tuple[str, float]]] = {
    "nrmse": ("NRMSE", 1.0),
    "best_lag_nrmse": ("NRMSE at best lag", 1.0),
    "lag": ("lag, ms", 1e3),
    "peak_ratio": ("peak ratio", 1.0),
    "cross_axis": ("cross axis", 1.0),
    "missed_share": ("cycles missed, %", 1e2),
    "internal_force": ("internal force, rms, kN", 1e-3),
}
"""Last part of a criterion's name → its words and the factor to their unit."""
EXPLANATION: Final = (
    "Axes that were not asked to move are called idle. NRMSE: rms of achieved less asked over the rms asked,"
    " in the profile's band; at best lag: the same with what was asked delayed by the lag that fits best."
    " Peak ratio: largest achieved over largest asked. Cross axis: of an idle axis its acceleration over that"
    " of all that were asked to move, of one of these the largest of the idle ones over its own; rotations"
    " count at 1.4 m."
)


def axis_table(result: Result) -> Table:
    """Return the figures of all axes; axes that were asked to move stand first."""
    driven = result["driven"]
    order = sorted(AXES, key=lambda axis: (axis not in driven, AXES.index(axis)))
    rows = []
    for axis in order:
        values = result["axes"][axis]
        name = axis if axis in driven else f"{axis}, idle"
        rows.append(cells(name, *(figure(values[key], factor) for key, _, factor in FIGURES)))
    return Table(("axis", *(title for _, title, _ in FIGURES)), tuple(rows), numbers=True)


def criterion_words(name: str) -> tuple[str, float]:
    """Return the name of a criterion in words, and the factor to the unit that they name."""
    axis, _, kind = name.rpartition(".")
    title, factor = _CRITERIA.get(kind, (kind, 1.0))
    return (f"{axis}: {title}" if axis else title), factor


def limit_words(limit: object, factor: float) -> str:
    """Return what a criterion allows."""
    if isinstance(limit, list | tuple):
        return " … ".join(figure(value, factor) for value in limit)
    return f"at most {figure(limit, factor)}"


def criteria_table(criteria: Sequence[Mapping[str, Any]]) -> Table:
    """Return every criterion with its figure and whether it is met, those that are not first."""
    rows = []
    for criterion in sorted(criteria, key=lambda criterion: bool(criterion["pass"])):
        words, factor = criterion_words(str(criterion["name"]))
        met = Cell("met", "good") if criterion["pass"] else Cell("NOT MET", "bad")
        value, limit = figure(criterion["value"], factor), limit_words(criterion["limit"], factor)
        rows.append((*cells(words, value, limit), met))
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
    """Return what each wheel did, None where the record has none."""
    wheels = group(result, "vehicle", "wheels")
    if not wheels:
        return None
    rows = [
        cells(name, *(figure(values[key], factor) for key, _, factor in WHEEL_COLUMNS))
        for name, values in wheels.items()
    ]
    return Table(("wheel", *(title for _, title, _ in WHEEL_COLUMNS)), tuple(rows), numbers=True)


def cue_table(result: Result) -> Table | None:
    """Return how the cue was given, None where the record has none."""
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


def comparison_rows(results: Sequence[Result]) -> tuple[tuple[Cell, ...], ...]:
    """Return every figure that any of the runs has, a column for each run."""
    rows: list[tuple[Cell, ...]] = []
    for axis in AXES:
        for key, title, factor in FIGURES:
            values = [figure(result["axes"][axis][key], factor) for result in results]
            if any(value != NOTHING for value in values):
                rows.append(cells(f"{axis}: {title}", *values))
    rows.append(
        cells(
            "internal force, rms, kN",
            *(figure(result["internal_force_rms_n"], 1e-3) for result in results),
        )
    )
    for key, title in (("cycles", "cycles"), ("missed", "missed"), ("lost_frames", "frames lost")):
        rows.append(cells(title, *(figure(result[key], digits=10) for result in results)))
    totals = [figure(group(result, "vehicle", "seat").get("total_value_ms2")) for result in results]
    if any(value != NOTHING for value in totals):
        rows.append(cells("seat: total value for comfort, m/s²", *totals))
    names = dict.fromkeys(str(criterion["name"]) for result in results for criterion in result["criteria"])
    for name in names:
        words, factor = criterion_words(name)
        rows.append((Cell(f"criterion {words}"), *(_met(result, name, factor) for result in results)))
    return tuple(rows)


def _met(result: Result, name: str, factor: float) -> Cell:
    for criterion in result["criteria"]:
        if criterion["name"] == name:
            words = limit_words(criterion["limit"], factor)
            return Cell(f"met ({words})", "good") if criterion["pass"] else Cell(f"NOT MET ({words})", "bad")
    return Cell("not asked")
