"""Processes that are rigs of the loop at 1 kHz, and in turns are just as busy without any connection to it.

``python -m mastd.bench.wire.rig_workers KIND PLACE ADDRESS DESCRIPTOR``, KIND of ``KINDS``; the board is that
of ``mastd.bench.wire.watchers``, in whose phase ``WATCHING`` they join. What a kind does stands in
``mastd.wire.rigs.load_generator``; a process of kind *steady* is three rigs. It ends when its parent is gone.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Final

from mastd.bench.wire.watchers import BESIDE, WATCHING, WorkerStatus, be_busy
from mastd.wire.rigs.load_generator import connected, deaf, flood, half_open, steady

KINDS: Final = ("steady", "steady", "flood", "deaf", "half-open", "gateway")
"""The last one stands, in the phase ``BESIDE``, for what all of them cost the rigs' gateway."""
OF_STEADY: Final = 3
"""Rigs of a steady process."""
NAMES: Final = (("r1", "r2", "r3"), ("r4", "r5", "r6"), ("r7",), ("r8",))
"""Names of the rigs of each place."""
_WAKE_S: Final = 0.001
_IDLE_S: Final = 0.02


def main(kind: str, index: int, address: str, descriptor: int) -> None:
    """Do what the board says until the parent is gone."""
    status = WorkerStatus(len(KINDS), descriptor)
    parent = os.getppid()

    def wanted() -> bool:
        return status.phase == WATCHING and os.getppid() == parent

    while os.getppid() == parent:
        if status.phase == BESIDE:
            be_busy(status, index, _WAKE_S)
        elif status.phase == WATCHING and kind == "half-open":
            half_open(address, wanted)
        elif status.phase == WATCHING and kind != "gateway":
            with connected(NAMES[index], address, wanted) as rigs:
                if rigs:
                    begun, used = time.monotonic(), time.process_time()
                    {"steady": steady, "flood": flood, "deaf": deaf}[kind](rigs, wanted)
                    status.loads[index] = (time.process_time() - used) / (time.monotonic() - begun)
        else:
            time.sleep(_IDLE_S)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
