"""Arrays that are loaded four numbers at a time begin with a cache line, wherever they come from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from mastd.arrays import ALIGNMENT, aligned_zeros
from mastd.lanes import LANES
from mastd.loop.payload.pickling import pack, unpack
from mastd.vehicle.model.library import find
from mastd.vehicle.simulation.simulation import Simulation
from mastd.vehicle.state.arrays import Arrays


def lane_arrays(value: object) -> Iterator[Any]:
    if isinstance(value, np.ndarray):
        if value.dtype == np.float64 and value.ndim > 1 and value.shape[-1] == LANES:
            yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from lane_arrays(part)


@pytest.mark.parametrize("shape", [(1,), (3, 5, LANES), (7, LANES)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_aligned_zeros_begin_with_a_cache_line(shape: tuple[int, ...], dtype: type) -> None:
    for _ in range(20):
        array = aligned_zeros(shape, dtype)
        assert array.ctypes.data % ALIGNMENT == 0
        assert array.shape == shape
        assert array.dtype == np.dtype(dtype)
        assert array.flags.c_contiguous
        assert not array.any()


def test_every_array_of_a_vehicle_begins_with_a_cache_line_in_the_loader_and_in_the_loop() -> None:
    # Arrays of several vehicles, so that none of them lies well by chance.
    for name in ("benchmark_sedan", "sedan", "transporter_8x8"):
        arrays = Simulation(find(name), step=1e-3).system.layout.arrays
        again = unpack(pack(arrays))
        assert isinstance(again, Arrays)
        for where in (arrays, again):
            # The last axis of ``drive_wheels`` is that of the wheels, which may be four.
            found = list(lane_arrays(where._replace(drive_wheels=np.zeros(0))))
            assert len(found) > 10
            assert {array.ctypes.data % ALIGNMENT for array in found if array.size} == {0}


@pytest.mark.parametrize("order", ["C", "F"])
def test_an_array_crosses_into_the_loop_in_its_own_order(order: Any) -> None:
    array = np.asarray(np.arange(12.0).reshape(3, 4), order=order)
    again = unpack(pack(array))
    assert isinstance(again, np.ndarray)
    assert np.array_equal(again, array)
    assert again.flags.c_contiguous == array.flags.c_contiguous
    again[0, 0] = 7.0
