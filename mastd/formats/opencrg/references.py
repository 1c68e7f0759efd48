"""OpenCRG files that refer to another one for their road ($ROAD_CRG_FILE), and state options or modifiers.

A reference is a path from the folder of the file that makes it, and stays in that folder or below it: a road
from somebody else opens nothing but what came with it. What the referring file says in options or modifiers
replaces that whole block in the file that it refers to.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from mastd.errors import FormatError
from mastd.formats.core.files import content_of
from mastd.formats.opencrg.header import Header, read_header

MAX_BYTES: Final = 64_000_000
"""Of a file: what it holds is a ground's array, as large as one may be (``mastd.roads.entries``)."""
DEEPEST: Final = 5
"""References, one after the other."""
_ABSOLUTE: Final = re.compile(r"[/\\]|[A-Za-z]:")


def read_with_references(path: Path) -> tuple[Header, bytes]:
    """Return the header that counts for a file, its ``path`` that of the file with the data, and the data.

    Raises FormatError for files that cannot be read or have no whole header, references that lead out of
    their folder, in a circle or further than ``DEEPEST``, and a road beside a reference.
    """
    header, data = read_header(path, content_of(path, MAX_BYTES))
    passed = [header]
    while header.reference is not None:
        _check_alone(header, data)
        target = _target(header, [one.path for one in passed])
        header, data = read_header(target, content_of(target, MAX_BYTES))
        passed.append(header)
    for block in ("ROAD_CRG_OPTS", "ROAD_CRG_MODS"):
        first = next((one.blocks[block] for one in passed if block in one.blocks), None)
        if first is not None:
            header.blocks[block] = first
    header.comment = [line for one in passed for line in one.comment]
    header.warnings = [line for one in passed for line in one.warnings]
    return header, data


def _check_alone(header: Header, data: bytes) -> None:
    if "ROAD_CRG" in header.blocks or header.columns or data.strip():
        _, line = header.reference or ("", 0)
        raise FormatError(
            f"{header.path}:{line}: $ROAD_CRG_FILE in addition to the file's own road, expected only one "
            "of them"
        )


def _target(header: Header, passed: list[Path]) -> Path:
    text, line = header.reference or ("", 0)
    location = f"{header.path}:{line}: $ROAD_CRG_FILE {text[:200]!r}"
    name = text.replace("\\", "/")
    if not name or not name.isprintable() or "$" in name:
        raise FormatError(f"{location}: expected the name of a file, without variables")
    if _ABSOLUTE.match(text) or ".." in name.split("/"):
        raise FormatError(f"{location}: leaves the folder of the file, expected a path below it")
    folder = header.path.parent
    target = folder / name
    try:
        inside = target.resolve().is_relative_to(folder.resolve())
        again = any(target.resolve() == one.resolve() for one in passed)
        there = target.is_file()
    except (OSError, ValueError, RuntimeError) as error:
        raise FormatError(f"{location}: cannot be resolved: {error}") from error
    if not inside:
        raise FormatError(f"{location}: leaves the folder of the file, expected a path below it")
    if again:
        raise FormatError(f"{location}: circular reference")
    if len(passed) > DEEPEST:
        raise FormatError(
            f"{location}: the {len(passed)}th reference in a row, at most {DEEPEST} are allowed"
        )
    if not there:
        raise FormatError(f"{location}: no file {target}")
    return target
