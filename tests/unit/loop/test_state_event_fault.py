"""Every state, with every request, with every kind of fault in the same cycle: who wins, and what is said.

The real supervisor decides on a clock of the test's own; the expected outcome is written down here by rule.
"""

from __future__ import annotations

import itertools

import pytest

from mastd.loop.cycle.cycle import Cycle
from mastd.loop.cycle.motion_limits import lowered_pose
from mastd.loop.cycle.supervisor import Supervisor
from mastd.loop.process.installation import Plan
from mastd.safety.faults import ROWS, Action, Code
from mastd.safety.states import State
from mastd.settings.core.starter import find
from mastd.wire.access.verbs import Verb
from mastd.wire.plant.messages import DriveMode, Stage

FAULTS: dict[str, Code | None] = {
    "none": None,
    "indicate": next(row.code for row in ROWS.values() if row.action is Action.INDICATE),
    "hold": next(row.code for row in ROWS.values() if row.action is Action.HOLD),
    "stop": Code.VELOCITY,
    "power off": Code.PLANT_LOST,
    "e-stop": Code.ESTOP,
}
NOW = 1_000_000_000_000
STANDS_IN = (State.READY, State.ARMED)
TAKEN = {
    Verb.RAISE: {State.OFF: State.LOW, State.READY: State.RAISING},
    Verb.ARM: {State.READY: State.ARMED},
    Verb.START: {State.ARMED: State.RUNNING},
    Verb.HOLD: {State.RUNNING: State.HOLD},
    Verb.RESUME: {State.HOLD: State.RUNNING},
    Verb.LOWER: {
        State.LOW: State.OFF,
        State.HIGH: State.OFF,
        **dict.fromkeys((State.READY, State.ARMED, State.LOWERING), State.LOWERING),
    },
    Verb.RELOAD: {State.OFF: State.OFF},
    Verb.RESET: {State.ESTOP: State.OFF, State.FAULT: State.OFF},
}
"""What a supervisor without samples takes: the feedback is invalid, so raise and arm are refused as well."""


@pytest.fixture(scope="module")
def plan() -> Plan:
    return Plan.load(find("table", "table"), find("profile", "first_motion"), find("daemon", "simulated"))


def after_fault(state: State, fault: str) -> State:
    """Return the state after a fault alone."""
    if fault == "e-stop":
        return State.ESTOP
    if fault == "power off":
        return State.ESTOP if state is State.ESTOP else State.FAULT
    if fault == "stop":
        if state in (State.RAISING, State.READY, State.RUNNING, State.HOLD, State.STOPPING):
            return State.STOPPING
        return state if state in (State.LOWERING, State.ESTOP) else State.FAULT
    if fault == "hold":
        moving = {State.RUNNING: State.HOLD, State.RAISING: State.STOPPING, State.READY: State.STOPPING}
        return moving.get(state, state)
    return state


def after_stop(state: State) -> State:
    """Return the state after a stop request alone."""
    if state in (State.LOW, State.HIGH):
        return State.OFF
    if state is State.ARMED:
        return State.READY
    moving = (State.RAISING, State.READY, State.RUNNING, State.HOLD)
    return State.STOPPING if state in moving else state


@pytest.mark.parametrize("state", State, ids=lambda state: state.name)
def test_every_request_with_every_fault_in_one_cycle(plan: Plan, state: State) -> None:
    cycle = plan.cycle()
    for verb, (fault, code) in itertools.product(Verb, FAULTS.items()):
        supervisor = Supervisor(
            plan.daemon,
            cycle.sensing,
            cycle.sample,
            cycle.reference,
            lowered_pose(plan.geometry, plan.daemon.moves.clearance),
            cycle.orders,
        )
        cycle.supervisor = supervisor
        supervisor.state = state
        supervisor.since_ns = NOW
        cycle.reference.move(cycle.reference.motion[0] + 0.01)  # on its way, in READY by a jog
        if code is not None:
            supervisor.report(code, "made by the test")
        supervisor.decide(verb, NOW + 1, (0.0, 2.0, 0.001, 0.0))
        where = f"{state.name} + {verb.name} + {fault}"
        expected = after_fault(state, fault)
        if verb is Verb.ESTOP:
            expected = State.ESTOP
        elif verb is Verb.STOP:
            expected = after_stop(expected)
        elif fault in ("none", "indicate") and verb is not Verb.NONE:
            check_request(cycle, state, verb, where)
            continue
        elif verb is not Verb.NONE:
            assert supervisor.refusal.startswith(f"{verb.name.lower()} is refused"), where
            assert "same cycle" in supervisor.refusal, where
        assert supervisor.state is expected, where
        if expected in (State.ESTOP, State.OFF) or fault in ("power off", "e-stop"):
            assert (supervisor.mode, supervisor.stage) == (DriveMode.DISABLED, Stage.OFF), where
        if code is not None and ROWS[code].action >= Action.HOLD:
            first = supervisor.latch.first
            assert first is not None, where
            # A stop replaces the cause of a hold, which does not end the run.
            wanted = Code.ESTOP if fault == "hold" and verb is Verb.ESTOP else code
            assert (first.code, first.time_ns) == (wanted, NOW + 1), where


def check_request(cycle: Cycle, state: State, verb: Verb, where: str) -> None:
    """Check a request without a fault that matters: taken as written down, or refused by name."""
    supervisor = cycle.supervisor
    target = TAKEN.get(verb, {}).get(state)
    if verb in (Verb.RAISE, Verb.ARM) and target is not None:
        assert "feedback is invalid" in supervisor.refusal, where
        assert supervisor.state is state, where
    elif verb is Verb.LOWER and state is State.FAULT:
        assert "supply is off" in supervisor.refusal, where
    elif verb is Verb.LOAD and state in (State.OFF, State.READY):
        assert "mastd serve" in supervisor.refusal, where
    elif verb is Verb.JOG and state is State.READY:
        assert supervisor.state is state, where
    elif verb is Verb.LEVEL and state in (State.OFF, *STANDS_IN, State.RUNNING, State.HOLD):
        assert not supervisor.refusal, where
    elif target is None:
        assert supervisor.refusal.startswith(f"{verb.name.lower()} is refused in {state.name}: "), where
        assert supervisor.state is state, where
    else:
        assert supervisor.refusal == "", where
        assert supervisor.state is target, where
