"""Pictures of spectra, of one run or of several over each other."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mastd.arrays import FloatArray
from mastd.record.channels import LENGTH_AXES
from mastd.report.drawing.picture import Bound, Curve, Panel, Range
from mastd.report.spectrum import AxisSpectra, Spectra
from mastd.settings.core.axes import AXES
from mastd.signals.transfer_points import FLATNESS_DB

_DEPTH = 1e-6
"""Of the largest density: what lies below is not shown."""
_HEIGHT = 170.0
_MAX_GAIN = 3.0
_FLAT = tuple(Bound(10.0 ** (sign * FLATNESS_DB / 20.0), "±1.5 dB") for sign in (-1, 1))


@dataclass(frozen=True, eq=False)
class NamedSpectra:
    """Spectra with the name and tones by which their run is told from others; no name where it is alone."""

    spectra: Spectra
    tone: str
    asked_tone: str
    name: str = ""
    driven: Collection[str] = AXES


def spectrum_row(run: NamedSpectra, axis: str) -> tuple[Panel, ...]:
    """Return densities, magnitude of the transfer function with its coherence, and its phase, of one run."""
    parts = _transfer([run], axis)
    coherence = tuple(replace(curve, tone="late", name="coherence", width=0.9) for curve in parts.coherence)
    magnitude = tuple(replace(curve, name="|H1|") for curve in parts.gain)
    return (
        _density_panel([run], axis),
        replace(
            _panel(f"{axis}: transfer", (*coherence, *magnitude), [run], _gain_range(parts.gain, lowest=0.0)),
            bounds=_FLAT if magnitude else (),
        ),
        _panel(f"{axis}: phase, °", parts.phase, [run], minimum=10.0),
    )


def overlaid_spectra(runs: Sequence[NamedSpectra], axis: str) -> tuple[Panel, ...]:
    """Return densities, coherence, magnitude and phase of the transfer function of several runs."""
    parts = _transfer(runs, axis)
    return (
        replace(_density_panel(runs, axis), wide=True),
        _panel(f"{axis}: coherence", parts.coherence, runs, (0.0, 1.02)),
        replace(
            _panel(f"{axis}: |H1|", parts.gain, runs, _gain_range(parts.gain)),
            wide=True,
            bounds=_FLAT if parts.gain else (),
        ),
        _panel(f"{axis}: phase, °", parts.phase, runs, minimum=10.0),
    )


@dataclass(frozen=True, eq=False)
class _Transfer:
    gain: tuple[Curve, ...]
    phase: tuple[Curve, ...]
    coherence: tuple[Curve, ...]


def _transfer(runs: Sequence[NamedSpectra], axis: str) -> _Transfer:
    """Return the curves of all runs that asked the axis to move."""
    gain, phase, coherence = [], [], []
    for run in runs:
        own = run.spectra.axes[axis]
        if axis in run.driven and own.transfer is not None and own.coherence is not None:
            gain.append(_curve(own, np.abs(own.transfer), run))
            phase.append(_curve(own, _phase(own), run))
            coherence.append(_curve(own, own.coherence, run))
    return _Transfer(tuple(gain), tuple(phase), tuple(coherence))


def _panel(
    title: str,
    curves: tuple[Curve, ...],
    runs: Sequence[NamedSpectra],
    y_range: Range | None = None,
    minimum: float = 0.0,
) -> Panel:
    shown, shade = _ranges(runs)
    empty = "" if curves else "too short, or no command"
    return Panel(
        title,
        "Hz",
        curves,
        x_range=shown,
        y_range=y_range,
        minimum=minimum,
        x_log=True,
        shade=shade,
        height=_HEIGHT,
        empty=empty,
    )


def _gain_range(curves: tuple[Curve, ...], lowest: float = 0.8) -> Range:
    """Return a range around one with room for all magnitudes, except for wild ones."""
    values = np.concatenate([curve.y[np.isfinite(curve.y)] for curve in curves]) if curves else np.empty(0)
    low, high = (float(values.min()), float(values.max())) if len(values) else (1.0, 1.0)
    return min(lowest, low - 0.02), min(max(1.2, high + 0.02), _MAX_GAIN)


def _density_panel(runs: Sequence[NamedSpectra], axis: str) -> Panel:
    curves = []
    for run in runs:
        own = run.spectra.axes[axis]
        inside = (own.frequency >= run.spectra.shown[0]) & (own.frequency <= run.spectra.shown[1])
        name = f"{run.name} " if run.name else ""
        for density, tone, what, dashed in (
            (own.asked, run.asked_tone, "asked", bool(run.name)),
            (own.achieved, run.tone, "achieved", False),
        ):
            width = 1.8 if what == "asked" and not run.name else 1.1
            curves.append(Curve(own.frequency[inside], density[inside], tone, f"{name}{what}", width, dashed))
    unit = "(m/s²)²/Hz" if axis in LENGTH_AXES else "(rad/s²)²/Hz"
    shown, shade = _ranges(runs)
    return Panel(
        f"{axis}, {unit}",
        "Hz",
        tuple(curves),
        x_range=shown,
        y_range=_density_range(curves),
        x_log=True,
        y_log=True,
        shade=shade,
        height=_HEIGHT,
    )


def _density_range(curves: Sequence[Curve]) -> tuple[float, float]:
    values = np.concatenate([curve.y for curve in curves]) if curves else np.empty(0)
    values = values[np.isfinite(values) & (values > 0.0)]
    if not len(values):
        return 1e-6, 1.0
    high = float(values.max())
    return max(float(values.min()) / 1.5, _DEPTH * high), 2.0 * high


def _ranges(runs: Sequence[NamedSpectra]) -> tuple[tuple[float, float], tuple[float, float] | None]:
    """Return the frequencies shown, and the band where all runs are judged in the same one."""
    low = min(run.spectra.shown[0] for run in runs)
    high = max(run.spectra.shown[1] for run in runs)
    bands = {run.spectra.band for run in runs}
    if len(bands) > 1:
        return (low, high), None
    band = bands.pop()
    return (low, high), (max(band[0], low), min(band[1], high))


def _curve(own: AxisSpectra, values: FloatArray, run: NamedSpectra) -> Curve:
    """Return values over frequency where they mean something, broken elsewhere."""
    return Curve(own.frequency, np.where(own.meaningful, values, np.nan), run.tone, run.name)


def _phase(own: AxisSpectra) -> FloatArray:
    """Return the phase in degrees, without jumps from one meaningful frequency to the next."""
    assert own.transfer is not None
    phase = np.full(len(own.frequency), np.nan)
    phase[own.meaningful] = np.degrees(np.unwrap(np.angle(own.transfer[own.meaningful])))
    return phase
