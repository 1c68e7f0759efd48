"""Rules of the loop that only show when something has gone wrong, on the real plant in virtual time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from hil_sim.faults import parse
from mastd.loop.cycle.slots import ProfileSlots
from mastd.loop.payload.prepare import ready_profile
from mastd.loop.process.installation import Plan
from mastd.safety.faults import Action, Code
from mastd.safety.states import State
from mastd.wire.access.verbs import Verb
from mastd.wire.common.rig_block import FIRST_RIG, RIG_ROW, RIG_WIDTH, RigLink
from mastd.wire.plant.messages import Sample, Stage
from tests.support.lab import Lab
from tests.support.rigs.rig import HEAVE_AND_PITCH, Rig

PAYLOAD = """payload:
  kind: rigid
  mass: 5 t
  centre_of_gravity: [0 m, 0 m, 1.2 m]
  inertia: [4000 kg m2, 9000 kg m2, 9000 kg m2]
segments:"""


class Altered(Rig):
    """Plant and cycle, whose samples pass through ``alter``."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self.alter: Callable[[Sample], None] = lambda sample: None

    def read(self) -> None:
        super().read()
        self.alter(self.cycle.sample)


@pytest.fixture
def plan(lab: Lab) -> Plan:
    return Plan.load(lab.table, lab.profile(HEAVE_AND_PITCH), lab.config)


@pytest.fixture
def rig(plan: Plan) -> Altered:
    return Altered(plan)


def dry(sample: Sample) -> None:
    sample.stage = int(Stage.OFF)


def test_reset_goes_by_the_supply_that_the_plant_reports(rig: Altered) -> None:
    """Without oil there is no READY, whatever was asked of the supply."""
    rig.run_profile(0.5)
    rig.supervisor.report_next(Code.RECORDER_LOST, "gone", Action.STOP)
    rig.until(State.FAULT)
    assert rig.supervisor.stage is Stage.HIGH, "it stands on its set-points"
    rig.alter = dry
    rig.step()
    rig.step(Verb.RESET)
    assert rig.state() is State.OFF
    assert rig.at_rest


def test_a_stop_after_a_following_error_brakes_from_where_the_table_is(rig: Altered) -> None:
    rig.run_profile(0.5)
    rig.plant.inject(parse(f"valve-stuck.7@{rig.plant.time_ns * 1e-9:.9f}s:5%"))
    for _ in range(400):
        before = rig.cycle.frame.motion[0].copy()
        rig.step()
        if Code.FOLLOWING_ERROR in rig.codes():
            break
    assert rig.supervisor.latch.first is not None
    assert rig.supervisor.latch.first.code is Code.FOLLOWING_ERROR
    measured, rates = rig.cycle.sensing.pose.copy(), rig.cycle.sensing.pose_rates.copy()
    command = rig.cycle.frame.motion
    axis = int(np.argmax(np.abs(before - measured)))
    error = abs(before - measured)[axis]
    assert error > 1e-4, "command and table have parted"
    assert abs(command[0, axis] - before[axis]) < 0.01 * error, "the command goes on without a step"
    rig.until(State.FAULT)
    acceleration, jerk = rig.cycle.reference.limits.brake
    gentle = max(*(1.875 * np.abs(rates) / acceleration), *np.sqrt(5.7735 * np.abs(rates) / jerk))
    assert command[0] == pytest.approx(measured + 0.5 * gentle * rates, abs=1e-9), (
        "where the table came to rest"
    )


def test_a_stale_sample_is_no_feedback_to_raise_the_table_on(rig: Altered) -> None:
    for _ in range(5):
        rig.step()
    assert rig.supervisor.conditions().feedback_valid
    rig.now += round(0.5e9 * rig.plan.daemon.timeouts.sample_stale)
    rig.cycle.step(0, rig.now)
    assert rig.supervisor.conditions().feedback_valid, "between two samples nothing changes"
    rig.now += round(0.6e9 * rig.plan.daemon.timeouts.sample_stale)
    rig.cycle.step(0, rig.now)
    assert not rig.supervisor.conditions().feedback_valid
    rig.cycle.step(0, rig.now, Verb.RAISE)
    assert "refused" in rig.supervisor.refusal
    assert rig.state() in (State.OFF, State.FAULT)


def test_after_a_gap_the_following_error_is_watched_again_within_the_time_of_rejoining(rig: Altered) -> None:
    rig.run_profile(0.5)
    rig.step(skipped=60)
    for _ in range(round(1e3 * rig.plan.daemon.guard.rejoin_time)):
        rig.step()
    rig.plant.inject(parse(f"valve-stuck.7@{rig.plant.time_ns * 1e-9:.9f}s:5%"))
    for _ in range(400):
        rig.step()
    assert Code.FOLLOWING_ERROR in rig.codes()


@pytest.mark.parametrize(("channel", "name"), [(2, "length of actuator 3"), (9, "pressure 1 of actuator 2")])
def test_a_value_that_the_drive_calls_invalid_is_not_used(rig: Altered, channel: int, name: str) -> None:
    def invalid(sample: Sample) -> None:
        sample.valid &= ~(1 << channel)

    rig.run_profile(0.3)
    rig.alter = invalid
    rig.step()
    assert not rig.cycle.sensing.usable
    rig.until(State.FAULT)
    assert rig.supervisor.latch.first is not None
    assert rig.supervisor.latch.first.code is Code.SAMPLE_INVALID
    assert name in rig.supervisor.latch.first.cause


def test_where_no_command_can_be_made_the_table_is_told_to_stay_where_it_is(rig: Altered) -> None:
    good = rig.plan.timeline
    broken = good.coefficients.copy()
    broken[1500:] = np.nan
    rig.cycle.load(replace(rig.plan.loaded(), timeline=replace(good, coefficients=broken)))
    rig.run_profile(0.3)
    assert rig.state() is State.RUNNING
    while rig.state() is State.RUNNING:
        rig.step()
    assert rig.codes()[0] == Code.COMMAND_NOT_FINITE
    lengths = rig.cycle.command.field("lengths")
    assert np.abs(lengths - rig.cycle.sensing.lengths).max() < 1e-4
    assert np.abs(rig.cycle.command.field("rates")).max() < 1e-6, "in the very cycle of the fault"
    assert np.abs(rig.cycle.frame.motion[0] - rig.cycle.sensing.pose).max() < 1e-9, "and so is the reference"
    assert not rig.cycle.frame.motion[1:].any()


def test_after_a_stall_the_reference_goes_on_as_fast_as_the_table_moves(rig: Altered) -> None:
    rig.run_profile(1.0)
    while not rig.cycle.frame.motion[1, 2] > 0.055:
        rig.step()
    time, bridged = rig.cycle.reference.time, rig.plan.table.drive.command_timeout
    rig.step(skipped=round(1e3 * bridged))
    assert rig.cycle.reference.time == pytest.approx(time + bridged, abs=2e-3), "longer than is bridged"
    measured = rig.cycle.sensing.pose_rates[2]
    assert abs(measured) > 0.005, "the drive has not come to rest"
    assert rig.cycle.frame.motion[1, 2] == pytest.approx(measured, rel=0.1)


@pytest.fixture
def slots(lab: Lab, plan: Plan) -> ProfileSlots:
    """The plan's own profile, and one with another payload."""
    slots = ProfileSlots()
    heavy = Plan.load(
        lab.table, lab.profile(HEAVE_AND_PITCH.replace("segments:", PAYLOAD), "heavy.yaml"), lab.config
    )
    for slot, inputs in enumerate((plan.inputs, heavy.inputs)):
        slots.write(slot, ready_profile(inputs, plan.daemon.period_ns * 1e-9, 2.5, slot=slot))
    return slots


def loading(plan: Plan, slots: ProfileSlots) -> Rig:
    """Return a rig that plays what lies in slots."""
    rig = Rig(plan)
    rig.cycle = plan.bare_cycle(slots)
    rig.supervisor = rig.cycle.supervisor
    rig.step()
    rig.step(Verb.LOAD, arguments=(0.0, 1.0))
    return rig


def test_another_payload_is_not_loaded_onto_a_raised_table(plan: Plan, slots: ProfileSlots) -> None:
    rig = loading(plan, slots)
    rig.step(Verb.RAISE)
    rig.until(State.READY)
    rig.step(Verb.LOAD, arguments=(1.0, 2.0))
    assert "another payload" in rig.supervisor.refusal
    assert rig.cycle.orders.loaded is not None
    assert rig.cycle.orders.loaded.serial == 1
    rig.step(Verb.LOAD, arguments=(0.0, 3.0))
    assert rig.supervisor.refusal == "", "the same one is"


@pytest.mark.parametrize("level", [0.3, 2.5])
def test_the_master_gain_goes_back_to_100_percent_at_every_load(
    plan: Plan, slots: ProfileSlots, level: float
) -> None:
    """What was set for one profile is never played of the next."""
    rig = loading(plan, slots)
    reference = rig.cycle.reference
    rig.step(Verb.LEVEL, arguments=(level,))
    assert reference.gain_target == level
    rig.step(Verb.LOAD, arguments=(0.0, 2.0))
    assert (reference.gain, reference.gain_target) == (1.0, 1.0)
    rig.step(Verb.LEVEL, arguments=(level,))
    rig.step(Verb.LOAD, arguments=(1.0, 3.0))
    assert (reference.gain, reference.gain_target) == (1.0, 1.0)


@pytest.mark.parametrize(
    ("policies", "action"),
    [
        (("hold", "fault"), Action.POWER_OFF),
        (("fault", "ramp"), Action.POWER_OFF),
        (("stop", "hold"), Action.STOP),
        (("hold", "ramp"), Action.INDICATE),
    ],
)
def test_a_lost_rig_acts_by_the_most_severe_policy_of_its_channels(
    lab: Lab, policies: tuple[str, str], action: Action
) -> None:
    steering, throttle = policies
    file = lab.profile(
        "rigs: [{name: pedals, kind: signals, timeout: 50 ms, channels: ["
        f"{{channel: steering, on_loss: {steering}}}, {{channel: throttle, on_loss: {throttle}}}]}}]\n",
        "rigs.yaml",
    )
    text = HEAVE_AND_PITCH.replace("segments:", "rigs: [pedals]\nsegments:")
    rig = Rig(Plan.load(lab.table, lab.profile(text), lab.config, rigs_path=file))
    link = RigLink.of(rig.cycle.frame.values.size)
    rig.cycle.rigs.connect(link, lockstep=False)
    row = link.values.values[FIRST_RIG:][:RIG_WIDTH]
    row[RIG_ROW.joined] = 1.0
    for verb in (*20 * [Verb.NONE], Verb.RAISE, *20 * [Verb.NONE]):
        row[RIG_ROW.given] += 1.0
        rig.step(verb)
    assert rig.codes() == []
    for _ in range(100):
        rig.step()
    (lost, *_) = [event for event in rig.events if event["event"] == "fault"]
    assert (lost["name"], lost["action"]) == ("RIG_LOST", action.name)
