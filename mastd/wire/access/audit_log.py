"""The gateway's log: who was not let in, who asked for more than the role allows, and whose commands were
accepted.

The lines go where the service's log goes: into the journal if a service manager has connected it, else to
standard error. What happens over and over is told at once, then at most every ``SPACING_S`` with the number
of those that are not shown. Accepted commands are reported one by one up to ``COMMANDS_PER_S``.

No secret comes here: what names a key is its file's name, or its public half.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace

from mastd.errors import printable
from mastd.log.sinks import INFORMATION, NOTICE, WARNING, Line, Sink
from mastd.wire.access.authentication import Cause, Unheard
from mastd.wire.access.roles import Role, called
from mastd.wire.access.sessions import TokenBucket

SPACING_S = 10.0
COMMANDS_PER_S = 10.0
MAX_KINDS = 256
"""Kinds of lines that are counted apart; what comes beyond shares one count."""
CONNECTION_ID = "5e55406667ee46f796c06c83d3a0e594"
BEYOND_ROLE_ID = "1701abeca52d44718f6b27bd1cb6ee1d"
COMMAND_ID = "0077d5657f354002814168e385edfbe8"
RIG_ID = "8f1c3c2f6a2d4c0f9a5d5a3f0c7be911"

_TEXTS = {
    Cause.NO_KEY: "connection refused at {endpoint}: it showed no key (a client without --key?)",
    Cause.OTHER_SERVER: "connection refused at {endpoint}: it has another daemon's server.key; hand out ours",
    Cause.NOT_UNDERSTOOD: "connection refused at {endpoint}: its CURVE handshake is invalid",
    Cause.UNKNOWN_KEY: "connection refused from {peer}: its key {name} is unknown; see `mastd keys list`",
    Cause.REVOKED_KEY: "connection refused from {peer}: the key of {name} has been revoked",
    Cause.REVOKED_MESSAGE: "message dropped from {peer}: the key of {name} has been revoked",
}
_OTHERS = ("others",)


@dataclass
class _Kind:
    """What has come of one kind since its last line, which nothing may follow before ``until``."""

    until: float
    more: int = 0
    newest: Line | None = None
    at: float = 0.0
    """When that happened, Unix time."""


class RefusalLog:
    """Writes the lines; ``commands`` says whether accepted ones are reported.

    ``clock`` gives seconds and does not go back.
    """

    def __init__(
        self, sink: Sink, commands: bool = True, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._sink = sink
        self._clock = clock
        self._reports_commands = commands
        self._kinds: dict[Hashable, _Kind] = {}
        self._bucket = TokenBucket(COMMANDS_PER_S, round(COMMANDS_PER_S), round(clock() * 1e9))

    def unheard(self, unheard: Unheard) -> None:
        """Tell of a connection that was refused, or of a message that was dropped."""
        cause, name = unheard.cause, unheard.name
        text = _TEXTS[cause].format(endpoint=unheard.endpoint, peer=unheard.peer, name=name or "somebody")
        fields = {"MESSAGE_ID": CONNECTION_ID, "MASTD_CAUSE": cause.value, "MASTD_PEER": unheard.peer}
        if cause in (Cause.REVOKED_KEY, Cause.REVOKED_MESSAGE):
            fields["MASTD_OPERATOR"] = name
        # Whoever makes up a new key for each connection is still the same peer.
        who = unheard.peer if cause is Cause.UNKNOWN_KEY else name
        self._spaced((cause, who), Line(cause.value, text, WARNING, fields))

    def beyond_role(self, operator: str, role: Role, verb: str) -> None:
        """Tell of a command that was refused because of its sender's role."""
        text = f"{verb} by {operator} refused: {called(role)} may not"
        fields = {
            "MESSAGE_ID": BEYOND_ROLE_ID,
            "MASTD_OPERATOR": operator,
            "MASTD_ROLE": role,
            "MASTD_VERB": verb,
        }
        self._spaced(("role", operator, verb), Line("not allowed", text, NOTICE, fields))

    def accepted(self, operator: str, verb: str, holder: str) -> None:
        """Tell of a command that was accepted; ``holder`` has the lease, empty for nobody."""
        if not self._reports_commands:
            return
        text = f"{verb} by {operator}: accepted, lease: {holder or 'free'}"
        fields = {
            "MESSAGE_ID": COMMAND_ID,
            "MASTD_OPERATOR": operator,
            "MASTD_VERB": verb,
            "MASTD_LEASE": holder,
        }
        line = Line("command", text, INFORMATION, fields)
        if self._bucket.take(round(self._clock() * 1e9)):
            self._write(line)
        else:
            self._spaced(("command", operator, verb), line)

    def rig(self, name: str, program: str, what: str) -> None:
        """Tell of a rig that has joined, left, been lost or refused, or has asked for a stop."""
        fields = {"MESSAGE_ID": RIG_ID, "MASTD_RIG": name, "MASTD_OPERATOR": program}
        self._spaced(("rig", name, what), Line("rig", f"rig {name} ({program}) {what}", NOTICE, fields))

    def poll(self) -> None:
        """Report what has come due."""
        self._report_held_back(self._clock())

    def close(self) -> None:
        """Report what was held back, and end."""
        self._report_held_back(float("inf"))
        self._sink.close()

    def _spaced(self, key: Hashable, line: Line) -> None:
        now = self._clock()
        self._report_held_back(now)
        if key not in self._kinds and len(self._kinds) >= MAX_KINDS:
            key = _OTHERS
        kind = self._kinds.get(key)
        if kind is None:
            self._kinds[key] = _Kind(now + SPACING_S)
            self._write(line)
        else:
            kind.more += 1
            kind.newest, kind.at = line, time.time()

    def _report_held_back(self, now: float) -> None:
        for key, kind in list(self._kinds.items()):
            if now < kind.until:
                continue
            if kind.newest is None:
                del self._kinds[key]
                continue
            self._write(_and_more(kind.newest, kind.more - 1), kind.at)
            kind.until, kind.more, kind.newest = now + SPACING_S, 0, None

    def _write(self, line: Line, at: float | None = None) -> None:
        fields = {key: value for key, value in line.fields.items() if value}
        self._sink.write(Line(line.label, printable(line.message), line.priority, fields), at or time.time())


def _and_more(line: Line, count: int) -> Line:
    """Return a line that also stands for ``count`` others like it."""
    if count == 0:
        return line
    return replace(
        line, message=f"{line.message} … and {count} more", fields={**line.fields, "MASTD_MORE": str(count)}
    )
