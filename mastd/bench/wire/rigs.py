"""Bench of the loop with eight rigs: its cycles with them, and beside processes that are as busy but not
connected, in turns of one run; and whether lockstep misses an answer of theirs."""

from __future__ import annotations

import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from mastd.bench.registry import Figure, bench, ratio
from mastd.bench.wire import rig_workers
from mastd.bench.wire.operated import OperatedLoop
from mastd.bench.wire.rig_workers import KINDS, NAMES, OF_STEADY
from mastd.bench.wire.watchers import WATCHING, WorkerStatus
from mastd.bench.wire.watching import Notes, names_of
from mastd.settings.core.starter import find

LOCKSTEP_CYCLES = 4_000
_GROUP = "rigs.eight"
_CHANNELS = "[{channel: steering}, {channel: throttle}, {channel: brake}, {channel: gear}]"
_NAMES = [name for names in NAMES for name in names]
_STEADY = [name for names in NAMES for name in names if len(names) == OF_STEADY]


@bench(*names_of(_GROUP))
def rigs() -> dict[str, Figure]:
    """The loop at 1 kHz with eight rigs, of which six answer every motion, one floods and one never reads.

    A ninth connection is opened without a greeting. ``late_cycles``, ``added`` and ``busy`` as for
    ``watching``.
    """
    with ExitStack() as stack:
        operated = OperatedLoop.open(stack, True, rigs=_rigs_file(stack))
        status = _workers(operated)
        assert operated.rigs is not None
        period = operated.plan.daemon.period_ns * 1e-9
        notes = Notes(_GROUP, operated.cycle, status, operated.rigs.process_id, period)
        operated.play(notes.cycles, notes.take)
    return notes.figures()


@bench("rigs.eight.lockstep_missed", "rigs.eight.lockstep_speed")
def lockstep() -> dict[str, Figure]:
    """Lockstep with the same eight rigs, of which the profile uses the six that answer.

    ``missed``: cycles without the answer of one of them to just this step. ``speed``: times real time.
    """
    with ExitStack() as stack:
        file = _rigs_file(stack)
        profile = file.with_name("profile.yaml")
        road = find("profile", "class_b_road").read_text(encoding="utf-8")
        profile.write_text(f"{road}rigs: [{', '.join(_STEADY)}]\n", encoding="utf-8")
        operated = OperatedLoop.open(stack, False, profile, file, "lockstep")
        _workers(operated).phase = WATCHING
        names = [channel.name for channel in operated.plan.rig_channels]
        indices = [names.index(f"rig.{name}.{what}") for name in _STEADY for what in ("present", "delay")]
        due, values = [1.0, 0.0] * len(_STEADY), operated.cycle.frame.rigs
        begun = time.monotonic()
        notes = operated.play(LOCKSTEP_CYCLES, lambda: float(values[indices].tolist() != due))
        spent = time.monotonic() - begun
    period = operated.plan.daemon.period_ns * 1e-9
    return {
        "rigs.eight.lockstep_missed": ratio(sum(notes), LOCKSTEP_CYCLES),
        "rigs.eight.lockstep_speed": ratio(operated.cycle.cycles * period / spent),
    }


def _rigs_file(stack: ExitStack) -> Path:
    """Write the settings of the rigs into a directory of its own."""
    directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mastd-")))
    rows = [f"  - {{name: {name}, kind: signals, channels: {_CHANNELS}}}\n" for name in _NAMES]
    file = directory / "rigs.yaml"
    file.write_text("rigs:\n" + "".join(rows), encoding="utf-8")
    return file


def _workers(operated: OperatedLoop) -> WorkerStatus:
    """Start the rigs' processes, which wait for the board's word."""
    assert operated.rigs is not None
    status = WorkerStatus(len(KINDS))
    for index, kind in enumerate(KINDS):
        operated.accompany(status.start(rig_workers.__name__, kind, index, operated.rigs.address))
    return status
