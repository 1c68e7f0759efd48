"""Motion cueing: the vehicle's motion at the driver's seat in, the table's motion out, a period at a time.

The cue is made at the driver's seat on the table. Its six coordinates are the displacement against neutral,
in axes of B, and roll, pitch and yaw of the table; each is an axis of its own that never leaves its box
(``mastd.motion.washout.limiter``). The motion of C follows exactly (``mastd.motion.washout.seat_point``).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from mastd.arrays import FloatArray
from mastd.index_table import size_of
from mastd.kernel import entry
from mastd.motion.washout.design import cue_constants, tilt_constants
from mastd.motion.washout.kernel import WashoutArrays, begin, read, step
from mastd.motion.washout.limiter import AXIS
from mastd.settings.profile.cueing import RideSettings, WashoutSettings


class Washout:
    """Motion cueing of one table; plain arrays inside, so that it can be copied and pickled.

    ``motion`` (4, 6): pose, rates, accelerations, jerks of C at the end of the last period, against neutral
    in m and rad, Euler angles. ``asked`` (6,): what was asked of the table: gain and ratio times the
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
        self._period = float(period)
        self._arrays = WashoutArrays(
            point=np.array(point, dtype=np.float64),
            constants=cue_constants(cueing, self._period),
            tilt_constants=tilt_constants(cueing, self._period),
            axes=np.zeros((6, size_of(AXIS))),
            tilts=np.zeros((2, size_of(AXIS))),
            integrals=np.zeros(6),
            before=np.zeros((4, 6)),
        )
        self._felt = np.zeros(9)
        self._step: Callable[..., None] | None = None
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
        self._arrays.integrals[:] = 0.0
        self.asked[:] = 0.0
        self.given[:] = 0.0
        begin(self._arrays, start)

    def step(self, felt: FloatArray, gravity: float, ratio: float = 1.0) -> None:
        """Advance by one period with what is felt at the vehicle's seat at its end.

        ``felt`` (9,): specific force (rest: [0, 0, g]) in m/s², angular velocity in rad/s and angular
        acceleration in rad/s², all in the vehicle's axes; a number that is not finite is no cue. ``ratio``
        0…1 of the cue.
        """
        self._felt[:] = felt
        arguments = (
            *(self._arrays, self._felt, gravity, ratio, self._period),
            *(self.motion, self.asked, self.given),
        )
        if self._step is None:
            self._step = entry(step, arguments)
        self._step(*arguments)

    def __getstate__(self) -> dict[str, object]:
        """Leave the compiled entry out: it is found again at the next step."""
        return {**self.__dict__, "_step": None}

    def read(self, ratio: float, motion: FloatArray) -> None:
        """Write the motion (4, 6) of C at ``ratio`` 0…1 of the last period: its end is ``self.motion``."""
        read(self._arrays.point, self._arrays.before, ratio * self._period, motion)

    @property
    def seat(self) -> FloatArray:
        """Position, velocity, acceleration (3, 6) of the seat at the end of the last period."""
        return self._arrays.axes[:, :3].T.copy()
