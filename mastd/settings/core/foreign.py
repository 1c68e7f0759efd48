"""Files that are no settings at all are refused without a word of what stands in them.

Whoever names a file to the daemon is told what is wrong with it, in the file's own words; the daemon may read
more than they may.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from mastd.errors import UsageError
from mastd.settings.core.strict_yaml import parse

Keys = tuple[tuple[str, ...], ...]
PROFILE: Final[Keys] = (("name",), ("segments", "oils", "stream"))
"""Keys that a profile has in any case, each with those that may stand in its place."""
VEHICLE: Final[Keys] = (("name",), ("chassis",), ("axles",))
_KEY: Final = re.compile(r"^([a-z_]+):", re.MULTILINE | re.ASCII)
_QUOTED: Final = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"")


def refuse_foreign(text: str, path: Path, kind: str, keys: Keys) -> None:
    """Raise UsageError, which quotes nothing, unless a text has the keys of a kind of settings file."""
    found = set(_KEY.findall(text))
    if not _has(found, keys):
        root, _ = parse(text)
        found = set(root.entries or ()) if root is not None else set()
    if not _has(found, keys):
        words = " and ".join(" or ".join(f"{name}:" for name in names) for names in keys)
        raise UsageError(f"{path}: not a {kind}: a {kind} has the keys {words}")


def without_quotes(text: str, path: Path) -> str:
    """Return a refusal in which only the lines about the settings file ``path`` still quote anything."""
    return "\n".join(
        line if line.startswith(f"{path}:") else _QUOTED.sub("'…'", line) for line in text.split("\n")
    )


def _has(found: set[str], keys: Keys) -> bool:
    return all(found.intersection(names) for names in keys)
