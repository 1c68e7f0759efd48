"""A profile in words, from the data that its record keeps of it (SI numbers)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from mastd.record.channels import LENGTH_AXES
from mastd.report.numbers import figure, group, part, plain, quantity
from mastd.settings.core.axes import AXES

_DEGREES = 180.0 / math.pi


def segment_text(segment: Mapping[str, Any]) -> str:
    """Return a segment's command in words."""
    kind = str(segment.get("kind"))
    say = _KINDS.get(kind)
    text = say(segment) if say is not None else f"{kind}: {plain(segment)}"
    extras = []
    if segment.get("gain") not in (None, 1.0):
        extras.append(f"times {figure(segment['gain'])}")
    if segment.get("repeats") not in (None, 1):
        extras.append(f"run {figure(segment['repeats'])} times")
    if segment.get("fade") is not None:
        extras.append(f"rise and fall in {quantity(segment['fade'], 's')}")
    return ", ".join([text, *extras])


def segment_duration(segment: Mapping[str, Any]) -> float | None:
    """Return the duration of a segment in s, None where its file states it."""
    duration = segment.get("duration")
    if isinstance(duration, int | float):
        return float(duration)
    try:
        return abs(math.log2(segment["stop"] / segment["start"])) / float(segment["rate"])
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        return None


def payload_text(payload: Mapping[str, Any]) -> str:
    """Return the payload in words."""
    kind = payload.get("kind")
    if kind == "rigid":
        height = part(payload, "centre_of_gravity")
        at = f", centre of gravity {_point(height)} from C" if isinstance(height, list) else ""
        return f"rigid body of {quantity(payload.get('mass'), 't', 1e-3)}{at}"
    if kind == "vehicle":
        restrained = {True: ", tied down", False: ", not tied down"}.get(payload.get("restrained"), "")  # type: ignore[arg-type]
        return f"simulated vehicle {_name(payload.get('vehicle'))}{restrained}"
    if kind == "rig":
        return f"vehicle of rig {plain(payload.get('rig'))}, of {quantity(payload.get('mass'), 't', 1e-3)}"
    return "nothing" if kind in ("none", None) else plain(payload)


def driving_text(oils: Mapping[str, Any]) -> str:
    """Return the driven vehicle and its driver in words."""
    driver = {key: value for key, value in group(oils, "driver").items() if key != "kind"}
    return (
        f"{_name(oils.get('vehicle'))} from {quantity(oils.get('speed'), 'km/h', 3.6)} on a road"
        f" ({plain(group(oils, 'road'))}), driver: {part(oils, 'driver', 'kind')}"
        + (f" ({plain(driver)})" if driver else "")
        + ", whose seat drives the table"
    )


def stream_text(stream: Mapping[str, Any]) -> str:
    """Return a rig's stream and its limits in words."""
    rig = plain(stream.get("rig"))
    if stream.get("kind") == "seat":
        return f"motion at the seat of the vehicle of rig {rig}, cueing: {part(stream, 'cueing', 'kind')}"
    return (
        f"pose of rig {rig}, followed with {quantity(stream.get('bandwidth'), 'Hz')}: "
        f"{_each(stream, _travel)}"
    )


def _hold(segment: Mapping[str, Any]) -> str:
    return "at rest"


def _ramp(segment: Mapping[str, Any]) -> str:
    return "go to " + (_each(group(segment, "to"), _position) or "where it is")


def _sine(segment: Mapping[str, Any]) -> str:
    return f"sine of {quantity(segment.get('frequency'), 'Hz')}: {_each(group(segment, 'axes'), _wave)}"


def _sweep(segment: Mapping[str, Any]) -> str:
    return (
        f"sine sweep from {figure(segment.get('start'))} to {quantity(segment.get('stop'), 'Hz')},"
        f" {quantity(segment.get('rate'), 'oct/min', 60.0)}: {_each(group(segment, 'axes'), _wave)}"
    )


def _random(segment: Mapping[str, Any]) -> str:
    return (
        f"random motion with peaks up to {figure(segment.get('sigma_clip'))} times its rms:"
        f" {_each(group(segment, 'axes'), _density)}"
    )


def _road(segment: Mapping[str, Any]) -> str:
    return (
        f"road of class {segment.get('road_class')} (ISO 8608) at"
        f" {quantity(segment.get('speed'), 'km/h', 3.6)}, {_band(segment)}, wheelbase"
        f" {quantity(segment.get('wheelbase'), 'm')}, track {quantity(segment.get('track_width'), 'm')}"
    )


def _record(segment: Mapping[str, Any]) -> str:
    return f"record, {_band(segment)}{_scaling(segment)}: {_each(group(segment, 'axes'), _component)}"


def _measured(segment: Mapping[str, Any]) -> str:
    channels = group(segment, "channels")
    axes = segment.get("axes")
    moved = ", ".join(map(str, axes)) if isinstance(axes, list) else "some axes"
    return (
        f"motion of {moved} fitted to {len(channels)} measured channels of {segment.get('file')}"
        f" ({', '.join(channels)}), {_band(segment)}{_scaling(segment)}"
    )


def _drive(segment: Mapping[str, Any]) -> str:
    moved = ", ".join(axis for axis in AXES if group(segment, "channels").get(axis) is not None)
    return f"displacements of {moved} as given in {segment.get('file')}, {_band(segment)}"


_KINDS = {
    "hold": _hold,
    "ramp": _ramp,
    "sine": _sine,
    "sweep": _sweep,
    "random": _random,
    "road": _road,
    "record": _record,
    "measured": _measured,
    "drive": _drive,
}


def _each(axes: Mapping[str, Any], say: Any) -> str:
    found = [f"{axis} {say(axis, axes[axis])}" for axis in AXES if axes.get(axis) is not None]
    return ", ".join(found)


def _position(axis: str, value: object) -> str:
    return quantity(value, "mm", 1e3) if axis in LENGTH_AXES else quantity(value, "°", _DEGREES)


def _travel(axis: str, box: Mapping[str, Any]) -> str:
    return f"± {_position(axis, box.get('travel'))}"


def _wave(axis: str, wave: Mapping[str, Any]) -> str:
    if wave.get("amplitude") is not None:
        size = f"± {_position(axis, wave['amplitude'])}"
    else:
        unit = "m/s²" if axis in LENGTH_AXES else "rad/s²"
        size = f"± {quantity(wave.get('peak'), unit)}"
    phase = wave.get("phase")
    return size + (f" at {quantity(phase, '°', _DEGREES)}" if phase else "")


def _density(axis: str, value: Mapping[str, Any]) -> str:
    points = value.get("density")
    unit = "(m/s²)²/Hz" if axis in LENGTH_AXES else "(rad/s²)²/Hz"
    if not isinstance(points, list):
        return plain(value)
    corners = [f"{figure(density)} {unit} at {quantity(frequency, 'Hz')}" for frequency, density in points]
    return " – ".join(corners)


def _component(axis: str, component: Mapping[str, Any]) -> str:
    channel = component.get("channel")
    scale = component.get("scale")
    return (
        f"from {component.get('file')}"
        + (f", channel {channel}" if channel is not None else "")
        + (f", times {figure(scale)}" if scale not in (None, 1.0) else "")
    )


def _band(segment: Mapping[str, Any]) -> str:
    band = segment.get("band")
    return f"{figure(band[0])} … {figure(band[1])} Hz" if isinstance(band, list) and len(band) == 2 else "–"


def _scaling(segment: Mapping[str, Any]) -> str:
    if segment.get("stroke") is not None:
        return f", lengths scaled down to a stroke of {quantity(segment['stroke'], 'mm', 1e3)}"
    if segment.get("length_scale") is not None:
        return f", lengths times {figure(segment['length_scale'])}"
    return ""


def _name(file: object) -> str:
    """Return what a vehicle is called: its path stands with the digests."""
    return PurePath(str(file)).stem


def _point(values: list[Any]) -> str:
    return "(" + ", ".join(figure(value) for value in values) + ") m"
