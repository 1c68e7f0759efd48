"""Telemetry, description and cycle times through a real gateway process and real sockets."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zmq

from mastd.errors import UsageError
from mastd.ring.ends import RingLocation
from mastd.wire.access.keys import KeyRing
from mastd.wire.access.sessions import GatewayCounters
from mastd.wire.operators.client import ClientKeys, OperatorClient
from mastd.wire.operators.messages import Inputs, pack_drive
from mastd.wire.operators.sockets import OperatorSockets
from mastd.wire.operators.telemetry import Telemetry
from tests.support.wire import operators
from tests.support.wire.frames import CAPACITY, Frames
from tests.support.wire.operators import FLAT_MEMORY_KB, free_port, settings, wait_for

pytestmark = pytest.mark.real_time


class Daemon(operators.Daemon):
    """A gateway, a loop that only answers, and frames that come when the test makes them."""

    def __init__(self, directory: Path, records: bool = True, **changes: Any) -> None:
        self.frames = Frames()
        ring = RingLocation(self.frames.ring.fd, self.frames.width, CAPACITY) if records else None
        super().__init__(directory, description=self.frames.about, ring=ring, **changes)

    def end(self) -> None:
        """Let the loop end, and with it the gateway."""
        self.loop.pause()
        self.loop.show(ended=True)

    def close(self) -> None:
        """End both."""
        super().close()
        self.frames.ring.release()


StartDaemon = Callable[..., Daemon]


@pytest.fixture
def start_daemon(tmp_path: Path) -> Iterator[StartDaemon]:
    daemons: list[Daemon] = []

    def start(**changes: Any) -> Daemon:
        daemons.append(Daemon(tmp_path, **changes))
        return daemons[-1]

    yield start
    for daemon in daemons:
        daemon.close()


class Reader:
    """Reads telemetry and keeps everything."""

    def __init__(self, daemon: Daemon, client: OperatorClient) -> None:
        self.daemon = daemon
        self.messages: list[Telemetry] = []
        self._stream = client.telemetry()
        # A subscription takes a moment to arrive: frames are made until the first of them is shown.
        while not self.messages:
            daemon.frames.make()
            self.read_one()
        while not len(self.messages[-1].numbers):
            daemon.frames.make()
            self.read_one()
        del self.messages[:-1]

    @property
    def numbers(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """All numbers read."""
        return np.concatenate([message.numbers for message in self.messages])

    def read_one(self) -> Telemetry:
        """Read the next message."""
        self.messages.append(next(self._stream))
        return self.messages[-1]

    def read_to(self, number: int) -> None:
        """Read until this frame has come."""
        while not len(self.messages[-1].numbers) or self.messages[-1].numbers[-1] < number:
            self.read_one()

    def read_to_the_end(self) -> None:
        """Read until the daemon has ended."""
        self.messages += self._stream


def deaf_subscriber(context: zmq.Context[zmq.Socket[bytes]], address: str) -> zmq.Socket[bytes]:
    """Return a subscriber that never reads, and whose own queue holds one message."""
    socket = context.socket(zmq.SUB)
    socket.linger = 0
    socket.set_hwm(1)
    socket.setsockopt(zmq.SUBSCRIBE, b"")
    socket.connect(address)
    return socket


def test_a_subscriber_sees_every_frame_and_one_that_never_reads_costs_nothing(
    start_daemon: StartDaemon,
) -> None:
    daemon = start_daemon()
    frames = daemon.frames
    with daemon.client(role="observer") as client, zmq.Context() as context:
        reader = Reader(daemon, client)
        deaf = [deaf_subscriber(context, client.welcome.telemetry) for _ in range(2)]
        stranger = context.socket(zmq.XSUB)
        stranger.linger = 0
        stranger.connect(client.welcome.telemetry)
        stranger.send_multipart((b"\1", b"\0", b"nonsense", b"\0" * 100))
        for _ in range(60):  # more than the sockets' queues hold
            frames.make(20)
            reader.read_to(frames.ring.offered - 1)
        before = daemon.resident_kb
        for _ in range(60):
            frames.make(20)
            reader.read_to(frames.ring.offered - 1)
        assert daemon.resident_kb - before < FLAT_MEMORY_KB
        numbers = reader.numbers
        assert (np.diff(numbers) == 1).all(), "nothing is lost, nothing comes twice"
        values = np.concatenate([message.frames for message in reader.messages])
        assert (values == frames.expected(numbers)).all()
        described = client.describe()
        assert len(described["channels"]) == values.shape[1]
        assert described["channels"][7][:2] == ["late", "s"]
        assert described["faults"]["10"]["name"] == "FOLLOWING_ERROR"

        # A gateway that stood still while the ring went round goes on with what is left, and counts the rest.
        os.kill(daemon.handle.process_id, signal.SIGSTOP)
        frames.make(3 * CAPACITY)
        os.kill(daemon.handle.process_id, signal.SIGCONT)
        frames.make()
        reader.read_to(frames.ring.offered - 1)
        gaps = int((np.diff(reader.numbers) - 1).sum())
        assert 2 * CAPACITY <= gaps <= 2 * CAPACITY + 2
        assert reader.messages[-1].lost == gaps
        # So it does with frames for which the recorder had no room.
        frames.make(CAPACITY + 5, recorded=False)
        frames.record()
        frames.make()
        reader.read_to(frames.ring.offered - 1)
        assert gaps + 5 <= reader.messages[-1].lost <= gaps + 7

        frames.make(7)
        daemon.end()
        reader.read_to_the_end()
        assert reader.messages[-1].ended
        assert reader.numbers[-1] == frames.ring.offered - 1
        for socket in deaf:
            socket.close()
        stranger.close()


def test_the_status_tells_how_the_last_second_went_and_who_drives(start_daemon: StartDaemon) -> None:
    daemon = start_daemon()
    with daemon.client("anna", name="wheel") as client:
        assert client.status()["cycle_time"] is None, "no frame yet"
        daemon.frames.make(3, late=1e-3, compute=1e-3, missed=0)
        for _ in range(9):
            daemon.frames.make(110, late=20e-6, compute=50e-6, missed=0)
            made = daemon.frames.ring.offered
            wait_for(lambda: shown(client) == min(1.0, made * 1e-3), "the frames are seen")  # noqa: B023
        daemon.frames.make(20, late=0.6e-3, compute=90e-6, missed=0)
        # Two periods were missed before the last one, so that it began 2.1 periods late.
        daemon.frames.make(1, late=0.1e-3, compute=80e-6, missed=2)
        wait_for(lambda: client.status()["cycle_time"]["late"] == 21, "they have been seen")
        assert client.status()["cycle_time"] == {
            "window_s": 1.0,
            "compute_s": {"median": 50e-6, "p99": 90e-6, "max": 90e-6},
            "late_s": {
                "median": 20e-6,
                "p99": 0.6e-3,
                "max": pytest.approx(2.1e-3),
            },
            "late": 21,
        }
        assert client.status()["rigs"] == []
        client._socket.send(pack_drive(client.welcome.session, 1, Inputs(throttle=0.5)))
        (rig,) = client.status()["rigs"]
        assert (rig["name"], rig["operator"], rig["kind"]) == ("wheel", "anna", "driver")
        assert rig["age_s"] >= 0.0


def shown(client: OperatorClient) -> float:
    """Return how much of the last second the status covers."""
    times = client.status()["cycle_time"]
    return round(float(times["window_s"]), 6) if times else 0.0


def test_over_the_network_with_a_key_that_may_only_watch(start_daemon: StartDaemon, tmp_path: Path) -> None:
    ring = KeyRing(tmp_path / "keys")
    server = ring.make_server()
    ring.new("otto", "observer")
    address = f"tcp://127.0.0.1:{free_port(3)}"
    daemon = start_daemon(limits=settings(address=address), keys=str(ring.directory))
    keys = ClientKeys(ring.directory / "private" / "otto.key_secret", server)
    with OperatorClient(address, keys=keys) as otto, zmq.Context() as context:
        assert otto.describe()["table_name"] == daemon.frames.about["table_name"]
        reader = Reader(daemon, otto)
        daemon.frames.make(9)
        reader.read_to(daemon.frames.ring.offered - 1)
        assert (np.diff(reader.numbers) == 1).all()
        host, _, port = address.rpartition(":")
        keyless = deaf_subscriber(context, f"{host}:{int(port) + 2}")
        for _ in range(10):
            daemon.frames.make(9)
            reader.read_to(daemon.frames.ring.offered - 1)
        assert not keyless.poll(0), "without a key nothing comes"
        keyless.close()


def test_where_nothing_is_recorded_there_is_no_telemetry(start_daemon: StartDaemon) -> None:
    daemon = start_daemon(records=False)
    with daemon.client() as client:
        assert client.welcome.telemetry == ""
        assert client.status()["cycle_time"] is None
        assert len(client.describe()["channels"]) == len(daemon.frames.names)
        with pytest.raises(UsageError, match="no telemetry, because it records nothing"):
            next(client.telemetry())


def test_the_gateway_knows_whether_anybody_reads(tmp_path: Path) -> None:
    address = f"ipc://{tmp_path}/mastd"
    sockets = OperatorSockets(
        f"{address}.operators", f"{address}.status", f"{address}.telemetry", None, None, GatewayCounters()
    )
    try:
        assert not sockets.subscribed()
        with zmq.Context() as context:
            first = deaf_subscriber(context, f"{address}.telemetry")
            wait_for(sockets.subscribed, "somebody has subscribed")
            first.close()
            wait_for(lambda: not sockets.subscribed(), "nobody is left")
            second = deaf_subscriber(context, f"{address}.telemetry")
            wait_for(sockets.subscribed, "somebody has subscribed again")
            second.close()
            wait_for(lambda: not sockets.subscribed(), "nobody is left again")
    finally:
        sockets.close()
