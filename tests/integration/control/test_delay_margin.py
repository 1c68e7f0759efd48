"""The delay margin of `mastd check` against the simulated plant: where a delayed loop begins to swing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mastd.control.table.delay_margin import delay_margin
from mastd.dynamics.table_model import TableModel
from mastd.loop.process.installation import Plan
from mastd.settings.table.payload import NoPayload
from tests.support.growth import growth
from tests.support.lab import Lab, replaced
from tests.support.line_table import plan_of


def with_gain(plan: Plan, gain: float) -> Plan:
    """Return the plan with one gain of the acceleration feedback."""
    control = plan.daemon.control
    acceleration = control.acceleration.model_copy(update={"gain": gain})
    control = control.model_copy(update={"acceleration": acceleration})
    return replace(plan, daemon=plan.daemon.model_copy(update={"control": control}))


@pytest.mark.parametrize("gain", [60.0, 100.0])
def test_a_loop_swings_beyond_its_margin_and_not_below(lab: Lab, gain: float) -> None:
    plan = plan_of(lab, "standing", "simulated")
    bare = TableModel.from_settings(plan.table, NoPayload())
    feedback = plan.daemon.control.acceleration.model_copy(update={"gain": gain})
    margin = delay_margin(plan.table, plan.geometry, bare, bare, feedback, 1e-3)
    below, above = int(margin.delay * 1e3), int(margin.delay * 1e3) + 2
    known = with_gain(plan, gain)
    assert growth(known, below) < 1.0 < growth(known, above)
    assert 15.0 < margin.frequency_hz < 60.0


FADED_TOO_LATE = "works up to 8 ms  <- lower control.acceleration.gain or round_trip.fade"


@pytest.mark.real_time
def test_feedback_that_is_faded_too_late_does_not_pass_and_is_not_played(lab: Lab) -> None:
    text = replaced(lab.config.read_text(encoding="utf-8"), "^  fade: 4 ", "  fade: 9 ")
    text = replaced(text, "maximum_gain: 100 1/s", "gain: 100 1/s")
    lab.config.write_text(text, encoding="utf-8")
    sine = "{kind: sine, frequency: 2 Hz, duration: 3 s, axes: {heave: {amplitude: 1 mm}}}"
    profile = lab.profile(f"name: p\nsegments:\n  - {sine}\n")
    files = ("--table", lab.table, "--config", lab.config)
    checked = lab.run("check", profile, *files)
    assert checked.returncode == 1
    assert FADED_TOO_LATE in checked.stdout
    for command in (
        ("run", profile, "--link", "direct", "--lockstep"),
        ("iterate", profile, "--noise", "1 s"),
    ):
        played = lab.run(*command, *files, "--sim")
        assert played.returncode == 2
        assert f"{lab.config}: refused with this payload: " in played.stderr
        assert FADED_TOO_LATE in played.stderr
    assert not list(lab.directory.glob("**/run.mcap"))
