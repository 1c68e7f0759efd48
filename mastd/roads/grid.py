"""A road as a grid of heights along and across a reference line, straight or curved.

| entry | meaning |
|---|---|
| 9, 10, 11 | u of the first cross section (m), spacing (m), number of cross sections |
| 12 | number of heights across |
| 13 | 1 for a straight reference line, else 0 |
| 14, 15, 16 | buckets: x and y of their corner (m), size (m) |
| 17, 18 | buckets: number along x, along y |
| 19, 20, 21, 22 | where v, reference line, heights and buckets begin in the array |
| … | v of the heights across, rising, positive left of the reference line, m |
| … | reference line: x, y, and their derivatives per spacing, at each cross section |
| … | heights, one cross section after the other, m |
| … | buckets: the cross section nearest to the middle of each, rows along x |

The reference line is a cubic Hermite curve through its points; its tangent there is the mean of the chords'
directions. A point's u is that of its foot on the line and v its distance, signed: (x, y) = P(u) + v n(u).
Heights are bilinear in u and v, as OpenCRG has it, and level beyond the ends and edges. At a crossing, or
between two parts of a road that lie close, the nearer line counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel, separate_kernel
from mastd.roads.entries import EXTENT, HEADER, GroundKind, checked_size, header

FIRST: Final = HEADER
_COUNT: Final = HEADER + 2
_ACROSS: Final = HEADER + 3
_STRAIGHT: Final = HEADER + 4
_CORNER: Final = HEADER + 5
_SIZE: Final = HEADER + 7
_BUCKETS: Final = HEADER + 8
_OFFSETS: Final = HEADER + 10
_TABLES: Final = HEADER + 14
_STEPS: Final = 12
_CLOSE: Final = 1e-12
"""Of a Newton step to the foot of a point, in spacings: the next one would be below rounding."""
_MIN_RATIO: Final = 0.1
"""Of 1 − κ v: at zero the point is the centre of curvature, which has no foot of its own."""
_MAX_BUCKETS: Final = 1_000_000
_STRAIGHT_WITHIN: Final = 1e-7


@separate_kernel
def grid_surface(parameters: FloatArray, x: float, y: float) -> tuple[float, float, float]:
    """Return height (m) and slopes ∂z/∂x, ∂z/∂y of a grid at a point (m); the slopes are its derivatives."""
    position, v, along_x, along_y, tangent_x, tangent_y = _foot(parameters, x, y)
    count, across = int(parameters[_COUNT]), int(parameters[_ACROSS])
    section, fraction, stretch = 0, 0.0, 1.0
    if not position > 0.0:
        stretch = 0.0
    elif position >= count - 1:
        section, fraction, stretch = count - 2, 1.0, 0.0
    else:
        section = int(position)
        fraction = position - section
    right = int(parameters[_OFFSETS])
    low, high = 0, across - 1
    while high - low > 1:
        middle = (low + high) // 2
        if parameters[right + middle] <= v:
            low = middle
        else:
            high = middle
    width = parameters[right + low + 1] - parameters[right + low]
    side, spread = (v - parameters[right + low]) / width, 1.0 / width
    if not side > 0.0:
        side, spread = 0.0, 0.0
    elif side >= 1.0:
        side, spread = 1.0, 0.0 if low == across - 2 else spread
    at = int(parameters[_OFFSETS + 2]) + section * across + low
    near_right, near_left = parameters[at], parameters[at + 1]
    far_right, far_left = parameters[at + across], parameters[at + across + 1]
    near = near_right + side * (near_left - near_right)
    far = far_right + side * (far_left - far_right)
    slope = (far - near) * stretch
    cross = ((1.0 - fraction) * (near_left - near_right) + fraction * (far_left - far_right)) * spread
    return (
        near + fraction * (far - near),
        slope * along_x - cross * tangent_y,
        slope * along_y + cross * tangent_x,
    )


@separate_kernel
def grid_position(parameters: FloatArray, x: float, y: float) -> tuple[float, float]:
    """Return u and v (m) of a point (m)."""
    position, v, _, _, _, _ = _foot(parameters, x, y)
    return parameters[FIRST] + position * parameters[FIRST + 1], v


@fused_kernel
def _foot(parameters: FloatArray, x: float, y: float) -> tuple[float, float, float, float, float, float]:
    """Return place of a point's foot (spacings past the first cross section), v, gradient (2) of that place
    over x and y, and unit tangent (2) there.

    The foot solves (r − P(s)) · P′(s) = 0, by Newton's method from the cross section that the point's bucket
    names; a straight line has it in closed form.
    """
    line = int(parameters[_OFFSETS + 1])
    count = int(parameters[_COUNT])
    if parameters[_STRAIGHT] == 1.0:
        tangent_x, tangent_y = parameters[line + 2], parameters[line + 3]
        spacing = parameters[FIRST + 1]
        dx, dy = x - parameters[line], y - parameters[line + 1]
        return (
            (dx * tangent_x + dy * tangent_y) / (spacing * spacing),
            (tangent_x * dy - tangent_y * dx) / spacing,
            tangent_x / (spacing * spacing),
            tangent_y / (spacing * spacing),
            tangent_x / spacing,
            tangent_y / spacing,
        )
    position = _start(parameters, x, y)
    dx, dy, first_x, first_y, second_x, second_y = _line(parameters, line, count, position, x, y)
    for _ in range(_STEPS):
        square = first_x * first_x + first_y * first_y
        change = (dx * first_x + dy * first_y) / max(
            square - dx * second_x - dy * second_y, _MIN_RATIO * square
        )
        position += change
        dx, dy, first_x, first_y, second_x, second_y = _line(parameters, line, count, position, x, y)
        if not abs(change) > _CLOSE * (1.0 + abs(position)):
            break
    square = first_x * first_x + first_y * first_y
    bend = max(square - dx * second_x - dy * second_y, _MIN_RATIO * square)
    length = math.sqrt(square)
    return (
        position,
        (first_x * dy - first_y * dx) / length,
        first_x / bend,
        first_y / bend,
        first_x / length,
        first_y / length,
    )


@fused_kernel
def _start(parameters: FloatArray, x: float, y: float) -> float:
    """Return the cross section nearest to the middle of a point's bucket, or of the bucket next to it."""
    size = parameters[_SIZE]
    columns, rows = parameters[_BUCKETS], parameters[_BUCKETS + 1]
    column = min(max((x - parameters[_CORNER]) / size, 0.0), columns - 1.0)
    row = min(max((y - parameters[_CORNER + 1]) / size, 0.0), rows - 1.0)
    # A place that is no number is in the first bucket.
    if not (column >= 0.0 and row >= 0.0):
        return 0.0
    return float(parameters[int(parameters[_OFFSETS + 3]) + int(row) * int(columns) + int(column)])


@fused_kernel
def _line(
    parameters: FloatArray, line: int, count: int, position: float, x: float, y: float
) -> tuple[float, float, float, float, float, float]:
    """Return the point less the reference line (2), and the line's first and second derivatives (2 each).

    The line is straight before its first and beyond its last point.
    """
    if not (0.0 <= position <= count - 1):
        at = line if not position > 0.0 else line + 4 * (count - 1)
        past = position if not position > 0.0 else position - (count - 1)
        first_x, first_y = parameters[at + 2], parameters[at + 3]
        return (
            x - (parameters[at] + past * first_x),
            y - (parameters[at + 1] + past * first_y),
            first_x,
            first_y,
            0.0,
            0.0,
        )
    section = min(int(position), count - 2)
    fraction = position - section
    at = line + 4 * section
    px, first_x, second_x = _hermite(
        parameters[at], parameters[at + 4], parameters[at + 2], parameters[at + 6], fraction
    )
    py, first_y, second_y = _hermite(
        parameters[at + 1], parameters[at + 5], parameters[at + 3], parameters[at + 7], fraction
    )
    return x - px, y - py, first_x, first_y, second_x, second_y


@fused_kernel
def _hermite(
    here: float, after: float, out: float, into: float, fraction: float
) -> tuple[float, float, float]:
    """Return the cubic between two values with these slopes, and its two derivatives."""
    rise = after - here
    square = 3.0 * rise - 2.0 * out - into
    cube = out + into - 2.0 * rise
    return (
        here + fraction * (out + fraction * (square + fraction * cube)),
        out + fraction * (2.0 * square + 3.0 * fraction * cube),
        2.0 * square + 6.0 * fraction * cube,
    )


@dataclass(frozen=True, eq=False)
class RoadGrid:
    """Heights along and across a reference line, SI.

    ``start``, ``spacing``: u of the cross sections. ``line`` (n, 2): x and y of the reference line at each.
    ``across`` (m): v of the heights, rising, positive to the left. ``heights`` (n, m), absolute.
    """

    start: float
    spacing: float
    line: FloatArray
    across: FloatArray
    heights: FloatArray

    def put(self, x: float, y: float = 0.0) -> RoadGrid:
        """Return the road beginning at a point (m), its first chord along +x, its middle there at z = 0."""
        turn = self.line[1] - self.line[0]
        cosine, sine = turn / math.hypot(*turn)
        line = (self.line - self.line[0]) @ np.array([[cosine, -sine], [sine, cosine]]) + (x, y)
        level = np.interp(0.0, self.across, self.heights[0])
        return RoadGrid(self.start, self.spacing, line, self.across, self.heights - level)


def grid_parameters(road: RoadGrid) -> FloatArray:
    """Return the parameters of a road; it ends, for ``outside``, with its heights.

    Raises ValueError, one line, for fewer than two heights along or across, values that are not finite, v
    that does not rise, a reference line that turns inside the road's edges, or a road that is too large.
    """
    count, across = road.heights.shape
    if not (count >= 2 and across >= 2 and road.line.shape == (count, 2) and road.across.shape == (across,)):
        raise ValueError(f"heights {road.heights.shape}: expected two or more along and across")
    for values in (road.line, road.across, road.heights, np.array([road.start, road.spacing])):
        if not np.isfinite(values).all():
            raise ValueError("not all values are finite")
    if not ((np.diff(road.across) > 0.0).all() and road.spacing > 0.0):
        raise ValueError("u and v must increase")
    slopes = _tangents(road.line, road.spacing)
    straight = _is_straight(road.line, road.spacing)
    if straight:
        slopes = np.repeat(road.line[-1:] - road.line[:1], count, axis=0) / (count - 1)
        corner, size, buckets = np.zeros(2), 1.0, np.zeros((0, 0))
        slopes *= road.spacing / np.hypot(*slopes[0])
    else:
        _check_bends(road, slopes)
        corner, size, buckets = _buckets(road)
    begins = _TABLES + np.cumsum([0, across, 4 * count, road.heights.size])
    parameters = header(GroundKind.GRID, checked_size(int(begins[-1]) + buckets.size))
    half_length, half_width = 0.5 * road.spacing * (count - 1), 0.5 * float(np.ptp(road.across))
    parameters[EXTENT : EXTENT + 4] = (
        road.start + half_length,
        0.5 * (road.across[0] + road.across[-1]),
        half_length,
        half_width,
    )
    parameters[FIRST:_CORNER] = road.start, road.spacing, count, across, float(straight)
    parameters[_CORNER:_OFFSETS] = *corner, size, buckets.shape[1], buckets.shape[0]
    parameters[_OFFSETS:_TABLES] = begins
    tables = (road.across, np.hstack([road.line, slopes]), road.heights, buckets)
    parameters[_TABLES:] = np.concatenate([table.ravel() for table in tables])
    return parameters


def _tangents(line: FloatArray, spacing: float) -> FloatArray:
    """Return the derivatives (n, 2) of the line per spacing at its points."""
    chords = np.diff(line, axis=0)
    headings = np.unwrap(np.arctan2(chords[:, 1], chords[:, 0]))
    at_points = np.concatenate([headings[:1], 0.5 * (headings[1:] + headings[:-1]), headings[-1:]])
    return spacing * np.column_stack([np.cos(at_points), np.sin(at_points)])


def _is_straight(line: FloatArray, spacing: float) -> bool:
    """Whether all points lie on one line, equally spaced, as far as a position can matter to a tyre."""
    even = line[0] + np.linspace(0.0, 1.0, len(line))[:, np.newaxis] * (line[-1] - line[0])
    length = math.hypot(*(line[-1] - line[0])) - spacing * (len(line) - 1)
    return bool(np.abs(line - even).max() < _STRAIGHT_WITHIN and abs(length) < 1e-4)


def _check_bends(road: RoadGrid, slopes: FloatArray) -> None:
    """Raise ValueError where a centre of curvature lies on the road, so that u and v are not unique."""
    turns = np.diff(np.unwrap(np.arctan2(slopes[:, 1], slopes[:, 0]))) / road.spacing
    fraction = np.maximum(turns * road.across[-1], turns * road.across[0])
    if not (fraction < 1.0 - _MIN_RATIO).all():
        index = int(np.argmax(~(fraction < 1.0 - _MIN_RATIO)))
        raise ValueError(
            f"u = {road.start + index * road.spacing:g} m: a radius of {1.0 / abs(turns[index]):.3g} m is "
            f"too small for edges at v = {road.across[0]:g} and {road.across[-1]:g} m"
        )


def _buckets(road: RoadGrid) -> tuple[FloatArray, float, FloatArray]:
    """Return corner (2), size and nearest cross sections (rows, columns) of squares that cover the road."""
    from scipy.spatial import cKDTree  # slow to import, and only curved roads need it

    margin = float(np.abs(road.across).max()) + road.spacing
    corner = road.line.min(axis=0) - margin
    span = road.line.max(axis=0) + margin - corner
    size = max(0.25 * float(np.ptp(road.across)), road.spacing, math.sqrt(span[0] * span[1] / _MAX_BUCKETS))
    columns, rows = (max(1, math.ceil(length / size)) for length in span)
    x = corner[0] + size * (np.arange(columns) + 0.5)
    y = corner[1] + size * (np.arange(rows) + 0.5)
    middles = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    nearest = cKDTree(road.line).query(middles)[1]
    return corner, size, np.asarray(nearest, dtype=np.float64).reshape(rows, columns)
