"""The fault table: complete, documented, settings real, each threshold named; and what the latch keeps."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from mastd.control.table.computed import with_computed_settings
from mastd.safety import faults
from mastd.safety.faults import CODES, ROWS, TABLE, Action, Code, Fault, FaultLatch, Report, Row
from mastd.settings.core.base import Settings
from mastd.settings.core.loader import load
from mastd.settings.daemon.daemon import DaemonSettings
from mastd.settings.table.table import TableSettings

ROOT = Path(__file__).resolve().parents[3]

THRESHOLDS = ("limits", "supply.limits", "guard", "timeouts", "overrun")
"""Groups of settings that say what a fault is."""

NO_THRESHOLD = {
    "limits.pose": "kept by the check before motion and by the reference",
    "guard.rejoin_time": "time in which following is not watched",
    "guard.rate_filter": "a filter",
    "timeouts.lowering": "after it the drive is taken to have let the table down",
    "overrun.after_stall": "a choice",
}
"""Settings of these groups that are none, and why."""


@pytest.fixture(scope="module")
def homes() -> tuple[Settings, Settings]:
    """The starter settings of table and daemon."""
    table = load(ROOT / "config" / "table.yaml", TableSettings)
    daemon = load(ROOT / "config" / "daemon" / "simulated.yaml", DaemonSettings)
    return table, with_computed_settings(table, daemon)


def at(homes: tuple[Settings, ...], path: str) -> list[object]:
    """Return what stands at a path in each file that has it."""
    found: list[object] = []
    for home in homes:
        value: object = home
        for part in path.split("."):
            value = getattr(value, part, None)
        if value is not None:
            found.append(value)
    return found


def leaves(value: object, path: str) -> Iterator[str]:
    """Yield the paths of all single settings at and below ``path``."""
    if isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from leaves(getattr(value, name), f"{path}.{name}")
    else:
        yield path


def test_every_code_has_one_row_in_order() -> None:
    assert [row.code for row in TABLE] == sorted(set(Code) - {Code.NONE})
    assert len({row.title for row in TABLE}) == len(TABLE)


def test_a_set_of_codes_fits_64_bits_and_its_halves_float64_exactly() -> None:
    everything = faults.bits(*Code)
    assert CODES <= 63
    low, high = float(everything & 0xFFFFFFFF), float(everything >> 32)
    assert int(low) | int(high) << 32 == everything


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.code.name.lower())
def test_a_row_says_everything_to_the_technician(row: Row) -> None:
    for text in (row.title, row.detector, row.clear, row.hint):
        assert text
        assert text == text.strip()
    assert row.hint[-1] in ".?!"


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.code.name.lower())
def test_thresholds_and_delays_are_settings(row: Row, homes: tuple[Settings, Settings]) -> None:
    for path in filter(None, (row.threshold, row.delay, *row.also)):
        assert len(at(homes, path)) == 1, path
    if row.delay:
        assert isinstance(at(homes, row.delay)[0], float)


def test_every_threshold_is_named_by_a_row(homes: tuple[Settings, Settings]) -> None:
    named = {path for row in TABLE for path in (row.threshold, row.delay, *row.also) if path}
    for group in THRESHOLDS:
        for path in leaves(at(homes, group)[0], group):
            known = {*named, *NO_THRESHOLD}
            assert any(path == one or path.startswith(f"{one}.") for one in known), f"nobody names {path}"


def test_the_page_is_up_to_date() -> None:
    page = (ROOT / "docs" / "faults.md").read_text(encoding="utf-8")
    assert page == faults.markdown(), "run: python -m mastd.safety.faults > docs/faults.md"


def report(latch: FaultLatch, *reports: Report, cycle: int = 1) -> list[Code]:
    return [fault.code for fault in latch.observe(reports, cycle * 1_000_000, cycle)]


def test_the_first_cause_stays_with_time_and_cycle_until_reset() -> None:
    latch = FaultLatch()
    assert report(latch, Report(Code.OIL_LEVEL, "59.0 %"), cycle=7) == [Code.OIL_LEVEL]
    report(latch, Report(Code.VELOCITY, ""), Report(Code.ESTOP, ""), cycle=8)
    assert latch.first == Fault(Code.OIL_LEVEL, "59.0 %", 7_000_000, 7)
    assert latch.first.cause == "oil level low: 59.0 %"
    assert set(latch.active) == {Code.VELOCITY, Code.ESTOP}, "the oil level is no longer reported"
    assert set(latch.active) == {Code.VELOCITY, Code.ESTOP}
    latch.reset()
    assert latch.first is None
    assert not latch.stopped
    assert not latch.active


def test_a_stop_takes_the_place_of_a_hold_as_the_cause() -> None:
    latch = FaultLatch()
    report(latch, Report(Code.PATH_BLOCKED, ""))
    assert not latch.stopped
    report(latch, Report(Code.PATH_BLOCKED, ""), Report(Code.FORCE, ""))
    assert latch.first is not None
    assert latch.first.code is Code.FORCE
    assert latch.stopped


def test_a_standing_condition_is_new_once() -> None:
    latch = FaultLatch()
    assert report(latch, Report(Code.FORCE, "")) == [Code.FORCE]
    assert report(latch, Report(Code.FORCE, "more")) == []
    assert report(latch) == []
    assert report(latch, Report(Code.FORCE, "again")) == [Code.FORCE]


def test_an_action_of_its_own_replaces_the_rows() -> None:
    latch = FaultLatch()
    report(latch, Report(Code.PROFILE_LIMIT, "pose.heave", Action.INDICATE))
    assert latch.first is None
    assert latch.active[Code.PROFILE_LIMIT].action is Action.INDICATE
    both = (
        Report(Code.PROFILE_LIMIT, "pose.heave", Action.INDICATE),
        Report(Code.PROFILE_LIMIT, "force.1", Action.POWER_OFF),
    )
    assert report(latch, *both) == [Code.PROFILE_LIMIT], "a more severe one of the same code is new"
    assert latch.first is not None
    assert latch.first.action is Action.POWER_OFF
    assert report(latch, *both) == []


@settings(max_examples=50)
@given(
    st.lists(
        st.lists(
            st.tuples(st.sampled_from([row.code for row in TABLE]), st.sampled_from([None, *Action])),
            max_size=4,
        ),
        max_size=6,
    )
)
def test_the_most_severe_action_is_never_lost(cycles: list[list[tuple[Code, Action | None]]]) -> None:
    latch = FaultLatch()
    severe = Action.INDICATE
    standing: dict[Code, Action] = {}
    for cycle, found in enumerate(cycles):
        reports = [Report(code, "", action) for code, action in found]
        new = latch.observe(reports, cycle, cycle)
        worst: dict[Code, Action] = {}
        for code, own in found:
            action = ROWS[code].action if own is None else own
            worst[code] = max(worst.get(code, standing.get(code, action)), action)
        standing = worst
        assert {code: fault.action for code, fault in latch.active.items()} == standing
        severe = max([severe, *(fault.action for fault in new)])
    assert latch.stopped == (severe >= Action.STOP)
    assert (latch.first is not None) == (severe >= Action.HOLD)
