"""Somebody at a keyboard or gamepad, by the same keys and axes as ``mastd drive``."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Self

from mastd.commands.drive.command import Terminal
from mastd.commands.drive.gamepad import Device, EventReader, Gamepad, mapping_of
from mastd.commands.drive.keyboard import GAMEPAD_HELP, HELP, Keyboard, KeyReader, action, gear_of

if TYPE_CHECKING:
    from mastd.wire.rigs.client import RigClient

_BYTES = 1024

Row = tuple[float, float, float, float, float]


class Cockpit:
    """Keys of the terminal, and a gamepad if one is given; a context manager."""

    def __init__(self, gamepad: str | None, mapping: Sequence[str]) -> None:
        """Raise UsageError for no terminal, no such device, or a mapping that says nothing."""
        self._pad = Gamepad(mapping_of(mapping))
        self._terminal = Terminal()
        self._stack = ExitStack()
        self._device = self._stack.enter_context(Device(gamepad)) if gamepad else None
        self._keys = KeyReader()
        self._events = EventReader()
        self._keyboard = Keyboard(time.monotonic())
        self._left = False
        self._rig: RigClient | None = None

    def __enter__(self) -> Self:
        self._stack.enter_context(self._terminal)
        self._terminal.write(f"{GAMEPAD_HELP if self._device else HELP}\n")
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def carry(self, rig: RigClient) -> None:
        """Let this rig carry a stop."""
        self._rig = rig

    def left(self) -> bool:
        """Return whether the driver leaves; keys and events are taken here."""
        sources = [self._terminal.descriptor, *([self._device.descriptor] if self._device else [])]
        ready, _, _ = select.select(sources, [], [], 0.0)
        now = time.monotonic()
        if self._terminal.descriptor in ready:
            data = b""
            with suppress(OSError):  # a terminal that is gone
                data = os.read(self._terminal.descriptor, _BYTES)
            self._left = self._left or not data
            self._press(self._keys.feed(data, now), now)
        else:
            self._press(self._keys.waited(now), now)
        if self._device is not None and self._device.descriptor in ready:
            for event in self._events.feed(self._device.read()):
                self._do(self._pad.hear(event))
        return self._left

    def drive(self, time: float, speed: float, yaw: float, yaw_rate: float) -> Row:
        """Return what is done now."""
        inputs = self._pad.inputs() if self._device else self._keyboard.inputs(_now())
        return (inputs.steering, inputs.throttle, inputs.brake, inputs.clutch, float(inputs.gear))

    def _press(self, keys: list[str], now: float) -> None:
        for key in keys:
            self._do(action(key))
            self._keyboard.press(key, now)
            gear = gear_of(key)
            if gear is not None:
                self._pad.gear = gear

    def _do(self, action: str) -> None:
        if action == "stop" and self._rig is not None:
            self._rig.stop()
        self._left = self._left or action == "quit"


def _now() -> float:
    return time.monotonic()
