"""The rigid motion that comes nearest to several channels measured at points of a body."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mastd.arrays import FloatArray
from mastd.settings.core.axes import AXES
from mastd.settings.profile.file_segments import MeasuredChannel

WORST_CONDITION = 100.0
"""Condition number from which on axes count as not told apart: what is wrong in a channel would come back up
to so many times larger in an axis."""


@dataclass(frozen=True)
class Reduction:
    """Least squares of channels to axes.

    ``rows`` (channels, 6): what each axis of a pose adds to each channel. ``solution`` (6, channels): the
    motion of each axis from the channels, zero for axes that do not take part. ``condition``: ratio of the
    largest to the smallest singular value, angles taken times the mean lever arm of the points so that all
    axes are lengths.
    """

    rows: FloatArray
    solution: FloatArray
    condition: float

    def left_over(self, channels: FloatArray) -> FloatArray:
        """Return the share (channels,) of each channel's rms that the motion does not have.

        ``channels`` (channels, n) are the values of all channels; a channel that is still has a share of 0.
        """
        followed = self.rows @ (self.solution @ channels)
        size = np.sqrt(np.mean(channels**2, axis=1))
        missing = np.sqrt(np.mean((channels - followed) ** 2, axis=1))
        ratios: FloatArray = np.divide(missing, size, out=np.zeros_like(size), where=size > 0.0)
        return ratios


def reduction(channels: Sequence[MeasuredChannel], axes: Sequence[str], point: FloatArray) -> Reduction:
    """Return the least squares of channels to the named axes; ``point`` (3,) in P is what makes the motion.

    A body turned by small angles θ about the point, which itself moves by d, moves each of its points by
    d + θ × r; a channel sees that along its direction. ValueError where the points and directions cannot tell
    the axes apart.
    """
    arms = np.array([channel.at for channel in channels]) - point
    directions = np.array([_direction(channel.along) for channel in channels])
    rows = np.hstack((directions, np.cross(arms, directions)))
    indices = [AXES.index(name) for name in axes]
    mean_arm = float(np.sqrt(np.mean(np.sum(arms**2, axis=1))))
    sizes = np.array([1.0] * 3 + [mean_arm if mean_arm > 0.0 else 1.0] * 3)
    lengths = rows[:, indices] / sizes[indices]
    singular = np.linalg.svd(lengths, compute_uv=False)
    minimum = float(singular[-1])
    condition = float(singular[0]) / minimum if minimum > 0.0 else np.inf
    if not condition <= WORST_CONDITION:
        raise ValueError(
            f"the {len(channels)} points and directions do not determine {', '.join(axes)} (condition "
            f"number {condition:.3g}, at most {WORST_CONDITION:g}): give fewer axes, or channels at other "
            "points"
        )
    solution = np.zeros((6, len(channels)))
    solution[indices] = np.linalg.pinv(lengths) / sizes[indices][:, None]
    taking_part = np.zeros((len(channels), 6))
    taking_part[:, indices] = rows[:, indices]
    return Reduction(taking_part, solution, condition)


def _direction(along: str) -> list[float]:
    sign = -1.0 if along.startswith("-") else 1.0
    return [sign if along[-1] == name else 0.0 for name in "xyz"]
