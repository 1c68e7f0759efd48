"""Reading a file's bytes and lines, and replacing a file at once: what all formats share."""

from __future__ import annotations

import os
import re
import stat
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from mastd.errors import FormatError

MAX_BYTES: Final = 4_000_000_000
"""Of a file that is read whole."""
MAX_TEXT: Final = 2_000_000_000
"""Of a text that is read whole."""
_LINE_END: Final = re.compile(r"\r\r\n|\r\n|\n|\r")
_NOT_TEXT: Final = re.compile(rb"[\x00-\x08\x0e-\x19\x1b-\x1f]")


def head_of(path: Path, count: int) -> bytes:
    """Return the first bytes of a file; raise FormatError where it cannot be read."""
    try:
        _refuse_streams(path)
        with path.open("rb") as file:
            return file.read(count)
    except OSError as error:
        raise FormatError(f"{path}: cannot be read: {error.strerror}") from error


def content_of(path: Path, maximum: int = MAX_BYTES) -> bytes:
    """Return the bytes of a file; raise FormatError where it cannot be read or has more than ``maximum``."""
    try:
        size = _refuse_streams(path)
        if size > maximum:
            raise FormatError(f"{path}: too large: {size / 1e6:.0f} MB, at most {maximum / 1e6:.0f} MB")
        with path.open("rb") as file:
            content = file.read(maximum + 1)
    except OSError as error:
        raise FormatError(f"{path}: cannot be read: {error.strerror}") from error
    if len(content) > maximum:
        raise FormatError(f"{path}: too large: more than {maximum / 1e6:.0f} MB")
    return content


def _refuse_streams(path: Path) -> int:
    """Return the size of a regular file; a pipe or a device, on which reading may wait for ever, is none."""
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise FormatError(f"{path}: is not a file")
    return found.st_size


def is_text(content: bytes) -> bool:
    """Return whether bytes may be text: no controls but blanks, line ends and old end-of-file marks."""
    return _NOT_TEXT.search(content) is None


def text_of(path: Path) -> str:
    """Return a file's text, UTF-8 or Latin-1, without the marks with which old programs begin and end it.

    Raises FormatError where it cannot be read or is no text.
    """
    content = content_of(path, MAX_TEXT)
    if (match := _NOT_TEXT.search(content)) is not None:
        line = content.count(b"\n", 0, match.start()) + 1
        raise FormatError(f"{path}:{line}: byte {match.group()[0]:#04x}: not a text file")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    return text.rstrip("\x1a")


def lines_of(path: Path) -> list[str]:
    """Return the lines of a text without their ends (LF, CR LF, CR, or the CR CR LF of old transfers)."""
    return split_lines(text_of(path))


def split_lines(text: str) -> list[str]:
    """Split a text into lines; what follows its last line end is a line only if it is not empty."""
    if "\r" in text:
        text = _LINE_END.sub("\n", text)
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    return lines


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces ``path`` atomically when all is written.

    Raises FormatError where the file system refuses; an exception leaves ``path`` as it was.
    """
    try:
        _refuse_to_replace(path)
        with tempfile.NamedTemporaryFile(
            dir=path.parent, prefix=f".{path.name[:40]}-", suffix=".part", delete=False
        ) as file:
            temporary = Path(file.name)
            try:
                yield file  # type: ignore[misc]
                file.flush()
                os.fsync(file.fileno())
                os.chmod(temporary, 0o666 & ~_umask())
                os.replace(temporary, path)
            except BaseException:
                temporary.unlink(missing_ok=True)
                raise
    except OSError as error:
        raise FormatError(f"{path}: cannot be written: {error.strerror or error}") from error


@contextmanager
def replacing_named(path: Path) -> Iterator[Path]:
    """As ``replacing``, for libraries that write to a path: give one with the same suffix."""
    try:
        _refuse_to_replace(path)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name[:40]}-") as folder:
            temporary = Path(folder, f"part{path.suffix}")
            try:
                yield temporary
            except zlib.error as error:  # a compressor that is closed after its file has refused
                raise (error.__context__ if isinstance(error.__context__, OSError) else error) from None
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())
            os.replace(temporary, path)
    except OSError as error:
        raise FormatError(f"{path}: cannot be written: {error.strerror or error}") from error


def _refuse_to_replace(path: Path) -> None:
    """Raise FormatError where a pipe, a device or a directory has the name of what is to be written."""
    if path.exists() and not path.is_file():
        raise FormatError(f"{path}: exists and is not a file: not replaced")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
