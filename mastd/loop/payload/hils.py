"""A vehicle as the table's payload: stepped on the measured motion once a period (hardware in the loop).

In OFF it stands as settled on the table that lies still, and presses on it with its weight. From LOW on it
follows the table. What goes wrong: a solver that misses its tolerances for ``UNSOUND_TIME`` in a row, or a
motion that is not finite, leaves a dead weight of the vehicle's size on the table until it is put on again in
OFF; a wheel beside the table stops it. The rest of the loop sees a wrench, some numbers in the frame, and
conditions for the table of faults.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.loop.payload.frame_channels import SeatSensor, note_vehicle
from mastd.loop.rigs.bound_rig import BoundRig
from mastd.loop.rigs.signals import WheelSignals, refuse, signals_of
from mastd.safety.codes import Code
from mastd.safety.faults import Action, Report
from mastd.vehicle.model.definition import Seat
from mastd.vehicle.payload.fallbacks import UNSOUND_TIME
from mastd.vehicle.payload.on_table import VehicleOnTable
from mastd.wire.common.vehicle_block import ON_TABLE, first_wheel

GIVING_UP: Final = 0.1
"""s in which a vehicle that cannot be simulated any more becomes a dead weight."""


class TableVehicle:
    """The payload's vehicle in the loop; ``key`` tells one payload from another, and is not 0.

    ``wrench`` (6): on the table at C in P axes. ``numbers`` of the frame are written by ``ride`` and ``lie``.
    """

    def __init__(self, vehicle: VehicleOnTable, seat: Seat, period: float, key: int) -> None:
        self.name = vehicle.model.name
        self.purpose = ON_TABLE
        self.wheels = tuple(wheel.name for wheel in vehicle.model.wheels)
        self.key = key
        self.wrench = np.zeros(6)
        self._vehicle = vehicle
        self._seat = SeatSensor.of(seat.position, vehicle.model.gravity, period)
        self._period = period
        self._unsound = 0
        self._max_unsound = max(1, round(UNSOUND_TIME / period))
        self._given_up: float | None = None
        """s since the vehicle has been a dead weight; None: it is simulated."""
        self._last_wrench = np.zeros(6)
        self._why = ""
        self._standing: list[Report] = []
        """What is wrong since the last step, also in a cycle that has none."""
        self._signals: WheelSignals | None = None

    def bind_signals(self, rigs: Sequence[BoundRig]) -> None:
        """Take wheel torques and damper forces from these rigs in each step, instead of any before; none: no
        more.

        Rigs of other kinds than signals are passed over. Raises UsageError, one line each, for what the
        vehicle cannot take; then nothing has changed.
        """
        given = signals_of(rigs)
        model = self._vehicle.model
        refuse(model, given, f"{self.name} is on the table: it has no driver")
        signals = WheelSignals(model, given)
        self._vehicle.give(np.zeros(len(self.wheels)), np.zeros(len(self.wheels)))
        self._signals = signals or None

    def lie(self, pose: FloatArray, numbers: FloatArray) -> None:
        """Stand as settled on the table that lies at ``pose`` (6); everything before is forgotten."""
        self._vehicle.lie(pose)
        self._unsound, self._given_up, self._why, self._standing = 0, None, "", []
        self._seat.weighing[:] = 0.0
        self.wrench[:] = self._vehicle.wrench
        self._note(numbers)

    def ride(self, pose: FloatArray, steps: int, numbers: FloatArray) -> list[Report]:
        """Continue by ``steps`` periods, in which the table came to ``pose`` (6); return what is wrong."""
        if self._given_up is None and steps > 0:
            if self._signals is not None:
                self._signals.read()
                self._vehicle.give(self._signals.torques, self._signals.forces)
            self._vehicle.follow(pose, steps)
            beside = self._note(numbers)
            if self._holds(not math.isnan(beside)):
                self.wrench[:] = self._vehicle.wrench
                lost = [Report(Code.VEHICLE_LOST, self._beside(), Action.STOP)] if beside > 0.0 else []
                self._standing = lost
        if self._given_up is not None:
            self._weigh_down(pose, steps)
            self._standing = [Report(Code.VEHICLE_FAILED, self._why)]
        return self._standing

    def _note(self, numbers: FloatArray) -> float:
        return note_vehicle(
            self._vehicle.signals,
            self._vehicle.wrench,
            len(self.wheels),
            self._seat,
            first_wheel(False),
            numbers,
        )

    def _holds(self, finite: bool) -> bool:
        """Return whether the simulation still holds; the last wrench is kept where it ends."""
        missed = self._vehicle.missed
        self._unsound = self._unsound + missed if missed else 0
        if finite and self._unsound < self._max_unsound:
            return True
        self._given_up = 0.0
        self._last_wrench[:] = self.wrench
        missing = f"the solver missed its tolerances for {self._unsound} steps in a row"
        why = missing if finite else "the motion is not finite"
        self._why = f"{self.name}: {why}; simulated as a rigid mass until the table is lowered to OFF"
        return False

    def _weigh_down(self, pose: FloatArray, steps: int) -> None:
        assert self._given_up is not None
        self._given_up += steps * self._period
        self._vehicle.weigh_down(pose)
        left = max(1.0 - self._given_up / GIVING_UP, 0.0)
        self.wrench[:] = self._vehicle.wrench + left * (self._last_wrench - self._vehicle.wrench)

    def _beside(self) -> str:
        outside = self._vehicle.signals[self._vehicle.layout.wheel(7)]
        wheel = int(np.argmax(outside))
        return f"{self.name}: wheel {self.wheels[wheel]} is {outside[wheel] * 1e3:.0f} mm off the table"
