"""One browser: what it says is read and checked, what it is reported is written as fast as it takes it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from starlette.websockets import WebSocket, WebSocketDisconnect

from mastd.console.lane import Lane
from mastd.console.messages import (
    Choice,
    MessageError,
    Order,
    Ping,
    pack,
    read_message,
    refusal,
    refused,
)
from mastd.console.outbox import Outbox, Traces
from mastd.errors import UsageError
from mastd.wire.access.sessions import TokenBucket
from mastd.wire.access.verbs import STOPPING

if TYPE_CHECKING:
    from mastd.arrays import FloatArray, IntArray
    from mastd.console.access import Session
    from mastd.console.watcher import Daemon, Door

PATIENCE_S = 10.0
"""A browser that takes nothing for so long is disconnected."""
DROPPED_S = 5.0
"""Time in which a browser that is disconnected for that may still take what waits, the reason last."""
ENDING_S = 0.3
"""The same for all where the console ends."""
RATE = 50.0
BURST = 100
MAX_EXCESS = 200
"""Messages beyond the rate that are answered; then the browser is disconnected."""

ENDED = 1001
LOGGED_OUT = 4001
SLOW = 4002
TOO_MANY_MESSAGES = 4003
TOO_MANY_BROWSERS = 4004


class Connection(Protocol):
    """The browser's connection below the messages."""

    def drop(self, code: int, reason: str, within_s: float) -> None:
        """End it within a time, whether the browser takes what waits or not."""


class Browser:
    """A connected browser with its lanes to the daemon."""

    def __init__(
        self,
        websocket: WebSocket,
        session: Session,
        operator: str,
        door: Door,
        file_of: Callable[[str], str],
        chosen: Callable[[], None],
    ) -> None:
        self.session = session
        self.outbox = Outbox()
        self.columns: list[int] = []
        self._websocket = websocket
        self._operator = operator
        self._file_of = file_of
        self._chosen = chosen
        self._choice: Choice | None = None
        self._daemon: Daemon | None = None
        self._bucket = TokenBucket(RATE, BURST, time.monotonic_ns())
        self._excess = 0
        self._closing: tuple[int, str] | None = None
        self._end = asyncio.Event()
        self._loop = asyncio.get_running_loop()

        def lane(joined: bool) -> Lane:
            return Lane(
                lambda: door.open(operator, session.role == "operator"),
                self._arguments,
                self._say_from_thread,
                joined,
            )

        self._commands = lane(False)
        self._stops = {verb: lane(True) for verb in sorted(STOPPING)}

    def meet(self, daemon: Daemon) -> None:
        """Tell of a daemon that answers."""
        self._daemon = daemon
        self._say(
            pack(
                "hello",
                describe=daemon.description,
                operator=daemon.name or self._operator,
                role="operator" if daemon.commands and self.session.role == "operator" else "observer",
            )
        )
        self._choose()

    def miss(self, reason: str) -> None:
        """Tell that no daemon answers; what waits to be shown of it is of no more interest."""
        self._daemon = None
        self.columns = []
        self.outbox.begin(0.0)
        self._say(pack("lost", reason=reason))

    def trace(self, numbers: IntArray, frames: FloatArray) -> None:
        """Show the chosen channels of frames (n, channels)."""
        if self.columns and max(self.columns) < frames.shape[1]:
            self.outbox.trace(Traces(numbers, frames[:, self.columns].T.astype("f4")))

    def end(self, code: int, reason: str) -> None:
        """Disconnect with a code that the page can show."""
        if self._closing is None:
            self._closing = (code, reason)
            self._end.set()

    async def serve(self) -> None:
        """Read and write until the browser goes, or is sent away."""
        tasks = [asyncio.create_task(work) for work in (self._read(), self._write(), self._ended())]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for lane in (self._commands, *self._stops.values()):
                lane.end()
        if self._closing is not None:
            await close(self._websocket, *self._closing)

    async def _ended(self) -> None:
        await self._end.wait()

    async def _read(self) -> None:
        while True:
            message = await self._websocket.receive()
            if message["type"] != "websocket.receive":
                return
            self.session.heard_s = time.monotonic()
            text = message.get("text")
            try:
                if text is None:
                    raise MessageError("messages are text, this one is binary")
                self._receive(read_message(text))
            except MessageError as error:
                if self._within_rate(error.number, error.verb):
                    self._say(refused(error.number, error.verb, str(error)))
            await asyncio.sleep(0)  # many messages in one packet do not keep other browsers waiting

    def _receive(self, message: Ping | Choice | Order) -> None:
        if isinstance(message, Order) and message.verb in STOPPING:
            self._stops[message.verb].put(message)
            return
        number = None if isinstance(message, Choice) else message.number
        verb = message.verb if isinstance(message, Order) else ""
        if not self._within_rate(number, verb):
            return
        if isinstance(message, Ping):
            self._say(pack("pong", id=message.number))
        elif isinstance(message, Choice):
            self._choice = message
            self._choose()
        elif reason := refusal(self.session.role, verb):
            self._say(refused(number, verb, reason))
        elif not self._commands.put(message):
            self._say(refused(number, verb, f"{verb}: too many commands are waiting; wait for their answers"))

    def _within_rate(self, number: int | None, verb: str) -> bool:
        if self._bucket.take(time.monotonic_ns()):
            return True
        self._excess += 1
        self._say(refused(number, verb, "too many messages in a short time; slow down"))
        if self._excess > MAX_EXCESS:
            self.end(TOO_MANY_MESSAGES, "this browser sends too many messages")
        return False

    def _choose(self) -> None:
        """Begin the traces of the chosen channels again, as far as the daemon has them."""
        if self._choice is None:
            return
        if self._daemon is None:
            self._say(pack("traces", channels=[], refused=list(self._choice.channels)))
            return
        described = self._daemon.description
        columns = {str(channel[0]): k for k, channel in enumerate(described["channels"])}
        there = [name for name in self._choice.channels if name in columns]
        self.columns = [columns[name] for name in there]
        self.outbox.begin(1.0 / float(described["rate_hz"]))
        self._say(
            pack(
                "traces",
                channels=there,
                refused=[name for name in self._choice.channels if name not in columns],
            )
        )
        self._chosen()

    def _arguments(self, order: Order) -> dict[str, object]:
        if order.verb != "load":
            return order.arguments
        wanted = order.arguments.get("profile")
        if not isinstance(wanted, str) or set(order.arguments) != {"profile"}:
            raise UsageError("load: expected a profile's name, as in the list of profiles")
        return {"profile": self._file_of(wanted)}

    def _say(self, text: str) -> None:
        if not self.outbox.say(text):
            self.end(SLOW, "this browser does not read its messages")

    def _say_from_thread(self, text: str) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._say, text)

    async def _write(self) -> None:
        while True:
            message = await self.outbox.take()
            kind = "text" if isinstance(message, str) else "bytes"
            try:
                async with asyncio.timeout(PATIENCE_S):
                    await self._websocket.send({"type": "websocket.send", kind: message})
            except TimeoutError:
                self.end(SLOW, f"this browser received nothing for {PATIENCE_S:g} s")
                return
            except (WebSocketDisconnect, RuntimeError):
                return


async def close(websocket: WebSocket, code: int, reason: str) -> None:
    """Close a browser's socket; one that takes nothing is not waited for."""
    try:
        async with asyncio.timeout(ENDING_S):
            await websocket.close(code, reason)
    except TimeoutError:
        connection: Connection = websocket.scope["state"]["connection"]
        connection.drop(code, reason, ENDING_S if code == ENDED else DROPPED_S)
    except (WebSocketDisconnect, RuntimeError):
        pass
