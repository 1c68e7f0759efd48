"""A vehicle with what drivers and evaluations have to know of it before it moves."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from mastd.arrays import FloatArray
from mastd.vehicle.drivers.base import Driver
from mastd.vehicle.drivers.pedals import Intention, TorqueFoot, WheelTorques
from mastd.vehicle.drivers.powertrain import PowertrainFoot, Train
from mastd.vehicle.drivers.single_track import SingleTrack, single_track
from mastd.vehicle.equilibrium.dense_equations import System
from mastd.vehicle.equilibrium.settle import settle
from mastd.vehicle.model.definition import Model
from mastd.vehicle.state.motion import design_state


@dataclass(frozen=True, eq=False)
class Car:
    """A settled vehicle."""

    model: Model
    loads: FloatArray
    """(nw) N at rest."""
    position: FloatArray
    """(3) of the chassis' centre of mass at rest, inertial axes, m."""

    @classmethod
    def of(cls, model: Model) -> Car:
        """Settle the vehicle; raise EquilibriumError for one that does not stand."""
        rest = settle(System(model), design_state(model))
        return cls(model, rest.wheel_loads, rest.state.position[0].copy())

    @cached_property
    def track(self) -> SingleTrack:
        """The single track; raises UsageError for a vehicle without a rack."""
        return single_track(self.model, self.loads)

    @property
    def mass(self) -> float:
        """Of the whole vehicle, kg."""
        return float(sum(body.mass for body in self.model.bodies))

    @property
    def torques(self) -> WheelTorques:
        """Torques on its wheels, for a car without powertrain or brakes."""
        return WheelTorques.of(self.model, self.loads)

    def pedals(self, intention: Intention, speed: float) -> tuple[Driver, ...]:
        """Return who keeps to an intended speed, from ``speed`` (m/s) on."""
        if self.model.powertrain is None:
            return (TorqueFoot(self.torques, intention),)
        gear = self.gear_for(speed)
        return (PowertrainFoot(self.model, self.torques, intention, gear=gear, speed=speed),)

    def throttled(self, throttle: float, go: float) -> tuple[Driver, ...]:
        """Return who gives a throttle (0…1) from standstill, from ``go`` s on."""
        return (PowertrainFoot(self.model, self.torques, None, gear=1, throttle=throttle, go=go),)

    def rolling_gear(self, speed: float) -> int:
        """Return the gear of a car that rolls at a speed (m/s), the driver's feet off the pedals."""
        if self.model.powertrain is None or Train.of(self.model, self.model.powertrain).manual:
            return 0
        return self.gear_for(speed)

    def gear_for(self, speed: float) -> int:
        """Return the gear to drive a speed (m/s) in, 0 without a powertrain."""
        if self.model.powertrain is None:
            return 0
        return Train.of(self.model, self.model.powertrain).gear_for(speed)
