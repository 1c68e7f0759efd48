"""Pieces of a period's control: forces of a motion, the internal force, notches."""

from __future__ import annotations

from mastd.arrays import FloatArray
from mastd.control.table.data import DYNAMICS, Control, Scratch
from mastd.dynamics.supports import take_supports
from mastd.dynamics.table_model import actuator_forces, add_load, wrench
from mastd.kernel import fused_kernel
from mastd.kinematics.jacobian import geometric_jacobian

NOTCH_COLUMNS = 6


@fused_kernel
def shift(rows: FloatArray) -> None:
    """Move each row one row towards the first; the last one stays, to be overwritten."""
    for k in range(rows.shape[0] - 1):
        for i in range(rows.shape[1]):
            rows[k, i] = rows[k + 1, i]


@fused_kernel
def repeat_last(rows: FloatArray) -> None:
    """Write the last row into all others."""
    for k in range(rows.shape[0] - 1):
        for i in range(rows.shape[1]):
            rows[k, i] = rows[rows.shape[0] - 1, i]


@fused_kernel
def forces_of(c: Control, motion: FloatArray, accelerations: FloatArray, forces: FloatArray) -> None:
    """Write the actuator forces (n,) that ``motion`` (≥ 3, 6) needs; ``accelerations`` (n,) of the actuators.

    The Jacobian at the pose is in the scratch afterwards.
    """
    scratch, body, dynamics, load = c.state.scratch, c.learned.body, c.constants.dynamics, c.measured.load
    wanted, other, still = scratch.wrench, scratch.other, scratch.still
    geometric_jacobian(c.model.legs, motion[0], scratch.jacobian)
    if dynamics == DYNAMICS.payload:
        wrench(body, motion[0], motion[1], motion[2], wanted)
    else:
        wrench(body, motion[0], still, still, wanted)
    if dynamics == DYNAMICS.table:
        wrench(c.model.table, motion[0], motion[1], motion[2], other)
        for axis in range(6):
            wanted[axis] += other[axis]
        wrench(c.model.table, motion[0], still, still, other)
        for axis in range(6):
            wanted[axis] -= other[axis]
    add_load(motion[0], load, load, 1.0, wanted)
    take_supports(c.model.supports, motion[0], motion[1], wanted)
    actuator_forces(scratch.jacobian, wanted, scratch.factors, forces)
    if dynamics == DYNAMICS.links:
        for i in range(forces.shape[0]):
            forces[i] += c.model.masses[i] * accelerations[i]


@fused_kernel
def notched(notches: FloatArray, memory: FloatArray, missing: FloatArray) -> None:
    """Pass the missing acceleration (6,) through the ``notches``; ``memory`` (k, 2) is their state.

    Each notch has NOTCH_COLUMNS numbers: its axis, and b₀, b₁, b₂, a₁, a₂ of its biquad.
    """
    for k in range(notches.shape[0]):
        notch = notches[k]
        axis = int(notch[0])
        b0, b1, b2 = notch[1], notch[2], notch[3]
        a1, a2 = notch[4], notch[5]
        value = missing[axis]
        out = b0 * value + memory[k, 0]
        memory[k, 0] = b1 * value - a1 * out + memory[k, 1]
        memory[k, 1] = b2 * value - a2 * out
        missing[axis] = out


@fused_kernel
def internal_part(forces: FloatArray, scratch: Scratch, out: FloatArray) -> None:
    """Write the internal part of ``forces`` (n,), which makes no wrench, at the Jacobian of the scratch."""
    jacobian, wanted = scratch.jacobian, scratch.wrench
    for axis in range(6):
        total = 0.0
        for i in range(forces.shape[0]):
            total += jacobian[i, axis] * forces[i]
        wanted[axis] = total
    actuator_forces(jacobian, wanted, scratch.factors, out)
    for i in range(forces.shape[0]):
        out[i] = forces[i] - out[i]
