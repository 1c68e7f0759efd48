"""Load a settings file: strict YAML, checked against a settings class, every problem told at once.

Each problem is one line, ``file:line:col: path: what is wrong, what would be right``, in the order of the
file. Problems of the text (duplicate keys, ``on``, aliases) and problems of the values (units, ranges,
unknown keys, checks across fields) are reported together as far as the text can be read;
a check across fields waits until the fields it compares are right.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from mastd.errors import SettingsError
from mastd.settings.core import error_text
from mastd.settings.core.base import FROM_FILE, SEVERAL, Problem, Settings, dotted
from mastd.settings.core.strict_yaml import Mark, Node, Refused, parse, read_text

S = TypeVar("S", bound=Settings)

MAX_PROBLEMS: Final = 200
"""Lines told at once; the rest is counted."""

_MAX_EXPLAINED: Final = 2000
_MAX_MESSAGE_LENGTH: Final = 400


def load(path: Path, model: type[S], **context: object) -> S:
    """Read a file into a settings object; raise SettingsError with all its problems.

    ``context`` is what the class wants to know beside the file (``mastd.settings.profile.channel_limits``).
    """
    return load_text(read_text(path), str(path), model, **context)


def load_text(text: str, name: str, model: type[S], **context: object) -> S:
    """Read a text into a settings object; ``name`` is the file's name in messages.

    Paths in the text start at the folder of ``name``. ``context`` as for ``load``.
    """
    root, read_problems = parse(text)
    found = [(problem.mark, problem.location, problem.what) for problem in read_problems]
    settings: S | None = None
    if root is not None:
        try:
            known = {**context, **FROM_FILE, "directory": str(Path(name).parent)}
            settings = model.model_validate(root.plain(), context=known)
        except ValidationError as error:
            for detail in error.errors(include_url=False)[:_MAX_EXPLAINED]:
                found.extend(_problems(detail, root, model))
    if found or settings is None:
        raise _refusal(name, found)
    return settings


def refusal(text: str, name: str, problems: Sequence[Problem]) -> SettingsError:
    """Return the error of problems found after a text was read, at their positions in it.

    Parts of a place that are not in the text are left out; a line then stands at the nearest group around it.
    """
    root, _ = parse(text)
    assert root is not None
    return _refusal(name, [(*_find(root, location)[:2], what) for location, what in problems])


Found = tuple[Mark, tuple[str | int, ...], str]


def _refusal(name: str, found: list[Found]) -> SettingsError:
    found.sort(key=lambda problem: problem[0])
    lines = [
        f"{name}:{line}:{column}: {_one_line(dotted(location)) or '(file)'}: {_one_line(what)}"
        for (line, column), location, what in dict.fromkeys(found)
    ]
    hidden = len(lines) - MAX_PROBLEMS
    if hidden > 0:
        lines = [*lines[:MAX_PROBLEMS], f"{name}: and at least {hidden} more problems"]
    return SettingsError(lines)


def _problems(detail: ErrorDetails, root: Node, model: type[Settings]) -> Iterator[Found]:
    if isinstance(detail["input"], Refused):
        return
    location = detail["loc"]
    if detail["type"] == SEVERAL:
        for below, what in detail["ctx"]["problems"]:
            mark, path, _ = _find(root, (*location, *below))
            yield mark, path, what
        return
    mark, path, node = _find(root, location)
    if detail["type"] == "missing":
        mark, parent, _ = _find(root, location[:-1])
        path = (*parent, location[-1])
    if detail["type"] == "extra_forbidden":
        mark = _key_mark(root, location) or mark
    tag = error_text.discriminator(detail)
    if tag is not None and node.entries and tag in node.entries:
        mark, path = node.entries[tag].mark, (*path, tag)
        if isinstance(node.entries[tag].scalar, Refused):
            return
    yield mark, path, error_text.message(detail, node, model)


def _find(root: Node, location: tuple[str | int, ...]) -> tuple[Mark, tuple[str | int, ...], Node]:
    """Return mark, path and node of a location; parts that are not in the text (union tags) are left out.

    The mark of a mapping or sequence that is the value of a key is that of the key.
    """
    node, mark = root, root.mark
    path: list[str | int] = []
    for part, below in zip(location, (*location, None)[1:], strict=True):
        if node.entries is not None and part in node.entries:
            key = str(part)
            if node.entries[key].scalar is not None and below in node.entries:
                continue  # the tag of a union, which a key is called like
            mark = node.key_marks[key]
            node = node.entries[key]
            if node.entries is None and node.items is None:
                mark = node.mark
        elif node.items is not None and isinstance(part, int) and part < len(node.items):
            node = node.items[part]
            mark = node.mark
        else:
            continue
        path.append(part)
    return mark, tuple(path), node


def _one_line(text: str) -> str:
    cut = text if len(text) <= _MAX_MESSAGE_LENGTH else f"{text[:_MAX_MESSAGE_LENGTH]} ..."
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in cut)


def _key_mark(root: Node, location: tuple[str | int, ...]) -> Mark | None:
    _, path, _ = _find(root, location)
    _, _, parent = _find(root, path[:-1])
    return parent.key_marks.get(str(location[-1]))
