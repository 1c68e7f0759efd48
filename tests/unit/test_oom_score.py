"""Whom the system ends first when memory runs out: helpers before others, none by what it has inherited."""

from __future__ import annotations

from pathlib import Path

import pytest

from mastd.oom_score import OF_GATEWAYS, OF_HELPERS, give_up_protection


@pytest.mark.parametrize(
    ("inherited", "score", "then"),
    [(-900, OF_GATEWAYS, 0), (-900, OF_HELPERS, 500), (200, OF_GATEWAYS, 200), (900, OF_HELPERS, 900)],
)
def test_protection_is_given_up_and_never_taken(
    inherited: int, score: int, then: int, tmp_path: Path
) -> None:
    file = tmp_path / "oom_score_adj"
    file.write_text(f"{inherited}\n")
    give_up_protection(score, file)
    assert int(file.read_text()) == then


def test_a_system_without_it_is_no_trouble(tmp_path: Path) -> None:
    give_up_protection(OF_HELPERS, tmp_path / "none")
