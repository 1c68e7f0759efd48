"""The middle of the console: what is heard of the daemon goes to all browsers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.websockets import WebSocket

from mastd.arrays import FloatArray, IntArray
from mastd.console.access import Session
from mastd.console.browser import ENDED, LOGGED_OUT, TOO_MANY_BROWSERS, Browser, close
from mastd.console.watcher import Daemon, Door

MAX_BROWSERS = 16
MAX_OBSERVERS = 8
"""Browsers that only watch; the other places are kept for those who operate."""


class Hub:
    """All connected browsers, in the event loop's thread; a ``watcher.Listener``."""

    def __init__(
        self, door: Door, operator: str, file_of: Callable[[str], str], want: Callable[[bool], None]
    ) -> None:
        self._door = door
        self._operator = operator
        self._file_of = file_of
        self._want = want
        self._browsers: set[Browser] = set()
        self._daemon: Daemon | None = None
        self._reason = "the daemon has not answered yet"
        self._status = ""
        self._ended = False

    @property
    def description(self) -> dict[str, Any] | None:
        """What the daemon tells about itself, None while none answers."""
        return None if self._daemon is None else self._daemon.description

    async def serve(self, websocket: WebSocket, session: Session) -> None:
        """Serve a browser until it goes."""
        await websocket.accept()
        if self._ended:
            await close(websocket, ENDED, "the console has ended")
            return
        if reason := self._full(session.role):
            await close(websocket, TOO_MANY_BROWSERS, reason)
            return
        operator = f"{self._operator}/browser-{session.number}"
        browser = Browser(websocket, session, operator, self._door, self._file_of, self._count_wants)
        self._browsers.add(browser)
        if self._daemon is not None:
            browser.meet(self._daemon)
        else:
            browser.miss(self._reason)
        if self._status:
            browser.outbox.show(self._status)
        try:
            await browser.serve()
        finally:
            self._browsers.discard(browser)
            self._count_wants()

    def _full(self, role: str) -> str:
        """Return why there is no place for a browser of a role, empty if there is one."""
        observers = sum(browser.session.role == "observer" for browser in self._browsers)
        if role == "observer" and observers >= MAX_OBSERVERS:
            return f"{MAX_OBSERVERS} browsers that only watch are connected already; close one of them"
        if len(self._browsers) >= MAX_BROWSERS:
            return f"{MAX_BROWSERS} browsers are connected already; close one of them"
        return ""

    def log_out(self, session: Session) -> None:
        """Disconnect the browsers of a session."""
        for browser in self._browsers:
            if browser.session is session:
                browser.end(LOGGED_OUT, "logged out")

    def end(self) -> None:
        """Disconnect all browsers."""
        self._ended = True
        for browser in self._browsers:
            browser.end(ENDED, "the console has ended")

    def found(self, daemon: Daemon) -> None:
        """Tell all of a daemon that answers."""
        self._daemon, self._status = daemon, ""
        for browser in self._browsers:
            browser.meet(daemon)

    def lost(self, reason: str) -> None:
        """Tell all that no daemon answers."""
        self._daemon, self._status, self._reason = None, "", reason
        for browser in self._browsers:
            browser.miss(reason)

    def status(self, text: str) -> None:
        """Show all a status."""
        self._status = text
        for browser in self._browsers:
            browser.outbox.show(text)

    def frames(self, numbers: IntArray, frames: FloatArray) -> None:
        """Show each browser its channels of the frames (n, channels)."""
        if self._daemon is None or frames.shape[1] != len(self._daemon.description["channels"]):
            return
        for browser in self._browsers:
            browser.trace(numbers, frames)

    def _count_wants(self) -> None:
        self._want(any(browser.columns for browser in self._browsers))
