"""``mastd report RUN…``: the result of recorded runs, and a page to look at and to forward."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mastd.errors import FormatError, StoppedError, UsageError
from mastd.program import tell_result
from mastd.record.ride_text import ride_lines

if TYPE_CHECKING:
    from mastd.report.drawing.blocks import Page

_EXIT_CODES = {"pass": 0, "fail": 1, "stopped": StoppedError.exit_code, "fault": 3}

_WORSE = [0, StoppedError.exit_code, 1, 3]
"""Exit codes of verdicts, the worst one last."""


def add_parsers(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the parser of ``report``."""
    parser = subparsers.add_parser("report", help="report of recorded runs, one page each or compared")
    parser.add_argument(
        "runs", metavar="RUN", nargs="+", type=Path, help="a run's directory, its run.mcap, or a fault-….mcap"
    )
    parser.add_argument(
        "--json", action="store_true", help="print the result as JSON, a list for several runs"
    )
    parser.add_argument(
        "--compare", action="store_true", help="one page comparing all runs, instead of one for each"
    )
    parser.add_argument(
        "--out",
        metavar="FILE",
        type=Path,
        help="page of one run or comparison (.html, .pdf, .png, .svg; default: report.html next to"
        " the run's record, or compare.html next to the first run's directory",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Report on every run named; return the exit code of the worst verdict, 2 where --out was not written."""
    from mastd.report.write import require_ending

    if arguments.compare and len(arguments.runs) < 2:
        raise UsageError("--compare needs two or more RUN")
    if arguments.out is not None:
        if len(arguments.runs) > 1 and not arguments.compare:
            raise UsageError("--out is one page: give one RUN, or --compare")
        require_ending(arguments.out)
    if arguments.compare:
        documents = _compare(arguments.runs, arguments.out)
    else:
        documents = []
        for path in arguments.runs:
            document, text = _report(path, arguments.out)
            documents.append(document)
            if not arguments.json:
                tell_result(text)
    if arguments.json:
        tell_result(json.dumps(documents[0] if len(documents) == 1 else documents, indent=2))
    elif arguments.compare:
        lines = [summary({**document, "page": None}) for document in documents]
        tell_result("\n".join([*lines, f"page: {documents[0]['page'] or documents[0]['no_page']}"]))
    if arguments.out is not None and any(document.get("no_page") for document in documents):
        return FormatError.exit_code
    return max(map(exit_code, documents), key=_WORSE.index)


def write_run_page(page: Page, path: Path, result: dict[str, object]) -> None:
    """Write a page and note its path in the document."""
    from mastd.report.write import write_page

    write_page(page, path)
    result["page"] = str(path)


def _report(path: Path, page: Path | None) -> tuple[dict[str, object], str]:
    """Write the page of one record and return its document, and the document as text."""
    from mastd.record.fault_report import fault_history, fault_summary, make_fault_result
    from mastd.record.result import make_result
    from mastd.report.pages.fault import fault_page
    from mastd.report.pages.run import default_page, run_page
    from mastd.report.reading import read

    record = read(path)
    history = fault_history(record)
    if history is None:
        result = make_result(record)
        try:
            write_run_page(run_page(record, result), page or default_page(record.path), result)
        except FormatError as error:  # the verdict is worth more than the page
            _leave_out_page(result, error)
        return result, summary(result)
    result = make_fault_result(record, history)
    try:
        write_run_page(fault_page(record, result), page or path.with_suffix(".html"), result)
    except FormatError as error:  # the cause is worth more than the page
        _leave_out_page(result, error)
    return result, fault_summary(result)


def _leave_out_page(result: dict[str, object], error: FormatError) -> None:
    result["page"], result["no_page"] = None, str(error)


def _compare(paths: Sequence[Path], page: Path | None) -> list[dict[str, object]]:
    """Write one page of several runs and return their documents."""
    from mastd.record.result import make_result
    from mastd.report.pages.compare import MAX_RUNS, compare_page, compared
    from mastd.report.reading import read

    if len(paths) > MAX_RUNS:
        raise UsageError(f"{len(paths)} runs: at most {MAX_RUNS} can be compared on one page")
    runs, documents = [], []
    for number, path in enumerate(paths):
        record = read(path)
        document = make_result(record)
        runs.append(compared(record, document, number))
        documents.append(document)
    page = page or runs[0].view.run.path.parent.with_name("compare.html")
    whole = compare_page(runs)
    for document in documents:
        document["page"] = str(page)
    try:
        write_run_page(whole, page, documents[0])
    except FormatError as error:
        for document in documents:
            _leave_out_page(document, error)
    return documents


def exit_code(result: Mapping[str, object]) -> int:
    """Return the exit code of a verdict."""
    return _EXIT_CODES[str(result["verdict"])]


def _following(figures: Mapping[str, float | None]) -> str:
    """Return how an axis followed, in displacement or acceleration."""
    raw, best, peak, cross = (
        "–" if figures[name] is None else f"{figures[name]:.3f}"
        for name in ("nrmse", "best_lag_nrmse", "peak_ratio", "cross_axis")
    )
    lag = "–" if figures["lag_s"] is None else f"{1e3 * figures['lag_s']:.1f}"
    return f"nrmse {raw}, delay-compensated {best} ({lag} ms), peak ratio {peak}, cross axis {cross}"


def _more(figures: Mapping[str, float | None]) -> str:
    """Return what only accelerations have: response spectrum, flatness, distortion, as far as known."""
    from mastd.record.acceleration import is_lower_bound

    text = ""
    outside, flat, distortion = figures["spectrum_outside_share"], figures["flatness_hz"], figures["thd"]
    if outside is not None:
        text += f", RRS outside TRS {1e2 * outside:.1f} %"
    if flat is not None:
        text += f", ±1.5 dB to {'≥ ' if is_lower_bound(figures, 'flatness_hz') else ''}{flat:.3g} Hz"
    return text + ("" if distortion is None else f", distortion {1e2 * distortion:.2f} %")


def summary(result: Mapping[str, object]) -> str:
    """Return the result as a few lines for a terminal."""
    from mastd.record.result import missed_cycles_note

    cause = f" ({result['cause']})" if result["cause"] else ""
    lines = [
        f"{result['run']}: {str(result['verdict']).upper()}, ended in {result['state']}{cause},"
        f" {result['cycles']} cycles, {result['missed']} missed while the profile ran,"
        f" {'at least ' if result['damage'] else ''}{result['lost_frames']} frames lost"
    ]
    axes, driven, criteria = result["axes"], result["driven"], result["criteria"]
    indicated = result["indicated"]
    assert isinstance(axes, Mapping)
    assert isinstance(indicated, list)
    assert isinstance(driven, list)
    assert isinstance(criteria, list)
    for axis in driven:
        lines.append(f"  {axis:<6} {_following(axes[axis])}")
        accelerations = axes[axis]["acceleration"]
        if accelerations["nrmse"] is not None:
            lines.append(f"         acceleration {_following(accelerations)}{_more(accelerations)}")
    lines += [f"  {line}" for line in ride_lines(result)]
    for criterion in criteria:
        if not criterion["pass"]:
            limit = criterion["limit"]
            bound = f"within {limit[0]:g} … {limit[1]:g}" if isinstance(limit, list) else f"at most {limit:g}"
            value = "no value" if criterion["value"] is None else f"{criterion['value']:.4g}"
            lines.append(f"  not met: {criterion['name']} is {value}, {bound} would pass")
    if note := missed_cycles_note(result):
        lines.append(f"  {note}")
    lines += [f"  indicated: {cause}" for cause in indicated]
    if result["damage"]:
        lines.append(f"  record damaged: {result['damage']}")
    if result.get("page"):
        lines.append(f"  page: {result['page']}")
    if result.get("no_page"):
        lines.append(f"  no page: {result['no_page']}")
    return "\n".join(lines)
