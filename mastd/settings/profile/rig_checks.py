"""Whether a profile's rigs are those that may join: told where profile and rigs' settings meet."""

from __future__ import annotations

from collections.abc import Iterator

from mastd.settings.profile.profile import ProfileSettings
from mastd.settings.rigs.rigs import RigsSettings
from mastd.settings.table.payload import ExternalPayload

_NO_FILE = "give the rigs file with --rigs or in the daemon's settings"


def rigs_problems(profile: ProfileSettings, rigs: RigsSettings) -> list[str]:
    """Return a line for each rig of the profile that is unknown or of the wrong kind."""
    known = ", ".join(rig.name for rig in rigs.rigs) or f"none; {_NO_FILE}"
    problems = []
    for location, name, kind in _uses(profile):
        rig = rigs.rig(name)
        if rig is None:
            problems.append(f"{location}: the rigs' settings have no rig {name!r}, there are: {known}")
        elif rig.kind != kind:
            problems.append(f"{location}: rig {name} is of kind {rig.kind}, expected kind {kind}")
    return problems


def _uses(profile: ProfileSettings) -> Iterator[tuple[str, str, str]]:
    """Yield where a rig is named, its name, and the kind that is due."""
    for k, name in enumerate(profile.rigs):
        yield f"rigs[{k}]", name, "signals"
    if isinstance(profile.payload, ExternalPayload):
        yield "payload.rig", profile.payload.rig, "vehicle"
    if profile.stream is not None:
        yield "stream.rig", profile.stream.rig, profile.stream.kind
