"""The daemon's status and answers in words, for `mastd ctl` and the panel."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mastd.errors import printable

if TYPE_CHECKING:
    from mastd.wire.operators.messages import Answer

STAGES = ("off", "low", "high")
_DEGREES = 180.0 / math.pi
_POSE = {
    "surge": ("x", 1e3, "mm"),
    "sway": ("y", 1e3, "mm"),
    "heave": ("z", 1e3, "mm"),
    "roll": ("roll", _DEGREES, "deg"),
    "pitch": ("pitch", _DEGREES, "deg"),
    "yaw": ("yaw", _DEGREES, "deg"),
}
_MOST = 8
"""Actuators whose figures stand in one line."""
_COLUMNS = 6

UNKNOWN = "not known"


def page(status: dict[str, Any], freedoms: Collection[str] = tuple(_POSE)) -> str:
    """Return everything a technician wants to know, several lines; of the pose the axes ``freedoms``."""
    lines = [f"{status['name']} (pid {_count(status['pid'])})"]
    if status["last_ending"]:
        lines.append(f"  last ending  {status['last_ending']}")
    if status["reload"] and status["reload"]["kept_old"]:
        lines.append(
            f"  old settings in force, the new ones could not be loaded: {status['reload']['kept_old']}"
        )
    if status["advice"]:
        lines.append(f"LOOP {status['loop'].upper()}: {status['advice']}")
    if status["loop"] != "preparing":
        lines += _loop_lines(status, freedoms)
    lease = status["lease"]
    lines.append(
        f"  control      {lease['holder']}, for {_left(lease['left_s'])}" if lease else "  control      none"
    )
    if status["loading"]:
        lines.append(f"  loading      {status['loading']}")
    return "\n".join(printable(text, keep="") for text in lines)


def clearing(state: str, cause: Mapping[str, Any], active: Sequence[Any]) -> str:
    """Return when a cause clears: in FAULT and ESTOP a condition that is over waits to be acknowledged."""
    over = cause["name"] not in active and state in ("FAULT", "ESTOP")
    return "reset; the condition itself has cleared" if over else str(cause["clear"])


def _loop_lines(status: dict[str, Any], freedoms: Collection[str]) -> list[str]:
    lines = [f"{status['state']} since {_duration(status['since_s'])}{_degraded(status)}"]
    cause = status["cause"]
    if cause:
        lines += [
            f"  cause        {cause['text']} ({cause['name']})",
            f"  what to do   {cause['hint']}",
            f"  clears when  {clearing(status['state'], cause, status['active'])}",
        ]
    others = [name for name in status["active"] if not cause or name != cause["name"]]
    if others:
        lines.append(f"  also active  {', '.join(others)}")
    profile, level, supply = status["profile"], status["level"], status["supply"]
    vehicle = status["vehicle"]
    if vehicle:
        lines.append(f"  vehicle      {vehicle_text(vehicle)}")
    lines += [f"  rig          {rig_text(rig)}" for rig in status.get("rigs", ())]
    return [
        *lines,
        f"  profile      {_profile(profile)}",
        f"  span         {_percent(level['now'])} (command {_percent(level['target'])}, "
        f"max. {_percent(level['limit'])})",
        f"  supply       {_supply(supply, waits=status['state'] in ('LOW', 'HIGH'))}",
        f"  missed       {_count(status['missed'])} periods; {_count(status['dropped'])} frames not recorded",
        *_room(status.get("recording_left_s")),
        f"  pose         {_pose(status['pose'], freedoms)}",
        f"  command      {_pose(status['reference'], freedoms)}",
        *_rows("lengths", status["lengths_m"], 1e3, ".2f", "mm"),
        *_rows("forces", status["forces_n"], 1e-3, ".1f", "kN"),
    ]


def _room(seconds: float | None) -> list[str]:
    """Return the line of the room that is left for records, none where it is unknown."""
    if seconds is None:
        return []
    room = f"{seconds:.0f} s" if seconds < 600.0 else f"{seconds / 3600.0:.3g} h"
    return [f"  disk         room for {room} of recording"]


def line(status: dict[str, Any], freedoms: Collection[str] = tuple(_POSE)) -> str:
    """Return the status as one line; of the pose heave, or else the first of ``freedoms``."""
    if status["advice"]:
        return printable(f"LOOP {status['loop'].upper()}: {status['advice']}", keep="")
    axis = "heave" if "heave" in freedoms else next(name for name in _POSE if name in freedoms)
    _, factor, unit = _POSE[axis]
    parts = [
        f"{status['state']:8}",
        _profile(status["profile"]),
        f"span {_percent(status['level']['now'])}",
        f"{axis} {_number(status['pose'][list(_POSE).index(axis)], factor, '+.2f', unit)}",
        _pressure(status["supply"]["pressure_pa"]),
        f"missed {_count(status['missed'])}",
    ]
    if status["lease"]:
        parts.append(f"by {status['lease']['holder']}")
    if status["degraded"]:
        parts.append("DEGRADED_RT")
    if status["cause"]:
        parts.append(status["cause"]["text"])
    return printable("  ".join(parts), keep="")


def answer_text(answer: Answer, became: str = "accepted") -> str:
    """Return what became of a command; of one that was refused why, and what is needed."""
    if not answer.accepted:
        return f"{answer.reason}{f'; needed: {answer.needed}' if answer.needed else ''}"
    cause = f" ({answer.cause})" if answer.cause else ""
    note = f"; {answer.reason}" if answer.reason else ""
    return f"{answer.verb}: {became}; {answer.state}{cause}{note}"


def vehicle_text(vehicle: dict[str, Any]) -> str:
    """Return what a simulated vehicle does: on the table what its seat feels, driven its speed and lever."""
    if not vehicle["driven"]:
        felt = [_number(vehicle["seat"]["rms"][axis], 1.0, ".2f") for axis in "xyz"]
        return f"{vehicle['name']} on the table; seat x {felt[0]}, y {felt[1]}, z {felt[2]} m/s2 weighted"
    speed, gear = _number(vehicle["speed"], 3.6, "5.1f", "km/h"), vehicle["driver"]["gear"]
    lost = "  DRIVER LOST" if vehicle["driver_lost"] else ""
    return f"{speed}  lever {UNKNOWN if gear is None else gear_name(round(gear))}{lost}"


def rig_text(rig: dict[str, Any]) -> str:
    """Return who a rig, or somebody who drives, is, when it was heard last and how late it answers."""
    delay, trip = rig.get("delay"), rig.get("round_trip_s")
    late = "" if delay is None else f", {delay:.0f} steps late"
    way = "" if trip is None else f", round trip {trip * 1e3:.2f} ms"
    heard = _number(rig["age_s"], 1.0, ".2f", "s ago")
    return f"{rig['name']} ({rig['kind']}) of {rig['operator']}, seen {heard}{late}{way}"


def gear_name(gear: int) -> str:
    """Return what a gear lever shows; R2 is the second reverse gear, D leaves the choice to the car."""
    if gear < 0:
        return "R" if gear == -1 else f"R{-gear}"
    return {0: "N", 100: "D"}.get(gear, str(gear))


def _degraded(status: dict[str, Any]) -> str:
    return "  DEGRADED_RT (real-time rights are missing)" if status["degraded"] else ""


def _profile(profile: dict[str, Any]) -> str:
    if not profile["name"]:
        return "none loaded"
    played, duration = profile["time_s"], profile["duration_s"]
    if played is None:
        return f"{profile['name']}, {_number(duration, 1.0, '.1f', 's')}"
    ratio = f" ({played / duration:.0%})" if duration else ""
    return f"{profile['name']}, {played:.1f} of {_number(duration, 1.0, '.1f', 's')}{ratio}"


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return "an unknown time"
    if seconds < 120.0:
        return f"{seconds:.1f} s"
    return f"{seconds / 60.0:.0f} min" if seconds < 7200.0 else f"{seconds / 3600.0:.1f} h"


def _left(seconds: float | None) -> str:
    return "an unknown time" if seconds is None else f"another {seconds:.0f} s"


def _percent(ratio: float | None) -> str:
    return UNKNOWN if ratio is None else f"{ratio:.1%}"


def _count(count: int | None) -> str:
    return UNKNOWN if count is None else str(count)


def _stage(stage: int | None) -> str:
    if stage is None:
        return f"stage {UNKNOWN}"
    return STAGES[stage] if 0 <= stage < len(STAGES) else str(stage)


def _supply(supply: dict[str, Any], *, waits: bool) -> str:
    """Return pressure and stage, of several supplies each pressure; how far charged while the table waits."""
    each = supply.get("each", ())
    told = [f"{number}: {_pressure(own['pressure_pa'])}" for number, own in enumerate(each, start=1)]
    pressures = ", ".join(told) if len(told) > 1 else _pressure(supply["pressure_pa"])
    charged = [own["charged"] or 0.0 for own in each]
    wait = f"; accumulators {min(charged):.0%} charged, the table waits for them" if waits and charged else ""
    return f"{pressures}, {_stage(supply['stage'])}{wait}"


def _pressure(pascal: float | None) -> str:
    return f"pressure {UNKNOWN}" if pascal is None else f"{pascal * 1e-5:.0f} bar"


def _number(value: float | None, factor: float, form: str, unit: str = "") -> str:
    return UNKNOWN if value is None else f"{format(value * factor, form)} {unit}".rstrip()


def _rows(name: str, values: Sequence[float | None], factor: float, form: str, unit: str) -> list[str]:
    """Return a value of each actuator in one line; of more than ``_MOST`` in columns, with their numbers."""
    if all(value is None for value in values):
        return [f"  {name:<12} {UNKNOWN}"]
    texts = [_number(value, factor, form) for value in values]
    if len(texts) <= _MOST:
        return [f"  {name:<12} {'  '.join(texts)} {unit}"]
    lines = []
    for first in range(0, len(texts), _COLUMNS):
        own = texts[first : first + _COLUMNS]
        numbers = f"{first + 1}–{first + len(own)}"
        cells = "".join(f"{text:>10}" for text in own)
        lines.append(f"  {'' if first else name:<8}{numbers:>5}{cells} {unit}")
    return lines


def _pose(pose: Sequence[float | None], freedoms: Collection[str]) -> str:
    if all(value is None for value in pose):
        return UNKNOWN
    return "  ".join(
        f"{name} {_number(value, factor, '+.3f', unit)}"
        for (axis, (name, factor, unit)), value in zip(_POSE.items(), pose, strict=True)
        if axis in freedoms
    )
