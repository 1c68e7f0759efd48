"""The client of somebody who drives: it sends what is driven with, and never waits for anything."""

from __future__ import annotations

import contextlib
import time
from typing import Any

import zmq

from mastd.errors import REFUSED, ProtocolError, UsageError
from mastd.wire.common.strict_messages import MalformedError
from mastd.wire.operators.client import SILENT_S, ClientKeys, OperatorClient
from mastd.wire.operators.messages import Answer, Error, Inputs, Welcome, pack_drive, read_status

_MAX_TAKEN = 64
"""Messages that one call takes."""


class RefusedError(ProtocolError):
    """Somebody else commands the table, or this client may only watch; ends a command with exit code 6."""

    exit_code = REFUSED


class DriveClient(OperatorClient):
    """An operator's session for driving; see ``OperatorClient`` for what opening it may raise."""

    def __init__(
        self, address: str | None = None, operator: str | None = None, keys: ClientKeys | None = None
    ) -> None:
        super().__init__(address, operator, name="mastd drive", keys=keys)
        self._status = self._subscriber()
        self._shown = time.monotonic()

    def drive(self, inputs: Inputs) -> None:
        """Send the newest inputs; what cannot be sent at once is lost."""
        # One count with the commands, so that a complaint tells what it is about.
        self._sequence += 1
        with contextlib.suppress(zmq.Again):
            self._socket.send(pack_drive(self.welcome.session, self._sequence, inputs), zmq.NOBLOCK)

    def heard(self) -> tuple[Answer, ...]:
        """Return the answers that have come since.

        A session that the daemon does not know any more is opened again. Raises RefusedError when the inputs
        are refused, UsageError when the daemon is gone.
        """
        answers = []
        for _ in range(_MAX_TAKEN):
            message = self._receive(0.0)
            if message is None:
                break
            if isinstance(message, Answer):
                answers.append(message)
            elif isinstance(message, Error):
                self._complained(message)
        return tuple(answers)

    def newest(self) -> dict[str, Any] | None:
        """Return the newest status since the last call, None if none has come.

        Raises UsageError when none has come for ``SILENT_S``, or the daemon has ended.
        """
        snapshot = None
        for _ in range(_MAX_TAKEN):
            try:
                data = self._status.recv(zmq.NOBLOCK)
            except zmq.Again:
                break
            with contextlib.suppress(MalformedError):
                snapshot = read_status(data)
        now = time.monotonic()
        if snapshot is not None:
            self._shown = now
            if snapshot.get("loop") == "ended":
                raise UsageError(f"the daemon at {self.address} has ended")
        elif now - self._shown > SILENT_S:
            raise self._silent("status")
        return snapshot

    def _complained(self, complaint: Error) -> None:
        if complaint.error == "unknown_session":
            self.welcome: Welcome = self._greet()
        elif complaint.error != "too_many":
            raise RefusedError(complaint.reason)
