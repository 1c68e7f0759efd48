"""A vehicle's motion by tolerance-controlled integration of one formulation: what the others are measured
against.

Dormand and Prince's formula of eighth order in scipy chooses its own steps; it integrates coordinates and
turn vectors since the start, spins and carcass deflections, and knows of the vehicle only their rates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp

from mastd.arrays import FloatArray
from mastd.formulations.integrators.stepper import TreeSteps
from mastd.formulations.tree.arrays import LINK
from mastd.formulations.tree.topology import TreeJoint
from mastd.vehicle.blocks.rotation import rotate_attitude
from mastd.vehicle.manoeuvres.base import Manoeuvre
from mastd.vehicle.model.definition import Model
from mastd.vehicle.simulation.simulation import Simulation
from mastd.vehicle.solver.choice import Solver

TOLERANCE = 1e-9
LONGEST = 2e-3
"""s: shorter than a bump at any speed here."""


@dataclass(frozen=True)
class Motion:
    """Chassis at sample times: position (n, 3), inertial axes, and acceleration (n, 3) in them."""

    position: FloatArray
    acceleration: FloatArray


def integrate(
    model: Model, manoeuvre: Manoeuvre, formulation: Solver, times: FloatArray, tolerance: float = TOLERANCE
) -> Motion:
    """Return the motion at ``times`` (n), the first one 0, to a relative ``tolerance``."""
    simulation = Simulation(model, solver=formulation, ground=manoeuvre.ground)
    simulation.start(manoeuvre.speed)
    equations = _Equations(simulation, manoeuvre)
    size = equations.size
    found = solve_ivp(
        equations.rates,
        (0.0, times[-1]),
        np.concatenate([np.zeros(size), equations.start]),
        method="DOP853",
        t_eval=times,
        rtol=tolerance,
        atol=tolerance,
        max_step=LONGEST,
    )
    assert found.success, found.message
    samples = [equations.sample(time, values) for time, values in zip(times, found.y.T, strict=True)]
    return Motion(np.array([place for place, _ in samples]), np.array([rate for _, rate in samples]))


class _Equations:
    """The vehicle's state as one vector: way of the coordinates since the start, their rates, spins,
    deflections."""

    def __init__(self, simulation: Simulation, manoeuvre: Manoeuvre) -> None:
        steps = simulation.stepper
        assert isinstance(steps, TreeSteps)
        self._steps, self._tree = steps, steps.tree
        self._model = simulation.model
        self._ground = simulation.ground.parameters
        self._controls: Callable[[FloatArray], object] = manoeuvre.controls
        self._manoeuvre = manoeuvre
        tree = self._tree
        self._start_q = tree.q.copy()
        self.size = len(tree.u)
        self.start = np.concatenate([tree.u, tree.spin, tree.deflection.ravel()])

    def rates(self, time: float, values: FloatArray) -> FloatArray:
        self._put(time, values)
        tree, n = self._tree, self.size
        way = tree.u.copy()
        for line in tree.links:
            kind, first = TreeJoint(int(line[LINK.kind])), int(line[LINK.first])
            if kind in (TreeJoint.FREE, TreeJoint.SPHERICAL):
                first += 3 if kind is TreeJoint.FREE else 0
                turn = slice(first, first + 3)
                way[turn] = _turn_rate(values[turn], tree.u[turn])
        rates = np.concatenate([way, tree.udot, tree.spin_rate, tree.deflection_rate.ravel()])
        assert len(rates) == len(values), n
        return rates

    def sample(self, time: float, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        self._put(time, values)
        # The chassis comes first; its velocity coordinates are those of its centre in inertial axes.
        return self._tree.q[:3].copy(), self._tree.udot[:3].copy()

    def _put(self, time: float, values: FloatArray) -> None:
        tree, n = self._tree, self.size
        for line in tree.links:
            kind, at, first = TreeJoint(int(line[LINK.kind])), int(line[LINK.position]), int(line[LINK.first])
            count = int(line[LINK.coordinates])
            if kind is TreeJoint.FREE:
                tree.q[at : at + 3] = self._start_q[at : at + 3] + values[first : first + 3]
                at, first = at + 3, first + 3
            if kind in (TreeJoint.FREE, TreeJoint.SPHERICAL):
                tree.q[at : at + 4] = rotate_attitude(self._start_q[at : at + 4], values[first : first + 3])
            else:
                tree.q[at : at + count] = self._start_q[at : at + count] + values[first : first + count]
        tree.u[:] = values[n : 2 * n]
        wheels = len(tree.spin)
        tree.spin[:] = values[2 * n : 2 * n + wheels]
        tree.deflection[:] = values[2 * n + wheels :].reshape(-1, 2)
        row = self._manoeuvre.controls(np.array([time])).rows(self._model)[0]
        # The first look finds the loads, by which Magic Formula tyres know what their deflections mean.
        for _ in range(2 if np.any(tree.deflection) else 1):
            self._steps.evaluate(row, self._ground)


def _turn_rate(turn: FloatArray, omega: FloatArray) -> FloatArray:
    """Return the rate of a rotation vector for an angular velocity in outer axes, in closed form."""
    angle = float(np.linalg.norm(turn))
    share = 1.0 / 12.0
    if angle > 1e-3:
        share = (1.0 - 0.5 * angle / np.tan(0.5 * angle)) / angle**2
    once = np.cross(turn, omega)
    rate: FloatArray = omega - 0.5 * once + share * np.cross(turn, once)
    return rate
