"""The simulated vehicles of the loaded profile, in their place in the cycle.

``ride`` comes after the sensing: the payload's vehicle follows the measured table, and its wrench goes out
with this cycle's command. It takes as many steps as the plant has gone on since the last usable sample, so
that its time is the plant's, whatever periods are missed.

``drive_on`` comes before the reference goes on: a driven vehicle makes the knots of the path that the
reference is about to follow. Its time is the path's: on hold its world stands.
"""

from __future__ import annotations

import numpy as np

from mastd.control.reference import Reference
from mastd.control.reference_kernels import Source
from mastd.control.stream import KNOTS, add_knot, begin_stream
from mastd.loop.driver_port import DriverPort
from mastd.loop.frame import Frame
from mastd.loop.hils import TableVehicle
from mastd.loop.oils import DrivenVehicle
from mastd.loop.sensing import Sensing
from mastd.safety.faults import Report
from mastd.safety.states import ON_PROFILE, State


class Vehicles:
    """What is simulated beside the table; writes the vehicle's numbers and the payload's wrench."""

    def __init__(self, frame: Frame, sensing: Sensing) -> None:
        self.on_table: TableVehicle | None = None
        self.driven: DrivenVehicle | None = None
        self.driver: DriverPort | None = None
        """Where somebody who drives is heard; None where nobody can be."""
        self.plant_feels = True
        """Whether the plant takes the payload's wrench: a simulated one; a real one carries the vehicle."""
        self._numbers = frame.vehicle
        self._wrench = frame.field("command.payload_wrench")
        self._sensing = sensing
        self._last_step: int | None = None
        self._none()

    def take(self, on_table: TableVehicle | None, driven: DrivenVehicle | None) -> None:
        """Take over what a profile has brought; the vehicle that is there already may go on."""
        if on_table is not self.on_table or driven is not None or self.driven is not None:
            self.on_table, self._last_step = on_table, None
            self._none()
        self.driven = driven

    @property
    def label(self) -> str:
        """Name, kind and wheels as the status shows them; empty for none."""
        vehicle = self.driven or self.on_table
        return "|".join((vehicle.name, vehicle.purpose, *vehicle.wheels)) if vehicle is not None else ""

    def begin_drive(self, reference: Reference) -> None:
        """Let the reference follow the driven vehicle, from its start on and from the last command on."""
        assert self.driven is not None
        self.driven.begin(reference.motion, self._numbers)
        begin_stream(reference.stream, reference.motion)
        reference.follow_stream()

    def drive_on(self, reference: Reference, dt: float) -> None:
        """Make the knots that ``dt`` s more of the path need."""
        driven = self.driven
        if driven is None or reference.source is not Source.STREAM:
            return
        if self.driver is not None and self.driver.take():
            driven.hear(self.driver.values)
        for _ in range(KNOTS):
            if not reference.lacks(dt):
                break
            driven.step(self._numbers)
            add_knot(reference.stream, driven.motion)

    def ride(self, state: State) -> list[Report]:
        """Let the payload's vehicle follow the table in this cycle; return what is wrong with vehicles."""
        vehicle, sensing = self.on_table, self._sensing
        if vehicle is None:
            return self.driven.reports() if self.driven is not None and state in ON_PROFILE else []
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
