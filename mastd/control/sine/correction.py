"""Correction of amplitude, phase and harmonics: the sines of a profile that ask for it, its place in a cycle.

What it does: ``mastd.control.sine.harmonics``. `check` examines such a sine at 1 + bound times its size: no
link is moved by more of the correction than by that share of what the sine asks of the link that moves most.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.control.reference.kernels import Source
from mastd.control.reference.reference import MAX_LATER, Reference
from mastd.control.sine.corrected_sine import SINE_SIZE
from mastd.control.sine.harmonics import (
    AHEAD,
    ANSWERED,
    BOUNDED,
    BROKEN,
    ELAPSED,
    NOW,
    ON_PATH,
    PERIOD,
    WAITED,
    correct,
    correction_state,
)
from mastd.kinematics.geometry import Geometry
from mastd.kinematics.jacobian import euler_jacobian
from mastd.motion.profile.compiler import Program, fade_knots
from mastd.motion.profile.fades import REST_KNOTS
from mastd.motion.profile.timeline import KNOT_SPACING, Timeline
from mastd.settings.profile.profile import ProfileSettings
from mastd.settings.profile.segments import MAX_CORRECTED, Sine, axis_items

NOTHING: Final = np.zeros((0, SINE_SIZE))
"""No sine to be corrected."""


def corrected_sines(
    profile: ProfileSettings, motion: Program, timeline: Timeline, geometry: Geometry
) -> FloatArray:
    """Return one row (SINE_SIZE,) of ``mastd.control.sine.corrected_sine`` for each corrected sine.

    ``motion`` and ``timeline`` are the profile's.
    """
    rows = []
    for index, segment in enumerate(profile.segments):
        if not isinstance(segment, Sine) or segment.correction is None:
            continue
        start, end = timeline.starts[index : index + 2]
        knots = int(timeline.intervals[index]) + 1
        rise = min(fade_knots(profile, segment), (knots - 1) // 2) - REST_KNOTS
        row = np.array([start, knots - 1, end, timeline.starts[-1], timeline.end_knot, REST_KNOTS, rise])
        omega = 2.0 * np.pi * segment.frequency
        harmonics = min(segment.correction.harmonics, int(MAX_CORRECTED / segment.frequency))
        pose = timeline.sample(np.array([start * KNOT_SPACING]))[0, 0]
        asked = _largest_link_acceleration(segment, motion, geometry, pose)
        budget = segment.correction.bound * asked
        rows.append([*(KNOT_SPACING * row), omega, harmonics, budget, segment.correction.time])
    return np.array(rows).reshape(-1, SINE_SIZE)


def _largest_link_acceleration(segment: Sine, motion: Program, geometry: Geometry, pose: FloatArray) -> float:
    """Return the amplitude in m/s² of the acceleration of the link that a sine moves most, about ``pose``."""
    wave = np.zeros(6, dtype=np.complex128)
    for axis, _, size in axis_items(segment.axes):
        peak = size.peak
        if peak is None:
            peak = size.amplitude * (2.0 * np.pi * segment.frequency) ** 2
        wave[axis] = peak * np.exp(1j * size.phase)
    wave *= segment.gain * motion.gain
    wave[:3] -= np.cross(wave[3:], motion.point)
    jacobian = np.empty((geometry.links, 6))
    euler_jacobian(geometry.legs, pose, jacobian)
    return float(np.max(np.abs(jacobian @ wave)))


class SineCorrection:
    """Keeps the motion that is handed to the control in the reference's place.

    ``measured`` (6,): acceleration of the pose; ``waited``: s by which the references of length and force
    wait for the valves, and the table with them.
    """

    def __init__(
        self,
        reference: Reference,
        geometry: Geometry,
        measured: FloatArray,
        period: float,
        ahead: float,
        waited: float,
    ) -> None:
        self._reference = reference
        self._period = period
        self._now = now = np.zeros(NOW)
        now[[PERIOD, AHEAD, WAITED]] = period, ahead, waited
        self._state = correction_state()
        self._sines = NOTHING
        self._motion = np.zeros((4, 6))
        self._later = np.zeros((MAX_LATER, 4, 6))
        self._arguments = (
            *(reference.block, reference.preview, self._state, now),
            *(geometry.legs, np.zeros((geometry.links, 6)), measured, reference.motion),
        )
        self._call(reference.later)  # so that it is compiled before it is needed

    @property
    def wanted(self) -> bool:
        """Whether there are sines to be corrected."""
        return len(self._sines) > 0

    @property
    def bounded(self) -> bool:
        """The correction of the sine that is played is as large as it may become."""
        return bool(self._state[BOUNDED])

    def take(self, sines: FloatArray) -> None:
        """Take over the sines of another profile, see ``corrected_sines``; only while none is played."""
        self._sines = np.array(sines)
        self._state[:] = correction_state()

    def corrected(self, answered: bool, broken: bool) -> tuple[FloatArray, FloatArray]:
        """Return ``motion`` and ``later`` of the reference, corrected.

        ``answered``: this cycle's sample shows what came of the last cycle's motion; ``broken``: the motion
        does not go on from that one.
        """
        reference, now = self._reference, self._now
        later = reference.later
        count = len(later)
        now[ELAPSED] = count * self._period
        now[ON_PATH] = reference.source is Source.PROFILE
        now[ANSWERED] = answered and count == 1
        now[BROKEN] = broken
        if not self._call(later):
            return reference.motion, later
        return self._motion, self._later[:count]

    def _call(self, later: FloatArray) -> bool:
        return correct(self._sines, *self._arguments, later, self._motion, self._later[: len(later)])
