"""Jogging: one axis, or one actuator while the others stay; what does not fit is refused with what would."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mastd.control.reference.jog import STAYS, JogRanges, jog_actuator, jog_axis, plan_jog
from mastd.control.reference.preview import PathLimits
from mastd.kinematics.forward import Observer
from mastd.kinematics.geometry import Geometry
from mastd.kinematics.workspace import lengths_at
from mastd.settings.core.loader import load
from mastd.settings.table.table import TableSettings
from tests.support.lab import ROOT

TABLE = load(ROOT / "config" / "table.yaml", TableSettings)
GEOMETRY = Geometry.from_settings(TABLE)
OBSERVER = Observer(GEOMETRY)
LIMITS = PathLimits.from_settings(TABLE, GEOMETRY)
RANGES = JogRanges.of(OBSERVER)
NEUTRAL = np.zeros(6)


def test_the_ranges_are_those_of_table_4() -> None:
    assert RANGES.single[4:] * 1e3 == pytest.approx(np.array([[-35, 35], [-29, 30], [-50, 50]]))
    assert not RANGES.single[:4].any()
    pairs = {pair: round(reach[1] * 1e3) for pair, reach in RANGES.pairs.items()}
    assert pairs == {(0, 1): 14, (2, 3): 14, (1, 2): 50, (0, 3): 50}


def test_what_guides_hold_cannot_be_jogged_and_the_axes_that_can_are_named() -> None:
    table = load(ROOT / "config" / "tables" / "biaxial" / "table.yaml", TableSettings)
    geometry = Geometry.from_settings(table)
    observer, limits = Observer(geometry), PathLimits.from_settings(table, geometry)
    ranges = JogRanges.of(observer)
    heave = plan_jog((0.0, 2.0, 0.001), NEUTRAL, limits, observer, ranges)
    assert heave.target is None
    assert heave.refusal == "jog is refused: the table's guides hold heave; it is free in surge, sway, yaw"
    yaw = plan_jog((0.0, 5.0, 0.001), NEUTRAL, limits, observer, ranges)
    assert yaw.target == pytest.approx([0.0, 0.0, 0.0, 0.0, 0.0, 0.001])
    alone = plan_jog((1.0, 0.0, 0.001), NEUTRAL, limits, observer, ranges)
    assert alone.refusal.endswith("jog surge or yaw instead")


@settings(max_examples=40, deadline=None)
@given(st.integers(4, 6), st.floats(-0.029, 0.029))
def test_a_jogged_actuator_moves_and_the_others_stay(actuator: int, amount: float) -> None:
    jog = jog_actuator(NEUTRAL, actuator, amount, LIMITS, OBSERVER, RANGES)
    assert jog.target is not None, jog.refusal
    change = lengths_at(GEOMETRY, jog.target)[0] - lengths_at(GEOMETRY, NEUTRAL)[0]
    assert change[actuator] == pytest.approx(amount, abs=1e-8)
    assert np.abs(np.delete(change, actuator)).max() <= 1e-8


def test_off_neutral_the_others_stay_nearly_and_the_range_counts_from_neutral() -> None:
    pose = np.array([0.01, 0.005, 0.02, 0.01, -0.005, 0.005])
    before = lengths_at(GEOMETRY, pose)[0]
    jog = jog_actuator(pose, 6, 0.01, LIMITS, OBSERVER, RANGES)
    assert jog.target is not None
    change = lengths_at(GEOMETRY, jog.target)[0] - before
    assert np.abs(np.delete(change, 6)).max() <= STAYS
    assert change[6] == pytest.approx(0.01, abs=STAYS)
    there = jog_actuator(NEUTRAL, 4, 0.03, LIMITS, OBSERVER, RANGES).target
    assert there is not None
    refused = jog_actuator(there, 4, 0.01, LIMITS, OBSERVER, RANGES)
    assert refused.target is None
    assert "+30.0 mm from neutral" in refused.refusal
    assert "-65.0 to +5.0 mm are possible" in refused.refusal


@pytest.mark.parametrize("actuator", range(4))
def test_a_vertical_actuator_alone_is_refused_with_what_can_move(actuator: int) -> None:
    refusal = jog_actuator(NEUTRAL, actuator, 0.001, LIMITS, OBSERVER, RANGES).refusal
    assert f"actuator {actuator + 1} cannot move while the others are at rest" in refusal
    assert "1+2 by -14 to 14 mm" in refusal
    assert "actuators 5, 6, 7 can move alone" in refusal
    assert len(refusal.encode()) <= 320, "a status block holds it"


@pytest.mark.parametrize(("axis", "amount"), [(2, 0.06), (0, -0.06), (3, 0.08), (4, -0.05), (5, 0.04)])
def test_what_a_refusal_calls_possible_is_possible_and_not_much_more_is(axis: int, amount: float) -> None:
    pose = np.array([0.004, -0.003, 0.006, 0.004, 0.003, -0.002])
    refused = jog_axis(pose, axis, amount, LIMITS)
    assert refused.target is None
    found = re.search(r"can move ([+-][0-9.]+) (mm|deg) from here", refused.refusal)
    assert found is not None, refused.refusal
    possible = float(found[1]) * (1e-3 if found[2] == "mm" else np.pi / 180.0)
    assert jog_axis(pose, axis, possible, LIMITS).target is not None
    assert jog_axis(pose, axis, possible + np.sign(amount) * 6e-4, LIMITS).target is None


def test_a_jog_back_from_beyond_a_limit_is_allowed_and_further_out_is_not() -> None:
    pose = np.array([0.0, 0, -0.049, 0, 0, 0])
    assert jog_axis(pose, 2, 0.02, LIMITS).target is not None
    assert "no travel is left that way" in jog_axis(pose, 2, -0.0005, LIMITS).refusal


@pytest.mark.parametrize(
    "arguments",
    [(0, 6, 0.001), (1, 7, 0.001), (2, 0, 0.001), (0, -1, 0.001), (0, 0.5, 0.001), (0, 0, np.nan)],
)
def test_what_is_no_jog_is_refused(arguments: tuple[float, ...]) -> None:
    jog = plan_jog(arguments, NEUTRAL, LIMITS, OBSERVER, RANGES)
    assert jog.target is None
    assert "refused" in jog.refusal
