"""The plant link in process: who advances the plant, when, and by how much (on a clock of the test)."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest

from mastd.wire.plant import direct_link
from mastd.wire.plant.direct_link import DirectLink
from mastd.wire.plant.hello import LinkTerms, Mode
from mastd.wire.plant.messages import Command, Sample

PERIOD = 1_000_000


class RecordingPlant:
    """Remembers the calls of ``advance`` as (sequence or None, duration)."""

    name = "recording"
    boot_id = 5
    silent = False

    def __init__(self) -> None:
        self.time_ns = 0
        self.advances: list[tuple[int | None, int]] = []
        self.length = 0.0

    def read(self, sample: Sample) -> None:
        sample.boot_id, sample.time_ns = self.boot_id, self.time_ns
        sample.field("lengths")[:] = self.length

    def advance(self, command: Command | None, duration_ns: int) -> None:
        self.advances.append((command.sequence if command else None, duration_ns))
        if command is not None:
            self.length = float(command.field("lengths")[0])
        self.time_ns += duration_ns


class Clock:
    """Monotonic time that passes only when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1_000_000_000_000

    def sleep(self, seconds: float) -> None:
        assert seconds >= 0
        self.now += round(seconds * 1e9)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(
        direct_link, "time", SimpleNamespace(monotonic_ns=lambda: clock.now, sleep=clock.sleep)
    )
    return clock


def opened(mode: Mode) -> tuple[RecordingPlant, DirectLink, Sample, Command]:
    terms = LinkTerms.of(7, 3, mode, PERIOD)
    plant = RecordingPlant()
    return plant, DirectLink(plant, terms), Sample(terms.sample_layout), Command(terms.command_layout)


def test_lockstep_gives_sample_0_and_then_one_sample_per_command() -> None:
    plant, link, sample, command = opened("lockstep")
    assert link.newest(sample, 0) == 1
    assert (sample.step, sample.command_sequence, plant.advances) == (0, -1, [])
    assert link.newest(sample, 0) == 0
    for k in range(3):
        command.field("lengths")[:] = k
        assert link.send(command)
        assert (command.sequence, command.step) == (k, k)
        assert link.newest(sample, 0) == 1
        assert (sample.step, sample.command_sequence, sample.sequence) == (k + 1, k, k + 1)
        assert sample.field("lengths").tolist() == [k] * 7
    assert plant.advances == [(0, PERIOD), (1, PERIOD), (2, PERIOD)]


def test_a_command_that_is_not_finite_does_not_reach_the_plant() -> None:
    plant, link, sample, command = opened("lockstep")
    link.newest(sample, 0)
    command.field("payload_wrench")[5] = math.nan
    assert not link.send(command)
    assert link.counters.unsent == 1
    assert link.newest(sample, 0) == 0
    assert plant.advances == []


def test_free_run_advances_once_per_period_that_has_passed(clock: Clock) -> None:
    plant, link, sample, command = opened("free-run")
    assert link.newest(sample, 0) == 1
    assert link.newest(sample, 0) == 0
    link.send(command)
    clock.now += PERIOD - 1
    assert link.newest(sample, 0) == 0
    clock.now += 1
    assert link.newest(sample, 0) == 1
    assert (sample.step, sample.command_sequence) == (1, 0)
    clock.now += PERIOD
    assert link.newest(sample, 0) == 1
    assert plant.advances == [(0, PERIOD), (None, PERIOD)]


def test_free_run_passes_a_stall_in_one_go_without_the_command_meant_for_its_end(clock: Clock) -> None:
    plant, link, sample, command = opened("free-run")
    link.newest(sample, 0)
    link.send(command)
    clock.now += 50 * PERIOD + 3
    assert link.newest(sample, 0) == 1
    assert plant.advances == [(None, 49 * PERIOD), (0, PERIOD)]
    assert (sample.step, sample.sequence, sample.time_ns) == (50, 1, 50 * PERIOD)
    clock.now += PERIOD - 3
    assert link.newest(sample, 0) == 1, "the periods stay where they were"


def test_free_run_waits_for_the_plants_clock_as_long_as_it_may(clock: Clock) -> None:
    plant, link, sample, _ = opened("free-run")
    link.newest(sample, 0)
    start = clock.now
    assert link.newest(sample, PERIOD // 4) == 0
    assert clock.now - start == PERIOD // 4
    assert link.newest(sample, 5 * PERIOD) == 1
    assert clock.now - start == PERIOD
    assert plant.advances == [(None, PERIOD)]


def test_only_the_newest_of_several_commands_counts(clock: Clock) -> None:
    plant, link, sample, command = opened("free-run")
    link.newest(sample, 0)
    for _ in range(3):
        link.send(command)
    clock.now += PERIOD
    link.newest(sample, 0)
    assert plant.advances == [(2, PERIOD)]


def test_a_silent_plant_gives_no_sample() -> None:
    plant, link, sample, command = opened("lockstep")
    link.newest(sample, 0)
    plant.silent = True
    link.send(command)
    assert link.newest(sample, 0) == 0
    plant.silent = False
    link.send(command)
    assert link.newest(sample, 0) == 1
    assert sample.step == 2
