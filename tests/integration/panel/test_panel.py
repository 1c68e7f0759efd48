"""`mastd ctl watch` on a real terminal, before a real gateway whose loop only answers."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from mastd.wire.access.verbs import Verb
from mastd.wire.operators.gateway import GatewayHandle
from tests.integration.wire.test_ctl import Table
from tests.support.lab import PATIENCE
from tests.support.terminals import Terminal
from tests.support.wire.operators import job, settings, wait_for

pytestmark = pytest.mark.real_time


@dataclass
class Desk:
    """A table that stands still, and panels that look at it."""

    table: Table
    stack: ExitStack = field(default_factory=ExitStack)

    def open(self, *options: str, size: tuple[int, int] = (80, 24), **environment: str) -> Terminal:
        """Start a panel on a terminal."""
        return self.run([sys.executable, "-m", "mastd", "ctl", "watch", *options], size, **environment)

    def run(self, command: list[str], size: tuple[int, int] = (80, 24), **environment: str) -> Terminal:
        """Start a command on a terminal."""
        usual = {**self.table.environment, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
        usual.pop("NO_COLOR", None)
        terminal = Terminal(command, self.table.directory, {**usual, **environment}, size)
        return self.stack.enter_context(terminal)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Table]:
    table = Table(tmp_path_factory.mktemp("panel"))
    yield table
    table.close()


@pytest.fixture
def desk(table: Table) -> Iterator[Desk]:
    table.loop.reset()
    desk = Desk(table)
    with desk.stack:
        yield desk


def as_it_was(terminal: Terminal) -> None:
    """Check that a terminal can be used by whoever comes next."""
    assert terminal.attributes == terminal.before
    assert terminal.screen.modes == {"25", "7"}, "cursor and line ends on, all else off"
    assert "0" in terminal.screen.styles


def test_keys_command_answers_are_shown_and_nobody_moves_a_table_by_mistake(desk: Desk) -> None:
    loop = desk.table.loop
    panel, observer = desk.open("--as", "anna"), desk.open("--observer", "--as", "otto", NO_COLOR="1")
    panel.shows("R E A D Y", "table at rest, pressurised", "you are anna", "s STOP", "cause   none")
    panel.press("h")
    panel.shows("hold is refused in READY; needed: a profile must be running")
    panel.press("a")
    panel.shows("arm: accepted; ARMED", "A R M E D", "YOU (")
    panel.press("t")
    panel.shows("start? press y")
    panel.press("n")
    panel.until(lambda screen: "press y" not in screen.text, "the question goes")
    panel.press("\x1b[200~ty\x1b[201~?")
    panel.shows("pasted text is ignored")
    panel.press("?")
    panel.until(lambda screen: "A R M E D" in screen.text, "the table")
    assert [verb for verb, _ in loop.taken] == [Verb.ARM]
    panel.press("ty")
    panel.shows("start: accepted; RUNNING", "table MOVES")
    observer.shows("R U N N I N G", "OBSERVER", "anna (")
    observer.press("h")
    observer.shows("hold is not available: you are an observer")
    observer.press("s")
    observer.shows("stop: accepted; STOPPING", "S T O P P I N G")
    assert [verb for verb, _ in loop.taken] == [Verb.ARM, Verb.START, Verb.STOP]
    panel.press("E")
    panel.shows("estop: accepted; ESTOP", "emergency stop, supply off")
    loop.fault, loop.cause = 15, "following error: actuator 3, 12.0 mm"
    panel.shows("following error: actuator 3, 12.0 mm", "do this", "clears  when:")
    panel.resize(120, 40)
    panel.press("\x0c")
    panel.shows("█▀▀▀ ▄▀▀▀ ▀▀█▀▀ ▄▀▀▄ █▀▀▄", "RUNNING > STOPPING", "u raise")
    panel.press("q")
    assert panel.ended() == 0
    panel.shows("panel closed, nothing was stopped; the state was ESTOP")
    as_it_was(panel)
    assert observer.screen.wrapped == panel.screen.wrapped == 0
    colours = {code for codes in observer.screen.styles for code in codes.split(";")}
    assert colours <= {"", "0", "1", "2", "7"}


def test_a_stop_does_not_wait_for_the_answer_to_another_command(tmp_path: Path) -> None:
    table = Table(tmp_path)
    table.handle.close()
    slow = job(tmp_path, settings(answer=30.0), loop_stuck_s=60.0)
    table.handle = GatewayHandle.start(slow, table.loop.request, table.loop.status, table.loop.driver)
    desk = Desk(table)
    try:
        with desk.stack:
            panel = desk.open(size=(120, 40))
            panel.shows("table at rest, pressurised")
            table.loop.pause()
            panel.press("a")
            panel.shows("arm is sent and waits for its answer")
            panel.press("h")
            panel.shows("hold is NOT sent")
            panel.press("s")
            panel.shows("stop is sent and waits")
            wait_for(lambda: table.loop.counters()[0] == 1, "the stop is in the loop's block")
            panel.press("e")
            panel.shows("estop is sent and waits")
            wait_for(lambda: table.loop.counters()[1] == 1, "the emergency stop is in the loop's block")
            panel.shows("NO NEWS FOR")
            table.loop.run()
            panel.shows(
                "emergency stop, supply off", " stop: accepted", "estop: accepted", "took precedence; needed:"
            )
            panel.press("\x03")
            assert panel.ended() == 0
    finally:
        table.close()


@pytest.mark.evidence
def test_a_lost_daemon_is_told_and_found_again(tmp_path: Path) -> None:
    table = Table(tmp_path)
    desk = Desk(table)
    try:
        with desk.stack:
            panel = desk.open()
            panel.shows("R E A D Y")
            os.kill(table.handle.process_id, signal.SIGKILL)
            panel.shows(
                "CONNECTION LOST", "last known: READY", "NO NEWS FOR", "reconnects by itself", "e-stop"
            )
            panel.press("a")
            panel.shows("arm is NOT sent: the connection is lost")
            panel.press("s")
            panel.shows("stop was NOT CONFIRMED, use the e-stop of the table")
            table.handle.close()
            table.handle = GatewayHandle.start(
                job(tmp_path), table.loop.request, table.loop.status, table.loop.driver
            )
            panel.shows("R E A D Y", "as of")
            panel.press("a")
            panel.shows("arm: accepted; ARMED")
            panel.press("q")
            assert panel.ended() == 0
            as_it_was(panel)
    finally:
        table.close()


def send(number: int) -> Callable[[Terminal], None]:
    return lambda panel: os.kill(panel.process.pid, number)


def press(key: str) -> Callable[[Terminal], None]:
    return lambda panel: panel.press(key)


ENDINGS: dict[str, tuple[Callable[[Terminal], None], int]] = {
    "q": (press("q"), 0),
    "Ctrl-C": (press("\x03"), 0),
    "Ctrl-backslash": (press("\x1c"), 128 + signal.SIGQUIT),
    "SIGTERM": (send(signal.SIGTERM), 128 + signal.SIGTERM),
    "SIGHUP": (send(signal.SIGHUP), 128 + signal.SIGHUP),
}


def test_the_terminal_is_as_it_was_whatever_ends_the_panel(desk: Desk) -> None:
    panels = {name: desk.open() for name in ENDINGS}
    for name, panel in panels.items():
        panel.shows("R E A D Y")
        assert panel.attributes != panel.before
        assert {"1049", "2004"} <= panel.screen.modes
        assert not {"25", "7"} & panel.screen.modes
        end, code = ENDINGS[name]
        end(panel)
        assert panel.ended() == code, name
        as_it_was(panel)
    assert desk.table.loop.taken == [], "nothing has been commanded by leaving"


def test_a_failure_leaves_the_terminal_as_it_was(desk: Desk) -> None:
    failing = "import os; from mastd.panel.terminal import Terminal\nwith Terminal(os.environ): 1 / 0"
    terminal = desk.run([sys.executable, "-c", failing])
    assert terminal.ended() == 1
    assert "ZeroDivisionError" in terminal.screen.text
    as_it_was(terminal)


def test_a_terminal_that_takes_nothing_keeps_no_stop_from_being_sent_and_no_panel_from_ending(
    desk: Desk,
) -> None:
    panel = desk.open(size=(300, 100))
    panel.shows("table at rest, pressurised")

    def full() -> bool:
        panel.press("\x0c")
        return not panel.takes

    wait_for(full, "nobody reads what the panel sends")
    panel.press("s")
    wait_for(lambda: Verb.STOP in [verb for verb, _ in desk.table.loop.taken], "the stop")
    panel.process.send_signal(signal.SIGTERM)
    assert panel.process.wait(PATIENCE) == 128 + signal.SIGTERM
    assert panel.attributes == panel.before


def test_a_suspended_panel_gives_the_terminal_back_and_takes_it_again(desk: Desk) -> None:
    line = f"set -m; {sys.executable} -m mastd ctl watch; stty -a; read go; fg; echo over"
    shell = desk.run(["sh", "-c", line])
    shell.shows("R E A D Y")
    shell.press("\x1a")
    shell.shows(" icanon ", " echo ")
    assert shell.screen.modes == {"25", "7"}
    shell.press("\n")
    shell.shows("R E A D Y", "s STOP", "cause   none")
    shell.press("q")
    assert shell.ended() == 0
    shell.shows("over")
    as_it_was(shell)


def test_lines_where_they_are_asked_for_or_no_cursor_can_be_placed(desk: Desk) -> None:
    size = (200, 24)
    asked, plain, json = (
        desk.open("--lines", size=size),
        desk.open(size=size, TERM="dumb"),
        desk.open("--json", size=size),
    )
    for terminal, begins in ((asked, "READY "), (plain, "READY "), (json, '{"')):
        terminal.shows(begins)
        assert terminal.screen.lines[0].startswith(begins)
        assert b"\x1b" not in terminal.raw
        assert terminal.attributes == terminal.before
        terminal.press("\x03")
        assert terminal.ended() == 0


def test_an_old_terminal_gets_no_colours_no_other_screen_and_plain_characters(desk: Desk) -> None:
    panel = desk.open(TERM="vt100", LC_ALL="C")
    panel.shows("R E A D Y", "[ stroke not known ]", "s STOP")
    assert panel.screen.text.isascii()
    assert "1049" not in panel.screen.modes
    assert {code for codes in panel.screen.styles for code in codes.split(";")} <= {"", "0", "1", "2", "7"}
    panel.press("q")
    assert panel.ended() == 0
    as_it_was(panel)
    assert "cause   none" in panel.screen.text, "the last picture stays above the farewell"
