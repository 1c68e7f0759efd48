"""Somebody who drives by hand: what was heard last becomes steering, pedals and gear lever of the car.

States. *Driven*: the newest values count. Without new ones they stay as they are until ``timeout`` has
passed; then the driver is *lost*, as before the first values, and the car coasts: throttle released, racks
where they are, the clutch pressed, braked with 2 m/s² to standstill and held there. Values that come again
take over from there: racks and pedals never jump, they move as fast as hands and feet do.

All racks go by one share of their travel, in the proportions in which the axles roll about one point; at a
share of 1 the first rack arrives at its end.

A car with a gearbox that is shifted by hand is helped: in DRIVE somebody else changes gears and moves the
clutch, and in any other gear somebody moves the clutch for as long as the driver has never touched it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Final, NamedTuple

import numpy as np

from mastd.arrays import FloatArray
from mastd.index_table import index_table
from mastd.vehicle.drivers.base import Driver, Hand, Seen
from mastd.vehicle.drivers.car import Car
from mastd.vehicle.drivers.controls import Controls
from mastd.vehicle.drivers.pedals import HOLDING, SpeedGains, WheelTorques, between, stays
from mastd.vehicle.drivers.powertrain import Gears, Train
from mastd.vehicle.model.definition import Model
from mastd.vehicle.powertrain.fields import DRIVE, DRIVER
from mastd.vehicle.powertrain.model import Powertrain


class ManualColumns(NamedTuple):
    """What a person's hands and feet give."""

    steering: int
    throttle: int
    brake: int
    clutch: int
    gear: int


MANUAL: Final = index_table(ManualColumns)
"""Places of what is heard: −1…1 left positive, three pedals 0…1, the gear."""
COASTING: Final = 2.0
"""m/s² with which a car is braked whose driver is lost."""
RACK_RATE: Final = 0.3
"""m/s of the fastest rack."""
PEDAL_TIME: Final = 0.15
"""s in which a foot moves a pedal from end to end."""
REVERSE_SPEED: Final = 1.5
"""m/s ahead above which reverse is not engaged; it is neutral until then."""
_PRESSED: Final = 0.02
"""A pedal that is pressed less is not touched."""


class ManualDriver(Driver):
    """Drives a car by what it hears."""

    def __init__(self, model: Model, car: Car, timeout: float = 0.3) -> None:
        """Begin with nothing heard; ``timeout`` in s. Raises LinkageError for a suspension that does not
        close."""
        self.lost = True
        """Whether nothing has been heard for longer than ``timeout``; as of the last ``act``."""
        self._timeout = timeout
        self._heard = -math.inf
        self._values = np.zeros(5)
        self._wheel = _Wheel(model, car) if model.drives else None
        brakes = _Brakes(model, car.torques)
        self._feet: _Feet = (
            _WheelFeet(brakes, car.torques)
            if model.powertrain is None
            else _PowertrainFeet(brakes, model, model.powertrain)
        )

    def receive(self, values: FloatArray, time: float) -> None:
        """Take new values (5), finite and within their ranges, at a time (s) of ``Seen.time``."""
        self._values[:] = values
        self._heard = time

    def act(self, seen: Seen, times: FloatArray, controls: Controls) -> None:
        """Steer all racks, move pedals and gear lever."""
        self.lost = not seen.time - self._heard <= self._timeout
        if self._wheel is not None:
            self._wheel.turn(float(self._values[MANUAL.steering]), seen, times, controls)
        if self.lost:
            self._feet.coast(seen, times, controls)
        else:
            self._feet.act(self._values, seen, times, controls)


class _Wheel:
    """Both hands at the steering wheel."""

    def __init__(self, model: Model, car: Car) -> None:
        ratios = car.track.drive_ratios(len(model.drives))
        moved = np.abs(ratios) > 0.0
        limits = np.array([drive.limit for drive in model.drives])
        reach = float(np.min(limits[moved] / np.abs(ratios[moved])))
        self._reach = math.copysign(reach, car.track.steered.ratio) * ratios
        self._hand = Hand(1.0, RACK_RATE / float(np.max(np.abs(self._reach))))

    def turn(self, ratio: float, seen: Seen, times: FloatArray, controls: Controls) -> None:
        rows = self._hand.move(ratio, seen.time, times)
        controls.drives[:] = rows[:, None, :] * self._reach[:, None]


class _Brakes:
    """The brake pedal: that of the car, or torques on its wheels where it has none."""

    def __init__(self, model: Model, torques: WheelTorques) -> None:
        full = np.array([wheel.brake_torque for wheel in model.wheels])
        self._pedal = bool(np.any(full > 0.0))
        self._torques = torques
        self._full = float(np.sum(full / torques.radii))
        if not self._pedal:
            self._full = SpeedGains().max_brake * torques.mass

    def pedal_ratio(self, deceleration: float) -> float:
        """Return the pedal that brakes with a deceleration (m/s²) by itself."""
        return min(1.0, deceleration * self._torques.mass / self._full)

    def write(self, pedal: FloatArray, controls: Controls) -> None:
        """Press it (n, 0…1)."""
        if self._pedal:
            controls.driver[:, DRIVER.brake] = pedal
        else:
            self._torques.brake(pedal * self._full, controls)


class _Pedal:
    """Goes in a straight line towards what is asked for, no faster than a foot."""

    def __init__(self, begin: float | None = None) -> None:
        """Begin at ``begin``, None: where it is first asked to be."""
        self._now = begin

    def line(self, target: float, seen: Seen, times: FloatArray) -> FloatArray:
        maximum = (float(times[-1]) - seen.time) / PEDAL_TIME
        old = target if self._now is None else self._now
        now = min(max(target, old - maximum), old + maximum)
        self._now = now
        return between(old, now, seen, times)


class _Feet(ABC):
    """Both feet, and the hand at the gear lever."""

    def __init__(self, brakes: _Brakes) -> None:
        self._brakes = brakes
        self._brake = _Pedal()
        self._throttle = _Pedal(0.0)

    @abstractmethod
    def act(self, values: FloatArray, seen: Seen, times: FloatArray, controls: Controls) -> None:
        """Do what was heard."""

    @abstractmethod
    def coast(self, seen: Seen, times: FloatArray, controls: Controls) -> None:
        """Bring the car gently to rest and hold it."""

    def _press_brake(self, pedal: float, seen: Seen, times: FloatArray, controls: Controls) -> None:
        self._brakes.write(self._brake.line(pedal, seen, times), controls)

    def _brake_gently(self, seen: Seen, times: FloatArray, controls: Controls) -> None:
        pedal = self._brakes.pedal_ratio(HOLDING if stays(0.0, seen) else COASTING)
        self._press_brake(pedal, seen, times, controls)


class _WheelFeet(_Feet):
    """Of a car without powertrain: full throttle is 4 m/s² by all wheels, backwards in reverse."""

    def __init__(self, brakes: _Brakes, torques: WheelTorques) -> None:
        super().__init__(brakes)
        self._torques = torques
        self._full = SpeedGains().max_drive * torques.mass

    def act(self, values: FloatArray, seen: Seen, times: FloatArray, controls: Controls) -> None:
        gear = _lever(values, seen)
        ratio = float(np.sign(gear) * values[MANUAL.throttle] * (1.0 - values[MANUAL.clutch]))
        self._drive(ratio, seen, times, controls)
        self._press_brake(float(values[MANUAL.brake]), seen, times, controls)

    def coast(self, seen: Seen, times: FloatArray, controls: Controls) -> None:
        self._drive(0.0, seen, times, controls)
        self._brake_gently(seen, times, controls)

    def _drive(self, ratio: float, seen: Seen, times: FloatArray, controls: Controls) -> None:
        self._torques.drive(self._full * self._throttle.line(ratio, seen, times), controls)


class _PowertrainFeet(_Feet):
    """Of a car with a powertrain."""

    def __init__(self, brakes: _Brakes, model: Model, powertrain: Powertrain) -> None:
        super().__init__(brakes)
        self._train = Train.of(model, powertrain)
        box = powertrain.gearbox
        self._gear_numbers = {
            DRIVE,
            *(float(gear) for gear in range(-len(box.reverse), len(box.forward) + 1)),
        }
        self._gears: Gears | None = None
        self._clutch = _Pedal()
        self._touched = False
        """Whether the clutch is the driver's own."""
        self._lever = DRIVE

    def act(self, values: FloatArray, seen: Seen, times: FloatArray, controls: Controls) -> None:
        gear = _lever(values, seen)
        if gear not in self._gear_numbers:
            gear = 0.0
        throttle, clutch = float(values[MANUAL.throttle]), float(values[MANUAL.clutch])
        self._touched = gear != DRIVE and (self._touched or clutch > _PRESSED)
        if self._train.manual and not self._touched:
            throttle, helped = self._helped(throttle, float(values[MANUAL.brake]), gear, seen, times)
            clutch = max(clutch, helped)
        else:
            self._gears = None
            self._lever = gear
        self._write(throttle, clutch, seen, times, controls)
        self._press_brake(float(values[MANUAL.brake]), seen, times, controls)

    def coast(self, seen: Seen, times: FloatArray, controls: Controls) -> None:
        if self._train.manual:
            gears = self._gears_now(seen)
            gears.press(float(times[-1]) - seen.time)
            self._lever = float(gears.gear)
        self._write(0.0, 1.0, seen, times, controls)
        self._brake_gently(seen, times, controls)

    def _helped(
        self, throttle: float, brake: float, gear: float, seen: Seen, times: FloatArray
    ) -> tuple[float, float]:
        """Return throttle and clutch of a driver who leaves the clutch, in DRIVE the gears as well."""
        gears = self._gears_now(seen)
        chosen = None if gear == DRIVE else int(gear)
        if gear == DRIVE and gears.wanted <= 0:
            chosen = self._train.gear_for(max(seen.speed, 0.0))
        elif gear == DRIVE and gears.slipping and abs(seen.speed) < REVERSE_SPEED:
            chosen = 1
        going = throttle > max(brake, _PRESSED)
        gears.move(seen, float(times[-1]) - seen.time, throttle, going=going, chosen=chosen)
        self._lever = float(gears.gear)
        return gears.eased(throttle, seen), gears.clutch

    def _gears_now(self, seen: Seen) -> Gears:
        """Return who helps; somebody new begins in the gear that is engaged, or that suits."""
        if self._gears is None:
            standing = abs(seen.speed) < REVERSE_SPEED
            gear = self._train.gear_for(max(seen.speed, 0.0)) if self._lever == DRIVE else int(self._lever)
            self._gears = Gears(self._train, gear, standing=standing)
        return self._gears

    def _write(
        self, throttle: float, clutch: float, seen: Seen, times: FloatArray, controls: Controls
    ) -> None:
        controls.driver[:, DRIVER.throttle] = self._throttle.line(throttle, seen, times)
        pressed = clutch if self._train.pedal else 0.0
        controls.driver[:, DRIVER.clutch] = self._clutch.line(pressed, seen, times)
        controls.driver[:, DRIVER.gear] = self._lever


def _lever(values: FloatArray, seen: Seen) -> float:
    """Return the gear that was heard, neutral where it is reverse and the car still goes ahead."""
    gear = float(values[MANUAL.gear])
    return 0.0 if gear < 0.0 and seen.speed > REVERSE_SPEED else gear
