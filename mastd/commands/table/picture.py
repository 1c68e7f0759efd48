"""The picture of ``mastd table show``: largest sine of each axis over frequency, and the workspace."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mastd.arrays import FloatArray
from mastd.formats.core.files import replacing_named
from mastd.motion.preflight.performance import AxisEnvelope, AxisPerformance

FREQUENCIES: Final = np.geomspace(0.1, 100.0, 241)
PLANES: Final = ((0, 1), (0, 2), (1, 2))
"""Pairs of translations whose sections are drawn."""
ROTATIONS: Final = ("roll", "pitch", "yaw")
_TRANSLATIONS: Final = ("x, surge", "y, sway", "z, heave")
_WIDTH: Final = 8.27
_ROW: Final = 2.6
_MARGINS: Final = 1.29
"""Inches above and below all panels."""
_DPI: Final = 150
_COLOURS: Final = ("#20262e", "#1f5fbf", "#d9581c")
_LIMIT: Final = "#b3261e"
_LEFT: Final = 0.4
"""Hz: a name of a stretch about a lower frequency has no room on its left."""
_MIN_LABEL: Final = 10
"""Points of a stretch that one bound rules, from which it is named at the curve."""


class Section(NamedTuple):
    """Outline (k, 2) of the reach in a plane of two translations, and the limits of the pose there; m."""

    axes: tuple[int, int]
    outline: FloatArray
    limits: tuple[float, float]


def write_picture(
    title: str,
    loads: Sequence[str],
    envelopes: Sequence[AxisEnvelope],
    axes: Sequence[AxisPerformance],
    sections: Sequence[Section],
    path: Path,
) -> None:
    """Draw the envelopes, ``loads`` naming their masses, sections and travels. Raises FormatError."""
    rows = (len(envelopes) + 1) // 2
    beside = not sections and len(envelopes) % 2 == 1
    height = _MARGINS + _ROW * (rows + (not beside))
    figure = Figure(figsize=(_WIDTH, height), dpi=_DPI)
    figure.suptitle(title.replace("$", r"\$"), fontsize=9, x=0.09, ha="left", y=1.0 - 0.18 / height)
    grid = figure.add_gridspec(
        rows + (not beside),
        6,
        left=0.09,
        right=0.975,
        top=1.0 - 0.76 / height,
        bottom=0.58 / height,
        hspace=0.36,
        wspace=1.3,
    )
    for place, envelope in enumerate(envelopes):
        row, column = divmod(place, 2)
        panel = figure.add_subplot(grid[row, 3 * column : 3 * column + 3])
        _draw_envelope(panel, envelope, loads)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        fontsize=7,
        frameon=False,
        ncols=len(loads),
        loc="upper right",
        bbox_to_anchor=(0.98, 1.0 - 0.29 / height),
    )
    below = grid[-1, 3 * beside :].subgridspec(1, 1 + len(sections), wspace=0.5)
    for place, section in enumerate(sections):
        _draw_section(figure.add_subplot(below[0, place]), section)
    _draw_travels(figure.add_subplot(below[0, -1]), axes)
    if sections:
        note = "reach of C within the strokes, orientation neutral; dashed: limits of the pose"
        figure.text(0.09, 0.21 / height, note, fontsize=6, color=_LIMIT)
    with replacing_named(path) as whole:
        figure.savefig(whole)


def _draw_envelope(panel: Axes, envelope: AxisEnvelope, loads: Sequence[str]) -> None:
    unit = "rad/s²" if envelope.axis in ROTATIONS else "m/s²"
    _tidy(panel, f"{envelope.axis}, {unit}", "frequency, Hz")
    for load, colour, values in zip(loads, _COLOURS, envelope.accelerations, strict=True):
        panel.loglog(
            FREQUENCIES, np.where(values > 0.0, values, np.nan), color=colour, linewidth=0.9, label=load
        )
    panel.set_xlim(FREQUENCIES[0], FREQUENCIES[-1])
    finite = envelope.accelerations[envelope.accelerations > 0.0]
    if len(finite):
        panel.set_ylim(0.7 * float(finite.min()), 2.0 * float(finite.max()))
    _name_bounds(panel, envelope)


def _name_bounds(panel: Axes, envelope: AxisEnvelope) -> None:
    """Write what bounds the bare table above its curve, and below the last one what bounds that elsewhere."""
    for end in sorted({0, len(envelope.bounds) - 1}):
        bounds, values = envelope.bounds[end], envelope.accelerations[end]
        kinds = np.array([bound.partition(" of ")[0] for bound in bounds])
        edges = np.flatnonzero(np.concatenate(([True], kinds[1:] != kinds[:-1], [True])))
        for first, last in pairwise(edges):
            middle = (first + last) // 2
            seen = end and values[middle] > 0.98 * envelope.accelerations[0, middle]
            if last - first < _MIN_LABEL or seen or not values[middle] > 0.0:
                continue
            rising = values[middle] < 0.9 * values[min(middle + 5, last - 1)]
            beside = end > 0 or FREQUENCIES[middle] < _LEFT
            flat_side = "right" if last == len(kinds) else "center"
            panel.annotate(
                {"limit": "velocity limit"}.get(kinds[middle], kinds[middle]) if rising else bounds[middle],
                (FREQUENCIES[last - 1 if not rising and last == len(kinds) else middle], values[middle]),
                xytext=(0.0 if not rising else 4.0 if beside else -4.0, -8.0 if beside else 3.0),
                textcoords="offset points",
                fontsize=6,
                color=_COLOURS[end],
                ha=flat_side if not rising else "left" if beside else "right",
            )


def _draw_section(panel: Axes, section: Section) -> None:
    across, up = section.axes
    _tidy(panel, f"{_TRANSLATIONS[up]}, mm", f"{_TRANSLATIONS[across]}, mm")
    panel.fill(*(1e3 * section.outline.T), color="#1f5fbf", alpha=0.25, linewidth=0.0)
    panel.plot(*(1e3 * section.outline.T), color="#1f5fbf", linewidth=0.9)
    x, y = (1e3 * limit for limit in section.limits)
    panel.plot([-x, x, x, -x, -x], [-y, -y, y, y, -y], "--", color=_LIMIT, linewidth=0.8)
    panel.set_aspect("equal", adjustable="datalim")
    panel.margins(0.08)


def _draw_travels(panel: Axes, axes: Sequence[AxisPerformance]) -> None:
    """Draw the travel of each axis by itself as a bar over the largest of its kind, its ends in figures."""
    _tidy(panel, "", "travel alone, mm or mrad")
    panel.grid(visible=False)
    panel.set_xticks([])
    panel.spines["bottom"].set_visible(False)
    panel.set_yticks(range(len(axes)), [axis.axis for axis in axes])
    panel.set_ylim(max(len(axes), 3) - 0.5, -0.5)
    panel.set_xlim(-1.15, 1.15)
    for row, axis in enumerate(axes):
        alike = [own for own in axes if (own.axis in ROTATIONS) == (axis.axis in ROTATIONS)]
        largest = max(*(abs(end) for own in alike for end in own.travel), 1e-9)
        low, high = axis.travel
        panel.barh(row, (high - low) / largest, left=low / largest, height=0.45, color="#1f5fbf", alpha=0.35)
        text = f"{1e3 * low:+.0f} … {1e3 * high:+.0f}".replace("-", "−")
        panel.text(0.0, row, text, fontsize=6, ha="center", va="center")


def _tidy(panel: Axes, label: str, below: str) -> None:
    panel.set_ylabel(label, fontsize=7, labelpad=2)
    panel.set_xlabel(below, fontsize=7, labelpad=1)
    panel.tick_params(labelsize=6, length=2, pad=1.5)
    panel.grid(visible=True, linewidth=0.3, alpha=0.5)
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)
