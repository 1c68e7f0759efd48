"""One co-simulation FMU: opened, checked, stepped, closed. No sockets.

Communication points are n·h, calculated from the integer n each time: a sum of steps would drift away from
the FMU's own clock, which then loses or doubles a step. What is set and read goes through arrays that are
made once, by type.
"""

from __future__ import annotations

import contextlib
import ctypes
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from hil_sim.rigs.fmu.archive import FmuArchive
from hil_sim.rigs.fmu.base import NANOSECONDS, Fmu
from hil_sim.rigs.fmu.variables import FmuError, Group, Port, Variable, groups, variables_of
from mastd.arrays import FloatArray
from mastd.errors import UsageError, printable
from mastd.formats.core.packages import require

Say = Callable[[str], None]

MAX_LOGGED: Final = 100
"""Lines of the FMU's log, warnings and worse, that are passed on; it is reported how many more there were."""
_MAX_LINE_LENGTH: Final = 400
_STATUS: Final = ("ok", "warning", "discard", "error", "fatal", "pending")
_OK: Final = 0
_FATAL: Final = 4
_FAULTS: Final = ("logStatusWarning", "logStatusDiscard", "logStatusError", "logStatusFatal")
"""Categories of logs by the names that FMI gives."""
_MISSING: Final = re.compile(r"^(\S+): cannot open shared object file")


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


class FmuModel(Fmu):
    """An FMU in this very process."""

    def __init__(self, path: Path, say: Say = _to_stderr, directory: Path | None = None) -> None:
        """Extract and load the FMU; ``say`` takes what it warns of.

        ``directory``: an empty one to extract into, None for one of its own; ``close`` removes it.

        Raises UsageError, one line, for everything that keeps it from running here: see ``FmuArchive``, a
        library it needs that is not on this machine, a description that cannot be understood.
        """
        super().__init__(path)
        self._say = say
        self._logged = 0
        self._last_line = ""
        self._slave: Any = None
        self._instantiated = False
        self._running = False
        self._dead = False
        self._inputs: list[Group] = []
        self._outputs: list[Group] = []
        self._values = np.zeros(0)
        require("fmpy", "fmi", "running an FMU")
        self.directory = directory or Path(tempfile.mkdtemp(prefix="mastd-fmu-"))
        try:
            with FmuArchive(path) as archive:
                self.interface = archive.interface()
                library = archive.library(self.interface)
                archive.extract(self.directory)
            self._check_library(library)
            self._describe()
            self._load(library)
        except BaseException:
            self.close()
            raise

    def start(
        self, inputs: Sequence[Port], outputs: Sequence[Port], values: Sequence[float], step_ns: int
    ) -> FloatArray:
        """Initialise the FMU with inputs (SI, in the order of ``inputs``); return its outputs (SI).

        ``step_ns``: the step h. Raises UsageError for a step that cannot be, FmuError where the FMU refuses
        to start.
        """
        self.check_step(step_ns)
        self._step_ns = step_ns
        self.count = 0
        try:
            self.instantiate()
            self._inputs = groups(self.interface.major, inputs)
            self._outputs = groups(self.interface.major, outputs)
            self._values = np.zeros(len(outputs))
            if self.interface.major == 2:
                self._slave.setupExperiment(startTime=0.0)
            self._slave.enterInitializationMode()
            self._set(values)
            self._slave.exitInitializationMode()
            self._running = True
            self._log_faults_only()
            return self._get()
        except Exception as error:
            raise self._failed("does not start", error) from error

    def step(self, values: Sequence[float]) -> FloatArray:
        """Take the step from n·h to (n+1)·h with inputs (SI); return the outputs (SI) at its end.

        The array is the same every time. Raises FmuError where the FMU says that it failed, that it is
        finished, or gives what is no number.
        """
        begin = self.time
        try:
            self._set(values)
            ended = self._slave.doStep(begin, self._step_ns / NANOSECONDS)
            if self.interface.major == 3:
                _, finished, early, reached = ended
                if finished:
                    raise FmuError("it requests the end of the simulation")
                if early:
                    raise FmuError(f"it came back early, at {reached:.9g} s")
            self.count += 1
            return self._get()
        except Exception as error:
            raise self._failed(f"step {self.count} at {begin:.9g} s", error) from error

    def set_now(self, variable: Variable, value: float) -> None:
        """Set a variable, in its own unit, before ``start``."""
        try:
            self.instantiate()
            group = groups(self.interface.major, [Port(variable)])[0]
            group.fill([value])
            group.set(self._slave)
        except Exception as error:
            raise self._failed(f"{variable.name} cannot be set", error) from error

    def close(self) -> None:
        """End and unload the FMU, and remove what was extracted."""
        slave, self._slave = self._slave, None
        if slave is not None and self._instantiated and not self._dead:
            with contextlib.suppress(Exception):
                if self._running:
                    slave.terminate()
            with contextlib.suppress(Exception):
                slave.freeInstance()
        self._running = self._instantiated = False
        if self._logged > MAX_LOGGED:
            self._say(f"{self.path.name}: {self._logged - MAX_LOGGED} more lines of its log are left out")
            self._logged = 0
        shutil.rmtree(self.directory, ignore_errors=True)

    def _check_library(self, library: str) -> None:
        """Load the library by itself: what it needs and does not find is reported by name."""
        try:
            ctypes.CDLL(str(self.directory / library))
        except OSError as error:
            text = str(error).replace(str(self.directory / library), library)
            missing = _MISSING.match(text)
            if missing:
                raise UsageError(
                    f"{self.path}: needs the shared library {missing[1]}, which is not on this machine; "
                    "install it"
                ) from error
            raise UsageError(f"{self.path}: {printable(text, keep='')}") from error

    def _describe(self) -> None:
        from fmpy import read_model_description

        try:
            self._description = read_model_description(str(self.directory), validate=False)
            self.variables = variables_of(self._description, self.interface.major)
        except Exception as error:
            raise UsageError(
                f"{self.path}: modelDescription.xml cannot be understood: {_line(error)}"
            ) from error

    def _load(self, library: str) -> None:
        from fmpy.fmi2 import FMU2Slave
        from fmpy.fmi3 import FMU3Slave

        arguments = {
            "guid": self._description.guid or "",
            "modelIdentifier": self.interface.identifier,
            "unzipDirectory": str(self.directory),
            "instanceName": "rig",
        }
        try:
            if self.interface.major == 2:
                self._slave = FMU2Slave(**arguments, libraryPath=str(self.directory / library))
            else:
                self._slave = FMU3Slave(**arguments)
        except AttributeError as error:
            missing = str(error).rpartition(" ")[2]
            raise UsageError(f"{self.path}: its library lacks the function {missing}") from error

    def instantiate(self) -> None:
        """Make the instance, which may take long; ``start`` does it where it has not been done.

        Raises FmuError, with the last line of the FMU's log, where there is none.
        """
        if self._instantiated:
            return
        try:
            if self.interface.major == 2:
                self._slave.instantiate(callbacks=self._callbacks(), loggingOn=True)
            else:
                self._slave.instantiate(loggingOn=True, logMessage=self._log_3)
        except Exception as error:
            # fmpy's own error says that there is no instance; why, only the FMU's log says.
            text = self._last_line or "it creates no instance, and gives no reason"
            raise self.error(f"does not start: {text}") from error
        self._instantiated = True

    def _log_faults_only(self) -> None:
        """Keep only what goes wrong in the FMU's log: some tell why they do not start only with all of it on.

        An FMU of FMI 2 that has no such categories keeps quiet; one of FMI 3 would then not tell of errors.
        """
        declared = {category.name for category in self._description.logCategories}
        wanted = [name for name in _FAULTS if name in declared]
        if wanted or self.interface.major == 2:
            with contextlib.suppress(Exception):
                self._slave.setDebugLogging(bool(wanted), wanted)

    def _callbacks(self) -> Any:
        from fmpy import calloc, fmi2, free

        callbacks = fmi2.fmi2CallbackFunctions()
        callbacks.logger = fmi2.fmi2CallbackLoggerTYPE(self._log_2)
        callbacks.allocateMemory = fmi2.fmi2CallbackAllocateMemoryTYPE(calloc)
        callbacks.freeMemory = fmi2.fmi2CallbackFreeMemoryTYPE(free)
        with contextlib.suppress(ImportError, OSError):
            from fmpy.logging import addLoggerProxy

            addLoggerProxy(ctypes.byref(callbacks))
        return callbacks

    def _log_2(self, _: object, __: object, status: int, ___: object, message: bytes | None) -> None:
        self._log(status, message)

    def _log_3(self, _: object, status: int, __: object, message: bytes | None) -> None:
        self._log(status, message)

    def _log(self, status: int, message: bytes | None) -> None:
        text = self._last_line = _line((message or b"").decode("utf-8", "replace"))
        if status == _OK:
            return
        self._logged += 1
        if self._logged <= MAX_LOGGED:
            self._say(f"{self.path.name}: [{_status(status)}] {text}")

    def _set(self, values: Sequence[float]) -> None:
        for group in self._inputs:
            group.fill(values)
            group.set(self._slave)

    def _get(self) -> FloatArray:
        for group in self._outputs:
            group.get(self._slave, self._values)
        return self._values

    def _failed(self, what: str, error: Exception) -> FmuError:
        """Return the error for one of a call; an FMU that is broken for good is not called again."""
        if isinstance(error, FmuError) and str(error).startswith(f"{self.path}: "):
            return error
        status = getattr(error, "status", None)
        self._dead = self._dead or status == _FATAL
        if status is not None:
            text = f"{getattr(error, 'function', '')} returned {_status(status)}"
        else:
            text = _line(error)
        return self.error(f"{what}: {text}")


def _status(status: int) -> str:
    return _STATUS[status] if 0 <= status < len(_STATUS) else f"status {status}"


def _line(text: object) -> str:
    return printable(" ".join(str(text).split())[:_MAX_LINE_LENGTH], keep="")
