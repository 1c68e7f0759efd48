"""Taking the controls away from a driver, and giving them back, without a jump.

The driver's share b goes from 1 to 0 and back like u³ (10 − 15 u + 6 u²). Racks are held at the place h where
they were taken: h + b (x − h), with the rate and the acceleration that belong to it.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.vehicle.drivers.controls import Controls

TAKING: Final = 0.2
"""s in which the controls are taken away."""
GIVING: Final = 0.5
"""s in which they are given back."""


class Takeover:
    """Who has the controls; in the beginning the driver."""

    def __init__(self, drives: int) -> None:
        """Begin with ``drives`` racks."""
        self._fraction = 1.0
        """u above: of the time of a change."""
        self._taking = False
        self._held = np.zeros(drives)
        self._last = np.zeros(drives)

    @property
    def needed(self) -> bool:
        """Whether somebody else than the driver has a part of the controls now."""
        return self._taking or self._fraction < 1.0

    def ask(self, taken: bool) -> None:
        """Ask for the controls, or give them back; a change under way is ended first."""
        if self._fraction in (0.0, 1.0) and taken != self._taking:
            self._taking = taken
            if taken:
                self._held[:] = self._last

    def note(self, controls: Controls) -> None:
        """See where the driver's racks are at the end of a sample that is the driver's alone."""
        self._last[:] = controls.drives[-1, :, 0]

    def mix(self, controls: Controls, other: Controls, spans: FloatArray) -> None:
        """Write to ``controls``, the driver's, what the car gets: its racks held, for the rest ``other``.

        ``spans`` (n): s since the last sample.
        """
        lasting = -TAKING if self._taking else GIVING
        u = np.clip(self._fraction + spans / lasting, 0.0, 1.0)
        self._fraction = float(u[-1])
        moving = (u > 0.0) & (u < 1.0)
        fraction = u**3 * (10.0 - 15.0 * u + 6.0 * u**2)
        rate = np.where(moving, 30.0 * u**2 * (1.0 - u) ** 2 / lasting, 0.0)
        bend = np.where(moving, 60.0 * u * (1.0 - u) * (1.0 - 2.0 * u) / lasting**2, 0.0)
        b, b1, b2 = fraction[:, None], rate[:, None], bend[:, None]
        position, speed, push = (controls.drives[:, :, k].copy() for k in range(3))
        away = position - self._held
        controls.drives[:, :, 0] = self._held + b * away
        controls.drives[:, :, 1] = b1 * away + b * speed
        controls.drives[:, :, 2] = b2 * away + 2.0 * b1 * speed + b * push
        gears = np.where(fraction[:, None] > 0.0, controls.driver[:, 3:], other.driver[:, 3:])
        for own, theirs in (
            (controls.drive_torque, other.drive_torque),
            (controls.brake_torque, other.brake_torque),
            (controls.driver, other.driver),
        ):
            own[:] = b * own + (1.0 - b) * theirs
        controls.driver[:, 3:] = gears
