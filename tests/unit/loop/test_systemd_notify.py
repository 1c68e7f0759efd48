"""What the service manager is told, over a real socket and on a clock of the test's own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from mastd.loop.process.installation import Plan
from mastd.loop.process.script import StopRequest
from mastd.loop.process.status_text import StatusReporter
from mastd.loop.realtime import systemd_notify as module
from mastd.loop.realtime.systemd_notify import MAX_STATUS_LENGTH, ServiceManager
from mastd.safety.faults import ROWS, Code
from mastd.safety.states import State
from mastd.settings.core.starter import find
from mastd.wire.access.verbs import Verb
from tests.support.wire.notify_socket import NotifySocket


class FakeTime:
    """Monotonic time that the test moves."""

    def __init__(self) -> None:
        self.now = 1_000_000_000

    def monotonic_ns(self) -> int:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeTime:
    clock = FakeTime()
    monkeypatch.setattr(module, "time", clock)
    return clock


@pytest.fixture
def manager(runtime: Path) -> Iterator[NotifySocket]:
    """The service manager's end."""
    end = NotifySocket(runtime / "notify")
    yield end
    end.close()


def test_the_variables_are_taken_away_and_obeyed(manager: NotifySocket) -> None:
    environment = {
        "NOTIFY_SOCKET": manager.address,
        "WATCHDOG_USEC": "300000",
        "WATCHDOG_PID": str(os.getpid()),
        "HOME": "/",
    }
    daemon = ServiceManager.from_environment(environment)
    assert environment == {"HOME": "/"}, "no helper inherits them"
    assert daemon.interval_ns == 150_000_000, "at most half of the time-out"
    daemon.alive()
    assert manager.waiting() == ["WATCHDOG=1"]
    other = {"NOTIFY_SOCKET": manager.address, "WATCHDOG_USEC": "300000", "WATCHDOG_PID": "1"}
    ServiceManager.from_environment(other).alive()
    assert manager.waiting() == [], "another process is meant"


def test_a_ping_comes_at_its_time_together_with_what_has_changed(
    manager: NotifySocket, clock: FakeTime
) -> None:
    daemon = ServiceManager(manager.address, 2_000_000)
    daemon.status("OFF")
    daemon.alive()
    assert manager.next() == ["STATUS=OFF", "WATCHDOG=1"], "one datagram"
    daemon.status("OFF")
    daemon.alive()
    assert manager.next() == [], "nothing has changed, and it is not time to"
    clock.now += 250_000_000
    daemon.alive()
    assert manager.next() == ["WATCHDOG=1"]
    daemon.status("FAULT: two\nlines " + "é" * MAX_STATUS_LENGTH)
    clock.now += 250_000_000
    daemon.alive()
    (status, ping) = manager.next()
    assert status.startswith("STATUS=FAULT: two lines é")
    assert len(status.encode()) <= MAX_STATUS_LENGTH + 7
    assert ping == "WATCHDOG=1"


def test_what_found_no_room_comes_again_with_the_newest_state(manager: NotifySocket, clock: FakeTime) -> None:
    daemon = ServiceManager(manager.address, 2_000_000)
    for number in range(2000):  # more than the queue of any kernel holds
        daemon.status(f"state {number}")
        clock.now += 250_000_000
        daemon.alive()
    daemon.ready()
    assert "state 1999" not in str(manager.waiting())
    clock.now += 250_000_000
    daemon.alive()
    assert manager.next() == ["STATUS=state 1999", "READY=1", "WATCHDOG=1"]


def test_patience_is_asked_for_and_given_back(manager: NotifySocket, clock: FakeTime) -> None:
    daemon = ServiceManager(manager.address, 2_000_000)
    daemon.busy("compiling", 60.0)
    assert manager.waiting() == [
        "STATUS=compiling",
        "EXTEND_TIMEOUT_USEC=60000000",
        "WATCHDOG_USEC=60000000",
        "WATCHDOG=1",
    ]
    daemon.attentive()
    assert manager.waiting() == ["WATCHDOG_USEC=2000000", "WATCHDOG=1"]
    daemon.reloading()
    assert manager.waiting() == ["RELOADING=1", f"MONOTONIC_USEC={clock.now // 1000}"]
    without = ServiceManager(manager.address)
    without.busy("compiling", 60.0)
    without.attentive()
    clock.now += 250_000_000
    without.alive()
    assert manager.waiting() == ["STATUS=compiling", "EXTEND_TIMEOUT_USEC=60000000"], "no watchdog, no ping"


@pytest.mark.parametrize("address", ["", "vsock:2:1234", "/nowhere/notify"])
def test_without_a_manager_nothing_happens(address: str) -> None:
    daemon = ServiceManager(address, 2_000_000)
    daemon.busy("compiling")
    daemon.ready()
    daemon.alive()
    daemon.stopping()
    daemon.close()
    daemon.alive()
    assert daemon.interval_ns == 250_000_000, "the loop goes on calling it as often as with a manager"


def test_the_abstract_name_space_is_reached() -> None:
    end = NotifySocket(Path(f"\0mastd-test-{os.getpid()}"))
    daemon = ServiceManager(f"@mastd-test-{os.getpid()}")
    daemon.ready()
    assert end.waiting() == ["READY=1"]
    end.close()


def test_state_and_cause_are_told_in_words(manager: NotifySocket, clock: FakeTime) -> None:
    plan = Plan.load(find("table", "table"), find("profile", "first_motion"), find("daemon", "simulated"))
    cycle, stop = plan.cycle(), StopRequest()
    cycle.load(plan.ready)
    teller = StatusReporter(
        ServiceManager(manager.address), cycle, stop, "last ending: watchdog", "DEGRADED_RT"
    )

    def told() -> str:
        clock.now += 250_000_000
        teller.check()
        (line,) = manager.waiting() or [""]
        return line.removeprefix("STATUS=")

    def stand_in(state: State) -> str:
        cycle.supervisor.state = state
        return told()

    name = plan.profile.name
    assert told() == "OFF; DEGRADED_RT; last ending: watchdog"
    assert told() == "", "nothing has changed"
    assert stand_in(State.RUNNING) == f"RUNNING {name}; DEGRADED_RT", "who raises has seen what went before"
    assert stand_in(State.OFF) == "OFF; DEGRADED_RT"
    cycle.supervisor.report(Code.PLANT_LOST, "no sample for 2.00 s")
    cycle.supervisor.decide(Verb.NONE, 1)
    hint = ROWS[Code.PLANT_LOST].hint
    assert told() == f"FAULT: drive connection lost: no sample for 2.00 s; what to do: {hint}; DEGRADED_RT"
    stop.requested = True
    teller.check()
    status, told_to_stop = manager.next()
    assert status.startswith("STATUS=stopping: FAULT: drive connection lost")
    assert told_to_stop == "STOPPING=1"
