"""Notify the service manager: readiness, status text and watchdog, see sd_notify(3), sd_watchdog_enabled(3).

One datagram holds lines ``NAME=value``. Sending never blocks: what could not be sent is kept and goes with
the next datagram, the newest value of each name. Without ``NOTIFY_SOCKET`` nothing is sent.

While the daemon prepares something that cannot be interrupted (kernels, other processes), ``busy`` extends
the running start or stop time-out and lengthens the watchdog's. ``attentive`` ends that.
"""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import MutableMapping

MAX_STATUS_LENGTH = 480
"""Bytes of a STATUS; `systemctl status` shows it in one line."""
PATIENCE_S = 180.0
"""The longest that one kernel, or one other process, may take on a busy machine until the next word."""
_PING_NS = 250_000_000


class ServiceManager:
    """The service manager at ``address``, empty for none, with the time-out of its watchdog, 0 for none.

    It is for one thread: the watchdog is fed only where ``alive`` is called.
    """

    def __init__(self, address: str = "", watchdog_us: int = 0) -> None:
        self.interval_ns = min(_PING_NS, watchdog_us * 1000 // 2) if watchdog_us else _PING_NS
        """Time between two pings: at most half of the time-out."""
        self._watchdog_us = watchdog_us
        # A name that begins with "@" lies in the abstract namespace, where a zero byte stands for it.
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self._socket: socket.socket | None = None
        self._waiting: dict[str, str | int] = {}
        self._status = ""
        self._sent_ns = -(1 << 62)
        if address.startswith(("/", "@")):
            with contextlib.suppress(OSError):
                self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
                self._socket.setblocking(False)

    @classmethod
    def from_environment(cls, environment: MutableMapping[str, str] = os.environ) -> ServiceManager:
        """Return the manager that started this process; remove its variables, so that no child uses them."""
        address, interval, pid = (
            environment.pop(name, "") for name in ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID")
        )
        return cls(address, int(interval) if interval.isdecimal() and pid in ("", str(os.getpid())) else 0)

    def status(self, text: str) -> None:
        """Show a state in words from the next datagram on; an unchanged one costs nothing."""
        if text != self._status:
            self._status = text
            line = " ".join(text.split())
            data = line.encode(errors="replace")[:MAX_STATUS_LENGTH]
            self._waiting["STATUS"] = data.decode(errors="ignore")

    def busy(self, text: str, patience_s: float = PATIENCE_S) -> None:
        """Show what is being prepared and extend the time-outs until the next word."""
        self.status(text)
        patience_us = round(patience_s * 1e6)
        watchdog = {"WATCHDOG_USEC": max(patience_us, self._watchdog_us)} if self._watchdog_us else {}
        self._send(ping=True, EXTEND_TIMEOUT_USEC=patience_us, **watchdog)

    def attentive(self) -> None:
        """Restore the time-outs: from now on ``alive`` is called often enough."""
        self._waiting.pop("EXTEND_TIMEOUT_USEC", None)
        watchdog = {"WATCHDOG_USEC": self._watchdog_us} if self._watchdog_us else {}
        self._send(ping=True, **watchdog)

    def ready(self) -> None:
        """Report that the daemon is up; also after a reload."""
        self._waiting.pop("RELOADING", None)
        self._send(READY=1)

    def reloading(self) -> None:
        """Report that the settings are being reloaded; ``ready`` ends it."""
        self._waiting.pop("READY", None)
        self._send(RELOADING=1, MONOTONIC_USEC=time.monotonic_ns() // 1000)

    def stopping(self) -> None:
        """Report that the daemon is about to end."""
        self._send(STOPPING=1)

    def alive(self) -> None:
        """Feed the watchdog once its interval has passed, and send what has changed with it."""
        if time.monotonic_ns() - self._sent_ns >= self.interval_ns:
            self._send(ping=True)

    def close(self) -> None:
        """Send what still waits, and close the socket."""
        self._send()
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _send(self, ping: bool = False, **values: int) -> None:
        """Send these values and what waits in one datagram; keep them where the queue is full."""
        if self._socket is None:
            return
        self._waiting.update(values)
        self._sent_ns = time.monotonic_ns()
        lines = [f"{name}={value}" for name, value in self._waiting.items()]
        if ping and self._watchdog_us:
            lines.append("WATCHDOG=1")
        if lines:
            with contextlib.suppress(OSError):
                self._socket.sendto("\n".join(lines).encode(), self._address)
                self._waiting.clear()
