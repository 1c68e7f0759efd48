"""Every row of the fault table on the real plant: found within its stated delay, acting, leaving its cause.

The plant runs in process and in virtual time. A scenario breaks something in the plant, or lowers a limit of
the daemon (never of the plant) so far that the healthy motion passes it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
import pytest
from pydantic import BaseModel

from hil_sim.faults import parse
from mastd.kinematics.workspace import lengths_at
from mastd.loop.process.installation import Plan
from mastd.safety.faults import ROWS, Action, Code
from mastd.safety.states import State
from mastd.wire.access.verbs import Verb
from tests.support.lab import ROOT, Lab
from tests.support.rigs.rig import Rig

PROFILE = """
name: shaking
fade: 0.2 s
segments:
  - kind: sine
    frequency: 5 Hz
    duration: 4 s
    axes: {heave: {amplitude: 5 mm}}
"""

ELSEWHERE: dict[Code, str] = {
    Code.GATEWAY_LOST: (
        "acceptance/test_serve.py::test_without_its_gateway_the_service_lowers_the_table_and_ends"
    ),
    Code.PLANT_LOST: "integration/loop/test_loop.py::test_silence_stops_the_table_and_then_loses_the_plant",
    Code.SAMPLE_STALE: "integration/loop/test_loop.py::test_silence_stops_the_table_and_then_loses_the_plant",
    Code.SAMPLE_MISSING: "integration/loop/test_loop.py::test_lost_samples_are_indicated_by_their_share",
    Code.SUPPLY_PRESSURE: "integration/loop/test_loop.py::test_a_low_supply_pressure_stops_the_raising",
    Code.SUPPLY_TIMEOUT: "integration/loop/test_loop.py::test_a_supply_that_does_not_come_up_is_given_up",
    Code.OVERRUN: "integration/loop/test_loop.py::test_too_many_missed_periods_stop_the_table",
    Code.COMMAND_NOT_FINITE: (
        "integration/loop/test_loop.py::test_a_profile_that_is_not_a_number_powers_off_and_sends_nothing_of_it"
    ),
    Code.VEHICLE_FAILED: (
        "integration/payload/test_oils.py::test_a_vehicle_that_fails_stops_the_table_softly_and_can_be_started_again"
    ),
    Code.VEHICLE_LOST: "integration/payload/test_hils.py::test_a_wheel_that_leaves_the_table_stops_it",
    Code.DRIVER_LOST: "integration/payload/test_oils.py::test_a_driver_who_is_lost_is_told_and_taken_back",
    Code.RIG_LOST: "integration/rigs/test_rigs.py::test_a_rig_dies_comes_back_and_another_one_stops_the_run",
    Code.RECORDER_LOST: (
        "acceptance/test_kills.py::"
        "test_kill_9_of_the_recorder_is_not_noticed_by_the_loop_and_the_file_recovers"
    ),
    Code.PLANT_REFUSES: "integration/loop/test_faults.py::test_what_the_plant_refuses_is_indicated",
    Code.LOOP_EXCEPTION: "integration/loop/test_faults.py::test_an_exception_in_a_cycle_powers_off",
    Code.LINE_DELAY: "integration/loop/test_line.py::test_a_late_line_is_told_and_shakes_nothing",
    Code.COMMAND_MISSING: "integration/loop/test_line.py::test_many_lost_commands_are_told_and_end_the_run",
    Code.FEEDBACK_OFF: (
        "integration/loop/test_line.py::test_feedback_that_is_unstable_is_ended_within_half_a_second"
    ),
    Code.UNASKED_MOTION: (
        "integration/loop/test_line.py::test_motion_that_stays_without_the_feedback_stops_the_table"
    ),
    Code.PATH_BLOCKED: "integration/loop/test_loop.py::test_a_path_that_leaves_the_stroke_is_held_before_it",
    Code.PAYLOAD_MISMATCH: (
        "integration/control/test_payload_check.py::test_a_payload_that_is_not_the_profiles_cannot_be_armed"
    ),
    Code.ACCELEROMETER: (
        "integration/control/test_motion_estimate.py::"
        "test_the_loop_records_the_estimate_and_names_the_sensor_that_it_leaves_out"
    ),
}
"""Faults that another test raises: where nothing in this process can be broken, or more than the plant is."""


class Bench(Rig):
    """A rig that remembers which command the newest sample answers."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        n = len(plan.table.links)
        self.answered = np.zeros(n)

    def step(self, verb: Verb = Verb.NONE, skipped: int = 0, arguments: tuple[float, ...] = ()) -> None:
        """One cycle."""
        self.answered = each(self, "command.lengths").copy()
        super().step(verb, skipped, arguments)

    def inject(self, faults: tuple[str, ...]) -> None:
        """Break the plant at once; ``faults`` without their time."""
        for text in faults:
            name, _, value = text.partition(":")
            time = f"{self.plant.time_ns * 1e-9:.9f}s"
            self.plant.inject(parse(f"{name}@{time}:{value}" if value else f"{name}@{time}"))

    def following_errors(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """Return measured minus commanded lengths, of the command that the newest sample answers."""
        return self.cycle.sensing.lengths - self.answered


@dataclass(frozen=True)
class Scenario:
    """What is broken, and what must follow within ``within`` s of the moment from which ``visible`` holds."""

    injected: tuple[str, ...] = ()
    """Faults of the plant, without their time."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Settings of the daemon that differ, by path; not those of the plant."""
    disturb: Callable[[Bench], None] = Bench.step
    """One cycle from the injection on."""
    visible: Callable[[Bench], bool] = lambda rig: True
    """Whether the condition shows in the frame, by a calculation of its own; without a gap until found."""
    lag: float = 0.001
    """What is allowed beside the row's own delay, in s."""
    first: Code | None = None
    """The latched cause, where another fault of the same defect comes first."""
    action: Action | None = None
    """Where it is not the row's."""
    from_off: bool = False
    """Watch from the raising on, not from the running profile."""
    broken: bool = False
    """The row's time is not that of one unbroken condition."""
    played: float = 0.1
    """Time in s that the profile has been played before."""
    profile: str = PROFILE
    longest: float = 1.5


def each(rig: Rig, name: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return a field of the frame."""
    return rig.cycle.frame.field(name)


def beyond(name: str, limit: float) -> Callable[[Rig], bool]:
    return lambda rig: bool(np.abs(each(rig, name)).max() > limit)


def trimmed(rig: Rig) -> float:
    """Return how far the commanded length of an actuator is from that of the reference at most, in m."""
    lengths = lengths_at(rig.plan.geometry, each(rig, "reference"))[0]
    return float(np.abs(each(rig, "command.lengths") - lengths).max())


def stand_still(seconds: float) -> Callable[[Rig], None]:
    """The loop misses all periods of some time, once, then goes on."""
    stood: set[int] = set()

    def step(rig: Rig) -> None:
        if id(rig) in stood:
            rig.step()
        else:
            stood.add(id(rig))
            rig.step(skipped=round(seconds * 1e3))

    return step


def every_tenth_late(rig: Rig) -> None:
    rig.step(skipped=int(rig.samples % 10 == 0))


class Jerk:
    """Third difference of the commanded lengths, of one command after the other."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.commanded: list[np.ndarray[tuple[int], np.dtype[np.float64]]] = []

    def __call__(self, rig: Rig) -> bool:
        """Tell whether that of the commands that the newest sample answers is beyond the limit."""
        self.commanded = [*self.commanded[-3:], each(rig, "command.accelerations").copy()]
        if len(self.commanded) < 3:
            return False
        return bool(np.abs(self.commanded[-2] - self.commanded[-3]).max() / 1e-3 > self.limit)


class Travel:
    """Commanded travel of an actuator, counted from 0, since the beginning."""

    def __init__(self, travel: float, actuator: int) -> None:
        self.travel, self.actuator = travel, actuator
        self.commanded: list[float] = []

    def __call__(self, rig: Rig) -> bool:
        """Tell whether it is beyond the threshold."""
        self.commanded.append(float(each(rig, "command.lengths")[self.actuator]))
        return max(self.commanded) - min(self.commanded) > self.travel


SCENARIOS: dict[Code, Scenario] = {
    Code.ESTOP: Scenario(("estop",)),
    Code.SAMPLE_NOT_FINITE: Scenario(("length-nan.3",)),
    Code.SAMPLE_INVALID: Scenario(("length-missing.5",)),
    Code.STROKE: Scenario(("length-offset.7:49mm",), {"guard.jump_margin": 1.0, "limits.velocity": 100.0}),
    Code.VELOCITY: Scenario(("length-drift.7:0.7m/s",), visible=beyond("length_rate", 0.6)),
    Code.FORCE: Scenario(("pressure-offset.1:150bar",)),
    Code.FOLLOWING_ERROR: Scenario(
        ("valve-stuck.7:5%",), visible=lambda rig: bool(abs(rig.following_errors()[6]) > 4e-3)
    ),
    Code.FORWARD_KINEMATICS: Scenario(
        ("length-offset.7:800mm",),
        {"guard.jump_margin": 1.0, "sensors.length.overrange": 1.0},
        first=Code.STROKE,
    ),
    Code.SUPPLY_FAULT: Scenario(("supply-loss",)),
    Code.DRIVE_TIMED_OUT: Scenario(disturb=stand_still(0.13)),
    Code.STALL: Scenario(disturb=stand_still(0.13)),
    Code.REDUNDANCY: Scenario(("length-offset.2:-3mm",), lag=0.006),
    Code.LENGTH_STUCK: Scenario(("length-stuck.3",), visible=Travel(1e-3, 2)),
    Code.LENGTH_JUMP: Scenario(("length-offset.7:30mm",)),
    Code.LENGTH_DRIFT: Scenario(
        ("length-drift.1:1mm/s",),
        {"guard.drift_delay": 0.3, "limits.internal_force": 1e6},
        visible=beyond("redundancy_residual", 0.2e-3),
        lag=0.002,
        broken=True,
    ),
    Code.LENGTH_RANGE: Scenario(("length-offset.1:120mm",)),
    Code.PRESSURE_RANGE: Scenario(("pressure-offset.3:500bar",)),
    # actuator 7 is the only one along x, and the sine in heave takes 4.9 m/s²
    Code.ACCELERATION: Scenario(
        ("valve-stuck.7:100%",),
        {"limits.acceleration": 5.0},
        visible=lambda rig: bool(abs(each(rig, "pose_acceleration")[0]) > 5.0),
        first=Code.FORCE,
    ),
    Code.JERK: Scenario(settings={"limits.jerk": 130.0}, visible=Jerk(130.0), played=0.0),
    Code.INTERNAL_FORCE: Scenario(
        ("length-offset.1:0.25mm",),
        {"limits.internal_force": 5e3, "control.balance.gain": 0.0},
        visible=beyond("pattern_force", 5e3),
    ),
    Code.CONDITIONING: Scenario(
        settings={"limits.conditioning": 1.1}, from_off=True, visible=lambda rig: rig.state() is State.LOW
    ),
    Code.SUPPLY_FLOW: Scenario(
        settings={"supply.limits.maximum_flow": 0.005, "guard.supply_delay": 0.01},
        visible=beyond("sample.supply_flow", 0.005),
    ),
    Code.OIL_TEMPERATURE: Scenario(
        ("oil-temperature:60degC",), {"supply.limits.maximum_oil_temperature": 328.0}
    ),
    Code.OIL_LEVEL: Scenario(("oil-level:0.8",), {"supply.limits.minimum_oil_level": 0.9}),
    Code.FILTER_PRESSURE_DROP: Scenario(
        ("filter-blocked:1.5bar",), {"supply.limits.maximum_filter_pressure_drop": 1e5}
    ),
    Code.LOOP_STUCK: Scenario(
        settings={"timeouts.loop_stuck": 0.12, "overrun.maximum_missed": 1000}, disturb=stand_still(0.15)
    ),
    Code.LATE_CYCLES: Scenario(
        settings={"overrun.late_window": 0.4}, disturb=every_tenth_late, lag=0.4, broken=True
    ),
    Code.SENSOR_FROZEN: Scenario(("pressure-stuck.5",), lag=0.002),
    Code.SPOOL_LOST: Scenario(("spool-nan.3",)),
    Code.CLOCK: Scenario(("clock-rate:1.3",), lag=2.0, longest=3.0),
    Code.BALANCE_SATURATED: Scenario(
        ("length-offset.1:0.25mm",),
        {"control.balance.limit": 40e-6, "limits.internal_force": 1e6},
        visible=lambda rig: bool(trimmed(rig) > 39.9e-6),
        lag=0.003,
    ),
    Code.CONTROL_SATURATED: Scenario(
        settings={"control.trim_limit": 1e-6},
        visible=lambda rig: bool(np.abs(each(rig, "command.valve_trims")).max() > 0.99e-6),
        from_off=True,
        lag=0.26,
        longest=3.0,
    ),
    Code.PROFILE_LIMIT: Scenario(
        profile=f"{PROFILE}limits:\n  - {{channel: pose.heave, value: 3 mm, action: hold, delay: 5 ms}}\n",
        visible=lambda rig: bool(abs(each(rig, "pose")[2]) > 3e-3),
        lag=0.006,
        action=Action.HOLD,
    ),
}

S = TypeVar("S", bound=BaseModel)
TABLE_PARTS = ("limits", "supply", "sensors", "drive")


def changed(settings: S, path: list[str], value: Any) -> S:
    """Return settings with one value replaced."""
    if len(path) > 1:
        value = changed(getattr(settings, path[0]), path[1:], value)
    return settings.model_copy(update={path[0]: value})


def setting(plan: Plan, path: str) -> Any:
    """Return the setting at a path of the table's or the daemon's file."""
    value: Any = plan.table if path.partition(".")[0] in TABLE_PARTS else plan.daemon
    for part in path.split("."):
        value = getattr(value, part)
    return value


def planned(lab: Lab, scenario: Scenario) -> Plan:
    """Return a plan with the scenario's settings."""
    plan = Plan.load(lab.table, lab.profile(scenario.profile), lab.config)
    for path, value in scenario.settings.items():
        parts = path.split(".")
        if parts[0] in TABLE_PARTS:
            plan = replace(plan, table=changed(plan.table, parts, value))
        else:
            plan = replace(plan, daemon=changed(plan.daemon, parts, value))
    return plan


@pytest.mark.parametrize("code", SCENARIOS, ids=lambda code: code.name.lower())
def test_a_fault_is_found_in_time_acts_and_leaves_its_cause(lab: Lab, code: Code) -> None:
    raise_fault(lab, code, SCENARIOS[code])


def raise_fault(lab: Lab, code: Code, scenario: Scenario) -> None:
    """Play the scenario; assert that its fault is found in time, acts, and leaves its cause."""
    row = ROWS[code]
    rig = Bench(planned(lab, scenario))
    if scenario.from_off:
        rig.step()
        rig.step(Verb.RAISE)
    else:
        rig.run_profile(scenario.played)
    rig.inject(scenario.injected)
    assert code not in rig.codes()
    found = follow(rig, scenario, code)
    delay = setting(rig.plan, row.delay) if row.delay else 0.0
    assert scenario.broken or found >= delay - 1e-9, (
        f"after {found * 1e3:.1f} ms, it may last {delay * 1e3:.1f} ms"
    )
    allowed = delay + scenario.lag
    assert found <= allowed + 1e-9, f"{found * 1e3:.1f} ms after it showed, {allowed * 1e3:.1f} ms allowed"
    event = next(event for event in rig.events if event["event"] == "fault" and event["code"] == code)
    action = scenario.action or row.action
    assert event["action"] == action.name
    assert str(event["cause"]).startswith(row.title)
    acted(rig, action, scenario.first or code)


def follow(rig: Bench, scenario: Scenario, code: Code) -> float:
    """Step until ``code`` is reported; return for how long its condition had shown."""
    shown = 0
    for _ in range(round(scenario.longest * 1e3)):
        before = rig.now
        scenario.disturb(rig)
        cycles = max(1, round((rig.now - before) / rig.plan.daemon.period_ns))
        if code in rig.codes():
            return shown * rig.plan.daemon.period_ns * 1e-9
        shown = shown + cycles if scenario.visible(rig) else 0
    raise AssertionError(f"not found: {rig.codes()} in {rig.state().name}")


def acted(rig: Bench, action: Action, first: Code) -> None:
    """Assert that the action is taken, to its end, and that the cause is latched."""
    latched = rig.supervisor.latch.first
    if action is Action.INDICATE:
        assert rig.state() in (State.RAISING, State.READY, State.RUNNING)
        return
    assert latched is not None
    assert latched.code is first, latched.cause
    if action is Action.HOLD:
        assert rig.state() is State.HOLD
    elif action is Action.STOP:
        rig.until(State.FAULT, 6000)
    else:
        assert rig.state() in (State.FAULT, State.ESTOP)
        assert rig.at_rest, "the supply is off in the same cycle"


@pytest.mark.parametrize("code", [Code.LENGTH_DRIFT, Code.OIL_LEVEL, Code.OIL_TEMPERATURE, Code.FORCE])
def test_the_threshold_is_the_settings_own(lab: Lab, code: Code) -> None:
    """With a threshold beyond what the same defect reaches, nothing is found."""
    wide = {
        Code.LENGTH_DRIFT: 1e-2,
        Code.OIL_LEVEL: 0.1,
        Code.OIL_TEMPERATURE: 400.0,
        Code.FORCE: 1e3,
    }
    scenario = SCENARIOS[code]
    settings = {**scenario.settings, ROWS[code].threshold: wide[code]}
    rig = Bench(planned(lab, replace(scenario, settings=settings)))
    rig.run_profile(0.1)
    rig.inject(scenario.injected)
    for _ in range(500):
        rig.step()
    assert code not in rig.codes()


def test_the_peak_of_the_following_error_is_kept_per_actuator(lab: Lab) -> None:
    rig = Bench(Plan.load(lab.table, lab.profile(PROFILE), lab.config))
    rig.run_profile(0.1)
    rig.cycle.sensing.reset_following_peak()
    greatest = np.zeros(len(rig.plan.table.links))
    for _ in range(600):
        rig.step()
        greatest = np.maximum(greatest, np.abs(rig.following_errors()))
    assert greatest[0] > 2e-5
    np.testing.assert_array_equal(rig.cycle.sensing.following_peak, greatest)


def test_a_jump_of_a_single_sample_is_not_believed_and_not_a_fault(lab: Lab) -> None:
    rig = Bench(Plan.load(lab.table, lab.profile(PROFILE), lab.config))
    rig.run_profile(0.3)
    pose, believed = rig.cycle.sensing.pose.copy(), rig.cycle.sensing.lengths.copy()
    period = rig.plan.daemon.period_ns
    rig.read()
    rig.cycle.sample.field("lengths")[2] += 5e-3
    rig.now += period
    rig.cycle.step(1, rig.now)
    assert not rig.cycle.sensing.usable
    np.testing.assert_array_equal(rig.cycle.sensing.pose, pose)
    np.testing.assert_array_equal(rig.cycle.sensing.lengths, believed)
    rig.plant.advance(rig.cycle.command, period)
    for _ in range(300):
        rig.step()
    assert rig.codes() == []
    assert rig.state() is State.RUNNING


def functions() -> Iterator[str]:
    """Yield the name of every test function as file::function."""
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef):
                yield f"{path.relative_to(ROOT / 'tests')}::{node.name}"


def test_every_code_is_raised_by_some_test() -> None:
    covered = {*SCENARIOS, *ELSEWHERE}
    assert covered == set(Code) - {Code.NONE}
    assert not set(ELSEWHERE.values()) - set(functions())
