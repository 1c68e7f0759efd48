"""Who is at the other end of a Unix socket, by what the kernel noted when they connected (SO_PEERCRED).

libzmq asks for it and puts ``:uid:gid:pid`` behind the peer's address of each message. It cannot be made up:
whoever may use a socket of this machine may call themselves what they like, but acts under their own user's
name. What they may do is decided by which socket they could reach: the kernel compares the modes of the file
and of its directories with all groups of the one who connects.
"""

from __future__ import annotations

import os
import pwd
from typing import Protocol

from mastd.wire.access.sessions import OBSERVERS, PeerIdentity

_PARTS = 3
_MAX_KNOWN = 256


class Frame(Protocol):
    """A message as ZeroMQ hands it over."""

    def get(self, option: str) -> object:
        """Return a property of the message's connection."""


class PeerUsers:
    """Names the users of this machine who connect."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}

    def identity(self, frame: Frame, door: int) -> PeerIdentity | None:
        """Return who has sent a message to a local socket.

        None, who may call themselves anything, for the daemon's own user and root at the operators' socket:
        they can do to the daemon what they like.
        """
        user = user_id(frame)
        if door == OBSERVERS:
            return PeerIdentity(self._name(user), "observer", local=True)
        if user in (None, 0, os.getuid()):
            return None
        return PeerIdentity(self._name(user), "engineer", local=True)

    def _name(self, user: int | None) -> str:
        if user is None:
            return "somebody"
        if user not in self._names:
            if len(self._names) >= _MAX_KNOWN:
                self._names.clear()
            try:
                self._names[user] = pwd.getpwuid(user).pw_name
            except KeyError:
                self._names[user] = str(user)
        return self._names[user]


def user_id(frame: Frame) -> int | None:
    """Return the user of the process that a message came from, None where that is not known."""
    parts = str(frame.get("Peer-Address")).rsplit(":", _PARTS)
    return int(parts[1]) if len(parts) > _PARTS and parts[1].isdecimal() else None


def acting_as(said: str, user: str) -> str:
    """Return under which name a user acts who says ``said``: one that begins with the user's own."""
    own = said == user or said.startswith((f"{user}@", f"{user}/"))
    return said if own else f"{user}/{said}"
