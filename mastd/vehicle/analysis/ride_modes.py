"""How a vehicle swings that stands on a table at rest, its brakes on.

The linearised vehicle of ``linearise`` at standstill, with two differences. A braked wheel turns with its
carrier: one constraint row a wheel, spin = ω of the carrier · axis. And straps, where they are on, pull with
their preloads and hold with their stiffness and damping along their line.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.vehicle.analysis.linearise import Mode, modes_of
from mastd.vehicle.blocks.rotation import rotation_matrix
from mastd.vehicle.equilibrium.dense_equations import System
from mastd.vehicle.equilibrium.settle import settle
from mastd.vehicle.model.definition import Model
from mastd.vehicle.state.motion import State, design_state

HIGHEST: Final = 100.0
"""Hz up to which a mode is reported."""
MAX_DAMPING: Final = 0.99
"""A motion that is damped more than that does not swing."""


def ride_modes(model: Model, restrained: bool) -> tuple[Mode, ...]:
    """Return the vehicle's oscillations on the still, level table, by rising frequency.

    ``restrained``: its tie-downs are on. Raises EquilibriumError for a vehicle that does not stand.
    """
    system = System(model)
    straps = _straps(model) if restrained else []
    inputs = system.inputs.row()
    for line, preload, _, _ in straps:
        inputs[system.inputs.chassis_wrench] += preload * line
    state = settle(system, design_state(model), inputs).state
    matrices = system.matrices(state, inputs)
    for line, _, stiffness, damping in straps:
        matrices.stiffness[:6, :6] += stiffness * np.outer(line, line)
        matrices.damping[:6, :6] += damping * np.outer(line, line)
    rows = np.vstack([matrices.joint_jacobian, _brake_rows(model, state)])
    found = modes_of(model, replace(matrices, joint_jacobian=rows)).modes
    return tuple(mode for mode in found if mode.frequency_hz <= HIGHEST and mode.damping <= MAX_DAMPING)


def _brake_rows(model: Model, state: State) -> FloatArray:
    """Return the constraint rows (wheels, N) of wheels that turn with their carriers."""
    turns = rotation_matrix(state.attitude)
    rows = np.zeros((len(model.wheels), 6 * len(model.bodies) + len(model.wheels)))
    for index, wheel in enumerate(model.wheels):
        rows[index, 6 * wheel.carrier + 3 : 6 * wheel.carrier + 6] = -turns[wheel.carrier] @ wheel.axis
        rows[index, 6 * len(model.bodies) + index] = 1.0
    return rows


def _straps(model: Model) -> list[tuple[FloatArray, float, float, float]]:
    """Return each strap's pull (6) per newton on the chassis, in the design position, preload, stiffness and
    damping."""
    found = []
    for strap in model.tie_downs:
        line = strap.anchor - strap.point
        pull = line / np.linalg.norm(line)
        arm = strap.point - model.bodies[0].centre
        wrench = np.concatenate([pull, np.cross(arm, pull)])
        found.append((wrench, strap.preload, strap.stiffness, strap.damping))
    return found
