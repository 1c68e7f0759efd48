"""``mastd check PROFILE``: check before motion that a profile can be run."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mastd.commands.progress import riding

if TYPE_CHECKING:
    from mastd.record.channels import ChannelSet
    from mastd.settings.daemon.daemon import DaemonSettings
    from mastd.settings.rigs.rigs import RigsSettings
    from mastd.settings.table.table import TableSettings


def add_parsers(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the parser of ``check``."""
    parser = subparsers.add_parser("check", help="check before motion that a profile can be run")
    parser.add_argument("profile", metavar="PROFILE", help="profile file, or the name of a starter profile")
    parser.add_argument(
        "--table", metavar="FILE", default="table", help="table settings (default: the starter table)"
    )
    parser.add_argument(
        "--config", metavar="FILE", default="simulated", help="daemon settings (default: simulated)"
    )
    parser.add_argument(
        "--rigs", metavar="FILE", help="rigs that may join: checks that the profile's rigs are among them"
    )
    parser.add_argument(
        "--out", metavar="DIR", default="runs", help="directory for the records: room for it (default: runs)"
    )
    parser.add_argument("--json", action="store_true", help="print the result as one JSON document")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Check one profile; return 0 if it passes, 1 if not."""
    from mastd.commands.check.cue_preview import cue_document, cue_text
    from mastd.control.estimation.motion_design import accelerometer_warnings
    from mastd.control.table.computed import with_computed_settings
    from mastd.control.table.delay_margin import feedback_proof
    from mastd.control.table.gains import with_drive_gains
    from mastd.control.table.stability_proof import stability_margins, stability_proof
    from mastd.kinematics.forward import Observer
    from mastd.kinematics.ranges import displacement_warnings
    from mastd.loop.measurement.frame import channel_units
    from mastd.loop.process.compile_progress import report_compiling
    from mastd.motion.preflight.preflight import check
    from mastd.record.space import space
    from mastd.settings.core.loader import load, load_text
    from mastd.settings.core.starter import find
    from mastd.settings.core.strict_yaml import read_text
    from mastd.settings.daemon.daemon import DaemonSettings
    from mastd.settings.profile.profile import ProfileSettings
    from mastd.settings.profile.rig_checks import rigs_problems
    from mastd.settings.rigs.rigs import RigsSettings
    from mastd.settings.table.table import TableSettings

    table_path = find("table", arguments.table)
    table = with_drive_gains(load(table_path, TableSettings))
    Observer.of(table, table_path)
    daemon = with_computed_settings(table, load(find("daemon", arguments.config), DaemonSettings))
    path = find("profile", arguments.profile)
    text = read_text(path)
    profile = load_text(text, str(path), ProfileSettings, channels=channel_units(table))
    rigs = load(find("rigs", arguments.rigs), RigsSettings) if arguments.rigs else None
    missing = rigs_problems(profile, rigs) if rigs is not None else []
    with report_compiling():
        cue = cue_document(profile, path, text)
        with riding(shown=not arguments.json and sys.stderr.isatty()) as progress:
            result = check(profile, table, progress)
        result = replace(
            result, warnings=(*accelerometer_warnings(table), *displacement_warnings(table), *result.warnings)
        )
        feedback = feedback_proof(table, daemon, profile.payload)
        stability = stability_proof(table, daemon, profile.payload)
        margins = stability_margins(table, daemon, profile.payload, stability.gains) if stability.ok else None
    ok = result.ok and feedback.ok and stability.ok
    ok = ok and not missing and not (cue is not None and cue["failed"])
    room = space(Path(arguments.out), _channels(table, rigs, daemon))
    if arguments.json:
        document = result.document() if cue is None else {**result.document(), "cue": cue}
        if profile.all_rigs():
            document["rigs"] = {"uses": list(profile.all_rigs()), "problems": missing}
        document["recording_left_s"] = None if room is None else room.seconds
        document["stability"] = {**stability.document(), **(margins.document() if margins else {})}
        print(json.dumps({**document, "feedback": feedback.document(), "ok": ok}, allow_nan=False))
    else:
        print(f"{profile.name}\n{stability.text()}")
        print(f"{margins.text()}\n" if margins else "", end="")
        print(f"{feedback.text()}\n{result.text()}")
        print("\n".join(supply.text(name) for name, supply in table.packs.items()))
        print("".join(f"  {path}: {problem}\n" for problem in missing), end="")
        if profile.all_rigs() and rigs is None:
            print(f"  uses {', '.join(profile.all_rigs())}: check them with --rigs FILE")
        if room is not None:
            print(f"  records: {room.short_of(result.duration) or room.text()}")
        if cue is not None:
            print(cue_text(cue))
    return 0 if ok else 1


def _channels(table: TableSettings, rigs: RigsSettings | None, daemon: DaemonSettings) -> ChannelSet:
    """Return what a record of this table holds."""
    from mastd.loop.measurement.frame import Frame
    from mastd.loop.rigs.rigs import rig_channels
    from mastd.record.channels import ChannelSet

    frame = Frame(table, rig_channels(rigs) if rigs else ())
    return ChannelSet(frame.channels, daemon.period_ns)
