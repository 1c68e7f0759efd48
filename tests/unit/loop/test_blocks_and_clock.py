"""Newest-value blocks between processes, and the periodic clock on a clock of the test's own."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from mastd.arrays import FloatArray
from mastd.loop.cycle.slots import ProfileSlots
from mastd.loop.realtime import clock as clock_module
from mastd.loop.realtime.clock import PeriodicClock
from mastd.ring.ends import RingProducer
from mastd.wire.access.verbs import Verb
from mastd.wire.common.blocks import REQUEST, NewestValueBlock, status_layout

MS = 1_000_000


class FakeTime:
    """Monotonic time that moves only by sleeping, or by hand."""

    def __init__(self) -> None:
        self.now = 1_000_000_000
        self.naps: list[float] = []

    def monotonic_ns(self) -> int:
        self.now += 100
        return self.now

    def sleep(self, seconds: float) -> None:
        self.naps.append(seconds)
        self.now += round(seconds * 1e9)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeTime:
    time = FakeTime()
    monkeypatch.setattr(clock_module, "time", time)
    return time


def test_deadlines_do_not_drift(fake: FakeTime) -> None:
    clock = PeriodicClock(MS)
    clock.start()
    first = clock.deadline_ns
    for _ in range(1000):
        clock.wait()
        fake.now += 300_000
    assert clock.deadline_ns == first + 1000 * MS
    assert clock.missed == 0


def test_a_stall_is_skipped_and_counted_and_never_made_up_by_a_burst(fake: FakeTime) -> None:
    clock = PeriodicClock(MS)
    clock.start()
    clock.wait()
    fake.now += 7 * MS + 400_000
    clock.wait()
    assert clock.skipped == 6
    assert 0 <= clock.late_ns < MS
    naps = len(fake.naps)
    for _ in range(3):
        clock.wait()
        assert clock.skipped == 0
    assert len(fake.naps) == naps + 3, "every cycle after the stall waits for its own deadline"
    assert clock.missed == 6


def test_a_sleep_that_lasts_too_long_is_counted_in_the_same_cycle(fake: FakeTime) -> None:
    """A process that was stopped wakes up late: its own stall must not look like the plant's silence."""
    clock = PeriodicClock(MS)
    clock.start()
    clock.wait()
    sleep = fake.sleep

    def too_long(seconds: float) -> None:
        sleep(seconds + 0.5)

    fake.sleep = too_long  # type: ignore[method-assign]
    clock.wait()
    assert clock.skipped == clock.missed == 500
    assert 0 <= clock.late_ns < MS
    fake.sleep = sleep  # type: ignore[method-assign]
    clock.wait()
    assert clock.skipped == 0


def test_a_block_shows_another_process_the_newest_value() -> None:
    block = NewestValueBlock(REQUEST)
    code = (
        "import sys; from mastd.wire.access.verbs import Verb; from mastd.wire.common.blocks import *;"
        "b = NewestValueBlock(REQUEST, int(sys.argv[1]));"
        "b.field('number')[:] = 1; b.field('verb')[:] = Verb.STOP; b.publish();"
        "b.field('number')[:] = 2; b.field('verb')[:] = Verb.LOWER; b.publish()"
    )
    subprocess.run(
        [sys.executable, "-c", code, str(block.descriptor)], pass_fds=(block.descriptor,), check=True
    )
    assert block.read()
    assert (block.scalar("number"), block.scalar("verb")) == (2, Verb.LOWER)
    block.close()


def test_a_torn_write_is_never_taken() -> None:
    block = NewestValueBlock(status_layout(7))
    reader = NewestValueBlock(status_layout(7), os.dup(block.descriptor))
    block.values[:] = 1.0
    block.publish()
    assert reader.read()
    block._before[0] += 1  # a writer that has begun and not ended
    block._shared[:10] = 2.0
    assert not reader.read()


class CountedReads:
    """Stands in for the shared numbers, and counts how often they are copied."""

    def __init__(self) -> None:
        self.copies = 0

    def __array__(self, *_: object, **__: object) -> FloatArray:
        self.copies += 1
        return np.zeros(REQUEST.size)


def test_a_writer_that_was_killed_in_the_middle_is_waited_for_only_once() -> None:
    block = NewestValueBlock(REQUEST)
    reader = NewestValueBlock(REQUEST, os.dup(block.descriptor))
    block._before[0] += 1  # and killed
    counted = CountedReads()
    whole, reader._shared = reader._shared, counted  # type: ignore[assignment]
    assert not reader.read()
    first = counted.copies
    for _ in range(50):
        assert not reader.read()
    assert counted.copies - first <= 50
    reader._shared = whole
    block.values[:] = 3.0
    block._after[0] = block._before[0]
    block.publish()
    assert reader.read(), "another writer goes on"
    assert reader.scalar("number") == 3.0


def test_nobody_cuts_shared_memory_off_under_the_loop() -> None:
    for descriptor in (
        NewestValueBlock(REQUEST).descriptor,
        ProfileSlots().descriptor,
        RingProducer(3, 8).fd,
    ):
        size = os.fstat(descriptor).st_size
        for other in (0, 8, size + 8):
            with pytest.raises(PermissionError):
                os.ftruncate(descriptor, other)
        assert os.fstat(descriptor).st_size == size


def test_a_limit_of_file_sizes_below_the_ring_is_told_in_one_line() -> None:
    code = (
        "import resource\n"
        "from mastd.errors import UsageError\n"
        "from mastd.ring.ends import RingProducer\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "try:\n    RingProducer(300, 8192)\n"
        "except UsageError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == (
        "19.7 MB of shared memory (ring): the limit of file sizes is 0.1 MB; "
        "raise it, for instance by `ulimit -f unlimited`\n"
    )
