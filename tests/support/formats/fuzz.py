"""Damaged files given to every reader for a while: ``make fuzz``.

Small whole files of each format are damaged (``tests/support/formats/mutations.py``) and given to the
catalogue and to a format's own reader. Each must end in a result or in one clear error within a second of
processor time and 200 MB. What does not is kept beside the counts. Processes, as many as cores, each take
formats in turn and draw from a seed of their own, so that a run can be repeated as far as time lets it.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import resource
import sys
import time
import traceback
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Final

import numpy as np

from mastd.errors import FormatError
from mastd.formats import catalogue
from mastd.formats.core.measurement import Format, Measurement
from tests.support.formats.mutations import damaged, junk
from tests.support.formats.samples import samples

MAX_SECONDS: Final = 1.0
MAX_BYTES: Final = 200_000_000
_MAX_LINES: Final = 21
_MAX_LINE: Final = 1000
_SILENT_SECONDS: Final = 60.0
"""From then on a process that says nothing hangs."""
_ADDRESS_SPACE: Final = 6_000_000_000
_MAX_KEPT: Final = 10
"""Findings of one format that are kept."""


@dataclass
class Tally:
    """What became of the files of one format."""

    read: int = 0
    refused: int = 0
    seconds: float = 0.0
    memory: int = 0
    findings: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Count what another process has found."""
        self.read += other.read
        self.refused += other.refused
        self.seconds = max(self.seconds, other.seconds)
        self.memory = max(self.memory, other.memory)
        self.findings += other.findings


def problem_of(path: Path, read: Format | None) -> tuple[str, bool]:
    """Read a file with one reader, or the catalogue for None.

    Return what is wrong with how that ended, "" for nothing, and whether there was a result.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = catalogue.read(path) if read is None else read.read(path)
    except FormatError as error:
        return _wrong_message(path, str(error)), False
    except MemoryError:
        return "MemoryError", False
    except Exception:
        return traceback.format_exc(), False
    return _wrong_result(found), True


def _wrong_message(path: Path, text: str) -> str:
    lines = text.split("\n")
    if len(lines) > _MAX_LINES:
        return f"{len(lines)} lines of errors"
    for line in lines:
        if not line.startswith(str(path)) or len(line) > _MAX_LINE + len(str(path)):
            return f"an error's line that is too long, or does not begin with the path: {line[:300]!r}"
        if any(not letter.isprintable() for letter in line):
            return f"an error that cannot be printed: {line[:300]!r}"
    return ""


def _wrong_result(found: object) -> str:
    if not isinstance(found, Measurement):
        return f"a result that is no Measurement: {type(found).__name__}"
    for series in found.series:
        if {len(channel.values) for channel in series.channels} - {series.count}:
            return "channels of unequal length"
        if any(channel.values.dtype != np.float64 for channel in series.channels):
            return "values that are not float64"
        if series.channels and series.abscissae is not None and len(series.abscissae) != series.count:
            return "other places than values"
        if series.step is not None and not 0.0 < series.step < np.inf:
            return f"a step of {series.step}"
        if not np.isfinite(series.start):
            return f"a start of {series.start}"
    texts = [*found.warnings, *(channel.name + channel.unit for channel in found.channels)]
    if any("\n" in text for text in found.warnings):
        return "a warning of more than one line"
    try:
        "".join((*texts, *found.notes.keys(), *found.notes.values())).encode()
    except UnicodeEncodeError as error:
        return f"text that cannot be printed: {error}"
    return ""


def processor_seconds() -> float:
    """Return the processor time of this process and of its helpers, and of what those have waited for."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    total = own.ru_utime + own.ru_stime
    ticks = os.sysconf("SC_CLK_TCK")
    for helper in Path("/proc/self/task", str(os.getpid()), "children").read_text(encoding="ascii").split():
        with contextlib.suppress(OSError):
            fields = Path("/proc", helper, "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
            total += sum(map(int, fields[11:15])) / ticks
    return total


def _status(key: str) -> int:
    """Return a size from this process's status, in bytes."""
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith(key):
            return 1024 * int(line.split()[1])
    return 0


@contextlib.contextmanager
def measured(spent: list[float]) -> Iterator[None]:
    """Append processor seconds, and bytes of memory at most, that what is done within takes."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak begins anew
    memory, seconds = _status("VmRSS"), processor_seconds()
    yield
    spent += [processor_seconds() - seconds, float(_status("VmHWM") - memory)]


def _work(number: int, seed: int, ends: float, folder: Path, names: list[str], said: Connection) -> None:
    """Damage and read until the time is over; tell before what is tried, as it may be the last."""
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE, _ADDRESS_SPACE))
    chance = random.Random(f"{seed} {number}")
    wholes = samples()
    known = [one for one in catalogue.formats() if one.name in names]
    others = [content for contents in wholes.values() for content in contents]
    tallies = {one.name: Tally() for one in known}
    for one in known:  # libraries are loaded before times and sizes count
        path = folder / f"whole-{number}{one.suffixes[0]}"
        path.write_bytes(wholes[one.name][0])
        one.read(path)
    turn = 0
    while time.monotonic() < ends:
        one = known[turn % len(known)]
        turn += 1
        whole = chance.choice(wholes[one.name])
        if chance.random() < 0.02:
            content = junk(chance, whole[: chance.choice((0, 4, 16, 64, 512))])
        else:
            content = damaged(chance, whole, others)
        suffix = chance.choice((one.suffixes[0], chance.choice(known).suffixes[0]))
        path = folder / f"damaged-{number}{suffix}"
        path.write_bytes(content)
        said.send(("trying", one.name, str(path)))
        _try(path, one, tallies[one.name], folder, chance.random() < 0.3)
    said.send(("done", tallies))


def _try(path: Path, one: Format, tally: Tally, folder: Path, by_content: bool) -> None:
    spent: list[float] = []
    with measured(spent):
        problem, result = problem_of(path, None if by_content else one)
    seconds, memory = spent
    if seconds > MAX_SECONDS + 0.05 or memory > MAX_BYTES:
        problem = problem or f"took {seconds:.2f} s and {memory / 1e6:.0f} MB"
    tally.read += result
    tally.refused += not result
    tally.seconds = max(tally.seconds, seconds)
    tally.memory = max(tally.memory, int(memory))
    if problem and len(tally.findings) < _MAX_KEPT:
        tally.findings.append(f"{_kept(path, one.name, folder)}: {problem}")


def _kept(path: Path, name: str, folder: Path) -> Path:
    for number in range(1000):
        kept = folder / f"finding-{name}-{number}{path.suffix}"
        if not kept.exists():
            kept.write_bytes(path.read_bytes())
            return kept
    return path


def fuzz(seconds: float, seed: int, processes: int, folder: Path, names: list[str]) -> Mapping[str, Tally]:
    """Return what became of the files of each format after so many seconds."""
    folder.mkdir(parents=True, exist_ok=True)
    tallies = {name: Tally() for name in names}
    ends = time.monotonic() + seconds
    context = get_context("spawn")
    workers = {}
    for number in range(processes):
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_work, args=(number, seed, ends, folder, names, theirs))
        process.start()
        theirs.close()
        workers[ours] = process
    last: dict[Connection, tuple[str, str]] = {}
    heard = dict.fromkeys(workers, time.monotonic())
    while workers:
        for ready in wait(list(workers), 1.0):
            assert isinstance(ready, Connection)
            heard[ready] = time.monotonic()
            try:
                message = ready.recv()
            except EOFError:
                process = workers.pop(ready)
                process.join()
                name, file = last.get(ready, (names[0], "the first files"))
                tallies[name].findings.append(f"{file}: the process died, exit code {process.exitcode}")
                continue
            if message[0] == "trying":
                last[ready] = message[1:]
            else:
                for name, tally in message[1].items():
                    tallies[name].add(tally)
                workers.pop(ready).join()
        for silent in [one for one in workers if time.monotonic() - heard[one] > _SILENT_SECONDS]:
            workers[silent].kill()
    return tallies


def report(tallies: Mapping[str, Tally]) -> str:
    """Return the counts as a table, and what was found."""
    lines = [
        f"{'format':<10} {'files':>8} {'read':>8} {'refused':>8} {'worst time':>11} {'worst memory':>13}"
    ]
    for name, tally in tallies.items():
        lines.append(
            f"{name:<10} {tally.read + tally.refused:>8} {tally.read:>8} {tally.refused:>8} "
            f"{tally.seconds:>9.3f} s {tally.memory / 1e6:>10.1f} MB"
        )
    found = [finding for tally in tallies.values() for finding in tally.findings]
    return "\n".join([*lines, *found, f"{len(found)} findings"])


def main() -> int:
    """Run as the arguments say; return 1 if a reader failed on a file."""
    parser = argparse.ArgumentParser(description="damaged files given to every reader")
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--formats", nargs="+", metavar="NAME", help="only these formats")
    parser.add_argument("--out", type=Path, default=Path("runs", "fuzz"), help="where findings are kept")
    arguments = parser.parse_args()
    names = arguments.formats or [known.name for known in catalogue.formats()]
    tallies = fuzz(60.0 * arguments.minutes, arguments.seed, arguments.processes, arguments.out, names)
    print(report(tallies))
    return int(any(tally.findings for tally in tallies.values()))


if __name__ == "__main__":
    sys.exit(main())
