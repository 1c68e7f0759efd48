"""`mastd drive`: drive the virtual car of a run by keyboard or gamepad, through the gateway."""

from __future__ import annotations

import argparse
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mastd.errors import UsageError, printable
from mastd.panel.status_text import gear_name, vehicle_text

if TYPE_CHECKING:
    from mastd.commands import Subparsers
    from mastd.commands.drive.gamepad import PadMapping
    from mastd.commands.drive.input_devices import InputDevices
    from mastd.commands.drive.terminal import Terminal
    from mastd.wire.operators.client import ClientKeys
    from mastd.wire.operators.drive_client import DriveClient
    from mastd.wire.operators.messages import Inputs

RATE: Final = 50
MIN_RATE, MAX_RATE = 10, 200
REDRAW_S: Final = 0.1


def add_parsers(subparsers: Subparsers) -> None:
    """Add ``drive``."""
    text = "drive the virtual car of a run by keyboard or gamepad"
    parser = subparsers.add_parser(
        "drive",
        help=text,
        description=f"{text[0].upper()}{text[1:]}. "
        "Exit code 0 quit, 6 refused, 2 no daemon, device or terminal.",
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
    from mastd.commands.drive.input_devices import InputDevices
    from mastd.commands.drive.terminal import Terminal
    from mastd.wire.operators.drive_client import DriveClient

    rate, mapping, keys = _options(arguments)
    terminal = Terminal()
    with ExitStack() as stack:
        device = stack.enter_context(Device(arguments.gamepad)) if arguments.gamepad else None
        client = stack.enter_context(DriveClient(arguments.address, arguments.operator, keys))
        stack.enter_context(terminal)
        devices = InputDevices(terminal, device, mapping, lambda: client.send("stop"))
        DriveLoop(client, terminal, devices, rate).drive()
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


class DriveLoop:
    """Input devices in, messages out, and a line of what happens."""

    def __init__(self, client: DriveClient, terminal: Terminal, devices: InputDevices, rate: int) -> None:
        self._client = client
        self._terminal = terminal
        self._devices = devices
        self._period = 1.0 / rate
        self._status: dict[str, Any] = {}

    def drive(self) -> None:
        """Drive until the driver leaves, who takes the foot off the throttle whatever the reason."""
        self._terminal.write(f"{self._devices.help}\n")
        try:
            self._run()
        finally:
            self._client.drive(self._devices.inputs(time.monotonic())._replace(throttle=0.0))

    def _run(self) -> None:
        next_sent = next_drawn = time.monotonic()
        while not self._devices.left:
            self._devices.listen(max(0.0, next_sent - time.monotonic()))
            now = time.monotonic()
            if now < next_sent:
                continue
            next_sent = max(next_sent + self._period, now)
            inputs = self._devices.inputs(now)
            self._client.drive(inputs)
            self._receive()
            if now >= next_drawn:
                next_drawn = now + REDRAW_S
                self._terminal.line(line(inputs, self._status))

    def _receive(self) -> None:
        for answer in self._client.heard():
            self._terminal.show_line(f"{answer.verb}: {'accepted' if answer.accepted else answer.reason}")
        status = self._client.newest()
        if status is not None:
            before, self._status = self._status, status
            for key in ("advice", "cause"):
                if status.get(key) and status[key] != before.get(key):
                    reported = status[key]
                    self._terminal.show_line(
                        str(reported["text"] if isinstance(reported, dict) else reported)
                    )


def line(inputs: Inputs, status: dict[str, Any]) -> str:
    """Return one line with the car's reported motion and the inputs sent to it."""
    vehicle = status.get("vehicle")
    side = "left" if inputs.steering >= 0.0 else "right"
    parts = [
        vehicle_text(vehicle) if vehicle else "no vehicle is being driven",
        str(status.get("state", "")),
        f"{side:5} {abs(inputs.steering):4.0%}",
        f"throttle {inputs.throttle:4.0%}",
        f"brake {inputs.brake:4.0%}",
        *([f"clutch {inputs.clutch:4.0%}"] if inputs.clutch > 0.0 else []),
        f"lever {gear_name(inputs.gear)}",
    ]
    return printable("  ".join(part for part in parts if part), keep="")
