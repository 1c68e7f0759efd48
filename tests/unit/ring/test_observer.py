"""The ring's observer: whole frames in order, every loss counted, whatever the producer does meanwhile."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mastd.arrays import FloatArray, IntArray
from mastd.ring.ends import RingConsumer, RingProducer
from mastd.ring.observer import RingObserver

WIDTH = 6


class World:
    """A producer, a consumer, and an observer that the producer overtakes in the middle of a copy."""

    def __init__(self, capacity: int) -> None:
        self.producer = RingProducer(WIDTH, capacity)
        self.consumer = RingConsumer(self.producer.fd, WIDTH, capacity)
        self.observer = Overtaken(self, capacity)
        self.kept: list[int] = []
        self.shown: list[int] = []

    def push(self, count: int) -> None:
        """Offer frames; the recorder has taken what there was, or else the ring may be full."""
        for _ in range(count):
            number = self.producer.offered
            if self.producer.push(frame(number)):
                self.kept.append(number)

    def push_half(self) -> None:
        """Begin to write a frame that is not published yet, where there is room for it."""
        if self.producer.backlog < self.producer.capacity:
            slot = len(self.kept) % self.producer.capacity
            self.producer._slots[slot][: WIDTH // 2] = frame(self.producer.offered).data[: WIDTH // 2]

    def record(self, count: int) -> None:
        """Take frames as the recorder does."""
        self.consumer.release(len(self.consumer.take(count, last=True)))

    def look(self, maximum: int) -> None:
        """Look, and check what is shown."""
        numbers, frames = self.observer.take(maximum)
        assert len(numbers) == len(frames) <= maximum
        for number, values in zip(numbers.tolist(), frames, strict=True):
            assert values.tolist() == frame(number).tolist(), "half of one frame and half of another"
        self.shown += numbers.tolist()


class Overtaken(RingObserver):
    """Observes while the world goes on in the middle of each copy."""

    def __init__(self, world: World, capacity: int) -> None:
        super().__init__(world.producer.fd, WIDTH, capacity)
        self.world = world
        self.meanwhile = 0

    def _copy(self, first: int, stop: int) -> IntArray:
        middle = (first + stop) // 2
        begun = super()._copy(first, middle)
        self.world.record(self.meanwhile)
        self.world.push(self.meanwhile)
        self.world.push_half()
        return np.concatenate((begun, super()._copy(middle, stop)))


def frame(number: int) -> FloatArray:
    """Return what stands in the frame of this number."""
    return np.linspace(number, -number, WIDTH)


ACTIONS = st.lists(
    st.tuples(st.sampled_from(("push", "half", "record", "look")), st.integers(0, 12), st.integers(0, 9)),
    max_size=60,
)


@given(capacity=st.integers(1, 9), before=st.integers(0, 12), actions=ACTIONS)
def test_it_shows_whole_frames_in_order_and_counts_every_loss(
    capacity: int, before: int, actions: list[tuple[str, int, int]]
) -> None:
    world = World(capacity)
    for _ in range(before):  # what was there before it came is not its loss
        world.push(1)
        world.record(1)
    world.observer.close()
    world.observer = Overtaken(world, capacity)
    begun = world.producer.offered
    for action, amount, meanwhile in actions:
        world.observer.meanwhile = meanwhile
        if action == "push":
            world.push(amount)
        elif action == "half":
            world.push_half()
        elif action == "record":
            world.record(amount)
        else:
            world.look(amount)
    world.observer.meanwhile = 0
    for _ in range(2 + len(world.kept)):
        world.look(3)
    shown, observer = world.shown, world.observer
    assert shown == sorted(set(shown))
    assert set(shown) <= set(world.kept[before:])
    if shown:
        assert shown[0] >= begun
        assert observer.following == shown[-1] + 1
        assert len(shown) + observer.lost == observer.following - begun
    if capacity > 1 and len(world.kept) > before:
        assert shown[-1] == world.kept[-1], "the newest is shown in the end"
    world.producer.release()


def test_one_that_was_lapped_goes_on_with_the_oldest_whole_frame() -> None:
    world = World(8)
    for _ in range(1000):
        world.push(1)
        world.record(1)
    world.look(3)
    world.look(3)
    assert world.shown == [993, 994, 995]
    assert world.observer.lost == 993
    world.producer.release()


def test_it_cannot_write_and_is_not_seen() -> None:
    world = World(4)
    world.push(3)
    for _ in range(2):
        world.look(4)
    assert world.shown == [0, 1, 2]
    assert world.producer.backlog == 3, "only the recorder takes"
    with pytest.raises(TypeError, match="read-only"):
        world.observer._words[0] = 7
    with pytest.raises(ValueError, match="read-only"):
        world.observer._slots[0, 0] = 7
    with pytest.raises(ValueError, match="bytes"):
        RingObserver(world.producer.fd, WIDTH + 1, 4)
    world.producer.release()


FRAMES = 40_000
WIDE = 1_000
CAPACITY = 32


class Dawdling(RingObserver):
    """Pauses in the middle of each copy, as a process does whose processor is taken away."""

    def _copy(self, first: int, stop: int) -> IntArray:
        middle = (first + stop) // 2
        begun = super()._copy(first, middle)
        if middle > first:
            time.sleep(1e-5)
        return np.concatenate((begun, super()._copy(middle, stop)))


@contextmanager
def racing(producer: RingProducer) -> Iterator[None]:
    """Push frames in another process as fast as it can, each value of a frame its number."""
    child = os.fork()
    if child == 0:
        os.kill(os.getpid(), signal.SIGSTOP)  # until the observer looks
        words = producer._words
        for number in range(FRAMES):
            words[8] = number  # a recorder that has taken everything
            producer.push(np.full(WIDE, float(number)))
        os._exit(0)
    os.waitpid(child, os.WUNTRACED)
    os.kill(child, signal.SIGCONT)
    try:
        yield
    finally:
        os.waitpid(child, 0)


def test_another_process_that_writes_at_full_speed_tears_no_frame() -> None:
    producer = RingProducer(WIDE, CAPACITY)
    observer = Dawdling(producer.fd, WIDE, CAPACITY)
    shown = 0
    with racing(producer):
        while observer.following < FRAMES:
            numbers, frames = observer.take(CAPACITY // 4)
            assert (frames == numbers[:, None]).all()
            assert (np.diff(numbers) > 0).all()
            shown += len(numbers)
            assert shown + observer.lost == observer.following
    producer.release()
