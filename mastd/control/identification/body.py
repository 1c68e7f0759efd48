"""Table and payload as one rigid body, and the friction of the actuators, from pressures and accelerometers.

Newton's and Euler's equations about C in table axes P (``mastd.dynamics.table_model``), with A the specific
force of C as accelerometers feel it (acceleration less gravity), α and ω angular acceleration and velocity:

    Jᵀ (F_p − F_c φ(v) − c v) + w = [m A + α × s + ω × (ω × s);  I α + ω × I ω + s × A],

F_p the forces of the pressures, w the wrench of static supports, φ the shape of sliding friction. Linear in
mass, first moment, inertia, F_c and c. The part of the forces that the actuators exert against each other
does not appear. Where guides hold axes, the equations are those of the free ones, and what does not show in
them keeps its nominal value.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mastd.arrays import FloatArray, IntArray
from mastd.control.identification.friction import sliding_friction
from mastd.control.identification.measurement import Measurement, derivative, low_passed
from mastd.control.identification.regression import Fit, least_squares
from mastd.dynamics.actuator import ACTUATOR, actuator_rows
from mastd.dynamics.supports import support_rows, support_wrenches
from mastd.dynamics.table_model import TableModel
from mastd.kinematics.geometry import Geometry
from mastd.settings.table.payload import NoPayload
from mastd.settings.table.table import TableSettings
from mastd.units import STANDARD_GRAVITY

BODY = 10
"""Values of the body: mass, first moment (3), inertia xx, yy, zz, xy, xz, yz, as ``TableModel`` has them."""
RATE_CORNER = 60.0
"""Hz, low-pass of lengths and pose before rates are taken of them."""
CORNER = 40.0
"""Hz, low-pass of both sides of the balance."""
BLOCK_TIME = 0.5
EDGE_TIME = 0.5
"""s at either end that the filters spoil."""
_ROWS_PER_CORNER = 5.0
"""Rows that are kept for a period of the low-pass's corner: more hold no further information."""
_ROUNDS = 3
_MIN_COULOMB = 10.0


@dataclass(frozen=True, eq=False)
class BodyFit:
    """Body values (10,) and their covariance, Coulomb and viscous friction (n,) with their deviations."""

    body: FloatArray
    body_covariance: FloatArray
    coulomb: FloatArray
    coulomb_deviation: FloatArray
    viscous: FloatArray
    viscous_deviation: FloatArray
    residual: float
    """Effective value of the force unaccounted for, N per actuator."""
    times: FloatArray
    """(r,) s from the play's begin, of the two that follow."""
    wrench: FloatArray
    """(r, 6) that the pressures and static supports make at C in P, low-passed, N and N m."""
    explained: FloatArray
    """(r, 6) of it that the body and the friction found ask for."""


def fit_body(measured: Measurement, table: TableSettings, geometry: Geometry) -> BodyFit:
    """Return table and payload as one body; raise ValueError if the motion does not determine it."""
    period, free = measured.period, geometry.free_axes
    rotations = _rotations(measured.pose)
    actuators = _actuators(measured.pose, rotations, geometry)[:, :, free]
    spin, force, angular = _motion(measured, table, rotations)
    actuator_data = actuator_rows(table)
    areas = actuator_data[:, [ACTUATOR.area_1, ACTUATOR.area_2]] * [1.0, -1.0]
    lengths = low_passed(measured.lengths, RATE_CORNER, period)
    rates = derivative(lengths, period)
    # One measure for forces and moments: the noise of the actuators' forces becomes equal in all six.
    root = np.asarray(np.linalg.cholesky(np.mean(np.einsum("kia,kib->kab", actuators, actuators), axis=0)))
    whitening = np.linalg.inv(root)
    edge = round(EDGE_TIME / period)
    every = max(1, round(1.0 / (_ROWS_PER_CORNER * CORNER * period)))
    rows = np.arange(edge, len(lengths) - edge, every)

    def balanced(values: FloatArray) -> FloatArray:
        """Whiten and filter what acts on the body, (k, 6, p)."""
        whitened = np.einsum("ba,kap->kbp", whitening, values)
        return low_passed(whitened, CORNER, period)[rows]

    def along_actuators(values: FloatArray) -> FloatArray:
        return balanced(np.swapaxes(actuators * values[:, :, None], 1, 2))

    pressing = np.einsum("kia,ki->ka", actuators, np.sum(measured.pressures * areas, axis=2))
    pressing += _supporting(measured, table, rotations)[:, free]
    target = balanced(pressing[:, :, None])[:, :, 0]
    excited = _excited(geometry)
    inertia = balanced(_inertia_columns(spin, force, angular)[:, free][:, :, excited])
    viscous = along_actuators(rates)
    coulomb = np.maximum(actuator_data[:, ACTUATOR.coulomb], _MIN_COULOMB)
    block = round(BLOCK_TIME / (period * every))
    for _ in range(_ROUNDS):
        shape = sliding_friction(lengths, rates, coulomb, actuator_data, period)
        design = np.concatenate((inertia, along_actuators(shape), viscous), axis=2)
        fit = least_squares(design, target, block)
        coulomb = np.maximum(fit.values[len(excited) : len(excited) + rates.shape[1]], _MIN_COULOMB)
    wrench, explained = np.zeros((2, len(rows), 6))
    wrench[:, free], explained[:, free] = target @ root.T, design @ fit.values @ root.T
    return BodyFit(
        *_body_values(fit, excited, table),
        *_parts(fit, len(excited), rates.shape[1]),
        fit.residual,
        period * rows.astype(np.float64),
        wrench,
        explained,
    )


def _supporting(measured: Measurement, table: TableSettings, rotations: FloatArray) -> FloatArray:
    """Return the wrench of the static supports at C in P (k, 6)."""
    pose = low_passed(measured.pose, RATE_CORNER, measured.period)
    out = np.zeros_like(pose)
    support_wrenches(support_rows(table), pose, derivative(pose, measured.period), out)
    return np.concatenate(
        [np.einsum("kba,kb->ka", rotations, part) for part in np.split(out, 2, axis=1)], axis=1
    )


def _excited(geometry: Geometry) -> IntArray:
    """Return which of the body's values (BODY,) show in the equations of the free axes."""
    random = np.random.default_rng(0)
    spin, angular = geometry.freedoms[3:] * random.normal(size=(2, 1, 3))
    force = geometry.freedoms[:3] * random.normal(size=(1, 3)) + [0.0, 0.0, STANDARD_GRAVITY]
    columns = _inertia_columns(spin, force, angular)[0, geometry.free_axes]
    return np.flatnonzero(np.any(columns, axis=0))


def _body_values(fit: Fit, excited: IntArray, table: TableSettings) -> tuple[FloatArray, FloatArray]:
    """Return the body's values (BODY,) and their covariance; what does not show is as good as unknown."""
    body = TableModel.from_settings(table, NoPayload()).values[:BODY]
    reach = 0.5 * max(table.body.size)
    doubts = body[0] * np.array([1.0, *[reach] * 3, *[reach**2] * 6])
    covariance = np.diag(doubts**2)
    body[excited] = fit.values[: len(excited)]
    covariance[excited, :] = 0.0
    covariance[np.ix_(excited, excited)] = fit.covariance[: len(excited), : len(excited)]
    return body, covariance


def _parts(fit: Fit, first: int, actuators: int) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return Coulomb and viscous friction (n,), each with its deviations."""
    coulomb, viscous = slice(first, first + actuators), slice(first + actuators, None)
    deviations = fit.deviations
    return fit.values[coulomb], deviations[coulomb], fit.values[viscous], deviations[viscous]


def _rotations(pose: FloatArray) -> FloatArray:
    """Return R from P to B (k, 3, 3), rotation order yaw, pitch, roll."""
    sr, sp, sy = np.sin(pose[:, 3:]).T
    cr, cp, cy = np.cos(pose[:, 3:]).T
    rows = (
        (cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr),
        (sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr),
        (-sp, cp * sr, cp * cr),
    )
    return np.stack([np.stack(row, axis=1) for row in rows], axis=1)


def _actuators(pose: FloatArray, rotations: FloatArray, geometry: Geometry) -> FloatArray:
    """Return the Jacobian's rows in P (k, n, 6): direction of the force, and its moment about C."""
    centre = geometry.neutral_position + pose[:, :3]
    reach = centre[:, None, :] - geometry.base_joints
    along = np.einsum("kba,knb->kna", rotations, reach) + geometry.table_joints
    along /= np.linalg.norm(along, axis=2, keepdims=True)
    return np.concatenate((along, np.cross(geometry.table_joints[None], along)), axis=2)


def _motion(
    measured: Measurement, table: TableSettings, rotations: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return angular velocity, specific force of C and angular acceleration (k, 3 each) in P.

    The readings' own offsets are taken off by what they must be on average: a table that comes back has no
    mean acceleration.
    """
    angles = low_passed(measured.pose[:, 3:], RATE_CORNER, measured.period)
    spin = _angular_velocity(angles, derivative(angles, measured.period))
    sensors = table.sensors.accelerometers
    positions = np.array([sensor.position for sensor in sensors])
    axes = np.array([sensor.direction for sensor in sensors])
    centripetal = np.cross(spin[:, None], np.cross(spin[:, None], positions[None]))
    felt = measured.accelerometers - np.einsum("ksa,sa->ks", centripetal, axes)
    solver = np.linalg.pinv(np.hstack((axes, np.cross(positions, axes))))
    motion = felt @ solver.T
    weight = table.gravity * rotations[:, 2, :]
    motion[:, :3] += np.mean(weight, axis=0) - np.mean(motion[:, :3], axis=0)
    motion[:, 3:] -= np.mean(motion[:, 3:], axis=0)
    return spin, motion[:, :3], motion[:, 3:]


def _angular_velocity(angles: FloatArray, rates: FloatArray) -> FloatArray:
    """Return the angular velocity in P (k, 3) for Euler angles and their rates (k, 3 each)."""
    roll, pitch = angles[:, 0], angles[:, 1]
    sr, cr, sp, cp = np.sin(roll), np.cos(roll), np.sin(pitch), np.cos(pitch)
    return np.stack(
        (
            rates[:, 0] - rates[:, 2] * sp,
            rates[:, 1] * cr + rates[:, 2] * sr * cp,
            -rates[:, 1] * sr + rates[:, 2] * cr * cp,
        ),
        axis=1,
    )


def _cross_matrix(vectors: FloatArray) -> FloatArray:
    """Return the matrices (k, 3, 3) that make v × b of b."""
    x, y, z = vectors.T
    none = np.zeros_like(x)
    rows = ((none, -z, y), (z, none, -x), (-y, x, none))
    return np.stack([np.stack(row, axis=1) for row in rows], axis=1)


def _inertia_matrix(vectors: FloatArray) -> FloatArray:
    """Return the matrices (k, 3, 6) that make I v of xx, yy, zz, xy, xz, yz."""
    x, y, z = vectors.T
    none = np.zeros_like(x)
    rows = ((x, none, none, y, z, none), (none, y, none, x, none, z), (none, none, z, none, x, y))
    return np.stack([np.stack(row, axis=1) for row in rows], axis=1)


def _inertia_columns(spin: FloatArray, force: FloatArray, angular: FloatArray) -> FloatArray:
    """Return what each body value asks of the actuators, (k, 6, 10)."""
    rows = len(force)
    columns = np.zeros((rows, 6, BODY))
    spinning = _cross_matrix(spin)
    columns[:, :3, 0] = force
    columns[:, :3, 1:4] = _cross_matrix(angular) + spinning @ spinning
    columns[:, 3:, 1:4] = -_cross_matrix(force)
    columns[:, 3:, 4:] = _inertia_matrix(angular) + spinning @ _inertia_matrix(spin)
    return columns
