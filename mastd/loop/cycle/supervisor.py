"""Run the state machine of the loop: faults, requests and observations; each entry of a state acts once.

Order within a cycle: the most severe fault first, then the operator's request, then what the loop observes
(stage reached, raised, profile ended, standstill, lowered). Supply stage and drive mode follow from the
state; the reference is given its path when a state is entered.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mastd.arrays import FloatArray
from mastd.control.reference.kernels import ON_PATH
from mastd.control.reference.reference import Reference
from mastd.loop.cycle.orders import Orders
from mastd.loop.measurement.sensing import Sensing
from mastd.safety.faults import ROWS, Action, Code, Fault, FaultLatch, Report
from mastd.safety.states import ON_PROFILE, Conditions, Event, State, next_state
from mastd.settings.core.base import computed
from mastd.settings.daemon.daemon import DaemonSettings
from mastd.wire.access.verbs import EVENT_OF_VERB, NO_VERB, Verb
from mastd.wire.plant.messages import DriveMode, Sample, SampleFlag, Stage

_EVENT_OF_ACTION = {
    Action.HOLD: Event.FAULT_HOLD,
    Action.STOP: Event.FAULT_STOP,
    Action.POWER_OFF: Event.FAULT_POWER_OFF,
}
# Looking a member up costs 0.1 µs: those of every cycle are looked up once.
_RUNNING, _FOLLOW = State.RUNNING, DriveMode.FOLLOW
_WAITING = frozenset({State.LOW, State.HIGH})
_BUSY = frozenset({Code.SAMPLE_STALE, Code.SAMPLE_MISSING, Code.OVERRUN, Code.STALL})
_BUSY |= {Code.LOOP_STUCK, Code.LATE_CYCLES, Code.CLOCK}
"""What a busy machine does to time."""
DRIVE_ANSWER_NS = 1_000_000_000
"""Time the drive has to show that it is fading or lowering."""
AT_START = 1e-6
"""Metres and radians within which the reference stands at the profile's first pose."""


class Supervisor:
    """Owns state, latched faults, supply stage and drive mode."""

    def __init__(
        self,
        daemon: DaemonSettings,
        sensing: Sensing,
        sample: Sample,
        reference: Reference,
        lowered: FloatArray,
        orders: Orders,
    ) -> None:
        self.state = State.OFF
        self.since_ns = 0
        self.latch = FaultLatch()
        self.stage = Stage.OFF
        self.mode = DriveMode.DISABLED
        self.refusal = ""
        """Why the last request was refused, empty when it was accepted."""
        self.events: list[dict[str, object]] = []
        """What happened since the runner last took it: changes of state, faults, requests."""
        self.rights = True
        """Real-time rights are there, or are not asked for; set before the first cycle."""
        self.cycle = 0
        self.asker = "an operator"
        """Who asks for the verb of this cycle."""
        self._moves = daemon.moves
        self._stage_timeout_ns = round(computed(daemon.timeouts.supply_stage) * 1e9)
        self.lowering_timeout_ns = round(computed(daemon.timeouts.lowering) * 1e9)
        self._sensing = sensing
        self._sample = sample
        self._reference = reference
        self._lowered = lowered
        self._carried = bool(lowered[2] < 0.0)
        """The actuators carry the table; otherwise guides do, and it has no way down."""
        self._orders = orders
        self._neutral = np.zeros(6)
        self.reports: list[Report] = []
        """Conditions of this cycle."""
        self._pending: list[Report] = []

    @property
    def enabled(self) -> bool:
        """The drive follows the daemon's set-points."""
        return self.mode is _FOLLOW

    @property
    def resting(self) -> bool:
        """Nothing is asked of the plant: the supply is off and the drive disabled."""
        return self.stage is Stage.OFF and self.mode is DriveMode.DISABLED

    @property
    def raised(self) -> bool:
        """The table stands clearly above its lower stops; where guides carry it: it is held by the drive."""
        if not self._carried:
            return self.enabled
        pose = self._sensing.pose
        return bool(self._sensing.pose_valid and pose[2] > self._lowered[2] + 2.0 * self._moves.clearance)

    @property
    def drive_idle(self) -> bool:
        """The drive is not moving the table by itself."""
        return not self._sample.flags & (SampleFlag.DRIVE_FADING | SampleFlag.DRIVE_LOWERING)

    def down(self, now_ns: int) -> bool:
        """Return whether the table lies on its stops, or the drive has nothing left to let down.

        By the lengths; where they are not valid, or guides carry it, by the drive's own bits, a second after
        the last change.
        """
        if self._carried and self._sensing.usable and self._sensing.pose_valid:
            return not self.raised
        waited = now_ns - self.since_ns
        return (self.drive_idle and waited > DRIVE_ANSWER_NS) or waited > self.lowering_timeout_ns

    def decide(self, verb: Verb, now_ns: int, arguments: Sequence[float] = ()) -> None:
        """Move the state machine by this cycle's faults, request and observations."""
        self._observe_supply(now_ns)
        if self._pending:
            self.reports[:0] = self._pending  # they were there first
            self._pending.clear()
        if self.reports and self._orders.simulated and self.resting:
            # Nobody waits for a simulation at rest: a busy machine is told, and no reason not to begin.
            self.reports[:] = [
                Report(*report[:2], Action.INDICATE) if report.code in _BUSY else report
                for report in self.reports
            ]
        stopping = self._faults(now_ns) if self.reports or self.latch.active else None
        if verb is not NO_VERB:
            if stopping is None or verb in (Verb.STOP, Verb.ESTOP):
                self._request(verb, arguments, now_ns)
            else:
                self._refuse(verb, f"fault in the same cycle: {stopping.cause}; resolve it first")
        event = self._observation(now_ns)
        if event is not None:
            self._apply(event, now_ns)

    def report(self, code: Code, detail: str, action: Action | None = None) -> None:
        """Add a condition to this cycle's others."""
        self.reports.append(Report(code, detail, action))

    def report_next(self, code: Code, detail: str, action: Action | None = None) -> None:
        """Add a condition found after the cycle to those of the next one."""
        self._pending.append(Report(code, detail, action))

    def conditions(self) -> Conditions:
        """Return what the state machine has to know."""
        start = self._orders.profile_start
        at_start = self._reference.standing and (
            start is None or bool(np.all(np.abs(self._reference.motion[0] - start) <= AT_START))
        )
        return Conditions(
            raised=self.raised,
            supply_on=self._sample.stage == Stage.HIGH and self.stage is Stage.HIGH,
            fault_latched=self.latch.stopped,
            estop_released=not self._sample.flags & SampleFlag.ESTOP,
            profile_loaded=self._orders.loaded is not None,
            at_start=at_start,
            feedback_valid=self._sensing.trusted,
            drive_idle=self.drive_idle and not self._sample.flags & SampleFlag.DRIVE_TIMED_OUT,
            rights=self.rights,
            standing=self._reference.standing,
            enabled=self.enabled,
            cause=self.latch.first is not None,
            missing_rig=self._orders.missing_rig,
        )

    def _faults(self, now_ns: int) -> Fault | None:
        """Take this cycle's faults over and act; return a new one that stops or holds the table."""
        new = self.latch.observe(self.reports, now_ns, self.cycle)
        if not new:
            return None
        self._note_faults(new)
        worst = max(fault.action for fault in new)
        if self.state is State.FAULT and worst is Action.STOP:
            self._power_off()  # the stop did not help: what stands on these set-points must not stay on them
        if any(fault.code is Code.ESTOP for fault in new):
            self._apply(Event.ESTOP, now_ns)
        elif worst > Action.INDICATE:
            self._apply(_EVENT_OF_ACTION[worst], now_ns)
        if worst is Action.POWER_OFF:
            self._power_off()  # also where the state stays FAULT: the table stood there with the supply on
        return next((fault for fault in new if fault.action > Action.INDICATE), None)

    def _note_faults(self, faults: Sequence[Fault]) -> None:
        for fault in faults:
            self.events.append(
                {
                    "event": "fault",
                    "code": int(fault.code),
                    "name": fault.code.name,
                    "cause": fault.cause,
                    "action": fault.action.name,
                    "hint": ROWS[fault.code].hint,
                    "first": fault is self.latch.first,
                }
            )

    def _request(self, verb: Verb, arguments: Sequence[float], now_ns: int) -> None:
        event = EVENT_OF_VERB[verb]
        if event is Event.ESTOP:
            estop = Fault(Code.ESTOP, f"requested by {self.asker}", now_ns, self.cycle)
            self.latch.report([estop])
            self._note_faults([estop])
        self.refusal = self._apply(event, now_ns)
        if not self.refusal:
            self.refusal = self._orders.execute(verb, arguments, self.state is State.OFF)
        self._note_request(verb, arguments)
        if event is Event.RESET and not self.refusal:
            self.latch.reset()
        if event in (Event.RESET, Event.RAISE) and not self.refusal:
            self._sensing.readmit()

    def _refuse(self, verb: Verb, why: str) -> None:
        self.refusal = f"{verb.name.lower()} is refused: {why}"
        self._note_request(verb)

    def _note_request(self, verb: Verb, arguments: Sequence[float] = ()) -> None:
        event: dict[str, object] = {
            "event": "request",
            "verb": verb.name.lower(),
            "operator": self.asker,
            "refused": self.refusal,
        }
        if verb is Verb.LEVEL and arguments:
            event["share"] = float(arguments[0])
        self.events.append(event)

    def _observe_supply(self, now_ns: int) -> None:
        if self.state in _WAITING and now_ns - self.since_ns > self._stage_timeout_ns:
            self.report(
                Code.SUPPLY_TIMEOUT, f"stage {self.stage.name} not reached{self._sensing.supplies_text()}"
            )

    def _observation(self, now_ns: int) -> Event | None:
        state, reference = self.state, self._reference
        if state is _RUNNING:
            return Event.PROFILE_ENDED if self._orders.ended and reference.settled else None
        if state is State.LOW and self._sample.stage >= Stage.LOW:
            return Event.LOW_STAGE_REACHED
        if state is State.HIGH and self._sample.stage >= Stage.HIGH:
            return Event.HIGH_STAGE_REACHED
        if not reference.standing:
            return None
        if state is State.RAISING:
            return Event.RAISED
        if state is State.STOPPING:
            return Event.STANDSTILL
        if state is State.LOWERING:
            return Event.LOWERED if self.enabled or self.down(now_ns) else None
        return None

    def _apply(self, event: Event, now_ns: int) -> str:
        outcome = next_state(self.state, event, self.conditions())
        if outcome.state is not self.state:
            before, self.state, self.since_ns = self.state, outcome.state, now_ns
            self._enter(before)
            if self.state is State.RUNNING and not self.latch.stopped:
                self.latch.first = None  # who starts or resumes has seen why it was held
            cause = self.latch.first.cause if self.latch.first else ""
            self.events.append(
                {
                    "event": "state",
                    "from": before.name,
                    "to": self.state.name,
                    "by": event.value,
                    "cause": cause,
                }
            )
        return outcome.refusal

    def _enter(self, before: State) -> None:
        reference, sensing = self._reference, self._sensing
        match self.state:
            case State.LOW:
                reference.rest(sensing.pose)
                self.stage = Stage.LOW
            case State.HIGH:
                self.stage = Stage.HIGH
            case State.RAISING:
                self.mode = DriveMode.FOLLOW
                reference.move(self._neutral)
            case State.RUNNING if before is State.HOLD:
                reference.slow(1.0)
            case State.RUNNING:
                self._orders.begin()
            case State.HOLD:
                reference.slow(0.0)
            case State.STOPPING:
                self._stop()
            case State.READY:
                reference.stand()
            case State.LOWERING:
                self._lower()
            case State.FAULT:
                if not self._may_stand(before):
                    self._power_off()
            case State.ESTOP | State.OFF:
                self._power_off()

    def _stop(self) -> None:
        """Stop along the path; after a following error brake from the measured pose.

        Not from an old one: there the table follows, late, and a step back to where it was would shake it.
        """
        first, sensing = self.latch.first, self._sensing
        lost = first is not None and first.code is Code.FOLLOWING_ERROR
        if lost and sensing.pose_valid and sensing.young:
            self._reference.brake(sensing.pose, sensing.pose_rates)
        else:
            self._reference.slow(0.0)

    def _lower(self) -> None:
        """Lower along a straight line in pose space; without a valid pose the drive lowers by itself."""
        if self._sensing.usable and self._sensing.pose_valid and self.enabled:
            self._reference.move(self._lowered)
        else:
            self._reference.stand()
            self.mode = DriveMode.LOWER

    def _may_stand(self, before: State) -> bool:
        """After a soft stop, and from a standing table, FAULT keeps the table where it is."""
        severe = any(fault.action is Action.POWER_OFF for fault in self.latch.active.values())
        first = self.latch.first
        severe = severe or (first is not None and first.action is Action.POWER_OFF)
        return not severe and before in (State.STOPPING, State.READY, State.ARMED)

    def _power_off(self) -> None:
        self.stage, self.mode = Stage.OFF, DriveMode.DISABLED

    def follow_measured(self) -> None:
        """While nothing is commanded the reference is the measured pose, so that enabling is bumpless."""
        if not self.enabled and self._sensing.pose_valid:
            self._reference.rest(self._sensing.pose)

    @property
    def playing(self) -> bool:
        """The profile is the path: its commands are those that ``command_sha256`` covers."""
        return self._reference.source in ON_PATH and self.state in ON_PROFILE
