"""The scalar solvers over the rows of arrays, with the number of updates of each row.

For tables of results and for statistics; ``mastd.kinematics.batch`` is the fast way to many poses.
``poses`` (m, 6) hold the starts and receive the results; rows that do not converge stay as they were.
"""

from __future__ import annotations

from mastd.arrays import BoolArray, FloatArray, IntArray
from mastd.kernel import fused_kernel
from mastd.kinematics.geometry import Legs
from mastd.kinematics.newton import newton
from mastd.kinematics.observer import observe, observe_second_order


@fused_kernel
def observe_rows(
    legs: Legs,
    gain: FloatArray,
    lengths: FloatArray,
    tolerance: float,
    update_tolerance: float,
    maximum_updates: int,
    poses: FloatArray,
    converged: BoolArray,
    updates: IntArray,
    residuals: FloatArray,
) -> None:
    """``observe`` of each row of ``lengths`` (m, n); its three results into arrays (m,)."""
    for row in range(lengths.shape[0]):
        converged[row], updates[row], residuals[row] = observe(
            legs,
            gain,
            lengths[row],
            tolerance,
            update_tolerance,
            maximum_updates,
            poses[row],
        )


@fused_kernel
def observe_second_order_rows(
    legs: Legs,
    neutral_lengths: FloatArray,
    gain: FloatArray,
    curvature: FloatArray,
    lengths: FloatArray,
    tolerance: float,
    update_tolerance: float,
    maximum_updates: int,
    poses: FloatArray,
    converged: BoolArray,
    updates: IntArray,
    residuals: FloatArray,
    w: FloatArray,
) -> None:
    """``observe_second_order`` of each row of ``lengths`` (m, n); ``w`` (36,) is scratch."""
    for row in range(lengths.shape[0]):
        converged[row], updates[row], residuals[row] = observe_second_order(
            legs,
            neutral_lengths,
            gain,
            curvature,
            lengths[row],
            tolerance,
            update_tolerance,
            maximum_updates,
            poses[row],
            w,
        )


@fused_kernel
def newton_rows(
    legs: Legs,
    euler_rates: bool,
    lengths: FloatArray,
    tolerance: float,
    update_tolerance: float,
    maximum_updates: int,
    poses: FloatArray,
    converged: BoolArray,
    updates: IntArray,
    residuals: FloatArray,
) -> None:
    """``newton`` of each row of ``lengths`` (m, n); its three results into arrays (m,)."""
    for row in range(lengths.shape[0]):
        converged[row], updates[row], residuals[row] = newton(
            legs,
            euler_rates,
            lengths[row],
            tolerance,
            update_tolerance,
            maximum_updates,
            poses[row],
        )
