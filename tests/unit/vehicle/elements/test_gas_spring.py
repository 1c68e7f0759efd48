"""Gas springs: force by p Vⁿ, Jacobian by differences, equilibrium and energy, and what a file may say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mastd.arrays import FloatArray
from mastd.errors import SettingsError
from mastd.lanes import LANES
from mastd.settings.core.loader import load_text
from mastd.settings.vehicle.vehicle import VehicleSettings
from mastd.vehicle.analysis.linearise import without_damping
from mastd.vehicle.elements.spring_damper.gas_spring import MIN_COLUMN, GasSpring, gas_force, pack_gas
from mastd.vehicle.equilibrium.dense_equations import System
from mastd.vehicle.equilibrium.settle import settle
from mastd.vehicle.model.build import build
from mastd.vehicle.model.definition import Model
from mastd.vehicle.model.library import find
from mastd.vehicle.simulation.simulation import Simulation
from mastd.vehicle.state.inputs import InputLayout
from mastd.vehicle.state.motion import State, design_state
from tests.support.vehicle.oracle import Oracle
from tests.support.vehicle.residual import Potentials
from tests.support.vehicle.states import any_inputs, anywhere
from tests.support.vehicle.texts import changed

GAS = GasSpring(area=12e-4, pressure=45.1e5, volume=0.4e-3, exponent=1.3, design_length=0.433)
COLUMN = GAS.volume / GAS.area
ATMOSPHERE = 101325.0
QUARTER = Path("config/vehicles/quarter_car.yaml").read_text(encoding="utf-8")
STRUT = (
    "        stiffness: 45 N/mm\n        preload: 5290.1 N\n",
    "        gas_spring: {area: 12 cm2, pressure: 45.1 bar, volume: 0.4 L, exponent: 1.3}\n",
)


def strut(*changes: tuple[str, str]) -> str:
    return changed(QUARTER, STRUT, *changes)


def model_of(text: str) -> Model:
    return build(load_text(text, "vehicle.yaml", VehicleSettings))


@pytest.fixture(scope="module")
def quarter() -> Model:
    return model_of(strut())


@pytest.mark.parametrize("compression", [-0.2, -0.05, 0.0, 0.1, 0.25, 0.31])
def test_pressure_times_volume_to_the_n_is_constant(compression: float) -> None:
    force, slope = gas_force(
        pack_gas([GAS], {0: (0, LANES - 1)}, 1), 0, LANES - 1, GAS.design_length - compression
    )
    pressure = force / GAS.area + ATMOSPHERE
    volume = GAS.volume - GAS.area * compression
    constant = GAS.pressure * GAS.volume**GAS.exponent
    assert pressure * volume**GAS.exponent == pytest.approx(constant, rel=1e-13)
    # dF/dl = −n A² p / V.
    assert slope == pytest.approx(-GAS.exponent * GAS.area**2 * pressure / volume, rel=1e-13)


def test_the_force_goes_on_straight_near_the_end_of_the_gas() -> None:
    block = pack_gas([GAS], {0: (0, 0)}, 1)
    edge = GAS.design_length - (1.0 - MIN_COLUMN) * COLUMN
    force, slope = gas_force(block, 0, 0, edge)
    for shorter in (1e-3, MIN_COLUMN * COLUMN, 1.0):
        further, same = gas_force(block, 0, 0, edge - shorter)
        assert further == pytest.approx(force - slope * shorter, rel=1e-12)
        assert same == pytest.approx(slope, rel=1e-12)


def test_lanes_without_gas_have_no_force() -> None:
    block = pack_gas([GAS, None], {0: (1, LANES - 1), 1: (0, 0)}, 2)
    assert gas_force(block, 0, 0, 0.2) == (0.0, 0.0)
    assert gas_force(block, 1, LANES - 1, GAS.design_length)[0] == pytest.approx(
        GAS.area * (GAS.pressure - ATMOSPHERE)
    )


def test_residual_and_jacobian_are_those_of_the_definition(quarter: Model) -> None:
    """Against an independent calculation, and differences of the fourth order."""
    system, oracle, row = System(quarter), Oracle(quarter), any_inputs(quarter, 3)
    state = oracle.with_bars(anywhere(quarter, 2, 9.0))
    assert quarter.springs[0].gas_spring is not None
    residual = oracle.residual(state, row)
    np.testing.assert_allclose(
        system.residual(state, row), residual, rtol=0.0, atol=2e-13 * np.abs(residual).max()
    )

    def differences(move: Callable[[State, FloatArray], State], size: float) -> FloatArray:
        def at(steps: float, direction: FloatArray) -> FloatArray:
            return oracle.residual(move(state, steps * size * direction), row)

        columns = [
            (8.0 * (at(1.0, unit) - at(-1.0, unit)) - at(2.0, unit) + at(-2.0, unit)) / (12.0 * size)
            for unit in np.eye(system.size)
        ]
        return np.stack(columns, axis=1)

    found = system.matrices(state, row)
    for matrix, due in (
        (found.stiffness, differences(oracle.move, 2e-5)),
        (found.damping, differences(oracle.push, 1e-4)),
    ):
        np.testing.assert_allclose(matrix, due, rtol=0.0, atol=2e-9 * np.abs(due).max())


def test_a_car_at_rest_stands_on_its_gas(quarter: Model) -> None:
    """As the linear spring with the gas's force and rate at design length, to which it is the tangent."""
    linear = find("quarter_car")
    stiffness = GAS.exponent * GAS.area**2 * GAS.pressure / GAS.volume
    spring = linear.springs[0]
    length = float(np.linalg.norm(spring.point_second - spring.point_first))
    force = GAS.area * (GAS.pressure - ATMOSPHERE)
    tangent = replace(spring, stiffness=stiffness, free_length=length + force / stiffness)
    on_gas, on_steel = (
        settle(System(model), design_state(model)) for model in (quarter, replace(linear, springs=(tangent,)))
    )
    assert on_gas.state.position[0, 2] == pytest.approx(on_steel.state.position[0, 2], abs=2e-5)
    assert on_gas.wheel_loads == pytest.approx(on_steel.wheel_loads, abs=1e-3)


def test_without_damping_energy_stays_as_it_is(quarter: Model) -> None:
    """Let go 20 mm above its rest; what the time integrator takes is the linear spring's part too."""
    lost = []
    for model in (find("quarter_car"), quarter):
        free = without_damping(model, np.full(1, 4e3))
        simulation = Simulation(free, step=5e-4)
        simulation.start(0.0)
        rest = simulation.state
        raised = rest.position + np.array([0.0, 0.0, 0.02])
        simulation.begin(replace(rest, position=raised))
        potentials = Potentials(free)
        begin, least = potentials.energy(simulation.state), potentials.energy(rest)
        simulation.advance(np.tile(InputLayout.of(free).row(), (1000, 1)))
        assert simulation.converged
        lost.append((begin - potentials.energy(simulation.state)) / (begin - least))
    steel, gas = lost
    assert abs(gas) < abs(steel) + 1e-3, lost


def test_files_give_area_pressure_volume_and_exponent(quarter: Model) -> None:
    gas = quarter.springs[0].gas_spring
    assert gas is not None
    assert (gas.area, gas.pressure, gas.volume, gas.exponent) == pytest.approx((12e-4, 45.1e5, 0.4e-3, 1.3))
    assert gas.design_length == pytest.approx(
        float(np.linalg.norm(quarter.springs[0].point_second - quarter.springs[0].point_first)), abs=1e-12
    )


def test_a_spring_that_assembly_makes_longer_keeps_its_force(quarter: Model) -> None:
    spring = quarter.springs[0]
    assert spring.gas_spring is not None
    moved = spring.with_points(spring.point_first + np.array([0.0, 0.0, 0.01]), spring.point_second)
    length = float(np.linalg.norm(moved.point_second - moved.point_first))
    before = spring.elastic(spring.gas_spring.design_length)
    assert moved.elastic(length) == pytest.approx(before, rel=1e-12)


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        (
            "pressure: 45.1 bar",
            "pressure: 0.9 bar",
            "gas_spring.pressure: 0.9 bar is out of range: must be above 1.01325 bar",
        ),
        ("volume: 0.4 L", "volume: 0 L", "gas_spring.volume"),
        ("area: 12 cm2", "area: 12 mm", "gas_spring.area"),
        ("exponent: 1.3", "exponent: 0.9", "gas_spring.exponent"),
        ("volume: 0.4 L, ", "", "gas_spring.volume: key 'volume' is missing"),
    ],
)
def test_a_wrong_value_is_refused_in_one_line(old: str, new: str, line: str) -> None:
    with pytest.raises(SettingsError) as caught:
        model_of(strut((old, new)))
    assert len(str(caught.value).splitlines()) == 1
    assert line in str(caught.value)
