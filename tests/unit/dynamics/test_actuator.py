"""What a valve must do for an actuator, by laws that hold for any of its numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mastd.dynamics.actuator import (
    ACTUATOR,
    LAP_RATIO,
    actuator_rows,
    mean_over_lap,
    oil_spring,
    opening_for,
    seal_friction,
    speed_for,
)
from mastd.dynamics.oil_flow import hydraulic_constants, oil_flow, oil_stiffness, valve_ratio
from mastd.settings.core.loader import load
from mastd.settings.core.starter import find
from mastd.settings.table.table import TableSettings
from tests.support.present import present

TABLE = load(find("table", "table"), TableSettings)
ROW = actuator_rows(TABLE)[0]
SUPPLY = present(TABLE.supply).pressure


@given(
    speed=st.floats(-0.5, 0.5).filter(lambda value: abs(value) > 1e-6),
    load=st.floats(-1.2e5, 1.2e5),
    supply=st.floats(1.5e7, 2.2e7),
)
def test_an_opening_gives_the_speed_that_it_was_made_for(speed: float, load: float, supply: float) -> None:
    opening = opening_for(ROW, speed, load, supply)
    if abs(opening) < 1.0:
        assert speed_for(ROW, opening, load, supply) == pytest.approx(speed, rel=1e-9)


@given(before=st.floats(-0.05, 0.05), after=st.floats(-0.05, 0.05), overlap=st.floats(0.0, 0.02))
def test_the_mean_through_the_overlap_is_that_of_many_moments(
    before: float, after: float, overlap: float
) -> None:
    row = ROW.copy()
    row[ACTUATOR.overlap] = overlap
    moments = before + (after - before) * (np.arange(20_000) + 0.5) / 20_000
    stepped = moments + overlap * np.sign(moments)
    # The step has an edge; what lies outside it is exact.
    edge = LAP_RATIO * overlap
    outside = max(min(abs(before), abs(after)) if before * after > 0.0 else 0.0, abs(after - before))
    allowed = overlap * min(1.0, 1.1 * edge / max(outside, 1e-12)) + 1e-9
    assert mean_over_lap(row, before, after) == pytest.approx(np.mean(stepped), abs=allowed)


def test_the_oil_is_as_stiff_as_the_closed_formula_says() -> None:
    for offset in (-0.045, 0.0, 0.03):
        stroke = TABLE.links[0].stroke
        expected = oil_stiffness(TABLE.types[0].cylinder, stroke, offset)
        assert oil_spring(ROW, TABLE.links[0].neutral_length + offset) == pytest.approx(expected, rel=1e-12)


def test_seals_slide_with_their_friction_and_give_back_what_they_hold() -> None:
    friction = TABLE.types[0].cylinder.friction
    bristles = np.zeros(1)
    sliding = 0.0
    for _ in range(300):
        sliding = seal_friction(ROW, bristles, 0, 0.1, 1e-3)
    level = friction.coulomb + (friction.breakaway - friction.coulomb) / (
        1.0 + (0.1 / friction.stribeck_velocity) ** 2
    )
    assert sliding == pytest.approx(level + 0.1 * friction.viscous, rel=1e-6)
    held = [seal_friction(ROW, bristles, 0, 0.0, 1e-3) for _ in range(3)]
    assert held[-1] == pytest.approx(level, rel=1e-6)
    back = seal_friction(ROW, bristles, 0, -0.1, 1e-3)
    assert back < held[-1]


def changed(areas: tuple[float, float], **valve: float) -> TableSettings:
    """Return the starter table with other piston areas and data of its valves."""
    assert TABLE.actuator is not None
    assert TABLE.valve is not None
    return TABLE.model_copy(
        update={
            "actuator": TABLE.actuator.model_copy(update={"piston_areas": areas}),
            "valve": TABLE.valve.model_copy(update=valve),
        }
    )


@given(
    ratio=st.floats(0.4, 2.0),
    second=st.floats(50e-4, 120e-4),
    opening=st.floats(0.1, 1.0),
    load=st.floats(-0.6, 0.6),
    extends=st.booleans(),
)
def test_a_steady_speed_passes_both_ports_however_they_differ(
    ratio: float, second: float, opening: float, load: float, extends: bool
) -> None:
    """What either port passes at the pressure that the speed leaves it moves the piston at that speed."""
    areas = (95e-4, second)
    table = changed(areas, port_ratio=ratio, count=2)
    valve, back = table.types[0].valve, table.types[0].supply.return_pressure
    row = actuator_rows(table)[0]
    force = load * min(areas) * (SUPPLY - back)
    speed = speed_for(row, opening if extends else -opening, force, SUPPLY)
    size = opening / math.sqrt(1.0 + (opening * row[ACTUATOR.saturation]) ** 2)
    ports = 2.0 * valve.rated_flow / math.sqrt(0.5 * valve.rated_pressure_drop) / valve.saturation
    gains = (size * ports, size * ports * ratio)
    drops = [(area * speed / gain) ** 2 for area, gain in zip(areas, gains, strict=True)]
    first, other = (SUPPLY - drops[0], back + drops[1]) if extends else (back + drops[0], SUPPLY - drops[1])
    assert first * areas[0] - other * areas[1] == pytest.approx(force, abs=1e-6 * SUPPLY * areas[0])


def test_a_single_acting_cylinder_is_driven_out_by_the_supply_and_in_by_its_load() -> None:
    """Out at K √(p_s − F/A), in at K √(F/A − p_r), over A; the column of one chamber is its spring."""
    area, load = 95e-4, 80e3
    table = changed((area, 0.0))
    valve, cylinder = table.types[0].valve, table.types[0].cylinder
    row = actuator_rows(table)[0]
    full = valve.rated_flow / math.sqrt(0.5 * valve.rated_pressure_drop)
    assert speed_for(row, 1.0, load, SUPPLY) == pytest.approx(full * math.sqrt(SUPPLY - load / area) / area)
    back = table.types[0].supply.return_pressure
    assert speed_for(row, -1.0, load, SUPPLY) == pytest.approx(-full * math.sqrt(load / area - back) / area)
    column = TABLE.links[0].stroke + cylinder.dead_length
    spring = oil_spring(row, TABLE.links[0].neutral_length + 0.02)
    assert spring == pytest.approx(cylinder.bulk_modulus * area / (column + 0.02))
    known = hydraulic_constants(table)[0]
    assert valve_ratio(known, 0.1, load) == pytest.approx(0.1 / speed_for(row, 1.0, load, SUPPLY))
    assert valve_ratio(known, -0.1, load) == pytest.approx(-0.1 / speed_for(row, -1.0, load, SUPPLY))
    assert valve_ratio(known, -0.1, 0.0) == math.inf, "nothing but its load drives it in"
    assert oil_flow(known, -0.1, load) == pytest.approx(cylinder.leakage * load / area)
