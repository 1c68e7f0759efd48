"""What a table may lack, of one that has it."""

from __future__ import annotations

from typing import TypeVar

_T = TypeVar("_T")


def present(value: _T | None) -> _T:
    """Return ``value``, which is there."""
    assert value is not None
    return value
