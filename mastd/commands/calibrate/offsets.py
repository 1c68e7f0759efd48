"""``mastd calibrate offsets``: which offsets of length transducers cause internal force between actuators."""

from __future__ import annotations

import argparse
import json
import math
import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from mastd.commands.plant_options import add_plant_options, daemon_settings, stop_on_signals
from mastd.commands.recorded_play import add_play_options, preparing, recorded_play
from mastd.errors import FormatError, StoppedError, UsageError
from mastd.program import tell_result

if TYPE_CHECKING:
    from mastd.commands import Subparsers
    from mastd.control.identification.length_offsets import LengthOffsets, SlowMotion
    from mastd.loop.process.script import StopRequest
    from mastd.loop.service.single_run import RunOutcome
    from mastd.settings.table.table import TableSettings

SLOW_HEAVE: Final = "slow_heave"
"""Profile that is run if none is named."""
DIGITS: Final = 4
"""Of an offset in mm: a tenth of a micrometre, less than any transducer resolves."""


def add_parsers(subparsers: Subparsers) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser("calibrate", help="calibrate length transducers on the raised table")
    kinds = parser.add_subparsers(dest="kind", required=True, metavar="WHAT")
    offsets = kinds.add_parser(
        "offsets",
        help="offsets of the length transducers that cause force fight between the actuators",
        description="Run a slow motion, or evaluate the record of one, and show the offsets of the length "
        "transducers that cause force fight between the actuators; written only with --write.",
    )
    offsets.add_argument(
        "--profile",
        metavar="PROFILE",
        help=f"profile to run: a slow motion with the payload on the table ({SLOW_HEAVE}: none)",
    )
    offsets.add_argument(
        "--from",
        dest="source",
        metavar="RUN",
        type=Path,
        help="run nothing, evaluate an existing run: directory, run.mcap or fault-….mcap",
    )
    offsets.add_argument(
        "--write",
        action="store_true",
        help="write them into the table's file; the previous file is kept as FILE.bak",
    )
    add_plant_options(offsets)
    add_play_options(offsets)
    offsets.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Play unless a run is named, find, show, write when told; return 0 done, 3 fault, 5 stopped."""
    import numpy as np

    from mastd.commands.calibrate.record import balance_limit, slow_motion, table_of, wanted
    from mastd.control.identification.length_offsets import find_offsets, settled_stiffness
    from mastd.kinematics.geometry import Geometry
    from mastd.record.reader import open_run
    from mastd.settings.core.starter import find
    from mastd.settings.table.internal_forces import force_patterns

    path = find("table", arguments.table)
    source, code, message = arguments.source, 0, ""
    if source is None:
        with stop_on_signals() as stop:
            source, outcome = _played(arguments, stop)
        if outcome.fault or not outcome.completed:
            code = 3 if outcome.fault else StoppedError.exit_code
            message = outcome.cause or ""
            ended = "the run ended in a fault" if outcome.completed else "the run did not reach its end"
            print(f"{ended}: {message}", file=sys.stderr)
    try:
        record = open_run(source, wanted)
    except FormatError as error:
        if not code:
            raise
        print(error, file=sys.stderr)  # the record of a run that has failed hides nothing of that
        return code
    if record.damage_ever is not None:
        print(f"{record.path}: the record is damaged: {record.damage_ever}", file=sys.stderr)
    table = table_of(record)
    geometry = Geometry.from_settings(table)
    patterns = np.array([pattern.vector for pattern in force_patterns(table)])
    try:
        motion = slow_motion(record, geometry)
        found = find_offsets(geometry, motion, settled_stiffness(table), balance_limit(record), patterns)
    except FormatError as error:
        raise UsageError(f"{error}; no offset was found") from error
    except ValueError as error:
        raise UsageError(f"{record.path}: {error}; no offset was found") from error
    beside = _beside(found, table, motion)
    document = _document(found, table, str(record.path), message)
    document["displacement"] = [one._asdict() for one in beside]
    told = found.told or any(one.new_offset_m != one.offset_m for one in beside)
    if arguments.write and told:
        write(path, table, _new_offsets(found, table), [one.new_offset_m for one in beside])
        document["written"] = str(path)
    lines = _text(found, table, document, beside, told)
    tell_result(json.dumps(document, allow_nan=False) if arguments.json else lines)
    return code


class _Beside(NamedTuple):
    """A displacement transducer: by how much it reads too long against the actuators, and its offset, m."""

    name: str
    error_m: float
    uncertainty_m: float
    offset_m: float
    new_offset_m: float


def _beside(found: LengthOffsets, table: TableSettings, motion: SlowMotion) -> list[_Beside]:
    """Return what is known of each displacement transducer; its offset stays where the error is in doubt."""
    import numpy as np

    from mastd.control.identification.length_offsets import CERTAINTY, displacement_errors
    from mastd.kinematics.geometry import Geometry

    geometry, lengths = Geometry.from_settings(table), Geometry.of_lengths(table)
    corrections = np.array(_new_offsets(found, table)) - [one.transducer.offset for one in table.links]
    errors, doubts = displacement_errors(geometry, lengths, motion, corrections)
    return [
        _Beside(
            one.name,
            float(error),
            float(doubt),
            one.offset,
            _rounded(one.offset - float(error)) if abs(error) > CERTAINTY * doubt else one.offset,
        )
        for one, error, doubt in zip(table.sensors.displacement, errors, doubts, strict=True)
    ]


def _rounded(offset: float) -> float:
    """Return an offset in m as it is written."""
    return round(1e3 * offset, DIGITS) * 1e-3


def _played(arguments: argparse.Namespace, stop: StopRequest) -> tuple[Path, RunOutcome]:
    """Check, play and record; return the record and how it ended."""
    from mastd.control.identification.length_offsets import require_patterns
    from mastd.kinematics.geometry import Geometry
    from mastd.loop.process.installation import Plan
    from mastd.settings.core.loader import load
    from mastd.settings.core.starter import find
    from mastd.settings.table.table import TableSettings

    path = find("table", arguments.table)
    with preparing(arguments) as live:
        table = load(path, TableSettings)
        try:
            require_patterns(Geometry.from_settings(table))
        except ValueError as error:
            raise UsageError(f"{path}: {error}; nothing was moved") from error
        if arguments.profile is None and "heave" not in table.freedoms:
            raise UsageError(
                f"{path}: guides hold heave, so that {SLOW_HEAVE} cannot be run: name a profile with a slow "
                f"motion in {', '.join(table.freedoms)} by --profile"
            )
        profile = find("profile", arguments.profile or SLOW_HEAVE)
        plan = Plan.load(path, profile, daemon_settings(arguments))
        # What the control learns of the valves would take up what the balance is to tell.
        control = plan.daemon.control
        feedforward = control.feedforward.model_copy(update={"valve_learning": False})
        control = control.model_copy(update={"feedforward": feedforward})
        plan = replace(plan, daemon=plan.daemon.model_copy(update={"control": control}))
        return recorded_play(arguments, plan, plan.check(), stop, live=live)


def _document(found: LengthOffsets, table: TableSettings, record: str, ended: str) -> dict[str, object]:
    from mastd.settings.table.internal_forces import force_patterns

    return {
        "run": record,
        "ended": ended or None,
        "told": found.told,
        "contradictory": found.contradictory,
        "balanced": found.balanced,
        "links": [
            {"name": actuator.name, "offset_m": actuator.transducer.offset, "new_offset_m": new}
            for actuator, new in zip(table.links, _new_offsets(found, table), strict=True)
        ],
        "patterns": [
            {
                "name": pattern.name,
                "links": found.patterns[k].tolist(),
                "amount_m": float(found.amount[k]),
                "uncertainty_m": float(found.doubt[k]),
                "by_lengths_m": float(found.by_lengths[k]),
                "by_balance_m": float(found.by_trim[k]) if found.balanced else None,
                "internal_force_n": float(found.force[k]),
                "without_balance_n": float(found.free_force[k]),
                "with_new_offsets_n": float(found.rest_force[k]),
                "with_new_offsets_uncertainty_n": float(found.force_doubt[k]),
            }
            for k, pattern in enumerate(force_patterns(table))
        ],
        "written": None,
    }


def _new_offsets(found: LengthOffsets, table: TableSettings) -> list[float]:
    """Return the offset of each transducer in m as it would be written; one that stays is as it was."""
    return [
        actuator.transducer.offset
        if abs(correction) < 0.5 * 10.0 ** -(DIGITS + 3)
        else _rounded(actuator.transducer.offset + float(correction))
        for actuator, correction in zip(table.links, found.corrections, strict=True)
    ]


def _text(
    found: LengthOffsets,
    table: TableSettings,
    document: dict[str, object],
    beside: Sequence[_Beside],
    told: bool,
) -> str:
    from mastd.settings.table.internal_forces import force_patterns

    lines = [f"offsets of the lengths, from {document['run']}"]
    width = max(len(actuator.name) for actuator in table.links)
    lines.append(f"  {'actuator':<{width}}  offset, mm      new, mm")
    for actuator, new in zip(table.links, _new_offsets(found, table), strict=True):
        lines.append(
            f"  {actuator.name:<{width}}  {actuator.transducer.offset * 1e3:10.4f}  {new * 1e3:11.4f}"
        )
    for k, pattern in enumerate(force_patterns(table)):
        lines += _pattern_lines(found, pattern.name, k)
    lines += [
        f"  {one.name} reads {one.error_m * 1e3:+.4f} ± {one.uncertainty_m * 1e3:.4f} mm too long against "
        f"the actuators: offset, mm {one.offset_m * 1e3:.4f}, new {one.new_offset_m * 1e3:.4f}"
        for one in beside
    ]
    alone = [
        f"{actuator.name} reads {error * 1e3:+.3f} mm too long"
        for actuator, error in zip(table.links, found.single, strict=True)
        if math.isfinite(error)
    ]
    lines.append(f"  if a single transducer is wrong: {', or '.join(alone) or 'none explains it'}")
    lines.append("  a movement of the table explains all other combinations; they do not show here")
    if found.contradictory:
        lines.append("  the lengths and the balance contradict each other, so that neither is believed")
    elif not told:
        lines.append("  not significant: the offsets stay unchanged")
    elif document["written"]:
        lines.append(f"  written to {document['written']}")
    else:
        lines.append("  nothing written; use --write")
    return "\n".join(lines)


def _pattern_lines(found: LengthOffsets, name: str, k: int) -> list[str]:
    """Return what is known of one pattern."""
    ways = f"the lengths indicate {found.by_lengths[k] * 1e3:+.4f} mm"
    if found.balanced:
        ways += f", the balance {found.by_trim[k] * 1e3:+.4f} mm"
    force, free, rest, about = (
        1e-3 * value[k] for value in (found.force, found.free_force, found.rest_force, found.force_doubt)
    )
    return [
        f"  {name}: {found.amount[k] * 1e3:+.4f} ± {found.doubt[k] * 1e3:.4f} mm ({ways})",
        f"  internal force: {force:+.1f} kN as it was, without the balance up to {free:+.0f} kN; without it "
        f"and with the new offsets {rest:+.0f} ± {about:.0f} kN",
    ]


def write(path: Path, table: TableSettings, offsets: Sequence[float], beside: Sequence[float] = ()) -> None:
    """Write the transducers' offsets (m) into the file of ``table``, all else unchanged.

    ``offsets`` of the actuators', ``beside`` of the displacement transducers.

    The old file stays beside it as FILE.bak. Raises UsageError for a starter file, and for a file that is
    another table by now; SettingsError for one in which an offset is not to be found.
    """
    from mastd.control.table.gains import with_drive_gains
    from mastd.formats.core.files import replacing
    from mastd.settings.core.edit_text import Location, amended
    from mastd.settings.core.loader import load_text
    from mastd.settings.core.starter import starter_directory
    from mastd.settings.core.strict_yaml import read_text
    from mastd.settings.table.table import TableSettings

    if path.resolve().is_relative_to(starter_directory().resolve()):
        raise UsageError(
            f"{path}: is the starter file, which is read-only; copy it with `mastd init` and give the "
            "copy with "
            "--table"
        )
    text = read_text(path)
    if with_drive_gains(load_text(text, str(path), TableSettings)) != table:
        raise UsageError(f"{path}: has changed since that run; repeat the run before writing")
    changes: dict[Location, str] = {
        ("links", k, "transducer", "offset"): f"{offset * 1e3:.{DIGITS}f} mm"
        for k, (actuator, offset) in enumerate(zip(table.links, offsets, strict=True))
        if offset != actuator.transducer.offset
    }
    for k, (one, offset) in enumerate(zip(table.sensors.displacement, beside, strict=False)):
        if offset != one.offset:
            changes["sensors", "displacement", k, "offset"] = f"{offset * 1e3:.{DIGITS}f} mm"
    new = amended(text, str(path), changes)
    load_text(new, str(path), TableSettings)
    try:
        shutil.copyfile(path, path.with_name(f"{path.name}.bak"))
    except OSError as error:
        raise UsageError(f"{path}.bak: cannot be written: {error.strerror}") from error
    with replacing(path) as file:
        file.write(new.encode("utf-8"))
