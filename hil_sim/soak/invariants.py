"""What must hold after every cycle, whatever operators and faults do; a violation is data."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

from hil_sim.soak import numbers
from hil_sim.soak.numbers import Applies, Bounds, Numbers
from hil_sim.soak.world import World
from mastd.control.reference.kernels import Source
from mastd.dynamics.oil_flow import oil_springs
from mastd.safety.faults import Code
from mastd.safety.states import COMMANDS, Conditions, Event, State, next_state
from mastd.settings.core.base import computed
from mastd.settings.daemon.daemon import DaemonSettings
from mastd.settings.table.internal_forces import force_patterns
from mastd.settings.table.table import TableSettings
from mastd.wire.access.verbs import EVENT_OF_VERB, Verb
from mastd.wire.plant.messages import DriveMode, SampleFlag, Stage

RULES: Mapping[str, str] = {
    **numbers.RULES,
    "NO_MOTION": "drive mode and supply stage are those of the state; OFF and ESTOP request nothing",
    "CAUSE": "FAULT, ESTOP and every stop not requested by an operator have a cause",
    "TRANSITION": "states change only along the table, one after the other, by events that happened",
    "REFUSAL": "a refused request changes nothing",
    "RESET": "reset leads to OFF or to a standing table, never to motion",
    "STOP": "stop and emergency stop act in their cycle",
    "LASTS": "no state that has to end lasts longer than it may",
    "ALARM": "no fault stops a table with which nothing has been wrong for a while",
    "EXCEPTION": "no exception leaves the cycle",
    "MEMORY": "memory does not grow",
}
"""Name and meaning of every invariant."""

POWER_OFF_SECONDS = 4.0
"""After a drive that did not follow the command the bound of the table's acceleration rests for this long."""
_OF_THE_MOTION = frozenset({"FORCE", "VELOCITY", "ACCELERATION", "FOLLOWING_ERROR", "INTERNAL_FORCE"}) | {
    "SUPPLY_PRESSURE",
    "SUPPLY_FAULT",
}
"""Names of faults that a profile near the limits brings about by itself."""
ALARM_SECONDS = 60.0
"""So long after the last trouble a fault that stops the table is a false alarm."""
_DRIVE_ALONE = (
    SampleFlag.ESTOP | SampleFlag.DRIVE_FADING | SampleFlag.DRIVE_LOWERING | SampleFlag.DRIVE_TIMED_OUT
)
_MAX_EVENTS = 32

_FOLLOW, _DISABLED, _LOWER = int(DriveMode.FOLLOW), int(DriveMode.DISABLED), int(DriveMode.LOWER)
_OFF, _LOW, _HIGH = int(Stage.OFF), int(Stage.LOW), int(Stage.HIGH)
_UP = frozenset({(_FOLLOW, _HIGH)})
_ASKED: dict[State, frozenset[tuple[int, int]]] = {
    State.OFF: frozenset({(_DISABLED, _OFF)}),
    State.ESTOP: frozenset({(_DISABLED, _OFF)}),
    State.FAULT: frozenset({(_DISABLED, _OFF), (_FOLLOW, _HIGH)}),
    State.LOW: frozenset({(_FOLLOW, _LOW), (_DISABLED, _LOW)}),
    State.HIGH: frozenset({(_FOLLOW, _HIGH), (_DISABLED, _HIGH)}),
    State.RAISING: _UP,
    State.READY: _UP,
    State.ARMED: _UP,
    State.RUNNING: _UP,
    State.HOLD: _UP,
    State.STOPPING: _UP,
    State.LOWERING: frozenset({(_FOLLOW, _HIGH), (_LOWER, _HIGH)}),
}
"""Drive mode and supply stage that each state may ask for."""
_ON_PROFILE = frozenset({State.ARMED, State.RUNNING, State.HOLD})
"""States in which the table is off its lower stops; in all others it may have been halted near them."""
_STANDING = frozenset({State.ARMED, State.FAULT, State.LOW, State.HIGH, State.READY})
SETTLING_SECONDS = 3.0
"""In a state in which the table stands, what a fresh start left over has faded out after this long."""
JOGGING_SECONDS = 30.0
"""In READY a jog may be under way, no longer than this."""
_STOPPED = frozenset(State) - {State.RAISING, State.RUNNING, State.HOLD, State.ARMED, State.LOW, State.HIGH}
"""States in which the cycle of a stop may end."""


@dataclass(frozen=True)
class Violation:
    """An invariant that did not hold: its name, the cycle, what was seen."""

    rule: str
    cycle: int
    time_s: float
    detail: str

    @property
    def text(self) -> str:
        """One line for people."""
        return f"{self.rule} ({RULES[self.rule]}) at {self.time_s:.3f} s, cycle {self.cycle}: {self.detail}"


@cache
def outcomes(state: State, event: Event) -> frozenset[State]:
    """Return the states to which ``event`` can lead from ``state``, under any conditions."""
    names = [field.name for field in fields(Conditions)]
    choices: list[tuple[Any, ...]] = [
        ("", "pedals") if name == "missing_rig" else (False, True) for name in names
    ]
    return frozenset(
        next_state(state, event, Conditions(**dict(zip(names, values, strict=True)))).state
        for values in itertools.product(*choices)
    )


class Invariants:
    """Looks at a world after each of its cycles."""

    def __init__(self, world: World, table: TableSettings, daemon: DaemonSettings, bounds: Bounds) -> None:
        cycle = world.cycle
        internal = math.hypot(*(pattern.limit for pattern in force_patterns(table)))
        # Where the internal force is at its limit, on the softest oil.
        balanced = daemon.control.balance.gain * internal / float(oil_springs(table).min())
        self.numbers = Numbers(cycle.frame, world.geometry, table, bounds, 1e-9 * world.period_ns * balanced)
        self.troubled_ns = -(1 << 62)
        """When something was last wrong with plant, line or machine; set from outside."""
        self.checks = dict.fromkeys(RULES, 0)
        """How often each invariant was looked at."""
        self._world = world
        self._cycle = cycle
        self._supervisor = cycle.supervisor
        self._period = world.period_ns * 1e-9
        self._bridged = table.drive.command_timeout
        self._quiet_cycles = round(POWER_OFF_SECONDS / self._period)
        self._disturbed = 0
        self._state = State.OFF
        self._mode, self._stage = _DISABLED, _OFF
        self._stood = False
        self._rested_ns = 0
        moves, timeouts = daemon.moves, daemon.timeouts
        self._longest_ns = {
            State.LOW: computed(timeouts.supply_stage) + 1.0,
            State.HIGH: computed(timeouts.supply_stage) + 1.0,
            State.RAISING: 30.0,
            State.STOPPING: moves.stop_time + 5.0,
            State.LOWERING: computed(timeouts.lowering) + 5.0,
        }
        self._longest_ns = {state: 1e9 * seconds for state, seconds in self._longest_ns.items()}

    def check(self, verb: Verb) -> Violation | None:
        """Return what the last cycle has violated; ``verb`` was asked for in it."""
        supervisor, world = self._supervisor, self._world
        command = self._cycle.command
        state, mode, stage = supervisor.state, command.mode, command.stage
        broken = ""
        events = world.events
        if events or verb is not Verb.NONE or state is not self._state:
            broken = self._events(events, verb, state, mode, stage)
        if not broken and (mode, stage) not in _ASKED[state]:
            broken = f"NO_MOTION: {state.name} requests {DriveMode(mode).name}, stage {Stage(stage).name}"
        if not broken:
            longest = self._longest_ns.get(state)
            if longest is not None and not world.now_ns - supervisor.since_ns <= longest:
                broken = f"LASTS: {state.name} since {(world.now_ns - supervisor.since_ns) * 1e-9:.1f} s"
        if not broken and state in _STANDING and mode == _FOLLOW:
            broken = self._settles(state)
        if not broken and state is State.FAULT and supervisor.latch.first is None:
            broken = "CAUSE: FAULT without a latched cause"
        applies = self._applies(events, state, mode)
        found = self.numbers.inspect(world.truth, applies, (1 + world.skipped) * self._period)
        self.checks["COMMAND_FINITE"] += 1
        if not broken and found:
            broken = f"{found}: {self.numbers.describe()}"
        self._state, self._mode, self._stage = state, mode, stage
        if not broken:
            return None
        rule, _, detail = broken.partition(": ")
        return Violation(rule, self._cycle.cycles, world.now_ns * 1e-9, f"{state.name}, {detail}")

    def _settles(self, state: State) -> str:
        """Check that a table that has to stand does so after a while."""
        jogged = state is State.READY and self._cycle.reference.source is Source.MOVE
        since_ns = max(self._supervisor.since_ns, self._rested_ns)
        longest = JOGGING_SECONDS if jogged else SETTLING_SECONDS
        passed = (self._world.now_ns - since_ns) * 1e-9
        return "" if passed <= longest else f"STANDS: it has not come to rest for {passed:.1f} s"

    def totals(self) -> dict[str, int]:
        """Return how often each invariant was checked."""
        cycles = self.checks["COMMAND_FINITE"]
        every = {"COMMAND_FINITE", "NO_MOTION", "LASTS", "EXCEPTION"}
        return {name: cycles if name in every else count for name, count in self.checks.items()}

    def _applies(self, events: list[dict[str, object]], state: State, mode: int) -> Applies:
        """Return which bounds apply to this cycle's numbers, and count them."""
        world = self._world
        stood, self._stood = self._stood, False
        if mode != _FOLLOW or self._cycle.sample.flags & _DRIVE_ALONE:
            self._disturbed = self._cycle.cycles
        if mode != _FOLLOW:
            return Applies()
        self._count("STROKE", "RATE", "ACCELERATION")
        on_stops = state not in _ON_PROFILE
        quiet = self._cycle.cycles - self._disturbed > self._quiet_cycles
        if quiet:
            self._count("TABLE_ACCELERATION")
        if self._starts_afresh(events):
            self._count("STARTS_FROM_MEASURED")
            return Applies(enabled=True, from_measured=True, on_stops=on_stops, quiet=quiet)
        skipped = bool(world.skipped)
        if not skipped:
            self._count("LENGTH_CONTINUOUS", "RATE_CONTINUOUS", "JERK")
        standing = state in _STANDING and self._cycle.reference.standing
        if standing:
            self._rested_ns = world.now_ns
            self._count("STANDS")
        self._stood = standing
        return Applies(
            enabled=True,
            continues=not skipped,
            standing=standing,
            stood=standing and stood,
            on_stops=on_stops,
            quiet=quiet,
            skipped=skipped,
        )

    def _count(self, *rules: str) -> None:
        for rule in rules:
            self.checks[rule] += 1

    def _starts_afresh(self, events: list[dict[str, object]]) -> bool:
        """Return whether the design lets the reference start from the measured pose in this cycle.

        When the drive is enabled, when a stall was longer than the drive bridges (rejoin), and when a
        tracking fault stops the motion.
        """
        if self._mode != _FOLLOW:
            return True
        world = self._world
        if world.skipped and (1 + world.skipped) * self._period > self._bridged:
            return self._cycle.sensing.usable and self._cycle.sensing.pose_valid
        first = self._supervisor.latch.first
        stopped = any(event["event"] == "state" and event["to"] == "STOPPING" for event in events)
        return stopped and first is not None and first.code is Code.FOLLOWING_ERROR

    def _events(
        self, events: list[dict[str, object]], verb: Verb, state: State, mode: int, stage: int
    ) -> str:
        """Check what happened against what may happen; return the first violation, empty for none."""
        if len(events) > _MAX_EVENTS:
            return f"MEMORY: {len(events)} events in one cycle"
        at = self._state
        refused: dict[Event, str] = {}
        changed = False
        for event in events:
            if event["event"] == "request":
                self.checks["REFUSAL"] += 1
                if event["refused"]:
                    refused[EVENT_OF_VERB[verb]] = str(event["refused"])
            if event["event"] == "state":
                changed = True
                after = State[str(event["to"])]
                broken = self._change(at, after, event, verb)
                if broken:
                    return broken
                at = after
            if event["event"] == "fault":
                changed = True
                self.checks["ALARM"] += 1
                if self._false_alarm(event):
                    return f"ALARM: {event['cause']}"
        if at is not state:
            return f"TRANSITION: {at.name} became {state.name} without an event"
        wanted = EVENT_OF_VERB.get(verb)
        if verb is not Verb.NONE and not any(event["event"] == "request" for event in events):
            return f"REFUSAL: {verb.name} has no answer"
        if wanted in refused and not changed and (mode, stage) != (self._mode, self._stage):
            return f"REFUSAL: {verb.name} was refused, but mode or stage changed"
        for event in events:
            if event["event"] == "state" and wanted in refused and event["by"] == wanted.value:
                return f"REFUSAL: {verb.name} was refused, but led from {event['from']} to {event['to']}"
        return self._orders(verb, state, mode, refused)

    def _false_alarm(self, event: dict[str, object]) -> bool:
        """Return whether a fault has come out of nothing.

        A profile near the table's limits may pass them on a plant that is not what the settings say.
        """
        if event["action"] == "INDICATE" or event["code"] == Code.ESTOP:
            return False
        slowing = self._state is State.STOPPING
        if (slowing or self._state in _ON_PROFILE) and event["name"] in _OF_THE_MOTION:
            return False
        return self._world.now_ns - self.troubled_ns > 1e9 * ALARM_SECONDS

    def _change(self, at: State, after: State, event: dict[str, object], verb: Verb) -> str:
        """Check one change of state."""
        self.checks["TRANSITION"] += 1
        by = Event(str(event["by"]))
        if event["from"] != at.name or after not in outcomes(at, by) or after is at:
            return f"TRANSITION: from {event['from']} (it was {at.name}) to {after.name} by {by.value}"
        asked = EVENT_OF_VERB.get(verb) is by
        if by in COMMANDS and not asked and by is not Event.ESTOP:
            return f"TRANSITION: {by.value} led to {after.name}without a request"
        if after in (State.FAULT, State.ESTOP) or by.value.startswith("fault"):
            self.checks["CAUSE"] += 1
            if not event["cause"]:
                return f"CAUSE: {by.value} led to {after.name} without a cause"
        if by is Event.RESET:
            self.checks["RESET"] += 1
            if after not in (State.OFF, State.READY) or not self._cycle.reference.standing:
                return f"RESET: it led from {at.name} to {after.name}"
        return ""

    def _orders(self, verb: Verb, state: State, mode: int, refused: Mapping[Event, str]) -> str:
        if verb is Verb.ESTOP:
            self.checks["STOP"] += 1
            if state is not State.ESTOP or mode != _DISABLED:
                return f"STOP: estop led to {state.name}"
        if verb is Verb.STOP:
            self.checks["STOP"] += 1
            if refused or state not in _STOPPED:
                return f"STOP: stop led to {state.name} {refused.get(Event.STOP, '')}"
        return ""
