"""What drives the car in one step, as one row of numbers.

Columns: for each drive (rack) displacement, rate and acceleration; for each wheel the drive torque (it reacts
on the chassis); for each wheel the brake torque (it reacts on the wheel's carrier); then force and moment
about its centre of mass that act on the chassis, in chassis axes. Torques are positive forwards. SI.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mastd.kernel import fused_kernel
from mastd.lanes import LANES
from mastd.vehicle import fields as f
from mastd.vehicle.layout import Arrays
from mastd.vehicle.model import Model

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class InputLayout:
    """The columns of a row of inputs."""

    drives: int
    wheels: int

    @classmethod
    def of(cls, model: Model) -> InputLayout:
        """Return the columns for a model."""
        return cls(len(model.drives), len(model.wheels))

    @property
    def width(self) -> int:
        """Number of columns."""
        return 3 * self.drives + 2 * self.wheels + 6

    def drive(self, index: int) -> slice:
        """Columns of one drive: displacement, rate, acceleration."""
        return slice(3 * index, 3 * index + 3)

    @property
    def drive_torque(self) -> slice:
        """Columns of the wheels' drive torques."""
        return slice(3 * self.drives, 3 * self.drives + self.wheels)

    @property
    def brake_torque(self) -> slice:
        """Columns of the wheels' brake torques."""
        return slice(3 * self.drives + self.wheels, 3 * self.drives + 2 * self.wheels)

    @property
    def chassis_wrench(self) -> slice:
        """Columns of force and moment on the chassis."""
        return slice(self.width - 6, self.width)

    def row(self, drive: Floats | None = None) -> Floats:
        """Return a row with these drives (drives, 3) and nothing else."""
        values = np.zeros(self.width)
        if drive is not None:
            values[: 3 * self.drives] = np.asarray(drive, dtype=np.float64).ravel()
        return values


@fused_kernel
def apply_inputs(car: Arrays, inputs: Floats) -> None:
    """Write a row of inputs into the blocks of drives, wheels and chassis."""
    for item in range(car.drives.shape[0]):
        for lane in range(LANES):
            column = 3 * car.drive_of[item, lane]
            for k in range(3):
                car.drives[item, k, lane] = inputs[column + k]
    wheels = car.wheel_count
    first = inputs.shape[0] - 6 - 2 * wheels
    for item in range(car.wheels.shape[0]):
        for lane in range(LANES):
            column = first + car.wheel_of[item, lane]
            car.wheels[item, f.DRIVE_TORQUE, lane] = inputs[column]
            car.wheels[item, f.BRAKE_TORQUE, lane] = inputs[column + wheels]
    for k in range(6):
        car.external[k] = inputs[inputs.shape[0] - 6 + k]
