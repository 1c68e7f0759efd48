"""All formulations move one vehicle in the same way: accelerations at a state, and motions through time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from mastd.arrays import FloatArray
from mastd.roads.ground import Ground
from mastd.settings.vehicle.solver_names import TREE_FORMULATIONS, Formulation, Integrator
from mastd.vehicle.blocks.rotation import rotation_matrix
from mastd.vehicle.equilibrium.constraints import constraint_rows
from mastd.vehicle.equilibrium.dense_equations import System
from mastd.vehicle.manoeuvres.base import Manoeuvre, bump, jturn, step_count
from mastd.vehicle.manoeuvres.line import kerb
from mastd.vehicle.model.definition import Model
from mastd.vehicle.model.library import find
from mastd.vehicle.simulation.simulation import Simulation
from mastd.vehicle.solver.choice import Solver
from mastd.vehicle.state.motion import State
from tests.support.formulations.tree_reference import Motion, integrate

OWN = ("sedan", "mcpherson_hatchback", "transporter_8x8", "transporter_8_axles")
VEHICLES = ("quarter_car", "benchmark_sedan", *OWN)
MANOEUVRES: dict[str, Callable[[Model], Manoeuvre]] = {"jturn": jturn, "bump": bump}
FORMULATIONS: tuple[Formulation, ...] = TREE_FORMULATIONS[:-1]
"""Without the one that differs from another in its time integrator alone."""


def shaken(model: Model, seed: int) -> State:
    """Return a state in the middle of a random drive: over a bump on one or both sides, after random
    steering."""
    random = np.random.default_rng(seed)
    simulation = Simulation(model, accuracy="exact")
    speed = 0.0 if model.held else float(random.uniform(8.0, 25.0))
    manoeuvre = bump(model, speed=max(speed, 1.0), height=float(random.uniform(0.02, 0.06)))
    if not model.held:
        simulation = Simulation(model, accuracy="exact", ground=manoeuvre.ground)
    simulation.start(speed)
    count = int(random.integers(300, 700))
    rows = np.tile(simulation.system.inputs.row(), (count, 1))
    times = 1e-3 * np.arange(1, count + 1)
    for drive in range(len(model.drives)):
        size, rate = float(random.uniform(-4e-3, 4e-3)), 2.0 * np.pi * float(random.uniform(0.5, 2.0))
        rows[:, 3 * drive] = size * np.sin(rate * times)
        rows[:, 3 * drive + 1] = size * rate * np.cos(rate * times)
        rows[:, 3 * drive + 2] = -size * rate**2 * np.sin(rate * times)
    rows[:, -6:] = random.uniform(-500.0, 500.0, 6)
    simulation.advance(rows)
    assert simulation.converged
    return simulation.state


def by_newton_euler(model: Model, state: State) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return accelerations, angular ones (bodies, 3; inertial axes) and those of the spins from the whole
    system of all bodies and all constraints in inertial axes."""
    system, bodies = System(model), len(model.bodies)
    still = replace(
        state,
        acceleration=np.zeros((bodies, 3)),
        angular_acceleration=np.zeros((bodies, 3)),
        spin_acceleration=np.zeros(len(model.wheels)),
        multipliers=np.zeros(model.rows),
        bar_forces=np.zeros(len(model.bars)),
    )
    drive = np.array([_rack(model, state, k) for k in range(len(model.drives))]).reshape(-1, 3)
    row = system.inputs.row(drive=drive)
    stiffness = np.array([bar.stiffness for bar in model.bars])
    still = replace(still, bar_forces=-stiffness * system.bar_residual(still))
    matrices = system.matrices(still, row)
    rows = constraint_rows(model, matrices.joint_jacobian)
    gaps = np.zeros(len(rows))
    gaps[: model.rows] = system.constraints(still, drive)[2]
    # The second look knows the loads, by which the tyres' deflections mean what they mean.
    for _ in range(2):
        residual = system.residual(still, row, Ground.flat(), clock=(2e-3, 1e9))
    whole = np.block([[matrices.mass, rows.T], [rows, np.zeros((len(rows), len(rows)))]])
    right = -np.concatenate([residual, gaps])
    found = np.linalg.solve(whole, right)
    found += np.linalg.solve(whole, right - whole @ found)
    parts = found[: 6 * bodies].reshape(-1, 6)
    return parts[:, :3], parts[:, 3:], found[6 * bodies : system.size]


def _rack(model: Model, state: State, drive: int) -> FloatArray:
    """Return displacement, rate and no acceleration of a rack, from the state."""
    primitive = next(primitive for primitive in model.primitives if primitive.drive == drive)
    turn = rotation_matrix(state.attitude)
    ends = []
    for body, point in ((primitive.first, primitive.point_first), (primitive.second, primitive.point_second)):
        arm = turn[body] @ (point - model.bodies[body].centre)
        omega = turn[body] @ state.angular_velocity[body]
        ends.append((state.position[body] + arm, state.velocity[body] + np.cross(omega, arm), omega))
    axis = turn[primitive.first] @ primitive.axis_first
    way = ends[1][0] - ends[0][0]
    rate = ends[1][1] - ends[0][1] - np.cross(ends[0][2], way)
    return np.array([axis @ way, axis @ rate, 0.0])


@pytest.mark.parametrize("vehicle", VEHICLES)
def test_accelerations_of_all_formulations_agree(vehicle: str) -> None:
    model = replace(find(vehicle), powertrain=None, aerodynamics=None)
    for seed in range(3):
        state = shaken(model, seed)
        found = {}
        for formulation in FORMULATIONS:
            simulation = Simulation(model, solver=formulation)
            simulation.begin(state)
            found[formulation] = simulation.state
        one = found["independent"]
        linear, angular, spin = by_newton_euler(model, one)
        for formulation, other in found.items():
            turns = rotation_matrix(other.attitude)
            turned = np.einsum("bij,bj->bi", turns, other.angular_acceleration)
            for ours, due in (
                (other.acceleration, linear),
                (turned, angular),
                (other.spin_acceleration, spin),
            ):
                np.testing.assert_allclose(
                    ours, due, rtol=0, atol=1e-8 * np.abs(due).max(), err_msg=formulation
                )


STEPS: dict[tuple[Formulation, Integrator | None], float] = {
    ("chassis", None): 0.2e-3,
    ("inertial", None): 0.2e-3,
    **{(formulation, "runge-kutta"): 0.25e-3 for formulation in FORMULATIONS},
    ("independent", "adams-bashforth"): 0.25e-3,
    ("partial-jacobian", None): 0.05e-3,
}
"""s: implicit Euler is of first order, and so is Newton's method on Magic Formula tyres."""
CARTESIAN = ("chassis", "inertial", "subsystem-cartesian")
"""Formulations in coordinates of each body: their reference is one in those of the joints, and the other way
round."""


def reference(vehicle: str, name: str, formulation: Formulation, duration: float) -> Motion:
    """Return the motion by the formulation that is farthest from this one."""
    return _integrated(
        vehicle, name, "lagrange" if formulation in CARTESIAN else "subsystem-cartesian", duration
    )


@cache
def _integrated(vehicle: str, name: str, formulation: Formulation, duration: float) -> Motion:
    model = standing(vehicle)
    return integrate(model, MANOEUVRES[name](model), Solver(formulation), samples(duration))


@cache
def standing(vehicle: str) -> Model:
    """Return a vehicle without its powertrain, which idles and would only be in the way."""
    return replace(find(vehicle), powertrain=None)


def samples(duration: float) -> FloatArray:
    return np.linspace(0.0, duration, round(duration / 0.01) + 1)


def driven(model: Model, manoeuvre: Manoeuvre, solver: Solver, step: float, duration: float) -> Motion:
    simulation = Simulation(model, step=step, solver=solver, accuracy="exact", ground=manoeuvre.ground)
    simulation.start(manoeuvre.speed)
    times = step * np.arange(1, step_count(duration, step) + 1, dtype=np.float64)
    trace = simulation.run(manoeuvre.controls(times).rows(model))
    assert trace.first_unconverged is None, simulation.trouble
    every = round(0.01 / step)
    chassis = trace.chassis[every - 1 :: every]
    turns = Rotation.from_euler("ZYX", chassis[:, [11, 10, 9]])
    return Motion(chassis[:, :3], turns.apply(chassis[:, 6:9]))


def compare(
    vehicle: str, name: str, formulation: Formulation, integrator: Integrator | None, duration: float
) -> None:
    model = standing(vehicle)
    step = STEPS[formulation, integrator]
    ours = driven(model, MANOEUVRES[name](model), Solver(formulation, integrator), step, duration)
    due = reference(vehicle, name, formulation, duration)
    way = np.abs(ours.position - due.position[1:]).max()
    change = np.abs(ours.acceleration - due.acceleration[1:]).max()
    assert way <= 1e-4, f"{1e3 * way:.4g} mm"
    assert change <= 1e-2, f"{change:.4g} m/s2"


@pytest.mark.parametrize("name", MANOEUVRES)
@pytest.mark.parametrize(("formulation", "integrator"), STEPS)
def test_every_solver_makes_the_same_motion(
    name: str, formulation: Formulation, integrator: Integrator | None
) -> None:
    compare("benchmark_sedan", name, formulation, integrator, 1.2)


@pytest.mark.evidence
@pytest.mark.parametrize("vehicle", OWN)
@pytest.mark.parametrize("name", MANOEUVRES)
@pytest.mark.parametrize(("formulation", "integrator"), STEPS)
def test_every_solver_makes_the_same_motion_of_every_car(
    vehicle: str, name: str, formulation: Formulation, integrator: Integrator | None
) -> None:
    compare(vehicle, name, formulation, integrator, 2.5)


@pytest.mark.parametrize(
    ("formulation", "integrator", "order", "steps"),
    [
        ("independent", "runge-kutta", 4, (5e-3, 2.5e-3)),
        ("subsystem-cartesian", "runge-kutta", 4, (5e-3, 2.5e-3)),
        ("lagrange", "adams-bashforth", 2, (1e-3, 0.5e-3)),
        ("partial-jacobian", "implicit-euler", 1, (1e-3, 0.5e-3)),
        ("chassis", None, 2, (2e-3, 1e-3)),
    ],
)
def test_errors_fall_with_the_order_of_the_integrator(
    formulation: Formulation, integrator: Integrator | None, order: int, steps: tuple[float, float]
) -> None:
    """In the J-turn, whose ground is even."""
    model = standing("benchmark_sedan")
    manoeuvre = jturn(model)
    due = reference("benchmark_sedan", "jturn", formulation, 1.2)
    errors = []
    for step in steps:
        ours = driven(model, manoeuvre, Solver(formulation, integrator), step, 1.2)
        errors.append(np.abs(ours.position - due.position[1:]).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.5), errors


@pytest.mark.parametrize("formulation", ["independent", "subsystem-joint", "partial-jacobian"])
def test_ground_without_an_end_is_seen_in_all_stages(formulation: Formulation) -> None:
    """A kerb goes on for ever, and so does low friction."""
    model = standing("benchmark_sedan")
    for manoeuvre in (kerb(model), replace(jturn(model), ground=Ground.flat().with_friction(0.5, 0.5))):
        step = 0.25e-3
        ours = driven(model, manoeuvre, Solver(formulation), step, 1.2)
        due = driven(model, manoeuvre, Solver("chassis"), step, 1.2)
        assert np.abs(ours.position - due.position).max() < 2e-3
        assert (
            np.abs(due.position - driven(model, jturn(model), Solver("chassis"), step, 1.2).position).max()
            > 5e-3
        )


@pytest.mark.parametrize("vehicle", ["sedan", "mcpherson_hatchback"])
def test_torques_from_outside_add_to_those_of_the_powertrain(vehicle: str) -> None:
    model, speeds = find(vehicle), []
    for solver in ("chassis", "independent"):
        simulation = Simulation(model, step=0.5e-3, solver=Solver(solver))
        simulation.start(15.0, gear=3)
        rows = np.tile(simulation.system.inputs.row(), (2000, 1))
        rows[:, simulation.system.inputs.drive_torque] = 150.0
        rows[:, simulation.system.inputs.driver] = (0.3, 0.0, 0.0, 3.0)
        speeds.append(simulation.run(rows).chassis[-1, 3])
    assert speeds[0] > 15.5
    assert speeds[1] == pytest.approx(speeds[0], abs=2e-3)


def test_joints_that_cannot_close_any_more_are_named() -> None:
    """The rack is drawn on until a tie rod is stretched."""
    model = standing("benchmark_sedan")
    simulation = Simulation(model, solver="independent")
    simulation.start(2.0)
    times = 1e-3 * np.arange(1, 2001)
    rows = np.tile(simulation.system.inputs.row(), (len(times), 1))
    rows[:, 0], rows[:, 1] = 0.2 * times, 0.2
    for row in rows:
        simulation.advance(row[np.newaxis])
        if not simulation.converged:
            break
    assert not simulation.converged
    assert simulation.trouble.startswith("benchmark sedan: ")
    assert "'front " in simulation.trouble
    assert "\n" not in simulation.trouble
