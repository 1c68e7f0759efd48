"""Patterns of internal force: named sets of few actuators, with limits, on any table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mastd.errors import SettingsError
from mastd.settings.core.axes import AXES
from mastd.settings.core.loader import load, load_text
from mastd.settings.core.strict_yaml import read_text
from mastd.settings.table.internal_forces import force_patterns
from mastd.settings.table.patterns import basis, pattern_name
from mastd.settings.table.table import TableSettings
from tests.support.lab import ROOT
from tests.support.large_table import large_table

TEXT = read_text(ROOT / "config" / "table.yaml")
LIMIT = (
    "  internal_force: 80 kN                          # assumed: ten times what the starter profiles show\n"
)
TWIST = "twist of vertical rear right, rear left, front left and front right"


def wrenches(table: TableSettings) -> np.ndarray:
    """Return force and moment (n, 6) at C of each actuator that pushes with 1 N, from its joints."""
    rows = []
    for link in table.links:
        joint = np.array(link.table_joint)
        along = np.array(table.neutral_position) + joint - np.array(link.base_joint)
        along /= np.linalg.norm(along)
        rows.append([*along, *np.cross(joint, along)])
    return np.array(rows)


def test_the_starter_table_twists_between_its_vertical_actuators() -> None:
    (pattern,) = force_patterns(load_text(TEXT, "table.yaml", TableSettings))
    assert pattern.name == TWIST
    assert pattern.vector == pytest.approx([-0.5, 0.5, -0.5, 0.5, 0.0, 0.0, 0.0], abs=1e-12)
    assert pattern.limit == 80e3


def test_a_limit_that_is_not_stated_is_a_fifth_of_what_the_first_actuator_stands() -> None:
    assert LIMIT in TEXT
    table = load_text(TEXT.replace(LIMIT, ""), "table.yaml", TableSettings)
    (pattern,) = force_patterns(table)
    assert pattern.limit == pytest.approx(0.2 * table.types[0].cylinder.maximum_force / 0.5)


def test_eighteen_patterns_of_twenty_four_actuators_have_at_most_four_each() -> None:
    """Independent, well conditioned, and without any wrench on the table."""
    table = load_text(large_table(), "large.yaml", TableSettings)
    patterns = force_patterns(table)
    vectors = np.array([pattern.vector for pattern in patterns])
    assert vectors.shape == (18, 24)
    assert max(len(pattern.actuators) for pattern in patterns) == 4
    assert np.abs(vectors @ wrenches(table)).max() < 1e-9
    assert np.linalg.svd(vectors, compute_uv=False)[-1] > 0.3
    names = [pattern.name for pattern in patterns]
    assert len(set(names)) == 18
    assert names[-1] == "twist of vertical 1, 2, 13 and 14"
    assert "bracing of longitudinal 1, longitudinal 5, lateral 1 and lateral 5" in names


def test_guided_tables_are_squeezed_between_two_and_held_by_one_against_another() -> None:
    facing = (((-1.0, 0.0, 0.0), (-3.0, 0.0, 0.0)), ((1.0, 0.0, 0.0), (3.0, 0.0, 0.0)))
    beside = (((-1.0, -0.5, 0.0), (-3.0, -0.5, 0.0)), ((-1.0, 0.5, 0.0), (-3.0, 0.5, 0.0)))
    neutral = (0.0, 0.0, 0.0)
    for joints, vector, name in (
        (facing, [-1.0, -1.0], "squeeze of A and B"),
        (beside, [-1.0, 1.0], "A against B"),
    ):
        (found,) = basis(joints, neutral, ("surge",))
        assert found == pytest.approx(np.array(vector) / np.sqrt(2.0))
        assert pattern_name(found, joints, neutral, ["A", "B"]) == name


@pytest.mark.parametrize("count", [8, 12, 24])
def test_actuators_of_no_order_have_a_basis_too(count: int) -> None:
    random = np.random.default_rng(count)
    joints = tuple(
        (tuple(map(float, table)), tuple(map(float, table + slant - [0.0, 0.0, 2.0])))
        for table, slant in zip(
            random.uniform(-2.0, 2.0, (count, 3)), random.uniform(-1.0, 1.0, (count, 3)), strict=True
        )
    )
    vectors = basis(joints, (0.0, 0.0, 2.0), AXES)
    assert vectors.shape == (count - 6, count)
    assert np.linalg.matrix_rank(vectors) == count - 6
    assert np.max(np.sum(np.abs(vectors) > 1e-4, axis=1)) <= 7


def stated(*patterns: str) -> str:
    lines = "".join(f"    - {pattern}\n" for pattern in patterns)
    return TEXT.replace(LIMIT, f"{LIMIT}  internal_forces:\n{lines}")


ALL_FOUR = "[vertical rear right, vertical rear left, vertical front left, vertical front right]"


def test_a_file_names_a_pattern_and_its_limit() -> None:
    text = stated(f"{{name: diagonal, actuators: {ALL_FOUR}, force: 35 kN}}")
    (pattern,) = force_patterns(load_text(text, "table.yaml", TableSettings))
    assert (pattern.name, pattern.limit) == ("diagonal", 35e3)


@pytest.mark.parametrize(
    ("patterns", "place", "problem"),
    [
        (
            ["{name: a, actuators: [vertical rear right, longitudinal]}"],
            "internal_forces[0].actuators: ",
            "these actuators cannot work against each other",
        ),
        (
            ["{name: a, actuators: [vertical rear right, vertikal]}"],
            "internal_forces[0].actuators[1]: ",
            "'vertikal' is no name of links: vertical rear right,",
        ),
        (
            [f"{{name: a, actuators: {ALL_FOUR[:-1]}, longitudinal]}}"],
            "internal_forces[0].actuators: ",
            "longitudinal takes no part in the pattern of the others: leave it out",
        ),
        (
            [f"{{name: a, actuators: {ALL_FOUR}}}", f"{{name: b, actuators: {ALL_FOUR}}}"],
            "internal_forces[1].actuators: ",
            "it is a sum of the patterns above: leave it out",
        ),
    ],
)
def test_a_pattern_that_is_none_is_refused_at_its_place(
    patterns: list[str], place: str, problem: str
) -> None:
    text = stated(*patterns)
    line = 1 + text[: text.index("    - {name: a")].count("\n") + ("[1].actuators: " in place)
    with pytest.raises(SettingsError) as refused:
        load_text(text, "table.yaml", TableSettings)
    (told,) = str(refused.value).splitlines()
    assert told.startswith(f"table.yaml:{line}:")
    assert place + problem in told


def test_a_laboratorys_table_has_two_patterns() -> None:
    path = Path(ROOT).parent / "shared" / "data" / "tables" / "equals8.yaml"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    table = load(path, TableSettings)
    assert [pattern.name.split(" of ")[0] for pattern in force_patterns(table)] == ["twist", "bracing"]
