"""Settings of the table's freedoms: which axes are free, and the guides that hold the others."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from mastd.settings.core.base import Settings
from mastd.settings.core.quantity import Force, Stiffness

HELD_STILL: Final = 1e-9
"""m and rad up to which an axis that guides hold counts as not moved."""


class GuideSettings(Settings):
    """Bearings that hold the axes in which the table is not free, and their friction in those that are."""

    friction: Force = Field(default=0.0, ge=0)
    """Coulomb friction along the free translations together."""
    stiffness: Stiffness | None = Field(default=None, gt=0)
    """Of the bearings together, in each translation that they hold; the control counts on infinite."""
