"""Operations that the solvers really execute: the shipped kernels, run as plain functions on counted numbers.

``operations`` asks a process of its own, in which kernels are not compiled:

    NUMBA_DISABLE_JIT=1 python -m mastd.vehicle.formulations.counting VEHICLE SOLVER [VEHICLE SOLVER …]

What is counted is what the processor is asked for: products with structural zeros and with constants count,
index arithmetic, comparisons and changes of sign do not. Four lanes at a time, the compiled kernels do the
same work for lanes that are not in use; that is not counted.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Final

from mastd.errors import UsageError
from mastd.kernel import COMPILED
from mastd.vehicle.formulations.counted import counting
from mastd.vehicle.formulations.counting_work import Work, work_of
from mastd.vehicle.formulations.tally import Operations, counting_kernels

LONGEST: Final = 600.0
"""s that a count may take."""

Stages = Mapping[str, Operations]


def operations(vehicle: str, solver: str) -> Stages:
    """Return the operations of each stage; vehicle and solver as in ``counting_work.work_of``.

    Raise UsageError for what is not known.
    """
    return all_operations([(vehicle, solver)])[vehicle, solver]


def all_operations(wanted: Sequence[tuple[str, str]]) -> dict[tuple[str, str], Stages]:
    """Return the operations of several vehicles and solvers, counted one after the other in one process."""
    told = subprocess.run(
        [sys.executable, "-m", __name__, *(word for pair in wanted for word in pair)],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
        capture_output=True,
        text=True,
        timeout=LONGEST,
    )
    if told.returncode:
        raise UsageError(told.stderr.strip().splitlines()[-1] if told.stderr.strip() else "counting failed")
    counted = json.loads(told.stdout)
    return {
        pair: {stage: Operations(*counts) for stage, counts in stages.items()}
        for pair, stages in zip(wanted, counted, strict=True)
    }


def count(work: Work) -> Stages:
    """Return the operations of each stage of a work, done here and now, where kernels are plain functions."""
    if COMPILED:
        raise RuntimeError("kernels are compiled here: set NUMBA_DISABLE_JIT=1")
    arguments = counting(work.arguments)
    with counting_kernels(work.stages) as tally:
        work.kernel(*arguments)
    return tally.stages


def _main(words: Sequence[str]) -> None:
    pairs = zip(words[::2], words[1::2], strict=True)
    sys.stdout.write(json.dumps([count(work_of(vehicle, solver)) for vehicle, solver in pairs]) + "\n")


if __name__ == "__main__":
    try:
        _main(sys.argv[1:])
    except UsageError as error:
        sys.exit(str(error))
