"""The record's file: an MCAP file that any MCAP reader opens, and that survives the death of its writer.

Frames. Topic ``frame`` holds one message per control cycle. Message encoding ``float64le``: the message is
a plain little-endian float64 array, one number per channel. The names stand in the channel's schema, whose
encoding ``json`` means a UTF-8 JSON object::

    {"encoding": "float64le", "rate_hz": 1000.0,
     "channels": [{"name": "pose.heave", "unit": "m", "meaning": "…"}, …]}

Slower channels have a topic of their own per rate (``frame/100hz``) in the same encoding: the first frame of
every k periods. ``log_time`` is an integer of periods in nanoseconds since the file's first frame, those
missed included (channel ``missed``), so it always ascends, whatever becomes of the plant's clock.
``sequence`` is the frame's number in the file (modulo 2³²): it counts all frames offered, lost ones included.

Events. Topic ``events``: one JSON object per message with at least ``event`` and ``frame``, the number of
frames offered before it; frames lost appear as ``{"event": "gap", "lost": n, "frame": number of the first
one lost}``. ``sequence`` counts them from 1 on.

Metadata. Record ``mastd`` at the file's start: key → JSON text. Record ``mastd.end`` closes the file:
frames, lost, gaps, events; a recovered file has ``mastd.recovery`` as well. Each holds ``crc32`` of its other
entries. Chunks, data and summary have the checksums of MCAP. The recorder holds an exclusive lock (flock) on
the file as long as it writes.

Chunks hold at most 0.25 s, of the record's time and of the wall clock; each is flushed, and synchronised to
disk at least every 0.25 s, so a killed recorder or computer costs no more than that.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcap.writer import CompressionType, Writer

from mastd.formats.mcap.chunks import with_checksum
from mastd.formats.mcap.frames import (
    END_NAME,
    EVENT_TOPIC,
    FRAME_ENCODING,
    METADATA_NAME,
    PROFILE_NAME,
)
from mastd.record.channels import ChannelGroup, ChannelSet, PeriodCounter

RUN_FILE = "run.mcap"
CHUNK_NS = 250_000_000
_CHUNK_BYTES = 16 * 1024 * 1024
_EVENT_SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {"event": {"type": "string"}, "frame": {"type": "integer"}},
        "required": ["event", "frame"],
    }
).encode()


@dataclass
class _Group:
    """One MCAP channel: its bytes in the frame, every how many periods it is kept, the interval kept last."""

    channel_id: int
    start: int
    stop: int
    every: int
    interval: int = -1


class RunWriter:
    """Writes one record; raises OSError where the file system refuses.

    The file's frame 0 is the one with number ``first``; numbers given to the methods count on from there. A
    file that could not even be begun is not left behind.
    """

    def __init__(
        self, path: Path, channels: ChannelSet, metadata: Mapping[str, object], first: int = 0
    ) -> None:
        self.path = path
        self.channels = channels
        self.first = first
        self.frames = 0
        self.lost = 0
        self.gaps = 0
        self.events = 0
        self.astray: str | None = None
        """What became of the file's place while it was written, None while it is where it was."""
        self._period_ns = channels.period_ns
        self._periods = PeriodCounter(channels, first)
        self._next = first
        self._chunk_start_ns: int | None = None
        self._synchronised = time.monotonic()
        self._unsynchronised = False
        self._file = path.open("xb")
        with contextlib.suppress(OSError):  # some file systems have no locks
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        try:
            self._begin(channels, metadata)
        except BaseException:
            self.abandon()
            path.unlink(missing_ok=True)
            raise

    def _begin(self, channels: ChannelSet, metadata: Mapping[str, object]) -> None:
        """Write the file's head."""
        self._writer: Any = Writer(
            self._file,
            chunk_size=_CHUNK_BYTES,
            compression=CompressionType.ZSTD,
            enable_data_crcs=True,
        )
        self._writer.start(PROFILE_NAME, "mastd")
        texts = {key: json.dumps(value, allow_nan=False) for key, value in metadata.items()}
        self._writer.add_metadata(METADATA_NAME, with_checksum(texts))
        self._groups = [self._register(group) for group in channels.groups]
        event_schema = self._writer.register_schema("mastd.event", "jsonschema", _EVENT_SCHEMA)
        self._event_channel = self._writer.register_channel(EVENT_TOPIC, "json", event_schema)
        self.flush()

    def frame(self, number: int, data: memoryview) -> None:
        """Add one frame; ``number`` frames, dropped ones included, were offered before it."""
        self.skip_to(number)
        self._next = number + 1
        period = self._periods.take(number, data)
        sequence = (number - self.first) & 0xFFFFFFFF
        stamp = period * self._period_ns
        if self._chunk_start_ns is None:
            self._chunk_start_ns = stamp
        elif not stamp - self._chunk_start_ns < CHUNK_NS:
            self._writer.flush()
            self._chunk_start_ns = stamp
        for group in self._groups:
            if period // group.every != group.interval:
                group.interval = period // group.every
                self._writer.add_message(
                    group.channel_id, stamp, data[group.start : group.stop], stamp, sequence
                )
        self.frames += 1
        self._unsynchronised = True

    def skip_to(self, number: int) -> None:
        """Mark the missing frames before the one with this number as a gap."""
        lost = number - self._next
        if lost > 0:
            self.lost += lost
            self.gaps += 1
            self.event({"event": "gap", "lost": lost, "frame": self._next})
            self._next = number

    def event(self, event: Mapping[str, object]) -> None:
        """Add one event; its ``frame`` stamps it, the last frame's number does if it has none.

        What lies before the file's first frame is stamped with it.
        """
        given = event.get("frame")
        number = max(given, self.first) if isinstance(given, int) else self._next
        stamp = self.time_ns(number)
        text = json.dumps({**event, "frame": number - self.first}, default=str)
        self.events += 1
        self._writer.add_message(self._event_channel, stamp, text.encode(), stamp, self.events & 0xFFFFFFFF)
        self._unsynchronised = True

    def time_ns(self, number: int) -> int:
        """Return the file time of an event after ``number`` offered frames."""
        return self._periods.position(number) * self._period_ns

    def synchronise_if_due(self) -> None:
        """Flush and synchronise data older than 0.25 s of wall time."""
        if self._unsynchronised and time.monotonic() - self._synchronised >= CHUNK_NS / 1e9:
            self.flush()

    def flush(self) -> None:
        """End the chunk, write it out and synchronise it to disk."""
        self._writer.flush()
        self._file.flush()
        os.fdatasync(self._file.fileno())
        self._look_for_itself()
        self._chunk_start_ns = None
        self._unsynchronised = False
        self._synchronised = time.monotonic()

    def finish(self, end: Mapping[str, object]) -> None:
        """Write index and summary, and close the file."""
        self._writer.flush()
        totals = {"frames": self.frames, "lost": self.lost, "gaps": self.gaps, "events": self.events, **end}
        texts = {key: json.dumps(value) for key, value in totals.items()}
        self._writer.add_metadata(END_NAME, with_checksum(texts))
        self._writer.finish()
        self._file.flush()
        os.fsync(self._file.fileno())
        self._look_for_itself()
        self._file.close()

    def abandon(self) -> None:
        """Close the file unfinished, for instance on a full disk; data on disk remain readable."""
        with contextlib.suppress(OSError):
            self._file.close()

    def _look_for_itself(self) -> None:
        """Note whether somebody has moved or deleted the file; what is moved is still written."""
        own = os.fstat(self._file.fileno())
        with contextlib.suppress(OSError):
            if os.path.samestat(own, self.path.stat()):
                self.astray = None
                return
        if own.st_nlink == 0:
            self.astray = f"{self.path}: was deleted while it was written"
        else:
            place = os.readlink(f"/proc/self/fd/{self._file.fileno()}")
            self.astray = f"{self.path}: was moved while it was written, it is now {place}"

    def _register(self, group: ChannelGroup) -> _Group:
        """Write schema and channel of one group."""
        text = json.dumps(
            {
                "encoding": FRAME_ENCODING,
                "rate_hz": group.rate_hz,
                "channels": [
                    {"name": channel.name, "unit": channel.unit, "meaning": channel.meaning}
                    for channel in group.channels
                ],
            },
            ensure_ascii=False,
        )
        schema = self._writer.register_schema(f"mastd.{group.topic}", "json", text.encode())
        channel_id = self._writer.register_channel(group.topic, FRAME_ENCODING, schema)
        return _Group(channel_id, 8 * group.start, 8 * group.stop, group.every)
