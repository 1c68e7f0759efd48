"""Commands of one browser on their way to the daemon, each lane in a thread of its own, in order.

A browser has one lane for what the daemon answers when it can, and one each for ``stop`` and ``estop``, which
go out at once in a connection of their own, whatever else waits.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from mastd.console.messages import Order, answered, refused
from mastd.errors import MastdError
from mastd.wire.operators.client import OperatorClient

MAX_QUEUE_LENGTH = 8
MAX_JOINED = 64

Say = Callable[[str], None]
"""Takes a message for the browser, from any thread."""
Open = Callable[[], OperatorClient]
Arguments = Callable[[Order], dict[str, object]]
"""Gives the arguments of an order as the daemon is to get them; raises MastdError to refuse it."""


@dataclass
class _Waiting:
    order: Order
    numbers: list[int | None] = field(default_factory=list)


class Lane:
    """Sends commands one after the other; at most ``MAX_QUEUE_LENGTH`` wait.

    With ``joined`` an order that waits already, and is the same, answers for the new one, too: however often
    somebody stops, the stop that follows the present one counts for all.
    """

    def __init__(self, opened: Open, arguments: Arguments, say: Say, joined: bool = False) -> None:
        self._open = opened
        self._arguments = arguments
        self._say = say
        self._joined = joined
        self._waiting: deque[_Waiting] = deque()
        self._changed = threading.Condition()
        self._ended = False
        self._thread: threading.Thread | None = None

    def put(self, order: Order) -> bool:
        """Take an order; return False if too many wait."""
        with self._changed:
            if self._joined and self._waiting:
                numbers = self._waiting[-1].numbers
                if len(numbers) < MAX_JOINED:
                    numbers.append(order.number)
                return True
            if len(self._waiting) >= MAX_QUEUE_LENGTH:
                return False
            self._waiting.append(_Waiting(order, [order.number]))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, daemon=True)
                self._thread.start()
            self._changed.notify()
            return True

    def end(self) -> None:
        """Send nothing more but stops that wait; the session ends with the answer that is still due."""
        with self._changed:
            self._ended = True
            if not self._joined:
                self._waiting.clear()
            self._changed.notify()

    def _run(self) -> None:
        client: OperatorClient | None = None
        try:
            while (waiting := self._next()) is not None:
                client = self._send(client, waiting)
                if client is not None and self._joined:
                    client.close()
                    client = None
        finally:
            if client is not None:
                client.close()

    def _next(self) -> _Waiting | None:
        with self._changed:
            while not self._waiting:
                if self._ended:
                    return None
                self._changed.wait()
            return self._waiting.popleft()

    def _send(self, client: OperatorClient | None, waiting: _Waiting) -> OperatorClient | None:
        """Send a command and tell its answer; return the session if it can be used again."""
        order = waiting.order
        try:
            arguments = self._arguments(order)
            client = client or self._open()
            answer = client.command(order.verb, arguments)
        except MastdError as error:
            if client is not None:
                client.close()
                client = None
            for number in waiting.numbers:
                self._say(refused(number, order.verb, str(error)))
        else:
            for number in waiting.numbers:
                self._say(answered(number, answer))
        return client
