"""Tells of kernels that have to be compiled: people once, the service manager at each one.

So somebody who waits, or reads a log, sees why nothing happens, and a service's first start has its time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from mastd.kernel_cache import tell
from mastd.loop.realtime.systemd_notify import ServiceManager

FIRST_TIME = (
    "compiling the kernels, the first time only: up to three minutes on two cores, five with a vehicle"
)
COMPILED = "numba:compile"
"""The event around each compilation; what is found in the cache makes none."""


@contextmanager
def report_compiling(
    manager: ServiceManager | None = None, say: Callable[[str], None] = tell
) -> Iterator[None]:
    """Tell the manager of each kernel that is compiled in this context, and ``say`` it at the first one."""
    from numba.core import event

    class Listener(event.Listener):
        count = 0

        def on_start(self, _event: Any) -> None:
            self.count += 1
            if manager is not None:
                manager.busy(f"kernel {self.count}: {FIRST_TIME}")
            if self.count == 1:
                say(FIRST_TIME)

        def on_end(self, _event: Any) -> None:
            """The next one tells."""

    install: Any = event.install_listener
    with install(COMPILED, Listener()):
        yield
