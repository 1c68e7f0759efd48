"""MDF, the measurement data format of ASAM: version 4.10 is written, 2, 3 and 4 are read, with ``asammdf``.

What is written: for each series a channel group with a master ``time`` of its own in s, exactly
start + k · step, and a channel of float64 for each channel, with unit and comment. The group's acquisition
name is that of the series; its comment (XML) has start and step as common properties ``mastd_start`` and
``mastd_step``. The file's comment (XML) has the notes as common properties; one of several lines is there as
a JSON string, because asammdf strips the lines of XML. The start of the measurement is the note ``start
time`` (ISO 8601), else 1970: unknown.

Version 4.10 without compression, since every tool of the last ten years reads it: 4.20 brought columns, 4.30
other compressions, and measured values in float64 hardly shrink.

Source: ASAM MDF 4.1 (base standard); ``asammdf``'s documentation.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

import numpy as np

from mastd.errors import FormatError
from mastd.formats.core.files import replacing
from mastd.formats.core.measurement import START_TIME, Format, Measurement, Series
from mastd.formats.core.packages import distinct, one_line, package, plain
from mastd.formats.mdf.groups import measurement_of
from mastd.formats.sandbox.reader import Packed, Sandbox, pack, unpack

_TITLE: Final = "MDF"
_SANDBOX: Final = Sandbox(__name__, "asammdf", "mdf", _TITLE)
_SYNCHRONISED: Final = {"s": 1, "rad": 2, "m": 3, "": 4}
"""What a master counts in, by its unit: time, angle, distance, index (ASAM MDF 4.1, cn_sync_type)."""
_UNKNOWN_START: Final = datetime.fromtimestamp(0, UTC)


def recognises(head: bytes) -> bool:
    """Return whether a file has the MDF signature, finalised or not."""
    return head[:8].rstrip(b" \0") in (b"MDF", b"UnFinMF")


def read(path: Path) -> Measurement:
    """Read every channel group of an MDF file as a series, with its values converted.

    Skipped with a warning: groups of bus logging, channels that are no plain numbers. Values that are marked
    invalid are NaN, with a warning. A file whose data are shorter than stated is refused; of one that was not
    finalised as much is read as asammdf finds whole, with a warning.
    """
    return unpack(_SANDBOX.call("read_here", path))


def read_here(path: Path) -> Packed:
    """Read in this process; see ``read``."""
    asammdf = package("asammdf", "mdf", _TITLE)
    with asammdf.MDF(path, process_bus_logging=False) as mdf:
        return pack(measurement_of(path, mdf))


def write(path: Path, measurement: Measurement) -> tuple[str, ...]:
    """Write any number of series, each as a channel group.

    Raises FormatError for a series without channels, without step and places, or whose axis is neither time,
    angle, distance nor index, and where the file system refuses; UsageError without asammdf.
    """
    asammdf = package("asammdf", "mdf", _TITLE)
    for series in measurement.series:
        _check(series, path)
    with replacing(path) as file, asammdf.MDF(version="4.10") as mdf:
        mdf.header.start_time = _start_time(measurement)
        mdf.header.comment = _file_comment(measurement)
        for series in measurement.series:
            _append(asammdf, mdf, series)
        mdf.save(file, compression=0)
    return ()


def _check(series: Series, path: Path) -> None:
    if not series.channels:
        raise FormatError(f"{path}: {_TITLE} has no channel group without channels")
    if series.step is None and series.abscissae is None:
        raise FormatError(f"{path}: {_TITLE} needs times, here the step is unknown: give it")
    if series.axis_unit not in _SYNCHRONISED:
        raise FormatError(
            f"{path}: {_TITLE} has axes in s, rad, m, or without a unit, not in {series.axis_unit!r}"
        )


def _append(asammdf: Any, mdf: Any, series: Series) -> None:
    times = np.asarray(series.axis_values(), dtype=np.float64)
    master = (plain(series.axis) or "time", _SYNCHRONISED[series.axis_unit])
    signals = [
        asammdf.Signal(
            np.asarray(channel.values, dtype=np.float64),
            times,
            name=plain(channel.name) or f"channel {number}",
            unit=plain(channel.unit),
            comment=plain(channel.description),
            master_metadata=master,
        )
        for number, channel in enumerate(series.channels, start=1)
    ]
    mdf.append(signals, acq_name=plain(series.name), comment=_group_comment(series), common_timebase=True)


def _start_time(measurement: Measurement) -> datetime:
    try:
        found = datetime.fromisoformat(measurement.notes.get(START_TIME, ""))
        return found if found.year >= 1970 else _UNKNOWN_START
    except ValueError:
        return _UNKNOWN_START


def _file_comment(measurement: Measurement) -> str:
    notes = {key: text for key, text in measurement.notes.items() if key not in (START_TIME, "MDF version")}
    names = distinct((_xml_name(key) or "note" for key in notes), ("mastd_layout",))
    properties = {"mastd_layout": "1"}
    properties |= {name: _xml_text(text) for name, text in zip(names, notes.values(), strict=True)}
    return _comment("HDcomment", "", properties)


def _group_comment(series: Series) -> str:
    properties = {"mastd_start": repr(float(series.start))}
    if series.step is not None:
        properties["mastd_step"] = repr(float(series.step))
    return _comment("CGcomment", _xml_text(series.name), properties)


def _comment(tag: str, text: str, properties: dict[str, str]) -> str:
    root = ElementTree.Element(tag)
    ElementTree.SubElement(root, "TX").text = text
    common = ElementTree.SubElement(root, "common_properties")
    for name, value in properties.items():
        ElementTree.SubElement(common, "e", name=name).text = value
    return ElementTree.tostring(root, encoding="unicode")


def _xml_text(text: str) -> str:
    """Return a text as it may stand in XML that is stripped line by line: a JSON string if need be."""
    text = plain(text)
    fits = text.splitlines() in ([], [text]) and text.isprintable() and not text.startswith('"')
    return text if fits else json.dumps(text)


def _xml_name(text: str) -> str:
    return "".join(letter for letter in one_line(plain(text)) if letter.isprintable())


FORMAT = Format(
    name="mdf4",
    title=_TITLE,
    suffixes=(".mf4", ".mdf", ".dat", ".mf3"),
    recognises=recognises,
    read=read,
    write=write,
    library=("asammdf", "mdf"),
)
