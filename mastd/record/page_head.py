"""Head of the page of a run: verdict, figures, criteria and events in words and numbers."""

from __future__ import annotations

import datetime
import textwrap
from collections.abc import Mapping

from matplotlib.figure import Figure

from mastd.record.reader import Run

_VERDICT_COLOURS = {"pass": "#1b7f3b", "fail": "#b3261e", "stopped": "#8a6d00", "fault": "#b3261e"}
_MOST_LINES = 7
_FACT_WIDTH = 100


def write_head(
    figure: Figure, run: Run, result: Mapping[str, object], events: list[tuple[float, str, bool]]
) -> None:
    """Write title, verdict, table of figures, criteria and the numbered events (time, text, is a gap)."""
    verdict = str(result["verdict"])
    profile = run.metadata.get("profile")
    name = profile.get("name") if isinstance(profile, Mapping) else None
    figure.text(0.06, 0.977, str(name or run.path.parent.name), fontsize=13, weight="bold", va="top")
    figure.text(
        0.975,
        0.977,
        verdict.upper(),
        fontsize=13,
        weight="bold",
        va="top",
        ha="right",
        color=_VERDICT_COLOURS.get(verdict, "black"),
    )
    started = run.metadata.get("started_unix")
    when = (
        datetime.datetime.fromtimestamp(started).astimezone().strftime("%Y-%m-%d %H:%M:%S %z")
        if isinstance(started, int | float)
        else "start unknown"
    )
    facts = (
        f"{when}  ·  ended in {result['state']}"
        + (f": {result['cause']}" if result["cause"] else "")
        + f"  ·  {result['cycles']} cycles, {result['missed']} missed, {result['lost_frames']} frames lost"
    )
    figure.text(0.06, 0.957, facts, fontsize=7, va="top")
    if run.broken_off is not None:
        figure.text(
            0.06, 0.9465, f"record broken off: {run.broken_off}", fontsize=7, va="top", color="#b3261e"
        )
    figure.text(0.06, 0.935, _figure_table(result), fontsize=6.6, va="top", family="monospace")
    figure.text(0.455, 0.935, _criteria_text(result), fontsize=5.8, va="top", family="monospace")
    _write_events(figure, events)


def write_fault_head(
    figure: Figure, run: Run, result: Mapping[str, object], events: list[tuple[float, str, bool]]
) -> None:
    """Write cause, time, state and hint of a fault history and the numbered events (time, text, is a gap)."""
    figure.text(0.06, 0.977, run.path.stem, fontsize=11, weight="bold", va="top")
    figure.text(
        0.975, 0.977, "FAULT HISTORY", fontsize=13, weight="bold", va="top", ha="right", color="#b3261e"
    )
    facts = [
        f"{result['cause'] or 'cause unknown'}",
        f"code {result['code']}, action {result['action']}, in state {result['state']}, then "
        f"{result['state_after']}",
        f"{result['time'] or 'time unknown'}, cycle {result['cycle']}",
    ]
    if result["of_run"] is not None:
        facts.append(f"run {result['of_run']}, {result['time_in_run_s']:.3f} s after its first frame")
    if result["hint"]:
        facts.append(str(result["hint"]))
    if run.broken_off is not None:
        facts.append(f"file broken off: {run.broken_off}")
    wrapped = [part for fact in facts for part in textwrap.wrap(fact, _FACT_WIDTH)]
    figure.text(0.06, 0.955, "\n".join(wrapped), fontsize=7, va="top")
    _write_events(figure, events)


def _write_events(figure: Figure, events: list[tuple[float, str, bool]]) -> None:
    text = "\n".join(
        f"{number:2d} {event[1]}"[:44] for number, event in enumerate(events[:_MOST_LINES], start=1)
    )
    if len(events) > _MOST_LINES:
        text += f"\n   … and {len(events) - _MOST_LINES} more"
    if text:
        figure.text(
            0.715, 0.935, "events\n" + text, fontsize=5.8, va="top", family="monospace", color="#3949ab"
        )


def _figure_table(result: Mapping[str, object]) -> str:
    lines = ["axis    nrmse  best-lag  lag/ms  peak ratio  cross axis"]
    axes = result["axes"]
    assert isinstance(axes, Mapping)
    for axis, figures in axes.items():
        lag = figures["lag_s"]
        cells = (
            _number(figures["nrmse"], 7, 3),
            _number(figures["best_lag_nrmse"], 10, 3),
            _number(None if lag is None else 1e3 * lag, 8, 1),
            _number(figures["peak_ratio"], 12, 3),
            _number(figures["cross_axis"], 12, 3),
        )
        lines.append(f"{axis:<6}" + "".join(cells))
    internal = result["internal_force_rms_n"]
    shown = f"{internal / 1e3:.2f} kN" if isinstance(internal, float) else "–"
    lines.append(f"internal force rms {shown}")
    return "\n".join(lines)


def _criteria_text(result: Mapping[str, object]) -> str:
    criteria = result["criteria"]
    assert isinstance(criteria, list)
    lines = ["criteria: figure (limit)" if criteria else "no criteria in the profile"]
    ordered = sorted(criteria, key=lambda criterion: criterion["pass"])
    for criterion in ordered[:_MOST_LINES]:
        limit = criterion["limit"]
        bound = "…".join(f"{x:g}" for x in limit) if isinstance(limit, list) else f"{limit:g}"
        value = "–" if criterion["value"] is None else f"{criterion['value']:.4g}"
        lines.append(f"{'ok ' if criterion['pass'] else 'NO '}{criterion['name']:<20} {value} ({bound})")
    rest = ordered[_MOST_LINES:]
    if rest:
        lines.append(f"… {len(rest)} more, {sum(not criterion['pass'] for criterion in rest)} not met")
    return "\n".join(lines)


def _number(value: float | None, width: int, digits: int) -> str:
    return f"{'–':>{width}}" if value is None else f"{value:>{width}.{digits}f}"
