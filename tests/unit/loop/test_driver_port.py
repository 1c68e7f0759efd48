"""The loop's end of the driver's block: the newest once, within ranges, nonsense as if nothing had come."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mastd.loop.payload.driver_port import DriverPort
from mastd.wire.common.blocks import DRIVER, NewestValueBlock

NAMES = ("steering", "throttle", "brake", "clutch", "gear")
RANGES = ((-1.0, 1.0), (0.0, 1.0), (0.0, 1.0), (0.0, 1.0), (-9.0, 100.0))
ANY = st.floats(width=64) | st.sampled_from([math.nan, math.inf, -math.inf, 1e308])


def show(block: NewestValueBlock, values: dict[str, float]) -> None:
    """Write as a gateway does that counts."""
    block.field("count")[:] += 1.0
    for name, value in values.items():
        block.field(name)[:] = value
    block.publish()


def test_the_newest_is_taken_once() -> None:
    block = NewestValueBlock(DRIVER)
    port = DriverPort(NewestValueBlock(DRIVER, block.descriptor))
    assert not port.take()
    show(block, {"steering": 0.1, "throttle": 0.2})
    show(block, {"steering": -0.3, "throttle": 0.4, "brake": 0.5, "clutch": 0.6, "gear": 3.0})
    assert port.take()
    assert port.values.tolist() == [-0.3, 0.4, 0.5, 0.6, 3.0]
    assert not port.take()
    block.publish()  # shown again without a new count: nobody has said anything
    assert not port.take()


def test_what_stood_there_before_the_loop_began_is_old() -> None:
    block = NewestValueBlock(DRIVER)
    show(block, {"throttle": 1.0})
    port = DriverPort(NewestValueBlock(DRIVER, block.descriptor))
    assert not port.take()
    assert not port.values.any()


@pytest.mark.parametrize("name", ["count", *NAMES])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_counts_as_nothing(name: str, value: float) -> None:
    block = NewestValueBlock(DRIVER)
    port = DriverPort(NewestValueBlock(DRIVER, block.descriptor))
    show(block, {"throttle": 0.5})
    assert port.take()
    show(block, {"throttle": 0.7, name: value})
    assert not port.take()
    assert port.values.tolist() == [0.0, 0.5, 0.0, 0.0, 0.0]


@settings(deadline=None, max_examples=40)
@given(st.lists(ANY, min_size=5, max_size=5))
def test_whatever_the_gateway_writes_the_values_keep_to_their_ranges(given: list[float]) -> None:
    block = NewestValueBlock(DRIVER)
    port = DriverPort(NewestValueBlock(DRIVER, block.descriptor))
    show(block, dict(zip(NAMES, given, strict=True)))
    assert port.take() == all(math.isfinite(value) for value in given)
    assert np.isfinite(port.values).all()
    for value, (least, most) in zip(port.values, RANGES, strict=True):
        assert least <= value <= most
    assert port.values[4] == int(port.values[4])
