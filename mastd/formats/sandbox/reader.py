"""Reading with a C library that trusts its files, in a process of its own whose time and memory are bounded.

HDF5, Arrow and the compiled parts of asammdf crash, spin or allocate without end on damaged files. So the
file is read by a child process: a *template* process (``mastd.formats.sandbox.fork_server``) imports the
library once and forks a child for each file, which costs some 10 ms. The child's numbers come back in
anonymous shared memory, which is mapped here and not copied. A child that crashes, takes too long or needs
too much is a FormatError.

The template ends with the process that started it, however that ends. It is started with ``subprocess`` and
not with ``multiprocessing``, whose daemonic children may start nothing, and which would run the main module
of the caller again.
"""

from __future__ import annotations

import json
import mmap
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.errors import FormatError, UsageError
from mastd.formats.core.measurement import Channel, Measurement, Series
from mastd.formats.core.packages import one_line, require

MIN_SECONDS: Final = 1.0
SECONDS_PER_MEGABYTE: Final = 0.1
"""Processor time for a file: the least, and as much more for each MB of it. Of wall time it may take
``WAITING`` times as much, because others may use the processor too."""
WAITING: Final = 5.0
MIN_MEMORY: Final = 200_000_000
"""Bytes that a reader may allocate for any file, beside the library itself."""
_EXPANSION: Final = 1000
_MIN_EXPANDED: Final = 64_000_000
_MAX_EXPANDED: Final = 8_000_000_000
_MAX_DOCUMENT: Final = 16_000_000
_STARTING_SECONDS: Final = 120.0


def max_expanded(size: int) -> int:
    """Return how many bytes a file of ``size`` bytes may become in memory, as float64."""
    return min(_MAX_EXPANDED, max(_MIN_EXPANDED, _EXPANSION * size))


def check_expanded(path: Path, values: int) -> None:
    """Raise FormatError where a file declares more values than its size allows."""
    maximum = max_expanded(path.stat().st_size)
    if not 0 <= 8 * values <= maximum:
        raise FormatError(
            f"{path}: declares {values} values, {8 * values / 1e6:.0f} MB: "
            f"maximum for a file of this size {maximum / 1e6:.0f} MB"
        )


@dataclass(frozen=True)
class Packed:
    """What a child sends: a document of JSON's types, and arrays (any shape, float64)."""

    document: Mapping[str, Any]
    arrays: Sequence[FloatArray]


@dataclass(eq=False)
class Sandbox:
    """Sandboxed reader: calls functions of ``module``, ``(Path) -> Packed``, in child processes.

    The children have ``library`` imported. ``also``: other modules to import once.
    """

    module: str
    library: str
    extra: str
    title: str
    also: tuple[str, ...] = ()
    _running: dict[int, _Template] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def call(self, function: str, path: Path) -> Packed:
        """Call a reader's function on a file.

        Raises FormatError for what the function raises, where it crashes, takes longer or needs more than
        this file may, or where the path is no file; UsageError where the library is missing.
        """
        size = _size(path)
        require(self.library, self.extra, self.title)
        seconds = MIN_SECONDS + SECONDS_PER_MEGABYTE * size / 1e6
        # What is read and what it is made of, beside one another.
        memory = MIN_MEMORY + 2 * (max_expanded(size) - _MIN_EXPANDED)
        request = {
            "function": function,
            "path": os.path.abspath(path),
            "seconds": seconds,
            "wall": WAITING * seconds,
            "memory": memory,
            "written": max_expanded(size) + size + _MAX_DOCUMENT,
        }
        with self._lock, _SharedMemory() as shared:
            status = self._template(path).run(request, shared.descriptor)
            if status is None:
                self._running.pop(os.getpid()).end()
                raise FormatError(f"{path}: the process that reads {self.title} has ended unexpectedly")
            if status == 0:
                return _unpacked(shared, path)
        raise FormatError(f"{path}: {_ending(status, self.library, seconds, memory)}")

    def end(self) -> None:
        """End the template, if this process has one; the next call starts another."""
        with self._lock:
            if (template := self._running.pop(os.getpid(), None)) is not None:
                template.end()

    def _template(self, path: Path) -> _Template:
        """Return the template of this process: one that was forked has to start its own."""
        own = os.getpid()
        if own not in self._running:
            try:
                self._running[own] = _Template(self.module, (self.library, *self.also))
            except OSError as error:
                raise FormatError(f"{path}: cannot start the reader process: {error.strerror}") from error
        return self._running[own]


class _Template:
    """The template process, seen from the process that started it."""

    def __init__(self, module: str, libraries: tuple[str, ...]) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, "-P", "-m", "mastd.formats.sandbox.fork_server"]
        with theirs:
            process = subprocess.Popen(
                [*command, str(theirs.fileno()), str(os.getpid()), module, *libraries],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**os.environ, **_ENVIRONMENT, "PYTHONPATH": _module_path()},
            )
        self.end = weakref.finalize(self, _end, process, self._socket)
        self._socket.settimeout(_STARTING_SECONDS)
        message = self._received()
        if message != "ready":
            self.end()
            raise UsageError(
                f"the package {libraries[0]} cannot be used: {message or 'its process ends immediately'}"
            )

    def run(self, request: Mapping[str, Any], descriptor: int) -> int | None:
        """Have a file read into the memory ``descriptor``; return the child's exit status, None for none."""
        self._socket.settimeout(2 * float(request["wall"]) + 5.0)
        try:
            socket.send_fds(self._socket, [json.dumps(request).encode()], [descriptor])
        except OSError:
            return None
        message = self._received()
        return int(message) if message else None

    def _received(self) -> str:
        try:
            return self._socket.recv(65536).decode()
        except OSError:
            return ""


_ENVIRONMENT: Final = {
    # One thread each: after a fork there is only one, and stacks and heaps of threads count as memory.
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "ARROW_IO_THREADS": "1",
    "MALLOC_ARENA_MAX": "1",
    # Arrow's own allocators reserve a GB at once.
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    # Files on read-only and network file systems have no locks; no code is loaded to undo a filter.
    "HDF5_USE_FILE_LOCKING": "FALSE",
    "HDF5_PLUGIN_PRELOAD": "::",
}


def _end(process: subprocess.Popen[bytes], connection: socket.socket) -> None:
    """Leave no template behind: it ends when its connection does."""
    connection.close()
    try:
        process.wait(2.0)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _module_path() -> str:
    """Return where this process finds modules, for one that is started elsewhere."""
    return os.pathsep.join(os.path.abspath(entry) for entry in sys.path)


class _SharedMemory:
    """Memory without a name that a child fills."""

    def __init__(self) -> None:
        self.descriptor = os.memfd_create("mastd-sandbox")

    def __enter__(self) -> _SharedMemory:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.descriptor)

    def content(self) -> mmap.mmap:
        """Map the memory privately; changed pages are copied then."""
        return mmap.mmap(self.descriptor, 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE)


def _unpacked(shared: _SharedMemory, path: Path) -> Packed:
    """Return what ``fork_server`` has put into shared memory, arrays where they are."""
    content = shared.content()
    length = int.from_bytes(content[:8], "little")
    message = json.loads(content[8 : 8 + length])
    if "error" in message:
        raise FormatError(_placed(path, message["error"]))
    arrays = []
    offset = aligned(8 + length)
    for shape in message["shapes"]:
        count = int(np.prod(shape))
        array = np.frombuffer(content, np.float64, count, offset).reshape(shape)
        arrays.append(array)
        offset += 8 * count
    return Packed(message["document"], arrays)


def aligned(offset: int) -> int:
    """Return the next aligned offset of an array."""
    return (offset + 63) // 64 * 64


def _placed(path: Path, text: str) -> str:
    """Return an error's text in one line for each problem, with the path as the user gave it."""
    lines = text.replace(os.path.abspath(path), str(path)).splitlines()
    return "\n".join(line if line.startswith(str(path)) else f"{path}: {line}" for line in lines)


def _size(path: Path) -> int:
    try:
        found = path.stat()
    except (OSError, ValueError) as error:
        raise FormatError(f"{path}: cannot be read: {getattr(error, 'strerror', error)}") from error
    if not stat.S_ISREG(found.st_mode):
        raise FormatError(f"{path}: is not a file")
    return found.st_size


OUT_OF_MEMORY: Final = 3
"""Exit code of a child that could not allocate what it needs."""


def _ending(status: int, library: str, seconds: float, memory: int) -> str:
    """Say in one line how a child ended that has no answer."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number in (signal.SIGPROF, signal.SIGALRM):
            return f"damaged: {library} cannot read it in {seconds:.1f} s"
        return f"damaged: {library} crashes ({signal.strsignal(number)})"
    if os.WEXITSTATUS(status) == OUT_OF_MEMORY:
        return f"damaged: {library} needs more than {memory / 1e6:.0f} MB"
    return f"damaged: {library} ends with code {os.WEXITSTATUS(status)}"


def pack(measurement: Measurement) -> Packed:
    """Return a measurement in a form that a child can send."""
    arrays: list[FloatArray] = []
    series = []
    for one in measurement.series:
        if one.abscissae is not None:
            arrays.append(one.abscissae)
        arrays.extend(channel.values for channel in one.channels)
        series.append(
            {
                "step": one.step,
                "start": one.start,
                "places": one.abscissae is not None,
                "axis": one.axis,
                "axis_unit": one.axis_unit,
                "name": one.name,
                "channels": [[c.name, c.unit, c.description] for c in one.channels],
            }
        )
    document = {
        "format": measurement.format,
        "series": series,
        "notes": dict(measurement.notes),
        "warnings": list(measurement.warnings),
    }
    return Packed(document, arrays)


def unpack(packed: Packed) -> Measurement:
    """Return the measurement packed by a child, with its library's messages as warnings."""
    arrays = iter(packed.arrays)
    document = packed.document
    series = []
    for one in document["series"]:
        positions = next(arrays) if one["places"] else None
        channels = tuple(
            Channel(name, unit, next(arrays), description) for name, unit, description in one["channels"]
        )
        series.append(
            Series(
                channels,
                one["step"],
                one["start"],
                positions,
                one["axis"],
                one["axis_unit"],
                name=one["name"],
            )
        )
    warnings = (*document["warnings"], *(one_line(message) for message in document.get("said", ())))
    return Measurement(document["format"], tuple(series), document["notes"], warnings)
