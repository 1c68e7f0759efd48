"""What the header of an OpenCRG file states, block by block, with the line in which each thing stands.

A header ends with a line of ``$$$$``. Blocks begin with ``$NAME`` and end with a ``$``; lines that begin with
``*`` and what follows a ``!`` are comments. Source: ASAM OpenCRG 1.2, file format.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from mastd.errors import FormatError

CODINGS: Final = ("LRFI", "LDFI", "KRBI", "KDBI")
"""Text of 10 and of 20 characters a number, binary of 4 and of 8 bytes; the binary ones big end first."""
MAX_HEADER_LENGTH: Final = 1_000_000
"""Bytes; the definition of a long section takes some thirty."""
MAX_NAME_LENGTH: Final = 1000
"""Characters of the name of another file."""
REFERENCE_CHANNELS: Final = {"phi": "rad", "slope": "m/m", "banking": "m/m"}
"""Channels of the reference line, and their units."""

_LINE_KEYS: Final = ("u", "x", "y", "z", "phi", "s", "b", "lon", "lat", "alt")
ROAD_KEYS: Final = {
    "reference_line_start": _LINE_KEYS,
    "reference_line_end": _LINE_KEYS,
    "reference_line_offset": ("x", "y", "z", "phi"),
    "reference_line": ("increment",),
    "long_section_v": ("right", "left", "increment"),
}
OPTION_KEYS: Final = {
    "border": ("mode_u", "mode_v", "offset_u", "offset_v", "smooth_ubeg", "smooth_uend"),
    "refline": ("continuation", "search_far", "search_close", "search_u", "search_ufrac"),
    "warn": ("msgs", "curv_local", "curv_global"),
    "log": ("msgs", "eval", "eval_freq", "hist", "hist_freq", "stat", "stat_freq"),
    "check": ("eps", "inc", "tol", "wgs", "pro"),
}
MODIFIER_KEYS: Final = {
    "scale": ("z_grid", "slope", "banking", "length", "width", "curvature"),
    "grid_nan": ("mode", "offset"),
    "refline": ("rotcenter_x", "rotcenter_y", "offset_phi", "offset_x", "offset_y", "offset_z"),
    "refpoint_u": ("fraction", "offset"),
    "refpoint_v": ("fraction", "offset"),
    "refpoint": ("u", "v", "x", "y", "z", "phi"),
}
"""What the keys of a block begin with, and their endings; in small letters, any may stand in a file."""


def _whole(keys: Mapping[str, Sequence[str]]) -> frozenset[str]:
    return frozenset(f"{begin}_{end}" for begin, ends in keys.items() for end in ends)


_BLOCKS: Final = {
    "ROAD_CRG": _whole(ROAD_KEYS),
    "ROAD_CRG_OPTS": _whole(OPTION_KEYS),
    "ROAD_CRG_MODS": _whole(MODIFIER_KEYS),
}
_NO_NUMBERS: Final = {"", "CT", "KD_DEFINITION", "ROAD_CRG_FILE", "ROAD_CRG_MPRO"}
_MAX_PROBLEMS: Final = 20
_END: Final = re.compile(rb"(?:^|[\r\n])(\$\$\$\$[^\r\n]*)(\r\r\n|\r\n|\n|\r)")
_SECTION: Final = re.compile(r"long section\s+(?:at v\s*=\s*(\S+)|(\d{1,9}))")


@dataclass(frozen=True)
class Stated:
    """A number of the header and where it stands."""

    value: float
    path: Path
    line: int

    @property
    def location(self) -> str:
        """File and line, as messages begin."""
        return f"{self.path}:{self.line}"


@dataclass(frozen=True)
class Column:
    """A channel of the data: ``reference`` names one of ``REFERENCE_CHANNELS``, or else it is a long section,
    at ``v`` (m) or of a ``number`` from 1 on."""

    name: str
    line: int
    reference: str = ""
    v: float | None = None
    number: int | None = None


@dataclass(eq=False)
class Header:
    """What is stated; ``road``, ``options`` and ``modifiers`` by key in small letters, None without a block.

    ``lines``: how many there are, the last of them ``$$$$``. ``reference``: name of another file that holds
    the road, and the line where it stands.
    """

    path: Path
    blocks: dict[str, dict[str, Stated]] = field(default_factory=dict)
    columns: list[Column] = field(default_factory=list)
    coding: str = ""
    comment: list[str] = field(default_factory=list)
    reference: tuple[str, int] | None = None
    virtual_u: tuple[float, float, int] | None = None
    lines: int = 0
    warnings: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def road(self) -> dict[str, Stated]:
        return self.blocks.get("ROAD_CRG", {})

    @property
    def options(self) -> dict[str, Stated] | None:
        return self.blocks.get("ROAD_CRG_OPTS")

    @property
    def modifiers(self) -> dict[str, Stated] | None:
        return self.blocks.get("ROAD_CRG_MODS")

    def number(self, key: str, default: float = math.nan) -> float:
        """Return a number of $ROAD_CRG."""
        stated = self.road.get(key)
        return default if stated is None else stated.value

    def add_problem(self, problem: str) -> None:
        """Note a problem; raise FormatError with all of them when there are too many to continue."""
        self.problems.append(problem)
        if len(self.problems) >= _MAX_PROBLEMS:
            self.check()

    def check(self) -> None:
        """Raise FormatError if there are problems."""
        if self.problems:
            raise FormatError("\n".join(self.problems))

    def warn(self, warning: str) -> None:
        """Add a warning, up to their maximum number."""
        if len(self.warnings) < _MAX_PROBLEMS:
            self.warnings.append(warning)


def read_header(path: Path, content: bytes) -> tuple[Header, bytes]:
    """Return a file's header and the bytes after it.

    The data may only be missing in a file that refers to another one. Raises FormatError, one line for each
    problem with its location.
    """
    end = _END.search(content, 0, MAX_HEADER_LENGTH)
    header = Header(path)
    text = content[: end.start(1) if end else MAX_HEADER_LENGTH].decode("latin-1")
    lines = re.split(r"\r\r\n|\r\n|\n|\r", text)
    header.lines = len(lines) if end else 0
    block = ""
    for number, line in enumerate(lines, start=1):
        if line.startswith("$"):
            name = line[1:].split("!")[0].split()
            block = name[0].upper() if name else ""
            _begin(header, block, number)
        elif block == "CT":
            header.comment.append(_printable(line.rstrip()))
        elif not line.lstrip().startswith("*"):
            _take(header, block, number, line.split("!")[0].strip())
    header.check()
    if end is None and header.reference is None:
        raise FormatError(f"{path}: header without terminating $$$$ line: not an OpenCRG file, or truncated")
    return header, content[end.end() :] if end else b""


def number_of(text: str) -> float | None:
    """Return a finite number, None for any other text; the exponent may be a D."""
    try:
        value = float(text.strip().lower().replace("d", "e"))
    except ValueError:
        return None
    return value if math.isfinite(value) and "_" not in text else None


def _begin(header: Header, block: str, line: int) -> None:
    if block in _BLOCKS:
        header.blocks.setdefault(block, {})
    elif block not in _NO_NUMBERS:
        header.warn(f"{header.path}:{line}: block ${_some(block)} is unknown: ignored")
    if block == "ROAD_CRG_FILE":
        if header.reference is not None:
            header.add_problem(f"{header.path}:{line}: a second $ROAD_CRG_FILE, expected one")
        header.reference = "", line


def _take(header: Header, block: str, line: int, text: str) -> None:
    if not text:
        return
    if block in _BLOCKS:
        _take_number(header, block, line, text)
    elif block == "KD_DEFINITION":
        _take_definition(header, line, text)
    elif block == "ROAD_CRG_FILE" and header.reference is not None:
        # A name that is longer than a line goes on in the next one.
        name, first = header.reference
        if len(name) + len(text) > MAX_NAME_LENGTH:
            warning = f"a name of more than {MAX_NAME_LENGTH} characters"
            raise FormatError(f"{header.path}:{line}: $ROAD_CRG_FILE: {warning}")
        header.reference = name + text, first


def _take_number(header: Header, block: str, line: int, text: str) -> None:
    key, equals, number = (part.strip() for part in text.partition("="))
    location = f"{header.path}:{line}"
    if not equals:
        header.add_problem(f"{location}: {_some(text)!r} in ${block}, expected KEY = number")
        return
    value = number_of(number)
    if value is None:
        header.add_problem(f"{location}: {_some(key)}: {_some(number)!r} is not a finite number")
        return
    numbers = header.blocks[block]
    before = numbers.get(key.lower())
    if key.lower() not in _BLOCKS[block]:
        header.warn(f"{location}: {_some(key)} is unknown in ${block}: ignored")
    elif before is not None and before.value != value:
        header.add_problem(f"{location}: {key} is {value:g} here and {before.value:g} in line {before.line}")
    else:
        numbers[key.lower()] = Stated(value, header.path, line)


def _take_definition(header: Header, line: int, text: str) -> None:
    kind, location = text[:2].upper(), f"{header.path}:{line}"
    if kind == "#:":
        if header.coding:
            header.add_problem(f"{location}: a second format {_some(text)!r}")
        header.coding = text[2:].strip()[:4].upper()
        if header.coding not in CODINGS:
            header.add_problem(f"{location}: format {header.coding!r}: expected one of {', '.join(CODINGS)}")
    elif kind == "D:":
        _take_channel(header, line, text[2:])
    elif kind == "U:":
        start, increment = (number_of(part) for part in (*text.split(",")[2:4], "", "")[:2])
        if start is not None and increment is not None:
            header.virtual_u = start, increment, line
    else:
        header.add_problem(f"{location}: {_some(text)!r} in $KD_Definition, expected D:, U: or #:")


def _take_channel(header: Header, line: int, text: str) -> None:
    name, _, unit = (part.strip() for part in text.partition(","))
    name, unit = " ".join(name.lower().split()), unit.split(",")[0].strip()
    location, section = f"{header.path}:{line}", _SECTION.fullmatch(name)
    reference = name.removeprefix("reference line ")
    if section:
        due = "m"
        v = None if section[1] is None else number_of(section[1])
        if section[1] is not None and v is None:
            header.add_problem(f"{location}: {_some(name)}: {_some(section[1])!r} is not a finite number")
        header.columns.append(Column(name, line, "", v, int(section[2]) if section[2] else None))
    elif reference != name and reference in REFERENCE_CHANNELS:
        due = REFERENCE_CHANNELS[reference]
        if any(column.reference == reference for column in header.columns):
            header.add_problem(f"{location}: a second channel {name!r}")
        header.columns.append(Column(name, line, reference))
    else:
        known = ", ".join(REFERENCE_CHANNELS)
        header.add_problem(
            f"{location}: channel {_some(name)!r} is unknown, expected long sections by number or v, and "
            f"reference line {known}"
        )
        return
    if unit != due:
        header.add_problem(f"{location}: {_some(name)}: unit {_some(unit)!r}, expected {due}")


def _some(text: str, maximum: int = 40) -> str:
    return _printable(text if len(text) <= maximum else text[: maximum - 1] + "…")


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else "?" for character in text)
