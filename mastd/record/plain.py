"""Anything as data that JSON can hold."""

from __future__ import annotations

import math
from collections.abc import Mapping


def plain(value: object) -> object:
    """Return ``value`` as data that JSON can hold: numbers that are not finite become None, others text."""
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):  # numpy scalars and arrays
        return plain(value.tolist())
    return str(value)
