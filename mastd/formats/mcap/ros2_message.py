"""Flat ROS 2 messages of float64 fields: their definition as text, their body in CDR.

Definition: https://docs.ros.org/en/rolling/Concepts/Basic/About-Interfaces.html, one ``type name`` a line, a
comment behind ``#``. Body: OMG Common Data Representation; four bytes that name the byte order, then the
fields in their order, doubles at multiples of eight from there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mastd.arrays import FloatArray

LITTLE_ENDIAN: Final = b"\x00\x01\x00\x00"
_ORDERS: Final = {0: ">f8", 1: "<f8"}
_FIELD: Final = re.compile(r"float64[ \t]+([A-Za-z][A-Za-z0-9_]{0,200})[ \t]*(?:#(.*))?")
_MAX_FIELD_LENGTH: Final = 60
_MAX_FIELDS: Final = 20_000


@dataclass(frozen=True)
class FieldText:
    """One field: its name and its comment."""

    name: str
    comment: str


def field_names(names: Iterable[str]) -> list[str]:
    """Return for each name a field's name: small letters, digits and single underscores, each one once."""
    taken: set[str] = set()
    fields = []
    for name in names:
        base = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:_MAX_FIELD_LENGTH].rstrip("_")
        if not base or not base[0].isalpha():
            base = f"channel_{base}".rstrip("_")
        field, number = base, 2
        while field in taken:
            field, number = f"{base}_{number}", number + 1
        taken.add(field)
        fields.append(field)
    return fields


def definition(fields: Sequence[FieldText]) -> str:
    """Return the text that defines a message of these fields."""
    return "".join(f"float64 {field.name}  # {' '.join(field.comment.split())}\n" for field in fields)


def flat_fields(text: str) -> list[FieldText] | None:
    """Return the fields of a definition, None if it has other ones than float64, none, or far too many."""
    fields: list[FieldText] = []
    for line in text.splitlines():
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        match = _FIELD.fullmatch(stripped)
        if match is None or len(fields) >= _MAX_FIELDS:
            return None
        fields.append(FieldText(match[1], (match[2] or "").strip()))
    return fields or None


def body_values(rows: NDArray[np.uint8], fields: int) -> FloatArray:
    """Return the numbers (k, fields) of message bodies (k, bytes); raise ValueError for other bodies."""
    size = len(LITTLE_ENDIAN) + 8 * fields
    if rows.shape[1] != size:
        raise ValueError(f"a message has {rows.shape[1]} bytes, expected {size}")
    orders = {(int(first), int(second)) for first, second in np.unique(rows[:, :2], axis=0)}
    if len(orders) != 1 or (order := next(iter(orders)))[0] or order[1] not in _ORDERS:
        raise ValueError("a message does not begin with a plain CDR header, 00 00 or 00 01")
    values: FloatArray = np.ascontiguousarray(rows[:, 4:]).view(_ORDERS[order[1]])
    return values.astype(np.float64, copy=False)
