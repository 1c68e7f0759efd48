"""What the console decides by itself: messages, queues, tokens and tries, names by which it may be called."""

from __future__ import annotations

import asyncio
import json
import stat
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mastd.cli import main
from mastd.console import access
from mastd.console.access import Sessions, TokenFiles, Tokens, Tries
from mastd.console.endpoint import Endpoint, endpoint
from mastd.console.lane import MAX_QUEUE_LENGTH, Lane
from mastd.console.messages import Choice, MessageError, Order, Ping, read_message
from mastd.console.outbox import MAX_TEXTS, MAX_TRACES, Outbox, Traces, TraceWriter
from mastd.errors import UsageError
from mastd.wire.operators.client import OperatorClient
from tests.support.lab import PATIENCE

PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12)
JSON = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
)
WORDS = st.sampled_from(["command", "traces", "ping", "load", "jog", "stop", "hold", "x"])
MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "kind": WORDS | JSON,
        "id": st.integers() | JSON,
        "verb": WORDS | JSON,
        "arguments": JSON,
        "channels": JSON,
    },
)


@settings(max_examples=200)
@given(MESSAGES | JSON)
def test_any_message_is_understood_or_refused_with_a_reason(message: object) -> None:
    text = json.dumps(message)
    stopping = (
        isinstance(message, dict) and message.get("kind") == "command" and message.get("verb") == "stop"
    )
    reason = ""
    try:
        assert isinstance(read_message(text), Ping | Choice | Order)
    except MessageError as error:
        reason = str(error)
        stopping = (
            stopping and reason != "not a JSON message"
        )  # Python writes numbers that JSON does not have
    assert "\n" not in reason
    assert not (stopping and reason), "a stop is never refused"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not a JSON message"),
        ("[" * 100_000, "at most"),
        ("[" * 5_000, "not a JSON message"),
        ("[]", "object"),
        ('{"kind": "drive"}', "'drive' is not known"),
        ('{"kind": "ping"}', "id must be given"),
        ('{"kind": "ping", "id": true}', "id must be given"),
        ('{"kind": "ping", "id": 1, "more": 1}', "'more' is not known"),
        ('{"kind": "command", "id": 1, "verb": "fly"}', "'fly' is not known"),
        ('{"kind": "command", "verb": "hold"}', "hold: id must be given"),
        ('{"kind": "command", "id": 1, "verb": "hold", "now": 1}', "'now' is not known"),
        ('{"kind": "command", "id": 1, "verb": "jog", "arguments": {"axis": [1]}}', "'axis' must be"),
        ('{"kind": "command", "id": 1, "verb": "jog", "arguments": {"amount": true}}', "'amount' must be"),
        ('{"kind": "traces", "channels": "a"}', "list of at most 16"),
        (json.dumps({"kind": "traces", "channels": ["a"] * 17}), "list of at most 16"),
        ('{"kind": "traces", "channels": [1]}', "a channel is a name"),
    ],
)
def test_messages_are_refused_with_what_would_be_right(text: str, words: str) -> None:
    with pytest.raises(MessageError, match=words):
        read_message(text)


def test_a_stop_is_a_stop_whatever_comes_with_it() -> None:
    text = '{"kind": "command", "id": "x", "verb": "stop", "arguments": [1], "more": {}}'
    assert read_message(text) == Order(None, "stop", {})


def unpack(message: bytes) -> tuple[float, list[float], list[list[float]]]:
    n, m, lost = struct.unpack_from("<IId", message)
    times = np.frombuffer(message, "<f8", n, 16)
    values = np.frombuffer(message, "<f4", n * m, 16 + 8 * n).reshape(m, n)
    assert len(message) == 16 + 8 * n + 4 * n * m
    return lost, times.tolist(), values.tolist()


def test_traces_count_what_was_lost_anywhere() -> None:
    writer = TraceWriter(0.5)

    def pack(*numbers: int) -> tuple[float, list[float], list[list[float]]]:
        values = np.array([numbers, [10 * k for k in numbers]], np.float32)
        return unpack(writer.pack(Traces(np.array(numbers, np.int64), values)))

    assert pack(100, 101) == (0.0, [50.0, 50.5], [[100.0, 101.0], [1000.0, 1010.0]])
    assert pack(102, 105)[0] == 2.0
    assert pack(109)[0] == 5.0
    assert pack(0, 1)[0] == 5.0, "a daemon that begins anew has lost nothing"


def test_an_outbox_keeps_words_the_newest_status_and_some_traces() -> None:
    async def taken() -> None:
        box = Outbox()
        box.begin(1.0)
        for k in range(MAX_TRACES + 3):
            box.trace(Traces(np.array([k], np.int64), np.zeros((1, 1), np.float32)))
            box.show(f"status {k}")
        assert all(box.say(f"word {k}") for k in range(MAX_TEXTS))
        assert not box.say("one too many")
        assert [await box.take() for _ in range(MAX_TEXTS)] == [f"word {k}" for k in range(MAX_TEXTS)]
        assert await box.take() == f"status {MAX_TRACES + 2}"
        box.show("the next status waits for a trace")
        first = await box.take()
        assert isinstance(first, bytes)
        assert unpack(first)[1] == [3.0], "the oldest three gave way"
        assert await box.take() == "the next status waits for a trace"
        box.begin(1.0)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await box.take()

    asyncio.run(taken())


class SilentDaemon:
    """Opens nothing until it is told to."""

    def __init__(self) -> None:
        self.asked = threading.Semaphore(0)
        self.goes_on = threading.Event()

    def open(self) -> OperatorClient:
        self.asked.release()
        assert self.goes_on.wait(PATIENCE)
        raise UsageError("no daemon answers")


def test_commands_wait_in_a_short_queue_and_one_stop_counts_for_all_that_wait() -> None:
    daemon, said = SilentDaemon(), []
    all_said = threading.Semaphore(0)

    def say(text: str) -> None:
        said.append(json.loads(text)["id"])
        all_said.release()

    lanes = [Lane(daemon.open, lambda order: order.arguments, say, joined) for joined in (False, True)]
    for lane in lanes:
        assert lane.put(Order(1, "stop", {}))
        assert daemon.asked.acquire(timeout=PATIENCE)
    commands, stops = lanes
    assert [commands.put(Order(k, "hold", {})) for k in range(2, MAX_QUEUE_LENGTH + 3)] == [
        *[True] * MAX_QUEUE_LENGTH,
        False,
    ]
    assert all(stops.put(Order(k, "stop", {})) for k in (100, 101, 102))
    daemon.goes_on.set()
    for _ in range(1 + MAX_QUEUE_LENGTH + 4):
        assert all_said.acquire(timeout=PATIENCE)
    assert sorted(said) == sorted([1, *range(2, MAX_QUEUE_LENGTH + 2), 1, 100, 101, 102])
    opened = 1 + MAX_QUEUE_LENGTH + 2
    assert sum(daemon.asked.acquire(blocking=False) for _ in range(20)) == opened - 2, "three stops, one more"
    for lane in lanes:
        lane.end()


def test_wrong_tokens_are_slowed_down_for_an_address_and_in_all() -> None:
    tries = Tries()
    assert not any(tries.wrong("a", k) for k in range(5))
    assert tries.wrong("a", 5.0)
    assert not tries.wrong("b", 5.0)
    assert not tries.wrong("a", 65.5), "a minute later"
    assert not any(tries.wrong(f"guest {k}", 66.0) for k in range(19))
    assert tries.wrong("another", 66.5)


def test_sessions_are_limited_in_number_and_life(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "MAX_SESSIONS", 2)
    sessions = Sessions()
    first, second = sessions.open("operator", 0.0), sessions.open("operator", 1.0)
    assert sessions.find(first.key, 2.0) is first
    for _ in range(9):
        sessions.open("observer", 2.0)
    assert sessions.find(second.key, 1.5) is second, "observers push out observers only"
    third = sessions.open("operator", 3.0)
    assert sessions.find(second.key, 3.0) is None, "the longest silent one gave way"
    assert sessions.find(first.key, 2.0 + access.SESSION_S) is None
    assert sessions.find(third.key, 4.0) is third
    sessions.close(third)
    assert sessions.find(third.key, 4.0) is None
    assert sessions.find(None, 4.0) is None


def test_tokens_lie_in_files_for_this_user_alone_and_go_with_the_console(tmp_path: Path) -> None:
    tokens = Tokens()
    (tmp_path / "console-80.operator-token").write_text("left behind")
    (tmp_path / "console-80.operator-token").chmod(0o644)
    with TokenFiles(tmp_path, 80, tokens) as files:
        for path, token in ((files.operator, tokens.operator), (files.observer, tokens.observer)):
            assert path.read_text() == f"{token}\n"
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not list(tmp_path.iterdir())
    assert tokens.operator not in repr(tokens)
    assert (tokens.role(tokens.operator), tokens.role(tokens.observer)) == ("operator", "observer")
    assert {tokens.role(word) for word in ("", "päss", tokens.operator[:-1])} == {""}


@pytest.mark.parametrize(
    ("here", "called", "foreign"),
    [
        (
            Endpoint("127.0.0.1", "127.0.0.1", 8080, False),
            ["127.0.0.1:8080", "localhost:9000", "LOCALHOST", "[::1]:8080"],
            ["", "example.org", "localhost.example.org", "127.0.0.1.evil", "192.0.2.7", "a b", "127.0.0.1:x"],
        ),
        (
            Endpoint("192.0.2.7", "192.0.2.7", 443, True),
            ["192.0.2.7"],
            ["192.0.2.8", "localhost", "127.0.0.1", "example.org"],
        ),
        (Endpoint("table.lab", "192.0.2.7", 443, True), ["table.lab:8443", "Table.Lab."], ["table.evil"]),
        (Endpoint("0.0.0.0", "0.0.0.0", 443, True), ["192.0.2.8", "localhost"], ["example.org"]),
    ],
)
def test_only_its_own_names_reach_the_console(here: Endpoint, called: list[str], foreign: list[str]) -> None:
    assert [name for name in called if not here.called(name)] == []
    assert [name for name in foreign if here.called(name)] == []


@pytest.fixture
def taken_port() -> Iterator[int]:
    with endpoint("127.0.0.1:0", False).listen() as listener:
        yield listener.getsockname()[1]


def test_command_lines_that_cannot_be_served_are_refused_in_one_line(
    taken_port: int, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    page = tmp_path / "page.pem"
    page.write_text("no certificate")
    for words, expected in (
        (["--listen", "0.0.0.0:8080"], "reachable from other machines"),
        (["--listen", "192.0.2.7:8080"], "--certificate and --private-key"),
        (["--listen", "8080"], "use ADDRESS:PORT"),
        (["--listen", "127.0.0.1:99999"], "use ADDRESS:PORT"),
        (["--listen", f"127.0.0.1:{taken_port}"], "is another console running?"),
        (["--profiles", str(tmp_path / "none")], "no such directory"),
        (["--certificate", str(page)], "go together"),
        (["--key", str(page)], "go together"),
        (["--certificate", str(page), "--private-key", str(page)], "not a certificate and its key"),
        (["--address", "ftp://here"], "is not understood"),
    ):
        assert main(["console", *words]) == 2
        message = capsys.readouterr().err
        assert expected in message
        assert message.count("\n") == 1, message


def test_a_missing_package_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        "mastd.commands.console.find_spec", lambda name: None if name == "uvicorn" else object()
    )
    assert main(["console"]) == 2
    assert capsys.readouterr().err == "mastd console needs uvicorn: pip install 'mastd[console]'\n"
