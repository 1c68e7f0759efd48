"""The spring-damper of a model: what is asked of it before it is compiled."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mastd.arrays import FloatArray
from mastd.settings.vehicle.forces import SpringSettings
from mastd.vehicle.elements.spring_damper.laws import LineLaws, laws_of


@dataclass(frozen=True, eq=False)
class SpringDamper(LineLaws):
    """Force along the line between two points, positive in compression.

    F = stiffness · (free_length − l) − damping · dl/dt + the laws of ``LineLaws``. A damper table stands
    instead of ``damping``.
    """

    name: str
    first: int
    second: int
    point_first: FloatArray
    point_second: FloatArray
    stiffness: float
    free_length: float
    damping: float

    @property
    def damps(self) -> bool:
        """Whether there is a damper."""
        return self.damper_table is not None or self.damping > 0.0

    @property
    def carries_load(self) -> bool:
        """Whether there is a force at rest, away from the stops."""
        return self.stiffness > 0.0 or any(law.carries_load for law in self.laws().values())

    def elastic(self, length: float) -> tuple[float, float]:
        """Return force (N) and stiffness (N/m) at rest at a length, away from the stops."""
        force, stiffness = self.stiffness * (self.free_length - length), self.stiffness
        for law in self.laws().values():
            more, stiffer = law.elastic(length)
            force, stiffness = force + more, stiffness + stiffer
        return force, stiffness

    def undamped(self) -> SpringDamper:
        """Return it without its damper."""
        return replace(self, damping=0.0, damper_table=None)

    def with_points(self, first: FloatArray, second: FloatArray) -> SpringDamper:
        """Return it between new points, with the forces and travels that it had in the design position."""
        before = float(np.linalg.norm(self.point_second - self.point_first))
        longer = float(np.linalg.norm(second - first)) - before
        free_length = self.free_length + longer
        moved: dict[str, Any] = {name: law.moved(longer) for name, law in self.laws().items()}
        return replace(self, point_first=first, point_second=second, free_length=free_length, **moved)


def spring_damper_of(
    name: str, bodies: tuple[int, int], points: tuple[FloatArray, FloatArray], settings: SpringSettings
) -> SpringDamper:
    """Return the spring-damper between these points of two bodies in the design position."""
    length = float(np.linalg.norm(points[1] - points[0]))
    deflection = settings.preload / settings.stiffness if settings.stiffness > 0.0 else 0.0
    return SpringDamper(
        name,
        *bodies,
        *points,
        settings.stiffness,
        length + deflection,
        settings.damping,
        **laws_of(settings, length),
    )
