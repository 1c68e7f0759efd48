"""The line on the ground that a driver follows: x, y, heading and curvature over its length.

Before its first point and beyond its last one a course continues straight.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np
import scipy

from mastd.arrays import FloatArray
from mastd.errors import FormatError
from mastd.formats.core.columns import read_columns

_SPACING: Final = 0.25
"""m between points of a course that a formula gives."""
_WINDOW: Final = 20.0
"""m either way within which the nearest point is looked for."""
_FAR: Final = 5.0
"""m that a course of a file may begin beside the car."""
_SKEW: Final = 0.5
"""rad that it may begin askew."""
CHANGE_SECTIONS: Final = (15.0, 30.0, 25.0, 25.0, 30.0)
"""Lengths (m) of the double lane change, as the cones of ISO 3888-1 stand: straight, to the left, straight,
back, straight."""
LANE_OFFSET: Final = 3.5
"""m, ISO 3888-1."""
_CUT: Final = 5.0
"""m by which a change of lane begins before its section and ends after it: lanes are wider than a car."""


@dataclass(frozen=True, eq=False)
class Course:
    """n points in the order of their distance along the course."""

    length: FloatArray
    """(n) m along the course, from 0."""
    position: FloatArray
    """(n, 2) x and y, m, inertial axes."""
    heading: FloatArray
    """(n) rad from x to the left, without jumps."""
    curvature: FloatArray
    """(n) 1/m, to the left positive."""

    @cached_property
    def _table(self) -> FloatArray:
        """(n, 5) length, x, y, heading, curvature."""
        return np.column_stack([self.length, self.position, self.heading, self.curvature])

    def at(self, length: float) -> tuple[float, float, float, float]:
        """Return x, y, heading and curvature at a distance (m) along the course."""
        inside = min(max(length, 0.0), float(self.length[-1]))
        beyond = length - inside
        # One search for all four: drivers ask several times a look.
        after = min(max(int(np.searchsorted(self.length, inside, side="right")), 1), len(self.length) - 1)
        first, last = self._table[after - 1 : after + 1].tolist()
        fraction = (inside - first[0]) / (last[0] - first[0])
        x, y, heading, bend = (a + fraction * (b - a) for a, b in zip(first[1:], last[1:], strict=True))
        curvature = 0.0 if beyond else bend
        return x + beyond * math.cos(heading), y + beyond * math.sin(heading), heading, curvature

    def nearest(self, x: float, y: float, guess: float) -> tuple[float, float]:
        """Return the distance along the course of its point nearest to a place, and how far left of it that
        is, m.

        Looked for within 20 m of ``guess``, so that a course may cross itself.
        """
        first = int(np.searchsorted(self.length, guess - _WINDOW))
        first = min(first, len(self.length) - 1)
        last = int(np.searchsorted(self.length, guess + _WINDOW, side="right"))
        near = self.position[first : max(last, first + 1)]
        best = first + int(np.argmin(np.hypot(near[:, 0] - x, near[:, 1] - y)))
        length = float(self.length[best])
        for _ in range(3):
            px, py, heading, _ = self.at(length)
            along = (x - px) * math.cos(heading) + (y - py) * math.sin(heading)
            length += along
        px, py, heading, _ = self.at(length)
        return length, (y - py) * math.cos(heading) - (x - px) * math.sin(heading)


def straight() -> Course:
    """Return the x axis."""
    return _along_x(lambda x: (0.0 * x, 0.0 * x, 0.0 * x), 10.0)


def circle(radius: float, start: float, turns: float = 10.0) -> Course:
    """Return a circle that begins at x = ``start`` (m) on the x axis; a negative radius turns right.

    Its curvature comes in over a quarter of the radius as a straight line (a clothoid), as on a road.
    """
    entry = 0.25 * abs(radius)
    total = entry + 2.0 * np.pi * abs(radius) * turns
    length = np.linspace(0.0, total, max(200, int(total / _SPACING)))
    curvature = np.minimum(length / entry, 1.0) / radius
    heading = np.where(length < entry, length**2 / (2.0 * entry), length - 0.5 * entry) / radius
    steps = np.diff(length)[:, None]
    middle = 0.5 * (heading[1:] + heading[:-1])
    chords = np.column_stack([np.cos(middle), np.sin(middle)]) * steps
    positions = np.vstack([np.zeros((1, 2)), np.cumsum(chords, axis=0)]) + np.array([start, 0.0])
    return Course(length, positions, heading, curvature)


def double_lane_change(start: float, offset: float = LANE_OFFSET) -> Course:
    """Return the change to a lane ``offset`` m to the left and back, which begins at x = ``start``.

    Each change is a half cosine, y = offset (1 − cos π u) / 2, from 5 m before its section of
    ``CHANGE_SECTIONS`` to 5 m after it.
    """
    first, there, stay, back, last = CHANGE_SECTIONS
    leave = start + first
    return_ = leave + there + stay

    def law(x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        up = _half_cosine(x, leave - _CUT, there + 2.0 * _CUT, offset)
        down = _half_cosine(x, return_ - _CUT, back + 2.0 * _CUT, offset)
        return up[0] - down[0], up[1] - down[1], up[2] - down[2]

    return _along_x(law, return_ + back + last)


def slalom(start: float, spacing: float, offset: float, gates: int) -> Course:
    """Return a slalom round ``gates`` cones that stand ``spacing`` m apart, the first at x = ``start``; it is
    passed on the left.

    y = offset cos(π (x − start) / spacing) between the first and the last cone; a half cosine leads there and
    back over one spacing each.
    """
    end = start + (gates - 1) * spacing
    last = offset * (1.0 if gates % 2 else -1.0)

    def law(x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        inside = (x > start) & (x < end)
        k = np.pi / spacing
        phase = k * (x - start)
        come = _half_cosine(x, start - spacing, spacing, offset)
        leave = _half_cosine(x, end, spacing, last)
        outer = [up - down for up, down in zip(come, leave, strict=True)]
        outer[0] = np.where(x >= end, last - leave[0], come[0])
        wave = (np.cos(phase), -k * np.sin(phase), -(k**2) * np.cos(phase))
        values = [np.where(inside, offset * w, o) for w, o in zip(wave, outer, strict=True)]
        return values[0], values[1], values[2]

    return _along_x(law, end + 2.0 * spacing)


def read_course(path: Path, start: tuple[float, float]) -> Course:
    """Return the course through the points of a CSV file with the columns x_m and y_m, as a cubic spline.

    ``start``: where the car stands (m), heading along x. Raises FormatError, one line a problem: fewer than
    three points, points that coincide, a beginning more than 5 m or 0.5 rad off the car.
    """
    points = read_columns(path, ("x_m", "y_m"))
    if len(points) < 3:
        raise FormatError(f"{path}: {len(points)} points; a course needs three or more")
    steps = np.hypot(*np.diff(points, axis=0).T)
    same = np.flatnonzero(~(steps > 1e-6))
    if len(same):
        raise FormatError(f"{path}: row {int(same[0]) + 2}: the same point as in the row before")
    course = through(points)
    _, beside = course.nearest(*start, 0.0)
    problems = []
    if not abs(beside) <= _FAR:
        problems.append(
            f"{path}: begins {abs(beside):.1f} m off the car, which is at x {start[0]:.2f} m, y "
            f"{start[1]:.2f} m; move its points"
        )
    if not abs(course.heading[0]) <= _SKEW:
        problems.append(
            f"{path}: begins at a heading of {math.degrees(course.heading[0]):.0f} deg, the car heads "
            "along x; turn its points"
        )
    if problems:
        raise FormatError("\n".join(problems))
    return course


def through(points: FloatArray) -> Course:
    """Return the course through points (n, 2: x and y in m, three or more, none twice), as a cubic spline."""
    chord = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(points, axis=0).T))])
    spline = scipy.interpolate.CubicSpline(chord, points)
    fine = np.linspace(0.0, chord[-1], max(50, int(chord[-1] / _SPACING)))
    return _of_points(spline(fine), spline(fine, 1), spline(fine, 2))


def along(line: FloatArray, spacing: float = 1.0) -> Course:
    """Return the course along a road's reference line (n, 2: x and y in m), which may be denser than needed.

    Of its points those are taken that lie about ``spacing`` (m) apart, and its last one.
    """
    length = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(line, axis=0).T))])
    wanted = np.linspace(0.0, length[-1], max(3, round(length[-1] / spacing) + 1))
    return through(np.column_stack([np.interp(wanted, length, line[:, axis]) for axis in (0, 1)]))


def _half_cosine(
    x: FloatArray, start: float, length: float, height: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return y, dy/dx and d²y/dx² of height (1 − cos π u) / 2 with u = (x − start) / length in 0…1."""
    u = np.clip((x - start) / length, 0.0, 1.0)
    inside = (u > 0.0) & (u < 1.0)
    k = np.pi / length
    half = 0.5 * height
    return (
        half * (1.0 - np.cos(np.pi * u)),
        np.where(inside, half * k * np.sin(np.pi * u), 0.0),
        np.where(inside, half * k**2 * np.cos(np.pi * u), 0.0),
    )


def _along_x(law: Callable[[FloatArray], tuple[FloatArray, FloatArray, FloatArray]], end: float) -> Course:
    """Return the course y(x) from x = −10 m to ``end``; ``law`` gives y and its two derivatives."""
    x = np.arange(-10.0, end + _SPACING, _SPACING)
    y, slope, bend = law(x)
    ones, zeros = np.ones_like(x), np.zeros_like(x)
    return _of_points(np.column_stack([x, y]), np.column_stack([ones, slope]), np.column_stack([zeros, bend]))


def _of_points(position: FloatArray, first: FloatArray, second: FloatArray) -> Course:
    """Return the course through points with the derivatives (n, 2) by any parameter."""
    steps = np.hypot(*np.diff(position, axis=0).T)
    speed = np.hypot(first[:, 0], first[:, 1])
    return Course(
        length=np.concatenate([[0.0], np.cumsum(steps)]),
        position=position,
        heading=np.unwrap(np.arctan2(first[:, 1], first[:, 0])),
        curvature=(first[:, 0] * second[:, 1] - first[:, 1] * second[:, 0]) / speed**3,
    )
