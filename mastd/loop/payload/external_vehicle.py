"""A vehicle on the table that a rig simulates: its wrench, and a dead weight in its place while it is away.

While the rig is present the wrench is what the rig gives, bit for bit. When it is lost the wrench goes from
the last one to the weight of the rigid body that the profile states, at the pose of the table, within
``TAKEOVER`` seconds, whatever the rig's channels do meanwhile; and back in the same time when it returns. In
OFF, where nothing moves, there is no transition. That the rig is lost is told by the rigs' own part of the
loop, not here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.loop.rigs.binding import absent_rig, bound_rig
from mastd.loop.rigs.bound_rig import BoundRig
from mastd.safety.faults import Report
from mastd.settings.rigs.channels import VEHICLE
from mastd.settings.table.payload import ExternalPayload
from mastd.wire.common.vehicle_block import ON_TABLE

TAKEOVER: Final = 0.1
"""s in which the dead weight takes over from a lost rig, and a rig that is back from the dead weight."""


class ExternalVehicle:
    """The payload's vehicle as its rig gives it; ``key`` tells one payload from another, and is not 0.

    ``wrench`` (6): on the table at C in P axes. Of the vehicle itself nothing is known: it writes no numbers.
    """

    def __init__(self, payload: ExternalPayload, gravity: float, period: float, key: int) -> None:
        """Take what the profile states, gravity in m/s² and the loop's period in s."""
        self.name = f"rig {payload.rig}"
        self.purpose = ON_TABLE
        self.wheels: tuple[str, ...] = ()
        self.key = key
        self.wrench = np.zeros(6)
        self._wanted = payload.rig
        self._rig = absent_rig(payload.rig, VEHICLE)
        self._weight = payload.mass * gravity
        self._centre = payload.centre_of_gravity
        self._per_period = period / TAKEOVER
        self._fraction = 0.0
        """Of the rig's wrench; the rest is the dead weight."""
        self._last = np.zeros(6)
        """Wrench that the rig gave last."""
        self._dead = np.zeros(6)

    def bind(self, rigs: Mapping[str, BoundRig]) -> None:
        """Take the rig; raise UsageError if there is none, or one of another kind."""
        self._rig = bound_rig(rigs, self._wanted, VEHICLE)

    def lie(self, pose: FloatArray, numbers: FloatArray) -> None:
        """Stand on the table that lies at ``pose`` (6); everything before is forgotten."""
        self._fraction = 1.0 if self._rig.present else 0.0
        self._weigh(pose)

    def ride(self, pose: FloatArray, steps: int, numbers: FloatArray) -> list[Report]:
        """Continue by ``steps`` periods, in which the table came to ``pose`` (6); nothing is wrong here."""
        step = steps * self._per_period
        if self._rig.present:
            self._fraction = min(self._fraction + step, 1.0)
        else:
            self._fraction = max(self._fraction - step, 0.0)
        self._weigh(pose)
        return []

    def _weigh(self, pose: FloatArray) -> None:
        if self._rig.present:
            self._last[:] = self._rig.values
            if self._fraction == 1.0:
                self.wrench[:] = self._last
                return
        dead = self._dead
        roll, pitch = float(pose[3]), float(pose[4])
        x, y, z = self._centre
        # Gravity in axes of P.
        fx = self._weight * math.sin(pitch)
        fy = -self._weight * math.sin(roll) * math.cos(pitch)
        fz = -self._weight * math.cos(roll) * math.cos(pitch)
        dead[0], dead[1], dead[2] = fx, fy, fz
        dead[3], dead[4], dead[5] = y * fz - z * fy, z * fx - x * fz, x * fy - y * fx
        self.wrench[:] = dead + self._fraction * (self._last - dead)
