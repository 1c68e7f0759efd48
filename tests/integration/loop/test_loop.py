"""The loop's cycle on the real plant in process: operators' requests, stalls, faults that no injection makes.

Time is virtual. The plant advances with every command, as in lockstep.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hil_sim.faults import parse
from mastd.loop.process.installation import Plan
from mastd.loop.process.script import RunScript, StopRequest
from mastd.safety.faults import Code
from mastd.safety.states import State
from mastd.wire.access.verbs import Verb
from mastd.wire.plant.messages import DriveMode, Stage
from tests.support.lab import Lab
from tests.support.present import present
from tests.support.rigs.rig import HEAVE_AND_PITCH, Rig


@pytest.fixture
def rig(lab: Lab) -> Rig:
    return Rig(Plan.load(lab.table, lab.profile(HEAVE_AND_PITCH), lab.config))


def largest_jerk(rig: Rig, first: int) -> float:
    """Return the largest third difference of the commanded heave since cycle ``first``, in m/s³."""
    heave = np.array(rig.commanded[first:])[:, 2]
    return float(np.abs(np.diff(heave, 3)).max() / 1e-9)


def test_hold_and_resume_are_smooth_and_go_on_where_they_stopped(rig: Rig) -> None:
    rig.run_profile(1.3)
    before = largest_jerk(rig, -1200)
    first = len(rig.commanded)
    rig.step(Verb.HOLD)
    for _ in range(800):
        rig.step()
    assert rig.state() is State.HOLD
    assert rig.cycle.reference.standing
    held = rig.cycle.reference.time
    for _ in range(300):
        rig.step()
    assert rig.cycle.reference.time == held
    rig.step(Verb.RESUME)
    for _ in range(1500):
        rig.step()
    assert rig.supervisor.state is State.RUNNING
    assert rig.cycle.reference.speed == 1.0
    assert largest_jerk(rig, first) <= 1.6 * before
    assert rig.codes() == []


def test_stop_comes_to_rest_on_the_path_and_lower_brings_the_table_down(rig: Rig) -> None:
    rig.run_profile(1.1)
    rig.step(Verb.STOP)
    rig.until(State.READY)
    rig.step(Verb.ARM)
    assert "start pose of the profile" in rig.supervisor.refusal
    rig.step(Verb.LOWER)
    rig.until(State.OFF)
    for _ in range(3000):
        rig.step()
    assert rig.plant.true_pose[2] < -0.049
    assert rig.at_rest


@pytest.mark.parametrize(
    "state", [State.OFF, State.LOW, State.HIGH, State.RAISING, State.READY, State.RUNNING, State.LOWERING]
)
def test_a_stop_request_in_any_state_brings_the_table_down_without_a_fault(rig: Rig, state: State) -> None:
    stop = StopRequest()
    script = RunScript(rig.supervisor, stop)
    for _ in range(60_000):
        if rig.state() is state and (state is not State.OFF or rig.now > 0):
            stop.requested = True
        rig.step(script.next(rig.now))
        if script.finished:
            break
    assert script.finished
    assert rig.codes() == []
    assert rig.state() is State.OFF
    assert rig.at_rest
    if state is not State.LOWERING:
        assert not script.completed


def test_an_operators_estop_powers_off_in_the_same_cycle(rig: Rig) -> None:
    rig.run_profile(0.6)
    rig.step(Verb.ESTOP)
    assert rig.state() is State.ESTOP
    assert (rig.cycle.command.mode, rig.cycle.command.stage) == (DriveMode.DISABLED, Stage.OFF)
    for _ in range(12_000):
        rig.step()
    assert rig.plant.true_pose[2] < -0.045
    rig.step(Verb.RAISE)
    assert "refused" in rig.supervisor.refusal
    rig.step(Verb.RESET)
    assert rig.supervisor.state is State.OFF


@pytest.mark.parametrize("skipped", [3, 60, 118])
def test_missed_periods_are_bridged_by_the_drive_and_the_profile_keeps_its_time(
    rig: Rig, skipped: int
) -> None:
    rig.run_profile(1.0)
    time = rig.cycle.reference.time
    rig.step(skipped=skipped)
    assert rig.cycle.reference.time == pytest.approx(time + 1e-3 * (skipped + 1), abs=1e-9)
    assert rig.cycle.missed == skipped
    for _ in range(2000):
        rig.step()
    assert rig.supervisor.state is State.RUNNING


def test_periods_missed_now_and_then_do_not_blind_the_watch_of_the_following_error(rig: Rig) -> None:
    rig.run_profile(0.5)
    rig.plant.inject(parse(f"valve-stuck.7@{rig.plant.time_ns * 1e-9:.9f}s:5%"))
    for index in range(400):
        rig.step(skipped=int(index % 20 == 0))
    assert Code.FOLLOWING_ERROR in rig.codes()


def test_a_longer_stall_waits_and_rejoins_from_the_measured_pose(rig: Rig) -> None:
    rig.run_profile(1.0)
    time = rig.cycle.reference.time
    rig.step(skipped=140)
    assert Code.STALL in rig.codes()
    assert rig.cycle.reference.time == pytest.approx(time + rig.plan.table.drive.command_timeout, abs=2e-3)
    gap = rig.cycle.frame.motion[0] - rig.cycle.sensing.pose
    assert np.abs(gap).max() < 2e-4, "the reference starts where the table is"
    for _ in range(3000):
        rig.step()
    assert rig.supervisor.state is State.RUNNING
    assert rig.cycle.reference.settled


def test_too_many_missed_periods_stop_the_table(rig: Rig) -> None:
    rig.run_profile(1.0)
    rig.step(skipped=200)
    assert Code.OVERRUN in rig.codes()
    rig.until(State.FAULT)
    assert rig.supervisor.latch.first is not None
    assert rig.supervisor.latch.first.code is Code.OVERRUN
    rig.step(Verb.RESET)
    assert rig.supervisor.state is State.READY, "supply on and raised: reset leads to READY, never to motion"


@pytest.mark.parametrize("missed", [200, 3000])
def test_a_busy_machine_keeps_no_simulation_from_beginning(rig: Rig, missed: int) -> None:
    rig.cycle.orders.meet_plant(True)
    rig.step()
    rig.step(skipped=missed)
    assert Code.OVERRUN in rig.codes(), "it is told"
    assert rig.supervisor.state is State.OFF
    rig.step()
    rig.step(Verb.RAISE)
    rig.until(State.READY)
    rig.step(skipped=missed)
    rig.until(State.FAULT)


def test_a_busy_machine_is_a_fault_with_a_real_plant_at_rest_too(rig: Rig) -> None:
    rig.cycle.orders.meet_plant(False)
    rig.step()
    rig.step(skipped=200)
    assert rig.supervisor.state is State.FAULT


def test_a_preset_that_asks_for_it_stops_after_a_stall(rig: Rig) -> None:
    daemon = rig.plan.daemon.model_copy(
        update={"overrun": rig.plan.daemon.overrun.model_copy(update={"after_stall": "stop"})}
    )
    strict = Rig(replace(rig.plan, daemon=daemon))
    strict.run_profile(1.0)
    strict.step(skipped=140)
    strict.until(State.FAULT)
    assert strict.supervisor.latch.first is not None
    assert strict.supervisor.latch.first.code is Code.OVERRUN


def test_silence_stops_the_table_and_then_loses_the_plant(rig: Rig) -> None:
    rig.run_profile(1.0)
    limits = rig.plan.daemon.timeouts
    silent_since = rig.now
    seen: dict[int, float] = {}
    for _ in range(round(1100 * limits.plant_lost)):
        rig.now += rig.plan.daemon.period_ns
        rig.cycle.step(0, rig.now)
        for event in rig.supervisor.events:
            if event["event"] == "fault":
                seen.setdefault(int(str(event["code"])), (rig.now - silent_since) * 1e-9)
        rig.supervisor.events.clear()
    assert seen[Code.SAMPLE_STALE] == pytest.approx(limits.sample_stale, abs=3e-3)
    assert seen[Code.PLANT_LOST] == pytest.approx(limits.plant_lost, abs=3e-3)
    assert rig.supervisor.state is State.FAULT
    assert rig.at_rest


def test_lost_samples_are_indicated_by_their_share(rig: Rig) -> None:
    rig.run_profile(0.5)
    for index in range(2200):
        rig.read()
        rig.now += rig.plan.daemon.period_ns
        rig.cycle.sample.sequence += index // 5  # as if every fifth one before it had been lost
        rig.cycle.step(1, rig.now)
        rig.events += rig.supervisor.events
        rig.supervisor.events.clear()
        rig.plant.advance(rig.cycle.command, rig.plan.daemon.period_ns)
    assert Code.SAMPLE_MISSING in rig.codes()
    assert rig.supervisor.state is State.RUNNING, "it is indicated only"


def test_a_profile_that_is_not_a_number_powers_off_and_sends_nothing_of_it(rig: Rig) -> None:
    good = rig.plan.timeline
    broken = good.coefficients.copy()
    broken[1500:] = np.nan
    rig.cycle.load(replace(rig.plan.loaded(), timeline=replace(good, coefficients=broken)))
    rig.run_profile(1.0)
    for _ in range(1000):
        rig.step()
        assert np.isfinite(rig.cycle.frame.command).all()
    assert rig.supervisor.latch.first is not None
    assert rig.supervisor.latch.first.code is Code.COMMAND_NOT_FINITE
    assert rig.supervisor.state is State.FAULT


def test_a_supply_that_does_not_come_up_is_given_up(lab: Lab) -> None:
    plan = Plan.load(lab.table, lab.profile(HEAVE_AND_PITCH), lab.config)
    timeouts = plan.daemon.timeouts.model_copy(update={"supply_stage": 0.05})
    rig = Rig(replace(plan, daemon=plan.daemon.model_copy(update={"timeouts": timeouts})))
    rig.step()
    rig.step(Verb.RAISE)
    rig.until(State.FAULT, 500)
    assert rig.codes()[0] == Code.SUPPLY_TIMEOUT


def test_a_low_supply_pressure_stops_the_raising(lab: Lab) -> None:
    plan = Plan.load(lab.table, lab.profile(HEAVE_AND_PITCH), lab.config)
    limits = present(plan.table.supply).limits.model_copy(update={"minimum_pressure": 205e5})
    supply = present(plan.table.supply).model_copy(update={"limits": limits})
    rig = Rig(replace(plan, table=plan.table.model_copy(update={"supply": supply})))
    rig.step()
    rig.step(Verb.RAISE)
    rig.until(State.FAULT)
    assert rig.codes() == [Code.SUPPLY_PRESSURE]


def test_a_path_that_leaves_the_stroke_is_held_before_it(lab: Lab) -> None:
    plan = Plan.load(lab.table, lab.profile(HEAVE_AND_PITCH), lab.config)
    limits = plan.table.limits.model_copy(update={"stroke_margin": 0.047})
    rig = Rig(replace(plan, table=plan.table.model_copy(update={"limits": limits})))
    rig.step()
    rig.step(Verb.RAISE)
    rig.until(State.READY)
    rig.step(Verb.ARM)
    rig.step(Verb.START)
    rig.until(State.HOLD)
    assert rig.codes() == [Code.PATH_BLOCKED]
    for _ in range(1500):
        rig.step()
    assert rig.cycle.reference.standing
    rig.step(Verb.RESUME)
    rig.until(State.RUNNING)
    rig.until(State.HOLD)
    commanded = rig.cycle.frame.field("command.lengths") - plan.geometry.neutral_lengths
    assert np.abs(commanded).max() <= 0.003
    assert rig.codes() == [Code.PATH_BLOCKED] * 2
    rig.step(Verb.STOP)
    rig.until(State.READY)


def test_a_sensor_that_goes_on_drifting_in_fault_takes_the_oil_away(rig: Rig) -> None:
    """A table that stands in FAULT is still held by the drive, which believes the broken sensor."""
    rig.step()
    rig.step(Verb.RAISE)
    rig.until(State.READY)
    rig.plant.inject(parse(f"length-drift.1@{rig.plant.time_ns * 1e-9:.9f}s:1mm/s"))
    rig.until(State.FAULT)
    assert not rig.at_rest, "at first it stands"
    roll = 0.0
    for _ in range(20_000):
        rig.step()
        if rig.at_rest:
            break
        roll = max(roll, abs(float(rig.plant.true_pose[3])))
    assert rig.at_rest
    assert roll < 4e-3
    assert rig.state() is State.FAULT
    assert rig.supervisor.latch.first is not None
    # The balance takes the force off that the drift would bind, until the lengths contradict each other.
    assert rig.supervisor.latch.first.code is Code.REDUNDANCY, "the first cause stays"


def test_reset_does_not_move_a_table_whose_pose_is_not_known(rig: Rig) -> None:
    rig.step()
    rig.step(Verb.RAISE)
    rig.until(State.READY)
    rig.plant.inject(parse(f"length-nan.1@{rig.plant.time_ns * 1e-9:.9f}s"))
    rig.until(State.FAULT)
    for _ in range(200):
        rig.step()
    before = rig.plant.true_pose.copy()
    rig.step(Verb.RESET)
    assert "not known" in rig.supervisor.refusal
    for _ in range(1000):
        rig.step()
    assert np.abs(rig.plant.true_pose - before).max() < 1e-4
    assert rig.state() is State.FAULT


def test_a_stop_halts_the_lowering_where_it_is(rig: Rig) -> None:
    rig.step()
    rig.step(Verb.RAISE)
    rig.until(State.READY)
    rig.step(Verb.LOWER)
    for _ in range(400):
        rig.step()
    rig.step(Verb.STOP)
    rig.until(State.READY)
    height = rig.plant.true_pose[2]
    assert -0.045 < height < -0.002
    for _ in range(500):
        rig.step()
    assert abs(rig.plant.true_pose[2] - height) < 2e-4
    assert rig.codes() == []


def test_a_cycle_between_two_samples_changes_no_fault(rig: Rig) -> None:
    """Free-running clocks have such cycles: a standing condition is told once, not after each of them."""
    rig.run_profile(0.3)
    rig.plant.inject(parse(f"spool-stuck.1@{rig.plant.time_ns * 1e-9:.9f}s"))
    for index in range(3000):
        rig.step()
        if index % 7 == 0:
            rig.cycle.step(0, rig.now)
            rig.events += rig.supervisor.events
            rig.supervisor.events.clear()
    assert rig.codes() == [Code.SENSOR_FROZEN]
