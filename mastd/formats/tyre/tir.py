"""Magic Formula tyre property files (.tir): PAC2002, MF 5.2 and MF 6.1.

A file is made of sections ``[NAME]``, assignments ``KEY = number`` or ``KEY = 'text'``, comments behind ``$``
or ``!``, and tables: a line ``{heading}`` with rows of numbers below it. Names are taken in any case. The
section ``[UNITS]`` says in which units the parameters with a dimension are written; the coefficients of the
formula itself are ratios and radians in every file.

The formats are public: *Using the PAC2002 Tire Model* (MSC Software), *MF-Tyre 5.2* and *MF-Tyre/MF-Swift 6.1
equation manuals* (TNO), Pacejka, *Tire and Vehicle Dynamics*, 3rd ed., chapter 4 and appendix 3.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal

from mastd.errors import FormatError
from mastd.formats.tyre import tir_names as names
from mastd.formats.tyre.tir_limits import improbable
from mastd.formats.tyre.tir_names import Format

Side = Literal["left", "right", "symmetric"]

_MAX_PROBLEMS: Final = 20
"""Problems that one message tells at most."""
_MAX_BYTES: Final = 4_000_000
_MAX_SHOWN: Final = 40
_MAX_VALUE: Final = 1e12
"""No number of a tyre is as large in SI; what is above zero is at least the inverse of it."""
_TEXT_SECTIONS: Final = {"MDI_HEADER", "UNITS", "MODEL", "COMMENTS", ""}
_BINARY = re.compile(r"[\x00-\x08\x0b\x0e-\x19\x1b-\x1f]")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eEdD][+-]?[0-9]+)?", re.ASCII)
_NOT_FINITE = re.compile(r"[+-]?(?:nan|inf|infinity)", re.IGNORECASE)
_SPELLINGS: Final = {"LFZ0": "LFZO", "QRE0": "Q_RE0", "LKYG": "LKYC", "LKZG": "LKZC", "TIRE_SIDE": "TYRESIDE"}
_SIDES: Final[dict[str, Side]] = {"LEFT": "left", "RIGHT": "right", "SYMMETRIC": "symmetric"}


@dataclass(frozen=True, eq=False)
class TyreProperties:
    """What a tyre property file says, in SI units."""

    name: str
    """The file's name without its ending."""
    format: Format
    side: Side
    """Side of the vehicle the tyre was measured on."""
    coefficients: Mapping[str, float]
    """Every number of the file by its name in capitals; what the file does not give is not there."""
    warnings: tuple[str, ...]

    def get(self, name: str, default: float = 0.0) -> float:
        """Return a coefficient, ``default`` where the file does not give it."""
        return self.coefficients.get(name, default)


@dataclass(frozen=True)
class _Entry:
    section: str
    text: str
    quoted: bool
    line: int
    column: int


@dataclass
class _Reading:
    """What was found so far."""

    path: Path
    entries: dict[str, _Entry] = field(default_factory=dict)
    units: dict[str, _Entry] = field(default_factory=dict)
    header: dict[str, _Entry] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)
    """Names that stand in the file, but without a value that could be read."""
    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    tables: list[str] = field(default_factory=list)
    section: str = ""
    last_line: int = 0

    def refuse(self, line: int, column: int, problem: str) -> None:
        self.problems.append(f"{self.path}:{line}:{column}: {problem}")

    def refuse_entry(self, name: str, problem: str) -> None:
        entry = self.entries[name]
        self.refuse(entry.line, entry.column, f"{name}: {problem}")


def read_tir(path: Path | str) -> TyreProperties:
    """Read a tyre property file.

    Raises FormatError, one line for each problem, for a file that cannot be read or is no text or nothing of
    a tyre, an unknown format, missing coefficients, unknown units, values that are no finite numbers or
    cannot be a tyre's, names that stand there twice, and a file that is cut off.
    """
    path = Path(path)
    reading = _Reading(path)
    _split(reading, _text(path))
    if not (reading.units or reading.broken or reading.entries.keys() & names.TELLING):
        raise FormatError(f"{path}: not a tyre property file: it has no format, unit or coefficient of one")
    factors = _unit_factors(reading)
    coefficients = _numbers(reading, factors)
    kind = _format(reading, coefficients)
    side = _side(reading)
    if kind is not None:
        _check_needs(reading, kind)
        _check_ranges(reading, coefficients)
    if kind is not None and not reading.problems:
        _report(reading, kind, coefficients)
    if reading.problems or kind is None:
        hidden = len(reading.problems) - _MAX_PROBLEMS
        more = [f"{path}: and {hidden} more problems"] if hidden > 0 else []
        raise FormatError("\n".join(reading.problems[:_MAX_PROBLEMS] + more))
    return TyreProperties(path.stem, kind, side, MappingProxyType(coefficients), tuple(reading.warnings))


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise FormatError(f"{path}: cannot be read: {reason}") from error
    if len(data) > _MAX_BYTES:
        raise FormatError(f"{path}: is larger than {_MAX_BYTES // 1_000_000} MB, which no tyre file is")
    if not data.strip():
        raise FormatError(f"{path}: is empty")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        # Comments in the encodings of old programs; the names and numbers are ASCII.
        text = data.decode("latin-1")
    found = _BINARY.search(text)
    if found:
        line = text.count("\n", 0, found.start()) + 1
        raise FormatError(f"{path}:{line}: not text (byte 0x{ord(found[0]):02x})")
    return text


def _split(reading: _Reading, text: str) -> None:
    """Sort the lines of a file into sections, assignments and tables."""
    lines = re.split(r"\r\n|\n|\r", text.replace("\x1a", "").replace("\f", " "))
    reading.last_line = len(lines) if lines[-1].strip() else max(len(lines) - 1, 1)
    in_table = False
    for number, line in enumerate(lines, start=1):
        unfinished = number == len(lines)
        content, open_quote = _without_comment(line)
        stripped = content.strip()
        column = len(content) - len(content.lstrip()) + 1
        if not stripped:
            continue
        if stripped[0] == "[":
            in_table = False
            if not stripped.endswith("]") or len(stripped) < 3:
                reading.refuse(number, column, _cut("a section is written [NAME]", unfinished))
                continue
            reading.section = stripped[1:-1].strip().upper()
        elif stripped[0] == "{":
            in_table = True
            reading.tables.append(reading.section)
        elif "=" in stripped and not (in_table and stripped[0] in "'\""):
            in_table = False
            _assign(reading, number, content, unfinished, open_quote)
        elif not in_table:
            shown = repr(stripped[:_MAX_SHOWN])
            problem = f"{shown} is neither NAME = value nor [SECTION]"
            reading.refuse(number, column, _cut(problem, unfinished))


def _cut(problem: str, unfinished: bool) -> str:
    return f"{problem}; the file is cut off here" if unfinished else problem


def _without_comment(line: str) -> tuple[str, bool]:
    """Return a line before its comment, and whether a quote is open at its end."""
    quote = ""
    for index, letter in enumerate(line):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter in "$!":
            return line[:index], False
    return line, bool(quote)


def _assign(reading: _Reading, line: int, content: str, unfinished: bool, open_quote: bool) -> None:
    """Take one NAME = value."""
    before, _, after = content.partition("=")
    name, text = before.strip().upper(), after.strip()
    if not _NAME.fullmatch(name):
        reading.refuse(line, 1, f"{before.strip()[:_MAX_SHOWN]!r} is not a valid name")
        return
    name = _SPELLINGS.get(name, name)
    column = len(before) + 1 + len(after) - len(after.lstrip()) + 1
    if not text or open_quote:
        problem = "a quote is not closed" if text else "there is no value"
        reading.refuse(line, column, _cut(f"{name}: {problem}", unfinished))
        reading.broken.add(name)
        return
    quoted = text[0] in "'\""
    entry = _Entry(reading.section, text.strip("'\"").strip() if quoted else text, quoted, line, column)
    home = {"UNITS": reading.units, "MDI_HEADER": reading.header}.get(reading.section, reading.entries)
    if name in home:
        reading.refuse(line, 1, f"{name} is already given in line {home[name].line}; remove one of them")
        return
    home[name] = entry


def _unit_factors(reading: _Reading) -> dict[str, float]:
    """Return the SI value of one unit of each quantity."""
    factors = dict.fromkeys(names.UNITS, 1.0)
    for quantity, known in names.UNITS.items():
        entry = reading.units.get(quantity)
        if entry is None:
            continue
        factor = known.get(entry.text.lower().replace(" ", "_"))
        if factor is None:
            first = {known[name]: name for name in reversed(known)}
            listed = ", ".join(name for name in known if name in first.values())
            problem = f"{quantity}: {entry.text[:_MAX_SHOWN]!r} is an unknown unit, known are {listed}"
            reading.refuse(entry.line, entry.column, problem)
        else:
            factors[quantity] = factor
    absent = [name for name in ("LENGTH", "FORCE", "ANGLE", "MASS", "TIME") if name not in reading.units]
    if absent:
        reading.warnings.append(f"[UNITS] does not give {', '.join(absent)}: read as SI")
    if factors["ANGLE"] != 1.0:
        reading.warnings.append(
            "ANGLE is degree: the ranges are read in degrees, the coefficients in radians"
        )
    return factors


def _numbers(reading: _Reading, factors: Mapping[str, float]) -> dict[str, float]:
    """Return the numbers of the file in SI."""
    found: dict[str, float] = {}
    for name, entry in reading.entries.items():
        text = entry.text
        if entry.quoted or not _NUMBER.fullmatch(text):
            shown = repr(text[:_MAX_SHOWN])
            if _NOT_FINITE.fullmatch(text) and not entry.quoted:
                reading.refuse_entry(name, f"{shown} is not finite")
            elif name in names.NUMBERS or not (entry.quoted or _may_be_text(name, entry)):
                comma = re.fullmatch(r"[+-]?[0-9]+,[0-9]+.*", text)
                hint = "; the decimal sign is a point" if comma else ""
                reading.refuse_entry(name, f"{shown} is not a number{hint}")
            continue
        value = float(text.replace("d", "e").replace("D", "e"))
        for quantity, power in names.POWERS.get(name, {}).items():
            value *= factors[quantity] ** power
        if not math.isfinite(value):
            reading.refuse_entry(name, f"{text[:_MAX_SHOWN]!r} is not finite")
        elif not abs(value) <= _MAX_VALUE:
            reading.refuse_entry(name, f"{text[:_MAX_SHOWN]!r} is an implausible value")
        else:
            found[name] = value
    return found


def _may_be_text(name: str, entry: _Entry) -> bool:
    return name in {"PROPERTY_FILE_FORMAT", "TYRESIDE"} or entry.section in _TEXT_SECTIONS


def _format(reading: _Reading, coefficients: Mapping[str, float]) -> Format | None:
    """Return which formula the file is for; note the problem if that is unknown."""
    entry = reading.entries.get("PROPERTY_FILE_FORMAT")
    text = re.sub(r"[\s._/-]", "", entry.text).upper() if entry else ""
    version = coefficients.get("FITTYP")
    by_version = names.FORMATS_BY_VERSION.get(int(version)) if version is not None else None
    if version is not None and (entry is None or text in names.VERSIONED):
        if by_version is None or version != int(version):
            reading.refuse_entry("FITTYP", f"{version:g} is not read here; {names.FORMATS_TEXT}")
            return None
        return by_version
    if entry is None:
        if reading.entries:
            problem = "neither PROPERTY_FILE_FORMAT nor FITTYP states the format"
            reading.problems.append(f"{reading.path}: {problem}; {names.FORMATS_TEXT}")
        return None
    found = names.FORMATS_BY_TEXT.get(text)
    if found is None:
        shown = repr(entry.text[:_MAX_SHOWN])
        reading.refuse_entry("PROPERTY_FILE_FORMAT", f"{shown} is not read here; {names.FORMATS_TEXT}")
    return found


def _side(reading: _Reading) -> Side:
    entry = reading.entries.get("TYRESIDE")
    if entry is None:
        reading.warnings.append("TYRESIDE is not given: read as LEFT")
        return "left"
    side = _SIDES.get(entry.text.upper())
    if side is None:
        shown = repr(entry.text[:_MAX_SHOWN])
        reading.refuse_entry("TYRESIDE", f"{shown} is an unknown side, known are LEFT, RIGHT, SYMMETRIC")
        return "left"
    return side


def _check_needs(reading: _Reading, kind: Format) -> None:
    """Note which coefficients are missing without which there is no tyre."""
    needed = list(names.NEEDED[kind])
    if any(name in reading.entries for name in names.COMBINED_ALL):
        needed += names.COMBINED
    if kind != "PAC2002" and "QFZ1" in reading.entries:
        needed.remove("VERTICAL_STIFFNESS")
    missing = [name for name in needed if name not in reading.entries and name not in reading.broken]
    if missing:
        where = f"it ends in line {reading.last_line}, in [{reading.section}]"
        reading.problems.append(f"{reading.path}: {kind} needs {', '.join(missing)}, missing here; {where}")


def _check_ranges(reading: _Reading, coefficients: Mapping[str, float]) -> None:
    """Note values that no tyre has."""
    for name in names.POSITIVE:
        if name not in coefficients:
            continue
        if not coefficients[name] > 0.0:
            reading.refuse_entry(name, f"{coefficients[name]:g} is not above zero")
        elif not coefficients[name] >= 1.0 / _MAX_VALUE:
            reading.refuse_entry(name, f"{coefficients[name]:g} is an implausible value")
    for name in names.NOT_NEGATIVE:
        if name in coefficients and not coefficients[name] >= 0.0:
            reading.refuse_entry(name, f"{coefficients[name]:g} is below zero")
    for name, problem in improbable(coefficients):
        reading.refuse_entry(name, problem)
    cornering = coefficients.get("PKY1")
    if cornering is not None and not cornering < 0.0:
        problem = f"{cornering:g} is not below zero; in a file's axes (y left) a slip to the left pulls right"
        reading.refuse_entry("PKY1", problem)
    _check_stance(reading, coefficients)


def _check_stance(reading: _Reading, coefficients: Mapping[str, float]) -> None:
    """Note a rim as large as the tyre, and a vertical law that ends before the tyre is flat."""
    radius, load = coefficients.get("UNLOADED_RADIUS", 0.0), coefficients.get("FNOMIN", 0.0)
    if not (radius > 0.0 and load > 0.0):
        return
    rim = coefficients.get("RIM_RADIUS", 0.0)
    if not rim < radius:
        reading.refuse_entry("RIM_RADIUS", f"{rim:g} m is not below the free radius, {radius:g} m")
    second = coefficients.get("QFZ2", 0.0)
    first = coefficients.get("QFZ1", 0.0)
    square = (coefficients.get("VERTICAL_STIFFNESS", 0.0) * radius / load) ** 2 - 4.0 * second
    first = first or math.sqrt(max(square, 0.0))
    sunk = 1.0 - rim / radius
    if "QFZ2" in coefficients and not (first > 0.0 and first + 2.0 * second * sunk > 0.0):
        reading.refuse_entry(
            "QFZ2", f"{second:g} leaves no vertical stiffness between the ground and the rim"
        )


def _report(reading: _Reading, kind: Format, coefficients: Mapping[str, float]) -> None:
    """Note what a user should know of how an incomplete file is taken."""
    warnings = reading.warnings

    def absent(listed: Iterable[str]) -> list[str]:
        return [name for name in dict.fromkeys(listed) if name not in reading.entries]

    missing = absent(names.USUAL[kind])
    if missing:
        warnings.append(f"missing, assumed 0: {', '.join(missing)}")
    lacking = absent(names.COMBINED_ALL)
    if len(lacking) == len(names.COMBINED_ALL):
        warnings.append("no coefficients of combined slip (R...): a friction ellipse joins Fx and Fy")
    elif lacking:
        warnings.append(f"missing, assumed 0: {', '.join(lacking)}")
    if len(absent(names.OVERTURNING)) == len(names.OVERTURNING):
        warnings.append("no coefficients of the overturning moment (QSX...): Mx is 0")
    if coefficients.get("QSY1", 0.0) == 0.0 and coefficients.get("QSY2", 0.0) == 0.0:
        # What the older formats' manuals take for rolling resistance then, as far as it is one.
        drives = coefficients["PKX1"] * coefficients.get("PHX1", 0.0) + coefficients.get("PVX1", 0.0) >= 0.0
        old = "the shifts of Fx are taken for it" if not drives and kind != "MF 6.1" else "My is 0"
        warnings.append(f"no coefficients of rolling resistance (QSY1, QSY2): {old}")
    stiffnesses = ("LONGITUDINAL_STIFFNESS", "LATERAL_STIFFNESS")
    for length, stiffness in zip(("PTX1", "PTY1"), stiffnesses, strict=True):
        if stiffness not in coefficients and (kind == "MF 6.1" or not coefficients.get(length, 0.0) > 0.0):
            wanted = stiffness if kind == "MF 6.1" else f"{length}, {stiffness}"
            warnings.append(f"no {wanted}: carcass stiffness assumed a usual multiple of the vertical one")
    if "BREFF" not in coefficients:
        warnings.append("no BREFF, DREFF, FREFF: the rolling radius falls by a third of the deflection")
    if not {"BOTTOM_OFFST", "BOTTOMING_RADIUS"} & coefficients.keys():
        how = "a stiff spring from 10 mm above the rim" if "RIM_RADIUS" in coefficients else "it never does"
        warnings.append(f"no BOTTOM_OFFST, BOTTOMING_RADIUS, how the tyre bottoms: {how}")
    turning = [name for name in names.TURN_SLIP if coefficients.get(name, 0.0) != 0.0]
    if turning:
        warnings.append(f"turn slip is not calculated: {', '.join(turning)}")
    for name, what in _NOT_TAKEN.items():
        if coefficients.get(name, 0.0) != 0.0:
            warnings.append(f"{name} is ignored: {what}")
    if coefficients.get("FITTYP") == 62:
        warnings.append("MF 6.2 is calculated by the formulas of MF 6.1")
    for section in dict.fromkeys(reading.tables):
        if section not in {"SHAPE", "COMMENTS", "MDI_HEADER", ""}:
            warnings.append(f"the table in [{section}] is ignored")


_NOT_TAKEN: Final = {
    "LMUV": "friction does not fall with the speed of slip",
    "QV1": "the radius does not grow with speed",
    "Q_V1": "the radius does not grow with speed",
    "QV2": "the vertical stiffness does not grow with speed",
    "Q_V2": "the vertical stiffness does not grow with speed",
    "QFCX": "the load does not depend on Fx",
    "Q_FCX": "the load does not depend on Fx",
    "QFCY": "the load does not depend on Fy",
    "Q_FCY": "the load does not depend on Fy",
}
