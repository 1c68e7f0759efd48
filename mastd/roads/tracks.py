"""A road of two tracks along x: heights of a left and a right line, and how they go into a ground's array.

| entry | meaning |
|---|---|
| 9, 10, 11 | x of the first pair of heights (m), spacing (m), number of pairs |
| 12 | distance of either track from y = 0, m |
| 13… | height of the left, height of the right track, pair by pair, m |

Along x each track is a cubic Hermite curve through its heights, with the slope of its two neighbours at each
of them: height and slope are continuous. Before the first and beyond the last pair the road goes on level.
Across, height is linear in y through both tracks as far as one track width from the middle, and level beyond.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel, separate_kernel
from mastd.roads.entries import EXTENT, HEADER, GroundKind, checked_size, header

FIRST: Final = HEADER
_HEIGHTS: Final = HEADER + 4
_REACH: Final = 2.0
"""How far from the middle the road slopes across, in distances of a track from it."""


@separate_kernel
def tracks_surface(parameters: FloatArray, x: float, y: float) -> tuple[float, float, float]:
    """Return height (m) and slopes ∂z/∂x, ∂z/∂y of a road of two tracks at a point (m).

    The slopes are the derivatives of the height, exactly.
    """
    spacing, count = parameters[FIRST + 1], int(parameters[FIRST + 2])
    position = (x - parameters[FIRST]) / spacing
    if not position > 0.0:
        left, right, left_slope, right_slope = parameters[_HEIGHTS], parameters[_HEIGHTS + 1], 0.0, 0.0
    elif position >= count - 1:
        last = _HEIGHTS + 2 * (count - 1)
        left, right, left_slope, right_slope = parameters[last], parameters[last + 1], 0.0, 0.0
    else:
        node = int(position)
        left, left_slope = _along(parameters, _HEIGHTS, node, count, position - node)
        right, right_slope = _along(parameters, _HEIGHTS + 1, node, count, position - node)
    fraction = y / parameters[FIRST + 3]
    half = 0.5 * (left - right)
    across = half / parameters[FIRST + 3]
    if not -_REACH < fraction < _REACH:
        fraction, across = _REACH if fraction > 0.0 else -_REACH, 0.0
    slope = 0.5 * (left_slope + right_slope) + 0.5 * (left_slope - right_slope) * fraction
    return 0.5 * (left + right) + half * fraction, slope / spacing, across


@fused_kernel
def _along(parameters: FloatArray, first: int, node: int, count: int, fraction: float) -> tuple[float, float]:
    """Return height and slope on a track, ``fraction`` of the way from ``node`` to the next."""
    at = first + 2 * node
    here, after = parameters[at], parameters[at + 2]
    out = 0.5 * (after - parameters[at - 2]) if node > 0 else 0.0
    into = 0.5 * (parameters[at + 4] - here) if node + 2 < count else 0.0
    # z = here + share · (out + share · (square + share · cube))
    rise = after - here
    square = 3.0 * rise - 2.0 * out - into
    cube = out + into - 2.0 * rise
    height = here + fraction * (out + fraction * (square + fraction * cube))
    return height, out + fraction * (2.0 * square + 3.0 * fraction * cube)


def tracks(start: float, spacing: float, heights: FloatArray, track_width: float) -> FloatArray:
    """Return the parameters of a road whose tracks lie ``track_width`` apart, half on either side of y = 0.

    ``heights`` (2, n) of the left and the right track from x = ``start`` on, every ``spacing`` (all m). The
    road ends, for ``outside``, with the heights. Raises ValueError, one line, for fewer than two pairs,
    heights that are not finite, a spacing or track width that is not above zero, or a road that is too large.
    """
    count = heights.shape[1]
    if not (count >= 2 and heights.shape[0] == 2):
        raise ValueError(f"heights {heights.shape}: expected two tracks of two heights or more")
    if not (0.0 < spacing < np.inf and 0.0 < track_width < np.inf and np.isfinite(start)):
        raise ValueError(
            f"start {start!r}, spacing {spacing!r}, track width {track_width!r}: expected lengths"
        )
    if not np.isfinite(heights).all():
        track, index = np.argwhere(~np.isfinite(heights))[0]
        raise ValueError(f"height {index + 1} of the {('left', 'right')[track]} track is not a finite number")
    parameters = header(GroundKind.TRACKS, checked_size(_HEIGHTS + 2 * count))
    length = spacing * (count - 1)
    parameters[EXTENT : EXTENT + 3] = start + 0.5 * length, 0.0, 0.5 * length
    parameters[FIRST:_HEIGHTS] = start, spacing, count, 0.5 * track_width
    parameters[_HEIGHTS:] = heights.T.ravel()
    return parameters


def rolled_over(heights: FloatArray, spacing: float, radius: float) -> FloatArray:
    """Return the path of a rigid wheel of ``radius`` (m) over ``heights`` (…, n), every ``spacing`` (m).

    Its lowest point when its centre is above x: max over |d| < R of z(x + d) + √(R² − d²) − R. The road goes
    on level at both ends.
    """
    reach = int(np.ceil(radius / spacing)) - 1
    wide = np.concatenate(
        [np.repeat(heights[..., :1], reach, -1), heights, np.repeat(heights[..., -1:], reach, -1)], axis=-1
    )
    count = heights.shape[-1]
    felt = heights.copy()
    for offset in range(-reach, reach + 1):
        drop = radius - np.sqrt(radius**2 - (offset * spacing) ** 2)
        np.maximum(felt, wide[..., reach + offset : reach + offset + count] - drop, out=felt)
    return felt


def faded_in(heights: FloatArray, spacing: float, length: float) -> FloatArray:
    """Return ``heights`` (…, n) rising from zero over the first ``length`` (m): · s³ (10 − 15 s + 6 s²)."""
    if not length > 0.0:
        return heights
    fraction = np.minimum(spacing * np.arange(heights.shape[-1]) / length, 1.0)
    return np.asarray(heights * fraction**3 * (10.0 - 15.0 * fraction + 6.0 * fraction**2), dtype=np.float64)
