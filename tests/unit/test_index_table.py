"""Index tables: offsets follow from sizes, and kernels see constants."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from mastd.arrays import FloatArray
from mastd.index_table import Entry, entries, index_table, size_of
from mastd.kernel import kernel


class Row(NamedTuple):
    stiffness: Annotated[int, Entry("N/m", "rate")]
    force: Annotated[int, Entry("N", "x y z", 3)]
    code: int


ROW = index_table(Row)
LATER = index_table(Row, first=10)


@kernel
def look(values: FloatArray) -> float:
    return float(values[ROW.stiffness] + values[ROW.force + 2] + values[LATER.code])


def test_offsets_are_the_running_sum_of_the_sizes() -> None:
    assert tuple(ROW) == (0, 1, 4)
    assert tuple(LATER) == (10, 11, 14)


def test_the_size_covers_the_last_quantity() -> None:
    assert size_of(ROW) == 5
    assert size_of(LATER) == 15


def test_units_and_meanings_stand_beside_the_names() -> None:
    assert dict(entries(Row))["force"] == Entry("N", "x y z", 3)
    assert dict(entries(Row))["code"].size == 1


def test_a_kernel_reads_the_named_numbers() -> None:
    assert look(np.arange(15.0)) == 0.0 + 3.0 + 14.0
