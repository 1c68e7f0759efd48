"""How the daemon finds a simulated plant without importing it: the entry-point group ``mastd.plants``."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Protocol, cast

from mastd.errors import UsageError
from mastd.settings.profile.profile import ProfileSettings
from mastd.wire.plant.direct_link import DirectPlant
from mastd.wire.plant.hello import Mode

GROUP = "mastd.plants"


@dataclass(frozen=True)
class RigidPayload:
    """A rigid payload in SI: mass, centre of gravity in P, inertia about it (xx, yy, zz) along P's axes."""

    mass: float
    centre_of_gravity: tuple[float, float, float]
    inertia: tuple[float, float, float]


def rigid_payload(profile: ProfileSettings) -> RigidPayload | None:
    """Return the payload of ``profile`` as a plant is reported of it, None for none."""
    payload = profile.payload
    if payload.kind != "rigid":
        return None
    return RigidPayload(payload.mass, payload.centre_of_gravity, payload.inertia)


@dataclass(frozen=True)
class PlantRequest:
    """What plant is wanted; ``truth_path`` None means the nominal values of the table.

    ``table_text``: what the daemon has read of the table's file, None: the plant reads it.
    """

    table_path: Path
    truth_path: Path | None = None
    payload: RigidPayload | None = None
    mode: Mode = "free-run"
    period_ns: int = 1_000_000
    seed: int = 0
    faults: tuple[str, ...] = ()
    table_text: str | None = None


class PlantProvider(Protocol):
    """What stands behind an entry point of the group."""

    def open(self, request: PlantRequest) -> DirectPlant:
        """Return the plant as an object of this process."""

    def arguments(self, request: PlantRequest, address: str) -> list[str]:
        """Return the command line that runs the plant as a process of its own at ``address``."""


def find_provider(name: str = "simulated") -> PlantProvider:
    """Return the installed plant provider ``name``; raise UsageError naming those there are."""
    found = entry_points(group=GROUP)
    for entry in found:
        if entry.name == name:
            return cast(PlantProvider, entry.load())
    names = ", ".join(sorted({entry.name for entry in found})) or "none"
    raise UsageError(f"no plant {name!r} is installed under {GROUP}; there are: {names}")
