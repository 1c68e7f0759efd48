"""What drives the car in one step, as one row of numbers.

Columns: for each drive (rack) displacement, rate and acceleration; for each wheel the drive torque (it reacts
on the chassis), then the torque of a motor on the wheel's carrier (it reacts there), then the capacity of its
friction brake (N m, 0 or more: the brake holds, or slips and takes that); the driver's throttle, brake pedal,
clutch pedal (each 0…1) and gear, which the powertrain and the brakes of the vehicle take; then force and
moment about its centre of mass that act on the chassis, in chassis axes. Torques are positive forwards. SI.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel
from mastd.lanes import LANES
from mastd.vehicle.blocks.fields import WHEEL
from mastd.vehicle.model.definition import Model
from mastd.vehicle.powertrain.fields import DRIVER
from mastd.vehicle.state.arrays import Arrays

DRIVER_COLUMNS: Final = 4


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
        return 3 * self.drives + 3 * self.wheels + DRIVER_COLUMNS + 6

    def drive(self, index: int) -> slice:
        """Columns of one drive: displacement, rate, acceleration."""
        return slice(3 * index, 3 * index + 3)

    @property
    def drive_torque(self) -> slice:
        """Columns of the wheels' drive torques."""
        return slice(3 * self.drives, 3 * self.drives + self.wheels)

    @property
    def motor_torque(self) -> slice:
        """Columns of the torques of motors that the wheels' carriers hold."""
        return slice(3 * self.drives + self.wheels, 3 * self.drives + 2 * self.wheels)

    @property
    def brake_capacity(self) -> slice:
        """Columns of the capacities of the wheels' friction brakes."""
        return slice(3 * self.drives + 2 * self.wheels, 3 * self.drives + 3 * self.wheels)

    @property
    def driver(self) -> slice:
        """Columns of throttle, brake pedal, clutch pedal and gear."""
        return slice(self.width - 6 - DRIVER_COLUMNS, self.width - 6)

    @property
    def chassis_wrench(self) -> slice:
        """Columns of force and moment on the chassis."""
        return slice(self.width - 6, self.width)

    def row(self, drive: FloatArray | None = None) -> FloatArray:
        """Return a row with these drives (drives, 3) and nothing else."""
        values = np.zeros(self.width)
        if drive is not None:
            values[: 3 * self.drives] = np.asarray(drive, dtype=np.float64).ravel()
        return values


@fused_kernel
def apply_inputs(car: Arrays, inputs: FloatArray) -> None:
    """Write a row of inputs into the blocks of drives, wheels and chassis."""
    for item in range(car.joints.drives.shape[0]):
        for lane in range(LANES):
            column = 3 * car.drive_of[item, lane]
            for k in range(3):
                car.joints.drives[item, k, lane] = inputs[column + k]
    wheels = car.wheel_count
    driver = inputs.shape[0] - 6 - DRIVER_COLUMNS
    first = driver - 3 * wheels
    pedal = inputs[driver + DRIVER.brake]
    for item in range(car.wheels.shape[0]):
        for lane in range(LANES):
            column = first + car.wheel_of[item, lane]
            car.wheels[item, WHEEL.drive_torque, lane] = inputs[column]
            car.wheels[item, WHEEL.motor_torque, lane] = inputs[column + wheels]
            capacity = inputs[column + 2 * wheels] + pedal * car.wheels[item, WHEEL.max_brake_torque, lane]
            car.wheels[item, WHEEL.brake_capacity, lane] = capacity
    for k in range(DRIVER_COLUMNS):
        car.driver[k] = inputs[driver + k]
    for k in range(6):
        car.external[k] = inputs[inputs.shape[0] - 6 + k]
