"""What the rigs' gateway shows of itself and of the rigs, to the operators' gateway: one block, ten times a
second."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from mastd.settings.rigs.channels import MAX_RIGS
from mastd.wire.common.blocks import NewestValueBlock
from mastd.wire.common.layout import Field, Layout

PROGRAM_BYTES: Final = 160
_NUMBERS: Final = ("joined", "age_s", "delay", "offset_s", "round_trip_s", "values", "lockstep")
ROW: Final = len(_NUMBERS) + PROGRAM_BYTES // 8


@dataclass
class RigCounters:
    """What became of the rigs' messages since the gateway began."""

    received: int = 0  # messages read
    values: int = 0  # values taken
    overtaken: int = 0  # values that newer ones overtook before the loop was shown them
    malformed: int = 0  # messages that are not of the protocol
    oversize: int = 0  # messages that are too long
    unknown_session: int = 0  # of a session that is not, or no longer, there
    out_of_order: int = 0  # sequences that are not above the last one: repeated, replayed, reordered
    wrong_channels: int = 0  # values of another number than the rig's channels
    ahead: int = 0  # answers to motions that were never sent
    too_many: int = 0  # messages beyond the rig's rate
    refused: int = 0  # hellos that got no place
    not_allowed: int = 0  # messages beyond what the client's key permits
    unauthenticated: int = 0  # connections over the network without a key, or with another server's
    unknown_keys: int = 0  # connections over the network with a key that is nobody's
    revoked: int = 0  # connections and messages whose key has been revoked
    unsent: int = 0  # messages that a rig's queue had no room for
    stops: int = 0  # stops and emergency stops asked for


COUNTERS: Final = tuple(RigCounters.__dataclass_fields__)
RIG_STATUS: Final = Layout(
    "rig status",
    (
        Field("counters", len(COUNTERS), "1", "see RigCounters"),
        Field("rigs", MAX_RIGS * ROW, "SI", "a row for each rig of the settings"),
    ),
)


@dataclass(frozen=True)
class RigState:
    """What is known of one rig now; NaN for what is not known."""

    joined: bool
    age_s: float
    delay: float
    offset_s: float
    round_trip_s: float
    values: int
    lockstep: bool
    program: str


def write_status(block: NewestValueBlock, counters: RigCounters, states: Sequence[RigState]) -> None:
    """Show counters and rigs."""
    block.field("counters")[:] = list(vars(counters).values())
    rows = block.field("rigs").reshape(MAX_RIGS, ROW)
    for row, state in zip(rows, states, strict=False):
        row[: len(_NUMBERS)] = [float(getattr(state, name)) for name in _NUMBERS]
        text = state.program.encode()[:PROGRAM_BYTES].ljust(PROGRAM_BYTES, b"\0")
        row[len(_NUMBERS) :].data.cast("B")[:] = text
    block.publish()


def read_status(
    block: NewestValueBlock, rigs: Sequence[tuple[str, str]]
) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Return the rigs that have joined and the counters, as plain values; ``rigs``: name and kind of each."""
    if block.changed():
        block.read()
    found: list[dict[str, Any]] = []
    for (name, kind), row in zip(rigs, block.field("rigs").reshape(MAX_RIGS, ROW), strict=False):
        numbers = dict(zip(_NUMBERS, row[: len(_NUMBERS)].tolist(), strict=True))
        if not numbers.pop("joined"):
            continue
        program = row[len(_NUMBERS) :].tobytes().rstrip(b"\0").decode("utf-8", "ignore")
        found.append(
            {
                "name": name,
                "operator": program,
                "kind": kind,
                "lockstep": bool(numbers.pop("lockstep")),
                "values": int(numbers.pop("values")),
                **{key: value if math.isfinite(value) else None for key, value in numbers.items()},
            }
        )
    counters = dict(zip(COUNTERS, (int(count) for count in block.field("counters")), strict=True))
    return found, counters
