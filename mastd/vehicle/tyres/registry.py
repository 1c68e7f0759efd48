"""All kinds of tyres: which a wheel has, its packing, and its kernels."""

from __future__ import annotations

from typing import Final, TypeAlias

from mastd.arrays import FloatArray, IntArray
from mastd.kernel import fused_kernel
from mastd.lanes import load, store
from mastd.vehicle.blocks.columns import column_of
from mastd.vehicle.blocks.fields import GROUP, LOCAL_BODY, WHEEL
from mastd.vehicle.blocks.matrix_blocks import Weights, add_cross
from mastd.vehicle.blocks.vectors import add3, store3
from mastd.vehicle.blocks.wheels import WheelBlocks, WheelColumns
from mastd.vehicle.magic_formula.force import magic_forces, prepare_magic
from mastd.vehicle.magic_formula.jacobian import magic_jacobian
from mastd.vehicle.magic_formula.tyre import MagicTyre, fill_magic_tyre
from mastd.vehicle.tyres.linear import linear_forces
from mastd.vehicle.tyres.linear_jacobian import linear_jacobian
from mastd.vehicle.tyres.linear_tyre import Tyre, fill_linear_tyre
from mastd.vehicle.tyres.motion import wheel_motion

AnyTyre: TypeAlias = Tyre | MagicTyre
LINEAR_TYRE: Final = 0
MAGIC_TYRE: Final = 1


def kind_of(tyre: AnyTyre) -> int:
    """Return the number of a tyre's kind, as ``GROUP.tyre`` has it."""
    return MAGIC_TYRE if isinstance(tyre, MagicTyre) else LINEAR_TYRE


def fill_tyre(values: FloatArray, coefficients: FloatArray, tyre: AnyTyre) -> None:
    """Write a tyre to the values (WHEEL) and the coefficients (COUNT) of its wheel."""
    values[WHEEL.free_radius] = tyre.free_radius
    values[WHEEL.rolling_radius] = tyre.rolling_radius
    values[WHEEL.tyre_stiffness] = tyre.stiffness
    values[WHEEL.tyre_damping] = tyre.damping
    if isinstance(tyre, MagicTyre):
        fill_magic_tyre(values, coefficients, tyre)
    else:
        fill_linear_tyre(values, tyre)


@fused_kernel
def prepare_tyres(wheels: FloatArray, tyres: FloatArray, line: IntArray, moving: bool) -> None:
    """Write what a group's tyres keep during a step; ``moving``: one begins."""
    if line[GROUP.wheel] >= 0 and line[GROUP.tyre] == MAGIC_TYRE:
        prepare_magic(wheels, tyres, line[GROUP.wheel], moving)


@fused_kernel
def tyre_forces(blocks: WheelBlocks, bodies: FloatArray, line: IntArray, weights: FloatArray) -> None:
    """Add a group's tyre forces and the moments of its wheels' spin; write the out-of-balance spin moments.

    ``weights`` (LANES): 1 where a lane is in use.
    """
    wheel = line[GROUP.wheel]
    if wheel < 0:
        return
    wheels, local_bodies = blocks.wheels, blocks.local_bodies
    local = line[GROUP.first_local] + line[GROUP.carrier]
    motion = wheel_motion(wheels, local_bodies, bodies, blocks.frame, wheel, local)
    arm, axis, w, height, m = motion
    store(wheels, wheel, WHEEL.tyre_height, height)
    if line[GROUP.tyre] == MAGIC_TYRE:
        store3(wheels, wheel, WHEEL.frame_arm, arm[0], arm[1], arm[2])
        store3(wheels, wheel, WHEEL.frame_axis, axis[0], axis[1], axis[2])
        store3(wheels, wheel, WHEEL.frame_velocity, w[0], w[1], w[2])
        store3(wheels, wheel, WHEEL.frame_normal, m[0], m[1], m[2])
        magic_forces(blocks, weights, wheel, local)
    else:
        linear_forces(blocks, wheel, local, motion)
    drive, chassis = load(wheels, wheel, WHEEL.drive_torque), line[GROUP.first_local]
    add3(local_bodies, chassis, LOCAL_BODY.moment, drive * axis[0], drive * axis[1], drive * axis[2])


@fused_kernel
def tyre_jacobian(
    blocks: WheelBlocks, bodies: FloatArray, line: IntArray, cells: FloatArray, weights: Weights
) -> None:
    """Add stiffness, damping and slip of a group's tyres, inertia and gyroscopic terms of the spins."""
    wheel = line[GROUP.wheel]
    if wheel < 0:
        return
    wheels, first, size = blocks.wheels, line[GROUP.first_cell], line[GROUP.size]
    local = line[GROUP.first_local] + line[GROUP.carrier]
    b, spin = column_of(line, line[GROUP.carrier]), line[GROUP.spin_unknown]
    motion = wheel_motion(wheels, blocks.local_bodies, bodies, blocks.frame, wheel, local)
    at = WheelColumns(wheel, local, first, size, b, spin)
    drive = load(wheels, wheel, WHEEL.drive_torque)
    chassis = column_of(line, 0)
    add_cross(cells, first, size, chassis + 3, b + 3, -weights.displacement * drive, motion.axis)
    if line[GROUP.tyre] == MAGIC_TYRE:
        magic_jacobian(blocks, cells, at, weights)
    else:
        linear_jacobian(blocks, cells, at, motion, weights)
