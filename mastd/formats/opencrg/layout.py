"""Where the heights of an OpenCRG file lie along and across its reference line, and in which columns."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.errors import FormatError
from mastd.formats.opencrg.header import Header

_EVEN: Final = 1e-3
"""Of an increment: how far a stated end may lie beside an integer of them."""
MIN_SPACING: Final = 1e-6
"""Between two long sections or two rows, m (the least that readers of the format take)."""
_MAX_ROWS: Final = 1e9


@dataclass(frozen=True, eq=False)
class Layout:
    """u of the first row and between rows (m), number of rows or None where the header does not tell, v of
    the long sections (m), rising, their columns, and the columns of the reference line by name."""

    start: float
    spacing: float
    rows: int | None
    across: FloatArray
    sections: list[int]
    reference: dict[str, int]


def layout_of(header: Header) -> Layout:
    """Return the layout of heights. Where no range of v is stated it lies evenly about the reference line.

    Raises FormatError for what makes no grid, or contradicts itself.
    """
    path = header.path
    sections = [k for k, column in enumerate(header.columns) if not column.reference]
    if not header.coding:
        header.add_problem(f"{path}: $KD_Definition: no format #:")
    if len(sections) < 2:
        header.add_problem(f"{path}: $KD_Definition: expected two long sections or more")
    if not header.number("reference_line_increment") >= MIN_SPACING:
        header.add_problem(
            f"{path}: $ROAD_CRG: REFERENCE_LINE_INCREMENT is missing, or not above 0 m (1e-6 m)"
        )
    header.check()
    start, spacing = header.number("reference_line_start_u", 0.0), header.number("reference_line_increment")
    _check_virtual(header, start, spacing)
    across, order = _across(header, sections)
    reference = {column.reference: k for k, column in enumerate(header.columns) if column.reference}
    return Layout(start, spacing, _rows(header, start, spacing), across, order, reference)


def _rows(header: Header, start: float, spacing: float) -> int | None:
    end = header.road.get("reference_line_end_u")
    if end is None:
        return None
    spacings = (end.value - start) / spacing
    if not (0.5 < spacings < _MAX_ROWS and abs(spacings - round(spacings)) < _EVEN):
        raise FormatError(
            f"{end.location}: u from {start:g} to {end.value:g} m is {spacings:.6g} increments of "
            f"{spacing:g} m, expected a whole number"
        )
    return round(spacings) + 1


def _check_virtual(header: Header, start: float, spacing: float) -> None:
    if header.virtual_u is None:
        return
    other_start, other_spacing, line = header.virtual_u
    if not (abs(other_start - start) <= _EVEN and abs(other_spacing - spacing) <= _EVEN * spacing):
        header.warn(
            f"{header.path}:{line}: U: has u begin at {other_start:g} m every {other_spacing:g} m, $ROAD_CRG "
            f"at {start:g} m every {spacing:g} m: $ROAD_CRG is used"
        )


def _across(header: Header, sections: list[int]) -> tuple[FloatArray, list[int]]:
    """Return v of the long sections, rising, and their columns in that order."""
    columns = [header.columns[k] for k in sections]
    at = [column for column in columns if column.v is not None]
    if at and len(at) < len(columns):
        other = next(column for column in columns if column.v is None)
        raise FormatError(
            f"{header.path}:{other.line}: {other.name}: expected long sections all by v or all by number"
        )
    if at:
        return _stated_positions(header, sections)
    numbers = [column.number or 0 for column in columns]
    order = np.argsort(numbers, kind="stable")
    for due, k in enumerate(order, start=1):
        if numbers[k] != due:
            raise FormatError(
                f"{header.path}:{columns[k].line}: {columns[k].name}: expected the numbers 1 to "
                f"{len(columns)}, each once"
            )
    return _even_positions(header, len(columns)), [sections[k] for k in order]


def _stated_positions(header: Header, sections: list[int]) -> tuple[FloatArray, list[int]]:
    columns = [header.columns[k] for k in sections]
    positions = np.array([column.v for column in columns], dtype=np.float64)
    order = np.argsort(positions, kind="stable")
    narrow = ~(np.diff(positions[order]) >= MIN_SPACING)
    if narrow.any():
        column = columns[order[int(np.argmax(narrow)) + 1]]
        raise FormatError(f"{header.path}:{column.line}: {column.name}: v must increase by at least 1e-6 m")
    across = positions[order]
    for key, v in (("long_section_v_right", across[0]), ("long_section_v_left", across[-1])):
        stated = header.road.get(key)
        if stated is not None and not abs(stated.value - v) <= _EVEN:
            header.warn(
                f"{stated.location}: {key.upper()} is {stated.value:g} m, the outermost long section is at "
                f"v = {v:g} m: the long sections are used"
            )
    return across, [sections[k] for k in order]


def _even_positions(header: Header, count: int) -> FloatArray:
    right, left = header.number("long_section_v_right"), header.number("long_section_v_left")
    increment = header.number("long_section_v_increment")
    if not increment >= MIN_SPACING:
        raise FormatError(
            f"{header.path}: $ROAD_CRG: LONG_SECTION_V_INCREMENT is missing, or not above 0 m (1e-6 m)"
        )
    width = (count - 1) * increment
    if math.isfinite(right) and math.isfinite(left):
        due = (left - right) / increment + 1.0
        if not abs(due - count) < _EVEN:
            raise FormatError(
                f"{header.path}: {count} long sections, expected {due:.6g} from v = {right:g} to {left:g} m "
                f"every {increment:g} m"
            )
    begin = right if math.isfinite(right) else left - width if math.isfinite(left) else -0.5 * width
    across = begin + increment * np.arange(count, dtype=np.float64)
    if not (np.isfinite(across).all() and (np.diff(across) > 0.0).all()):
        locations = f"long sections from v = {begin:g} m every {increment:g} m"
        raise FormatError(f"{header.path}: {locations} do not increase")
    return across
