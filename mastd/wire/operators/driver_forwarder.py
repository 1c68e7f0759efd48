"""What somebody drives with, on its way from the handler to the loop: the newest, and not too often.

Every change of the block costs the loop a read of it. So it is written at most once in ``SHOWN_NS``, with the
newest inputs heard until then; those that newer ones have overtaken are dropped and counted. The last of any
flood always arrives.
"""

from __future__ import annotations

from typing import Any

from mastd.wire.access.sessions import GatewayCounters, Session
from mastd.wire.common.blocks import NewestValueBlock
from mastd.wire.operators.messages import Inputs

SHOWN_NS = 5_000_000
GONE_NS = 10_000_000_000


class DriverForwarder:
    """Writes the driver's block; all times are monotonic, in ns."""

    def __init__(self, block: NewestValueBlock, counters: GatewayCounters) -> None:
        block.read()  # a second gateway counts on from the first one
        self._block = block
        self._counters = counters
        self._waiting: Inputs | None = None
        self._driver: tuple[Session, int] | None = None
        self._next_ns = 0

    def on_inputs(self, inputs: Inputs, session: Session, now_ns: int) -> None:
        """Take the newest inputs; those that still wait are overtaken by them."""
        self._driver = session, now_ns
        self._counters.driven += 1
        if self._waiting is not None:
            self._counters.overtaken += 1
        self._waiting = inputs

    def driver(self, now_ns: int) -> str:
        """Return which operator drives, empty for nobody."""
        if self._driver is None or now_ns - self._driver[1] > GONE_NS:
            return ""
        return self._driver[0].operator

    def rigs(self, now_ns: int) -> list[dict[str, Any]]:
        """Return who drives, as plain values; who has been silent for ``GONE_NS`` does not any more."""
        if self._driver is None or not self.driver(now_ns):
            return []
        session, heard_ns = self._driver
        return [
            {
                "name": session.name,
                "operator": session.operator,
                "kind": "driver",
                "age_s": (now_ns - heard_ns) * 1e-9,
            }
        ]

    def poll(self, now_ns: int) -> None:
        """Show the loop the newest inputs, if there are any and it is time."""
        inputs = self._waiting
        if inputs is None or now_ns < self._next_ns:
            return
        self._waiting = None
        self._next_ns = now_ns + SHOWN_NS
        self._block.field("count")[:] += 1.0
        for name, value in inputs._asdict().items():
            self._block.field(name)[:] = value
        self._block.publish()
