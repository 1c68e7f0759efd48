"""The client of a rig for programs that run on asyncio: ``mastd.wire.rigs.client.RigClient`` with await.

::

    async with await AsyncRigClient.join("pedals", reads=("vehicle.speed",)) as rig:
        while (motion := await rig.receive(1.0)) is not None:
            await rig.send((0.1, 0.5), motion)

Signs of life are sent by ``receive``, as by the synchronous client: a program that does not ask for motions
is silent, and loses its place.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from types import TracebackType
from typing import Self, cast

import zmq
import zmq.asyncio

from mastd.arrays import FloatArray
from mastd.wire.operators.client import ClientKeys
from mastd.wire.rigs.client import PATIENCE_S, ConnectedRig, Result, own_program, rig_address
from mastd.wire.rigs.client_session import ClientSession, MotionSeen
from mastd.wire.rigs.messages import ANY


class AsyncRigClient(ConnectedRig):
    """A rig that has joined; ``join`` makes one."""

    def __init__(self, address: str, session: ClientSession, keys: ClientKeys | None) -> None:
        super().__init__(address, session, keys)
        self._poller = zmq.asyncio.Poller()
        self._poller.register(self._socket, zmq.POLLIN)

    @classmethod
    async def join(
        cls,
        name: str,
        *,
        kind: str = ANY,
        reads: Sequence[str] = (),
        address: str | None = None,
        keys: ClientKeys | None = None,
        patience: float = PATIENCE_S,
        mode: str = ANY,
        program: str = "",
    ) -> Self:
        """Join as ``RigClient.join`` does; raise what it raises."""
        session = ClientSession(name, kind, reads, program or own_program(name), mode)
        client = cls(rig_address(address), session, keys)
        try:
            await client._wait(client._joining(patience))
        except BaseException:
            client.close()
            raise
        return client

    async def receive(self, timeout: float = 1.0) -> MotionSeen | None:
        """Return what ``RigClient.receive`` returns; raise what it raises."""
        return await self._wait(self._receiving(timeout))

    async def send(self, values: Sequence[float] | FloatArray, motion: MotionSeen | int) -> None:
        """Give values as ``RigClient.send`` does; raise what it raises."""
        self._give(values, motion)

    async def stop(self) -> None:
        """Ask for a soft stop of the table."""
        self._request("stop")

    async def estop(self) -> None:
        """Ask for an emergency stop."""
        self._request("estop")

    async def leave(self) -> None:
        """End the session and the connection."""
        self._leave()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.leave()

    async def _wait(self, waits: Generator[int, None, Result]) -> Result:
        while True:
            try:
                wait_ms = next(waits)
            except StopIteration as done:
                return cast(Result, done.value)
            await self._poller.poll(wait_ms)
