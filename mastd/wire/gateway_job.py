"""The gateway's job: everything it has to know, as the loop's process hands it over."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from mastd.settings.gateway import GatewaySettings
from mastd.wire.address import operators_address
from mastd.wire.snapshot import FaultWords, Words


@dataclass(frozen=True)
class GatewayJob:
    """What the gateway is told at its start.

    ``states`` names the loop's states by their numbers, ``faults`` holds a fault's words by its code.
    ``loader`` is the command line of the profile loader (empty: this daemon plays one profile),
    ``loader_descriptors`` are inherited by it; ``slot`` is the slot of the profile that the loop has, −1 for
    none. ``load_states`` are the states in which loading is worth while.
    """

    settings: GatewaySettings
    links: int
    states: tuple[str, ...]
    faults: Mapping[int, FaultWords]
    loop_stuck_s: float
    name: str = "mastd"
    address: str = field(default_factory=operators_address)
    keys: str | None = None
    """Directory of the keys; needed for a network address."""
    loader: tuple[str, ...] = ()
    loader_descriptors: tuple[int, ...] = ()
    slots: int = 2
    slot: int = -1
    load_states: tuple[str, ...] = ("OFF", "READY")

    def to_json(self) -> bytes:
        """Return the job as the process reads it."""
        entries = {name: getattr(self, name) for name in self.__dataclass_fields__}
        entries["settings"] = self.settings.model_dump(mode="json")
        entries["faults"] = {str(code): asdict(words) for code, words in self.faults.items()}
        return json.dumps(entries).encode()

    @classmethod
    def from_json(cls, data: bytes) -> GatewayJob:
        """Return the job that ``to_json`` has written."""
        entries: dict[str, Any] = json.loads(data)
        for name in ("states", "loader", "loader_descriptors", "load_states"):
            entries[name] = tuple(entries[name])
        faults = {int(code): FaultWords(**words) for code, words in entries.pop("faults").items()}
        settings = GatewaySettings.model_validate(entries.pop("settings"))
        return cls(settings=settings, faults=faults, **entries)

    @property
    def words(self) -> Words:
        """Names of states and words of faults."""
        return Words(self.states, self.faults)
