"""How late the cycles began and how long they computed."""

from __future__ import annotations

import numpy as np

from mastd.arrays import FloatArray
from mastd.report.drawing.picture import Bound, Curve, Panel
from mastd.report.drawing.thinning import largest
from mastd.report.numbers import NOTHING, part
from mastd.report.pictures.motion import marks
from mastd.report.reading import View

_TIMES = (("late", "scheduling latency", "late"), ("compute", "computing time", "compute"))
_EDGES = np.logspace(0, 6, 121)
"""Of the histogram, in microseconds."""


def cycle_time_rows(view: View) -> tuple[tuple[str, str], ...]:
    """Return median, 99.9 % and largest of both times in words."""
    rows = []
    lockstep = part(view.run.metadata, "plant", "mode") == "lockstep"
    for name, title, _ in _TIMES:
        values = _microseconds(view, name)
        if lockstep and name == "late":
            text = "lockstep: no deadlines"
        elif len(values):
            middle, high = np.percentile(values, (50.0, 99.9))
            text = f"median {middle:.0f} µs, 99.9 % below {high:.0f} µs, largest {values.max():.0f} µs"
        else:
            text = NOTHING
        rows.append((title, text))
    return tuple(rows)


def cycle_panels(view: View) -> tuple[Panel, ...]:
    """Return the largest times over the run, and how often which time occurred."""
    period = 1e6 * view.run.period
    over_time = tuple(
        Curve(*largest(view.times, 1e6 * view.column(name)), tone, title, 0.9) for name, title, tone in _TIMES
    )
    histogram, longest = [], 2.0 * period
    for name, _, tone in _TIMES:
        values = _microseconds(view, name)
        if len(values) and values.max() > 0.0:
            longest = max(longest, 1.5 * float(values.max()))
            counts, _ = np.histogram(np.clip(values, _EDGES[0], _EDGES[-1]), _EDGES)
            steps = np.maximum(np.repeat(counts, 2), 0.5).astype(np.float64)
            histogram.append(Curve(np.repeat(_EDGES, 2)[1:-1], steps, tone))
    maximum = max((float(curve.y.max()) for curve in histogram), default=10.0)
    return (
        Panel(
            "cycle times, maximum of each interval, µs",
            view.clock,
            over_time,
            bounds=(Bound(period, "one period"),),
            marks=marks(view),
            x_range=view.span,
            y_range=(0.0, 1.1 * max(period, _highest(over_time))),
            wide=True,
        ),
        Panel(
            "cycles",
            "µs",
            tuple(histogram),
            bounds=(Bound(period, "one period", upright=True),),
            x_range=(1.0, min(longest, float(_EDGES[-1]))),
            y_range=(0.7, 2.0 * maximum),
            x_log=True,
            y_log=True,
            empty="" if histogram else "no cycle times in the record",
        ),
    )


def _microseconds(view: View, name: str) -> FloatArray:
    values = 1e6 * view.column(name)
    sound: FloatArray = values[np.isfinite(values)]
    return sound


def _highest(curves: tuple[Curve, ...]) -> float:
    found = [float(np.nanmax(curve.y)) for curve in curves if np.isfinite(curve.y).any()]
    return max(found, default=0.0)
