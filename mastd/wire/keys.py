"""Keys of operators on other machines: CURVE certificates in one directory.

::

    server.key            server.key_secret        who this daemon is (clients need the first)
    operators/NAME.key    observers/NAME.key       who may connect, and as what
    private/NAME.key_secret                        to be handed to NAME, then deleted here

The directory and every secret belong to one user alone (0700, 0600). A key that is added counts from the next
connection on, one that is removed is heard no more at once.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import zmq
from zmq.auth import create_certificates, load_certificate

from mastd.errors import UsageError
from mastd.wire.sessions import Guest

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_FOLDERS = ("operators", "observers")


def keys_directory() -> Path:
    """Return where keys are kept unless told otherwise: the service's configuration, or the user's."""
    service = os.environ.get("CONFIGURATION_DIRECTORY")
    if service:
        return Path(service.split(":")[0]) / "keys"
    base = os.environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "mastd" / "keys"


def read_key(path: Path, secret: bool) -> tuple[bytes, bytes]:
    """Return public and secret key of a certificate (secret empty unless asked for); UsageError if wrong."""
    try:
        public, private = load_certificate(path)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: no key there; make one with `mastd keys`") from error
    if secret and private is None:
        raise UsageError(f"{path}: holds no secret key; the file with it ends in .key_secret")
    return public, private or b""


class KeyRing:
    """The certificates in one directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._stamp: tuple[int, ...] = ()
        self._guests: dict[bytes, Guest] = {}

    @property
    def server_key(self) -> Path:
        """File with the server's public key, which clients need."""
        return self.directory / "server.key"

    def server(self) -> tuple[bytes, bytes]:
        """Return the server's public and secret key; raise UsageError if there are none."""
        path = self.directory / "server.key_secret"
        if not path.exists():
            raise UsageError(f"{path}: the daemon has no key of its own; make it with `mastd keys server`")
        return read_key(path, secret=True)

    def make_server(self) -> Path:
        """Make the server's keys; raise UsageError if they are there already."""
        self._prepare()
        if self.server_key.exists():
            raise UsageError(f"{self.server_key}: is there already; remove it to begin anew")
        with _private_files():
            create_certificates(self.directory, "server")
        return self.server_key

    def add(self, name: str, observer: bool) -> Path:
        """Make keys for ``name``; return the file with the secret one, to be handed over."""
        if not _NAME.fullmatch(name):
            raise UsageError(
                f"{name!r} cannot be the name of a key: letters, digits and . _ @ -, at most 64 of them"
            )
        self._prepare()
        for folder in _FOLDERS:
            if (self.directory / folder / f"{name}.key").exists():
                raise UsageError(f"{name} is among the {folder} already; remove that key first")
        private = self.directory / "private"
        with _private_files():
            public_file, secret_file = create_certificates(private, name)
        os.replace(public_file, self.directory / _FOLDERS[observer] / f"{name}.key")
        return Path(secret_file)

    def remove(self, name: str) -> None:
        """Forget the keys of ``name``; raise UsageError if there are none."""
        found = False
        for folder in _FOLDERS:
            path = self.directory / folder / f"{name}.key"
            if _NAME.fullmatch(name) and path.exists():
                path.unlink()
                found = True
        if not found:
            raise UsageError(f"{name!r} has no key in {self.directory}; see `mastd keys`")
        (self.directory / "private" / f"{name}.key_secret").unlink(missing_ok=True)

    def guests(self) -> dict[bytes, Guest]:
        """Return who may connect, by public key; read anew when a folder has changed."""
        stamp = tuple(_changed_ns(self.directory / folder) for folder in _FOLDERS)
        if stamp != self._stamp:
            self._stamp = stamp
            self._guests = {}
            for folder in _FOLDERS:
                for path in sorted((self.directory / folder).glob("*.key")):
                    with suppress(UsageError):  # a file without a key lets nobody in
                        public, _ = read_key(path, secret=False)
                        self._guests[public] = Guest(path.stem, folder == "observers")
        return self._guests

    def _prepare(self) -> None:
        if not zmq.has("curve"):
            raise UsageError("this build of ZeroMQ has no CURVE; install pyzmq from its wheel")
        try:
            for folder in ("", *_FOLDERS, "private"):
                (self.directory / folder).mkdir(mode=0o700, parents=True, exist_ok=True)
            self.directory.chmod(0o700)
        except OSError as error:
            raise UsageError(f"{self.directory}: cannot keep keys here: {error.strerror}") from error


def _changed_ns(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


@contextmanager
def _private_files() -> Iterator[None]:
    """Create files that only this user can read, from their first moment."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)
