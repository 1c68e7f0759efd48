"""Derivatives of the wheels on Magic Formula tyres, by the complex step."""

from __future__ import annotations

from typing import Any, Final

from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel, separate_kernel
from mastd.lanes import LANES
from mastd.vehicle.blocks.matrix_blocks import Weights
from mastd.vehicle.blocks.vectors import Triple, cross, scaled
from mastd.vehicle.blocks.wheels import WheelBlocks, WheelColumns
from mastd.vehicle.magic_formula.force import known_and_motion
from mastd.vehicle.magic_formula.wheel import Motion, wheel_balance

STEP: Final = 1e-30
"""ε of the complex step: far below all rounding, far above the smallest number."""


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
def magic_jacobian(car: WheelBlocks, cells: FloatArray, columns: WheelColumns, weights: Weights) -> None:
    """Add the derivatives of ``magic_forces`` by shift and rotation of the carrier and by the spin.

    Variations: δ of a vector fixed in the carrier is δπ × s, of its rate δπ × (ω × s), of ω itself δπ × ω.
    """
    wheel, local = columns.wheel, columns.local
    first, size, b, spin = columns.first, columns.size, columns.carrier, columns.spin
    for lane in range(LANES):
        known, motion = known_and_motion(car, wheel, local, lane)
        arm, omega = motion.arm, motion.angular_velocity
        arm_rate = cross(omega[0], omega[1], omega[2], arm[0], arm[1], arm[2])
        for column in range(7):
            varied = _varied_motion(motion, arm_rate, known.normal, column, weights)
            balance = wheel_balance(car.tyres[wheel, lane], known, varied)
            at = b + column if column < 6 else spin
            for k in range(3):
                cells[first + (b + k) * size + at, lane] += _derivative(balance.force[k])
                cells[first + (b + 3 + k) * size + at, lane] += _derivative(balance.moment[k])
            cells[first + spin * size + at, lane] += _derivative(balance.spin_residual)


@fused_kernel
def _varied_motion(motion: Motion, arm_rate: Triple, normal: Triple, column: int, weights: Weights) -> Any:
    """Return the motion with the variation of one column: shift, rotation or spin."""
    arm, axis, omega = motion.arm, motion.axis, motion.angular_velocity
    velocity, displacement = weights.velocity, weights.displacement
    d = _unit(column % 3) if column < 6 else (0.0, 0.0, 0.0)
    is_translation, is_rotation = 1.0 if column < 3 else 0.0, 1.0 if 3 <= column < 6 else 0.0
    is_spin = 1.0 if column == 6 else 0.0
    d_arm = scaled(is_rotation, cross(d[0], d[1], d[2], arm[0], arm[1], arm[2]))
    d_axis = scaled(is_rotation, cross(d[0], d[1], d[2], axis[0], axis[1], axis[2]))
    d_rate = scaled(is_rotation, cross(d[0], d[1], d[2], arm_rate[0], arm_rate[1], arm_rate[2]))
    d_omega = scaled(is_rotation, cross(d[0], d[1], d[2], omega[0], omega[1], omega[2]))
    d_point = _sum(scaled(is_translation, d), d_arm)
    d_velocity = _sum(scaled(displacement, d_rate), scaled(velocity, d_point))
    omega_variation = _sum(scaled(displacement, d_omega), scaled(velocity * is_rotation, d))
    d_height = displacement * (normal[0] * d_point[0] + normal[1] * d_point[1] + normal[2] * d_point[2])
    return Motion(
        _all_varied(arm, scaled(displacement, d_arm)),
        _all_varied(axis, scaled(displacement, d_axis)),
        _varied(motion.height, d_height),
        _all_varied(motion.velocity, d_velocity),
        _all_varied(omega, omega_variation),
        _varied(motion.spin, velocity * is_spin),
        _varied(motion.spin_acceleration, weights.acceleration * is_spin),
    )
