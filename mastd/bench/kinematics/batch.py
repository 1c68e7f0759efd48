"""Forward kinematics of many poses at once: the second-order observer on blocks of poses side by side.

For seven actuators the poses of a block go through the same operations together, eight to a vector register:
two corrected updates from neutral (``second_order.observe_second_order``), then the residual.
The few poses that need a third one are gathered into blocks of their own. Those that need more, have angles
beyond the short series or measured lengths are finished one by one by ``observe`` from where they stand.
Other numbers of actuators take the scalar kernel throughout.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from mastd.arrays import BoolArray, FloatArray, IntArray
from mastd.bench.kinematics.second_order import SecondOrder
from mastd.kernel import fused_kernel
from mastd.kinematics.geometry import Legs
from mastd.kinematics.observer import Six, SolveLimits, observe
from mastd.kinematics.rotation import SMALL_ANGLE, Nine, rotation_of, small_sine_cosine

LANES = 32
VECTOR_ACTUATORS = 7

# Rows of the scratch block, LANES numbers each.
_POSE, _STEP, _GIVEN, _LENGTHS, _RESIDUAL = 0, 6, 12, 18, 25
_CONSTANTS = (_RESIDUAL + 1) * LANES

# Offsets in the packed constants.
_TABLE, _BASE, _GAIN, _NEUTRAL, _CURVATURE = 0, 21, 42, 84, 91


class Batch(NamedTuple):
    """Results: ``poses`` (m, 6), NaN where not ``converged`` (m,); ``residuals`` Σ|l̂ − l| (m,), m."""

    poses: FloatArray
    residuals: FloatArray
    converged: BoolArray


# Numbers of scratch that ``observe_batch`` needs.
SCRATCH_SIZE = _CONSTANTS + _CURVATURE + 126


@fused_kernel
def _pack(legs: Legs, model: SecondOrder, constants: FloatArray) -> None:
    """Put the constants in the order of use; base joints are taken against the neutral position."""
    for i in range(VECTOR_ACTUATORS):
        for axis in range(3):
            constants[_TABLE + 3 * i + axis] = legs.table_joints[i, axis]
            constants[_BASE + 3 * i + axis] = legs.neutral_position[axis] - legs.base_joints[i, axis]
        for k in range(6):
            constants[_GAIN + 6 * i + k] = model.gain[k, i]
        constants[_NEUTRAL + i] = model.neutral_lengths[i]
    entry = _CURVATURE
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
            error = block[(_LENGTHS + i) * LANES + lane] - constants[_NEUTRAL + i]
            d0 += constants[_GAIN + 6 * i] * error
            d1 += constants[_GAIN + 6 * i + 1] * error
            d2 += constants[_GAIN + 6 * i + 2] * error
            d3 += constants[_GAIN + 6 * i + 3] * error
            d4 += constants[_GAIN + 6 * i + 4] * error
            d5 += constants[_GAIN + 6 * i + 5] * error
        block[_STEP * LANES + lane] = d0
        block[(_STEP + 1) * LANES + lane] = d1
        block[(_STEP + 2) * LANES + lane] = d2
        block[(_STEP + 3) * LANES + lane] = d3
        block[(_STEP + 4) * LANES + lane] = d4
        block[(_STEP + 5) * LANES + lane] = d5
    for m in range(6 * LANES):
        block[_POSE * LANES + m] = 0.0
        block[_GIVEN * LANES + m] = block[_STEP * LANES + m]


@fused_kernel
def _lane_rotation(block: FloatArray, lane: int) -> Nine:
    """Rotation matrix of one lane, its angles within SMALL_ANGLE."""
    sr, cr = small_sine_cosine(block[(_POSE + 3) * LANES + lane])
    sp, cp = small_sine_cosine(block[(_POSE + 4) * LANES + lane])
    sy, cy = small_sine_cosine(block[(_POSE + 5) * LANES + lane])
    return rotation_of(sr, cr, sp, cp, sy, cy)


@fused_kernel
def _step_block(constants: FloatArray, block: FloatArray) -> None:
    """Step d = K (l − l̂) of every lane."""
    for lane in range(LANES):
        x = block[_POSE * LANES + lane]
        y = block[(_POSE + 1) * LANES + lane]
        z = block[(_POSE + 2) * LANES + lane]
        r00, r01, r02, r10, r11, r12, r20, r21, r22 = _lane_rotation(block, lane)
        d0 = d1 = d2 = d3 = d4 = d5 = 0.0
        for i in range(VECTOR_ACTUATORS):
            px = constants[_TABLE + 3 * i]
            py = constants[_TABLE + 3 * i + 1]
            pz = constants[_TABLE + 3 * i + 2]
            lx = constants[_BASE + 3 * i] + x + r00 * px + r01 * py + r02 * pz
            ly = constants[_BASE + 3 * i + 1] + y + r10 * px + r11 * py + r12 * pz
            lz = constants[_BASE + 3 * i + 2] + z + r20 * px + r21 * py + r22 * pz
            error = block[(_LENGTHS + i) * LANES + lane] - math.sqrt(lx * lx + ly * ly + lz * lz)
            d0 += constants[_GAIN + 6 * i] * error
            d1 += constants[_GAIN + 6 * i + 1] * error
            d2 += constants[_GAIN + 6 * i + 2] * error
            d3 += constants[_GAIN + 6 * i + 3] * error
            d4 += constants[_GAIN + 6 * i + 4] * error
            d5 += constants[_GAIN + 6 * i + 5] * error
        block[_STEP * LANES + lane] = d0
        block[(_STEP + 1) * LANES + lane] = d1
        block[(_STEP + 2) * LANES + lane] = d2
        block[(_STEP + 3) * LANES + lane] = d3
        block[(_STEP + 4) * LANES + lane] = d4
        block[(_STEP + 5) * LANES + lane] = d5


@fused_kernel
def _residual_block(constants: FloatArray, block: FloatArray) -> None:
    """Residual Σ|l − l̂| of every lane; NaN where an angle is beyond the series or a length not positive."""
    for lane in range(LANES):
        x = block[_POSE * LANES + lane]
        y = block[(_POSE + 1) * LANES + lane]
        z = block[(_POSE + 2) * LANES + lane]
        r00, r01, r02, r10, r11, r12, r20, r21, r22 = _lane_rotation(block, lane)
        residual = 0.0
        shortest = math.inf
        for i in range(VECTOR_ACTUATORS):
            px = constants[_TABLE + 3 * i]
            py = constants[_TABLE + 3 * i + 1]
            pz = constants[_TABLE + 3 * i + 2]
            lx = constants[_BASE + 3 * i] + x + r00 * px + r01 * py + r02 * pz
            ly = constants[_BASE + 3 * i + 1] + y + r10 * px + r11 * py + r12 * pz
            lz = constants[_BASE + 3 * i + 2] + z + r20 * px + r21 * py + r22 * pz
            length = block[(_LENGTHS + i) * LANES + lane]
            residual += abs(length - math.sqrt(lx * lx + ly * ly + lz * lz))
            shortest = min(shortest, length)
        angle = max(
            abs(block[(_POSE + 3) * LANES + lane]),
            abs(block[(_POSE + 4) * LANES + lane]),
            abs(block[(_POSE + 5) * LANES + lane]),
        )
        valid = (angle <= SMALL_ANGLE) & (shortest > 0.0)
        block[_RESIDUAL * LANES + lane] = residual if valid else math.nan


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
        d0 = block[_STEP * LANES + lane]
        d1 = block[(_STEP + 1) * LANES + lane]
        d2 = block[(_STEP + 2) * LANES + lane]
        d3 = block[(_STEP + 3) * LANES + lane]
        d4 = block[(_STEP + 4) * LANES + lane]
        d5 = block[(_STEP + 5) * LANES + lane]
        v0 = block[_GIVEN * LANES + lane] - 0.5 * d0
        v1 = block[(_GIVEN + 1) * LANES + lane] - 0.5 * d1
        v2 = block[(_GIVEN + 2) * LANES + lane] - 0.5 * d2
        v3 = block[(_GIVEN + 3) * LANES + lane] - 0.5 * d3
        v4 = block[(_GIVEN + 4) * LANES + lane] - 0.5 * d4
        v5 = block[(_GIVEN + 5) * LANES + lane] - 0.5 * d5
        c = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        c = _add(constants, _CURVATURE, d0 * v0, c)
        c = _add(constants, _CURVATURE + 6, d1 * v0 + d0 * v1, c)
        c = _add(constants, _CURVATURE + 12, d1 * v1, c)
        c = _add(constants, _CURVATURE + 18, d2 * v0 + d0 * v2, c)
        c = _add(constants, _CURVATURE + 24, d2 * v1 + d1 * v2, c)
        c = _add(constants, _CURVATURE + 30, d2 * v2, c)
        c = _add(constants, _CURVATURE + 36, d3 * v0 + d0 * v3, c)
        c = _add(constants, _CURVATURE + 42, d3 * v1 + d1 * v3, c)
        c = _add(constants, _CURVATURE + 48, d3 * v2 + d2 * v3, c)
        c = _add(constants, _CURVATURE + 54, d3 * v3, c)
        c = _add(constants, _CURVATURE + 60, d4 * v0 + d0 * v4, c)
        c = _add(constants, _CURVATURE + 66, d4 * v1 + d1 * v4, c)
        c = _add(constants, _CURVATURE + 72, d4 * v2 + d2 * v4, c)
        c = _add(constants, _CURVATURE + 78, d4 * v3 + d3 * v4, c)
        c = _add(constants, _CURVATURE + 84, d4 * v4, c)
        c = _add(constants, _CURVATURE + 90, d5 * v0 + d0 * v5, c)
        c = _add(constants, _CURVATURE + 96, d5 * v1 + d1 * v5, c)
        c = _add(constants, _CURVATURE + 102, d5 * v2 + d2 * v5, c)
        c = _add(constants, _CURVATURE + 108, d5 * v3 + d3 * v5, c)
        c = _add(constants, _CURVATURE + 114, d5 * v4 + d4 * v5, c)
        c = _add(constants, _CURVATURE + 120, d5 * v5, c)
        block[_POSE * LANES + lane] += d0 - c[0]
        block[(_POSE + 1) * LANES + lane] += d1 - c[1]
        block[(_POSE + 2) * LANES + lane] += d2 - c[2]
        block[(_POSE + 3) * LANES + lane] += d3 - c[3]
        block[(_POSE + 4) * LANES + lane] += d4 - c[4]
        block[(_POSE + 5) * LANES + lane] += d5 - c[5]


@fused_kernel
def _load_block(lengths: FloatArray, index: IntArray, block: FloatArray) -> None:
    """Copy the lengths of the rows in ``index`` (LANES,) into the block."""
    for lane in range(LANES):
        row = index[lane]
        for i in range(VECTOR_ACTUATORS):
            block[(_LENGTHS + i) * LANES + lane] = lengths[row, i]


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
            poses[row, k] = block[(_POSE + k) * LANES + lane]
        residuals[row] = block[_RESIDUAL * LANES + lane]
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
                    block[(_POSE + k) * LANES + lane] = poses[index[lane], k]
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
