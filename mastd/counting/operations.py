"""Operations that the solvers really execute: the shipped kernels, run as plain functions on counted numbers.

``operations`` asks a process of its own, in which kernels are not compiled:

    NUMBA_DISABLE_JIT=1 python -m mastd.counting.operations VEHICLE SOLVER EXTENT […]

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

from mastd.counting.number import Operations, counting
from mastd.counting.tally import counting_kernels
from mastd.counting.work import Extent, Work, work_of
from mastd.errors import UsageError
from mastd.kernel import COMPILED

LONGEST: Final = 600.0
"""s that one count may take: a solver with full matrices of eight axles executes some ten million."""

Stages = Mapping[str, Operations]
Wanted = tuple[str, str, Extent]
"""Vehicle, solver and extent, as in ``counting_work.work_of``."""


def operations(vehicle: str, solver: str, extent: Extent = Extent.STEP) -> Stages:
    """Return the operations of each stage; what is wanted as in ``counting_work.work_of``.

    Raise UsageError for what is not known.
    """
    return all_operations([(vehicle, solver, extent)])[0]


def all_operations(wanted: Sequence[Wanted]) -> list[Stages]:
    """Return the operations of several vehicles and solvers, counted one after the other in one process."""
    told = subprocess.run(
        [sys.executable, "-m", __name__, *(argument for one in wanted for argument in one)],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
        capture_output=True,
        text=True,
        timeout=LONGEST * len(wanted),
    )
    if told.returncode:
        raise UsageError(told.stderr.strip().splitlines()[-1] if told.stderr.strip() else "counting failed")
    return [
        {stage: Operations(*counts) for stage, counts in stages.items()} for stages in json.loads(told.stdout)
    ]


def count(work: Work) -> Stages:
    """Return the operations of each stage of a work, done here and now, where kernels are plain functions."""
    if COMPILED:
        raise RuntimeError("kernels are compiled here: set NUMBA_DISABLE_JIT=1")
    arguments = counting(work.arguments)
    with counting_kernels(work.stages) as tally:
        work.kernel(*arguments)
    return tally.stages


def _main(argv: Sequence[str]) -> None:
    wanted = zip(argv[::3], argv[1::3], argv[2::3], strict=True)
    found = [count(work_of(vehicle, solver, Extent(extent))) for vehicle, solver, extent in wanted]
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    try:
        _main(sys.argv[1:])
    except UsageError as error:
        sys.exit(str(error))
