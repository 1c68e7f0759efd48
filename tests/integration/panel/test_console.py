"""`mastd console` as a process before a real daemon, with WebSocket clients as browsers."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import random
import re
import select
import signal
import socket
import ssl
import struct
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
from numpy.typing import NDArray
from websockets.asyncio.client import connect as connect_without_threads
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

from mastd.arrays import FloatArray
from mastd.errors import UsageError
from mastd.wire.access.verbs import console_table
from mastd.wire.operators.client import OperatorClient
from tests.support.lab import SHAKING, Lab, quick_lab, replaced

pytestmark = pytest.mark.real_time

WAIT_S = 120.0
"""Longest wait for anything; the first start compiles the kernels."""


class Daemon:
    """A running service and an operator of it beside the console."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.process = lab.start("serve", "--table", lab.table, "--config", patient(lab))
        self.address = f"ipc://{lab.environment['XDG_RUNTIME_DIR']}/mastd.operators"

    def join(self) -> OperatorClient:
        """Return a session as soon as the daemon answers and runs."""
        deadline = time.monotonic() + WAIT_S
        while time.monotonic() < deadline and self.process.poll() is None:
            with contextlib.suppress(UsageError):
                client = OperatorClient(self.address, "beside")
                next(now for now in client.watch() if now["loop"] == "running")
                return client
            threading.Event().wait(0.05)  # another process's socket can only be looked for
        self.process.kill()
        raise AssertionError(f"the service did not come up: {self.process.communicate()[1]}")

    def kill(self) -> None:
        """End it at once; what belongs to it ends by itself when it notices."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdout, self.process.stderr):
            assert pipe is not None
            pipe.close()


def patient(lab: Lab) -> Path:
    """Write settings of a daemon that forgives a machine on which so much else runs."""
    text = lab.config.read_text(encoding="utf-8")
    for before, after in (
        ("sample_stale: 150 ms", "sample_stale: 1.5 s"),
        ("maximum_missed: 150", "maximum_missed: 1500"),
        ("answer: 1 s", "answer: 10 s"),
    ):
        text = replaced(text, before, after)
    return lab.profile(text, "patient.yaml")


class Console:
    """A running console: its address, its tokens, and browsers that have logged in."""

    def __init__(self, lab: Lab, *options: object) -> None:
        self.lab = lab
        self.profiles = lab.directory / "profiles"
        self.profiles.mkdir(exist_ok=True)
        self.process = lab.start("console", "--listen", "127.0.0.1:0", "--profiles", self.profiles, *options)

    def read(self) -> None:
        """Read what it says when it is up."""
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], WAIT_S)
        assert ready, "the console says nothing"
        lines = [self.process.stdout.readline() for _ in range(4)]
        self.said = "".join(lines)
        match = re.match(r"console at (https?)://127\.0\.0\.1:(\d+)/\n", lines[0])
        assert match is not None, self.process.communicate()
        self.scheme, self.port = match[1], int(match[2])
        self.files = [Path(line.partition(" in ")[2].strip()) for line in lines[1:3]]
        self.operator, self.observer = (path.read_text().strip() for path in self.files)

    @property
    def origin(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"

    def ask(
        self, method: str, path: str, body: str | None = None, source: str = "127.0.0.1", **headers: str
    ) -> tuple[int, http.client.HTTPMessage, str]:
        """Send one request as the page would, or with other headers; return status, headers and text."""
        given = {"Origin": self.origin, **{key.replace("_", "-"): value for key, value in headers.items()}}
        if self.scheme == "https":
            trusting = ssl._create_unverified_context()
            connection: http.client.HTTPConnection = http.client.HTTPSConnection(
                "127.0.0.1", self.port, timeout=WAIT_S, context=trusting
            )
        else:
            connection = http.client.HTTPConnection(
                "127.0.0.1", self.port, timeout=WAIT_S, source_address=(source, 0)
            )
        with contextlib.closing(connection):
            connection.request(method, path, body, {key: value for key, value in given.items() if value})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read().decode()

    def log_in(self, token: str, source: str = "127.0.0.1") -> str:
        """Return the cookie of a new session."""
        status, headers, text = self.ask("POST", "/login", urlencode({"token": token}), source)
        assert status == 303, text
        return headers["Set-Cookie"]

    def browser(self, cookie: str, **options: Any) -> Browser:
        """Return a browser on its socket."""
        return Browser(self, cookie, **options)

    def end(self) -> int:
        """End it as the user would, and return its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(WAIT_S)


class Browser:
    """A page's socket: what comes is kept by kind."""

    def __init__(self, console: Console, cookie: str, **options: Any) -> None:
        self._opening = connect(
            f"ws://127.0.0.1:{console.port}/ws",
            additional_headers={"Cookie": cookie.partition(";")[0]},
            **{"origin": console.origin, "compression": None, "max_queue": None, **options},
        )
        self.socket: ClientConnection = self._opening.__enter__()
        self._number = 0

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self._opening.__exit__(None, None, None)

    def say(self, kind: str, **entries: object) -> None:
        self.socket.send(json.dumps({"kind": kind, **entries}))

    def next(self, kind: str, wanted: Callable[[dict[str, Any]], bool] = lambda _: True) -> dict[str, Any]:
        """Return the next message of a kind that is wanted, passing over all others."""
        deadline = time.monotonic() + WAIT_S
        last = None
        while time.monotonic() < deadline:
            message = self.socket.recv(WAIT_S)
            if isinstance(message, str):
                found: dict[str, Any] = json.loads(message)
                if found["kind"] == kind:
                    if wanted(found):
                        return found
                    last = found
        raise AssertionError(f"no such {kind}; the last was {last}")

    def status(self, wanted: Callable[[dict[str, Any]], bool] = lambda _: True) -> dict[str, Any]:
        shown: dict[str, Any] = self.next("status", lambda message: wanted(message["status"]))["status"]
        return shown

    def state(self, name: str) -> dict[str, Any]:
        return self.status(lambda now: bool(now["state"] == name))

    def traces(self) -> tuple[float, FloatArray, NDArray[np.float32]]:
        """Return lost, times (n,) and values (m, n) of the next traces."""
        while True:
            message = self.socket.recv(WAIT_S)
            if isinstance(message, bytes):
                n, m, lost = struct.unpack_from("<IId", message)
                values = np.frombuffer(message, "<f4", n * m, 16 + 8 * n).reshape(m, n)
                return lost, np.frombuffer(message, "<f8", n, 16), values

    def command(self, verb: str, **arguments: object) -> dict[str, Any]:
        """Send a command and return its answer."""
        self._number += 1
        number = self._number
        self.say("command", id=number, verb=verb, arguments=arguments)
        return self.next("answer", lambda answer: bool(answer["id"] == number))

    def accepted(self, verb: str, **arguments: object) -> None:
        answer = self.command(verb, **arguments)
        assert answer["accepted"], str(answer)

    def closed(self) -> int:
        """Return the code with which the console closes the socket, 0 if it gives none, or no reason."""
        while True:
            try:
                self.socket.recv(WAIT_S)
            except ConnectionClosed as end:
                return end.rcvd.code if end.rcvd is not None and end.rcvd.reason else 0


class Telemetry:
    """The daemon's own telemetry, read in a thread meanwhile."""

    def __init__(self, address: str) -> None:
        self.frames: dict[int, FloatArray] = {}
        self.newest = -1
        self._address = address
        self._begun, self._ended = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._read)

    def __enter__(self) -> Telemetry:
        self._thread.start()
        assert self._begun.wait(WAIT_S)
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join(WAIT_S)

    def _read(self) -> None:
        with OperatorClient(self._address, "beside", "observer") as client:
            for telemetry in client.telemetry():
                self._begun.set()
                self.frames.update(zip(telemetry.numbers.tolist(), telemetry.frames, strict=True))
                self.newest = max(self.frames, default=-1)
                if self._ended.is_set():
                    return


class Hall:
    """What all tests of this file share: a daemon, a console, a browser that never reads, a check."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.daemon = Daemon(lab)
        self.console = Console(lab)
        self.secure = Console(lab, *certificate(lab.directory))
        try:
            lab.profile(SHAKING, "profiles/shaking.yaml")
            lab.profile("name: nothing\nsegments: []\n", "profiles/broken.yaml")
            self.console.read()
            self.secure.read()
            self.cookie = self.console.log_in(self.console.operator)
            with self.console.browser(self.cookie) as early:
                self.hello = early.next("hello")
                while self.hello["describe"]["plant"] is None:  # told again as soon as the plant is there
                    self.hello = early.next("hello")
            self.client = self.daemon.join()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        if hasattr(self, "client"):
            self.client.close()
        self.daemon.kill()
        for console in (self.console, self.secure):
            console.process.kill()
            console.process.communicate()


def certificate(directory: Path) -> tuple[object, ...]:
    """Make a certificate; return the options that use it."""
    files = directory / "page.pem", directory / "page.key"
    made = [
        "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
        "-subj", "/CN=console", "-days", "2", "-out", str(files[0]), "-keyout", str(files[1]),
    ]  # fmt: skip
    subprocess.run(made, check=True, capture_output=True)
    return "--certificate", files[0], "--private-key", files[1]


@pytest.fixture(scope="module")
def hall(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hall]:
    with tempfile.TemporaryDirectory(prefix="mastd-test-") as runtime:
        lab = replace(quick_lab(tmp_path_factory.mktemp("console")), runtime=Path(runtime))
        hall = Hall(lab)
        yield hall
        hall.close()


@pytest.fixture(scope="module")
def slow(hall: Hall) -> Iterator[Browser]:
    """A browser that wants many traces and reads nothing, beside all the others from now on."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect(("127.0.0.1", hall.console.port))
    with hall.console.browser(hall.cookie, sock=connection, max_queue=1, ping_interval=None) as browser:
        channels = [channel[0] for channel in hall.hello["describe"]["channels"][:16]]
        browser.say("traces", channels=channels)
        yield browser


def test_the_page_gets_the_table_of_verbs(hall: Hall) -> None:
    status, headers, module = hall.console.ask("GET", "/static/verbs.js")
    assert (status, headers["Content-Type"].partition(";")[0]) == (200, "text/javascript")
    words = module.removeprefix("export const VERBS = ").rstrip(";\n")
    assert json.loads(words) == json.loads(json.dumps(console_table()))


def test_log_in_is_asked_for_and_guarded(hall: Hall) -> None:
    console = hall.console
    assert console.operator not in console.said, "no secret in what may be a log"
    status, headers, page = console.ask("GET", "/")
    assert status == 200
    assert 'name="token"' in page
    assert "default-src 'self'" in headers["Content-Security-Policy"]
    assert (headers["X-Content-Type-Options"], headers["Referrer-Policy"]) == ("nosniff", "no-referrer")
    assert console.ask("GET", "/api/profiles")[0] == 401
    assert console.ask("POST", "/api/check", '{"profile": "sine"}', Content_Type="application/json")[0] == 401
    with pytest.raises(InvalidStatus):
        console.browser("mastd-console=1")
    for _ in range(5):
        status, _, page = console.ask("POST", "/login", "token=wrong", "127.0.0.2")
        assert status == 403
        assert "not the token" in page
    right = urlencode({"token": console.operator})
    assert console.ask("POST", "/login", "token=wrong", "127.0.0.2")[0] == 429, "five tries a minute"
    status, headers, _ = console.ask("POST", "/login", right, "127.0.0.2")
    assert (status, headers["Location"]) == (303, "/")
    assert "HttpOnly" in headers["Set-Cookie"]
    assert "samesite=strict" in headers["Set-Cookie"].lower()
    cookie = headers["Set-Cookie"].partition(";")[0]
    assert 'name="token"' not in console.ask("GET", "/", Cookie=cookie)[2]
    for foreign in ({"Origin": "http://evil.example"}, {"Origin": ""}, {"Host": "evil.example"}):
        assert console.ask("POST", "/login", right, **foreign)[0] == 403
    form = {"Origin": "null", "Sec_Fetch_Site": "same-origin"}
    assert console.ask("POST", "/login", right, **form)[0] == 303, "as browsers send forms without referrer"
    assert console.ask("POST", "/login", right, **{**form, "Sec_Fetch_Site": "cross-site"})[0] == 403
    assert console.ask("GET", "/", Host="evil.example", Cookie=cookie)[0] == 403
    for origin in ("http://evil.example", None):
        with pytest.raises(InvalidStatus):
            console.browser(cookie, origin=origin)
    with console.browser(cookie) as browser:
        browser.next("hello")
        assert console.ask("POST", "/logout", Cookie=cookie)[0] == 303
        assert browser.closed() == 4001
    assert console.ask("GET", "/api/profiles", Cookie=cookie)[0] == 401


def test_with_a_certificate_all_of_it_is_encrypted(hall: Hall) -> None:
    console = hall.secure
    cookie = console.log_in(console.operator)
    assert "Secure" in cookie

    async def watch() -> int:
        opening = connect_without_threads(
            f"wss://127.0.0.1:{console.port}/ws",
            origin=Origin(console.origin),
            additional_headers={"Cookie": cookie.partition(";")[0]},
            ssl=ssl._create_unverified_context(),
        )
        async with opening as browser:
            while json.loads(await browser.recv())["kind"] != "hello":
                pass
            console.process.send_signal(signal.SIGTERM)
            with contextlib.suppress(ConnectionClosed):
                while await browser.recv():
                    pass
            return browser.close_code or 0

    assert asyncio.run(asyncio.wait_for(watch(), WAIT_S)) == 1001
    assert console.process.wait(WAIT_S) == 0


def test_a_browser_sees_what_the_daemon_tells(hall: Hall, slow: Browser) -> None:
    hello = hall.hello
    assert hello["role"] == "operator"
    assert re.fullmatch(r".+@.+/browser-\d+", hello["operator"])
    assert hello["describe"] == json.loads(json.dumps(hall.client.describe()))
    names = [channel[0] for channel in hello["describe"]["channels"]]
    wanted = ["reference.heave", "cycle", "length.1"]
    with hall.console.browser(hall.cookie) as browser:
        shown = browser.status()
        own = hall.client.status()
        assert set(own) <= set(shown)
        assert (shown["pid"], shown["state"]) == (own["pid"], "OFF")
        assert shown["lengths_m"] == pytest.approx(own["lengths_m"], abs=1e-4)
        browser.say("traces", channels=[*wanted, "nonsense"])
        answer = browser.next("traces")
        assert (answer["channels"], answer["refused"]) == (wanted, ["nonsense"])
        with Telemetry(hall.daemon.address) as telemetry:
            times: list[float] = []
            values: list[NDArray[np.float32]] = []
            lost = 0.0
            while not (len(times) > 500 and telemetry.newest * 1e-3 >= times[-1]):
                lost, when, what = browser.traces()
                times.extend(when.tolist())
                values.extend(what.T)
            frames = telemetry.frames
        numbers = np.rint(np.array(times) * 1e3).astype(int)
        assert np.all(np.diff(numbers) >= 1)
        assert np.sum(np.diff(numbers) - 1) <= lost
        both = [(k, number) for k, number in enumerate(numbers) if number in frames]
        assert len(both) > 300
        columns = [names.index(name) for name in wanted]
        for k, number in both:
            assert np.array_equal(values[k], frames[number][columns].astype(np.float32), equal_nan=True)
        browser.say("ping", id=7)
        assert browser.next("pong")["id"] == 7


def test_two_operators_one_observer_and_everybody_stops(hall: Hall, slow: Browser) -> None:
    console = hall.console
    first, second = console.browser(hall.cookie), console.browser(console.log_in(console.operator))
    third = console.browser(console.log_in(console.observer))
    with first, second, third:
        operator = first.next("hello")["operator"]
        hello = third.next("hello")
        assert hello["role"] == "observer"
        first.accepted("load", profile="shaking")
        assert first.status(lambda now: bool(now["profile"]["loaded"]))["profile"]["name"] == "shaking"
        for stranger in ("/etc/passwd", "../shaking", str(hall.lab.table)):
            refused = first.command("load", profile=stranger)
            assert "not in the list" in refused["reason"]
        first.accepted("raise")
        first.state("READY")
        refused = second.command("arm")
        assert not refused["accepted"]
        assert operator in refused["reason"]
        watching = third.command("arm")
        assert not watching["accepted"]
        assert "only watches" in watching["reason"]
        status, _, text = console.ask(
            "POST", "/api/check", '{"profile": "sine"}', Content_Type="application/json",
            Cookie=console.log_in(console.observer).partition(";")[0],
        )  # fmt: skip
        assert (status, "only watches" in text) == (403, True)
        first.accepted("arm")
        first.accepted("start")
        first.status(lambda now: (now["profile"]["time_s"] or 0.0) > 0.3)
        second.say("command", id="now!", verb="stop", more=1)
        assert second.next("answer", lambda answer: bool(answer["verb"] == "stop"))["accepted"]
        first.state("READY")
        # A load takes seconds; the stop of the same browser does not wait behind it.
        first.say("command", id=100, verb="load", arguments={"profile": "first_motion"})
        first.say("command", id=101, verb="stop", arguments={})
        assert [first.next("answer")["id"] for _ in range(2)] == [101, 100]
        third.accepted("stop")
        third.accepted("estop")
        assert first.state("ESTOP")["cause"]["name"] == "ESTOP"


def test_profiles_and_their_check(hall: Hall) -> None:
    cookie = hall.cookie.partition(";")[0]
    status, _, text = hall.console.ask("GET", "/api/profiles", Cookie=cookie)
    listed = {entry["name"]: entry for entry in json.loads(text)}
    assert status == 200
    assert listed["shaking"]["file"] == str(hall.console.profiles / "shaking.yaml")
    assert (listed["shaking"]["title"], listed["shaking"]["duration_s"]) == ("shaking", 8.0)
    assert "segments" in listed["broken"]["problem"]
    assert listed["first_motion"]["problem"] is None, "those that travel with the product"

    def check(name: str, **headers: str) -> Any:
        given = {"Content_Type": "application/json", "Cookie": cookie, **headers}
        return json.loads(hall.console.ask("POST", "/api/check", json.dumps({"profile": name}), **given)[2])

    passed = check("shaking")
    assert passed["ok"] is True
    assert "check OK" in passed["text"]
    assert passed["document"]["duration_s"] == 8.0
    assert passed["document"]["limits"]
    assert "segments" in check("broken")["text"]
    assert "not in the list" in check("/etc/passwd")["text"]
    assert "send JSON" in check("shaking", Content_Type="text/plain")["text"]


def test_nonsense_is_answered_with_a_reason(hall: Hall) -> None:
    chance = random.Random(4)
    with hall.console.browser(hall.cookie) as browser:
        browser.next("hello")
        texts: list[str | bytes] = [
            "",
            "{",
            "[]",
            "null",
            '{"kind": 1}',
            b"\x00\xff",
            "[" * 9000,
            '"\\ud800"',
        ]
        whole = json.dumps({"kind": "command", "id": 5, "verb": "jog", "arguments": {"axis": "x"}})
        for _ in range(80):
            place = chance.randrange(len(whole))
            texts.append(whole[:place] + chance.choice('{}[]",:x0') + whole[place + chance.randrange(3) :])
        for text in texts:
            browser.socket.send(text)
            assert not browser.next("answer")["accepted"], text
        for k in range(400):
            browser.socket.send(f"flood {k}")
        assert browser.closed() == 4003
    with hall.console.browser(hall.cookie) as browser:
        with contextlib.suppress(ConnectionClosed):
            browser.socket.send("x" * 20_000)
        assert browser.closed() == 1009
    with hall.console.browser(hall.cookie) as browser:
        browser.next("hello")


@pytest.mark.evidence
def test_a_browser_that_takes_nothing_holds_up_nobody_and_is_sent_away(hall: Hall, slow: Browser) -> None:
    """There is no room for a 17th browser until the console has given up the slow one by itself."""
    with contextlib.ExitStack() as stack:
        browser = stack.enter_context(hall.console.browser(hall.cookie))
        for _ in range(14):
            stack.enter_context(hall.console.browser(hall.cookie)).next("hello")
        with hall.console.browser(hall.cookie) as late:
            assert late.closed() == 4004
        deadline = time.monotonic() + WAIT_S
        for number in range(1_000_000):
            browser.say("ping", id=number)
            assert browser.next("pong")["id"] == number
            assert browser.status()["pid"] == hall.daemon.process.pid
            with hall.console.browser(hall.cookie) as late, contextlib.suppress(ConnectionClosed):
                late.next("hello")
                break
            assert time.monotonic() < deadline
        assert slow.closed() == 4002


@pytest.mark.evidence
def test_a_daemon_that_goes_and_comes_back_is_told_and_the_console_ends_in_order(hall: Hall) -> None:
    console = hall.console
    with console.browser(hall.cookie) as browser:
        browser.say("traces", channels=["cycle"])
        browser.next("traces", lambda answer: answer["channels"] == ["cycle"])
        browser.traces()
        hall.client.close()
        hall.daemon.kill()
        assert browser.next("lost")["reason"]
        with console.browser(hall.cookie) as late:
            assert json.loads(late.socket.recv(WAIT_S))["kind"] == "lost"
        refused = browser.command("raise")
        assert "no daemon answers" in refused["reason"]
        before = hall.hello["describe"]["pid"]
        hall.daemon = Daemon(hall.lab)
        hello = browser.next("hello")
        assert hello["describe"]["pid"] == hall.daemon.process.pid != before
        assert browser.next("traces")["channels"] == ["cycle"]
        browser.status(lambda now: bool(now["pid"] == hello["describe"]["pid"]))
        assert browser.traces()[0] == 0.0
        hall.lab.profile(SHAKING.replace("8 s", "600 s"), "profiles/long.yaml")
        cookie = hall.cookie.partition(";")[0]
        asking = threading.Thread(target=unanswered, args=(console, cookie))
        asking.start()
        process = wait_for_check(str(console.profiles / "long.yaml"))
        assert console.end() == 0
        assert browser.closed() == 1001
        asking.join(WAIT_S)
        assert not process.exists(), "a check does not outlive the console"
        assert not any(path.exists() for path in console.files)
        assert console.process.communicate()[1] == "", "nothing to complain about, all the day long"


def unanswered(console: Console, cookie: str) -> None:
    """Ask for a check that the end of the console will interrupt."""
    with contextlib.suppress(OSError, http.client.HTTPException):
        console.ask(
            "POST", "/api/check", '{"profile": "long"}', Content_Type="application/json", Cookie=cookie
        )


def wait_for_check(path: str) -> Path:
    """Return the directory in /proc of the process that checks a file, as soon as there is one."""
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        for command in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                if path.encode() in command.read_bytes():
                    return command.parent
        threading.Event().wait(0.02)  # another process can only be looked for
    raise AssertionError(f"nobody checks {path}")
