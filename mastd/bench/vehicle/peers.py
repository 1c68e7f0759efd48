"""The peers of the vehicle bench: their programs run in processes of their own, turn by turn with ours.

The programs lie beside the checkout and are not part of it. MuJoCo and Exudyn need an environment of their
own, which ``make bench`` makes from ``requirements-peers.txt``. Nothing is written beside the programs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from mastd.errors import UsageError
from mastd.kernel import cache_directory

_ROOT: Final = Path(__file__).resolve().parents[3]
PROGRAMS: Final = _ROOT.parent / "shared" / "peers" / "vehicle"
ENVIRONMENT: Final = _ROOT / ".venv-peers"
_WORKER: Final = Path(__file__).with_name("worker.py")
_TRIAL_STEPS: Final = 50


class PeerMissingError(UsageError):
    """A peer that cannot be measured here, with the reason."""


class Peer:
    """One peer's process, asked for one drive at a time."""

    def __init__(self, name: str, programs: Path = PROGRAMS, environment: Path = ENVIRONMENT) -> None:
        """Start ``name`` (prototype, mujoco or exudyn) and let it drive a few steps, which compiles.

        The prototype needs only what this project needs, and runs on our own interpreter. Raises
        PeerMissingError where there are no programs, no environment, or where it fails.
        """
        self.name = name
        python = Path(sys.executable) if name == "prototype" else environment / "bin" / "python"
        if not programs.is_dir():
            raise PeerMissingError(f"{name}: there are no programs of the peers in {programs}")
        if not python.exists():
            raise PeerMissingError(f"{name}: is not installed, `make bench` does it (no {python})")
        self._process = subprocess.Popen(
            [str(python), "-P", "-W", "ignore", str(_WORKER), name, str(programs)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=_surroundings(name),
        )
        try:
            self.drive("bump", _TRIAL_STEPS)
        except PeerMissingError:
            self.close()
            raise

    def drive(self, manoeuvre: str, steps: int = 0) -> float:
        """Drive the first ``steps`` of a manoeuvre (0: all of it); return the processor time of one in µs.

        Raises PeerMissingError if the peer fails.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(f"{manoeuvre} {steps}\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # its last words are still to be read
        line = self._process.stdout.readline()
        answer = json.loads(line) if line else {"reason": "its process ended without a result"}
        if "us" not in answer:
            raise PeerMissingError(f"{self.name}: {answer['reason']}")
        return float(answer["us"])

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()


def _surroundings(name: str) -> dict[str, str]:
    """Return the environment of a worker: compiled code is kept in our cache, algebra has one thread."""
    kept = cache_directory()
    place = {} if kept is None else {"NUMBA_CACHE_DIR": str(kept / f"peers-{name}")}
    one_thread = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    return os.environ | place | {"PYTHONDONTWRITEBYTECODE": "1"} | one_thread
