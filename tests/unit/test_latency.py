"""Judging a machine by given numbers and given files: no clock, no measuring."""

from __future__ import annotations

import gzip
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mastd.latency.advice import advise
from mastd.latency.figures import Busy, Measurement, Right, Stalls, WakeUps
from mastd.latency.judge import Tolerance, Tolerances, Verdict, highest_rate, sentences, verdict
from mastd.latency.machine import IdleState, Machine, busy_ratios, read_machine
from mastd.latency.text import WIDTH, page

TOLERANCES = Tolerances(real=Tolerance(5, 0.001), simulated=Tolerance(150, 0.05))
GOOD = Machine(
    processors=4, usable=4, kernel="Linux 6.12", realtime_kernel=True, preemption="full (PREEMPT_RT)",
    rt_throttling="off", rt_group_scheduling=False, governors=("performance",), isolated="3", tickless="3",
    smt=False, idle_states=(IdleState("POLL", 0.0, False), IdleState("C6", 133e-6, True)),
    clock_source="tsc", virtual_machine="", container=False, quota=None,
)  # fmt: skip
UNKNOWN = Machine(
    processors=2, usable=2, kernel="Linux", realtime_kernel=False, preemption=None, rt_throttling=None,
    rt_group_scheduling=None, governors=None, isolated=None, tickless=None, smt=None, idle_states=None,
    clock_source=None, virtual_machine=None, container=None, quota=None,
)  # fmt: skip


def wake_ups(*late: tuple[float, int], rate: float = 1000.0, scheduling: str = "real-time") -> WakeUps:
    """Return wake-ups of which so many came so late."""
    values, counts = zip(*late, strict=True)
    return WakeUps(scheduling, rate, np.repeat(np.array(values), counts))


def measured(
    best: WakeUps, *, granted: bool = True, stall: float = 0.0, busy: float | None = 0.1
) -> Measurement:
    return Measurement(
        rate_hz=best.rate_hz,
        duration_s=600.0,
        own_load=True,
        processor=3,
        ordinary=wake_ups((80e-6, 990), (2e-3, 10), rate=best.rate_hz, scheduling="ordinary")
        if granted
        else best,
        real_time=best if granted else None,
        stalls=Stalls(granted, 2.0, (stall,) if stall else (), ()),
        busy=Busy(busy, 0.0, 0.5),
        rights=(Right("memory lock", True, "locked"),),
    )


@pytest.mark.parametrize(
    ("late", "stall", "expected", "highest"),
    [
        ([(10e-6, 9999), (45e-6, 1)], 0.0, Verdict.REAL, 10_000.0),
        ([(10e-6, 9999), (450e-6, 1)], 0.0, Verdict.REAL, 1000.0),
        ([(10e-6, 9999), (505e-6, 1)], 0.0, Verdict.TOLERATED, 500.0),
        ([(10e-6, 10_000)], 0.7e-3, Verdict.TOLERATED, 500.0),
        ([(10e-6, 9999), (5.2e-3, 1)], 0.0, Verdict.TOLERATED, None),
        ([(10e-6, 9999), (6.2e-3, 1)], 0.0, Verdict.SIMULATED, None),
        ([(10e-6, 9980), (1.2e-3, 20)], 0.0, Verdict.SIMULATED, 250.0),
        ([(10e-6, 9999)], 20e-3, Verdict.SIMULATED, None),
        ([(10e-6, 900), (3e-3, 100)], 0.0, Verdict.NONE, 100.0),
        ([(10e-6, 9999), (0.2, 1)], 0.0, Verdict.NONE, None),
    ],
)
def test_what_a_rate_is_good_for(
    late: list[tuple[float, int]], stall: float, expected: Verdict, highest: float | None
) -> None:
    measurement = measured(wake_ups(*late), stall=stall)
    assert verdict(measurement, 1000.0, TOLERANCES) is expected
    assert highest_rate(measurement, TOLERANCES, Verdict.REAL) == highest


def test_missed_periods_follow_from_the_delays() -> None:
    kind = wake_ups((0.1e-3, 90), (2.5e-3, 5))
    assert kind.missed(1000.0) == (2, 10 / 105)
    assert kind.missed(200.0) == (0, 0.0)
    assert kind.later_than(0.5e-3) == 5
    assert sum(kind.histogram()) == kind.count


def test_a_good_machine_is_told_so_and_left_alone() -> None:
    measurement = measured(wake_ups((5e-6, 9999), (15e-6, 1)))
    said = sentences(measurement, TOLERANCES)
    assert said[0] == (
        "This machine held 1 kHz for a real table: of 10000 wake-ups the latest was 15 µs after its"
        " deadline; half a period, 500 µs, is allowed."
    )
    assert "very good" in said[1]
    assert len(said) == 3, said
    assert advise(measurement, UNKNOWN) == [], "nothing is left to gain"


def test_idle_states_count_unless_they_are_off() -> None:
    measurement = measured(wake_ups((5e-6, 9999), (90e-6, 1)))
    assert advise(measurement, GOOD) == []
    sleepy = replace(GOOD, idle_states=(IdleState("C6", 133e-6, False),))
    assert [item.what for item in advise(measurement, sleepy)] == ["Disable deep idle states"]


def test_every_cause_has_its_advice_and_the_heaviest_comes_first() -> None:
    bad = replace(
        GOOD, realtime_kernel=False, preemption="voluntary", governors=("powersave",), isolated="", smt=True,
        idle_states=(IdleState("C6", 133e-6, False),), clock_source="hpet", rt_group_scheduling=True,
        virtual_machine="QEMU", quota=1.5,
    )  # fmt: skip
    refused = replace(
        measured(wake_ups((80e-6, 9000), (7e-3, 1000)), granted=False, stall=3e-3, busy=0.9),
        own_load=False,
        duration_s=10.0,
        rights=(Right("memory lock", False, "Cannot allocate memory"),),
    )
    advice = advise(refused, bad)
    assert [item.what.split(" ", 2)[0] + " " + item.what.split(" ", 2)[1] for item in advice] == [
        "Use a", "Grant real-time", "Remove the", "Run no", "Install a", "Keep processor", "Let the",
        "Disable deep", "Run the", "Disable hyper-threading", "Use the",
    ]  # fmt: skip
    assert "RT_GROUP_SCHED" in advice[1].how
    assert "isolcpus=3" in advice[5].how
    assert "irqaffinity=0-2" in advice[5].how
    said = " ".join(sentences(refused, TOLERANCES))
    for words in (
        "did not hold 1 kHz",
        "refused",
        "busy-waiting",
        "Other programs used 90 %",
        "too short to be conclusive",
    ):
        assert words in said
    firmware = advise(refused, replace(bad, virtual_machine=""))[0]
    assert "hwlatdetect" in firmware.how
    quiet = advise(measured(wake_ups((10e-6, 99), (2e-3, 1))), replace(GOOD, virtual_machine="QEMU"))
    assert quiet[-1].what == advice[0].what, "nothing was taken, so that comes last"
    isolated = advise(replace(refused, processor=None), replace(bad, isolated="3"))
    assert any("--cpu" in item.how for item in isolated)


@pytest.mark.parametrize("machine", [GOOD, UNKNOWN])
@pytest.mark.parametrize("granted", [True, False])
def test_the_page_has_everything_and_fits(machine: Machine, granted: bool) -> None:
    measurement = measured(wake_ups((80e-6, 90), (7e-3, 10)), granted=granted, stall=1e-3, busy=None)
    said, advice = sentences(measurement, TOLERANCES), advise(measurement, machine)
    text = page(measurement, machine, said, advice)
    assert max(map(len, text.splitlines())) <= WIDTH
    assert ("not known" in text) == (machine is UNKNOWN)
    assert all(" ".join(item.how.split()) in " ".join(text.split()) for item in advice)
    assert "up to 10 ms" in text


def test_a_system_without_any_of_the_files_is_not_known(tmp_path: Path) -> None:
    machine = read_machine(tmp_path)
    expected = replace(
        UNKNOWN,
        processors=machine.processors,
        usable=machine.usable,
        kernel=machine.kernel,
        realtime_kernel="PREEMPT_RT" in os.uname().version,
        preemption="full (PREEMPT_RT)" if "PREEMPT_RT" in os.uname().version else None,
    )
    assert machine == expected
    assert busy_ratios(None, (1.0,) * 10) == (None, None)


def test_what_the_files_of_a_system_say(tmp_path: Path) -> None:
    files = {
        "proc/version": "Linux version 6.1.0 #1 SMP PREEMPT_DYNAMIC",
        "proc/cpuinfo": "processor: 0\nflags\t\t: fpu vme hypervisor\n",
        "proc/cmdline": "quiet preempt=voluntary",
        "proc/sys/kernel/sched_rt_runtime_us": "950000\n",
        "proc/sys/kernel/sched_rt_period_us": "1000000\n",
        "proc/self/cgroup": "0::/system.slice/mastd.service\n",
        "sys/fs/cgroup/system.slice/cpu.max": "150000 100000\n",
        "sys/fs/cgroup/system.slice/mastd.service/cpu.max": "max 100000\n",
        "sys/class/dmi/id/sys_vendor": "QEMU\n",
        "sys/devices/system/cpu/isolated": "\n",
        "sys/devices/system/cpu/nohz_full": "(null)\n",
        "sys/devices/system/cpu/smt/active": "1\n",
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n",
        "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "performance\n",
        "sys/devices/system/cpu/cpu0/cpuidle/state0/name": "POLL\n",
        "sys/devices/system/cpu/cpu0/cpuidle/state0/latency": "0\n",
        "sys/devices/system/cpu/cpu0/cpuidle/state10/name": "C6\n",
        "sys/devices/system/cpu/cpu0/cpuidle/state10/latency": "133\n",
        "sys/devices/system/cpu/cpu0/cpuidle/state10/disable": "1\n",
        "sys/devices/system/clocksource/clocksource0/current_clocksource": "kvm-clock\n",
        ".dockerenv": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    with gzip.open(tmp_path / "proc/config.gz", "wt") as file:
        file.write("CONFIG_A=y\nCONFIG_RT_GROUP_SCHED=y\nCONFIG_PREEMPT_NONE=y\n")
    machine = read_machine(tmp_path)
    assert machine == Machine(
        processors=machine.processors, usable=machine.usable, kernel=machine.kernel, realtime_kernel=False,
        preemption="voluntary", rt_throttling="950000 of every 1000000 µs", rt_group_scheduling=True,
        governors=("performance", "powersave"), isolated="", tickless="", smt=True,
        idle_states=(IdleState("POLL", 0.0, False), IdleState("C6", 133e-6, True)), clock_source="kvm-clock",
        virtual_machine="QEMU", container=True, quota=1.5,
    )  # fmt: skip
    (tmp_path / "sys/kernel").mkdir()
    (tmp_path / "sys/kernel/realtime").write_text("1\n")
    assert read_machine(tmp_path).realtime_kernel
    assert busy_ratios((0.0,) * 10, (50.0, 0, 20, 15, 5, 0, 0, 10, 0, 0)) == (0.8, 0.1)
