"""Age of the information: delay, jitter and drift told apart, and what becomes of the feedback."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest

from mastd.safety.codes import Action, Code
from mastd.safety.faults import Report
from mastd.safety.feedback import FeedbackFade
from mastd.safety.pace import CommandLoss, PlantClock
from mastd.safety.round_trip import LineDelay
from mastd.safety.unasked_motion import UNASKED_MOTION, UnaskedModel, UnaskedState, inspect_unasked
from mastd.settings.core.loader import load
from mastd.settings.daemon.daemon import DaemonSettings

ROOT = Path(__file__).resolve().parents[3]
MS = 1_000_000
PERIOD = 1e-3
SETTINGS = load(ROOT / "config" / "daemon" / "real.yaml", DaemonSettings)
WATCHED = 1 << UNASKED_MOTION


def judge(ages: list[int]) -> list[Report | None]:
    line = LineDelay(SETTINGS.round_trip, PERIOD)
    return [next(iter(line.account(age, True)), None) for age in ages]


def assert_told(report: Report | None, code: Code, action: Action | None, detail: str) -> None:
    """``action`` None: nothing is told; a report of its own action None has its row's: stop."""
    if action is None:
        assert report is None
        return
    assert report is not None
    assert (report.code, report.action) == (code, None if action is Action.STOP else action)
    assert detail in report.detail


@pytest.mark.parametrize(
    ("age", "action"),
    [(1, None), (3, None), (4, Action.INDICATE), (12, Action.INDICATE), (13, Action.STOP)],
)
def test_a_lasting_round_trip_is_told_by_its_length(age: int, action: Action | None) -> None:
    detail = f"at least {age} ms, limit {3 if action is Action.INDICATE else 12} ms"
    assert_told(judge([1] * 1000 + [age] * 100)[-1], Code.LINE_DELAY, action, detail)


def test_a_delay_is_told_within_its_window_and_until_it_is_gone() -> None:
    found = judge([1] * 1000 + [20] * 100 + [8] * 200 + [2] * 100)
    first = next(k for k, report in enumerate(found) if report is not None)
    assert 1000 + 25 <= first <= 1000 + round(SETTINGS.round_trip.window * 1e3)
    flapping = found[1290]
    assert flapping is not None
    assert flapping.action is None, "a stop stands until the line is good again"
    assert found[-1] is None


def test_one_late_sample_is_neither_delay_nor_jitter_and_many_are_jitter() -> None:
    assert set(judge([1] * 500 + [40] + [1] * 2000)) == {None}
    random = Random(1)
    found = judge([random.choice((1, 1, 2, 9, 30)) for _ in range(2500)])
    assert set(found[:999]) == {None}, "known by the end of a second"
    last = found[-1]
    assert last is not None
    assert last.action is Action.INDICATE
    assert "jitter: 4" in last.detail or "jitter: 3" in last.detail
    assert "up to 30 ms, at best 1 ms" in last.detail


def expected(ages: list[int]) -> list[str]:
    """Return what is told in each cycle, by the definitions and the whole history."""
    limits = SETTINGS.round_trip
    half, second = round(0.5 * limits.window / PERIOD), round(1.0 / PERIOD)
    told, jitter, stopped = [], False, False
    for k in range(len(ages)):
        begun = k - k % half
        delay = min(*ages[begun : k + 1], *(ages[begun - half : begun] if begun else [1]))
        if (k + 1) % second == 0:
            late = sum(each > limits.indicate for each in ages[k + 1 - second : k + 1])
            jitter = late / second > limits.jitter_share and delay <= limits.indicate
        stopped = delay > (limits.indicate if stopped else limits.stop)
        if stopped:
            told.append("stop")
        elif delay > limits.indicate:
            told.append("delay")
        else:
            told.append("jitter" if jitter else "")
    return told


@pytest.mark.parametrize("seed", range(12))
def test_whatever_a_line_does_is_told_by_its_whole_history(seed: int) -> None:
    random, ages = Random(seed), [1]
    while len(ages) < 12_000:
        length = round(10 ** random.uniform(0.0, 3.3))
        if random.random() < 0.7:
            ages += [random.choice((1, 1, 2, 3, 4, 8, 13, 20))] * length
        else:
            ages += [random.choice((1, 2, 3, 5, 30)) for _ in range(length)]
    found = [
        ""
        if report is None
        else "stop"
        if report.action is None
        else "jitter"
        if report.detail.startswith("jitter")
        else "delay"
        for report in judge(ages)
    ]
    assert found == expected(ages)


def losses(applied: list[bool], told: float = 0.05) -> list[Report | None]:
    """Return what is told of commands of which the drive applied only some."""
    loss = CommandLoss(SETTINGS.round_trip, told, PERIOD)
    newest, found = 0, []
    for period, came in enumerate(applied):
        newest = period if came else newest
        found.append(next(iter(loss.count(period, newest)), None))
    return found


@pytest.mark.parametrize(
    ("every", "told", "action", "detail"),
    [
        (0, 0.05, None, ""),
        (40, 0.05, None, ""),
        (18, 0.05, Action.INDICATE, "5.6% of 1000 commands lost or over a period late, limit 5%"),
        (8, 0.05, Action.STOP, "12.5% of 1000 commands lost or over a period late, limit 6%"),
        (8, 0.2, Action.STOP, "12.5% of 1000 commands lost or over a period late, limit 6%"),
        (18, 0.2, None, ""),
    ],
)
def test_lost_commands_are_told_by_their_ratio_and_many_stop(
    every: int, told: float, action: Action | None, detail: str
) -> None:
    last = losses([not every or k % every > 1 for k in range(2400)], told)[-1]
    assert_told(last, Code.COMMAND_MISSING, action, detail)


def test_a_standstill_is_no_loss_of_commands_and_lost_samples_are_none_either() -> None:
    assert set(losses([True] * 1200 + [False] * 150 + [True] * 1200)) == {None}
    assert set(losses([k % 2 == 0 for k in range(2400)])) == {None}, "nor is the beat of two clocks"
    loss = CommandLoss(SETTINGS.round_trip, 0.05, PERIOD)
    random = Random(3)
    assert not any(loss.count(k, k - 1) for k in range(3000) if random.random() < 0.5)


def test_what_the_drive_does_not_follow_is_not_judged() -> None:
    line = LineDelay(SETTINGS.round_trip, PERIOD)
    assert not any(line.account(5000, False) for _ in range(1000))


def clock_says(leads: list[int], trips: list[int], limit: float = 0.01) -> list[str]:
    clock = PlantClock(limit)
    return [
        clock.inspect(k * MS, k * MS - lead, trip)
        for k, (lead, trip) in enumerate(zip(leads, trips, strict=True))
    ]


@pytest.mark.parametrize("rate", [20.0, -20.0])
def test_a_lead_that_changes_alone_is_drift_and_with_the_round_trip_it_is_delay(rate: float) -> None:
    way = [round(k * rate * 1e-3 * MS) for k in range(4000)]
    assert any(clock_says(way, [MS] * 4000)), "20 ms within a second"
    late = [max(0, 80 * MS + one if rate < 0 else one) for one in way]
    assert not any(clock_says(late, [MS + one for one in late])), "the line does that"


def fade(ages: list[int], unasked: list[str]) -> tuple[list[float], list[list[Report]]]:
    feedback = FeedbackFade(SETTINGS.round_trip, SETTINGS.unasked_motion, PERIOD)
    weights, reports = [], []
    for age, what in zip(ages, unasked, strict=True):
        reports.append(feedback.advance(age, what))
        weights.append(feedback.weight)
    return weights, reports


def test_the_feedback_fades_with_the_age_and_comes_back() -> None:
    weights, reports = fade([1] * 10 + [6] * 10 + [7] * 60 + [1] * 600, [""] * 680)
    assert weights[:20] == [1.0] * 20
    assert weights[44] == pytest.approx(0.5)
    assert weights[69] == 0.0
    assert weights[80 + 250] == pytest.approx(0.5, abs=0.01)
    assert weights[-1] == 1.0, "exactly: the command is then that of a line without delay, bit for bit"
    codes = [[report.code for report in found] for found in reports]
    assert not any(codes[:69])
    assert codes[70] == [Code.FEEDBACK_OFF]
    assert "7 ms, limit 6 ms" in reports[70][0].detail
    assert codes[-1] == []


def test_unasked_motion_first_takes_the_feedback_off_then_stops() -> None:
    what = "sway 3.00 m/s2 rms off the reference, limit 0.70 m/s2"
    weights, reports = fade([1] * 3000, [""] * 10 + [what] * 300 + [""] * 1000 + [what] * 1690)
    assert reports[10] == [Report(Code.FEEDBACK_OFF, what)]
    assert weights[10 + 50] == 0.0
    assert [report.code for report in reports[1000]] == [Code.FEEDBACK_OFF], "it stays off"
    assert weights[1309] == 0.0
    stops = [k for k, found in enumerate(reports) if Code.UNASKED_MOTION in [report.code for report in found]]
    assert stops[0] == 1310, "the feedback was off for longer than the patience"


@pytest.mark.parametrize("axis", range(6))
def test_the_detector_takes_the_effective_value_of_what_was_not_asked_for(axis: int) -> None:
    """Against the same figure by numpy: rms over the window, rotations at 1.4 m."""
    model = UnaskedModel(1.4, 0.7, 0.5, 0.1)
    state = UnaskedState.of(300)
    time = np.arange(1500) * PERIOD
    asked = np.zeros((1500, 6))
    asked[:, 2] = 4.0 * np.sin(2 * np.pi * 3 * time)
    measured = asked.copy()
    measured[:, axis] += np.where(time > 0.7, 6.0, 0.0) * (time - 0.7) * np.sin(2 * np.pi * 20 * time)
    found = [bool(inspect_unasked(measured[k], asked[k], WATCHED, model, state)) for k in range(1500)]
    arms = np.array([1.0, 1.0, 1.0, 1.4, 1.4, 1.4])
    wrong, own = ((measured - asked) * arms) ** 2, (asked * arms) ** 2
    expected = []
    for k in range(1500):
        first = max(0, k - 299)
        values = np.sqrt(wrong[first : k + 1].sum(axis=0) / 300)
        wanted = own[first : k + 1].sum(axis=0) / 300
        expected.append(bool((values > 0.7 + 0.5 * np.sqrt(wanted) + 0.1 * np.sqrt(wanted.sum())).any()))
    assert found == expected
    assert any(expected)
    assert state.found[0] == axis
    assert inspect_unasked(measured[-1], asked[-1], 0, model, state) == 0
    assert inspect_unasked(measured[0], asked[0], WATCHED, model, state) == 0, "nothing is left of before"


def test_a_measurement_that_is_no_number_trips() -> None:
    state = UnaskedState.of(300)
    broken = np.full(6, np.nan)
    assert inspect_unasked(broken, np.zeros(6), WATCHED, UnaskedModel(1.4, 0.7, 0.5, 0.1), state) == WATCHED
