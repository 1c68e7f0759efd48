"""Who may what at the sockets of this machine: by the kernel's word, not by the client's."""

from __future__ import annotations

import multiprocessing
import os
import pwd
import tempfile
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from mastd.errors import UsageError
from mastd.wire.common import address
from mastd.wire.common.address import daemon_address, observers_address
from mastd.wire.operators.client import OperatorClient
from tests.support.wire.operators import Daemon

OPERATORS, OBSERVERS = 64101, 64102
"""Groups of this test, which need no names."""
SOMEBODY = next(entry for entry in pwd.getpwall() if entry.pw_uid not in (0, os.getuid()))
as_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can act as another user")


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Daemon]:
    """The gateway of a service with a directory for its group and one for observers."""
    with tempfile.TemporaryDirectory(prefix="mastd-test-") as base:
        os.chmod(base, 0o755)
        runtime, watching = Path(base) / "mastd", Path(base) / "mastd-observers"
        for directory, group in ((runtime, OPERATORS), (watching, OBSERVERS)):
            directory.mkdir()
            directory.chmod(0o750)
            if os.getuid() == 0:
                os.chown(directory, -1, group)
        monkeypatch.setenv("RUNTIME_DIRECTORY", str(runtime))
        monkeypatch.setattr(address, "SERVICE_DIRECTORY", runtime)
        monkeypatch.setattr(address, "OBSERVERS_DIRECTORY", watching)
        daemon = Daemon(runtime)
        if os.getuid() == 0:
            for socket in runtime.glob("mastd.*"):
                os.chown(socket, -1, OPERATORS)
        yield daemon
        daemon.close()


def as_somebody(groups: list[int], act: Callable[[], object]) -> object:
    """Return what a function returns in a process of another user with these groups."""
    ours, theirs = multiprocessing.Pipe()

    def run(answer: Connection) -> None:
        os.setgroups(groups)
        os.setresgid(SOMEBODY.pw_gid, SOMEBODY.pw_gid, SOMEBODY.pw_gid)
        os.setresuid(SOMEBODY.pw_uid, SOMEBODY.pw_uid, SOMEBODY.pw_uid)
        os.environ.pop("RUNTIME_DIRECTORY", None)
        os.environ.pop("XDG_RUNTIME_DIR", None)
        try:
            answer.send(act())
        except UsageError as error:
            answer.send(str(error))

    process = multiprocessing.get_context("fork").Process(target=run, args=(theirs,))
    process.start()
    theirs.close()
    try:
        return ours.recv()
    finally:
        process.join()


def watch_and_stop(place: str | None) -> list[object]:
    """Return who one is at a socket that an engineer has asked for, and what one may there."""
    with OperatorClient(place, "the boss") as client:
        arm, stop = client.command("arm"), client.command("stop")
        state = next(client.watch())["state"]
        return [client.welcome.role, client.welcome.operator, arm.accepted, arm.reason, stop.accepted, state]


def test_at_the_observers_socket_everybody_only_watches_and_stops(service: Daemon) -> None:
    place = observers_address(service.handle.address)
    role, operator, armed, reason, stopped, state = watch_and_stop(place)
    assert (role, armed, stopped, state) == ("observer", False, True, "READY")
    assert str(operator).endswith("/the boss")
    assert reason == f"arm is refused: {operator} is an observer"


@as_root
def test_a_member_of_the_group_operates_under_their_own_name(service: Daemon) -> None:
    place = service.handle.address

    def take_control() -> object:
        with OperatorClient(place, "anna") as client:
            return client.welcome.role, client.welcome.operator, client.command("arm").accepted

    assert as_somebody([OPERATORS], take_control) == ("engineer", f"{SOMEBODY.pw_name}/anna", True)
    with service.client("anna") as anna:
        refused = anna.command("start")
        assert f"{SOMEBODY.pw_name}/anna has control" in refused.reason


@as_root
def test_an_observer_is_led_to_the_observers_socket_and_reaches_no_other(service: Daemon) -> None:
    place = service.handle.address

    def found() -> object:
        return daemon_address(), watch_and_stop(None)[:2]

    there = as_somebody([OBSERVERS], found)
    assert there == (observers_address(place), ["observer", f"{SOMEBODY.pw_name}/the boss"])
    refused = as_somebody([OBSERVERS], lambda: watch_and_stop(place))
    assert "no permission" in str(refused) or "no daemon answers" in str(refused)
    assert "you are not in group" in str(as_somebody([], daemon_address))


@pytest.fixture
def protected() -> Iterator[None]:
    """This process has the OOM protection of a service."""
    file = Path("/proc/self/oom_score_adj")
    before = file.read_text()
    try:
        file.write_text("-900")
    except OSError:
        pytest.skip("only a privileged process can be protected")
    yield
    file.write_text(before)


def test_a_gateway_does_not_keep_the_daemons_oom_protection(protected: None, service: Daemon) -> None:
    adjustment = Path(f"/proc/{service.handle.process_id}/oom_score_adj")
    assert int(adjustment.read_text()) == 0
