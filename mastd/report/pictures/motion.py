"""What was asked and what was done over time: axes, actuators, supply, and a ride's own channels."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.record.channels import LENGTH_AXES
from mastd.record.result import InternalForce, internal_forces
from mastd.report.drawing.picture import Bar, Bound, Curve, Mark, Panel
from mastd.report.drawing.thinning import broken, gap_ends, thinned
from mastd.report.drawing.tones import ACTUATORS, tone_of
from mastd.report.numbers import group, part
from mastd.report.reading import View
from mastd.settings.core.axes import AXES
from mastd.signals.metrics import ROTATION_ARM

CLOSE_UP_S: Final = 2.0
_MIN_HEIGHT: Final = 0.05
_MIN_M: Final = 1e-5
_MAX_JOIN: Final = 5.0
"""Periods that a line bridges; where more are missing it is broken."""
_MAX_MARKS: Final = 60


def marks(view: View, labelled: bool = True) -> tuple[Mark, ...]:
    """Return a mark for each event within the shown time, numbered as in the list of events."""
    low, high = view.span
    numbered = [
        (number, happening)
        for number, happening in enumerate(view.happenings, start=1)
        if happening.time is not None and low <= happening.time <= high
    ]
    return tuple(
        Mark(float(happening.time or 0.0), str(number) if labelled else "", happening.tone)
        for number, happening in numbered[:_MAX_MARKS]
    )


def axis_panels(view: View, axes: Collection[str], driven: Collection[str]) -> tuple[Panel, ...]:
    """Return for each of the ``axes`` the whole time and a close-up, of reference and achieved pose.

    The close-up shows ``CLOSE_UP_S`` s around the largest reference of the ``driven`` axes, or around a
    fault. References stand at the step that they are meant for.
    """
    centre, maximum = max_reference(view, driven or AXES)
    if view.of_fault:
        centre = 0.0
    minimum = 2e3 * max(maximum * _MIN_HEIGHT, _MIN_M)
    found: list[Panel] = []
    for axis in axes:
        unit, arm = ("mm", 1.0) if axis in LENGTH_AXES else ("mrad", ROTATION_ARM)
        reference, achieved = 1e3 * view.column(f"reference.{axis}"), 1e3 * view.column(f"pose.{axis}")
        meant = view.times + view.run.period
        for close in (False, True):
            reach = (centre - CLOSE_UP_S / 2, centre + CLOSE_UP_S / 2) if close else view.span
            found.append(
                Panel(
                    title=f"{axis}, {unit}" + (", close-up" if close else ""),
                    x_label=view.clock,
                    curves=(
                        curve(meant, reference, reach, view, "reference", "asked", 1.8),
                        curve(view.times, achieved, reach, view, "achieved", "achieved", 1.1),
                    ),
                    marks=marks(view, labelled=not close),
                    x_range=reach,
                    minimum=minimum / arm,
                    wide=not close,
                )
            )
    return tuple(found)


def curve(
    times: FloatArray,
    values: FloatArray,
    reach: tuple[float, float],
    view: View,
    tone: str,
    name: str = "",
    width: float = 1.0,
) -> Curve:
    """Return the part of a series within ``reach`` s, thinned, broken where frames are missing."""
    first, last = np.searchsorted(times, reach[0]), np.searchsorted(times, reach[1], side="right")
    times, values = times[int(first) : int(last)], values[int(first) : int(last)]
    ends = gap_ends(times, _MAX_JOIN * view.run.period)
    return Curve(*broken(*thinned(times, values), ends), tone, name, width)


def length_panels(view: View) -> tuple[Panel, ...]:
    """Return the actuators' lengths about neutral within their stroke, over time and as the range of each."""
    names = view.run.numbered("length")
    links = _links(view, len(names))
    values = []
    for name, link in zip(names, links, strict=True):
        length, neutral = view.column(name), part(link, "neutral_length")
        values.append(1e3 * (length - (neutral if _is_number(neutral) else np.nanmean(length))))
    strokes = [part(link, "stroke") for link in links]
    limits = [1e3 * stroke if _is_number(stroke) else None for stroke in strokes]
    return _actuator_panels(view, "length about neutral, mm", values, limits, min)


def force_panels(view: View) -> tuple[Panel, ...]:
    """Return the actuators' forces with the largest of their types, over time and as ranges."""
    names = view.run.numbered("force")
    table = part(view.run.metadata, "table")
    one = part(table, "actuator") or part(table, "electric")
    kinds = {**group(table, "actuators"), **group(table, "electric_actuators")}
    limits = []
    for link in _links(view, len(names)):
        kind = part(link, "actuator")
        maximum = part(kinds.get(kind) if isinstance(kind, str) else one, "maximum_force")
        limits.append(1e-3 * maximum if _is_number(maximum) else None)
    forces = [1e-3 * view.column(name) for name in names]
    return _actuator_panels(view, "force, kN", forces, limits, max)


def _links(view: View, count: int) -> list[object]:
    """Return what the record says of each of ``count`` actuators, None where it does not fit them."""
    found = part(view.run.metadata, "table", "links")
    return found if isinstance(found, list) and len(found) == count else [None] * count


def _actuator_panels(
    view: View,
    title: str,
    values: list[FloatArray],
    limits: list[float | None],
    common: Callable[[Iterable[float]], float],
) -> tuple[Panel, ...]:
    """Return two panels for each group of actuators; ``common`` makes one limit of those of a group."""
    found: list[Panel] = []
    for actuators in _groups(limits):
        known = [limit for actuator in actuators if (limit := limits[actuator]) is not None]
        bound = common(known) if known else None
        whole = len(actuators) == len(values)
        label = title if whole else f"{title}: actuators {_numbers(actuators)}"
        found += _group_panels(view, label, {actuator: values[actuator] for actuator in actuators}, bound)
    return tuple(found)


def _groups(limits: list[float | None]) -> list[list[int]]:
    """Return the actuators in one group; more than there are colours in groups, each of one limit."""
    if len(limits) <= len(ACTUATORS):
        return [list(range(len(limits)))]
    alike: dict[float | None, list[int]] = {}
    for actuator, limit in enumerate(limits):
        alike.setdefault(limit, []).append(actuator)
    groups = []
    for actuators in alike.values():
        parts = -(-len(actuators) // len(ACTUATORS))
        groups += [list(map(int, part)) for part in np.array_split(actuators, parts)]
    return groups


def _numbers(actuators: list[int]) -> str:
    """Return the numbers of actuators, from 1, as a range where they follow each other."""
    first, last = actuators[0] + 1, actuators[-1] + 1
    if last - first == len(actuators) - 1:
        return f"{first}–{last}" if last > first else str(first)
    return ", ".join(str(actuator + 1) for actuator in actuators)


def _group_panels(
    view: View, title: str, values: dict[int, FloatArray], limit: float | None
) -> tuple[Panel, Panel]:
    bounds = () if limit is None else (Bound(-limit, "limit"), Bound(limit, "limit"))
    bars, curves = [], []
    for place, (actuator, column) in enumerate(values.items()):
        tone = tone_of(ACTUATORS, place)
        sound = column[np.isfinite(column)]
        if len(sound):
            bars.append(Bar(actuator + 1.0, float(sound.min()), float(sound.max()), tone))
        curves.append(curve(view.times, column, view.span, view, tone, str(actuator + 1), 0.9))
    empty = "" if bars else "none in the record"
    return (
        Panel(
            title,
            view.clock,
            tuple(curves),
            bounds=bounds,
            marks=marks(view),
            x_range=view.span,
            wide=True,
            empty=empty,
        ),
        Panel("range of each actuator", "actuator", bars=tuple(bars), bounds=bounds, empty=empty),
    )


def internal_force_panels(view: View) -> tuple[Panel, ...]:
    """Return the internal forces between the actuators with their limits.

    Of several patterns the forces over their limits, over time of those that came nearest to them.
    """
    patterns = internal_forces(view.run)
    if len(patterns) > 1:
        return _pattern_panels(view, patterns)
    limit = patterns[0].limit if patterns else part(view.run.metadata, "table", "limits", "internal_force")
    return (_internal_force_panel(view, limit),)


def _pattern_panels(view: View, patterns: list[InternalForce]) -> tuple[Panel, Panel]:
    title = "internal force, % of the limit"
    ratios = {one.number: 100.0 * view.column(one.channel) / one.limit for one in patterns}
    peaks = {number: float(np.nanmax(np.abs(column), initial=0.0)) for number, column in ratios.items()}
    nearest = sorted(sorted(ratios, key=lambda number: -peaks[number])[: len(ACTUATORS)])
    shown = title if len(nearest) == len(patterns) else f"{title}: patterns {', '.join(map(str, nearest))}"
    time, ranges = _group_panels(view, shown, {number - 1: ratios[number] for number in nearest}, 100.0)
    return time, replace(ranges, title="range of each pattern", x_label="pattern")


def _internal_force_panel(view: View, limit: Any) -> Panel:
    bounds = tuple(Bound(sign * 1e-3 * limit, "limit") for sign in (-1, 1)) if _is_number(limit) else ()
    series = curve(view.times, 1e-3 * view.column("internal_force"), view.span, view, "achieved")
    return Panel(
        "internal force, kN",
        view.clock,
        (series,),
        bounds=bounds,
        marks=marks(view),
        x_range=view.span,
        wide=True,
    )


def supply_panel(view: View) -> Panel | None:
    """Return the pressure of each oil supply with its minimum, None without a channel."""
    one, several = (part(view.run.metadata, "table", key) for key in ("supply", "supplies"))
    packs = several or {"": one}
    numbered = [f"supply.supply_pressure.{k}" for k in range(1, len(packs) + 1)]
    channels = numbered if len(packs) > 1 else ["supply.supply_pressure"]
    if not all(map(view.has, channels)):
        return None
    minima = [part(pack, "limits", "minimum_pressure") for pack in packs.values()]
    return Panel(
        "supply pressure, bar",
        view.clock,
        tuple(
            curve(view.times, 1e-5 * view.column(channel), view.span, view, tone, name)
            for channel, name, tone in zip(channels, packs, ("late", *ACTUATORS), strict=False)
        ),
        bounds=tuple(Bound(1e-5 * minimum, "limit") for minimum in minima if _is_number(minimum)),
        marks=marks(view, labelled=False),
        x_range=view.span,
        minimum=10.0,
    )


def ride_panels(view: View, result: Mapping[str, object]) -> tuple[Panel, ...]:
    """Return the recorded motion of a vehicle's wheels and seat, and the cue."""
    found: list[Panel] = []
    loads = view.names("vehicle.load.")
    if loads:
        found.append(_together(view, "wheel loads, kN", loads, 1e-3))
    travels = view.names("vehicle.travel.")
    if travels:
        found.append(_together(view, "wheel travel, mm", travels, 1e3))
    seat = view.names("seat.acceleration.")
    if seat:
        found.append(_together(view, "seat acceleration, m/s²", seat, 1.0))
    for axis in group(result, "cueing"):
        unit = "m/s²" if len(axis) == 1 else "rad/s"
        pair = (("asked", "reference", 1.6), ("given", "achieved", 1.0))
        curves = tuple(
            curve(view.times, view.column(f"cue.{which}.{axis}"), view.span, view, tone, which, width)
            for which, tone, width in pair
            if view.has(f"cue.{which}.{axis}")
        )
        found.append(
            Panel(f"cue {axis}, {unit}", view.clock, curves, x_range=view.span, minimum=0.02, wide=True)
        )
    return tuple(found)


def _together(view: View, title: str, names: list[str], factor: float) -> Panel:
    curves = tuple(
        curve(
            view.times,
            factor * view.column(name),
            view.span,
            view,
            tone_of(ACTUATORS, index),
            name.rsplit(".", 1)[1],
        )
        for index, name in enumerate(names)
    )
    return Panel(title, view.clock, curves, marks=marks(view), x_range=view.span, wide=True)


def max_reference(view: View, driven: Collection[str]) -> tuple[float, float]:
    """Return the time of the largest reference of the driven axes and its size in m (rotations at 1.4 m)."""
    centre, maximum = 0.0, 0.0
    for axis in driven:
        values = view.column(f"reference.{axis}")
        sound = np.isfinite(values)
        if not sound.any():
            continue
        size = np.abs(values - np.mean(values[sound])) * (1.0 if axis in LENGTH_AXES else ROTATION_ARM)
        size[~sound] = 0.0
        if size.max() > maximum:
            maximum, centre = float(size.max()), float(view.times[int(size.argmax())])
    return centre, maximum


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
