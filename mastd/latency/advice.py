"""Recommended changes, most effective first: pure functions of what was measured and read.

The order is that of the causes: time that the hypervisor or the firmware takes is lost to everything above;
without real-time scheduling every program comes in between; without a preemptible kernel its own work does;
then other programs on the same processor, processors that sleep deeply, slow clocks, a shared core.

Sources: sched(7), mlock(2); LinuxCNC, docs/src/install/latency-test.adoc (isolation, governor, hyper-threads,
C-states, SMI); Red Hat, real-time tuning guide (C-states by /dev/cpu_dma_latency); systemd issue 13781
(RT_GROUP_SCHED refuses SCHED_FIFO outside the root group); OSADL and Debian for PREEMPT_RT.
"""

from __future__ import annotations

from dataclasses import dataclass

from mastd.latency.figures import Measurement
from mastd.latency.judge import BUSY, VERY_GOOD_S, hertz, milliseconds
from mastd.latency.machine import Machine

_STOLEN = 0.001
_OWN_MACHINE = "Use a physical machine, not a virtual one"
_PIN = (
    "a computer without a hypervisor; where it must be virtual, on its host:"
    " virsh vcpupin DOMAIN 0 PROCESSOR, with that processor isolated there"
)
_GOOD_CLOCKS = frozenset({"tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page"})
_DEEP = 0.02
"""Fraction of a period that wake-up from an idle state may take."""


@dataclass(frozen=True)
class Advice:
    """One change: what, why here, and the command or file that does it."""

    what: str
    why: str
    how: str


def advise(measurement: Measurement, machine: Machine) -> list[Advice]:
    """Return what to change, what brings most first; empty when nothing is left to gain."""
    if measurement.best.latest_s < VERY_GOOD_S:
        return []
    found = (
        _stalls(measurement, machine),
        _rights(measurement, machine),
        _quota(machine),
        _others(measurement),
        _kernel(machine),
        _isolation(measurement, machine),
        _memory(measurement),
        _idle(measurement, machine),
        _governor(machine),
        _threads(machine),
        _clock(machine),
        _virtual(measurement, machine),
    )
    return [advice for advice in found if advice is not None]


def _stalls(measurement: Measurement, machine: Machine) -> Advice | None:
    longest, stolen = measurement.stalls.longest_machine_s, measurement.busy.stolen
    if not _taken(measurement):
        return None
    seen = f"up to {milliseconds(longest)} at a time were taken from a busy-waiting thread"
    if stolen:
        seen += f", the hypervisor reports that it took {100 * stolen:.2g} % of the time"
    if machine.virtual_machine == "":
        return Advice(
            "Check the firmware for system management interrupts",
            f"{seen}; on a machine without a hypervisor that is a system management interrupt, or a driver",
            "hwlatdetect --duration=120 --threshold=100 (package rt-tests); then in the BIOS: legacy USB,"
            " power and thermal management off",
        )
    return Advice(_OWN_MACHINE, seen, _PIN)


def _virtual(measurement: Measurement, machine: Machine) -> Advice | None:
    """A hypervisor that has taken nothing while this was measured may still do so."""
    if not machine.virtual_machine or _taken(measurement):
        return None
    return Advice(
        _OWN_MACHINE,
        "the hypervisor took little during this measurement, but may take more at any time",
        _PIN,
    )


def _taken(measurement: Measurement) -> bool:
    """Return whether the machine itself took time that counts."""
    stolen = measurement.busy.stolen
    long = measurement.stalls.longest_machine_s > 0.25 / measurement.rate_hz
    return long or (stolen is not None and stolen > _STOLEN)


def _rights(measurement: Measurement, machine: Machine) -> Advice | None:
    if measurement.real_time is not None:
        return None
    how = (
        "systemctl edit mastd, there [Service] and LimitRTPRIO=99; without systemd /etc/security/limits.conf:"
        " @mastd - rtprio 99, then log in again; in a container: --cap-add=SYS_NICE --ulimit rtprio=99"
    )
    if machine.rt_group_scheduling:
        how += (
            "; this kernel has RT_GROUP_SCHED, which refuses it outside the root group even to root:"
            " echo 950000 > cpu.rt_runtime_us in the service's control group, or another kernel"
        )
    return Advice("Grant real-time scheduling", "without it every other program may preempt the loop", how)


def _quota(machine: Machine) -> Advice | None:
    if machine.quota is None:
        return None
    return Advice(
        "Remove the limit of processor time",
        f"a control group leaves {machine.quota:g} processors' worth; once it is used up, all threads stall",
        "start the container without --cpus; in a unit CPUQuota= (empty)",
    )


def _others(measurement: Measurement) -> Advice | None:
    busy = measurement.busy.busy
    if measurement.own_load or busy is None or busy <= BUSY:
        return None
    return Advice(
        "Run no other programs on this machine",
        f"other programs used {100 * busy:.0f} % of the processors while this was measured",
        "top shows them; use a dedicated computer, then measure again",
    )


def _kernel(machine: Machine) -> Advice | None:
    if machine.realtime_kernel:
        return None
    mode = f"preemption here: {machine.preemption}" if machine.preemption else "this one is not"
    return Advice(
        "Install a PREEMPT_RT kernel",
        f"its worst case is 10 to 100 µs, that of others 1 to 100 ms; {mode}",
        "apt install linux-image-rt-amd64, restart, then uname -v shows PREEMPT_RT",
    )


def _isolation(measurement: Measurement, machine: Machine) -> Advice | None:
    if machine.isolated:
        if measurement.processor is None:
            return Advice(
                "Use the isolated processor",
                f"processors {machine.isolated} are kept free, but this was measured elsewhere",
                f"realtime.cpu: N in the daemon's settings, and mastd latency --cpu N: {machine.isolated}",
            )
        return None
    if machine.processors < 2:
        return Advice(
            "Use a machine with more processors",
            "there is only one processor, the loop cannot have a dedicated one",
            "at least two, better four",
        )
    last = machine.processors - 1
    rest = "0" if last == 1 else f"0-{last - 1}"
    return Advice(
        f"Keep processor {last} free for the loop",
        "no processor is isolated: other programs and interrupts run where the loop runs",
        f'/etc/default/grub: GRUB_CMDLINE_LINUX="isolcpus={last} nohz_full={last} rcu_nocbs={last}'
        f" irqaffinity={rest}\", update-grub, restart; realtime.cpu: {last} in the daemon's settings",
    )


def _memory(measurement: Measurement) -> Advice | None:
    if not any(right.name == "memory lock" and right.obtained is False for right in measurement.rights):
        return None
    return Advice(
        "Let the daemon lock its memory",
        "memory that is not locked can be paged out, and a page fault takes milliseconds",
        "systemctl edit mastd, there [Service] and LimitMEMLOCK=infinity; without systemd"
        " /etc/security/limits.conf: @mastd - memlock unlimited",
    )


def _idle(measurement: Measurement, machine: Machine) -> Advice | None:
    allowed = _DEEP / measurement.rate_hz
    deep = [state for state in machine.idle_states or () if state.exit_s > allowed and not state.disabled]
    if not deep:
        return None
    slowest = max(deep, key=lambda state: state.exit_s)
    return Advice(
        "Disable deep idle states",
        f"wake-up from {slowest.name} takes up to {milliseconds(slowest.exit_s)}, too much at"
        f" {hertz(measurement.rate_hz)}",
        f"cpupower idle-set -D {1e6 * allowed:.0f} (until the next start), or in GRUB_CMDLINE_LINUX:"
        " processor.max_cstate=1 intel_idle.max_cstate=0",
    )


def _governor(machine: Machine) -> Advice | None:
    if not machine.governors or machine.governors == ("performance",):
        return None
    return Advice(
        "Run the processors at full speed",
        f"the frequency governor is {', '.join(machine.governors)}: after each rest the clock is slow",
        "cpupower frequency-set -g performance",
    )


def _threads(machine: Machine) -> Advice | None:
    if not machine.smt:
        return None
    return Advice(
        "Disable hyper-threading",
        "two threads share each core: the other one slows the loop",
        "echo off > /sys/devices/system/cpu/smt/control (until the next start), or in GRUB_CMDLINE_LINUX:"
        " nosmt",
    )


def _clock(machine: Machine) -> Advice | None:
    if machine.clock_source is None or machine.clock_source in _GOOD_CLOCKS:
        return None
    return Advice(
        "Use the processor's own clock",
        f"the clock source is {machine.clock_source}: every reading of the time is a slow access",
        "in GRUB_CMDLINE_LINUX: clocksource=tsc tsc=reliable",
    )
