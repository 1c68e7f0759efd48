"""How much of a record is missing from the profile's window, and whether that is little enough for a verdict.

Missing are frames that the recorder dropped and those that the file has lost since. Frames missing beside the
window count as the window's: nobody knows of which state they were.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from mastd.errors import FormatError
from mastd.record.alignment import Window, find_window
from mastd.record.reader import Run

MAX_LOST_SHARE: Final = 0.001
MAX_GAP_S: Final = 0.020
"""Bounds of a profile that says nothing, and of records from before there were any."""


@dataclass(frozen=True)
class Completeness:
    """Share of the window's frames that are missing, and the longest time in s without one."""

    lost_share: float
    longest_gap: float


def completeness(run: Run, window: Window | None) -> Completeness | None:
    """Return what is missing from the profile's window; None without one."""
    if window is None:
        return None
    newest = int(run.numbers[-1])
    before = int(run.numbers[window.first - 1]) if window.first else -1
    behind = int(run.numbers[window.last + 1]) if window.last + 1 < len(run.numbers) else newest + 1
    if window.last + 1 == len(run.numbers) and run.offered is not None:
        behind = max(behind, run.offered)
    numbers = np.concatenate(([before], run.numbers[window.first : window.last + 1], [behind]))
    frames = behind - before - 1
    gaps = np.diff(numbers) - 1
    return Completeness(float(np.sum(gaps)) / frames, float(np.max(gaps)) * run.period)


def judge_completeness(criteria: Mapping[str, object], found: Completeness | None) -> list[dict[str, object]]:
    """Return the two criteria with their figures, as ``result.judge`` does."""
    figures = (None, None) if found is None else (found.lost_share, found.longest_gap)
    bounds = (("lost_share", MAX_LOST_SHARE), ("longest_gap", MAX_GAP_S))
    return [
        criterion(name, figure, criteria.get(name, bound))
        for (name, bound), figure in zip(bounds, figures, strict=True)
    ]


def refuse_incomplete(run: Run) -> None:
    """Raise FormatError where more of the profile's frames is missing than a verdict of pass allows."""
    states, profile = run.metadata.get("states"), run.metadata.get("profile")
    names = [str(name) for name in states] if isinstance(states, list) and "state" in run.columns else []
    window = find_window(run, names) if "RUNNING" in names else None
    criteria = profile.get("verdict") if isinstance(profile, Mapping) else None
    wanted = criteria if isinstance(criteria, Mapping) else {}
    for one in judge_completeness(wanted, completeness(run, window)) if window is not None else ():
        if not one["pass"]:
            raise FormatError(
                f"{run.path}: frames are missing while the profile ran: {one['name']} is {one['value']:.4g},"
                f" at most {one['limit']:g} is allowed; repeat the run"
            )


def criterion(name: str, value: float | None, limit: object) -> dict[str, object]:
    """Return one criterion with its figure: ``{"name", "value", "limit", "pass"}``."""
    if isinstance(limit, list | tuple):
        low, high = limit
        passed = value is not None and low <= value <= high
    else:
        passed = value is not None and isinstance(limit, int | float) and abs(value) <= limit
    return {"name": name, "value": value, "limit": limit, "pass": passed}
