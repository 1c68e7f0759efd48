"""The proof before motion: whether a profile can be played, and the largest scale of it that could."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.dynamics.oil_flow import oil_column_frequencies, spring_words
from mastd.dynamics.table_model import Carried, TableModel
from mastd.formats.opencrg.file import read_opencrg
from mastd.kinematics.geometry import Geometry
from mastd.motion.preflight.envelope import prove
from mastd.motion.preflight.limits import Examiner, Findings, Limit, Load, Oil, Windows, all_windows
from mastd.motion.preflight.performance import standing_limits
from mastd.motion.preflight.verdict import MAX_SCALE, Preflight, RideMode
from mastd.motion.profile.compiler import Program, program
from mastd.settings.core.quantity import Point
from mastd.settings.profile.cueing import RideSettings, WashoutSettings
from mastd.settings.profile.profile import ProfileSettings
from mastd.settings.profile.stream import PoseStream
from mastd.settings.table.payload import ExternalPayload, NoPayload, Payload, RigidPayload, VehiclePayload
from mastd.settings.table.table import TableSettings

if TYPE_CHECKING:
    from mastd.motion.preflight.riding import Rider, Soundness

Band = tuple[float, float]
Tell = Callable[[float], None]

_SCALE_RESOLUTION = 0.002
_SCALE_STEPS = 40
_NUDGE = 0.001
_VERIFICATIONS = 5
_HOT_RANGE = 0.15
_STEP_BACK: Final = 0.01
"""Each further trial of a vehicle goes so much more below the scale that is predicted: it is not linear."""
_NEAR: Final = 1.1
"""Ratio to an end of the band up to which what swings there is excited."""
_LIGHT_DAMPING: Final = 0.1


def check(
    profile: ProfileSettings,
    table: TableSettings,
    tell: Tell | None = None,
    motion: Program | None = None,
) -> Preflight:
    """Return the proof for a profile on a table, see ``examine``; raise SettingsError if its motion cannot be
    made.

    ``motion`` of its segments, where it was compiled to be played; None compiles it.
    A sine that is corrected while it plays is examined as large as that may make it. A motion that its driver
    or a rig makes is proved by the boxes of its axes, see ``envelope.prove``.
    """
    with np.errstate(all="ignore"):  # a figure that is no number does not pass, and is told as that
        return _checked(profile, table, tell, motion)


def _checked(
    profile: ProfileSettings, table: TableSettings, tell: Tell | None, motion: Program | None
) -> Preflight:
    payload, oils, stream = profile.payload, profile.oils, profile.stream
    if oils is not None:
        road = oils.road
        warnings = read_opencrg(Path(road.file)).warnings if road.kind == "opencrg" else ()
        return _of_envelope(oils.cueing, oils.cabin_seat, oils.duration, table, payload, warnings)
    if isinstance(stream, PoseStream):
        return _of_envelope(stream, (0.0, 0.0, 0.0), stream.duration, table, payload)
    if stream is not None:
        return _of_envelope(stream.cueing, stream.cabin_seat, stream.duration, table, payload)
    motion = program(profile, table) if motion is None else motion
    return examine(motion.largest, table, payload, tell)


def _of_envelope(
    moved: WashoutSettings | RideSettings | PoseStream,
    point: Point,
    duration: float,
    table: TableSettings,
    payload: Payload,
    warnings: tuple[str, ...] = (),
) -> Preflight:
    """Return the proof for all that a driver or a rig can make of the table; ``point`` makes the motion."""
    assert not isinstance(payload, VehiclePayload), "refused by the profile's settings"
    proof = prove(moved, point, table, payload)
    worst = {
        name: [limit.worst for limit in proof.limits if limit.name == name]
        for name in ("mean_flow", "accumulator")
    }
    modes = _oil_columns(table, TableModel.from_settings(table, payload))
    return Preflight(
        ok=proof.ok,
        scale=proof.scale,
        limits=proof.limits,
        oil={
            name: Oil(math.nan, math.nan, flow, left, math.nan)
            for name, flow, left in zip(table.packs, worst["mean_flow"], worst["accumulator"], strict=True)
        },
        duration=duration,
        oil_column_frequencies=modes,
        springs=spring_words(table),
        scaled="of the axes' velocities, accelerations and jerks ",
        warnings=warnings,
    )


def _oil_columns(table: TableSettings, model: TableModel) -> tuple[float, ...]:
    frequencies = oil_column_frequencies(table, Geometry.from_settings(table), model)
    return tuple(map(float, frequencies))


def examine(
    motion: Program,
    table: TableSettings,
    payload: Payload,
    tell: Tell | None = None,
) -> Preflight:
    """Return the proof for a profile's motion, with the largest scale of the motion that would pass.

    ``scale`` multiplies the profile's own gain; the weight stays. It is found to 0.2 %, up to
    ``MAX_SCALE``, always on the passing side and proved there in full; 0 if the table with its payload
    cannot even stand still. A vehicle is simulated on the motion, and again at each scale that is proved.

    ``tell`` hears the ratio that is
    done of each simulation of the vehicle. Raises what ``vehicle_on_table`` raises for a vehicle that cannot
    stand there.
    """
    bench = _Bench.of(motion, table, payload, tell)
    trial = bench.whole(1.0)
    ok = trial.margin >= 0.0
    modes = _oil_columns(table, bench.model)
    rider, band = bench.rider, motion.band
    springs = spring_words(table)
    excited = () if rider is None or band is None else tuple(_warnings(rider.modes, modes, band, springs))
    return Preflight(
        ok=ok,
        scale=_passing_scale(bench, trial, ok),
        limits=trial.limits,
        oil=trial.oil,
        duration=motion.timeline().duration,
        files=motion.notes,
        oil_column_frequencies=modes,
        springs=springs,
        vehicle=None if rider is None or trial.soundness is None else rider.note(trial.soundness),
        warnings=(*motion.notes.warnings, *excited, *_unknown_load(payload)),
    )


def exceeded(motion: Program, table: TableSettings, payload: Payload) -> tuple[Limit, ...]:
    """Return the limits that a profile's motion does not keep, none if it passes; raises as ``examine``."""
    limits = _Bench.of(motion, table, payload, None).whole(1.0).limits
    return tuple(limit for limit in limits if not limit.margin >= 0.0)


@dataclass(frozen=True)
class _Trial:
    """The motion at one scale, examined in full; ``load`` and ``soundness`` of a vehicle."""

    factor: float
    findings: Findings
    limits: tuple[Limit, ...]
    oil: dict[str, Oil]
    load: Load | None
    soundness: Soundness | None

    @property
    def margin(self) -> float:
        """Least margin of all limits."""
        return _least_margin(self.limits)

    @property
    def sound(self) -> bool:
        """The vehicle, if there is one, stays on the table and can be simulated."""
        return self.soundness is None or self.soundness.ok

    @property
    def finite(self) -> bool:
        """The vehicle's load, if there is one, is known to the end."""
        return self.load is None or all(bool(np.isfinite(block[-1]).all()) for block in self.load.riding)


@dataclass(frozen=True)
class _Bench:
    """A motion on a table with what it carries; a vehicle that rides is not in the examiner's model."""

    motion: Program
    examiner: Examiner
    model: TableModel
    standing: tuple[Limit, ...]
    """What it takes that the table stands with what it carries, whatever the motion."""
    rider: Rider | None
    tell: Tell | None

    @classmethod
    def of(cls, motion: Program, table: TableSettings, payload: Payload, tell: Tell | None) -> _Bench:
        """Return the bench; a vehicle is put on the table."""
        if not isinstance(payload, VehiclePayload):
            return cls(motion, Examiner(table, payload), *_standing(table, payload), None, tell)
        # Only here: reading the compiled parts of a vehicle takes half a second.
        from mastd.motion.preflight.riding import Rider

        rider = Rider(payload, table)
        return cls(motion, Examiner(table, NoPayload()), *_standing(table, rider.body), rider, tell)

    def whole(self, factor: float) -> _Trial:
        """Return the whole motion at ``factor``, a vehicle simulated on it."""
        timeline = self.motion.timeline(factor)
        load, soundness = None, None
        if self.rider is not None:
            load, soundness = self.rider.ride(timeline, self.tell)
        findings = self.examiner.walk(timeline, all_windows(timeline), load)
        limits, oil = self.examiner.limits(timeline, findings)
        limits = (*limits, *self.standing)
        if soundness is not None:
            limits = (*limits, soundness.limit())
        return _Trial(factor, findings, limits, oil, load, soundness)

    def predicted_margin(self, factor: float, known: _Trial, hot: Windows) -> float:
        """Return the least margin at ``factor``, told from the hot windows.

        A vehicle's load beyond its weight is taken as proportional to the motion.
        """
        timeline, ratio = self.motion.timeline(factor), factor / known.factor
        part = self.examiner.walk(timeline, hot, known.load, ratio)
        for series, full in zip(part.flows, known.findings.flows, strict=True):
            np.maximum(series, full * ratio, out=series)
        return _least_margin(self.examiner.limits(timeline, part)[0])


def _standing(
    table: TableSettings, carried: NoPayload | RigidPayload | Carried
) -> tuple[TableModel, tuple[Limit, ...]]:
    model = TableModel.from_settings(table, carried)
    return model, standing_limits(table, Geometry.from_settings(table), model)


def _least_margin(limits: tuple[Limit, ...]) -> float:
    """Return the least margin; one that is not a number counts as the worst."""
    return min(limit.margin if limit.margin >= -math.inf else -math.inf for limit in limits)


def _hot_windows(findings: Findings) -> Windows:
    """Return the windows that come near the worst value of any limit, and so decide at other scales too."""
    maxima = [np.max(peaks, axis=0) for peaks in findings.peaks]
    worst: FloatArray = np.asarray(maxima, dtype=np.float64).max(axis=0)
    near = worst - np.where(np.isfinite(worst), _HOT_RANGE * np.abs(worst), 0.0)
    return [np.any(peaks >= near, axis=1) for peaks in findings.peaks]


def _passing_scale(bench: _Bench, first: _Trial, ok: bool) -> float:
    """Return the scale at which the least margin becomes zero, rounded down.

    The search walks only the hot windows; the result is proved on the whole motion, and if that fails the
    windows that failed join the hot ones and the search goes on below. A vehicle's load is predicted from the
    last trial. Where it is not sound nothing can be predicted, and the trials halve what is left.
    """
    proved, high = (1.0, MAX_SCALE) if ok else (0.0, 1.0)
    known, hot = first, _hot_windows(first.findings)
    unsound_above = not first.sound
    for number in range(_VERIFICATIONS):
        scale = high
        if known.finite:
            scale = _bracket(partial(bench.predicted_margin, known=known, hot=hot), proved, high)
            if bench.rider is not None:
                scale = _floor(scale * (1.0 - number * _STEP_BACK))
        middle = _floor(0.5 * (proved + high))
        halved = unsound_above and not scale <= middle
        scale = middle if halved else scale
        if not scale > proved:
            break
        trial = bench.whole(scale)
        if trial.margin >= 0.0:
            proved = scale
            if not halved:
                break
        else:
            high, unsound_above = scale, not trial.sound
        if trial.finite:
            windows = _hot_windows(trial.findings)
            hot = [old | new for old, new in zip(hot, windows, strict=True)] if known.finite else windows
            known = known if bench.rider is None else trial
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
        ratio = low_margin / (low_margin - high_margin)
        middle = low + (ratio if 0.02 <= ratio <= 0.98 else 0.5) * (high - low)
        # To either side of the straight line's zero in turn, so that the bracket closes from both ends.
        for trial in (middle * (1.0 - _NUDGE), middle * (1.0 + _NUDGE)):
            if low < trial < high:
                margin = least_margin(trial)
                if margin >= 0.0:
                    low, low_margin = trial, margin
                else:
                    high, high_margin = trial, margin
                    break
    return _floor(low)


def _floor(scale: float) -> float:
    """Return a scale rounded down to a thousandth."""
    return max(math.floor(scale * 1000.0) / 1000.0, 0.0)


def _unknown_load(payload: Payload) -> Iterator[str]:
    if isinstance(payload, ExternalPayload):
        yield (
            f"the forces of the vehicle of rig {payload.rig} are not known beforehand: checked with its rigid"
            f" body of {payload.mass:g} kg"
        )


def _warnings(
    modes: tuple[RideMode, ...], oil_columns: tuple[float, ...], band: Band, springs: str
) -> Iterator[str]:
    """Yield what a vehicle makes of a band, in Hz, that need not be wrong; ``springs``: ``spring_words``."""
    reach = f"the band of {band[0]:g} to {band[1]:g} Hz"

    def excited(frequency: float) -> bool:
        return band[0] / _NEAR <= frequency <= band[1] * _NEAR

    swinging = [frequency for frequency in oil_columns if excited(frequency)]
    if swinging:
        told = ", ".join(f"{frequency:.1f}" for frequency in swinging)
        yield f"{reach} excites the {springs} resonances of the table with the vehicle on it, {told} Hz"
    light = [mode for mode in modes if excited(mode.frequency_hz) and mode.damping < _LIGHT_DAMPING]
    if light:
        told = ", ".join(f"{mode.name} at {mode.frequency_hz:.2f} Hz ({mode.damping:.2f})" for mode in light)
        yield f"{reach} excites lightly damped modes of the vehicle: {told}"
