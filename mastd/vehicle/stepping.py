"""The compiled calls of a simulation: one step for the loop, many steps for manoeuvres and benches."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mastd.kernel import fused_kernel
from mastd.lanes import LANES
from mastd.vehicle import fields as f
from mastd.vehicle.balance import out_of_balance
from mastd.vehicle.frames import attitudes
from mastd.vehicle.fresh import Fresh, assemble, factorise
from mastd.vehicle.frozen import Frozen
from mastd.vehicle.generalized_alpha import Formula
from mastd.vehicle.ground_contact import look_up_ground
from mastd.vehicle.inputs import apply_inputs
from mastd.vehicle.layout import Arrays
from mastd.vehicle.newton import JOINT_RATE, Method, advance, largest_rate
from mastd.vehicle.recording import record

Floats = NDArray[np.float64]


@fused_kernel
def advance_many(
    car: Arrays,
    formula: Formula,
    method: Method,
    frozen: Frozen,
    fresh: Fresh,
    inputs: Floats,
    ground: Floats,
    report: Floats,
) -> None:
    """Take a step for each row of ``inputs``."""
    for k in range(inputs.shape[0]):
        advance(car, formula, method, frozen, fresh, inputs[k], ground, report)


@fused_kernel
def run_many(
    car: Arrays,
    formula: Formula,
    method: Method,
    frozen: Frozen,
    fresh: Fresh,
    inputs: Floats,
    ground: Floats,
    report: Floats,
    heights: Floats,
    table: Floats,
) -> None:
    """Take a step for each row of ``inputs`` and write a row of ``table`` after each."""
    for k in range(inputs.shape[0]):
        advance(car, formula, method, frozen, fresh, inputs[k], ground, report)
        if not method.exact:
            report[JOINT_RATE] = largest_rate(car, method.relative)
        record(car, heights, report, table[k])


@fused_kernel
def step_once(
    car: Arrays,
    formula: Formula,
    method: Method,
    frozen: Frozen,
    fresh: Fresh,
    inputs: Floats,
    ground: Floats,
    report: Floats,
    heights: Floats,
    row: Floats,
    wrench: Floats,
) -> None:
    """Take one step and write its signals and the wrench on the ground."""
    advance(car, formula, method, frozen, fresh, inputs, ground, report)
    if not method.exact:
        report[JOINT_RATE] = largest_rate(car, method.relative)
    record(car, heights, report, row)
    ground_wrench(car, wrench)


@fused_kernel
def ground_wrench(car: Arrays, wrench: Floats) -> None:
    """Write the force of all tyres on the ground and its moment about the origin, inertial axes."""
    for k in range(6):
        wrench[k] = 0.0
    wheels, frame = car.wheels, car.frame
    for group in range(car.groups.shape[0]):
        item = car.groups[group, f.G_WHEEL]
        if item < 0:
            continue
        for lane in range(LANES):
            use = car.weights[group, lane]
            x, y = wheels[item, f.CONTACT, lane], wheels[item, f.CONTACT + 1, lane]
            z = wheels[item, f.CONTACT + 2, lane] - wheels[item, f.HEIGHT, lane]
            p, q, r = (
                wheels[item, f.TYRE_FORCE, lane],
                wheels[item, f.TYRE_FORCE + 1, lane],
                wheels[item, f.TYRE_FORCE + 2, lane],
            )
            u = -use * (frame[0] * p + frame[1] * q + frame[2] * r)
            v = -use * (frame[3] * p + frame[4] * q + frame[5] * r)
            w = -use * (frame[6] * p + frame[7] * q + frame[8] * r)
            wrench[0] += u
            wrench[1] += v
            wrench[2] += w
            wrench[3] += y * w - z * v
            wrench[4] += z * u - x * w
            wrench[5] += x * v - y * u


@fused_kernel
def prepare(
    car: Arrays, formula: Formula, method: Method, fresh: Fresh, inputs: Floats, ground: Floats
) -> None:
    """Write the matrices of a step at the present state."""
    apply_inputs(car, inputs)
    attitudes(car)
    look_up_ground(car, ground)
    out_of_balance(car, method.gravity, method.relative, False)
    assemble(car, fresh, formula)


@fused_kernel
def renew(
    car: Arrays, formula: Formula, method: Method, fresh: Fresh, inputs: Floats, ground: Floats
) -> None:
    """Make and factorise the matrices at the present state."""
    prepare(car, formula, method, fresh, inputs, ground)
    factorise(car, fresh)


@fused_kernel
def record_now(
    car: Arrays, method: Method, inputs: Floats, ground: Floats, report: Floats, heights: Floats, row: Floats
) -> None:
    """Evaluate the present state, at rest or not, and write its signals."""
    apply_inputs(car, inputs)
    attitudes(car)
    look_up_ground(car, ground)
    out_of_balance(car, method.gravity, method.relative, False)
    record(car, heights, report, row)
