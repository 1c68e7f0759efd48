"""The picture of ``mastd inspect``: channels over time and their spectra; a road as heights."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure

from mastd.arrays import FloatArray, IntArray
from mastd.commands.inspect.report import Inspected, clean
from mastd.errors import UsageError
from mastd.formats.core.files import replacing_named
from mastd.formats.core.measurement import Channel, Series
from mastd.formats.summary import density, envelope

PICTURES: Final = (".svg", ".png", ".pdf")
MAX_CHANNELS: Final = 12
_MAX_TRACKS: Final = 7
_POINTS: Final = 3000
_IMAGE: Final = (1600, 400)
"""Most rows and columns of heights that an image shows."""
_WIDTH: Final = 8.27
_ROW: Final = 1.45
_DPI: Final = 150
_GRID: Final = {"left": 0.1, "right": 0.975, "wspace": 0.24}
_COLOUR: Final = "#20262e"
_SECTION: Final = re.compile(r"v = (\S+) m")
"""The name of a road's long section (``mastd.formats.opencrg.file``)."""
_MAX_VALUE: Final = 1e300
_MIN_DENSITY: Final = 1e-12
"""Of the largest density: what lies below is rounding and not shown."""


def check_picture(path: Path) -> None:
    """Raise UsageError if no picture can be written to ``path``."""
    if path.suffix.lower() not in PICTURES:
        raise UsageError(f"{path}: a picture must end in {', '.join(PICTURES)}")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"{path}: cannot be written: No such file or directory")


def write_picture(inspected: Inspected, path: Path) -> list[str]:
    """Draw a measurement; return what is not shown, one line each. Raises FormatError."""
    road = next((series for series in inspected.measurement.series if len(_sections(series)) > 1), None)
    figure, notes = _series(inspected) if road is None else (_road(inspected, road), list[str]())
    with replacing_named(path) as whole:
        figure.savefig(whole)
    return [f"picture: {path}", *notes]


def _sections(series: Series) -> list[tuple[float, Channel]]:
    """Return a road's long sections with their v in m, from right to left; none for what is no road."""
    if series.axis != "u":
        return []
    found = [(_SECTION.fullmatch(channel.name), channel) for channel in series.channels]
    return sorted(((float(match[1]), channel) for match, channel in found if match), key=lambda pair: pair[0])


def _series(inspected: Inspected) -> tuple[Figure, list[str]]:
    rows = list(inspected.rows())
    shown = rows[:MAX_CHANNELS]
    height = 1.02 + _ROW * len(shown)
    figure = Figure(figsize=(_WIDTH, height), dpi=_DPI)
    _head(figure, inspected, height)
    grid = figure.add_gridspec(
        len(shown),
        2,
        width_ratios=(2.0, 1.0),
        top=1.0 - 0.62 / height,
        bottom=0.4 / height,
        hspace=0.42,
        **_GRID,
    )
    for row, (series, _, channel, _) in enumerate(shown):
        last = row + 1 == len(shown) or shown[row + 1][0] is not series
        _history(figure.add_subplot(grid[row, 0]), series, channel, last=last)
    spectra = [
        panel
        for row, (series, _, channel, _) in enumerate(shown)
        if _spectrum(panel := figure.add_subplot(grid[row, 1]), series, channel)
    ]
    if spectra:
        spectra[-1].set_xlabel(_frequency(shown[0][0]), fontsize=7, labelpad=1)
    if len(shown) == len(rows):
        return figure, []
    return figure, [f"the picture shows {len(shown)} of {len(rows)} channels, choose them with --channels"]


def _head(figure: Figure, inspected: Inspected, height: float) -> None:
    text = f"{inspected.path.name}: {inspected.format.title}"
    figure.text(_GRID["left"], 1.0 - 0.3 / height, _plain(text, 110), fontsize=9, ha="left")


def _plain(text: str, maximum: int) -> str:
    """Return a text of a file as a label: short, and no formula."""
    shown = clean(text)
    return (shown if len(shown) <= maximum else f"{shown[: maximum - 1]}…").replace("$", r"\$")


def _history(panel: Axes, series: Series, channel: Channel, *, last: bool) -> None:
    picked = envelope(channel.values, _POINTS)
    across, label = _across(series, picked)
    _tidy(panel, _plain(channel.unit or "unit not stated", 24))
    panel.set_title(_plain(channel.name, 90), fontsize=7, loc="left", pad=3)
    panel.plot(across, _drawable(channel.values[picked]), color=_COLOUR, linewidth=0.6)
    if last:
        panel.set_xlabel(label, fontsize=7, labelpad=1)


def _drawable(values: FloatArray) -> FloatArray:
    """Return values with gaps for what is infinite, or larger than axes can be divided for."""
    return np.where(np.abs(values) < _MAX_VALUE, values, np.nan)


def _across(series: Series, picked: IntArray) -> tuple[FloatArray, str]:
    """Return the places of values on the axis, and its label; their numbers from 1 on where it is unknown."""
    label = _plain(f"{series.axis}, {series.axis_unit}", 60)
    if series.abscissae is not None:
        return series.abscissae[picked], label
    if series.step is not None:
        return series.start + series.step * picked.astype(np.float64), label
    return picked.astype(np.float64) + 1.0, "number of the value"


def _frequency(series: Series) -> str:
    return "frequency, Hz" if series.axis_unit == "s" else _plain(f"per {series.axis_unit or 'step'}", 40)


def _spectrum(panel: Axes, series: Series, channel: Channel) -> bool:
    """Draw the density of a channel, or say why there is none; return whether there is one."""
    unit = clean(channel.unit) or "unit"
    square = f"{unit}²" if unit.isalpha() else f"({unit})²"
    _tidy(panel, _plain(f"{square}/Hz" if series.axis_unit == "s" else f"{square} {series.axis_unit}", 24))
    found = None if series.step is None else density(channel.values, series.step)
    if found is None or not found[1].max() > 0.0:
        panel.set_axis_off()
        panel.text(
            0.5, 0.5, _why_no_spectrum(series, found), fontsize=7, ha="center", transform=panel.transAxes
        )
        return False
    frequency, power = found
    panel.loglog(
        frequency[1:], np.maximum(power[1:], _MIN_DENSITY * power.max()), color=_COLOUR, linewidth=0.6
    )
    panel.minorticks_off()
    return True


def _why_no_spectrum(series: Series, found: tuple[FloatArray, FloatArray] | None) -> str:
    if series.abscissae is not None:
        return "no spectrum: uneven spacing"
    if series.step is None:
        return "no spectrum: step not stated"
    if series.count < 16:
        return "no spectrum: too few values"
    return "no spectrum: values missing" if found is None else "no spectrum: constant"


def _road(inspected: Inspected, series: Series) -> Figure:
    """Return the picture of a road: heights over u of a few tracks, and all heights as an image."""
    sections = _sections(series)
    height = 6.0
    figure = Figure(figsize=(_WIDTH, height), dpi=_DPI)
    _head(figure, inspected, height)
    grid = figure.add_gridspec(
        2, 2, width_ratios=(60, 1), top=0.88, bottom=0.08, hspace=0.22, left=0.1, right=0.9, wspace=0.03
    )
    label = _plain(f"height, {sections[0][1].unit or 'unit not stated'}", 40)
    above = figure.add_subplot(grid[0, 0])
    _tidy(above, label)
    tracks = np.unique(np.linspace(0, len(sections) - 1, _MAX_TRACKS).round().astype(int))
    for _, channel in [sections[track] for track in tracks]:
        picked = envelope(channel.values, _POINTS)
        across, heights = _across(series, picked)[0], _drawable(channel.values[picked])
        above.plot(across, heights, linewidth=0.6, label=_plain(channel.name, 24))
    above.legend(fontsize=6, frameon=False, ncols=len(tracks), loc="lower right", bbox_to_anchor=(1.0, 1.0))
    below = figure.add_subplot(grid[1, 0], sharex=above)
    _tidy(below, "v, m")
    image = _image(below, series, sections)
    scale = figure.add_subplot(grid[1, 1])
    figure.colorbar(image, cax=scale).set_label(label, fontsize=7, labelpad=1)
    scale.tick_params(labelsize=6, length=2, pad=1.5)
    above.set_xlim(below.get_xlim())
    return figure


def _image(panel: Axes, series: Series, sections: list[tuple[float, Channel]]) -> QuadMesh:
    """Draw heights over u and v, every so manyeth where there are more than can be told apart."""
    rows, columns = (
        -(-size // max_size) for size, max_size in zip((series.count, len(sections)), _IMAGE, strict=True)
    )
    shown = sections[::columns]
    heights = np.column_stack([_drawable(channel.values[::rows]) for _, channel in shown])
    along, label = _across(series, np.arange(0, series.count, rows))
    panel.set_xlabel(label, fontsize=7, labelpad=1)
    return panel.pcolormesh(along, [v for v, _ in shown], heights.T, cmap="viridis", rasterized=True)


def _tidy(panel: Axes, label: str) -> None:
    panel.set_ylabel(label, fontsize=7, labelpad=2)
    panel.yaxis.get_offset_text().set_fontsize(6)
    panel.tick_params(labelsize=6, length=2, pad=1.5)
    panel.grid(visible=True, linewidth=0.3, alpha=0.5)
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)
