"""What the example rigs share: options, joining, the loop that answers, a terminal's line.

A rig is a *law*: it is shown a motion and answers with its values. ``serve`` does the rest.
"""

from __future__ import annotations

import argparse
import math
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from mastd.errors import MastdError, UsageError, printable

if TYPE_CHECKING:
    from mastd.arrays import FloatArray
    from mastd.wire.operators.client import ClientKeys
    from mastd.wire.rigs.client import RigClient
    from mastd.wire.rigs.client_session import MotionSeen

WAIT_S: Final = 0.2
"""s without motion after which it checks whether to end."""
REDRAW_S: Final = 0.1
ON_PROFILE: Final = ("RUNNING", "HOLD", "STOPPING")
"""States in which a profile's time is shown."""


class LawError(MastdError):
    """A rig's own computation has failed; it leaves, and the table treats it as lost."""

    exit_code = 3


class Law(Protocol):
    """What a rig computes."""

    def answer(self, motion: MotionSeen) -> Sequence[float] | FloatArray:
        """Return the values of the rig's channels, in their order, for this motion."""

    def line(self) -> str:
        """Return in one line what it does now."""


def add_options(parser: argparse.ArgumentParser, name: str | None) -> None:
    """Add what every rig has; ``name``: its usual name, None where it follows from other options."""
    add = parser.add_argument
    add("--name", default=name, metavar="RIG", help=f"its name in the daemon's rigs file ({name or 'RIG'})")
    add("--address", metavar="ADDR", help="rigs' socket of the daemon (the one on this machine)")
    add("--key", type=Path, metavar="FILE", help="own secret key, for a network address")
    add("--server-key", type=Path, metavar="FILE", help="the daemon's public key")
    add("--wait", metavar="TIME", default="5 s", help="how long a daemon is waited for (5 s)")
    add("--duration", metavar="TIME", help="leave after so much of the plant's time (never)")
    add("--parent-pid", metavar="PID", type=int, help="leave when this process has ended")


def serve(
    arguments: argparse.Namespace,
    kind: str,
    reads: Sequence[str],
    law: Callable[[RigClient], Law],
    done: Callable[[], bool] = lambda: False,
) -> int:
    """Join, answer every motion, and leave on SIGTERM, Ctrl-C, at the end of the duration or when ``done``.

    ``law`` is asked for what to compute once the rig has joined; what takes long is made before. Returns 0
    when it has left or the daemon has ended, 2 when the daemon is gone without notice. Raises LawError for
    values that are not finite, and what ``RigClient.join`` raises.
    """
    from hil_sim.plant.process import EndOfLife
    from mastd.commands.quantities import quantity
    from mastd.units import TIME

    duration = quantity("--duration", arguments.duration, TIME) if arguments.duration else math.inf
    try:
        with interrupting():
            joined = _join(arguments, kind, reads)
    except KeyboardInterrupt:  # told to end before it had joined
        return 0
    with joined as rig:
        own = law(rig)
        end_of_life = EndOfLife(arguments.parent_pid)
        screen = Screen(f"{arguments.name}: joined in {rig.mode}, sends {_some(rig)}")
        first: float | None = None
        try:
            while not (end_of_life.reached() or done()):
                motion = rig.receive(WAIT_S)
                if motion is None:
                    continue
                first = motion.time if first is None else first
                if motion.time - first >= duration:
                    break
                values = own.answer(motion)
                if not all(map(math.isfinite, values)):
                    raise LawError(
                        f"{arguments.name}: values at {motion.time:.3f} s are not finite; it leaves"
                    )
                rig.send(values, motion)
                screen.show(motion.state, own.line)
        except UsageError as error:  # the daemon is not there any more
            print(error, file=sys.stderr)
            return 0 if rig.errors[1].startswith("ended") else 2
        finally:
            screen.close()
    return 0


@contextmanager
def interrupting() -> Iterator[None]:
    """Let SIGTERM end what is done in this context as Ctrl-C does."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class Screen:
    """One line, drawn again ten times a second; nothing where standard output is no terminal."""

    def __init__(self, title: str) -> None:
        self._shown = sys.stdout.isatty()
        self._drawn = 0.0
        if self._shown:
            print(f"{printable(title, keep='')}; Ctrl-C leaves\r")

    def show(self, state: str, line: Callable[[], str]) -> None:
        """Draw the line if it is time to."""
        if not self._shown or (now := time.monotonic()) - self._drawn < REDRAW_S:
            return
        self._drawn = now
        width = os.get_terminal_size(sys.stdout.fileno()).columns or 80
        print(f"\r\x1b[K{printable(f'{state:8} {line()}', keep='')[: width - 1]}", end="", flush=True)

    def close(self) -> None:
        """Go to the next line."""
        if self._shown:
            print("\r")


def profile_time(motion: MotionSeen, shown: float, period: float) -> float:
    """Return the time of the profile (s) that an answer goes to, NaN while none is played.

    ``shown``: ``profile_time`` as read, which is that of the cycle before. On hold it goes on by ``speed`` of
    the plant's.
    """
    return shown + motion.speed * period if motion.state in ON_PROFILE else math.nan


class PlantSteps:
    """Counts the plant's periods from motion to motion."""

    def __init__(self, period: float) -> None:
        self._period = period
        self._last: float | None = None

    def since(self, time: float) -> int:
        """Return the periods since the last call, none for the first."""
        last, self._last = self._last, time
        return 0 if last is None else max(round((time - last) / self._period), 0)


def channels_of(rig: RigClient, known: Callable[[str], bool], gives: str) -> list[str]:
    """Return the channels of the rig; raise UsageError if there are some that this rig does not know."""
    names = [channel.name for channel in rig.channels]
    strange = [name for name in names if not known(name)]
    if strange:
        raise UsageError(
            f"its channels in the daemon's rigs file include {', '.join(strange)}, this rig sends {gives}; "
            "change them there, or use another --name"
        )
    return names


def _join(arguments: argparse.Namespace, kind: str, reads: Sequence[str]) -> RigClient:
    from mastd.commands.quantities import quantity
    from mastd.units import TIME
    from mastd.wire.rigs.client import RigClient

    return RigClient.join(
        arguments.name,
        kind=kind,
        reads=reads,
        address=arguments.address,
        keys=_keys(arguments),
        patience=quantity("--wait", arguments.wait, TIME),
        program=f"hil-sim rig {arguments.rig}",
    )


def _keys(arguments: argparse.Namespace) -> ClientKeys | None:
    from mastd.wire.operators.client import ClientKeys

    if (arguments.key is None) != (arguments.server_key is None):
        raise UsageError("--key and --server-key go together")
    return ClientKeys(arguments.key, arguments.server_key) if arguments.key else None


def _some(rig: RigClient) -> str:
    names = [channel.name for channel in rig.channels]
    return ", ".join(names) if len(names) <= 6 else f"{names[0]} … {names[-1]}"
