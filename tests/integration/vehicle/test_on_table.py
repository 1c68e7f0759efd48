"""The car on a table that moves: its wrench, and the momentum laws that every step must keep."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from mastd.arrays import FloatArray
from mastd.roads.ground import Ground, write_plane
from mastd.settings.vehicle.solver_names import Formulation
from mastd.vehicle.blocks.rotation import rotation_matrix
from mastd.vehicle.manoeuvres.base import jturn
from mastd.vehicle.model.definition import Model
from mastd.vehicle.model.library import find
from mastd.vehicle.simulation.simulation import Accuracy, Simulation
from mastd.vehicle.state.inputs import InputLayout
from mastd.vehicle.state.motion import State
from tests.support.vehicle.drives import TIGHT, momentum_rate, rows, weight
from tests.support.vehicle.variants import LINEAR_HATCHBACK

ACCURACIES: tuple[Accuracy, ...] = ("fast", "exact")
STEP = 1e-3
PUSH = np.array([500.0, -800.0, 300.0, 200.0, -300.0, 400.0])
"""Force and moment on the chassis, in its axes, N and N m."""


@pytest.fixture(scope="module")
def sedan() -> Model:
    return find("benchmark_sedan")


def imbalance(
    model: Model, state: State, wrench: FloatArray, outside: FloatArray | None = None
) -> FloatArray:
    """Return rate of momentum − weight − what acts from outside + the car's wrench on the ground, (6)."""
    total = momentum_rate(model, state) - weight(model, state) + wrench
    if outside is not None:
        matrix = rotation_matrix(state.attitude[0])
        force = matrix @ outside[:3]
        total -= np.concatenate([force, matrix @ outside[3:] + np.cross(state.position[0], force)])
    return total


@pytest.mark.parametrize("formulation", ["chassis", "inertial"])
@pytest.mark.parametrize("accuracy", ACCURACIES)
@pytest.mark.parametrize(
    "vehicle", ["benchmark_sedan", pytest.param(LINEAR_HATCHBACK, id="linear_hatchback")]
)
def test_every_step_keeps_the_laws_of_momentum(
    vehicle: str, accuracy: Accuracy, formulation: Formulation
) -> None:
    """With torques on the wheels, which are inside the car, and a wrench on the chassis, which is not."""
    model = find(vehicle)
    manoeuvre, layout = jturn(model, duration=1.0, ramp_start=0.1, ramp_end=0.5), InputLayout.of(model)
    inputs = rows(model, manoeuvre, STEP)
    inputs[:, layout.drive_torque], inputs[:, layout.motor_torque] = 300.0, -100.0
    inputs[:, layout.chassis_wrench] = PUSH
    simulation = Simulation(model, accuracy=accuracy, solver=formulation, newton=TIGHT)
    simulation.start(manoeuvre.speed)
    errors, largest = [], 0.0
    for index, row in enumerate(inputs):
        wrench, _ = simulation.step(row)
        assert simulation.converged
        if index % 10 == 0:
            errors.append(imbalance(model, simulation.state, wrench, PUSH))
            largest = max(largest, float(np.abs(momentum_rate(model, simulation.state)[1])))
    worst = np.max(np.abs(errors), axis=0)
    print(f"{vehicle}, {accuracy}, {formulation}: {worst[:3].max():.1e} N, {worst[3:].max():.1e} N m")
    assert largest > 3000.0
    assert np.all(worst[:3] <= 0.01)
    # The contact points are those below the predicted wheel centres, micrometres off.
    assert np.all(worst[3:] <= 0.05)


@dataclass
class Shaken:
    """A car on a table."""

    simulation: Simulation
    wrenches: FloatArray
    """(n, 6) of each step."""
    imbalances: FloatArray
    """(samples, 6)."""


def shaken(model: Model, accuracy: Accuracy, amplitude: float, frequency: float, periods: float) -> Shaken:
    """Let the table heave, z = amplitude · sin(2π · frequency · t), with the car standing on it."""
    simulation, row = Simulation(model, accuracy=accuracy), InputLayout.of(model).row()
    simulation.start(0.0)
    table, nothing = Ground.flat().parameters, np.zeros(3)
    wrenches, imbalances = [], []
    for index in range(round(periods / frequency / STEP)):
        phase = 2.0 * np.pi * frequency * STEP * (index + 1)
        height = np.array([0.0, 0.0, amplitude * np.sin(phase)])
        velocity = np.array([0.0, 0.0, 2.0 * np.pi * frequency * amplitude * np.cos(phase)])
        write_plane(table, height, np.eye(3), velocity, nothing)
        wrench, _ = simulation.step(row, table)
        assert simulation.converged
        wrenches.append(wrench.copy())
        if index % 20 == 0:
            imbalances.append(imbalance(model, simulation.state, wrench))
    return Shaken(simulation, np.array(wrenches), np.array(imbalances))


@pytest.mark.parametrize("accuracy", ACCURACIES)
def test_the_wrench_on_a_heaving_table(sedan: Model, accuracy: Accuracy) -> None:
    """On average the weight; at each time the weight less the rate of momentum, summed over all bodies."""
    run = shaken(sedan, accuracy, 5e-3, 2.0, 6.0)
    due = weight(sedan, run.simulation.state)
    force = run.wrenches[1000:, 2]
    assert np.ptp(force) > 1000.0
    assert np.mean(force) == pytest.approx(due[2], rel=5e-4)
    worst = np.max(np.abs(run.imbalances), axis=0)
    print(f"{accuracy}: {worst[:3].max():.1e} N, {worst[3:].max():.1e} N m")
    assert np.all(worst <= 0.05)


def test_the_wrench_of_a_slow_table_is_that_of_a_rigid_mass(sedan: Model) -> None:
    """Far below its own frequencies the car follows: m (g + acceleration of the table)."""
    frequency, amplitude = 0.2, 0.05
    run = shaken(sedan, "fast", amplitude, frequency, 1.5)
    mass = sum(body.mass for body in sedan.bodies)
    phase = 2.0 * np.pi * frequency * STEP * np.arange(1, len(run.wrenches) + 1)
    second = -((2.0 * np.pi * frequency) ** 2) * amplitude * np.sin(phase)
    settled = slice(3000, None)
    found = run.wrenches[settled, 2] + mass * sedan.gravity
    np.testing.assert_allclose(found, -mass * second[settled], atol=0.05 * mass * np.max(np.abs(second)))


@pytest.mark.parametrize("accuracy", ACCURACIES)
def test_the_wrench_on_a_tilted_table_balances_the_weight(sedan: Model, accuracy: Accuracy) -> None:
    """Rolled by 2° within two seconds: the tyres creep, and carry the weight with its moments."""
    simulation, row = Simulation(sedan, accuracy=accuracy), InputLayout.of(sedan).row()
    simulation.start(0.0)
    table, nothing, roll = Ground.flat().parameters, np.zeros(3), np.radians(2.0)
    for index in range(7000):
        share = min(1.0, (index + 1) / 2000)
        attitude = Rotation.from_rotvec([share * roll, 0.0, 0.0]).as_matrix()
        turning = np.array([roll / 2.0 if share < 1.0 else 0.0, 0.0, 0.0])
        write_plane(table, nothing, attitude, nothing, turning)
        wrench, _ = simulation.step(row, table)
        assert simulation.converged
    angles = simulation.sample().chassis[0, 9:12]
    assert roll < angles[0] < 1.2 * roll
    np.testing.assert_allclose(wrench, weight(sedan, simulation.state), atol=0.01)
    level = weight(sedan, simulation.state)[3]
    assert abs(level) > 10.0
