"""The loader: a process that checks and compiles one profile into a slot while the loop continues.

It proves the profile on the settings in force, as they stood when the daemon began; where their files have
changed since, it refuses, so that nobody takes the one for the other.

It reads one JSON line, ``{"profile": path or name, "slot": k, "remote": bool}``, from standard input and
prints one document, ``{"ok", "text", "slot", "name", "scale"}``, on standard output. Beside the slot it
leaves the head that a record of the profile will have, as ``slot-k.json`` in the daemon's own directory.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any, Final, TypeVar

from mastd import program
from mastd.control.table.computed import with_computed_settings
from mastd.control.table.delay_margin import require_feedback
from mastd.control.table.gains import with_drive_gains
from mastd.control.table.stability_proof import require_stability
from mastd.errors import MastdError, SettingsError, UsageError
from mastd.loop.cycle.slots import ProfileSlots
from mastd.loop.measurement.frame import channel_units
from mastd.loop.payload.prepare import channels_of, ready_profile
from mastd.loop.payload.profile_inputs import ProfileInputs
from mastd.loop.process import provenance
from mastd.motion.preflight.preflight import check
from mastd.oom_score import OF_HELPERS, give_up_protection
from mastd.settings.core.base import Settings
from mastd.settings.core.foreign import PROFILE, refuse_foreign, without_quotes
from mastd.settings.core.loader import load_text
from mastd.settings.core.starter import KINDS, find, names, starter_directory
from mastd.settings.core.strict_yaml import read_text
from mastd.settings.daemon.daemon import DaemonSettings
from mastd.settings.profile.profile import ProfileSettings
from mastd.settings.profile.rig_checks import rigs_problems
from mastd.settings.rigs.rigs import NO_RIGS, RigsSettings
from mastd.settings.table.identified import IdentifiedSettings
from mastd.settings.table.table import TableSettings
from mastd.vehicle.payload.checks import placed

_PROVED_ON: Final = ("table", "identified", "rigs")
"""Settings files of the daemon that decide whether and how a profile is played."""
_S = TypeVar("_S", bound=Settings)


def metadata_path(directory: Path, slot: int) -> Path:
    """Return where the head of a record of the profile in ``slot`` is kept."""
    return directory / f"slot-{slot}.json"


def daemon_path(directory: Path) -> Path:
    """Return where the daemon's part of every record's head is kept."""
    return directory / "daemon.json"


def command(slots: ProfileSlots, directory: Path) -> list[str]:
    """Return the command line of the loader; it needs the slots' file descriptor."""
    return [
        sys.executable,
        "-P",
        "-m",
        "mastd.loop.loading.loader",
        *("--slots", str(slots.descriptor), "--directory", str(directory)),
    ]


def profile_path(profile: str, table: Path, remote: bool) -> Path:
    """Return the file of a profile; raise UsageError if there is none.

    Over the network (``remote``) there is the folder ``profiles`` beside the file of the ``table``, and what
    travels with the product: a key is no account on this machine. Whether others exist is not said.
    """
    if remote:
        folders = (table.absolute().parent / "profiles", starter_directory() / KINDS["profile"])
        inside = any(Path(profile).resolve().is_relative_to(folder.resolve()) for folder in folders)
        if not inside and profile not in names("profile"):
            raise UsageError(
                f"{profile}: over the network profiles are loaded from {folders[0]} only, and by name those "
                "that `mastd profiles` lists"
            )
    return find("profile", profile)


def load_profile(
    profile: str, slot: int, slots: ProfileSlots, directory: Path, remote: bool = False
) -> dict[str, object]:
    """Check and compile a profile into ``slot``; raise MastdError if it cannot be read or made.

    ``remote``: somebody on the network wants it.
    """
    daemon = json.loads(daemon_path(directory).read_text(encoding="utf-8"))
    path = profile_path(profile, Path(daemon["settings_files"]["table"]), remote)
    _refuse_changed(daemon)
    table = _in_force(daemon, "table", TableSettings)
    assert table is not None, "a daemon has a table"
    table = with_drive_gains(table)
    profile_text = read_text(path)
    refuse_foreign(profile_text, path, "profile", PROFILE)
    settings = load_text(profile_text, str(path), ProfileSettings, channels=channel_units(table))
    if problems := rigs_problems(settings, _in_force(daemon, "rigs", RigsSettings) or NO_RIGS):
        raise SettingsError([f"{path}: {problem}" for problem in problems])
    inputs = ProfileInputs.read(settings, table)
    verdict = check(settings, table, motion=inputs.motion)
    if not verdict.ok:
        text = f"{path}: the check failed:\n{verdict.text()}"
        return {"ok": False, "text": text, "slot": slot, "name": settings.name, "scale": verdict.scale}
    in_force = _in_force(daemon, "daemon", DaemonSettings)
    assert in_force is not None, "a daemon has settings"
    in_force = with_computed_settings(table, in_force)
    require_stability(table, in_force, settings.payload, daemon["settings_files"]["table"])
    require_feedback(table, in_force, settings.payload, daemon["settings_files"]["daemon"])
    period = in_force.period_ns * 1e-9
    identified = _in_force(daemon, "identified", IdentifiedSettings)
    with placed(path, profile_text):
        loaded = ready_profile(inputs, period, verdict.scale, slot=slot, identified=identified)
    inputs.confirm()
    slots.write(slot, loaded)
    channels = channels_of(loaded.vehicle, loaded.driven)
    head = provenance.join(daemon, provenance.of_profile(profile_text, inputs, loaded, channels))
    metadata_path(directory, slot).write_text(json.dumps(head), encoding="utf-8")
    text = f"{settings.name}: {loaded.duration:.1f} s, passes; "
    text += "driven" if loaded.is_driven else f"maximum span {verdict.scale:.1%}"
    return {"ok": True, "text": text, "slot": slot, "name": settings.name, "scale": verdict.scale}


def _in_force(daemon: dict[str, Any], name: str, model: type[_S]) -> _S | None:
    """Return settings as they stood when the daemon began, None where it has none of that name."""
    text = daemon["settings_text"].get(name)
    return None if text is None else load_text(text, daemon["settings_files"][name], model)


def _refuse_changed(daemon: dict[str, Any]) -> None:
    """Raise SettingsError, a line each, for files that do not hold the settings in force any more."""
    texts, files = daemon["settings_text"], daemon["settings_files"]
    changed = [files[name] for name in _PROVED_ON if name in files and not _holds(files[name], texts[name])]
    if changed:
        advice = "reload first (`mastd ctl reload` in OFF), or restore the file"
        raise SettingsError([f"{file}: differs from the settings in force: {advice}" for file in changed])


def _holds(file: str, text: str) -> bool:
    try:
        return read_text(Path(file)) == text
    except SettingsError:
        return False


def main() -> int:
    """Load one profile; return 0 when it is in its slot, 1 when it was refused."""
    os.nice(10)
    give_up_protection(OF_HELPERS)
    parser = argparse.ArgumentParser(prog="mastd.loop.loading.loader")
    parser.add_argument("--slots", type=int, required=True)
    parser.add_argument("--directory", type=Path, required=True)
    arguments = parser.parse_args()
    job = json.loads(sys.stdin.readline())
    slot = int(job["slot"])
    try:
        slots = ProfileSlots(arguments.slots)
        remote = job.get("remote") is True
        document = load_profile(str(job["profile"]), slot, slots, arguments.directory, remote)
    except (MastdError, OSError, ValueError) as error:
        text = without_quotes(str(error), Path(str(job["profile"])))
        document = {"ok": False, "text": text, "slot": slot, "name": "", "scale": 0.0}
    sys.stdout.write(json.dumps(document) + "\n")
    return 0 if document["ok"] else 1


if __name__ == "__main__":
    sys.exit(program.run(main))
