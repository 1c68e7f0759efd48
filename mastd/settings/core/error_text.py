"""One clear line for each kind of validation error: what is wrong, what would be right."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable
from types import UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from pydantic import BaseModel, Tag
from pydantic_core import ErrorDetails

from mastd import units
from mastd.settings.core.base import field_docstrings
from mastd.settings.core.strict_yaml import Node

_BOUNDS: Final = {
    "greater_than": ("gt", "above"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "below"),
    "less_than_equal": ("le", "at most"),
}


def message(detail: ErrorDetails, node: Node, model: type[BaseModel]) -> str:
    """Return the line for one pydantic error; ``node`` is the file's value there, ``model`` its class."""
    kind = detail["type"]
    context = detail.get("ctx", {})
    if kind in _BOUNDS:
        key, text = _BOUNDS[kind]
        return f"{_shown(node)} is out of range: must be {text} {_bound(context[key], node)}"
    if kind == "value_error":
        return str(context["error"])
    build = _MESSAGES.get(kind)
    return build(detail, node, model) if build else detail["msg"]


def discriminator(detail: ErrorDetails) -> str | None:
    """Return the key that selects the kind, if the error is about it."""
    if detail["type"] == "union_tag_invalid":
        return str(detail["ctx"]["discriminator"]).strip("'")
    return None


def near(name: str, known: Iterable[str]) -> str:
    """Return the hint for a name that is not known: the nearest one, or all of them."""
    names = list(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"known: {', '.join(names)}" if names else "none is known here"


def _unknown_key(detail: ErrorDetails, node: Node, model: type[BaseModel]) -> str:
    name = str(detail["loc"][-1])
    owner = class_at(model, detail["loc"][:-1])
    return f"unknown key {name!r}, {near(name, owner.model_fields if owner else ())}"


def _missing(detail: ErrorDetails, node: Node, model: type[BaseModel]) -> str:
    if isinstance(detail["loc"][-1], int):
        return f"the list has no item {detail['loc'][-1] + 1}"
    name = detail["loc"][-1]
    owner = class_at(model, detail["loc"][:-1])
    text = field_docstrings(owner).get(name) if owner else None
    description = f" ({text.splitlines()[0].rstrip('.')})" if text else ""
    return f"key {name!r} is missing{description}{_misspelt(str(name), node, owner)}"


def _misspelt(name: str, node: Node, owner: type[BaseModel] | None) -> str:
    """Return the hint that a key of free choice may be the missing one; other keys are refused themselves."""
    if owner is None or owner.model_config.get("extra") != "allow":
        return ""
    free = [key for key in node.entries or {} if key not in owner.model_fields]
    close = difflib.get_close_matches(name, free, n=1, cutoff=0.8)
    return f", did you mean {close[0]!r}?" if close else ""


def _not_a_choice(detail: ErrorDetails, node: Node, model: type[BaseModel]) -> str:
    expected = re.findall(
        r"'([^']*)'", str(detail["ctx"].get("expected") or detail["ctx"].get("expected_tags"))
    )
    value = detail["ctx"].get("tag", node.scalar)
    close = difflib.get_close_matches(str(value), expected, n=1, cutoff=0.6)
    hint = f", did you mean {close[0]!r}?" if close else ""
    return f"{value!r}: expected one of {', '.join(expected)}{hint}"


def _not_a_number(detail: ErrorDetails, node: Node, model: type[BaseModel]) -> str:
    unit = units.unit_of(node.scalar) if isinstance(node.scalar, str) else None
    if unit is not None and unit.symbol:
        return f"expected a bare number, {_shown(node)} has a unit"
    if unit is not None:
        return f"expected a number: remove the quotes around {_shown(node)}"
    return f"expected a number, {_shown(node)} is {_sort(node)}"


def _due(what: str) -> Callable[[ErrorDetails, Node, type[BaseModel]], str]:
    return lambda detail, node, model: f"{what}, {_shown(node)} is {_sort(node)}"


def _length(text: str) -> Callable[[ErrorDetails, Node, type[BaseModel]], str]:
    def build(detail: ErrorDetails, node: Node, model: type[BaseModel]) -> str:
        context = detail["ctx"]
        limit = context.get(f"{text}_length")
        bound = "at least" if text == "min" else "at most"
        return f"{context['actual_length']} items, there must be {bound} {limit}"

    return build


def _text_length(detail: ErrorDetails, node: Node, model: type[BaseModel]) -> str:
    context = detail["ctx"]
    if "min_length" in context:
        return f"{_shown(node)} is too short, it needs at least {context['min_length']} characters"
    return f"{_shown(node)} is too long, it may have {context['max_length']} characters"


_MESSAGES: Final[dict[str, Callable[[ErrorDetails, Node, type[BaseModel]], str]]] = {
    "extra_forbidden": _unknown_key,
    "missing": _missing,
    "literal_error": _not_a_choice,
    "enum": _not_a_choice,
    "union_tag_invalid": _not_a_choice,
    "union_tag_not_found": lambda detail, node, model: f"key {detail['ctx']['discriminator']} is missing",
    "float_type": _not_a_number,
    "int_type": _due("expected an integer"),
    "bool_type": _due("expected true or false"),
    "string_type": lambda detail, node, model: (
        f"expected text: put {_shown(node)} in quotes"
        if isinstance(node.scalar, int | float)
        else f"expected text, {_shown(node)} is {_sort(node)}"
    ),
    "model_type": _due("expected a group of keys"),
    "model_attributes_type": _due("expected a group of keys"),
    "dict_type": _due("expected a group of keys"),
    "tuple_type": _due("expected a list"),
    "too_short": _length("min"),
    "too_long": _length("max"),
    "string_too_short": _text_length,
    "string_too_long": _text_length,
    "string_pattern_mismatch": lambda detail, node, model: (
        f"{_shown(node)} does not have the form {detail['ctx']['pattern']}"
    ),
}


def _shown(node: Node) -> str:
    if node.entries is not None:
        return "this"
    if node.items is not None:
        return "this"
    if isinstance(node.scalar, bool):
        return "true" if node.scalar else "false"
    return "null" if node.scalar is None else str(node.scalar)[:60]


def _sort(node: Node) -> str:
    if node.entries is not None:
        return "a group of keys"
    if node.items is not None:
        return "a list"
    if isinstance(node.scalar, bool):
        return "a boolean"
    if isinstance(node.scalar, int | float):
        return "a number"
    return "no value" if node.scalar is None else "text"


def _bound(limit: float, node: Node) -> str:
    """Return a limit, which is SI, in the unit that the file uses."""
    unit = units.unit_of(node.scalar) if isinstance(node.scalar, str) else None
    if unit is None:
        return f"{limit:g}"
    return f"{(limit - float(unit.offset)) / float(unit.factor):.6g} {unit.symbol}"


def class_at(annotation: object, location: tuple[str | int, ...]) -> type[BaseModel] | None:
    """Return the settings class that a pydantic location leads to, None if it leads elsewhere."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return class_at(get_args(annotation)[0], location)
    if origin in {Union, UnionType}:
        members = [member for member in get_args(annotation) if member is not type(None)]
        if len(members) == 1:
            return class_at(members[0], location)
        for member in members:
            if location and isinstance(location[0], str) and _has_tag(member, location[0]):
                return class_at(member, location[1:])
        return None
    if origin is tuple and location and isinstance(location[0], int):
        members = [member for member in get_args(annotation) if member is not Ellipsis]
        return class_at(members[min(location[0], len(members) - 1)], location[1:])
    if origin is dict and location:
        return class_at(get_args(annotation)[1], location[1:])
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        if not location:
            return annotation
        field = annotation.model_fields.get(str(location[0]))
        return class_at(field.annotation, location[1:]) if field else None
    return None


def _has_tag(member: Any, tag: str) -> bool:
    while get_origin(member) is Annotated:
        member, *marks = get_args(member)
        if any(isinstance(mark, Tag) and mark.tag == tag for mark in marks):
            return True
    if not (isinstance(member, type) and issubclass(member, BaseModel)):
        return False
    return any(
        tag in get_args(field.annotation)
        for field in member.model_fields.values()
        if get_origin(field.annotation) is Literal
    )
