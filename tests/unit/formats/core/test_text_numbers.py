"""Numbers as Fortran writes them: what is written is read, and what can be read in two ways is refused."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mastd.errors import FormatError
from mastd.formats.core.text_numbers import (
    Layout,
    fixed_values,
    free_values,
    laid_out_values,
    layout_of,
    number_of,
    rows_of,
    scaled_number,
)

HERE = Path("here")
FINITE = st.floats(allow_nan=False, allow_infinity=False)


def fortran(value: float, digits: int) -> str:
    """Return what Fortran's ``E{digits + 7}.{digits}`` makes of a value: a zero before where it fits."""
    mantissa, exponent = f"{abs(value):.{digits - 1}E}".split("E")
    power = int(exponent) + (1 if value else 0)
    figures = f".{mantissa.replace('.', '')}"
    letter = f"E{power:+03d}" if abs(power) < 100 else f"{power:+04d}"
    sign = "-" if value < 0 else ""
    text = sign + figures + letter
    return f"{sign}0{figures}{letter}" if len(text) < digits + 7 else text


@settings(max_examples=80)
@given(st.lists(FINITE, min_size=1, max_size=30), st.integers(1, 9), st.integers(7, 9))
def test_what_fortran_writes_is_read(values: list[float], fields: int, spare: int) -> None:
    """In columns, touching or not, with exponents of two digits and of three without their letter."""
    digits = 7
    texts = [fortran(value, digits).rjust(digits + spare) for value in values]
    lines = ["".join(texts[k : k + fields]) for k in range(0, len(texts), fields)]
    layout = Layout(fields, digits + spare)
    # Above the largest float, rounding to seven digits may leave the range: that is refused, not read.
    if any(abs(value) > 1.79769e308 for value in values):
        return
    expected = np.array([float(f"{value:.{digits - 1}E}") for value in values])
    assert np.array_equal(fixed_values(HERE, lines, 1, layout), expected)
    assert np.array_equal(laid_out_values(HERE, lines, 1, layout, len(values)), expected)
    assert np.array_equal(free_values(HERE, lines, 1), expected)


@settings(max_examples=80)
@given(st.lists(st.tuples(FINITE, st.sampled_from(["{!r}", "{:.17E}", "{:+.17e}"])), max_size=40), st.data())
def test_free_numbers_keep_every_digit(pairs: list[tuple[float, str]], data: st.DataObject) -> None:
    """Whatever parts them: blanks, tabs, lines; with E or D."""
    gap = st.sampled_from([" ", "  ", "\t", "\n", " \n \n"])
    text = "".join(form.format(value) + data.draw(gap) for value, form in pairs)
    if data.draw(st.booleans()):
        text = text.replace("E", "D").replace("e", "d")
    assert np.array_equal(free_values(HERE, text.split("\n"), 1), [value for value, _ in pairs])


@pytest.mark.parametrize(
    ("line", "values"),
    [
        (".5 5. -.5 +5", [0.5, 5.0, -0.5, 5.0]),
        ("5.68-304 0.5771964-104 1.5+100", [5.68e-304, 0.5771964e-104, 1.5e100]),
        ("-0.5E-03-0.6E-03+0.7E-03", [-0.5e-3, -0.6e-3, 0.7e-3]),
        ("0.1234567E-010.2345678E-02", [0.01234567, 0.002345678]),
        ("0.1E-01.5E+00", [0.01, 0.5]),
        ("1.5E-105-2.0E-104", [1.5e-105, -2.0e-104]),
        ("-13.586-9.520-100.25", [-13.586, -9.52, -100.25]),
        ("-100-200-300", [-100.0, -200.0, -300.0]),
        ("-100-200 5.68-304", [-100.0, -200.0, 5.68e-304]),
        ("1.0D0 2.0d-1", [1.0, 0.2]),
        ("", []),
    ],
)
def test_fields_that_touch(line: str, values: list[float]) -> None:
    assert free_values(HERE, [line], 1).tolist() == values


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("0.1 0,2", ":3:5: comma in '0,2': use a decimal point"),
        ("0.1 NaN", ":3:5: 'NaN' is not a number"),
        ("0.1 -inf", ":3:5: '-inf' is not a number"),
        ("  1e999", ":3:3: '1e999' is not a number"),
        ("1 ******", ":3:3: '******' is not a number"),
        ("104.410010.1234", ":3:1: '104.410010.1234' is not a number"),
        ("1.0E-0010.5", ":3:1: '1.0E-0010.5' is not a number"),
        ("1.5E-1050", ":3:1: '1.5E-1050' is not a number"),
        ("1E -5", ":3:1: '1E' is not a number"),
        ("1_000", ":3:1: '1_000' is not a number"),
        ("1 ٣", ":3:3: '٣' is not a number"),
        ("1 - 5", ":3:3: '-' is not a number"),
        ("0x10", ":3:1: '0x10' is not a number"),
    ],
)
def test_refused(line: str, said: str) -> None:
    """With line and column; the lines before are fine, and the third is not the first of the file."""
    with pytest.raises(FormatError, match="^here" + re.escape(said)):
        free_values(HERE, ["1 2", line], 2)


def test_the_line_of_a_long_text() -> None:
    """Complaints count from the file's first line, however many lines were fine."""
    lines = ["1.0 2.0"] * 1234 + ["1.0 x"]
    with pytest.raises(FormatError, match=r"^here:1244:5: 'x' is not a number"):
        free_values(HERE, lines, 10)


def test_numbers_of_headers() -> None:
    """One number, and nothing beside it."""
    assert number_of(" .5D+01 ") == 5.0
    for text in ("100-200", "1 2", "1,5", "", "nan", "1e999", "0x1", "9" * 500):
        assert number_of(text) is None


def test_columns() -> None:
    """Short last lines, blanks before digits; a field of blanks, of two numbers, or too many: refused."""
    layout = Layout(3, 6)
    assert fixed_values(HERE, ["  1.50 -2.25  3.00", "  4.00   "], 1, layout).tolist() == [
        1.5,
        -2.25,
        3.0,
        4.0,
    ]
    assert fixed_values(HERE, ["123.50123.50-23.50"], 1, layout).tolist() == [123.5, 123.5, -23.5]
    for line, said in (
        ("  1.50        3.00", ":5:7: a field contains no number"),
        ("  1.50 -2.25  3.00  4.00", ":5:19: the line continues after its 3 fields of 6 characters"),
        ("  1.50 1 2", ":5:8: '1 2' is not a number"),
        ("  1.50 -2,25", ":5:8: comma in '-2,25'"),
    ):
        with pytest.raises(FormatError, match="^here" + re.escape(said)):
            fixed_values(HERE, [line], 5, layout)


def test_writers_that_keep_to_no_columns() -> None:
    """Values parted by blanks are read where they are as many as stated, whatever the stated columns."""
    lines = ["  -11547 ", "  -11307 "]
    assert laid_out_values(HERE, lines, 1, Layout(1, 6), 2).tolist() == [-11547.0, -11307.0]
    with pytest.raises(FormatError, match="continues after"):
        laid_out_values(HERE, lines, 1, Layout(1, 6), 3)


@pytest.mark.parametrize(
    ("descriptor", "layout"),
    [
        ("(8F10.5)", Layout(8, 10)),
        ("(10I8)", Layout(10, 8)),
        ("8(1PE10.4E1)", Layout(8, 10)),
        ("(1P5E15.7)", Layout(5, 15)),
        ("(5ES14.7e1)", Layout(5, 14)),
        ("(E15.6)", Layout(1, 15)),
        ("(I6,F8.2)", None),
        ("(0F10.5)", None),
        ("(8F0.5)", None),
        ("(A80)", None),
        ("", None),
        ("(99999999F10.5)", None),
    ],
)
def test_formats(descriptor: str, layout: Layout | None) -> None:
    assert layout_of(descriptor) == layout


@given(st.decimals(min_value="1e-12", max_value="1e12", allow_nan=False, places=9))
def test_scaled_numbers_are_rounded_once(value: Decimal) -> None:
    """Milliseconds become the seconds that are nearest to what is written."""
    assert scaled_number(f" {value} ", -3) == float(value / 1000)
    assert number_of(f"{value}") == float(value)


@given(st.lists(st.floats(-1e5, 1e5), max_size=20), st.integers(1, 7))
def test_rows(values: list[float], fields: int) -> None:
    """Rows have as many fields as asked, and all values."""
    text = rows_of(np.array(values, dtype=np.float64), "%25.16E", fields)
    lines = text.splitlines()
    assert [len(line) for line in lines] == [
        25 * min(fields, len(values) - k) for k in range(0, len(values), fields)
    ]
    assert free_values(HERE, lines, 1).tolist() == values
