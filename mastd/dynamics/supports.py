"""Static supports of a table: the wrench by which they relieve the actuators, and its slopes.

The force of each is vertical in B; with the rise s of its point above neutral, F₀ at neutral, stiffness k,
damping c, relative growth of the gas's volume per rise g and exponent n,

    F = F₀ (1 + g s)⁻ⁿ − k s − c ṡ.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from mastd.arrays import FloatArray
from mastd.index_table import Entry, index_table, size_of
from mastd.kernel import fused_kernel
from mastd.kinematics.rotation import rotation, sines_cosines
from mastd.settings.table.supports import MIN_VOLUME
from mastd.settings.table.table import TableSettings


class SupportColumns(NamedTuple):
    """Columns of the row of a support."""

    position: Annotated[int, Entry("m", "where it meets the table, in P", 3)]
    force: Annotated[int, Entry("N", "at neutral, upwards")]
    stiffness: Annotated[int, Entry("N/m", "of a spring")]
    damping: Annotated[int, Entry("N s/m", "")]
    gas_slope: Annotated[int, Entry("1/m", "relative growth of the gas's volume per rise, 0 without gas")]
    exponent: Annotated[int, Entry("1", "of the gas")]


SUPPORT = index_table(SupportColumns)


def support_rows(table: TableSettings) -> FloatArray:
    """Return the supports of a table as kernels take them, (k, SUPPORT)."""
    rows = np.zeros((len(table.supports), size_of(SUPPORT)))
    for row, support in zip(rows, table.supports, strict=True):
        row[SUPPORT.position : SUPPORT.position + 3] = support.position
        row[SUPPORT.force], row[SUPPORT.stiffness] = support.force, support.stiffness
        row[SUPPORT.damping] = support.damping
        row[SUPPORT.gas_slope], row[SUPPORT.exponent] = support.gas_slope, support.exponent
    return rows


@fused_kernel
def take_supports(supports: FloatArray, pose: FloatArray, rates: FloatArray, wanted: FloatArray) -> None:
    """Take the wrench of the ``supports`` off that (6,) which the actuators must exert, at C in B axes.

    ``supports`` (k, SUPPORT); ``pose`` (6,) and its ``rates`` (6,) are those of C.
    """
    sr, cr, sp, cp, _, _ = sines_cosines(pose[3], pose[4], pose[5])
    r00, r01, r02, r10, r11, r12, r20, r21, r22 = rotation(pose[3], pose[4], pose[5])
    for j in range(supports.shape[0]):
        row = supports[j]
        x, y, z = row[SUPPORT.position], row[SUPPORT.position + 1], row[SUPPORT.position + 2]
        rise = pose[2] + r20 * x + r21 * y + r22 * z - z
        rolling = cp * (cr * y - sr * z)
        pitching = -cp * x - sp * (sr * y + cr * z)
        speed = rates[2] + rates[3] * rolling + rates[4] * pitching
        volume = max(1.0 + row[SUPPORT.gas_slope] * rise, MIN_VOLUME)
        force = (
            row[SUPPORT.force] * volume ** -row[SUPPORT.exponent]
            - row[SUPPORT.stiffness] * rise
            - row[SUPPORT.damping] * speed
        )
        wanted[2] -= force
        wanted[3] -= (r10 * x + r11 * y + r12 * z) * force
        wanted[4] += (r00 * x + r01 * y + r02 * z) * force


@fused_kernel
def support_wrenches(supports: FloatArray, poses: FloatArray, rates: FloatArray, out: FloatArray) -> None:
    """Write the wrench (m, 6) of the ``supports`` (k, SUPPORT) at C in B axes for m poses and rates."""
    for m in range(poses.shape[0]):
        for axis in range(6):
            out[m, axis] = 0.0
        take_supports(supports, poses[m], rates[m], out[m])
        for axis in range(6):
            out[m, axis] = -out[m, axis]


def support_wrench(table: TableSettings, pose: FloatArray, rates: FloatArray) -> FloatArray:
    """Return the wrench (6,) of a table's supports at C in B axes, N and N m, at pose and rates (6,) of C."""
    out = np.zeros((1, 6))
    if table.supports:
        support_wrenches(support_rows(table), pose[None], rates[None], out)
    return np.asarray(out[0])


def support_slopes(table: TableSettings, pose: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return stiffness and damping (6, 6) of a table's supports at a pose (6,): wrench lost by motion of C.

    Motions are displacements and rotations along the axes of B. The turn of the lever arms under F itself is
    left out, as that of the weight is.
    """
    stiffness, damping = np.zeros((2, 6, 6))
    turned = np.array(rotation(pose[3], pose[4], pose[5])).reshape(3, 3)
    for support in table.supports:
        arm = turned @ support.position
        lever = np.array([0.0, 0.0, 1.0, arm[1], -arm[0], 0.0])
        rise = float(pose[2] + arm[2] - support.position[2])
        stiffness += support.slope(rise) * np.outer(lever, lever)
        damping += support.damping * np.outer(lever, lever)
    return stiffness, damping
