"""The Magic Formula tyres of a group: from the blocks of the car to each wheel's balance and back."""

from __future__ import annotations

import numpy as np

from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel, separate_kernel
from mastd.lanes import LANES
from mastd.vehicle.blocks.fields import CLOCK, LOCAL_BODY, WHEEL
from mastd.vehicle.blocks.vectors import Triple, to_frame
from mastd.vehicle.blocks.wheels import WheelBlocks
from mastd.vehicle.magic_formula.wheel import (
    MIN_LOAD,
    ROLLING_FROM,
    Balance,
    Contact,
    Known,
    Motion,
    Relaxation,
    Step,
    Torques,
    WheelConstants,
    length_growth,
    relaxation,
    wheel_balance,
)


@fused_kernel
def _triple(block: FloatArray, item: int, first: int, lane: int) -> Triple:
    return block[item, first, lane], block[item, first + 1, lane], block[item, first + 2, lane]


@separate_kernel
def prepare_magic(wheels: FloatArray, tyres: FloatArray, wheel: int, moving: bool) -> None:
    """Write what the tyres of one item of the wheels keep during a step: see ``wheel.py``.

    ``moving``: a step begins; else a state is looked at, and deflections stay as they are.
    """
    for lane in range(LANES):
        min_load = MIN_LOAD if moving else wheels[wheel, WHEEL.rest_load, lane]
        carcass = relaxation(
            tyres[wheel, lane],
            wheels[wheel, WHEEL.load, lane],
            wheels[wheel, WHEEL.deflection, lane],
            wheels[wheel, WHEEL.deflection + 1, lane],
            max(min_load, MIN_LOAD),
        )
        wheels[wheel, WHEEL.start_deflection, lane] = carcass.deflection_x
        wheels[wheel, WHEEL.start_deflection + 1, lane] = carcass.deflection_y
        wheels[wheel, WHEEL.start_slip, lane] = carcass.slip_x
        wheels[wheel, WHEEL.start_slip + 1, lane] = carcass.slip_y
        wheels[wheel, WHEEL.relaxation, lane] = carcass.length_x
        wheels[wheel, WHEEL.relaxation + 1, lane] = carcass.length_y
        wheels[wheel, WHEEL.start_load, lane] = max(wheels[wheel, WHEEL.load, lane], min_load, MIN_LOAD)
        wheels[wheel, WHEEL.sliding, lane] = carcass.sliding
        speed = wheels[wheel, WHEEL.spin, lane] * wheels[wheel, WHEEL.rolling_radius, lane]
        wheels[wheel, WHEEL.rolling_speed, lane] = speed
        wheels[wheel, WHEEL.rolling, lane] = speed * speed / (speed * speed + ROLLING_FROM * ROLLING_FROM)


@fused_kernel
def _normal_length(wheels: FloatArray, wheel: int, lane: int) -> float:
    """Return the length of (−dz/dx, −dz/dy, 1)."""
    x, y = wheels[wheel, WHEEL.slope, lane], wheels[wheel, WHEEL.slope + 1, lane]
    return float(np.sqrt(1.0 + x * x + y * y))


@fused_kernel
def _distance(wheels: FloatArray, wheel: int, lane: int, length: float) -> float:
    """Return the distance of the wheel's centre from the ground, m.

    Of a plane it is the height times n_z. A road's height is that which the wheel feels: with its centre at
    R₀ above it the wheel just touches, and sinks along the normal, d = R₀ + (h − R₀) n_z.
    """
    above = wheels[wheel, WHEEL.enveloped, lane] * wheels[wheel, WHEEL.free_radius, lane]
    return float(above + (wheels[wheel, WHEEL.tyre_height, lane] - above) / length)


@fused_kernel
def _known(
    wheels: FloatArray, frame: FloatArray, clock: FloatArray, wheel: int, lane: int, length: float
) -> Known:
    """Return what of a wheel's balance does not vary with the motion within a step."""
    x, y, z = _triple(wheels, wheel, WHEEL.frame_normal, lane)
    u, v, w = _triple(wheels, wheel, WHEEL.ground_angular_velocity, lane)
    p, q, r = _triple(wheels, wheel, WHEEL.chock_force, lane)
    carcass = Relaxation(
        wheels[wheel, WHEEL.start_deflection, lane],
        wheels[wheel, WHEEL.start_deflection + 1, lane],
        wheels[wheel, WHEEL.start_slip, lane],
        wheels[wheel, WHEEL.start_slip + 1, lane],
        wheels[wheel, WHEEL.relaxation, lane],
        wheels[wheel, WHEEL.relaxation + 1, lane],
        wheels[wheel, WHEEL.sliding, lane],
    )
    return Known(
        WheelConstants(
            wheels[wheel, WHEEL.axial_inertia, lane],
            wheels[wheel, WHEEL.mirrored, lane],
            wheels[wheel, WHEEL.friction, lane],
            wheels[wheel, WHEEL.rolling, lane],
            wheels[wheel, WHEEL.rolling_radius, lane],
        ),
        Contact(carcass, wheels[wheel, WHEEL.rolling_speed, lane], wheels[wheel, WHEEL.start_load, lane]),
        Torques(
            wheels[wheel, WHEEL.drive_torque, lane],
            wheels[wheel, WHEEL.motor_torque, lane],
            wheels[wheel, WHEEL.brake_capacity, lane],
        ),
        Step(clock[CLOCK.reach], clock[CLOCK.rate]),
        (x / length, y / length, z / length),
        (frame[6], frame[7], frame[8]),
        to_frame(frame, u, v, w),
        to_frame(frame, p, q, r),
    )


@fused_kernel
def known_and_motion(car: WheelBlocks, wheel: int, local: int, lane: int) -> tuple[Known, Motion]:
    """Return what of a wheel's balance does not vary with its motion within a step, and its motion."""
    wheels = car.wheels
    length = _normal_length(wheels, wheel, lane)
    known = _known(wheels, car.frame, car.clock, wheel, lane, length)
    return known, Motion(
        _triple(wheels, wheel, WHEEL.frame_arm, lane),
        _triple(wheels, wheel, WHEEL.frame_axis, lane),
        _distance(wheels, wheel, lane, length),
        _triple(wheels, wheel, WHEEL.frame_velocity, lane),
        _triple(car.local_bodies, local, LOCAL_BODY.angular_velocity, lane),
        wheels[wheel, WHEEL.spin, lane],
        wheels[wheel, WHEEL.spin_acceleration, lane],
    )


@separate_kernel
def magic_forces(car: WheelBlocks, weights: FloatArray, wheel: int, local: int) -> None:
    """Add the balance of one item of the wheels to the body of their carriers; write forces, slips and spin
    residuals. ``weights`` (LANES): 1 where a lane is in use."""
    wheels, local_bodies = car.wheels, car.local_bodies
    for lane in range(LANES):
        # A lane that is not in use holds the same state as the first one.
        if weights[lane] == 0.0:
            _copy(wheels, local_bodies, wheel, local, lane)
            continue
        known, motion = known_and_motion(car, wheel, local, lane)
        balance = wheel_balance(car.tyres[wheel, lane], known, motion)
        _store_balance(wheels, wheel, lane, balance, known.push)
        _store_slips(wheels, wheel, lane, balance, car.clock[CLOCK.rate] > 0.0)
        for k in range(6):
            local_bodies[local, LOCAL_BODY.force + k, lane] += wheels[wheel, WHEEL.carrier_residual + k, lane]


@fused_kernel
def _store_balance(wheels: FloatArray, wheel: int, lane: int, balance: Balance, push: Triple) -> None:
    for k in range(3):
        wheels[wheel, WHEEL.tyre_force + k, lane] = -balance.force[k] - push[k]
        wheels[wheel, WHEEL.tyre_moment + k, lane] = balance.tyre_moment[k]
        wheels[wheel, WHEEL.carrier_residual + k, lane] = balance.force[k]
        wheels[wheel, WHEEL.carrier_residual + 3 + k, lane] = balance.moment[k]
    wheels[wheel, WHEEL.spin_residual, lane] = balance.spin_residual
    wheels[wheel, WHEEL.load, lane] = balance.load
    wheels[wheel, WHEEL.contact_force, lane] = balance.force_x
    wheels[wheel, WHEEL.contact_force + 1, lane] = balance.force_y
    wheels[wheel, WHEEL.brake_torque, lane] = balance.brake_torque


@fused_kernel
def _store_slips(wheels: FloatArray, wheel: int, lane: int, balance: Balance, in_step: bool) -> None:
    """Write the slips at the end of the step and, where a step is taken, the deflections."""
    slips = balance.slip_x, balance.slip_y
    growth = length_growth(balance.load, wheels[wheel, WHEEL.start_load, lane])
    for k in range(2):
        wheels[wheel, WHEEL.slip + k, lane] = slips[k]
        change = growth * slips[k] - wheels[wheel, WHEEL.start_slip + k, lane]
        change *= wheels[wheel, WHEEL.relaxation + k, lane]
        if in_step:
            wheels[wheel, WHEEL.deflection + k, lane] = (
                wheels[wheel, WHEEL.start_deflection + k, lane] + change
            )


@fused_kernel
def _copy(wheels: FloatArray, local_bodies: FloatArray, wheel: int, local: int, lane: int) -> None:
    for k in range(wheels.shape[1]):
        wheels[wheel, k, lane] = wheels[wheel, k, 0]
    for k in range(6):
        local_bodies[local, LOCAL_BODY.force + k, lane] += wheels[wheel, WHEEL.carrier_residual + k, 0]
