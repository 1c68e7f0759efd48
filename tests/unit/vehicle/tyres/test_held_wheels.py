"""Cars whose chassis is held: they settle, swing and drive in the motions that are left, and in no other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mastd.arrays import FloatArray
from mastd.settings.core.loader import load_text
from mastd.settings.vehicle.vehicle import VehicleSettings
from mastd.vehicle.analysis.linearise import linearise
from mastd.vehicle.blocks.rotation import roll_pitch_yaw
from mastd.vehicle.equilibrium.dense_equations import System
from mastd.vehicle.equilibrium.settle import Equilibrium, settle, straight_ahead, weight, wheel_frames
from mastd.vehicle.kinematics.suspension import suspension_kinematics
from mastd.vehicle.model.build import build
from mastd.vehicle.model.definition import Model
from mastd.vehicle.model.library import find
from mastd.vehicle.model.mobility import freedom
from mastd.vehicle.state.motion import State, design_state
from tests.support.vehicle.oracle import Oracle
from tests.support.vehicle.texts import VEHICLES, changed
from tests.support.vehicle.variants import with_chassis_moved


@pytest.fixture(scope="module")
def quarter() -> Model:
    return find("quarter_car")


@pytest.fixture(scope="module")
def rest(quarter: Model) -> Equilibrium:
    return settle(System(quarter), design_state(quarter))


def half_car() -> Model:
    """Return the quarter car with its mirror image on one chassis that may heave and roll."""
    text = changed(
        (VEHICLES / "quarter_car.yaml").read_text(encoding="utf-8"),
        ("    side: left\n", ""),
        ("sway, roll, pitch", "sway, pitch"),
        ("mass: 340 kg", "mass: 680 kg"),
        ("[0 mm, 450 mm, 560 mm]", "[0 mm, 0 mm, 560 mm]"),
        ("[60 kg m2, 90", "[250 kg m2, 90"),
        ("90 kg m2, 90 kg m2]", "1200 kg m2, 1300 kg m2]"),
    )
    return build(load_text(text, "half_car.yaml", VehicleSettings))


def moved(model: Model, state: State) -> FloatArray:
    """Return how far the chassis stands from its design position: (6), the last three as angles."""
    return np.concatenate([state.position[0] - model.bodies[0].centre, roll_pitch_yaw(state.attitude[0])])


def test_a_quarter_car_has_heave_and_travel(quarter: Model) -> None:
    assert freedom(quarter) == 2
    assert freedom(half_car()) == 4


def test_a_quarter_car_stands_still_in_its_design_position_with_all_its_weight_on_the_wheel(
    quarter: Model, rest: Equilibrium
) -> None:
    assert rest.wheel_loads == pytest.approx([weight(quarter)], rel=1e-9)
    assert moved(quarter, rest.state) == pytest.approx(np.zeros(6), abs=1e-4)


@pytest.mark.parametrize("extra", [-60.0, 80.0])
def test_only_heave_takes_up_another_load(quarter: Model, rest: Equilibrium, extra: float) -> None:
    chassis = replace(quarter.bodies[0], mass=quarter.bodies[0].mass + extra)
    model = replace(quarter, bodies=(chassis, *quarter.bodies[1:]))
    found = settle(System(model), design_state(model))
    assert found.wheel_loads == pytest.approx([weight(model)], rel=1e-9)
    change = moved(model, found.state) - moved(quarter, rest.state)
    # Spring at the wheel and tyre one after the other: 45 N/mm · 0.62² with 210 N/mm, or a little softer.
    assert -change[2] == pytest.approx(extra * quarter.gravity / 15.6e3, rel=0.2)
    assert np.delete(change, 2) == pytest.approx(np.zeros(5), abs=1e-12)


def test_an_independent_calculation_settles_in_the_same_place(quarter: Model, rest: Equilibrium) -> None:
    other = settle(Oracle(quarter), design_state(quarter))
    np.testing.assert_allclose(other.state.position, rest.state.position, atol=1e-8)


def test_a_quarter_cars_modes_are_those_of_two_masses_on_two_springs(
    quarter: Model, rest: Equilibrium
) -> None:
    """The spring acts at the wheel by its motion ratio and its preload's lever, the arms swing as levers.

    What the knuckle turns while it travels is left out.
    """
    (axle,) = suspension_kinematics(quarter, np.array([-1e-3, 0.0, 1e-3]))
    ratio = axle.travel.motion_ratio[:, 0]
    spring, tyre = quarter.springs[0], quarter.wheels[0].tyre.stiffness
    force = spring.stiffness * (spring.free_length - axle.travel.spring_length[1, 0])
    at_wheel = spring.stiffness * ratio[1] ** 2 + force * (ratio[2] - ratio[0]) / 2e-3
    chassis, lower, upper, knuckle = quarter.bodies
    mass = np.diag([chassis.mass, knuckle.mass])
    for arm, inner, outer in ((lower, 0.39, 0.72), (upper, 0.47, 0.68)):
        share = (arm.centre[1] - inner) / (outer - inner)
        turn = np.array([-1.0, 1.0]) / (outer - inner)
        mass += arm.mass * np.outer([1.0 - share, share], [1.0 - share, share])
        mass += arm.inertia[0, 0] * np.outer(turn, turn)
    stiffness = np.array([[at_wheel, -at_wheel], [-at_wheel, at_wheel + tyre]])
    expected = np.sort(np.sqrt(np.linalg.eigvals(np.linalg.solve(mass, stiffness)).real)) / (2.0 * np.pi)
    found = linearise(System(quarter), rest.state, undamped=System).modes
    assert [mode.name for mode in found] == ["heave", "wheel hop corner in phase"]
    np.testing.assert_allclose([mode.frequency_hz for mode in found], expected, rtol=0.02)


def test_a_held_car_drives_at_the_speed_it_is_held_at(quarter: Model, rest: Equilibrium) -> None:
    system = System(quarter)
    state = straight_ahead(system, rest.state, speed=20.0)
    assert np.all(state.velocity == [20.0, 0.0, 0.0])
    assert state.acceleration[0, [0, 1]] == pytest.approx([0.0, 0.0], abs=1e-9)
    assert moved(quarter, state)[[0, 1, 3, 4, 5]] == pytest.approx(np.zeros(5), abs=1e-9)


def test_a_half_car_rolls_until_its_loads_balance(quarter: Model) -> None:
    model = with_chassis_moved(half_car(), (0.0, 0.06, 0.0))
    found = settle(System(model), design_state(model))
    weights = model.gravity * np.array([body.mass for body in model.bodies])
    centres, _ = wheel_frames(model, found.state)
    assert found.wheel_loads @ centres[:, 1] == pytest.approx(weights @ found.state.position[:, 1], abs=1e-3)
    x, _, _, roll, pitch, yaw = moved(model, found.state)
    assert roll < -1e-3
    assert [x, pitch, yaw] == pytest.approx([0.0, 0.0, 0.0], abs=1e-9)
