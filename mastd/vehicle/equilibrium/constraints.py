"""What statics and linearisation ask of the equations of motion, and the free motions of a linkage.

``mastd.vehicle.equilibrium.dense_equations.System`` is what the programs use; tests put an independent
calculation in its place.

Variations of a state are (6 nb + nw) numbers: per body displacement and rotation δπ in inertial axes, then
one for each wheel's spin. The constraint Jacobian G (rows, N) belongs to them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from mastd.arrays import FloatArray
from mastd.roads.ground import Ground
from mastd.vehicle.model.definition import Model
from mastd.vehicle.state.motion import State

REDUNDANT = 1e-9
"""Singular values under this part of the largest belong to constraints that say the same thing twice."""


class EquationMatrices(Protocol):
    """Derivatives of the residual M a − f + Gᵀλ, each (N, N), and G (rows, N)."""

    @property
    def mass(self) -> FloatArray:
        """With respect to accelerations."""

    @property
    def damping(self) -> FloatArray:
        """With respect to velocities."""

    @property
    def stiffness(self) -> FloatArray:
        """With respect to displacements, with the geometric stiffness of λ; anti-roll bars eliminated."""

    @property
    def joint_jacobian(self) -> FloatArray:
        """G, the constraints' rates per unit velocity."""


class Equations(Protocol):
    """The vehicle's equations of motion in inertial axes."""

    model: Model

    def __init__(self, model: Model) -> None: ...

    def constraints(
        self, state: State, drive: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return Φ, Φ̇, Φ̈, each (rows); ``drive`` (drives, 3), zero by default."""

    def residual(
        self, state: State, inputs: FloatArray | None = None, ground: Ground | None = None
    ) -> FloatArray:
        """Return M a − f + Gᵀλ, (N): forces and moments in inertial axes, then the spins."""

    def bar_residual(self, state: State) -> FloatArray:
        """Return S / stiffness − (z_left − z_right) of each anti-roll bar, m."""

    def matrices(
        self, state: State, inputs: FloatArray | None = None, ground: Ground | None = None
    ) -> EquationMatrices:
        """Return the derivatives at a state."""

    def move(self, state: State, displacement: FloatArray) -> State:
        """Return a new state, displaced and turned by a variation (N)."""

    def wheel_loads(self, state: State, ground: Ground | None = None) -> FloatArray:
        """Return the load of each wheel, N."""


@dataclass(frozen=True, eq=False)
class FreeMotions:
    """What the constraints leave free, and what they take, with the mass matrix as the measure of length."""

    free: FloatArray
    """(N, dof) Z with G Z = 0 and Zᵀ M Z = 1."""
    closing: FloatArray
    """(N, rows): the smallest displacement (in the measure of the mass) that changes Φ by a given amount."""

    def multipliers(self, forces: FloatArray) -> FloatArray:
        """Return λ for which Gᵀλ takes up ``forces`` (N) but for what would accelerate the free motions."""
        return np.asarray(self.closing.T @ forces)


def free_motions(mass: FloatArray, jacobian: FloatArray) -> FreeMotions:
    """Split all motions into free and constrained ones.

    ``mass`` (N, N) symmetric positive definite, ``jacobian`` (rows, N). Redundant rows are allowed.
    """
    size = mass.shape[0]
    # Coordinates y = Lᵀu with M = L Lᵀ, in which the kinetic energy is half the square of the rates.
    to_motion = np.linalg.inv(np.linalg.cholesky(0.5 * (mass + mass.T))).T
    left, values, right = np.linalg.svd(jacobian @ to_motion)
    rank = int(np.sum(values > REDUNDANT * values[0])) if values.size else 0
    closing = np.zeros((size, jacobian.shape[0]))
    if rank:
        closing = to_motion @ (right[:rank].T / values[:rank]) @ left[:, :rank].T
    return FreeMotions(free=to_motion @ right[rank:].T, closing=closing)


def held_rows(model: Model) -> FloatArray:
    """Return the rows (held, N) of the held motions: each is a constraint of its own on the chassis."""
    rows = np.zeros((len(model.held), 6 * len(model.bodies) + len(model.wheels)))
    rows[np.arange(len(model.held)), list(model.held)] = 1.0
    return rows


def constraint_rows(model: Model, joint_jacobian: FloatArray) -> FloatArray:
    """Return all that restrains the motions, (rows + held, N): the joints' G, then the held motions."""
    return np.vstack([joint_jacobian, held_rows(model)])


def coordinate_name(model: Model, coordinate: int) -> str:
    """Return the name of one of the N coordinates, for messages: ``chassis, vertically``."""
    count = 6 * len(model.bodies)
    if coordinate >= count:
        return f"wheel {model.wheels[coordinate - count].name}, spin"
    directions = ("lengthwise", "sideways", "vertically", "in roll", "in pitch", "in yaw")
    return f"{model.bodies[coordinate // 6].name}, {directions[coordinate % 6]}"


def joint_of_row(model: Model, row: int) -> str:
    """Return the name of the joint that a constraint row belongs to."""
    for primitive in model.primitives:
        if row < primitive.kind.rows:
            return primitive.joint
        row -= primitive.kind.rows
    raise IndexError(row)
