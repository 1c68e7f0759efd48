"""Other parts of a measurement, and other rates: some channels, a span of its axis, resampled."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from mastd.arrays import FloatArray
from mastd.errors import FormatError
from mastd.formats.core.measurement import Channel, Measurement, Series
from mastd.signals.resampling import MAX_CHANGE, new_count, resample

_SLACK: Final = 1e-6
"""Steps by which a value may lie outside of a span and still belong to it."""
_MAX_NAMED: Final = 12


def matching(names: Sequence[str], wanted: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the names selected by name or pattern like ``pose.*``, and the selections without a match."""
    found: dict[str, None] = {}
    missing = []
    for pattern in wanted:
        met = [pattern] if pattern in names else [name for name in names if fnmatchcase(name, pattern)]
        found |= dict.fromkeys(met)
        if not met:
            missing.append(pattern)
    return list(found), missing


class Chosen(NamedTuple):
    """Some channels of a measurement, and for each of its series their numbers in the file, from 1 on."""

    measurement: Measurement
    numbers: tuple[tuple[int, ...], ...]


def chosen(measurement: Measurement, path: Path, wanted: Sequence[str]) -> Chosen:
    """Return only some channels: by name, pattern like ``pose.*`` or number, in the order of ``wanted``.

    Raises FormatError that names what there is where one is not there.
    """
    names = [channel.name for channel in measurement.channels]
    order: dict[int, None] = {}
    missing = []
    for name in wanted:
        met = set(matching(names, [name])[0])
        numbers = [number for number, known in enumerate(names, start=1) if known in met]
        if not numbers and name.isdecimal() and len(name) < 10 and 1 <= int(name) <= len(names):
            numbers = [int(name)]
        order |= dict.fromkeys(numbers)
        if not numbers:
            missing.append(name)
    if missing or not order:
        what = f"no channel {', '.join(missing)}" if missing else "no channel selected"
        shown = ", ".join(names[:_MAX_NAMED]) + (", …" if len(names) > _MAX_NAMED else "")
        raise FormatError(f"{path}: {what}, available {len(names)}: {shown}")
    series: list[Series] = []
    kept: list[tuple[int, ...]] = []
    before = 0
    for one in measurement.series:
        own = tuple(number for number in order if before < number <= before + len(one.channels))
        if own:
            series.append(replace(one, channels=tuple(one.channels[number - before - 1] for number in own)))
            kept.append(own)
        before += len(one.channels)
    return Chosen(replace(measurement, series=tuple(series)), tuple(kept))


def between(measurement: Measurement, path: Path, first: float | None, last: float | None) -> Measurement:
    """Return only the values from ``first`` to ``last`` on the axis, both included; None: to the end.

    Raises FormatError where nothing is between them.
    """
    if first is None and last is None:
        return measurement
    low, high = -math.inf if first is None else first, math.inf if last is None else last
    return replace(measurement, series=tuple(_between(one, path, low, high) for one in measurement.series))


def at_step(
    measurement: Measurement, path: Path, step: float, held: Callable[[Channel], bool] = lambda _: False
) -> Measurement:
    """Return the measurement with another step: see ``mastd.signals.resampling``.

    Channels that are ``held`` are not filtered: each value stays until the next one, as befits states and
    counters. Raises FormatError for an uneven axis, a step that is not known, values that are not finite.
    """
    return replace(measurement, series=tuple(_at_step(one, path, step, held) for one in measurement.series))


def _between(series: Series, path: Path, low: float, high: float) -> Series:
    if series.abscissae is not None:
        inside = np.flatnonzero((series.abscissae >= low) & (series.abscissae <= high))
    elif series.step is None:
        raise FormatError(f"{path}: the {series.axis} between two values is unknown: give it")
    else:
        numbers = np.arange(series.count)
        slack = _SLACK * series.step
        positions = series.axis_values()
        inside = numbers[(positions >= low - slack) & (positions <= high + slack)]
    if not len(inside):
        raise FormatError(f"{path}: {series.name or 'the series'}: no values from {low:g} to {high:g}")
    channels = tuple(replace(channel, values=channel.values[inside]) for channel in series.channels)
    if series.abscissae is not None or series.step is None:
        return replace(series, channels=channels, abscissae=series.axis_values()[inside])
    return replace(series, channels=channels, start=series.start + series.step * int(inside[0]))


def _at_step(series: Series, path: Path, step: float, held: Callable[[Channel], bool]) -> Series:
    old = series.step
    if series.abscissae is not None or old is None:
        raise FormatError(f"{path}: its {series.axis} is uneven or unknown: it cannot be resampled")
    if series.axis == "time" and not series.axis_unit:
        raise FormatError(f"{path}: its times have no unit: give the step with --step")
    if math.isclose(old, step, rel_tol=1e-12):
        return series
    if not 1.0 / MAX_CHANGE <= step / old <= MAX_CHANGE:
        raise FormatError(f"{path}: from a step of {old:g} to one of {step:g}: maximum ratio {MAX_CHANGE:g}")
    keep = [held(channel) for channel in series.channels]
    smooth = [channel for channel, one in zip(series.channels, keep, strict=True) if not one]
    for channel in smooth:
        wrong = np.flatnonzero(~np.isfinite(channel.values))
        if len(wrong):
            raise FormatError(
                f"{path}: {channel.name}: value {wrong[0]} is {channel.values[wrong[0]]:g}, it cannot be"
                f" resampled (and {len(wrong) - 1} more)"
            )
    done = iter(resample(np.column_stack([c.values for c in smooth]), old, step).T if smooth else ())
    count = new_count(series.count, old, step)
    latest = np.minimum(np.floor(np.arange(count) * (step / old) + _SLACK), series.count - 1).astype(np.int64)
    channels = []
    for channel, one in zip(series.channels, keep, strict=True):
        values: FloatArray = channel.values[latest] if one else np.ascontiguousarray(next(done))
        channels.append(replace(channel, values=values))
    return replace(series, channels=tuple(channels), step=step)
