"""Units: exact conversion, one dimension per symbol, and messages that say what would be right."""

from __future__ import annotations

import contextlib
import math
import re
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mastd import units
from mastd.units import DIMENSIONS, Dimension, UnitError, parse

FINITE = st.floats(allow_nan=False, allow_infinity=False)
SYMBOLS = [unit.symbol for dimension in DIMENSIONS for unit in dimension.units]


@pytest.mark.parametrize(
    ("text", "dimension", "si"),
    [
        ("5 mm", units.LENGTH, 0.005),
        ("1400 mm", units.LENGTH, 1.4),
        ("-3mm", units.LENGTH, -0.003),
        ("+1.5e1 cm", units.LENGTH, 0.15),
        (".5 um", units.LENGTH, 5e-7),
        ("2 km", units.LENGTH, 2000.0),
        ("36 km/h", units.VELOCITY, 10.0),
        ("250 mm/s", units.VELOCITY, 0.25),
        ("1 g", units.ACCELERATION, 9.80665),
        ("2 g", units.ACCELERATION, 19.6133),
        ("1 m/s3", units.JERK, 1.0),
        ("180 deg", units.ANGLE, math.pi),
        ("62 mrad", units.ANGLE, 0.062),
        ("90 deg/s", units.ANGULAR_VELOCITY, math.pi / 2),
        ("360 deg/s2", units.ANGULAR_ACCELERATION, 2 * math.pi),
        ("3000 rpm", units.ANGULAR_VELOCITY, 100 * math.pi),
        ("3 rad/s3", units.ANGULAR_JERK, 3.0),
        ("250 us", units.TIME, 2.5e-4),
        ("2 min", units.TIME, 120.0),
        ("1 h", units.TIME, 3600.0),
        ("1.2 kHz", units.FREQUENCY, 1200.0),
        ("300 1/s", units.RATE, 300.0),
        ("0.3 1/ms", units.RATE, 300.0),
        ("35 t", units.MASS, 35000.0),
        ("14600 kg m2", units.INERTIA, 14600.0),
        ("196 kN", units.FORCE, 196000.0),
        ("10 kN m", units.MOMENT, 10000.0),
        ("210 bar", units.PRESSURE, 21e6),
        ("0.7 GPa", units.PRESSURE, 0.7e9),
        ("50 L", units.VOLUME, 0.05),
        ("60 L/min", units.FLOW, 1e-3),
        ("160 m3/h", units.FLOW, 160 / 3600),
        ("6 m3/min", units.FLOW, 0.1),
        ("95 cm2", units.AREA, 0.0095),
        ("20 degC", units.TEMPERATURE, 293.15),
        ("300 K", units.TEMPERATURE, 300.0),
        ("5.0e-12 m3/(s Pa)", units.OIL_LEAKAGE, 5e-12),
        ("200 MN/m", units.STIFFNESS, 2e8),
        ("4 kN s/m", units.DAMPING, 4000.0),
        ("60 N/mm", units.STIFFNESS, 60000.0),
        ("4.5 N s/mm", units.DAMPING, 4500.0),
        ("350 kg cm2", units.INERTIA, 0.035),
        ("9 kN m/rad", units.TORSIONAL_STIFFNESS, 9000.0),
        ("50 N m/deg", units.TORSIONAL_STIFFNESS, 9000 / math.pi),
        ("20 N m s/rad", units.TORSIONAL_DAMPING, 20.0),
        ("14 1/rad", units.SLIP_ANGLE_GAIN, 14.0),
        ("0.25 1/deg", units.SLIP_ANGLE_GAIN, 45 / math.pi),
        ("90 %", units.RATIO, 0.9),
        ("0.9", units.RATIO, 0.9),
        ("60 oct/min", units.SWEEP_RATE, 1.0),
        ("1 g2/Hz", units.ACCELERATION_DENSITY, 9.80665**2),
        ("1 (m/s2)2/Hz", units.ACCELERATION_DENSITY, 1.0),
    ],
)
def test_a_quantity_is_read_as_its_si_value(text: str, dimension: Dimension, si: float) -> None:
    assert parse(text, dimension) == pytest.approx(si, rel=2e-16, abs=0)


@given(value=FINITE, dimension=st.sampled_from(DIMENSIONS))
def test_the_text_of_an_si_value_reads_back_exactly(value: float, dimension: Dimension) -> None:
    value = max(value, dimension.lowest)
    assert parse(units.text(value, dimension), dimension) == value


@given(
    value=st.floats(1e-6, 1e6),
    unit=st.sampled_from([(d, u) for d in DIMENSIONS for u in d.units if d.lowest == -math.inf]),
    space=st.sampled_from(["", " ", "   "]),
)
def test_every_unit_scales_by_its_factor_and_rounds_once(
    value: float, unit: tuple[Dimension, units.Unit], space: str
) -> None:
    dimension, chosen = unit
    if chosen.symbol[:1] == "1":
        space = " "
    exact = Fraction(repr(value)) * chosen.factor
    assert parse(f"{value!r}{space}{chosen.symbol}", dimension) == float(exact)


def test_every_symbol_belongs_to_one_dimension_and_every_example_is_read() -> None:
    assert len(SYMBOLS) == len(set(SYMBOLS))
    for dimension in DIMENSIONS:
        assert math.isfinite(parse(dimension.example, dimension))
        assert units.dimension_of(dimension.example) is dimension
        assert dimension.units[0].factor == 1


@pytest.mark.parametrize(
    ("text", "dimension", "words"),
    [
        ("5", units.LENGTH, "5 has no unit, a length needs one (m, mm"),
        ("5 kg", units.LENGTH, "'kg' is a unit of mass, expected a length"),
        ("5 g", units.MASS, "unit of acceleration (standard gravity), expected a mass (kg, t"),
        ("5 Mm", units.LENGTH, "did you mean 5 mm?"),
        ("5 m/s^2", units.ACCELERATION, "did you mean 5 m/s2?"),
        ("5 m/s²", units.ACCELERATION, "did you mean 5 m/s2?"),
        ("5 Nm", units.MOMENT, "did you mean 5 N m?"),
        ("5 N*m", units.MOMENT, "did you mean 5 N m?"),
        ("5 µm", units.LENGTH, "did you mean 5 um?"),
        ("160 m³/h", units.FLOW, "did you mean 160 m3/h?"),
        ("160 l/min", units.FLOW, "did you mean 160 L/min?"),
        ("160 L/h", units.FLOW, "unknown unit 'L/h', expected a flow (m3/s, L/min, L/s, m3/min, m3/h;"),
        ("160 ml/s", units.FLOW, "unknown unit 'ml/s', expected a flow"),
        ("5 furlong", units.LENGTH, "unknown unit 'furlong', expected a length"),
        ("5 rad/s", units.FREQUENCY, "'rad/s' is a unit of angular velocity, expected a frequency"),
        ("5,5 mm", units.LENGTH, "use a decimal point"),
        ("1_000 mm", units.LENGTH, "underscore"),
        ("010 mm", units.LENGTH, "leading zero"),
        ("five mm", units.LENGTH, "is not a length, expected a number and a unit"),
        ("mm", units.LENGTH, "is not a length"),
        ("", units.LENGTH, "is not a length"),
        ("nan mm", units.LENGTH, "not finite"),
        ("-inf mm", units.LENGTH, "not finite"),
        ("1e999 m", units.LENGTH, "not finite"),
        ("1e99999999 m", units.LENGTH, "unit"),
        ("5 mm 3", units.LENGTH, "unknown unit"),
        ("5 mm mm", units.LENGTH, "unknown unit"),
        ("٥ mm", units.LENGTH, "is not a length"),
        ("-300 degC", units.TEMPERATURE, "the minimum temperature is 0 K"),
        ("9" * 200 + " mm", units.LENGTH, "is not a length"),
    ],
)
def test_what_is_not_a_quantity_is_refused_with_what_would_be_right(
    text: str, dimension: Dimension, words: str
) -> None:
    with pytest.raises(UnitError, match=re.escape(words)):
        parse(text, dimension)


@given(
    text=st.text(max_size=40) | st.builds("{!r} {}".format, FINITE, st.sampled_from(SYMBOLS)),
    dimension=st.sampled_from(DIMENSIONS),
)
@example("-1.5 mm", units.LENGTH)
def test_any_text_is_a_finite_quantity_of_the_dimension_of_its_unit_or_a_unit_error(
    text: str, dimension: Dimension
) -> None:
    with contextlib.suppress(UnitError):
        value = parse(text, dimension)
        assert math.isfinite(value)
        assert units.dimension_of(text) is dimension
        assert parse(units.text(value, dimension), dimension) == value
