"""Driving by a gamepad or steering wheel: events of a Linux joystick device become what is driven with.

The device gives records of 8 bytes: time (ms, unsigned 32 bit), value (signed 16 bit), type, number; type 1
is a button, 2 an axis, with 0x80 added for the state at the beginning (Linux, Documentation/input/joydev).
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from mastd.commands.drive.keyboard import DRIVE
from mastd.errors import UsageError
from mastd.wire.operators.messages import Inputs

BUTTON: Final = 0x01
AXIS: Final = 0x02
INITIAL: Final = 0x80
FULL_SCALE: Final = 32767.0
DEAD_ZONE: Final = 0.05
"""Of an axis, from the middle of the steering or the rest of a pedal."""
MAX_GEAR: Final = 9
MAX_NUMBER: Final = 63
DEVICE: Final = "/dev/input/js0"
_RECORD: Final = struct.Struct("=IhBB")
_BYTES: Final = 4096
_VERSION_REQUEST: Final = 0x80046A01
"""JSIOCGVERSION, which nothing but a joystick device answers."""


@dataclass(frozen=True)
class Event:
    """One change of an axis (−1…1) or button (0 or 1)."""

    kind: int
    number: int
    value: float
    initial: bool
    """The state when the device was opened, nobody has moved anything."""


class EventReader:
    """Cuts what a device gives into events."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[Event]:
        """Return the events that end within ``data``; those of unknown type are passed over."""
        data = self._rest + data
        whole = len(data) - len(data) % _RECORD.size
        self._rest = data[whole:]
        events = []
        for _, value, code, number in _RECORD.iter_unpack(data[:whole]):
            initial, kind = bool(code & INITIAL), code & ~INITIAL
            if kind == AXIS:
                events.append(Event(AXIS, number, max(-1.0, value / FULL_SCALE), initial))
            elif kind == BUTTON:
                events.append(Event(BUTTON, number, float(value != 0), initial))
        return events


@dataclass(frozen=True)
class Axis:
    """An axis that is used; ``turned``: it counts the other way round."""

    number: int
    turned: bool = False


AXES: Final = ("steering", "throttle", "brake", "clutch")
BUTTONS: Final = ("up", "down", "drive", "reverse", "neutral", "stop")


@dataclass(frozen=True)
class PadMapping:
    """Which axis and button does what; what is not named is not there.

    Steering counts from an axis that grows to the right, a pedal from one that grows when it is pressed.
    """

    axes: Mapping[str, Axis]
    buttons: Mapping[str, int]


USUAL: Final = PadMapping(
    {"steering": Axis(0), "throttle": Axis(5), "brake": Axis(2)},
    {"up": 5, "down": 4, "drive": 0, "reverse": 1, "neutral": 3, "stop": 6},
)
"""Of the pad that Linux drives with xpad."""


def mapping_of(texts: Sequence[str]) -> PadMapping:
    """Return the default mapping, changed by texts such as ``throttle=-2`` or ``up=7``.

    Raises UsageError, one line for each text that says nothing.
    """
    axes, buttons, problems = dict(USUAL.axes), dict(USUAL.buttons), []
    for text in texts:
        name, _, number = text.partition("=")
        digits = number.removeprefix("-") if name in AXES else number
        if name not in (*AXES, *BUTTONS):
            known = f"axes: {', '.join(AXES)}; buttons: {', '.join(BUTTONS)}"
            problems.append(f"--map {text}: {name[:20]!r} is unknown; {known}")
        elif not (digits.isascii() and digits.isdigit() and int(digits) <= MAX_NUMBER):
            due = f"{name}=NUMBER from 0 to {MAX_NUMBER}"
            turned = f", or {name}=-NUMBER for an inverted axis" if name in AXES else ""
            problems.append(f"--map {text}: expected {due}{turned}")
        elif name in AXES:
            axes[name] = Axis(int(digits), number.startswith("-"))
        else:
            buttons[name] = int(digits)
    if problems:
        raise UsageError("\n".join(problems))
    return PadMapping(axes, buttons)


class Gamepad:
    """What is driven with; ``on_event`` for each event. The feet are off until pedals are moved."""

    def __init__(self, mapping: PadMapping) -> None:
        self.gear = DRIVE
        self._mapping = mapping
        self._values = dict.fromkeys(AXES, 0.0)

    def on_event(self, event: Event) -> str:
        """Handle an event; return its action besides driving: stop, or nothing."""
        if event.kind == AXIS:
            for name, axis in self._mapping.axes.items():
                if axis.number == event.number:
                    self._move(name, -event.value if axis.turned else event.value, event.initial)
            return ""
        if event.initial or not event.value:
            return ""
        pressed = [name for name, number in self._mapping.buttons.items() if number == event.number]
        for name in pressed:
            self.gear = shifted(self.gear, name)
        return "stop" if "stop" in pressed else ""

    def inputs(self) -> Inputs:
        """Return the inputs to send."""
        return Inputs(**self._values, gear=self.gear)

    def _move(self, name: str, value: float, initial: bool) -> None:
        if name == "steering":
            size = max(0.0, abs(value) - DEAD_ZONE) / (1.0 - DEAD_ZONE)
            self._values[name] = -size if value > 0.0 else size
        elif not initial:  # a pedal nobody has moved yet tells 0, which is half way
            pressed = 0.5 * (value + 1.0)
            self._values[name] = max(0.0, pressed - DEAD_ZONE) / (1.0 - DEAD_ZONE)


def shifted(gear: int, button: str) -> int:
    """Return the gear after a button: one up or down, or the one that is named."""
    if button == "up":
        return 1 if gear == DRIVE else min(gear + 1, MAX_GEAR)
    if button == "down":
        return 0 if gear == DRIVE else max(gear - 1, -1)
    return {"drive": DRIVE, "reverse": -1, "neutral": 0}.get(button, gear)


class Device:
    """An open joystick device, or a pipe that gives the same records; a context manager."""

    def __init__(self, path: str) -> None:
        """Open it; raise UsageError with one line for what is none."""
        self.path = path
        try:
            self.descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            hint = f"; connect it, usually {DEVICE}" if error.errno == errno.ENOENT else ""
            raise UsageError(f"--gamepad {path}: {error.strerror}{hint}") from error
        if not _gives_events(self.descriptor):
            os.close(self.descriptor)
            raise UsageError(f"--gamepad {path}: is not a joystick device; usually {DEVICE}")

    def read(self) -> bytes:
        """Read pending events; raise UsageError if the device is gone."""
        try:
            data = os.read(self.descriptor, _BYTES)
        except BlockingIOError:
            return b""
        except OSError as error:
            raise UsageError(f"--gamepad {self.path}: {error.strerror}") from error
        if not data:
            raise UsageError(f"--gamepad {self.path}: disconnected")
        return data

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.descriptor)


def _gives_events(descriptor: int) -> bool:
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISFIFO(mode):
        return True
    if stat.S_ISCHR(mode):
        with contextlib.suppress(OSError):
            fcntl.ioctl(descriptor, _VERSION_REQUEST, bytes(4))
            return True
    return False
