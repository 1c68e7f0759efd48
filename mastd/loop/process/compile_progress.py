"""Tells the service manager of every kernel that has to be compiled, so that a first start has its time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from mastd.loop.realtime.systemd_notify import ServiceManager

FIRST_START = "the first start after an installation compiles the kernels, which takes several minutes"
COMPILED = "numba:compile"
"""The event around each compilation; what is found in the cache makes none."""


@contextmanager
def report_compiling(manager: ServiceManager, say: Callable[[str], None]) -> Iterator[None]:
    """Tell the manager of each kernel that is compiled in this context, and ``say`` it at the first one."""
    from numba.core import event

    class Listener(event.Listener):
        count = 0

        def on_start(self, _event: Any) -> None:
            self.count += 1
            manager.busy(f"compiling kernel {self.count}: {FIRST_START}")
            if self.count == 1:
                say(FIRST_START)

        def on_end(self, _event: Any) -> None:
            """The next one tells."""

    install: Any = event.install_listener
    with install(COMPILED, Listener()):
        yield
