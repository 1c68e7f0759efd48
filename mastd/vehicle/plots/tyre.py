"""Pictures of a Magic Formula tyre: forces and moments over slip, camber and load, on one page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from mastd.arrays import FloatArray
from mastd.index_table import Entry, index_table
from mastd.vehicle.magic_formula.coefficients import MY, VERTICAL
from mastd.vehicle.magic_formula.formula import (
    normal_load,
    relaxation_lengths,
    rolling_radius,
    slip_forces,
    slip_stiffness,
)
from mastd.vehicle.plots.manoeuvre import check_format, save


class CurveColumns(NamedTuple):
    """Columns of a tyre's curves."""

    force_x: Annotated[int, Entry("N", "")]
    force_y: Annotated[int, Entry("N", "")]
    moment_x: Annotated[int, Entry("N m", "")]
    moment_y: Annotated[int, Entry("N m", "")]
    moment_z: Annotated[int, Entry("N m", "")]


CURVE: Final = index_table(CurveColumns)

_PAGE: Final = (8.27, 10.6)
_DPI: Final = 150
_POINTS: Final = 161
_GRID: Final = {"left": 0.08, "right": 0.93, "top": 0.93, "bottom": 0.05, "hspace": 0.42, "wspace": 0.3}
_MAX_SLIP: Final = 0.5
_MAX_ANGLE: Final = 20.0
_ANGLES: Final = (-8.0, -4.0, -2.0, 0.0, 2.0, 4.0, 8.0)
"""Slip angles (deg) of the curves of combined slip."""
_CAMBERS: Final = (-6.0, -3.0, 0.0, 3.0, 6.0)


def curve(
    coefficients: FloatArray, load: float, slips: FloatArray, angles: FloatArray, camber: float, speed: float
) -> FloatArray:
    """Return forces and moments (points, CURVE) over slips κ and slip angles (rad), each (points,).

    ``load`` N, ``camber`` rad, ``speed`` m/s; columns F_x, F_y (N), M_x, M_y, M_z (N m).
    """
    rows = [
        slip_forces(coefficients, load, kappa, tangent, camber, speed, 1.0, 1.0)
        for kappa, tangent in zip(slips.tolist(), np.tan(angles).tolist(), strict=True)
    ]
    return np.array(rows, dtype=np.float64)


def write_tyre(coefficients: FloatArray, loads: Sequence[float], title: str, path: Path) -> None:
    """Draw the curves of a tyre for the loads (N) as a picture; combined slip and camber at the middle one.

    Raises UsageError if the ending of ``path`` is none of ``plots.FORMATS`` or the file cannot be written.
    """
    check_format(path)
    figure = Figure(figsize=_PAGE, dpi=_DPI)
    figure.suptitle(title, fontsize=9, x=_GRID["left"], ha="left")
    grid = figure.add_gridspec(4, 2, **_GRID)
    panels = [figure.add_subplot(grid[row, column]) for row in range(4) for column in range(2)]
    _pure(panels[:3], coefficients, loads)
    load = sorted(loads)[len(loads) // 2]
    _combined(panels[3], coefficients, load)
    _cambered(panels[4], panels[5], coefficients, load)
    _over_load(panels[6], coefficients, loads)
    _vertical(panels[7], coefficients, loads)
    save(figure, path)


def _speed(coefficients: FloatArray) -> float:
    return float(1.0 / coefficients[MY.INVERSE_LONGVL])


def _name(load: float) -> str:
    return f"{load * 1e-3:.3g} kN"


def _pure(panels: Sequence[Axes], c: FloatArray, loads: Sequence[float]) -> None:
    slips = np.linspace(-_MAX_SLIP, _MAX_SLIP, _POINTS)
    angles = np.radians(np.linspace(-_MAX_ANGLE, _MAX_ANGLE, _POINTS))
    none = np.zeros(_POINTS)
    _panel(panels[0], "Fx, kN", "slip κ")
    _panel(panels[1], "Fy, kN", "slip angle, deg")
    _panel(panels[2], "Mz, N m", "slip angle, deg")
    for load in loads:
        panels[0].plot(
            slips, 1e-3 * curve(c, load, slips, none, 0.0, _speed(c))[:, CURVE.force_x], linewidth=0.9
        )
        across = curve(c, load, none, angles, 0.0, _speed(c))
        panels[1].plot(np.degrees(angles), 1e-3 * across[:, CURVE.force_y], linewidth=0.9)
        panels[2].plot(np.degrees(angles), across[:, CURVE.moment_z], linewidth=0.9)
    for panel in panels:
        _legend(panel, [_name(load) for load in loads])


def _combined(panel: Axes, c: FloatArray, load: float) -> None:
    """Draw F_y over F_x, one curve for each slip angle."""
    _panel(panel, "Fy, kN", f"Fx, kN (combined slip at {_name(load)})")
    # Most points where the slip is small.
    slips = np.sinh(np.linspace(-5.0, 5.0, _POINTS)) / np.sinh(5.0)
    for angle in _ANGLES:
        found = curve(c, load, slips, np.full(_POINTS, np.radians(angle)), 0.0, _speed(c))
        panel.plot(1e-3 * found[:, CURVE.force_x], 1e-3 * found[:, CURVE.force_y], linewidth=0.9)
    panel.set_aspect("equal", adjustable="datalim")
    _legend(panel, [f"{angle:g}°" for angle in _ANGLES])


def _cambered(force: Axes, moment: Axes, c: FloatArray, load: float) -> None:
    angles = np.radians(np.linspace(-_MAX_ANGLE, _MAX_ANGLE, _POINTS) / 2.0)
    _panel(force, "Fy, kN", f"slip angle, deg (camber at {_name(load)})")
    _panel(moment, "Mz, N m", f"slip angle, deg (camber at {_name(load)})")
    for camber in _CAMBERS:
        found = curve(c, load, np.zeros(_POINTS), angles, np.radians(camber), _speed(c))
        force.plot(np.degrees(angles), 1e-3 * found[:, CURVE.force_y], linewidth=0.9)
        moment.plot(np.degrees(angles), found[:, CURVE.moment_z], linewidth=0.9)
    for panel in (force, moment):
        _legend(panel, [f"{camber:g}°" for camber in _CAMBERS])


def _over_load(panel: Axes, c: FloatArray, loads: Sequence[float]) -> None:
    """Draw slip stiffness and, on a second axis, relaxation lengths over the load."""
    _panel(panel, "slip stiffness, kN", "load, kN")
    across = np.linspace(0.0, 1.2 * max(loads), _POINTS)[1:]
    stiffness = np.array([slip_stiffness(c, load, 0.0) for load in across.tolist()])
    lengths = np.array([relaxation_lengths(c, load, 0.0) for load in across.tolist()])
    lines = panel.plot(1e-3 * across, 1e-3 * stiffness, linewidth=0.9)
    other = panel.twinx()
    other.set_ylabel("relaxation length, m", fontsize=7, labelpad=2)
    other.tick_params(labelsize=6, length=2, pad=1.5)
    other.spines["top"].set_visible(False)
    other.set_ylim(0.0, 1.1 * float(np.max(lengths)))
    lines += other.plot(1e-3 * across, lengths, "--", linewidth=0.9)
    _legend(panel, ["Kx", "Ky", "σx", "σy"], lines)


def _vertical(panel: Axes, c: FloatArray, loads: Sequence[float]) -> None:
    """Draw the load and, on a second axis, the rolling radius over the depth of contact."""
    _panel(panel, "load, kN", "depth of contact, mm")
    deepest = 0.001
    while deepest < c[VERTICAL.FREE_RADIUS] and not normal_load(c, deepest, 0.0) > 1.2 * max(loads):
        deepest += 0.001
    if c[VERTICAL.RIM_DEPTH] < c[VERTICAL.FREE_RADIUS]:
        deepest = max(deepest, 1.05 * float(c[VERTICAL.RIM_DEPTH]))
    depths = np.linspace(0.0, deepest, _POINTS)
    load = np.array([normal_load(c, depth, 0.0) for depth in depths.tolist()])
    radius = np.array([rolling_radius(c, value) for value in load.tolist()])
    lines = panel.plot(1e3 * depths, 1e-3 * load, linewidth=0.9)
    other = panel.twinx()
    other.set_ylabel("rolling radius, mm", fontsize=7, labelpad=2)
    other.tick_params(labelsize=6, length=2, pad=1.5)
    other.spines["top"].set_visible(False)
    lines += other.plot(1e3 * depths, 1e3 * radius, "--", linewidth=0.9)
    _legend(panel, ["load", "rolling radius"], lines)


def _panel(panel: Axes, label: str, below: str) -> None:
    panel.set_ylabel(label, fontsize=7, labelpad=2)
    panel.set_xlabel(below, fontsize=7, labelpad=1)
    panel.tick_params(labelsize=6, length=2, pad=1.5)
    panel.grid(visible=True, linewidth=0.3, alpha=0.5)
    panel.spines["top"].set_visible(False)


def _legend(panel: Axes, entries: Sequence[str], lines: Sequence[Line2D] | None = None) -> None:
    """Put the legend above the panel, where no curve is."""
    panel.legend(
        list(lines or panel.lines),
        list(entries),
        fontsize=6,
        frameon=False,
        ncols=len(entries),
        borderpad=0.1,
        borderaxespad=0.1,
        columnspacing=1.2,
        handlelength=1.6,
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
    )
