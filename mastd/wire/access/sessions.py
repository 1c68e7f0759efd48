"""Sessions of the operators' clients: identity, order, cached answers, rate, and the counters of the gateway.

A command is known by (session, sequence). A sequence greater than all before is new; one that was seen is
answered from the cache, never carried out again; any other is out of order and refused. The cache keeps the
last ``CACHED_ANSWERS`` commands of a session. A session belongs to one peer (connection); a second hello of
the same peer replaces its first session.

There are at most ``capacity`` sessions at each socket. A new one beyond that replaces the one of the same
socket that has been silent longest, so that a newcomer can always stop the table, and observers or clients on
the network replace no operator's here; who lost its place is told to say hello when it speaks again. The
lease is not touched by that: it belongs to an operator, not to a session.
"""

from __future__ import annotations

import enum
import secrets
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from mastd.wire.access.roles import Role

CAPACITY = 64
CACHED_ANSWERS = 32

LOCAL, NETWORK, OBSERVERS = 0, 1, 2
"""Sockets: of this machine's operators, of the network, of those on this machine who only watch."""
Peer = tuple[int, bytes]
"""A connection: which socket and its routing id there."""


@dataclass(frozen=True)
class Addresses:
    """Where a connection's peer finds the other sockets; empty for one that there is not."""

    snapshots: str = ""
    telemetry: str = ""


@dataclass(frozen=True)
class PeerIdentity:
    """Who a connection belongs to: the name of its key, and the role that the key has.

    With ``local`` it comes from this machine: the name is the user's, who may act under several (one for each
    terminal), the role that of the socket.
    """

    name: str
    role: Role
    local: bool = False


@dataclass
class GatewayCounters:
    """What became of the operators' messages since the gateway began."""

    received: int = 0  # messages read
    commands: int = 0  # commands taken, stops included
    malformed: int = 0  # messages that are not of the protocol
    oversize: int = 0  # messages that are too long
    unknown_session: int = 0  # commands of a session that is not (or no longer) there
    replayed: int = 0  # commands seen before, answered from the cache
    out_of_order: int = 0  # commands older than the newest and not in the cache
    too_many: int = 0  # commands beyond the rate of their session
    not_allowed: int = 0  # commands that the client's role does not permit
    no_lease: int = 0  # commands refused because another operator holds the lease
    busy: int = 0  # commands refused because too many wait
    unanswered: int = 0  # commands that the loop did not answer in time
    sessions_dropped: int = 0  # sessions that gave their place to newer ones
    unauthenticated: int = 0  # connections without a key, or for another server's
    unknown_keys: int = 0  # connections with a key that nobody here has made
    revoked: int = 0  # connections and messages with a key that has been revoked
    driven: int = 0  # inputs of a driver taken
    overtaken: int = 0  # inputs that newer ones overtook before the loop was shown them
    undriven: int = 0  # inputs while the loop was not running
    unsent: int = 0  # answers that could not be sent


class TokenBucket:
    """Allows ``rate`` events per second on average and ``burst`` at once; time is an argument (ns)."""

    def __init__(self, rate: float, burst: int, now_ns: int) -> None:
        self._rate = rate
        self._burst = float(burst)
        self._tokens = float(burst)
        self._filled_ns = now_ns

    def take(self, now_ns: int) -> bool:
        """Return whether one more event is within the rate, and count it if so."""
        passed = max(0, now_ns - self._filled_ns)
        self._filled_ns = max(now_ns, self._filled_ns)
        self._tokens = min(self._burst, self._tokens + self._rate * passed * 1e-9)
        if self._tokens < 1.0:
            return False
        self._tokens -= 1.0
        return True


class Order(enum.Enum):
    """How a command's sequence stands to those before it."""

    NEW = enum.auto()
    REPEATED = enum.auto()
    OLD = enum.auto()


class Session:
    """One client's session; the answer of a command that is not yet answered is None in the cache."""

    def __init__(
        self, number: int, peer: Peer, operator: str, role: Role, bucket: TokenBucket, name: str = ""
    ) -> None:
        self.number = number
        self.peer = peer
        self.operator = operator
        self.role = role
        self.name = name
        """The program that the operator uses."""
        self.bucket = bucket
        self.newest = -1
        self.driven = -1
        """Sequence of the newest inputs that somebody drives with."""
        self._answers: OrderedDict[int, bytes | None] = OrderedDict()

    def order(self, sequence: int) -> Order:
        """Return whether a command is new, a repetition that is still remembered, or too old."""
        if sequence > self.newest:
            return Order.NEW
        return Order.REPEATED if sequence in self._answers else Order.OLD

    def begin(self, sequence: int) -> None:
        """Remember a new command; the oldest one beyond the cache is forgotten."""
        self.newest = sequence
        self._answers[sequence] = None
        while len(self._answers) > CACHED_ANSWERS:
            self._answers.popitem(last=False)

    def keep(self, sequence: int, answer: bytes) -> None:
        """Remember the answer of a command, unless it has been forgotten meanwhile."""
        if sequence in self._answers:
            self._answers[sequence] = answer

    def answer(self, sequence: int) -> bytes | None:
        """Return the remembered answer, None while the command is on its way."""
        return self._answers.get(sequence)


class Sessions:
    """All sessions, the longest silent one first."""

    def __init__(
        self,
        rate: float,
        burst: int,
        capacity: int = CAPACITY,
        new_number: Callable[[], int] = lambda: secrets.randbits(62) + 1,
    ) -> None:
        self._rate = rate
        self._burst = burst
        self._capacity = capacity
        self._new_number = new_number
        self._by_peer: OrderedDict[Peer, Session] = OrderedDict()

    def __len__(self) -> int:
        return len(self._by_peer)

    def open(self, peer: Peer, operator: str, role: Role, now_ns: int, name: str = "") -> tuple[Session, int]:
        """Open a session for a peer; return it and how many others lost their place (0 or 1)."""
        before = self._by_peer.pop(peer, None)
        # The rate belongs to the connection: a new hello gives no new burst.
        bucket = before.bucket if before else TokenBucket(self._rate, self._burst, now_ns)
        there = [other for other in self._by_peer if other[0] == peer[0]]
        dropped = max(0, len(there) + 1 - self._capacity)
        for other in there[:dropped]:
            del self._by_peer[other]
        session = Session(self._new_number(), peer, operator, role, bucket, name)
        self._by_peer[peer] = session
        return session, dropped

    def find(self, peer: Peer, number: int) -> Session | None:
        """Return the peer's session if it has this number, and note that it was heard."""
        session = self._by_peer.get(peer)
        if session is None or session.number != number:
            return None
        self._by_peer.move_to_end(peer)
        return session

    def close(self, peer: Peer, number: int) -> bool:
        """End the peer's session; return False if there is none of this number."""
        session = self._by_peer.get(peer)
        if session is None or session.number != number:
            return False
        del self._by_peer[peer]
        return True
