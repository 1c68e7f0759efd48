"""Any table of numbers survives write and read in every format, or is refused with the reason."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from mastd.arrays import FloatArray
from mastd.errors import FormatError
from mastd.formats import catalogue
from mastd.formats.core.measurement import Channel, Format, Measurement, Series
from mastd.formats.core.units import si_unit
from mastd.formats.summary import position_at

Tolerance = Callable[[FloatArray], FloatArray]
MOTION: Final = ("g", "m/s2", "m/s²", "cm/s/s", "mm", "µm", "cm/s", "cm", "m")


def nothing(values: FloatArray) -> FloatArray:
    """Return what may be lost of each value where every digit is kept."""
    return np.zeros_like(values)


def single(values: FloatArray) -> FloatArray:
    """Return what 32 bits lose."""
    return np.maximum(2.0**-24 * np.abs(values), 2.0**-149)


def smc_digits(values: FloatArray) -> FloatArray:
    """Return what fields of ten characters lose: five digits, four with exponents of two, three of three."""
    sizes = np.abs(values)
    five, four = (sizes > 1e-9) & (sizes < 0.9e10), (sizes > 1e-99) & (sizes < 0.9e100)
    return np.where(five, 0.51e-4, np.where(four, 0.51e-3, 0.51e-2)) * sizes


@dataclass(frozen=True)
class Promise:
    """What a format says that it keeps.

    ``lost``: of each value in the unit that is written; ``units``: the only ones it takes, any for none.
    """

    lost: Tolerance = nothing
    largest: float = math.inf
    holds_missing: bool = True
    holds_infinite: bool = True
    channels: int = 8
    units: tuple[str, ...] = ()

    def refuses(self, series: Series) -> bool:
        """Whether a format may refuse a table by what it says that it keeps."""
        values = np.concatenate([channel.values for channel in series.channels])
        sizes = np.abs(values[np.isfinite(values)])
        return bool(
            (np.isnan(values).any() and not self.holds_missing)
            or (np.isinf(values).any() and not self.holds_infinite)
            or len(series.channels) > self.channels
            or (len(sizes) and sizes.max() > self.largest)
            or (self.units and any(channel.unit not in self.units for channel in series.channels))
        )


def record(lost: Tolerance, units: tuple[str, ...], channels: int = 1, largest: float = 1e290) -> Promise:
    """Return the promise of a text format of records, which holds finite numbers only."""
    return Promise(lost, largest, holds_missing=False, holds_infinite=False, channels=channels, units=units)


MAX_SINGLE: Final = float(np.finfo(np.float32).max)
PROMISES: Final = {
    "mcap": Promise(),
    "hdf5": Promise(),
    "parquet": Promise(),
    "mdf4": Promise(),
    "rpc3": Promise(single, MAX_SINGLE, holds_missing=False, holds_infinite=False),
    "mts_bin": Promise(single, MAX_SINGLE, holds_missing=False, holds_infinite=False),
    "csv": Promise(holds_infinite=False),
    "peer": record(lambda values: 0.51e-7 * np.abs(values), ("", *MOTION)),
    "smc": record(smc_digits, ("", *MOTION), largest=1e35),
    "cosmos": record(nothing, (*MOTION, "V"), channels=8),
    "usc": record(lambda values: np.full_like(values, 0.50001e-3), MOTION, largest=1e-3),
    "esm": record(nothing, ("", *MOTION)),
    "knet": record(
        lambda values: np.full_like(values, 0.51 * np.abs(values).max() / 2**23),
        ("g", "m/s2", "m/s²", "cm/s/s"),
    ),
}
"""Of the formats that hold time histories; a road is another thing and has its own tests."""

NAMES: Final = st.one_of(
    st.sampled_from(
        [
            *("a", "Beschleunigung vorn links, z", "加速度", "accel.LF.z", "wheel load [kN]", "x" * 200, "1"),
            *(
                "time",
                "a/b",
                "a,b",
                'the "seat"',
                "sea t",
                ".",
                "ü" * 60,
                "#1",
                "50 %",
                "a;b",
                "-",
                "NaN",
                "t s",
            ),
        ]
    ),
    st.text(
        st.characters(exclude_categories=("C", "Zl", "Zp"), include_characters=" ."), min_size=1, max_size=40
    ).filter(lambda text: text == text.strip()),
)
UNITS: Final = st.sampled_from(
    ["", "g", "m/s2", "m/s²", "kN", "N m", "°", "degC", "cm/s/s", "mm", "%", "furlong", "µm", "1", "V", "cm"]
)
VALUES: Final = st.one_of(
    st.floats(-1e3, 1e3),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(
        [0.0, -0.0, 5e-324, 1e-320, 1e-30, -1e-310, 1e38, 3.4028236e38, 1e39, 1.7e308, -9.99999999e99]
    ),
    st.integers(-100, 100).map(float),
)
STEPS: Final = st.sampled_from([1 / 256, 0.005, 1e-3, 1 / 3, 0.01, 1 / 2048, 1e-6, 0.1, 7.3])


@st.composite
def tables(draw: st.DrawFn, promise: Promise) -> Series:
    """Draw channels of equal length on even times: mostly what a format says it keeps, or anything."""
    daring = draw(st.integers(0, 4)) == 0
    most = 8 if daring else promise.channels
    names = draw(st.lists(NAMES, min_size=1, max_size=most, unique=True))
    count = draw(st.one_of(st.integers(1, 20), st.integers(1, 300)))
    values = VALUES if daring else VALUES.filter(lambda value: abs(value) <= promise.largest)
    some = draw(st.lists(values, min_size=1, max_size=12))
    if daring or (promise.holds_missing and draw(st.booleans())):
        some.append(math.nan)
    if daring or (promise.holds_infinite and draw(st.booleans())):
        some += [math.inf, -math.inf]
    units = UNITS if daring or not promise.units else st.sampled_from(promise.units)
    order = np.random.default_rng(draw(st.integers(0, 9)))
    channels = tuple(Channel(name, draw(units), order.choice(np.array(some), count)) for name in names)
    return Series(channels, draw(STEPS), draw(st.sampled_from([0.0, 0.0, 12.5])))


def written() -> list[object]:
    known = [one.name for one in catalogue.formats() if one.write is not None]
    assert set(known) <= {*PROMISES, "opencrg"}, "every writer is tried here"
    return [pytest.param(name, id=name) for name in known if name in PROMISES]


@pytest.mark.parametrize("name", written())
def test_a_table_survives_or_is_refused_with_the_reason(name: str) -> None:
    known, promise = catalogue.named(name), PROMISES[name]

    @given(tables(promise))
    @settings(max_examples=15 if known.library is None else 8, suppress_health_check=list(HealthCheck))
    def tried(series: Series) -> None:
        check(known, promise, series)

    tried()


def check(known: Format, promise: Promise, series: Series) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"a table.ü{known.suffixes[0]}")
        told, refusal = outcome(known, path, series)
        event("refused" if refusal else "written")
        if refusal:
            assert_told(refusal, path)
            assert list(path.parent.iterdir()) == [], "the whole file or none"
            assert promise.refuses(series), f"refused without reason: {refusal}"
            return
        assert all(line and "\n" not in line for line in told)
        assert catalogue.recognise(path).name == known.name
        back = known.read(path)
    assert back.format == known.name
    assert_same(back, series, promise, told)


def outcome(known: Format, path: Path, series: Series) -> tuple[tuple[str, ...], str]:
    """Write a table; return what the file does not keep, and why it is refused, "" where it is not."""
    assert known.write is not None
    try:
        return known.write(path, Measurement("test", (series,), {"title": "a note", "Ort": "Köln"})), ""
    except FormatError as error:
        return (), str(error)


def assert_told(text: str, path: Path) -> None:
    for line in text.split("\n"):
        assert line.startswith(f"{path}: ")
        assert line.isprintable()


def assert_same(back: Measurement, series: Series, promise: Promise, told: tuple[str, ...]) -> None:
    (found,) = back.series
    assert found.step == series.step or any(f"{series.step!r}" in line for line in told), told
    assert found.step == pytest.approx(series.step, rel=1e-7) or (found.step is None and series.count == 1)
    assert position_at(found, 0) == series.start or any(f"{series.start:g}" in line for line in told), told
    assert (found.axis, found.axis_unit) == ("time", "s")
    assert len(found.channels) == len(series.channels)
    for one, other in zip(found.channels, series.channels, strict=True):
        assert one.name == other.name or any("name" in line for line in told), (one.name, other.name, told)
        assert_values(one, other, promise, told)


def means_the_same(unit: str, other: str) -> bool:
    return unit == other or (si_unit(other) is not None and si_unit(unit) == si_unit(other))


def assert_values(one: Channel, other: Channel, promise: Promise, told: tuple[str, ...]) -> None:
    assert one.values.shape == other.values.shape
    assert one.values.dtype == np.float64
    due, slack = other.values, 0.0
    if not means_the_same(one.unit, other.unit):
        assert any("unit" in line for line in told), (one.unit, other.unit, told)
        meaning, wanted = si_unit(one.unit), si_unit(other.unit)
        assert meaning is not None
        assert wanted is not None
        assert (meaning.symbol, meaning.offset) == (wanted.symbol, wanted.offset)
        due, slack = due * (wanted.factor / meaning.factor), 1e-15
    finite = np.isfinite(due)
    np.testing.assert_array_equal(one.values[~finite], due[~finite])
    found, due = one.values[finite], due[finite]
    if not len(due):
        return
    lost = promise.lost(due) + slack * np.abs(due)
    assert (np.abs(found - due) <= lost + 5e-324).all(), (found, due)
    if promise.lost is nothing and not slack:
        np.testing.assert_array_equal(np.signbit(found), np.signbit(due))
