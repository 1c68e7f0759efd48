"""Series of all numbers that there are, and whether they came back as they were written."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import strategies
from hypothesis.extra.numpy import arrays

from mastd.arrays import FloatArray
from mastd.formats.core.measurement import Channel, Measurement, Series

NAMES = ("heave", "heave", "frame.x", "a/b", "time", "", ".", "Kraft °", "x (2)")
NUMBERS = strategies.floats(width=64, allow_nan=True, allow_infinity=True, allow_subnormal=True)
TABLES = strategies.tuples(strategies.integers(1, 12), strategies.integers(1, 9)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=NUMBERS)
)


def series_of(table: FloatArray, step: float | None = 0.01, start: float = 0.0, name: str = "") -> Series:
    """Return the columns of a table (n, up to 9) as channels with names that formats dislike."""
    channels = tuple(
        Channel(NAMES[number], "m/s²" if number % 2 else "", column.copy(), f"column {number}, <&>")
        for number, column in enumerate(table.T)
    )
    return Series(channels, step, start, name=name)


def _on_axis(table: FloatArray, step: float, start: float, axis: str) -> Series:
    series = series_of(table, step, start, "a/b")
    if axis == "road":
        return replace(series, axis="u", axis_unit="m")
    power = {"uneven": 1.5, "even, but no step is stated": 1.0}.get(axis)
    if power is None:
        return series
    abscissae: FloatArray = step * np.arange(len(table), dtype=np.float64) ** power
    return replace(series, step=None, start=0.0, abscissae=abscissae)


SERIES = strategies.builds(
    _on_axis,
    TABLES,
    strategies.sampled_from([1e-3, 1 / 256, 1 / 3, 0.1, 1e-300, 1e9]),
    strategies.sampled_from([0.0, -0.3, 1.7e9, 1e-9]),
    strategies.sampled_from(["time", "road", "uneven", "even, but no step is stated"]),
)


def measurement_of(*series: Series) -> Measurement:
    notes = {"title": "Prüfung <1> & 2", "settings": 'table:\n  mass: 5 t\n\n"quoted"\n', "start time": START}
    return Measurement("test", series, notes)


START = "2024-05-06T07:08:09+00:00"


def assert_same_numbers(written: Series, read: Series) -> None:
    """Every bit of values and places, start, step, units, descriptions and the axis are as they were."""
    assert len(read.channels) == len(written.channels)
    for one, other in zip(written.channels, read.channels, strict=True):
        assert other.values.tobytes() == one.values.tobytes()
        assert (other.unit, other.description) == (one.unit, one.description)
    assert (read.step, read.start) == (written.step, written.start)
    assert (read.axis, read.axis_unit, read.name) == (written.axis, written.axis_unit, written.name)
    assert (read.abscissae is None) == (written.abscissae is None)
    if written.abscissae is not None and read.abscissae is not None:
        assert read.abscissae.tobytes() == written.abscissae.tobytes()
