"""ISO 8608 roads: level, coherence, seeds, and the plane of the four wheels."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mastd.roads.iso8608 import CLASS_DENSITIES, RoadClass, random_road, squared_coherence, wheel_plane
from mastd.signals import spectra

STEP = 0.05


def test_geometric_means_of_the_classes() -> None:
    """The class values of ISO 8608 at 0.1 cycles/m, each four times the one before."""
    values = list(CLASS_DENSITIES.values())
    assert list(CLASS_DENSITIES) == list("ABCDEFGH")
    assert values == [4.0**k * 16e-6 for k in range(8)]


@pytest.mark.parametrize("road_class", ["A", "C", "E"])
def test_density_of_the_generated_road(road_class: RoadClass) -> None:
    """Welch's estimate of both tracks lies on the class's line, and outside the band there is nothing."""
    road = random_road(road_class, (0.02, 2.0), 1.8, 16384 * STEP, [3])
    heights = road.one_period(16384, 0.0)
    frequency, density = spectra.power_spectral_density(heights, STEP, 2048)
    inside = (frequency > 0.05) & (frequency < 1.9)
    wanted = CLASS_DENSITIES[road_class] * (frequency[inside] / 0.1) ** -2
    for track in density:
        ratio = track[inside] / wanted
        octaves = np.array_split(ratio, 12)
        assert all(abs(np.mean(part) - 1.0) < 0.25 for part in octaves)
        assert abs(np.mean(ratio) - 1.0) < 0.08
        assert np.max(track[frequency > 2.2]) < 1e-4 * wanted[-1]


def test_coherence_of_the_tracks() -> None:
    """The two tracks agree on long waves and not on short ones, as the model says; each seed its own road."""
    estimates = []
    for seed in range(4):
        road = random_road("B", (0.01, 2.0), 2.0, 16384 * STEP, [seed])
        left, right = road.one_period(16384, 0.0)
        frequency, coherence = spectra.squared_coherence(left, right, STEP, 512)
        estimates.append(coherence)
    inside = (frequency > 0.1) & (frequency < 1.5)
    # Ammon and Bormann's model for class B, written out again: Ω_p = 5.3 rad/m, p = 2.2.
    wanted = (1.0 + (2.0 * math.pi * frequency[inside] * 2.0 / 5.3) ** 2) ** -2.2
    assert np.allclose(squared_coherence("B", frequency[inside], 2.0), wanted)
    assert np.max(np.abs(np.mean(estimates, axis=0)[inside] - wanted)) < 0.15
    assert np.mean(np.abs(np.mean(estimates, axis=0)[inside] - wanted)) < 0.05


def test_seed_and_offset() -> None:
    """The same seed makes the same road, another one does not; an offset looks at the same road elsewhere."""
    first, again, other = (random_road("C", (0.05, 1.0), 1.8, 200.0, [s, 0]) for s in (7, 7, 8))
    assert np.array_equal(first.amplitudes, again.amplitudes)
    assert not np.allclose(first.amplitudes, other.amplitudes)
    places = np.linspace(0.0, 200.0, 500, endpoint=False)
    assert np.allclose(first.one_period(500, 0.0), first.heights(places), atol=1e-12)
    assert np.allclose(first.one_period(500, -3.3), first.heights(places - 3.3), atol=1e-12)


def test_a_band_without_lines_is_refused() -> None:
    """A road too short for its band, and points too few for it, are errors."""
    with pytest.raises(ValueError, match="contains no wave"):
        random_road("A", (0.011, 0.019), 1.8, 50.0, [1])
    with pytest.raises(ValueError, match="are too few"):
        random_road("A", (0.1, 2.0), 1.8, 100.0, [1]).one_period(300, 0.0)


def test_wheels_on_a_plane() -> None:
    """Four wheels on a tilted plane give back heave, pitch and roll exactly, nose up being negative pitch."""
    pitch, roll, heave = -0.03, 0.05, 0.012
    sp, cp, sr, cr = math.sin(pitch), math.cos(pitch), math.sin(roll), math.cos(roll)
    normal = np.array([sp * cr, -sr, cp * cr])  # third column of Ry(pitch) Rx(roll)
    wheelbase, track_width = 3.6, 1.9

    def height(x: float, y: float) -> float:
        return float(heave - (normal[0] * x + normal[1] * y) / normal[2])

    front = np.array([[height(1.8, 0.95)], [height(1.8, -0.95)]])
    rear = np.array([[height(-1.8, 0.95)], [height(-1.8, -0.95)]])
    got = wheel_plane(front, rear, wheelbase, track_width)[:, 0]
    assert got == pytest.approx([heave, pitch, roll], abs=1e-12)
    assert front[0, 0] > rear[0, 0]
    assert front[0, 0] > front[1, 0]
