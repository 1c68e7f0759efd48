"""Settings as plain data for records, and the digest of the texts they came from."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from mastd.settings.core.base import Settings


def as_json(settings: Settings) -> dict[str, Any]:
    """Return the settings as JSON data: SI numbers, text, lists and maps.

    ``model_validate_json`` of the same class gives an equal object back.
    """
    return settings.model_dump(mode="json")


def digest(texts: Mapping[str, str]) -> str:
    """Return the SHA-256 over named texts, in the order of their names, as 64 hexadecimal digits."""
    sha256 = hashlib.sha256()
    for name in sorted(texts):
        for part in (name.encode(), texts[name].encode()):
            sha256.update(len(part).to_bytes(8, "little"))
            sha256.update(part)
    return sha256.hexdigest()
