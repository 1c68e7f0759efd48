"""From the settings of motion cueing to the constants of its kernel, and to the box of each axis."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mastd.arrays import FloatArray
from mastd.index_table import size_of
from mastd.motion.washout.kernel import CUE, PITCH_TILT, ROLL_TILT, TILT
from mastd.motion.washout.limiter import box
from mastd.settings.core.axes import AXES
from mastd.settings.profile.cueing import (
    HighPass,
    RideSettings,
    RotationRide,
    TiltSettings,
    TranslationRide,
    WashoutSettings,
    standing_acceleration,
)
from mastd.settings.profile.stream import PoseStream, RotationBox, TranslationBox

_TILT_JERK_RATIO = 0.5
"""Ratio of the axis' jerk that tilting may take; the rest is for the axis' own motion."""


@dataclass(frozen=True, eq=False)
class Boxes:
    """What each of the six axes of the point that is moved never exceeds, (6,) each: m or rad and s."""

    travel: FloatArray
    velocity: FloatArray
    acceleration: FloatArray
    jerk: FloatArray


def boxes(cueing: WashoutSettings | RideSettings | PoseStream) -> Boxes:
    """Return the boxes of the axes; that of an axis without one is empty: it rests at neutral."""
    rows = np.zeros((4, 6))
    for axis, name in enumerate(AXES):
        settings: TranslationRide | RotationRide | TranslationBox | RotationBox | None = getattr(
            cueing, name, None
        )
        if settings is not None:
            rows[:, axis] = settings.travel, settings.velocity, settings.acceleration, settings.jerk
    return Boxes(*rows)


def cue_constants(cueing: WashoutSettings | RideSettings, period: float) -> FloatArray:
    """Return the constants (6, CUE) of the axes.

    A wall may be met while a tilt from before points against the vehicle; both together stay within the
    return acceleration. An axis without a cue takes the limits and the corner of its like for its way home
    from where it began, and has no travel else.
    """
    constants = np.empty((6, size_of(CUE)))
    tilted = standing_acceleration(cueing.tilt) if isinstance(cueing, WashoutSettings) else 0.0
    reserved = (tilted, tilted, 0.0, 0.0, 0.0, 0.0)
    for axis, name in enumerate(AXES):
        settings: TranslationRide | RotationRide | None = getattr(cueing, name, None)
        like = settings or (cueing.heave if axis < 3 else cueing.roll)
        gain, travel = (like.gain, like.travel) if settings else (0.0, 0.0)
        back: float | None = getattr(like, "return_acceleration", None)
        braking = like.acceleration if back is None else back - reserved[axis]
        constants[axis] = [
            *box(travel, like.velocity, like.acceleration, like.jerk, braking, period),
            gain,
            *_feedback(like),
            back or math.inf,
        ]
    return constants


def _feedback(settings: HighPass) -> tuple[float, float, float]:
    """Return the factors of velocity, position and its integral: (s² + 2ζωs + ω²)(s + ω₁)."""
    corner, slow = 2.0 * math.pi * settings.corner, 2.0 * math.pi * settings.slow_corner
    damping = 2.0 * settings.damping * corner
    return damping + slow, corner * corner + damping * slow, corner * corner * slow


def tilt_constants(cueing: WashoutSettings | RideSettings, period: float) -> FloatArray:
    """Return the constants (2, TILT) of the tilts; the ride mode's have no travel."""
    constants = np.empty((2, size_of(TILT)))
    tilt = cueing.tilt if isinstance(cueing, WashoutSettings) else TiltSettings(angle=0.0)
    for row, axis in ((PITCH_TILT, cueing.pitch), (ROLL_TILT, cueing.roll)):
        jerk = _TILT_JERK_RATIO * axis.jerk
        corner = 2.0 * math.pi * tilt.corner
        constants[row] = [
            *box(tilt.angle, tilt.rate, tilt.acceleration, jerk, tilt.acceleration, period),
            corner,
            tilt.damping,
        ]
    return constants
