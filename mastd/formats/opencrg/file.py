"""ASAM OpenCRG 1.2 roads, in and out: heights along and across a reference line.

Everything that a file declares is checked against what it holds, and a file that is cut, has its line ends
converted or contradicts itself is refused. ``read_opencrg`` returns a road to drive on, with the file's own
modifiers and options applied (``opencrg_modifiers``, ``opencrg_options``); where it has none, none are.
``FORMAT`` holds what is stored, as it is stored. Files that refer to others: ``opencrg_references``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np

from mastd.errors import FormatError
from mastd.formats.core.measurement import Channel, Format, Measurement, Series
from mastd.formats.opencrg.header import REFERENCE_CHANNELS, Header, Stated
from mastd.formats.opencrg.modifiers import filled, placed, scaled
from mastd.formats.opencrg.options import ignored_options, smoothed
from mastd.formats.opencrg.references import read_with_references
from mastd.formats.opencrg.road import BLOCKS, OpenCrgRoad, section_name
from mastd.formats.opencrg.surface import StoredRoad, levels_of, line_of, stored_road

_RECOGNISED: Final = re.compile(rb"(?:^|[\r\n])\$(?:ROAD_CRG|KD_DEFINITION)", re.IGNORECASE)


def read_opencrg(path: Path) -> OpenCrgRoad:
    """Return the road of a file (``crg``; formats LRFI, LDFI, KRBI and KDBI), modifiers and options applied.

    Raises FormatError, one line for each problem with its location, for a file that is no whole OpenCRG road,
    has cells without a number that its GRID_NAN_MODE leaves so, or is too large.
    """
    header, stored = _stored(path)
    modifiers, options = header.modifiers or {}, header.options or {}
    warnings = [*header.warnings, *ignored_options(options)]
    # Numbers that are too large for one another end in what is told below.
    with np.errstate(all="ignore"):
        road = filled(scaled(stored, modifiers), header)
        line, levels = line_of(road, warnings), levels_of(road, warnings)
        heights = levels[:, np.newaxis] + road.banking[:, np.newaxis] * road.across
        heights += road.heights
        heights = smoothed(heights, levels, road.spacing, options)
        line, heights = placed(road, line, heights, modifiers, warnings)
    if not all(np.isfinite(values).all() for values in (line, heights, road.across)):
        raise FormatError(f"{header.path}: heights or positions overflow")
    return OpenCrgRoad(road.start, road.spacing, line, road.across, heights, tuple(warnings))


def _stored(path: Path) -> tuple[Header, StoredRoad]:
    header, data = read_with_references(path)
    return header, stored_road(header, data)


def _read(path: Path) -> Measurement:
    """Return what a file stores as one series over u; its options and modifiers are notes, not applied."""
    header, road = _stored(path)
    warnings = list(header.warnings)
    with np.errstate(all="ignore"):
        line, levels = line_of(road, warnings), levels_of(road, warnings)
    channels = [
        Channel("reference line x", "m", line[:, 0]),
        Channel("reference line y", "m", line[:, 1]),
        Channel("reference line z", "m", levels),
    ]
    for name, unit in REFERENCE_CHANNELS.items():
        if name in road.channels:
            channels.append(Channel(f"reference line {name}", unit, road.channels[name]))
        elif name == "banking" and road.banking.any():
            channels.append(Channel(f"reference line {name}", unit, road.banking))
    channels += [
        Channel(section_name(v), "m", road.heights[:, k], "height above the reference line")
        for k, v in enumerate(road.across)
    ]
    missing = int(np.isnan(road.heights).sum())
    if missing:
        warnings.append(f"{header.path}: {missing} of {road.heights.size} cells have no value")
    series = Series(tuple(channels), road.spacing, road.start, axis="u", axis_unit="m")
    return Measurement(FORMAT.name, (series,), _notes(header), tuple(warnings))


def _notes(header: Header) -> dict[str, str]:
    notes = {"$CT": "\n".join(header.comment).strip()} if any(header.comment) else {}
    for block, name in BLOCKS.items():
        numbers = header.blocks.get(block)
        if numbers is not None:
            notes[name] = _lines(numbers)
    return notes


def _lines(numbers: Mapping[str, Stated]) -> str:
    return "\n".join(f"{key.upper()} = {stated.value!r}" for key, stated in numbers.items())


def _write(path: Path, measurement: Measurement) -> tuple[str, ...]:
    from mastd.formats.opencrg.write import write_measurement

    return write_measurement(path, measurement)


def _recognises(head: bytes) -> bool:
    return _RECOGNISED.search(head) is not None


FORMAT: Final = Format(
    name="opencrg",
    title="OpenCRG road",
    suffixes=(".crg",),
    recognises=_recognises,
    read=_read,
    write=_write,
)
