"""How the daemon before this one ended: noted when it ends, told when the next one comes up.

While a service runs, ``running.json`` in its state directory says who it is, which processes are around it
and, at the end, which fault is latched. When the unit's main process is gone the service manager calls
`mastd serve --ended` (ExecStopPost=), which writes ``last-ending.json`` there. The next start reads and
removes both. A good ending is forgotten. Without a service manager a ``running.json`` that was left behind
tells that its daemon was killed, or that the machine lost power.

Source of the variables and their values: systemd.exec(5), "Environment Variables Set or Propagated".
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mastd.errors import FormatError, UsageError
from mastd.formats.core.files import replacing
from mastd.record.run_files import read_metadata
from mastd.wire.common.address import process_lives

RUNNING_FILE = "running.json"
ENDING_FILE = "last-ending.json"
HELPERS_S = 8.0
"""How long a dead daemon's recorder and gateway have to finish their files."""
UNNOTICED = "unnoticed"
_LOOK_S = 0.02
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_REFUSED_AT_START = ("2", "4")
_KINDS = {
    "watchdog": "watchdog: the loop was stuck, and the drive lowered the table",
    "timeout": "start or stop timed out and it was killed",
    "oom-kill": "killed: out of memory",
    "resources": "the service manager could not start it",
}


@dataclass(frozen=True)
class Shutdown:
    """How a daemon ended; ``kind``, ``code`` and ``status`` are those of systemd.exec(5), or UNNOTICED."""

    kind: str
    code: str
    status: str
    cause: str
    """First cause of a fault that was latched, empty for none; of an unnoticed end what is known."""
    ended_unix: float

    @property
    def good(self) -> bool:
        """Whether nobody needs to know: ended as asked, or refused with a reason before it began."""
        refused = self.kind == "exit-code" and self.status in _REFUSED_AT_START
        return self.kind == "success" or refused

    @property
    def text(self) -> str:
        """One line: when, and why."""
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(self.ended_unix))
        return (
            f"before {when}, without notice: {self.cause}"
            if self.kind == UNNOTICED
            else f"{when} {self._why}"
        )

    @property
    def _why(self) -> str:
        if self.kind == "exit-code" and self.status == "3":
            return f"with a fault: {self.cause or 'see the log'}"
        if self.kind == "exit-code":
            return f"by an unexpected error (exit code {self.status}), see the log"
        if self.kind == "signal":
            return f"killed by signal {self.status}"
        if self.kind == "core-dump":
            return f"crashed by signal {self.status}: a defect of the daemon, see the log"
        return _KINDS.get(self.kind, self.kind)


def state_directory(out: Path) -> Path:
    """Return where endings are kept: the service's state directory, else beside the records."""
    given = os.environ.get("STATE_DIRECTORY", "").split(":")[0]
    return Path(given) if given else out


class ShutdownRecord:
    """``running.json`` of this daemon; what cannot be written is left out, the table works without it."""

    def __init__(self, directory: Path) -> None:
        """Take over from the daemon before: ``last`` is its ending, None if all was well."""
        self._path = directory / RUNNING_FILE
        self._entries: dict[str, object] = {
            "pid": os.getpid(),
            "boot_id": _boot_id(),
            "began_unix": time.time(),
            "helpers": [],
            "cause": "",
        }
        self.last = _take_previous(directory)
        self._write()

    def helpers(self, *process_ids: int) -> None:
        """Note the processes that finish their files after this one's death."""
        self._entries["helpers"] = list(process_ids)
        self._write()

    def end(self, cause: str) -> None:
        """Note that the daemon ends; with the first cause of a latched fault, empty for a good end."""
        if cause:
            self._entries["cause"] = cause
            self._write()
        else:
            self._path.unlink(missing_ok=True)

    def _write(self) -> None:
        with contextlib.suppress(OSError, FormatError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            _write(self._path, self._entries)


def note_shutdown(directory: Path, environment: Mapping[str, str], patience_s: float = HELPERS_S) -> Shutdown:
    """Write how the daemon has ended, once its recorder and gateway are done or ``patience_s`` is over.

    Raises UsageError when the service manager's variables are missing, or if the file cannot be written.
    """
    names = ("SERVICE_RESULT", "EXIT_CODE", "EXIT_STATUS")
    kind, code, status = (environment.get(name, "") for name in names)
    if not kind:
        raise UsageError("serve --ended is for ExecStopPost= of the unit: SERVICE_RESULT is not set")
    running = _read(directory / RUNNING_FILE)
    wait_for_helpers(running.get("helpers"), patience_s)
    shutdown = Shutdown(kind, code, status, str(running.get("cause", "")), time.time())
    try:
        directory.mkdir(parents=True, exist_ok=True)
        _write(directory / ENDING_FILE, asdict(shutdown))
        (directory / RUNNING_FILE).unlink(missing_ok=True)
    except (OSError, FormatError) as error:
        raise UsageError(f"the shutdown record cannot be written: {error}") from error
    return shutdown


def wait_for_helpers(process_ids: object, patience_s: float) -> None:
    """Wait until these processes of a dead daemon are gone, at most so long."""
    left = [one for one in process_ids if isinstance(one, int)] if isinstance(process_ids, list) else []
    end = time.monotonic() + patience_s
    while (left := [one for one in left if _is_ours(one)]) and time.monotonic() < end:
        time.sleep(_LOOK_S)  # another one's child can only be looked at


def _take_previous(directory: Path) -> Shutdown | None:
    """Return the last ending if it was a bad one, and forget it."""
    noted, running = _read(directory / ENDING_FILE), _read(directory / RUNNING_FILE)
    with contextlib.suppress(OSError):
        (directory / ENDING_FILE).unlink(missing_ok=True)
    if noted:
        with contextlib.suppress(TypeError, ValueError):
            texts = {name: str(noted.get(name, "")) for name in ("kind", "code", "status", "cause")}
            shutdown = Shutdown(**texts, ended_unix=float(noted.get("ended_unix", 0.0)))
            return None if shutdown.good else shutdown
    if running and (running.get("pid") == os.getpid() or not _is_ours(running.get("pid"))):
        return _left_behind(running)
    return None


def _left_behind(running: Mapping[str, Any]) -> Shutdown:
    """Return what is known of a daemon of whose end nobody has told."""
    if cause := str(running.get("cause", "")):
        return Shutdown("exit-code", "exited", "3", cause, time.time())
    same = running.get("boot_id") == _boot_id()
    why = "it was killed" if same else "the machine was restarted or lost power"
    return Shutdown(UNNOTICED, "", "", why, time.time())


def _is_ours(process_id: object) -> bool:
    """Tell whether a daemon's process lives under this id; another program may have got the number since."""
    if not isinstance(process_id, int) or process_id <= 0 or not process_lives(process_id):
        return False
    try:
        return b"mastd" in Path(f"/proc/{process_id}/cmdline").read_bytes()
    except OSError:
        return False


def _read(path: Path) -> dict[str, Any]:
    """Return a file's object, an empty one if it cannot be read."""
    try:
        return read_metadata(path)
    except (OSError, ValueError, RecursionError):
        return {}


def _write(path: Path, entries: Mapping[str, object]) -> None:
    with replacing(path) as file:
        file.write(json.dumps(entries).encode())


def _boot_id() -> str:
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return ""
