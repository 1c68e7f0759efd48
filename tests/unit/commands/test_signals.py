"""Signals while a table is controlled: all that would end or suspend the process ask for a soft stop."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

import pytest

from mastd.commands.plant_options import stop_on_signals
from mastd.loop.process.script import StopRequest
from mastd.loop.service.service import ServiceScript
from mastd.safety.faults import FaultLatch
from mastd.safety.states import State
from mastd.wire.access.verbs import Verb
from mastd.wire.common.blocks import NewestValueBlock, status_layout

pytestmark = pytest.mark.usefixtures("own_signals")

ENDING = (
    *("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGTSTP", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGVTALRM"),
    *("SIGPROF", "SIGPOLL", "SIGPWR", "SIGXCPU", "SIGRTMIN"),
)


@pytest.mark.parametrize("name", ENDING)
def test_what_would_end_the_process_asks_for_a_soft_stop_and_is_named(name: str) -> None:
    number = getattr(signal, name)
    before = signal.getsignal(number)
    with stop_on_signals():
        assert signal.getsignal(number) != before
    assert signal.getsignal(number) == before
    with stop_on_signals() as stop:
        os.kill(os.getpid(), number)
        assert stop.requested
        os.kill(os.getpid(), signal.SIGINT)
    assert stop.by == signal.Signals(number).name, "who asked first"
    os.kill(os.getpid(), number)  # while the process ends, with the exit code of what it did


@pytest.mark.parametrize("name", ["SIGPIPE", "SIGXFSZ", "SIGTTIN", "SIGTTOU", "SIGCONT", "SIGWINCH"])
def test_what_is_no_reason_to_stop_changes_nothing(name: str) -> None:
    with stop_on_signals() as stop:
        os.kill(os.getpid(), getattr(signal, name))
        assert stop == StopRequest()


def test_a_run_that_outlives_its_terminal_by_nohup_still_does() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with stop_on_signals() as stop:
        os.kill(os.getpid(), signal.SIGHUP)
        assert not stop.requested
    signal.signal(signal.SIGHUP, before)


def test_an_error_that_follows_from_an_interruption_counts_as_one() -> None:
    """The compiler's callbacks swallow what a signal's handler raises, and fail later for want of it."""

    def fail(stop: StopRequest, number: int) -> None:
        with stop.interrupting():
            with suppress(KeyboardInterrupt):
                os.kill(os.getpid(), number)
            raise RuntimeError("no compiled object")

    with stop_on_signals() as stop:
        with pytest.raises(RuntimeError, match="no compiled object"):
            fail(stop, 0)  # no signal
        with pytest.raises(KeyboardInterrupt):
            fail(stop, signal.SIGTERM)


class Table:
    """What the service's script sees of the state machine."""

    drive_idle = True

    def __init__(self, state: State) -> None:
        self.state = state
        self.latch = FaultLatch()

    def alive(self) -> bool:
        """Its gateway is there."""
        return True


@pytest.mark.parametrize("state", [State.OFF, State.READY, State.RUNNING])
def test_sighup_reloads_a_service_in_off_and_is_refused_elsewhere(state: State) -> None:
    status = NewestValueBlock(status_layout(7))
    with stop_on_signals(reload=True) as stop:
        table = Table(state)
        script = ServiceScript(table, stop, status, table)  # type: ignore[arg-type]
        assert script.next(0) is Verb.NONE
        os.kill(os.getpid(), signal.SIGHUP)
        assert script.next(0) is Verb.RELOAD, "the state machine refuses it, and the log says so"
        assert script.reload is script.finished is (state is State.OFF)
        assert script.next(0) is Verb.NONE, "it is asked for once"
        assert not stop.requested
    status.close()
