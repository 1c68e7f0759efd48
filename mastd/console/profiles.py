"""Profiles that can be chosen by name, and their check; nothing that a browser says is opened as a path."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mastd.console.child import Children, Done
from mastd.errors import UsageError
from mastd.settings.core.starter import find, names

MACHINE = Path("/etc/mastd/profiles")
"""Where the profiles of an installed service lie."""
LISTING_S = 60.0
CHECK_S = 120.0
MAX_FILES = 500
STARTER_TABLE = "table"

_Stamp = tuple[str, int, int]


class Profiles:
    """Profiles of the user's directories, of the machine, and those that travel with the product.

    Of several files of the same name the first in that order counts.
    """

    def __init__(self, directories: Iterable[Path], machine: Path = MACHINE) -> None:
        """Raise UsageError where one of the directories is none."""
        self._directories = [path.absolute() for path in directories]
        for path in self._directories:
            if not path.is_dir():
                raise UsageError(f"--profiles {path}: no such directory")
        self._directories.append(machine)
        self._known: dict[_Stamp, dict[str, object]] = {}
        self._reading = asyncio.Lock()
        self._checking = ""
        self._children = Children()

    def end(self) -> None:
        """End what is being read or checked."""
        self._children.end()

    def files(self) -> dict[str, Path]:
        """Return the files by name, sorted by name."""
        found: dict[str, Path] = {}
        for directory in self._directories:
            for path in sorted(directory.glob("*.y*ml"))[:MAX_FILES]:
                if path.suffix in {".yaml", ".yml"} and path.is_file():
                    found.setdefault(path.stem, path)
        for name in names("profile"):
            found.setdefault(name, find("profile", name).absolute())
        return dict(sorted(found.items()))

    def file_of(self, wanted: str) -> str:
        """Return what the daemon is to load for a name, or a file, of the list; UsageError for any other.

        One that travels with the product is loaded by its name, so that a daemon elsewhere finds its own.
        """
        files = self.files()
        chosen = files.get(wanted) or next((path for path in files.values() if str(path) == wanted), None)
        if chosen is None:
            raise UsageError(f"load: {wanted[:80]!r} is not in the list of profiles; see it again")
        starter = chosen.stem in names("profile") and chosen == find("profile", chosen.stem).absolute()
        return chosen.stem if starter else str(chosen)

    async def listed(self, table: str) -> list[dict[str, object]]:
        """Return name, title, file, duration and problem of each; only files that have changed are read."""
        async with self._reading:
            files = {name: (path, _stamp(path, table)) for name, path in self.files().items()}
            self._known = {stamp: self._known[stamp] for _, stamp in files.values() if stamp in self._known}
            await self._read([stamp for _, stamp in files.values() if stamp not in self._known], table)
            return [
                {
                    "name": name,
                    "file": str(path),
                    **self._known[stamp],
                    "title": self._known[stamp]["title"] or name,
                }
                for name, (path, stamp) in files.items()
            ]

    async def _read(self, stamps: list[_Stamp], table: str) -> None:
        if not stamps:
            return
        paths = [stamp[0].partition("\0")[0] for stamp in stamps]
        asked = json.dumps({"table": table, "files": paths}).encode()
        done = await self._children.run("mastd.console.listing", given=asked, limit_s=LISTING_S)
        if done.code == 0:
            self._known.update(zip(stamps, json.loads(done.output), strict=True))
            return
        late = f"reading the profiles takes longer than {LISTING_S:g} s"
        problem = late if done.code is None else _first_line(done)
        for stamp in stamps:
            self._known[stamp] = {"title": None, "duration_s": None, "problem": problem}

    async def check(self, name: str, table: str) -> dict[str, object]:
        """Return ``{"ok", "text", "document"}`` of ``mastd check`` for a name of the list.

        One check at a time: while another one is continuing, the text says so and there is no document.
        """
        path = self.files().get(name)
        if path is None:
            return _unchecked(f"{name[:80]!r} is not in the list of profiles; see it again")
        if self._checking:
            return _unchecked(f"{self._checking} is being checked; try again when that is done")
        self._checking = name
        try:
            done = await self._children.run(
                "mastd", "check", str(path), "--json", "--table", table, limit_s=CHECK_S
            )
        finally:
            self._checking = ""
        if done.code is None:
            return _unchecked(
                f"the check takes longer than {CHECK_S:g} s; use `mastd check {path}` on a terminal"
            )
        if done.code not in (0, 1):
            return _unchecked(done.messages.strip() or f"the check ended with code {done.code}")
        document = json.loads(done.output)
        return {"ok": done.code == 0, "text": verdict(document), "document": document}


def verdict(document: dict[str, Any]) -> str:
    """Return the result of ``mastd check --json`` in words: what does not pass, and the warnings."""
    lines = [
        f"{limit['name'].replace('_', ' ')}: limit exceeded at {_seconds(limit['time_s'])}, {limit['where']}"
        for limit in document["limits"]
        if limit["margin"] is None or not limit["margin"] >= 0.0
    ]
    cue = document.get("cue")
    if cue is not None and cue["failed"]:
        lines.append("cue: check failed; see `mastd check` on a terminal")
    lines += [f"warning: {warning}" for warning in document["warnings"]]
    text = "check OK" if document["ok"] else "check failed"
    scale = document["scale"]
    more = "" if scale is None else f"; max. span {int(100.0 * scale)} %"
    lines.append(f"{text}; {_seconds(document['duration_s'])}{more}")
    return "\n".join(lines)


def _seconds(value: float | None) -> str:
    return "an unknown time" if value is None else f"{value:.2f} s"


def _unchecked(text: str) -> dict[str, object]:
    return {"ok": False, "text": text, "document": None}


def _first_line(done: Done) -> str:
    return done.messages.strip().partition("\n")[0] or f"reading ended with code {done.code}"


def _stamp(path: Path, table: str) -> _Stamp:
    """Return what changes when a file changes, or the table for which it is compiled."""
    try:
        status = path.stat()
    except OSError:
        return (f"{path}\0{table}", 0, 0)
    return (f"{path}\0{table}", status.st_mtime_ns, status.st_size)
