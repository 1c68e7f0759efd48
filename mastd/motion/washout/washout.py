"""Motion cueing: the vehicle's motion at the driver's seat in, the table's motion out, a period at a time.

The cue is made at the driver's seat on the table. Its six coordinates are the displacement against neutral,
in axes of B, and roll, pitch and yaw of the table; each is an axis of its own that never leaves its box
(``mastd.motion.washout.limiter``). The motion of C follows exactly (``mastd.motion.washout.seat_point``).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mastd.arrays import FloatArray
from mastd.motion.washout.design import cue_constants, tilt_constants
from mastd.motion.washout.kernel import begin, read, step
from mastd.motion.washout.limiter import AXIS_SIZE
from mastd.settings.profile.cueing import RideSettings, WashoutSettings


class Washout:
    """Motion cueing of one table; plain arrays inside, so that it can be copied and pickled.

    ``motion`` (4, 6): pose, rates, accelerations, jerks of C at the end of the last period, against neutral
    in m and rad, Euler angles. ``asked`` (6,): what was asked of the table: gain and share times the
    vehicle's specific force at the seat less [0, 0, g] in m/s² and its angular velocity in rad/s, vehicle
    axes. ``given`` (6,): the same of the seat on the table, in P, at the end of the period.

    Not calling ``step`` pauses; the next step goes on exactly.
    """

    def __init__(self, cueing: WashoutSettings | RideSettings, point: ArrayLike, period: float) -> None:
        """Take the settings, the driver's seat ``point`` (3,) in P and the period in s.

        The table is taken to stand at neutral; ``begin`` says where it really is.
        """
        self.motion = np.zeros((4, 6))
        self.asked = np.zeros(6)
        self.given = np.zeros(6)
        self._point = np.array(point, dtype=np.float64)
        self._period = float(period)
        self._constants = cue_constants(cueing, self._period)
        self._tilt_constants = tilt_constants(cueing, self._period)
        self._axes = np.zeros((6, AXIS_SIZE))
        self._tilts = np.zeros((2, AXIS_SIZE))
        self._integrals = np.zeros(6)
        self._before = np.zeros((4, 6))
        self.begin(self.motion)

    def begin(self, motion: ArrayLike) -> None:
        """Go on from ``motion`` (3 or more, 6) of C: pose, rates, accelerations; nothing is left of before.

        Raises ValueError for a motion that is not finite.
        """
        start = np.zeros((4, 6))
        start[:3] = np.asarray(motion, dtype=np.float64)[:3]
        if not np.all(np.isfinite(start)):
            raise ValueError("motion cueing cannot begin from a motion that is not finite")
        self.motion[:] = start
        self._integrals[:] = 0.0
        self.asked[:] = 0.0
        self.given[:] = 0.0
        begin(
            self._point, self._constants, self._tilt_constants, start, self._axes, self._tilts, self._before
        )

    def step(self, felt: FloatArray, gravity: float, share: float = 1.0) -> None:
        """Advance by one period with what is felt at the vehicle's seat at its end.

        ``felt`` (9,): specific force (rest: [0, 0, g]) in m/s², angular velocity in rad/s and angular
        acceleration in rad/s², all in the vehicle's axes; a number that is not finite is no cue. ``share``
        0…1 of the cue.
        """
        step(
            self._point,
            self._constants,
            self._tilt_constants,
            self._axes,
            self._tilts,
            self._integrals,
            self._before,
            felt,
            gravity,
            share,
            self._period,
            self.motion,
            self.asked,
            self.given,
        )

    def read(self, share: float, motion: FloatArray) -> None:
        """Write the motion (4, 6) of C at ``share`` 0…1 of the last period: its end is ``self.motion``."""
        read(self._point, self._before, share * self._period, motion)

    @property
    def seat(self) -> FloatArray:
        """Position, velocity, acceleration (3, 6) of the seat at the end of the last period."""
        return self._axes[:, :3].T.copy()
