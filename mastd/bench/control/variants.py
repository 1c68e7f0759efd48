"""A starter table and daemon with a few settings changed, as files that daemon and plant both read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from mastd.loop.process.installation import Installation
from mastd.settings.core.starter import find

Changes = Mapping[str, Any]
"""Keys of a settings file with the values that replace the starter's, groups within groups."""


@dataclass(frozen=True)
class Variant:
    """What is changed in the starter settings of table and daemon; quantities carry their units."""

    table: Changes = field(default_factory=dict)
    daemon: Changes = field(default_factory=dict)

    def installation(self, directory: Path) -> Installation:
        """Write both files into ``directory``; raise SettingsError for what cannot be set."""
        return Installation.read(
            _write(find("table", "table"), self.table, directory / "table.yaml"),
            _write(find("daemon", "simulated"), self.daemon, directory / "daemon.yaml"),
        )


def merged(first: Changes, second: Changes) -> dict[str, Any]:
    """Return ``first`` with what ``second`` says in its place, group by group."""
    result = dict(first)
    for key, value in second.items():
        before = result.get(key)
        both = isinstance(value, Mapping) and isinstance(before, Mapping)
        result[key] = merged(before, value) if both else value  # type: ignore[arg-type]
    return result


def _write(starter: Path, changes: Changes, path: Path) -> Path:
    content = yaml.safe_load(starter.read_text(encoding="utf-8"))
    path.write_text(yaml.safe_dump(merged(content, changes), sort_keys=False), encoding="utf-8")
    return path
