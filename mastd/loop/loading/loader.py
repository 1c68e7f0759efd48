"""The loader: a process that checks and compiles one profile into a slot while the loop goes on.

It reads one JSON line, ``{"profile": path or name, "slot": k}``, from standard input and prints one document,
``{"ok", "text", "slot", "name", "scale"}``, on standard output. Beside the slot it leaves the head that a
record of the profile will have, as ``slot-k.json`` in the daemon's own directory.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from mastd import program
from mastd.errors import MastdError, SettingsError
from mastd.loop.cycle.slots import ProfileSlots
from mastd.loop.measurement.frame import channel_units
from mastd.loop.payload.prepare import channels_of, ready_profile
from mastd.loop.process import provenance
from mastd.motion.preflight.preflight import check
from mastd.settings.core.loader import load, load_text
from mastd.settings.core.starter import find
from mastd.settings.profile.profile import ProfileSettings
from mastd.settings.profile.rig_checks import rigs_problems
from mastd.settings.rigs.rigs import NO_RIGS, RigsSettings
from mastd.settings.table.identified import IdentifiedSettings
from mastd.settings.table.table import TableSettings
from mastd.vehicle.payload.checks import placed


def metadata_path(directory: Path, slot: int) -> Path:
    """Return where the head of a record of the profile in ``slot`` is kept."""
    return directory / f"slot-{slot}.json"


def daemon_path(directory: Path) -> Path:
    """Return where the daemon's part of every record's head is kept."""
    return directory / "daemon.json"


def command(table: Path, slots: ProfileSlots, directory: Path) -> list[str]:
    """Return the command line of the loader; it needs the slots' file descriptor."""
    return [
        sys.executable,
        "-P",
        "-m",
        "mastd.loop.loading.loader",
        *("--table", str(table), "--slots", str(slots.descriptor), "--directory", str(directory)),
    ]


def load_profile(
    profile: str, slot: int, table_path: Path, slots: ProfileSlots, directory: Path
) -> dict[str, object]:
    """Check and compile a profile into ``slot``; raise MastdError if it cannot be read or made."""
    path = find("profile", profile)
    table = load(table_path, TableSettings)
    settings = load(path, ProfileSettings, channels=channel_units(table))
    daemon = json.loads(daemon_path(directory).read_text(encoding="utf-8"))
    if problems := rigs_problems(settings, _rigs(daemon)):
        raise SettingsError([f"{path}: {problem}" for problem in problems])
    verdict = check(settings, table)
    if not verdict.ok:
        text = f"{path}: the check failed:\n{verdict.text()}"
        return {"ok": False, "text": text, "slot": slot, "name": settings.name, "scale": verdict.scale}
    period = round(1e9 / daemon["daemon"]["rate"]) * 1e-9
    with placed(path):
        loaded = ready_profile(
            settings, table, period, verdict.scale, slot=slot, identified=_identified(daemon)
        )
    slots.write(slot, loaded)
    channels = channels_of(loaded.vehicle, loaded.driven)
    head = provenance.join(daemon, provenance.of_profile(path, settings, loaded, channels))
    metadata_path(directory, slot).write_text(json.dumps(head), encoding="utf-8")
    text = f"{settings.name}: {loaded.duration:.1f} s, passes; "
    text += "driven" if loaded.is_driven else f"maximum span {verdict.scale:.1%}"
    return {"ok": True, "text": text, "slot": slot, "name": settings.name, "scale": verdict.scale}


def _identified(daemon: dict[str, Any]) -> IdentifiedSettings | None:
    """Return what the daemon has found out about its table, as it stood when the daemon began."""
    text = daemon["settings_text"].get("identified")
    return None if text is None else load_text(text, "identified", IdentifiedSettings)


def _rigs(daemon: dict[str, Any]) -> RigsSettings:
    """Return the rigs that may join, as they stood when the daemon began."""
    text = daemon["settings_text"].get("rigs")
    return NO_RIGS if text is None else load_text(text, "rigs", RigsSettings)


def main() -> int:
    """Load one profile; return 0 when it is in its slot, 1 when it was refused."""
    os.nice(10)
    parser = argparse.ArgumentParser(prog="mastd.loop.loading.loader")
    parser.add_argument("--table", type=Path, required=True)
    parser.add_argument("--slots", type=int, required=True)
    parser.add_argument("--directory", type=Path, required=True)
    arguments = parser.parse_args()
    job = json.loads(sys.stdin.readline())
    slot = int(job["slot"])
    try:
        document = load_profile(
            str(job["profile"]), slot, arguments.table, ProfileSlots(arguments.slots), arguments.directory
        )
    except (MastdError, OSError, ValueError) as error:
        document = {"ok": False, "text": str(error), "slot": slot, "name": "", "scale": 0.0}
    sys.stdout.write(json.dumps(document) + "\n")
    return 0 if document["ok"] else 1


if __name__ == "__main__":
    sys.exit(program.run(main))
