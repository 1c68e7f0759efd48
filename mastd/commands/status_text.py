"""The daemon's status in words, for `mastd ctl status` and `mastd ctl watch`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

STAGES = ("off", "low", "high")
_DEGREES = 180.0 / math.pi
_POSE = (
    ("x", 1e3, "mm"),
    ("y", 1e3, "mm"),
    ("z", 1e3, "mm"),
    ("roll", _DEGREES, "deg"),
    ("pitch", _DEGREES, "deg"),
    ("yaw", _DEGREES, "deg"),
)


def page(status: dict[str, Any]) -> str:
    """Return everything a technician wants to know, several lines."""
    lines = [f"{status['name']} (pid {status['pid']})"]
    if status["advice"]:
        lines.append(f"LOOP {status['loop'].upper()}: {status['advice']}")
    if status["loop"] != "preparing":
        lines += _loop_lines(status)
    lease = status["lease"]
    lines.append(
        f"  commands     {lease['holder']}, for another {lease['left_s']:.0f} s"
        if lease
        else "  commands     nobody"
    )
    if status["loading"]:
        lines.append(f"  loading      {status['loading']}")
    return "\n".join(lines)


def _loop_lines(status: dict[str, Any]) -> list[str]:
    lines = [f"{status['state']} since {_duration(status['since_s'])}{_degraded(status)}"]
    cause = status["cause"]
    if cause:
        lines += [
            f"  cause        {cause['text']} ({cause['name']})",
            f"  what to do   {cause['hint']}",
            f"  clears when  {cause['clear']}",
        ]
    others = [name for name in status["active"] if not cause or name != cause["name"]]
    if others:
        lines.append(f"  also active  {', '.join(others)}")
    profile, level, supply = status["profile"], status["level"], status["supply"]
    stage = STAGES[supply["stage"]] if 0 <= supply["stage"] < len(STAGES) else str(supply["stage"])
    return [
        *lines,
        f"  profile      {_profile(profile)}",
        f"  level        {_percent(level['now'])} (asked {_percent(level['target'])}, "
        f"at most {_percent(level['limit'])})",
        f"  supply       {_number(supply['pressure_pa'], 1e-5, '.0f')} bar, {stage}",
        f"  missed       {status['missed']} periods; {status['dropped']} frames not recorded",
        f"  pose         {_pose(status['pose'])}",
        f"  asked        {_pose(status['reference'])}",
        f"  lengths      {_row(status['lengths_m'], 1e3, '.2f')} mm",
        f"  forces       {_row(status['forces_n'], 1e-3, '.1f')} kN",
    ]


def line(status: dict[str, Any]) -> str:
    """Return the status as one line."""
    if status["advice"]:
        return f"LOOP {status['loop'].upper()}: {status['advice']}"
    parts = [
        f"{status['state']:8}",
        _profile(status["profile"]),
        f"level {_percent(status['level']['now'])}",
        f"heave {_number(status['pose'][2], 1e3, '+.2f')} mm",
        f"{_number(status['supply']['pressure_pa'], 1e-5, '.0f')} bar",
        f"missed {status['missed']}",
    ]
    if status["lease"]:
        parts.append(f"by {status['lease']['holder']}")
    if status["degraded"]:
        parts.append("DEGRADED_RT")
    if status["cause"]:
        parts.append(status["cause"]["text"])
    return "  ".join(parts)


def _degraded(status: dict[str, Any]) -> str:
    return "  DEGRADED_RT (real-time rights are missing)" if status["degraded"] else ""


def _profile(profile: dict[str, Any]) -> str:
    if not profile["name"]:
        return "none loaded"
    played, duration = profile["time_s"], profile["duration_s"]
    if played is None:
        return f"{profile['name']}, {_number(duration, 1.0, '.1f')} s"
    share = f" ({played / duration:.0%})" if duration else ""
    return f"{profile['name']}, {played:.1f} of {_number(duration, 1.0, '.1f')} s{share}"


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return "an unknown time"
    if seconds < 120.0:
        return f"{seconds:.1f} s"
    return f"{seconds / 60.0:.0f} min" if seconds < 7200.0 else f"{seconds / 3600.0:.1f} h"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


def _number(value: float | None, factor: float, form: str) -> str:
    return "-" if value is None else format(value * factor, form)


def _row(values: Sequence[float | None], factor: float, form: str) -> str:
    return "  ".join(_number(value, factor, form) for value in values)


def _pose(pose: Sequence[float | None]) -> str:
    return "  ".join(
        f"{name} {_number(value, factor, '+.3f')} {unit}"
        for (name, factor, unit), value in zip(_POSE, pose, strict=True)
    )
