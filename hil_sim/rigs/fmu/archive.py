"""The archive of an FMU: looked through before anything of it is written, then extracted.

An FMU is a ZIP file with ``modelDescription.xml``, ``binaries/PLATFORM/IDENTIFIER.so`` and more (FMI 2.0.4,
section 2.3; FMI 3.0.1, section 2.5). Real files name their members with backslashes, too; those are taken as
slashes. Nothing leaves the directory it is extracted into.
"""

from __future__ import annotations

import re
import shutil
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from platform import machine
from typing import Final
from xml.etree import ElementTree

from mastd.errors import UsageError, printable

DESCRIPTION: Final = "modelDescription.xml"
MAX_FILES: Final = 20_000
MAX_SIZE: Final = 1 << 30
"""Bytes of all members together, extracted."""
MAX_DESCRIPTION: Final = 1 << 26
_LIBRARIES: Final = (".so", ".dll", ".dylib")
_DRIVE: Final = re.compile(r"[A-Za-z]:")
_MAX_NAME_LENGTH: Final = 200


@dataclass(frozen=True)
class Interface:
    """What an FMU is: its version of FMI, 2 or 3, and the name of its library."""

    major: int
    version: str
    identifier: str
    fixed_step: float | None
    """s, internal step that the FMU cannot divide; None where it does not say."""

    @property
    def platform(self) -> str:
        """Directory of the binaries that run here."""
        processor = {"amd64": "x86_64", "arm64": "aarch64"}.get(machine().lower(), machine().lower())
        if self.major == 3:
            return f"{processor}-linux"
        return "linux64" if processor == "x86_64" else f"linux-{processor}"


class FmuArchive:
    """An FMU's file, open for reading; use it as a context manager.

    Raises UsageError, one line, for a file that is no FMU or must not be extracted: not a ZIP file, without a
    description, with a path that leads outside, larger than ``MAX_SIZE`` or of more than ``MAX_FILES`` files.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._zip = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            raise UsageError(f"{path}: is no FMU: not a ZIP file ({error})") from error
        except OSError as error:
            raise UsageError(f"{path}: cannot be read: {error.strerror or error}") from error
        try:
            self._members = self._looked_through()
        except BaseException:
            self._zip.close()
            raise

    def __enter__(self) -> FmuArchive:
        return self

    def __exit__(self, *error: object) -> None:
        self._zip.close()

    def _looked_through(self) -> dict[str, zipfile.ZipInfo]:
        """Return the files by their names with slashes."""
        entries = self._zip.infolist()
        if len(entries) > MAX_FILES:
            raise UsageError(f"{self.path}: holds {len(entries)} files, at most {MAX_FILES} are taken")
        size = sum(entry.file_size for entry in entries)
        if size > MAX_SIZE:
            raise UsageError(
                f"{self.path}: would take {size / 1e6:.0f} MB extracted, at most {MAX_SIZE / 1e6:.0f} MB are "
                "taken"
            )
        found: dict[str, zipfile.ZipInfo] = {}
        for entry in entries:
            name = self._inside(entry.filename)
            if name and not entry.filename.endswith(("/", "\\")):
                found[name] = entry
        if DESCRIPTION not in found:
            raise UsageError(f"{self.path}: is no FMU: it holds no {DESCRIPTION}")
        if found[DESCRIPTION].file_size > MAX_DESCRIPTION:
            raise UsageError(
                f"{self.path}: {DESCRIPTION} has {found[DESCRIPTION].file_size / 1e6:.0f} MB, at most "
                f"{MAX_DESCRIPTION / 1e6:.0f} MB are taken"
            )
        return found

    def _inside(self, written: str) -> str:
        """Return a member's name with slashes; raise UsageError for one that leads outside."""
        name = written.replace("\\", "/")
        parts = name.split("/")
        if name.startswith("/") or _DRIVE.match(name) or ".." in parts or "\0" in name:
            shown = printable(written[:_MAX_NAME_LENGTH], keep="")
            raise UsageError(f"{self.path}: holds {shown!r}, a path outside the archive: it is not extracted")
        return "/".join(part for part in parts if part not in {"", "."})

    def interface(self) -> Interface:
        """Return what the FMU is, from its description.

        Raises UsageError for a description that is not XML, and for everything but co-simulation of FMI 2
        and 3.
        """
        try:
            root = ElementTree.fromstring(self._read(DESCRIPTION))
        except (ElementTree.ParseError, ValueError) as error:
            raise UsageError(f"{self.path}: {DESCRIPTION} is not XML: {_line(error)}") from error
        version = printable(root.get("fmiVersion", "")[:20], keep="")
        if root.tag != "fmiModelDescription" or not version:
            raise UsageError(f"{self.path}: {DESCRIPTION} does not state its version of FMI")
        major = version.partition(".")[0]
        if major not in {"2", "3"}:
            raise UsageError(f"{self.path}: has FMI {version}, expected FMI 2.0 or 3.0; export it again")
        element = root.find("CoSimulation")
        if element is None:
            kinds = {"ModelExchange": "model exchange", "ScheduledExecution": "scheduled execution"}
            has = " and ".join(text for tag, text in kinds.items() if root.find(tag) is not None)
            raise UsageError(
                f"{self.path}: is for {has or 'nothing'} only, expected co-simulation: export it for "
                "co-simulation"
            )
        identifier = element.get("modelIdentifier", "")
        if not re.fullmatch(r"[A-Za-z_]\w*", identifier, re.ASCII):
            shown = printable(identifier[:_MAX_NAME_LENGTH], keep="")
            raise UsageError(f"{self.path}: modelIdentifier {shown!r} is no name of a library")
        try:
            fixed = element.get("fixedInternalStepSize")
            step = None if fixed is None else float(fixed)
        except ValueError as error:
            raise UsageError(f"{self.path}: fixedInternalStepSize is no number: {fixed!r}") from error
        return Interface(int(major), version, identifier, step)

    def library(self, interface: Interface) -> str:
        """Return the name of the binary for this machine; raise UsageError, with what there is, for none."""
        wanted = f"binaries/{interface.platform}/{interface.identifier}.so"
        if wanted in self._members:
            return wanted
        there = sorted(
            {name.split("/")[1] for name in self._members if re.fullmatch(_BINARY, name, re.ASCII)}
        )
        if interface.platform in there:
            raise UsageError(f"{self.path}: holds no {wanted}, other libraries only")
        sources = any(name.startswith("sources/") and name.endswith(".c") for name in self._members)
        has = printable(", ".join(there), keep="") or "no binary at all"
        raise UsageError(
            f"{self.path}: has no binary for this machine ({interface.platform}); it has {has}"
            + ("; its C sources are there: compile them with 'fmpy compile'" if sources else "")
        )

    def extract(self, directory: Path) -> None:
        """Write all files below ``directory``; raise UsageError for one that is damaged or encrypted."""
        for name, entry in self._members.items():
            target = directory / name
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                with self._zip.open(entry) as source, target.open("wb") as file:
                    shutil.copyfileobj(source, file)
            except _DAMAGE as error:
                shown = printable(name[:_MAX_NAME_LENGTH], keep="")
                raise UsageError(f"{self.path}: {shown} cannot be extracted: {_line(error)}") from error

    def _read(self, name: str) -> bytes:
        try:
            return self._zip.read(self._members[name])
        except _DAMAGE as error:
            raise UsageError(f"{self.path}: {name} cannot be read: {_line(error)}") from error


_BINARY: Final = rf"binaries/[^/]+/.*({'|'.join(re.escape(end) for end in _LIBRARIES)})"
_DAMAGE: Final = (zipfile.BadZipFile, zlib.error, OSError, EOFError, RuntimeError, NotImplementedError)


def _line(error: BaseException) -> str:
    return printable(" ".join(str(error).split())[:_MAX_NAME_LENGTH], keep="")
