"""A program that reads a daemon's telemetry to its end and prints what it has seen as JSON.

``python -m tests.support.wire.telemetry_reader ADDRESS [deaf]``: it waits for the daemon; a deaf one reads
one message, then waits for the end of its standard input.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time

from mastd.errors import UsageError
from mastd.wire.operators.client import OperatorClient


def main(address: str, deaf: bool) -> None:
    """Read everything."""
    client = None
    while client is None:
        try:
            client = OperatorClient(address, "reader", role="observer", patience_s=0.2)
        except UsageError:
            time.sleep(0.01)  # nobody there yet
    channels = [name for name, _, _ in client.describe()["channels"]]
    cycle = channels.index("cycle")
    seen: dict[str, int] = {"shown": 0, "gaps": 0, "misplaced": 0}
    following = None
    with client, contextlib.suppress(UsageError):
        for telemetry in client.telemetry():
            if len(telemetry.numbers) and deaf:
                print(json.dumps({"deaf": True}), flush=True)
                sys.stdin.read()
                return
            for number, frame in zip(telemetry.numbers.tolist(), telemetry.frames, strict=True):
                seen.setdefault("first", number)
                seen["gaps"] += number - (number if following is None else following)
                seen["shown"] += 1
                seen["misplaced"] += int(frame[cycle] != number + 1)
                following = number + 1
            seen["lost"] = telemetry.lost
            seen["ended"] = int(telemetry.ended)
    seen["following"] = following or 0
    print(json.dumps(seen), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], "deaf" in sys.argv[2:])
