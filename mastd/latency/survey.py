"""One survey of this machine: everything measured in its order, with the rights that the loop gets."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable

from mastd.latency import machine, wakeup
from mastd.latency.figures import Busy, Measurement, Right, WakeUps
from mastd.latency.load import busy_machine
from mastd.loop.realtime import rights as realtime
from mastd.settings.daemon.daemon import RealtimeSettings

STALLS_RATIO = 0.2
"""Fraction of the time for the thread that never sleeps."""
DMA_LATENCY = "/dev/cpu_dma_latency"


def survey(
    settings: RealtimeSettings, rate_hz: float, seconds: float, load: bool, report: Callable[[float], None]
) -> Measurement:
    """Measure for ``seconds`` in all; ``report`` hears the share that is done.

    Rights are asked for as the loop does and given back at the end; a processor that the settings name must
    be there.
    """
    before = machine.processor_times()
    load_average = machine.load_average()
    watched = STALLS_RATIO * seconds
    each = 0.5 * (seconds - watched)
    real_time: WakeUps | None = None
    with busy_machine(os.cpu_count() or 1) if load else contextlib.nullcontext():
        if settings.cpu is not None:
            os.sched_setaffinity(0, {settings.cpu})
        ordinary = wakeup.wake_ups("ordinary", rate_hz, each, lambda done: report(done / seconds))
        try:
            found = realtime.acquire(settings)
            granted = any(item.name == "SCHED_FIFO" and item.obtained for item in found.items)
            if granted:
                real_time = wakeup.wake_ups(
                    "real-time", rate_hz, each, lambda done: report((each + done) / seconds)
                )
            seen = wakeup.stalls(granted, watched, lambda done: report((2.0 * each + done) / seconds))
        finally:
            realtime.relax()
    busy, stolen = machine.busy_ratios(before, machine.processor_times())
    return Measurement(
        rate_hz=rate_hz,
        duration_s=seconds,
        own_load=load,
        processor=settings.cpu,
        ordinary=ordinary,
        real_time=real_time,
        stalls=seen,
        busy=Busy(busy, stolen, load_average),
        rights=(
            *(Right(item.name, item.obtained, item.found, item.advice) for item in found.items),
            _idle_latency(),
        ),
    )


def _idle_latency() -> Right:
    """Return whether processors may be kept from sleeping deeply by holding that file open."""
    name = "idle latency"
    if not os.path.exists(DMA_LATENCY):
        return Right(name, None, f"{DMA_LATENCY} does not exist")
    writable = os.access(DMA_LATENCY, os.W_OK)
    return Right(name, writable, f"{DMA_LATENCY} {'can' if writable else 'cannot'} be written")
