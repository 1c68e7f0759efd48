"""The compiled equations and their analytic derivatives against the tests' independent calculation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from mastd.roads.ground import Ground
from mastd.vehicle.inputs import InputLayout
from mastd.vehicle.library import find
from mastd.vehicle.model import Model, PrimitiveKind
from mastd.vehicle.state import State
from mastd.vehicle.system import System
from tests.unit.vehicle_texts import CAB, CUSTOM, changed
from tests.vehicle_oracle import Oracle
from tests.vehicle_variants import equipped, with_damper_tables, with_last_axle_repeated, with_stops

Array = NDArray[np.float64]
Variant = Callable[[Model], Model]
VARIANTS: dict[str, Variant] = {
    "sedan": lambda model: model,
    "tables": with_damper_tables,
    "stops": lambda model: with_stops(model, -0.003, -0.002),
    "everything": equipped,
    "three axles": lambda model: with_last_axle_repeated(model, 1.2),
}
GROUNDS = {
    "flat": Ground.flat(),
    "bump": Ground.bump(-0.3, 1.2, 0.02),
    "plane": Ground.plane(
        np.array([0.0, 0.0, 0.01]),
        Rotation.from_rotvec([0.02, 0.03, 0.1]).as_matrix(),
        np.array([0.1, 0.2, 0.3]),
        np.array([0.2, -0.1, 0.3]),
    ),
}


def same(found: Array, expected: Array, tolerance: float) -> None:
    """Assert equality to a share of the largest number."""
    np.testing.assert_allclose(
        found, expected, rtol=0.0, atol=tolerance * np.max(np.abs(expected), initial=1e-9)
    )


def inputs_for(model: Model, seed: int = 5) -> Array:
    """Return a row of inputs with torques and forces of some hundred N and N m."""
    layout = InputLayout.of(model)
    row = layout.row(np.array([[0.003, 0.2, 1.5]]))
    row[3 * layout.drives :] = 300.0 * np.random.default_rng(seed).standard_normal(layout.width - 3)
    return row


@pytest.fixture(params=list(VARIANTS), ids=str)
def model(request: pytest.FixtureRequest) -> Model:
    return VARIANTS[request.param](find("benchmark_sedan"))


def state_of(model: Model) -> State:
    """Return any motion, the bars' forces those of the displacements: the matrices eliminate them so."""
    return Oracle(model).with_bars(any_motion(model))


@pytest.mark.parametrize("ground", list(GROUNDS), ids=str)
def test_forces_and_gaps_are_those_of_the_definitions(model: Model, ground: str) -> None:
    system, oracle, state, surface = System(model), Oracle(model), any_motion(model), GROUNDS[ground]
    row = inputs_for(model)
    same(system.residual(state, row, surface), oracle.residual(state, row, surface), 1e-13)
    same(system.wheel_loads(state, surface), oracle.wheel_loads(state, surface), 1e-13)
    same(system.bar_residual(state), oracle.bar_residual(state), 1e-13)
    drive = row[:3].reshape(1, 3)
    for found, expected in zip(
        system.constraints(state, drive), oracle.constraints(state, drive), strict=True
    ):
        same(found, expected, 1e-13)


@pytest.mark.parametrize("name", ["mass", "damping", "stiffness", "joint_jacobian"])
def test_derivatives_are_those_of_central_differences(model: Model, name: str) -> None:
    """On flat ground, with torques of drive and brakes; the chassis' own wrench is left out."""
    state, row = state_of(model), inputs_for(model)
    row[-6:] = 0.0
    found = getattr(System(model).matrices(state, row), name)
    expected = getattr(Oracle(model).matrices(state, row), name)
    # Tables: the monotone cubic's curvature jumps at its points.
    same(found, expected, 1e-7 if name == "damping" else 1e-9)


def test_derivatives_on_a_moving_slope(model: Model) -> None:
    """The ground's slope turns heights and rates, its velocity the slip."""
    plane = Ground.plane(
        np.array([0.0, 0.0, 0.01]),
        Rotation.from_rotvec([0.02, 0.03, 0.1]).as_matrix(),
        np.array([0.1, 0.2, 0.3]),
    )
    state = state_of(model)
    found, expected = System(model).matrices(state, None, plane), Oracle(model).matrices(state, None, plane)
    same(found.stiffness, expected.stiffness, 1e-9)
    same(found.damping, expected.damping, 1e-7)


def test_moves_turn_about_inertial_axes(model: Model) -> None:
    state, step = any_motion(model), 0.3 * np.random.default_rng(1).standard_normal(System(model).size)
    found, expected = System(model).move(state, step), Oracle(model).move(state, step)
    np.testing.assert_allclose(found.position, expected.position, atol=1e-14)
    signs = np.sign(np.sum(found.attitude * expected.attitude, axis=1))
    np.testing.assert_allclose(found.attitude, signs[:, None] * expected.attitude, atol=1e-14)
