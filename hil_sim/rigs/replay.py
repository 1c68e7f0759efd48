"""``hil-sim rig replay``: gives what a rig gave in a recorded run, at the same time of the profile."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from hil_sim.rigs.program import add_options, profile_time, serve
from mastd.arrays import FloatArray
from mastd.errors import UsageError

if TYPE_CHECKING:
    from mastd.wire.rigs.client import RigClient
    from mastd.wire.rigs.client_session import MotionSeen


READS: Final = ("profile_time",)


class Recorded:
    """What a rig gave: rows (n, channels) at times of the profile (n, s, not falling)."""

    def __init__(self, times: FloatArray, rows: FloatArray, period: float) -> None:
        """``period``: of the loop, s."""
        self._times = times
        self._rows = rows
        self._period = period
        self._shown = 0.0

    def answer(self, motion: MotionSeen) -> FloatArray:
        """Return the row of this time; before the profile plays the first one, after its end the last."""
        time = profile_time(motion, float(motion.values[0]), self._period)
        if math.isfinite(time):
            self._shown = time
            index = int(np.searchsorted(self._times, self._shown - 0.5 * self._period))
        else:
            index = len(self._rows) - 1 if self._shown > 0.0 else 0
        row: FloatArray = self._rows[min(index, len(self._rows) - 1)]
        return row

    def line(self) -> str:
        """Return which time of the record it is at."""
        return f"at {self._shown:.1f} of {self._times[-1]:.1f} s"


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the parser of ``replay``."""
    text = "replay a rig's values of a recorded run"
    parser = subparsers.add_parser("replay", help=text, description=f"{text[0].upper()}{text[1:]}.")
    parser.add_argument("record", metavar="RUN", type=Path, help="directory of the run, or its run.mcap")
    parser.add_argument(
        "--rig", dest="recorded", required=True, metavar="RIG", help="which of its rigs is replayed"
    )
    add_options(parser, None)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Replay until told to end; return the exit code."""
    from mastd.wire.rigs.messages import ANY

    arguments.name = arguments.name or arguments.recorded
    times, columns = recorded(arguments.record, arguments.recorded)

    def law(rig: RigClient) -> Recorded:
        names = [channel.name for channel in rig.channels]
        missing = [name for name in names if name not in columns]
        if missing:
            raise UsageError(
                f"{arguments.record}: rig {arguments.recorded} gave {', '.join(columns)}; rig "
                f"{arguments.name} also has the channels {', '.join(missing)}"
            )
        return Recorded(times, np.column_stack([columns[name] for name in names]), rig.period)

    return serve(arguments, ANY, READS, law)


def recorded(record: Path, rig: str) -> tuple[FloatArray, dict[str, FloatArray]]:
    """Return times of the profile (n, s) and by channel what a rig of a record gave then (n).

    Raises FormatError for what is no record or lacks too many frames, UsageError where the rig or the play is
    not in it.
    """
    from mastd.record.completeness import refuse_incomplete
    from mastd.record.reader import open_run

    run = open_run(record, lambda name: name in ("profile_time", "state") or name.startswith("rig."))
    refuse_incomplete(run)
    played = np.flatnonzero(np.isfinite(run.columns["profile_time"]))
    head = f"rig.{rig}."
    reported = ("present", "delay")
    columns = {
        name.removeprefix(head): values[played]
        for name, values in run.columns.items()
        if name.startswith(head) and name.removeprefix(head) not in reported
    }
    if not columns:
        rigs = sorted({name.split(".")[1] for name in run.columns if name.startswith("rig.")})
        raise UsageError(f"{record}: no rig {rig} in it, there are: {', '.join(rigs) or 'none'}")
    if not len(played):
        raise UsageError(f"{record}: no profile ran in it")
    return np.maximum.accumulate(run.columns["profile_time"][played]), columns
