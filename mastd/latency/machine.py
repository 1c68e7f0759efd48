"""What the system says of itself where it bears on latency; what it does not say is None, "not known".

Everything is read from files below a root, so that containers and other systems just know less.
Sources: sched(7), the kernel's admin-guide (kernel-parameters, sysfs-devices-system-cpu, cgroup-v2).
"""

from __future__ import annotations

import contextlib
import gzip
import os
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

_PREEMPT_OPTIONS = (
    ("CONFIG_PREEMPT_RT=y", "full (PREEMPT_RT)"),
    ("CONFIG_PREEMPT_LAZY=y", "lazy"),
    ("CONFIG_PREEMPT=y", "full"),
    ("CONFIG_PREEMPT_VOLUNTARY=y", "voluntary"),
    ("CONFIG_PREEMPT_NONE=y", "none"),
)
_MAX_BYTES = 1 << 20


@dataclass(frozen=True)
class IdleState:
    """One way for a processor to rest: the time it needs to wake."""

    name: str
    exit_s: float
    disabled: bool


@dataclass(frozen=True)
class Machine:
    """The machine and its system."""

    processors: int
    usable: int
    """Processors that this process may run on."""
    kernel: str
    realtime_kernel: bool
    preemption: str | None
    rt_throttling: str | None
    """Fraction of the time that real-time threads may take."""
    rt_group_scheduling: bool | None
    governors: tuple[str, ...] | None
    isolated: str | None
    """Processors kept from the scheduler, empty for none."""
    tickless: str | None
    smt: bool | None
    idle_states: tuple[IdleState, ...] | None
    clock_source: str | None
    virtual_machine: str | None
    """Name of the hypervisor, empty for none."""
    container: bool | None
    quota: float | None
    """Processors' worth of time that a control group leaves; None for no limit or not known."""

    def as_json(self) -> dict[str, object]:
        """Return plain data."""
        return asdict(self)


def read_machine(root: Path = Path("/")) -> Machine:
    """Return what the files below ``root`` say; never raises for what is missing."""
    system = os.uname()
    processors = root / "sys/devices/system/cpu"
    version = _text(root / "proc/version") or f"{system.release} {system.version}"
    configuration = _configuration(root, system.release)
    realtime = _text(root / "sys/kernel/realtime") == "1" or "PREEMPT_RT" in version
    return Machine(
        processors=os.cpu_count() or 1,
        usable=len(os.sched_getaffinity(0)),
        kernel=f"{system.sysname} {system.release}",
        realtime_kernel=realtime,
        preemption="full (PREEMPT_RT)" if realtime else _preemption(root, configuration),
        rt_throttling=_throttling(root),
        rt_group_scheduling=_group_scheduling(root, configuration),
        governors=_governors(processors),
        isolated=_text(processors / "isolated"),
        tickless=_none_as_empty(_text(processors / "nohz_full")),
        smt=_flag(processors / "smt/active"),
        idle_states=_idle_states(processors / "cpu0/cpuidle"),
        clock_source=_text(root / "sys/devices/system/clocksource/clocksource0/current_clocksource"),
        virtual_machine=_virtual_machine(root),
        container=_container(root),
        quota=_quota(root),
    )


def processor_times(root: Path = Path("/")) -> tuple[float, ...] | None:
    """Return the times of all processors together (proc(5), line ``cpu`` of /proc/stat)."""
    text = _text(root / "proc/stat") or ""
    match = re.match(r"cpu +([0-9 ]+)", text)
    return tuple(map(float, match[1].split())) if match else None


def busy_ratios(
    before: Sequence[float] | None, after: Sequence[float] | None
) -> tuple[float | None, float | None]:
    """Return which share of the time between was busy and which was stolen, of two ``processor_times``."""
    if before is None or after is None or len(before) < 8:
        return None, None
    spent = [late - early for early, late in zip(before, after, strict=True)][:8]
    total = sum(spent)
    if not total > 0.0:
        return None, None
    return 1.0 - (spent[3] + spent[4]) / total, spent[7] / total


def load_average(root: Path = Path("/")) -> float | None:
    """Return the load average of the last minute."""
    text = _text(root / "proc/loadavg")
    with contextlib.suppress(AttributeError, ValueError, IndexError):
        return float((text or "").split()[0])
    return None


def _text(path: Path) -> str | None:
    """Return what a file holds, None if it is not there or not to be read."""
    try:
        with path.open("rb") as file:
            return file.read(_MAX_BYTES).decode("utf-8", errors="replace").strip("\n\0 ")
    except OSError:
        return None


def _flag(path: Path) -> bool | None:
    text = _text(path)
    return None if text not in ("0", "1") else text == "1"


def _none_as_empty(text: str | None) -> str | None:
    return "" if text == "(null)" else text


def _configuration(root: Path, release: str) -> str:
    """Return the kernel's configuration, empty if it is nowhere."""
    text = _text(root / f"boot/config-{release}")
    if text is not None:
        return text
    with contextlib.suppress(OSError, EOFError), gzip.open(root / "proc/config.gz") as file:
        return file.read(_MAX_BYTES).decode("ascii", errors="replace")
    return ""


def _preemption(root: Path, configuration: str) -> str | None:
    """Return the mode of preemption: as chosen now, at the start, or when the kernel was built."""
    chosen = re.search(r"\((\w+)\)", _text(root / "sys/kernel/debug/sched/preempt") or "")
    if chosen:
        return chosen[1]
    asked = re.search(r"\bpreempt=(\w+)", _text(root / "proc/cmdline") or "")
    if asked:
        return asked[1]
    lines = set(configuration.splitlines())
    return next((mode for option, mode in _PREEMPT_OPTIONS if option in lines), None)


def _throttling(root: Path) -> str | None:
    runtime = _text(root / "proc/sys/kernel/sched_rt_runtime_us")
    period = _text(root / "proc/sys/kernel/sched_rt_period_us")
    if runtime is None:
        return None
    return "off" if runtime == "-1" else f"{runtime} of every {period or '?'} µs"


def _group_scheduling(root: Path, configuration: str) -> bool | None:
    if (root / "sys/fs/cgroup/cpu/cpu.rt_runtime_us").exists():
        return True
    return "\nCONFIG_RT_GROUP_SCHED=y" in configuration if configuration else None


def _governors(processors: Path) -> tuple[str, ...] | None:
    found = {_text(path) for path in processors.glob("cpu[0-9]*/cpufreq/scaling_governor")}
    names = tuple(sorted(name for name in found if name))
    return names or None


def _idle_states(directory: Path) -> tuple[IdleState, ...] | None:
    states = []
    for state in sorted(directory.glob("state[0-9]*"), key=lambda path: int(path.name[5:])):
        name, latency = _text(state / "name"), _text(state / "latency")
        if name is not None and latency is not None and latency.isdecimal():
            states.append(IdleState(name, int(latency) * 1e-6, bool(_flag(state / "disable"))))
    return tuple(states) or None


def _virtual_machine(root: Path) -> str | None:
    names = [_text(root / path) for path in ("sys/class/dmi/id/sys_vendor", "sys/class/dmi/id/product_name")]
    name = " ".join(part for part in (_text(root / "sys/hypervisor/type"), *names) if part)
    information = _text(root / "proc/cpuinfo")
    if information is None:
        return None
    virtual = re.search(r"^flags\s*:.*\bhypervisor\b", information, flags=re.MULTILINE) is not None
    virtual = virtual or (root / "proc/device-tree/hypervisor").exists()
    return (name or "an unnamed hypervisor") if virtual else ""


def _container(root: Path) -> bool | None:
    if any((root / path).exists() for path in (".dockerenv", "run/.containerenv")):
        return True
    text = _text(root / "run/systemd/container")
    return True if text else None


def _quota(root: Path) -> float | None:
    """Return the smallest limit of the control groups above this process."""
    own = re.search(r"^0::/(.*)$", _text(root / "proc/self/cgroup") or "", flags=re.MULTILINE)
    directory = root / "sys/fs/cgroup"
    parts = own[1].split("/") if own else []
    paths = [directory.joinpath(*parts[:depth]) / "cpu.max" for depth in range(len(parts) + 1)]
    limits = [(_text(path) or "").split() for path in paths]
    old = [_text(directory / "cpu" / name) for name in ("cpu.cfs_quota_us", "cpu.cfs_period_us")]
    limits.append([text or "" for text in old])
    found = [
        int(limit[0]) / int(limit[1])
        for limit in limits
        if len(limit) == 2 and limit[0].isdecimal() and limit[1].isdecimal() and int(limit[1]) > 0
    ]
    return min(found, default=None)
