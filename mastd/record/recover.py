"""Making a whole file of a damaged record: all chunks that are sound are kept, each once, in their order.

Nothing is invented: frames that are missing keep their numbers free, and every reader goes on to tell so.
"""

from __future__ import annotations

import fcntl
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcap.writer import CompressionType, Writer

from mastd.errors import FormatError, UsageError
from mastd.formats.mcap.chunks import Contents, with_checksum
from mastd.formats.mcap.frames import (
    END_NAME,
    EVENT_TOPIC,
    FRAME_TOPIC,
    PROFILE_NAME,
    RECOVERY_NAME,
    Frames,
    plain_metadata,
)
from mastd.formats.mcap.integrity import Events, Integrity, check_integrity
from mastd.formats.mcap.walk import chunk_at, walk
from mastd.record.reader import find_run


@dataclass(frozen=True)
class Recovery:
    """What ``recover`` did: frames and events kept in sound ``chunks``, bytes lost in damaged places, and
    what was damaged; ``missing`` frames are not in the file, those that the recorder dropped included.

    ``original`` is where the damaged file lies now, None if the file was whole and nothing was done.
    """

    path: Path
    frames: int
    events: int
    chunks: int
    last_time: float | None
    lost_bytes: int
    damage: str | None
    original: Path | None
    missing: int = 0


def recover(path: Path) -> Recovery:
    """Turn a damaged record into a good one under the same name; the damaged file stays beside it.

    All sound chunks are kept. A file that cannot be mended further is left alone. Raises FormatError if
    nothing in the file can be kept, UsageError if the file is being written or its directory refuses the new
    one.
    """
    path = find_run(path)
    _refuse_if_recording(path)
    contents = Contents()
    found = _look(path, contents)
    if not found.frames:
        damage = f": {contents.damage}" if contents.damage else ""
        raise FormatError(f"{path}: nothing to recover, it holds no frames{damage}")
    integrity = found.integrity
    original = None
    if integrity.repairable:
        partial = path.with_name(path.name + ".partial")
        original = _free_name(path)
        try:
            _copy(path, partial, contents, found, integrity)
            path.rename(original)
            partial.rename(path)
        except OSError as error:
            partial.unlink(missing_ok=True)
            raise UsageError(f"{path}: cannot write the recovered file: {error.strerror or error}") from error
    return Recovery(
        path,
        found.frames,
        found.events,
        len(found.chunks),
        found.last,
        contents.lost_bytes,
        integrity.damage,
        original,
        integrity.lost,
    )


def _refuse_if_recording(path: Path) -> None:
    """The recorder holds a lock on its file as long as it writes."""
    try:
        file = path.open("rb")
    except OSError as error:
        raise FormatError(f"{path}: {error.strerror or error}") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UsageError(f"{path}: is still being recorded: wait until the run has ended") from error
        except OSError:
            return  # a file system without locks


@dataclass(frozen=True)
class _Found:
    """What a look at a record has found: where its sound chunks stand in the order of their times, and what
    is missing."""

    chunks: list[int]
    frames: int
    events: int
    last: float | None
    integrity: Integrity


def _look(path: Path, contents: Contents) -> _Found:
    """Walk through a record and keep numbers and places only."""
    chunks: list[tuple[int, int]] = []
    frames: Frames | None = None
    events = Events()
    for messages in walk(path, contents):
        chunks.append((int(messages.times_ns.min()), contents.position))
        for channel_id, own in messages.by_channel():
            channel = contents.channels[channel_id]
            if channel.topic == FRAME_TOPIC:
                frames = frames or Frames(path, channel, contents.schemas, lambda name: False)
                frames.add(own)
            elif channel.topic == EVENT_TOPIC:
                events.add(own)
    if frames is None:
        return _Found([], 0, 0, None, Integrity(contents.damage, None, 0, True))
    series, told = frames.series(), events.series()
    return _Found(
        [position for _, position in sorted(chunks) if position >= 0],
        len(series.numbers),
        len(told.events),
        float(series.times[-1]),
        check_integrity(contents, series, told),
    )


def _free_name(path: Path) -> Path:
    number = 0
    while True:
        mark = "damaged" if number == 0 else f"damaged-{number}"
        candidate = path.with_name(f"{path.stem}.{mark}{path.suffix}")
        if not candidate.exists():
            return candidate
        number += 1


class _Order:
    """Knows which messages of one channel were written already.

    Frames ascend in their 32 bits; of events each number is kept, but records of versions before 1 have none.
    """

    def __init__(self, events: bool) -> None:
        self._newest: int | None = None
        self._seen: set[int] | None = set() if events else None

    def repeats(self, number: int) -> bool:
        """Take the next message; return whether it was there before."""
        if self._seen is not None:
            before = number in self._seen
            self._seen.update({number} if number else ())
            return before
        newest, self._newest = self._newest, number
        if newest is None or 0 < (number - newest) % (1 << 32) < 1 << 31:
            return False
        self._newest = newest
        return True


def _copy(path: Path, target: Path, contents: Contents, found: _Found, integrity: Integrity) -> None:
    """Write what is sound to ``target``, chunk by chunk, each message once."""
    numbers: dict[int, int] = {}
    order = {number: _Order(channel.topic == EVENT_TOPIC) for number, channel in contents.channels.items()}
    with target.open("wb") as file:
        writer: Any = Writer(
            file, chunk_size=1 << 28, compression=CompressionType.ZSTD, enable_data_crcs=True
        )
        writer.start(PROFILE_NAME, "mastd")
        last = {END_NAME, RECOVERY_NAME}
        for name in contents.metadata.keys() - last:
            writer.add_metadata(name, with_checksum(contents.metadata[name]))
        for number, channel in contents.channels.items():
            schema = contents.schemas.get(channel.schema_id)
            schema_id = writer.register_schema(schema.name, schema.encoding, schema.data) if schema else 0
            numbers[number] = writer.register_channel(
                channel.topic, channel.message_encoding, schema_id, channel.metadata
            )
        for position in found.chunks:
            messages = chunk_at(path, position, contents)
            heads = zip(messages.channel_ids, messages.times_ns, messages.sequences, strict=True)
            for index, (channel_id, time_ns, sequence) in enumerate(heads):
                if order[int(channel_id)].repeats(int(sequence)):
                    continue
                stamp = int(time_ns)
                writer.add_message(
                    numbers[int(channel_id)], stamp, messages.data(index), stamp, int(sequence)
                )
            writer.flush()
        if END_NAME in contents.metadata:
            writer.add_metadata(END_NAME, with_checksum(contents.metadata[END_NAME]))
        before = plain_metadata(contents.metadata.get(RECOVERY_NAME, {})).get("damage")
        damage = "; ".join(str(text) for text in (before, integrity.damage) if text)
        note = {"damage": damage, "lost_bytes": contents.lost_bytes, "frames": found.frames}
        texts = {key: json.dumps(value) for key, value in note.items()}
        writer.add_metadata(RECOVERY_NAME, with_checksum(texts))
        writer.finish()
        file.flush()
        os.fsync(file.fileno())
