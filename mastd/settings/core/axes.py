"""The axes of a pose: three translations along x, y, z and three rotations about them (ISO 8855 names)."""

from __future__ import annotations

from typing import Final, Literal

Axis = Literal["surge", "sway", "heave", "roll", "pitch", "yaw"]
AXES: Final[tuple[Axis, ...]] = ("surge", "sway", "heave", "roll", "pitch", "yaw")
