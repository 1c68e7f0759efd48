"""Drivers: asked every 10 ms what they do, from what they see of the car.

A driver writes its part into the controls of the steps until it is asked again; several may share a car, one
at the wheel and one at the pedals. All of them are deterministic.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.vehicle.drivers.controls import Controls
from mastd.vehicle.drivers.course import Course
from mastd.vehicle.drivers.single_track import SingleTrack
from mastd.vehicle.model.definition import Model
from mastd.vehicle.state.trace import ANGLES, ANGULAR_VELOCITY, POSITION, VELOCITY, Trace

SAMPLE: Final = 0.01
"""s between two looks of a driver."""
_MIN_SPEED: Final = 1.0
"""m/s below which a car's course counts as its heading."""
_HAND: Final = 15.0
"""1/s: how quickly a hand follows; the rack closes on its target like (1 + ω t) e^(−ω t)."""
_RACK_RATIO: Final = 0.98
"""Of the rack's travel that a driver uses."""


@dataclass(frozen=True, eq=False)
class Seen:
    """What a driver sees: the car as it is at one time."""

    time: float
    position: FloatArray
    """(3) of the chassis' centre of mass, inertial axes, m."""
    yaw: float
    velocity: FloatArray
    """(3) of that point in chassis axes, m/s."""
    yaw_rate: float
    """rad/s."""
    spins: FloatArray
    """(nw) rad/s."""
    engine_speed: float
    """rad/s, 0 where the car has no engine."""

    @property
    def speed(self) -> float:
        """Speed ahead, m/s, negative in reverse."""
        return float(self.velocity[0])

    @classmethod
    def last(cls, trace: Trace) -> Seen:
        """Return what is seen at the last sample of a trace."""
        row = trace.chassis[-1]
        return cls(
            time=float(trace.time[-1]),
            position=row[POSITION].copy(),
            yaw=float(row[ANGLES][2]),
            velocity=row[VELOCITY].copy(),
            yaw_rate=float(row[ANGULAR_VELOCITY][2]),
            spins=trace.spin[-1].copy(),
            engine_speed=float(trace.engine_speed[-1]),
        )


class Driver(ABC):
    """Somebody who has a part of the controls."""

    @property
    def done(self) -> bool:
        """Whether the manoeuvre may end here."""
        return False

    @abstractmethod
    def act(self, seen: Seen, times: FloatArray, controls: Controls) -> None:
        """Write this driver's part into the controls at ``times`` (n, s, after ``seen.time``)."""


class Hand:
    """Moves one rack towards its target with a limited rate.

    From sample to sample the acceleration goes in a straight line, so displacement, rate and acceleration
    belong to each other: a = 2 ω (v* − v), v* = ω / 2 · (target − s), at most ``rate``.
    """

    def __init__(self, limit: float, rate: float) -> None:
        """Begin at rest in the middle; ``limit`` of the displacement in m, ``rate`` in m/s."""
        self._limit = _RACK_RATIO * limit
        self._rate = rate
        self._now = (0.0, 0.0, 0.0)

    def move(self, target: float, start: float, times: FloatArray) -> FloatArray:
        """Return displacement, rate and acceleration (n, 3) at times from ``start`` (s) to the next look."""
        position, rate, acceleration = self._now
        goal = min(max(target, -self._limit), self._limit)
        wanted = min(max(0.5 * _HAND * (goal - position), -self._rate), self._rate)
        following = 2.0 * _HAND * (wanted - rate)
        span = float(times[-1]) - start
        jerk = (following - acceleration) / span
        t = times - start
        rows = np.column_stack(
            (
                position + t * (rate + t * (acceleration / 2.0 + t * jerk / 6.0)),
                rate + t * (acceleration + t * jerk / 2.0),
                acceleration + t * jerk,
            )
        )
        self._now = (float(rows[-1, 0]), float(rows[-1, 1]), following)
        return rows


class PathFollower(Driver):
    """Steers along a course: towards the point of it that the car will pass after the preview time.

    The arc that is tangent to the car's present course and meets that point at a distance L, y to its left,
    has the curvature 2 y / L² (R. C. Coulter, Implementation of the pure pursuit path tracking algorithm,
    1992); the racks for it come from the single track.
    """

    def __init__(
        self,
        model: Model,
        track: SingleTrack,
        course: Course,
        *,
        preview: float = 0.6,
        rack_rate: float = 0.3,
    ) -> None:
        """Follow a course; ``preview`` in s, ``rack_rate`` in m/s."""
        self._track = track
        self._course = course
        self._preview = preview
        self._hands = [Hand(drive.limit, rack_rate) for drive in model.drives]
        # A course begins where the car does.
        self._along = 0.0

    def act(self, seen: Seen, times: FloatArray, controls: Controls) -> None:
        """Steer all racks."""
        x, y = float(seen.position[0]), float(seen.position[1])
        self._along, _ = self._course.nearest(x, y, self._along)
        ahead = max(self._preview * seen.speed, self._track.wheelbase)
        px, py, _, _ = self._course.at(self._along + ahead)
        course = seen.yaw
        if seen.speed > _MIN_SPEED:
            course += math.atan2(float(seen.velocity[1]), seen.speed)
        beside = (py - y) * math.cos(course) - (px - x) * math.sin(course)
        curvature = 2.0 * beside / max((px - x) ** 2 + (py - y) ** 2, 1e-6)
        racks = self._track.racks(curvature, max(seen.speed, 0.0), len(self._hands))
        for index, (hand, rack) in enumerate(zip(self._hands, racks, strict=True)):
            controls.drives[:, index, :] = hand.move(float(rack), seen.time, times)
