"""OpenCRG roads to files, in the four codings, so that strict readers take them.

Headings are those of the chords from row to row; heights are written above START_Z, whole metres, so that a
road high up loses no digits.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.errors import FormatError
from mastd.formats.core.files import replacing
from mastd.formats.core.measurement import Channel, Measurement, even_step, one_series
from mastd.formats.opencrg.data import BINARY, MAX_CELLS, RECORD, TEXT
from mastd.formats.opencrg.header import CODINGS, REFERENCE_CHANNELS
from mastd.formats.opencrg.layout import MIN_SPACING

if TYPE_CHECKING:
    from mastd.formats.opencrg.road import OpenCrgRoad


_MAX_LINE_LENGTH: Final = 72
"""Characters of a line of the header."""
_EVEN: Final = 1e-9
"""Of the width: how far long sections may lie from even places to be written by number."""
_CHORDS: Final = 1e-3
"""Of the spacing: how much a chord of the reference line may differ from it."""
_BESIDE: Final = 1e-3
"""Of the spacing, for each row: how far stated x and y may lie from where the headings lead."""
_STRAIGHT: Final = 1e-12
_SECTION: Final = re.compile(r"v = (\S+) m")
_NOTES: Final = ("$ROAD_CRG_OPTS", "$ROAD_CRG_MODS")
_TITLE: Final = "OpenCRG"


@dataclass(eq=False)
class _Content:
    """What is written: rows n along, m long sections; ``heights`` (n, m) above ``corner``'s z plus slopes."""

    start: float
    spacing: float
    across: FloatArray
    heights: FloatArray
    corner: tuple[float, float, float]
    headings: FloatArray
    slopes: FloatArray | None = None
    banking: FloatArray | None = None
    comment: Sequence[str] = ()
    blocks: Mapping[str, Sequence[str]] = field(default_factory=dict)


def write_opencrg(path: Path, road: OpenCrgRoad, coding: str = "KDBI", comment: Sequence[str] = ()) -> None:
    """Write a road as ``read_opencrg`` returns it, in one of ``CODINGS``.

    Heights and headings keep the digits of the coding: some 7 with KRBI, 16 with KDBI, 7 decimals below 10 m
    with LRFI, 16 with LDFI. An empty block of modifiers says that the road stays where it is. Raises
    FormatError for a road of less than two rows or long sections, numbers that are not finite, v that does
    not rise, or points of the line that are not ``spacing`` apart.
    """
    line, heights = np.asarray(road.line, np.float64), np.asarray(road.heights, np.float64)
    if heights.ndim != 2 or line.shape != (len(heights), 2):
        raise FormatError(
            f"{path}: heights {heights.shape} and line {line.shape}: expected (n, m) and (n, 2)"
        )
    _check_finite(path, ("heights", heights))
    z = float(np.round(heights.mean())) + 0.0 if heights.size else 0.0
    headings = _headings(path, line, road.spacing)
    corner = (float(line[0, 0]), float(line[0, 1]), z)
    content = _Content(
        road.start,
        road.spacing,
        np.asarray(road.across, np.float64),
        heights - z,
        corner,
        headings,
        comment=comment,
        blocks={"$ROAD_CRG_MODS": ()},
    )
    _write(path, content, coding)


def write_measurement(path: Path, measurement: Measurement) -> tuple[str, ...]:
    """Write a series over u as ``FORMAT.read`` returns it, every digit kept; return what is not kept.

    Needed are two or more channels called ``v = … m``; ``reference line`` x, y, z, phi, slope and banking may
    be there. Raises FormatError for anything else that makes no road.
    """
    series = one_series(measurement, path, _TITLE)
    spacing = even_step(series, path, _TITLE)
    if series.axis_unit != "m":
        raise FormatError(
            f"{path}: {_TITLE} holds heights along a road in m, this series is {series.axis} in "
            f"{series.axis_unit!r}"
        )
    sections, reference, lost = _sorted(path, series.channels)
    across = np.array([v for v, _ in sections])
    heights = np.column_stack([channel.values for _, channel in sections])
    headings = _stated_headings(path, reference, len(heights), spacing)
    z, slopes = reference.get("z", np.zeros(len(heights))), None
    if "slope" in reference:
        slopes = reference["slope"][1:]
    elif np.ptp(z) > 0.0:
        slopes = np.diff(z) / spacing
    corner = (*(float(reference[key][0]) if key in reference else 0.0 for key in "xy"), float(z[0]))
    notes = measurement.notes
    content = _Content(
        series.start,
        spacing,
        across,
        heights,
        corner,  # type: ignore[arg-type]
        headings,
        slopes,
        reference.get("banking"),
        notes.get("$CT", "").splitlines(),
        {name: notes[name].splitlines() for name in _NOTES if name in notes},
    )
    _write(path, content, "KDBI")
    lost += [f"note {name!r} is not written" for name in notes if name not in (*_NOTES, "$CT")]
    return tuple(lost)


def _sorted(
    path: Path, channels: Iterable[Channel]
) -> tuple[list[tuple[float, Channel]], dict[str, FloatArray], list[str]]:
    """Return long sections by v, channels of the reference line by name, and what is neither."""
    sections: list[tuple[float, Channel]] = []
    reference: dict[str, FloatArray] = {}
    lost = []
    for channel in channels:
        section = _SECTION.fullmatch(channel.name)
        name = channel.name.removeprefix("reference line ")
        if section:
            due, v = "m", _position(path, section[1])
            sections.append((v, channel))
        elif channel.name != name and name in ("x", "y", "z", *REFERENCE_CHANNELS):
            due = REFERENCE_CHANNELS.get(name, "m")
            reference[name] = channel.values
        else:
            lost.append(f"channel {channel.name!r} is not written")
            continue
        if channel.unit != due:
            raise FormatError(f"{path}: {channel.name}: unit {channel.unit!r}, {_TITLE} needs {due}")
    if len(sections) < 2:
        due = "two or more height channels named 'v = … m'"
        raise FormatError(f"{path}: {_TITLE} needs {due}, here are {len(sections)}")
    return sorted(sections, key=lambda pair: pair[0]), reference, lost


def _position(path: Path, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise FormatError(f"{path}: channel 'v = {text} m': {text!r} is not a number") from None


def _stated_headings(
    path: Path, reference: Mapping[str, FloatArray], rows: int, spacing: float
) -> FloatArray:
    """Return the headings (n − 1) of a line: those stated, which x and y must follow, or those of x and y."""
    points = np.column_stack([reference[key] for key in "xy"]) if {"x", "y"} <= set(reference) else None
    if "phi" not in reference:
        return np.zeros(max(rows - 1, 0)) if points is None else _headings(path, points, spacing)
    headings = reference["phi"][1:]
    if points is not None:
        steps = spacing * np.column_stack([np.cos(headings), np.sin(headings)])
        beside = np.abs(points[0] + np.cumsum(steps, axis=0) - points[1:]).max(initial=0.0)
        if not beside <= _BESIDE * spacing * rows:
            raise FormatError(
                f"{path}: reference line: x, y are up to {beside:.3g} m from the integrated phi"
            )
    return headings


def _headings(path: Path, line: FloatArray, spacing: float) -> FloatArray:
    _check_finite(path, ("reference line", line))
    chords = np.diff(line, axis=0)
    gaps = np.abs(np.hypot(chords[:, 0], chords[:, 1]) - spacing)
    wrong = ~(gaps <= _CHORDS * spacing)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise FormatError(
            f"{path}: reference line: {math.hypot(*chords[row]):.6g} m from row {row + 1} to the next, "
            f"{_TITLE} has the increment {spacing:g} m between all"
        )
    headings = np.arctan2(chords[:, 1], chords[:, 0])
    # Points with rounded digits lie beside a straight line by as little; it then needs no channel.
    straight = line[0] + np.linspace(0.0, 1.0, len(line))[:, np.newaxis] * (line[-1] - line[0])
    if np.abs(straight - line).max(initial=0.0) <= _STRAIGHT * (1.0 + np.abs(line).max(initial=0.0)):
        return np.full(len(headings), math.atan2(*(line[-1] - line[0])[::-1]))
    return headings


def _check(path: Path, content: _Content) -> None:
    rows, columns = content.heights.shape
    if not (rows >= 2 and columns >= 2 and content.across.shape == (columns,)):
        raise FormatError(
            f"{path}: {rows} rows of {columns} heights at {len(content.across)} v: expected two or more each"
        )
    if rows * (columns + 3) > MAX_CELLS:
        raise FormatError(f"{path}: {rows} x {columns} heights exceed the readers' limit")
    if not (math.isfinite(content.start) and MIN_SPACING <= content.spacing < math.inf):
        raise FormatError(f"{path}: u from {content.start!r} every {content.spacing!r} m: expected above 0 m")
    _check_finite(path, ("v", content.across), ("headings", content.headings))
    if not (np.diff(content.across) >= MIN_SPACING).all():
        raise FormatError(f"{path}: v must increase by at least 1e-6 m")
    if np.isinf(content.heights).any():
        raise FormatError(f"{path}: not all heights are finite")
    for name, values in (("slopes", content.slopes), ("banking", content.banking)):
        if values is not None:
            _check_finite(path, (name, values))
    _check_finite(path, ("reference line", np.array(content.corner)))


def _check_finite(path: Path, *named: tuple[str, FloatArray]) -> None:
    for name, values in named:
        if not np.isfinite(values).all():
            raise FormatError(f"{path}: {name}: not all numbers are finite")


def _write(path: Path, content: _Content, coding: str) -> None:
    if coding not in CODINGS:
        raise FormatError(f"{path}: coding {coding!r}, expected one of {', '.join(CODINGS)}")
    _check(path, content)
    curved = bool(np.ptp(content.headings) > 0.0)
    channels: dict[str, FloatArray] = {}
    # The first heading and slope have no row before them and are not used.
    if curved:
        channels["reference line phi,rad"] = np.append(content.headings[0], content.headings)
    if content.slopes is not None:
        channels["reference line slope,m/m"] = np.append(content.slopes[0], content.slopes)
    if content.banking is not None:
        channels["reference line banking,m/m"] = content.banking
    table = np.column_stack([*channels.values(), content.heights])
    data = _text(table, coding) if coding in TEXT else _binary(path, table, coding)
    with replacing(path) as file:
        file.write(_header(path, content, list(channels), coding))
        file.write(data)


def _header(path: Path, content: _Content, channels: list[str], coding: str) -> bytes:
    rows, columns = content.heights.shape
    even = np.linspace(content.across[0], content.across[-1], columns)
    by_number = bool(np.abs(even - content.across).max() <= _EVEN * np.ptp(content.across))
    numbers = {
        "REFERENCE_LINE_START_U": content.start,
        "REFERENCE_LINE_END_U": content.start + content.spacing * (rows - 1),
        "REFERENCE_LINE_INCREMENT": content.spacing,
        "REFERENCE_LINE_START_X": content.corner[0],
        "REFERENCE_LINE_START_Y": content.corner[1],
        "REFERENCE_LINE_START_Z": content.corner[2],
        "REFERENCE_LINE_START_PHI": float(content.headings[0]),
        "REFERENCE_LINE_END_PHI": float(content.headings[-1]),
        "LONG_SECTION_V_RIGHT": float(content.across[0]),
        "LONG_SECTION_V_LEFT": float(content.across[-1]),
    }
    if by_number:
        numbers["LONG_SECTION_V_INCREMENT"] = float(np.ptp(content.across)) / (columns - 1)
        sections = [f"long section {k},m" for k in range(1, columns + 1)]
    else:
        sections = [f"long section at v = {float(v)!r},m" for v in content.across]
    lines = ["$CT", *_comment(content.comment), "$"]
    for name, block in content.blocks.items():
        lines += [name, *block, "$"]
    lines += ["$ROAD_CRG", *(f"{key:<24} = {float(number)!r}" for key, number in numbers.items()), "$"]
    lines += ["$KD_Definition", f"#:{coding}"]
    lines += [f"U:reference line u,m,{float(content.start)!r},{float(content.spacing)!r}"]
    lines += [f"D:{channel}" for channel in (*channels, *sections)]
    lines += ["$", "$" * _MAX_LINE_LENGTH]
    for line in lines:
        if len(line) > _MAX_LINE_LENGTH or not line.isprintable():
            raise FormatError(f"{path}: {line[:100]!r}: a line of the header must have at most 72 characters")
    return ("\n".join(lines) + "\n").encode("latin-1", errors="replace")


def _comment(lines: Sequence[str]) -> list[str]:
    """Return a comment in lines that are short enough and begin no block."""
    wrapped = []
    for line in lines or ("OpenCRG road",):
        text = "".join(character if character.isprintable() else " " for character in line).rstrip()
        text = f" {text}" if text.startswith("$") else text
        pieces = range(0, max(len(text), 1), _MAX_LINE_LENGTH)
        wrapped += [text[k : k + _MAX_LINE_LENGTH].rstrip() for k in pieces]
    return [f" {line}" if line.startswith("$") else line for line in wrapped]


def _binary(path: Path, table: FloatArray, coding: str) -> bytes:
    kind = np.dtype(BINARY[coding])
    with np.errstate(over="ignore"):
        cells = table.astype(kind).ravel()
    if np.isinf(cells).any():
        raise FormatError(f"{path}: a number is too large for {coding}")
    filling = np.full(-cells.size % (RECORD // kind.itemsize), np.nan, dtype=kind)
    data = cells.tobytes() + filling.tobytes()
    # Readers that skip line ends after the header would take these for one: numbers below 1e-30.
    if data[:1] in (b"\n", b"\r"):
        data = bytes(kind.itemsize) + data[kind.itemsize :]
    return data


def _text(table: FloatArray, coding: str) -> bytes:
    width, per_line = TEXT[coding]
    lines = []
    for row in (table + 0.0).tolist():
        cells = [_cell(number, width) for number in row]
        lines += ["".join(cells[k : k + per_line]) for k in range(0, len(cells), per_line)]
    return ("\n".join(lines) + "\n").encode("ascii")


def _cell(number: float, width: int) -> str:
    """Return a number in so many characters, with as many digits as they hold."""
    if math.isnan(number):
        return "*missing*".rjust(width)
    size = abs(number)
    if size == 0.0 or 1e-3 <= size < 10.0 ** (width - 5):
        whole = len(f"{int(size)}") + (number < 0.0)
        text = f"{number:{width}.{width - whole - 1}f}"
        return text if len(text) == width else f"{number:{width}.{width - whole - 2}f}"
    for digits in range(width, -1, -1):
        mantissa, exponent = f"{number:.{digits}e}".split("e")
        text = f"{mantissa}e{int(exponent)}"
        if len(text) <= width:
            return text.rjust(width)
    return f"{number:.0e}".rjust(width)[:width]
