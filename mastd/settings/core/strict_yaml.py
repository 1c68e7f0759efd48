"""Reader of the part of YAML that means the same to everybody, with the place of every value.

Read are block and flow mappings with plain names as keys, sequences, quoted and plain text, decimal numbers,
``true``, ``false`` and ``null``. Everything that YAML 1.1 and 1.2, or two readers, take differently (``on``,
``010``, ``1:30``, dates), and everything a settings file has no use for (anchors, aliases, merge keys, tags,
directives, several documents) is a problem with its line. PyYAML does the scanning; its resolver and its
recursive composer are not used.
"""

from __future__ import annotations

import math
import os
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from mastd.errors import SettingsError

MAX_FILE: Final = 256 * 1024
"""Bytes; the longest sensible settings file is a tenth of it."""

DEEPEST_NESTING: Final = 20


class Refused:
    """Stands for a value whose problem is known already; no second complaint about it is wanted."""

    def __repr__(self) -> str:
        return "(refused)"


REFUSED: Final = Refused()

Scalar = str | int | float | bool | None | Refused
Plain = Scalar | dict[str, "Plain"] | tuple["Plain", ...]
Mark = tuple[int, int]
"""Line and column, counted from 1."""


@dataclass
class Node:
    """One value with its place; ``entries`` for a mapping, ``items`` for a sequence, else ``scalar``."""

    mark: Mark
    scalar: Scalar = None
    entries: dict[str, Node] | None = None
    items: list[Node] | None = None
    key_marks: dict[str, Mark] = field(default_factory=dict)

    def plain(self) -> Plain:
        """Return the value as plain Python data; sequences are tuples."""
        if self.entries is not None:
            return {key: node.plain() for key, node in self.entries.items()}
        if self.items is not None:
            return tuple(node.plain() for node in self.items)
        return self.scalar


@dataclass(frozen=True)
class ReadProblem:
    """One problem of the text itself."""

    mark: Mark
    location: tuple[str | int, ...]
    what: str


class _UnreadableError(Exception):
    """The text cannot be read further; the problems found so far are what can be said."""


def read_text(path: Path) -> str:
    """Return the text of a settings file; raise SettingsError if it is missing, too large or not UTF-8."""
    try:
        if path.exists() and not path.is_file():
            raise SettingsError([f"{path}: cannot be read: not a file"])
        with path.open("rb") as file:
            # What the kernel makes while it is read (/proc) has no size, and may have no end.
            data = file.read(MAX_FILE + 1) if os.fstat(file.fileno()).st_size else b""
    except OSError as error:
        raise SettingsError([f"{path}: cannot be read: {error.strerror}"]) from error
    if len(data) > MAX_FILE:
        raise SettingsError([f"{path}:1:1: (file): larger than {MAX_FILE // 1024} KiB, not a settings file"])
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line, column = _position(data[: error.start].decode("utf-8-sig"), error.start)
        wrong = data[error.start]
        raise SettingsError(
            [f"{path}:{line}:{column}: (file): byte 0x{wrong:02x} is not UTF-8, save the file as UTF-8"]
        ) from error


def parse(text: str) -> tuple[Node | None, list[ReadProblem]]:
    """Return the tree and all problems of a text; no tree if it could not be read to its end."""
    if len(text) > MAX_FILE:
        return None, [ReadProblem((1, 1), (), f"larger than {MAX_FILE // 1024} KiB, not a settings file")]
    builder = _Builder()
    try:
        return builder.document(yaml.parse(text, Loader=yaml.SafeLoader)), builder.problems
    except _UnreadableError:
        return None, builder.problems
    except yaml.reader.ReaderError as error:
        what = f"the character U+{ord(text[error.position]):04X} is not allowed in a settings file"
        return None, [ReadProblem(_position(text, error.position), (), what)]
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = f"invalid YAML: {error.problem or error.context}"
        if error.context and error.problem:
            since = f" that starts in line {error.context_mark.line + 1}" if error.context_mark else ""
            what += f" ({error.context}{since})"
        return None, [*builder.problems, ReadProblem(_mark(mark) if mark else (1, 1), (), what)]


class _Builder:
    """Builds the tree from PyYAML's events and collects problems; recursion is bounded by the nesting."""

    def __init__(self) -> None:
        self.problems: list[ReadProblem] = []

    def document(self, events: Iterator[yaml.Event]) -> Node:
        root: Node | None = None
        documents = 0
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    self._complain(
                        event, (), "a second document starts here, a settings file is one document"
                    )
                    raise _UnreadableError
                if event.version or event.tags:
                    self._complain(
                        event, (), "YAML directives are not supported: remove the line that starts with %"
                    )
            elif isinstance(event, yaml.NodeEvent):
                root = self._node(event, events, ())
        if root is None or (root.scalar is None and root.entries is None and root.items is None):
            self.problems.append(ReadProblem((1, 1), (), "the file is empty"))
            raise _UnreadableError
        return root

    def _complain(self, event: yaml.Event, location: tuple[str | int, ...], what: str) -> None:
        self.problems.append(ReadProblem(_mark(event.start_mark), location, what))

    def _node(
        self, event: yaml.NodeEvent, events: Iterator[yaml.Event], location: tuple[str | int, ...]
    ) -> Node:
        if len(location) > DEEPEST_NESTING:
            self._complain(event, location[:3], f"nested deeper than {DEEPEST_NESTING} levels")
            raise _UnreadableError
        node = Node(_mark(event.start_mark))
        refused = self._refuse_decoration(event, location)
        if isinstance(event, yaml.MappingStartEvent):
            self._mapping(node, events, location)
        elif isinstance(event, yaml.SequenceStartEvent):
            self._sequence(node, events, location)
        elif isinstance(event, yaml.ScalarEvent) and not refused:
            node.scalar = self._scalar(event, location)
        if refused:
            return Node(node.mark, REFUSED)
        return node

    def _refuse_decoration(self, event: yaml.NodeEvent, location: tuple[str | int, ...]) -> bool:
        if isinstance(event, yaml.AliasEvent):
            self._complain(event, location, f"alias *{event.anchor} is not supported: write the value out")
            return True
        if event.anchor is not None:
            self._complain(
                event, location, f"anchor &{event.anchor} is not supported: write the value without it"
            )
            return True
        tag = getattr(event, "tag", None)
        if tag is not None:
            self._complain(event, location, f"tag {tag} is not supported: write the value without it")
            return True
        return False

    def _sequence(self, node: Node, events: Iterator[yaml.Event], location: tuple[str | int, ...]) -> None:
        node.items = []
        for event in events:
            if isinstance(event, yaml.SequenceEndEvent):
                return
            assert isinstance(event, yaml.NodeEvent)
            node.items.append(self._node(event, events, (*location, len(node.items))))

    def _mapping(self, node: Node, events: Iterator[yaml.Event], location: tuple[str | int, ...]) -> None:
        node.entries = {}
        for event in events:
            if isinstance(event, yaml.MappingEndEvent):
                return
            assert isinstance(event, yaml.NodeEvent)
            key = self._key(event, events, location)
            value_event = next(events)
            assert isinstance(value_event, yaml.NodeEvent)
            value = self._node(value_event, events, (*location, key or "?"))
            if key is None:
                continue
            if key in node.entries:
                first = node.key_marks[key][0]
                what = f"key {key!r} is defined twice, first in line {first}; keep one of the two"
                self._complain(event, (*location, key), what)
                continue
            node.entries[key] = value
            node.key_marks[key] = _mark(event.start_mark)

    def _key(
        self, event: yaml.NodeEvent, events: Iterator[yaml.Event], location: tuple[str | int, ...]
    ) -> str | None:
        if not isinstance(event, yaml.ScalarEvent):
            self._complain(event, location, "a key must be a plain name")
            self._node(event, events, (*location, "?"))
            return None
        if self._refuse_decoration(event, location):
            return None
        if event.value == "<<" and event.style is None:
            self._complain(event, location, "merge key << is not supported: write the values out")
            return None
        if event.value == "" or (event.style is None and not isinstance(_plain_value(event.value), str)):
            quoted = "; put it in quotes" if event.value else ""
            what: str | None = f"a key must be a name, not {event.value!r}{quoted}"
        else:
            what = _plain_problem(event.value) if event.style is None else _text_problem(event.value)
        if what is not None:
            self._complain(event, location, what)
            return None
        return str(event.value)

    def _scalar(self, event: yaml.ScalarEvent, location: tuple[str | int, ...]) -> Scalar:
        what = _plain_problem(event.value) if event.style is None else _text_problem(event.value)
        if what is not None:
            self._complain(event, location, what)
            return REFUSED
        return _plain_value(event.value) if event.style is None else str(event.value)


_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)
_LEADING_ZERO = re.compile(r"[+-]?0[0-9_]+(?:\.[0-9_]*)?(?:[eE][+-]?[0-9]+)?", re.ASCII)
_OTHER_BASE = re.compile(r"[+-]?0(?:[xX][0-9a-fA-F_]+|[oO][0-7_]+|[bB][01_]+)", re.ASCII)
_UNDERSCORE = re.compile(r"[+-]?[0-9][0-9_]*_[0-9_]*(?:\.[0-9_]*)?(?:[eE][+-]?[0-9]+)?", re.ASCII)
_SEXAGESIMAL = re.compile(r"[+-]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?", re.ASCII)
_DATE = re.compile(
    r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}.*)?", re.ASCII
)
_NOT_FINITE = re.compile(r"[+-]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)", re.ASCII)
_SWITCH_TEXTS = frozenset({"on", "off", "yes", "no"})
_MAX_NUMBER_LENGTH = 100
"""Characters; longer text is not matched against the patterns above, whose time grows with its square."""
_NUMBER_SIGNS = frozenset("0123456789+-._:eE")
_MAX_INTEGER = 2**63 - 1


def _plain_problem(value: str) -> str | None:
    """Return what is wrong with an unquoted scalar, None if every reader takes it alike."""
    quotes = "put it in quotes if it is text"
    if len(value) > _MAX_NUMBER_LENGTH:
        digits = set(value) <= _NUMBER_SIGNS
        return f"{value[:24]}... is too long for a number; {quotes}" if digits else None
    lower = value.lower()
    if lower in _SWITCH_TEXTS:
        return f"{value} is ambiguous in YAML (true/false or text); write true or false, or {quotes}"
    if lower in {"true", "false"} and value != lower:
        return f"write {lower} instead of {value}"
    if value in {"~", "Null", "NULL"}:
        return f"write null instead of {value}"
    if value == "=":
        return f"= has a special meaning in YAML 1.1, {quotes}"
    if value == "":
        return "has no value"
    if _NOT_FINITE.fullmatch(value):
        return f"{value} is not a finite number"
    if _NUMBER.fullmatch(value) and not math.isfinite(float(value)):
        return f"{value} is too large for a number"
    if _INTEGER.fullmatch(value) and abs(int(value)) > _MAX_INTEGER:
        return f"{value} is too large for an integer"
    if _OTHER_BASE.fullmatch(value):
        return f"{value} is not a decimal number; write it in decimal, or {quotes}"
    if _LEADING_ZERO.fullmatch(value):
        return f"{value} is ambiguous in YAML (octal or decimal); leave out the leading zero, or {quotes}"
    if _UNDERSCORE.fullmatch(value):
        return f"{value} is ambiguous in YAML (number or text); leave out the underscore, or {quotes}"
    if _SEXAGESIMAL.fullmatch(value):
        return f"{value} is ambiguous in YAML (sexagesimal number or text); {quotes}"
    if _DATE.fullmatch(value):
        return f"{value} is ambiguous in YAML (date or text); {quotes}"
    return None


def _text_problem(value: str) -> str | None:
    """Return what is wrong with quoted text: escapes can smuggle in what no file name or record can hold."""
    for character in value:
        if character not in "\t\n" and unicodedata.category(character) in {"Cc", "Cs"}:
            return f"the character U+{ord(character):04X} is not allowed in text"
    return None


def _plain_value(value: str) -> str | int | float | bool | None:
    if value in {"true", "false"}:
        return value == "true"
    if value == "null":
        return None
    if len(value) > _MAX_NUMBER_LENGTH:
        return value
    if _INTEGER.fullmatch(value):
        return int(value)
    if _NUMBER.fullmatch(value):
        return float(value)
    return value


def _mark(mark: Any) -> Mark:
    return mark.line + 1, mark.column + 1


def _position(text: str, index: int) -> Mark:
    before = text[:index]
    return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
