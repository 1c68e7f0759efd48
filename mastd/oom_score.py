"""The OOM score adjustment of a process: whom the system ends first when memory runs out (proc(5))."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Final

OF_GATEWAYS: Final = 0
"""As any other process: they face the outside, so what they may be made to take must not cost the plant."""
OF_HELPERS: Final = 500
"""Before others: what they were about to do can be asked for again."""
_OWN: Final = Path("/proc/self/oom_score_adj")


def give_up_protection(score: int, file: Path = _OWN) -> None:
    """Raise this process's adjustment to ``score``, whatever it has inherited; never lower it."""
    with contextlib.suppress(OSError, ValueError):  # a system without it protects nobody
        if int(file.read_text(encoding="ascii")) < score:
            file.write_text(str(score), encoding="ascii")
