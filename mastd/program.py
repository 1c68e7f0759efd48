"""The edges of every program: arguments, standard streams, exit codes, and what is left of a defect.

Streams may be closed, full, of a terminal that is gone, or without the signs of this text: none of it changes
what a command does, nor its exit code.
"""

from __future__ import annotations

import argparse
import codecs
import contextlib
import errno
import io
import os
import platform
import resource
import shlex
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, TextIO

from mastd.errors import MastdError, UsageError, printable

DEFECT: Final = 70
"""Exit code of a defect of ours (EX_SOFTWARE of sysexits.h)."""
INTERRUPTED: Final = 130
"""Exit code after Ctrl-C, as shells have it: 128 + SIGINT."""
MIN_ADDRESS_SPACE: Final = 500_000_000
"""Bytes of address space below which numerical libraries cannot be loaded, or end the process themselves."""
_KEPT_REPORTS = 20
_SIGNS = str.maketrans(
    {"–": "-", "—": "-", "−": "-", "…": "...", "·": "*", "×": "x", "²": "2", "³": "3", "µ": "u", "μ": "u"}
    | {"°": "deg", "±": "+/-", "≥": ">=", "≤": "<=", "→": "->", "√": "sqrt", "σ": "sigma", "Δ": "delta"}
)
_SURROUNDINGS: Final = (
    frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT, errno.ENOTDIR, errno.EISDIR})
    | {errno.EEXIST, errno.ENOTEMPTY, errno.ELOOP, errno.ENAMETOOLONG, errno.ENOSPC, errno.EDQUOT}
    | {errno.EFBIG, errno.EIO, errno.ESTALE, errno.ENODEV, errno.ENXIO, errno.EMFILE, errno.ENFILE}
    | {errno.ENOMEM, errno.EBUSY}
)
"""What a machine refuses a program that is in order."""


class CommandParser(argparse.ArgumentParser):
    """Parse the arguments of a command; one too many is told with its own usage, not with the program's."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse all there is; end with exit code 2 where something is left."""
        known, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.reject(unknown)
        return known, []

    def reject(self, unknown: list[str]) -> None:
        """End with what is left."""
        self.error(f"unrecognized arguments: {printable(' '.join(unknown), keep='')}")


def run(work: Callable[[], int]) -> int:
    """Do a program's work with streams that hold; return the exit code, whatever happens.

    That of ``work`` or of what it raises: of a MastdError its own, 2 where the machine refuses a file or
    limits the memory, 130 after Ctrl-C, 70 for a defect, with one line each on standard error.
    """
    open_streams()
    threading.excepthook = _in_thread
    lost: OSError | None = None
    try:
        _require_memory()
        code = work()
    except MastdError as error:
        code = _end(str(error), error.exit_code)
    except KeyboardInterrupt:
        code = _end("interrupted", INTERRUPTED)
    except SystemExit:  # of the parser of arguments
        _unwritten()
        raise
    except OSError as error:
        lost = _unwritten()
        code = _refused(error) if lost is None else 0
    except MemoryError as error:
        limited = _address_space() is not None
        code = _end(_limited_memory(), UsageError.exit_code) if limited else _end(defect(error), DEFECT)
    except Exception as error:
        code = _end(defect(error), DEFECT)
    lost = lost or _unwritten()
    if lost is None or lost.errno == errno.EPIPE:  # whoever reads has read enough
        return code
    return _end(f"standard output cannot be written: {lost.strerror}", code or UsageError.exit_code)


def tell_result(text: str) -> None:
    """Print the outcome of a command whose exit code is its verdict, whoever can read the text."""
    with contextlib.suppress(OSError):
        sys.stdout.write(f"{text}\n")
    lost = _unwritten()
    if lost is not None and lost.errno != errno.EPIPE:
        _end(f"standard output cannot be written: {lost.strerror}", 0)


def open_streams() -> None:
    """Open closed streams to nowhere, so that no file gets their numbers, and let all bear our signs."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    sys.stdin = sys.stdin or io.TextIOWrapper(io.FileIO(0, closefd=False))
    if sys.stdout is None or sys.stdout is sys.__stdout__:
        sys.stdout = _text(_Output(1, "w", closefd=False), sys.stdout)
    if sys.stderr is None or sys.stderr is sys.__stderr__:
        sys.stderr = _text(_Messages(2, "w", closefd=False), sys.stderr, lines=True)


def defect(error: BaseException) -> str:
    """Keep a report of what should not happen, and return the one line that names it."""
    last = traceback.extract_tb(error.__traceback__)[-1:]
    place = "".join(f" at {Path(frame.filename).name}:{frame.lineno}" for frame in last)
    what = printable(f"{type(error).__name__}: {error}".replace("\n", " "))[:300]
    text = "".join(
        (
            f"{what}\n{time.strftime('%Y-%m-%dT%H:%M:%S%z')} mastd {version('mastd')}, ",
            f"Python {platform.python_version()}, {platform.platform()}\n",
            f"{shlex.join(sys.argv)}\n\n",
            *traceback.format_exception(error),
        )
    )
    for directory in _report_directories():
        with contextlib.suppress(OSError):
            path = _keep(directory, text)
            return f"a defect of mastd, {what}{place}; please send {path}"
    return f"a defect of mastd, {what}{place}; a report could not be written anywhere: please send this line"


class _Output(io.FileIO):
    """Standard output: why it took no more is kept, since the layers above forget it."""

    lost: OSError | None = None

    def write(self, data: object) -> int:
        """Write; raise OSError."""
        try:
            return super().write(data)  # type: ignore[arg-type]  # of typeshed: any buffer
        except OSError as error:
            self.lost = self.lost or error
            raise


class _Messages(io.FileIO):
    """Standard error: what cannot be written is nobody's loss but the reader's."""

    def write(self, data: object) -> int:
        """Write, or let it be."""
        size = memoryview(data).nbytes  # type: ignore[arg-type]
        with contextlib.suppress(OSError):
            return super().write(data) or size  # type: ignore[arg-type]
        return size


def _text(raw: io.FileIO, before: TextIO | None, *, lines: bool = False) -> io.TextIOWrapper:
    """Return a stream like the one ``before``, which has a sign of its own for what its encoding lacks."""
    encoding = before.encoding if before is not None else "utf-8"
    lines = lines or bool(getattr(before, "line_buffering", False))
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding, "mastd.plain", line_buffering=lines)


def _plain(error: UnicodeError) -> tuple[str, int]:
    """Put letters of ASCII in the place of signs that a stream has not."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].translate(_SIGNS)
    return text.encode("ascii", "backslashreplace").decode(), error.end


codecs.register_error("mastd.plain", _plain)


def _report_directories() -> list[Path]:
    """Return where reports may go, best first: the service's state, the user's, the temporary directory."""
    found = [Path(os.environ[name].split(":")[0]) for name in ("STATE_DIRECTORY",) if os.environ.get(name)]
    if state := os.environ.get("XDG_STATE_HOME"):
        found.append(Path(state) / "mastd")
    with contextlib.suppress(RuntimeError):  # no home
        found.append(Path.home() / ".local" / "state" / "mastd")
    return [directory / "defects" for directory in found] + [Path(tempfile.gettempdir())]


def _keep(directory: Path, text: str) -> Path:
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    old = sorted(path for path in directory.glob("mastd-defect-*.txt") if path.lstat().st_uid == os.getuid())
    for path in old[: 1 - _KEPT_REPORTS]:
        path.unlink(missing_ok=True)
    prefix = time.strftime("mastd-defect-%Y%m%d-%H%M%S-")
    descriptor, name = tempfile.mkstemp(".txt", prefix, directory)
    with open(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(text)
    return Path(name)


def _in_thread(arguments: threading.ExceptHookArgs) -> None:
    if arguments.exc_value is not None:
        _end(defect(arguments.exc_value), DEFECT)


def _end(text: str, code: int) -> int:
    if text:
        sys.stderr.write(f"{text}\n")
    return code


def _unwritten() -> OSError | None:
    """Return why standard output takes no more, None if it does; what it did not take is then forgotten."""
    lost: OSError | None = None
    try:
        sys.stdout.flush()
    except OSError as error:
        lost = error
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    if isinstance(raw, _Output):
        lost, raw.lost = raw.lost or lost, None
    if lost is not None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    return lost


def _refused(error: OSError) -> int:
    """Return the exit code where the machine refused something."""
    if error.errno not in _SURROUNDINGS and error.errno != errno.EPIPE:
        return _end(defect(error), DEFECT)
    name = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes | os.PathLike) else ""
    what = str(error.strerror)
    if error.errno == errno.EMFILE:
        what += f", limit {resource.getrlimit(resource.RLIMIT_NOFILE)[0]} for a process (ulimit -n)"
    elif error.errno == errno.ENOENT and not name and not _has_working_directory():
        name = "working directory"
    return _end(f"{printable(name)}: {what}" if name else what, UsageError.exit_code)


def _has_working_directory() -> bool:
    with contextlib.suppress(FileNotFoundError):
        return bool(os.getcwd())
    return False


def _require_memory() -> None:
    """Raise UsageError where the numerical libraries would fail, or end the process, for want of memory."""
    limit = _address_space()
    if limit is not None and limit < MIN_ADDRESS_SPACE:
        raise UsageError(f"{_limited_memory()}, at least {MIN_ADDRESS_SPACE / 1e6:.0f} MB are needed")


def _address_space() -> int | None:
    """Return the limit of this process's address space in bytes, None without one."""
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else limit


def _limited_memory() -> str:
    megabytes = (_address_space() or 0) / 1e6
    return f"not enough memory: the address space is limited to {megabytes:.0f} MB (ulimit -v)"
