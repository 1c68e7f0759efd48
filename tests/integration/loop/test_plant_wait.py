"""A plant that is not there yet, serves somebody else, or was restarted: waited for and found again."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from mastd.errors import ProtocolError
from mastd.loop.process.plant_wait import await_plant
from mastd.loop.process.script import StopRequest
from mastd.wire.plant.hello import LinkTerms
from mastd.wire.plant.messages import Command, Sample
from mastd.wire.plant.socket_link import PlantLink, SocketLink, connect
from tests.support.lab import PATIENCE, StartFollower
from tests.support.wire.operators import wait_for

pytestmark = pytest.mark.real_time

TERMS = LinkTerms.of(7, 3, "free-run", 1_000_000)
SOON_NS = 200_000_000


class Waiting:
    """Somebody who waits for the plant at an address, in a thread of his own."""

    def __init__(self, address: str, terms: LinkTerms = TERMS) -> None:
        self.stop = StopRequest()
        self.shown: list[str] = []
        self.looks = 0
        self.link: PlantLink | None = None
        self.error: Exception | None = None
        self._address = address
        self._terms = terms
        self._thread = threading.Thread(target=self._wait)
        self._thread.start()

    def end(self) -> None:
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()

    def _wait(self) -> None:
        def attempt(waiting: Callable[[], None]) -> PlantLink:
            return connect(self._address, self._terms, SOON_NS, waiting=waiting)

        try:
            self.link = await_plant(attempt, self.stop, self._look, self.shown.append)
        except ProtocolError as error:
            self.error = error

    def _look(self) -> None:
        self.looks += 1


def test_a_plant_is_waited_for_until_it_serves_this_daemon(
    address: str, start_follower: StartFollower
) -> None:
    waiting = Waiting(address)
    wait_for(lambda: bool(waiting.shown), "it says what it waits for")
    assert waiting.shown[0].startswith(f"waiting for the plant: no plant answers at {address}; start")
    start_follower("free-run")
    waiting.end()
    assert waiting.link is not None
    second = Waiting(address)
    wait_for(lambda: bool(second.shown), "it says who has the place")
    assert "the plant is in use by mastd (pid" in second.shown[0]
    looks = second.looks
    wait_for(lambda: second.looks > looks, "it goes on looking")
    waiting.link.close()
    second.end()
    assert second.link is not None
    assert len(second.shown) == 1, "the same words are shown once"
    second.link.close()
    other = Waiting(address, LinkTerms.of(7, 3, "free-run", 2_000_000))
    other.end()
    assert "period: plant 1000000 ns, daemon 2000000 ns" in str(other.error)
    assert other.shown == []


def test_a_wish_to_stop_ends_the_wait(address: str) -> None:
    waiting = Waiting(address)
    wait_for(lambda: bool(waiting.shown), "it waits")
    waiting.stop.requested = True
    waiting.end()
    assert (waiting.link, waiting.error) == (None, None)


def test_a_plant_that_was_restarted_takes_this_daemon_again(
    address: str, start_follower: StartFollower
) -> None:
    plant = start_follower("free-run", boot_id=1)
    link = connect(address, TERMS)
    assert isinstance(link, SocketLink)
    sample, command = Sample(TERMS.sample_layout), Command(TERMS.command_layout)
    for _ in range(20):
        assert link.newest(sample, 1_000_000_000) > 0
        assert link.send(command)
    sent = command.sequence
    plant.kill()
    plant.wait()
    link.renew()  # nobody is there
    start_follower("free-run", boot_id=2)

    def renewed() -> bool:
        link.renew()
        return link.newest(sample, 50_000_000) > 0

    wait_for(renewed, "samples come again")
    assert (link.hello.boot_id, sample.boot_id, link.refusal) == (2, 2, None)
    before = sample.command_sequence
    assert before <= sent
    assert link.send(command)
    assert command.sequence == sent + 1, "commands are counted on"

    def applied() -> bool:
        link.newest(sample, 50_000_000)
        return sample.command_sequence == command.sequence

    wait_for(applied, "the plant takes commands")
    link.close()
