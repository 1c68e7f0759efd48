"""What is played in the benches of the control: band noise along one axis.

One axis at a time, because motion of the others is what the cross-axis figure is about.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from mastd.settings.payload import NoPayload, RigidPayload
from mastd.settings.profile import ProfileSettings
from mastd.settings.segments import (
    AXES,
    DensityAxes,
    Random,
    RotationDensity,
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
PAYLOAD = RigidPayload(
    kind="rigid",
    mass=12_000.0,
    centre_of_gravity=(0.0, 0.0, 2.0),
    inertia=(10_250.0, 40_000.0, 42_250.0),
)
"""12 t whose centre of gravity stands 1.5 m above the table's top."""


def noise(
    axis: str,
    band: tuple[float, float] = BAND,
    peak: float | None = None,
    duration: float = 20.0,
    payload: RigidPayload | NoPayload = PAYLOAD,
    seed: int = 1,
) -> ProfileSettings:
    """Return noise of flat acceleration along ``axis``; ``peak`` in m/s² or rad/s², that of PEAKS if None."""
    highest = PEAKS[axis] if peak is None else peak
    level = (highest / CLIP) ** 2 / (band[1] - band[0])
    density = TranslationDensity if AXES.index(axis) < 3 else RotationDensity
    axes = DensityAxes.model_validate({axis: density(density=((band[0], level), (band[1], level)))})
    segment = Random(kind="random", duration=duration, fade=1.0, sigma_clip=CLIP, axes=axes)
    return ProfileSettings(name=f"bench {axis}", seed=seed, payload=payload, segments=(segment,))


def wide_noise(axis: str, duration: float = 12.0) -> ProfileSettings:
    """Return low noise up to frequencies that the table no longer follows."""
    return noise(axis, WIDE_BAND, WIDE_SHARE * PEAKS[axis], duration, seed=2)
