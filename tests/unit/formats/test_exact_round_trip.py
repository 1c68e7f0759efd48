"""HDF5, MDF and Parquet keep every bit of any numbers, with names, units and notes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mastd.formats.core.measurement import Series
from mastd.formats.hdf5 import hdf5
from mastd.formats.mdf import mdf4
from mastd.formats.tables import parquet
from tests.support.formats.written_series import NAMES, SERIES, assert_same_numbers, measurement_of


def numbered(names: tuple[str, ...]) -> list[str]:
    """Return names as MDF keeps them, which knows no empty one."""
    return [name or f"channel {number}" for number, name in enumerate(names, start=1)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("exact")


@pytest.mark.parametrize(
    ("module", "max_series", "names", "notes"),
    [
        pytest.param(hdf5, 3, list, {}, id="hdf5"),
        pytest.param(mdf4, 3, numbered, {"MDF version": "4.10"}, id="mdf4"),
        pytest.param(parquet, 1, list, {}, id="parquet"),
    ],
)
@settings(max_examples=20)
@given(data=st.data())
def test_any_numbers_come_back(
    folder: Path,
    module: ModuleType,
    max_series: int,
    names: Callable[[tuple[str, ...]], list[str]],
    notes: Mapping[str, str],
    data: st.DataObject,
) -> None:
    series: list[Series] = data.draw(st.lists(SERIES, min_size=1, max_size=max_series))
    path = folder / f"any.{module.__name__.rpartition('.')[2]}"
    written = measurement_of(*series)
    assert module.write(path, written) == ()
    read = module.read(path)
    assert read.notes == {**written.notes, **notes}
    assert read.warnings == ()
    for one, other in zip(series, read.series, strict=True):
        assert_same_numbers(one, other)
        assert [channel.name for channel in other.channels] == names(NAMES)[: len(one.channels)]
