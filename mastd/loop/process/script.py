"""What `mastd run` asks of the loop, in the operator's place: raise, arm, start, lower."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from mastd.errors import MastdError
from mastd.loop.cycle.supervisor import Supervisor
from mastd.safety.faults import Code, Fault
from mastd.safety.states import State
from mastd.wire.access.verbs import NO_VERB, Verb

_RUNNING = State.RUNNING  # looking a member up costs 0.1 µs: once for all cycles
PATIENCE_NS = 5_000_000_000
"""How long a refused raise or arm is asked for again: the first samples may still be on their way."""


@dataclass
class StopRequest:
    """Somebody's wish to stop softly (Ctrl-C, SIGTERM); setting it again changes nothing."""

    requested: bool = False
    by: str = ""
    """Who asked first: a signal, an operator, a rig."""
    reload: bool = False
    """A signal has asked a service for new settings."""
    at_once: bool = False
    """Nothing has begun that must be ended in order: a wish to stop interrupts what is being done."""

    @contextmanager
    def interrupting(self) -> Iterator[None]:
        """Let a wish to stop raise KeyboardInterrupt in this context."""
        self.at_once = True
        try:
            if self.requested:
                raise KeyboardInterrupt
            yield
        except MastdError:
            raise
        except Exception as error:
            # A callback of the compiler swallows the interruption; what then fails is its consequence.
            if self.requested:
                raise KeyboardInterrupt from error
            raise
        finally:
            self.at_once = False


def leave_fault(supervisor: Supervisor, now_ns: int) -> tuple[Verb, bool]:
    """Return what to ask for in FAULT so that the table comes down, and whether nothing is left to do."""
    first = supervisor.latch.first
    if first is not None and first.code is Code.PLANT_LOST:
        return Verb.NONE, True
    if supervisor.enabled and supervisor.conditions().supply_on and supervisor.raised:
        return Verb.LOWER, False
    return Verb.NONE, supervisor.down(now_ns)


class RunScript:
    """Plays the loaded profile once. ``next`` returns the verb for this cycle, ``finished`` ends the loop.

    A stop request brings the table down softly from wherever it is; so do an operator's stop and lower.
    """

    def __init__(self, supervisor: Supervisor, stop: StopRequest | None = None) -> None:
        self._stop = stop or StopRequest()
        self.finished = False
        self.completed = False
        """The profile was played to its end."""
        self.ended_in = State.OFF
        """Where the run ended, before lowering."""
        self.fault: Fault | None = None
        """What ended the run."""
        self.refusal = ""
        """Why raising or arming was given up."""
        self.supervisor = supervisor
        self._begun = False
        self._played = False
        self._stop_sent = False
        self._asked_ns = -1

    @property
    def stop_requested(self) -> bool:
        """Somebody wants the run to stop."""
        return self._stop.requested

    @property
    def stopped_by(self) -> str:
        """Who has stopped the run, empty for nobody."""
        return self._stop.by

    def heard(self, verb: Verb) -> None:
        """Learn what an operator was granted: who stops or lowers the table does not want it to continue."""
        if verb in (Verb.STOP, Verb.LOWER):
            self._stop.by = self._stop.by or self.supervisor.asker
            self._stop.requested = self._stop_sent = True

    def next(self, now_ns: int) -> Verb:
        """Return what to ask for in this cycle."""
        state = self.supervisor.state
        if state is _RUNNING and not self.stop_requested:
            return NO_VERB
        self.supervisor.asker = self._stop.by or self.supervisor.asker
        match state:
            case State.OFF:
                return self._in_off(now_ns)
            case State.READY:
                return self._in_ready(now_ns)
            case State.ARMED:
                self._played = True
                return Verb.STOP if self.stop_requested else Verb.START
            case State.LOW | State.HIGH | State.RAISING | State.RUNNING | State.HOLD if self.stop_requested:
                if self._stop_sent:
                    return Verb.NONE
                self._stop_sent = True
                return Verb.STOP
            case State.FAULT:
                return self._in_fault(now_ns)
            case State.ESTOP:
                self._keep_cause()
                self.ended_in = State.ESTOP
                self.finished = self.supervisor.down(now_ns)
        self._asked_ns = -1
        self._begun = True
        return Verb.NONE

    def _keep_cause(self) -> None:
        """Keep the first cause: an operator's reset does not change how the run went."""
        self.fault = self.fault or self.supervisor.latch.first

    def _in_off(self, now_ns: int) -> Verb:
        if self._begun or self.stop_requested:
            self.finished = not self._begun or self.supervisor.down(now_ns)
            return Verb.NONE
        verb = self._ask(Verb.RAISE, now_ns)
        # Before the first usable sample there is nothing to ask for; patience runs all the same.
        return verb if self.supervisor.conditions().feedback_valid else Verb.NONE

    def _in_ready(self, now_ns: int) -> Verb:
        if self._played or self.stop_requested or self.finished:
            self.completed = self._played and not self.stop_requested and self.fault is None
            self.ended_in = State.READY
            return Verb.LOWER
        verb = self._ask(Verb.ARM, now_ns)
        if self.finished:
            self.finished = False
            self._played = True
            return Verb.LOWER
        return verb

    def _in_fault(self, now_ns: int) -> Verb:
        self._keep_cause()
        self.ended_in = State.FAULT
        verb, self.finished = leave_fault(self.supervisor, now_ns)
        return verb

    def _ask(self, verb: Verb, now_ns: int) -> Verb:
        """Ask again as long as patience lasts; then give up with the reason."""
        patience = PATIENCE_NS if self.supervisor.drive_idle else self.supervisor.lowering_timeout_ns
        if self._asked_ns < 0:
            self._asked_ns = now_ns
        elif now_ns - self._asked_ns > patience:
            self.refusal = self.supervisor.refusal
            self.finished = True
            return Verb.NONE
        return verb
