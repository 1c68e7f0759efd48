"""From a profile to the table's motion: samples of the commanded point, then the spline of the pose of C.

The commanded point's samples stay at hand (``Program``), so that the motion can be made again at another gain
without synthesis; point T is turned into C exactly, sample by sample: c = t − (R − I) p_T, the angles are the
same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mastd.arrays import FloatArray
from mastd.errors import FormatError, SettingsError
from mastd.motion.profile.drive_motion import drive_motion
from mastd.motion.profile.fades import REST_KNOTS, rise, window
from mastd.motion.profile.file_motion import file_motion
from mastd.motion.profile.file_notes import FileNotes
from mastd.motion.profile.random import random_displacement
from mastd.motion.profile.timeline import KNOT_SPACING, Timeline, join
from mastd.motion.profile.waveforms import sine, sweep
from mastd.roads.iso8608 import random_road, wheel_plane
from mastd.settings.core.axes import AXES
from mastd.settings.profile.file_segments import Drive
from mastd.settings.profile.profile import ProfileSettings, Segment
from mastd.settings.profile.segments import (
    MAX_MOTION,
    Hold,
    Ramp,
    Random,
    Road,
    RotationWave,
    Shaking,
    Sine,
    Sweep,
    TranslationWave,
    axis_items,
    sweep_duration,
)
from mastd.settings.table.guides import HELD_STILL
from mastd.settings.table.table import TableSettings


@dataclass(frozen=True)
class Block:
    """One segment's motion: poses (knots, 6) of the commanded point relative to neutral, and its repeats.

    ``growth``: by how much the control may enlarge its distance from the first pose, as a ratio.
    """

    samples: FloatArray
    repeats: int
    growth: float = 0.0


@dataclass(frozen=True)
class Program:
    """A profile's motion at gain 1: blocks, repeats of the whole, and what was done to its files.

    ``point`` (3,) is the commanded point in P, ``gain`` the profile's. ``band``: lowest and highest frequency
    in Hz that it excites as it is played, None if it only moves.
    """

    blocks: tuple[Block, ...]
    repeats: int
    point: FloatArray
    gain: float
    notes: FileNotes
    band: tuple[float, float] | None

    @property
    def largest(self) -> Program:
        """The motion as large as the control may make it where it corrects amplitude, phase and harmonics."""
        return replace(self, blocks=tuple(map(_grown, self.blocks)))

    def timeline(self, factor: float = 1.0) -> Timeline:
        """Return the spline of the pose of C at ``factor`` times the profile's own gain."""
        gain = self.gain * factor
        return join(
            [(pose_of_centre(block.samples * gain, self.point), block.repeats) for block in self.blocks],
            self.repeats,
        )


def compile_profile(profile: ProfileSettings, table: TableSettings) -> Timeline:
    """Return the motion of a profile; raise SettingsError with every segment that cannot be made."""
    return program(profile, table).timeline()


def program(profile: ProfileSettings, table: TableSettings) -> Program:
    """Return the commanded point's motion of a profile; raise SettingsError as above."""
    position = np.zeros(6)
    blocks: list[Block] = []
    notes = FileNotes()
    point = np.array(table.control_point) if profile.point == "T" else np.zeros(3)
    problems: list[str] = []
    knots = 0
    for index, segment in enumerate(profile.segments):
        try:
            block, made = _block(profile, index, segment, position, point)
            _require_freedoms(pose_of_centre(block.samples, point), table.freedoms)
            if isinstance(segment, Sine) and segment.correction is not None:
                block = replace(block, growth=segment.correction.bound)
        except (ValueError, FormatError) as error:
            lines = str(error).splitlines()
            problems.extend(f"{profile.name}: segments[{index}]: {line}" for line in lines)
            continue
        position = block.samples[-1]
        notes += made
        knots += len(block.samples)
        blocks.append(block)
        if not knots * KNOT_SPACING <= MAX_MOTION + 1.0:
            problems.append(
                f"{profile.name}: segments[{index}]: the motion exceeds {MAX_MOTION:g} s, use repeats"
            )
            break
    if problems:
        raise SettingsError(problems)
    band = profile.band(notes.length_scales)
    return Program(tuple(blocks), profile.repeats, point, profile.gain, notes, band)


def _require_freedoms(poses: FloatArray, freedoms: Sequence[str]) -> None:
    """Raise ValueError where ``poses`` (n, 6) of C move an axis that guides hold."""
    reach = np.max(np.abs(poses), axis=0)
    held = [
        f"{axis} ({1e3 * float(reach[k]):.3g} {'mm' if k < 3 else 'mrad'})"
        for k, axis in enumerate(AXES)
        if axis not in freedoms and reach[k] > HELD_STILL
    ]
    if held:
        raise ValueError(
            f"moves {', '.join(held)} of C, which the table's guides hold; "
            f"it is free in {', '.join(freedoms)}"
        )


def _grown(block: Block) -> Block:
    if block.growth == 0.0:
        return block
    start = block.samples[0]
    return Block(start + (1.0 + block.growth) * (block.samples - start), block.repeats)


def pose_of_centre(samples: FloatArray, point: FloatArray) -> FloatArray:
    """Return the pose of C (n, 6) at which ``point`` (3,), given in P, makes the motion ``samples`` (n, 6).

    Both relative to neutral; exact, with R = Rz(yaw) Ry(pitch) Rx(roll) (eq. (1b) of Jin 2012, transposed).
    """
    if not np.any(point):
        return samples
    sines, cosines = np.sin(samples[:, 3:]), np.cos(samples[:, 3:])
    (sr, sp, sy), (cr, cp, cy) = sines.T, cosines.T
    x, y, z = point
    turned_x = cy * cp * x + (cy * sp * sr - sy * cr) * y + (cy * sp * cr + sy * sr) * z
    turned_y = sy * cp * x + (sy * sp * sr + cy * cr) * y + (sy * sp * cr - cy * sr) * z
    turned_z = -sp * x + cp * sr * y + cp * cr * z
    centre = samples.copy()
    centre[:, 0] -= turned_x - x
    centre[:, 1] -= turned_y - y
    centre[:, 2] -= turned_z - z
    return centre


def fade_knots(profile: ProfileSettings, segment: Shaking) -> int:
    """Return the knots of a segment's rise from rest, or of its fall to rest."""
    return round((profile.fade if segment.fade is None else segment.fade) / KNOT_SPACING)


def _knots(duration: float) -> int:
    return max(round(duration / KNOT_SPACING), 2 * REST_KNOTS + 2) + 1


def _block(
    profile: ProfileSettings,
    index: int,
    segment: Segment,
    position: FloatArray,
    point: FloatArray,
) -> tuple[Block, FileNotes]:
    notes = FileNotes()
    if isinstance(segment, Hold):
        return Block(np.tile(position, (_knots(segment.duration), 1)), 1), notes
    if isinstance(segment, Ramp):
        target = position.copy()
        for axis, _, value in axis_items(segment.to):
            target[axis] = value
        return Block(position + rise(_knots(segment.duration))[:, None] * (target - position), 1), notes
    if isinstance(segment, Drive):
        driven, notes = drive_motion(segment)
        return Block(position + segment.gain * driven, segment.repeats), notes
    fade = fade_knots(profile, segment)
    if isinstance(segment, Sine):
        shaken = _sine(segment)
    elif isinstance(segment, Sweep):
        shaken = _sweep(segment)
    elif isinstance(segment, Random):
        shaken = _random(segment, [profile.seed, index])
    elif isinstance(segment, Road):
        shaken = _road(segment, [profile.seed, index])
    else:
        shaken, notes = file_motion(segment, index, point, fade)
    faded = shaken * window(len(shaken), fade)[:, None]
    return Block(position + segment.gain * faded, segment.repeats), notes


def _sine(segment: Sine) -> FloatArray:
    times = np.arange(_knots(segment.duration), dtype=np.float64) * KNOT_SPACING
    samples = np.zeros((len(times), 6))
    for axis, _, wave in axis_items(segment.axes):
        size = _amplitude(wave, np.full(1, segment.frequency))
        samples[:, axis] = size * sine(times, segment.frequency, wave.phase)
    return samples


def _sweep(segment: Sweep) -> FloatArray:
    duration = sweep_duration(segment)
    times = np.arange(_knots(duration), dtype=np.float64) * KNOT_SPACING
    samples = np.zeros((len(times), 6))
    for axis, _, wave in axis_items(segment.axes):
        shape, frequency = sweep(times, segment.start, segment.stop, duration, wave.phase)
        samples[:, axis] = _amplitude(wave, frequency) * shape
    return samples


def _amplitude(wave: TranslationWave | RotationWave, frequency: FloatArray) -> FloatArray:
    if wave.amplitude is not None:
        return np.full_like(frequency, wave.amplitude)
    return (wave.peak or 0.0) / (2.0 * np.pi * frequency) ** 2


def _random(segment: Random, seed: list[int]) -> FloatArray:
    samples = np.zeros((_knots(segment.duration), 6))
    for axis, _, value in axis_items(segment.axes):
        frequencies, densities = np.array(value.density).T
        samples[:, axis] = random_displacement(
            len(samples), KNOT_SPACING, (frequencies, densities), segment.sigma_clip, [*seed, axis]
        )
    return samples


def _road(segment: Road, seed: list[int]) -> FloatArray:
    knots = _knots(segment.duration)
    step = segment.speed * KNOT_SPACING
    # The road is a tenth longer than the drive: its start and its end must not be the same bump.
    points = knots + knots // 10 + math.ceil(segment.wheelbase / step)
    band = (segment.band[0] / segment.speed, segment.band[1] / segment.speed)
    road = random_road(segment.road_class, band, segment.track_width, points * step, seed)
    front = road.one_period(points, 0.0)[:, :knots]
    rear = road.one_period(points, -segment.wheelbase)[:, :knots]
    heave, pitch, roll = wheel_plane(front, rear, segment.wheelbase, segment.track_width)
    still = np.zeros(knots)
    return np.column_stack((still, still, heave, roll, pitch, still))
