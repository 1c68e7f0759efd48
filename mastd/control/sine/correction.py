"""Correction of amplitude, phase and harmonics: the sines of a profile that ask for it, its part of a cycle.

What it does: ``mastd.control.sine.harmonics``. `check` examines such a sine at 1 + bound times its size: no
actuator is moved by more of the correction than by that ratio of what the sine asks of the one it moves most.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.control.reference.kernels import Source
from mastd.control.reference.reference import MAX_LATER, Reference
from mastd.control.sine.corrected_sine import SINE_SIZE
from mastd.control.sine.harmonics import correct
from mastd.control.sine.state import CYCLE, MEMORY, Followed, correction_state, reset
from mastd.index_table import size_of
from mastd.kernel import entry
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
        asked = _max_actuator_acceleration(segment, motion, geometry, pose)
        budget = segment.correction.bound * asked
        rows.append([*(KNOT_SPACING * row), omega, harmonics, budget, segment.correction.time])
    return np.array(rows).reshape(-1, SINE_SIZE)


def _max_actuator_acceleration(segment: Sine, motion: Program, geometry: Geometry, pose: FloatArray) -> float:
    """Return the amplitude in m/s² of the largest acceleration of an actuator in a sine about ``pose``."""
    wave = np.zeros(6, dtype=np.complex128)
    for axis, _, size in axis_items(segment.axes):
        peak = size.peak
        if peak is None:
            peak = size.amplitude * (2.0 * np.pi * segment.frequency) ** 2
        wave[axis] = peak * np.exp(1j * size.phase)
    wave *= segment.gain * motion.gain
    wave[:3] -= np.cross(wave[3:], motion.point)
    jacobian = np.empty((geometry.actuators, 6))
    euler_jacobian(geometry.legs, pose, jacobian)
    return float(np.max(np.abs(jacobian @ wave)))


class SineCorrection:
    """Hands the corrected motion to the control instead of the reference's.

    ``measured`` (6,): acceleration of the pose; ``delay``: s by which the references of length and force
    wait for the valves, and the table with them.
    """

    def __init__(
        self,
        reference: Reference,
        geometry: Geometry,
        measured: FloatArray,
        period: float,
        ahead: float,
        delay: float,
    ) -> None:
        self._reference = reference
        self._period = period
        self._cycle = cycle = np.zeros(size_of(CYCLE))
        cycle[[CYCLE.period, CYCLE.ahead, CYCLE.delay]] = period, ahead, delay
        self._state = correction_state(geometry.actuators)
        self._sines = NOTHING
        self._motion = np.zeros((4, 6))
        self._later = np.zeros((MAX_LATER, 4, 6))
        state = reference.state
        followed = Followed(state.scaling, state.gain, reference.preview.state, reference.motion, measured)
        self._arguments = (followed, self._state, cycle, geometry.legs)
        self._correct = entry(correct, self._call_with(reference.later))
        self._call(reference.later)

    @property
    def wanted(self) -> bool:
        """Whether there are sines to be corrected."""
        return len(self._sines) > 0

    @property
    def bounded(self) -> bool:
        """The correction of the sine that is played is as large as it may become."""
        return bool(self._state.memory[MEMORY.bounded])

    def take(self, sines: FloatArray) -> None:
        """Take over the sines of another profile, see ``corrected_sines``; only while none is played."""
        self._sines = np.array(sines)
        reset(self._state)

    def corrected(self, answered: bool, broken: bool) -> tuple[FloatArray, FloatArray]:
        """Return ``motion`` and ``later`` of the reference, corrected.

        ``answered``: this cycle's sample shows what came of the last cycle's motion; ``broken``: the motion
        does not go on from that one.
        """
        reference, cycle = self._reference, self._cycle
        later = reference.later
        count = len(later)
        cycle[CYCLE.elapsed] = count * self._period
        cycle[CYCLE.on_path] = reference.source is Source.PROFILE
        cycle[CYCLE.answered] = answered and count == 1
        cycle[CYCLE.broken] = broken
        if not self._call(later):
            return reference.motion, later
        return self._motion, self._later[:count]

    def _call(self, later: FloatArray) -> bool:
        return bool(self._correct(*self._call_with(later)))

    def _call_with(self, later: FloatArray) -> tuple[object, ...]:
        return self._sines, *self._arguments, later, self._motion, self._later[: len(later)]
