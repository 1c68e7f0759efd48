"""The compiled walk over a motion: at every knot, what each link and each axis is asked for."""

from __future__ import annotations

import numpy as np

from mastd.arrays import BoolArray, FloatArray, IntArray
from mastd.dynamics.oil_flow import oil_flow, valve_share
from mastd.dynamics.table_model import add_load, leg_forces, wrench
from mastd.kernel import fused_kernel
from mastd.kinematics.geometry import Legs
from mastd.kinematics.inverse import link_motion
from mastd.kinematics.jacobian import geometric_jacobian
from mastd.kinematics.observer import SolveLimits, observe
from mastd.motion.profile.timeline import KNOT_SPACING, spline_point

STROKE, VELOCITY, ACCELERATION, JERK, PUSH, PULL, VALVE = range(7)
"""Rows of the link table: distance from neutral, rate, acceleration, its change from knot to knot per second,
push, pull, share of the valve."""
LINK_ROWS = 7
WORK_ROWS = 19
"""Rows of scratch beyond one a link."""
WINDOW = 64
"""Knots of a window, the unit in which a motion can be walked in part."""

POSE_TOLERANCE = 1e-5
"""Difference in m and rad at which the pose that the observer finds is another one."""


@fused_kernel
def survey(
    coefficients: FloatArray,
    first_row: int,
    knots: int,
    legs: Legs,
    neutral_lengths: FloatArray,
    gain: FloatArray,
    limits: SolveLimits,
    model: FloatArray,
    standing: FloatArray,
    riding: FloatArray,
    riding_share: float,
    hydraulics: FloatArray,
    work: FloatArray,
    links: FloatArray,
    links_at: IntArray,
    axes: FloatArray,
    axes_at: IntArray,
    found: FloatArray,
    flows: FloatArray,
    bounds: FloatArray,
    windows: BoolArray,
    peaks: FloatArray,
) -> None:
    """Walk over one play of a block, from its first knot to its last.

    ``riding`` (knots, 6) is the wrench at C in P axes that the table is loaded with at each knot beside its
    own ``model``, or (0, 6) for none; ``standing`` (6,) is what it is at rest, and only ``riding_share`` of
    the difference from that counts. ``gain`` and ``limits`` are the
    observer's. ``work`` (n + WORK_ROWS, max(LINK_ROWS, n)) is scratch. Results, each with the knot it was
    met at: ``links`` (LINK_ROWS, n) and ``axes`` (6,) take the greatest values; ``found`` (4,) takes the
    knots whose pose the observer did not find again, the first of them, the greatest number of updates and
    its knot; ``flows`` (knots,) the flow drawn from the supply. A value that is not a number counts as
    infinite.

    Only those ``windows`` of WINDOW knots are walked whose flag is set; ``peaks`` (windows, LINK_ROWS) takes
    the greatest value over its bound (``bounds``, LINK_ROWS × n) in each of them.
    """
    count = legs.table_joints.shape[0]
    jacobian = work[:count, :6]
    point = work[count : count + 4, :6]
    wanted = work[count + 4, :6]
    factors = work[count + 5 : count + 12, :6]
    lengths = work[count + 12, :count]
    rates = work[count + 13, :count]
    accelerations = work[count + 14, :count]
    forces = work[count + 15, :count]
    seen = work[count + 16, :6]
    values = work[count + 17, :LINK_ROWS]
    before = work[count + 18, :count]
    pose = point[0]
    pose_rates = point[1]
    pose_accelerations = point[2]
    spline_point(coefficients, first_row, 0.0, point)
    for axis in range(6):
        seen[axis] = pose[axis]
    for k in range(knots):
        window = k // WINDOW
        if not windows[window]:
            continue
        follows = k > 0 and windows[(k - 1) // WINDOW]
        if k > 0 and not follows:
            spline_point(coefficients, first_row + k, 0.0, point)
            for axis in range(6):
                seen[axis] = pose[axis]
        spline_point(coefficients, first_row + k, 0.0, point)
        link_motion(
            legs,
            pose,
            pose_rates,
            pose_accelerations,
            lengths,
            rates,
            accelerations,
        )
        geometric_jacobian(legs, pose, jacobian)
        wrench(model, pose, pose_rates, pose_accelerations, wanted)
        if k < riding.shape[0]:
            add_load(pose, standing, riding[k], riding_share, wanted)
        leg_forces(jacobian, wanted, factors, forces)
        flow = 0.0
        for i in range(count):
            values[STROKE] = abs(lengths[i] - neutral_lengths[i])
            values[VELOCITY] = abs(rates[i])
            values[ACCELERATION] = abs(accelerations[i])
            values[JERK] = abs(accelerations[i] - before[i]) / KNOT_SPACING if follows else 0.0
            before[i] = accelerations[i]
            values[PUSH] = forces[i]
            values[PULL] = -forces[i]
            values[VALVE] = valve_share(hydraulics, rates[i], forces[i])
            flow += oil_flow(hydraulics, rates[i], forces[i])
            for row in range(LINK_ROWS):
                share = values[row] / bounds[row, i]
                if not share <= peaks[window, row]:
                    peaks[window, row] = share
                if not values[row] <= links[row, i]:
                    links[row, i] = values[row] if values[row] == values[row] else np.inf
                    links_at[row, i] = k
        flows[k] = flow
        for axis in range(6):
            if not abs(pose[axis]) <= axes[axis]:
                axes[axis] = abs(pose[axis])
                axes_at[axis] = k
        converged, updates, _ = observe(legs, gain, lengths, limits, seen)
        error = 0.0
        for axis in range(6):
            error = max(error, abs(seen[axis] - pose[axis]))
        if not (converged and error <= POSE_TOLERANCE):
            if found[0] == 0.0:
                found[1] = k
            found[0] += 1.0
            for axis in range(6):
                seen[axis] = pose[axis]
        if updates > found[2]:
            found[2] = updates
            found[3] = k
