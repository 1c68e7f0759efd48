"""The simulated vehicles of the loaded profile, in their place in the cycle.

``ride`` comes after the sensing: the payload's vehicle follows the measured table, and its wrench goes out
with this cycle's command. It takes as many steps as the plant has gone on since the last usable sample, so
that its time is the plant's, whatever periods are missed.
"""

from __future__ import annotations

import numpy as np

from mastd.loop.frame import Frame
from mastd.loop.hils import TableVehicle
from mastd.loop.sensing import Sensing
from mastd.safety.faults import Report
from mastd.safety.states import State


class Vehicles:
    """What is simulated beside the table; writes the vehicle's numbers and the payload's wrench."""

    def __init__(self, frame: Frame, sensing: Sensing) -> None:
        self.on_table: TableVehicle | None = None
        self.plant_feels = True
        """Whether the plant takes the payload's wrench: a simulated one; a real one carries the vehicle."""
        self._numbers = frame.vehicle
        self._wrench = frame.field("command.payload_wrench")
        self._sensing = sensing
        self._last_step: int | None = None
        self._none()

    def take(self, on_table: TableVehicle | None) -> None:
        """Take over what a profile has brought; the vehicle that is there already may go on."""
        if on_table is not self.on_table:
            self.on_table, self._last_step = on_table, None
            self._none()

    @property
    def label(self) -> str:
        """Name, kind and wheels as the status shows them; empty for none."""
        vehicle = self.on_table
        return "|".join((vehicle.name, "hils", *vehicle.wheels)) if vehicle is not None else ""

    def ride(self, state: State) -> list[Report]:
        """Let the payload's vehicle follow the table in this cycle; return what is wrong with it."""
        vehicle, sensing = self.on_table, self._sensing
        if vehicle is None:
            return []
        steps = 0
        if sensing.usable and sensing.pose_valid:
            step = sensing.sample.step
            steps = step - self._last_step if self._last_step is not None else 0
            self._last_step = step
        reports: list[Report] = []
        if state is State.OFF or self._last_step is None:
            vehicle.lie(sensing.smoothed_pose, self._numbers)
        else:
            reports = vehicle.ride(sensing.smoothed_pose, steps, self._numbers)
        if self.plant_feels:
            self._wrench[:] = vehicle.wrench
        return reports

    def _none(self) -> None:
        self._numbers[:] = np.nan
        self._wrench[:] = 0.0
