"""Four lanes at a time against numpy, lane by lane; what is not a number comes through."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel
from mastd.lanes import (
    LANES,
    broadcast,
    first_lane,
    hmax,
    hsum,
    load,
    load_row,
    select,
    sqrt,
    store,
    store_row,
)
from mastd.vehicle.blocks.vectors import max_abs

NAN = float("nan")
NUMBERS = st.floats(-1e6, 1e6)
FOUR = st.tuples(*[NUMBERS] * LANES)
ANY = st.one_of(NUMBERS, st.sampled_from([NAN, np.inf, -np.inf, 0.0, -0.0]))
FOUR_OF_ANY = st.tuples(*[ANY] * LANES)


@fused_kernel
def _arithmetic(pair: FloatArray, s: float, out: FloatArray) -> None:
    a, b = load_row(pair, 0), load_row(pair, 1)
    store_row(out, 0, a + b)
    store_row(out, 1, a - b)
    store_row(out, 2, a * b)
    store_row(out, 3, a / b)
    store_row(out, 4, -a)
    store_row(out, 5, a + s)
    store_row(out, 6, s - a)
    store_row(out, 7, a * s)
    store_row(out, 8, s / a)
    store_row(out, 9, a / s)


@fused_kernel
def _functions(values: FloatArray, out: FloatArray) -> None:
    """Write, in rows: the selection, the larger size, the root; then sum, largest and first of the first."""
    a, b, c = load_row(values, 0), load_row(values, 1), load_row(values, 2)
    store_row(out, 0, select(a, b, c))
    store_row(out, 1, max_abs(a, b))
    store_row(out, 2, sqrt(a))
    out[3, 0], out[3, 1], out[3, 2] = hsum(a), hmax(a), first_lane(a)


@fused_kernel
def _copy(block: FloatArray, i: int, j: int, other: FloatArray, scalar: float) -> None:
    store(other, j, i, load(block, i, j))
    store(other, i, j, broadcast(scalar))


@fused_kernel
def _gather(values: FloatArray, out: FloatArray) -> None:
    """Accumulate as the loops do: from a splat, in place, over rows."""
    found = broadcast(0.0)
    for row in range(values.shape[0]):
        found += 2.0 * load_row(values, row)
    store_row(out, 0, found)


def functions(a: tuple[float, ...], b: tuple[float, ...], c: tuple[float, ...]) -> FloatArray:
    """Return what ``_functions`` writes."""
    out = np.zeros((4, LANES))
    _functions(np.array([a, b, c]), out)
    return out


@settings(deadline=None)
@given(a=FOUR_OF_ANY, b=FOUR_OF_ANY, s=ANY)
@example(a=(1.0, 2.0, 3.0, 4.0), b=(0.1, 0.0, -0.0, NAN), s=3.0)
def test_arithmetic_is_that_of_numpy_bit_for_bit(
    a: tuple[float, ...], b: tuple[float, ...], s: float
) -> None:
    x, y, out = np.array(a), np.array(b), np.zeros((10, LANES))
    _arithmetic(np.array([a, b]), s, out)
    with np.errstate(all="ignore"):
        due = np.array([x + y, x - y, x * y, x / y, -x, x + s, s - x, x * s, np.float64(s) / x, x / s])
    np.testing.assert_array_equal(out, due)
    numbers = ~np.isnan(due)
    np.testing.assert_array_equal(np.signbit(out)[numbers], np.signbit(due)[numbers])


@settings(deadline=None)
@given(a=FOUR_OF_ANY, b=FOUR, c=FOUR)
@example(a=(0.0, -0.0, NAN, 1e-300), b=(1.0, 2.0, 3.0, 4.0), c=(5.0, 6.0, 7.0, 8.0))
def test_select_takes_the_second_where_the_first_is_above_zero(
    a: tuple[float, ...], b: tuple[float, ...], c: tuple[float, ...]
) -> None:
    due = [y if x > 0.0 else z for x, y, z in zip(a, b, c, strict=True)]
    np.testing.assert_array_equal(functions(a, b, c)[0], due)


@settings(deadline=None)
@given(a=FOUR_OF_ANY)
def test_root_is_that_of_numpy(a: tuple[float, ...]) -> None:
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(functions(a, a, a)[2], np.sqrt(np.array(a)))


@settings(deadline=None)
@given(a=FOUR)
def test_total_is_the_sum_in_pairs_and_first_lane_the_first(a: tuple[float, ...]) -> None:
    out = functions(a, a, a)
    assert out[3, 0] == (a[0] + a[1]) + (a[2] + a[3])
    assert out[3, 2] == a[0]


@settings(deadline=None)
@given(a=FOUR)
def test_peak_is_the_largest(a: tuple[float, ...]) -> None:
    assert functions(a, a, a)[3, 1] == max(a)


@pytest.mark.parametrize("lane", range(LANES))
@pytest.mark.parametrize("others", [(1.0, 2.0, 3.0), (3.0, 2.0, 1.0), (np.inf, 0.0, -1.0), (NAN, NAN, NAN)])
def test_what_is_not_a_number_comes_through_from_any_lane(lane: int, others: tuple[float, ...]) -> None:
    a = (*others[:lane], NAN, *others[lane:])
    out = functions(a, a, a)
    assert np.isnan(out[3, 1])
    assert np.isnan(out[3, 0])


@settings(deadline=None)
@given(a=FOUR_OF_ANY, b=FOUR_OF_ANY)
@example(a=(NAN, 1.0, NAN, 2.0), b=(1.0, NAN, NAN, 3.0))
def test_larger_size_keeps_what_is_not_a_number_on_either_side(
    a: tuple[float, ...], b: tuple[float, ...]
) -> None:
    largest = np.abs(np.array(a))
    found, both = functions(tuple(largest.tolist()), b, a)[1], np.array([largest, np.abs(np.array(b))])
    finite = np.isfinite(both).all(axis=0)
    np.testing.assert_array_equal(found[finite], both.max(axis=0)[finite])
    assert np.all(np.isnan(found[np.isnan(both).any(axis=0)]))
    assert not np.any(np.isfinite(found[(both == np.inf).any(axis=0)]))


def test_load_and_store_touch_the_four_numbers_of_one_place() -> None:
    random = np.random.default_rng(1)
    block, other = random.standard_normal((3, 5, LANES)), np.zeros((5, 5, LANES))
    _copy(block, 2, 1, other, 7.5)
    due = np.zeros_like(other)
    due[1, 2] = block[2, 1]
    due[2, 1] = 7.5
    np.testing.assert_array_equal(other, due)


def test_sums_in_place_over_rows() -> None:
    values, out = np.random.default_rng(2).integers(-9, 9, (7, LANES)).astype(float), np.zeros((1, LANES))
    _gather(values, out)
    np.testing.assert_array_equal(out[0], 2.0 * values.sum(axis=0))
