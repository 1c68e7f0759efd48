"""What the library of an exported FMU (FMI 3) runs: copied into the FMU, it hands over to mastd.

It is loaded by pythonfmu3, which travels in the FMU, in a Python that may not have mastd.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pythonfmu3.enums import Fmi3Status
from pythonfmu3.fmi3slave import Fmi3Slave, Fmi3StepResult


class MastdVehicle(Fmi3Slave):
    """The vehicle, by the names that pythonfmu3 calls."""

    def __init__(self, **kwargs: str) -> None:
        super().__init__(**kwargs)
        try:
            from mastd.vehicle.fmu.slave import VehicleSlave
        except ImportError as error:
            raise ImportError(
                f"this FMU runs mastd, which this Python does not have ({error}): pip install mastd"
            ) from error
        self._slave = VehicleSlave(Path(kwargs["resources"]))

    def enter_initialization_mode(self) -> None:
        self._slave.stand()

    def exit_initialization_mode(self) -> None:
        self._slave.stand()

    def do_step(self, current_time: float, step_size: float) -> Fmi3StepResult:
        problem = self._slave.advance(step_size)
        if problem:
            self.log(problem, Fmi3Status.error)
            return Fmi3StepResult(status=Fmi3Status.error)
        return Fmi3StepResult()

    def get_float64(self, vrs: Sequence[int]) -> list[float]:
        values = self._slave.values
        time = self._slave.count * self._slave.step
        return [values[vr] if vr < len(values) else time for vr in vrs]

    def set_float64(self, vrs: Sequence[int], values: Sequence[float]) -> None:
        for vr, value in zip(vrs, values, strict=True):
            self._slave.values[vr] = value
