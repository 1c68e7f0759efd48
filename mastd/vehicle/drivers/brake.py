"""The foot that brakes a car to standstill."""

from __future__ import annotations

from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.vehicle.drivers.base import Driver, Seen
from mastd.vehicle.drivers.controls import Controls
from mastd.vehicle.drivers.pedals import SpeedController, SpeedGains, WheelTorques, between
from mastd.vehicle.drivers.powertrain import Train
from mastd.vehicle.model.definition import Model
from mastd.vehicle.powertrain.fields import DRIVE, DRIVER

_RISE: Final = 0.1
"""s in which the pedal goes down."""


class Braking(Driver):
    """Presses the pedal to a fraction of the brakes, or so that a deceleration is held.

    With a deceleration a the speed that is wanted is v₀ − a (t − start); at rest the brakes keep the force
    that a asks for, so that the car stays. The clutch is pressed all the time, and the lever of a manual
    gearbox in neutral.
    """

    def __init__(
        self,
        model: Model,
        torques: WheelTorques,
        speed: float,
        *,
        pedal: float | None,
        deceleration: float | None,
        start: float,
    ) -> None:
        """Brake from ``speed`` (m/s), at ``start`` s; one of ``pedal`` (0…1) and ``deceleration`` (m/s²)."""
        self._torques = torques
        self._speed = speed
        self._pedal = pedal
        self._deceleration = deceleration
        self._start = start
        self._full = float(np.sum([wheel.brake_torque for wheel in model.wheels] / torques.radii))
        self._controller = SpeedController(SpeedGains(proportional=3.0, integral=2.0, max_drive=0.0))
        self._force = 0.0
        manual = model.powertrain is None or Train.of(model, model.powertrain).manual
        self._lever = 0.0 if manual else DRIVE

    def act(self, seen: Seen, times: FloatArray, controls: Controls) -> None:
        """Write pedal, clutch and lever."""
        controls.driver[:, DRIVER.clutch] = 1.0
        controls.driver[:, DRIVER.gear] = self._lever
        if self._pedal is not None:
            ratio = np.clip((times - self._start) / _RISE, 0.0, 1.0)
            controls.driver[:, DRIVER.brake] = self._pedal * 0.5 * (1.0 - np.cos(np.pi * ratio))
            return
        assert self._deceleration is not None
        since = float(times[-1]) - self._start
        force = 0.0
        if since > 0.0:
            wanted = max(self._speed - self._deceleration * since, 0.0)
            minimum = -self._deceleration if wanted == 0.0 else 0.0
            demand = self._controller.demand(wanted, -self._deceleration if wanted > 0.0 else 0.0, seen)
            force = self._torques.mass * max(-min(demand, minimum), 0.0)
        forces = between(self._force, force, seen, times)
        self._force = force
        if self._full > 0.0:
            controls.driver[:, DRIVER.brake] = np.clip(forces / self._full, 0.0, 1.0)
        else:
            self._torques.brake(forces, controls)
