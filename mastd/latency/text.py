"""The page that `mastd latency` prints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import wrap

from mastd.latency.advice import Advice
from mastd.latency.figures import EDGES_US, Measurement, WakeUps
from mastd.latency.judge import hertz, milliseconds
from mastd.latency.machine import Machine

WIDTH = 110
_NOT_KNOWN = "not known"
_NAME = 31


def page(
    measurement: Measurement, machine: Machine, judgement: Sequence[str], advice: Sequence[Advice]
) -> str:
    """Return everything, for people."""
    lines = _measured(measurement)
    lines += [
        "",
        "Rights",
        *_rows((right.name, _right(right.obtained, right.found)) for right in measurement.rights),
    ]
    lines += ["", "Machine", *_rows(_facts(machine))]
    lines += ["", "Judgement", *[line for text in judgement for line in _block(text, "  ")]]
    if advice:
        lines += ["", "Recommended changes, most effective first"]
        for number, item in enumerate(advice, 1):
            lines += _block(f"{item.what}: {item.why}.", f"{number:3}. ")
            lines += _block(item.how, "     → ")
    return "\n".join(lines)


def _measured(measurement: Measurement) -> list[str]:
    kinds = [measurement.ordinary, *([measurement.real_time] if measurement.real_time else [])]
    where = "any processor" if measurement.processor is None else f"processor {measurement.processor}"
    load = "with generated load" if measurement.own_load else "without generated load"
    busy = measurement.busy
    others = f"; processor load {100 * busy.busy:.0f} %" if busy.busy is not None else ""
    others += f", stolen by the hypervisor {100 * busy.stolen:.2g} %" if busy.stolen is not None else ""
    others += f", load average {busy.load_average:.1f}" if busy.load_average is not None else ""
    half = 0.5 / measurement.rate_hz
    rate = hertz(measurement.rate_hz)
    lines = _block(f"Wake-ups at {rate} on {where}, {measurement.duration_s:g} s in all, {load}{others}", "")
    late = f"> {milliseconds(half)}"
    lines.append(
        f"  {'':{_NAME}}"
        + "".join(f"{name:>11}" for name in ("count", "median", "p99", "p99.9", "latest", late))
    )
    for kind in kinds:
        values = [milliseconds(value) for value in (*map(kind.quantile, (0.5, 0.99, 0.999)), kind.latest_s)]
        cells = [str(kind.count), *values, str(kind.later_than(half))]
        lines.append(f"  {kind.scheduling:{_NAME}}" + "".join(f"{cell:>11}" for cell in cells))
    return [*lines, "", "Scheduling latency", *_histogram(kinds), "", *_stalls(measurement)]


def _histogram(kinds: Sequence[WakeUps]) -> list[str]:
    names = [f"up to {milliseconds(edge * 1e-6)}" for edge in EDGES_US] + ["more"]
    counts = [kind.histogram() for kind in kinds]
    used = [row for row in range(len(names)) if any(count[row] for count in counts)]
    lines = [f"  {'':{_NAME}}" + "".join(f"{kind.scheduling:>11}" for kind in kinds)]
    for row in range(used[0], used[-1] + 1):
        lines.append(f"  {names[row]:{_NAME}}" + "".join(f"{count[row]:>11}" for count in counts))
    return lines


def _stalls(measurement: Measurement) -> list[str]:
    stalls = measurement.stalls
    kind = "a real-time" if stalls.real_time else "an ordinary"
    rows = [
        (
            "taken by the machine",
            f"longest {milliseconds(stalls.longest_machine_s)}, {len(stalls.machine_s)} gaps, "
            f"{100 * sum(stalls.machine_s) / stalls.watched_s:.2g} % of the time",
        ),
        (
            "taken by other threads",
            f"longest {milliseconds(stalls.longest_preempted_s)}, {len(stalls.preempted_s)} gaps, "
            f"{100 * sum(stalls.preempted_s) / stalls.watched_s:.2g} % of the time",
        ),
    ]
    return [f"Stalls of {kind} busy-waiting thread, {stalls.watched_s:.2g} s", *_rows(rows)]


def _facts(machine: Machine) -> list[tuple[str, str]]:
    states = machine.idle_states
    idle = None
    if states is not None:
        idle = ", ".join(
            f"{state.name} {milliseconds(state.exit_s)}{' (off)' if state.disabled else ''}"
            for state in states
        )
    usable = f", {machine.usable} of them usable" if machine.usable != machine.processors else ""
    quota = "" if machine.quota is None else f", limited to {machine.quota:g} by a control group"
    return [
        ("kernel", machine.kernel),
        ("PREEMPT_RT", "yes" if machine.realtime_kernel else "no"),
        ("preemption", machine.preemption or _NOT_KNOWN),
        ("real-time throttling", machine.rt_throttling or _NOT_KNOWN),
        ("RT_GROUP_SCHED", _yes(machine.rt_group_scheduling)),
        ("processors", f"{machine.processors}{usable}{quota}"),
        ("isolated processors", _none(machine.isolated)),
        ("without ticks", _none(machine.tickless)),
        ("frequency governor", ", ".join(machine.governors) if machine.governors else _NOT_KNOWN),
        ("hyper-threading", _yes(machine.smt)),
        ("idle states, to wake", idle or _NOT_KNOWN),
        ("clock source", machine.clock_source or _NOT_KNOWN),
        ("virtual machine", "no" if machine.virtual_machine == "" else machine.virtual_machine or _NOT_KNOWN),
        ("container", _yes(machine.container)),
    ]


def _rows(rows: Iterable[tuple[str, str]]) -> list[str]:
    return [line for name, text in rows for line in _block(text, f"  {name:{_NAME}}")]


def _right(obtained: bool | None, found: str) -> str:
    return f"{'yes' if obtained else _NOT_KNOWN if obtained is None else 'NO'}{f': {found}' if found else ''}"


def _yes(value: bool | None) -> str:
    return _NOT_KNOWN if value is None else "yes" if value else "no"


def _none(value: str | None) -> str:
    return _NOT_KNOWN if value is None else value or "none"


def _block(text: str, mark: str) -> list[str]:
    return wrap(text, WIDTH, initial_indent=mark, subsequent_indent=" " * len(mark), break_on_hyphens=False)
