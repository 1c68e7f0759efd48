"""What is missing from a record, by its own numbers and checksums: the one check that every reader shares.

Frames and events are numbered as they were offered; the record's last metadata say how many there were, gap
events how many of the frames the recorder dropped itself. What is missing beyond that was lost from the file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from mastd.arrays import IntArray
from mastd.formats.mcap.chunks import Contents, Messages, one_line
from mastd.formats.mcap.frames import (
    END_NAME,
    METADATA_NAME,
    RECOVERY_NAME,
    FrameSeries,
    continued,
    in_order,
    plain_metadata,
)

GAP: Final = "gap"
"""Event of frames that the recorder has dropped: ``lost`` so many."""


class Events:
    """Collects the events of a record, chunk by chunk."""

    def __init__(self) -> None:
        self._numbers: list[IntArray] = [np.zeros(0, dtype=np.int64)]
        self._texts: list[bytes] = []

    def add(self, messages: Messages) -> None:
        """Add the events of a chunk."""
        self._numbers.append(messages.sequences)
        self._texts += [messages.data(index) for index in range(len(messages))]

    def series(self) -> EventSeries:
        """Return all that came, in the order of their numbers, each event once."""
        numbers = continued(np.concatenate(self._numbers))
        texts = self._texts
        places, misplaced = None, 0
        if np.any(numbers):  # records of versions before 1 have none
            places, misplaced = in_order(numbers)
        if places is not None:
            numbers, texts = numbers[places], [texts[place] for place in places]
        events = tuple(event for event in map(_event, texts) if event is not None)
        return EventSeries(numbers, events, len(self._texts) - len(texts), misplaced)


@dataclass(frozen=True, eq=False)
class EventSeries:
    """Events in their order and their ``numbers`` (k,), from 1 on or all 0; how many stood in the file once
    more, and how many after one with a higher number."""

    numbers: IntArray
    events: tuple[Mapping[str, object], ...]
    repeated: int
    misplaced: int


@dataclass(frozen=True)
class Integrity:
    """What became of a record: ``damage`` in one line, None for none; frames ``offered`` to the recorder,
    None where the end of the record does not tell; ``lost`` frames, those that the recorder dropped included.

    ``repairable``: not all is in its place, but `mastd recover` can put it there.
    """

    damage: str | None
    offered: int | None
    lost: int
    repairable: bool


def check_integrity(contents: Contents, frames: FrameSeries, events: EventSeries) -> Integrity:
    """Return what is missing from a record of which all was read."""
    end = plain_metadata(contents.metadata.get(END_NAME, {}))
    offered = _count(end, "frames") + _count(end, "lost") if "frames" in end else None
    whole = max(offered or 0, int(frames.numbers[-1]) + 1 if len(frames.numbers) else 0)
    lost = whole - len(frames.numbers)
    dropped = sum(_count(event, "lost") for event in events.events if event.get("event") == GAP)
    events_lost = _events_lost(events.numbers, _count(end, "events"))
    found = [contents.damage] if contents.damage else []
    if METADATA_NAME not in contents.metadata:
        found.append("its head is missing")
    if contents.complete and not {END_NAME, RECOVERY_NAME} & contents.metadata.keys():
        found.append("its end is missing")
    if lost > dropped:
        found.append(f"frames missing: {lost - dropped} of {whole}, {_first_gap(frames, whole)}")
    if events_lost > 0:
        found.append(f"events missing: {events_lost}")
    for series, name in ((frames, "frames"), (events, "events")):
        if series.repeated:
            found.append(f"{name} repeated: {series.repeated}")
        if series.misplaced:
            found.append(f"{name} out of order: {series.misplaced}")
    misplaced = any(series.repeated or series.misplaced for series in (frames, events))
    repairable = misplaced or not contents.complete or contents.damage is not None
    return Integrity("; ".join(found) or None, offered, lost, repairable)


def _first_gap(frames: FrameSeries, whole: int) -> str:
    """Return in how many places frames are missing, and where first."""
    numbers = np.concatenate(([-1], frames.numbers, [whole]))
    gaps = np.flatnonzero(np.diff(numbers) > 1)
    return f"in {len(gaps)} place{'s' if len(gaps) > 1 else ''}, first frame {numbers[gaps[0]] + 1}"


def _events_lost(numbers: IntArray, stated: int) -> int:
    if not np.any(numbers):
        return stated
    return max(int(numbers[-1]), stated) - len(numbers)


def _count(values: Mapping[str, object], name: str) -> int:
    value = values.get(name)
    return value if isinstance(value, int) else 0


def _event(data: bytes) -> Mapping[str, object] | None:
    try:
        event = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) else None


def warnings_of(contents: Contents, damage: str | None) -> Sequence[str]:
    """Return what a file's reader warns of: its damage, and what was lost before it was recovered."""
    recovery = plain_metadata(contents.metadata.get(RECOVERY_NAME, {}))
    found = [f"{damage}: what is sound is read"] if damage else []
    return found + ([f"recovered, {one_line(str(recovery.get('damage')))}"] if recovery else [])
