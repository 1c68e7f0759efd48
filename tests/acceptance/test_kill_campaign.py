"""A small sample of the campaign of kills; `make kills` plays all of its cases."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.kill_campaign import CASES, Case, Outcome, campaign, table

pytestmark = pytest.mark.real_time


def test_a_kill_leaves_a_safe_table_a_true_record_and_no_process(tmp_path: Path) -> None:
    cases = [Case("STOP", "recorder", "RUNNING"), Case("KILL", "plant", "RUNNING")]
    outcomes = list(campaign(tmp_path, [CASES.index(case) for case in cases]))
    assert [outcome.case for outcome in outcomes if outcome.reached] == cases
    assert [outcome.problems for outcome in outcomes] == [[], []]
    assert all(outcome.verdicts for outcome in outcomes)
    assert not list(tmp_path.iterdir()), "only what failed is kept"


def test_the_table_of_a_campaign_names_the_seeds_that_failed() -> None:
    case = Case("KILL", "plant", "HOLD")
    outcomes = [
        Outcome(4, case, peak=1.0, verdicts=["fault"]),
        Outcome(78, case, peak=2.5, problems=["moved"]),
    ]
    lines = table(outcomes).splitlines()
    assert lines[1] == "KILL | plant | HOLD | 2 | 1 | 2.50 m/s2 | 1 fault"
    assert lines[-1] == "failed seeds: 78"
    assert table(outcomes[:1]).splitlines()[-1] == "clean"
