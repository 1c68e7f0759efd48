"""A drive: displacements from a file that are played exactly as they stand.

Values a knot apart are the knots. Values further apart are joined by the quintic spline through them, at rest
at both ends, which is read at the knots. Where the file does not stand still for ``REST_KNOTS`` at an end, as
the path of blocks needs it, so many knots of rest are put before or behind it.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.errors import FormatError
from mastd.motion.profile.fades import REST_KNOTS
from mastd.motion.profile.file_notes import FileNotes
from mastd.motion.profile.records import quantity
from mastd.motion.profile.sources import Files, Source
from mastd.motion.profile.timeline import KNOT_SPACING
from mastd.settings.profile.file_segments import Drive
from mastd.settings.profile.segments import MAX_MOTION, axis_items

_JERK_OFF: Final = 0.5
"""m/s² or rad/s² with which a drive may set off from rest, or come to it, from one knot to the next."""
_NOTHING: Final = 1e-9
"""m or rad that count as standing still."""
_EVEN: Final = 1e-9
_DEGREE: Final = 5


def drive_motion(segment: Drive) -> tuple[FloatArray, FileNotes]:
    """Return poses (knots, 6) of a segment at gain 1, and what is odd about its file.

    Raises FormatError, UsageError, ValueError for a file that is no drive.
    """
    files = Files()
    items = axis_items(segment.channels)
    problems: list[str] = []
    sources: list[Source] = []
    for axis, name, one in items:
        try:
            channel = name if one.channel is None else one.channel
            source = files.source(segment.file, channel, one.unit, segment.step, one.scale, angular=axis > 2)
            _refuse_rates(source)
            sources.append(source)
        except FormatError as error:
            problems.extend(str(error).splitlines())
    if problems:
        raise FormatError("\n".join(dict.fromkeys(problems)))
    values = np.zeros((len(sources[0].record.values), 6))
    for source, (axis, _, _) in zip(sources, items, strict=True):
        _refuse_other_times(source, sources[0])
        values[:, axis] = source.record.values
    samples = _at_knots(values, sources[0])
    for source, (axis, _, _) in zip(sources, items, strict=True):
        _refuse_motion_at_ends(samples[:, axis], source)
    return resting(samples), FileNotes(warnings=files.warnings)


def spline_at_knots(values: FloatArray, step: float) -> FloatArray:
    """Return the quintic spline through ``values`` (n, m), ``step`` s apart, at the knots that lie within.

    First and second derivative are zero at both ends.
    """
    from scipy.interpolate import make_interp_spline  # slow to import, and only drives need it

    if abs(step - KNOT_SPACING) <= _EVEN * KNOT_SPACING:
        return values.copy()
    rest = [(1, np.zeros(values.shape[1])), (2, np.zeros(values.shape[1]))]
    times = step * np.arange(len(values))
    spline = make_interp_spline(times, values, k=_DEGREE, bc_type=(rest, rest))
    knots = math.floor(float(times[-1]) / KNOT_SPACING + _EVEN) + 1
    at_knots: FloatArray = spline(np.minimum(KNOT_SPACING * np.arange(knots), times[-1]))
    return at_knots


def _at_knots(values: FloatArray, source: Source) -> FloatArray:
    step = source.record.step
    if not step >= KNOT_SPACING * (1.0 - _EVEN):
        raise FormatError(
            f"{source.path}: a value every {1e3 * step:g} ms, a drive allows one per millisecond at most: "
            "`mastd export --rate 1kHz` makes it one"
        )
    if not (len(values) - 1) * step <= MAX_MOTION:
        raise FormatError(f"{source.path}: takes {(len(values) - 1) * step:g} s, at most {MAX_MOTION:g} s")
    return spline_at_knots(values, step)


def _refuse_rates(source: Source) -> None:
    if source.record.derivative:
        held = quantity(source.record)
        due = "angles" if source.record.angular else "displacements"
        raise FormatError(
            f"{source.path}: {source.channel}: contains {held}, a drive needs {due}; use kind: record, "
            "which integrates it"
        )


def _refuse_other_times(source: Source, first: Source) -> None:
    own, other = source.record, first.record
    if (own.step, own.start, len(own.values)) != (other.step, other.start, len(other.values)):
        raise FormatError(
            f"{source.path}: {source.channel} has other times than {first.channel}, a drive has one step and "
            "length for all channels"
        )


def _refuse_motion_at_ends(samples: FloatArray, source: Source) -> None:
    unit = "mrad" if source.record.angular else "mm"
    for text, end in (("begins", samples[:3]), ("ends", samples[:-4:-1])):
        started = np.concatenate((np.zeros(2), end))
        if not np.max(np.abs(np.diff(started, 2))) <= _JERK_OFF * KNOT_SPACING**2:
            speed = 1e3 * abs(end[1] - end[0]) / KNOT_SPACING
            raise FormatError(
                f"{source.path}: {source.channel} {text} {1e3 * end[0]:.3g} {unit} from neutral, at "
                f"{speed:.3g} {unit}/s: a drive must begin and end at rest at neutral"
            )


def resting(samples: FloatArray) -> FloatArray:
    """Return samples (n, 6) with REST_KNOTS exactly at neutral at both ends, put there if need be."""
    rest = REST_KNOTS + 1
    padding = [
        0 if np.all(np.abs(end) <= _NOTHING) else REST_KNOTS for end in (samples[:rest], samples[-rest:])
    ]
    whole = np.pad(samples, (padding, (0, 0)))
    for count, ends in zip(padding, (slice(None, rest), slice(-rest, None)), strict=True):
        if not count:
            whole[ends] = 0.0
    return whole
