"""The driver of a car with a powertrain: throttle, brake pedal, clutch and gears."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.vehicle.drivers.base import Driver, Seen
from mastd.vehicle.drivers.controls import Controls
from mastd.vehicle.drivers.pedals import (
    HOLDING,
    Intention,
    SpeedController,
    SpeedGains,
    WheelTorques,
    between,
    stays,
)
from mastd.vehicle.model.definition import Model
from mastd.vehicle.powertrain.fields import DRIVE, DRIVER
from mastd.vehicle.powertrain.model import Clutch, Differential, Engine, Powertrain

_IDLE: Final = 80.0
"""rad/s of an engine for which no idle speed is given."""
_RELEASE_TIME: Final = 0.15
"""s in which the foot leaves the throttle before a change of gear, or the clutch is pressed."""
_SHIFT_TIME: Final = 0.35
"""s from the clutch pressed until it is let go again: the synchroniser's time."""
_CLOSE_TIME: Final = 0.4
"""s in which the clutch is let go after a change."""
_START_TIME: Final = 1.5
"""s in which it is let continue standing starts, longer where the engine drops towards its idle speed."""
_LAUNCH_RATIO: Final = 0.4
"""Of the engine's range above idle: where a standing start holds the engine while the clutch slips."""
_SPINNING: Final = (0.1, 0.25)
"""Slip of the driven wheels between which the foot goes back to nothing."""
_SPIN_SPEED: Final = 2.0
"""m/s that slip is related to at least."""
_SETTLED: Final = 1.0
"""s after a change before the next one."""


@dataclass(frozen=True, eq=False)
class Train:
    """What a driver knows of a powertrain by feeling."""

    powertrain: Powertrain
    per_spin: float
    """Speed of the gearbox's output per spin of all wheels."""
    radius: float
    """Mean rolling radius, m."""
    driven: tuple[int, ...]
    """Wheels."""

    @classmethod
    def of(cls, model: Model, powertrain: Powertrain) -> Train:
        """Return that of a vehicle."""
        spins = np.ones(len(model.wheels))
        radius = float(np.mean([wheel.tyre.rolling_radius for wheel in model.wheels]))
        driven = tuple(driven_wheels(powertrain.driveline))
        return cls(powertrain, output_speed(powertrain.driveline, spins), radius, driven)

    @property
    def idle(self) -> float:
        """Idle speed, rad/s."""
        return self.powertrain.engine.idle_speed or _IDLE

    @property
    def manual(self) -> bool:
        """Whether the driver changes gears."""
        return self.powertrain.gearbox.changes is None

    @property
    def pedal(self) -> bool:
        """Whether there is a clutch that the driver's foot moves."""
        launch = self.powertrain.launch
        return isinstance(launch, Clutch) and launch.closing_speeds is None

    def ratio(self, gear: int) -> float:
        """Return engine speed per spin of the wheels in a gear; 0 in neutral."""
        gearbox = self.powertrain.gearbox
        if gear == 0:
            return 0.0
        return self.per_spin * (gearbox.forward[gear - 1] if gear > 0 else gearbox.reverse[-gear - 1])

    def speed_in(self, gear: int, speed: float) -> float:
        """Return the engine's speed (rad/s) with the clutch closed at a speed of the car (m/s)."""
        return self.ratio(gear) * speed / self.radius

    def top_engine_speed(self) -> float:
        """Return the speed up to which the engine is used, rad/s."""
        engine = self.powertrain.engine
        return min(0.97 * engine.limit_speed, float(engine.speeds[-1]))

    def change_up(self, throttle: float) -> float:
        """Return the engine speed at which the next gear is expected: higher with more throttle."""
        return self.idle + (self.top_engine_speed() - self.idle) * (0.35 + 0.6 * throttle)

    def gear_for(self, speed: float) -> int:
        """Return the gear to hold a speed (m/s) in; neutral never, reverse where it is below zero."""
        if speed < 0.0:
            return -1
        gears = range(1, len(self.powertrain.gearbox.forward) + 1)
        limit = self.change_up(0.3)
        return next((gear for gear in gears if self.speed_in(gear, speed) < limit), gears[-1])

    @property
    def launch(self) -> float:
        """Engine speed of a standing start while the clutch slips, rad/s."""
        return self.idle + _LAUNCH_RATIO * (self.top_engine_speed() - self.idle)

    def grip(self, seen: Seen) -> float:
        """Return the fraction of the throttle that the driven wheels' slip leaves, 1: all of it."""
        rims = np.abs(seen.spins[list(self.driven)]) * self.radius
        slip = (float(rims.max()) - abs(seen.speed)) / max(abs(seen.speed), _SPIN_SPEED)
        low, high = _SPINNING
        return min(max((high - slip) / (high - low), 0.0), 1.0)

    def torques(self, speed: float) -> tuple[float, float]:
        """Return the engine's torque (N m) without and with full throttle at its speed (rad/s)."""
        return torque_of(self.powertrain.engine, 0.0, speed), torque_of(self.powertrain.engine, 1.0, speed)


def driven_wheels(node: Differential) -> list[int]:
    """Return the wheels that a differential drives."""
    found = []
    for output in (node.first, node.second):
        found.extend(driven_wheels(output) if isinstance(output, Differential) else [output])
    return found


def output_speed(node: Differential, spins: FloatArray) -> float:
    """Return the speed of a differential's input, rad/s, from the wheels' spins (nw)."""
    first, second = (
        output_speed(output, spins) if isinstance(output, Differential) else node.hub_ratio * spins[output]
        for output in (node.first, node.second)
    )
    return float(node.ratio * (node.torque_split * first + (1.0 - node.torque_split) * second))


def torque_of(engine: Engine, throttle: float, speed: float) -> float:
    """Return the torque of an engine's map (N m)."""
    rows = np.array([np.interp(speed, engine.speeds, row) for row in engine.torques])
    return float(np.interp(throttle, engine.throttles, rows))


class Gears:
    """Gear lever and clutch: drives off, changes up and down, opens the clutch before the engine stalls."""

    def __init__(self, train: Train, gear: int, *, standing: bool) -> None:
        """Begin in a gear, the clutch closed, or pressed where the car stands."""
        self._train = train
        self.gear = gear
        self.clutch = 1.0 if standing and train.pedal else 0.0
        self.wanted = gear
        """Gear that a change under way leads to."""
        self._phase = math.inf
        """s since a change began."""
        self._slipping = standing

    @property
    def slipping(self) -> bool:
        """Whether the clutch still slips, at a standing start or before a stop."""
        return self._slipping

    @property
    def busy(self) -> bool:
        """Whether a change is under way, and the throttle to be left."""
        return self._phase < _RELEASE_TIME + _SHIFT_TIME

    def move(
        self, seen: Seen, span: float, throttle: float, *, going: bool, chosen: int | None = None
    ) -> None:
        """Move lever and clutch for the next ``span`` s; ``going``: the car is to be driven, not to stop.

        ``chosen`` is a gear that somebody has asked for; without one it is that which suits.
        """
        train = self._train
        if not train.manual:
            return
        self._phase += span
        if chosen is not None and chosen != self.wanted:
            self.wanted, self._phase = chosen, 0.0
        turning = abs(train.speed_in(self.gear, seen.speed))
        if self._phase < _RELEASE_TIME + _SHIFT_TIME:
            self.clutch = min(1.0, self.clutch + span / _RELEASE_TIME) if train.pedal else 0.0
            if self._phase >= _RELEASE_TIME:
                self.gear = self.wanted
            return
        if chosen is None and self._phase > _SETTLED and not self._slipping and self.gear > 0:
            self._choose(turning, throttle)
        if not train.pedal:
            return
        if not going and turning < 1.1 * train.idle:
            self._slipping = True
            self.clutch = min(1.0, self.clutch + span / _RELEASE_TIME)
        elif going and self._slipping:
            self._let_go(seen, span, turning)
        elif turning < 0.8 * train.idle and self.gear != 0:
            self._slipping = True
        else:
            self.clutch = max(0.0, self.clutch - span / _CLOSE_TIME)

    def press(self, span: float) -> None:
        """Press the clutch, as for a stop; what is let go afterwards slips first."""
        if self._train.pedal:
            self._slipping = True
            self.clutch = min(1.0, self.clutch + span / _RELEASE_TIME)

    def eased(self, throttle: float, seen: Seen) -> float:
        """Return what changes of gear and a slipping clutch leave of a throttle."""
        train = self._train
        if self.busy:
            return 0.0
        if not train.pedal:
            return throttle
        if self._slipping:
            beyond = (1.1 * train.launch - seen.engine_speed) / (0.2 * train.launch)
            return throttle * min(max(beyond, 0.0), 1.0)
        return throttle * (1.0 - self.clutch)

    def _choose(self, turning: float, throttle: float) -> None:
        train, top = self._train, len(self._train.powertrain.gearbox.forward)
        up = train.change_up(throttle)
        forward = train.powertrain.gearbox.forward
        if turning > up and self.gear < top:
            self.wanted, self._phase = self.gear + 1, 0.0
        elif self.gear > 1:
            lower = turning * forward[self.gear - 2] / forward[self.gear - 1]
            if lower < 0.7 * up or turning < 1.2 * train.idle:
                self.wanted, self._phase = self.gear - 1, 0.0

    def _let_go(self, seen: Seen, span: float, turning: float) -> None:
        """Let the clutch go at a standing start, press it again where the engine would stall."""
        train = self._train
        if seen.engine_speed < 0.8 * train.idle:
            self.clutch = min(1.0, self.clutch + span / _RELEASE_TIME)
            return
        if turning > 1.05 * train.idle and abs(seen.engine_speed - turning) < 0.1 * turning:
            self._slipping = False
        if seen.engine_speed > 0.95 * train.idle:
            self.clutch = max(0.0, self.clutch - span / _START_TIME)


class PowertrainFoot(Driver):
    """Keeps to an intended speed, or to a throttle, of a car with a powertrain.

    The demand of force becomes a throttle between the engine's torques without and with full throttle at its
    present speed; what the engine's drag does not brake, the brakes do.
    """

    def __init__(
        self,
        model: Model,
        torques: WheelTorques,
        intention: Intention | None,
        *,
        gear: int,
        throttle: float = 1.0,
        go: float = 0.0,
        speed: float = 0.0,
        gains: SpeedGains | None = None,
    ) -> None:
        """Begin in a gear at a speed (m/s).

        Without an intention the throttle is what is given, from ``go`` s on; until then the brakes hold.
        """
        assert model.powertrain is not None
        self._train = Train.of(model, model.powertrain)
        self._torques = torques
        self._full_brakes = np.array([wheel.brake_torque for wheel in model.wheels])
        self._intention = intention
        self._controller = SpeedController(SpeedGains() if gains is None else gains)
        self._gears = Gears(self._train, gear, standing=abs(speed) < 1.0)
        self._full = throttle
        self._go = go
        self._holding = HOLDING * torques.mass
        """N with which the brakes keep the car at rest."""
        self._last = (0.0, self._holding if speed == 0.0 else 0.0, self._gears.clutch)

    def act(self, seen: Seen, times: FloatArray, controls: Controls) -> None:
        """Write the pedals as straight lines to the next look, and the gear lever."""
        span = float(times[-1]) - seen.time
        going = seen.time >= self._go
        if self._intention is None:
            throttle, brake = (self._full, 0.0) if going else (0.0, self._holding)
        else:
            wanted, rate = self._intention(float(times[-1]))
            demand = self._torques.mass * self._controller.demand(wanted, rate, seen)
            throttle, brake = (0.0, self._holding) if stays(wanted, seen) else self._pedals(demand, seen)
            going = going and wanted != 0.0
        self._gears.move(seen, span, throttle, going=going)
        throttle = self._gears.eased(throttle * self._train.grip(seen), seen)
        now = (throttle, brake, self._gears.clutch)
        lines = [between(old, new, seen, times) for old, new in zip(self._last, now, strict=True)]
        self._last = now
        controls.driver[:, DRIVER.throttle], controls.driver[:, DRIVER.clutch] = lines[0], lines[2]
        controls.driver[:, DRIVER.gear] = float(self._gears.gear) if self._train.manual else self._lever()
        full = float(np.sum(self._full_brakes / self._torques.radii))
        if full > 0.0:
            controls.driver[:, DRIVER.brake] = np.clip(lines[1] / full, 0.0, 1.0)
        else:
            self._torques.brake(lines[1], controls)

    def _lever(self) -> float:
        return DRIVE if self._gears.gear > 0 else float(self._gears.gear)

    def _pedals(self, force: float, seen: Seen) -> tuple[float, float]:
        """Return throttle (0…1) and braking force (N, 0 or more) for a force along the car."""
        train = self._train
        gear = self._gears.gear
        if not train.manual:
            gear = train.gear_for(seen.speed) if self._gears.gear > 0 else self._gears.gear
        ratio = train.ratio(gear) / train.radius
        if ratio == 0.0:
            return 0.0, max(-force, 0.0)
        speed = max(seen.engine_speed, train.idle)
        drag, full = (torque * ratio for torque in train.torques(speed))
        backwards = -1.0 if ratio < 0.0 else 1.0
        asked, minimum, maximum = backwards * force, backwards * drag, backwards * full
        fraction = (asked - minimum) / max(maximum - minimum, 1e-9)
        closed = self._gears.clutch < 0.5
        if fraction >= 0.0:
            return min(fraction, 1.0), 0.0
        return 0.0, max((minimum if closed else 0.0) - asked, 0.0)
