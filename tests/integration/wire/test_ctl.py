"""`mastd ctl` and `mastd keys` as processes, with a real gateway before a loop that only answers."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from mastd.commands.ctl import verbs
from mastd.errors import UsageError
from mastd.safety.states import State
from mastd.wire.access.keys import KeyRing
from mastd.wire.access.sessions import PeerIdentity
from mastd.wire.access.verbs import Verb
from mastd.wire.operators.client import ClientKeys, OperatorClient
from mastd.wire.operators.gateway import GatewayHandle
from tests.support.lab import PATIENCE, ROOT
from tests.support.wire.operators import StandInLoop, job, wait_for

pytestmark = pytest.mark.real_time


class Table:
    """A stand-in daemon in a runtime directory of its own, and the commands that speak with it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.environment = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_RUNTIME_DIR": str(directory)}
        self.environment.pop("RUNTIME_DIRECTORY", None)
        self.loop = StandInLoop()
        self.loop.show()
        self.handle = GatewayHandle.start(
            job(directory), self.loop.request, self.loop.status, self.loop.driver
        )
        self.loop.run()

    def close(self) -> None:
        self.loop.pause()
        self.handle.close()

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start a command."""
        return subprocess.Popen(
            [sys.executable, "-m", "mastd", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.directory,
            env=self.environment,
        )

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        """Run a command; return exit code, output and messages."""
        process = self.start(*arguments)
        output, messages = process.communicate(timeout=PATIENCE)
        return process.returncode, output, messages


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Table]:
    table = Table(tmp_path_factory.mktemp("ctl"))
    yield table
    table.close()


def test_a_day_at_the_table(table: Table) -> None:
    table.loop.reset()
    code, output, _ = table("ctl", "arm", "--as", "anna", "--wait")
    assert (code, output) == (0, "arm: accepted; ARMED\n")
    code, output, messages = table("ctl", "hold", "--as", "anna")
    assert (code, output) == (6, "")
    assert messages == "hold is refused in ARMED; needed: a profile must be running\n"
    code, output, _ = table("ctl", "start", "--as", "bert", "--json")
    document = json.loads(output)
    assert code == 6
    assert set(document) == {"verb", "accepted", "reason", "needed", "state", "cause", "lease"}
    assert (document["accepted"], document["lease"]) == (False, "anna")
    code, output, _ = table("ctl", "stop", "--as", "bert", "--wait")
    assert (code, output) == (0, "stop: accepted; READY\n")
    table.loop.fault, table.loop.cause = 10, "following error: actuator 3, 12.0 mm"
    code, output, _ = table("ctl", "status")
    assert code == 0
    for words in (
        "READY since",
        "following error: actuator 3, 12.0 mm (FOLLOWING_ERROR)",
        "what to do   An actuator does not follow",
        "anna, for another",
        "span         100.0%",
    ):
        assert words in output
    assert json.loads(table("ctl", "status", "--json")[1])["state"] == "READY"
    assert table("ctl", "release", "--as", "anna")[0] == 0


def test_a_fault_ends_the_wait(table: Table) -> None:
    table.loop.reset()
    waiting = table.start("ctl", "raise", "--wait", "--as", "anna")
    wait_for(lambda: table.loop.state is State.RAISING, "the table rises")
    table.loop.fault, table.loop.cause, table.loop.state = 9, "velocity limit: actuator 1", State.FAULT
    output, _ = waiting.communicate(timeout=PATIENCE)
    assert waiting.returncode == 3
    assert output == "raise: ended by a fault; FAULT (velocity limit: actuator 1)\n"


@pytest.mark.parametrize(("verb", "state"), [("resume", State.HOLD), ("start", State.ARMED)])
def test_a_profile_that_is_held_by_a_fault_ends_the_wait(table: Table, verb: str, state: State) -> None:
    table.loop.reset()
    table.loop.fault, table.loop.cause, table.loop.holds = 10, "following error: actuator 3", True
    table.loop.state = state
    code, output, _ = table("ctl", verb, "--wait", "--timeout", "5 s", "--as", "anna")
    assert (code, output) == (3, f"{verb}: ended by a fault; HOLD (following error: actuator 3)\n")


def test_lowering_from_a_fault_that_stays_latched_is_a_success(table: Table) -> None:
    for latched, cause, code, words in (
        (
            True,
            "velocity limit: actuator 1",
            0,
            "lower: accepted; FAULT (velocity limit: actuator 1); the table is down",
        ),
        (True, "supply lost", 3, "lower: ended by a fault; FAULT (supply lost)"),
        (False, "supply lost", 3, "lower: ended by a fault; FAULT (supply lost)"),
    ):
        table.loop.reset()
        if latched:
            table.loop.fault, table.loop.cause, table.loop.state = (
                9,
                "velocity limit: actuator 1",
                State.FAULT,
            )
        waiting = table.start("ctl", "lower", "--wait", "--as", "anna")
        wait_for(lambda: table.loop.state is State.LOWERING, "the table is lowered")
        assert json.loads(table("ctl", "status", "--json")[1])["state"] == "LOWERING"
        table.loop.fault, table.loop.cause, table.loop.state = 9, cause, State.FAULT
        output, _ = waiting.communicate(timeout=PATIENCE)
        assert (waiting.returncode, output[: len(words)]) == (code, words)


@pytest.mark.parametrize(
    "words", [("now",), ("--quickly",), ("--link", "5", "--", "-3mm"), ("--timeout", "soon"), ("--wait", "x")]
)
def test_a_stop_stops_whatever_is_written_behind_it(table: Table, words: tuple[str, ...]) -> None:
    table.loop.reset()
    code, output, _ = table("ctl", "stop", *words, "--as", "anna")
    assert (code, output) == (0, "stop: accepted; READY\n")
    assert [verb for verb, _ in table.loop.taken] == [Verb.STOP]


def test_a_refusal_by_the_protocol_names_the_verb_once(table: Table) -> None:
    table.loop.reset()
    code, _, messages = table("ctl", "level", "20000%", "--as", "anna")
    assert code != 0
    assert messages == "level: share: expected float <= 100.0, where 1 is 100%; its arguments are: share\n"
    code, _, messages = table("ctl", "jog", "--link", "0", "5mm", "--as", "anna")
    assert (code, messages) == (6, "jog is refused: there is no actuator 0, actuators are 1 to 7\n")
    code, _, messages = table("ctl", "status", "--as", "an\x1b[2Jna")
    assert code != 0
    assert "operator must be printable" in messages


def test_a_daemon_that_is_there_but_silent_is_named(tmp_path: Path) -> None:
    address = f"ipc://{tmp_path}/mastd.operators"
    with open(tmp_path / "daemon.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write(f"{os.getpid()} service")
        lock.flush()
        with pytest.raises(UsageError) as silent:
            OperatorClient(address)
        (tmp_path / "mastd.operators").touch()  # what a killed gateway leaves behind
        with pytest.raises(UsageError) as dead:
            OperatorClient(address, patience_s=0.1)
    for raised in (silent, dead):
        for words in (f"process id {os.getpid()}", "e-stop", f"kill -TERM {os.getpid()}", "lowers the table"):
            assert words in str(raised.value)
        assert "mastd serve" not in str(raised.value)
    with pytest.raises(UsageError, match="start `mastd serve`"):  # the lock is not held any more
        OperatorClient(address, patience_s=0.1)


def test_a_silent_gateway_is_named_in_the_middle_of_a_session(tmp_path: Path) -> None:
    table = Table(tmp_path)
    try:
        with open(tmp_path / "daemon.lock", "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            lock.write(f"{os.getpid()} service")
            lock.flush()
            with OperatorClient(f"ipc://{tmp_path}/mastd.operators") as client:
                os.kill(table.handle.process_id, signal.SIGKILL)
                with pytest.raises(UsageError, match=f"kill -TERM {os.getpid()}"):
                    client.command("hold", timeout_s=0.3)
                with pytest.raises(UsageError, match=f"kill -TERM {os.getpid()}"):
                    next(client.watch())
    finally:
        table.close()


def test_over_the_network_keys_may_be_the_cause() -> None:
    with pytest.raises(UsageError, match=r"no daemon answers at tcp://127.0.0.1:9: .*key"):
        OperatorClient("tcp://127.0.0.1:9", patience_s=0.1)


def test_a_missing_key_says_how_it_is_made(tmp_path: Path) -> None:
    KeyRing(tmp_path).make_server()
    own = KeyRing(tmp_path).new("anna")
    with pytest.raises(UsageError, match=r"no key there; .*`mastd keys server`"):
        OperatorClient("tcp://127.0.0.1:9", keys=ClientKeys(own, tmp_path / "none.key"))
    with pytest.raises(UsageError, match=r"no key there; .*`mastd keys new NAME`"):
        OperatorClient("tcp://127.0.0.1:9", keys=ClientKeys(tmp_path / "none", tmp_path / "server.key"))


def test_watch_prints_a_line_for_every_change_until_interrupted(table: Table) -> None:
    table.loop.reset()
    process = table.start("ctl", "watch")
    assert process.stdout is not None
    assert process.stdout.readline().startswith("READY ")
    table.loop.fault, table.loop.cause = 9, "velocity limit: actuator 1"
    while "velocity limit" not in process.stdout.readline():
        pass
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE) == 0


def test_without_a_daemon_it_is_usage(table: Table, tmp_path: Path) -> None:
    code, output, messages = table("ctl", "status", "--address", f"ipc://{tmp_path}/mastd.operators")
    assert (code, output) == (2, "")
    assert "start `mastd serve` or `mastd run`" in messages


def parsed(*words: str) -> dict[str, Any]:
    """Return the arguments on the wire for a command line."""
    from mastd.cli import build_parser

    return verbs.wire_arguments(build_parser().parse_args(["ctl", *words]))


@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        (("jog", "heave", "5mm"), {"axis": "heave", "amount": 0.005}),
        (("jog", "heave", "-5mm"), {"axis": "heave", "amount": -0.005}),
        (("jog", "roll", "-.5deg"), {"axis": "roll", "amount": pytest.approx(-0.00872664626)}),
        (("jog", "--link", "5", "+10mm"), {"link": 5, "amount": 0.01}),
        (("jog", "--link", "5", "-10mm"), {"link": 5, "amount": -0.01}),
        (("jog", "-10mm", "--link", "5"), {"link": 5, "amount": -0.01}),
        (("level", "30%"), {"share": 0.3}),
        (("level", "30 %"), {"share": 0.3}),
        (("level", "0%"), {"share": 0.0}),
        (("load", "sine"), {"profile": "sine"}),
        (("load", "profiles/a.yaml"), {"profile": os.path.abspath("profiles/a.yaml")}),
        (("raise",), {}),
    ],
)
def test_command_lines_become_arguments(words: tuple[str, ...], arguments: dict[str, object]) -> None:
    assert parsed(*words) == arguments


@pytest.mark.parametrize(
    ("words", "match"),
    [
        (("jog", "heave"), "expected an axis and an amount"),
        (("jog", "up", "5mm"), "axis 'up' is unknown"),
        (("jog", "heave", "5"), "5 has no unit"),
        (("jog", "roll", "5mm"), "'mm' is a unit of length"),
        (("jog", "--link", "5", "heave", "5mm"), "expected one amount"),
        (("level", "30mm"), "'mm' is a unit of length"),
        (("level", "30"), "^level: 30 has no unit, a ratio needs one: 30%$"),
        (("level", "0.3"), "^level: 0.3 has no unit, a ratio needs one: 30% or 0.3%$"),
        (("level", "-1%"), "^level: -1% is below 0%; 100% is the profile as written$"),
        (("level", "-1"), "^level: -1 is below 0%"),
        (("load", os.path.dirname(__file__)), "^load: .* is a directory, a profile is a file$"),
        (("load", "."), "^load: . is a directory, a profile is a file$"),
    ],
)
def test_wrong_command_lines_say_what_would_be_right(words: tuple[str, ...], match: str) -> None:
    with pytest.raises(UsageError, match=match):
        parsed(*words)


def test_keys_are_made_listed_and_revoked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from mastd.cli import main

    directory = tmp_path / "keys"

    def keys(*words: str) -> dict[str, Any]:
        assert main(["keys", *words, "--dir", str(directory), "--json"]) == 0
        document: dict[str, Any] = json.loads(capsys.readouterr().out)
        return document

    def roles() -> dict[str, str]:
        return {key["name"]: key["role"] for key in keys("list")["keys"]}

    assert keys() == {"directory": str(directory), "server": False, "keys": []}
    assert keys("server") == {"server_key": str(directory / "server.key")}
    secret = Path(keys("new", "anna")["secret_key"])
    keys("new", "otto", "--role", "observer")
    for path in (secret, directory / "server.key_secret"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for path in (directory, secret.parent):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert roles() == {"anna": "operator", "otto": "observer"}
    assert main(["keys", "list", "--dir", str(directory)]) == 0
    heading, *lines = capsys.readouterr().out.splitlines()
    assert heading == f"keys in {directory}"
    made = datetime.fromisoformat(keys("list")["keys"][0]["made"])
    assert abs((datetime.now(UTC) - made).total_seconds()) < 60.0
    assert [line.split() for line in lines] == [
        ["anna", "operator", made.strftime("%Y-%m-%dT%H:%M:%S%z")],
        ["otto", "observer", lines[1].split()[-1]],
    ]
    assert sorted(KeyRing(directory).identities().values(), key=lambda guest: guest.name) == [
        PeerIdentity("anna", "operator"),
        PeerIdentity("otto", "observer"),
    ]
    assert keys("revoke", "anna") == {"revoked": "anna"}
    assert roles() == {"otto": "observer"}
    assert not secret.exists()
    for words, message in (
        (("new", "otto"), "otto is among the observers already"),
        (("new", "../otto"), "cannot be the name of a key"),
        (("revoke", "nobody"), "'nobody' has no key"),
        (("revoke", "otto", "--role", "rig"), "--role goes with `mastd keys new NAME`"),
        (("server",), "already exists"),
        (("new",), "expected a NAME"),
    ):
        assert main(["keys", *words, "--dir", str(directory)]) == 2
        assert message in capsys.readouterr().err


def test_a_jog_by_the_command_reaches_the_loop(table: Table) -> None:
    table.loop.reset()
    code, output, messages = table("ctl", "jog", "--link", "5", "-10mm", "--as", "anna", "--wait")
    assert (code, messages) == (0, "")
    assert output == "jog: accepted; READY\n"
    assert table.loop.taken == [(Verb.JOG, (1.0, 4.0, -0.01, 0.0))]
