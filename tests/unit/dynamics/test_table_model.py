"""The table's nominal dynamics against point masses differentiated in time, and its hydraulics."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mastd.arrays import FloatArray
from mastd.dynamics.oil_flow import (
    drain,
    hydraulic_constants,
    oil_column_frequencies,
    oil_flow,
    oil_stiffness,
    valve_ratio,
)
from mastd.dynamics.supports import SUPPORT
from mastd.dynamics.table_model import WORK_ROWS, TableModel, force_reference, wrench
from mastd.index_table import size_of
from mastd.kinematics.geometry import Geometry
from mastd.settings.core.loader import load
from mastd.settings.core.starter import find
from mastd.settings.table.payload import NoPayload, RigidPayload
from mastd.settings.table.table import TableSettings
from tests.support.present import present

PAYLOAD = RigidPayload(kind="rigid", mass=12e3, centre_of_gravity=(0.3, -0.2, 2.0), inertia=(8e3, 29e3, 29e3))
NONE = np.zeros((0, size_of(SUPPORT)))
CENTRED = RigidPayload(kind="rigid", mass=12e3, centre_of_gravity=(0.0, 0.0, 2.0), inertia=(8e3, 29e3, 29e3))


@pytest.fixture(scope="module")
def table() -> TableSettings:
    """Return the starter table."""
    return load(find("table", "table"), TableSettings)


@pytest.fixture(scope="module")
def geometry(table: TableSettings) -> Geometry:
    """Return the starter table's geometry."""
    return Geometry(
        np.array([actuator.table_joint for actuator in table.links]),
        np.array([actuator.base_joint for actuator in table.links]),
        np.array(table.neutral_position),
        np.array([actuator.neutral_length for actuator in table.links]),
        np.array([actuator.stroke for actuator in table.links]),
        np.array(table.control_point),
    )


def rotation(angles: FloatArray) -> FloatArray:
    """Return Rz(yaw) Ry(pitch) Rx(roll) as a product of three matrices."""
    (cr, cp, cy), (sr, sp, sy) = np.cos(angles), np.sin(angles)
    about_x = np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
    about_y = np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
    about_z = np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]])
    return np.asarray(about_z @ about_y @ about_x)


def dumbbells(mass: float, centre: FloatArray, inertia: FloatArray) -> list[tuple[float, FloatArray]]:
    """Return six point masses with the given mass, centre and principal inertia."""
    squares = (np.sum(inertia) / 2.0 - inertia) / mass
    arms = np.sqrt(3.0 * squares)
    return [
        (mass / 6.0, centre + sign * arms[axis] * np.eye(3)[axis]) for axis in range(3) for sign in (-1, 1)
    ]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_wrench_is_the_change_of_momentum(table: TableSettings, seed: int) -> None:
    """Newton and Euler by differences: six point masses a body, moved along an arbitrary smooth path."""
    rng = np.random.default_rng(seed)
    size = np.array([0.05, 0.05, 0.05, 0.3, 0.3, 0.3])
    pose, rates, accelerations = (rng.uniform(-1, 1, 6) * size * f for f in (1.0, 5.0, 50.0))
    body = dumbbells(table.body.mass, np.array(table.body.centre_of_mass), np.array(table.body.inertia))
    body += dumbbells(PAYLOAD.mass, np.array(PAYLOAD.centre_of_gravity), np.array(PAYLOAD.inertia))

    def places(time: float) -> FloatArray:
        at = pose + rates * time + accelerations * time**2 / 2.0
        return np.array([at[:3] + rotation(at[3:]) @ place for _, place in body])

    step = 1e-4
    masses = np.array([mass for mass, _ in body])
    pulled = (places(step) - 2.0 * places(0.0) + places(-step)) / step**2 + np.array([0, 0, table.gravity])
    force = masses @ pulled
    moment = np.sum(np.cross(places(0.0) - pose[:3], masses[:, None] * pulled), axis=0)
    got = np.empty(6)
    wrench(TableModel.from_settings(table, PAYLOAD).values, pose, rates, accelerations, got)
    assert np.allclose(got[:3], force, rtol=1e-5, atol=5.0)
    assert np.allclose(got[3:], moment, rtol=1e-5, atol=20.0)


def test_forces_carry_the_wrench_with_least_norm(table: TableSettings, geometry: Geometry) -> None:
    """The actuators' forces sum to the wrench and hold no internal force."""
    rng = np.random.default_rng(4)
    model = TableModel.from_settings(table, PAYLOAD).values
    work, forces, wanted = np.zeros((7 + WORK_ROWS, 6)), np.empty(7), np.empty(6)
    for _ in range(20):
        pose, rates, accelerations = (rng.uniform(-1, 1, 6) * f for f in (0.02, 0.1, 2.0))
        force_reference(geometry.legs, model, NONE, pose, rates, accelerations, work, forces)
        arms = geometry.table_joints @ rotation(pose[3:]).T
        vectors = geometry.neutral_position + pose[:3] + arms - geometry.base_joints
        units = vectors / np.linalg.norm(vectors, axis=1)[:, None]
        wrench(model, pose, rates, accelerations, wanted)
        assert np.allclose(forces @ units, wanted[:3], rtol=1e-9, atol=1e-5)
        assert np.allclose(np.sum(np.cross(arms, forces[:, None] * units), axis=0), wanted[3:], atol=1e-4)
        rows = np.hstack((units, np.cross(arms, units)))
        null_vector = np.linalg.svd(rows.T)[2][-1]
        assert abs(null_vector @ forces) < 1e-6


def test_weight_at_rest(table: TableSettings, geometry: Geometry) -> None:
    """At rest the four vertical actuators push a quarter of the weight each, the others nothing."""
    model = TableModel.from_settings(table, CENTRED).values
    work, forces, still = np.zeros((7 + WORK_ROWS, 6)), np.empty(7), np.zeros(6)
    force_reference(geometry.legs, model, NONE, still, still, still, work, forces)
    assert forces == pytest.approx([47e3 * 9.80665 / 4.0] * 4 + [0.0] * 3, abs=1e-6)


def test_oil_column_frequencies(table: TableSettings, geometry: Geometry) -> None:
    """The modes that an independent simulation study of this table found, bare and with 12 t on top."""
    loaded = oil_column_frequencies(table, geometry, TableModel.from_settings(table, CENTRED))
    assert loaded == pytest.approx([9.9, 11.5, 12.9, 16.8, 18.1, 20.2], abs=0.06)
    bare = oil_column_frequencies(table, geometry, TableModel.from_settings(table, NoPayload()))
    assert bare[[0, -1]] == pytest.approx([11.7, 29.0], abs=0.6)
    assert oil_stiffness(table.types[0].cylinder, 0.05, 0.0) == pytest.approx(1.9e8, rel=0.01)
    # Bare heave: four springs under 35 t.
    heave = math.sqrt(4.0 * oil_stiffness(table.types[0].cylinder, 0.05, 0.0) / 35e3) / (2.0 * math.pi)
    assert np.min(np.abs(bare - heave)) < 1e-6


def test_valve_and_flow(table: TableSettings) -> None:
    """No-load speed and stall of the starter table's valve and cylinder, and the flow of a moving piston."""
    hydraulics = hydraulic_constants(table)[0]
    area, drop = 95e-4, 206e5
    no_load = 265e-3 / 60.0 * math.sqrt(drop / 70e5) / area
    assert valve_ratio(hydraulics, no_load, 0.0) == pytest.approx(1.0, rel=1e-9)
    assert valve_ratio(hydraulics, -no_load, 0.0) == pytest.approx(1.0, rel=1e-9)
    pushing = valve_ratio(hydraulics, 0.3, 0.75 * area * drop)
    assert pushing == pytest.approx(2.0 * 0.3 / no_load, rel=1e-9)
    assert valve_ratio(hydraulics, -0.3, 0.75 * area * drop) == pytest.approx(0.3 / no_load / math.sqrt(1.75))
    assert valve_ratio(hydraulics, 0.1, 1.01 * area * drop) == math.inf
    assert oil_flow(hydraulics, -0.2, 95e3) == pytest.approx(area * 0.2 + 5e-12 * 1e7)


def test_accumulators(table: TableSettings) -> None:
    """Gas law of the accumulators, and what a constant draw leaves of their oil."""
    accumulator = present(table.supply).accumulator
    full = accumulator.oil(present(table.supply).pressure)
    gas = accumulator.volume - full
    start = accumulator.precharge * accumulator.volume**accumulator.exponent
    assert present(table.supply).pressure * gas**accumulator.exponent == pytest.approx(start)
    assert accumulator.oil(0.5 * accumulator.precharge) == 0.0
    lowest = np.array([full, -1.0])
    flows = np.full(2000, 0.015)
    left = drain(flows, 1e-3, 0.010, full, full, lowest)
    assert left == pytest.approx(full - 0.005 * 2.0)
    assert lowest == pytest.approx([left, 1999.0])
    assert drain(np.zeros(9000), 1e-3, 0.010, full, left, lowest) == full
