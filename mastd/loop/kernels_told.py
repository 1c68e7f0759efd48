"""Tells the service manager of every kernel that has to be compiled, so that a first start has its time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import event

from mastd.loop.notify import ServiceManager

_EVENT = "numba:compile"


_events: Any = event  # numba has no types


class _Listener(event.Listener):
    """Counts the kernels; one that is found in the cache is none."""

    def __init__(self, manager: ServiceManager) -> None:
        self._manager = manager
        self._count = 0

    def on_start(self, _event: Any) -> None:
        self._count += 1
        self._manager.busy(
            f"compiling kernel {self._count}: the first start after an installation takes some minutes"
        )

    def on_end(self, _event: Any) -> None:
        """The next one tells."""


@contextmanager
def compiling_told(manager: ServiceManager) -> Iterator[None]:
    """Tell of each kernel that is compiled in this context."""
    listener = _Listener(manager)
    _events.register(_EVENT, listener)
    try:
        yield
    finally:
        _events.unregister(_EVENT, listener)
