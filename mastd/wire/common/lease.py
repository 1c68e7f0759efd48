"""The lease: one operator commands the table at a time; anybody may stop it.

Rules. The first commanding verb that the gateway reads takes a free lease; of two operators who race for it
the one whose command the gateway *reads first* wins, and the other is told the winner's name. Each further
command of the holder renews it, whether the loop then accepts the command or not. It ends by ``release``, or
when nothing has come from its holder for ``duration_ns``. ``stop`` and ``estop`` neither take nor need it.

The holder is an operator's identity, not a connection: `mastd ctl raise` and `mastd ctl arm` are two
processes of the same operator.
"""

from __future__ import annotations


class Lease:
    """Who commands, until when; time is an argument (monotonic, ns)."""

    def __init__(self, duration_ns: int) -> None:
        self._duration_ns = duration_ns
        self._holder = ""
        self._until_ns = 0

    def holder(self, now_ns: int) -> str:
        """Return who holds the lease, empty for nobody."""
        return self._holder if now_ns < self._until_ns else ""

    def left_ns(self, now_ns: int) -> int:
        """Return the time until it expires, 0 if nobody holds it."""
        return max(0, self._until_ns - now_ns) if self._holder else 0

    def take(self, operator: str, now_ns: int) -> bool:
        """Take or renew the lease for ``operator``; return False if another one holds it."""
        if self.holder(now_ns) not in ("", operator):
            return False
        self._holder = operator
        self._until_ns = now_ns + self._duration_ns
        return True

    def release(self, operator: str, now_ns: int) -> bool:
        """Give the lease back; return False if another one holds it. Nobody's lease is given back already."""
        if self.holder(now_ns) not in ("", operator):
            return False
        self._holder = ""
        self._until_ns = 0
        return True
