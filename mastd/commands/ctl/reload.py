"""`mastd ctl reload`: have the settings reloaded, and wait until the daemon is back."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from mastd.errors import UsageError
from mastd.wire.common.address import process_lives

if TYPE_CHECKING:
    from mastd.wire.operators.client import OperatorClient
    from mastd.wire.operators.messages import Answer

CHECK_INTERVAL_S = 0.1


def reload(
    client: OperatorClient, join: Callable[[], OperatorClient], longest_s: float
) -> tuple[Answer, bool]:
    """Return the answer, with how it went as its reason, and whether the new settings are in force.

    ``join`` opens a session as ``client`` was opened. A refusal gives back the lease that
    only this command has taken. Raises UsageError when the daemon does not come back.
    """
    before = client.status()
    answer = client.command("reload")
    if not answer.accepted:
        if before["lease"] is None:
            client.send("release")
        return answer, False
    number = before["reload"]["number"] if before["reload"] else 0
    status = _back(client, join, number, longest_s)
    kept_old, waiting = status["reload"]["kept_old"], status["waiting"]
    if kept_old:
        reason = f"reload failed: {kept_old}"
        needed = "the previous settings remain in force; correct the files, then reload again"
        return replace(answer, accepted=False, reason=reason, needed=needed, state=status["state"]), False
    reason = "the new settings are in force; load a profile again"
    reason = f"{reason}; {waiting}" if waiting else reason
    return replace(answer, reason=reason, state=status["state"], lease=""), True


def _back(
    client: OperatorClient, join: Callable[[], OperatorClient], number: int, longest_s: float
) -> dict[str, Any]:
    """Return the status of the daemon that has come back: its loop runs, or it waits for its plant."""
    local, process_id = client.address.startswith("ipc:"), client.welcome.pid
    end = time.monotonic() + longest_s
    while time.monotonic() < end:
        try:
            with join() as other:
                status = other.status()
            if _is_up(status, number):
                return status
        except UsageError:
            if local and not process_lives(process_id):
                raise UsageError("reload: the daemon has ended; see its log") from None
        time.sleep(CHECK_INTERVAL_S)  # a socket that is made anew can only be looked for
    raise UsageError(
        f"reload was accepted but the daemon did not restart within {longest_s:g} s; see its log"
    )


def _is_up(status: dict[str, Any], number: int) -> bool:
    """Return whether a reload after the one of this number is done."""
    waits = status["loop"] == "preparing" and status["waiting"]
    done = status["reload"] is not None and status["reload"]["number"] > number
    return bool(done and (waits or status["loop"] == "running"))
