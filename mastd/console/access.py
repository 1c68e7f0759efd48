"""Who may use the console: two tokens, slow answers to wrong ones, sessions in memory.

A token is asked for once a browser; the session's cookie says nothing but a random number. Neither stands in
a URL or in a log.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import os
import secrets
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

TOKEN_BYTES = 18
WINDOW_S = 60.0
TRIES_AN_ADDRESS = 5
TRIES_IN_ALL = 20
MAX_SLOWED = 20
SLOW_S = 2.0
MAX_SESSIONS = 32
"""Sessions of one role: observers, who may be anybody, push no operator out."""
SESSION_S = 12 * 3600.0
"""A session ends when nothing has come from its browser for so long: a shift."""


@dataclass(frozen=True)
class Tokens:
    """The secrets that are asked for, one for each role."""

    operator: str = field(default_factory=lambda: secrets.token_urlsafe(TOKEN_BYTES), repr=False)
    observer: str = field(default_factory=lambda: secrets.token_urlsafe(TOKEN_BYTES), repr=False)

    def role(self, given: str) -> str:
        """Return the role that a token opens, empty for none; always takes the same time."""
        given_bytes = given.encode()
        operator = hmac.compare_digest(given_bytes, self.operator.encode())
        observer = hmac.compare_digest(given_bytes, self.observer.encode())
        return "operator" if operator else "observer" if observer else ""


class TokenFiles:
    """The tokens as files that only this user can read, while the console runs; a context manager."""

    def __init__(self, directory: Path, port: int, tokens: Tokens) -> None:
        self.operator = directory / f"console-{port}.operator-token"
        self.observer = directory / f"console-{port}.observer-token"
        self._tokens = tokens

    def __enter__(self) -> TokenFiles:
        _write(self.operator, self._tokens.operator)
        _write(self.observer, self._tokens.observer)
        return self

    def __exit__(self, *_: object) -> None:
        for path in (self.operator, self.observer):
            with contextlib.suppress(OSError):
                path.unlink()


def _write(path: Path, token: str) -> None:
    """Write a file that nobody else could read at any moment, in place of one left behind."""
    new = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with open(descriptor, "w", encoding="ascii") as file:
        file.write(f"{token}\n")
    new.replace(path)


class Tries:
    """Counts wrong tokens: a few a minute for each address, some more in all, which bounds the memory.

    Only wrong ones are slowed down. The right token is taken whatever came before it from the same address,
    or somebody who knows none could keep out those who do.
    """

    def __init__(self) -> None:
        self._wrong: deque[tuple[float, str]] = deque(maxlen=TRIES_IN_ALL)
        self._slowed = 0

    def wrong(self, address: str, now_s: float) -> bool:
        """Note a wrong token; return whether there were too many in the last minute."""
        while self._wrong and now_s - self._wrong[0][0] >= WINDOW_S:
            self._wrong.popleft()
        own = sum(who == address for _, who in self._wrong)
        too_many = own >= TRIES_AN_ADDRESS or len(self._wrong) >= TRIES_IN_ALL
        self._wrong.append((now_s, address))
        return too_many

    async def slow_down(self) -> None:
        """Let whoever has sent too many wait; only so many wait at once."""
        if self._slowed >= MAX_SLOWED:
            return
        self._slowed += 1
        try:
            await asyncio.sleep(SLOW_S)
        finally:
            self._slowed -= 1


@dataclass
class Session:
    """A browser that has logged in: its number, role, and when it was last heard (s, monotonic)."""

    key: str = field(repr=False)
    number: int
    role: str
    heard_s: float


class Sessions:
    """Browsers that have logged in; of too many of a role the one that has been silent longest gives way."""

    def __init__(self) -> None:
        self._sessions: dict[str, Session] = {}
        self._number = 0

    def open(self, role: str, now_s: float) -> Session:
        """Begin a session."""
        of_role = [session for session in self._sessions.values() if session.role == role]
        if len(of_role) >= MAX_SESSIONS:
            self.close(min(of_role, key=lambda session: session.heard_s))
        self._number += 1
        session = Session(secrets.token_urlsafe(32), self._number, role, now_s)
        self._sessions[session.key] = session
        return session

    def find(self, key: str | None, now_s: float) -> Session | None:
        """Return the session of a cookie and note that it was heard; None if there is none any more."""
        session = self._sessions.get(key or "")
        if session is None:
            return None
        if now_s - session.heard_s >= SESSION_S:
            self.close(session)
            return None
        session.heard_s = now_s
        return session

    def close(self, session: Session) -> None:
        """End a session."""
        self._sessions.pop(session.key, None)
