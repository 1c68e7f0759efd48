"""One lane in plain Python: the number of an array of whatever it holds.

See ``mastd.lanes`` for what each function means.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

LANES: Final = 1


def load(array: Any, i: int, j: int) -> Any:
    return array[i, j, 0]


def load_single(array: Any, i: int, j: int) -> Any:
    value = array[i, j, 0]
    return float(value) if isinstance(value, np.float32) else value


def load_row(array: Any, i: int) -> Any:
    return array[i, 0]


def store(array: Any, i: int, j: int, value: Any) -> None:
    array[i, j, 0] = value


def store_row(array: Any, i: int, value: Any) -> None:
    array[i, 0] = value


def sqrt(value: Any) -> Any:
    return np.sqrt(value)


def _itself(value: Any) -> Any:
    return value


broadcast = hsum = hmax = first_lane = _itself


def select(condition: Any, positive: Any, otherwise: Any) -> Any:
    return positive if condition > 0.0 else otherwise
