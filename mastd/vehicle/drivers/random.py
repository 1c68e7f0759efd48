"""A driver who steers and changes speed at random, smoothly, for as long as one likes, and always the same.

Wishes are functions of time alone: w(t) = sin(θ(t)), θ a sum of sines whose frequencies have no common
period. So they stay within −1…1 by construction, have no mean, never end, and need no memory.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.vehicle.drivers.base import Driver, Hand, Seen
from mastd.vehicle.drivers.controls import Controls
from mastd.vehicle.drivers.single_track import SingleTrack
from mastd.vehicle.model.definition import Model

STEERING_BAND: Final = (0.05, 0.4)
"""Hz of the wishes of lateral acceleration: bends and changes of lane of a few seconds."""
SPEED_BAND: Final = (0.01, 0.06)
"""Hz of the wishes of speed."""
_SINES: Final = 9
_SWING: Final = 1.3
"""rad, effective value of θ: the wish often comes near its ends, and seldom stays there."""
_PEAK: Final = 3.0
"""Of a sum of sines in effective values: what is hardly ever exceeded."""
_SLOWEST: Final = 0.15
"""Of the top speed: what is never asked for less, so that the car keeps rolling."""
_STEERED_SPEED: Final = 5.0
"""m/s below which bends are as tight as for this speed."""
_HOMING: Final = 10.0
"""s in which the heading comes back to that of the beginning, so that the car stays about its road."""
_RACK_RATE: Final = 0.3
"""m/s."""


@dataclass(frozen=True, eq=False)
class Wave:
    """A smooth random function of time, the same for the same seed."""

    rates: FloatArray
    """(n) rad/s."""
    phases: FloatArray
    """(n) rad."""
    swings: FloatArray
    """(n) rad."""
    offset: float = 0.0
    """rad."""

    @classmethod
    def of(cls, seed: int, stream: int, band: tuple[float, float]) -> Wave:
        """Return a wave in a band (Hz); each ``stream`` of a seed is another one."""
        generator = np.random.default_rng([seed, stream])
        edges = np.geomspace(*band, _SINES + 1)
        rates = 2.0 * np.pi * (edges[:-1] + np.diff(edges) * generator.uniform(0.0, 1.0, _SINES))
        phases = generator.uniform(0.0, 2.0 * np.pi, _SINES)
        return cls(rates, phases, np.full(_SINES, _SWING * math.sqrt(2.0 / _SINES)))

    def beginning_at(self, value: float) -> Wave:
        """Return this wave shifted so that it is ``value`` (−1…1) at t = 0."""
        now = float(self.swings @ np.sin(self.phases))
        return Wave(self.rates, self.phases, self.swings, math.asin(min(max(value, -1.0), 1.0)) - now)

    def slowed_to(self, rate: float) -> Wave:
        """Return this wave slower, if need be, so that it hardly ever changes by more than ``rate`` (1/s)."""
        fastest = _PEAK * math.sqrt(0.5 * float(np.sum((self.swings * self.rates) ** 2)))
        return Wave(self.rates * min(rate / fastest, 1.0), self.phases, self.swings, self.offset)

    def at(self, time: float) -> tuple[float, float]:
        """Return the value, −1…1, and its rate (1/s) at a time (s)."""
        angles = self.rates * time + self.phases
        whole = self.offset + float(self.swings @ np.sin(angles))
        rate = float((self.swings * self.rates) @ np.cos(angles))
        return math.sin(whole), math.cos(whole) * rate


class RandomPace:
    """An intention (``driver_pedals.Intention``): speeds between 15 % of a top speed and all of it."""

    def __init__(self, seed: int, speed: float, top_speed: float, acceleration: float) -> None:
        """Begin at ``speed`` (m/s), or as near as it may be; change by about ``acceleration`` (m/s²)."""
        self._half = 0.5 * (1.0 - _SLOWEST) * top_speed
        self._middle = 0.5 * (1.0 + _SLOWEST) * top_speed
        wave = Wave.of(seed, 1, SPEED_BAND).slowed_to(acceleration / self._half)
        self._wave = wave.beginning_at((speed - self._middle) / self._half)

    def __call__(self, time: float) -> tuple[float, float]:
        """Return the speed that is wanted (m/s) and its rate (m/s²)."""
        value, rate = self._wave.at(time)
        return self._middle + self._half * value, self._half * rate


class RandomHands(Driver):
    """Steers for random lateral accelerations, and back to the heading of the beginning."""

    def __init__(self, model: Model, track: SingleTrack, seed: int, lateral: float) -> None:
        """Steer for ``lateral`` (m/s²) at most."""
        self._track = track
        self._lateral = lateral
        self._wave = Wave.of(seed, 0, STEERING_BAND).beginning_at(0.0)
        self._hands = [Hand(drive.limit, _RACK_RATE) for drive in model.drives]

    def act(self, seen: Seen, times: FloatArray, controls: Controls) -> None:
        """Steer all racks."""
        speed = max(seen.speed, 0.0)
        wish = self._lateral * self._wave.at(float(times[-1]))[0] - speed * math.sin(seen.yaw) / _HOMING
        wish = min(max(wish, -self._lateral), self._lateral)
        curvature = wish / max(speed, _STEERED_SPEED) ** 2
        racks = self._track.racks(curvature, speed, len(self._hands))
        for index, (hand, rack) in enumerate(zip(self._hands, racks, strict=True)):
            controls.drives[:, index, :] = hand.move(float(rack), seen.time, times)
