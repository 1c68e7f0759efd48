"""A driver who follows a course from what he is reported of the car: its speed, its yaw and its yaw rate.

Where the car is follows from these (ẋ = v cos ψ, ẏ = v sin ψ; its sideslip is not known). He looks at the
point of the course that lies ``PREVIEW`` seconds ahead: the arc that meets it at a distance L, y to its left,
has the curvature κ = 2 y / L² (R. C. Coulter, Implementation of the pure pursuit path tracking algorithm,
1992). He steers for it as a car does that turns with a radius R at full steering, and learns from the yaw
rate r that comes of it what this one needs more or less:

    steering = R (1 + e) κ,  de/dt = GAIN (κ v − r) / (κ v), while he turns
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from mastd.vehicle.drivers.course import Course

PREVIEW: Final = 0.6
"""s."""
MIN_AHEAD: Final = 3.0
"""m: minimum distance of the preview."""
MIN_SPEED: Final = 2.0
"""m/s above which steering is learnt from."""
MIN_YAW_RATE: Final = 0.05
"""rad/s that is asked for where it is."""
GAIN: Final = 1.0
"""1/s: how quickly."""
MAX_LEARNT: Final = (-0.5, 2.0)
"""Bounds of e."""
SPEED_GAIN, SPEED_INTEGRAL = 0.25, 0.05
"""Pedal per m/s of error, and per m of its integral."""

Row = tuple[float, float, float, float, float]


class Follower:
    """Follows a course that begins where the car stands when the profile begins, and holds a speed."""

    def __init__(self, course: Course, radius: float, speed: float | None) -> None:
        """``radius`` R in m; ``speed`` in m/s, None: the one that it begins with."""
        self._course = course
        self._radius = radius
        self._wanted = speed
        self._last: float | None = None
        self._learnt: float = 0.0
        self._integral: float = 0.0
        self._begin()

    def drive(self, time: float, speed: float, yaw: float, yaw_rate: float) -> Row:
        """Return steering, throttle, brake, clutch and gear; hands off while no car is driven."""
        if not all(map(math.isfinite, (time, speed, yaw, yaw_rate))):
            self._begin()
            return (0.0, 0.0, 0.0, 0.0, 100.0)
        last, self._last = self._last, time
        if last is None or time < last:
            self._begin()
            self._heading, self._held = yaw, speed if self._wanted is None else self._wanted
            self._last = last = time
        step = time - last
        course = yaw - self._heading
        self.x += step * speed * math.cos(course)
        self.y += step * speed * math.sin(course)
        curvature = self._curvature(course, speed)
        asked = curvature * speed
        if speed > MIN_SPEED and abs(asked) > MIN_YAW_RATE:
            low, high = MAX_LEARNT
            self._learnt = min(max(self._learnt + step * GAIN * (asked - yaw_rate) / asked, low), high)
        steering = self._radius * (1.0 + self._learnt) * curvature
        error = self._held - speed
        self._integral = min(max(self._integral + step * SPEED_INTEGRAL * error, -0.2), 1.0)
        pedal = min(max(SPEED_GAIN * error + self._integral, -1.0), 1.0)
        return (min(max(steering, -1.0), 1.0), max(pedal, 0.0), max(-pedal, 0.0), 0.0, 100.0)

    def _begin(self) -> None:
        self.x, self.y = 0.0, 0.0
        """Where the car is, m."""
        self._last = None
        self._heading, self._held = 0.0, 0.0
        self._along = 0.0
        self._learnt = 0.0
        self._integral = 0.0

    def _curvature(self, heading: float, speed: float) -> float:
        self._along, _ = self._course.nearest(self.x, self.y, self._along)
        px, py, _, _ = self._course.at(self._along + max(PREVIEW * speed, MIN_AHEAD))
        beside = (py - self.y) * math.cos(heading) - (px - self.x) * math.sin(heading)
        return 2.0 * beside / max((px - self.x) ** 2 + (py - self.y) ** 2, 1e-6)
