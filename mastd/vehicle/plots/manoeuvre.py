"""Pictures of what a vehicle did: one page for a manoeuvre."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mastd.arrays import FloatArray
from mastd.errors import UsageError
from mastd.vehicle.kinematics.suspension import AxleKinematics, Sweep
from mastd.vehicle.state.trace import ACCELERATION, ANGLES, ANGULAR_VELOCITY, VELOCITY, Trace

FORMATS = (".svg", ".png", ".pdf")
_PAGE = (8.27, 8.6)
_TALL_PAGE = (8.27, 11.69)
_DPI = 150
_STYLES = ("-", "--")
"""Left and right wheels alternate: equal curves show both."""
_GRID = {"left": 0.09, "right": 0.975, "top": 0.92, "bottom": 0.06, "hspace": 0.38, "wspace": 0.24}
_TALL_GRID = {**_GRID, "top": 0.945, "bottom": 0.04, "hspace": 0.42}
_MIN_SPANS = (0.1, 1.0, 0.1, 0.01, 0.1, 0.1, 0.1, 0.1, 0.1, 1.0, 0.1, 0.1)
"""Of the axes of a manoeuvre's panels, each in its unit; less is not worth looking at."""


def check_format(path: Path) -> None:
    """Raise UsageError if a picture cannot have this ending."""
    if path.suffix.lower() not in FORMATS:
        raise UsageError(f"{path}: a picture ends in {', '.join(FORMATS)}")


def write_manoeuvre(trace: Trace, title: str, path: Path) -> None:
    """Draw path, speed, accelerations, angles, speeds of rotation and, for each wheel, spin, load, travel and
    tyre forces over time.

    Raises UsageError if the ending of ``path`` is none of FORMATS or the file cannot be written.
    """
    check_format(path)
    figure = Figure(figsize=_TALL_PAGE, dpi=_DPI)
    figure.suptitle(title, fontsize=9, x=_GRID["left"], ha="left")
    grid = figure.add_gridspec(6, 2, **_TALL_GRID)
    panels = [figure.add_subplot(grid[row, column]) for row in range(6) for column in range(2)]
    time, table, chassis = trace.time, trace.table(), trace.chassis
    _panel(panels[0], "y, m", "x, m").plot(table[:, 1], table[:, 2], linewidth=1.0)
    _panel(panels[1], "z, mm").plot(time, 1e3 * table[:, 3], linewidth=1.0)
    _panel(panels[2], "speed ahead, m/s").plot(time, chassis[:, VELOCITY.start], linewidth=1.0)
    _lines(panels[3], "velocity across, m/s", time, chassis[:, VELOCITY][:, 1:], "yz")
    _lines(panels[4], "acceleration, m/s²", time, chassis[:, ACCELERATION], "xyz")
    angles = np.degrees(table[:, 1 + ANGLES.start : 1 + ANGLES.stop])
    _lines(panels[5], "angle, deg", time, angles, ("roll", "pitch", "yaw"))
    rates = np.degrees(chassis[:, ANGULAR_VELOCITY])
    _lines(panels[6], "angular velocity, deg/s", time, rates, "xyz")
    for panel, label, values in zip(
        panels[7:],
        (
            "wheel spin, rad/s",
            "wheel load, kN",
            "wheel travel, mm",
            "tyre force along, kN",
            "tyre force across, kN",
        ),
        (
            trace.spin,
            1e-3 * trace.wheel_loads,
            1e3 * trace.wheel_travel,
            1e-3 * trace.tyre_force[:, :, 0],
            1e-3 * trace.tyre_force[:, :, 1],
        ),
        strict=True,
    ):
        _lines(panel, label, time, values, trace.wheels, _STYLES)
    for panel, least in zip(panels, _MIN_SPANS, strict=True):
        _widen(panel, least)
    save(figure, path)


def _widen(panel: Axes, least: float) -> None:
    """Let the axis of values span ``least`` or more, so that what is only rounding is a straight line."""
    low, high = panel.get_ylim()
    if high - low < least:
        middle = 0.5 * (low + high)
        panel.set_ylim(middle - 0.5 * least, middle + 0.5 * least)
    panel.ticklabel_format(axis="y", useOffset=False)


def write_kinematics(axles: Sequence[AxleKinematics], title: str, path: Path) -> None:
    """Draw a column for each axle: camber, toe and track over wheel travel, steer over rack.

    Raises UsageError if the ending of ``path`` is none of FORMATS or the file cannot be written.
    """
    check_format(path)
    figure = Figure(figsize=(max(4.2 * len(axles), 5.0), _PAGE[1]), dpi=_DPI)
    figure.suptitle(title, fontsize=9)
    rows = 3 + max((len(axle.steer) for axle in axles), default=0)
    grid = figure.add_gridspec(rows, len(axles), top=0.9, bottom=0.06, hspace=0.5, wspace=0.24)
    for index, axle in enumerate(axles):
        sweep = axle.travel
        travel = 1e3 * sweep.travel
        panels = [figure.add_subplot(grid[row, index]) for row in range(3)]
        panels[0].set_title(axle.axle, fontsize=8, loc="left", pad=3)
        _curves(panels[0], "camber, deg", travel, np.degrees(sweep.camber), sweep)
        _curves(panels[1], "toe-in, deg", travel, np.degrees(sweep.toe), sweep)
        _panel(panels[2], "track change, mm", "wheel travel, mm")
        panels[2].plot(travel.mean(axis=1), 1e3 * sweep.track_change, linewidth=0.9)
        for row, turned in enumerate(axle.steer, start=3):
            panel = figure.add_subplot(grid[row, index])
            racks = np.repeat(1e3 * turned.rack[:, None], len(turned.corners), axis=1)
            _curves(panel, "steer, deg", racks, np.degrees(turned.steer), turned)
            panel.set_xlabel(f"{turned.drive}, mm", fontsize=7, labelpad=1)
    save(figure, path)


def _curves(panel: Axes, label: str, across: FloatArray, values: FloatArray, sweep: Sweep) -> None:
    """Draw a curve for each corner of a sweep; ``across`` and ``values`` (n, corners)."""
    _panel(panel, label, "wheel travel, mm")
    for index, corner in enumerate(sweep.corners):
        panel.plot(across[:, index], values[:, index], _STYLES[index % 2], linewidth=0.9, label=corner)
    _legend(panel, len(sweep.corners))


def save(figure: Figure, path: Path) -> None:
    """Write a figure; raise UsageError if that is impossible."""
    try:
        figure.savefig(path)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or error}") from error


def _lines(
    panel: Axes,
    label: str,
    time: FloatArray,
    values: FloatArray,
    names: str | tuple[str, ...],
    styles: tuple[str, ...] = ("-",),
) -> None:
    """Draw a curve over time for each column of ``values``, the line styles in turn."""
    _panel(panel, label)
    for index, (name, column) in enumerate(zip(names, values.T, strict=True)):
        panel.plot(time, column, styles[index % len(styles)], linewidth=0.9, label=name)
    _legend(panel, len(names))


def _legend(panel: Axes, entries: int) -> None:
    """Put the legend above the panel, where no curve is."""
    panel.legend(
        fontsize=6,
        frameon=False,
        ncols=min(entries, 8),
        handlelength=1.4,
        columnspacing=1.0,
        borderpad=0.1,
        borderaxespad=0.1,
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
    )


def _panel(panel: Axes, label: str, below: str = "time, s") -> Axes:
    panel.set_ylabel(label, fontsize=7, labelpad=2)
    panel.set_xlabel(below, fontsize=7, labelpad=1)
    panel.tick_params(labelsize=6, length=2, pad=1.5)
    panel.grid(visible=True, linewidth=0.3, alpha=0.5)
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)
    return panel
