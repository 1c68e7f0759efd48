"""The Magic Formula tyres of a group: from the blocks of the car to each wheel's balance and back."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel, separate_kernel
from mastd.lanes import LANES
from mastd.vehicle.blocks.fields import CLOCK, LOCAL_BODY, WHEEL
from mastd.vehicle.blocks.vectors import Triple, cross, scaled, to_frame
from mastd.vehicle.magic_formula.wheel import MIN_LOAD, ROLLING_FROM, growth_of, relaxation, wheel_balance

Known = tuple[
    tuple[float, float, float, float, float],
    tuple[float, float, float, float, float, float, float, float, float],
    tuple[float, float, float],
    tuple[float, float],
    Triple,
    Triple,
    Triple,
    Triple,
]

STEP: Final = 1e-30
"""ε of the complex step: far below all rounding, far above the smallest number."""


@fused_kernel
def _triple(block: FloatArray, item: int, first: int, lane: int) -> Triple:
    return block[item, first, lane], block[item, first + 1, lane], block[item, first + 2, lane]


@separate_kernel
def prepare_tyres(wheels: FloatArray, tyres: FloatArray, wheel: int, moving: bool) -> None:
    """Write what the tyres of one item of the wheels keep during a step: see ``magic_wheel``.

    ``moving``: a step begins; else a state is looked at, and deflections stay as they are.
    """
    for lane in range(LANES):
        least = MIN_LOAD if moving else wheels[wheel, WHEEL.rest_load, lane]
        u, v, slip_x, slip_y, along, across, sliding = relaxation(
            tyres[wheel, lane],
            wheels[wheel, WHEEL.load, lane],
            wheels[wheel, WHEEL.deflection, lane],
            wheels[wheel, WHEEL.deflection + 1, lane],
            max(least, MIN_LOAD),
        )
        wheels[wheel, WHEEL.start_deflection, lane] = u
        wheels[wheel, WHEEL.start_deflection + 1, lane] = v
        wheels[wheel, WHEEL.start_slip, lane] = slip_x
        wheels[wheel, WHEEL.start_slip + 1, lane] = slip_y
        wheels[wheel, WHEEL.relaxation, lane] = along
        wheels[wheel, WHEEL.relaxation + 1, lane] = across
        wheels[wheel, WHEEL.start_load, lane] = max(wheels[wheel, WHEEL.load, lane], least, MIN_LOAD)
        wheels[wheel, WHEEL.sliding, lane] = sliding
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
    """Return what of a wheel's balance does not vary with the motion: the first arguments of
    ``wheel_balance``."""
    x, y, z = _triple(wheels, wheel, WHEEL.frame_normal, lane)
    u, v, w = _triple(wheels, wheel, WHEEL.ground_angular_velocity, lane)
    p, q, r = _triple(wheels, wheel, WHEEL.chock_force, lane)
    return (
        (
            wheels[wheel, WHEEL.axial_inertia, lane],
            wheels[wheel, WHEEL.mirrored, lane],
            wheels[wheel, WHEEL.friction, lane],
            wheels[wheel, WHEEL.rolling, lane],
            wheels[wheel, WHEEL.rolling_radius, lane],
        ),
        (
            wheels[wheel, WHEEL.start_deflection, lane],
            wheels[wheel, WHEEL.start_deflection + 1, lane],
            wheels[wheel, WHEEL.start_slip, lane],
            wheels[wheel, WHEEL.start_slip + 1, lane],
            wheels[wheel, WHEEL.relaxation, lane],
            wheels[wheel, WHEEL.relaxation + 1, lane],
            wheels[wheel, WHEEL.sliding, lane],
            wheels[wheel, WHEEL.rolling_speed, lane],
            wheels[wheel, WHEEL.start_load, lane],
        ),
        (
            wheels[wheel, WHEEL.drive_torque, lane],
            wheels[wheel, WHEEL.motor_torque, lane],
            wheels[wheel, WHEEL.brake_capacity, lane],
        ),
        (clock[CLOCK.reach], clock[CLOCK.rate]),
        (x / length, y / length, z / length),
        (frame[6], frame[7], frame[8]),
        to_frame(frame, u, v, w),
        to_frame(frame, p, q, r),
    )


@separate_kernel
def magic_forces(
    wheels: FloatArray,
    local_bodies: FloatArray,
    tyres: FloatArray,
    frame: FloatArray,
    clock: FloatArray,
    weights: FloatArray,
    group: int,
    wheel: int,
    local: int,
) -> None:
    """Add the balance of one item of the wheels to the slot of their carriers; write forces, slips and spin
    moments."""
    for lane in range(LANES):
        # A lane that is not in use holds the same state as the first one.
        if weights[group, lane] == 0.0:
            _copy(wheels, local_bodies, wheel, local, lane)
            continue
        length = _normal_length(wheels, wheel, lane)
        known = _known(wheels, frame, clock, wheel, lane, length)
        push = known[7]
        force, moment, spin_moment, pressed, along, across, slip_x, slip_y, brake, about = wheel_balance(
            tyres[wheel, lane],
            *known,
            _triple(wheels, wheel, WHEEL.frame_arm, lane),
            _triple(wheels, wheel, WHEEL.frame_axis, lane),
            _distance(wheels, wheel, lane, length),
            _triple(wheels, wheel, WHEEL.frame_velocity, lane),
            _triple(local_bodies, local, LOCAL_BODY.angular_velocity, lane),
            wheels[wheel, WHEEL.spin, lane],
            wheels[wheel, WHEEL.spin_acceleration, lane],
        )
        for k in range(3):
            wheels[wheel, WHEEL.tyre_force + k, lane] = -force[k] - push[k]
            wheels[wheel, WHEEL.tyre_moment + k, lane] = about[k]
            wheels[wheel, WHEEL.carrier_residual + k, lane] = force[k]
            wheels[wheel, WHEEL.carrier_residual + 3 + k, lane] = moment[k]
        wheels[wheel, WHEEL.spin_residual, lane] = spin_moment
        wheels[wheel, WHEEL.load, lane] = pressed
        wheels[wheel, WHEEL.contact_force, lane] = along
        wheels[wheel, WHEEL.contact_force + 1, lane] = across
        slips = slip_x, slip_y
        growth = growth_of(pressed, wheels[wheel, WHEEL.start_load, lane])
        for k in range(2):
            wheels[wheel, WHEEL.slip + k, lane] = slips[k]
            change = growth * slips[k] - wheels[wheel, WHEEL.start_slip + k, lane]
            change *= wheels[wheel, WHEEL.relaxation + k, lane]
            if clock[CLOCK.rate] > 0.0:
                wheels[wheel, WHEEL.deflection + k, lane] = (
                    wheels[wheel, WHEEL.start_deflection + k, lane] + change
                )
        wheels[wheel, WHEEL.brake_torque, lane] = brake
        for k in range(6):
            local_bodies[local, LOCAL_BODY.force + k, lane] += wheels[wheel, WHEEL.carrier_residual + k, lane]


@fused_kernel
def _copy(wheels: FloatArray, local_bodies: FloatArray, wheel: int, local: int, lane: int) -> None:
    for k in range(wheels.shape[1]):
        wheels[wheel, k, lane] = wheels[wheel, k, 0]
    for k in range(6):
        local_bodies[local, LOCAL_BODY.force + k, lane] += wheels[wheel, WHEEL.carrier_residual + k, 0]


@fused_kernel
def _varied(x: float, u: float) -> Any:
    """Return x + i ε u."""
    return complex(x, STEP * u)


@fused_kernel
def _all_varied(x: Triple, u: Triple) -> Any:
    return _varied(x[0], u[0]), _varied(x[1], u[1]), _varied(x[2], u[2])


@fused_kernel
def _derivative(x: Any) -> float:
    return float(x.imag / STEP)


@fused_kernel
def _unit(k: int) -> Triple:
    return 1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0


@fused_kernel
def _sum(u: Triple, v: Triple) -> Triple:
    return u[0] + v[0], u[1] + v[1], u[2] + v[2]


@separate_kernel
def magic_jacobian(
    wheels: FloatArray,
    local_bodies: FloatArray,
    tyres: FloatArray,
    frame: FloatArray,
    clock: FloatArray,
    cells: FloatArray,
    place: tuple[int, int, int, int, int, int],
    acceleration: float,
    velocity: float,
    displacement: float,
) -> None:
    """Add the derivatives of ``magic_forces`` by shift and turn of the carrier and by the spin.

    ``place``: item of the wheels, local body of the carrier, first cell and size of the group's matrix,
    columns of the carrier and of the spin. The weights are those of ``group_jacobian``. Variations: δ of a
    vector fixed in the carrier is δπ × s, of its rate δπ × (ω × s), of ω itself δπ × ω.
    """
    wheel, local, first, size, b, spin = place
    for lane in range(LANES):
        length = _normal_length(wheels, wheel, lane)
        known = _known(wheels, frame, clock, wheel, lane, length)
        arm, axis = (
            _triple(wheels, wheel, WHEEL.frame_arm, lane),
            _triple(wheels, wheel, WHEEL.frame_axis, lane),
        )
        speed, turn = (
            _triple(wheels, wheel, WHEEL.frame_velocity, lane),
            _triple(local_bodies, local, LOCAL_BODY.angular_velocity, lane),
        )
        normal = known[4]
        arm_rate = cross(turn[0], turn[1], turn[2], arm[0], arm[1], arm[2])
        for column in range(7):
            direction = _unit(column % 3) if column < 6 else (0.0, 0.0, 0.0)
            shifts, turns = 1.0 if column < 3 else 0.0, 1.0 if 3 <= column < 6 else 0.0
            spins = 1.0 if column == 6 else 0.0
            d = direction
            d_arm = scaled(turns, cross(d[0], d[1], d[2], arm[0], arm[1], arm[2]))
            d_axis = scaled(turns, cross(d[0], d[1], d[2], axis[0], axis[1], axis[2]))
            d_rate = scaled(turns, cross(d[0], d[1], d[2], arm_rate[0], arm_rate[1], arm_rate[2]))
            d_turn = scaled(turns, cross(d[0], d[1], d[2], turn[0], turn[1], turn[2]))
            d_place = _sum(scaled(shifts, d), d_arm)
            d_speed = _sum(scaled(displacement, d_rate), scaled(velocity, d_place))
            d_turning = _sum(scaled(displacement, d_turn), scaled(velocity * turns, d))
            d_height = displacement * (
                normal[0] * d_place[0] + normal[1] * d_place[1] + normal[2] * d_place[2]
            )
            force, moment, spin_moment, _, _, _, _, _, _, _ = wheel_balance(
                tyres[wheel, lane],
                *known,
                _all_varied(arm, scaled(displacement, d_arm)),
                _all_varied(axis, scaled(displacement, d_axis)),
                _varied(_distance(wheels, wheel, lane, length), d_height),
                _all_varied(speed, d_speed),
                _all_varied(turn, d_turning),
                _varied(wheels[wheel, WHEEL.spin, lane], velocity * spins),
                _varied(wheels[wheel, WHEEL.spin_acceleration, lane], acceleration * spins),
            )
            at = b + column if column < 6 else spin
            for k in range(3):
                cells[first + (b + k) * size + at, lane] += _derivative(force[k])
                cells[first + (b + 3 + k) * size + at, lane] += _derivative(moment[k])
            cells[first + spin * size + at, lane] += _derivative(spin_moment)
