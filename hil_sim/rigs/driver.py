"""``hil-sim rig driver``: what a driver does: a script, a course that is followed, a keyboard, a gamepad.

Its channels may be any of steering, throttle, brake, clutch and gear. Scripts and courses go by the time of
the profile, which stands on hold.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from hil_sim.rigs.driver_course import Follower
from hil_sim.rigs.program import add_options, channels_of, profile_time, serve
from mastd.errors import FormatError, UsageError

if TYPE_CHECKING:
    from mastd.wire.rigs.client import RigClient
    from mastd.wire.rigs.client_session import MotionSeen

CHANNELS: Final = ("steering", "throttle", "brake", "clutch", "gear")
COURSES: Final = ("lane_change", "straight")
CAR_CHOOSES: Final = 100.0
"""Gear lever: the car chooses."""
READS: Final = ("profile_time", "vehicle.speed", "vehicle.yaw", "vehicle.yaw_rate")

Row = tuple[float, float, float, float, float]
"""What is done, in the order of ``CHANNELS``."""


class Hands(Protocol):
    """Somebody who drives."""

    def drive(self, time: float, speed: float, yaw: float, yaw_rate: float) -> Row:
        """Return what is done at a time of the profile (s; NaN while none plays), from speed (m/s), yaw and
        yaw rate of the car (rad, rad/s; NaN where there is none)."""


class Script:
    """Rows of time (s), steering, throttle and brake; straight lines between them, the last one stays."""

    def __init__(self, rows: Sequence[Sequence[float]]) -> None:
        self._rows = rows

    def drive(self, time: float, speed: float, yaw: float, yaw_rate: float) -> Row:
        """Return the row of this time; before the profile plays the first one."""
        rows = self._rows
        later = next((k for k, row in enumerate(rows) if row[0] > time), len(rows))
        if not math.isfinite(time) or later == 0:
            row = rows[0][1:]
        elif later == len(rows):
            row = rows[-1][1:]
        else:
            first, last = rows[later - 1], rows[later]
            ratio = (time - first[0]) / (last[0] - first[0])
            row = [a + ratio * (b - a) for a, b in zip(first[1:], last[1:], strict=True)]
        return (row[0], row[1], row[2], 0.0, CAR_CHOOSES)


def read_script(path: Path) -> list[list[float]]:
    """Return the rows of a script: CSV with the columns time_s, steering, throttle, brake, or a YAML list of
    such rows of four numbers. Raises FormatError or SettingsError with every problem."""
    if path.suffix in {".yaml", ".yml"}:
        rows = _yaml_rows(path)
    else:
        from mastd.formats.core.columns import read_columns

        rows = read_columns(path, ("time_s", "steering", "throttle", "brake")).tolist()
    if any(not before[0] < after[0] for before, after in pairwise(rows)):
        raise FormatError(f"{path}: the time of each row must be after that of the row before")
    return rows


def _yaml_rows(path: Path) -> list[list[float]]:
    import yaml

    try:
        plain = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise FormatError(f"{path}: cannot be read: {str(error).splitlines()[0]}") from error
    if not isinstance(plain, list) or not plain:
        raise FormatError(f"{path}: expected a list of rows, each [time in s, steering, throttle, brake]")
    for number, row in enumerate(plain, start=1):
        numbers = isinstance(row, list) and all(type(x) in (int, float) and math.isfinite(x) for x in row)
        if not numbers or len(row) != 4:
            raise FormatError(
                f"{path}: row {number}: expected four numbers: time in s, steering, throttle, brake"
            )
    return [[float(x) for x in row] for row in plain]


class Driving:
    """Somebody who gives the rig's channels."""

    def __init__(self, hands: Hands, channels: Sequence[str], period: float) -> None:
        self._hands = hands
        self._indices = [CHANNELS.index(name) for name in channels]
        self._period = period
        self._row: Row = (0.0, 0.0, 0.0, 0.0, CAR_CHOOSES)

    def answer(self, motion: MotionSeen) -> list[float]:
        """Return what is done."""
        played, speed, yaw, yaw_rate = motion.values.tolist()
        self._row = self._hands.drive(profile_time(motion, played, self._period), speed, yaw, yaw_rate)
        return [self._row[index] for index in self._indices]

    def line(self) -> str:
        """Return what is done."""
        steering, throttle, brake, _, gear = self._row
        side = "left" if steering >= 0.0 else "right"
        lever = "car chooses" if gear == CAR_CHOOSES else f"gear {gear:.0f}"
        return f"{side:5} {abs(steering):4.0%}  throttle {throttle:4.0%}  brake {brake:4.0%}  {lever}"


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the parser of ``driver``."""
    text = "what a driver does: a script, a course, a keyboard, a gamepad"
    parser = subparsers.add_parser("driver", help=text, description=f"{text[0].upper()}{text[1:]}.")
    way = parser.add_mutually_exclusive_group(required=True)
    way.add_argument(
        "--script", type=Path, metavar="FILE", help="CSV with time_s, steering, throttle, brake, or YAML rows"
    )
    way.add_argument("--follow", choices=COURSES, help="follow a course by the car's motion")
    way.add_argument("--keyboard", action="store_true", help="drive by this terminal's keys")
    way.add_argument("--gamepad", metavar="DEVICE", help="drive by this device, such as /dev/input/js0")
    parser.add_argument(
        "--speed", metavar="SPEED", help="that is held on the course (the one it begins with)"
    )
    parser.add_argument(
        "--turning-radius",
        metavar="LENGTH",
        default="6 m",
        help="of the car with the steering at its end (6 m); corrected during the drive",
    )
    parser.add_argument(
        "--map", action="append", default=[], metavar="NAME=NUMBER", help="of the gamepad, as `mastd drive`"
    )
    add_options(parser, "driver")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Drive until told to end; return the exit code."""
    from mastd.settings.rigs.channels import SIGNALS

    with ExitStack() as stack:
        hands, done, report = _hands(arguments, stack)

        def law(rig: RigClient) -> Driving:
            report(rig)
            names = channels_of(rig, CHANNELS.__contains__, ", ".join(CHANNELS))
            return Driving(hands, names, rig.period)

        return serve(arguments, SIGNALS, READS, law, done)


def _hands(
    arguments: argparse.Namespace, stack: ExitStack
) -> tuple[Hands, Callable[[], bool], Callable[[RigClient], None]]:
    """Return who drives, what says that they leave, and what is reported who carries a stop."""
    if arguments.script is not None:
        return Script(read_script(arguments.script)), lambda: False, lambda rig: None
    if arguments.follow is not None:
        return _follower(arguments), lambda: False, lambda rig: None
    from hil_sim.rigs.driver_hands import Cockpit

    cockpit = stack.enter_context(Cockpit(arguments.gamepad, arguments.map))
    return cockpit, cockpit.left, cockpit.carry


def _follower(arguments: argparse.Namespace) -> Follower:
    from mastd.commands.quantities import quantity
    from mastd.units import LENGTH, VELOCITY
    from mastd.vehicle.drivers.course import double_lane_change, straight

    course = straight() if arguments.follow == "straight" else double_lane_change(10.0)
    speed = quantity("--speed", arguments.speed, VELOCITY) if arguments.speed else None
    radius = quantity("--turning-radius", arguments.turning_radius, LENGTH)
    if radius <= 0.0:
        raise UsageError(f"--turning-radius: {arguments.turning_radius} is not above zero")
    return Follower(course, radius, speed)
