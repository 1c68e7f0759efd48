"""What the tests ask of a car under way: runs, energies and momenta, calculated in numpy from its states."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.vehicle.blocks.rotation import rotation_matrix
from mastd.vehicle.equilibrium.dense_equations import System
from mastd.vehicle.joints.primitive import PrimitiveKind
from mastd.vehicle.manoeuvres.base import Manoeuvre
from mastd.vehicle.model.definition import Model
from mastd.vehicle.simulation.simulation import NewtonOptions, Simulation
from mastd.vehicle.state.inputs import InputLayout
from mastd.vehicle.state.motion import State
from mastd.vehicle.state.trace import ACCELERATION, ANGLES, Trace, join
from mastd.vehicle.tyres.linear_tyre import Tyre
from tests.support.vehicle.oracle import Motion, rows_of

TIGHT: Final = NewtonOptions(move_tolerance=1e-11, max_iterations=60)
"""Solves each step as far as the numbers go, so that only the formula's error is left."""


def rows(model: Model, manoeuvre: Manoeuvre, step: float) -> FloatArray:
    """Return the inputs of a manoeuvre, (n, width): the first at the end of the first step."""
    count = round(manoeuvre.duration / step)
    times = np.asarray(step * np.arange(1, count + 1), dtype=np.float64)
    return manoeuvre.controls(times).rows(model)


def coasting(model: Model, count: int) -> FloatArray:
    """Return inputs of a car that is left alone, (count, width)."""
    return np.zeros((count, InputLayout.of(model).width))


@dataclass
class Run:
    """What became of a manoeuvre."""

    simulation: Simulation
    trace: Trace
    position: FloatArray
    """(samples, bodies, 3) every tenth of a second."""

    @property
    def acceleration(self) -> FloatArray:
        """(samples, 3) of the chassis in its own axes, every tenth of a second."""
        stride = round(0.1 / self.simulation.formula.step)
        return np.asarray(self.trace.chassis[stride - 1 :: stride, ACCELERATION])


def drive(simulation: Simulation, manoeuvre: Manoeuvre) -> Run:
    """Start a simulation and run a manoeuvre."""
    step = simulation.formula.step
    simulation.start(manoeuvre.speed)
    inputs, stride = rows(simulation.model, manoeuvre, step), round(0.1 / step)
    traces, positions = [], []
    for first in range(0, len(inputs), stride):
        traces.append(simulation.run(inputs[first : first + stride]))
        positions.append(simulation.state.position)
    return Run(simulation, join(traces), np.array(positions))


def yaw_of(trace: Trace) -> float:
    """Return the angle that a car has turned by in all, rad."""
    return float(np.unwrap(trace.chassis[:, ANGLES.stop - 1])[-1])


def in_chassis_axes(model: Model, state: State, gaps: FloatArray) -> FloatArray:
    """Return constraint rows with those of ball joints, which are vectors, in chassis axes."""
    turned, matrix = gaps.copy(), rotation_matrix(state.attitude[0])
    for primitive, where in zip(model.primitives, rows_of(model), strict=True):
        if primitive.kind is PrimitiveKind.SPHERICAL:
            turned[where] = matrix.T @ gaps[where]
    return turned


def lengths(model: Model, gaps: FloatArray) -> FloatArray:
    """Return the size of each primitive's gap: of a ball joint the distance between its points."""
    return np.array([np.linalg.norm(gaps[where]) for where in rows_of(model)])


def energy(model: Model, state: State) -> float:
    """Return kinetic energy and the potentials of gravity, springs, bars and tyres, J.

    Stops and what springs and tyres do off the ground are left out: for motions that do not reach them.
    """
    motion, total = Motion(model, state), 0.0
    for index, body in enumerate(model.bodies):
        omega, velocity = state.angular_velocity[index], state.velocity[index]
        total += 0.5 * body.mass * velocity @ velocity + 0.5 * omega @ body.inertia @ omega
        total += body.mass * model.gravity * state.position[index, 2]
    for spring in model.springs:
        ends = (
            motion.point(spring.second, spring.point_second),
            motion.point(spring.first, spring.point_first),
        )
        length = float(np.linalg.norm(ends[0].value - ends[1].value))
        total += 0.5 * spring.stiffness * (spring.free_length - length) ** 2
    for bar in model.bars:
        left, right = (
            motion.point(bar.body_left, bar.point_left),
            motion.point(bar.body_right, bar.point_right),
        )
        twist = motion.matrix[0][:, 2] @ (left.value - right.value)
        total += 0.5 * bar.stiffness * twist**2
    for wheel, spin in zip(model.wheels, state.spin, strict=True):
        depth = wheel.tyre.free_radius - motion.point(wheel.carrier, wheel.centre).value[2]
        total += 0.5 * wheel.axial_inertia * spin**2 + 0.5 * wheel.tyre.stiffness * max(0.0, depth) ** 2
    return float(total)


def momentum_rate(model: Model, state: State) -> FloatArray:
    """Return the rates of momentum and of angular momentum about the origin, (6), inertial axes."""
    motion, force, moment = Motion(model, state), np.zeros(3), np.zeros(3)
    for index, body in enumerate(model.bodies):
        matrix, omega, alpha = motion.matrix[index], motion.omega[index], motion.alpha[index]
        inertia = matrix @ body.inertia @ matrix.T
        push = body.mass * state.acceleration[index]
        force += push
        moment += np.cross(state.position[index], push) + inertia @ alpha + np.cross(omega, inertia @ omega)
    for index, wheel in enumerate(model.wheels):
        axis = motion.axis(wheel.carrier, wheel.axis)
        moment += wheel.axial_inertia * (
            state.spin_acceleration[index] * axis.value + state.spin[index] * axis.rate
        )
    return np.concatenate([force, moment])


def weight(model: Model, state: State) -> FloatArray:
    """Return the car's weight as a force and its moment about the origin, (6)."""
    masses = np.array([body.mass for body in model.bodies])
    force = np.array([0.0, 0.0, -model.gravity * masses.sum()])
    centre = masses @ state.position / masses.sum()
    return np.concatenate([force, np.cross(centre, force)])


def released(system: System, state: State) -> State:
    """Return the state with accelerations and forces that its positions and velocities ask for."""
    model, size = system.model, system.size
    stiffness = np.array([bar.stiffness for bar in model.bars])
    state = replace(
        state,
        acceleration=np.zeros_like(state.acceleration),
        angular_acceleration=np.zeros_like(state.acceleration),
        spin_acceleration=np.zeros_like(state.spin),
        multipliers=np.zeros_like(state.multipliers),
        bar_forces=state.bar_forces - stiffness * system.bar_residual(state),
    )
    matrices = system.matrices(state)
    jacobian = matrices.joint_jacobian
    whole = np.block([[matrices.mass, jacobian.T], [jacobian, np.zeros((model.rows, model.rows))]])
    sides = -np.concatenate([system.residual(state), system.constraints(state)[2]])
    found = np.linalg.solve(whole, sides)
    bodies = found[: 6 * len(model.bodies)].reshape(-1, 6)
    turns = rotation_matrix(state.attitude)
    return replace(
        state,
        acceleration=bodies[:, :3],
        angular_acceleration=np.einsum("bji,bj->bi", turns, bodies[:, 3:]),
        spin_acceleration=found[6 * len(model.bodies) : size],
        multipliers=found[size:],
    )


def without_losses(model: Model) -> Model:
    """Return the car without dampers, tyre damping and slip."""
    springs = tuple(replace(spring, damping=0.0, damper_table=None) for spring in model.springs)
    wheels = []
    for wheel in model.wheels:
        assert isinstance(wheel.tyre, Tyre)
        tyre = replace(wheel.tyre, damping=0.0, longitudinal_slip_stiffness=0.0, cornering_stiffness=0.0)
        wheels.append(replace(wheel, tyre=tyre))
    return replace(model, springs=springs, wheels=tuple(wheels))
