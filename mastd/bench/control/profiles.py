"""What is played in the benches of the control, as texts of profile files: band noise along one axis.

One axis at a time, because motion of the others is what the cross-axis figure is about.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import yaml

from mastd.settings.core.axes import AXES
from mastd.settings.core.loader import load_text
from mastd.settings.profile.profile import ProfileSettings
from mastd.units import STANDARD_GRAVITY

Band = tuple[float, float]
Content = Mapping[str, Any]

BAND: Band = (0.5, 20.0)
"""Hz of the noise, flat in acceleration."""
WIDE_BAND: Band = (1.0, 80.0)
"""Hz of the noise that shows how far the table follows."""
WIDE_RATIO = 0.5
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
DURATION = 20.0
SINE_DURATION = 12.0
CORRECTED_DURATION = 30.0
"""s: what is judged begins while the correction is still being learned."""
FADE = 1.0
PAYLOAD: Content = MappingProxyType(
    {
        "kind": "rigid",
        "mass": "12 t",
        "centre_of_gravity": ["0 m", "0 m", "2 m"],
        "inertia": ["10250 kg m2", "40000 kg m2", "42250 kg m2"],
    }
)
"""12 t whose centre of gravity stands 1.5 m above the table's top."""
HEAVY: Content = MappingProxyType(
    {
        "kind": "rigid",
        "mass": "40 t",
        "centre_of_gravity": ["0 m", "0 m", "1.5 m"],
        "inertia": ["34000 kg m2", "133000 kg m2", "140000 kg m2"],
    }
)
"""40 t, 1 m above the top: more than the actuators can carry without a support."""
HEAVY_RATIO = 0.25
VEHICLE: Content = MappingProxyType({"kind": "vehicle", "vehicle": "transporter_8x8"})
"""Simulated on the table: 25 t on springs."""
CORNER: Content = MappingProxyType(
    {
        "surge": "20 mm",
        "sway": "-20 mm",
        "heave": "10 mm",
        "roll": "8 mrad",
        "pitch": "5 mrad",
        "yaw": "5 mrad",
    }
)
"""A pose near a corner of the workspace: what is left of the stroke is for the noise."""
CORNER_BAND: Band = (2.0, 20.0)
CORNER_RATIO = 0.5
MATRIX_RATIO = 0.35
"""Of the peaks, for the noise that the frequency response matrix is measured with."""
MATRIX_DURATION = 100.0
MATRIX_BAND: Band = (0.35, 28.0)


def profile_text(name: str, segments: Sequence[Content], payload: Content = PAYLOAD, **more: object) -> str:
    """Return the text of a profile; ``more`` are further keys."""
    content = {"name": name, **more, "payload": dict(payload), "segments": [dict(one) for one in segments]}
    return yaml.safe_dump(content, sort_keys=False)


def read_profile(text: str) -> ProfileSettings:
    """Return the settings of a profile's text."""
    return load_text(text, "bench.yaml", ProfileSettings)


def noise_segment(levels: Mapping[str, float], band: Band, duration: float) -> Content:
    """Return noise of flat acceleration; ``levels``: axis → peak in m/s² or rad/s²."""
    axes = {}
    for axis, peak in levels.items():
        density = (peak / CLIP) ** 2 / (band[1] - band[0])
        unit = "(m/s2)2/Hz" if AXES.index(axis) < 3 else "(rad/s2)2/Hz"
        axes[axis] = {"density": [[f"{corner!r} Hz", f"{density!r} {unit}"] for corner in band]}
    return {
        "kind": "random",
        "duration": f"{duration!r} s",
        "fade": f"{FADE!r} s",
        "sigma_clip": CLIP,
        "axes": axes,
    }


def noise(
    axis: str,
    band: Band = BAND,
    ratio: float = 1.0,
    duration: float = DURATION,
    payload: Content = PAYLOAD,
) -> str:
    """Return noise along ``axis``, ``ratio`` of its peak, under the payload."""
    segment = noise_segment({axis: ratio * PEAKS[axis]}, band, duration)
    return profile_text(f"noise along {axis}", [segment], payload)


def wide_noise(axis: str) -> str:
    """Return low noise up to frequencies that the table no longer follows."""
    return noise(axis, WIDE_BAND, WIDE_RATIO, duration=16.0)


def matrix_noise(payload: Content = PAYLOAD) -> str:
    """Return low noise along all axes at once, in which every response to every axis can be told."""
    levels = {axis: MATRIX_RATIO * peak for axis, peak in PEAKS.items()}
    segment = noise_segment(levels, MATRIX_BAND, MATRIX_DURATION)
    return profile_text("noise along all axes", [segment], payload, seed=3)


def heavy_noise(axis: str) -> str:
    """Return low noise under more weight than the actuators can carry by themselves."""
    segment = noise_segment({axis: HEAVY_RATIO * PEAKS[axis]}, BAND, DURATION)
    return profile_text(f"noise along {axis}, 40 t", [segment], HEAVY)


def corner_noise(axis: str) -> str:
    """Return noise along ``axis`` about a pose in a corner of the workspace."""
    home = {name: "0 m" if AXES.index(name) < 3 else "0 rad" for name in CORNER}
    return profile_text(
        f"noise along {axis}, corner",
        [
            {"kind": "ramp", "to": dict(CORNER), "duration": "3 s"},
            noise_segment({axis: CORNER_RATIO * PEAKS[axis]}, CORNER_BAND, 15.0),
            {"kind": "ramp", "to": home, "duration": "3 s"},
        ],
    )


def standing(duration: float) -> str:
    """Return a table that stands still under the payload."""
    return profile_text("standing", [{"kind": "hold", "duration": f"{duration!r} s"}])


def sine(frequency: float, peak: str, correction: Content | None = None) -> str:
    """Return a sine of heave under the payload; ``peak`` with its unit, ``correction`` as of the profile."""
    segment: dict[str, Any] = {
        "kind": "sine",
        "frequency": f"{frequency!r} Hz",
        "duration": f"{SINE_DURATION!r} s",
        "fade": f"{FADE!r} s",
        "axes": {"heave": {"peak": peak}},
    }
    if correction is not None:
        segment |= {"duration": f"{CORRECTED_DURATION!r} s", "correction": dict(correction)}
    return profile_text(f"sine of {frequency:g} Hz", [segment])
