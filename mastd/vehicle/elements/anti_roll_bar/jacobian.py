"""Derivatives of the anti-roll bars' forces by displacements, and the column and row of each bar's force."""

from __future__ import annotations

from mastd.arrays import FloatArray, IntArray
from mastd.kernel import fused_kernel
from mastd.lanes import load, store_row
from mastd.vehicle.blocks.columns import column_of
from mastd.vehicle.blocks.fields import GROUP
from mastd.vehicle.blocks.matrix_blocks import add, add_cross, add_cross_cross
from mastd.vehicle.blocks.vectors import cross, scaled
from mastd.vehicle.elements.anti_roll_bar.arrays import BAR, BAR_END, AntiRollBars
from mastd.vehicle.elements.anti_roll_bar.force import bar_geometry


@fused_kernel
def bar_jacobian(
    bars: AntiRollBars,
    line: IntArray,
    local_bodies: FloatArray,
    cells: FloatArray,
    joint: float,
    displacement: float,
) -> None:
    """Add the column of the anti-roll bar's force at its end, the row of its residual, and its geometric
    stiffness."""
    end = line[GROUP.bar_end]
    if end < 0:
        return
    first, size = line[GROUP.first_cell], line[GROUP.size]
    chassis, local = line[GROUP.first_local], line[GROUP.first_local] + line[GROUP.bar_end_body]
    arm, up, reach = bar_geometry(bars.ends, local_bodies, end, chassis, local)
    sign = load(bars.ends, end, BAR_END.sign)
    b, c = column_of(line, line[GROUP.bar_end_body]), column_of(line, 0)
    port = line[GROUP.unknowns] + 6 * line[GROUP.interfaces]
    push = scaled(joint * sign, up)
    x, y, z = cross(arm[0], arm[1], arm[2], push[0], push[1], push[2])
    u, v, w = cross(reach[0], reach[1], reach[2], push[0], push[1], push[2])
    for at, column in ((b, push), (b + 3, (x, y, z)), (c, scaled(-1.0, push)), (c + 3, (-u, -v, -w))):
        for k in range(3):
            add(cells, first + (at + k) * size + port, column[k])
            add(cells, first + port * size + at + k, -column[k])
    force = displacement * sign * load(bars.ends, end, BAR_END.force)
    add_cross(cells, first, size, b, c + 3, -force, up)
    add_cross_cross(cells, first, size, b + 3, b + 3, force, up, arm)
    add_cross_cross(cells, first, size, b + 3, c + 3, -force, arm, up)
    add_cross(cells, first, size, c, c + 3, force, up)
    add_cross(cells, first, size, c + 3, b, force, up)
    add_cross(cells, first, size, c + 3, c, -force, up)
    add_cross_cross(cells, first, size, c + 3, b + 3, -force, up, arm)
    add_cross_cross(cells, first, size, c + 3, c + 3, force, reach, up)


@fused_kernel
def bar_compliance(bars: AntiRollBars, line: IntArray, cells: FloatArray, weight: float) -> None:
    """Write the derivative of a bar's residual by its force."""
    if line[GROUP.bar] >= 0:
        entry = line[GROUP.first_cell] + line[GROUP.bar_unknown] * (line[GROUP.size] + 1)
        store_row(cells, entry, weight * load(bars.bars, line[GROUP.bar], BAR.compliance))
