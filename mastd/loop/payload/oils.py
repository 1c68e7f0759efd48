"""A driven vehicle as the loop sees it: knots of the table's path, numbers for the frame, conditions.

The drive itself is ``mastd.loop.payload.virtual_drive``; here its periods meet the table of faults and the
frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.loop.payload.frame_channels import SeatSensor, note_vehicle
from mastd.loop.payload.virtual_drive import VirtualDrive
from mastd.loop.rigs.bound_rig import BoundRig
from mastd.loop.rigs.signals import HandSignals, WheelSignals, refuse, signals_of
from mastd.safety.codes import Action, Code
from mastd.safety.faults import Report
from mastd.vehicle.payload.fallbacks import (
    DRIVER_LOST,
    NOT_CONVERGED,
    NOT_FINITE,
    OFF_ROAD,
    ROLLED_OVER,
    SPUN,
)
from mastd.wire.common import vehicle_block as b

_FAULTS: Final[dict[str, tuple[Code, Action]]] = {
    NOT_CONVERGED: (Code.VEHICLE_FAILED, Action.STOP),
    NOT_FINITE: (Code.VEHICLE_FAILED, Action.STOP),
    ROLLED_OVER: (Code.VEHICLE_FAILED, Action.STOP),
    SPUN: (Code.VEHICLE_LOST, Action.INDICATE),
    OFF_ROAD: (Code.VEHICLE_LOST, Action.HOLD),
    DRIVER_LOST: (Code.DRIVER_LOST, Action.INDICATE),
}


class DrivenVehicle:
    """The driven vehicle of a loaded profile.

    ``motion`` (4, 6): pose of C, rates, accelerations, jerks at the end of the last period.
    """

    def __init__(self, drive: VirtualDrive, period: float, *, by_hand: bool = False) -> None:
        model = drive.vehicle.model
        self.name = model.name
        self.purpose = b.BY_HAND if by_hand else b.DRIVEN_BY_SCRIPT
        self.wheels = tuple(wheel.name for wheel in model.wheels)
        self._drive = drive
        self._seat = SeatSensor.of(drive.vehicle.seat.position, model.gravity, period)
        self._no_load = np.zeros(6)
        self._wheel_signals: WheelSignals | None = None
        self._hand_signals: HandSignals | None = None

    def bind_signals(self, rigs: Sequence[BoundRig]) -> None:
        """Take these rigs' signals in each step, instead of those of any before; none: no more.

        Steering, pedals and gear that a rig gives replace the operator's; the vehicle hears them
        for as long as one of the rigs that give them is present, and has lost its driver when none is.
        Rigs of other kinds than signals are passed over. Raises UsageError, one line each, for what the
        vehicle cannot take; then nothing has changed.
        """
        given = signals_of(rigs)
        vehicle = self._drive.vehicle
        timeout = vehicle.operator_timeout
        script = (
            f"{self.name} has a scripted driver; set `driver: {{kind: operator}}}}`"
            if timeout is None
            else None
        )
        refuse(vehicle.model, given, script)
        wheels, hands = WheelSignals(vehicle.model, given), HandSignals(given, timeout or 0.0)
        vehicle.give(np.zeros(len(self.wheels)), np.zeros(len(self.wheels)))
        self._wheel_signals, self._hand_signals = wheels or None, hands or None

    @property
    def duration(self) -> float:
        """Of the drive, s; the table comes home after it."""
        return self._drive.duration

    @property
    def finished(self) -> bool:
        """The drive is over and the table has come home."""
        return self._drive.finished

    @property
    def motion(self) -> FloatArray:
        """See the class."""
        return self._drive.motion

    def begin(self, motion: FloatArray, numbers: FloatArray) -> None:
        """Start from the motion (≥ 3, 6) that the table has, the vehicle again."""
        self._drive.begin(motion)
        if self._hand_signals is not None:
            self._hand_signals.forget()
        self._seat.weighing[:] = 0.0
        self._note(numbers)

    def receive(self, values: FloatArray) -> None:
        """Take what somebody drives with (5); what rigs give goes before it."""
        if self._hand_signals is not None:
            self._hand_signals.receive(values, self._drive.time)
        else:
            self._drive.receive(values)

    def step(self, numbers: FloatArray) -> None:
        """Continue by one period."""
        drive = self._drive
        if self._hand_signals is not None:
            values = self._hand_signals.now(drive.time)
            if values is not None:
                drive.receive(values)
        if self._wheel_signals is not None:
            self._wheel_signals.read()
            drive.vehicle.give(self._wheel_signals.torques, self._wheel_signals.forces)
        drive.step()
        self._note(numbers)

    def reports(self) -> list[Report]:
        """Return what is wrong in this period, of each code the most severe."""
        found: dict[Code, Report] = {}
        for name, text in self._drive.conditions:
            code, action = _FAULTS[name]
            before = found.get(code)
            if before is None or before.action is None or before.action < action:
                found[code] = Report(code, f"{self.name}: {text}", action)
        return list(found.values())

    def _note(self, numbers: FloatArray) -> None:
        drive = self._drive
        note_vehicle(
            drive.signals,
            self._no_load,
            len(self.wheels),
            self._seat,
            b.first_wheel(True),
            numbers,
        )
        numbers[b.ASKED : b.ASKED + 6] = drive.asked
        numbers[b.GIVEN : b.GIVEN + 6] = drive.given
        numbers[b.DRIVER : b.DRIVER + b.DRIVER_NUMBERS] = drive.inputs
