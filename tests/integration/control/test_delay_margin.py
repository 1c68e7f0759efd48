"""The delay margin of `mastd check` against the simulated plant: where a delayed loop begins to swing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hil_sim.plant.truth import ActuatorTruth, PlantTruth
from mastd.control.table.delay_margin import delay_margin
from mastd.dynamics.table_model import TableModel
from mastd.safety.states import State
from mastd.settings.table.payload import NoPayload
from mastd.wire.access.verbs import Verb
from tests.support.lab import Lab, replaced
from tests.support.line import Line, LineRig
from tests.support.line_table import plan_of


def growth(lab: Lab, gain: float, periods: int) -> float:
    """Return by what a swing grows within 0.3 s after a push, with seals that do not stick."""
    plan = plan_of(lab, "standing", "simulated")
    settings = plan.daemon
    control = settings.control
    acceleration = control.acceleration.model_copy(update={"gain": gain})
    never = dict.fromkeys(("indicate", "fade", "stop"), 1000)
    daemon = settings.model_copy(
        update={
            "control": control.model_copy(update={"acceleration": acceleration}),
            "round_trip": settings.round_trip.model_copy(update=never),
            "unasked_motion": settings.unasked_motion.model_copy(update={"limit": 1e3}),
        }
    )
    smooth = tuple(
        ActuatorTruth(link=link.name, coulomb=0.0, breakaway=0.0, overlap=0.0) for link in plan.table.links
    )
    truth = PlantTruth(actuators=smooth)
    rig = LineRig(replace(plan, daemon=daemon), Line(), truth)
    rig.step()
    rig.step(Verb.RAISE)
    rig.until(State.READY)
    for _ in range(300):
        rig.step()
    rig.line = Line(samples=lambda time: float(periods))
    first = len(rig.truths)
    for k in range(600):
        rig.push[:] = (0.0, 5e3, 0.0, 5e3, 0.0, 0.0) if k < 10 else 0.0
        rig.step()
    shaken = np.array(rig.truths[first:])
    early, late = (np.sqrt(np.mean(shaken[at : at + 100] ** 2)) for at in (100, 400))
    return float(late / early)


@pytest.mark.parametrize("gain", [60.0, 100.0])
def test_a_loop_swings_beyond_its_margin_and_not_below(lab: Lab, gain: float) -> None:
    plan = plan_of(lab, "standing", "simulated")
    bare = TableModel.from_settings(plan.table, NoPayload())
    feedback = plan.daemon.control.acceleration.model_copy(update={"gain": gain})
    margin = delay_margin(plan.table, plan.geometry, bare, bare, feedback, 1e-3)
    below, above = int(margin.delay * 1e3), int(margin.delay * 1e3) + 2
    assert growth(lab, gain, below) < 1.0 < growth(lab, gain, above)
    assert 15.0 < margin.frequency_hz < 60.0


FADED_TOO_LATE = "works up to 8 ms  <- lower control.acceleration.gain or round_trip.fade"


@pytest.mark.real_time
def test_feedback_that_is_faded_too_late_does_not_pass_and_is_not_played(lab: Lab) -> None:
    text = replaced(lab.config.read_text(encoding="utf-8"), "^  fade: 4 ", "  fade: 9 ")
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
