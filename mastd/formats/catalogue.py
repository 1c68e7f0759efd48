"""All formats of series, and how a file's format is reported: by its content, never by its name alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Final

from mastd.errors import FormatError
from mastd.formats.core.files import head_of
from mastd.formats.core.measurement import HEAD, Channel, Format, Measurement, Series
from mastd.formats.core.units import si_unit

_MODULES: Final[tuple[str, ...]] = (
    "mcap.file",
    "hdf5.hdf5",
    "tables.parquet",
    "mdf.mdf4",
    "mts.rpc3",
    "mts.mts_bin",
    "opencrg.file",
    "strong_motion.peer",
    "strong_motion.smc",
    "strong_motion.cosmos",
    "strong_motion.usc",
    "strong_motion.esm",
    "strong_motion.knet",
    "tables.csv_table",
)


def formats() -> tuple[Format, ...]:
    """Return all formats, in the order in which they are tried."""
    return tuple(_format(name) for name in _MODULES)


def named(name: str) -> Format:
    """Return the format of a name; raise FormatError for an unknown one."""
    for known in formats():
        if known.name == name:
            return known
    raise FormatError(f"unknown format {name!r}, known: {', '.join(known.name for known in formats())}")


def recognise(path: Path) -> Format:
    """Return the format of a file; raise FormatError if it is of none, or cannot be read."""
    head = head_of(path, HEAD)
    if not head:
        raise FormatError(f"{path}: the file is empty")
    for known in formats():
        if known.recognises(head):
            return known
    titles = ", ".join(known.title for known in formats())
    raise FormatError(f"{path}: not in any supported format ({titles})")


def read(path: Path) -> Measurement:
    """Read a file into a measurement; raise FormatError, UsageError."""
    return recognise(path).read(path)


def pick(
    measurement: Measurement,
    path: Path,
    channel: str | None = None,
    unit: str | None = None,
    step: float | None = None,
) -> tuple[Series, Channel]:
    """Return one channel with its series: by its name, or by its number from 1 on; the only one for None.

    ``unit`` and ``step`` (s) are what the user says where the file states none; where it does, both must
    agree. Raises FormatError that names what there is.
    """
    series, chosen = _chosen(measurement, path, channel)
    return (series if step is None else with_step(series, path, step)), with_unit(chosen, path, unit)


def with_step(series: Series, path: Path, step: float) -> Series:
    """Return a series with the user's step in s; raise FormatError where the file states another one.

    Times whose unit the file does not state have it thereby.
    """
    if series.axis == "time" and not series.axis_unit and series.step is not None:
        return replace(series, step=step, start=series.start * (step / series.step), axis_unit="s")
    if series.abscissae is not None:
        raise FormatError(f"{path}: has its own column of times: do not give a step")
    if series.step is not None and not math.isclose(series.step, step, rel_tol=1e-6):
        raise FormatError(f"{path}: states a step of {series.step:g} s, given is {step:g} s")
    return series if series.step is not None else replace(series, step=step)


def with_unit(channel: Channel, path: Path, unit: str | None) -> Channel:
    """Return a channel with the user's unit; raise FormatError where the file states another one."""
    if unit is None or channel.unit == unit:
        return channel
    if not channel.unit:
        return replace(channel, unit=unit)
    stated = si_unit(channel.unit)
    if stated is None or stated != si_unit(unit):
        raise FormatError(f"{path}: {channel.name}: states the unit {channel.unit!r}, given is {unit!r}")
    return channel


def completed(series: Series, path: Path, unit: str | None, step: float | None) -> Series:
    """Return a series with the user's settings of its channels, see ``pick``."""
    stepped = series if step is None else with_step(series, path, step)
    return replace(stepped, channels=tuple(with_unit(channel, path, unit) for channel in series.channels))


def _chosen(measurement: Measurement, path: Path, channel: str | None) -> tuple[Series, Channel]:
    found = [(series, one) for series in measurement.series for one in series.channels]
    if channel is None and len(found) == 1:
        return found[0]
    chosen = [pair for pair in found if pair[1].name == channel]
    if not chosen and channel is not None and channel.isdecimal() and 1 <= int(channel) <= len(found):
        chosen = [found[int(channel) - 1]]
    if len(chosen) == 1:
        return chosen[0]
    names = _some([one.name for _, one in found])
    if channel is None:
        raise FormatError(f"{path}: holds {len(found)} channels: give one of them: {names}")
    if chosen:
        raise FormatError(f"{path}: {len(chosen)} channels are named {channel!r}: give the channel's number")
    raise FormatError(f"{path}: no channel {channel!r}, available: {names}; numbers 1 to {len(found)}")


def _some(names: Sequence[str], maximum: int = 12) -> str:
    more = f", … ({len(names)} in all)" if len(names) > maximum else ""
    return ", ".join(repr(name) for name in names[:maximum]) + more


def _format(name: str) -> Format:
    found = import_module(f"mastd.formats.{name}").FORMAT
    assert isinstance(found, Format)
    return found
