"""The vehicle inside an FMU: a ``VehicleOnTable`` behind numbered variables.

An exported FMU carries the vehicle's settings and its place on the table as data; what moves is this project,
which the Python that loads the FMU has to have. Inputs are the table's pose at the end of the step, outputs
the wrench on the table at C and what the vehicle does, all SI.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from mastd.settings.core.axes import AXES
from mastd.settings.vehicle.vehicle import VehicleSettings
from mastd.vehicle.model.build import build
from mastd.vehicle.payload.on_table import MAX_STEPS, VehicleOnTable
from mastd.vehicle.solver.recording import TraceLayout
from mastd.vehicle.state.trace import ACCELERATION, ANGLES, ANGULAR_VELOCITY, VELOCITY

DATA: Final = "vehicle.json"
"""File in the FMU's resources."""
WRENCH: Final = ("fx", "fy", "fz", "mx", "my", "mz")
INPUTS: Final = len(AXES)
_SIGNALS: Final = INPUTS + len(WRENCH)
"""Number of the first variable that is read from the row of signals."""
_SAME: Final = 1e-6
"""Fraction of a step by which a communication step may differ from a multiple of it."""


@dataclass(frozen=True)
class Quantity:
    """One variable of the FMU; its value reference is its place in the list."""

    name: str
    unit: str
    meaning: str
    causality: str


def quantities(wheels: Sequence[str]) -> tuple[Quantity, ...]:
    """Return all variables of a vehicle with these wheels: inputs first."""
    pose = (
        Quantity(f"pose.{axis}", "m" if k < 3 else "rad", "pose of the table's centre C", "input")
        for k, axis in enumerate(AXES)
    )
    wrench = (
        Quantity(
            f"wrench.{part}",
            "N" if k < 3 else "N m",
            "of the vehicle on the table at C in table axes, weight included",
            "output",
        )
        for k, part in enumerate(WRENCH)
    )
    single = (
        *((f"vehicle.acceleration.{axis}", "m/s2", "of the chassis' centre of mass") for axis in "xyz"),
        ("vehicle.speed", "m/s", "of the chassis along its own axis"),
        *((f"vehicle.{axis}", "rad", "of the chassis against level ground") for axis in AXES[3:]),
        ("vehicle.yaw_rate", "rad/s", "about the chassis' own vertical"),
    )
    per_wheel = (
        ("load", "N", "vertical force of the ground on the tyre"),
        ("travel", "m", "of the wheel's centre from the design position, bump positive"),
        ("tyre_x", "N", "force on the tyre along the wheel's direction"),
        ("tyre_y", "N", "force on the tyre across it, left positive"),
    )
    return (
        *pose,
        *wrench,
        *(Quantity(*one, "output") for one in single),
        *(
            Quantity(f"vehicle.{name}.{wheel}", unit, meaning, "output")
            for name, unit, meaning in per_wheel
            for wheel in wheels
        ),
    )


def columns(layout: TraceLayout) -> list[int]:
    """Return where the outputs after the wrench stand in the row of signals, in their order."""
    found = [
        *range(ACCELERATION.start, ACCELERATION.stop),
        VELOCITY.start,
        *range(ANGLES.start, ANGLES.stop),
        ANGULAR_VELOCITY.stop - 1,
    ]
    for quantity in (0, 2, 3, 4):
        wheel = layout.wheel(quantity)
        found += range(wheel.start, wheel.stop)
    return found


class VehicleSlave:
    """A vehicle on the table as co-simulation sees it. ``values``: all variables, by value reference."""

    def __init__(self, resources: Path) -> None:
        """Build the vehicle from the data in ``resources``; compiles what is not compiled yet.

        Raises MastdError for a vehicle that this version of mastd does not take.
        """
        data = json.loads((resources / DATA).read_text(encoding="utf-8"))
        self.vehicle = vehicle_of(data, resources)
        self.step: float = data["step"]
        self.count = 0
        self._columns = np.array(columns(self.vehicle.layout))
        self.values = [0.0] * (_SIGNALS + len(self._columns))
        self.stand()
        # So that what a step compiles or loads is there before the first one is due; standing forgets it.
        self.vehicle.follow(np.zeros(INPUTS), 1)
        self.stand()

    def stand(self) -> None:
        """Stand, as settled, on a table that lies still at the pose in the inputs; time begins."""
        self.count = 0
        self.vehicle.lie(np.array(self.values[:INPUTS]))
        self._show()

    def advance(self, length: float) -> str:
        """Take a communication step, s, in which the table comes to the pose in the inputs.

        Returns why that is impossible, or an empty text.
        """
        steps = round(length / self.step)
        if not 1 <= steps <= MAX_STEPS or abs(length - steps * self.step) > _SAME * self.step:
            return f"communication step {length:.9g} s: expected 1 to {MAX_STEPS} times {self.step:g} s"
        self.vehicle.follow(np.array(self.values[:INPUTS]), steps)
        self.count += steps
        self._show()
        if not np.isfinite(self.vehicle.wrench).all():
            return "the vehicle cannot be simulated any more: its wrench is not finite"
        return ""

    def _show(self) -> None:
        self.values[INPUTS:_SIGNALS] = self.vehicle.wrench.tolist()
        self.values[_SIGNALS:] = self.vehicle.signals[self._columns].tolist()


def vehicle_of(data: Mapping[str, Any], resources: Path) -> VehicleOnTable:
    """Return the vehicle of an FMU's data; tyre files are looked for in ``resources``."""
    settings = VehicleSettings.model_validate_json(
        json.dumps(data["vehicle"]), context={"directory": str(resources)}
    )
    model = replace(build(settings), gravity=data["gravity"])
    x, y, z = data["place"]
    length, width = data["half_size"]
    return VehicleOnTable(model, data["step"], (x, y, z), (length, width), restrained=data["restrained"])
