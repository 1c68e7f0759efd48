"""Random roads of the classes of ISO 8608, as two correlated tracks.

One-sided displacement density over spatial frequency n (cycles/m): G(n) = G(n₀) (n/n₀)⁻², n₀ = 0.1 cycles/m.
A class is represented by its geometric mean at n₀ (ISO 8608, table of classes): A 16e-6 m³, then four times
the class before.

Coherence of two tracks at distance b (model of Ammon and Bormann, fitted to squared coherences):
γ²(Ω) = (1 + (Ω b / Ω_p)²)^(−p) with Ω = 2πn and Ω_p, p per class; the coarsest published pair (class E)
also serves F to H. The mean of the tracks then has the density G (1 + γ)/2, half their difference
G (1 − γ)/2, and the two are independent; both are made with exact line amplitudes and random phases, so
that heave and roll have their level whatever the seed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy

from mastd.arrays import ComplexArray, FloatArray, IntArray

RoadClass = Literal["A", "B", "C", "D", "E", "F", "G", "H"]

REFERENCE_FREQUENCY = 0.1
"""n₀ in cycles/m."""

CLASS_DENSITIES: dict[RoadClass, float] = {
    "A": 16e-6,
    "B": 64e-6,
    "C": 256e-6,
    "D": 1024e-6,
    "E": 4096e-6,
    "F": 16384e-6,
    "G": 65536e-6,
    "H": 262144e-6,
}
"""Geometric mean of the displacement density of each class at n₀, in m³."""

_COHERENCE: dict[RoadClass, tuple[float, float]] = {
    "A": (8.5, 3.5),
    "B": (5.3, 2.2),
    "C": (3.0, 1.3),
    "D": (1.6, 0.8),
    "E": (0.8, 0.5),
    "F": (0.8, 0.5),
    "G": (0.8, 0.5),
    "H": (0.8, 0.5),
}


def displacement_density(road_class: RoadClass, frequency: FloatArray) -> FloatArray:
    """Return the one-sided density in m³ at spatial ``frequency`` (cycles/m, above zero)."""
    return CLASS_DENSITIES[road_class] * (frequency / REFERENCE_FREQUENCY) ** -2.0


def squared_coherence(road_class: RoadClass, frequency: FloatArray, track_width: float) -> FloatArray:
    """Return the squared coherence γ² of two tracks ``track_width`` m apart at spatial ``frequency``."""
    corner, exponent = _COHERENCE[road_class]
    return (1.0 + (2.0 * np.pi * frequency * track_width / corner) ** 2) ** -exponent


@dataclass(frozen=True)
class RandomRoad:
    """A periodic random road, held as the lines of its spectrum.

    ``period``: length after which it repeats, in m. ``lines``: numbers k of the lines, which lie at k/period
    cycles/m. ``amplitudes`` (2, lines): complex amplitudes of the left and the right track in m; a track is
    the real part of the sum of amplitude · exp(2πi k x / period).
    """

    period: float
    lines: IntArray
    amplitudes: ComplexArray

    def heights(self, distances: FloatArray) -> FloatArray:
        """Return the heights of the left and the right track in m at ``distances`` (n,): (2, n)."""
        phases = np.exp(2j * np.pi / self.period * np.outer(self.lines, distances))
        return np.real(self.amplitudes @ phases)

    def one_period(self, points: int, offset: float) -> FloatArray:
        """Return the heights (2, points) at offset + j · period/points by one FFT.

        ``points`` must exceed twice the highest line, which ValueError says.
        """
        if not points > 2 * int(self.lines.max(initial=0)):
            raise ValueError(f"{points} points are too few for line {self.lines.max()}")
        spectrum = np.zeros((2, points // 2 + 1), dtype=np.complex128)
        shift = np.exp(2j * np.pi * self.lines * offset / self.period)
        spectrum[:, self.lines] = self.amplitudes * shift * (points / 2.0)
        return np.asarray(scipy.fft.irfft(spectrum, points), dtype=np.float64)


def random_road(
    road_class: RoadClass,
    band: tuple[float, float],
    track_width: float,
    period: float,
    seed: list[int],
) -> RandomRoad:
    """Return a road with the lines that lie within ``band`` (cycles/m, both ends above zero).

    ``track_width``: distance of the tracks in m. ``period``: its length in m. ``seed``: any integers ≥ 0; the
    same seed gives the same road. ValueError if no line falls into the band.
    """
    low, high = band
    lines = np.arange(int(np.ceil(low * period)), int(np.floor(high * period)) + 1, dtype=np.int64)
    if len(lines) == 0:
        raise ValueError(f"a road of {period:g} m contains no wave between {low:g} and {high:g} cycles/m")
    frequency = lines / period
    density = displacement_density(road_class, frequency)
    coherence = np.sqrt(squared_coherence(road_class, frequency, track_width))
    phases = np.random.default_rng(seed).uniform(0.0, 2.0 * np.pi, (2, len(lines)))
    mean = np.sqrt(density * (1.0 + coherence) / period) * np.exp(1j * phases[0])
    half_difference = np.sqrt(density * (1.0 - coherence) / period) * np.exp(1j * phases[1])
    return RandomRoad(period, lines, np.array([mean + half_difference, mean - half_difference]))


def wheel_plane(
    front: FloatArray,
    rear: FloatArray,
    wheelbase: float,
    track_width: float,
) -> FloatArray:
    """Return heave, pitch and roll (3, n) of the plane that fits four wheel heights best.

    ``front``, ``rear`` (2, n): heights of left and right wheel in m, at ± wheelbase/2 and ± track_width/2
    from the point whose heave is returned. x forward, y left, z up: nose up is negative pitch, left side up
    is positive roll (both in rad, exact for a plane through the point).
    """
    heave = (front[0] + front[1] + rear[0] + rear[1]) / 4.0
    slope_x = (front[0] + front[1] - rear[0] - rear[1]) / (2.0 * wheelbase)
    slope_y = (front[0] + rear[0] - front[1] - rear[1]) / (2.0 * track_width)
    # z = slope_x·x + slope_y·y spans directions (1, 0, slope_x), (0, 1, slope_y); with yaw zero, R e_x is
    # (cos pitch, 0, −sin pitch) and R e_y must stay in the plane.
    pitch = -np.arctan(slope_x)
    roll = np.arctan(slope_y * np.cos(pitch))
    return np.array([heave, pitch, roll])
