"""What a picture shows, before anybody draws it: curves, bars, limits and marks on a pair of axes.

A ``tone`` is the part that something plays, not its colour: ``mastd.report.drawing.tones`` has the colours.
"""

from __future__ import annotations

from dataclasses import dataclass

from mastd.arrays import FloatArray

Range = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Curve:
    """A line through the points ``x``, ``y`` (k,), in their order; NaN breaks it."""

    x: FloatArray
    y: FloatArray
    tone: str
    name: str = ""
    width: float = 1.2
    dashed: bool = False


@dataclass(frozen=True)
class Bound:
    """A dashed line across the panel at a value: of y, or of x if ``upright``."""

    value: float
    name: str = ""
    upright: bool = False


@dataclass(frozen=True)
class Mark:
    """A dotted upright line at ``x`` with a short label above the panel."""

    x: float
    label: str
    tone: str


@dataclass(frozen=True)
class Bar:
    """A range ``low`` … ``high`` of y around place ``x``."""

    x: float
    low: float
    high: float
    tone: str


@dataclass(frozen=True, eq=False)
class Panel:
    """One pair of axes.

    Ranges left out follow from what is shown; ``minimum`` is the least height of the range of y, so that the
    noise of something at rest does not fill the panel. ``shade`` is a range of x with another ground.
    ``empty`` says why there is nothing to see.
    """

    title: str
    x_label: str = ""
    curves: tuple[Curve, ...] = ()
    bars: tuple[Bar, ...] = ()
    bounds: tuple[Bound, ...] = ()
    marks: tuple[Mark, ...] = ()
    x_range: Range | None = None
    y_range: Range | None = None
    minimum: float = 0.0
    x_log: bool = False
    y_log: bool = False
    shade: Range | None = None
    wide: bool = False
    height: float = 140.0
    empty: str = ""
