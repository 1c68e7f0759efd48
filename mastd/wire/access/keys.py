"""Keys of clients on other machines: CURVE certificates in one directory.

::

    server.key            server.key_secret        who this daemon is (clients need the first)
    observers/NAME.key    rigs/NAME.key            who may connect, and as what
    operators/NAME.key    engineers/NAME.key
    private/NAME.key_secret                        to be handed to NAME, then deleted here
    revoked/NAME+1.key                             who may not any more

The directory and every secret belong to one user alone (0700, 0600). A key that is made counts from the next
connection on, one that is revoked is heard no more at once.
"""

from __future__ import annotations

import itertools
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import zmq
from zmq.auth import create_certificates, load_certificate

from mastd.errors import UsageError
from mastd.wire.access.roles import Role
from mastd.wire.access.sessions import PeerIdentity

CHECK_INTERVAL_S = 0.005
"""Changes within one tick of the file system's clock (some milliseconds) are seen after so long."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_FOLDERS: dict[Role, str] = {
    "observer": "observers",
    "rig": "rigs",
    "operator": "operators",
    "engineer": "engineers",
}
_REVOKED = "revoked"
_PRIVATE = "private"
_AND_NUMBER = "+"
"""Between name and number of a revoked key; no name has it."""

_Entry = tuple[str, int, int]
"""What tells one key file from another: its name, inode, time of change (ns)."""


def keys_directory() -> Path:
    """Return where keys are kept unless told otherwise: the service's configuration, or the user's."""
    service = os.environ.get("CONFIGURATION_DIRECTORY")
    if service:
        return Path(service.split(":")[0]) / "keys"
    base = os.environ.get("XDG_CONFIG_HOME")
    try:
        return (Path(base) if base else Path.home() / ".config") / "mastd" / "keys"
    except RuntimeError:
        raise UsageError("keys: this user has no home directory; set XDG_CONFIG_HOME") from None


def read_key(path: Path, secret: bool) -> tuple[bytes, bytes]:
    """Return public and secret key of a certificate (secret empty unless asked for); UsageError if wrong."""
    try:
        public, private = load_certificate(path)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: no key there; make one with `mastd keys`") from error
    if secret and private is None:
        raise UsageError(f"{path}: holds no secret key; the file with it ends in .key_secret")
    return public, private or b""


@dataclass(frozen=True)
class KeyEntry:
    """One line of the list of keys: ``made`` is the time of its file (s since 1970)."""

    name: str
    role: Role
    made: float


class KeyRing:
    """The certificates in one directory; ``clock`` gives seconds and does not go back."""

    def __init__(self, directory: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self.directory = directory
        self._clock = clock
        self._changed: tuple[int, ...] = ()
        self._files: tuple[tuple[_Entry, ...], ...] = ()
        self._looked = float("-inf")
        self._identities: dict[bytes, PeerIdentity] = {}
        self._revoked: dict[bytes, str] = {}

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
            raise UsageError(f"{self.server_key}: already exists; remove it to generate a new one")
        with self._writing():
            create_certificates(self.directory, "server")
        return self.server_key

    def new(self, name: str, role: Role = "operator") -> Path:
        """Make keys for ``name``; return the file with the secret one, to be handed over."""
        if not _NAME.fullmatch(name):
            raise UsageError(
                f"{name!r} cannot be the name of a key: letters, digits and . _ @ -, at most 64 of them"
            )
        self._prepare()
        for folder in _FOLDERS.values():
            if (self.directory / folder / f"{name}.key").exists():
                raise UsageError(f"{name} is among the {folder} already; revoke that key first")
        with self._writing():
            public_file, secret_file = create_certificates(self.directory / _PRIVATE, name)
            os.replace(public_file, self.directory / _FOLDERS[role] / f"{name}.key")
        return Path(secret_file)

    def revoke(self, name: str) -> None:
        """Let ``name`` in no more; raise UsageError if there is no such key.

        Its public key is kept, so that whoever comes with it is reported from a stranger.
        """
        paths = [self.directory / folder / f"{name}.key" for folder in _FOLDERS.values()]
        found = [path for path in paths if _NAME.fullmatch(name) and path.exists()]
        if not found:
            raise UsageError(f"{name!r} has no key in {self.directory}; see `mastd keys list`")
        self._prepare()
        with self._writing():
            for path in found:
                os.replace(path, self._grave(name))
            (self.directory / _PRIVATE / f"{name}.key_secret").unlink(missing_ok=True)

    def _grave(self, name: str) -> Path:
        """Return where the public key of ``name`` goes when it is revoked, which may be for the nth time."""
        folder = self.directory / _REVOKED
        paths = (folder / f"{name}{_AND_NUMBER}{number}.key" for number in itertools.count(1))
        return next(path for path in paths if not path.exists())

    def entries(self) -> list[KeyEntry]:
        """Return who may connect, by name."""
        found = []
        for role, folder in _FOLDERS.items():
            for path in (self.directory / folder).glob("*.key"):
                with suppress(UsageError, OSError):
                    read_key(path, secret=False)
                    found.append(KeyEntry(path.stem, role, path.stat().st_mtime))
        return sorted(found, key=lambda entry: entry.name)

    def identities(self) -> dict[bytes, PeerIdentity]:
        """Return who may connect, by public key; read again when something has changed."""
        self._check()
        return self._identities

    def revoked(self) -> dict[bytes, str]:
        """Return the names of the keys that were revoked, by public key."""
        self._check()
        return self._revoked

    def _check(self) -> None:
        folders = [self.directory / folder for folder in (*_FOLDERS.values(), _REVOKED)]
        changed = tuple(_changed_ns(folder) for folder in folders)
        now = self._clock()
        if changed == self._changed and now - self._looked < CHECK_INTERVAL_S:
            return
        files = tuple(_key_files(folder) for folder in folders)
        if files != self._files:
            self._read()
        self._changed, self._files, self._looked = changed, files, now

    def _read(self) -> None:
        self._identities = {}
        # The lesser role counts for a key that stands in two folders.
        for role, folder in reversed(_FOLDERS.items()):
            for public, name in self._in(folder):
                self._identities[public] = PeerIdentity(name, role)
        self._revoked = {public: name.partition(_AND_NUMBER)[0] for public, name in self._in(_REVOKED)}

    def _in(self, folder: str) -> Iterator[tuple[bytes, str]]:
        for path in sorted((self.directory / folder).glob("*.key")):
            with suppress(UsageError):  # a file without a key lets nobody in
                yield read_key(path, secret=False)[0], path.stem

    def _prepare(self) -> None:
        if not zmq.has("curve"):
            raise UsageError("this build of ZeroMQ has no CURVE; install pyzmq from its wheel")
        with self._writing():
            for folder in ("", *_FOLDERS.values(), _PRIVATE, _REVOKED):
                (self.directory / folder).mkdir(mode=0o700, parents=True, exist_ok=True)
            self.directory.chmod(0o700)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Create files that only this user can read, from their first moment."""
        before = os.umask(0o077)
        try:
            yield
        except OSError as error:
            raise UsageError(f"{self.directory}: cannot keep keys here: {error.strerror}") from error
        finally:
            os.umask(before)


def _changed_ns(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _key_files(folder: Path) -> tuple[_Entry, ...]:
    found = []
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):
                status = entry.stat()
                found.append((entry.name, status.st_ino, status.st_mtime_ns))
    return tuple(sorted(found))
