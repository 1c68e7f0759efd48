"""The result of a run, from its record: the JSON document of ``mastd run`` and ``mastd report``, and the
verdict.

What is compared: see ``mastd.record.alignment``. Displacements (m and rad) are those of point C, filtered to
the profile's band (``mastd.signals.band``); accelerations see ``mastd.record.acceleration``.

Verdict: ``fault`` if a fault ended the run, ``stopped`` if anything else ended it before the profile's end
or the record does not tell how it ended, else ``pass`` or ``fail`` by the criteria in the profile, among
which is always how much of the record may be missing (``mastd.record.completeness``). A criterion whose
figure cannot be had fails.
Where a record was lost, the cause of the run's end comes first, then what became of the record: a full disk
must not hide a fault.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import numpy as np

from mastd.arrays import FloatArray
from mastd.errors import FormatError
from mastd.record.acceleration import acceleration_results, driven_axes
from mastd.record.alignment import Aligned, Window, aligned_accelerations, aligned_motion, find_window
from mastd.record.completeness import completeness, criterion, judge_completeness
from mastd.record.fault_report import fault_history
from mastd.record.reader import Run
from mastd.record.ride_figures import ride_figures
from mastd.record.unasked_motion import judge_unasked, unasked_motion, watch_of
from mastd.record.writer import RUN_FILE
from mastd.settings.core.axes import AXES
from mastd.signals.acceleration_figures import ARMS, no_figures
from mastd.signals.band import band_filter, judging_band
from mastd.signals.metrics import best_lag, cross_axis, nrmse, peak_ratio, rms, second_derivative

NEEDED = (
    *("cycle", "step", "missed", "state", "fault", "late", "compute", "internal_force", "profile_time"),
    *(f"{quantity}.{axis}" for quantity in ("reference", "pose") for axis in AXES),
)
MAX_INDICATED = 10
"""Causes that a result names."""
ACCELERATION_CRITERIA: Final = {
    "acceleration_nrmse": "nrmse",
    "acceleration_best_lag_nrmse": "best_lag_nrmse",
    "spectrum_outside_share": "spectrum_outside_share",
    "thd": "thd",
}
"""Criterion → key among the figures of an axis's acceleration."""
COMMAND_FIELDS = ("length", "rate", "acceleration", "force", "trim")

Outcome = Literal["completed", "stopped", "fault"]


def make_result(run: Run) -> dict[str, object]:
    """Return the document of one run; every figure that cannot be had is None.

    ``vehicle`` and ``cueing`` are in it where the record has their channels, see
    ``mastd.record.ride_figures``.

    Raises FormatError if the record lacks a channel or metadata that the document needs, or is the history of
    a fault.
    """
    if fault_history(run) is not None:
        raise FormatError(f"{run.path}: is a fault history, not a run; `mastd report` shows its cause")
    states = _state_names(run)
    window = find_window(run, states)
    outcome, state, cause = _ending(run, states, window)
    motion = aligned_motion(run, window)
    band = judging_band(profile_band(run))
    figures, driven = axis_figures(motion, 1.0 / run.period, band)
    point, accelerations = acceleration_results(run, window, motion, band)
    cycles = missed = 0
    longest_miss: float | None = None
    internal: float | None = None
    internal_peak: float | None = None
    if window is not None:
        cycles = _difference(run.columns["cycle"], window) + 1
        missed = _difference(run.columns["missed"], window)
        misses = np.diff(run.columns["missed"][window.first : window.last + 1])
        longest_miss = float(np.nanmax(misses, initial=0.0)) * run.period
        forces = run.columns["internal_force"][window.first : window.last + 1]
        forces = forces[np.isfinite(forces)]
        internal = rms(forces) if len(forces) else None
        internal_peak = float(np.max(np.abs(forces))) if len(forces) else None
    arm, bound = watch_of(run.metadata)
    unasked = unasked_motion(aligned_accelerations(run, window), run.period, arm)
    criteria = judge(_criteria(run), figures, accelerations, cycles, missed, internal)
    stated = _criteria(run).get("unasked_motion")
    stillness = judge_unasked(unasked, driven, stated if isinstance(stated, int | float) else bound)
    criteria += [stillness] if stillness is not None else []
    criteria += judge_completeness(_criteria(run), completeness(run, window))
    verdict = outcome if outcome != "completed" else _verdict(criteria)
    return {
        "verdict": verdict,
        "state": state,
        "cause": cause,
        "run": str(run.path.parent if run.path.name == RUN_FILE else run.path),
        "command_sha256": command_sha256(run, window),
        "cycles": cycles,
        "missed": missed,
        "axes": {
            axis: {**figures[axis], "unasked_motion": unasked[axis], "acceleration": accelerations[axis]}
            for axis in AXES
        },
        "internal_force_rms_n": internal,
        "internal_force_peak_n": internal_peak,
        "acceleration_point": point,
        "driven": sorted(driven, key=AXES.index),
        "criteria": criteria,
        "lost_frames": run.lost,
        "damage": run.damage_ever,
        "degraded_rt": _degraded(run),
        "longest_miss_s": longest_miss,
        "round_trip_s": _longest_round_trip(run, window),
        "indicated": _indicated(run),
        **ride_figures(run, _span(run, window)),
    }


def missed_cycles_note(result: Mapping[str, object]) -> str:
    """Return what missed cycles may have to do with a criterion that is not met, empty without either."""
    cycles, missed, longest, criteria = (
        result[name] for name in ("cycles", "missed", "longest_miss_s", "criteria")
    )
    assert isinstance(cycles, int)
    assert isinstance(missed, int)
    assert isinstance(criteria, list)
    if not missed or all(criterion["pass"] for criterion in criteria):
        return ""
    at_once = f", up to {1e3 * longest:.3g} ms in a row" if isinstance(longest, float) else ""
    return (
        f"{missed:,} of {cycles + missed:,} cycles were missed{at_once}, which can be the reason: close "
        "other programs and repeat the run, or rehearse with --lockstep; `mastd latency` shows what this "
        "machine lacks for a real table"
    )


def _longest_round_trip(run: Run, window: Window | None) -> float | None:
    """Return the longest round trip of the plant link in the window, None of a record without it."""
    trips = run.columns.get("round_trip")
    if window is None or trips is None:
        return None
    return float(np.max(trips[window.first : window.last + 1]))


def _span(run: Run, window: Window | None) -> tuple[float, float] | None:
    """Return the times in s of the first and last frame of a window."""
    return None if window is None else (float(run.times[window.first]), float(run.times[window.last]))


def _indicated(run: Run) -> list[str]:
    """Return the causes of the faults that were only indicated, each once, in their order."""
    causes = [
        str(event.get("cause"))
        for event in run.events
        if event.get("event") == "fault" and event.get("action") == "INDICATE"
    ]
    return list(dict.fromkeys(causes))[:MAX_INDICATED]


def _degraded(run: Run) -> bool | None:
    """Return whether real-time rights were missing (DEGRADED_RT), None if the record does not tell."""
    for event in run.events:
        if event.get("event") == "rights":
            return bool(event.get("degraded"))
    return None


def _verdict(criteria: list[dict[str, object]]) -> str:
    return "pass" if all(criterion["pass"] for criterion in criteria) else "fail"


def _state_names(run: Run) -> list[str]:
    names = run.metadata.get("states")
    if not isinstance(names, list) or "RUNNING" not in names:
        raise FormatError(f"{run.path}: the metadata do not name the states: not a record of mastd?")
    missing = [name for name in NEEDED if name not in run.columns]
    if missing:
        raise FormatError(f"{run.path}: no channel {', '.join(missing)}")
    return [str(name) for name in names]


def _ending(run: Run, states: list[str], window: Window | None) -> tuple[Outcome, str | None, str | None]:
    """Return how the run ended, in which state before lowering, and why.

    The loop's ``end`` event says it; without one the frames tell a fault that they show, and never that the
    run was completed: what came behind them is not known.
    """
    for event in reversed(run.events):
        outcome = event.get("outcome")
        if event.get("event") == "end" and outcome in ("completed", "stopped", "fault"):
            cause = event.get("cause")
            return outcome, str(event.get("state")), None if cause is None else str(cause)
    codes = run.columns["state"]
    after = window.last if window else 0
    names = [states[int(code)] if 0 <= code < len(states) else None for code in codes[after:]]
    lowering = names.index("LOWERING") if "LOWERING" in names else len(names)
    state = names[max(lowering - 1, 0)] if names else None
    faults = run.columns["fault"]
    latched = faults[faults != 0]
    if len(latched):
        known = run.metadata.get("faults")
        code = f"{latched[0]:.0f}"
        return "fault", state, str(known.get(code, code)) if isinstance(known, Mapping) else code
    if window is None:
        played = "the profile was not started"
    else:
        duration, reached = run.metadata.get("duration"), run.columns["profile_time"][window.last]
        whole = isinstance(duration, int | float) and reached >= duration - 1.5 * run.period
        played = "the profile was played to its end" if whole else "stopped before the end of the profile"
    unknown = "how the run ended is not in the record"
    return "stopped", state, "; ".join(filter(None, (played, unknown, run.damage_ever)))


def command_sha256(run: Run, window: Window | None) -> str | None:
    """Return the digest of all command fields of the actuators over the profile's window.

    Little-endian float64, command by command: lengths, rates, accelerations, forces, trims, each in actuator
    order. The loop's own figure in the ``end`` event comes first; a window with lost frames or a cut end
    has none.
    """
    for event in reversed(run.events):
        if event.get("event") == "end" and isinstance(event.get("command_sha256"), str):
            return str(event["command_sha256"])
    if window is None or (run.damage_ever is not None and window.last == len(run.times) - 1):
        return None
    if np.any(np.diff(run.numbers[window.first : window.last + 1]) != 1):
        return None
    names = [name for field in COMMAND_FIELDS for name in run.numbered(f"command.{field}")]
    commands = run.matrix(names)[window.first : window.last + 1]
    return hashlib.sha256(np.ascontiguousarray(commands, dtype="<f8").tobytes()).hexdigest()


def axis_figures(
    motion: Aligned | None, rate: float, band: tuple[float, float]
) -> tuple[dict[str, dict[str, float | None]], frozenset[str]]:
    """Return the figures of the displacements per axis and which axes were driven."""
    none: dict[str, float | None] = dict.fromkeys(
        ("nrmse", "best_lag_nrmse", "lag_s", "peak_ratio", "cross_axis")
    )
    figures: dict[str, dict[str, float | None]] = {axis: dict(none) for axis in AXES}
    if motion is None:
        return figures, frozenset()
    achieved = band_filter(motion.achieved, rate, band)
    reference = band_filter(motion.asked, rate, band)
    driven = driven_axes(reference)
    accelerations: dict[str, float] = {
        axis: float(ARMS[column]) * rms(second_derivative(achieved[:, column], rate))
        for column, axis in enumerate(AXES)
    }
    for axis, ratio in cross_axis(accelerations, driven).items():
        figures[axis]["cross_axis"] = ratio
    for column, axis in enumerate(AXES):
        if axis not in driven:
            continue
        own, asked = achieved[:, column], reference[:, column]
        figures[axis]["nrmse"] = nrmse(own, asked)
        figures[axis]["peak_ratio"] = peak_ratio(own, asked)
        fit = best_lag(own, asked, rate)
        if fit is not None:
            figures[axis]["best_lag_nrmse"], figures[axis]["lag_s"] = fit
    return figures, driven


def judge(
    criteria: Mapping[str, object],
    figures: Mapping[str, Mapping[str, float | None]],
    accelerations: Mapping[str, Mapping[str, float | None]],
    cycles: int,
    missed: int,
    internal_force: float | None,
) -> list[dict[str, object]]:
    """Return every criterion of the profile with its figure: ``{"name", "value", "limit", "pass"}``."""
    judged: list[dict[str, object]] = []
    axes = criteria.get("axes")
    for axis, bounds in axes.items() if isinstance(axes, Mapping) else ():
        for name, limit in bounds.items() if isinstance(bounds, Mapping) else ():
            if limit is not None:
                if name in ACCELERATION_CRITERIA:
                    value = accelerations[axis][ACCELERATION_CRITERIA[name]]
                else:
                    value = figures[axis]["lag_s" if name == "lag" else name]
                judged.append(criterion(f"{axis}.{name}", value, limit))
    ratio = missed / (cycles + missed) if cycles else None
    for name, value in (("missed_share", ratio), ("internal_force", internal_force)):
        if criteria.get(name) is not None:
            judged.append(criterion(name, value, criteria[name]))
    return judged


def _criteria(run: Run) -> Mapping[str, object]:
    profile = run.metadata.get("profile")
    criteria = profile.get("verdict") if isinstance(profile, Mapping) else None
    return criteria if isinstance(criteria, Mapping) else {}


def profile_band(run: Run) -> tuple[float, float] | None:
    """Return lowest and highest frequency in Hz that the profile excites, None if it only moves."""
    band = run.metadata.get("band")
    return (float(band[0]), float(band[1])) if isinstance(band, list) and len(band) == 2 else None


def _difference(values: FloatArray, window: Window) -> int:
    difference = values[window.last] - values[window.first]
    return round(float(difference)) if np.isfinite(difference) else 0


@dataclass(frozen=True)
class Ending:
    """How a run ended: its outcome, the state before lowering, and the cause, None if it completed."""

    outcome: Outcome
    state: str
    cause: str | None
    command_sha256: str
    cycles: int
    missed: int


def with_lost_record(result: dict[str, object], ending: Ending, why: str) -> dict[str, object]:
    """Return the document of a run that was not recorded to its end, as ``why`` says.

    A run that completed is a fail: nothing shows how well it went.
    """
    completed = ending.outcome == "completed"
    causes = (ending.cause, f"recorder lost: {why}", "the run itself completed" if completed else None)
    return {
        **result,
        "verdict": "fail" if completed else ending.outcome,
        "state": ending.state,
        "cause": "; ".join(cause for cause in causes if cause),
        "command_sha256": ending.command_sha256,
    }


def without_record(path: Path, ending: Ending, why: str) -> dict[str, object]:
    """Return the document of a run of which there is no readable record; figures are None."""
    figures, _ = axis_figures(None, 1.0, (0.0, 1.0))
    accelerations = no_figures()
    nothing: dict[str, object] = {
        "verdict": None,
        "state": None,
        "cause": None,
        "run": str(path),
        "command_sha256": None,
        "cycles": ending.cycles,
        "missed": ending.missed,
        "axes": {axis: {**figures[axis], "acceleration": accelerations[axis]} for axis in AXES},
        "internal_force_rms_n": None,
        "internal_force_peak_n": None,
        "acceleration_point": "C",
        "driven": [],
        "criteria": [],
        "lost_frames": ending.cycles,
        "damage": why,
        "degraded_rt": None,
        "longest_miss_s": None,
        "round_trip_s": None,
        "indicated": [],
    }
    return with_lost_record(nothing, ending, why)
