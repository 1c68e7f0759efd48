"""Options that `run` and `serve` share: which plant, which settings, where operators join."""

from __future__ import annotations

import argparse
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Final

from mastd.errors import UsageError

if TYPE_CHECKING:
    from mastd.loop.process.host import Connection
    from mastd.loop.process.installation import Installation
    from mastd.loop.process.script import StopRequest
    from mastd.wire.plant.hello import Mode
    from mastd.wire.plant.provider import RigidPayload


def add_plant_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the plant, the settings and the operators."""
    plant = parser.add_mutually_exclusive_group()
    plant.add_argument("--sim", action="store_true", help="its own simulated plant (the default)")
    plant.add_argument("--plant", metavar="ADDRESS", help="address of a running plant")
    parser.add_argument(
        "--allow-remote",
        action="store_true",
        help="permit a --plant address on another machine; the plant link is not encrypted",
    )
    parser.add_argument(
        "--out", default="runs", metavar="DIR", help="directory for the records (default: runs)"
    )
    parser.add_argument(
        "--table", default="table", metavar="FILE", help="table settings (default: the starter table)"
    )
    parser.add_argument("--config", metavar="FILE", help="daemon settings (default: simulated, or real)")
    parser.add_argument(
        "--operators", metavar="ADDRESS", help="address for `mastd ctl` (default: one for this machine)"
    )
    parser.add_argument("--rigs", metavar="FILE", help="rigs that may join, instead of those of the settings")
    parser.add_argument("--truth", metavar="FILE", help="true parameters of the simulated plant")
    parser.add_argument("--seed", type=seed, default=0, help="seed of the simulated plant")
    parser.add_argument(
        "--fault",
        action="append",
        default=[],
        metavar="NAME@TIME[:VALUE]",
        help="fault in the simulated plant",
    )


ALWAYS: Final = frozenset({signal.SIGINT, signal.SIGTERM})
UNTOUCHED: Final = frozenset(
    {
        *(signal.SIGKILL, signal.SIGSTOP),
        # A process that has gone wrong in itself, or that a watchdog ends, must not go on.
        *(signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSEGV, signal.SIGSYS),
        signal.SIGTRAP,
        # They end nothing by themselves.
        *(signal.SIGCHLD, signal.SIGCONT, signal.SIGURG, signal.SIGWINCH),
    }
)
"""Signals that keep their meaning while a table is controlled."""
IGNORED: Final = frozenset({signal.SIGTTIN, signal.SIGTTOU})
"""Somebody else has the terminal: no reason to suspend a loop, nor to stop it."""


def daemon_settings(arguments: argparse.Namespace) -> Path:
    """Return the daemon's settings file that is meant."""
    from mastd.settings.core.starter import find

    return find("daemon", arguments.config or ("real" if arguments.plant else "simulated"))


def rigs_settings(arguments: argparse.Namespace) -> Path | None:
    """Return the rigs file given instead of the settings' own, None for none."""
    from mastd.settings.core.starter import find

    return find("rigs", arguments.rigs) if arguments.rigs else None


def connection(
    arguments: argparse.Namespace,
    installation: Installation,
    payload: RigidPayload | None,
    link: str = "socket",
    mode: Mode = "free-run",
) -> Connection:
    """Return how the plant is reached; raise UsageError for options that do not go together."""
    from mastd.loop.process.host import Connection
    from mastd.wire.plant.provider import PlantRequest

    if arguments.plant and (arguments.truth or arguments.fault):
        raise UsageError("--truth and --fault apply only to mastd's own simulated plant: remove --plant")
    return Connection(
        arguments.plant,
        link,
        mode,
        PlantRequest(
            table_path=installation.table_path,
            truth_path=Path(arguments.truth) if arguments.truth else None,
            payload=payload,
            mode=mode,
            period_ns=installation.daemon.period_ns,
            seed=arguments.seed,
            faults=tuple(arguments.fault),
            table_text=installation.texts["table"],
        ),
        arguments.allow_remote,
    )


@contextmanager
def stop_on_signals(*, reload: bool = False) -> Iterator[StopRequest]:
    """Turn every signal that would end or suspend this process into a wish to stop softly, as long as the
    context lasts, and after the first one to the end of the process: a loop that is gone, or stands, leaves
    the table to the drive.

    ``reload``: SIGHUP asks for new settings instead. What is ignored already (``nohup``) stays so, but for
    Ctrl-C and SIGTERM.
    """
    from mastd.loop.process.script import StopRequest

    stop = StopRequest()

    def ask(number: int, frame: FrameType | None) -> None:
        if number in IGNORED:
            return
        if reload and number == signal.SIGHUP:
            stop.reload = True
            return
        stop.requested, stop.by = True, stop.by or _signal_name(number)
        if stop.at_once:
            raise KeyboardInterrupt

    before = {
        number: signal.signal(number, ask)
        for number in sorted(signal.valid_signals() - UNTOUCHED)
        if number in ALWAYS or signal.getsignal(number) not in (signal.SIG_IGN, None)
    }
    try:
        yield stop
    finally:
        # Who has asked once waits for the end of the process: asking again may not cost its exit code.
        for number, handler in before.items():
            signal.signal(number, signal.SIG_IGN if stop.requested else handler)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # one of the real-time signals, which have numbers only
        return f"signal {number}"


def seed(text: str) -> int:
    """Parse a seed; argparse reports an invalid one."""
    number = int(text)
    if not 0 <= number < 1 << 63:
        raise argparse.ArgumentTypeError("a seed is a whole number from 0 to 2^63 - 1")
    return number
