"""The end of every wheel's equations: what it adds to its carrier, and its spin's own equation.

The same for numbers, complex numbers and lanes. With the tyre's force F and moment M about the wheel centre,
the spin Ω about the axis a and the axial inertia I: I dΩ/dt = M·a + drive + motor + brake, and the carrier
takes F at the arm of the wheel centre, the rest of M, the gyroscopic moment −ω × I Ω a and the reactions of
motor and brake.
"""

from __future__ import annotations

from typing import NamedTuple

from mastd.kernel import fused_kernel
from mastd.vehicle.blocks.vectors import Triple, cross


class Spin(NamedTuple):
    """Rotation of a wheel about its axis."""

    inertia: float
    """kg m2, axial."""
    speed: float
    acceleration: float


class SpinTorques(NamedTuple):
    """Torques about a wheel's axis, N m, forwards positive."""

    tyre: float
    drive: float
    on_carrier: float
    """Of motor and friction brake, whose reaction the carrier takes."""


@fused_kernel
def spin_residual(spin: Spin, torques: SpinTorques) -> float:
    """Return I dΩ/dt − all torques, N m."""
    found: float = spin.inertia * spin.acceleration - torques.tyre - torques.drive - torques.on_carrier
    return found


@fused_kernel
def carrier_moment(
    arm: Triple,
    axis: Triple,
    axis_rate: Triple,
    force: Triple,
    moment: Triple,
    spin: Spin,
    torques: SpinTorques,
) -> Triple:
    """Return the moment on the carrier about its centre of mass, N m; ``axis_rate``: ω × a, 1/s."""
    x, y, z = cross(arm[0], arm[1], arm[2], force[0], force[1], force[2])
    rest, momentum = torques.tyre + torques.on_carrier, spin.inertia * spin.speed
    return (
        x + moment[0] - rest * axis[0] - momentum * axis_rate[0],
        y + moment[1] - rest * axis[1] - momentum * axis_rate[1],
        z + moment[2] - rest * axis[2] - momentum * axis_rate[2],
    )
