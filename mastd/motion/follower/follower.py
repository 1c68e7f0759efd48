"""A pose that somebody else gives, followed by the centre of the table: each axis in its box, for ever.

**The target.** Where the rig gives rates and accelerations with its poses, they are taken as they are, and
carry the pose on until the next one. Otherwise the pose goes straight from each message to the next in the
time that lay between the last two, and a critically damped filter of second order follows it: the target is
the filter's own position, rate and acceleration. All three from one filter belong together, so that the table
makes the rig's motion late, by 2/ω_f and a message, and else unchanged; the rig's own poses with rates from a
filter would be early in one and late in the other, which amplifies near the bandwidth. A factor that fades in
and out multiplies the target, its derivatives by the product rule, and the target is kept within the box.

**The axis** is asked for the acceleration (``mastd.motion.washout.limiter`` then keeps the box)

    a_r + 2ω (v_r + c − v),   c = ω/2 · e,   e = x_r − x,

which is a_r + 2ω (v_r − v) + ω² e: both poles at ω = 2π · bandwidth. An error that is too large for that is
closed as fast as the axis can still brake, c = √(2b (|e| − e₀/2)) beyond e₀ = b (2/ω)², with b half of the
largest acceleration; the two meet with one slope. So a jump of the rig becomes one swift move without
overshoot.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from mastd.arrays import FloatArray
from mastd.index_table import size_of
from mastd.kernel import entry
from mastd.motion.follower.kernel import FOLLOWER, MESSAGE, POSES, FollowerArrays, begin, follow
from mastd.motion.washout.limiter import AXIS, box
from mastd.settings.core.axes import AXES
from mastd.settings.profile.stream import PoseStream, RotationBox, TranslationBox

FILTER_RATIO: Final = 4.0
"""Corner of the filter that takes derivatives, in units of the bandwidth."""
MAX_WAY: Final = 0.1
"""s that the straight way to a new pose takes at most."""
HOMEWARD: Final = (0.02, 0.1, 1.0)
"""Velocity, acceleration and jerk in m or rad and s with which an axis that stands still goes to neutral from
where it began; its corner is the last of them over the one before."""


class PoseFollower:
    """Six axes that follow a rig's pose; plain arrays inside, so that it can be copied and pickled.

    ``motion`` (4, 6): pose, rates, accelerations, jerks of C at the end of the last period, against neutral
    in m and rad, Euler angles. ``residual`` (6,): what is left to the pose that it goes to.
    """

    def __init__(self, stream: PoseStream, period: float) -> None:
        """Take the boxes and the period in s; the table is taken to stand at neutral, see ``begin``."""
        self.motion = np.zeros((4, 6))
        self.residual = np.zeros(6)
        self._period = float(period)
        self._corner = 2.0 * math.pi * FILTER_RATIO * stream.bandwidth
        self._arrays = FollowerArrays(
            constants=_constants(stream, self._period),
            axes=np.zeros((6, size_of(AXIS))),
            poses=np.zeros((size_of(POSES), 6)),
            message=np.zeros(size_of(MESSAGE)),
        )
        self._ratio = np.zeros(3)
        self._given = np.zeros(18)
        self._step: Callable[..., None] | None = None
        self.begin(self.motion, np.zeros(6))

    def begin(self, motion: ArrayLike, given: FloatArray) -> None:
        """Go on from ``motion`` (3 or more, 6) of C while the rig gives ``given`` (6 or more,).

        Raises ValueError for a motion that is not finite.
        """
        start = np.zeros((4, 6))
        start[:3] = np.asarray(motion, dtype=np.float64)[:3]
        if not np.all(np.isfinite(start)):
            raise ValueError("a stream of poses cannot begin from a motion that is not finite")
        self.motion[:] = start
        poses, message = self._arrays.poses, self._arrays.message
        poses[[POSES.goal, POSES.shown, POSES.filtered]] = np.where(np.isfinite(given[:6]), given[:6], 0.0)
        poses[POSES.rate] = 0.0
        message[:] = 0.0
        message[MESSAGE.longest] = max(1.0, round(MAX_WAY / self._period))
        self.residual[:] = -start[0]
        begin(self._arrays, start)

    def step(self, given: FloatArray, derivatives: bool, ratio: tuple[float, float, float]) -> None:
        """Advance by one period; see ``follow``."""
        self._ratio[:] = ratio
        self._given[: len(given)] = given
        arguments = (
            *(self._arrays, self._corner, self._given, derivatives, self._ratio, self._period),
            *(self.motion, self.residual),
        )
        if self._step is None:
            self._step = entry(follow, arguments)
        self._step(*arguments)

    def __getstate__(self) -> dict[str, object]:
        """Leave the compiled entry out: it is found again at the next step."""
        return {**self.__dict__, "_step": None}


def _constants(stream: PoseStream, period: float) -> FloatArray:
    constants = np.empty((6, size_of(FOLLOWER)))
    for axis, name in enumerate(AXES):
        settings: TranslationBox | RotationBox | None = getattr(stream, name)
        if settings is None:
            velocity, acceleration, jerk = HOMEWARD
            travel, corner = 0.0, jerk / acceleration
        else:
            travel, velocity = settings.travel, settings.velocity
            acceleration, jerk = settings.acceleration, settings.jerk
            corner = 2.0 * math.pi * stream.bandwidth
        constants[axis] = [*box(travel, velocity, acceleration, jerk, acceleration, period), corner]
    return constants
