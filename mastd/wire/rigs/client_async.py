"""The client of a rig for programs that run on asyncio: ``mastd.wire.rigs.client.RigClient`` with await.

::

    async with await AsyncRigClient.join("pedals", reads=("vehicle.speed",)) as rig:
        while (motion := await rig.receive(1.0)) is not None:
            await rig.send((0.1, 0.5), motion)

Signs of life are sent by ``receive``, as by the synchronous client: a program that does not ask for motions
is silent, and loses its place.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

import zmq
import zmq.asyncio

from mastd.arrays import FloatArray
from mastd.errors import ProtocolError
from mastd.wire.operators.client import ClientKeys
from mastd.wire.rigs.client import (
    MAX_TAKEN,
    PATIENCE_S,
    SLICE_S,
    own_program,
    prepare_rig_socket,
    rig_address,
)
from mastd.wire.rigs.client_session import ClientSession, JoinedRig, MotionSeen
from mastd.wire.rigs.messages import ANY


class AsyncRigClient(JoinedRig):
    """A rig that has joined; ``join`` makes one."""

    def __init__(self, address: str, session: ClientSession, keys: ClientKeys | None) -> None:
        super().__init__(address, session)
        self._context = zmq.asyncio.Context()
        self._socket = self._context.socket(zmq.DEALER)
        prepare_rig_socket(self._socket, address, keys)

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
            await client._greet(patience)
        except BaseException:
            client.close()
            raise
        return client

    async def receive(self, timeout: float = 1.0) -> MotionSeen | None:
        """Return the newest motion, None if none comes within ``timeout`` s.

        Raises UsageError when the daemon is gone, RigRefusedError when it does not take the rig again.
        """
        end = time.monotonic() + timeout
        while True:
            await self._drain()
            motion = self._session.take()
            left = end - time.monotonic()
            if motion is not None or left <= 0.0:
                return motion
            await self._socket.poll(round(1000 * min(left, SLICE_S)) + 1)

    async def send(self, values: Sequence[float] | FloatArray, motion: MotionSeen | int) -> None:
        """Give values, in the order of ``channels``, computed from this motion (or its step).

        What cannot be sent at once is lost. Raises ValueError for values that do not fit the channels.
        """
        step = motion if isinstance(motion, int) else motion.step
        await self._post(self._session.values(values, step, time.monotonic_ns()))

    async def stop(self) -> None:
        """Ask for a soft stop of the table."""
        await self._post(self._session.request("stop")[0])

    async def estop(self) -> None:
        """Ask for an emergency stop."""
        await self._post(self._session.request("estop")[0])

    async def leave(self) -> None:
        """Give the place back."""
        if not self._context.closed:
            with contextlib.suppress(ProtocolError):
                await self._post(self._session.request("bye")[0])
        self.close()

    def close(self) -> None:
        """End the connection without a word; the daemon finds the rig lost."""
        self._context.destroy(linger=200)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.leave()

    async def _greet(self, patience: float) -> None:
        end = time.monotonic() + patience
        while self._session.welcome is None:
            await self._drain()
            if self._session.welcome is None:
                left = end - time.monotonic()
                if left <= 0.0:
                    raise self._session.nobody(self.address)
                await self._socket.poll(round(1000 * min(left, SLICE_S)) + 1)

    async def _drain(self) -> None:
        for _ in range(MAX_TAKEN):
            try:
                data = await self._socket.recv(zmq.NOBLOCK)
            except zmq.Again:
                break
            self._session.on_message(data, time.monotonic_ns())
        self._session.poll(time.monotonic_ns())
        while self._session.outbox:
            await self._post(self._session.outbox.pop(0))

    async def _post(self, data: bytes) -> None:
        with contextlib.suppress(zmq.Again):
            await self._socket.send(data, zmq.NOBLOCK)
