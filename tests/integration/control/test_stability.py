"""The proof of stability against the simulated plant, and tables of other laboratories."""

from __future__ import annotations

import re

import numpy as np
import pytest

from mastd.control.table.gains import gains_of, linear_plant
from mastd.control.table.stability import least_damping, loops
from mastd.kinematics.geometry import Geometry
from mastd.loop.process.installation import Plan
from tests.support.growth import growth
from tests.support.lab import Lab, replaced
from tests.support.line_table import plan_of

SINE = "{kind: sine, frequency: 2 Hz, duration: 3 s, axes: {heave: {amplitude: 1 mm}}}"


def first_unstable(plan: Plan, low: float, high: float) -> float:
    """Return the least pressure damping in 1/s with which an oscillation grows at neutral, bare."""
    found, words = loops(linear_plant(plan.table, 1e-3, plan.daemon.control.balance.gain))
    neutral = [loop for loop, word in zip(found, words, strict=True) if word == "neutral, bare"]
    actuators = Geometry.from_settings(plan.table).actuators
    for damping in np.geomspace(low, high, 60):
        tried = gains_of(plan.table)._replace(pressure_damping=np.full(actuators, damping))
        if least_damping(neutral, tried)[0] < 0.0:
            return float(damping)
    raise AssertionError("stable")


def with_damping(lab: Lab, damping: float) -> Plan:
    """Return the plan of a table that stands, with a pressure damping in 1/s and no acceleration feedback."""
    table = replaced(
        lab.table.read_text(encoding="utf-8"),
        r"pressure_damping: \S+ 1/s",
        f"pressure_damping: {damping:.4g} 1/s",
    )
    lab.table.write_text(table, encoding="utf-8")
    config = replaced(lab.config.read_text(encoding="utf-8"), r"maximum_gain: \S+ 1/s", "maximum_gain: 0 1/s")
    lab.config.write_text(config, encoding="utf-8")
    return plan_of(lab, "standing", "simulated")


def test_pressure_damping_swings_the_plant_from_where_the_proof_says(lab: Lab) -> None:
    bound = first_unstable(with_damping(lab, 60.0), 60.0, 2000.0)
    assert growth(with_damping(lab, 0.85 * bound)) < 1.0 < growth(with_damping(lab, 1.15 * bound))


@pytest.mark.real_time
def test_an_unstable_gain_is_refused_before_anything_moves(lab: Lab) -> None:
    text = lab.table.read_text(encoding="utf-8")
    lab.table.write_text(
        replaced(text, r"pressure_damping: \S+ 1/s", "pressure_damping: 300 1/s"), encoding="utf-8"
    )
    profile = lab.profile(f"name: p\nsegments:\n  - {SINE}\n")
    files = ("--table", lab.table, "--config", lab.config)
    checked = lab.run("check", profile, *files)
    assert checked.returncode == 1
    assert re.search(
        r"stability: an oscillation grows: -\S+ of critical, \w+ at \d+ Hz, .*<- the drive's", checked.stdout
    )
    played = lab.run("run", profile, *files, "--sim", "--link", "direct", "--lockstep")
    assert played.returncode == 2
    assert f"{lab.table}: refused with this payload: stability: an oscillation grows" in played.stderr
    assert not list(lab.directory.glob("**/run.mcap"))
