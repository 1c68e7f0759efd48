"""Units of an FMU against SI: what is the same quantity is converted, everything else is refused."""

from __future__ import annotations

from fractions import Fraction

import pytest

from hil_sim.rigs.fmu.units import DeclaredUnit, conversion, powers_of
from mastd.settings.rigs.channels import KINDS, REQUIRED, SIGNALS, signal
from mastd.units import DIMENSIONS, UnitError

METRE = {"m": Fraction(1)}
FORCE = {"kg": Fraction(1), "m": Fraction(1), "s": Fraction(-2)}


@pytest.mark.parametrize(
    ("declared", "si", "fmu", "value"),
    [
        (DeclaredUnit("m", METRE), "m", 2.0, 2.0),
        (DeclaredUnit("mm", METRE, 1e-3), "m", 250.0, 0.25),
        (DeclaredUnit("whatever", FORCE, 1000.0), "N", 3.0, 3000.0),
        (DeclaredUnit("degC", {"K": Fraction(1)}, 1.0, 273.15), "K", 20.0, 293.15),
        (DeclaredUnit("mm"), "m", 250.0, 0.25),
        (DeclaredUnit("N.m"), "N m", 4.0, 4.0),
        (DeclaredUnit("kN·m"), "N m", 4.0, 4000.0),
        (DeclaredUnit("m/s^2"), "m/s2", 4.0, 4.0),
        (DeclaredUnit("m/s²"), "m/s2", 4.0, 4.0),
        (DeclaredUnit("km/h"), "m/s", 36.0, 10.0),
        (DeclaredUnit("%"), "1", 50.0, 0.5),
        # A tool that leaves the radian out of its powers.
        (DeclaredUnit("rad/s", {"s": Fraction(-1)}), "rad/s", 4.0, 4.0),
        (None, "1", 0.5, 0.5),
    ],
)
def test_the_same_quantity_is_converted_both_ways(
    declared: DeclaredUnit | None, si: str, fmu: float, value: float
) -> None:
    found = conversion(declared, "channel", si)
    assert found.to_si(fmu) == pytest.approx(value, rel=1e-15)
    assert found.from_si(value) == pytest.approx(fmu, rel=1e-14)


@pytest.mark.parametrize(
    ("declared", "si", "says"),
    [
        (DeclaredUnit("m", METRE), "N", "is in m, wrench.fx is in N: not the same quantity"),
        # The unit's own definition counts, not its name.
        (DeclaredUnit("N", METRE), "N", "is in N, wrench.fx is in N: not the same quantity"),
        (DeclaredUnit("Hz"), "rad/s", "is in Hz, wrench.fx is in rad/s: not the same quantity"),
        (DeclaredUnit("furlong"), "m", "is in 'furlong', which is not known; wrench.fx is in m"),
        (DeclaredUnit("m", METRE, 0.0), "m", "whose factor makes no sense; wrench.fx is in m"),
        (None, "N", "states no unit, wrench.fx is in N: give it with --unit"),
    ],
)
def test_another_quantity_is_refused_with_both_units(
    declared: DeclaredUnit | None, si: str, says: str
) -> None:
    with pytest.raises(UnitError) as error:
        conversion(declared, "wrench.fx", si)
    assert says in str(error.value)


def test_every_unit_that_a_rig_can_have_is_understood() -> None:
    names = ("steering", "throttle", "gear", "wheel_torque.fl", "damper_force.fl")
    found = {known.unit for name in names if (known := signal(SIGNALS, name)) is not None}
    for kind in KINDS[1:]:
        found |= {known.unit for name in REQUIRED[kind] if (known := signal(kind, name)) is not None}
    assert len(found) == 8
    assert all(powers_of(unit) is not None for unit in found)


def test_si_units_of_the_settings_are_understood_but_for_octaves() -> None:
    unknown = {dimension.si for dimension in DIMENSIONS if powers_of(dimension.si) is None}
    assert unknown == {"oct/s", "(m/s2)2/Hz", "(rad/s2)2/Hz"}
