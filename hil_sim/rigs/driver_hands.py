"""Somebody at a keyboard or gamepad, by the same keys and axes as ``mastd drive``."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from time import monotonic
from typing import TYPE_CHECKING, Self

from mastd.commands.drive.gamepad import Device, mapping_of
from mastd.commands.drive.input_devices import InputDevices
from mastd.commands.drive.terminal import Terminal

if TYPE_CHECKING:
    from mastd.wire.rigs.client import RigClient

Row = tuple[float, float, float, float, float]


class Cockpit:
    """Keys of the terminal, and a gamepad if one is given; a context manager."""

    def __init__(self, gamepad: str | None, mapping: Sequence[str]) -> None:
        """Raise UsageError for no terminal, no such device, or a mapping that says nothing."""
        known = mapping_of(mapping)
        self._terminal = Terminal()
        self._stack = ExitStack()
        device = self._stack.enter_context(Device(gamepad)) if gamepad else None
        self._devices = InputDevices(self._terminal, device, known, self._stop)
        self._rig: RigClient | None = None

    def __enter__(self) -> Self:
        self._stack.enter_context(self._terminal)
        self._terminal.write(f"{self._devices.help}\n")
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def carry(self, rig: RigClient) -> None:
        """Let this rig carry a stop."""
        self._rig = rig

    def left(self) -> bool:
        """Return whether the driver leaves; keys and events are taken here."""
        self._devices.listen(0.0)
        return self._devices.left

    def drive(self, time: float, speed: float, yaw: float, yaw_rate: float) -> Row:
        """Return what is done now."""
        inputs = self._devices.inputs(monotonic())
        return (inputs.steering, inputs.throttle, inputs.brake, inputs.clutch, float(inputs.gear))

    def _stop(self) -> None:
        if self._rig is not None:
            self._rig.stop()
