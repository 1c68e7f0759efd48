"""Forces of the anti-roll bars, and the residual of each bar's own equation."""

from __future__ import annotations

from mastd.arrays import FloatArray, IntArray
from mastd.kernel import fused_kernel, separate_kernel
from mastd.lanes import LANES, load, load_row, store, store_row
from mastd.vehicle.blocks.fields import GROUP, LOCAL_BODY
from mastd.vehicle.blocks.vectors import Triple, add3, cross, dot, load3, rotate, sub3
from mastd.vehicle.elements.anti_roll_bar.arrays import BAR, BAR_END, AntiRollBars


@fused_kernel
def start_bars(bars: AntiRollBars) -> None:
    """Start the residuals with force · compliance + the design's offset; the corners subtract their
    heights."""
    for bar in range(bars.bars.shape[0]):
        force, compliance = load(bars.bars, bar, BAR.force), load(bars.bars, bar, BAR.compliance)
        store(bars.bars, bar, BAR.residual, force * compliance + load(bars.bars, bar, BAR.offset))


@fused_kernel
def bar_forces(bars: AntiRollBars, line: IntArray, local_bodies: FloatArray, weights: FloatArray) -> None:
    """Add the force of the anti-roll bar at a corner's end of it, and its reaction on the chassis.

    The chassis' z axis is the third column of its rotation, the group's first local body. ``weights``
    (LANES): 1 where a lane is in use.
    """
    end = line[GROUP.bar_end]
    if end < 0:
        return
    chassis, local = line[GROUP.first_local], line[GROUP.first_local] + line[GROUP.bar_end_body]
    arm, up, reach = bar_geometry(bars.ends, local_bodies, end, chassis, local)
    sign = load(bars.ends, end, BAR_END.sign)
    force = sign * _gather_force(bars, end)
    fx, fy, fz = force * up[0], force * up[1], force * up[2]
    add3(local_bodies, local, LOCAL_BODY.force, fx, fy, fz)
    x, y, z = cross(arm[0], arm[1], arm[2], fx, fy, fz)
    add3(local_bodies, local, LOCAL_BODY.moment, x, y, z)
    sub3(local_bodies, chassis, LOCAL_BODY.force, fx, fy, fz)
    x, y, z = cross(reach[0], reach[1], reach[2], fx, fy, fz)
    sub3(local_bodies, chassis, LOCAL_BODY.moment, x, y, z)
    height = sign * dot(up[0], up[1], up[2], reach[0], reach[1], reach[2])
    _scatter_height(bars, weights, end, BAR.residual, -height)


@fused_kernel
def bar_geometry(
    ends: FloatArray, local_bodies: FloatArray, end: int, chassis: int, local: int
) -> tuple[Triple, Triple, Triple]:
    """Return the end's arm in its body, the chassis' z axis, and the end as seen from the chassis' centre."""
    x, y, z = load3(ends, end, BAR_END.point)
    arm = rotate(local_bodies, local, LOCAL_BODY.rotation, x, y, z)
    up = (
        load(local_bodies, chassis, LOCAL_BODY.rotation + 2),
        load(local_bodies, chassis, LOCAL_BODY.rotation + 5),
        load(local_bodies, chassis, LOCAL_BODY.rotation + 8),
    )
    x, y, z = load3(local_bodies, local, LOCAL_BODY.position)
    return arm, up, (x + arm[0], y + arm[1], z + arm[2])


@fused_kernel
def _gather_force(bars: AntiRollBars, end: int) -> float:
    for lane in range(LANES):
        bar = bars.bar_of_end[end, lane]
        force = bars.bars[bar, BAR.force, bars.lane_of_end[end, lane]] if bar >= 0 else 0.0
        bars.ends[end, BAR_END.force, lane] = force
    return load(bars.ends, end, BAR_END.force)


@fused_kernel
def _scatter_height(bars: AntiRollBars, weights: FloatArray, end: int, field: int, height: float) -> None:
    store(bars.ends, end, BAR_END.height, height)
    for lane in range(LANES):
        bar = bars.bar_of_end[end, lane]
        if bar >= 0:
            weighted = bars.ends[end, BAR_END.height, lane] * weights[lane]
            bars.bars[bar, field, bars.lane_of_end[end, lane]] += weighted


@fused_kernel
def bar_rhs(bars: AntiRollBars, line: IntArray, unknowns: FloatArray, scale: float) -> None:
    """Write the residual of a group's bar, times ``scale``, as the right-hand side of its force."""
    if line[GROUP.bar] >= 0:
        residual = load(bars.bars, line[GROUP.bar], BAR.residual)
        store_row(unknowns, line[GROUP.first_unknown] + line[GROUP.bar_unknown], scale * residual)


@fused_kernel
def correct_bar(bars: AntiRollBars, line: IntArray, increments: FloatArray) -> None:
    """Subtract the increment of a group's bar force."""
    if line[GROUP.bar] >= 0:
        force = load(bars.bars, line[GROUP.bar], BAR.force)
        increment = load_row(increments, line[GROUP.first_unknown] + line[GROUP.bar_unknown])
        store(bars.bars, line[GROUP.bar], BAR.force, force - increment)


@separate_kernel
def strain_bars(bars: AntiRollBars, groups: IntArray, local_bodies: FloatArray, weights: FloatArray) -> None:
    """Write the bars' forces from their ends' heights, after ``positions_to_frame``: where they are no
    unknowns."""
    for bar in range(bars.bars.shape[0]):
        store(bars.bars, bar, BAR.force, -load(bars.bars, bar, BAR.offset))
    for group in range(groups.shape[0]):
        end = groups[group, GROUP.bar_end]
        if end < 0:
            continue
        chassis = groups[group, GROUP.first_local]
        local = chassis + groups[group, GROUP.bar_end_body]
        _, up, reach = bar_geometry(bars.ends, local_bodies, end, chassis, local)
        height = load(bars.ends, end, BAR_END.sign) * dot(up[0], up[1], up[2], reach[0], reach[1], reach[2])
        _scatter_height(bars, weights[group], end, BAR.force, height)
    for bar in range(bars.bars.shape[0]):
        compliance = load(bars.bars, bar, BAR.compliance)
        store(bars.bars, bar, BAR.force, load(bars.bars, bar, BAR.force) / compliance)
