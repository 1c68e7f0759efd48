"""Plays that take long, each done once: results go to a file line by line, and a second call continues.

A result counts only for the sources and settings that it was made with; others are left alone and not used.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass
from pathlib import Path

from mastd.errors import UsageError
from mastd.settings.core.starter import starter_directory
from mastd.wire.plant.provider import find_provider

FILE = "control.jsonl"
FOLDERS = ("settings", "kinematics", "dynamics", "signals", "motion", "control", "safety", "loop", "vehicle")
"""Rooms of this package whose sources change what a play shows; those of the bench and the plant besides."""
SETTINGS = ("table.yaml", "daemon", "profiles", "vehicles")


@dataclass(frozen=True, order=True)
class Job:
    """One play: which figures' group, of which hidden truth, along which axis."""

    group: str
    seed: int
    axis: str


@dataclass(frozen=True)
class Result:
    """What came of a job; ``cause`` says why a play did not reach its end, None if it did."""

    figures: Mapping[str, float]
    cause: str | None = None
    told: tuple[str, ...] = ()
    """What the daemon has indicated meanwhile."""


Work = Callable[[Job, Path], Result]


def digest() -> str:
    """Return a number of all sources and settings that have a say in the results, in hexadecimal."""
    package = Path(__file__).resolve().parents[2]
    plant = sys.modules[type(find_provider()).__module__.split(".")[0]]
    found = [path for package_folder in FOLDERS for path in (package / package_folder).rglob("*.py")]
    found += (package / "bench").glob("control*.py")
    found += [path for folder in plant.__path__ for path in Path(folder).rglob("*.py")]
    for name in SETTINGS:
        path = starter_directory() / name
        found += [path] if path.is_file() else path.rglob("*.*")
    total = hashlib.sha256()
    for path in sorted(path for path in found if path.is_file()):
        total.update(path.name.encode())
        total.update(path.read_bytes())
    return total.hexdigest()[:16]


class Results:
    """The results file of a directory; ``made_with`` is the digest under which results are kept."""

    def __init__(self, directory: Path, made_with: str) -> None:
        self._path = directory / FILE
        self._made_with = made_with
        self._known: dict[Job, Result] = {}
        try:
            directory.mkdir(parents=True, exist_ok=True)
            lines = self._path.read_text(encoding="utf-8").splitlines() if self._path.exists() else []
        except OSError as error:
            raise UsageError(f"{directory}: results cannot be kept there: {error.strerror}") from error
        for line in lines:
            try:
                row = json.loads(line)
                if row["made_with"] == made_with:
                    self._known[Job(**row["job"])] = Result(row["figures"], row["cause"], tuple(row["told"]))
            except (ValueError, KeyError, TypeError):
                continue  # a line that an interruption has cut off is done again

    def get(self, job: Job) -> Result | None:
        """Return the result of a job, None if it is still to be done."""
        return self._known.get(job)

    def add(self, job: Job, result: Result) -> None:
        """Keep a result."""
        self._known[job] = result
        row = {"made_with": self._made_with, "job": asdict(job), **asdict(result)}
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, allow_nan=False) + "\n")


def carry_out(
    jobs: Sequence[Job], results: Results, work: Work, directory: Path, report: Callable[[str], None]
) -> None:
    """Do all jobs that have no result yet, on all processors; ``report`` hears of each one's end."""
    due = [job for job in dict.fromkeys(jobs) if results.get(job) is None]
    if not due:
        return
    workers = min(len(due), len(os.sched_getaffinity(0)))
    if workers == 1:
        for job in due:
            results.add(job, work(job, directory))
            report(_line(job, results))
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        futures = {pool.submit(work, job, directory): job for job in due}
        try:
            for done in as_completed(futures):
                results.add(futures[done], done.result())
                report(_line(futures[done], results))
        except BrokenProcessPool as error:
            raise UsageError(f"{directory}: a run was killed; call again, finished ones are kept") from error
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _line(job: Job, results: Results) -> str:
    result = results.get(job)
    assert result is not None
    figures = "  ".join(f"{name} {value:.4g}" for name, value in result.figures.items())
    end = "" if result.cause is None else f"  NOT COMPLETED: {result.cause}"
    lines = "".join(f"\n    {line}" for line in result.told)
    return f"{job.group} {job.axis} seed {job.seed}: {figures}{end}{lines}"
