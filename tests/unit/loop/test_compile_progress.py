"""People are told once that kernels are being compiled, wherever they read, and only if any are."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from mastd.loop.process.compile_progress import FIRST_TIME, report_compiling
from tests.support.lab import PATIENCE, ROOT


def test_the_first_kernel_is_told_and_no_further_one() -> None:
    told: list[str] = []
    one, other = (numba.njit(lambda x, k=k: x + k) for k in (1.0, 2.0))
    with report_compiling(say=told.append):
        assert not told
        assert (one(1.0), other(1.0)) == (2.0, 3.0)
    assert told == [FIRST_TIME]
    with report_compiling(say=told.append):
        one(1.0)
    assert told == [FIRST_TIME], "nothing was compiled"


@pytest.mark.evidence
def test_a_log_shows_why_the_first_command_takes_long_and_nothing_afterwards(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "MASTD_CACHE": str(tmp_path / "cache")}
    for told in (f"mastd: {FIRST_TIME}\n", ""):
        done = subprocess.run(
            [sys.executable, "-m", "mastd", "check", "first_motion"],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, told)
