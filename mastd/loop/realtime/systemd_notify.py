"""What the service manager is told: that the daemon is ready, its state in words, that its loop advances.

The protocol is that of sd_notify(3) and sd_watchdog_enabled(3). One datagram holds lines ``NAME=value``.
Nothing here ever waits: what could not be sent is kept and goes with the next datagram, the newest value of
each name. Without ``NOTIFY_SOCKET`` nothing is sent at all.

While the daemon prepares something that cannot be interrupted (kernels, other processes), ``busy`` asks for
patience: it extends the running start or stop time-out and lengthens the watchdog's. ``attentive`` ends that.
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
_PING = b"WATCHDOG=1"
_PING_NS = 250_000_000
_NEVER_NS = -(1 << 62)


class ServiceManager:
    """The way to the service manager at ``address``, empty for none.

    ``watchdog_us`` is the time-out of its watchdog, 0 for none. It is for one thread: the watchdog is fed
    only where ``alive`` is called.
    """

    def __init__(self, address: str = "", watchdog_us: int = 0) -> None:
        self.interval_ns = min(_PING_NS, watchdog_us * 1000 // 2) if watchdog_us else _PING_NS
        """Time between two pings: at most half of the time-out."""
        self._watchdog_us = watchdog_us
        # A name that begins with "@" lies in the abstract namespace, where a zero byte stands for it.
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self._socket: socket.socket | None = None
        self._waiting: dict[str, bytes] = {}
        self._status = ""
        self._pinged_ns = _NEVER_NS
        if address.startswith(("/", "@")):
            with contextlib.suppress(OSError):
                self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
                self._socket.setblocking(False)

    @classmethod
    def from_environment(cls, environment: MutableMapping[str, str] = os.environ) -> ServiceManager:
        """Return the one that this process was started by; the variables are taken away.

        No process that is started later may speak in this one's place.
        """
        address = environment.pop("NOTIFY_SOCKET", "")
        interval = environment.pop("WATCHDOG_USEC", "")
        meant = environment.pop("WATCHDOG_PID", "")
        wanted = interval.isdecimal() and meant in ("", str(os.getpid()))
        return cls(address, int(interval) if wanted else 0)

    def status(self, text: str) -> None:
        """Show a state in words from the next datagram on; an unchanged one costs nothing."""
        if text != self._status:
            self._status = text
            self._keep("STATUS", _one_line(text))

    def busy(self, text: str, patience_s: float = PATIENCE_S) -> None:
        """Show what is being prepared and ask for patience until the next word."""
        self.status(text)
        patience_us = round(patience_s * 1e6)
        self._keep("EXTEND_TIMEOUT_USEC", b"%d" % patience_us)
        if self._watchdog_us:
            self._keep("WATCHDOG_USEC", b"%d" % max(patience_us, self._watchdog_us))
        self._send(ping=True)

    def attentive(self) -> None:
        """Take the patience back: from now on ``alive`` is called often enough."""
        self._waiting.pop("EXTEND_TIMEOUT_USEC", None)
        if self._watchdog_us:
            self._keep("WATCHDOG_USEC", b"%d" % self._watchdog_us)
        self._send(ping=True)

    def ready(self) -> None:
        """Tell that the daemon is up; also after a reload."""
        self._waiting.pop("RELOADING", None)
        self._keep("READY", b"1")
        self._send(ping=False)

    def reloading(self) -> None:
        """Report that the settings are being reloaded; ``ready`` ends it."""
        self._waiting.pop("READY", None)
        self._keep("RELOADING", b"1")
        self._keep("MONOTONIC_USEC", b"%d" % (time.monotonic_ns() // 1000))
        self._send(ping=False)

    def stopping(self) -> None:
        """Tell that the daemon is about to end."""
        self._keep("STOPPING", b"1")
        self._send(ping=False)

    def alive(self) -> None:
        """Feed the watchdog if it is time to, and send what has changed with it."""
        now = time.monotonic_ns()
        if now - self._pinged_ns >= self.interval_ns and self._socket is not None:
            self._send(ping=True)

    def close(self) -> None:
        """Send what still waits, and say no more."""
        self._send(ping=False)
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _keep(self, name: str, value: bytes) -> None:
        if self._socket is not None:
            self._waiting.pop(name, None)
            self._waiting[name] = b"%s=%s" % (name.encode(), value)

    def _send(self, ping: bool) -> None:
        """Send what waits, in one datagram; keep it if there is no room."""
        if self._socket is None:
            return
        ping = ping and self._watchdog_us > 0
        self._pinged_ns = time.monotonic_ns()
        if not self._waiting:
            data = _PING
            if not ping:
                return
        else:
            data = b"\n".join((*self._waiting.values(), *((_PING,) if ping else ())))
        try:
            self._socket.sendto(data, self._address)
        except OSError:
            return
        self._waiting.clear()


def _one_line(text: str) -> bytes:
    return " ".join(text.split()).encode()[:MAX_STATUS_LENGTH].decode(errors="ignore").encode()
