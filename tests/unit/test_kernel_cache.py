"""The cache of compiled kernels, written by several at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from numba.core.caching import IndexDataCacheFile

import mastd.kernel  # noqa: F401  makes writers take turns


def test_whoever_saves_at_the_same_time_loses_nothing(tmp_path: Path) -> None:
    opened: Any = IndexDataCacheFile

    def save(key: int) -> None:
        opened(str(tmp_path), "kernel", "stamp").save(key, f"made for {key}")

    with ThreadPoolExecutor(8) as writers:
        list(writers.map(save, range(100)))
    cache = opened(str(tmp_path), "kernel", "stamp")
    assert [cache.load(key) for key in range(100)] == [f"made for {key}" for key in range(100)]
