"""Forward kinematics of many poses at once: the second-order observer on blocks of poses side by side.

For seven actuators the poses of a block go through the same operations together, eight to a vector register:
two corrected updates from neutral (``second_order.observe_second_order``), then the residual.
The few poses that need a third one are gathered into blocks of their own. Those that need more, have angles
beyond the short series or measured lengths are finished one by one by ``observe`` from where they stand.
Other numbers of actuators take the scalar kernel throughout.

Lines that look alike are written out: shared between kernels, through tuples, they cost a third of the speed.
"""

from __future__ import annotations

import math
from typing import Annotated, Final, NamedTuple

from mastd.arrays import BoolArray, FloatArray, IntArray
from mastd.bench.kinematics.second_order import SecondOrder
from mastd.index_table import Entry, index_table, size_of
from mastd.kernel import fused_kernel
from mastd.kinematics.geometry import Legs
from mastd.kinematics.observer import SolveLimits, observe
from mastd.kinematics.rotation import SMALL_ANGLE, Nine, Six, rotation_of, small_sine_cosine

LANES = 32
VECTOR_ACTUATORS = 7


class BlockRow(NamedTuple):
    """Rows of the scratch block, LANES numbers each."""

    pose: Annotated[int, Entry("m", "x y z, then the angles, rad", 6)]
    step: Annotated[int, Entry("m", "d = K (l − l̂), as the pose", 6)]
    given: Annotated[int, Entry("m", "z = K (l − l₀), as the pose", 6)]
    lengths: Annotated[int, Entry("m", "measured", VECTOR_ACTUATORS)]
    residual: Annotated[int, Entry("m", "Σ|l − l̂|")]


BLOCK: Final = index_table(BlockRow)


class ConstantRow(NamedTuple):
    """The packed constants, behind the block in the scratch."""

    table: Annotated[int, Entry("m", "joints of the table", 3 * VECTOR_ACTUATORS)]
    base: Annotated[int, Entry("m", "neutral position − joints of the base", 3 * VECTOR_ACTUATORS)]
    gain: Annotated[int, Entry("1", "K, actuator by actuator", 6 * VECTOR_ACTUATORS)]
    neutral: Annotated[int, Entry("m", "lengths l₀", VECTOR_ACTUATORS)]
    curvature: Annotated[int, Entry("1", "Q: of each of 21 products its six numbers", 126)]


CONSTANT: Final = index_table(ConstantRow)
_CONSTANTS: Final = size_of(BLOCK) * LANES
SCRATCH_SIZE: Final = _CONSTANTS + size_of(CONSTANT)
"""Numbers of scratch that ``observe_batch`` needs."""


class Batch(NamedTuple):
    """Results: ``poses`` (m, 6), NaN where not ``converged`` (m,); ``residuals`` Σ|l̂ − l| (m,), m."""

    poses: FloatArray
    residuals: FloatArray
    converged: BoolArray


@fused_kernel
def _pack(legs: Legs, model: SecondOrder, constants: FloatArray) -> None:
    """Put the constants in the order of use; base joints are taken against the neutral position."""
    for i in range(VECTOR_ACTUATORS):
        for axis in range(3):
            constants[CONSTANT.table + 3 * i + axis] = legs.table_joints[i, axis]
            constants[CONSTANT.base + 3 * i + axis] = legs.neutral_position[axis] - legs.base_joints[i, axis]
        for k in range(6):
            constants[CONSTANT.gain + 6 * i + k] = model.gain[k, i]
        constants[CONSTANT.neutral + i] = model.neutral_lengths[i]
    entry = CONSTANT.curvature
    for i in range(6):
        for j in range(i + 1):
            for k in range(6):
                constants[entry] = model.curvature[i, 6 * k + j]
                entry += 1


@fused_kernel
def _start_block(constants: FloatArray, block: FloatArray) -> None:
    """First step of every lane: d = z = K (l − l₀), pose 0."""
    for lane in range(LANES):
        d0 = d1 = d2 = d3 = d4 = d5 = 0.0
        for i in range(VECTOR_ACTUATORS):
            error = block[(BLOCK.lengths + i) * LANES + lane] - constants[CONSTANT.neutral + i]
            d0 += constants[CONSTANT.gain + 6 * i] * error
            d1 += constants[CONSTANT.gain + 6 * i + 1] * error
            d2 += constants[CONSTANT.gain + 6 * i + 2] * error
            d3 += constants[CONSTANT.gain + 6 * i + 3] * error
            d4 += constants[CONSTANT.gain + 6 * i + 4] * error
            d5 += constants[CONSTANT.gain + 6 * i + 5] * error
        block[BLOCK.step * LANES + lane] = d0
        block[(BLOCK.step + 1) * LANES + lane] = d1
        block[(BLOCK.step + 2) * LANES + lane] = d2
        block[(BLOCK.step + 3) * LANES + lane] = d3
        block[(BLOCK.step + 4) * LANES + lane] = d4
        block[(BLOCK.step + 5) * LANES + lane] = d5
    for m in range(6 * LANES):
        block[BLOCK.pose * LANES + m] = 0.0
        block[BLOCK.given * LANES + m] = block[BLOCK.step * LANES + m]


@fused_kernel
def _lane_rotation(block: FloatArray, lane: int) -> Nine:
    """Rotation matrix of one lane, its angles within SMALL_ANGLE."""
    sr, cr = small_sine_cosine(block[(BLOCK.pose + 3) * LANES + lane])
    sp, cp = small_sine_cosine(block[(BLOCK.pose + 4) * LANES + lane])
    sy, cy = small_sine_cosine(block[(BLOCK.pose + 5) * LANES + lane])
    return rotation_of(sr, cr, sp, cp, sy, cy)


@fused_kernel
def _step_block(constants: FloatArray, block: FloatArray) -> None:
    """Step d = K (l − l̂) of every lane."""
    for lane in range(LANES):
        x = block[BLOCK.pose * LANES + lane]
        y = block[(BLOCK.pose + 1) * LANES + lane]
        z = block[(BLOCK.pose + 2) * LANES + lane]
        r00, r01, r02, r10, r11, r12, r20, r21, r22 = _lane_rotation(block, lane)
        d0 = d1 = d2 = d3 = d4 = d5 = 0.0
        for i in range(VECTOR_ACTUATORS):
            px = constants[CONSTANT.table + 3 * i]
            py = constants[CONSTANT.table + 3 * i + 1]
            pz = constants[CONSTANT.table + 3 * i + 2]
            lx = constants[CONSTANT.base + 3 * i] + x + r00 * px + r01 * py + r02 * pz
            ly = constants[CONSTANT.base + 3 * i + 1] + y + r10 * px + r11 * py + r12 * pz
            lz = constants[CONSTANT.base + 3 * i + 2] + z + r20 * px + r21 * py + r22 * pz
            error = block[(BLOCK.lengths + i) * LANES + lane] - math.sqrt(lx * lx + ly * ly + lz * lz)
            d0 += constants[CONSTANT.gain + 6 * i] * error
            d1 += constants[CONSTANT.gain + 6 * i + 1] * error
            d2 += constants[CONSTANT.gain + 6 * i + 2] * error
            d3 += constants[CONSTANT.gain + 6 * i + 3] * error
            d4 += constants[CONSTANT.gain + 6 * i + 4] * error
            d5 += constants[CONSTANT.gain + 6 * i + 5] * error
        block[BLOCK.step * LANES + lane] = d0
        block[(BLOCK.step + 1) * LANES + lane] = d1
        block[(BLOCK.step + 2) * LANES + lane] = d2
        block[(BLOCK.step + 3) * LANES + lane] = d3
        block[(BLOCK.step + 4) * LANES + lane] = d4
        block[(BLOCK.step + 5) * LANES + lane] = d5


@fused_kernel
def _residual_block(constants: FloatArray, block: FloatArray) -> None:
    """Residual Σ|l − l̂| of every lane; NaN where an angle is beyond the series or a length not positive."""
    for lane in range(LANES):
        x = block[BLOCK.pose * LANES + lane]
        y = block[(BLOCK.pose + 1) * LANES + lane]
        z = block[(BLOCK.pose + 2) * LANES + lane]
        r00, r01, r02, r10, r11, r12, r20, r21, r22 = _lane_rotation(block, lane)
        residual = 0.0
        shortest = math.inf
        for i in range(VECTOR_ACTUATORS):
            px = constants[CONSTANT.table + 3 * i]
            py = constants[CONSTANT.table + 3 * i + 1]
            pz = constants[CONSTANT.table + 3 * i + 2]
            lx = constants[CONSTANT.base + 3 * i] + x + r00 * px + r01 * py + r02 * pz
            ly = constants[CONSTANT.base + 3 * i + 1] + y + r10 * px + r11 * py + r12 * pz
            lz = constants[CONSTANT.base + 3 * i + 2] + z + r20 * px + r21 * py + r22 * pz
            length = block[(BLOCK.lengths + i) * LANES + lane]
            residual += abs(length - math.sqrt(lx * lx + ly * ly + lz * lz))
            shortest = min(shortest, length)
        angle = max(
            abs(block[(BLOCK.pose + 3) * LANES + lane]),
            abs(block[(BLOCK.pose + 4) * LANES + lane]),
            abs(block[(BLOCK.pose + 5) * LANES + lane]),
        )
        valid = (angle <= SMALL_ANGLE) & (shortest > 0.0)
        block[BLOCK.residual * LANES + lane] = residual if valid else math.nan


@fused_kernel
def _add(constants: FloatArray, entry: int, product: float, total: Six) -> Six:
    """Return ``total`` plus ``product`` times the six constants from ``entry`` on."""
    return (
        total[0] + constants[entry] * product,
        total[1] + constants[entry + 1] * product,
        total[2] + constants[entry + 2] * product,
        total[3] + constants[entry + 3] * product,
        total[4] + constants[entry + 4] * product,
        total[5] + constants[entry + 5] * product,
    )


@fused_kernel
def _update_block(constants: FloatArray, block: FloatArray) -> None:
    """x ← x + d − Q(z − d/2, d) in every lane: the 21 products of a symmetric form, one after another."""
    for lane in range(LANES):
        d0 = block[BLOCK.step * LANES + lane]
        d1 = block[(BLOCK.step + 1) * LANES + lane]
        d2 = block[(BLOCK.step + 2) * LANES + lane]
        d3 = block[(BLOCK.step + 3) * LANES + lane]
        d4 = block[(BLOCK.step + 4) * LANES + lane]
        d5 = block[(BLOCK.step + 5) * LANES + lane]
        v0 = block[BLOCK.given * LANES + lane] - 0.5 * d0
        v1 = block[(BLOCK.given + 1) * LANES + lane] - 0.5 * d1
        v2 = block[(BLOCK.given + 2) * LANES + lane] - 0.5 * d2
        v3 = block[(BLOCK.given + 3) * LANES + lane] - 0.5 * d3
        v4 = block[(BLOCK.given + 4) * LANES + lane] - 0.5 * d4
        v5 = block[(BLOCK.given + 5) * LANES + lane] - 0.5 * d5
        c = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        c = _add(constants, CONSTANT.curvature, d0 * v0, c)
        c = _add(constants, CONSTANT.curvature + 6, d1 * v0 + d0 * v1, c)
        c = _add(constants, CONSTANT.curvature + 12, d1 * v1, c)
        c = _add(constants, CONSTANT.curvature + 18, d2 * v0 + d0 * v2, c)
        c = _add(constants, CONSTANT.curvature + 24, d2 * v1 + d1 * v2, c)
        c = _add(constants, CONSTANT.curvature + 30, d2 * v2, c)
        c = _add(constants, CONSTANT.curvature + 36, d3 * v0 + d0 * v3, c)
        c = _add(constants, CONSTANT.curvature + 42, d3 * v1 + d1 * v3, c)
        c = _add(constants, CONSTANT.curvature + 48, d3 * v2 + d2 * v3, c)
        c = _add(constants, CONSTANT.curvature + 54, d3 * v3, c)
        c = _add(constants, CONSTANT.curvature + 60, d4 * v0 + d0 * v4, c)
        c = _add(constants, CONSTANT.curvature + 66, d4 * v1 + d1 * v4, c)
        c = _add(constants, CONSTANT.curvature + 72, d4 * v2 + d2 * v4, c)
        c = _add(constants, CONSTANT.curvature + 78, d4 * v3 + d3 * v4, c)
        c = _add(constants, CONSTANT.curvature + 84, d4 * v4, c)
        c = _add(constants, CONSTANT.curvature + 90, d5 * v0 + d0 * v5, c)
        c = _add(constants, CONSTANT.curvature + 96, d5 * v1 + d1 * v5, c)
        c = _add(constants, CONSTANT.curvature + 102, d5 * v2 + d2 * v5, c)
        c = _add(constants, CONSTANT.curvature + 108, d5 * v3 + d3 * v5, c)
        c = _add(constants, CONSTANT.curvature + 114, d5 * v4 + d4 * v5, c)
        c = _add(constants, CONSTANT.curvature + 120, d5 * v5, c)
        block[BLOCK.pose * LANES + lane] += d0 - c[0]
        block[(BLOCK.pose + 1) * LANES + lane] += d1 - c[1]
        block[(BLOCK.pose + 2) * LANES + lane] += d2 - c[2]
        block[(BLOCK.pose + 3) * LANES + lane] += d3 - c[3]
        block[(BLOCK.pose + 4) * LANES + lane] += d4 - c[4]
        block[(BLOCK.pose + 5) * LANES + lane] += d5 - c[5]


@fused_kernel
def _load_block(lengths: FloatArray, index: IntArray, block: FloatArray) -> None:
    """Copy the lengths of the rows in ``index`` (LANES,) into the block."""
    for lane in range(LANES):
        row = index[lane]
        for i in range(VECTOR_ACTUATORS):
            block[(BLOCK.lengths + i) * LANES + lane] = lengths[row, i]


@fused_kernel
def _store_block(
    block: FloatArray,
    index: IntArray,
    tolerance: float,
    found: Batch,
) -> None:
    """Copy poses and residuals from the block to the rows in ``index`` (LANES,)."""
    poses, residuals, converged = found
    for lane in range(LANES):
        row = index[lane]
        for k in range(6):
            poses[row, k] = block[(BLOCK.pose + k) * LANES + lane]
        residuals[row] = block[BLOCK.residual * LANES + lane]
        converged[row] = residuals[row] < tolerance


@fused_kernel
def _observe_seven(
    constants: FloatArray,
    lengths: FloatArray,
    tolerance: float,
    found: Batch,
    block: FloatArray,
    index: IntArray,
) -> None:
    """Two updates for every row; then a third for the rows that need it, gathered into blocks.

    The last block is filled up with its last row, which is then computed several times over.
    """
    poses, residuals, converged = found
    rows = lengths.shape[0]
    for first in range(0, rows, LANES):
        for lane in range(LANES):
            index[lane] = min(first + lane, rows - 1)
        _load_block(lengths, index, block)
        _start_block(constants, block)
        _update_block(constants, block)
        _step_block(constants, block)
        _update_block(constants, block)
        _residual_block(constants, block)
        _store_block(block, index, tolerance, found)
    waiting = 0
    for row in range(rows):
        if not converged[row] and residuals[row] < math.inf:
            index[waiting] = row
            waiting += 1
        if waiting == LANES or (waiting > 0 and row == rows - 1):
            for lane in range(waiting, LANES):
                index[lane] = index[waiting - 1]
            _load_block(lengths, index, block)
            _start_block(constants, block)
            for lane in range(LANES):
                for k in range(6):
                    block[(BLOCK.pose + k) * LANES + lane] = poses[index[lane], k]
            _step_block(constants, block)
            _update_block(constants, block)
            _residual_block(constants, block)
            _store_block(block, index, tolerance, found)
            waiting = 0


@fused_kernel
def observe_batch(
    legs: Legs,
    model: SecondOrder,
    lengths: FloatArray,
    limits: SolveLimits,
    found: Batch,
    scratch: FloatArray,
    index: IntArray,
) -> None:
    """Find the pose of each row of ``lengths`` (m, n) from neutral.

    ``scratch`` (SCRATCH_SIZE,) and ``index`` (LANES,) are scratch.
    """
    rows = lengths.shape[0]
    poses, residuals, converged = found
    if lengths.shape[1] == VECTOR_ACTUATORS:
        constants = scratch[_CONSTANTS:]
        _pack(legs, model, constants)
        _observe_seven(constants, lengths, limits.tolerance, found, scratch, index)
    else:
        for row in range(rows):
            converged[row] = False
            residuals[row] = math.nan
    for row in range(rows):
        if not converged[row]:
            for k in range(6):
                if not (residuals[row] < math.inf):
                    poses[row, k] = 0.0
            converged[row], _, residuals[row] = observe(legs, model.gain, lengths[row], limits, poses[row])
            if not converged[row]:
                for k in range(6):
                    poses[row, k] = math.nan
