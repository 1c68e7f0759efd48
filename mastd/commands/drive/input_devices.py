"""Keys and gamepad of somebody who drives, heard together: for ``mastd drive`` and ``hil-sim rig driver``."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from mastd.commands.drive.gamepad import Device, EventReader, Gamepad, PadMapping
from mastd.commands.drive.keyboard import GAMEPAD_HELP, HELP, Keyboard, KeyReader, action, gear_of
from mastd.commands.drive.terminal import Terminal
from mastd.wire.operators.messages import Inputs

_BYTES: Final = 1024


class InputDevices:
    """Keys of the terminal, and a gamepad if there is one; ``left`` is true once the driver has left."""

    def __init__(
        self, terminal: Terminal, device: Device | None, mapping: PadMapping, stop: Callable[[], object]
    ) -> None:
        """``stop`` is called when the driver asks for a stop of the table."""
        self.left = False
        self.help = GAMEPAD_HELP if device else HELP
        self._terminal = terminal
        self._device = device
        self._stop = stop
        self._keys = KeyReader()
        self._keyboard = Keyboard(time.monotonic())
        self._events = EventReader()
        self._gamepad = Gamepad(mapping)

    def inputs(self, now: float) -> Inputs:
        """Return what is driven with; ``now`` in s."""
        return self._keyboard.inputs(now) if self._device is None else self._gamepad.inputs()

    def listen(self, seconds: float) -> None:
        """Take keys and events, and wait for them for ``seconds`` at the longest."""
        sources = [self._terminal.descriptor, *([self._device.descriptor] if self._device else [])]
        ready, _, _ = select.select(sources, [], [], seconds)
        now = time.monotonic()
        if self._terminal.descriptor in ready:
            data = b""
            with suppress(OSError):  # a terminal that is gone
                data = os.read(self._terminal.descriptor, _BYTES)
            self.left = self.left or not data
            self._press(self._keys.feed(data, now), now)
        else:
            self._press(self._keys.waited(now), now)
        if self._device is not None and self._device.descriptor in ready:
            for event in self._events.feed(self._device.read()):
                self._do(self._gamepad.on_event(event))

    def _press(self, keys: list[str], now: float) -> None:
        for key in keys:
            self._do(action(key))
            self._keyboard.press(key, now)
            gear = gear_of(key)
            if gear is not None:
                self._gamepad.gear = gear

    def _do(self, action: str) -> None:
        if action == "stop":
            self._stop()
        self.left = self.left or action == "quit"
