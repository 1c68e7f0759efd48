"""What the library of an exported FMU (FMI 2) runs: copied into the FMU, it hands over to mastd.

It is loaded by pythonfmu, which travels in the FMU, in a Python that may not have mastd.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from pythonfmu.enums import Fmi2Status
from pythonfmu.fmi2slave import Fmi2Slave


class MastdVehicle(Fmi2Slave):
    """The vehicle, by the names that pythonfmu calls."""

    def __init__(self, **kwargs: str) -> None:
        super().__init__(**kwargs)
        try:
            from mastd.vehicle.fmu.slave import VehicleSlave
        except ImportError as error:
            text = f"this FMU runs mastd, which this Python does not have ({error}): pip install mastd"
            # The library passes this on only to callers that have logging on.
            sys.stderr.write(f"{text}\n")
            raise ImportError(text) from error
        self._slave = VehicleSlave(Path(kwargs["resources"]))

    def enter_initialization_mode(self) -> None:
        self._slave.stand()

    def exit_initialization_mode(self) -> None:
        self._slave.stand()

    def do_step(self, current_time: float, step_size: float) -> bool:
        problem = self._slave.advance(step_size)
        if problem:
            self.log(problem, Fmi2Status.error)
        return not problem

    def get_real(self, vrs: Sequence[int]) -> list[float]:
        return [self._slave.values[vr] for vr in vrs]

    def set_real(self, vrs: Sequence[int], values: Sequence[float]) -> None:
        for vr, value in zip(vrs, values, strict=True):
            self._slave.values[vr] = value
