"""Measure the scheduling latency of a thread by the loop's own clock, and its stalls while it busy-waits."""

from __future__ import annotations

import gc
import resource
import time
from array import array
from collections.abc import Callable

import numpy as np

from mastd.latency.figures import Stalls, WakeUps
from mastd.loop.realtime.clock import PeriodicClock

SLICE_S = 0.25
"""Time measured between two looks at anything else."""
GAP_NS = 20_000
"""Shorter gaps of a thread that never sleeps are interrupts, and the interpreter's own."""
_REST_S = 0.05
"""Pause after each slice that never sleeps: the system stops a real-time thread that takes more than 95 % of
the time (``sched_rt_runtime_us``)."""
Report = Callable[[float], None]


def wake_ups(scheduling: str, rate_hz: float, seconds: float, report: Report) -> WakeUps:
    """Return how late the calling thread wakes at a rate.

    ``report`` hears now and then for how many seconds it has measured.
    """
    period_ns = round(1e9 / rate_hz)
    late = array("q")
    clock = PeriodicClock(period_ns)
    begun = time.monotonic_ns()
    end = begun + round(seconds * 1e9)
    while not late or time.monotonic_ns() < end:
        until = min(end, time.monotonic_ns() + round(SLICE_S * 1e9))
        clock.start()
        clock.wait()
        now = clock.wait()
        while now < until:
            late.append(clock.late_ns + clock.skipped * period_ns)
            now = clock.wait()
        late.append(clock.late_ns + clock.skipped * period_ns)
        report((now - begun) * 1e-9)
    return WakeUps(scheduling, rate_hz, np.array(late, dtype=np.float64) * 1e-9)


def stalls(real_time: bool, seconds: float, report: Report) -> Stalls:
    """Return the gaps of the calling thread while it does nothing but look at the clock."""
    machine: list[float] = []
    preempted: list[float] = []
    watched = 0
    collecting = gc.isenabled()
    gc.disable()
    try:
        while watched < seconds * 1e9:
            watched += _spin(round(min(SLICE_S, seconds) * 1e9), machine, preempted)
            report(watched * 1e-9)
            time.sleep(_REST_S)
    finally:
        if collecting:
            gc.enable()
    return Stalls(real_time, watched * 1e-9, tuple(machine), tuple(preempted))


def _spin(nanoseconds: int, machine: list[float], preempted: list[float]) -> int:
    """Spin for a while; return the time that was watched."""
    clock = time.monotonic_ns
    changes = _forced_changes()
    last = begun = clock()
    end = begun + nanoseconds
    while last < end:
        now = clock()
        if now - last > GAP_NS:
            after = _forced_changes()
            (machine if after == changes else preempted).append((now - last) * 1e-9)
            changes = after
            now = clock()
        last = now
    return last - begun


def _forced_changes() -> int:
    """Return how often another thread has been put in this one's place."""
    return resource.getrusage(resource.RUSAGE_THREAD).ru_nivcsw
