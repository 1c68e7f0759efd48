"""``mastd report RUN…``: the result of recorded runs, and a page of plots for each."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path

from mastd.errors import FormatError, UsageError
from mastd.record.ride_text import ride_lines

_EXIT_CODES = {"pass": 0, "fail": 1, "stopped": 1, "fault": 3}


def add_parsers(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the parser of ``report``."""
    parser = subparsers.add_parser("report", help="result and page of plots of recorded runs")
    parser.add_argument(
        "runs", metavar="RUN", nargs="+", type=Path, help="a run's directory, its run.mcap, or a fault-….mcap"
    )
    parser.add_argument(
        "--json", action="store_true", help="print the result as JSON, a list for several runs"
    )
    parser.add_argument(
        "--out",
        metavar="FILE",
        type=Path,
        help="page of plots (.png, .pdf, .svg) of one run; if left out, report.png beside each run's record",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Report on every run named; return the exit code of the worst verdict."""
    if arguments.out is not None and len(arguments.runs) > 1:
        raise UsageError("--out names one page, give one RUN with it")
    documents = []
    for path in arguments.runs:
        document, text = _report(path, arguments.out)
        documents.append(document)
        if not arguments.json:
            print(text)
    if arguments.json:
        print(json.dumps(documents[0] if len(documents) == 1 else documents, ensure_ascii=False, indent=2))
    return max(exit_code(document) for document in documents)


def _report(path: Path, page: Path | None) -> tuple[dict[str, object], str]:
    """Write the page of one record and return its document, and the document as text."""
    from mastd.record.fault_report import fault_history, fault_summary, make_fault_result
    from mastd.record.reader import find_run, open_run
    from mastd.record.report import write_page
    from mastd.record.result import make_result

    record = open_run(path)
    history = fault_history(record)
    if history is None:
        result = make_result(record)
        page = page or find_run(path).with_name("report.png")
        write_page(record, result, page)
        result["page"] = str(page)
        return result, summary(result)
    result = make_fault_result(record, history)
    page = page or path.with_suffix(".png")
    try:
        write_page(record, result, page)
        result["page"] = str(page)
    except FormatError as error:  # the cause is worth more than the plots
        result["no_page"] = str(error)
    return result, fault_summary(result)


def exit_code(result: Mapping[str, object]) -> int:
    """Return the exit code that stands for a verdict."""
    return _EXIT_CODES[str(result["verdict"])]


def summary(result: Mapping[str, object]) -> str:
    """Return the result as a few lines for a terminal."""
    cause = f" ({result['cause']})" if result["cause"] else ""
    lines = [
        f"{result['run']}: {str(result['verdict']).upper()}, ended in {result['state']}{cause},"
        f" {result['cycles']} cycles, {result['missed']} missed while the profile played,"
        f" {result['lost_frames']} frames lost"
    ]
    axes, driven, criteria = result["axes"], result["driven"], result["criteria"]
    indicated = result["indicated"]
    assert isinstance(axes, Mapping)
    assert isinstance(indicated, list)
    assert isinstance(driven, list)
    assert isinstance(criteria, list)
    for axis in driven:
        figures = {name: "–" if value is None else f"{value:.3f}" for name, value in axes[axis].items()}
        lag = axes[axis]["lag_s"]
        lines.append(
            f"  {axis:<6} nrmse {figures['nrmse']}, at best lag {figures['best_lag_nrmse']}"
            f" ({'–' if lag is None else f'{1e3 * lag:.1f}'} ms), peak ratio {figures['peak_ratio']},"
            f" cross axis {figures['cross_axis']}"
        )
    lines += [f"  {line}" for line in ride_lines(result)]
    for criterion in criteria:
        if not criterion["pass"]:
            limit = criterion["limit"]
            bound = f"within {limit[0]:g} … {limit[1]:g}" if isinstance(limit, list) else f"at most {limit:g}"
            value = "no figure" if criterion["value"] is None else f"{criterion['value']:.4g}"
            lines.append(f"  not met: {criterion['name']} is {value}, {bound} would pass")
    lines += [f"  indicated: {cause}" for cause in indicated]
    if result["damage"]:
        lines.append(f"  record broken off: {result['damage']}")
    if result.get("page"):
        lines.append(f"  page: {result['page']}")
    return "\n".join(lines)
