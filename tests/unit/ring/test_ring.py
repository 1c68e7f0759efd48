"""The ring between loop and recorder: order, loss policy, cost."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mastd.ring.ends import RingConsumer, RingProducer, ring_bytes


def numbers(data: memoryview) -> list[float]:
    values: list[float] = np.frombuffer(data, dtype=np.float64).tolist()
    return values


@given(
    capacity=st.integers(1, 9),
    actions=st.lists(st.tuples(st.booleans(), st.integers(1, 12)), max_size=60),
)
def test_frames_come_out_in_order_and_every_loss_is_counted(
    capacity: int, actions: list[tuple[bool, int]]
) -> None:
    producer = RingProducer(3, capacity)
    consumer = RingConsumer(producer.fd, 3, capacity)
    kept: list[int] = []
    taken: list[int] = []
    offered = 0

    def take(maximum: int, last: bool = False) -> None:
        frames = consumer.take(maximum, last=last)
        for count, data in frames:
            assert numbers(data) == [count, -count, 0.5]
            taken.append(count)
        consumer.release(len(frames))

    for pushes, amount in actions:
        for _ in range(amount if pushes else 0):
            room = producer.backlog < capacity
            assert producer.push(np.array([offered, -offered, 0.5])) is room
            if room:
                kept.append(offered)
            offered += 1
        if not pushes:
            take(amount)
    while producer.backlog:
        take(5, last=True)
    assert taken == kept
    assert producer.dropped == offered - len(kept)
    lost_last = kept[-1] + 1 if kept else 0
    assert max(consumer.offered, lost_last) == offered
    producer.release()


def test_a_frame_is_taken_at_its_second_sight_only() -> None:
    producer = RingProducer(1, 8)
    consumer = RingConsumer(producer.fd, 1, 8)
    producer.push(np.array([1.0]))
    assert consumer.take(8) == []
    producer.push(np.array([2.0]))
    assert [numbers(data) for _, data in consumer.take(8)] == [[1.0]]
    producer.release()


@pytest.mark.real_time
def test_a_full_ring_in_lockstep_waits_bounded_and_only_once() -> None:
    producer = RingProducer(1, 2, wait_s=0.05)
    frame = np.array([1.0])
    assert producer.push(frame)
    assert producer.push(frame)
    start = time.monotonic()
    assert not producer.push(frame)
    waited = time.monotonic() - start
    assert 0.05 <= waited < 2.0
    start = time.thread_time()
    assert not any(producer.push(frame) for _ in range(100))
    assert time.thread_time() - start < 0.05
    assert producer.dropped == 101
    producer.release()


@pytest.mark.real_time
def test_a_dead_consumer_ends_the_wait_early() -> None:
    producer = RingProducer(1, 1, wait_s=60.0)
    producer.consumer_alive = lambda: False
    producer.push(np.array([1.0]))
    start = time.monotonic()
    assert not producer.push(np.array([1.0]))
    assert time.monotonic() - start < 10.0
    producer.release()


def test_a_frame_of_another_width_is_refused() -> None:
    producer = RingProducer(3, 4)
    with pytest.raises(ValueError, match="different structures"):
        producer.push(np.zeros(4))
    with pytest.raises(ValueError, match="bytes"):
        RingConsumer(producer.fd, 4, 4)
    producer.release()


@pytest.mark.real_time
def test_a_push_costs_less_than_two_microseconds() -> None:
    width, pushes = 170, 4000
    producer = RingProducer(width, pushes)
    frame = np.random.default_rng(1).random(width)
    best = float("inf")
    for _ in range(5):
        consumer = RingConsumer(producer.fd, width, pushes)
        start = time.thread_time_ns()
        for _ in range(pushes):
            producer.push(frame)
        best = min(best, (time.thread_time_ns() - start) / pushes)
        consumer.release(producer.offered)
    print(f"push: {best:.0f} ns of {ring_bytes(width, 1)} bytes")
    assert producer.dropped == 0
    assert best < 2000.0
    producer.release()
