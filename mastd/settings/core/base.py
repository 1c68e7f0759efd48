"""Base of all settings: frozen, every key known, nothing converted silently.

A settings class is the specification of its file: attribute names are the keys, the string below an attribute
is its description in the JSON schema, ranges stand beside the type (``Field(gt=0)``). Sequences are tuples.
Checks across fields are field validators that look at ``info.data``, so that a mistake elsewhere in the file
does not hide them.
"""

from __future__ import annotations

import ast
import inspect
import stat
import textwrap
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, ValidationInfo
from pydantic_core import PydanticCustomError

FROM_FILE: Final = {"from_file": True}
"""Validation context of everything read from a file: there a quantity must carry its unit.

Without it (Python code, a dumped record) a number is the SI value.
"""

SEVERAL: Final = "several"
"""Error type of ``refuse``; its context holds the single problems."""

Problem = tuple[tuple[str | int, ...], str]
"""Where (path below the field that is validated) and what: one line of a refusal."""


class Settings(BaseModel):
    """A frozen group of settings: unknown keys and non-finite numbers are refused, nothing is converted."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        defer_build=True,
    )


def field_docstrings(model: type[BaseModel]) -> dict[str, str]:
    """Return the docstrings below the fields of a class and of those it derives from.

    They are read from the sources where they are asked for: at every start it would take half a second.
    Where there are no sources there are none.
    """
    found = {}
    for base in reversed(model.__mro__):
        if not issubclass(base, BaseModel) or base is BaseModel:
            continue
        try:
            source = inspect.getsource(base)
        except OSError:
            continue
        (definition,) = ast.parse(textwrap.dedent(source)).body
        assert isinstance(definition, ast.ClassDef)
        for field, below in pairwise(definition.body):
            match field, below:
                case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(text))):
                    found[name] = inspect.cleandoc(text)
    return found


def computed(value: float | None) -> float:
    """Return a value that may be left out and is computed then; raise ValueError where it has not been."""
    if value is None:
        raise ValueError("a value that is computed from the table has not been computed")
    return value


def refuse(problems: Sequence[Problem]) -> None:
    """Raise all problems of a validator at once, each at its position; do nothing if there are none."""
    if problems:
        message = "; ".join(_line(location, what) for location, what in problems)
        raise PydanticCustomError(SEVERAL, "{message}", {"message": message, "problems": list(problems)})


def _line(location: tuple[str | int, ...], what: str) -> str:
    return f"{dotted(location)}: {what}" if location else what


def dotted(location: Sequence[str | int]) -> str:
    """Return a path as text: ``links[2].neutral_length``."""
    text = ""
    for part in location:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text


def beside(file: str, info: ValidationInfo) -> str:
    """Return the path of a file that settings name, from the directory of their own file.

    Raises ValueError where there is none, or none that can be reached.
    """
    try:
        path = Path((info.context or {}).get("directory", ".")) / Path(file).expanduser()
    except RuntimeError:
        home = file.partition("/")[0]
        raise ValueError(f"{home} is nobody's home on this machine; give the path in full") from None
    try:
        found = stat.S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        found = False
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ValueError(f"{path} cannot be reached: {reason}") from None
    if not found:
        raise ValueError(f"there is no file {path}")
    return str(path)
