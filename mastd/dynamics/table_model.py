"""The nominal rigid body of table and payload: the wrench of a motion, and the actuator forces.

Pose, rates and accelerations are those of C (Euler rates and their derivatives). The equations are Newton's
and Euler's about C, which need not be the centre of mass: with mass m, first moment s (mass times centre of
mass from C) and inertia I about C, all in table axes P, and A = Rᵀ(a − g),

    force  = m A + α × s + ω × (ω × s),
    moment = I α + ω × I ω + s × A.

The actuator forces are those of least norm that make up the wrench, so a table on more than six actuators is
free of internal force: F = J (JᵀJ)⁻¹ w with the rows of J as in eq. (9b) of Jin 2012.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mastd.arrays import FloatArray
from mastd.dynamics.supports import take_supports
from mastd.kernel import fused_kernel
from mastd.kinematics.geometry import Geometry, Legs
from mastd.kinematics.jacobian import geometric_jacobian, solve_normal
from mastd.kinematics.rotation import rotation, sines_cosines
from mastd.settings.table.payload import NoPayload, RigidPayload
from mastd.settings.table.table import TableSettings

MODEL_SIZE = 11
"""Numbers in ``TableModel.values``."""

WORK_ROWS = 8
"""Rows of six beyond one an actuator that ``force_reference`` needs as scratch."""


@dataclass(frozen=True, eq=False)
class Carried:
    """A rigid body on the table, or what a vehicle that stands there would be as one."""

    mass: float
    centre: FloatArray
    """(3) centre of mass in P, from C, m."""
    inertia: FloatArray
    """(3, 3) about the centre of mass, along P's axes, kg m²."""

    @classmethod
    def of(cls, payload: RigidPayload) -> Carried:
        """Return the body that a rigid payload is."""
        return cls(payload.mass, np.array(payload.centre_of_gravity), np.diag(payload.inertia))


@dataclass(frozen=True)
class TableModel:
    """Table and what it carries as one rigid body.

    ``values`` (11,): mass in kg; first moment about C in kg m (3); inertia about C in kg m², xx, yy, zz, xy,
    xz, yz (the last three as they stand in the inertia matrix); gravity in m/s². All in P.
    """

    values: FloatArray

    @classmethod
    def from_settings(cls, table: TableSettings, payload: NoPayload | RigidPayload | Carried) -> TableModel:
        """Return the model of a table with its payload; a vehicle comes as the body that it is as a whole."""
        mass = table.body.mass
        centre = np.array(table.body.centre_of_mass)
        moment = mass * centre
        inertia = np.diag(table.body.inertia) + parallel(mass, centre)
        if not isinstance(payload, NoPayload):
            carried = Carried.of(payload) if isinstance(payload, RigidPayload) else payload
            mass += carried.mass
            moment += carried.mass * carried.centre
            inertia += carried.inertia + parallel(carried.mass, carried.centre)
        products = (inertia[0, 1], inertia[0, 2], inertia[1, 2])
        return cls(np.array([mass, *moment, *np.diag(inertia), *products, table.gravity]))

    @property
    def mass_matrix(self) -> FloatArray:
        """Mass matrix (6, 6) about C at the neutral pose: [force, moment] per [acceleration, angular one]."""
        mass, x, y, z, xx, yy, zz, xy, xz, yz, _ = self.values
        coupling = np.array([[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]])
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        return np.block([[mass * np.eye(3), coupling], [coupling.T, inertia]])


def mobility(mass_matrix: FloatArray, geometry: Geometry) -> FloatArray:
    """Return the acceleration per wrench (6, 6) of a body; 0 for the axes that guides hold."""
    free = np.ix_(geometry.free_axes, geometry.free_axes)
    inverse = np.zeros((6, 6))
    inverse[free] = np.linalg.inv(mass_matrix[free])
    return inverse


def parallel(mass: float, position: FloatArray) -> FloatArray:
    """Return the inertia matrix (3, 3) about the origin of a point mass at ``position`` (3,)."""
    return np.asarray(mass * (position @ position * np.eye(3) - np.outer(position, position)))


@fused_kernel
def wrench(
    model: FloatArray, pose: FloatArray, rates: FloatArray, accelerations: FloatArray, out: FloatArray
) -> None:
    """Write the wrench that the actuators must exert at C, in B axes: force (3) and moment (3), N and N m."""
    sr, cr, sp, cp, _, _ = sines_cosines(pose[3], pose[4], pose[5])
    r00, r01, r02, r10, r11, r12, r20, r21, r22 = rotation(pose[3], pose[4], pose[5])
    mass, sx, sy, sz = model[0], model[1], model[2], model[3]
    # Angular velocity in P and its derivative.
    wx = rates[3] - rates[5] * sp
    wy = rates[4] * cr + rates[5] * sr * cp
    wz = -rates[4] * sr + rates[5] * cr * cp
    dx = accelerations[3] - accelerations[5] * sp - rates[5] * rates[4] * cp
    dy = (
        accelerations[4] * cr
        - rates[4] * rates[3] * sr
        + accelerations[5] * sr * cp
        + rates[5] * (rates[3] * cr * cp - rates[4] * sr * sp)
    )
    dz = (
        -accelerations[4] * sr
        - rates[4] * rates[3] * cr
        + accelerations[5] * cr * cp
        - rates[5] * (rates[3] * sr * cp + rates[4] * cr * sp)
    )
    # Acceleration of C less gravity, in P.
    az = accelerations[2] + model[10]
    bx = r00 * accelerations[0] + r10 * accelerations[1] + r20 * az
    by = r01 * accelerations[0] + r11 * accelerations[1] + r21 * az
    bz = r02 * accelerations[0] + r12 * accelerations[1] + r22 * az
    ux = wy * sz - wz * sy
    uy = wz * sx - wx * sz
    uz = wx * sy - wy * sx
    fx = mass * bx + dy * sz - dz * sy + wy * uz - wz * uy
    fy = mass * by + dz * sx - dx * sz + wz * ux - wx * uz
    fz = mass * bz + dx * sy - dy * sx + wx * uy - wy * ux
    hx = model[4] * wx + model[7] * wy + model[8] * wz
    hy = model[7] * wx + model[5] * wy + model[9] * wz
    hz = model[8] * wx + model[9] * wy + model[6] * wz
    mx = model[4] * dx + model[7] * dy + model[8] * dz + wy * hz - wz * hy + sy * bz - sz * by
    my = model[7] * dx + model[5] * dy + model[9] * dz + wz * hx - wx * hz + sz * bx - sx * bz
    mz = model[8] * dx + model[9] * dy + model[6] * dz + wx * hy - wy * hx + sx * by - sy * bx
    out[0] = r00 * fx + r01 * fy + r02 * fz
    out[1] = r10 * fx + r11 * fy + r12 * fz
    out[2] = r20 * fx + r21 * fy + r22 * fz
    out[3] = r00 * mx + r01 * my + r02 * mz
    out[4] = r10 * mx + r11 * my + r12 * mz
    out[5] = r20 * mx + r21 * my + r22 * mz


@fused_kernel
def actuator_forces(jacobian: FloatArray, wanted: FloatArray, work: FloatArray, forces: FloatArray) -> None:
    """Write the forces (n,) of least norm with Jᵀ F = ``wanted`` (6,), by Cholesky's factors of JᵀJ.

    ``jacobian`` (n, 6), columns of 0 for axes that guides hold: what is wanted there they make, not the
    actuators. ``work`` (7, 6) is scratch. At a singular pose the forces are not finite.
    """
    for i in range(6):
        work[6, i] = wanted[i]
    solve_normal(jacobian, work[:6], work[6])
    for k in range(jacobian.shape[0]):
        total = 0.0
        for i in range(6):
            total += jacobian[k, i] * work[6, i]
        forces[k] = total


@fused_kernel
def add_load(
    pose: FloatArray, standing: FloatArray, riding: FloatArray, ratio: float, wanted: FloatArray
) -> None:
    """Take what a load does off the wrench (6,) that the actuators must exert, in B axes.

    The load's wrench at C in P axes is ``standing`` (6,), and beyond it ``ratio`` of what ``riding`` (6,) is
    more.
    """
    r00, r01, r02, r10, r11, r12, r20, r21, r22 = rotation(pose[3], pose[4], pose[5])
    for first in (0, 3):
        x = standing[first] + ratio * (riding[first] - standing[first])
        y = standing[first + 1] + ratio * (riding[first + 1] - standing[first + 1])
        z = standing[first + 2] + ratio * (riding[first + 2] - standing[first + 2])
        wanted[first] -= r00 * x + r01 * y + r02 * z
        wanted[first + 1] -= r10 * x + r11 * y + r12 * z
        wanted[first + 2] -= r20 * x + r21 * y + r22 * z


@fused_kernel
def force_reference(
    legs: Legs,
    model: FloatArray,
    supports: FloatArray,
    pose: FloatArray,
    rates: FloatArray,
    accelerations: FloatArray,
    work: FloatArray,
    forces: FloatArray,
) -> None:
    """Write the force of each actuator (n,) in N that the motion needs, gravity included; push is positive.

    ``model``: ``TableModel.values``; ``supports`` (k, SUPPORT) take their part off; ``work``
    (n + WORK_ROWS, 6) is scratch.
    """
    actuators = legs.table_joints.shape[0]
    geometric_jacobian(legs, pose, work[:actuators])
    wrench(model, pose, rates, accelerations, work[actuators])
    take_supports(supports, pose, rates, work[actuators])
    actuator_forces(work[:actuators], work[actuators], work[actuators + 1 :], forces)
