"""Both ends against peers written from docs/protocol.md alone, with plain ZeroMQ, MessagePack and struct."""

from __future__ import annotations

import math
import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgpack
import pytest
import zmq

from hil_sim.plant import endpoint as endpoint_module
from hil_sim.plant.endpoint import Event, PlantEndpoint
from mastd.errors import ProtocolError
from mastd.wire.plant.hello import LinkTerms, PlantHello
from mastd.wire.plant.messages import Command, Sample
from mastd.wire.plant.socket_link import SocketLink, connect
from tests.support.lab import PATIENCE

pytestmark = pytest.mark.real_time

SECOND = 1_000_000_000
COMMAND_HASH = "e69a8f5fdc881bd85d3d1ca37dc9a9a36e42343bf5c21fbe9ba5b74850a7a898"  # n = 7, from the page
SAMPLE_HASH = (
    "6be303fc580c1c0cf80ba09e4caeda31f8ffe9493150d36880d88474c03647ca"  # n = 7, m = 3, from the page
)
COMMAND_SIZE, SAMPLE_SIZE = 5 * 7 + 6, 4 * 7 + 7 + 3
FREE_RUN = LinkTerms.of(7, 3, "free-run", 1_000_000)
LOCKSTEP = LinkTerms.of(7, 3, "lockstep", 1_000_000)


def command_bytes(sequence: int, step: int, first: float = 0.0) -> bytes:
    block = struct.pack(f"<{COMMAND_SIZE}d", first, *[0.5] * (COMMAND_SIZE - 1))
    packed: bytes = msgpack.packb(["command", sequence, step, 1, 2, block])
    return packed


def sample_bytes(sequence: int, step: int, applied: int = -1, boot_id: int = 77) -> bytes:
    block = struct.pack(f"<{SAMPLE_SIZE}d", *[step / 1000] * SAMPLE_SIZE)
    valid = b"\xff" * ((SAMPLE_SIZE + 7) // 8)
    entries = ["sample", boot_id, sequence, step, step * 1_000_000, applied, 2, 0, valid, block]
    packed: bytes = msgpack.packb(entries)
    return packed


def hello_bytes(**changes: object) -> bytes:
    entries = {
        "kind": "hello",
        "protocol_version": 3,
        "sample_sha256": SAMPLE_HASH,
        "command_sha256": COMMAND_HASH,
        "mode": "free-run",
        "period_ns": 1_000_000,
        "actuators": 7,
        "accelerometers": 3,
        "table": b"",
        "name": "independent",
        "pid": 4711,
        "host": "rig",
    }
    packed: bytes = msgpack.packb({**entries, **changes})
    return packed


class Clock:
    """The endpoint's clock, set by the test."""

    def __init__(self) -> None:
        self.now = 10 * SECOND

    def monotonic_ns(self) -> int:
        return self.now


class Daemons:
    """Independent daemons of one plant endpoint that runs in this very thread."""

    def __init__(self, endpoint: PlantEndpoint) -> None:
        self.endpoint = endpoint
        self.command = Command(FREE_RUN.command_layout)
        self.context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()

    def new(self) -> zmq.Socket[bytes]:
        socket = self.context.socket(zmq.DEALER)
        socket.linger = 0
        socket.connect(self.endpoint.address)
        return socket

    def deliver(self, socket: zmq.Socket[bytes], *frames: bytes, step: int = 0) -> Event:
        """Send one message and let the endpoint take it."""
        socket.send_multipart(frames)
        for _ in range(100):
            event = self.endpoint.receive(self.command, step, wait=True)
            if event is not Event.NOTHING:
                return event
        raise AssertionError("the message never came")

    def answer(self, socket: zmq.Socket[bytes]) -> Any:
        assert socket.poll(2000), "no answer"
        return msgpack.unpackb(socket.recv())


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(endpoint_module, "time", SimpleNamespace(monotonic_ns=clock.monotonic_ns))
    return clock


@pytest.fixture
def daemons(tmp_path: Path, clock: Clock) -> Iterator[Daemons]:
    def request(message: dict[str, object]) -> dict[str, object]:
        raise ProtocolError(f"no request {message['kind']!r}")

    hello = PlantHello.of(FREE_RUN, 77, "plant", simulated=True)
    endpoint = PlantEndpoint(f"ipc://{tmp_path}/plant", FREE_RUN, hello, request)
    daemons = Daemons(endpoint)
    yield daemons
    daemons.context.destroy(linger=0)
    endpoint.close()


def seated(daemons: Daemons) -> zmq.Socket[bytes]:
    socket = daemons.new()
    assert daemons.deliver(socket, hello_bytes()) is Event.WELCOMED
    assert daemons.answer(socket)["kind"] == "welcome"
    return socket


def test_a_daemon_written_from_the_page_is_welcomed_and_heard(daemons: Daemons) -> None:
    socket = daemons.new()
    assert daemons.deliver(socket, hello_bytes()) is Event.WELCOMED
    assert daemons.answer(socket) == {
        "kind": "welcome",
        "protocol_version": 3,
        "sample_sha256": SAMPLE_HASH,
        "command_sha256": COMMAND_HASH,
        "mode": "free-run",
        "period_ns": 1_000_000,
        "boot_id": 77,
        "name": "plant",
        "simulated": True,
    }
    assert daemons.deliver(socket, command_bytes(0, 0, 1.25)) is Event.COMMAND
    command = daemons.command
    assert (command.sequence, command.step, command.mode, command.stage) == (0, 0, 1, 2)
    assert command.values.tolist() == [1.25] + [0.5] * (COMMAND_SIZE - 1)

    sample = Sample(FREE_RUN.sample_layout)
    sample.boot_id, sample.step = 77, 3
    sample.field("accelerometers")[2] = 9.81
    daemons.endpoint.publish(sample)
    received = daemons.answer(socket)
    assert received[:8] == ["sample", 77, 0, 3, 0, 0, 0, 0]
    assert struct.unpack(f"<{SAMPLE_SIZE}d", received[9])[-1] == 9.81


def test_commands_twice_out_of_order_too_late_or_too_early_are_not_applied(daemons: Daemons) -> None:
    socket = seated(daemons)
    counters = daemons.endpoint.counters
    assert daemons.deliver(socket, command_bytes(5, 200), step=200) is Event.COMMAND
    assert counters.lost == 5
    for sequence in (5, 4, -1):
        assert daemons.deliver(socket, command_bytes(sequence, 200), step=200) is Event.OTHER
    assert counters.old == 3
    assert daemons.deliver(socket, command_bytes(6, 179), step=200) is Event.OTHER
    assert daemons.deliver(socket, command_bytes(7, 201), step=200) is Event.OTHER
    assert counters.late == 2
    assert daemons.deliver(socket, command_bytes(8, 180), step=200) is Event.COMMAND
    assert daemons.command.sequence == 8


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_command_that_is_not_finite_is_refused_visibly(daemons: Daemons, value: float) -> None:
    socket = seated(daemons)
    assert daemons.deliver(socket, command_bytes(0, 0, value)) is Event.OTHER
    assert daemons.endpoint.counters.invalid == 1
    assert "not finite" in daemons.answer(socket)["reasons"][0]


@pytest.mark.parametrize(
    "frames", [(b"",), (b"\xc1",), (b"\x00" * 500,), (b"a", b"b"), (command_bytes(0, 0), b"")]
)
def test_garbage_is_counted_and_the_daemon_is_served_on(daemons: Daemons, frames: tuple[bytes, ...]) -> None:
    socket = seated(daemons)
    stranger = daemons.new()
    assert daemons.deliver(stranger, *frames) is Event.OTHER
    assert daemons.endpoint.counters.invalid == 1
    assert daemons.deliver(socket, command_bytes(0, 0)) is Event.COMMAND


def test_a_message_too_large_never_arrives_and_harms_nobody(daemons: Daemons) -> None:
    socket = seated(daemons)
    daemons.new().send(bytes(64 * 1024 + 1))
    assert daemons.deliver(socket, command_bytes(0, 0)) is Event.COMMAND
    assert daemons.endpoint.receive(daemons.command, 0, wait=True) is Event.NOTHING
    assert daemons.endpoint.counters.invalid == 0


def test_complaints_are_rare_whatever_comes(daemons: Daemons, clock: Clock) -> None:
    stranger = daemons.new()
    for sequence in range(20):
        daemons.deliver(stranger, command_bytes(sequence, 0))
    assert daemons.endpoint.counters.strangers == 20
    assert "send hello first (boot 77)" in daemons.answer(stranger)["reasons"][0]
    assert not stranger.poll(20)
    clock.now += SECOND
    daemons.deliver(stranger, command_bytes(20, 0))
    assert daemons.answer(stranger)["kind"] == "refused"


def test_a_peer_without_the_place_cannot_command(daemons: Daemons) -> None:
    seated(daemons)
    assert daemons.deliver(daemons.new(), command_bytes(0, 0)) is Event.OTHER
    assert daemons.endpoint.counters.strangers == 1


def test_a_silent_daemon_loses_the_place_after_2_s_but_only_to_another(
    daemons: Daemons, clock: Clock
) -> None:
    first = seated(daemons)
    second = daemons.new()
    clock.now += 2 * SECOND
    daemons.deliver(second, hello_bytes(name="second"))
    refused = daemons.answer(second)
    assert refused["kind"] == "refused"
    assert refused["holder"] == "independent (pid 4711 on rig)"
    assert daemons.deliver(first, command_bytes(0, 0)) is Event.COMMAND, "silent so far, and still seated"

    clock.now += 2 * SECOND
    daemons.deliver(second, hello_bytes(name="second"))
    assert daemons.answer(second)["kind"] == "refused", "the 2 s begin with the last word"
    clock.now += 1
    assert daemons.deliver(second, hello_bytes(name="second")) is Event.WELCOMED
    assert daemons.answer(second)["kind"] == "welcome"
    assert daemons.deliver(second, command_bytes(0, 0)) is Event.COMMAND, "sequences start anew"
    assert daemons.deliver(first, command_bytes(1, 0)) is Event.OTHER
    notices = [daemons.answer(first) for _ in range(3)]
    assert [notice["kind"] for notice in notices] == ["probe", "probe", "refused"]
    assert "second (pid 4711 on rig)" in notices[2]["reasons"][0]


def test_only_the_seated_daemons_farewell_frees_the_place(daemons: Daemons) -> None:
    first = seated(daemons)
    second = daemons.new()
    farewell = msgpack.packb({"kind": "bye"})
    daemons.deliver(second, farewell)
    daemons.deliver(second, hello_bytes())
    assert daemons.answer(second)["kind"] == "refused"
    daemons.deliver(first, farewell)
    assert daemons.deliver(second, hello_bytes()) is Event.WELCOMED


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"protocol_version": 4}, "protocol version: plant 3, daemon 4"),
        ({"mode": "lockstep"}, "mode: plant free-run, daemon lockstep"),
        ({"period_ns": 500_000}, "period: plant 1000000 ns, daemon 500000 ns"),
        ({"sample_sha256": "abc"}, f"sample layout: plant {SAMPLE_HASH[:16]}, daemon abc"),
        ({"pid": "x"}, "pid must be given as int"),
    ],
)
def test_a_hello_that_does_not_fit_is_refused_with_both_values(
    daemons: Daemons, changes: dict[str, object], reason: str
) -> None:
    socket = daemons.new()
    assert daemons.deliver(socket, hello_bytes(**changes)) is Event.OTHER
    refused = daemons.answer(socket)
    assert refused["kind"] == "refused"
    assert refused["reasons"][0].startswith(reason) or reason in refused["reasons"][0]
    assert daemons.endpoint.daemon is None


def test_an_unknown_request_is_answered(daemons: Daemons) -> None:
    socket = daemons.new()
    daemons.deliver(socket, msgpack.packb({"kind": "dance"}))
    assert daemons.answer(socket) == {"kind": "refused", "reasons": ["no request 'dance'"], "holder": ""}


def test_a_daemon_that_takes_no_samples_costs_nothing_but_its_samples(daemons: Daemons) -> None:
    seated(daemons)
    sample = Sample(FREE_RUN.sample_layout)
    for _ in range(20_000):
        daemons.endpoint.publish(sample)
        if daemons.endpoint.counters.unsent:
            break
    assert daemons.endpoint.counters.unsent > 0


class IndependentPlant(threading.Thread):
    """A plant that welcomes one daemon with given entries, then sends what the test gives it."""

    def __init__(self, address: str, welcome: dict[str, object]) -> None:
        super().__init__(daemon=True)
        self.welcome = welcome
        self.context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self.socket = self.context.socket(zmq.ROUTER)
        self.socket.linger = 0
        self.socket.rcvtimeo = 5000
        self.socket.bind(address)
        self.peer = b""

    def run(self) -> None:
        """Answer the first hello."""
        self.peer, frame = self.socket.recv_multipart()
        assert msgpack.unpackb(frame)["kind"] == "hello"
        self.socket.send_multipart([self.peer, msgpack.packb(self.welcome)])

    def send(self, *frames: bytes) -> None:
        for frame in frames:
            self.socket.send_multipart([self.peer, frame])


WELCOME = {
    "kind": "welcome",
    "protocol_version": 3,
    "sample_sha256": SAMPLE_HASH,
    "command_sha256": COMMAND_HASH,
    "mode": "free-run",
    "period_ns": 1_000_000,
    "boot_id": 77,
    "name": "independent plant",
    "simulated": False,
}


@pytest.fixture
def linked(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[tuple[IndependentPlant, SocketLink]]:
    mode = getattr(request, "param", "free-run")
    plant = IndependentPlant(f"ipc://{tmp_path}/plant", {**WELCOME, "mode": mode})
    plant.start()
    link = connect(f"ipc://{tmp_path}/plant", LOCKSTEP if mode == "lockstep" else FREE_RUN)
    plant.join(PATIENCE)
    yield plant, link
    link.close()
    plant.context.destroy(linger=0)


def drained(link: SocketLink, sample: Sample, marker: int) -> None:
    """Take samples until the one of step ``marker`` has come."""
    for _ in range(100):
        link.newest(sample, SECOND // 10)
        if sample.step == marker:
            return
    raise AssertionError(f"step {marker} never came")


def test_a_plant_written_from_the_page_is_understood(linked: tuple[IndependentPlant, SocketLink]) -> None:
    plant, link = linked
    assert (link.hello.name, link.hello.simulated, link.hello.boot_id) == ("independent plant", False, 77)
    sample = Sample(FREE_RUN.sample_layout)
    plant.send(sample_bytes(0, 40))
    assert link.newest(sample, SECOND) == 1
    assert (sample.step, sample.time_ns, sample.command_sequence, sample.stage) == (40, 40_000_000, -1, 2)
    assert sample.valid == (1 << SAMPLE_SIZE) - 1, "bits beyond the block are ignored"
    assert sample.values.tolist() == [0.04] * SAMPLE_SIZE
    command = Command(FREE_RUN.command_layout)
    command.field("payload_wrench")[:] = (1, 2, 3, 4, 5, 6)
    assert link.send(command)
    _, frame = plant.socket.recv_multipart()
    kind, sequence, step, mode, stage, block = msgpack.unpackb(frame)
    assert (kind, sequence, step, mode, stage) == ("command", 0, 40, 0, 0)
    assert struct.unpack(f"<{COMMAND_SIZE}d", block)[-6:] == (1, 2, 3, 4, 5, 6)


def test_samples_old_twice_foreign_or_broken_are_counted_and_not_taken(
    linked: tuple[IndependentPlant, SocketLink],
) -> None:
    plant, link = linked
    sample = Sample(FREE_RUN.sample_layout)
    plant.send(sample_bytes(10, 10))
    drained(link, sample, 10)
    plant.send(
        sample_bytes(10, 11),
        sample_bytes(9, 12),
        sample_bytes(11, 13, boot_id=78),
        sample_bytes(12, 14)[:-1],
        b"",
        msgpack.packb({"kind": "something new"}),
        msgpack.packb({"kind": "probe"}),
        sample_bytes(15, 15),
    )
    drained(link, sample, 15)
    counters = link.counters
    assert (counters.old, counters.other_boot, counters.invalid, counters.lost) == (2, 1, 2, 4)
    assert counters.received == 2


def test_a_late_complaint_of_the_plant_is_kept(linked: tuple[IndependentPlant, SocketLink]) -> None:
    plant, link = linked
    assert link.refusal is None
    plant.send(msgpack.packb({"kind": "refused", "reasons": ["command 3 is silly"], "holder": ""}))
    sample = Sample(FREE_RUN.sample_layout)
    plant.send(sample_bytes(0, 1))
    drained(link, sample, 1)
    assert link.refusal == "command 3 is silly"


@pytest.mark.parametrize("linked", ["lockstep"], indirect=True)
def test_lockstep_takes_only_the_answer_to_its_last_command(
    linked: tuple[IndependentPlant, SocketLink],
) -> None:
    plant, link = linked
    sample = Sample(LOCKSTEP.sample_layout)
    command = Command(LOCKSTEP.command_layout)
    plant.send(sample_bytes(0, 0))
    assert link.newest(sample, SECOND) == 1
    link.send(command)
    link.send(command)
    plant.send(sample_bytes(1, 1, applied=0), sample_bytes(2, 2, applied=1))
    assert link.newest(sample, SECOND) == 1
    assert (sample.step, sample.command_sequence) == (2, 1)
    assert link.counters.old == 1


def test_nothing_waits_for_a_plant_that_is_gone(linked: tuple[IndependentPlant, SocketLink]) -> None:
    plant, link = linked
    plant.context.destroy(linger=0)
    command = Command(FREE_RUN.command_layout)
    queued = 0
    while link.send(command):
        queued += 1
        assert queued < 100, "commands queue up for a plant that may come"
        link.newest(Sample(FREE_RUN.sample_layout), 10_000_000)
    assert link.counters.unsent == 1


def test_closing_says_goodbye_after_the_last_command(linked: tuple[IndependentPlant, SocketLink]) -> None:
    plant, link = linked
    link.send(Command(FREE_RUN.command_layout))
    link.close()
    link.close()
    frames = [plant.socket.recv_multipart()[1] for _ in range(2)]
    assert msgpack.unpackb(frames[0])[0] == "command"
    assert msgpack.unpackb(frames[1]) == {"kind": "bye"}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"period_ns": 2_000_000}, "period: plant 2000000 ns, daemon 1000000 ns"),
        ({"protocol_version": 4}, "protocol version: plant 4, daemon 3"),
        ({"boot_id": None}, "boot_id must be given as int"),
        ({"kind": "refused", "reasons": ["out of oil"]}, "refuses: out of oil"),
    ],
)
def test_a_plant_that_does_not_fit_is_left(tmp_path: Path, changes: dict[str, object], reason: str) -> None:
    plant = IndependentPlant(f"ipc://{tmp_path}/plant", {**WELCOME, **changes})
    plant.start()
    try:
        with pytest.raises(ProtocolError, match=reason):
            connect(f"ipc://{tmp_path}/plant", FREE_RUN).close()
    finally:
        plant.join(PATIENCE)
        plant.context.destroy(linger=0)


def test_the_link_works_over_loopback_tcp(clock: Clock) -> None:
    hello = PlantHello.of(FREE_RUN, 77, "plant", simulated=True)
    endpoint = PlantEndpoint("tcp://127.0.0.1:*", FREE_RUN, hello, lambda message: {})
    assert endpoint.address.startswith("tcp://127.0.0.1:")
    daemons = Daemons(endpoint)
    socket = seated(daemons)
    assert daemons.deliver(socket, command_bytes(0, 0)) is Event.COMMAND
    daemons.context.destroy(linger=0)
    endpoint.close()
