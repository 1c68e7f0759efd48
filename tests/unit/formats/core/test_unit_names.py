"""Units as files spell them: every spelling of one unit means the same, and nothing is guessed."""

from __future__ import annotations

import pytest

from mastd.formats.core.units import si_unit
from mastd.units import DIMENSIONS

SPELLINGS = [
    ("g G g's gn", "m/s2", 9.80665),
    ("cm/s2 cm/s^2 cm/s² cm/s**2 cm/sec^2 cm/sec/sec CM/SEC/SEC gal Gal GALS cm/s/s [cm/s2]", "m/s2", 0.01),
    ("m/s2 m/s^2 m/s² M/S2 m/s/s m/sec^2", "m/s2", 1.0),
    ("mm/s2 mm/sec/sec", "m/s2", 1e-3),
    ("g/10 G/10", "m/s2", 0.980665),
    ("in/s2 in/s^2 in/sec/sec", "m/s2", 0.0254),
    ("mm MM millimetres", "m", 1e-3),
    ("in inch inches", "m", 0.0254),
    ("kN KN", "N", 1e3),
    ("lbf lbs", "N", 4.4482216152605),
    ("Nm N-m N*m N.m N·m", "N m", 1.0),
    ("deg ° degrees", "rad", 0.017453292519943295),
    ("psi PSI", "Pa", 6894.757293168361),
    ("V volts Volt", "V", 1.0),
    ("sec s Seconds", "s", 1.0),
    ("km/h kph", "m/s", 1 / 3.6),
]


@pytest.mark.parametrize(("spellings", "symbol", "factor"), SPELLINGS)
def test_every_spelling_of_a_unit_means_the_same(spellings: str, symbol: str, factor: float) -> None:
    for spelled in spellings.split():
        meaning = si_unit(spelled)
        assert meaning is not None, spelled
        assert meaning.symbol == symbol, spelled
        assert meaning.factor == pytest.approx(factor, rel=1e-12), spelled
    assert si_unit(" m / s^2 ") == si_unit("m/s2")


@pytest.mark.parametrize(
    "spelled", ["", "furlong", "mN", "mpa", "km/um", "x" * 1000, "m/", "/", "^2", "[]", "°°"]
)
def test_what_is_not_known_or_could_be_milli_or_mega_is_not_guessed(spelled: str) -> None:
    assert si_unit(spelled) is None


def test_all_units_of_settings_are_known_in_files() -> None:
    for dimension in DIMENSIONS:
        for unit in dimension.units:
            if unit.symbol:
                meaning = si_unit(unit.symbol)
                assert meaning is not None
                assert (meaning.factor, meaning.offset) == (float(unit.factor), float(unit.offset)), (
                    unit.symbol
                )
                assert meaning.dimension == dimension.name
