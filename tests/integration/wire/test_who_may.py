"""Who may do what over the network: each who may not is refused, told apart, counted and logged."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mastd.errors import UsageError
from mastd.wire.access.keys import KeyRing
from mastd.wire.access.roles import ROLES
from mastd.wire.operators.client import ClientKeys, OperatorClient
from mastd.wire.operators.messages import Inputs, pack_drive, read_status
from tests.support.journal import Journal, journal
from tests.support.lab import PATIENCE, ROOT, Lab, replaced
from tests.support.wire.operators import Daemon, about, free_port, settings, wait_for

pytestmark = pytest.mark.real_time

SHORT_S = 0.6
"""Patience with a daemon that does not answer; long enough for several handshakes."""


class Hall:
    """A gateway that serves the network, its journal, and keys for one client in each role."""

    def __init__(self, directory: Path, found: Journal) -> None:
        self.journal = found
        self.ring = KeyRing(directory / "keys")
        self.server = self.ring.make_server()
        for role in ROLES:
            self.ring.new(f"the-{role}", role)
        self.address = f"tcp://127.0.0.1:{free_port(3)}"
        self.daemon = Daemon(
            directory,
            limits=settings(address=self.address),
            keys=str(self.ring.directory),
            loader=("true",),
            description=about(),
        )

    def keys(self, name: str) -> ClientKeys:
        """Return the keys of a client, read before they might be revoked."""
        return ClientKeys(self.ring.directory / "private" / f"{name}.key_secret", self.server)

    def join(self, name: str, **more: Any) -> OperatorClient:
        """Return a session under a key."""
        return OperatorClient(self.address, "somebody", keys=self.keys(name), **more)

    def counted(self) -> dict[str, int]:
        """Return the gateway's counters."""
        with self.daemon.client("a look") as client:
            counters: dict[str, int] = client.status()["counters"]
            return counters

    def entry(self, what: str, **fields: str) -> dict[str, str]:
        """Return the first entry of the journal with these fields."""
        return self.journal.until(lambda found: fields.items() <= found.items(), what)

    def entries(self, **fields: str) -> list[dict[str, str]]:
        return [found for found in list(self.journal.entries) if fields.items() <= found.items()]


@pytest.fixture
def hall(tmp_path: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hall]:
    with journal(runtime / "journal") as found:
        status = os.fstat(2)
        monkeypatch.setenv("JOURNAL_STREAM", f"{status.st_dev}:{status.st_ino}")
        monkeypatch.setenv("MASTD_JOURNAL", str(found.path))
        hall = Hall(tmp_path, found)
        yield hall
        hall.daemon.close()


def refused(hall: Hall, keys: ClientKeys | None) -> None:
    with pytest.raises(UsageError, match="no daemon answers"):
        OperatorClient(hall.address, keys=keys, patience_s=SHORT_S)


def test_who_is_not_let_in_is_told_apart_counted_and_logged(hall: Hall, tmp_path: Path) -> None:
    others = KeyRing(tmp_path / "others")
    other_server = others.make_server()
    others.new("mallory", "engineer")
    secrets = [path.read_text() for path in tmp_path.rglob("*.key_secret")]
    revoked = tmp_path / "kept.key_secret"
    revoked.write_text(hall.keys("the-operator").own.read_text())
    hall.ring.revoke("the-operator")
    unknown = ClientKeys(others.directory / "private" / "mallory.key_secret", hall.server)
    cases: tuple[tuple[str, str, ClientKeys | None], ...] = (
        ("no_key", "unauthenticated", None),
        ("other_server", "unauthenticated", replace(hall.keys("the-engineer"), server=other_server)),
        ("unknown_key", "unknown_keys", unknown),
        ("revoked_key", "revoked", ClientKeys(revoked, hall.server)),
    )
    for cause, counter, keys in cases:
        before = hall.counted()
        refused(hall, keys)
        entry = hall.entry(cause, MASTD_CAUSE=cause, PRIORITY="4")
        assert entry["MESSAGE"].startswith("connection refused")
        after = hall.counted()
        assert after[counter] > before[counter], cause
        for name, most in (("unauthenticated", 1), ("unknown_keys", 0), ("revoked", 0)):
            # A client that leaves in the middle of a handshake has not shown a key either.
            assert name == counter or after[name] <= before[name] + most, f"{cause} is not {name}"
        # It has come back several times a second, and is told once.
        assert len(hall.entries(MASTD_CAUSE=cause)) == 1
    assert hall.entry("the name", MASTD_CAUSE="revoked_key")["MASTD_OPERATOR"] == "the-operator"
    assert hall.entry("the peer", MASTD_CAUSE="unknown_key")["MASTD_PEER"] == "127.0.0.1"
    told = json.dumps(hall.journal.entries)
    for text in secrets:
        secret = text.partition('secret-key = "')[2].partition('"')[0]
        assert len(secret) == 40
        assert json.dumps(secret)[1:-1] not in told


def test_a_revoked_client_is_heard_no_more_and_sees_nothing_more(hall: Hall) -> None:
    with hall.join("the-operator") as gone, hall.join("the-observer") as stays:
        assert gone.command("arm").accepted
        seen, still = gone._subscriber(), stays._subscriber()
        for subscriber in (seen, still):
            assert subscriber.poll(5000)
        taken = len(hall.daemon.loop.taken)
        hall.ring.revoke("the-operator")
        for verb in ("start", "stop"):
            with pytest.raises(UsageError, match="does not answer"):
                gone.command(verb, timeout_s=0.2)
        assert hall.daemon.loop.taken[taken:] == []
        entry = hall.entry("what was dropped", MASTD_CAUSE="revoked_message")
        assert (entry["MASTD_OPERATOR"], entry["MASTD_PEER"]) == ("the-operator", "127.0.0.1")
        assert hall.counted()["revoked"] >= 2
        hall.entry("the subscription knocks again", MASTD_CAUSE="revoked_key")
        newest = -1
        while seen.poll(0):
            newest = read_status(seen.recv())["number"]

        def passed() -> bool:
            return bool(read_status(still.recv())["number"] > newest + 20)

        wait_for(passed, "who has a key sees the status again")
        assert not seen.poll(0), "who has none does not"
        assert stays.command("stop").accepted
        for subscriber in (seen, still):
            subscriber.close()


def test_keys_change_under_a_running_daemon(hall: Hall) -> None:
    def keys(*words: str) -> Any:
        done = subprocess.run(
            [sys.executable, "-m", "mastd", "keys", *words, "--dir", str(hall.ring.directory), "--json"],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            timeout=PATIENCE,
        )
        return json.loads(done.stdout)

    secret = Path(keys("new", "anna", "--role", "rig")["secret_key"])
    before = ClientKeys(secret.rename(secret.with_name("kept.key_secret")), hall.server)
    with OperatorClient(hall.address, keys=before) as anna:
        assert (anna.welcome.operator, anna.welcome.role) == ("anna", "rig")
    keys("revoke", "anna")
    refused(hall, before)
    # Again under the same name, within one tick of the file system's clock.
    hall.ring.new("anna", "engineer")
    hall.ring.revoke("anna")
    hall.ring.new("anna", "observer")
    with hall.join("anna") as anna:
        assert anna.welcome.role == "observer"
    refused(hall, before)


def test_what_a_role_does_not_permit_is_refused_and_logged(hall: Hall) -> None:
    beyond = {"observer": "arm", "rig": "arm", "operator": "reload"}
    for role, verb in beyond.items():
        with hall.join(f"the-{role}") as client:
            assert client.welcome.role == role
            for _ in range(3):
                answer = client.command(verb)
                assert answer.reason == f"{verb} is refused: the-{role} is {_called(role)}"
            entry = hall.entry(verb, MASTD_ROLE=role, MASTD_VERB=verb)
            assert (entry["MASTD_OPERATOR"], entry["PRIORITY"]) == (f"the-{role}", "5")
            assert len(hall.entries(MASTD_ROLE=role)) == 1, "the others are counted"
            assert client.command("stop").accepted
    assert hall.counted()["not_allowed"] == 9
    assert [verb.name for verb, _ in hall.daemon.loop.taken] == ["STOP"] * 3


def test_an_observer_does_not_drive_and_a_rig_does_without_the_lease(hall: Hall) -> None:
    with hall.join("the-operator") as operator, hall.join("the-rig") as rig:
        assert operator.command("arm").accepted
        rig._socket.send(pack_drive(rig.welcome.session, 1, Inputs(throttle=0.5)))
        (driver,) = rig.status()["rigs"]
        assert driver["operator"] == "the-rig"
        assert rig.status()["lease"]["holder"] == "the-operator"
        with hall.join("the-observer") as observer:
            observer._socket.send(pack_drive(observer.welcome.session, 1, Inputs(throttle=1.0)))
            hall.entry("the attempt", MASTD_ROLE="observer", MASTD_VERB="drive")
        assert hall.counted()["driven"] == 1


def test_who_has_commanded_stands_in_the_log(hall: Hall) -> None:
    with hall.join("the-operator") as operator:
        operator.command("arm")
        entry = hall.entry("arm", MASTD_VERB="arm", PRIORITY="6")
        assert (entry["MASTD_OPERATOR"], entry["MASTD_LEASE"]) == ("the-operator", "the-operator")
        assert entry["MESSAGE"] == "arm by the-operator: accepted, lease: the-operator"
        operator.command("hold")
        operator.describe()
        operator.command("release")
        entry = hall.entry("release", MASTD_VERB="release")
        assert entry["MESSAGE"] == "release by the-operator: accepted, lease: free"
        with hall.daemon.client("bert") as bert:
            bert.command("stop")
        hall.entry("stop", MASTD_VERB="stop", MASTD_OPERATOR="bert")
    assert {found["MASTD_VERB"] for found in hall.journal.entries} == {"arm", "release", "stop"}


def test_a_console_with_a_key_acts_under_its_name(hall: Hall, runtime: Path) -> None:
    pytest.importorskip("starlette", reason="the console's packages are not installed")
    connect = pytest.importorskip("websockets.sync.client", reason="websockets is not installed").connect
    from http.client import HTTPConnection
    from urllib.parse import urlencode

    own, server = hall.keys("the-rig").own, hall.server
    command = ["console", "--listen", "127.0.0.1:0", "--address", hall.address]
    with subprocess.Popen(
        [sys.executable, "-m", "mastd", *command, "--key", str(own), "--server-key", str(server)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "XDG_RUNTIME_DIR": str(runtime)},
    ) as console:
        assert console.stdout is not None
        assert select.select([console.stdout], [], [], 60.0)[0], "the console says nothing"
        lines = [console.stdout.readline() for _ in range(2)]
        port = int(lines[0].rstrip("/\n").rpartition(":")[2])
        token = Path(lines[1].partition(" in ")[2].strip()).read_text().strip()
        origin = f"http://127.0.0.1:{port}"
        with contextlib.closing(HTTPConnection("127.0.0.1", port, timeout=30)) as page:
            page.request("POST", "/login", urlencode({"token": token}), {"Origin": origin})
            cookie = str(page.getresponse().getheader("Set-Cookie")).partition(";")[0]
        with connect(
            f"ws://127.0.0.1:{port}/ws", additional_headers={"Cookie": cookie}, origin=origin
        ) as browser:
            hello = _message(browser, "hello")
            assert (hello["operator"], hello["role"]) == ("the-rig", "observer"), "it may not command"
            for number, (verb, accepted) in enumerate((("arm", False), ("stop", True))):
                browser.send(json.dumps({"kind": "command", "id": number, "verb": verb, "arguments": {}}))
                answer = _message(browser, "answer")
                assert answer["accepted"] is accepted, answer
        console.terminate()
        assert console.wait(PATIENCE) == 0
    hall.entry("the attempt", MASTD_OPERATOR="the-rig", MASTD_VERB="arm", MASTD_ROLE="rig")


def test_a_public_address_without_keys_is_refused_at_the_start(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(lab.directory))
    address = f"tcp://0.0.0.0:{free_port()}"
    done = lab.run("serve", "--table", lab.table, "--config", public(lab, address))
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert f"operators' address '{address}': a network address needs keys: " in line
    assert "`mastd keys server`" in line


@pytest.mark.evidence
def test_a_public_address_without_keys_is_refused_by_a_reload(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(lab.directory))
    service = lab.start("serve", "--table", lab.table, "--config", lab.config)
    try:
        assert lab.run("ctl", "status", "--wait", "--timeout", "90 s", timeout=120.0).returncode == 0
        address = f"tcp://0.0.0.0:{free_port()}"
        public(lab, address).replace(lab.config)
        done = lab.run("ctl", "reload", timeout=120.0)
        assert (done.returncode, done.stdout) == (6, "")
        (line,) = done.stderr.splitlines()
        assert f"operators' address '{address}': a network address needs keys: " in line
        assert "the previous settings remain in force" in line
        assert lab.run("ctl", "status").stdout.startswith("mastd service"), "it serves on"
    finally:
        service.terminate()
        service.communicate(timeout=PATIENCE)


def public(lab: Lab, address: str) -> Path:
    text = lab.config.read_text(encoding="utf-8")
    return lab.profile(replaced(text, r"^  address: null", f"  address: {address}"), "public.yaml")


def _called(role: str) -> str:
    return f"a {role}" if role == "rig" else f"an {role}"


def _message(browser: Any, kind: str) -> dict[str, Any]:
    while True:
        text = browser.recv(30)
        message: dict[str, Any] = json.loads(text) if isinstance(text, str) else {}
        if message.get("kind") == kind:
            return message
