"""A motion that comes as it is made, instead of a driven vehicle.

A source that gives derivatives gives pose, rates and accelerations of the newest knot. One that gives poses
only is differentiated over its last five poses, about the middle one, which is two periods old.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mastd.arrays import FloatArray
from mastd.loop.rigs.bound_rig import BoundRig
from mastd.motion.profile.timeline import Timeline

POSES = 5
MIDDLE = POSES // 2
_RATE = np.array([1.0, -8.0, 0.0, 8.0, -1.0]) / 12.0
_ACCELERATION = np.array([-1.0, 16.0, -30.0, 16.0, -1.0]) / 12.0
"""Central differences of the fourth order."""


class StreamedMotion:
    """Plays ``timeline`` knot by knot, ``period`` s apart; see ``mastd.loop.payload.oils.DrivenVehicle``.

    ``derivatives``: whether the source gives them.
    """

    name = "streamed motion"
    purpose = "bench"
    wheels: tuple[str, ...] = ()

    def __init__(self, timeline: Timeline, period: float, *, derivatives: bool) -> None:
        self.motion: FloatArray = np.zeros((4, 6))
        self._timeline = timeline
        self._period = period
        self._derivatives = derivatives
        self._knot = 0
        self._poses = np.zeros((POSES, 6))
        self._there = np.zeros((4, 6))

    @property
    def duration(self) -> float:
        """s of the motion."""
        return self._timeline.duration

    @property
    def finished(self) -> bool:
        """The motion is over, its last knots included."""
        return self._knot * self._period >= self.duration + POSES * self._period

    def bind_signals(self, rigs: Sequence[BoundRig]) -> None:
        """Take no signals of rigs."""

    def begin(self, motion: FloatArray, numbers: FloatArray) -> None:
        """Begin at rest."""
        self._knot = 0
        self._poses[:] = motion[0]
        self.motion[:] = 0.0
        self.motion[0] = motion[0]

    def receive(self, values: FloatArray) -> None:
        """Nobody drives."""

    def reports(self) -> Sequence[object]:
        """Nothing can be wrong."""
        return []

    def step(self, numbers: FloatArray) -> None:
        """Make the next knot."""
        self._knot += 1
        self._timeline.evaluate(self._knot * self._period, self._there)
        if self._derivatives:
            self.motion[:] = self._there
            return
        self._poses[:-1] = self._poses[1:]
        self._poses[-1] = self._there[0]
        self.motion[0] = self._poses[MIDDLE]
        self.motion[1] = _RATE @ self._poses / self._period
        self.motion[2] = _ACCELERATION @ self._poses / self._period**2
