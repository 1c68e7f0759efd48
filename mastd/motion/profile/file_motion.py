"""Segments whose motion comes from files: from their channels to samples of the commanded point."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from mastd.arrays import FloatArray
from mastd.errors import FormatError
from mastd.motion.profile.file_notes import FileNotes, RecordNote, ReductionNote, ScalingNote, TimeBaseNote
from mastd.motion.profile.measured import reduction
from mastd.motion.profile.records import CorrectedRecord, TimeBase, coarse, correct
from mastd.motion.profile.similitude import Similitude, of_stroke
from mastd.motion.profile.sources import Files, Source, part_of
from mastd.motion.profile.timeline import KNOT_SPACING
from mastd.settings.profile.file_segments import FileMotion, Measured, Record
from mastd.settings.profile.segments import axis_items

_QUIET_RATIO = 0.01


@dataclass(frozen=True)
class _Part:
    """One corrected channel and what it adds to the pose: (6,) for one unit of its own motion."""

    corrected: CorrectedRecord
    pose: FloatArray


def file_motion(
    segment: Record | Measured, index: int, point: FloatArray, fade_knots: int
) -> tuple[FloatArray, FileNotes]:
    """Return poses (knots, 6) of a segment at gain 1 before its fades, and what was done to its files.

    ``point`` (3,): the commanded point in P. Around what is loud enough to be played stays room for fades of
    ``fade_knots``. Raises FormatError, UsageError, ValueError for files that cannot be this motion.
    """
    if isinstance(segment, Record):
        parts, base, notes = _of_record(segment, index)
    else:
        parts, base, notes = _of_measured(segment, index, point)
    similitude = _similitude(segment, parts, base)
    if similitude is None:
        return _trimmed(_poses(parts, base, KNOT_SPACING), fade_knots), notes
    # A knot of the played motion, 1/√S times as far on in the file's own time.
    spacing = KNOT_SPACING / similitude.time_scale
    samples = similitude.length_scale * _poses(parts, base, spacing)
    note = ScalingNote(
        index,
        similitude,
        (base.duration, base.duration * similitude.time_scale),
        (segment.band, similitude.band(segment.band)),
    )
    return _trimmed(samples, fade_knots), notes + FileNotes(scalings=(note,))


def _of_record(segment: Record, index: int) -> tuple[list[_Part], TimeBase, FileNotes]:
    files = Files()
    items = axis_items(segment.axes)
    sources = _all(
        partial(files.source, one.file, one.channel, one.unit, one.step, one.scale, angular=axis > 2)
        for axis, _, one in items
    )
    placed, how = files.on_one_base(sources)
    placed = part_of(placed, segment.start, segment.duration)
    base = TimeBase.of([source.record for source in placed], segment.band[0])
    parts = [
        _Part(_corrected(source, segment, base), np.eye(6)[axis])
        for source, (axis, _, _) in zip(placed, items, strict=True)
    ]
    names = [name for _, name, _ in items]
    notes = FileNotes(
        _record_notes(segment, index, names, placed, parts),
        time_bases=(TimeBaseNote(index, how),) if how else (),
        warnings=files.warnings,
    )
    return parts, base, notes


def _of_measured(segment: Measured, index: int, point: FloatArray) -> tuple[list[_Part], TimeBase, FileNotes]:
    reduced = reduction(list(segment.channels.values()), segment.axes, point)
    files = Files()
    sources = _all(
        partial(files.source, segment.file, name, one.unit, segment.step, one.scale, angular=False)
        for name, one in segment.channels.items()
    )
    placed, _ = files.on_one_base(sources)
    placed = part_of(placed, segment.start, segment.duration)
    base = TimeBase.of([source.record for source in placed], segment.band[0])
    parts = [
        _Part(_corrected(source, segment, base), reduced.solution[:, k]) for k, source in enumerate(placed)
    ]
    accelerations = np.stack(
        [part.corrected.motion(base.times(coarse(segment.band)), (2,))[0] for part in parts]
    )
    ratios = map(float, reduced.left_over(accelerations))
    note = ReductionNote(
        index,
        segment.axes,
        reduced.condition,
        dict(zip((source.channel for source in placed), ratios, strict=True)),
    )
    records = _record_notes(segment, index, [""] * len(parts), placed, parts)
    return parts, base, FileNotes(records, reductions=(note,), warnings=files.warnings)


def _all(channels: Iterable[Callable[[], Source]]) -> list[Source]:
    """Return all channels, or raise FormatError with the problem of each that cannot be had."""
    sources: list[Source] = []
    problems: list[str] = []
    for channel in channels:
        try:
            sources.append(channel())
        except FormatError as error:
            problems.append(str(error))
    if problems:
        raise FormatError("\n".join(dict.fromkeys(problems)))
    return sources


def _corrected(source: Source, segment: FileMotion, base: TimeBase) -> CorrectedRecord:
    try:
        return correct(source.record, segment.band, segment.baseline, base)
    except ValueError as error:
        raise ValueError(f"{source.path}: {source.channel}: {error}") from error


def _record_notes(
    segment: FileMotion, index: int, axes: Sequence[str], sources: Sequence[Source], parts: Sequence[_Part]
) -> tuple[RecordNote, ...]:
    first = min(source.record.start for source in sources)
    return tuple(
        RecordNote(
            index,
            axis,
            source.path,
            source.channel,
            source.record.start - first,
            source.record.step,
            source.record.end - source.record.start,
            segment.baseline,
            part.corrected.report,
        )
        for axis, source, part in zip(axes, sources, parts, strict=True)
    )


def _similitude(segment: FileMotion, parts: Sequence[_Part], base: TimeBase) -> Similitude | None:
    if segment.length_scale is not None:
        return Similitude(segment.length_scale)
    if segment.stroke is None:
        return None
    along = _poses(parts, base, KNOT_SPACING)[:, :3]
    if not np.any(along):
        raise ValueError("no axis of it moves along surge, sway or heave: write length_scale, not stroke")
    return of_stroke(segment.stroke, abs(segment.gain) * float(np.max(np.abs(along))))


def _poses(parts: Sequence[_Part], base: TimeBase, spacing: float) -> FloatArray:
    """Return the poses (n, 6) over the whole time base."""
    times = base.times(spacing)
    samples = np.zeros((times[2], 6))
    for axis in range(6):
        for moved in _sums([part for part in parts if part.pose[axis]], axis):
            samples[:, axis] += moved.motion(times)[0]
    return samples


def _sums(parts: Sequence[_Part], axis: int) -> list[CorrectedRecord]:
    """Return what the parts add to an axis, those on the same lines as one sum: lines are cheaper added."""
    sums: dict[tuple[float, float, int], CorrectedRecord] = {}
    for part in parts:
        corrected = part.corrected
        key = (corrected.period, corrected.start, len(corrected.lines))
        lines = part.pose[axis] * corrected.lines
        sums[key] = replace(corrected, lines=sums[key].lines + lines if key in sums else lines)
    return list(sums.values())


def _trimmed(samples: FloatArray, fade_knots: int) -> FloatArray:
    """Return the samples without the quiet of the filter's padding, with room for the fades at either end."""
    size = np.max(np.abs(samples), axis=1)
    loud = np.flatnonzero(size > _QUIET_RATIO * np.max(size, initial=0.0))
    first = max(0, int(loud[0]) - fade_knots) if len(loud) else 0
    last = min(len(samples), int(loud[-1]) + fade_knots + 1) if len(loud) else len(samples)
    return samples[first:last]
