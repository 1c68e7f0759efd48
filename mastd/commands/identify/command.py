"""`mastd identify`: play a short prescribed motion, and find from its record what the table really is."""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mastd.commands.plant_options import add_plant_options, daemon_settings, stop_on_signals
from mastd.commands.progress import riding
from mastd.commands.recorded_play import add_play_options, judged, preparing, recorded_play
from mastd.commands.report import exit_code, summary
from mastd.errors import FormatError, UsageError
from mastd.program import tell_result

if TYPE_CHECKING:
    from mastd.commands import Subparsers
    from mastd.commands.identify.frequency_matrix import Matrices
    from mastd.loop.process.installation import Plan
    from mastd.loop.process.script import StopRequest
    from mastd.motion.preflight.verdict import Preflight
    from mastd.record.reader import Run
    from mastd.settings.table.identified import IdentifiedSettings
    from mastd.settings.table.table import TableSettings

MIN_SCALE: Final = 0.3
"""Least share of the play that is worth playing."""
MUCH_BRIDGED: Final = 0.02
"""Fraction of periods without a sample from which on the valves' delays are doubtful."""
SCALE_RESERVE: Final = 0.95
"""Of the scale that would just pass."""


def add_parsers(subparsers: Subparsers) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "identify",
        help="identify valves, oil, friction and payload from a short run, each with its uncertainty",
    )
    parser.add_argument(
        "--profile",
        metavar="PROFILE",
        help="profile whose payload is on the table (file or starter name; default: empty table)",
    )
    parser.add_argument(
        "--play", metavar="PROFILE", default="identify", help="profile to run (default: identify)"
    )
    parser.add_argument(
        "--from",
        dest="source",
        metavar="RUN",
        type=Path,
        help="run nothing, evaluate an existing run",
    )
    parser.add_argument(
        "--write",
        metavar="FILE",
        type=Path,
        help="file of the identified values (default: identified-DATE.yaml next to the record)",
    )
    add_plant_options(parser)
    add_play_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Play unless a run is named, find, write; return 0 when done, 1 verdict fail, 3 fault, 5 stopped.

    Ctrl-C and SIGTERM are heard as `mastd run` does.
    """
    from mastd.record.completeness import refuse_incomplete
    from mastd.record.reader import open_run

    if arguments.source is not None:
        if arguments.profile:
            raise UsageError("--profile is for a new run; the payload of --from is in its record")
        record = open_run(arguments.source)
        refuse_incomplete(record)
        return _find(record, arguments)
    with stop_on_signals() as stop:
        result = _played(arguments, stop)
    if result["verdict"] != "pass":
        if arguments.json:
            tell_result(json.dumps({"identified": None, **_head(result)}, allow_nan=False))
        else:
            tell_result(f"{summary(result)}\nnothing was identified: the run did not reach its end")
        return exit_code(result)
    return _find(open_run(Path(str(result["run"]))), arguments, result)


def _head(result: dict[str, Any]) -> dict[str, Any]:
    return {key: result[key] for key in ("run", "verdict", "state", "cause")}


def _played(arguments: argparse.Namespace, stop: StopRequest) -> dict[str, Any]:
    """Play, record, and return the document of the run."""
    with preparing(arguments) as live:
        plan, verdict = _checked(arguments, live)
        record, outcome = recorded_play(arguments, plan, verdict, stop, live=live)
    return judged(record, outcome)[0]


def _checked(arguments: argparse.Namespace, live: bool) -> tuple[Plan, Preflight]:
    """Return the plan with the payload that is meant, scaled down if it does not pass the check as it is."""
    from mastd.control.identification.findings import not_identified
    from mastd.loop.payload.prepare import ready_profile
    from mastd.loop.payload.profile_inputs import ProfileInputs
    from mastd.loop.process.installation import Plan
    from mastd.settings.core.starter import find
    from mastd.settings.table.payload import SIMULATED

    plan = Plan.load(
        find("table", arguments.table), find("profile", arguments.play), daemon_settings(arguments)
    )
    if refusal := not_identified(plan.table):
        raise UsageError(f"{find('table', arguments.table)}: {refusal}; nothing was played")
    profile = plan.profile
    if profile.mode != "segments":
        raise UsageError(
            f"{plan.profile_path}: is driven by hand, by a driver or by a rig; identification needs segments"
        )
    if arguments.profile:
        profile = profile.model_copy(update={"payload": _payload_of(arguments.profile, plan)})
    if profile.payload.kind in SIMULATED:
        raise UsageError(
            f"{arguments.profile or plan.profile_path}: the payload is a simulated vehicle, which acts on"
            " the plant by forces only; identify needs a rigid payload or none"
        )
    plan = replace(plan, inputs=ProfileInputs.read(profile, plan.table))
    with riding(shown=live) as progress:
        verdict = plan.check(progress)
        if not verdict.ok and verdict.scale * SCALE_RESERVE >= MIN_SCALE:
            scale = verdict.scale * SCALE_RESERVE
            print(
                f"{profile.name}: running at span {scale:.0%}, the maximum that passes the check",
                file=sys.stderr,
            )
            profile = profile.model_copy(update={"gain": profile.gain * scale})
            plan = replace(plan, inputs=ProfileInputs.read(profile, plan.table))
            verdict = plan.check(progress)
    ready = ready_profile(plan.inputs, plan.daemon.period_ns * 1e-9, 1.0)
    return replace(plan, ready=ready), verdict


def _payload_of(name: str, plan: Plan) -> object:
    """Return the payload of another profile."""
    from mastd.loop.measurement.frame import channel_units
    from mastd.settings.core.loader import load
    from mastd.settings.core.starter import find
    from mastd.settings.profile.profile import ProfileSettings

    return load(find("profile", name), ProfileSettings, channels=channel_units(plan.table)).payload


def _late_text(bridged: float) -> str:
    return (
        f"{bridged:.0%} of the plant's periods passed before their sample was read: the valve delays"
        " are those of a busy machine; run in lockstep, or with real-time rights"
    )


@dataclass(frozen=True)
class _Files:
    """Where the values and the page go."""

    values: Path
    page: Path

    @classmethod
    def beside(cls, record: Path, wanted: Path | None, made: time.struct_time) -> _Files:
        values = wanted or record.with_name(f"identified-{time.strftime('%Y%m%d-%H%M%S', made)}.yaml")
        if values.suffix not in {".yaml", ".yml"}:
            raise UsageError(f"{values}: the file of the values must end in .yaml")
        return cls(values, values.with_suffix(".html"))


def _find(record: Run, arguments: argparse.Namespace, result: dict[str, Any] | None = None) -> int:
    """Find from a record, write values and page, print."""
    from mastd.commands.identify.frequency_matrix import matrix_blocks, save_matrices
    from mastd.commands.identify.page import identified_page
    from mastd.commands.identify.record import payload_of_run, play_of, sha256_of, table_of
    from mastd.control.identification.findings import find
    from mastd.control.identification.settings import settings_of
    from mastd.report.identified_rows import document_of, rows_of, text_table
    from mastd.report.provenance_table import plant_text
    from mastd.report.write import write_page
    from mastd.settings.table.identified_file import payload_line

    table, payload = table_of(record), payload_of_run(record)
    made = time.localtime()
    files = _Files.beside(record.path, arguments.write, made)
    try:
        play = play_of(record, table)
        found = find(play.measurement, table)
        if play.bridged > MUCH_BRIDGED:
            found = replace(found, notes=(*found.notes, _late_text(play.bridged)))
    except ValueError as error:
        raise UsageError(f"{record.path}: {error}; nothing was identified") from error
    day = time.strftime("%Y-%m-%d %H:%M", made)
    values = settings_of(
        found,
        f"{table.name}, {day}",
        time.strftime("%Y-%m-%dT%H:%M:%S%z", made),
        table.name,
        sha256_of(record.path),
        payload_line(payload),
    )
    _write(values, files.values)
    rows = rows_of(values, table, payload)
    facts = (
        ("record", str(record.path)),
        ("SHA-256 of the record", values.run_sha256),
        ("plant", plant_text(record.metadata)),
        ("periods without a sample, bridged", f"{play.bridged:.2%}"),
        ("payload, nominal", values.nominal_payload),
        ("values", str(files.values)),
    )
    page = identified_page(found, rows, table, f"Identified {day}", facts)
    matrices, no_matrix = _matrices(record, table)
    if matrices is not None:
        page = replace(page, blocks=(*page.blocks, *matrix_blocks(matrices)))
        matrix = save_matrices(files.values.parent, matrices)
    write_page(page, files.page)
    if arguments.json:
        head = _head(result) if result is not None else {"run": str(arguments.source)}
        document = {
            "identified": str(files.values),
            "page": str(files.page),
            **head,
            **document_of(values, table),
            "notes": list(found.notes),
            "matrix": None if matrices is None else str(matrix),
            "coherence": None if matrices is None else matrices.coherence,
        }
        print(json.dumps(document, allow_nan=False))
        return 0
    print(text_table(rows))
    if found.payload is None:
        print("no payload")
    for note in found.notes:
        print(f"doubtful: {note}")
    print(no_matrix if matrices is None else f"frequency response matrix: {matrix}")
    print(f"values: {files.values}\npage: {files.page}")
    return 0


def _matrices(record: Run, table: TableSettings) -> tuple[Matrices | None, str]:
    """Return the frequency response matrices of a record, or None and why it tells none."""
    from mastd.commands.identify.frequency_matrix import matrices_of

    try:
        return matrices_of(record, table), ""
    except (FormatError, ValueError) as error:
        return None, f"no frequency response matrix: {error}"


def _write(values: IdentifiedSettings, path: Path) -> None:
    from mastd.settings.table.identified_file import identified_text

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(identified_text(values), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path}: cannot write the values: {error.strerror or error}") from error
