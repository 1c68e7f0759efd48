"""The proof before motion: whether a profile can be played, and the largest scale of it that could."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mastd.dynamics.oil_flow import oil_column_frequencies
from mastd.dynamics.table_model import TableModel
from mastd.kinematics.geometry import Geometry
from mastd.motion.compiler import Program, RecordNote, program
from mastd.motion.limits import Examiner, Findings, Limit, Oil, Windows, all_windows
from mastd.settings.payload import NoPayload, RigidPayload
from mastd.settings.profile import ProfileSettings
from mastd.settings.table import TableSettings

LARGEST_SCALE = 10.0
"""Where the search for the passing scale ends."""

_SCALE_RESOLUTION = 0.002
_SCALE_STEPS = 40
_NUDGE = 0.001
_VERIFICATIONS = 5
_HOT_RANGE = 0.15
_DISPLAY = {
    "m": (1e3, "mm"),
    "rad": (180.0 / math.pi, "deg"),
    "N": (1e-3, "kN"),
    "m3/s": (6e4, "L/min"),
    "m3": (1e3, "L"),
}


@dataclass(frozen=True)
class Preflight:
    """The result: whether every limit holds, the largest scale that would pass, and the limits.

    ``duration`` of the profile in s; ``records``: what the baseline corrections changed.
    """

    ok: bool
    scale: float
    limits: tuple[Limit, ...]
    oil: Oil
    duration: float
    records: tuple[RecordNote, ...]
    oil_column_frequencies: tuple[float, ...]
    """Natural frequencies in Hz of table and payload on the oil columns at neutral, ascending."""

    def document(self) -> dict[str, object]:
        """Return the result as plain data for JSON; numbers that are not finite become None."""
        records = [
            {"segment": note.segment, "axis": note.axis, "file": note.file, **vars(note.report)}
            for note in self.records
        ]
        return {
            "ok": self.ok,
            "scale": self.scale,
            "limits": [_finite(vars(limit)) for limit in self.limits],
            "duration_s": self.duration,
            "oil": _finite(vars(self.oil)),
            "records": records,
            "oil_column_hz": list(self.oil_column_frequencies),
        }

    def text(self) -> str:
        """Return the result as a table to read."""
        rows = [("limit", "worst", "of", "", "left", "at", "where")]
        for limit in self.limits:
            factor, unit = _DISPLAY.get(limit.unit, (1.0, limit.unit))
            rows.append(
                (
                    limit.name.replace("_", " "),
                    f"{_rounded(limit.worst * factor):.4g}",
                    f"{limit.limit * factor:.4g}",
                    "" if unit == "1" else unit,
                    f"{limit.margin:.0%}" if limit.margin > -10.0 else "none",
                    f"{limit.time_s:.2f} s",
                    limit.where + ("" if limit.margin >= 0.0 else "  <- exceeded"),
                )
            )
        widths = [max(len(row[column]) for row in rows) for column in range(7)]
        lines = [
            "  ".join(
                cell.rjust(width) if column in (1, 2, 4, 5) else cell.ljust(width)
                for column, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        ]
        for note in self.records:
            report = note.report
            lines.append(
                f"record on {note.axis}: {report.offset:.3g} m/s2 and {report.slope:.3g} m/s3 taken off, "
                f"peak {report.peak_before:.3g} -> {report.peak_after:.3g} m/s2 in the band, "
                f"{report.peak_displacement * 1e3:.3g} mm"
            )
        modes = ", ".join(f"{frequency:.1f}" for frequency in self.oil_column_frequencies)
        lines.append(f"table and payload swing on the oil columns at {modes} Hz")
        verdict = "passes" if self.ok else "does not pass"
        more = " or more" if self.scale >= LARGEST_SCALE else ""
        lines.append(
            f"{verdict}; {self.duration:.1f} s; largest scale that would pass: {self.scale:.3f}{more}"
        )
        return "\n".join(lines)


def _rounded(value: float) -> float:
    """Return the value, with what is only rounding as zero."""
    return 0.0 if abs(value) < 1e-9 else value


def _finite(values: dict[str, object]) -> dict[str, object]:
    return {
        key: None if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in values.items()
    }


def check(profile: ProfileSettings, table: TableSettings) -> Preflight:
    """Return the proof for a profile on a table; raise SettingsError if its motion cannot be made."""
    return examine(program(profile, table), table, profile.payload)


def examine(motion: Program, table: TableSettings, payload: NoPayload | RigidPayload) -> Preflight:
    """Return the proof for a profile's motion, with the largest scale of the motion that would pass.

    ``scale`` multiplies the profile's own gain; the weight stays. It is found to 0.2 %, up to
    ``LARGEST_SCALE``, always on the passing side and proved there in full; 0 if the table with its payload
    cannot even stand still.
    """
    examiner = Examiner(table, payload)
    timeline = motion.timeline()
    findings = examiner.walk(timeline, all_windows(timeline))
    limits, oil = examiner.limits(timeline, findings)
    ok = _least_margin(limits) >= 0.0
    scale = _passing_scale(examiner, motion, findings, ok)
    modes = oil_column_frequencies(
        table, Geometry.from_settings(table), TableModel.from_settings(table, payload)
    )
    return Preflight(ok, scale, limits, oil, timeline.duration, motion.records, tuple(map(float, modes)))


def _least_margin(limits: tuple[Limit, ...]) -> float:
    """Return the least margin; one that is not a number counts as the worst."""
    return min(limit.margin if limit.margin >= -math.inf else -math.inf for limit in limits)


def _hot_windows(findings: Findings) -> Windows:
    """Return the windows that come near the worst value of any limit, and so decide at other scales too."""
    worst = np.max([np.max(peaks, axis=0) for peaks in findings.peaks], axis=0)
    near = worst - np.where(np.isfinite(worst), _HOT_RANGE * np.abs(worst), 0.0)
    return [np.any(peaks >= near, axis=1) for peaks in findings.peaks]


def _passing_scale(examiner: Examiner, motion: Program, findings: Findings, ok: bool) -> float:
    """Return the scale at which the least margin becomes zero, rounded down.

    The search walks only the hot windows; the result is proved on the whole motion, and if that fails the
    windows that failed join the hot ones and the search goes on below.
    """
    hot = _hot_windows(findings)

    def least_margin(factor: float) -> float:
        timeline = motion.timeline(factor)
        partial = examiner.walk(timeline, hot)
        for series, full in zip(partial.flows, findings.flows, strict=True):
            np.maximum(series, full * min(factor, 1.0), out=series)
        return _least_margin(examiner.limits(timeline, partial)[0])

    proved, high = (1.0, LARGEST_SCALE) if ok else (0.0, 1.0)
    for _ in range(_VERIFICATIONS):
        scale = _bracket(least_margin, proved, high)
        timeline = motion.timeline(scale)
        whole = examiner.walk(timeline, all_windows(timeline))
        if _least_margin(examiner.limits(timeline, whole)[0]) >= 0.0:
            return scale
        hot = [old | new for old, new in zip(hot, _hot_windows(whole), strict=True)]
        high = scale
    return proved


def _bracket(least_margin: Callable[[float], float], low: float, high: float) -> float:
    """Return the scale between ``low`` and ``high`` at which the least margin becomes zero, from below."""
    high_margin = least_margin(high)
    if high_margin >= 0.0:
        return high
    low_margin = least_margin(low)
    if not low_margin >= 0.0:
        return low
    for _ in range(_SCALE_STEPS):
        if high - low <= _SCALE_RESOLUTION * high:
            break
        share = low_margin / (low_margin - high_margin)
        middle = low + (share if 0.02 <= share <= 0.98 else 0.5) * (high - low)
        # To either side of the straight line's zero in turn, so that the bracket closes from both ends.
        for trial in (middle * (1.0 - _NUDGE), middle * (1.0 + _NUDGE)):
            if low < trial < high:
                margin = least_margin(trial)
                if margin >= 0.0:
                    low, low_margin = trial, margin
                else:
                    high, high_margin = trial, margin
                    break
    return max(math.floor(low * 1000.0) / 1000.0, 0.0)
