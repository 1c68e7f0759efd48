"""Addresses of the plant link and of the operators: which ones are allowed, and where socket files live."""

from __future__ import annotations

import contextlib
import fcntl
import getpass
import grp
import ipaddress
import os
import re
import shutil
import stat
import tempfile
from pathlib import Path

from mastd.errors import UsageError

OPERATORS_SOCKET = "mastd.operators"
DAEMON_LOCK = "daemon.lock"
"""Name of the file in the runtime directory that says which daemon is there: its process id and kind."""
SERVICE_DIRECTORY = Path("/run/mastd")
"""Runtime directory of this machine's service; who may enter it is an operator."""
OBSERVERS_SOCKET = "mastd.observers"
OBSERVERS_DIRECTORY = Path("/run/mastd-observers")
"""Directory beside it, made by the installation; who may enter it is an observer."""
MAX_PATH_LENGTH = 107  # bytes of a Unix socket's path (unix(7): sun_path holds 108 with its closing zero)
_LONGEST_USUAL = len("mastd.telemetry")
_LONGEST_PRIVATE = len("mastd-4194304-12345678/mastd.telemetry")  # the largest process id that Linux gives
_FORMS = "ipc:///path/of/socket, ipc://@name or tcp://127.0.0.1:port"
_PRIVATE = re.compile(r"mastd-([1-9][0-9]{0,8})-[a-z0-9_]+")
_PROCESS_ID = re.compile(r"[1-9][0-9]{0,8}")
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_MAX_LOCK_LENGTH = 100
_TCP = re.compile(r"tcp://(\[[0-9a-fA-F:.]+\]|[^:/\[\]]+):(\d+|\*)")


def check_address(address: str, allow_remote: bool = False, what: str = "plant address") -> str:
    """Return ``address`` if the plant link may use it; raise UsageError otherwise, with ``what`` it is.

    The link neither authenticates nor encrypts, so an address that other machines reach needs the explicit
    permission ``allow_remote`` (a network of its own for the drive).
    """
    if address.startswith("ipc://"):
        path = address.removeprefix("ipc://")
        if not path.strip("@") or not (path.startswith(("/", "@"))):
            raise UsageError(f"{what} {address!r}: a path must be absolute; use {_FORMS}")
        if len(os.fsencode(path)) > MAX_PATH_LENGTH:
            raise UsageError(
                f"{what} {address!r}: the path is longer than {MAX_PATH_LENGTH} bytes; use a shorter one"
            )
        return address
    match = _TCP.fullmatch(address)
    if match is None:
        raise UsageError(f"{what} {address!r} is not understood; use {_FORMS}")
    host, port = match.groups()
    if port != "*" and not 0 < int(port) < 65536:
        raise UsageError(f"{what} {address!r}: port {port} must be 1 to 65535")
    if host == "localhost":
        return f"tcp://127.0.0.1:{port}"
    try:
        number = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        raise UsageError(f"{what} {address!r}: the host must be an IP address, not {host!r}") from None
    if not number.is_loopback and not allow_remote:
        raise UsageError(
            f"{what} {address!r} is reachable from other machines and the link is not protected; "
            "use a loopback address, or permit it with --allow-remote"
        )
    return address


def private_directory() -> Path:
    """Make and return a new directory that only this user can enter, for the sockets of one run.

    It lies in the service's runtime directory, in the user's, or in the temporary one, and is named by the
    process id. Those that killed processes of this user have left there are removed. Raises UsageError as
    ``runtime_directory``.
    """
    directory = _usable(_LONGEST_PRIVATE, own=False)
    _remove_left_behind(directory)
    return Path(tempfile.mkdtemp(prefix=f"mastd-{os.getpid()}-", dir=directory))


def process_lives(process_id: int) -> bool:
    """Return whether there is a process of this id, whoever's it is."""
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _remove_left_behind(directory: Path) -> None:
    """Remove the private directories of this user whose processes have died."""
    try:
        found = [(path, match) for path in directory.iterdir() if (match := _PRIVATE.fullmatch(path.name))]
    except OSError:
        return
    for path, match in found:
        with contextlib.suppress(OSError):  # another process may be removing it, too
            status = path.lstat()
            own = stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid()
            if own and not process_lives(int(match[1])):
                shutil.rmtree(path, ignore_errors=True)


def runtime_directory() -> Path:
    """Return the directory for sockets and locks: the service's, the user's, or a private temporary one.

    Passed over is one that somebody else owns (after ``su``), that cannot be written to, or whose path leaves
    no room for a socket's. Raises UsageError with the reasons where none is left.
    """
    return _usable(_LONGEST_USUAL, own=True)


def _usable(longest: int, *, own: bool) -> Path:
    """Return the first directory in which sockets of ``longest`` bytes may lie.

    ``own``: a temporary one must be this user's alone, and is made.
    """
    reasons = []
    for variable in ("RUNTIME_DIRECTORY", "XDG_RUNTIME_DIR"):
        value = os.environ.get(variable, "").split(":")[0]
        if value:
            reason = _against(Path(value), longest)
            if not reason:
                return Path(value)
            reasons.append(f"{variable}: {reason}")
    for base in dict.fromkeys((tempfile.gettempdir(), "/tmp")):
        directory = Path(base) / f"mastd-{os.getuid()}" if own else Path(base)
        with contextlib.suppress(OSError):
            if own:
                directory.mkdir(mode=0o700, exist_ok=True)
        link = own and directory.is_symlink()  # that somebody has laid in the way
        reason = f"{directory} is a link" if link else _against(directory, longest, shared=not own)
        if not reason:
            return directory
        reasons.append(reason)
    raise UsageError(
        f"no directory for sockets: {'; '.join(reasons)}. Set XDG_RUNTIME_DIR to a directory of your own "
        "with a short path"
    )


def _against(directory: Path, longest: int, *, shared: bool = False) -> str:
    """Return why sockets of ``longest`` bytes cannot lie in a directory, empty if they can."""
    room = MAX_PATH_LENGTH - longest - 1
    if len(os.fsencode(directory)) > room:
        return f"{directory} is longer than {room} bytes"
    try:
        status = directory.stat()
    except OSError as error:
        return f"{directory}: {error.strerror}"
    if not shared and status.st_uid != os.getuid():
        return f"{directory} belongs to somebody else"
    if not stat.S_ISDIR(status.st_mode) or not os.access(directory, os.W_OK | os.X_OK, effective_ids=True):
        return f"{directory} cannot be written to"
    return ""


def operators_address() -> str:
    """Return the address at which the gateway of this user's daemon answers operators."""
    return f"ipc://{runtime_directory()}/{OPERATORS_SOCKET}"


def daemon_address() -> str:
    """Return where operators find a daemon: this user's own one, else the service of this machine; of that
    the observers' socket, where this user may use no other.

    Raises UsageError when there is only the service and this user may not speak with it.
    """
    own = operators_address()
    if usual_daemon(own) is not None or _is_served(own):
        return own
    if not SERVICE_DIRECTORY.is_dir():
        return own
    socket = SERVICE_DIRECTORY / OPERATORS_SOCKET
    if not os.access(SERVICE_DIRECTORY, os.X_OK) or (socket.exists() and not os.access(socket, os.W_OK)):
        watched = OBSERVERS_DIRECTORY / OBSERVERS_SOCKET
        if os.access(watched, os.W_OK):
            return f"ipc://{watched}"
        raise UsageError(_not_in_group())
    return f"ipc://{socket}" if socket.exists() else own


def sockets_umask(operators: str) -> int:
    """Return the umask for a gateway's socket files: a service's are for its group, others for one user."""
    return 0o117 if _is_service(operators) else 0o177


def observers_address(operators: str) -> str | None:
    """Return where a service answers those who only watch; None where nobody but its operators is served.

    That is a directory beside the service's own, ``DIRECTORY-observers``, that belongs to the service's user.
    """
    if not _is_service(operators):
        return None
    own = Path(operators.removeprefix("ipc://")).parent
    directory = own.with_name(f"{own.name}-observers")
    try:
        found = directory.lstat()
    except OSError:
        return None
    fits = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & _OTHERS_WRITE
    return f"ipc://{directory}/{OBSERVERS_SOCKET}" if fits else None


def _is_service(operators: str) -> bool:
    """Return whether an address lies in a service's runtime directory that its group may enter."""
    directory = Path(operators.removeprefix("ipc://")).parent
    with contextlib.suppress(OSError):
        service = directory == Path(os.environ.get("RUNTIME_DIRECTORY", "").split(":")[0])
        return operators.startswith("ipc:///") and service and bool(directory.stat().st_mode & stat.S_IXGRP)
    return False


def _is_served(operators: str) -> bool:
    """Return whether a gateway holds the lock beside its socket, whatever became of its daemon."""
    try:
        with open(f"{operators.removeprefix('ipc://')}.lock", encoding="ascii") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _not_in_group() -> str:
    try:
        group = grp.getgrgid(SERVICE_DIRECTORY.stat().st_gid).gr_name
    except KeyError:
        group = str(SERVICE_DIRECTORY.stat().st_gid)
    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # a user without a name
        user = str(os.getuid())
    return (
        f"the service of this machine has its sockets in {SERVICE_DIRECTORY}, and you are not in group "
        f"{group}: `sudo adduser {user} {group}`, then log in again"
    )


def usual_daemon(operators: str) -> int | None:
    """Return the process id of the daemon that holds the lock beside a usual address, None if none lives."""
    path = Path(operators.removeprefix("ipc://"))
    if not operators.startswith("ipc:///") or path.name != OPERATORS_SOCKET:
        return None
    try:
        with open(path.with_name(DAEMON_LOCK), encoding="ascii") as file:
            text = file.read(_MAX_LOCK_LENGTH).partition(" ")[0]
            process_id = int(text) if _PROCESS_ID.fullmatch(text) else 0
            # The lock is tried only where a process lives, so that it is not in the way of one that starts.
            if not process_id or not process_lives(process_id):
                return None
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return process_id
    except (OSError, ValueError):
        return None
    return None


def snapshots_address(operators: str) -> str:
    """Return the address of the status socket beside an ``ipc://`` address for operators."""
    return f"{operators.removesuffix('.operators')}.status"


def telemetry_address(operators: str) -> str:
    """Return the address of the telemetry socket beside an ``ipc://`` address for operators."""
    return f"{operators.removesuffix('.operators')}.telemetry"


def rigs_address(operators: str) -> str:
    """Return the address of the rigs' socket: beside that for operators, or three ports on."""
    if operators.startswith("tcp://"):
        host, _, port = operators.rpartition(":")
        return f"{host}:{int(port) + 3}"
    return f"{operators.removesuffix('.operators')}.rigs"
