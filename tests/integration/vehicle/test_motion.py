"""The car under way against what is known of it: a reference trajectory, laws of mechanics, its own limit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from mastd.arrays import FloatArray
from mastd.settings.vehicle.solver_names import Formulation
from mastd.vehicle.equilibrium.dense_equations import System
from mastd.vehicle.equilibrium.settle import settle
from mastd.vehicle.manoeuvres.base import Manoeuvre, bump, jturn, play
from mastd.vehicle.model.definition import Model
from mastd.vehicle.model.library import find
from mastd.vehicle.simulation.simulation import Accuracy, NewtonOptions, Simulation
from mastd.vehicle.state.inputs import InputLayout
from mastd.vehicle.state.motion import State, design_state
from tests.support.vehicle.comparison import deviation, read_reference
from tests.support.vehicle.drives import (
    TIGHT,
    Run,
    coasting,
    drive,
    energy,
    in_chassis_axes,
    lengths,
    released,
    rows,
    without_losses,
)
from tests.support.vehicle.variants import LINEAR_HATCHBACK

ACCURACIES: tuple[Accuracy, ...] = ("fast", "exact")
MANOEUVRES: dict[str, Callable[[Model], Manoeuvre]] = {"jturn": jturn, "bump": bump}
FINE = 2.5e-4


@pytest.fixture(scope="module")
def sedan() -> Model:
    return find("benchmark_sedan")


@cache
def tight(name: str, accuracy: Accuracy, formulation: Formulation, step: float) -> Run:
    """Return a run in which each step is solved as far as the numbers go."""
    model = find("benchmark_sedan")
    manoeuvre = MANOEUVRES[name](model)
    simulation = Simulation(
        model, step=step, solver=formulation, accuracy=accuracy, ground=manoeuvre.ground, newton=TIGHT
    )
    run = drive(simulation, manoeuvre)
    assert run.trace.converged.all()
    return run


# The benchmark ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("accuracy", ACCURACIES)
@pytest.mark.parametrize("name", MANOEUVRES)
def test_the_benchmark_at_one_millisecond(shared: Path, sedan: Model, name: str, accuracy: Accuracy) -> None:
    path = shared / "data" / "sedan_benchmark" / f"reference_{name}.csv"
    if not path.is_file():
        pytest.skip("the benchmark's trajectories are not in the shared data folder")
    reference = read_reference(path, tuple(wheel.name for wheel in sedan.wheels))
    trace, _ = play(sedan, MANOEUVRES[name](sedan), accuracy=accuracy)
    found = deviation(trace, reference)
    print(f"{name}, {accuracy}: {found}")
    assert trace.converged.all()
    np.testing.assert_allclose(trace.wheel_loads[0], reference[0, 16:], atol=0.1)
    assert found.position <= 1e-3
    assert found.lateral_acceleration <= 1e-3
    assert found.vertical_acceleration <= 1e-2


# The formula ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("accuracy", ACCURACIES)
@pytest.mark.parametrize("name", MANOEUVRES)
def test_the_error_falls_with_the_formulas_order(name: str, accuracy: Accuracy) -> None:
    """Half the step, a quarter of the error: positions of all bodies, and the chassis' acceleration."""
    fine = tight(name, accuracy, "chassis", FINE)
    steps = np.array([4e-3, 2e-3, 1e-3, 5e-4])
    runs = [tight(name, accuracy, "chassis", float(step)) for step in steps]
    # What the fine run itself lacks is a part of each difference.
    due = np.log2((steps[:-1] ** 2 - FINE**2) / (steps[1:] ** 2 - FINE**2))
    # At 4 ms the car is over the bump's two edges, where the slope jumps, in 27 steps.
    measures: tuple[tuple[int, Callable[[Run], FloatArray]], ...] = (
        (0, lambda run: run.position),
        (2 if name == "bump" else 0, lambda run: run.acceleration),
    )
    for first, measure in measures:
        errors = np.array([np.max(np.abs(measure(run) - measure(fine))) for run in runs])
        orders = np.log2(errors[:-1] / errors[1:])
        print(f"{name}, {accuracy}: errors {errors}, orders {orders}, due {due}")
        assert np.all(np.abs(orders - due)[first:] <= 0.25)


@pytest.mark.parametrize("accuracy", ACCURACIES)
@pytest.mark.parametrize("name", MANOEUVRES)
def test_both_formulations_move_all_bodies_alike(name: str, accuracy: Accuracy) -> None:
    conventional, proposed = (
        tight(name, accuracy, formulation, 1e-3) for formulation in ("inertial", "chassis")
    )
    difference = np.max(np.abs(conventional.position - proposed.position))
    print(f"{name}, {accuracy}: {difference:.2e} m")
    assert difference <= 1e-6


@pytest.mark.parametrize("accuracy", ACCURACIES)
def test_both_formulations_move_a_car_with_bars_and_stops_alike(accuracy: Accuracy) -> None:
    hatchback = find(LINEAR_HATCHBACK)
    manoeuvre = jturn(hatchback, duration=2.0, rack=-0.012)
    runs = [
        drive(Simulation(hatchback, solver=formulation, accuracy=accuracy, newton=TIGHT), manoeuvre)
        for formulation in ("inertial", "chassis")
    ]
    assert np.max(np.abs(runs[0].position - runs[1].position)) <= 1e-6


def test_both_accuracies_roll_a_car_with_bars_alike() -> None:
    hatchback = find(LINEAR_HATCHBACK)
    fast, exact = (
        drive(Simulation(hatchback, accuracy=accuracy, newton=TIGHT), jturn(hatchback, duration=2.0))
        for accuracy in ACCURACIES
    )
    assert np.max(np.abs(fast.position - exact.position)) <= 1e-5
    assert np.max(np.abs(fast.trace.chassis[:, 9])) > 0.02


# Joints -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("accuracy", ACCURACIES)
@pytest.mark.parametrize("name", MANOEUVRES)
def test_joint_errors_after_each_step(sedan: Model, name: str, accuracy: Accuracy) -> None:
    """Measured from the states, apart from what the steps say of themselves; of a ball joint the distance."""
    turn, road = jturn(sedan, ramp_start=0.05, ramp_end=0.3), bump(sedan, distance=0.3)
    manoeuvre, measure = (turn if name == "jturn" else road), System(sedan)
    simulation = Simulation(sedan, accuracy=accuracy, ground=manoeuvre.ground)
    simulation.start(manoeuvre.speed)
    layout = InputLayout.of(sedan)
    worst_gap, worst_rate = 0.0, 0.0
    for row in rows(sedan, replace(manoeuvre, duration=0.5), 1e-3):
        simulation.step(row)
        state, sample = simulation.state, simulation.sample()
        gap, rate, _ = measure.constraints(state, row[layout.drive(0)].reshape(1, 3))
        assert simulation.converged
        gaps, rates = (np.abs(in_chassis_axes(sedan, state, part)).max() for part in (gap, rate))
        assert sample.joint_error[0] == pytest.approx(gaps, rel=1e-6, abs=1e-14)
        assert sample.velocity_error[0] == pytest.approx(rates, rel=1e-6, abs=1e-12)
        worst_gap = max(worst_gap, float(lengths(sedan, gap).max()))
        worst_rate = max(worst_rate, float(lengths(sedan, rate).max()))
    print(f"{name}, {accuracy}: {worst_gap:.2e} m, {worst_rate:.2e} m/s")
    assert worst_gap <= 1e-8
    assert worst_rate <= (1e-8 if accuracy == "exact" else 1e-4)


# Energy -----------------------------------------------------------------------------------------------------


def raised(model: Model) -> State:
    """Return the car at rest some 20 mm above its equilibrium, with roll and pitch, as if held up."""
    longer = iter((0.017, 0.011, 0.014, 0.009))
    springs = tuple(
        replace(spring, free_length=spring.free_length + next(longer)) if spring.stiffness > 0.0 else spring
        for spring in model.springs
    )
    other = replace(model, springs=springs)
    return released(System(model), settle(System(other), design_state(other)).state)


def swing(model: Model, damping: float, accuracy: Accuracy) -> FloatArray:
    """Return the energy of the oscillation over 10 s as a share of that at the beginning, (samples)."""
    rest = energy(model, settle(System(model), design_state(model)).state)
    simulation = Simulation(model, newton=NewtonOptions(damping=damping), accuracy=accuracy)
    simulation.begin(raised(model))
    energies = [energy(model, simulation.state) - rest]
    for _ in range(200):
        trace = simulation.run(coasting(model, 50))
        assert trace.converged.all()
        assert np.min(trace.wheel_loads) > 0.0
        energies.append(energy(model, simulation.state) - rest)
    return np.array(energies) / energies[0]


@pytest.mark.parametrize("name", ["benchmark_sedan", pytest.param(LINEAR_HATCHBACK, id="linear_hatchback")])
def test_energy_of_an_oscillation_without_losses_stays(name: str) -> None:
    model = without_losses(find(name))
    start = raised(model).position[0] - settle(System(model), design_state(model)).state.position[0]
    assert 0.015 < start[2] < 0.021
    share = swing(model, 1.0, "exact")
    print(f"{name}: {share.min():.6f} … {share.max():.6f}")
    assert np.max(np.abs(share - 1.0)) <= 1e-3


def test_energy_that_the_shipped_damping_takes(sedan: Model) -> None:
    """Little of it: some percent in ten seconds without dampers, and never does any come in."""
    for accuracy in ACCURACIES:
        share = swing(without_losses(sedan), 0.2, accuracy)
        print(f"{accuracy}: {1.0 - share[-1]:.2%} in 10 s")
        assert 0.005 < 1.0 - share[-1] < 0.04
        assert np.all(np.diff(share) <= 1e-4)


# Repetition -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("formulation", ["chassis", "inertial"])
@pytest.mark.parametrize("accuracy", ACCURACIES)
def test_step_run_and_advance_are_the_same_motion_bit_for_bit(
    sedan: Model, accuracy: Accuracy, formulation: Formulation
) -> None:
    manoeuvre = jturn(sedan, duration=0.8)
    inputs, states, last = rows(sedan, manoeuvre, 1e-3), [], []
    simulation = Simulation(sedan, accuracy=accuracy, solver=formulation)
    for way in ("run", "run", "step", "advance"):
        simulation.start(manoeuvre.speed)
        if way == "run":
            last.append(simulation.run(inputs).chassis[-1])
        elif way == "advance":
            simulation.advance(inputs)
        else:
            for row in inputs:
                signals = simulation.step(row)[1]
            last.append(signals[:18].copy())
        states.append(simulation.state)
        assert simulation.time == pytest.approx(0.8)
    for other in states[1:]:
        for field in ("position", "attitude", "velocity", "acceleration", "spin", "multipliers"):
            np.testing.assert_array_equal(getattr(other, field), getattr(states[0], field), err_msg=field)
    np.testing.assert_array_equal(last[1], last[0])
    np.testing.assert_array_equal(last[2], last[0])


@pytest.mark.parametrize("accuracy", ACCURACIES)
def test_a_turn_to_the_left_is_the_mirror_image_of_one_to_the_right(sedan: Model, accuracy: Accuracy) -> None:
    right, left = (play(sedan, jturn(sedan, rack=rack), accuracy=accuracy)[0] for rack in (-0.007, 0.007))
    mirror = np.array([1, -1, 1, 1, -1, 1, 1, -1, 1, -1, 1, -1, -1, 1, -1, -1, 1, -1])
    assert np.max(np.abs(left.chassis[:, 1])) > 5.0
    np.testing.assert_allclose(left.chassis, mirror * right.chassis, rtol=0.0, atol=1e-6)
    np.testing.assert_allclose(left.wheel_loads, right.wheel_loads[:, [1, 0, 3, 2]], rtol=0.0, atol=1e-4)
