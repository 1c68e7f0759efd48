"""What a law along a spring-damper's line answers outside the kernels; each answer has a default."""

from __future__ import annotations

from typing import ClassVar, Self


class Law:
    """A law of one spring-damper."""

    carries_load: ClassVar[bool] = False
    """Whether there is a force at rest within the travel: such a law can hold a wheel."""

    def moved(self, longer: float) -> Self:
        """Return the law of a spring-damper that is longer (m) in the design position."""
        return self

    def elastic(self, length: float) -> tuple[float, float]:
        """Return force (compression positive, N) and stiffness (N/m) at rest at a length, without stops."""
        return 0.0, 0.0
