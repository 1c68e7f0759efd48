"""The record's file: an MCAP file that any MCAP reader opens, and that survives the death of its writer.

Frames. Topic ``frame`` holds one message per control cycle. Message encoding ``float64le``: the message is
a plain little-endian float64 array, one number per channel. The names stand in the channel's schema, whose
encoding ``json`` means a UTF-8 JSON object::

    {"encoding": "float64le", "rate_hz": 1000.0,
     "channels": [{"name": "pose.heave", "unit": "m", "meaning": "…"}, …]}

Slower channels have a topic of their own per rate (``frame/100hz``) in the same encoding: every k-th
integer step. ``log_time`` is step × period in nanoseconds, ``sequence`` counts all frames offered (modulo
2³²), lost ones included.

Events. Topic ``events``: one JSON object per message with at least ``event`` and ``step``; frames lost
between two recorded ones appear as ``{"event": "gap", "lost": n, "step": first step after it}``.

Metadata. Record ``mastd`` at the file's start: key → JSON text. Record ``mastd.end`` closes the file:
frames, lost, gaps; a recovered file has ``mastd.recovery`` instead. The recorder holds an exclusive lock
(flock) on the file as long as it writes.

Chunks hold at most 0.25 s, of the record's time and of the wall clock; each is flushed, and synchronised to
disk at least every 0.25 s, so a killed recorder or computer costs no more than that.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import math
import os
import time
from collections.abc import Mapping
from pathlib import Path
from struct import Struct
from typing import Any

from mcap.writer import CompressionType, Writer

from mastd.record.channels import ChannelSet

FRAME_ENCODING = "float64le"
FRAME_TOPIC = "frame"
EVENT_TOPIC = "events"
METADATA_NAME = "mastd"
END_NAME = "mastd.end"
RECOVERY_NAME = "mastd.recovery"
PROFILE_NAME = "mastd"
CHUNK_NS = 250_000_000
_CHUNK_BYTES = 16 * 1024 * 1024
_FLOAT64 = Struct("<d")
_EVENT_SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {"event": {"type": "string"}, "step": {"type": "integer"}},
        "required": ["event", "step"],
    }
).encode()


class RunWriter:
    """Writes one record; raises OSError where the file system refuses.

    ``channels`` must have a channel ``step``, which stamps the frames.
    """

    def __init__(self, path: Path, channels: ChannelSet, metadata: Mapping[str, object]) -> None:
        self.frames = 0
        self.lost = 0
        self.gaps = 0
        self._period_ns = channels.period_ns
        self._step_offset = 8 * channels.column("step")
        self._step = 0
        self._next_count = 0
        self._chunk_start_ns: int | None = None
        self._synchronised = time.monotonic()
        self._unsynchronised = False
        self._file = path.open("xb")
        with contextlib.suppress(OSError):  # some file systems have no locks
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._writer: Any = Writer(self._file, chunk_size=_CHUNK_BYTES, compression=CompressionType.ZSTD)
        self._writer.start(PROFILE_NAME, "mastd")
        self._writer.add_metadata(
            METADATA_NAME, {key: json.dumps(value, allow_nan=False) for key, value in metadata.items()}
        )
        self._groups = [
            (
                self._writer.register_channel(
                    group.topic, FRAME_ENCODING, self._writer.register_schema(*_schema(channels, index))
                ),
                8 * group.start,
                8 * group.stop,
                group.every,
            )
            for index, group in enumerate(channels.groups)
        ]
        event_schema = self._writer.register_schema("mastd.event", "jsonschema", _EVENT_SCHEMA)
        self._events = self._writer.register_channel(EVENT_TOPIC, "json", event_schema)
        self.flush()

    def frame(self, count: int, data: memoryview) -> None:
        """Add one frame; ``count`` frames, dropped ones included, were offered before it."""
        (value,) = _FLOAT64.unpack_from(data, self._step_offset)
        step = int(value) if math.isfinite(value) else self._step + 1
        self.skip_to(count, step)
        self._next_count = count + 1
        self._step = step
        stamp = max(step, 0) * self._period_ns
        if self._chunk_start_ns is None:
            self._chunk_start_ns = stamp
        elif not 0 <= stamp - self._chunk_start_ns < CHUNK_NS:
            self._writer.flush()
            self._chunk_start_ns = stamp
        for channel, start, stop, every in self._groups:
            if every == 1 or step % every == 0:
                self._writer.add_message(channel, stamp, data[start:stop], stamp, count & 0xFFFFFFFF)
        self.frames += 1
        self._unsynchronised = True

    def skip_to(self, count: int, step: int | None = None) -> None:
        """Mark the frames before the one numbered ``count`` that never came as a gap."""
        lost = count - self._next_count
        if lost > 0:
            self._next_count = count
            self.lost += lost
            self.gaps += 1
            self.event(
                {"event": "gap", "lost": lost}
                if step is None
                else {"event": "gap", "lost": lost, "step": step}
            )

    def event(self, event: Mapping[str, object]) -> None:
        """Add one event; its ``step`` stamps it, the last frame's step does if it has none."""
        given = event.get("step")
        step = given if isinstance(given, int) and given >= 0 else self._step
        stamp = step * self._period_ns
        text = json.dumps({**event, "step": step}, default=str)
        self._writer.add_message(self._events, stamp, text.encode(), stamp)
        self._unsynchronised = True

    def synchronise_if_due(self) -> None:
        """Flush and synchronise what is older than 0.25 s of wall time."""
        if self._unsynchronised and time.monotonic() - self._synchronised >= CHUNK_NS / 1e9:
            self.flush()

    def flush(self) -> None:
        """End the chunk, write it out and synchronise it to disk."""
        self._writer.flush()
        self._file.flush()
        os.fdatasync(self._file.fileno())
        self._chunk_start_ns = None
        self._unsynchronised = False
        self._synchronised = time.monotonic()

    def finish(self, end: Mapping[str, object]) -> None:
        """Write index and summary, and close the file."""
        self._writer.flush()
        totals = {"frames": self.frames, "lost": self.lost, "gaps": self.gaps, **end}
        self._writer.add_metadata(END_NAME, {key: json.dumps(value) for key, value in totals.items()})
        self._writer.finish()
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()


def _schema(channels: ChannelSet, index: int) -> tuple[str, str, bytes]:
    """Return name, encoding and text of the schema of one group."""
    group = channels.groups[index]
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
    return f"mastd.{group.topic}", "json", text.encode()
