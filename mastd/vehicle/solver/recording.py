"""What one step leaves in a trace: a row of numbers, written by the compiled loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel, separate_kernel
from mastd.lanes import LANES
from mastd.vehicle.blocks.fields import BODY, CHASSIS, GROUP, REPORT, REPORT_SIZE, WHEEL
from mastd.vehicle.joints.arrays import CONSTRAINT
from mastd.vehicle.model.definition import Model
from mastd.vehicle.powertrain.fields import STATE
from mastd.vehicle.state.arrays import Arrays
from mastd.vehicle.state.trace import CHASSIS_WIDTH, Trace

WHEEL_COLUMNS: Final = 8


@dataclass(frozen=True)
class TraceLayout:
    """Columns of a row: chassis (18), report (5), WHEEL_COLUMNS per wheel, rack forces, engine speed."""

    wheels: int
    drives: int

    @property
    def width(self) -> int:
        """Number of columns."""
        return CHASSIS_WIDTH + REPORT_SIZE + WHEEL_COLUMNS * self.wheels + self.drives + 1

    def wheel(self, quantity: int) -> slice:
        """Columns of one quantity of all wheels: 0 load, 1 spin, 2 travel, 3 and 4 forces along and across, 5
        and 6 slips along and across, 7 metres outside the road."""
        first = CHASSIS_WIDTH + REPORT_SIZE + quantity * self.wheels
        return slice(first, first + self.wheels)

    def trace(self, model: Model, times: FloatArray, table: FloatArray) -> Trace:
        """Return rows (n, width), at these times, as a trace."""
        report = table[:, CHASSIS_WIDTH : CHASSIS_WIDTH + REPORT_SIZE]
        return Trace(
            wheels=tuple(wheel.name for wheel in model.wheels),
            time=times,
            chassis=table[:, :CHASSIS_WIDTH],
            wheel_loads=table[:, self.wheel(0)],
            spin=table[:, self.wheel(1)],
            wheel_travel=table[:, self.wheel(2)],
            tyre_force=np.stack([table[:, self.wheel(3)], table[:, self.wheel(4)]], axis=2),
            slip=np.stack([table[:, self.wheel(5)], table[:, self.wheel(6)]], axis=2),
            outside=table[:, self.wheel(7)],
            rack_force=table[:, self.width - 1 - self.drives : self.width - 1],
            engine_speed=table[:, self.width - 1],
            iterations=report[:, REPORT.iterations].astype(np.int64),
            residual=report[:, REPORT.max_move],
            converged=report[:, REPORT.converged] > 0.0,
            joint_error=report[:, REPORT.joint_error],
            velocity_error=report[:, REPORT.joint_rate],
        )


@fused_kernel
def record(car: Arrays, design_heights: FloatArray, report: FloatArray, row: FloatArray) -> None:
    """Write a row: see ``TraceLayout``; vectors of the chassis but its position in its own axes."""
    bodies = car.bodies
    for k in range(3):
        row[k] = bodies[CHASSIS, BODY.position + k, 0]
        speed, acceleration = 0.0, 0.0
        for n in range(3):
            speed += bodies[CHASSIS, BODY.rotation + 3 * n + k, 0] * bodies[CHASSIS, BODY.velocity + n, 0]
            acceleration += (
                bodies[CHASSIS, BODY.rotation + 3 * n + k, 0] * bodies[CHASSIS, BODY.acceleration + n, 0]
            )
        row[3 + k] = speed
        row[6 + k] = acceleration
        row[12 + k] = bodies[CHASSIS, BODY.angular_velocity + k, 0]
        row[15 + k] = bodies[CHASSIS, BODY.angular_acceleration + k, 0]
    r = BODY.rotation
    row[9] = np.arctan2(bodies[CHASSIS, r + 7, 0], bodies[CHASSIS, r + 8, 0])
    row[10] = -np.arcsin(max(-1.0, min(1.0, bodies[CHASSIS, r + 6, 0])))
    row[11] = np.arctan2(bodies[CHASSIS, r + 3, 0], bodies[CHASSIS, r, 0])
    for k in range(REPORT_SIZE):
        row[CHASSIS_WIDTH + k] = report[k]
    _record_wheels(car, design_heights, row)
    drives = car.drive_rows.shape[0]
    for k in range(drives):
        column = row.shape[0] - 1 - drives + k
        row[column] = car.joints.rows[car.drive_rows[k, 0], CONSTRAINT.multiplier, car.drive_rows[k, 1]]
    row[row.shape[0] - 1] = car.drive_state[STATE.engine_speed] if car.drive_constants.shape[0] > 0 else 0.0


@separate_kernel
def record_now(car: Arrays, design_heights: FloatArray, report: FloatArray, row: FloatArray) -> None:
    """Write a row as ``record`` does, from outside."""
    record(car, design_heights, report, row)


@fused_kernel
def _record_wheels(car: Arrays, design_heights: FloatArray, row: FloatArray) -> None:
    bodies, wheels, count = car.bodies, car.wheels, car.wheel_count
    first = CHASSIS_WIDTH + REPORT_SIZE
    for group in range(car.groups.shape[0]):
        item = car.groups[group, GROUP.wheel]
        if item < 0:
            continue
        carrier = car.groups[group, GROUP.carrier] - car.groups[group, GROUP.interfaces]
        body = car.groups[group, GROUP.first_body] + carrier
        for lane in range(LANES):
            if car.weights[group, lane] == 0.0:
                continue
            column = first + car.wheel_of[item, lane]
            row[column] = wheels[item, WHEEL.load, lane]
            row[column + count] = wheels[item, WHEEL.spin, lane]
            height = 0.0
            for n in range(3):
                centre = bodies[body, BODY.position + n, lane] - bodies[CHASSIS, BODY.position + n, 0]
                for k in range(3):
                    turned = (
                        bodies[body, BODY.rotation + 3 * n + k, lane] * wheels[item, WHEEL.centre + k, lane]
                    )
                    centre += turned
                height += bodies[CHASSIS, BODY.rotation + 3 * n + 2, 0] * centre
            row[column + 2 * count] = height - design_heights[car.wheel_of[item, lane]]
            for k in range(2):
                row[column + (3 + k) * count] = wheels[item, WHEEL.contact_force + k, lane]
                row[column + (5 + k) * count] = wheels[item, WHEEL.slip + k, lane]
            row[column + 7 * count] = wheels[item, WHEEL.outside, lane]
