"""Vehicles as trees at random states whose loops are closed, and dense equations of motion beside them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import block_diag, null_space

from mastd.arrays import FloatArray, IntArray
from mastd.formulations.constraints.projection import displace_link
from mastd.formulations.integrators.stepper import TreeSteps
from mastd.formulations.tree.arrays import FREE, HELD, LINK, Tree
from mastd.roads.ground import Ground
from mastd.vehicle.equilibrium.dense_equations import System
from mastd.vehicle.model.definition import Model
from mastd.vehicle.solver.choice import Solver
from mastd.vehicle.state.arrays import Layout
from mastd.vehicle.state.inputs import InputLayout
from mastd.vehicle.state.motion import State, design_state

_CLOSED = 1e-11
"""m that a cut joint of a closed loop may be open."""


@dataclass(frozen=True)
class TreeCar:
    """A vehicle as a tree."""

    steps: TreeSteps
    design: FloatArray
    """``q`` in the design position."""

    @property
    def layout(self) -> Layout:
        """Its places in the blocks of the car."""
        return self.steps.layout

    @property
    def tree(self) -> Tree:
        """Its links and their state."""
        return self.steps.tree

    @property
    def model(self) -> Model:
        """The vehicle."""
        return self.layout.model

    @property
    def free(self) -> IntArray:
        """Coordinates that move by the equations of motion."""
        return np.flatnonzero(self.tree.fixed == FREE)


def tree_car(model: Model) -> TreeCar:
    """Return a vehicle in its design position at rest."""
    steps = TreeSteps(System(model), 5e-4, Solver("independent"), _CLOSED)
    return TreeCar(steps, steps.tree.q.copy())


def move_anywhere(car: TreeCar, seed: int) -> None:
    """Bring a vehicle to a random place, attitude and speed, its joints closed in position and velocity, and
    evaluate everything there."""
    tree, model, random = car.tree, car.model, np.random.default_rng(seed)
    n = len(tree.u)
    step = 0.08 * random.standard_normal(n)
    step[tree.rotational == 0] *= 0.3
    step[:6] = [20.0, -9.0, 0.02, 0.03, -0.02, 2.0]
    step[tree.fixed == HELD] = 0.0
    for link in range(len(tree.links)):
        displace_link(tree, link, car.design, step)
    drives = random.standard_normal((len(model.drives), 3)) * [0.01, 0.1, 2.0]
    inputs = InputLayout.of(model).row(drive=drives)
    tree.u[car.free] = 0.5 * random.standard_normal(len(car.free))
    tree.u[:6] = np.where(tree.fixed[:6] == FREE, [9.0, 0.4, 0.1, 0.2, -0.1, 0.5], 0.0)
    for wheel, entry in enumerate(model.wheels):
        tree.spin[wheel] = 9.0 / entry.tyre.rolling_radius + random.standard_normal()
    tree.quality[:] = np.inf  # so that independent coordinates are chosen here
    car.steps.evaluate(inputs, Ground.flat().parameters)
    assert not car.steps.trouble
    tree.udot[car.free] = np.nan


def velocity_matrix(tree: Tree) -> FloatArray:
    """Return the columns of V and W as one matrix (6 links, n)."""
    found = np.zeros((len(tree.links), 6, len(tree.u)))
    for i, line in enumerate(tree.links):
        at = slice(int(line[LINK.path]), int(line[LINK.path] + line[LINK.path_size]))
        found[i][:3, tree.path[at]] = tree.v[at].T
        found[i][3:, tree.path[at]] = tree.w[at].T
    return found.reshape(-1, len(tree.u))


def mass_matrix(tree: Tree) -> FloatArray:
    """Return the masses and inertias of all links in inertial axes (6 links, 6 links)."""
    blocks = []
    for mass, (xx, yy, zz, xy, xz, yz) in zip(tree.mass, tree.inertia, strict=True):
        blocks += [mass * np.eye(3), np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])]
    return np.asarray(block_diag(*blocks))


def dense_accelerations(car: TreeCar) -> FloatArray:
    """Return the accelerations (n) of the free coordinates by one dense system, the others zero."""
    tree, free = car.tree, car.free
    columns = velocity_matrix(tree)[:, free]
    found = np.zeros(len(tree.u))
    force = -columns.T @ tree.residual.ravel()
    found[free] = _constrained(columns.T @ mass_matrix(tree) @ columns, force, tree.phi[:, free], -tree.bias)
    return found


def body_accelerations(car: TreeCar) -> FloatArray:
    """Return what the tree's ``udot`` adds to γ, (links, 6): of the centres of mass, and angular."""
    tree, free = car.tree, car.free
    found: FloatArray = (velocity_matrix(tree)[:, free] @ tree.udot[free]).reshape(-1, 6)
    return found


def absolute_accelerations(car: TreeCar) -> FloatArray:
    """Return the same by the equations of all bodies, absolute, with all joints as constraints."""
    tree, model = car.tree, car.model
    system = System(model)
    state = state_of(car)
    jacobian = system.matrices(state).joint_jacobian[:, : 6 * len(model.bodies)]
    drive = np.array([[0.0, 0.0, 0.0]] * len(model.drives))
    for k, coordinate in enumerate(tree.drive_rows):
        place = tree.links[tree.link_of[coordinate], LINK.position]
        drive[k] = tree.q[place], tree.u[coordinate], tree.udot[coordinate]
    gaps = system.constraints(state, drive)[2]
    held = np.zeros((len(model.held), jacobian.shape[1]))
    held[range(len(held)), list(model.held)] = 1.0
    order = np.concatenate([6 * line[LINK.body] + np.arange(6) for line in tree.links])
    rows = np.vstack([jacobian, held])[:, order]
    sides = np.concatenate([-gaps, np.zeros(len(held))])
    found: FloatArray = _constrained(mass_matrix(tree), -tree.residual.ravel(), rows, sides).reshape(-1, 6)
    return found


def state_of(car: TreeCar) -> State:
    """Return the state of the bodies of a tree, their accelerations γ."""
    tree = car.tree
    body = tree.links[:, LINK.body]
    order = np.argsort(body)
    turn = tree.rotation.reshape(-1, 3, 3)[order]

    def own(vectors: FloatArray) -> FloatArray:
        found: FloatArray = np.einsum("bji,bj->bi", turn, vectors[order])
        return found

    return replace(
        design_state(car.model),
        position=tree.q[:3] + tree.position[order],
        attitude=tree.quaternion[order],
        velocity=tree.velocity[order],
        angular_velocity=own(tree.omega),
        acceleration=tree.gamma_v[order],
        angular_acceleration=own(tree.gamma_w),
        spin=tree.spin.copy(),
        deflection=tree.deflection.copy(),
    )


def _constrained(mass: FloatArray, force: FloatArray, rows: FloatArray, sides: FloatArray) -> FloatArray:
    """Return x with M x + rowsᵀ λ = force and rows x = sides, by the null space of the rows."""
    if len(rows) == 0:
        return np.asarray(np.linalg.solve(mass, force))
    basis = null_space(rows)
    particular = np.linalg.lstsq(rows, sides, rcond=None)[0]
    rest = np.linalg.solve(basis.T @ mass @ basis, basis.T @ (force - mass @ particular))
    return np.asarray(particular + basis @ rest)
