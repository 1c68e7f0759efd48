"""Pieces of a period's control: forces of a motion, the part of forces that makes no wrench, notches."""

from __future__ import annotations

from mastd.arrays import FloatArray
from mastd.dynamics.table_model import add_load, leg_forces, wrench
from mastd.kernel import fused_kernel
from mastd.kinematics.geometry import Legs
from mastd.kinematics.jacobian import geometric_jacobian

NOTCH_COLUMNS = 6

WHOLE, TABLE, LINKS, WEIGHT = range(4)
"""Dynamics: the model's, the bare table's, each link's own mass, nothing but the weight."""


@fused_kernel
def shift(rows: FloatArray) -> None:
    """Move each row one place towards the first; the last one stays, to be written anew."""
    for k in range(rows.shape[0] - 1):
        for i in range(rows.shape[1]):
            rows[k, i] = rows[k + 1, i]


@fused_kernel
def forces_of(
    legs: Legs,
    model: FloatArray,
    bare: FloatArray,
    masses: FloatArray,
    dynamics: int,
    motion: FloatArray,
    accelerations: FloatArray,
    load: FloatArray,
    work: FloatArray,
    forces: FloatArray,
) -> None:
    """Write the legs' forces (n,) that ``motion`` (≥ 3, 6) takes; ``accelerations`` (n,) of the links in it.

    ``work`` (n + WORK_ROWS, 6): its first n rows are the Jacobian afterwards.
    """
    n = legs.table_joints.shape[0]
    wanted, other, still = work[n], work[n + 1], work[n + 2]
    geometric_jacobian(legs, motion[0], work[:n])
    for axis in range(6):
        still[axis] = 0.0
    if dynamics == WHOLE:
        wrench(model, motion[0], motion[1], motion[2], wanted)
    else:
        wrench(model, motion[0], still, still, wanted)
    if dynamics == TABLE:
        wrench(bare, motion[0], motion[1], motion[2], other)
        for axis in range(6):
            wanted[axis] += other[axis]
        wrench(bare, motion[0], still, still, other)
        for axis in range(6):
            wanted[axis] -= other[axis]
    add_load(motion[0], load, load, 1.0, wanted)
    leg_forces(work[:n], wanted, work[n + 1 :], forces)
    if dynamics == LINKS:
        for i in range(n):
            forces[i] += masses[i] * accelerations[i]


@fused_kernel
def notched(notches: FloatArray, memory: FloatArray, missing: FloatArray) -> None:
    """Pass the missing acceleration (6,) through the ``notches``; ``memory`` (2 per notch) goes on.

    Each notch has NOTCH_COLUMNS numbers: its axis, and b₀, b₁, b₂, a₁, a₂ of its biquad.
    """
    for k in range(notches.shape[0] // NOTCH_COLUMNS):
        first = NOTCH_COLUMNS * k
        axis = int(notches[first])
        b0, b1, b2 = notches[first + 1], notches[first + 2], notches[first + 3]
        a1, a2 = notches[first + 4], notches[first + 5]
        value = missing[axis]
        out = b0 * value + memory[2 * k]
        memory[2 * k] = b1 * value - a1 * out + memory[2 * k + 1]
        memory[2 * k + 1] = b2 * value - a2 * out
        missing[axis] = out


@fused_kernel
def internal_part(
    jacobian: FloatArray, forces: FloatArray, wanted: FloatArray, work: FloatArray, out: FloatArray
) -> None:
    """Write the part of ``forces`` (n,) that makes no wrench."""
    for axis in range(6):
        total = 0.0
        for i in range(forces.shape[0]):
            total += jacobian[i, axis] * forces[i]
        wanted[axis] = total
    leg_forces(jacobian, wanted, work, out)
    for i in range(forces.shape[0]):
        out[i] = forces[i] - out[i]
