"""Drivers at the pedals: a speed held, a car braked or started; with a powertrain or by torques on wheels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from mastd.arrays import FloatArray
from mastd.vehicle.drivers.base import Driver, Seen
from mastd.vehicle.drivers.controls import Controls
from mastd.vehicle.drivers.standstill import STANDING, turning_speed
from mastd.vehicle.model.definition import Model

Intention: TypeAlias = Callable[[float], tuple[float, float]]
"""Time (s) → speed that is wanted (m/s) and its rate (m/s²)."""

HOLDING: Final = 5.0
"""m/s²: the foot that keeps a car at rest presses as if it braked like this."""


@dataclass(frozen=True)
class SpeedGains:
    """How a speed is held: acceleration = its rate + proportional · error + integral ∫ error."""

    proportional: float = 1.0
    """1/s."""
    integral: float = 0.3
    """1/s²."""
    max_drive: float = 4.0
    """m/s²."""
    max_brake: float = 10.0
    """m/s²."""


class SpeedController:
    """A PI controller that gives the acceleration to ask for; what cannot be had is not summed up."""

    def __init__(self, gains: SpeedGains) -> None:
        """Begin with nothing summed up."""
        self._gains = gains
        self._sum = 0.0
        self._asked: float | None = None

    def demand(self, wanted: float, rate: float, seen: Seen) -> float:
        """Return the acceleration (m/s²) for a speed (m/s) that is wanted and its rate (m/s²)."""
        gains, error = self._gains, wanted - seen.speed
        span = 0.0 if self._asked is None else seen.time - self._asked
        self._asked = seen.time
        free = rate + gains.proportional * error + self._sum
        bounded = min(max(free, -gains.max_brake), gains.max_drive)
        if (free - bounded) * error <= 0.0:
            self._sum += gains.integral * error * span
        return bounded


def hold(speed: float) -> Intention:
    """Return the intention to keep a speed (m/s)."""
    return lambda time: (speed, 0.0)


def stays(wanted: float, seen: Seen) -> bool:
    """Return whether the car is to stand, and does: then its brakes hold it."""
    return wanted == 0.0 and abs(seen.speed) <= STANDING


@dataclass(frozen=True, eq=False)
class WheelTorques:
    """Drives and brakes by torques on the wheels, of a car without powertrain or brakes of its own.

    Driving forces are alike on all wheels, braking forces go with the loads at rest.
    """

    mass: float
    radii: FloatArray
    """(nw) rolling radii, m."""
    ratios: FloatArray
    """(nw) of the load at rest."""

    @classmethod
    def of(cls, model: Model, loads: FloatArray) -> WheelTorques:
        """Return those of a vehicle with ``loads`` (nw) N at rest."""
        return cls(
            mass=float(sum(body.mass for body in model.bodies)),
            radii=np.array([wheel.tyre.rolling_radius for wheel in model.wheels]),
            ratios=loads / np.sum(loads),
        )

    def drive(self, forces: FloatArray, controls: Controls) -> None:
        """Write driving torques for forces (n) along the car, N, positive forwards."""
        controls.drive_torque[:] = forces[:, None] * self.radii / len(self.radii)

    def brake(self, forces: FloatArray, controls: Controls) -> None:
        """Write braking torques for forces (n) against the motion, N, 0 or more."""
        controls.brake_torque[:] = forces[:, None] * self.radii * self.ratios


class TorqueFoot(Driver):
    """Keeps to an intended speed of a car without powertrain."""

    def __init__(self, torques: WheelTorques, intention: Intention, gains: SpeedGains | None = None) -> None:
        """Begin with no force."""
        self._torques = torques
        self._intention = intention
        self._controller = SpeedController(SpeedGains() if gains is None else gains)
        self._force = 0.0

    def act(self, seen: Seen, times: FloatArray, controls: Controls) -> None:
        """Write the torques: straight lines from the last demand to the new one."""
        wanted, rate = self._intention(float(times[-1]))
        demand = self._controller.demand(wanted, rate, seen)
        force = self._torques.mass * (-HOLDING if stays(wanted, seen) else demand)
        forces = between(self._force, force, seen, times)
        self._force = force
        forwards = 1.0 if wanted >= 0.0 else -1.0
        self._torques.drive(forwards * np.maximum(forwards * forces, 0.0), controls)
        self._torques.brake(np.maximum(-forwards * forces, 0.0), controls)


class Stop(Driver):
    """Ends the manoeuvre some time after the car has come to rest and its body has swayed out."""

    def __init__(self, begin: float, stay: float) -> None:
        """Look from ``begin`` (s) on; end when nothing has moved for ``stay`` s."""
        self._begin = begin
        self._stay = stay
        self._since: float | None = None
        self._over = False

    @property
    def done(self) -> bool:
        """Whether the car has stood long enough."""
        return self._over

    def act(self, seen: Seen, times: FloatArray, controls: Controls) -> None:
        """Look; move nothing."""
        resting = float(turning_speed(seen.velocity, seen.yaw_rate)) <= STANDING
        resting = resting and seen.time >= self._begin
        self._since = (seen.time if self._since is None else self._since) if resting else None
        self._over = self._since is not None and seen.time - self._since >= self._stay


def between(old: float, new: float, seen: Seen, times: FloatArray) -> FloatArray:
    """Return the straight line from the last value to the new one at the end of the sample."""
    return np.asarray(old + (times - seen.time) / (times[-1] - seen.time) * (new - old))
