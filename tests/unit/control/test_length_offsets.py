"""Offsets of the lengths from a slow motion: what shows, and what is left alone; and writing them."""

from __future__ import annotations

import numpy as np
import pytest

from mastd.control.identification.length_offsets import SlowMotion, find_offsets, settled_stiffness
from mastd.errors import SettingsError
from mastd.kinematics.design import null_vectors
from mastd.kinematics.geometry import Geometry
from mastd.kinematics.workspace import jacobians_at, lengths_at
from mastd.settings.core.edit_text import Location, amended
from mastd.settings.core.loader import load, load_text
from mastd.settings.table.table import TableSettings
from tests.support.lab import ROOT

TABLE = load(ROOT / "config" / "table.yaml", TableSettings)
GEOMETRY = Geometry.from_settings(TABLE)
STIFFNESS = settled_stiffness(TABLE)
LIMIT = 1e-3
Array = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


def with_an_eighth() -> Geometry:
    """The table on eight actuators: two patterns of offsets bind it."""
    actuator = GEOMETRY.table_joints[6] * [-1.0, 1.0, 1.0], GEOMETRY.base_joints[6] * [-1.0, 1.0, 1.0]
    return Geometry(
        np.vstack([GEOMETRY.table_joints, actuator[0]]),
        np.vstack([GEOMETRY.base_joints, actuator[1]]),
        GEOMETRY.neutral_position,
        np.append(GEOMETRY.neutral_lengths, GEOMETRY.neutral_lengths[6]),
        np.append(GEOMETRY.strokes, GEOMETRY.strokes[6]),
        GEOMETRY.control_point,
    )


def motion_of(
    geometry: Geometry, offsets: Array, trims: Array | None = None, force: float = 0.0
) -> SlowMotion:
    """Up and down with every axis a little, lengths that read too much, and forces with friction."""
    random = np.random.default_rng(2)
    phase = np.linspace(0.0, 8.0 * np.pi, 4000)
    swing = np.array([1e-3, 2e-3, 10e-3, 2e-3, -1e-3, 1e-3])
    poses = np.sin(phase)[:, None] * swing
    lengths = lengths_at(geometry, poses)
    noise = 2e-6 * random.normal(size=lengths.shape)
    friction = 3e3 * random.uniform(0.8, 1.2, geometry.actuators) * np.sign(np.cos(phase))[:, None]
    internal = force * null_vectors(geometry)[0]
    still = np.zeros_like(lengths) if trims is None else np.broadcast_to(trims, lengths.shape)
    return SlowMotion(poses, lengths + offsets + noise, 100e3 + friction + internal, np.array(still))


@pytest.mark.parametrize("geometry", [GEOMETRY, with_an_eighth()], ids=["seven", "eight"])
def test_the_correction_is_the_part_that_no_movement_explains(geometry: Geometry) -> None:
    random = np.random.default_rng(5)
    offsets = 1e-4 * random.normal(size=geometry.actuators)
    found = find_offsets(geometry, motion_of(geometry, offsets), STIFFNESS, LIMIT)
    assert not found.balanced
    assert len(found.patterns) == geometry.actuators - 6
    jacobian = jacobians_at(geometry, np.zeros(6))[0]
    explained = jacobian @ np.linalg.lstsq(jacobian, offsets, rcond=None)[0]
    np.testing.assert_allclose(found.corrections, explained - offsets, atol=3e-6)
    again = find_offsets(geometry, motion_of(geometry, offsets + found.corrections), STIFFNESS, LIMIT)
    assert (np.abs(again.amount) < 2.0 * again.doubt).all()
    assert (again.doubt < 2e-6).all()


def test_one_transducer_is_named_with_what_it_would_be_alone() -> None:
    offsets = np.zeros(7)
    offsets[0] = 0.2e-3
    found = find_offsets(GEOMETRY, motion_of(GEOMETRY, offsets, force=22e3), STIFFNESS, LIMIT)
    assert found.single[0] == pytest.approx(0.2e-3, abs=5e-6)
    assert found.single[1] == pytest.approx(-0.2e-3, abs=5e-6)
    assert np.isinf(found.single[6]), "the longitudinal link alone cannot"
    assert found.force[0] == pytest.approx(22e3, abs=300.0), "the friction cancels to and fro"
    assert abs(found.amount[0]) == pytest.approx(0.1e-3, abs=2e-6)
    assert found.doubt[0] < 2e-6


def test_with_two_patterns_only_a_transducer_that_explains_both_is_named() -> None:
    beside = np.array([0.0, 0.4, 0.0])
    geometry = Geometry(
        table_joints=np.vstack([GEOMETRY.table_joints, GEOMETRY.table_joints[-1] + beside]),
        base_joints=np.vstack([GEOMETRY.base_joints, GEOMETRY.base_joints[-1] + beside]),
        neutral_position=GEOMETRY.neutral_position,
        neutral_lengths=np.append(GEOMETRY.neutral_lengths, GEOMETRY.neutral_lengths[-1]),
        strokes=np.append(GEOMETRY.strokes, GEOMETRY.strokes[-1]),
        control_point=GEOMETRY.control_point,
    )
    offsets = np.zeros(8)
    offsets[0] = 0.2e-3
    found = find_offsets(geometry, motion_of(geometry, offsets), np.full(2, STIFFNESS), LIMIT)
    assert found.single[0] == pytest.approx(0.2e-3, abs=5e-6)
    assert np.isinf(found.single[-2:]).all(), "the two longitudinal ones would not twist the verticals"
    assert not found.contradictory


def test_what_lengths_and_balance_say_the_opposite_of_is_not_believed() -> None:
    pattern = null_vectors(GEOMETRY)[0]
    found = find_offsets(GEOMETRY, motion_of(GEOMETRY, -0.1e-3 * pattern, 0.1e-3 * pattern), STIFFNESS, LIMIT)
    assert found.contradictory
    assert not found.told


def test_a_balance_at_work_is_believed_and_one_at_its_limit_is_not() -> None:
    """The valves' own zero makes a difference between what the lengths say and what balances."""
    pattern = null_vectors(GEOMETRY)[0]
    offsets, trims = 0.1e-3 * pattern, 0.13e-3 * pattern
    found = find_offsets(GEOMETRY, motion_of(GEOMETRY, offsets, trims), STIFFNESS, LIMIT)
    assert found.balanced
    assert found.by_lengths[0] == pytest.approx(0.10e-3, abs=2e-6)
    assert found.by_trim[0] == pytest.approx(0.13e-3, abs=2e-6)
    assert found.amount[0] == pytest.approx(found.by_trim[0], abs=1e-8)
    assert found.free_force[0] == pytest.approx(-0.13e-3 * STIFFNESS, rel=0.02)
    assert found.rest_force[0] == pytest.approx(0.0, abs=200.0)
    limited = find_offsets(GEOMETRY, motion_of(GEOMETRY, offsets, trims), STIFFNESS, 0.5 * 0.13e-3)
    assert not limited.balanced
    assert limited.amount[0] == limited.by_lengths[0]


def test_six_actuators_have_nothing_to_tell() -> None:
    six = Geometry(
        GEOMETRY.table_joints[1:],
        GEOMETRY.base_joints[1:],
        GEOMETRY.neutral_position,
        GEOMETRY.neutral_lengths[1:],
        GEOMETRY.strokes[1:],
        GEOMETRY.control_point,
    )
    with pytest.raises(ValueError, match="as many freedoms as actuators, 6"):
        find_offsets(six, motion_of(GEOMETRY, np.zeros(7)), STIFFNESS, LIMIT)


def test_a_changed_value_leaves_every_other_character_as_it_is() -> None:
    text = (ROOT / "config" / "table.yaml").read_text(encoding="utf-8")
    places: dict[Location, str] = {("links", k, "transducer", "offset"): f"{k}.5 mm" for k in (0, 6)}
    changed = amended(text, "table.yaml", places)
    before, after = text.splitlines(), changed.splitlines()
    assert len(before) == len(after)
    different = [(a, b) for a, b in zip(before, after, strict=True) if a != b]
    assert [b for _, b in different] == [
        a.replace("offset: 0 mm", f"offset: {k}.5 mm") for k, (a, _) in zip((0, 6), different, strict=True)
    ]
    read = load_text(changed, "table.yaml", TableSettings)
    assert [actuator.transducer.offset for actuator in read.links] == [0.5e-3, *[0.0] * 5, 6.5e-3]


def test_block_style_and_what_is_not_there() -> None:
    text = "# ü\nlinks:\n  - transducer:\n      offset: 0 mm   # kept\n  - transducer: {serial: x}\n"
    assert amended(text, "t.yaml", {("links", 0, "transducer", "offset"): "-1.0000 mm"}) == (
        text.replace("0 mm ", "-1.0000 mm ")
    )
    with pytest.raises(SettingsError, match=r"t.yaml: links.1.transducer.offset: .* by hand: 2 mm"):
        amended(text, "t.yaml", {("links", 1, "transducer", "offset"): "2 mm"})
