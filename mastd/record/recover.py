"""Making a whole file of a record that was cut off: everything that is sound is kept, nothing is invented."""

from __future__ import annotations

import fcntl
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcap.writer import CompressionType, Writer

from mastd.errors import FormatError, UsageError
from mastd.formats.mcap.frames import END_NAME, EVENT_TOPIC, FRAME_TOPIC, PROFILE_NAME, RECOVERY_NAME
from mastd.formats.mcap.walk import Contents, Messages, walk
from mastd.record.reader import find_run


@dataclass(frozen=True)
class Recovery:
    """What ``recover`` did: ``kept`` frames and events in whole chunks, bytes lost behind them, and why.

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


def recover(path: Path) -> Recovery:
    """Turn a truncated record into a good one under the same name; the damaged file stays beside it.

    All whole chunks are kept. A whole file is left alone. Raises FormatError if nothing in the file can be
    kept, UsageError if the file is being written or its directory refuses the new one.
    """
    path = find_run(path)
    _refuse_if_recording(path)
    whole = _count_if_whole(path)
    if whole is not None:
        return whole
    contents = Contents()
    partial = path.with_name(path.name + ".partial")
    original = _free_name(path)
    try:
        tally = _copy(path, partial, contents)
        if not tally.frames:
            partial.unlink()
            raise FormatError(f"{path}: nothing to recover, {contents.damage} and holds no frames before")
        path.rename(original)
        partial.rename(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise UsageError(f"{path}: cannot write the recovered file: {error.strerror or error}") from error
    return Recovery(
        path,
        tally.frames,
        tally.events,
        contents.chunks,
        tally.last,
        contents.lost_bytes,
        contents.damage,
        original,
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


def _count_if_whole(path: Path) -> Recovery | None:
    """Return what a whole file holds, None for a damaged one."""
    contents = Contents()
    tally = _Tally()
    for messages in walk(path, contents):
        tally.add(messages, contents)
    if not contents.complete:
        return None
    return Recovery(path, tally.frames, tally.events, contents.chunks, tally.last, 0, None, None)


class _Tally:
    """Counts frames and events on the way."""

    def __init__(self) -> None:
        self.frames = 0
        self.events = 0
        self.last: float | None = None

    def add(self, messages: Messages, contents: Contents) -> None:
        for channel_id, own in messages.by_channel():
            topic = contents.channels[channel_id].topic
            if topic == FRAME_TOPIC:
                self.frames += len(own)
                self.last = float(own.times_ns[-1]) / 1e9
            elif topic == EVENT_TOPIC:
                self.events += len(own)


def _free_name(path: Path) -> Path:
    number = 0
    while True:
        mark = "damaged" if number == 0 else f"damaged-{number}"
        candidate = path.with_name(f"{path.stem}.{mark}{path.suffix}")
        if not candidate.exists():
            return candidate
        number += 1


def _copy(path: Path, target: Path, contents: Contents) -> _Tally:
    """Write what is sound to ``target``, chunk by chunk."""
    tally = _Tally()
    numbers: dict[int, int] = {}
    with target.open("wb") as file:
        writer: Any = Writer(file, chunk_size=1 << 28, compression=CompressionType.ZSTD)
        writer.start(PROFILE_NAME, "mastd")
        written: set[str] = set()
        for messages in walk(path, contents):
            for name in contents.metadata.keys() - written:
                writer.add_metadata(name, contents.metadata[name])
                written.add(name)
            for number, channel in contents.channels.items():
                if number not in numbers:
                    schema = contents.schemas.get(channel.schema_id)
                    schema_id = (
                        writer.register_schema(schema.name, schema.encoding, schema.data) if schema else 0
                    )
                    numbers[number] = writer.register_channel(
                        channel.topic, channel.message_encoding, schema_id, channel.metadata
                    )
            heads = zip(messages.channel_ids, messages.times_ns, messages.sequences, strict=True)
            for index, (channel_id, time_ns, sequence) in enumerate(heads):
                stamp = int(time_ns)
                writer.add_message(
                    numbers[int(channel_id)], stamp, messages.data(index), stamp, int(sequence)
                )
            tally.add(messages, contents)
            writer.flush()
        for name in contents.metadata.keys() - written:
            writer.add_metadata(name, contents.metadata[name])
        if END_NAME not in contents.metadata:
            note = {"damage": contents.damage, "lost_bytes": contents.lost_bytes, "frames": tally.frames}
            writer.add_metadata(RECOVERY_NAME, {key: json.dumps(value) for key, value in note.items()})
        writer.finish()
        file.flush()
        os.fsync(file.fileno())
    return tally
