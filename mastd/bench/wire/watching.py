"""Bench of the loop beside those who watch: late cycles with them, and with processes that are as busy but
not connected, in turns of one run."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from mastd.arrays import BoolArray, FloatArray
from mastd.bench.registry import Figure, bench, figure, ratio
from mastd.bench.wire import watchers
from mastd.bench.wire.operated import OperatedLoop
from mastd.bench.wire.watchers import BESIDE, KINDS, WATCHING, WorkerStatus
from mastd.loop.cycle.cycle import Cycle
from mastd.ring.times import LATE_RATIO

PHASE_CYCLES = 2_000
"""Cycles of a turn."""
SETTLING = 500
"""Cycles at the beginning of a turn that are not counted: connections are made or given up."""
WARMING = (BESIDE, WATCHING)
"""Turns in which it is found out how busy it is to watch."""
PHASES = (WATCHING, BESIDE, BESIDE, WATCHING) * 5
"""In an order that a slow drift of the machine does not favour."""
_NAMES = ("late_cycles", "late_us", "compute_us")


def names_of(group: str) -> tuple[str, ...]:
    """Return the names of the figures of ``Notes`` in a group."""
    measured = [f"{group}.{kind}{name}" for name in _NAMES for kind in ("", "beside_", "added_")]
    return (*measured, f"{group}.missed", f"{group}.beside_missed", f"{group}.busy")


@bench(*names_of("watching"))
def watching() -> dict[str, Figure]:
    """The loop at 1 kHz, watched by panel, console and three readers of telemetry, or beside busy processes.

    Late cycles begin over half a period after their deadline, and are counted in a thousand. ``added`` is the
    difference of neighbouring turns, ``busy`` the fraction of a processor that watching takes in all.
    """
    with ExitStack() as stack:
        operated = OperatedLoop.open(stack, recorded=True)
        status = WorkerStatus(len(KINDS))
        for index, kind in enumerate(KINDS):
            operated.accompany(status.start(watchers.__name__, kind, index, operated.gateway.address))
        period = operated.plan.daemon.period_ns * 1e-9
        notes = Notes("watching", operated.cycle, status, operated.gateway.process_id, period)
        operated.play(notes.cycles, notes.take)
    return notes.figures()


class Notes:
    """Turns the phases, and keeps how late each cycle began and how long it took.

    ``gateway`` is the process id of the one that they are connected to; ``group`` begins the figures' names.
    """

    def __init__(self, group: str, cycle: Cycle, status: WorkerStatus, gateway: int, period: float) -> None:
        self._group = group
        self._phases = (*WARMING, *PHASES)
        self.cycles = PHASE_CYCLES * len(self._phases)
        self._cycle = cycle
        self._values = cycle.frame.values
        self._late, self._compute = (cycle.frame.index[name] for name in ("late", "compute"))
        self._status = status
        self._gateway = Path(f"/proc/{gateway}/stat")
        self._period = period
        self._missed = cycle.missed
        self._kept: FloatArray = np.zeros((self.cycles + 1, 2))
        self._skipped: FloatArray = np.zeros(self.cycles + 1)
        self._count = 0
        self._busy: list[float] = []
        self._used = 0.0
        self._beside = 0.0

    def take(self) -> float:
        """Note the last cycle; called once a cycle."""
        count = self._count
        if count % PHASE_CYCLES == 0 and count < self.cycles:
            self._phase_end(count // PHASE_CYCLES)
        skipped = self._cycle.missed - self._missed
        self._missed = self._cycle.missed
        self._skipped[count] = skipped
        self._kept[count] = (
            self._values[self._late] + skipped * self._period,
            self._values[self._compute],
        )
        self._count = count + 1
        return 0.0

    def _phase_end(self, phase_number: int) -> None:
        """Begin the next phase; what the gateway has used in the last one is known now."""
        used = _processor_s(self._gateway)
        fraction = (used - self._used) / (PHASE_CYCLES * self._period)
        self._used = used
        if phase_number and self._phases[phase_number - 1] == WATCHING:
            self._status.loads[-1] = max(0.0, fraction - self._beside)
        elif phase_number:
            self._beside = fraction
        self._status.phase = self._phases[phase_number]
        if self._phases[phase_number] == BESIDE and phase_number >= len(WARMING):
            self._busy.append(float(self._status.loads.sum()))

    def figures(self) -> dict[str, Figure]:
        """Return everything by name."""
        phases = self._kept[: self.cycles].reshape(-1, PHASE_CYCLES, 2)[len(WARMING) :, SETTLING:]
        skipped = self._skipped[: self.cycles].reshape(-1, PHASE_CYCLES)[len(WARMING) :, SETTLING:]
        watched = np.array(PHASES) == WATCHING
        late = np.mean(phases[:, :, 0] > LATE_RATIO * self._period, axis=1) * 1e3
        figures = self._compared("late_cycles", late, watched, "1/1000")
        for column, name in enumerate(("late_us", "compute_us")):
            times = phases[:, :, column] * 1e6
            figures |= self._compared(name, np.median(times, axis=1), watched, "us")
            figures[f"{self._group}.{name}"] = figure(times[watched].ravel(), "us")
            figures[f"{self._group}.beside_{name}"] = figure(times[~watched].ravel(), "us")
        figures[f"{self._group}.missed"] = ratio(float(skipped[watched].sum()), int(watched.sum()))
        figures[f"{self._group}.beside_missed"] = ratio(float(skipped[~watched].sum()), int(watched.sum()))
        figures[f"{self._group}.busy"] = ratio(float(np.median(self._busy)), len(self._busy))
        return figures

    def _compared(self, name: str, values: FloatArray, watched: BoolArray, unit: str) -> dict[str, Figure]:
        """Return one value a turn of both kinds, and the differences of neighbouring ones."""
        added = values[watched] - values[~watched]
        return {
            f"{self._group}.{name}": figure(values[watched], unit),
            f"{self._group}.beside_{name}": figure(values[~watched], unit),
            f"{self._group}.added_{name}": figure(added, unit),
        }


def _processor_s(stat: Path) -> float:
    """Return the processor time that a process has used, with all its threads, in s."""
    fields = stat.read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
