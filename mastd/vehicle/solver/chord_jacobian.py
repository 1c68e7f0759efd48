"""Jacobians of the chord Newton method: factorised before t = 0, never again (Fig. 2(b) of Kang 2014).

The car's matrix is an arrow: corners touch only the chassis and their axle, axles only the chassis. A
corner's own unknowns are eliminated first, then an axle's, and what is left is 6 × 6. As all of that happens
before the car moves, what is kept is not triangular factors but their products: for each group *forward*,
which takes right-hand sides to the group's own solution and to what it leaves for others, and *backward*,
what the others' increments change in it. They lie in the order in which the substitution reads them, four
rows at a time, and in single precision: reading them is most of its time, and a rounding of 6e-8 is nothing
beside what a matrix that is never renewed is off by. Right-hand sides, sums and the state are double.

Slip stiffness of linear tyres goes as load / speed: the matrices are made for a row of speeds. That of the
highest speed not above the present one, divided by the most that any wheel carries against its load at rest,
is used: its slip is the stiffer one, and the chord converges as long as the true matrix is the softer. Magic
Formula tyres have relaxed slips, whose stiffness against the step hardly goes with speed or load; a car that
has no others has one matrix.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mastd.arrays import FloatArray, IntArray
from mastd.kernel import fused_kernel
from mastd.lanes import LANES, broadcast, hmax, hsum, load, load_row, load_single, select, store_row
from mastd.vehicle.blocks.fields import GROUP, WHEEL
from mastd.vehicle.state.arrays import BLOCK, Arrays, Layout

Singles = NDArray[np.float32]


class ChordJacobian(NamedTuple):
    """Matrices of all groups for a row of speeds."""

    speeds: FloatArray
    """(speeds) rising, the first 0."""
    forward: Singles
    """(speeds, cells, LANES)."""
    backward: Singles
    core: FloatArray
    """(speeds, 36) inverse of what is left for the chassis."""
    first_forward: IntArray
    """(groups)."""
    first_backward: IntArray


def factor_chord(layout: Layout, cells: FloatArray, core: FloatArray, speeds: FloatArray) -> ChordJacobian:
    """Return the products of the factors of matrices in relative coordinates.

    ``cells`` (speeds, cells, LANES) and ``core`` (speeds, 6, 6) are those of the groups and of the chassis,
    in absolute variations. Raises numpy's LinAlgError for a singular one, FloatingPointError
    for one beyond single precision.
    """
    car = layout.arrays
    first_forward, first_backward, forward_cells, backward_cells = [], [], 0, 0
    for line in car.groups:
        n, size = int(line[GROUP.unknowns]), int(line[GROUP.size])
        first_forward.append(forward_cells)
        first_backward.append(backward_cells)
        forward_cells += _padded(size) * n
        backward_cells += _padded(n) * (size - n)
    chord = ChordJacobian(
        speeds,
        np.zeros((len(speeds), forward_cells, LANES), dtype=np.float32),
        np.zeros((len(speeds), backward_cells, LANES), dtype=np.float32),
        np.zeros((len(speeds), 36)),
        np.array(first_forward, dtype=np.int64),
        np.array(first_backward, dtype=np.int64),
    )
    with np.errstate(over="raise"):
        for k in range(len(speeds)):
            _factor_chord_at(car, cells[k], core[k], chord, k)
    return chord


def _factor_chord_at(car: Arrays, cells: FloatArray, core: FloatArray, chord: ChordJacobian, at: int) -> None:
    rest = core.copy()
    matrices = [relative_matrices(car, cells, group) for group in range(len(car.groups))]
    # Of the axles' matrices all of the chassis is added up here; only their own stays.
    for group in reversed(range(len(car.groups))):
        line = car.groups[group]
        n, first = int(line[GROUP.unknowns]), int(line[GROUP.first_unknown])
        for lane in range(LANES):
            whole = matrices[group][lane]
            used = car.weights[group, lane] > 0
            inverse = np.linalg.inv(whole[:n, :n])
            backward = inverse @ whole[:n, n:]
            forward = np.vstack([inverse, whole[n:, :n] @ inverse])
            left = whole[n:, n:] - whole[n:, :n] @ backward
            if used:
                _assemble_schur_complement(car, first + n, lane, left, rest, matrices)
            _pack(chord.forward[at, :, lane], int(chord.first_forward[group]), forward)
            _pack(chord.backward[at, :, lane], int(chord.first_backward[group]), backward)
    # A held motion has no increment, whatever acts.
    free = np.flatnonzero(car.held == 0.0)
    inverse = np.zeros((6, 6))
    inverse[np.ix_(free, free)] = np.linalg.inv(rest[np.ix_(free, free)])
    chord.core[at] = inverse.ravel()


def relative_matrices(car: Arrays, cells: FloatArray, group: int) -> list[FloatArray]:
    """Return a group's matrix in each lane, in the relative coordinates (4): δr_i = δr_c + δr_ci, likewise
    δπ.

    An interface body that is the chassis itself has no increment of its own; the chassis' stands for it.
    """
    line = car.groups[group]
    n, size, interface = int(line[GROUP.unknowns]), int(line[GROUP.size]), int(line[GROUP.interfaces])
    first = int(line[GROUP.first_cell])
    block = cells[first : first + size * size].reshape(size, size, LANES)
    found = []
    for lane in range(LANES):
        change = np.eye(size)
        for body in range(int(line[GROUP.bodies])):
            change[6 * body : 6 * body + 6, n : n + 6] += np.eye(6)
        for k in range(1, interface):
            own = slice(n + 6 * k, n + 6 * k + 6)
            change[own, n : n + 6] += np.eye(6)
            if car.interface_source[line[GROUP.first_local] + k, lane] < 0:
                change[own, own] = 0.0
        found.append(change.T @ block[:, :, lane] @ change)
    return found


def _assemble_schur_complement(
    car: Arrays, first: int, lane: int, left: FloatArray, rest: FloatArray, matrices: list[list[FloatArray]]
) -> None:
    """Add what an eliminated group leaves to the chassis' matrix and to those of the axle it stands on."""
    rest += left[:6, :6]
    owners: list[tuple[int, int] | None] = []
    for k in range(6, len(left)):
        target, other = int(car.target[first + k, lane]), int(car.target_lane[first + k, lane])
        owners.append(None if target < 0 else (target, other))
    for k, owner in enumerate(owners, start=6):
        if owner is None:
            continue
        group = _owner(car, owner[0])
        line = car.groups[group]
        n, own = int(line[GROUP.unknowns]), owner[0] - int(line[GROUP.first_unknown])
        matrix = matrices[group][owner[1]]
        matrix[own, n : n + 6] += left[k, :6]
        matrix[n : n + 6, own] += left[:6, k]
        for m, other_owner in enumerate(owners, start=6):
            if other_owner is not None:
                matrix[own, other_owner[0] - int(line[GROUP.first_unknown])] += left[k, m]


def _owner(car: Arrays, unknown: int) -> int:
    starts = car.groups[:, GROUP.first_unknown]
    return int(np.searchsorted(starts, unknown, side="right")) - 1


def _padded(rows: int) -> int:
    return -(-rows // BLOCK) * BLOCK


def _pack(target: Singles, first: int, matrix: FloatArray) -> None:
    rows, columns = matrix.shape
    padded = np.zeros((_padded(rows), columns))
    padded[:rows] = matrix
    ordered = padded.reshape(-1, BLOCK, columns).transpose(0, 2, 1)
    target[first : first + ordered.size] = ordered.ravel()


@fused_kernel
def choose_chord(car: Arrays, chord: ChordJacobian, speed: float) -> int:
    """Return the item of the highest speed not above the present one, either way of driving.

    Slip stiffness goes as load / speed: a wheel that carries twice its load at rest counts as half the speed.
    """
    if chord.speeds.shape[0] == 1:
        return 0
    heaviest = broadcast(1.0)
    for wheel in range(car.wheels.shape[0]):
        load_ratio = load(car.wheels, wheel, WHEEL.load) / load(car.wheels, wheel, WHEEL.rest_load)
        heaviest = select(load_ratio - heaviest, load_ratio, heaviest)
    effective = abs(speed) / hmax(heaviest)
    found = 0
    for k in range(1, chord.speeds.shape[0]):
        if effective >= chord.speeds[k]:
            found = k
    return found


@fused_kernel
def substitute_chord(car: Arrays, chord: ChordJacobian, at: int, whole: bool) -> None:
    """Solve for the right-hand sides in ``unknowns``: increments of all groups, and of the chassis in place.

    Without ``whole`` the corners' right-hand sides are zero but for their constraints.
    """
    groups = car.groups.shape[0]
    for backward in range(groups):
        group = groups - 1 - backward
        line = car.groups[group]
        n = line[GROUP.unknowns]
        start = 0 if whole or group < car.axle_groups else line[GROUP.row_unknown]
        _multiply(car.unknowns, car.increments, chord.forward, at, chord.first_forward[group], line, start)
        u, weight = line[GROUP.first_unknown] + n, load_row(car.weights, group)
        for k in range(6):
            car.chassis_unknowns[k] -= hsum(weight * load_row(car.increments, u + k))
        for k in range(6, line[GROUP.size] - n):
            for lane in range(LANES):
                target = car.target[u + k, lane]
                if target >= 0:
                    product = car.weights[group, lane] * car.increments[u + k, lane]
                    car.unknowns[target, car.target_lane[u + k, lane]] -= product
    _multiply_core(car.chassis_unknowns, chord.core, at)
    for group in range(groups):
        line = car.groups[group]
        n, first = line[GROUP.unknowns], line[GROUP.first_unknown]
        for k in range(6):
            store_row(car.increments, first + n + k, broadcast(car.chassis_unknowns[k]))
        for k in range(6, line[GROUP.size] - n):
            for lane in range(LANES):
                target = car.target[first + n + k, lane]
                other = car.target_lane[first + n + k, lane]
                value = car.increments[target, other] if target >= 0 else 0.0
                car.increments[first + n + k, lane] = value
        _add_backward(car.increments, chord.backward, at, chord.first_backward[group], line)


@fused_kernel
def _multiply(
    sides: FloatArray,
    increments: FloatArray,
    forward: Singles,
    at: int,
    first: int,
    line: IntArray,
    start: int,
) -> None:
    n, u = line[GROUP.unknowns], line[GROUP.first_unknown]
    blocks = (line[GROUP.size] + BLOCK - 1) // BLOCK
    for block in range(blocks):
        a, b, c, d = broadcast(0.0), broadcast(0.0), broadcast(0.0), broadcast(0.0)
        cell = first + BLOCK * (block * n + start)
        for column in range(start, n):
            side = load_row(sides, u + column)
            a = a + load_single(forward, at, cell) * side
            b = b + load_single(forward, at, cell + 1) * side
            c = c + load_single(forward, at, cell + 2) * side
            d = d + load_single(forward, at, cell + 3) * side
            cell += BLOCK
        row = u + BLOCK * block
        store_row(increments, row, a)
        store_row(increments, row + 1, b)
        store_row(increments, row + 2, c)
        store_row(increments, row + 3, d)


@fused_kernel
def _add_backward(increments: FloatArray, backward: Singles, at: int, first: int, line: IntArray) -> None:
    n, u, cell = line[GROUP.unknowns], line[GROUP.first_unknown], first
    columns = line[GROUP.size] - n
    for block in range((n + BLOCK - 1) // BLOCK):
        a, b, c, d = broadcast(0.0), broadcast(0.0), broadcast(0.0), broadcast(0.0)
        for column in range(columns):
            other = load_row(increments, u + n + column)
            a = a + load_single(backward, at, cell) * other
            b = b + load_single(backward, at, cell + 1) * other
            c = c + load_single(backward, at, cell + 2) * other
            d = d + load_single(backward, at, cell + 3) * other
            cell += BLOCK
        row = u + BLOCK * block
        rows = min(BLOCK, n - BLOCK * block)
        store_row(increments, row, load_row(increments, row) - a)
        if rows > 1:
            store_row(increments, row + 1, load_row(increments, row + 1) - b)
        if rows > 2:
            store_row(increments, row + 2, load_row(increments, row + 2) - c)
        if rows > 3:
            store_row(increments, row + 3, load_row(increments, row + 3) - d)


@fused_kernel
def _multiply_core(sides: FloatArray, core: FloatArray, at: int) -> None:
    r0, r1, r2, r3, r4, r5 = sides[0], sides[1], sides[2], sides[3], sides[4], sides[5]
    for k in range(6):
        left = core[at, 6 * k] * r0 + core[at, 6 * k + 1] * r1 + core[at, 6 * k + 2] * r2
        right = core[at, 6 * k + 3] * r3 + core[at, 6 * k + 4] * r4 + core[at, 6 * k + 5] * r5
        sides[k] = left + right
