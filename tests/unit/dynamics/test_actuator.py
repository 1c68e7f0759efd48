"""What a valve must do for an actuator, by laws that hold for any of its numbers."""

from __future__ import annotations

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
from mastd.dynamics.oil_flow import oil_stiffness
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
