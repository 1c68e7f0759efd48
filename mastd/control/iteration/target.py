"""Target responses from a file of any known format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from mastd.arrays import FloatArray
from mastd.control.iteration.responses import ResponseSet
from mastd.errors import FormatError, UsageError
from mastd.formats import catalogue
from mastd.formats.core.measurement import Channel, Measurement, Series, step_in_seconds
from mastd.formats.core.units import si_unit
from mastd.motion.profile.timeline import KNOT_SPACING
from mastd.signals.resampling import resample


def names_in(path: Path) -> tuple[str, ...]:
    """Return the names of a file's channels; raise FormatError, UsageError for one that cannot be read."""
    return tuple(channel.name for channel in catalogue.read(path).channels)


def read_target(path: Path, responses: ResponseSet, channels: Mapping[str, str]) -> FloatArray:
    """Return the target (k, r) at every millisecond from the file's first value on.

    ``channels``: response → channel of the file, its name or number, where that is not the response's own
    name. Units are converted. Raises FormatError or UsageError for what is missing or means something else.
    """
    measurement = catalogue.read(path)
    series: list[FloatArray] = []
    problems: list[str] = []
    for name, unit in zip(responses.names, responses.units, strict=True):
        try:
            series.append(_one(measurement, path, channels.get(name, name), unit))
        except (FormatError, UsageError) as error:
            problems.append(f"{name}: {error}")
    if problems:
        raise UsageError("\n".join(problems))
    shortest = min(len(one) for one in series)
    return np.column_stack([one[:shortest] for one in series])


def _one(measurement: Measurement, path: Path, channel: str, unit: str) -> FloatArray:
    found, chosen = catalogue.pick(measurement, path, channel)
    step = step_in_seconds(found, path, "a target")
    known = si_unit(chosen.unit)
    if known is None or known.symbol != unit:
        raise FormatError(f"{path}: {chosen.name}: unit {chosen.unit or 'missing'}, expected {unit}")
    if not np.all(np.isfinite(chosen.values)):
        raise FormatError(f"{path}: {chosen.name}: values not finite")
    if not np.any(chosen.values):
        raise FormatError(f"{path}: {chosen.name}: zero throughout; no target to match")
    return _resampled(found, chosen, step) * known.factor


def _resampled(series: Series, channel: Channel, step: float) -> FloatArray:
    try:
        return resample(channel.values, step, KNOT_SPACING)
    except ValueError as error:
        raise FormatError(f"{channel.name}: {error}") from error


def pairs_of(texts: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Return the responses of ``NAME`` and ``NAME=CHANNEL`` words, and the channels that those name."""
    names, channels = [], {}
    for text in texts:
        name, equals, channel = text.partition("=")
        names.append(name.strip())
        if equals:
            channels[name.strip()] = channel.strip()
    return names, channels
