"""One page of plots for a run: reference and achieved, lengths within stroke, forces, cycle times, events.

The page is an A4 sheet. Every axis has the whole run on the left and, on the right, two seconds around the
largest reference, both as recorded; below come stroke and force of every link with their limits, and the
histogram of the cycle times, then the figures of a ride as text. Events and gaps in the record stand as
numbered lines. The page of a fault history has the whole file on the left and, on the right, one second
before and after the fault.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from mastd.errors import FormatError, UsageError
from mastd.record.channels import AXES, LENGTH_AXES
from mastd.record.fault_report import fault_history, fault_time
from mastd.record.page_foot import foot_height, write_foot
from mastd.record.page_head import write_fault_head, write_head
from mastd.record.reader import Run
from mastd.record.result import NEEDED, find_window
from mastd.signals.metrics import ROTATION_ARM

PAGE_FORMATS = (".png", ".pdf", ".svg")
_A4 = (8.27, 11.69)
_DPI = 150
_MARGIN_S = 1.0
_CLOSE_UP_S = 2.0
_POINTS = 3000
_LEAST_HEIGHT = 0.05
_MOST_EVENTS = 24
_LABEL_SHARE = 0.02
_REFERENCE, _ACHIEVED = "#20262e", "#e0662a"
_EVENT, _GAP = "#3949ab", "#b3261e"
_LINKS = ("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#17becf", "#7f7f7f")


def write_page(run: Run, result: Mapping[str, object], path: Path) -> None:
    """Write the page of ``run`` with the figures of ``result`` to ``path`` (PNG, PDF or SVG by its ending).

    Raises UsageError if the ending is another one or the file cannot be written, FormatError if the record
    lacks a channel that the page shows.
    """
    if path.suffix.lower() not in PAGE_FORMATS:
        raise UsageError(f"{path}: a page ends in {', '.join(PAGE_FORMATS)}")
    missing = [name for name in NEEDED if name not in run.columns]
    if missing:
        raise FormatError(f"{run.path}: no channel {', '.join(missing)}")
    figure = Figure(figsize=_A4, dpi=_DPI)
    grid = figure.add_gridspec(
        9,
        2,
        width_ratios=(2.4, 1.0),
        left=0.085,
        right=0.975,
        top=0.845,
        bottom=0.045 + foot_height(result),
        hspace=0.42,
        wspace=0.16,
    )
    view = _fault_view(run) or _run_view(run)
    origin, shown = view.origin, view.shown
    times = run.times[shown] - origin
    events = _events(run, origin, times)
    (write_fault_head if view.of_fault else write_head)(figure, run, result, events)
    left: Axes | None = None
    centre, least = _scales(run, AXES if view.of_fault else result["driven"], times, shown)
    if view.of_fault:
        centre = 0.0
    for row, axis in enumerate(AXES):
        left = figure.add_subplot(grid[row, 0], sharex=left)
        close_up = figure.add_subplot(grid[row, 1])
        _axis_panels(run, axis, times, shown, left, close_up, least)
        if row == 0:
            close_up.set_title(view.close_up, fontsize=6.5, pad=3)
        close_up.set_xlim(centre - _CLOSE_UP_S / 2, centre + _CLOSE_UP_S / 2)
        _mark(left, events, numbered=row == 0)
        if view.of_fault:
            _mark(close_up, events, numbered=False)
    stroke = figure.add_subplot(grid[6, 0], sharex=left)
    _link_panels(
        stroke,
        figure.add_subplot(grid[6, 1]),
        times,
        _stroke_positions(run, shown),
        _stroke(run),
        "stroke",
        "mm",
    )
    force = figure.add_subplot(grid[7, 0], sharex=left)
    _link_panels(
        force, figure.add_subplot(grid[7, 1]), times, _forces(run, shown), _force_limit(run), "force", "kN"
    )
    force.set_xlabel(view.clock, fontsize=7, labelpad=1)
    stroke.tick_params(labelbottom=False)
    for panel in (stroke, force):
        _mark(panel, events, numbered=False)
    if len(times):
        force.set_xlim(times[0], times[-1])
    _cycle_times(figure.add_subplot(grid[8, :]), run, shown)
    write_foot(figure, result)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path)
    except OSError as error:
        raise UsageError(f"{path}: cannot write the page: {error.strerror or error}") from error


@dataclass(frozen=True)
class _View:
    """Which frames a page shows, what its times count from (s on the record's clock), and its words for
    both."""

    origin: float
    shown: slice
    clock: str
    close_up: str
    of_fault: bool


def _fault_view(run: Run) -> _View | None:
    """Return the view of a fault history, None for a run."""
    history = fault_history(run)
    if history is None:
        return None
    origin = fault_time(run, history)
    return _View(origin, slice(0, len(run.times)), "time from the fault, s", "around the fault", True)


def _run_view(run: Run) -> _View:
    """Return the view of a run: the profile's window and a little more."""
    states = run.metadata.get("states")
    window = find_window(run, [str(name) for name in states]) if isinstance(states, list) else None
    start = float(run.times[0]) if len(run.times) else 0.0
    shown = slice(0, len(run.times))
    if window is not None:
        start, stop = float(run.times[window.first]), run.times[window.last]
        first = int(np.searchsorted(run.times, start - _MARGIN_S))
        shown = slice(first, int(np.searchsorted(run.times, stop + _MARGIN_S, side="right")))
    title = "two seconds around the largest reference"
    return _View(start, shown, "time since the profile's start, s", title, False)


def _events(run: Run, origin: float, times: NDArray[np.float64]) -> list[tuple[float, str, bool]]:
    """Return (time, text, is a gap) of the events within the shown time."""
    found = []
    for event in run.events:
        number = event.get("frame")
        time = (
            float(np.interp(number, run.numbers, run.times)) - origin if isinstance(number, int) else np.nan
        )
        if len(times) and times[0] <= time <= times[-1]:
            details = [
                str(event[key])
                for key in ("name", "verb", "to", "state", "lost", "outcome", "cause", "refused")
                if event.get(key)
            ]
            found.append((time, " ".join([str(event.get("event")), *details]), event.get("event") == "gap"))
    return sorted(found)[:_MOST_EVENTS]


def _mark(panel: Axes, events: list[tuple[float, str, bool]], numbered: bool) -> None:
    """Draw a line for each event; close ones share one label of their numbers."""
    for time, _, gap in events:
        panel.axvline(time, color=_GAP if gap else _EVENT, linewidth=0.7, linestyle=":", zorder=0)
    if not numbered or not events:
        return
    low, high = panel.get_xlim()
    groups: list[list[int]] = []
    for number, (time, _, _) in enumerate(events):
        if groups and time - events[groups[-1][0]][0] < _LABEL_SHARE * (high - low):
            groups[-1].append(number)
        else:
            groups.append([number])
    for group in groups:
        first, last = group[0] + 1, group[-1] + 1
        panel.annotate(
            str(first) if first == last else f"{first}–{last}",
            (events[group[0]][0], 1.0),
            xycoords=("data", "axes fraction"),
            fontsize=5.5,
            ha="center",
            va="bottom",
            color=_GAP if any(events[number][2] for number in group) else _EVENT,
        )


def _scales(run: Run, driven: object, times: NDArray[np.float64], shown: slice) -> tuple[float, float]:
    """Return the time of the largest reference and the least half height of an axis panel in mm (1.4 m).

    A share of the largest motion bounds the height, lest the noise of an axis at rest fills its panel.
    """
    assert isinstance(driven, list | tuple)
    centre, largest = 0.0, 0.0
    for axis in driven:
        values = run.columns[f"reference.{axis}"][shown]
        size = np.abs(values - np.nanmean(values)) * (1.0 if axis in LENGTH_AXES else ROTATION_ARM)
        if np.any(np.isfinite(size)) and np.nanmax(size) > largest:
            largest, centre = float(np.nanmax(size)), float(times[int(np.nanargmax(size))])
    return centre, 1e3 * max(largest * _LEAST_HEIGHT, 1e-5)


def _axis_panels(
    run: Run,
    axis: str,
    times: NDArray[np.float64],
    shown: slice,
    whole: Axes,
    close_up: Axes,
    least: float,
) -> None:
    """Draw reference and achieved of one axis, whole run and close-up, with the reference one step later."""
    unit, arm = ("mm", 1.0) if axis in LENGTH_AXES else ("mrad", ROTATION_ARM)
    reference = 1e3 * run.columns[f"reference.{axis}"][shown]
    achieved = 1e3 * run.columns[f"pose.{axis}"][shown]
    meant = times + run.period
    for panel, points in ((whole, _POINTS), (close_up, 100 * _POINTS)):
        panel.plot(*_thinned(meant, reference, points), color=_REFERENCE, linewidth=1.5, label="reference")
        panel.plot(*_thinned(times, achieved, points), color=_ACHIEVED, linewidth=0.7, label="achieved")
        low, high = panel.get_ylim()
        middle, half = (low + high) / 2.0, max((high - low) / 2.0, least / arm)
        panel.set_ylim(middle - half, middle + half)
        _tidy(panel)
    close_up.xaxis.set_major_locator(MaxNLocator(5))
    whole.set_ylabel(f"{axis}, {unit}", fontsize=7, labelpad=2)
    whole.tick_params(labelbottom=False)
    if axis == AXES[0]:
        whole.legend(fontsize=6, loc="lower right", ncols=2, frameon=False, borderpad=0.1)


def _link_panels(
    whole: Axes,
    bars: Axes,
    times: NDArray[np.float64],
    values: NDArray[np.float64] | None,
    limit: float | None,
    name: str,
    unit: str,
) -> None:
    """Draw (k, links) values with their limit: over time, and as the range each link used."""
    scale = 1e3 if unit == "mm" else 1e-3
    whole.set_ylabel(f"{name}, {unit}", fontsize=7, labelpad=2)
    if values is None:
        whole.text(
            0.5, 0.5, f"the record holds no {name}", transform=whole.transAxes, ha="center", fontsize=7
        )
    else:
        for link, column in enumerate(values.T):
            colour = _LINKS[link % len(_LINKS)]
            whole.plot(*_thinned(times, scale * column, _POINTS), color=colour, linewidth=0.6)
            sound = column[np.isfinite(column)]
            if len(sound):
                low, high = scale * np.min(sound), scale * np.max(sound)
                bars.bar(link + 1, high - low, bottom=low, color=colour, width=0.6)
        bars.set_xticks(range(1, values.shape[1] + 1))
        bars.set_title(f"range used per link, {unit}", fontsize=7, pad=3)
    if limit is not None:
        for panel in (whole, bars):
            for bound in (-scale * limit, scale * limit):
                panel.axhline(bound, color="#b3261e", linewidth=0.8, linestyle="--")
            low, high = panel.get_ylim()
            panel.set_ylim(min(low, -1.15 * scale * limit), max(high, 1.15 * scale * limit))
    _tidy(whole)
    _tidy(bars)


def _cycle_times(panel: Axes, run: Run, shown: slice) -> None:
    """Draw how late the cycles began and how long they computed, on logarithmic axes."""
    edges = np.logspace(0, 6, 121)
    longest = 10e6 * run.period
    for name, label, colour in (
        ("late", "start after the deadline", "#3949ab"),
        ("compute", "time computed", "#1b7f3b"),
    ):
        values = 1e6 * run.columns[name][shown]
        values = values[np.isfinite(values)]
        if len(values) and np.max(values) > 0.0:
            longest = max(longest, 1.5 * float(np.max(values)))
            middle, high = np.percentile(values, (50.0, 99.9))
            panel.hist(
                np.clip(values, edges[0], edges[-1]),
                bins=list(edges),
                histtype="step",
                color=colour,
                linewidth=1.0,
                label=f"{label}: median {middle:.0f} µs, 99.9 % {high:.0f} µs, most {np.max(values):.0f} µs",
            )
    panel.axvline(1e6 * run.period, color="#b3261e", linewidth=0.8, linestyle="--", label="one period")
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.set_xlim(edges[0], min(longest, edges[-1]))
    panel.set_ylim(bottom=0.7)
    panel.set_xlabel("cycle times, µs", fontsize=7, labelpad=1)
    panel.set_ylabel("cycles", fontsize=7, labelpad=2)
    panel.legend(fontsize=6, loc="upper right", frameon=False)
    _tidy(panel)


def _tidy(panel: Axes) -> None:
    panel.tick_params(labelsize=6, length=2, pad=1.5)
    panel.grid(visible=True, linewidth=0.3, alpha=0.5)
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)


def _thinned(
    times: NDArray[np.float64], values: NDArray[np.float64], points: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return at most about ``points`` samples that keep the extremes of each stretch."""
    stretch = -(-2 * len(values) // points) if points else 1
    if stretch <= 2:
        return times, values
    whole = len(values) // stretch * stretch
    blocks = np.nan_to_num(values[:whole]).reshape(-1, stretch)
    base = np.arange(len(blocks)) * stretch
    picked = np.sort(np.concatenate((base + blocks.argmin(axis=1), base + blocks.argmax(axis=1))))
    return times[picked], values[picked]


def _table(run: Run, *keys: str) -> object:
    value: object = run.metadata.get("table")
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _stroke_positions(run: Run, shown: slice) -> NDArray[np.float64] | None:
    """Return measured lengths less neutral ones (k, links) in m; less their mean if the table is unknown."""
    names = run.numbered("length")
    if not names:
        return None
    lengths = run.matrix(names)[shown]
    links = _table(run, "links")
    if isinstance(links, list) and len(links) == len(names):
        neutral = np.array([float(link["neutral_length"]) for link in links])
    else:
        neutral = np.nanmean(lengths, axis=0)
    positions: NDArray[np.float64] = lengths - neutral
    return positions


def _stroke(run: Run) -> float | None:
    links = _table(run, "links")
    return min(float(link["stroke"]) for link in links) if isinstance(links, list) and links else None


def _forces(run: Run, shown: slice) -> NDArray[np.float64] | None:
    """Return the measured actuator forces (k, links) in N."""
    names = run.numbered("force")
    return run.matrix(names)[shown] if names else None


def _force_limit(run: Run) -> float | None:
    limit = _table(run, "actuator", "maximum_force")
    return float(limit) if isinstance(limit, int | float) else None
