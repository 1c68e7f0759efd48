"""Kinematics and dynamics of tables that guides hold in some axes, on random geometries of every m and n."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st

from mastd.arrays import FloatArray
from mastd.dynamics.supports import SUPPORT
from mastd.dynamics.table_model import WORK_ROWS, force_reference, wrench
from mastd.errors import KinematicsError
from mastd.index_table import size_of
from mastd.kinematics.forward import Observer
from mastd.kinematics.geometry import Geometry
from mastd.kinematics.workspace import jacobians_at, lengths_at, stroke_poses, within_strokes
from tests.support.kinematics.geometries import spread_table


def guided(seed: int, freedoms: int, actuators: int) -> Geometry:
    """Return a random geometry that is free in ``freedoms`` axes, none of which is hard to hold."""
    generator = np.random.default_rng(seed)
    free = np.zeros(6)
    free[generator.choice(6, freedoms, replace=False)] = 1.0
    geometry = spread_table(generator, actuators, free)
    assume(np.linalg.cond(jacobians_at(geometry, np.zeros(6))[0][:, geometry.free_axes]) < 20.0)
    return geometry


TABLES = st.tuples(st.integers(0, 100_000), st.integers(1, 6), st.integers(0, 6)).map(
    lambda drawn: (drawn[0], drawn[1], drawn[1] + drawn[2])
)


@settings(deadline=None, max_examples=60)
@given(table=TABLES)
def test_the_pose_of_the_lengths_is_found_over_the_workspace(table: tuple[int, int, int]) -> None:
    geometry = guided(*table)
    try:
        observer = Observer(geometry)
    except KinematicsError:
        reject()
    corners = 0.9 * stroke_poses(geometry, observer.gain)
    inside = np.random.default_rng(table[0]).uniform(-0.02, 0.02, (20, 6)) * geometry.freedoms
    for pose in np.vstack([corners[:20], inside[within_strokes(geometry, inside)]]):
        found = observer.solve(lengths_at(geometry, pose)[0])
        assert found.pose is not None
        assert found.residual < 1e-6
        assert np.abs(found.pose - pose).max() < 1e-4
        assert not found.pose[geometry.freedoms == 0.0].any()
    free = len(geometry.free_axes)
    assert observer.null_vectors.shape == (geometry.actuators - free, geometry.actuators)
    neutral = jacobians_at(geometry, np.zeros(6))[0]
    assert np.abs(observer.null_vectors @ neutral).max(initial=0.0) < 1e-12


@settings(deadline=None, max_examples=40)
@given(table=TABLES)
def test_forces_make_the_motion_in_the_free_axes_with_least_norm(table: tuple[int, int, int]) -> None:
    geometry = guided(*table)
    generator = np.random.default_rng(table[0])
    pose, rates, accelerations = generator.uniform(-0.02, 0.02, (3, 6)) * geometry.freedoms
    model = np.array([900.0, 20.0, -10.0, 30.0, 300.0, 500.0, 700.0, 5.0, -4.0, 3.0, 9.81])
    forces, work = np.zeros(geometry.actuators), np.zeros((geometry.actuators + WORK_ROWS, 6))
    force_reference(
        geometry.legs, model, np.zeros((0, size_of(SUPPORT))), pose, rates, accelerations, work, forces
    )
    needed = np.zeros(6)
    wrench(model, pose, rates, accelerations, needed)
    jacobian = jacobians_at(geometry, pose)[0]
    expected: FloatArray = np.linalg.lstsq(jacobian.T, needed * geometry.freedoms, rcond=1e-9)[0]
    assert forces == pytest.approx(expected, rel=1e-6, abs=1e-6 * np.abs(needed).max())


def test_the_motion_that_nothing_holds_is_named() -> None:
    geometry = spread_table(np.random.default_rng(0), 3, np.array([1.0, 0.0, 1.0, 0.0, 0.0, 0.0]))
    upright = geometry.table_joints + geometry.neutral_position - [0.0, 0.0, 1.5]
    standing = replace(geometry, base_joints=upright, neutral_lengths=np.full(3, 1.5))
    with pytest.raises(KinematicsError, match=r"rank 1 instead of 2; .* free to move, mostly in surge"):
        Observer(standing)


def test_fewer_actuators_than_freedoms_are_refused_with_both_numbers() -> None:
    with pytest.raises(KinematicsError, match=r"3 actuators cannot hold a table with 4 degrees of freedom"):
        spread_table(np.random.default_rng(0), 3, np.array([1.0, 1.0, 1.0, 0.0, 0.0, 1.0]))
