"""Takes values out of what a daemon tells, whatever its version: what is absent or odd is not known."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mastd.errors import printable
from mastd.panel.status_text import UNKNOWN

Document = Mapping[str, Any]
"""A status or a description as it came over the wire."""
Step = str | int


def value(reported: object, *path: Step) -> Any:
    """Return what stands at the end of ``path``, None where there is no such position."""
    for step in path:
        if isinstance(step, str):
            reported = reported.get(step) if isinstance(reported, Mapping) else None
        else:
            listed = isinstance(reported, Sequence) and not isinstance(reported, str | bytes)
            reported = reported[step] if listed and -len(reported) <= step < len(reported) else None  # type: ignore[arg-type, index]
    return reported


def number(reported: object, *path: Step) -> float | None:
    """Return a finite number, None where there is none."""
    found = value(reported, *path)
    return float(found) if type(found) in (int, float) and math.isfinite(found) else None


def text(reported: object, *path: Step) -> str:
    """Return a text in which nothing commands a terminal, empty where there is none."""
    found = value(reported, *path)
    return printable(found, keep="") if isinstance(found, str) else ""


def entries(reported: object, *path: Step) -> list[Any]:
    """Return a list, empty where there is none."""
    found = value(reported, *path)
    return list(found) if isinstance(found, Sequence) and not isinstance(found, str | bytes) else []


def shown(found: float | None, factor: float, form: str, unit: str = "") -> str:
    """Return a number in another unit as text."""
    return UNKNOWN if found is None else f"{format(found * factor, f'z{form}')} {unit}".rstrip()


def time_text(seconds: float | None) -> str:
    """Return a duration in two figures or so."""
    if seconds is None:
        return "an unknown time"
    if seconds < 120.0:
        return f"{seconds:.1f} s"
    minutes = seconds / 60.0
    return f"{minutes:.0f} min" if minutes < 120.0 else f"{minutes / 60.0:.1f} h"


@dataclass(frozen=True)
class ActuatorReading:
    """One actuator: lengths in m, force in N, pressures in Pa; None for what is not known."""

    name: str
    length: float | None
    neutral: float | None
    stroke: float | None
    """Travel to either side of the neutral length."""
    following: float | None
    """Largest following error since arming."""
    pressures: tuple[float | None, float | None]
    force: float | None
    maximum_force: float | None

    @property
    def offset(self) -> float | None:
        """How far it is from its neutral length, in m."""
        return None if self.length is None or self.neutral is None else self.length - self.neutral

    @property
    def ratio(self) -> float | None:
        """How far it is from its neutral length, as a fraction of the stroke: ±1 at the ends."""
        return None if self.offset is None or not self.stroke else self.offset / self.stroke

    @property
    def margin(self) -> float | None:
        """Fraction of the maximum force that is left."""
        if self.force is None or not self.maximum_force:
            return None
        return 1.0 - abs(self.force) / self.maximum_force


def actuators(status: Document, description: Document) -> list[ActuatorReading]:
    """Return all actuators of the table."""
    found = max(len(entries(status, "lengths_m")), len(entries(description, "links")))
    return [
        ActuatorReading(
            text(description, "links", actuator, "name"),
            number(status, "lengths_m", actuator),
            number(description, "links", actuator, "neutral_length_m"),
            number(description, "links", actuator, "stroke_m"),
            number(status, "following_peak_m", actuator),
            (number(status, "pressures_pa", actuator, 0), number(status, "pressures_pa", actuator, 1)),
            number(status, "forces_n", actuator),
            number(description, "links", actuator, "maximum_force_n"),
        )
        for actuator in range(found)
    ]
