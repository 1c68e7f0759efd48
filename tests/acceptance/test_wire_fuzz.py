"""Frames that nobody may take, at every ROUTER of a running daemon; `make wire-fuzz` sends a million."""

from __future__ import annotations

import pytest

from tests.support.lab import Lab
from tests.support.rigs.fuzz import fuzz

pytestmark = pytest.mark.real_time


def test_20_000_false_frames_change_nothing_and_each_is_answered_and_counted(lab: Lab) -> None:
    outcome = fuzz(lab, 20_000, seed=2)
    assert not outcome.problems
    assert outcome.frames == 20_000
    for target, sent in outcome.sent.items():
        assert min(sent.values()) > 50, (target, sent)
