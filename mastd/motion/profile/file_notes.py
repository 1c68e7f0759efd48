"""What was done to the motion of files before it is played: notes to read and as plain data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from mastd.motion.profile.records import ABOUT, ALONG, BaselineReport
from mastd.motion.profile.similitude import LAW, Similitude

_UNITS = {
    "displacement": "m",
    "velocity": "m/s",
    "acceleration": "m/s2",
    "angle": "rad",
    "angular velocity": "rad/s",
    "angular acceleration": "rad/s2",
}
_TAKEN_OFF = {"none": "nothing", "mean": "its mean", "linear": "its line"}


@dataclass(frozen=True)
class RecordNote:
    """What the baseline correction of one channel changed.

    ``axis``: the one that it moves, "" for a channel of several that are reduced. ``start``: s from the first
    value that is played of all channels to the first one of this channel. ``step`` and ``duration`` in s.
    """

    segment: int
    axis: str
    file: str
    channel: str
    start: float
    step: float
    duration: float
    baseline: str
    report: BaselineReport


@dataclass(frozen=True)
class ScalingNote:
    """How the lengths of one segment were scaled; duration (s) and band (Hz) of the file, and as played."""

    segment: int
    similitude: Similitude
    duration: tuple[float, float]
    band: tuple[tuple[float, float], tuple[float, float]]


@dataclass(frozen=True)
class ReductionNote:
    """The least squares of one segment: axes, condition number, and what is left of the channels.

    ``left_over``: share of each channel's rms, in acceleration within the band.
    """

    segment: int
    axes: tuple[str, ...]
    condition: float
    left_over: dict[str, float]


@dataclass(frozen=True)
class TimeBaseNote:
    """How the files of one segment that has several were brought onto one time base."""

    segment: int
    how: str


@dataclass(frozen=True)
class FileNotes:
    """All notes of a profile, in the order of its segments; ``warnings`` are about its files."""

    records: tuple[RecordNote, ...] = ()
    scalings: tuple[ScalingNote, ...] = ()
    reductions: tuple[ReductionNote, ...] = ()
    time_bases: tuple[TimeBaseNote, ...] = ()
    warnings: tuple[str, ...] = ()

    def __add__(self, other: FileNotes) -> FileNotes:
        """Return the notes of both, each warning once."""
        return FileNotes(
            self.records + other.records,
            self.scalings + other.scalings,
            self.reductions + other.reductions,
            self.time_bases + other.time_bases,
            tuple(dict.fromkeys(self.warnings + other.warnings)),
        )

    @property
    def length_scales(self) -> dict[int, float]:
        """S of the segments, by their index, whose lengths were scaled."""
        return {note.segment: note.similitude.length_scale for note in self.scalings}

    def document(self) -> dict[str, object]:
        """Return the notes as plain data for JSON."""
        return {
            "records": [
                {
                    **{key: value for key, value in vars(note).items() if key != "report"},
                    **asdict(note.report),
                }
                for note in self.records
            ],
            "scalings": [
                {
                    "segment": note.segment,
                    "law": LAW,
                    "length_scale": note.similitude.length_scale,
                    "time_scale": note.similitude.time_scale,
                    "file_duration_s": note.duration[0],
                    "played_duration_s": note.duration[1],
                    "file_band_hz": list(note.band[0]),
                    "played_band_hz": list(note.band[1]),
                }
                for note in self.scalings
            ],
            "reductions": [vars(note) for note in self.reductions],
            "time_bases": [vars(note) for note in self.time_bases],
        }

    def lines(self) -> Iterator[str]:
        """Yield the notes to read."""
        for note in self.records:
            yield from _record_lines(note)
        for based in self.time_bases:
            yield f"segments[{based.segment}]: {based.how}"
        for reduced in self.reductions:
            yield (
                f"segments[{reduced.segment}]: {', '.join(reduced.axes)} from {len(reduced.left_over)} "
                f"channels by least squares, condition number {reduced.condition:.3g}"
            )
            ratios = ", ".join(f"{name} {fraction:.1%}" for name, fraction in reduced.left_over.items())
            yield f"  residual of each channel's rms: {ratios}"
        for scaled in self.scalings:
            yield (
                f"segments[{scaled.segment}]: {LAW}: S = {scaled.similitude.length_scale:.4g}, "
                f"sqrt(S) = {scaled.similitude.time_scale:.4g}"
            )
            (low, high), (played_low, played_high) = scaled.band
            yield (
                f"  {scaled.duration[0]:.4g} s of the file take {scaled.duration[1]:.4g} s, its band of "
                f"{low:.4g} to {high:.4g} Hz runs as {played_low:.4g} to {played_high:.4g} Hz"
            )


NO_FILES: Final = FileNotes()


def _record_lines(note: RecordNote) -> Iterator[str]:
    report = note.report
    what = f"{note.axis}: " if note.axis else ""
    late = f", {note.start:.6g} s after the first" if note.start > 0.0 else ""
    channel = f", {note.channel}" if note.channel else ""
    yield (
        f"segments[{note.segment}]: {what}{Path(note.file).name}{channel}: {report.quantity}, "
        f"{note.duration:.4g} s, every {1e3 * note.step:.6g} ms{late}"
    )
    unit = _UNITS[report.quantity]
    maximum = max(vars(report.before).values())
    slope = f" and {_shown(report.slope, maximum)} {unit} per s" if note.baseline == "linear" else ""
    offset = f" ({_shown(report.offset, maximum)} {unit}{slope})" if note.baseline != "none" else ""
    yield (
        f"  {_TAKEN_OFF[note.baseline]}{offset} removed, ends tapered over {report.taper:.3g} s, "
        f"{report.padding:.3g} s of rest added at both ends; {report.outside_band:.1%} of its energy was "
        "outside "
        f"{report.band[0]:.4g} to {report.band[1]:.4g} Hz"
    )
    kinds = reversed(ABOUT if report.quantity in ABOUT else ALONG)
    peaks = zip(kinds, vars(report.before).values(), vars(report.after).values(), strict=True)
    text = ", ".join(_peak(_UNITS[kind], before, after) for kind, before, after in peaks)
    yield f"  peaks, integrated uncorrected -> corrected: {text}"


def _shown(value: float, size: float) -> str:
    """Return a number, or 0 for what is rounding beside values of ``size``."""
    return f"{value if abs(value) > 1e-9 * size else 0.0:.3g}"


def _peak(unit: str, before: float, after: float) -> str:
    factor, shown = {"m": (1e3, "mm"), "rad": (1e3, "mrad")}.get(unit, (1.0, unit))
    return f"{before * factor:.3g} -> {after * factor:.3g} {shown}"
