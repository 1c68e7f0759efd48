"""The compiled equations of motion, held against an independent calculation and their own differences.

All figures are at states in which every body moves on its own: nothing cancels, and every sign counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from mastd.arrays import FloatArray
from mastd.roads.ground import Ground
from mastd.vehicle.blocks.fields import GROUP
from mastd.vehicle.equilibrium.dense_equations import System
from mastd.vehicle.joints.primitive import PrimitiveKind
from mastd.vehicle.model.definition import Model
from mastd.vehicle.model.library import find
from mastd.vehicle.solver.generalized_alpha import Formula
from mastd.vehicle.state.motion import State
from tests.support.vehicle.oracle import Oracle
from tests.support.vehicle.states import PLACE, any_inputs, anywhere, renumbered
from tests.support.vehicle.texts import CAB, CUSTOM, changed
from tests.support.vehicle.variants import LINEAR_HATCHBACK, equipped, with_bars, with_last_axle_repeated

ROUNDING = 2e-13
"""Of the largest term: a residual is the sum of some dozens."""
DIFFERENCES = 1e-9
"""Of the largest entry: differences of the fourth order."""

TILT = Rotation.from_rotvec([0.03, -0.02, 0.4]).as_matrix()
TABLE = PLACE + np.array([0.8, -1.1, 0.1])
DRIFT, TURN = np.array([0.1, 0.2, 0.3]), np.array([0.3, 0.2, 0.1])
FORMULA = Formula.of(1e-3, 0.2)
GROUNDS = {
    "flat": Ground.flat(),
    "bump": Ground.bump(PLACE[0] - 10.0, 20.0, 0.05),
    "one side's bump": Ground.bump(PLACE[0] - 10.0, 20.0, 0.05, "right"),
    "tilted plane that moves": Ground.plane(TABLE, TILT, DRIFT),
    "tilted plane that moves and turns": Ground.plane(TABLE, TILT, DRIFT, TURN),
}

CARS = ("sedan", "hatchback", "transporter", "three axles", "custom", "renumbered", "unequal")


def unequal(sedan: Model) -> Model:
    """Return a car of which corners are not alike: one lists its parts backwards, one has another spring."""
    backwards, other = sedan.corners[1], sedan.corners[3]
    backwards = replace(
        backwards, bodies=backwards.bodies[::-1], primitives=backwards.primitives[::-1], springs=(1,)
    )
    helper = replace(sedan.springs[3], name="helper", stiffness=9e3, second=other.bodies[2])
    return replace(
        with_bars(sedan, 20e3),
        springs=(*sedan.springs, helper),
        corners=(
            sedan.corners[0],
            backwards,
            sedan.corners[2],
            replace(other, springs=(3, len(sedan.springs))),
        ),
    )


@dataclass
class Car:
    """A vehicle under both calculations."""

    model: Model
    system: System
    oracle: Oracle


@pytest.fixture(scope="module")
def cars(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Car]:
    """Return the function that gives the car of a name, each made once."""
    made: dict[str, Car] = {}

    def model(name: str) -> Model:
        sedan = find("benchmark_sedan")
        if name == "custom":
            file: Path = tmp_path_factory.mktemp("cars") / "custom.yaml"
            file.write_text(changed(CUSTOM, ("axles:\n", f"{CAB}axles:\n")), encoding="utf-8")
            return find(str(file))
        if name == "three axles":
            # Six equal corners: a full group of lanes, and one that is half empty.
            return with_last_axle_repeated(equipped(sedan), -1.3)
        if name == "renumbered":
            return renumbered(find(LINEAR_HATCHBACK), 7)
        if name == "unequal":
            return unequal(sedan)
        shipped = {
            "sedan": "benchmark_sedan",
            "hatchback": LINEAR_HATCHBACK,
            "transporter": "transporter_8_axles",
        }
        return find(shipped[name])

    def car(name: str) -> Car:
        if name not in made:
            built = model(name)
            made[name] = Car(built, System(built), Oracle(built))
        return made[name]

    return car


def assert_equal(ours: FloatArray, theirs: FloatArray, share: float = ROUNDING) -> None:
    """Fail unless both agree to a share of the largest."""
    scale = max(1.0, float(np.max(np.abs(theirs), initial=0.0)))
    np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=share * scale)


def with_wheel_lifted(state: State, model: Model, wheel: int) -> State:
    """Return the state with one wheel's carrier raised by 1 m."""
    position = state.position.copy()
    position[model.wheels[wheel].carrier, 2] += 1.0
    return replace(state, position=position)


@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("name", CARS)
def test_the_residual_is_that_of_the_definitions(cars: Callable[[str], Car], name: str, ground: str) -> None:
    car = cars(name)
    for seed, speed in enumerate((9.0, -6.0, 0.05)):
        state, row = anywhere(car.model, seed, speed), any_inputs(car.model, seed)
        found = car.system.residual(state, row, GROUNDS[ground])
        assert_equal(found, car.oracle.residual(state, row, GROUNDS[ground]))
        loads = car.oracle.wheel_loads(state, GROUNDS[ground])
        assert_equal(car.system.wheel_loads(state, GROUNDS[ground]), loads)
        assert np.max(loads) > 0.0


@pytest.mark.parametrize("name", CARS)
def test_a_wheel_in_the_air_carries_nothing_and_the_others_do(cars: Callable[[str], Car], name: str) -> None:
    car = cars(name)
    flat = anywhere(car.model, 4)
    state = with_wheel_lifted(flat, car.model, len(car.model.wheels) - 1)
    loads = car.system.wheel_loads(state)
    assert loads[-1] == 0.0
    assert np.max(loads[:-1]) > 0.0
    assert_equal(loads, car.oracle.wheel_loads(state))
    assert_equal(car.system.residual(state), car.oracle.residual(state))


@pytest.mark.parametrize("name", CARS)
def test_constraints_and_their_rates_are_those_of_the_definitions(
    cars: Callable[[str], Car], name: str
) -> None:
    car = cars(name)
    state = anywhere(car.model, 8)
    drive = any_inputs(car.model, 8)[: 3 * len(car.model.drives)].reshape(-1, 3)
    for found, due in zip(
        car.system.constraints(state, drive), car.oracle.constraints(state, drive), strict=True
    ):
        assert_equal(found, due)
        assert np.min(np.abs(due)) > 0.0
    assert_equal(car.system.bar_residual(state), car.oracle.bar_residual(state))


@pytest.mark.parametrize("name", CARS)
@pytest.mark.parametrize("speed", [9.0, -6.0, 0.05])
def test_the_matrices_are_the_derivatives(cars: Callable[[str], Car], name: str, speed: float) -> None:
    """Mass, damping, stiffness with the bars following, and G; a wheel in the air, torques and wrench act."""
    assert_derivatives(cars(name), speed, GROUNDS["tilted plane that moves"])


def test_the_matrices_on_a_bump_are_the_derivatives_but_for_its_curvature(
    cars: Callable[[str], Car],
) -> None:
    """The ground is a plane below each wheel; without tyre damping the change of slope has no force."""
    sedan = cars("sedan").model
    undamped = replace(
        sedan,
        wheels=tuple(replace(wheel, tyre=replace(wheel.tyre, damping=0.0)) for wheel in sedan.wheels),
    )
    car = Car(undamped, System(undamped), Oracle(undamped))
    assert_derivatives(car, 9.0, GROUNDS["bump"])


def assert_derivatives(car: Car, speed: float, ground: Ground) -> None:
    """Fail unless the matrices give the differences of the residual in directions that mix all columns."""
    system, oracle, row = car.system, car.oracle, any_inputs(car.model, 3)
    directions = np.random.default_rng(1).standard_normal((8, system.size))
    state = oracle.with_bars(with_wheel_lifted(anywhere(car.model, 2, speed), car.model, 0))
    loads = system.wheel_loads(state, ground)
    assert loads[0] == 0.0
    assert np.max(loads) > 0.0

    def difference(change: Callable[[State, FloatArray], State], size: float) -> FloatArray:
        def at(steps: float, direction: FloatArray) -> FloatArray:
            return system.residual(change(state, steps * size * direction), row, ground)

        columns = [
            (8.0 * (at(1.0, unit) - at(-1.0, unit)) - at(2.0, unit) + at(-2.0, unit)) / (12.0 * size)
            for unit in directions
        ]
        return np.stack(columns, axis=1)

    found = system.matrices(state, row, ground)
    assert_equal(found.mass @ directions.T, difference(oracle.accelerate, 1.0), DIFFERENCES)
    assert_equal(found.damping @ directions.T, difference(oracle.push, 1e-4), DIFFERENCES)
    moved = difference(lambda at, step: oracle.with_bars(oracle.move(at, step)), 2e-5)
    assert_equal(found.stiffness @ directions.T, moved, DIFFERENCES)
    still, nothing = np.zeros_like(state.spin), np.zeros_like(state.velocity)
    rest = replace(state, velocity=nothing, angular_velocity=nothing, spin=still)
    rates = [oracle.constraints(oracle.push(rest, unit))[1] for unit in directions]
    assert_equal(found.joint_jacobian @ directions.T, np.stack(rates, axis=1))


@pytest.mark.parametrize("name", ["sedan", "hatchback", "three axles"])
def test_the_proposed_equations_are_the_conventional_ones_in_other_axes(
    cars: Callable[[str], Car], name: str
) -> None:
    """The matrix of a step in chassis axes is the turned one, taken to the relative variations (4)."""
    car = cars(name)
    model, system = car.model, car.system
    state, bodies = anywhere(model, 6), len(model.bodies)
    turn = Rotation.from_quat(np.roll(state.attitude[0], -1)).as_matrix()
    conventional = system.step_jacobian(state, FORMULA, GROUNDS["bump"], False)
    proposed = system.step_jacobian(state, FORMULA, GROUNDS["bump"], True)
    triples = {*range(0, 6 * bodies, 3)}
    start = system.size
    for primitive in model.primitives:
        if primitive.kind is PrimitiveKind.SPHERICAL:
            triples.add(start)
        start += primitive.kind.rows
    axes = np.eye(len(conventional))
    for at in triples:
        axes[at : at + 3, at : at + 3] = turn
    relative = np.eye(len(conventional))
    for body in range(1, bodies):
        relative[6 * body : 6 * body + 6, :6] = np.eye(6)
    change = axes @ relative
    assert_equal(proposed, change.T @ conventional @ change, 1e-12)


@pytest.mark.parametrize("within", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_any_numbering_and_the_grouping_that_follows_from_it(
    cars: Callable[[str], Car], seed: int, within: bool
) -> None:
    """Left and right in any lane, or (``within``) hardly two corners in one group."""
    for name in ("hatchback", "three axles", "custom"):
        model = renumbered(cars(name).model, seed, within)
        state, row = anywhere(model, seed), any_inputs(model, seed)
        found = System(model).residual(state, row, GROUNDS["one side's bump"])
        assert_equal(found, Oracle(model).residual(state, row, GROUNDS["one side's bump"]))


def test_lanes_not_in_use_repeat_the_first_with_its_stops_and_tables() -> None:
    """What they compute is weighed with zero, but they are looked at where the largest of all is taken."""
    car = System(find(LINEAR_HATCHBACK)).layout.arrays
    for group, line in enumerate(car.groups):
        springs = slice(int(line[GROUP.first_spring]), int(line[GROUP.first_spring] + line[GROUP.springs]))
        for lane in np.flatnonzero(car.weights[group] == 0.0):
            block = car.elements.springs
            tables = block.laws.damper_table
            for table in (tables.first, tables.lines, *block.laws[1:], block.values):
                np.testing.assert_array_equal(table[springs, ..., lane], table[springs, ..., 0])
