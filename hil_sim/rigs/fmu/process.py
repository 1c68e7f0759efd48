"""An FMU in a process of its own: the rig speaks with it, and outlives whatever it does.

What comes back is data: text that is shown, numbers that are checked. A crash, or a call that does not come
back, is an FMU that failed.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import numpy as np

from hil_sim.rigs.fmu.archive import Interface
from hil_sim.rigs.fmu.base import Fmu
from hil_sim.rigs.fmu.units import DeclaredUnit
from hil_sim.rigs.fmu.variables import FmuError, Port, Variable
from mastd.arrays import FloatArray
from mastd.errors import UsageError, printable
from mastd.formats.core.packages import require

STARTING_S: Final = 900.0
"""Time to load, to make an instance and to start: an FMU may compile for minutes then."""
STEP_S: Final = 30.0
"""Time for a step: far more than a table waits, for lockstep and for a machine under load."""
ENDING_S: Final = 1.0
_MAX_ANSWER: Final = 1 << 26
_NOT_ASKED: Final = "its process answers what was not asked for"


class FmuProcess(Fmu):
    """An FMU that runs fenced (``hil_sim.rigs.fmu.fence``)."""

    def __init__(self, path: Path, directory: Path | None = None) -> None:
        """Start the process, extract and load the FMU; ``directory`` as for ``FmuModel``.

        Raises UsageError, one line, for everything that keeps it from running here (see ``FmuModel``).
        """
        super().__init__(path)
        require("fmpy", "fmi", "running an FMU")
        self.directory = directory or Path(tempfile.mkdtemp(prefix="mastd-fmu-"))
        self._inputs: list[Port] = []
        self._outputs: list[Port] = []
        self._waits = False
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-P", "-m", "hil_sim.rigs.fmu.fence"),
                    *(str(theirs.fileno()), str(os.getpid())),
                ],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))},
            )
        self._socket = ours
        self._line = ours.makefile("rb")
        try:
            self._describe(self._ask(STARTING_S, path=str(path), directory=str(self.directory)))
        except (LookupError, TypeError, ValueError, AttributeError):
            self.close()
            raise UsageError(f"{path}: {_NOT_ASKED}") from None
        except BaseException:
            self.close()
            raise

    @property
    def process_id(self) -> int:
        """Process id of the process that runs the FMU."""
        return self._process.pid

    def instantiate(self) -> None:
        """Make the instance, which may take long; raise FmuError where there is none."""
        self._ask(STARTING_S, call="instantiate")

    def set_now(self, variable: Variable, value: float) -> None:
        """Set a variable, in its own unit, before ``start``."""
        self._ask(STARTING_S, call="set", variable=variable.name, value=value)

    def start(
        self, inputs: Sequence[Port], outputs: Sequence[Port], values: Sequence[float], step_ns: int
    ) -> FloatArray:
        """Initialise the FMU with inputs (SI, in the order of ``inputs``); return its outputs (SI).

        ``step_ns``: the step h. Raises UsageError for a step that cannot be, FmuError where the FMU refuses
        to start.
        """
        self.check_step(step_ns)
        self._step_ns, self.count = step_ns, 0
        self._inputs, self._outputs = list(inputs), list(outputs)
        names = ([port.variable.name for port in side] for side in (inputs, outputs))
        call = dict(zip(("inputs", "outputs"), names, strict=True))
        given = self._from_si(values)
        return self._to_si(self._ask(STARTING_S, call="start", values=given, step_ns=step_ns, **call))

    def step(self, values: Sequence[float]) -> FloatArray:
        """Take the step from n·h to (n+1)·h with inputs (SI); return the outputs (SI) at its end.

        Raises FmuError where the FMU fails, is finished, gives what is no number, or does not come back.
        """
        found = self._ask(STEP_S, call="step", values=self._from_si(values))
        self.count += 1
        return self._to_si(found)

    def close(self) -> None:
        """End the process, and remove what was extracted."""
        if self._waits:
            self._process.kill()
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)
        try:
            self._process.wait(ENDING_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._line.close()
        self._socket.close()
        shutil.rmtree(self.directory, ignore_errors=True)

    def _describe(self, document: Any) -> None:
        self.interface = Interface(**document["interface"])
        for entry in document["variables"]:
            unit = None if entry["unit"] is None else _unit(**entry["unit"])
            self.variables[entry["name"]] = Variable(**{**entry, "unit": unit})

    def _from_si(self, values: Sequence[float]) -> list[float]:
        pairs = zip(self._inputs, values, strict=True)
        return [port.conversion.from_si(float(value)) for port, value in pairs]

    def _to_si(self, found: Any) -> FloatArray:
        if type(found) is not list or len(found) != len(self._outputs):
            raise self.error(_NOT_ASKED)
        values = np.empty(len(found))
        for k, (port, value) in enumerate(zip(self._outputs, found, strict=True)):
            si = port.conversion.to_si(value) if isinstance(value, float) else math.nan
            if not math.isfinite(si):
                raise self.error(f"its output {port.variable.name} is {si}")
            values[k] = si
        return values

    def _ask(self, seconds: float, **call: object) -> Any:
        """Send a call; return its result, within so many seconds."""
        self._waits = True
        self._socket.settimeout(seconds)
        try:
            self._socket.sendall(json.dumps(call).encode() + b"\n")
            text = self._line.readline(_MAX_ANSWER)
        except TimeoutError:
            raise self.error(f"{self._where()}: does not come back within {seconds:g} s") from None
        except OSError:
            text = b""
        if not text.endswith(b"\n"):
            raise self.error(f"{self._where()}: its process has ended{self._how()}")
        self._waits = False
        try:
            answer = json.loads(text)
        except ValueError:
            raise self.error(_NOT_ASKED) from None
        if "error" in answer:
            raise (UsageError if answer["refused"] else FmuError)(printable(str(answer["error"])))
        return answer["result"]

    def _where(self) -> str:
        return f"step {self.count} at {self.time:.9g} s"

    def _how(self) -> str:
        try:
            code = self._process.wait(ENDING_S)
        except subprocess.TimeoutExpired:
            return ""
        return f": {signal.strsignal(-code)}" if code < 0 else f" with code {code}"


def _unit(name: str, powers: dict[str, list[int]] | None, factor: float, offset: float) -> DeclaredUnit:
    fractions = None if powers is None else {base: Fraction(*power) for base, power in powers.items()}
    return DeclaredUnit(name, fractions, factor, offset)
