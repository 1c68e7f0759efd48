"""Ask a running simulated plant something beside its daemon: faults in, status and true motion out."""

from __future__ import annotations

import zmq

from mastd.errors import ProtocolError
from mastd.wire.common.address import check_address
from mastd.wire.plant.hello import pack_map, read_refusal, unpack_map
from mastd.wire.plant.socket_link import MAX_MESSAGE


def ask(address: str, kind: str, timeout_s: float = 5.0, **entries: object) -> dict[str, object]:
    """Send one request to the plant at ``address`` and return the answer's entries.

    Raises ProtocolError if the plant refuses the request or does not answer in time.
    """
    with zmq.Context() as context, context.socket(zmq.DEALER) as socket:
        socket.linger = 0
        socket.setsockopt(zmq.MAXMSGSIZE, MAX_MESSAGE)
        socket.connect(check_address(address))
        socket.send(pack_map(kind, entries))
        if not socket.poll(round(1000 * timeout_s)):
            raise ProtocolError(f"the plant at {address} does not answer within {timeout_s:g} s")
        answer = unpack_map(socket.recv())
    if answer["kind"] != "answer":
        raise ProtocolError(f"the plant at {address} refuses: {read_refusal(answer).text}")
    return answer
