"""A late line between loop and plant, and unstable feedback: told and ended, judged by the plant's truth.

Loop and simulated plant are the real ones, in virtual time; the table of all conditions: ``make line-table``.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hil_sim.plant.truth import PlantTruth
from mastd.loop.process.installation import Plan
from mastd.safety.codes import Code
from mastd.safety.states import State
from mastd.signals.acceleration_figures import ARMS
from mastd.wire.access.verbs import Verb
from tests.support.lab import Lab
from tests.support.line import Line, LineRig
from tests.support.line_table import line_of, plan_of, play


@pytest.mark.parametrize(
    ("preset", "direction", "condition", "word", "stopped"),
    [
        ("simulated", "samples", "none", "nothing", False),
        ("simulated", "samples", "+5 ms", "round trip", False),
        ("simulated", "samples", "+15 ms", "acceleration feedback off: round trip", True),
        ("simulated", "commands", "+60 ms", "acceleration feedback off: round trip", True),
        ("simulated", "commands", "20 ms/s", "round trip", True),
        ("real", "samples", "+15 ms", "plant link late: round trip", True),
        ("real", "commands", "+8 ms", "round trip", False),
        ("real", "commands", "40 % lost", "following error", True),
    ],
)
def test_a_late_line_is_told_and_shakes_nothing(
    lab: Lab, preset: str, direction: str, condition: str, word: str, stopped: bool
) -> None:
    found = play(plan_of(lab, "sine heave", preset), line_of(direction, condition))
    assert found.fine, found
    assert word in found.first_word
    assert found.stopped is stopped
    assert found.verdict == ("fault" if stopped else "pass")
    assert found.worst < 1.5 * found.asked_peak, "after the stop neither"


@pytest.mark.parametrize("periods", [0, 85, 150])
def test_a_plant_that_falls_silent_is_stale_and_not_late(lab: Lab, periods: int) -> None:
    """Whenever within the window of the round trip it happens."""
    rig = LineRig(plan_of(lab, "standing", "simulated"), Line())
    rig.step()
    rig.step(Verb.RAISE)
    rig.until(State.READY)
    for _ in range(periods):
        rig.step()
    rig.line = Line(samples=lambda time: None)
    for _ in range(300):
        rig.step()
    stops = [event for event in rig.events if event.get("action") == "STOP"]
    assert stops[0]["name"] == "SAMPLE_STALE"
    assert Code.LINE_DELAY not in rig.codes()


@pytest.mark.parametrize(
    ("preset", "word"),
    [("simulated", "commands lost or over a period late, limit 12%"), ("real", "plant link late: jitter")],
)
def test_many_lost_commands_are_told_and_end_the_run(lab: Lab, preset: str, word: str) -> None:
    found = play(plan_of(lab, "sweep pitch", preset), line_of("commands", "40 % lost"))
    assert word in found.first_word
    assert found.verdict == "fault"
    assert found.worst < 1.0


def unstable(plan: Plan, gain: float, fades: bool = True) -> Plan:
    """Return the plan with another gain, which its settings would refuse."""
    control, trip = plan.daemon.control, plan.daemon.round_trip
    acceleration = control.acceleration.model_copy(update={"gain": gain})
    never = {} if fades else dict.fromkeys(("indicate", "fade", "stop"), 1000)
    changed = {
        "control": control.model_copy(update={"acceleration": acceleration}),
        "round_trip": trip.model_copy(update=never),
    }
    return replace(plan, daemon=plan.daemon.model_copy(update=changed))


HEAVY = """
payload:
  kind: rigid
  mass: 20 t
  centre_of_gravity: [0 m, 0 m, 1.5 m]
  inertia: [20 t m2, 60 t m2, 60 t m2]
"""


@pytest.mark.parametrize("cause", ["settings", "payload", "delay"])
def test_feedback_that_is_unstable_is_ended_within_half_a_second(lab: Lab, cause: str) -> None:
    plan = plan_of(lab, "sine heave" if cause == "delay" else "gentle heave", "simulated")
    if cause == "settings":
        rig = LineRig(unstable(plan, 400.0), Line())
    elif cause == "payload":
        heavy = lab.profile(plan.profile_path.read_text("utf-8") + HEAVY)
        plan = Plan.load(lab.table, heavy, lab.config)
        rig = LineRig(unstable(plan, 400.0), Line(), PlantTruth())
    else:
        rig = LineRig(unstable(plan, 100.0, fades=False), Line())
    rig.step()
    rig.step(Verb.RAISE)
    late = line_of("samples", "+15 ms")
    for _ in range(9000):
        state = rig.state()
        if cause == "delay" and state is State.RUNNING and rig.line.samples(0.0) == 0.0:
            rig.line = late(rig.now * 1e-9)
        verb = {State.READY: Verb.ARM, State.ARMED: Verb.START}.get(state, Verb.NONE)
        rig.step(verb)
    true, asked = np.array(rig.truths) * ARMS, np.array(rig.asked) * ARMS
    others = np.abs(np.delete(true - asked, 2, axis=1)).max(axis=1)
    shaking = np.flatnonzero(others > 0.7)
    assert len(shaking), "it is unstable"
    assert (shaking[-1] - shaking[0]) * 1e-3 < 0.5, "and ended"
    assert others.max() < plan.table.limits.acceleration
    assert Code.FEEDBACK_OFF in rig.codes()
    told = next(event for event in rig.events if event.get("code") == int(Code.FEEDBACK_OFF))
    assert "rms off the reference, limit" in str(told["cause"])
    assert rig.cycle.sensing.feedback.weight == 0.0, "it stays off"


def test_motion_that_stays_without_the_feedback_stops_the_table(lab: Lab) -> None:
    """Something pushes the table sideways at 12 Hz; no feedback of the daemon has a part in it."""
    plan = plan_of(lab, "gentle heave", "simulated")
    rig = LineRig(unstable(plan, 0.0), Line())
    rig.step()
    rig.step(Verb.RAISE)
    rig.until(State.READY)
    first = rig.samples
    for k in range(3000):
        rig.push[1] = 60e3 * np.sin(2.0 * np.pi * 12.0 * k * 1e-3)
        rig.step()
        if rig.state() is State.FAULT:
            break
    codes = rig.codes()
    assert codes.index(int(Code.FEEDBACK_OFF)) < codes.index(int(Code.UNASKED_MOTION))
    assert rig.samples - first < 1000
