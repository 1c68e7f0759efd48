"""A plate that is shaken at random in all six axes, as a table would: band noise, from rest to rest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from mastd.arrays import FloatArray

BAND = (0.5, 20.0)
"""Hz."""
FADE = 2.0
"""s in which the motion begins and ends."""


@dataclass(frozen=True)
class Shaking:
    """Motion of a plate at n equal steps."""

    place: FloatArray
    """(n, 3) of its origin, m."""
    velocity: FloatArray
    rotation: FloatArray
    """(n, 3, 3) plate → inertial axes."""
    turn: FloatArray
    """(n, 3) angular velocity, rad/s: that of the rotation matrices, not the rate of a rotation vector, whose
    net turn would differ."""


def shaking(
    duration: float, step: float, acceleration: float, angular_acceleration: float, seed: int
) -> Shaking:
    """Return flat noise within BAND, independent along and about all axes; peaks in m/s² and rad/s²."""
    count = round(duration / step)
    random = np.random.default_rng(seed)
    motions = [
        _noise(random, count, step, peak) for peak in (acceleration,) * 3 + (angular_acceleration,) * 3
    ]
    place = np.stack([motion[0] for motion in motions[:3]], axis=1)
    velocity = np.stack([motion[1] for motion in motions[:3]], axis=1)
    rotation = Rotation.from_rotvec(np.stack([motion[0] for motion in motions[3:]], axis=1))
    turn = np.zeros((count, 3))
    turn[1:-1] = (rotation[2:] * rotation[:-2].inv()).as_rotvec() / (2.0 * step)
    return Shaking(place, velocity, rotation.as_matrix(), turn)


def _noise(
    random: np.random.Generator, count: int, step: float, peak: float
) -> tuple[FloatArray, FloatArray]:
    """Return displacement and velocity of noise whose acceleration has this peak."""
    frequency = np.fft.rfftfreq(count, step)
    within = (frequency >= BAND[0]) & (frequency <= BAND[1])
    lines = np.zeros(len(frequency), dtype=np.complex128)
    lines[within] = np.exp(2j * np.pi * random.random(int(within.sum())))
    lines *= peak / np.abs(np.fft.irfft(lines, count)).max()
    omega = np.where(within, 2.0 * np.pi * frequency, np.inf)
    displacement, velocity = np.fft.irfft(-lines / omega**2, count), np.fft.irfft(-1j * lines / omega, count)
    times = step * np.arange(count)
    u = np.clip(np.minimum(times, times[-1] - times) / FADE, 0.0, 1.0)
    share = u**3 * (10.0 - 15.0 * u + 6.0 * u**2)
    rate = np.where(times < 0.5 * times[-1], 1.0, -1.0) * 30.0 * u**2 * (1.0 - u) ** 2 / FADE
    return share * displacement, share * velocity + rate * displacement
