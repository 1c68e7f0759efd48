"""The live line on the terminal: a process of its own that reads the status block ten times a second.

The loop never prints. ``LiveLine`` starts the process before rights are taken; it ends with the run, or with
the loop's process.
"""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from types import TracebackType

from mastd import program
from mastd.safety.faults import ROWS, Code
from mastd.safety.states import State
from mastd.settings.core.axes import AXES
from mastd.wire.common.blocks import NewestValueBlock, status_layout

REFRESH_S = 0.1
STYLES = {State.RUNNING: "green", State.HOLD: "yellow", State.FAULT: "bold red", State.ESTOP: "bold red"}


def line(status: NewestValueBlock, axes: Sequence[int] = (2, 3)) -> str:
    """Return the newest status as one line, the pose along ``axes``; the terminal cuts it to its width."""
    state = State(int(status.scalar("state"))).name
    pose = status.field("pose")
    reference = status.field("reference")
    played, duration = status.scalar("profile_time"), status.scalar("profile_duration")
    progress = f"{played:5.1f}/{duration:.1f} s" if math.isfinite(played) else f"{'':5} {duration:.1f} s"
    shown = "  ".join(
        f"{AXES[k]} {pose[k] * 1e3:+7.2f} {'mm' if k < 3 else 'mrad'} (command {reference[k] * 1e3:+7.2f})"
        for k in axes
    )
    pressure = status.scalar("supply_pressure")
    supply = f"{pressure * 1e-5:3.0f} bar  " if math.isfinite(pressure) else ""
    text = f"{state:8} {progress}  {shown}  {supply}missed {status.scalar('missed'):.0f}"
    charged = [share for share in status.field("charged") if not math.isnan(share)]
    if charged and state in ("LOW", "HIGH"):
        text += f"  accumulators {min(charged):.0%} charged"
    if status.scalar("degraded"):
        text += "  DEGRADED_RT"
    code = Code(int(status.scalar("fault")))
    return f"{text}  {ROWS[code].title}" if code is not Code.NONE else text


class LiveLine:
    """Context manager around the process that prints the line on standard error."""

    def __init__(self, status: NewestValueBlock, actuators: int, axes: Sequence[int]) -> None:
        """``axes``: numbers of those of the pose that are shown."""
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-P",
                "-m",
                "mastd.loop.process.live",
                str(status.descriptor),
                str(actuators),
                str(os.getpid()),
                *map(str, axes),
            ],
            pass_fds=(status.descriptor,),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )

    def __enter__(self) -> LiveLine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._process.wait(2.0 if kind is None else 0.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def main(descriptor: int, actuators: int, parent: int, *axes: int) -> int:
    """Print the line until the run has ended or the loop's process is gone."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGTSTP):
        signal.signal(number, signal.SIG_IGN)
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    status = NewestValueBlock(status_layout(actuators), descriptor)
    with Live(console=Console(stderr=True), auto_refresh=False) as live:
        while os.getppid() == parent:
            status.read()
            style = STYLES.get(State(int(status.scalar("state"))), "")
            text = Text(line(status, axes), style=style, no_wrap=True, overflow="ellipsis")
            live.update(text, refresh=True)
            if status.scalar("ended"):
                break
            time.sleep(REFRESH_S)
    return 0


if __name__ == "__main__":
    sys.exit(program.run(lambda: main(*(int(argument) for argument in sys.argv[1:]))))
