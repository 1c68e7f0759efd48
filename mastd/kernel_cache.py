"""Where compiled kernels are kept: a private directory that carries a digest of the sources.

numba's own cache does not notice a change in a *called* function of another file, nor in a constant that
comes from there. The directory's name therefore holds a digest of every source file that holds kernels, and
of those that these import from, wherever the directory lies.

What lies there is run: machine code, and indexes that numba keeps as pickles. So the directory is this
user's, closed to all others, and none but this user and root may put another in its place.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import stat
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

PACKAGES = ("mastd", "hil_sim")
VARIABLE = "MASTD_CACHE"
"""Environment variable: where kernels are kept; ``os.devnull`` keeps none."""
ADVICE = f"set {VARIABLE} to a directory that only you can write to"
_MARK = b"from mastd." + b"kernel import"  # in two, or this file would be one that holds kernels
_IMPORT = re.compile(rb"^from ((?:mastd|hil_sim)[\w.]*) import (\([^)]*\)|.*)$", re.MULTILINE)
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


@dataclass(frozen=True)
class Place:
    """The directory of the kernels, None where none can be kept, and what the user must be told of it."""

    directory: Path | None
    note: str = ""


def find_place(environment: Mapping[str, str], here: Path) -> Place:
    """Make the private directory for the sources below ``here``: where it is wanted, else a temporary one."""
    name = f"kernels-{sources_digest(here)[:16]}"
    wanted = _root(environment)
    if wanted is not None and wanted == Path(os.devnull):
        return Place(None)
    spare = Path(tempfile.gettempdir()) / f"mastd-cache-{os.geteuid()}"
    reasons: list[str] = []
    for root in (wanted, spare):
        if root is None:
            continue
        directory = Path(os.path.realpath(root)) / name
        reason = _close(directory)
        if not reason and reasons:
            return Place(directory, f"compiled kernels are kept in {directory}: {reasons[0]}; {ADVICE}")
        if not reason:
            return Place(directory)
        reasons.append(reason)
    found = "; ".join(reasons)
    return Place(None, f"compiled kernels are not kept, each start takes minutes: {found}; {ADVICE}")


def sources_digest(here: Path) -> str:
    """Return the SHA-256 of all sources of kernels below ``here``."""
    digest = hashlib.sha256()
    for source in _sources(here):
        digest.update(source.relative_to(here).as_posix().encode())
        digest.update(source.read_bytes())
    return digest.hexdigest()


@functools.cache
def tell(text: str) -> None:
    """Say a line on standard error, where there is one, once in a process."""
    with contextlib.suppress(OSError, ValueError):
        if sys.stderr is not None:
            sys.stderr.write(f"mastd: {text.encode('ascii', 'backslashreplace').decode()}\n")


def _root(environment: Mapping[str, str]) -> Path | None:
    """Return where the user or the service keeps caches; None without home."""
    named = (
        (VARIABLE, ""),
        ("NUMBA_CACHE_DIR", "mastd"),
        ("CACHE_DIRECTORY", ""),
        ("XDG_CACHE_HOME", "mastd"),
    )
    for variable, below in named:
        value = environment.get(variable, "").split(":")[0]
        if value:
            return Path(value) / below
    with contextlib.suppress(RuntimeError):  # neither HOME nor an entry in passwd
        return Path.home() / ".cache" / "mastd"
    return None


def _close(directory: Path) -> str:
    """Make a directory that only this user can enter; return what is against it, empty if nothing is."""
    try:
        _make(directory)
        status = directory.lstat()
        if not stat.S_ISDIR(status.st_mode):
            return f"{directory} is no directory"
        ours, mode = status.st_uid == os.geteuid(), stat.S_IMODE(status.st_mode)
        if ours and mode != stat.S_IRWXU and not mode & _OTHERS_WRITE:
            directory.chmod(stat.S_IRWXU)
        for path in (directory, *directory.parents):
            if reason := _open_to_others(path):
                return reason
        if not os.access(directory, os.R_OK | os.X_OK, effective_ids=True):
            return f"{directory} cannot be read"
    except OSError as error:
        return f"{directory.parent}: {error.strerror}"
    return ""


def _make(directory: Path) -> None:
    if not directory.is_dir():
        _make(directory.parent)
        with contextlib.suppress(FileExistsError):
            directory.mkdir(mode=0o700)


def _open_to_others(path: Path) -> str:
    """Return why somebody else could change what lies in ``path``, empty if nobody could."""
    status = path.lstat()
    if status.st_uid not in (os.geteuid(), 0):
        return f"{path} belongs to user {status.st_uid}"
    if status.st_mode & _OTHERS_WRITE and not status.st_mode & stat.S_ISVTX:
        return f"{path} may be written to by others (mode {stat.S_IMODE(status.st_mode):04o})"
    return ""


def _sources(here: Path) -> list[Path]:
    """Return the files that hold kernels and those that they import names from, in order.

    With them come the files of all constants that theirs are computed from, however many lie between.
    """
    found: set[Path] = set()
    for package in PACKAGES:
        for source in (here / package).rglob("*.py"):
            text = source.read_bytes()
            if _MARK in text:
                found |= {source} | _imported(here, text, constants=False)
    left = list(found)
    while left:
        new = _imported(here, left.pop().read_bytes(), constants=True) - found
        found |= new
        left += new
    return sorted(found)


def _imported(here: Path, text: bytes, *, constants: bool) -> set[Path]:
    """Return our files that a source imports names from, with ``constants`` only those of constants."""
    files: set[Path] = set()
    for module, listed in _IMPORT.findall(text):
        names = re.findall(r"\w+", listed.decode())
        if not constants or any(name.isupper() for name in names):
            path = here.joinpath(*module.decode().split("."))
            files |= {path.with_suffix(".py"), *(path / f"{name}.py" for name in names)}
    return {file for file in files if file.is_file()}
