"""Telemetry as it crosses the third socket: every frame of the loop, some 20 ms of them in a message.

A message is one MessagePack map of kind ``telemetry`` (docs/protocol.md, "Telemetry"); numbers and frames
stand in binary blocks, little-endian, row by row.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgpack
import numpy as np

from mastd.arrays import FloatArray, IntArray
from mastd.wire.common.strict_messages import MalformedError

MAX_TELEMETRY = 1 << 22
"""Bytes of the longest message; a subscriber may refuse anything longer."""


@dataclass(frozen=True)
class Telemetry:
    """Frames of the loop: ``numbers`` (n,) count every frame that the loop has made, a gap is a loss;
    ``frames`` (n, channels) in the units that ``describe`` names; ``lost`` counts the frames that the gateway
    itself has not seen since it began; ``ended`` stands in the last message of all. n may be 0."""

    numbers: IntArray
    frames: FloatArray
    lost: int = 0
    ended: bool = False


def pack_telemetry(telemetry: Telemetry, following: int) -> bytes:
    """Return a message as bytes; ``following`` is the number of the frame that is due next, for one without
    frames."""
    numbers, frames = telemetry.numbers, telemetry.frames
    packed: bytes = msgpack.packb(
        {
            "kind": "telemetry",
            "first": int(numbers[0]) if len(numbers) else following,
            "numbers": numbers.astype("<i8", copy=False).tobytes(),
            "frames": frames.astype("<f8", copy=False).tobytes(),
            "lost": telemetry.lost,
            "ended": telemetry.ended,
        }
    )
    return packed


def read_telemetry(data: bytes) -> Telemetry:
    """Return a message; raise ``MalformedError`` for anything else."""
    try:
        message = msgpack.unpackb(data)
        if message["kind"] != "telemetry":
            raise MalformedError("not telemetry")
        numbers = np.frombuffer(message["numbers"], dtype="<i8")
        width = -1 if len(numbers) else 0
        frames = np.frombuffer(message["frames"], dtype="<f8").reshape(len(numbers), width)
        return Telemetry(numbers, frames, int(message["lost"]), bool(message.get("ended")))
    except MalformedError:
        raise
    except Exception as error:  # msgpack and numpy raise many unrelated types
        raise MalformedError(f"not a telemetry message: {type(error).__name__}") from error
