"""The linear model of a step of a vehicle that stands braked on a moving plane, with its wrench on it.

About the settled vehicle, with u = Z q for what the joints leave free (G Z = 0), the residual of a step is

    R = R_a a + R_v v + R_q q + R_u u₀ + R_p p + R_r ṗ,    0 = R for the end of the step,

p: pose of the plane's point C, six numbers, ṗ its rate as the step is told, u₀: the tyres' deflections at the
beginning. All are differences of the compiled equations themselves, with the tyres' clock of a step, so that
the friction brake, the carcass and whatever a tyre remembers are in it. Straps and chocks are taken at the
prediction, as in a step. a, v, q and the mean acceleration follow ``generalized_alpha``.

What the tyres give is kept by itself, so that ``stiffer`` can multiply it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.transform import Rotation

from mastd.arrays import FloatArray
from mastd.roads.ground import Ground, write_plane
from mastd.vehicle.blocks.fields import WHEEL
from mastd.vehicle.blocks.rotation import rotation_matrix
from mastd.vehicle.equilibrium.constraints import constraint_rows, free_motions
from mastd.vehicle.equilibrium.settle import at_rest, balanced_bars
from mastd.vehicle.model.definition import Model
from mastd.vehicle.simulation.simulation import FIRM_BRAKE, Simulation
from mastd.vehicle.solver.generalized_alpha import Formula
from mastd.vehicle.state.motion import State

MOVE = 1e-6
"""m or rad by which positions are differenced; m/s and rad/s of speeds; deflections too."""
PUSH = 1e-3
"""m/s² and rad/s² by which accelerations are differenced: they enter linearly."""


@dataclass(frozen=True, eq=False)
class Slopes:
    """Derivatives (…, n) by n quantities of the five things that a state gives."""

    residual: FloatArray
    """(dof, n) of all but straps and chocks."""
    outer: FloatArray
    """(dof, n) of straps and chocks."""
    wrench: FloatArray
    """(6, n) on the plane at C, in its axes, of tyres."""
    outer_wrench: FloatArray
    """(6, n) of straps and chocks."""
    deflections: FloatArray
    """(2 wheels, n) at the end of the step."""
    tyre_residual: FloatArray
    """(dof, n): the tyres' part of ``residual``."""
    tyre_wrench: FloatArray
    """(6, n): their part of ``wrench`` except for what only turns with the plane."""

    def stiffer(self, factor: float, by_deflection: Slopes, *, of_position: bool) -> Slopes:
        """Return the slopes with tyres of ``factor`` times the stiffness.

        ``by_deflection``: slopes by the deflections at the beginning; ``of_position``: by positions,
        where all of the tyres' part is stiffness, else only that of their deflections.
        """
        more = factor - 1.0
        residual = by_deflection.tyre_residual @ self.deflections
        wrench = by_deflection.tyre_wrench @ self.deflections
        if of_position:
            residual, wrench = residual + self.tyre_residual, wrench + self.tyre_wrench
        return replace(self, residual=self.residual + more * residual, wrench=self.wrench + more * wrench)


@dataclass(frozen=True, eq=False)
class LinearVehicle:
    """Slopes of a vehicle's step by what it depends on."""

    model: Model
    formula: Formula
    acceleration: Slopes
    velocity: Slopes
    position: Slopes
    deflection: Slopes
    """By the deflections at the beginning of the step."""
    pose: Slopes
    rate: Slopes
    wrench: FloatArray
    """(6) at rest, at C in P axes, that of straps and chocks with it."""

    def stiffer(self, factor: float) -> LinearVehicle:
        """Return the vehicle with tyres of ``factor`` times the stiffness, vertical and of the carcass.

        What they carry at rest stays, and their damping and viscous slip.
        """

        def more(slopes: Slopes, *, of_position: bool = False) -> Slopes:
            return slopes.stiffer(factor, self.deflection, of_position=of_position)

        return replace(
            self,
            acceleration=more(self.acceleration),
            velocity=more(self.velocity),
            position=more(self.position, of_position=True),
            deflection=more(self.deflection),
            pose=more(self.pose, of_position=True),
            rate=more(self.rate),
        )


def linear_vehicle(simulation: Simulation, origin: FloatArray) -> LinearVehicle:
    """Return the linear model of a vehicle that has been started, at rest, on level ground.

    ``origin`` (3): of the vehicle's origin in P, m.
    """
    evaluator = _Evaluator(simulation, origin)
    free = evaluator.free
    count = free.shape[1]

    def slopes(size: int, step: FloatArray, give: Callable[[FloatArray], FloatArray]) -> Slopes:
        return _slopes(evaluator, size, step, give)

    longest = np.max(np.abs(free), axis=0)
    nothing = np.zeros(6)
    model = simulation.model
    return LinearVehicle(
        model=model,
        formula=simulation.formula,
        acceleration=slopes(count, PUSH / longest, lambda x: evaluator.at(acceleration=free @ x)),
        velocity=slopes(count, MOVE / longest, lambda x: evaluator.at(velocity=free @ x)),
        position=slopes(count, MOVE / longest, lambda x: evaluator.at(displacement=free @ x)),
        deflection=slopes(
            2 * len(model.wheels),
            np.full(2 * len(model.wheels), MOVE),
            lambda x: evaluator.at(deflection=x),
        ),
        pose=slopes(6, np.full(6, MOVE), lambda x: evaluator.at(pose=x)),
        rate=slopes(6, np.full(6, MOVE), lambda x: evaluator.at(rate=x)),
        wrench=evaluator.at(pose=nothing)[evaluator.wrench_at].reshape(2, 6).sum(axis=0),
    )


def _slopes(
    evaluator: _Evaluator, size: int, step: FloatArray, give: Callable[[FloatArray], FloatArray]
) -> Slopes:
    columns = np.zeros((evaluator.width, size))
    for k in range(size):
        way = np.zeros(size)
        way[k] = step[k]
        columns[:, k] = (give(way) - give(-way)) / (2.0 * step[k])
    residual, outer, wrench, outer_wrench, deflections, tyres = np.split(columns, evaluator.ends)
    return Slopes(
        residual=evaluator.free.T @ residual,
        outer=evaluator.free.T @ outer,
        wrench=wrench,
        outer_wrench=outer_wrench,
        deflections=deflections,
        tyre_residual=evaluator.free.T @ evaluator.tyres_on_bodies @ tyres,
        tyre_wrench=evaluator.tyres_on_plane @ tyres,
    )


class _Evaluator:
    """The compiled equations at states near rest, as one column of numbers."""

    def __init__(self, simulation: Simulation, origin: FloatArray) -> None:
        self.system, self.model, self.formula = simulation.system, simulation.model, simulation.formula
        self.origin = origin
        self.rest = at_rest(simulation.state)
        self.inputs = self.system.inputs.row()
        self.inputs[self.system.inputs.brake_capacity] = FIRM_BRAKE
        bodies, wheels = len(self.model.bodies), len(self.model.wheels)
        # Without the brake, which takes the mass of a wheel's spin out of its own row.
        matrices = self.system.matrices(self.rest, None, self._ground(np.zeros(6), np.zeros(6)))
        rows = constraint_rows(self.model, matrices.joint_jacobian)
        self.free = free_motions(matrices.mass, rows).free
        self.size = 6 * bodies + wheels
        widths = (self.size, self.size, 6, 6, 2 * wheels, 6 * wheels)
        self.width = sum(widths)
        self.ends = np.cumsum(widths)[:-1]
        self.wrench_at = slice(2 * self.size, 2 * self.size + 12)
        # Twice, for what the deflections of tyres mean depends on loads that the first evaluation finds.
        self._loads = np.zeros_like(self.system.layout.arrays.wheels[:, WHEEL.load])
        for _ in range(2):
            self.at()
            self._loads = self.system.layout.arrays.wheels[:, WHEEL.load].copy()
        self.tyres_on_bodies, self.tyres_on_plane = self._levers()

    def at(
        self,
        displacement: FloatArray | None = None,
        velocity: FloatArray | None = None,
        acceleration: FloatArray | None = None,
        deflection: FloatArray | None = None,
        pose: FloatArray | None = None,
        rate: FloatArray | None = None,
    ) -> FloatArray:
        """Return residual without straps and chocks, their part, wrench of tyres and of straps and chocks at
        C, deflections at the end of the step, and force and moment of each tyre on its wheel's centre."""
        pose = np.zeros(6) if pose is None else pose
        state = self._state(displacement, velocity, acceleration, deflection)
        ground = self._ground(pose, np.zeros(6) if rate is None else rate)
        car = self.system.layout.arrays
        car.wheels[:, WHEEL.load] = self._loads
        clock = (self.formula.velocity, 1.0 / self.formula.step)
        residual = self.system.residual(state, self.inputs, ground, clock)
        outer, outer_wrench = self._outer(state)
        wheels = [car.wheels[item, :, lane] for item, lane in self.system.layout.wheel]
        tyres = np.array(
            [
                [*w[WHEEL.tyre_force : WHEEL.tyre_force + 3], *w[WHEEL.tyre_moment : WHEEL.tyre_moment + 3]]
                for w in wheels
            ]
        )
        ends = np.array([w[WHEEL.deflection : WHEEL.deflection + 2] for w in wheels])
        wrench = np.zeros(6)
        for wheel, tyre in zip(self.model.wheels, tyres, strict=True):
            wrench[:3] -= tyre[:3]
            wrench[3:] -= np.cross(self._centre(state, wheel.carrier, wheel.centre), tyre[:3]) + tyre[3:]
        return np.concatenate(
            [
                residual - outer,
                outer,
                self._at_centre(wrench, pose),
                self._at_centre(outer_wrench, pose),
                ends.ravel(),
                tyres.ravel(),
            ]
        )

    def _state(
        self,
        displacement: FloatArray | None,
        velocity: FloatArray | None,
        acceleration: FloatArray | None,
        deflection: FloatArray | None,
    ) -> State:
        state, bodies = self.rest, len(self.model.bodies)
        if displacement is not None:
            state = balanced_bars(self.system, self.system.move(state, displacement))
        if velocity is not None:
            linear, angular, spin = self._parts(velocity, bodies)
            state = replace(state, velocity=linear, angular_velocity=angular, spin=spin)
        if acceleration is not None:
            linear, angular, spin = self._parts(acceleration, bodies)
            state = replace(state, acceleration=linear, angular_acceleration=angular, spin_acceleration=spin)
        if deflection is not None:
            state = replace(state, deflection=deflection.reshape(-1, 2))
        return state

    def _parts(self, motion: FloatArray, bodies: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Split a motion (N) into linear, angular (body axes) and spins."""
        rows = motion[: 6 * bodies].reshape(-1, 6)
        turns = rotation_matrix(self.rest.attitude)
        return rows[:, :3].copy(), np.einsum("bji,bj->bi", turns, rows[:, 3:]), motion[6 * bodies :].copy()

    def _ground(self, pose: FloatArray, rate: FloatArray) -> Ground:
        parameters = Ground.plane(np.zeros(3), np.eye(3)).parameters
        turn = Rotation.from_euler("ZYX", pose[5:2:-1]).as_matrix()
        point = pose[:3] + turn @ self.origin - self.origin
        velocity = rate[:3] + np.cross(rate[3:], turn @ self.origin)
        write_plane(parameters, point, turn, velocity, rate[3:])
        return Ground(parameters)

    def _at_centre(self, wrench: FloatArray, pose: FloatArray) -> FloatArray:
        """Return a wrench about the origin of W as that at C in P axes."""
        turn = Rotation.from_euler("ZYX", pose[5:2:-1]).as_matrix()
        moment = wrench[3:] - np.cross(pose[:3] - self.origin, wrench[:3])
        return np.concatenate([turn.T @ wrench[:3], turn.T @ moment])

    def _outer(self, state: State) -> tuple[FloatArray, FloatArray]:
        """Return what straps and chocks add to the residual (N), and their wrench on the ground (6)."""
        car = self.system.layout.arrays
        on_bodies, wrench = np.zeros(self.size), np.zeros(6)
        turn = rotation_matrix(state.attitude[0])
        if self.model.tie_downs:
            wrench += car.strap_wrench
            on_bodies[:3] -= turn @ car.external[:3]
            on_bodies[3:6] -= turn @ car.external[3:]
        for (item, lane), wheel in zip(self.system.layout.wheel, self.model.wheels, strict=True):
            push = car.wheels[item, WHEEL.chock_force : WHEEL.chock_force + 3, lane]
            centre = self._centre(state, wheel.carrier, wheel.centre)
            at = 6 * wheel.carrier
            on_bodies[at : at + 3] -= push
            on_bodies[at + 3 : at + 6] -= np.cross(centre - state.position[wheel.carrier], push)
            wrench[:3] -= push
            wrench[3:] -= np.cross(centre, push)
        return on_bodies, wrench

    def _centre(self, state: State, carrier: int, centre: FloatArray) -> FloatArray:
        turn = rotation_matrix(state.attitude[carrier])
        return np.asarray(state.position[carrier] + turn @ (centre - self.model.bodies[carrier].centre))

    def _levers(self) -> tuple[FloatArray, FloatArray]:
        """Return what a tyre's force and moment at its wheel's centre do: (N, 6 nw) in the residual, (6, 6
        nw) in the wrench at C. A braked wheel hands all of it to its carrier."""
        wheels = self.model.wheels
        on_bodies, on_plane = np.zeros((self.size, 6 * len(wheels))), np.zeros((6, 6 * len(wheels)))
        for index, wheel in enumerate(wheels):
            centre = self._centre(self.rest, wheel.carrier, wheel.centre)
            at, own = 6 * wheel.carrier, slice(6 * index, 6 * index + 6)
            on_bodies[at : at + 6, own] = -_moved(centre - self.rest.position[wheel.carrier])
            on_plane[:, own] = -_moved(centre + self.origin)
        return on_bodies, on_plane


def _moved(arm: FloatArray) -> FloatArray:
    """Return the matrix (6, 6) that takes a wrench at the end of an arm to its beginning."""
    x, y, z = arm
    matrix = np.eye(6)
    matrix[3:, :3] = [[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]
    return matrix
