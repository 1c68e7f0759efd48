"""Fork server of ``mastd.formats.sandbox.reader``: imports a library, and forks for each file.

Called as ``python -m mastd.formats.sandbox.fork_server SOCKET PARENT MODULE LIBRARY…``. It says ``ready`` or
what is wrong with the library, then takes requests (a JSON document with the descriptor of the memory for the
answer) and gives back the exit status of the child that it has forked for each.
"""

from __future__ import annotations

import contextlib
import gc
import json
import logging
import os
import resource
import select
import signal
import socket
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import numpy as np

from mastd.errors import MastdError
from mastd.formats.core.packages import one_line
from mastd.formats.sandbox.reader import OUT_OF_MEMORY, Packed, aligned

_MAX_MESSAGES: Final = 10


def main() -> int:
    """Serve the process that started this one until it ends."""
    descriptor, parent, module, *libraries = sys.argv[1:]
    # It ends with its parent, not with what is sent to all processes of a terminal.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    connection = socket.socket(fileno=int(descriptor))
    os.set_inheritable(connection.fileno(), False)
    watched = os.pidfd_open(int(parent))
    if os.getppid() != int(parent):
        return 1
    try:
        for library in libraries:
            import_module(library)
        readers = import_module(module)
        # What libraries load at the first use is loaded once, and not in each child.
        getattr(readers, "first_use", lambda: None)()
    except Exception as error:
        connection.send(one_line(f"{type(error).__name__}: {error}").encode())
        return 1
    gc.collect()
    gc.freeze()
    with contextlib.suppress(ConnectionError):
        connection.send(b"ready")
        _serve(connection, watched, readers)
    return 0


def _serve(connection: socket.socket, parent: int, readers: ModuleType) -> None:
    while _first_ready(connection.fileno(), parent) != parent:
        message, descriptors, _, _ = socket.recv_fds(connection, 65536, 1)
        if not message:
            return
        # A child that is killed leaves its temporary files behind.
        with tempfile.TemporaryDirectory(prefix="mastd-sandbox-", ignore_cleanup_errors=True) as folder:
            child = os.fork()
            if child == 0:
                os._exit(_child(json.loads(message), descriptors[0], readers, folder))
            os.close(descriptors[0])
            status = _status(child, connection.fileno(), parent)
        if status is None:
            return
        connection.send(str(status).encode())


def _first_ready(*descriptors: int) -> int:
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    return poll.poll()[0][0]


def _status(child: int, connection: int, parent: int) -> int | None:
    """Return how a child has ended; None, and end it, where nobody waits for that any more."""
    ended = os.pidfd_open(child)
    try:
        if _first_ready(ended, connection, parent) != ended:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return None
        return os.waitpid(child, 0)[1]
    finally:
        os.close(ended)


def _child(request: Mapping[str, Any], memory: int, readers: ModuleType, folder: str) -> int:
    """Read one file into the memory; return the exit code."""
    try:
        tempfile.tempdir = folder
        _limit(request)
        with _listening() as messages:
            try:
                packed = getattr(readers, request["function"])(Path(request["path"]))
                message = {
                    "document": {**packed.document, "said": messages[:_MAX_MESSAGES]},
                    "shapes": [list(array.shape) for array in packed.arrays],
                }
            except MastdError as error:
                packed = Packed({}, ())
                message = {"error": str(error)}
            except MemoryError:
                return OUT_OF_MEMORY
            except BaseException as error:
                packed = Packed({}, ())
                message = {"error": f"damaged: {_reason(error)}"}
        _put(memory, message, packed)
    except MemoryError:
        return OUT_OF_MEMORY
    except BaseException:
        return 1
    return 0


def _reason(error: BaseException) -> str:
    """Return what an exception says in one line; of a missing key Python gives the bare key."""
    if isinstance(error, KeyError) and len(error.args) == 1:
        key = error.args[0]
        return one_line(key) if isinstance(key, str) and " " in key else f"{key} is missing"
    return one_line(str(error)) or type(error).__name__


def _put(memory: int, message: Mapping[str, Any], packed: Packed) -> None:
    """Write the message's length, the message, and the arrays one after the other."""
    text = json.dumps(message).encode()
    start = len(text).to_bytes(8, "little") + text
    with open(memory, "wb", buffering=0) as file:
        file.write(start.ljust(aligned(len(start)), b"\0"))
        for array in packed.arrays:
            rest = np.ascontiguousarray(array, dtype=np.float64).reshape(-1).data.cast("B")
            while len(rest):
                rest = rest[file.write(rest) :]


def _limit(request: Mapping[str, Any]) -> None:
    """Bound this process: allocated memory, written files, processor and wall time (a signal ends it)."""
    for number in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, request["seconds"])
    signal.setitimer(signal.ITIMER_REAL, request["wall"])
    with open("/proc/self/statm", encoding="ascii") as file:
        used = int(file.read().split()[5]) * resource.getpagesize()
    for limit, value in (
        (resource.RLIMIT_DATA, used + int(request["memory"])),
        (resource.RLIMIT_FSIZE, int(request["written"])),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(limit, (value, value))
    # Where the machine has less memory than that, this process ends first.
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


@contextlib.contextmanager
def _listening() -> Iterator[list[str]]:
    """Collect what libraries warn of by Python's means; what they print goes nowhere."""
    messages: list[str] = []

    def note(text: str) -> None:
        line = one_line(text)
        if line and line not in messages:
            messages.append(line)

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            note(record.getMessage())

    listener = Listener(logging.WARNING)
    logging.getLogger().addHandler(listener)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for category in (UserWarning, RuntimeWarning):
            warnings.simplefilter("default", category)
        warnings.showwarning = lambda message, *_, **__: note(str(message))
        yield messages
    logging.getLogger().removeHandler(listener)


if __name__ == "__main__":
    sys.exit(main())
