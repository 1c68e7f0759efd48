"""`mastd drive`: drive the virtual car of a run by keyboard or gamepad, through the gateway."""

from __future__ import annotations

import argparse
import os
import select
import signal
import sys
import termios
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

from mastd.errors import UsageError, printable
from mastd.panel.status_text import gear_name, vehicle_words

if TYPE_CHECKING:
    from mastd.commands import Subparsers
    from mastd.commands.drive.gamepad import Device, PadMapping
    from mastd.wire.operators.client import ClientKeys
    from mastd.wire.operators.drive_client import DriveClient
    from mastd.wire.operators.messages import Inputs

RATE: Final = 50
MIN_RATE, MAX_RATE = 10, 200
REDRAW_S: Final = 0.1
_BYTES: Final = 1024


def add_parsers(subparsers: Subparsers) -> None:
    """Add ``drive``."""
    text = "drive the virtual car of a run by keyboard or gamepad"
    parser = subparsers.add_parser(
        "drive",
        help=text,
        description=f"{text[0].upper()}{text[1:]}. "
        "Exit code 0 quit, 1 refused, 2 no daemon, device or terminal.",
    )
    parser.add_argument(
        "address",
        nargs="?",
        metavar="ADDRESS",
        help="address of the daemon (default: this user's on this machine)",
    )
    parser.add_argument("--gamepad", metavar="DEVICE", help="drive by this device, such as /dev/input/js0")
    parser.add_argument(
        "--map",
        action="append",
        default=[],
        metavar="NAME=NUMBER",
        help="axis of steering, throttle, brake, clutch (-NUMBER: inverted), button of up, down, drive, "
        "reverse, neutral, stop (default: standard gamepad mapping); may be repeated",
    )
    parser.add_argument(
        "--rate", default=str(RATE), metavar="COUNT", help=f"messages per second ({RATE}), 10 to 200"
    )
    parser.add_argument(
        "--as", dest="operator", metavar="NAME", help="name of the driver (default: user@host/terminal)"
    )
    parser.add_argument("--key", type=Path, metavar="FILE", help="own secret key, for a network address")
    parser.add_argument("--server-key", type=Path, metavar="FILE", help="the daemon's public key")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Drive until the driver leaves; return 0."""
    from mastd.commands.drive.gamepad import Device
    from mastd.wire.operators.drive_client import DriveClient

    rate, mapping, keys = _options(arguments)
    terminal = Terminal()
    with ExitStack() as stack:
        device = stack.enter_context(Device(arguments.gamepad)) if arguments.gamepad else None
        client = stack.enter_context(DriveClient(arguments.address, arguments.operator, keys))
        stack.enter_context(terminal)
        Seat(client, terminal, device, mapping, rate).drive()
    me = printable(client.welcome.operator, keep="")
    print(
        f"quit; the car coasts to standstill. `mastd ctl release --as {me}` "
        f"lets others drive, {client.welcome.lease_s:g} s do as well"
    )
    return 0


def _options(arguments: argparse.Namespace) -> tuple[int, PadMapping, ClientKeys | None]:
    """Return rate, mapping and keys; raise UsageError, one line each, for what they cannot be."""
    from mastd.commands.drive.gamepad import mapping_of
    from mastd.wire.operators.client import ClientKeys

    text, problems = arguments.rate, []
    if not (text.isascii() and text.isdigit() and MIN_RATE <= int(text) <= MAX_RATE):
        problems.append(f"--rate {text}: expected a whole number from {MIN_RATE} to {MAX_RATE}")
    if (arguments.key is None) != (arguments.server_key is None):
        problems.append("--key and --server-key go together")
    if arguments.map and not arguments.gamepad:
        problems.append("--map: requires --gamepad DEVICE")
    try:
        mapping = mapping_of(arguments.map)
    except UsageError as error:
        problems.append(str(error))
    if problems:
        raise UsageError("\n".join(problems))
    keys = ClientKeys(arguments.key, arguments.server_key) if arguments.key else None
    return int(text), mapping, keys


class Terminal:
    """The keyboard byte by byte, without echo and signals, until the context is left, however it is left."""

    def __init__(self) -> None:
        """Raise UsageError where standard input is no terminal."""
        try:
            self.descriptor = sys.stdin.fileno()
            self._before = termios.tcgetattr(self.descriptor)
        except (OSError, ValueError, termios.error):
            raise UsageError(
                "drive: standard input is not a terminal: keys drive the car, or stop and quit with a gamepad"
            ) from None
        self._shown = sys.stdout.isatty()
        self._signals: dict[int, Any] = {}

    def __enter__(self) -> Terminal:
        for number in (signal.SIGTERM, signal.SIGHUP):
            self._signals[number] = signal.signal(number, _leave)
        mode = termios.tcgetattr(self.descriptor)
        mode[0] &= ~(termios.IXON | termios.ICRNL)
        mode[3] &= ~(termios.ICANON | termios.ECHO | termios.ISIG | termios.IEXTEN)
        mode[6][termios.VMIN], mode[6][termios.VTIME] = 1, 0
        termios.tcsetattr(self.descriptor, termios.TCSANOW, mode)
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError, termios.error):  # a terminal that is gone
            termios.tcsetattr(self.descriptor, termios.TCSANOW, self._before)
            termios.tcflush(self.descriptor, termios.TCIFLUSH)  # keys for the car are none for the shell
            self.write("\n")
        for number, handler in self._signals.items():
            signal.signal(number, handler)

    def write(self, text: str) -> None:
        """Print where somebody looks."""
        if self._shown:
            print(text, end="", flush=True)

    def tell(self, text: str) -> None:
        """Print a line that stays, above the one that changes."""
        self.write(f"\r\x1b[K{printable(text, keep='')}\n")

    def line(self, text: str) -> None:
        """Print over the present line, cut to the terminal's width."""
        if self._shown:
            width = os.get_terminal_size(sys.stdout.fileno()).columns or 80
            print(f"\r\x1b[K{text[: width - 1]}", end="", flush=True)


def _leave(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


class Seat:
    """Where somebody drives: keys and events in, messages out, a line of what happens."""

    def __init__(
        self, client: DriveClient, terminal: Terminal, device: Device | None, mapping: PadMapping, rate: int
    ) -> None:
        from mastd.commands.drive.gamepad import EventReader, Gamepad
        from mastd.commands.drive.keyboard import Keyboard, KeyReader

        self._client = client
        self._terminal = terminal
        self._device = device
        self._period = 1.0 / rate
        self._keys = KeyReader()
        self._keyboard = Keyboard(time.monotonic())
        self._events = EventReader()
        self._gamepad = Gamepad(mapping)
        self._left = False
        self._status: dict[str, Any] = {}

    def drive(self) -> None:
        """Drive until the driver leaves, who takes the foot off the throttle whatever the reason."""
        from mastd.commands.drive.keyboard import GAMEPAD_HELP, HELP

        self._terminal.write(f"{GAMEPAD_HELP if self._device else HELP}\n")
        try:
            self._turns()
        finally:
            self._client.drive(self._inputs(time.monotonic())._replace(throttle=0.0))

    def _turns(self) -> None:
        next_sent = next_drawn = time.monotonic()
        while not self._left:
            self._listen(max(0.0, next_sent - time.monotonic()))
            now = time.monotonic()
            if now < next_sent:
                continue
            next_sent = max(next_sent + self._period, now)
            inputs = self._inputs(now)
            self._client.drive(inputs)
            self._hear()
            if now >= next_drawn:
                next_drawn = now + REDRAW_S
                self._terminal.line(line(inputs, self._status))

    def _hear(self) -> None:
        for answer in self._client.heard():
            self._terminal.tell(f"{answer.verb}: {'accepted' if answer.accepted else answer.reason}")
        status = self._client.newest()
        if status is not None:
            before, self._status = self._status, status
            for key in ("advice", "cause"):
                if status.get(key) and status[key] != before.get(key):
                    told = status[key]
                    self._terminal.tell(str(told["text"] if isinstance(told, dict) else told))

    def _inputs(self, now: float) -> Inputs:
        return self._keyboard.inputs(now) if self._device is None else self._gamepad.inputs()

    def _listen(self, seconds: float) -> None:
        """Take keys and events, at most so long."""
        sources = [self._terminal.descriptor, *([self._device.descriptor] if self._device else [])]
        ready, _, _ = select.select(sources, [], [], seconds)
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
                self._do(self._gamepad.hear(event))

    def _press(self, keys: list[str], now: float) -> None:
        from mastd.commands.drive.keyboard import action, gear_of

        for key in keys:
            self._do(action(key))
            self._keyboard.press(key, now)
            gear = gear_of(key)
            if gear is not None:
                self._gamepad.gear = gear

    def _do(self, action: str) -> None:
        if action == "stop":
            self._client.send("stop")
        self._left = self._left or action == "quit"


def line(inputs: Inputs, status: dict[str, Any]) -> str:
    """Return one line: what the car does, as far as the daemon tells, and what is sent to it."""
    vehicle = status.get("vehicle")
    side = "left" if inputs.steering >= 0.0 else "right"
    parts = [
        vehicle_words(vehicle) if vehicle else "no vehicle is being driven",
        str(status.get("state", "")),
        f"{side:5} {abs(inputs.steering):4.0%}",
        f"throttle {inputs.throttle:4.0%}",
        f"brake {inputs.brake:4.0%}",
        *([f"clutch {inputs.clutch:4.0%}"] if inputs.clutch > 0.0 else []),
        f"lever {gear_name(inputs.gear)}",
    ]
    return printable("  ".join(part for part in parts if part), keep="")
