"""``hil-sim rig pose``: where the table is to go, from sines, sweeps, or a file.

The motion begins from neutral while a profile plays, within ``FADE`` seconds; its time is the profile's and
stands on hold. Where the channels hold rates and accelerations they are the exact derivatives of the pose, by
the plant's time.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hil_sim.rigs.program import add_options, profile_time, serve
from mastd.errors import UsageError
from mastd.settings.core.axes import AXES

if TYPE_CHECKING:
    from mastd.wire.rigs.client import RigClient
    from mastd.wire.rigs.client_session import MotionSeen

FADE: Final = 2.0
"""s in which the motion comes in."""
READS: Final = ("profile_time",)

Law = Callable[[float], tuple[float, float, float]]
"""Value and its first two derivatives at a time (s)."""


def sine(amplitude: float, frequency: float) -> Law:
    """Return a sine; ``frequency`` in Hz."""
    omega = 2.0 * math.pi * frequency

    def law(time: float) -> tuple[float, float, float]:
        s, c = amplitude * math.sin(omega * time), amplitude * math.cos(omega * time)
        return s, omega * c, -(omega**2) * s

    return law


def sweep(amplitude: float, first: float, last: float, duration: float) -> Law:
    """Return a sine whose frequency (Hz) goes in a straight line from ``first`` to ``last``, and stays."""
    pace = 2.0 * math.pi * (last - first) / duration

    def law(time: float) -> tuple[float, float, float]:
        inside = min(time, duration)
        omega = 2.0 * math.pi * first + pace * inside
        phase = inside * (omega - 0.5 * pace * inside) + (time - inside) * omega
        s, c = amplitude * math.sin(phase), amplitude * math.cos(phase)
        return s, omega * c, -(omega**2) * s + (pace * c if time < duration else 0.0)

    return law


def file_laws(path: Path) -> dict[str, Law]:
    """Return the axes of a CSV file with the columns time_s and some of surge_m … yaw_rad: cubic splines
    through its rows, the last one kept. Raises FormatError, one line a problem."""
    import numpy as np
    from scipy.interpolate import CubicSpline

    from mastd.errors import FormatError
    from mastd.formats.core.columns import read_columns

    columns = {f"{axis}_{'m' if k < 3 else 'rad'}": axis for k, axis in enumerate(AXES)}
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        header = [name.strip() for name in file.readline().split(",")]
    names = [name for name in columns if name in header]
    if not names:
        raise FormatError(f"{path}:1:1: names no axis; columns are time_s and some of {', '.join(columns)}")
    rows = read_columns(path, ("time_s", *names))
    if len(rows) < 2 or not (np.diff(rows[:, 0]) > 0.0).all():
        raise FormatError(f"{path}: expected two rows or more, with increasing time_s")

    def law(spline: CubicSpline) -> Law:
        def at(time: float) -> tuple[float, float, float]:
            last = float(rows[-1, 0])
            if time >= last:
                return float(spline(last)), 0.0, 0.0
            inside = max(time, float(rows[0, 0]))
            first, second = (float(spline(inside, n)) if inside == time else 0.0 for n in (1, 2))
            return float(spline(inside)), first, second

        return at

    # At rest at both ends, so that what is kept before and after goes on without a jump.
    return {
        columns[name]: law(CubicSpline(rows[:, 0], rows[:, k], bc_type="clamped"))
        for k, name in enumerate(names, start=1)
    }


def faded(law: Law, time: float) -> tuple[float, float, float]:
    """Return the law, coming in smoothly from ``time`` 0 on; nothing before, and for NaN."""
    if not time > 0.0:
        return 0.0, 0.0, 0.0
    value, rate, acceleration = law(time)
    u = time / FADE
    if u >= 1.0:
        return value, rate, acceleration
    w = u**3 * (10.0 - u * (15.0 - 6.0 * u))
    w1 = 30.0 * u**2 * (1.0 - u) ** 2 / FADE
    w2 = 60.0 * u * (1.0 - u) * (1.0 - 2.0 * u) / FADE**2
    return w * value, w1 * value + w * rate, w2 * value + 2.0 * w1 * rate + w * acceleration


class PoseSource:
    """The laws of some axes on the table; ``channels``: of the rig."""

    def __init__(self, laws: dict[str, Sequence[Law]], channels: Sequence[str], period: float) -> None:
        self._laws = laws
        self._orders = [
            (("pose", "rate", "acceleration").index(c.split(".")[0]), c.split(".")[1]) for c in channels
        ]
        self._period = period
        self._now: dict[str, tuple[float, float, float]] = {}

    def answer(self, motion: MotionSeen) -> list[float]:
        """Return the pose, and its derivatives where they are asked for, for the next step."""
        time = profile_time(motion, float(motion.values[0]), self._period)
        self._now = {axis: self._sum(laws, time, motion.speed) for axis, laws in self._laws.items()}
        return [self._now[axis][order] if axis in self._now else 0.0 for order, axis in self._orders]

    def line(self) -> str:
        """Return where the table is to be."""
        return "  ".join(
            f"{axis} {1e3 * pose:+7.2f} {'mm' if AXES.index(axis) < 3 else 'mrad'}"
            for axis, (pose, _, _) in self._now.items()
        )

    @staticmethod
    def _sum(laws: Sequence[Law], time: float, speed: float) -> tuple[float, float, float]:
        values = [faded(law, time) for law in laws]
        pose, rate, acceleration = (sum(column) for column in zip(*values, strict=True))
        return pose, speed * rate, speed**2 * acceleration


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the parser of ``pose``."""
    text = "where the table is to go: sines, sweeps, a file"
    parser = subparsers.add_parser("pose", help=text, description=f"{text[0].upper()}{text[1:]}.")
    add = parser.add_argument
    add(
        "--sine",
        nargs=3,
        action="append",
        default=[],
        metavar=("AXIS", "AMPLITUDE", "FREQUENCY"),
        help='such as heave "5 mm" "1 Hz"; several are added up',
    )
    add(
        "--sweep",
        nargs=5,
        action="append",
        default=[],
        metavar=("AXIS", "AMPLITUDE", "FIRST", "LAST", "TIME"),
        help='such as heave "2 mm" "0.5 Hz" "5 Hz" "20 s"',
    )
    add("--file", type=Path, metavar="FILE", help="CSV with the columns time_s and some of surge_m … yaw_rad")
    add_options(parser, "pose_source")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Give the pose until told to end; return the exit code."""
    from mastd.settings.rigs.channels import POSE

    laws = _laws(arguments)

    def law(rig: RigClient) -> PoseSource:
        return PoseSource(laws, [channel.name for channel in rig.channels], rig.period)

    return serve(arguments, POSE, READS, law)


def _laws(arguments: argparse.Namespace) -> dict[str, Sequence[Law]]:
    from mastd.commands.quantities import quantity
    from mastd.units import ANGLE, FREQUENCY, LENGTH, TIME

    laws: dict[str, list[Law]] = {}

    def amplitude(option: str, axis: str, text: str) -> float:
        if axis not in AXES:
            raise UsageError(f"{option} {axis}: axes are {', '.join(AXES)}")
        return quantity(option, text, LENGTH if AXES.index(axis) < 3 else ANGLE)

    for axis, size, frequency in arguments.sine:
        own = sine(amplitude("--sine", axis, size), quantity("--sine", frequency, FREQUENCY))
        laws.setdefault(axis, []).append(own)
    for axis, size, first, last, duration in arguments.sweep:
        ends = [quantity("--sweep", text, FREQUENCY) for text in (first, last)]
        seconds = quantity("--sweep", duration, TIME)
        if seconds <= 0.0:
            raise UsageError(f"--sweep: {duration} is not above zero")
        laws.setdefault(axis, []).append(sweep(amplitude("--sweep", axis, size), ends[0], ends[1], seconds))
    if arguments.file is not None:
        if not arguments.file.is_file():
            raise UsageError(f"{arguments.file}: no such file")
        for axis, law in file_laws(arguments.file).items():
            laws.setdefault(axis, []).append(law)
    if not laws:
        raise UsageError("expected one of --sine, --sweep and --file")
    return {axis: tuple(own) for axis, own in laws.items()}
