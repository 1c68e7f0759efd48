"""Implicit Euler on cars: columns beside the modes of the equations of motion, policies, and new choices."""

from __future__ import annotations

import numpy as np

from mastd.arrays import FloatArray
from mastd.formulations.integrators.implicit_euler import COUNT
from mastd.formulations.integrators.partial_jacobian import PartialJacobianWorkspace
from mastd.settings.vehicle.solver_names import JacobianPolicy
from mastd.vehicle.analysis.linearise import linearise
from mastd.vehicle.equilibrium.dense_equations import System
from mastd.vehicle.equilibrium.settle import settle
from mastd.vehicle.manoeuvres.base import jturn
from mastd.vehicle.model.library import find
from mastd.vehicle.simulation.simulation import Simulation
from mastd.vehicle.solver.choice import Solver
from mastd.vehicle.state.motion import design_state

SPEED = 60.0 / 3.6


def under_way(
    name: str, policy: JacobianPolicy, step: float = 1e-3
) -> tuple[Simulation, PartialJacobianWorkspace]:
    """Return a vehicle that rolls at 60 km/h, and its integrator."""
    simulation = Simulation(find(name), step=step, solver=Solver("partial-jacobian", policy=policy))
    simulation.start(SPEED)
    _, solver = simulation.stepper.blocks
    return simulation, solver.partial


def straight(simulation: Simulation, steps: int) -> FloatArray:
    """Return rows of inputs that do nothing."""
    return np.tile(simulation.system.inputs.row(), (steps, 1))


def test_columns_have_the_modes_of_the_equations_of_motion() -> None:
    """f_x and f_v of driving straight on, by differences of whole evaluations in relative coordinates; the
    modes by exact matrices in Cartesian ones."""
    simulation, work = under_way("benchmark_sedan", "full")
    simulation.advance(straight(simulation, 300))
    f_x, f_v = work.euler.position_columns.T, work.euler.velocity_columns.T
    n = len(f_x)
    whole = np.block([[np.zeros((n, n)), np.eye(n)], [f_x, f_v]])
    values = np.linalg.eigvals(whole)
    system = System(simulation.model)
    rest = settle(system, design_state(simulation.model)).state
    modes = [mode.eigenvalue for mode in linearise(system, rest, speed=SPEED).modes]
    found = sorted((value for value in values if value.imag > 1e-3), key=abs)
    np.testing.assert_allclose(found, modes, rtol=1e-3)


def test_a_column_does_not_depend_on_the_one_made_before_it() -> None:
    """Magic Formula tyres relax by the loads of the evaluation before: in turn or all at once, columns of a
    car that drives straight on are the same."""
    found = []
    policies: tuple[JacobianPolicy, ...] = ("full", "round-robin")
    for policy in policies:
        simulation, work = under_way("mcpherson_hatchback", policy)
        simulation.advance(straight(simulation, 300))
        found.append(np.stack([work.euler.position_columns, work.euler.velocity_columns]))
    sizes = np.maximum(1.0, np.abs(found[0]).max(axis=2, keepdims=True))
    np.testing.assert_allclose(found[1] / sizes, found[0] / sizes, rtol=0, atol=1e-2)


def turned(policy: JacobianPolicy, step: float) -> FloatArray:
    """Return where the car is while the J-turn begins, at every 10 ms (n, 3)."""
    simulation, _ = under_way("benchmark_sedan", policy, step)
    times: FloatArray = step * np.arange(1, round(1.2 / step) + 1, dtype=np.float64)
    trace = simulation.run(jturn(simulation.model).controls(times).rows(simulation.model))
    assert trace.first_unconverged is None
    stride = round(10e-3 / step)
    return trace.chassis[stride - 1 :: stride, :3]


def test_a_round_robin_drives_like_full_renewal() -> None:
    """Between them is a hundredth of what is between implicit Euler and twice as fine a step of it."""
    full = turned("full", 2e-3)
    own = np.abs(full - turned("full", 1e-3)).max()
    assert np.abs(turned("round-robin", 2e-3) - full).max() < 0.02 * own
    assert np.abs(turned("none", 2e-3) - full).max() > 0.1 * own


def test_a_run_begins_anew_where_it_is_started_again() -> None:
    simulation, work = under_way("benchmark_sedan", "round-robin")
    ends = []
    for _ in range(2):
        simulation.start(SPEED)
        simulation.advance(straight(simulation, 20))
        ends.append(simulation.state.position.copy())
    np.testing.assert_allclose(ends[0], ends[1], rtol=0, atol=1e-9)
    assert work.euler.counts[COUNT.steps] == 20


def test_other_independent_coordinates_have_all_columns_made_anew() -> None:
    simulation, work = under_way("benchmark_sedan", "round-robin")
    simulation.advance(straight(simulation, 5))
    assert [work.euler.counts[number] for number in (COUNT.steps, COUNT.replaced, COUNT.inversions)] == [
        5,
        4,
        1,
    ]
    kept = work.coordinates.copy()
    work.coordinates[[0, 1]] = work.coordinates[[1, 0]]
    simulation.advance(straight(simulation, 5))
    np.testing.assert_array_equal(work.coordinates, kept)
    assert [work.euler.counts[number] for number in (COUNT.steps, COUNT.replaced, COUNT.inversions)] == [
        5,
        8,
        2,
    ]


def test_a_chassis_that_is_held_goes_on_at_its_speed() -> None:
    simulation, _ = under_way("quarter_car", "none")
    start = simulation.state.position[0].copy()
    simulation.advance(straight(simulation, 100))
    way = simulation.state.position[0] - start
    np.testing.assert_allclose(way[:2], [0.1 * SPEED, 0.0], atol=1e-9)


def test_the_default_solver_is_another_one() -> None:
    """A patent covers this one: whoever takes it has said so."""
    assert Solver().formulation == "chassis"
    assert Solver().steps_by == "generalized-alpha"
