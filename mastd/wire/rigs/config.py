"""The job of the rigs' gateway: everything it has to know, as the loop's process hands it over."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from mastd.wire.rigs.messages import ChannelLine, RigTerms

if TYPE_CHECKING:
    from mastd.settings.rigs.rigs import RigsSettings


@dataclass(frozen=True)
class RigPlace:
    """One rig that may join."""

    name: str
    kind: str
    channels: tuple[RigTerms, ...]
    timeout_s: float
    message_rate: float
    motion_rate: float
    predict_s: float


@dataclass(frozen=True)
class RigsJob:
    """What the rigs' gateway is told at its start.

    ``columns``: name and unit of the frame's channels in their order; ``spare``: numbers after them that
    belong to a simulated vehicle; ``links``: of the table, for the layout of the status block.
    """

    name: str
    address: str
    mode: str
    period_ns: int
    places: tuple[RigPlace, ...]
    columns: tuple[ChannelLine, ...]
    spare: int
    states: tuple[str, ...]
    links: int
    network: str | None = None
    keys: str | None = None

    def to_json(self) -> bytes:
        """Return the job as the process reads it."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_json(cls, data: bytes) -> RigsJob:
        """Return the job that ``to_json`` has written."""
        entries: dict[str, Any] = json.loads(data)
        entries["places"] = tuple(
            RigPlace(**{**place, "channels": tuple(RigTerms(**terms) for terms in place["channels"])})
            for place in entries["places"]
        )
        entries["columns"] = tuple((name, unit) for name, unit in entries["columns"])
        entries["states"] = tuple(entries["states"])
        return cls(**entries)


def places_of(settings: RigsSettings) -> tuple[RigPlace, ...]:
    """Return the rigs of the settings."""
    return tuple(
        RigPlace(
            rig.name,
            rig.kind,
            tuple(RigTerms(**dict(channel)) for channel in rig.all_channels()),
            rig.timeout,
            rig.message_rate,
            rig.motion_rate,
            rig.predict,
        )
        for rig in settings.rigs
    )


def names_of(places: Sequence[RigPlace]) -> list[tuple[str, str]]:
    """Return name and kind of each."""
    return [(place.name, place.kind) for place in places]
