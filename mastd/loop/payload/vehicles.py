"""The vehicles of the loaded profile, simulated here or by rigs, in their place in the cycle.

``ride`` comes after the sensing: the payload's vehicle follows the measured table, and its wrench goes out
with this cycle's command. It takes as many steps as the plant has gone on since the last usable sample, so
that its time is the plant's, whatever periods are missed.

``drive_on`` comes before the reference goes on: a driven vehicle, or a rig, makes the knots of the path that
the reference is about to follow. Its time is the path's: on hold the vehicle's world stands.

What a profile brings comes out of a parcel and does not know its rigs yet: ``bind`` gives it those of the
daemon.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from mastd.control.reference.kernels import Source
from mastd.control.reference.reference import Reference
from mastd.control.reference.stream import KNOTS, add_knot, begin_stream
from mastd.errors import UsageError
from mastd.loop.measurement.frame import Frame
from mastd.loop.measurement.sensing import Sensing
from mastd.loop.payload.driver_port import DriverPort
from mastd.loop.payload.external_vehicle import ExternalVehicle
from mastd.loop.payload.loaded_profile import Driven, OnTable
from mastd.loop.payload.rig_motion import PoseDrive, SeatDrive
from mastd.loop.rigs.bound_rig import BoundRig
from mastd.safety.faults import Report
from mastd.safety.states import ON_PROFILE, State
from mastd.settings.rigs.channels import SIGNALS


class Vehicles:
    """What is simulated beside the table; writes the vehicle's numbers and the payload's wrench."""

    def __init__(
        self, frame: Frame, sensing: Sensing, rigs: Mapping[str, BoundRig] = MappingProxyType({})
    ) -> None:
        self.on_table: OnTable | None = None
        self.driven: Driven | None = None
        self.rigs = rigs
        """All rigs that may join, by name."""
        self.driver: DriverPort | None = None
        """Where somebody who drives is heard; None where nobody can be."""
        self.plant_feels = True
        """Whether the plant takes the payload's wrench: a simulated one; a real one carries the vehicle."""
        self._numbers = frame.vehicle
        self._wrench = frame.field("command.payload_wrench")
        self._sensing = sensing
        self._last_step: int | None = None
        self._none()

    def bind(self, on_table: OnTable | None, driven: Driven | None, names: Sequence[str]) -> None:
        """Give what a profile brings the rigs that it uses, ``names``.

        Raises UsageError for a rig that there is not, or that is of another kind.
        """
        missing = [name for name in names if name not in self.rigs]
        if missing:
            known = ", ".join(self.rigs) or "none"
            raise UsageError(f"the profile uses rig {missing[0]}, the daemon's settings name: {known}")
        signals = [rig for rig in (self.rigs[name] for name in names) if rig.kind == SIGNALS]
        for vehicle in (on_table, driven):
            if isinstance(vehicle, ExternalVehicle | PoseDrive | SeatDrive):
                vehicle.bind(self.rigs)
            elif vehicle is not None:
                vehicle.bind_signals(signals)

    def missing(self, names: Sequence[str]) -> str:
        """Return the first of these rigs that has not joined, or is lost; empty if all are there."""
        for name in names:
            rig = self.rigs.get(name)
            if rig is None or not rig.present:
                return name
        return ""

    def take(self, on_table: OnTable | None, driven: Driven | None) -> None:
        """Take over what a profile has brought and ``bind`` has been through; the vehicle that is there
        already may continue."""
        if on_table is not self.on_table or driven is not None or self.driven is not None:
            self.on_table, self._last_step = on_table, None
            self._none()
        self.driven = driven

    @property
    def label(self) -> str:
        """Name, kind and wheels as the status shows them; empty for none, and for what a rig does."""
        vehicle = self.driven or self.on_table
        if vehicle is None or isinstance(vehicle, ExternalVehicle | PoseDrive):
            return ""
        return "|".join((vehicle.name, vehicle.purpose, *vehicle.wheels))

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
            driven.receive(self.driver.values)
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
