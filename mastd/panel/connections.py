"""The panel's connections with the daemon, each in a thread of its own, so that none waits for another.

One follows the status and comes back when the daemon does. Commands have three: a stop must not wait for the
answer to a hold, nor an emergency stop for that to a stop.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any, Final

from mastd.errors import ProtocolError, printable
from mastd.panel.board import PanelStatus
from mastd.panel.status_text import answer_text
from mastd.wire.access.verbs import STOPPING
from mastd.wire.operators.client import OperatorClient

AGAIN_S: Final = 0.5
"""Between two attempts to reach a daemon that is not there."""
Connect = Callable[[], OperatorClient]


class Watcher(threading.Thread):
    """Puts every status on the board until ``leave``; ``client`` is the first connection."""

    def __init__(self, client: OperatorClient, connect: Connect, panel_status: PanelStatus) -> None:
        super().__init__(name="status", daemon=True)
        self._client: OperatorClient | None = client
        self._connect = connect
        self._status = panel_status
        self._left = threading.Event()

    def leave(self) -> None:
        """End soon."""
        self._left.set()

    def run(self) -> None:
        """Follow one daemon after the other."""
        while not self._left.is_set():
            try:
                client, self._client = self._client or self._connect(), None
                with client:
                    self._follow(client)
            except Exception as error:  # a thread that has ended would never see the daemon again
                self._status.lose(printable(str(error), keep=""))
                self._left.wait(AGAIN_S)

    def _follow(self, client: OperatorClient) -> None:
        waiting = None
        for status in client.watch():
            # Before its plant is there a daemon cannot describe it.
            if waiting != (waiting := status.get("loop") == "preparing"):
                self._status.describe(description_of(client))
            self._status.show(status)
            # Another process at the same address is another daemon, with perhaps another table.
            if self._left.is_set() or status.get("pid") != client.welcome.pid:
                return


def description_of(client: OperatorClient) -> dict[str, Any]:
    """Return what the daemon tells of itself, nothing where it is too old to."""
    with contextlib.suppress(ProtocolError):
        return client.describe()
    return {}


class Sender(threading.Thread):
    """Sends one verb at a time and tells the board what became of it."""

    def __init__(self, connect: Connect, panel_status: PanelStatus, name: str) -> None:
        super().__init__(name=name, daemon=True)
        self._connect = connect
        self._status = panel_status
        self._client: OperatorClient | None = None
        self._condition = threading.Condition()
        self._verb = ""
        self._left = False

    def ask(self, verb: str) -> None:
        """Send a verb at once; one that comes while another waits for its answer is reported and not kept."""
        with self._condition:
            waiting = self._verb
            unsent = f"; {verb} is NOT sent" if waiting not in ("", verb) else ""
            self._status.add_message(
                f"{waiting or verb} is sent and waits for its answer{unsent}", good=not unsent
            )
            self._verb = waiting or verb
            self._condition.notify_all()

    def leave(self, seconds: float) -> None:
        """End when the verb on its way is answered, at the latest after ``seconds``."""
        with self._condition:
            self._left = True
            self._condition.notify_all()
        self.join(seconds)

    def run(self) -> None:
        """Keep a connection ready, and send what is asked for."""
        with contextlib.suppress(Exception):  # the first verb tries again, and tells
            self._client = self._connect()
        while True:
            with self._condition:
                self._condition.wait_for(lambda: self._verb or self._left)
                verb = self._verb
            if not verb:
                break
            self._carry_out(verb)
            with self._condition:
                self._verb = ""
        if self._client is not None:
            self._client.close()

    def _carry_out(self, verb: str) -> None:
        try:
            self._client = self._client or self._connect()
            answer = self._client.command(verb)
        except Exception as error:  # whatever it is, the key must work the next time
            what = f"{verb} was NOT CONFIRMED, use the e-stop of the table: " if verb in STOPPING else ""
            self._status.add_message(printable(f"{what}{error}", keep=""), good=False)
            if self._client is not None:
                self._client.close()
                self._client = None
        else:
            self._status.add_message(printable(answer_text(answer), keep=""), answer.accepted)
