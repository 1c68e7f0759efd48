"""Where the console listens, and by which names it may be called.

A page of somebody else could have its name resolved to this machine (DNS rebinding): requests that call the
console by a foreign name are refused. The port is not compared, since ``ssh -L`` may lead from another one.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from dataclasses import dataclass

from mastd.errors import UsageError

MAX_BUFFER = 64 * 1024
"""Bytes for a browser that the kernel takes (and doubles): a slow browser must be noticed, not fed."""
_LISTEN = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^:\[\]/]+):(\d{1,5})")
_HOST = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]+)(?::\d{1,5})?")


@dataclass(frozen=True)
class Endpoint:
    """An address to listen at; ``name`` as the user gave it, ``secure`` with a certificate."""

    name: str
    address: str
    port: int
    secure: bool

    @property
    def scheme(self) -> str:
        """http or https."""
        return "https" if self.secure else "http"

    def url(self, port: int) -> str:
        """Return the address of the page."""
        name = f"[{self.name}]" if ":" in self.name else self.name
        return f"{self.scheme}://{name}:{port}/"

    def listen(self) -> socket.socket:
        """Return a bound socket; UsageError where that is not possible."""
        family = socket.AF_INET6 if ":" in self.address else socket.AF_INET
        listener = socket.socket(family, socket.SOCK_STREAM)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MAX_BUFFER)
            listener.bind((self.address, self.port))
            listener.listen(64)
        except OSError as error:
            listener.close()
            hint = "is another console running? `--listen 127.0.0.1:0` takes any free port"
            raise UsageError(f"--listen {self.name}:{self.port}: {error.strerror}; {hint}") from None
        return listener

    def called(self, host: str) -> bool:
        """Return whether a Host header means this console."""
        match = _HOST.fullmatch(host)
        if match is None:
            return False
        name = match[1].strip("[]").lower().rstrip(".")
        own = ipaddress.ip_address(self.address)
        local = own.is_loopback or own.is_unspecified
        try:
            number = ipaddress.ip_address(name)
        except ValueError:
            # Other names reach the machine only where a certificate proves that they are meant.
            machine = socket.gethostname().lower()
            known = name == machine or name.startswith(f"{machine.partition('.')[0]}.")
            return name == self.name.lower() or (local and name == "localhost") or (self.secure and known)
        return number == own or own.is_unspecified or (number.is_loopback and local)


def endpoint(listen: str, secure: bool) -> Endpoint:
    """Return the endpoint of ``--listen``; UsageError if it is malformed, or open to others unprotected."""
    match = _LISTEN.fullmatch(listen)
    if match is None or int(match[2]) > 65535:
        raise UsageError(f"--listen {listen!r} is not understood; use ADDRESS:PORT, such as 127.0.0.1:8080")
    name, port = match[1].strip("[]"), int(match[2])
    try:
        found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise UsageError(f"--listen {listen}: the name {name!r} is not known") from None
    address = str(found[0][4][0])
    if not ipaddress.ip_address(address).is_loopback and not secure:
        raise UsageError(
            f"--listen {listen} is reachable from other machines: give --certificate and --private-key, "
            "or listen at 127.0.0.1 and connect by `ssh -L`"
        )
    return Endpoint(name, address, port, secure)
