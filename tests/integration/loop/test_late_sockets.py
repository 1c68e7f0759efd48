"""A late plant link over real sockets and processes: the run ends, its cause names the round trip."""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Iterator

import pytest
import zmq

from hil_sim.plant.client import ask
from mastd.errors import MastdError
from tests.support.lab import PATIENCE, Lab
from tests.support.wire.operators import wait_for

pytestmark = pytest.mark.alone

PROFILE = """
name: late
fade: 0.2 s
segments:
  - {kind: sine, frequency: 2 Hz, axes: {heave: {amplitude: 5 mm}}, duration: 1 s}
"""


class LateLine(threading.Thread):
    """Passes the messages of one daemon on to the plant at once, and the plant's back ``delay`` s later."""

    def __init__(self, front: str, back: str, delay: float) -> None:
        super().__init__()
        self._addresses, self._delay = (front, back), delay
        self._ended = threading.Event()

    def run(self) -> None:
        """Pass on until ``end``."""
        with (
            zmq.Context() as context,
            context.socket(zmq.ROUTER) as front,
            context.socket(zmq.DEALER) as back,
        ):
            front.linger = back.linger = 0
            front.bind(self._addresses[0])
            back.connect(self._addresses[1])
            poller = zmq.Poller()
            for socket in (front, back):
                poller.register(socket, zmq.POLLIN)
            peer, waiting = b"", deque[tuple[float, bytes]]()
            while not self._ended.is_set():
                for socket, _ in poller.poll(1):
                    if socket is front:
                        peer, data = front.recv_multipart()
                        back.send(data)
                    else:
                        waiting.append((time.monotonic() + self._delay, back.recv()))
                while waiting and waiting[0][0] <= time.monotonic():
                    front.send_multipart([peer, waiting.popleft()[1]])

    def end(self) -> None:
        """End the thread and close its sockets."""
        self._ended.set()
        self.join()


@pytest.fixture
def plant(lab: Lab) -> Iterator[str]:
    address = f"ipc://{lab.runtime}/plant"
    process = lab.start("plant", "--table", lab.table, "--address", address, program="hil-sim")

    def answers() -> bool:
        assert process.poll() is None
        try:
            return bool(ask(address, "status", 1.0))
        except MastdError:
            return False

    try:
        wait_for(answers, "a plant that answers", PATIENCE)
        yield address
    finally:
        process.kill()
        process.communicate()


def test_samples_that_are_15_ms_late_end_the_run_and_are_named(lab: Lab, plant: str) -> None:
    line = LateLine(f"ipc://{lab.runtime}/late", plant, 0.015)
    line.start()
    try:
        done = lab.run(
            *("run", lab.profile(PROFILE), "--table", lab.table, "--config", lab.config, "--json"),
            *("--plant", f"ipc://{lab.runtime}/late"),
            timeout=PATIENCE,
        )
    finally:
        line.end()
    assert done.returncode == 3, done.stderr
    document = json.loads(done.stdout)
    assert (document["verdict"], document["cycles"]) == ("fault", 0), "before the profile began"
    assert "round trip of the plant link at least 1" in document["cause"]
    assert "limit 12 ms" in document["cause"]
