"""What is played in the benches of the control: band noise along one axis.

One axis at a time, because motion of the others is what the cross-axis figure is about.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from mastd.settings.payload import RigidPayload
from mastd.settings.profile import ProfileSettings
from mastd.settings.segments import (
    AXES,
    DensityAxes,
    Ramp,
    Random,
    RotationDensity,
    Target,
    TranslationDensity,
)
from mastd.units import STANDARD_GRAVITY

BAND = (0.5, 20.0)
"""Hz of the noise, flat in acceleration."""
WIDE_BAND = (1.0, 80.0)
"""Hz of the noise that shows how far the table follows."""
WIDE_SHARE = 0.3
"""Of the peaks, for the wide noise."""
PEAKS: Mapping[str, float] = MappingProxyType(
    {
        "surge": 0.28 * STANDARD_GRAVITY,
        "sway": 0.42 * STANDARD_GRAVITY,
        "heave": 0.42 * STANDARD_GRAVITY,
        "roll": 2.0,
        "pitch": 2.0,
        "yaw": 3.0,
    }
)
"""Peak accelerations, m/s² and rad/s²."""
CLIP = 3.0
"""Peak over effective acceleration."""
FADE = 1.0
PAYLOAD = RigidPayload(
    kind="rigid",
    mass=12_000.0,
    centre_of_gravity=(0.0, 0.0, 2.0),
    inertia=(10_250.0, 40_000.0, 42_250.0),
)
"""12 t whose centre of gravity stands 1.5 m above the table's top."""
HEAVY = RigidPayload(
    kind="rigid",
    mass=40_000.0,
    centre_of_gravity=(0.0, 0.0, 1.5),
    inertia=(34_000.0, 133_000.0, 140_000.0),
)
"""40 t, no higher than 1 m above the top: they do not pass without a support that carries part of them."""
HEAVY_SHARE = 0.25
CORNER = Target(surge=0.020, sway=-0.020, heave=0.010, roll=0.008, pitch=0.005, yaw=0.005)
"""A pose near a corner of the workspace: what is left of the stroke is for the noise."""
CORNER_BAND = (2.0, 20.0)
CORNER_SHARE = 0.5


def noise_segment(axis: str, band: tuple[float, float], peak: float, duration: float) -> Random:
    """Return noise of flat acceleration along ``axis``; ``peak`` in m/s² or rad/s²."""
    level = (peak / CLIP) ** 2 / (band[1] - band[0])
    density = TranslationDensity if AXES.index(axis) < 3 else RotationDensity
    axes = DensityAxes.model_validate({axis: density(density=((band[0], level), (band[1], level)))})
    return Random(kind="random", duration=duration, fade=FADE, sigma_clip=CLIP, axes=axes)


def noise(
    axis: str, band: tuple[float, float] = BAND, share: float = 1.0, duration: float = 20.0
) -> ProfileSettings:
    """Return noise along ``axis``, ``share`` of its peak, under the payload."""
    segment = noise_segment(axis, band, share * PEAKS[axis], duration)
    return ProfileSettings(name=f"noise along {axis}", payload=PAYLOAD, segments=(segment,))


def wide_noise(axis: str) -> ProfileSettings:
    """Return low noise up to frequencies that the table no longer follows."""
    return noise(axis, WIDE_BAND, WIDE_SHARE, duration=16.0)


def heavy_noise(axis: str) -> ProfileSettings:
    """Return low noise under more weight than the links can carry by themselves."""
    segment = noise_segment(axis, BAND, HEAVY_SHARE * PEAKS[axis], 20.0)
    return ProfileSettings(name=f"noise along {axis}, 40 t", payload=HEAVY, segments=(segment,))


def corner_noise(axis: str) -> ProfileSettings:
    """Return noise along ``axis`` about a pose in a corner of the workspace."""
    segment = noise_segment(axis, CORNER_BAND, CORNER_SHARE * PEAKS[axis], 15.0)
    there = Ramp(kind="ramp", to=CORNER, duration=3.0)
    home = Target(surge=0.0, sway=0.0, heave=0.0, roll=0.0, pitch=0.0, yaw=0.0)
    back = Ramp(kind="ramp", to=home, duration=3.0)
    return ProfileSettings(
        name=f"noise along {axis}, corner", payload=PAYLOAD, segments=(there, segment, back)
    )
