"""Learns, while the table moves, what stands on it: mass, centre of gravity and inertia of the payload.

The wrench that the actuators exert is linear in the ten numbers of a rigid body (``table_model``), and they
in turn go nearly linearly with what is not known for sure of a payload: its mass, the position of its centre
of gravity, its moments of inertia. These seven, in units of their usual spread, are tracked by a Kalman
filter:

    Jᵀ (f − friction) + load + supports = w(θ₀) + Σ p_j w(∂θ/∂p_j),

f by the pressures, w with the measured motion. What is steady is taken off both sides: the weight would tell
the mass by itself, but the friction of a table that stands hides a tonne of it. A table that stands, or that
carries nothing, teaches nothing. The seven stay within bounds: more is a contradiction that the payload check
tells, or a specimen that is no rigid body.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from mastd.arrays import FloatArray
from mastd.control.table.data import ControlState, Learned, Measured
from mastd.dynamics.actuator import ACTUATOR
from mastd.dynamics.supports import take_supports
from mastd.dynamics.table_model import MODEL_SIZE, add_load, parallel, wrench
from mastd.index_table import Entry, index_table, size_of
from mastd.kernel import fused_kernel

UNKNOWNS = 7
"""Mass, centre of gravity (3), moments of inertia (3)."""
WINDOW_TIME = 0.01
"""s that are averaged."""

SPREAD_OF_MASS = 0.06
SPREAD_OF_HEIGHT = 0.06
SPREAD_ACROSS = 0.03
"""m, of the centre of gravity from where the profile has it, along x and y."""
SPREAD_OF_INERTIA = 0.06
FARTHEST = 2.5
"""Bound of each of the seven, in spreads."""

STEADY_TIME = 1.0
"""Time constant in s of what counts as steady."""
NOISE = (2.0e3, 2.0e3)
"""Of a window's force in N and moment in N m: friction that the model has not."""
MODEL_ERROR = 0.02
"""Relative error of the model in the wrench."""
MIN_SPREAD = 0.02
"""Spread that always remains, so that what changes can be followed."""
MIN_WRENCH = 2.0e3
"""Changing wrench in N or N m below which a window says more of friction than of the payload."""
FOLLOW_TIME = 0.2
"""Time constant in s in which the control follows what was learned."""

_ROWS = 6


class BodyMemory(NamedTuple):
    """Offsets of what is learned of the payload; the seven in units of their usual spread."""

    estimate: Annotated[int, Entry("1", "the seven", UNKNOWNS)]
    covariance: Annotated[int, Entry("1", "of the seven, row by row", UNKNOWNS * UNKNOWNS)]
    total: Annotated[int, Entry("N, N m", "of a window: wrench missed, then of each", _ROWS * (1 + UNKNOWNS))]
    steady: Annotated[int, Entry("N, N m", "what is steady of them", _ROWS * (1 + UNKNOWNS))]
    samples: Annotated[int, Entry("1", "samples of the window")]
    windows: Annotated[int, Entry("1", "windows so far")]
    kalman: Annotated[int, Entry("1", "covariance times a row", UNKNOWNS)]


M = index_table(BodyMemory)
BODY_MEMORY = size_of(M)


def directions(model: FloatArray, bare: FloatArray) -> FloatArray:
    """Return ∂θ/∂p (UNKNOWNS, MODEL_SIZE), the last column gravity, for ``model``; ``bare`` is its table.

    Both as of ``TableModel.values``. Zero where nothing is carried.
    """
    rows = np.zeros((UNKNOWNS, MODEL_SIZE))
    mass = model[0] - bare[0]
    if not mass > 0.0:
        return rows
    centre = (model[1:4] - bare[1:4]) / mass
    whole = _matrix(model) - _matrix(bare)
    own = whole - parallel(mass, centre)
    rows[0] = SPREAD_OF_MASS * _row(mass, mass * centre, whole)
    spreads = (SPREAD_ACROSS, SPREAD_ACROSS, SPREAD_OF_HEIGHT * abs(centre[2]))
    for axis, spread in enumerate(spreads):
        step = np.zeros(3)
        step[axis] = spread
        inertia = parallel(mass, centre + 0.5 * step) - parallel(mass, centre - 0.5 * step)
        rows[1 + axis] = _row(0.0, mass * step, inertia)
    for axis in range(3):
        moment = np.zeros((3, 3))
        moment[axis, axis] = SPREAD_OF_INERTIA * own[axis, axis]
        rows[4 + axis] = _row(0.0, np.zeros(3), moment)
    rows[:, MODEL_SIZE - 1] = model[MODEL_SIZE - 1]
    return rows


def begin_learning(memory: FloatArray) -> None:
    """Forget everything: another payload has come."""
    memory[:] = 0.0
    for k in range(UNKNOWNS):
        memory[M.covariance + (UNKNOWNS + 1) * k] = 1.0


def _matrix(model: FloatArray) -> FloatArray:
    xx, yy, zz, xy, xz, yz = model[4:10]
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def _row(mass: float, moment: FloatArray, inertia: FloatArray) -> FloatArray:
    products = (inertia[0, 1], inertia[0, 2], inertia[1, 2])
    return np.array([mass, *moment, *np.diag(inertia), *products, 0.0])


@fused_kernel
def learn_body(
    model: FloatArray,
    learned: Learned,
    measured: Measured,
    state: ControlState,
    period: float,
    whole: bool,
    freedoms: FloatArray,
    supports: FloatArray,
) -> None:
    """Take one sample; let ``learned.body``, which the control uses, follow.

    ``model`` (MODEL_SIZE,) is the nominal one; the scratch has the Jacobian of the measured pose. ``whole``:
    this sample follows on the last one. ``freedoms`` (6,) as in ``Legs``: what guides hold, they carry.
    ``supports`` (s, SUPPORT) as in ``ControlModel``.
    """
    memory, believed, rows = learned.body_memory, learned.body, learned.directions
    ratio = min(1.0, period / FOLLOW_TIME)
    for k in range(MODEL_SIZE - 1):
        wanted = model[k]
        for j in range(UNKNOWNS):
            wanted += memory[j] * rows[j, k]
        believed[k] += ratio * (wanted - believed[k])
    believed[MODEL_SIZE - 1] = model[MODEL_SIZE - 1]
    if not whole:
        memory[M.samples] = 0.0
        for k in range(_ROWS * (1 + UNKNOWNS)):
            memory[M.total + k] = 0.0
        return
    _add_sample(model, learned, measured, state, freedoms, supports)
    if memory[M.samples] >= WINDOW_TIME / period - 0.5:
        _take_window(memory, period * memory[M.samples])


@fused_kernel
def _add_sample(
    model: FloatArray,
    learned: Learned,
    measured: Measured,
    state: ControlState,
    freedoms: FloatArray,
    supports: FloatArray,
) -> None:
    """Add what this sample misses of the wrench, and what each of the seven makes of it."""
    memory, rows, motion, load = learned.body_memory, learned.directions, measured.motion, measured.load
    expected, changed, jacobian = state.scratch.wrench, state.scratch.other, state.scratch.jacobian
    wrench(model, motion[0], motion[1], motion[2], expected)
    add_load(motion[0], load, load, 1.0, expected)
    take_supports(supports, motion[0], motion[1], expected)
    for axis in range(_ROWS):
        total = 0.0
        for i in range(jacobian.shape[0]):
            felt = learned.known[i, ACTUATOR.felt_friction]
            total += jacobian[i, axis] * (measured.forces[i] - felt * state.last_seals[i])
        memory[M.total + axis] += freedoms[axis] * (total - expected[axis])
    for j in range(UNKNOWNS):
        wrench(rows[j], motion[0], motion[1], motion[2], changed)
        for axis in range(_ROWS):
            memory[M.total + _ROWS * (1 + j) + axis] += freedoms[axis] * changed[axis]
    memory[M.samples] += 1.0


@fused_kernel
def _take_window(memory: FloatArray, span: float) -> None:
    """Take a window of ``span`` s into the seven."""
    count, memory[M.samples] = memory[M.samples], 0.0
    memory[M.windows] += 1.0
    ratio = max(span / STEADY_TIME, 1.0 / memory[M.windows])
    for k in range(_ROWS * (1 + UNKNOWNS)):
        mean = memory[M.total + k] / count
        memory[M.steady + k] += ratio * (mean - memory[M.steady + k])
        memory[M.total + k] = mean - memory[M.steady + k]
    if memory[M.windows] * span > STEADY_TIME:
        for axis in range(_ROWS):
            _take_row(memory, axis)
    for k in range(_ROWS * (1 + UNKNOWNS)):
        memory[M.total + k] = 0.0


@fused_kernel
def _take_row(memory: FloatArray, axis: int) -> None:
    """Take one of the six equations of a window into the seven."""
    first = M.total + _ROWS + axis
    size = 0.0
    missed = memory[M.total + axis]
    for j in range(UNKNOWNS):
        column = memory[first + _ROWS * j]
        size += column * column
        missed -= memory[j] * column
    noise = NOISE[0] if axis < 3 else NOISE[1]
    # Spreads are some six per cent: the changing wrench itself is some sixteen times what they make.
    if not size > (MIN_WRENCH * SPREAD_OF_MASS) ** 2:
        return
    variance = noise * noise + (MODEL_ERROR / SPREAD_OF_MASS) ** 2 * size
    total = variance
    for j in range(UNKNOWNS):
        for k in range(UNKNOWNS):
            total += (
                memory[first + _ROWS * j]
                * memory[M.covariance + UNKNOWNS * j + k]
                * memory[first + _ROWS * k]
            )
    inverse = 1.0 / total
    if not missed * missed * inverse < 25.0:
        return
    for j in range(UNKNOWNS):
        product = 0.0
        for k in range(UNKNOWNS):
            product += memory[M.covariance + UNKNOWNS * j + k] * memory[first + _ROWS * k]
        memory[M.kalman + j] = product
    for j in range(UNKNOWNS):
        learned = memory[j] + memory[M.kalman + j] * inverse * missed
        memory[j] = min(max(learned, -FARTHEST), FARTHEST)
        for k in range(UNKNOWNS):
            memory[M.covariance + UNKNOWNS * j + k] -= memory[M.kalman + j] * memory[M.kalman + k] * inverse
        own = M.covariance + (UNKNOWNS + 1) * j
        memory[own] = max(memory[own], MIN_SPREAD * MIN_SPREAD)
