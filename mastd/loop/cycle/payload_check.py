"""Weigh the payload while the table rises, and compare it with the payload of the loaded profile.

Sums run in RAISING alone, a block of samples after the other, of those in which the table moves fast enough
for the seals to slide, clear of its stops. The comparison is in READY, once for each weighing and profile: no
profile runs with another payload than its own. A vehicle that is simulated pushes a simulated plant with
its own wrench, which is known; what is left is compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.control.identification.static_load import (
    ActuatorFriction,
    StaticLoad,
    contradiction,
    nominal_load,
    weigh,
)
from mastd.dynamics.supports import support_wrench
from mastd.kinematics.geometry import Geometry
from mastd.kinematics.rotation import rotation
from mastd.kinematics.workspace import jacobians_at
from mastd.loop.cycle.orders import Orders
from mastd.loop.measurement.frame import Frame
from mastd.loop.measurement.sensing import Sensing
from mastd.safety.faults import Code, Report
from mastd.safety.states import State
from mastd.settings.core.base import computed
from mastd.settings.daemon.daemon import DaemonSettings
from mastd.settings.table.table import TableSettings

BLOCK: Final = 20
"""Samples that are looked at together: rates of single ones are noisy."""
MIN_BLOCKS: Final = 5
"""Fewer do not average the oil columns' ringing out."""
LOWERED: Final = frozenset({State.OFF, State.LOW, State.HIGH, State.LOWERING, State.ESTOP})
"""States in which the weighing is discarded: the specimen may be changed."""


class PayloadCheck:
    """Weighing and comparison, ``inspect`` once a cycle; ``weighed`` is None before the table has risen."""

    def __init__(
        self, table: TableSettings, daemon: DaemonSettings, frame: Frame, sensing: Sensing, orders: Orders
    ) -> None:
        self.weighed: StaticLoad | None = None
        self._settings = daemon.control.payload_check
        self._allowed = computed(self._settings.mass), computed(self._settings.centre)
        # What guides carry, no actuator weighs.
        weighs = table.gravity > 0.0 and {"heave", "roll", "pitch"} <= set(table.freedoms)
        weighs = weighs and table.measures_forces
        self._enabled = self._settings.enabled and weighs
        self._gravity = table.gravity
        self._table = table
        self._geometry = Geometry.from_settings(table)
        self._clear = self._geometry.shortest_lengths + table.limits.stroke_margin
        self._friction = ActuatorFriction.from_settings(table)
        self._sensing = sensing
        self._orders = orders
        self._block = Measured(frame)
        self._sum = Measured(frame)
        self._samples = self._blocks = 0
        self._rotation = np.eye(3)
        """Rotation from P to B at which the table was weighed."""
        self._state = State.OFF
        self._felt = False
        """The simulated plant felt a simulated vehicle, which is taken off."""
        self._rising = self._ready = False
        self._compared: tuple[object, object] = (None, None)
        self._standing: tuple[Report, ...] = ()

    def inspect(self, state: State) -> Sequence[Report]:
        """Add this cycle's sample while the table rises; return the contradiction that stands in READY."""
        if not self._enabled:
            return ()
        if state is not self._state:
            self._enter(state)
        if self._rising and self._sensing.usable and self._sensing.pose_valid:
            self._add()
        return self._compare() if self._ready else ()

    def _enter(self, state: State) -> None:
        if state is State.RAISING:
            self._begin()
        elif self._rising:
            self._finish()
        self._state, self._rising, self._ready = state, state is State.RAISING, state is State.READY
        if state in LOWERED:
            self.weighed = None

    def _begin(self) -> None:
        self._samples = self._blocks = 0
        self._block.clear()
        self._sum.clear()

    def _add(self) -> None:
        block = self._block
        block.take()
        self._samples += 1
        if self._samples < BLOCK:
            return
        block.values *= 1.0 / BLOCK
        sticking = np.abs(block.rates) < self._friction.sliding_rates
        if not sticking.all() and (block.lengths > self._clear).all():
            block.sticking[:] = sticking
            block.forces -= self._friction.forces(block.rates)
            self._sum.values += block.values
            self._blocks += 1
        block.clear()
        self._samples = 0

    def _finish(self) -> None:
        """Weigh; a motion that is too short leaves the last weighing as it is."""
        if self._blocks < MIN_BLOCKS:
            return
        mean = self._sum
        mean.values /= self._blocks
        pose = mean.pose
        self._rotation = np.array(rotation(pose[3], pose[4], pose[5])).reshape(3, 3)
        self._felt = bool(mean.load.any())
        self.weighed = weigh(
            jacobians_at(self._geometry, pose)[0],
            mean.forces,
            self._friction.doubts(mean.sticking),
            (self._rotation @ mean.load.reshape(2, 3).T).T.ravel()
            + support_wrench(self._table, pose, mean.pose_rates),
            self._gravity + mean.acceleration[2],
        )

    def _compare(self) -> Sequence[Report]:
        """Compare a weighing with a profile once; without a profile there is no expected payload."""
        loaded, weighed = self._orders.loaded, self.weighed
        if self._compared[0] is not loaded or self._compared[1] is not weighed:
            self._compared, self._standing = (loaded, weighed), ()
            if loaded is not None and weighed is not None:
                stated = nominal_load(self._orders.carried, self._rotation)
                why = contradiction(weighed, stated, *self._allowed)
                beside = "without the simulated vehicle, " if self._felt else ""
                self._standing = (Report(Code.PAYLOAD_MISMATCH, beside + why),) if why else ()
        return self._standing


class Measured:
    """A sum of what the frame says of pose, actuators and load; ``take`` adds the present frame.

    ``values`` holds the frame's part from pose to force, the load (6,) and how often each actuator sticks.
    """

    def __init__(self, frame: Frame) -> None:
        slices = frame.layout.slices
        first, last = slices["pose"].start, slices["force"].stop
        actuators = last - slices["force"].start
        self._frame = frame.values[first:last]
        self._wrench = frame.field("command.payload_wrench")
        self.values: FloatArray = np.zeros(last - first + 6 + actuators)
        parts = {name: slice(slices[name].start - first, slices[name].stop - first) for name in slices}
        self._motion = self.values[: last - first]
        self.pose = self.values[parts["pose"]]
        self.pose_rates = self.values[parts["pose_rate"]]
        self.acceleration = self.values[parts["pose_acceleration"]]
        self.lengths = self.values[parts["length"]]
        self.rates = self.values[parts["length_rate"]]
        self.forces = self.values[parts["force"]]
        self.load = self.values[last - first : last - first + 6]
        self.sticking = self.values[last - first + 6 :]

    def take(self) -> None:
        """Add the frame as it is."""
        self._motion += self._frame
        self.load += self._wrench

    def clear(self) -> None:
        """Start again."""
        self.values[:] = 0.0
