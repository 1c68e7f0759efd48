"""Damaged records: each is told, what follows a damage is kept, and none passes with too much missing."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from mastd.errors import MastdError
from mastd.formats.catalogue import read
from mastd.record.reader import Run, open_run
from mastd.record.recover import recover
from mastd.record.result import make_result
from mastd.record.writer import RunWriter
from tests.support.record.damage import DAMAGES, Chunk, chunks_of, kept_frames
from tests.support.record.reading import opened
from tests.support.synthetic_run import PERIOD_NS, Synthetic, metadata, synthetic


@dataclass(frozen=True)
class Sound:
    """A sound record of a run that passes: its bytes, chunks and frames."""

    data: bytes
    chunks: list[Chunk]
    run: Synthetic


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Sound:
    run = synthetic()
    path = tmp_path_factory.mktemp("sound") / "run.mcap"
    writer = RunWriter(path, run.channels, metadata())
    for number, frame in enumerate(run.frames):
        if number % 400 == 60:
            writer.event({"event": "mark", "frame": number, "text": f"event {number}"})
        writer.frame(number, memoryview(frame.tobytes()))
    writer.event({"event": "end", "outcome": "completed", "state": "READY", "cause": None})
    writer.finish({})
    assert make_result(open_run(path))["verdict"] == "pass"
    assert open_run(path).damage is None
    return Sound(path.read_bytes(), chunks_of(path, PERIOD_NS), run)


def inspected(path: Path) -> str:
    """Return what is told of a record that is read as a file of series."""
    try:
        return " ".join(read(path).warnings)
    except MastdError as error:
        return str(error)


def frames_of(run: Run | str, sound: Sound) -> set[int]:
    """Return the frames that were read, after a look at each of their values."""
    if isinstance(run, str):
        return set()
    numbers = run.numbers
    assert np.all(np.diff(numbers) > 0)
    for column, name in enumerate(sound.run.channels.columns):
        assert np.array_equal(run.columns[name], sound.run.frames[numbers, column], equal_nan=True)
    return set(numbers.tolist())


def missing_while_running(frames: set[int], run: Synthetic) -> tuple[int, int]:
    """Return how many frames of the profile are missing, and most of them in a row."""
    absent, row, longest = 0, 0, 0
    for number in range(run.first, run.last + 1):
        row = 0 if number in frames else row + 1
        absent, longest = absent + (number not in frames), max(longest, row)
    return absent, longest


def verdict_of(run: Run | str) -> str:
    try:
        return "" if isinstance(run, str) else str(make_result(run)["verdict"])
    except MastdError as error:
        return str(error)


def try_damage(kind: str, seed: int, sound: Sound, directory: Path) -> tuple[int, int]:
    """Damage a record, judge all its readers, and return the frames kept and those that could be."""
    damaged = DAMAGES[kind](sound.data, sound.chunks, random.Random(f"{kind} {seed}"))
    if damaged == sound.data:
        return 0, 0
    path = directory / "run.mcap"
    path.write_bytes(damaged)
    expected = kept_frames(damaged, sound.data, sound.chunks) & set(range(len(sound.run.frames)))
    run = opened(path)
    assert isinstance(run, str) or run.damage, f"{kind} {seed}: not told"
    kept = frames_of(run, sound)
    assert kept >= expected, f"{kind} {seed}: {len(kept)} frames kept of {len(expected)} that are whole"
    assert inspected(path), f"{kind} {seed}: not told on inspection"
    absent, longest = missing_while_running(kept, sound.run)
    whole_enough = absent <= 0.001 * (sound.run.last + 1 - sound.run.first) and longest * PERIOD_NS <= 20e6
    whole_enough &= not isinstance(run, str) and any(event["event"] == "end" for event in run.events)
    assert whole_enough or verdict_of(run) != "pass", f"{kind} {seed}: passes without {absent} frames"
    if not isinstance(run, str):
        recovery = recover(path)
        again = open_run(path)
        assert recovery.frames == len(kept) == len(frames_of(again, sound)), f"{kind} {seed}"
        assert again.events == run.events
        assert again.damage_ever, f"{kind} {seed}: not told after recovery"
        assert whole_enough or verdict_of(again) != "pass", f"{kind} {seed}: passes once recovered"
        second = recover(path)
        assert second.original is None
        if recovery.original is not None:
            recovery.original.unlink()
    return len(kept), len(expected)


@pytest.mark.parametrize("kind", DAMAGES)
def test_damage_is_told_and_what_is_whole_is_kept(kind: str, sound: Sound, tmp_path: Path) -> None:
    for seed in range(3):
        try_damage(kind, seed, sound, tmp_path)


@pytest.mark.evidence
def test_a_thousand_damages_are_told_and_what_is_whole_is_kept(sound: Sound, tmp_path: Path) -> None:
    kept: Counter[str] = Counter()
    for kind in DAMAGES:
        for seed in range(100, 200):
            kept[kind] += try_damage(kind, seed, sound, tmp_path)[0]
    frames = 100 * len(sound.run.frames)
    for kind, count in kept.items():
        print(f"{kind:<16} 100 records, each told; {100.0 * count / frames:5.1f} % of their frames kept")
