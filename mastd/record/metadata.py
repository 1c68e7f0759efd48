"""What a record says about itself: versions, settings with their digests, seeds, serials, host."""

from __future__ import annotations

import hashlib
import platform
import time
from collections.abc import Mapping, Sequence
from importlib import metadata

RECORD_VERSION = 1
_PACKAGES = ("mastd", "numpy", "scipy", "numba", "pyzmq", "msgpack", "pydantic", "mcap")


def versions() -> dict[str, str]:
    """Return the versions of this program, its interpreter and the packages that shape its numbers."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = "unknown"
    return found


def run_metadata(
    *,
    table: Mapping[str, object],
    table_text: str,
    profile: Mapping[str, object],
    profile_text: str,
    band: tuple[float, float] | None,
    duration: float,
    states: Sequence[str],
    faults: Mapping[int, str],
    seeds: Mapping[str, int],
    plant: Mapping[str, object],
    host: Mapping[str, object],
) -> dict[str, object]:
    """Return the metadata of a run, plain data by key.

    ``table`` and ``profile``: the settings in SI, as dumped by their classes; the texts are the files they
    came from. ``band``: lowest and highest frequency in Hz that the profile excites. ``duration``: its
    length in s. ``states`` and ``faults`` name the codes of the channels ``state`` and ``fault``.
    ``plant``: what the plant said of itself. ``host``: the machine's real-time facts.
    """
    return {
        "record_version": RECORD_VERSION,
        "started_unix": time.time(),
        "versions": versions(),
        "table": table,
        "table_text": table_text,
        "table_sha256": hashlib.sha256(table_text.encode()).hexdigest(),
        "serials": _serials(table),
        "profile": profile,
        "profile_text": profile_text,
        "profile_sha256": hashlib.sha256(profile_text.encode()).hexdigest(),
        "band": band,
        "duration": duration,
        "states": list(states),
        "faults": {str(code): name for code, name in faults.items()},
        "seeds": seeds,
        "plant": plant,
        "host": host,
    }


def _serials(value: object, path: str = "") -> dict[str, object]:
    """Return every ``serial`` in nested settings, by the path of the thing that bears it."""
    found: dict[str, object] = {}
    if isinstance(value, Mapping):
        for key, item in value.items():
            if key == "serial":
                found[path or "table"] = item
            else:
                found.update(_serials(item, f"{path}.{key}" if path else str(key)))
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value, start=1):
            found.update(_serials(item, f"{path}.{index}"))
    return found
