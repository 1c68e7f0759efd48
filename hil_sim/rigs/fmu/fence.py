"""The process in which an FMU runs: native code of somebody else, so it is fenced before it is loaded.

``hil_sim.rigs.fmu.process`` calls it as ``python -m hil_sim.rigs.fmu.fence SOCKET PARENT``, sends one call a
line and gets one answer a line, both JSON. The process has bounds for its memory and its files, gains no
rights, leaves no core, is the first to go when memory runs out, and ends with the rig.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import socket
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from hil_sim.rigs.fmu.model import FmuModel
from hil_sim.rigs.fmu.variables import Port
from mastd import program
from mastd.errors import MastdError, UsageError
from mastd.oom_score import give_up_protection

MEMORY: Final = 4_000_000_000
"""Bytes that an FMU may allocate."""
FILE: Final = 1 << 30
"""Bytes of the longest file that it may write."""
FILES: Final = 256
FIRST_TO_GO: Final = 1000
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_NO_NEW_PRIVS: Final = 38
_IGNORED: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def limit() -> None:
    """Bound this process for good; nothing that it loads or starts later can undo it."""
    control = ctypes.CDLL(None).prctl
    control(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    control(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    for number, most in (
        (resource.RLIMIT_DATA, MEMORY),
        (resource.RLIMIT_FSIZE, FILE),
        (resource.RLIMIT_NOFILE, FILES),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(number)
        value = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(number, (value, value))
    give_up_protection(FIRST_TO_GO)


class Host:
    """An FMU that does what it is told, in its own units."""

    def __init__(self, path: Path, directory: Path) -> None:
        self.model = FmuModel(path, directory=directory)

    def describe(self) -> dict[str, Any]:
        """Return what the FMU is and has."""
        variables = [asdict(variable) for variable in self.model.variables.values()]
        for entry in variables:
            if entry["unit"] is not None and entry["unit"]["powers"] is not None:
                powers = entry["unit"]["powers"].items()
                entry["unit"]["powers"] = {name: power.as_integer_ratio() for name, power in powers}
        return {"interface": asdict(self.model.interface), "variables": variables}

    def call(self, name: str, given: dict[str, Any]) -> object:
        """Do one call; return its values."""
        model = self.model
        if name == "step":
            return model.step(given["values"]).tolist()
        if name == "start":
            inputs, outputs = (
                [Port(model.variables[each]) for each in given[side]] for side in ("inputs", "outputs")
            )
            return model.start(inputs, outputs, given["values"], given["step_ns"]).tolist()
        if name == "set":
            model.set_now(model.variables[given["variable"]], given["value"])
        elif name == "instantiate":
            model.instantiate()
        return None


def main() -> int:
    """Serve the rig until it closes its end."""
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    limit()
    if os.getppid() != int(sys.argv[2]):  # it has ended before the line above
        return 1
    with socket.socket(fileno=int(sys.argv[1])) as connection, connection.makefile("rwb") as line:

        def answer(document: dict[str, object]) -> None:
            line.write(json.dumps(document).encode() + b"\n")
            line.flush()

        host: Host | None = None
        try:
            for text in line:
                given = json.loads(text)
                try:
                    if host is None:
                        host = Host(Path(given["path"]), Path(given["directory"]))
                        answer({"result": host.describe()})
                    else:
                        answer({"result": host.call(given["call"], given)})
                except MastdError as error:
                    answer({"refused": isinstance(error, UsageError), "error": str(error)})
        finally:
            if host is not None:
                host.model.close()
    return 0


if __name__ == "__main__":
    sys.exit(program.run(main))
