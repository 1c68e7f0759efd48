"""What the FMU itself and the process that runs it have in common: what it is, and its time."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Self

from hil_sim.rigs.fmu.archive import Interface
from hil_sim.rigs.fmu.variables import FmuError, Port, Variable
from mastd.arrays import FloatArray
from mastd.errors import UsageError

NANOSECONDS: Final = 1_000_000_000
_SAME: Final = 1e-9
"""Relative; two steps that differ by less are the same."""


class Fmu(ABC):
    """An FMU that is stepped by one step at a time; use it as a context manager.

    ``variables``: its variables that are one number or truth value, by name. ``count``: steps taken since
    the start.
    """

    interface: Interface

    def __init__(self, path: Path) -> None:
        self.path = path
        self.count = 0
        self.variables: dict[str, Variable] = {}
        self._step_ns = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def name(self) -> str:
        """Name of the model."""
        return self.interface.identifier

    @property
    def time(self) -> float:
        """Time that the FMU has reached, s."""
        return self.count * self._step_ns / NANOSECONDS

    def check_step(self, step_ns: int) -> None:
        """Raise UsageError for a step, ns, that the FMU's own fixed step does not divide."""
        own = self.interface.fixed_step
        if own is None:
            return
        if not (own > 0.0 and math.isfinite(own)):
            raise UsageError(f"{self.path}: its fixedInternalStepSize is {own:g} s, it must be positive")
        ratio = step_ns / NANOSECONDS / own
        if round(ratio) < 1 or abs(ratio - round(ratio)) > _SAME * ratio:
            raise UsageError(
                f"{self.path}: its fixed internal step, {own * 1e3:g} ms, does not divide the step of "
                f"{step_ns / 1e6:g} ms; give --step a multiple of it"
            )

    def error(self, text: str) -> FmuError:
        """Return the error that says this of the FMU."""
        return FmuError(f"{self.path}: {text}")

    @abstractmethod
    def start(
        self, inputs: Sequence[Port], outputs: Sequence[Port], values: Sequence[float], step_ns: int
    ) -> FloatArray:
        """Initialise the FMU with inputs (SI, in the order of ``inputs``); return its outputs (SI)."""

    @abstractmethod
    def step(self, values: Sequence[float]) -> FloatArray:
        """Take one step with inputs (SI); return the outputs (SI) at its end."""

    @abstractmethod
    def close(self) -> None:
        """End it, and remove what was extracted."""
