"""Missed periods and clocks, judged in virtual time."""

from __future__ import annotations

from pathlib import Path

import pytest

from mastd.safety.codes import Code
from mastd.safety.pace import Pace, PlantClock
from mastd.settings.core.loader import load
from mastd.settings.daemon.daemon import DaemonSettings

ROOT = Path(__file__).resolve().parents[3]
MS = 1_000_000


def daemon(name: str = "simulated", **overrun: object) -> DaemonSettings:
    settings = load(ROOT / "config" / "daemon" / f"{name}.yaml", DaemonSettings)
    return settings.model_copy(update={"overrun": settings.overrun.model_copy(update=overrun)})


def codes(pace: Pace, skipped: int) -> list[Code]:
    return [report.code for report in pace.account(skipped)]


@pytest.mark.parametrize(
    ("name", "skipped", "wanted"),
    [
        ("simulated", 0, []),
        ("simulated", 120, []),
        ("simulated", 121, [Code.STALL]),
        ("simulated", 151, [Code.STALL, Code.OVERRUN]),
        ("simulated", 2001, [Code.LOOP_STUCK, Code.STALL, Code.OVERRUN]),
        ("real", 5, []),
        ("real", 6, [Code.OVERRUN]),
        ("real", 501, [Code.LOOP_STUCK, Code.STALL, Code.OVERRUN]),
    ],
)
def test_a_gap_is_judged_by_its_length(name: str, skipped: int, wanted: list[Code]) -> None:
    assert codes(Pace(daemon(name), bridged=0.12), skipped) == wanted


def test_late_cycles_stand_from_one_window_to_the_next() -> None:
    pace = Pace(daemon(late_share=0.05, late_window=1.0), bridged=0.12)
    seen = [bool(codes(pace, int(k % 10 == 0))) for k in range(910)]
    assert seen.index(True) == pytest.approx(909, abs=2), "known at the end of the first second"
    seen = [bool(codes(pace, 0)) for _ in range(1000)]
    assert seen[0]
    assert not seen[-1], "a second without misses ends it"
    pace = Pace(daemon(late_share=0.15, late_window=1.0), bridged=0.12)
    assert not any(codes(pace, int(k % 10 == 0)) for k in range(2000)), "the share is the setting's own"


def watch(clock: PlantClock, times: list[tuple[int, int]]) -> list[str]:
    return [clock.inspect(now, plant) for now, plant in times]


def test_clocks_that_run_alike_are_not_noticed_whatever_their_zero_and_the_delay() -> None:
    delays = [(7 * k) % 60 for k in range(4000)]
    times = [((k + delays[k]) * MS, (k + 12345) * MS) for k in range(4000)]
    assert not any(watch(PlantClock(0.01), times))


@pytest.mark.parametrize(("rate", "noticed"), [(1.05, True), (0.95, True), (1.005, False), (0.995, False)])
def test_clocks_that_drift_apart_are_found_within_two_seconds(rate: float, noticed: bool) -> None:
    told = watch(PlantClock(0.01), [(k * MS, round(k * rate * MS)) for k in range(2500)])
    assert bool(told[2010]) is noticed
    assert not any(told[:1000])
    if noticed:
        assert ("ahead" in told[2010]) is (rate > 1.0)


def test_plant_time_that_jumps_ahead_is_found_at_once_and_backwards_too() -> None:
    clock = PlantClock(0.01)
    assert not any(watch(clock, [(k * MS, k * MS) for k in range(1500)]))
    assert "ahead" in clock.inspect(1501 * MS, 1701 * MS)
    assert "backwards" in clock.inspect(1502 * MS, 900 * MS)
    assert not clock.inspect(1503 * MS, 901 * MS), "it is a new beginning"


def test_a_stall_of_the_plant_is_no_drift() -> None:
    clock = PlantClock(0.01)
    times = [(k * MS, (k if not 1200 <= k < 1700 else 1199) * MS) for k in range(4000)]
    assert not any(watch(clock, times))
