"""Full-Newton Jacobian, factorised in each step: the conventional method, in inertial axes.

The order of elimination is that of ``chord_jacobian``: a corner's own unknowns, an axle's, the chassis'.
Within a group bodies come before constraints, so that every pivot is a mass or what a mass leaves of a
constraint, never zero, and rows need no exchange; that holds in all lanes at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mastd.arrays import FloatArray, aligned_zeros
from mastd.kernel import fused_kernel, separate_kernel
from mastd.lanes import LANES
from mastd.vehicle.blocks.fields import GROUP
from mastd.vehicle.blocks.linear_algebra import (
    backward_lanes,
    forward_lanes,
    lu_factor,
    lu_factor_lanes,
    lu_solve,
)
from mastd.vehicle.blocks.matrix_blocks import Weights
from mastd.vehicle.equations.inertia_jacobian import chassis_jacobian
from mastd.vehicle.equations.residual import group_jacobian
from mastd.vehicle.state.arrays import NO_TARGET, Arrays, Layout


class FullJacobian(NamedTuple):
    """Workspace of the groups' Jacobians and of their factors."""

    cells: FloatArray
    """(cells, LANES) of all groups."""
    chassis: FloatArray
    """(36, LANES) of the chassis alone."""
    core: FloatArray
    """(6, 6) what is left for the chassis, then its factors."""
    factorisations: FloatArray
    """(1) factorisations so far."""

    @classmethod
    def of(cls, layout: Layout) -> FullJacobian:
        """Return an empty workspace for a car."""
        return cls(
            aligned_zeros((layout.cells, LANES)), aligned_zeros((36, LANES)), np.zeros((6, 6)), np.zeros(1)
        )


@separate_kernel
def evaluate_jacobian(car: Arrays, full: FullJacobian, weights: Weights, factors: bool) -> None:
    """Evaluate the Jacobian at the state of the last ``evaluate_residual``; factorise it if asked."""
    chassis_jacobian(car, full.chassis, weights)
    for group in range(car.groups.shape[0]):
        group_jacobian(car, full.cells, group, weights)
    if factors:
        factorise(car, full)


@fused_kernel
def factorise(car: Arrays, full: FullJacobian) -> None:
    """Replace the matrices by their factors: below the diagonal L, above it U, on it 1 / U."""
    full.factorisations[0] += 1.0
    core = full.core
    for i in range(6):
        for j in range(6):
            core[i, j] = full.chassis[6 * i + j, 0]
    groups = car.groups.shape[0]
    for backward in range(groups):
        group = groups - 1 - backward
        line = car.groups[group]
        lu_factor_lanes(full.cells, line[GROUP.first_cell], line[GROUP.size], line[GROUP.unknowns])
        _assemble_schur_complement(car, full, group)
    for k in range(6):
        if car.held[k] > 0.0:
            for j in range(6):
                core[k, j], core[j, k] = 0.0, 0.0
            core[k, k] = 1.0
    lu_factor(core, 6)


@fused_kernel
def _assemble_schur_complement(car: Arrays, full: FullJacobian, group: int) -> None:
    """Add what an eliminated group leaves to the matrices of the chassis and of its axle."""
    line = car.groups[group]
    n, size, first = line[GROUP.unknowns], line[GROUP.size], line[GROUP.first_cell]
    u = line[GROUP.first_unknown]
    for i in range(n, size):
        for j in range(n, size):
            for lane in range(LANES):
                row, column = car.target[u + i, lane], car.target[u + j, lane]
                value = car.weights[group, lane] * full.cells[first + i * size + j, lane]
                if NO_TARGET in (row, column):
                    continue
                if row < 0 and column < 0:
                    full.core[-1 - row, -1 - column] += value
                else:
                    owner = axle_of(car, max(row, column))
                    cell = _cell_of(car, owner, row, column)
                    other = car.target_lane[u + (i if row >= 0 else j), lane]
                    full.cells[cell, other] += value


@fused_kernel
def axle_of(car: Arrays, unknown: int) -> int:
    """Return the axles' group that an unknown belongs to."""
    found = 0
    for group in range(1, car.axle_groups):
        if unknown >= car.groups[group, GROUP.first_unknown]:
            found = group
    return found


@fused_kernel
def _cell_of(car: Arrays, owner: int, row: int, column: int) -> int:
    """Return the entry of an axle's matrix for two of its unknowns, those of the chassis being negative."""
    line = car.groups[owner]
    n, first = line[GROUP.unknowns], line[GROUP.first_unknown]
    i = row - first if row >= 0 else n - 1 - row
    j = column - first if column >= 0 else n - 1 - column
    return int(line[GROUP.first_cell] + i * line[GROUP.size] + j)


@separate_kernel
def substitute_full(car: Arrays, full: FullJacobian) -> None:
    """Solve for the right-hand sides in ``unknowns`` with the present factors."""
    groups = car.groups.shape[0]
    for backward in range(groups):
        group = groups - 1 - backward
        line = car.groups[group]
        n, size, u = line[GROUP.unknowns], line[GROUP.size], line[GROUP.first_unknown]
        first = line[GROUP.first_cell]
        forward_lanes(full.cells, first, size, n, car.unknowns[u:], car.increments[u:])
        for i in range(n, size):
            for lane in range(LANES):
                target = car.target[u + i, lane]
                product = car.weights[group, lane] * car.increments[u + i, lane]
                if target >= 0:
                    car.unknowns[target, car.target_lane[u + i, lane]] += product
                elif target != NO_TARGET:
                    car.chassis_unknowns[-1 - target] += product
    for k in range(6):
        car.chassis_unknowns[k] *= 1.0 - car.held[k]
    lu_solve(full.core, 6, car.chassis_unknowns)
    for group in range(groups):
        line = car.groups[group]
        n, size, u = line[GROUP.unknowns], line[GROUP.size], line[GROUP.first_unknown]
        for i in range(n, size):
            for lane in range(LANES):
                target = car.target[u + i, lane]
                value = 0.0
                if target >= 0:
                    value = car.increments[target, car.target_lane[u + i, lane]]
                elif target != NO_TARGET:
                    value = car.chassis_unknowns[-1 - target]
                car.increments[u + i, lane] = value
        backward_lanes(full.cells, line[GROUP.first_cell], size, n, car.increments[u:])
