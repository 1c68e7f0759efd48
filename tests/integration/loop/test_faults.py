"""Every fault over the real link: injected into the real plant behind a real socket, in lockstep.

Detection and action are read from the record that the real recorder wrote. The plant's time begins about a
second before the first cycle; fault times below are plant time.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from mastd.control.reference.reference import Reference
from mastd.loop.process import host
from mastd.loop.process.host import Connection, Processes, ServiceHooks
from mastd.loop.process.installation import Plan
from mastd.loop.realtime.rights import Rights
from mastd.loop.service.single_run import RunOutcome, run
from mastd.motion.profile.timeline import Timeline
from mastd.record.reader import Run, open_run
from mastd.safety.faults import Code
from mastd.safety.states import State
from mastd.wire.access.verbs import Verb
from mastd.wire.plant.messages import Command
from mastd.wire.plant.process import PlantProcess
from mastd.wire.plant.provider import PlantRequest, find_provider, rigid_payload
from tests.support.lab import SHAKING, Lab


@dataclass(frozen=True)
class Case:
    """A fault and what must follow."""

    injected: tuple[str, ...]
    codes: frozenset[Code]
    state: State
    delay: float
    """Longest time in s from injection to detection."""


def case(injected: str, codes: Code | set[Code], state: State, delay: float) -> Case:
    wanted = {codes} if isinstance(codes, Code) else codes
    return Case(tuple(injected.split()), frozenset(wanted), state, delay)


CASES = [
    case("estop@5s", Code.ESTOP, State.ESTOP, 0.002),
    case("length-nan.3@5s", Code.SAMPLE_NOT_FINITE, State.FAULT, 0.008),
    case("pressure-nan.3@5s", Code.SAMPLE_NOT_FINITE, State.FAULT, 0.008),
    case("length-missing.5@5s", Code.SAMPLE_INVALID, State.FAULT, 0.008),
    case("length-offset.2@5s:-3mm", {Code.REDUNDANCY, Code.VELOCITY}, State.FAULT, 0.012),
    case("length-offset.7@5s:30mm", Code.LENGTH_JUMP, State.FAULT, 0.008),
    case("length-offset.7@5s:400mm", Code.LENGTH_RANGE, State.FAULT, 0.008),
    case("pressure-offset.1@5s:150bar", Code.FORCE, State.FAULT, 0.006),
    case("supply-loss@5s", Code.SUPPLY_FAULT, State.FAULT, 0.5),
    case("oil-level@5s", Code.SUPPLY_FAULT, State.FAULT, 0.5),
    case("oil-temperature@5s:90degC", Code.SUPPLY_FAULT, State.FAULT, 0.5),
    case("filter-blocked@5s", Code.SUPPLY_FAULT, State.FAULT, 0.5),
]
MORE_CASES = [
    case("length-stuck.3@5s", Code.LENGTH_STUCK, State.FAULT, 0.080),
    case("length-drift.1@5s:1mm/s", {Code.INTERNAL_FORCE, Code.REDUNDANCY}, State.FAULT, 2.2),
    case("length-drift.7@5s:0.7m/s", {Code.ACCELERATION, Code.VELOCITY}, State.FAULT, 0.012),
    case("pressure-offset.3@5s:500bar", Code.PRESSURE_RANGE, State.FAULT, 0.008),
    case("valve-stuck.7@5s:5%", Code.FOLLOWING_ERROR, State.FAULT, 0.3),
    case("clock-rate@5s:1.3", Code.CLOCK, State.FAULT, 2.8),
]
"""Detected by the same code as in process (test_fault_table.py), here over the link."""
SILENCE = pytest.param(case("silence@5s:10s", Code.PLANT_LOST, State.FAULT, 2.1), marks=pytest.mark.real_time)
"""In lockstep, too, silence is known by real time alone."""


@pytest.fixture
def plan(lab: Lab) -> Plan:
    return Plan.load(lab.table, lab.profile(SHAKING), lab.config)


def play(plan: Plan, record: Path, faults: tuple[str, ...]) -> tuple[RunOutcome, Run]:
    request = PlantRequest(
        plan.table_path,
        payload=rigid_payload(plan.profile),
        mode="lockstep",
        period_ns=plan.daemon.period_ns,
        faults=faults,
    )
    outcome = run(plan, Connection(None, "socket", "lockstep", request), record, live=False)
    return outcome, open_run(record)


@pytest.mark.parametrize(
    "case",
    [*CASES, SILENCE, *(pytest.param(one, marks=pytest.mark.evidence) for one in MORE_CASES)],
    ids=lambda case: case.injected[0].split("@")[0],
)
def test_a_fault_is_detected_in_time_acts_and_leaves_its_cause(
    plan: Plan, tmp_path: Path, case: Case
) -> None:
    outcome, record = play(plan, tmp_path / "run.mcap", case.injected)
    first = next(
        event for event in record.events if event.get("event") == "fault" and event["action"] != "INDICATE"
    )
    assert outcome.fault is not None
    assert outcome.fault.code in case.codes, outcome.fault.cause
    assert outcome.state is case.state
    assert not outcome.completed
    injected_s = float(case.injected[0].split("@")[1].split(":")[0].removesuffix("s"))
    times = record.columns["plant_time"]
    at = (
        times[np.searchsorted(record.columns["cycle"], float(str(first["cycle"])))]
        if case.codes != {Code.PLANT_LOST}
        else np.nan
    )
    if np.isfinite(at):
        assert -0.001 <= at - injected_s <= case.delay + 0.001, (
            f"detected {at - injected_s:.4f} s after injection"
        )
    assert record.damage is None, "the record is closed properly"
    assert first["hint"], "the technician is told what to do"
    commands = record.matrix([name for name in record.columns if name.startswith("command.")])
    assert np.isfinite(commands).all(), "nothing that is not finite is ever sent"


def test_after_a_soft_stop_the_table_is_brought_down_softly(plan: Plan, tmp_path: Path) -> None:
    _, record = play(plan, tmp_path / "run.mcap", ("oil-level@5s",))
    states = [State(int(code)) for code in record.columns["state"]]
    order = list(dict.fromkeys(states))
    assert order[-4:] == [State.RUNNING, State.STOPPING, State.FAULT, State.LOWERING]
    assert record.columns["pose.heave"][-1] < -0.045
    moving = np.array([state in (State.STOPPING, State.LOWERING) for state in states])
    jerk = np.abs(np.diff(record.columns["reference_acceleration.heave"][moving])).max() / 1e-3
    assert jerk < 60.0, "a stop that a driver would hardly feel"


def test_the_same_run_without_a_fault_completes(plan: Plan, tmp_path: Path) -> None:
    outcome, record = play(plan, tmp_path / "run.mcap", ())
    assert outcome.fault is None
    assert outcome.completed
    assert not [event for event in record.events if event.get("event") == "fault"]
    shutil.rmtree(tmp_path, ignore_errors=True)


def test_an_exception_in_a_cycle_powers_off(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    follow, left = Reference.advance, iter(range(12_000))

    def follow_for_a_while(self: Reference, dt: float, timeline: Timeline | None = None) -> None:
        if timeline is not None and next(left, None) is None:
            raise RuntimeError("the motion has gone")
        follow(self, dt, timeline)

    monkeypatch.setattr(Reference, "advance", follow_for_a_while)
    outcome, record = play(plan, tmp_path / "run.mcap", ())
    assert outcome.fault is not None
    assert outcome.fault.code is Code.LOOP_EXCEPTION
    assert "RuntimeError" in outcome.fault.cause
    assert "the motion has gone" in outcome.fault.cause
    assert outcome.state is State.FAULT
    (told, *_) = [event for event in record.events if event.get("event") == "exception"]
    assert "follow_for_a_while" in str(told["trace"]), "the trace is kept for whoever mends it"
    stages = record.columns["command.length.1"]
    assert np.isfinite(stages).all()
    assert record.columns["pose.heave"][-1] < -0.045, "the drive has let the table down"


class Journal:
    """Collects events, and ends the loop once a fault has come or enough time has passed."""

    def __init__(self, most_cycles: int) -> None:
        self.events: list[dict[str, object]] = []
        self._left = most_cycles

    @property
    def finished(self) -> bool:
        self._left -= 1
        return self._left < 0 or any(event.get("event") == "fault" for event in self.events)

    def next(self, now_ns: int) -> Verb:
        return Verb.NONE

    def heard(self, verb: Verb) -> None: ...

    def event(self, event: Mapping[str, object]) -> None:
        self.events.append(dict(event))


@pytest.mark.real_time
def test_what_the_plant_refuses_is_indicated(plan: Plan) -> None:
    """A command that is not finite, which the daemon never sends, is answered by the plant in words."""
    request = PlantRequest(
        plan.table_path, payload=rigid_payload(plan.profile), mode="free-run", period_ns=plan.daemon.period_ns
    )
    journal = Journal(5_000)
    with PlantProcess(find_provider(), request) as plant:
        link = plant.connect(plan.terms("free-run"))
        cycle = plan.cycle()
        bad = Command(cycle.frame.command_layout)
        bad.values[0] = np.nan
        assert link.send(bad)
        connection = Connection(None, "socket", "free-run", request)
        blocks, rights = host.Blocks.of(plan), Rights(())
        host.loop(plan, connection, cycle, link, journal, Processes(blocks), rights, ServiceHooks(journal))
    (fault, *_) = [event for event in journal.events if event.get("event") == "fault"]
    assert (fault["name"], fault["action"]) == ("PLANT_REFUSES", "INDICATE")
    assert "not finite" in str(fault["cause"])
    assert cycle.supervisor.state is State.OFF
