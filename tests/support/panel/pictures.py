"""Make the pictures of `mastd ctl watch` in docs/images: `python -m tests.support.panel.pictures`.

One while a profile plays, one after a valve of the simulated plant has stuck: what the panel sends to a
terminal, drawn by rich.
"""

from __future__ import annotations

import io
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from rich.console import Console

from mastd.panel.board import PanelStatus
from mastd.panel.connections import Watcher
from mastd.panel.screen import screen
from mastd.panel.status_text import answer_text
from mastd.panel.view import Display, View
from mastd.wire.operators.client import OperatorClient
from tests.support.lab import ROOT, Lab, quick_lab
from tests.support.wire.operators import wait_for

PROFILE: Final = """
name: track with bumps
segments:
  - kind: sine
    frequency: 1.2 Hz
    duration: 90 s
    axes: {heave: {amplitude: 25 mm}, roll: {amplitude: 0.6 deg, phase: 60 deg}, pitch: {amplitude: 0.4 deg}}
"""
STUCK_VALVE: Final = "valve-stuck.2@40s:0.2"
"""Link and plant time: some seconds after the profile has begun."""
ME: Final = "anna@rig/pts/0"
PATIENCE_S: Final = 120.0


def main(directory: Path) -> None:
    """Write panel.svg and panel-fault.svg into ``directory``."""
    with tempfile.TemporaryDirectory() as place, tempfile.TemporaryDirectory(prefix="mastd-") as runtime:
        lab = replace(quick_lab(Path(place)), runtime=Path(runtime))
        daemon = lab.start("serve", "--table", lab.table, "--config", lab.config, "--fault", STUCK_VALVE)
        try:
            shoot(lab, directory)
        finally:
            daemon.terminate()
            daemon.communicate()


def shoot(lab: Lab, directory: Path) -> None:
    """Bring the table to what the pictures show."""
    lab.run("ctl", "status", "--wait", timeout=PATIENCE_S)
    connect = partial(OperatorClient, f"ipc://{lab.runtime}/mastd.operators", ME)
    board = PanelStatus(ME, observer=False)
    watcher = Watcher(connect(), connect, board)
    watcher.start()

    def until(done: Callable[[View], bool]) -> View:
        try:
            wait_for(lambda: done(board.view()), "the picture's state", PATIENCE_S)
        except AssertionError:
            shown = "\n".join(line.plain for line in screen(board.view(), Display(120, 40)))
            raise AssertionError(shown) from None
        return board.view()

    def state(name: str) -> Callable[[View], bool]:
        return lambda view: view.status.get("state") == name

    with connect() as client:

        def ask(verb: str, **arguments: object) -> None:
            answer = client.command(verb, arguments)
            assert answer.accepted, answer.reason
            board.add_message(answer_text(answer))

        ask("load", profile=str(lab.profile(PROFILE)))
        ask("raise")
        until(state("READY"))
        ask("arm")
        ask("start")
        playing = until(lambda view: state("RUNNING")(view) and view.status["profile"]["time_s"] > 5.0)
        draw(playing, Display(116, 38), directory / "panel.svg")
        stopped = until(state("FAULT"))
        draw(stopped, Display(80, 24), directory / "panel-fault.svg")
        watcher.leave()
        watcher.join()


def draw(view: View, look: Display, path: Path) -> None:
    """Write a screen as a picture."""
    console = Console(record=True, file=io.StringIO(), width=look.width, force_terminal=True)
    for line in screen(view, look):
        console.print(line, soft_wrap=True)
    console.save_svg(str(path), title="mastd ctl watch")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "images")
