"""Powertrains of the tests, and wheels that they turn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mastd.arrays import FloatArray
from mastd.vehicle.powertrain.fields import STATE
from mastd.vehicle.powertrain.model import (
    Clutch,
    Converter,
    Differential,
    Engine,
    Gearbox,
    Powertrain,
    drive_wheels,
    pack,
    start,
)

RPM = math.pi / 30.0


@dataclass(frozen=True)
class Rotor:
    """A wheel, as the powertrain sees it."""

    axial_inertia: float


def engine(torque: float = 150.0, drag: float = 0.0, **changes: Any) -> Engine:
    """Return an engine whose torque is the same at all speeds."""
    table = np.array([[drag, drag], [torque, torque]])
    made = Engine(0.2, np.array([0.0, 1.0]), np.array([0.0, 700.0]), table)
    return replace(made, **changes)


GEARBOX = Gearbox((3.6, 2.0, 1.3, 1.0), (-3.2,), 1.0, 0.02, 0.03, 40.0)
AXLE = Differential("rear", 2, 3, ratio=4.0)
CONVERTER = Converter(
    np.array([0.0, 0.5, 0.8, 0.9, 1.0]),
    np.array([4e-3, 3.8e-3, 3.2e-3, 2.5e-3, 0.0]),
    np.array([2.0, 1.5, 1.12, 1.0, 1.0]),
)


def car(**changes: Any) -> Powertrain:
    """Return a car with rear drive, clutch, no losses, and these parts instead."""
    parts: dict[str, Any] = {
        "engine": engine(),
        "launch": Clutch(400.0),
        "gearbox": GEARBOX,
        "stiffness": 2000.0,
        "damping": 40.0,
        "driveline": AXLE,
    }
    return Powertrain(**{**parts, **changes})


def eight_by_eight(lock: float = 0.0, efficiency: float = 1.0) -> Differential:
    """Return four driven axles: transfer case, two pairs of axles, hub reductions; this preload in all."""
    axles = [
        Differential(f"axle {k}", 2 * k, 2 * k + 1, 2.0, efficiency, preload=lock, hub_ratio=3.0)
        for k in range(4)
    ]
    front = Differential("front pair", axles[0], axles[1], preload=lock)
    rear = Differential("rear pair", axles[2], axles[3], preload=lock)
    return Differential("transfer", front, rear, 1.2, efficiency, preload=lock)


@dataclass
class Rig:
    """A powertrain that turns free rotors, or rotors whose spins are given.

    The rotors' spins follow v' = v + h a' with a' from the torques of predicted spins v + h a.
    """

    powertrain: Powertrain
    step: float = 1e-3
    inertias: Sequence[float] = (60.0,) * 4
    free: bool = True
    throttle: float = 0.0
    clutch: float = 0.0
    gear: float = 0.0
    constants: FloatArray = field(init=False)
    state: FloatArray = field(init=False)
    spins: FloatArray = field(init=False)
    torques: FloatArray = field(init=False)
    resistance: FloatArray = field(init=False)
    """N m that acts against each rotor, whichever way it turns."""

    def __post_init__(self) -> None:
        wheels = [Rotor(value) for value in self.inertias]
        self.constants, self.state = pack(self.powertrain, wheels)
        self.spins, self.torques, self.resistance, self._rates = np.zeros((4, len(wheels)))

    def under_way(self, spins: Sequence[float] | FloatArray | float, gear: int) -> Rig:
        """Set the rotors turning, with a gear engaged."""
        self.spins[:] = spins
        self.gear = gear
        self.state = start(self.powertrain, [Rotor(value) for value in self.inertias], self.spins, gear)
        return self

    def run(self, seconds: float) -> Rig:
        """Take the steps of a time."""
        for _ in range(round(seconds / self.step)):
            self.advance()
        return self

    def advance(self) -> FloatArray:
        """Take a step; return the spins that it was taken with."""
        driver = np.array([self.throttle, 0.0, self.clutch, self.gear])
        if not self.free:
            drive_wheels(self.constants, self.state, driver, self.spins, self.step, self.torques)
            return self.spins.copy()
        predicted = self.spins + self.step * self._rates
        drive_wheels(self.constants, self.state, driver, predicted, self.step, self.torques)
        self._rates = (self.torques - self.resistance) / np.asarray(self.inertias)
        self.spins = self.spins + self.step * self._rates
        return predicted

    def __getattr__(self, name: str) -> float:
        """Return an entry of the state by its name in ``StateRow``."""
        entry = getattr(STATE, name, None)
        if entry is None:
            raise AttributeError(name)
        return float(self.state[entry])

    def stored(self) -> float:
        """Return the kinetic energy in front of the shaft and that of its twist, J."""
        p, s = self.powertrain, self.state
        return float(
            0.5 * p.engine.inertia * s[STATE.engine_speed] ** 2
            + 0.5 * p.gearbox.input_inertia * s[STATE.input_speed] ** 2
            + 0.5 * p.gearbox.output_inertia * s[STATE.output_speed] ** 2
            + 0.5 * p.stiffness * s[STATE.twist] ** 2
        )
