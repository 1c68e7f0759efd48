"""Figures of a ride in a result as blocks of text, for a terminal and for the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

Block = list[str]

_SEAT_ROWS: Final = (
    ("weighted rms, m/s2", "weighted_rms_ms2", 3),
    ("VDV, m/s^1.75", "vdv_ms175", 3),
    ("MTVV, m/s2", "mtvv_ms2", 3),
    ("crest factor", "crest_factor", 1),
)
_CUE_COLUMNS: Final = ("rms_asked", "rms_given", "rms_error", "correlation", "largest_false_reversal")


def ride_lines(result: Mapping[str, Any]) -> list[str]:
    """Return all figures of a ride, none for a result without them."""
    return [*ride_block(result), *wheel_block(result)]


def ride_block(result: Mapping[str, Any]) -> Block:
    """Return all but the wheels."""
    ratio = _part(result, "vehicle").get("unconverged_share")
    trouble = [f"{1e2 * ratio:.3g} % of the vehicle's steps did not converge"] if ratio else []
    return [*seat_block(result), *cue_block(result), *trouble]


def seat_block(result: Mapping[str, Any]) -> Block:
    """Return the comfort figures at the seat."""
    seat = _part(result, "vehicle", "seat")
    if not seat:
        return []
    whose = "car's seat, ISO 2631" if _part(result, "cueing") else "seat, ISO 2631-1"
    lines = [f"{whose:<20}{'x':>8}{'y':>8}{'z':>8}"]
    for title, key, digits in _SEAT_ROWS:
        lines.append(f"{title:<20}" + "".join(_cell(value, 8, digits) for value in seat[key].values()))
    total = _cell(seat["total_value_ms2"], 0, 3)
    reaction = f", {seat['reaction']}" if seat["reaction"] else ""
    return [*lines, f"vibration total value for comfort {total} m/s2{reaction}"]


def cue_block(result: Mapping[str, Any]) -> Block:
    """Return how the cue was given."""
    cueing = _part(result, "cueing")
    if not cueing:
        return []
    titles = ("asked", "given", "error", "correl.", "reversed")
    lines = [f"{'cue, rms':<20}" + "".join(f"{title:>9}" for title in titles)]
    for axis, figures in cueing.items():
        unit = "m/s2" if len(axis) == 1 else "rad/s"
        cells = "".join(_cell(figures[name], 9, 3) for name in _CUE_COLUMNS)
        lines.append(f"{f'{axis}, {unit}':<20}{cells}")
    return lines


def wheel_block(result: Mapping[str, Any], first: int = 0, end: int | None = None) -> Block:
    """Return the figures of wheels ``first`` … ``end`` - 1, by default all."""
    wheels = _part(result, "vehicle", "wheels")
    chosen = list(wheels.items())[first:end]
    if not chosen:
        return []
    lines = [f"{'wheel':<5}{'load, kN':>13}{'aloft, %':>10}{'travel, mm':>11}"]
    for name, figures in chosen:
        minimum, maximum = (_cell(figures[key], 6, 2, 1e-3) for key in ("least_load_n", "largest_load_n"))
        aloft = _cell(figures["aloft_share"], 10, 2, 1e2)
        travel = _cell(figures["largest_travel_m"], 11, 1, 1e3)
        lines.append(f"{name:<5}{minimum}…{maximum}{aloft}{travel}")
    return lines


def _part(result: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    """Return a group of the result, empty where it has none."""
    part: Any = result
    for key in keys:
        part = part.get(key) if isinstance(part, Mapping) else None
    return part if isinstance(part, Mapping) else {}


def _cell(value: float | None, width: int, digits: int, factor: float = 1.0) -> str:
    return f"{'–':>{width}}" if value is None else f"{factor * value:>{width}.{digits}f}"
