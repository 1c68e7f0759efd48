"""The panel at work: keys in, commands out, ten pictures a second at most, until somebody leaves."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import threading
import time
from collections.abc import Mapping
from functools import partial
from typing import Final

from rich.text import Text

from mastd.errors import printable
from mastd.panel.board import PanelStatus
from mastd.panel.connections import Sender, Watcher
from mastd.panel.keys import BINDINGS, HELP, QUIT, REDRAW, KeyReader, own
from mastd.panel.lines import BAD, fitted, paragraph
from mastd.panel.painter import Painter
from mastd.panel.screen import screen
from mastd.panel.sections import state_name
from mastd.panel.terminal import LEAVING, Terminal
from mastd.panel.view import Display, View
from mastd.wire.access.roles import Role, read_role
from mastd.wire.access.verbs import STOPPING, commands
from mastd.wire.operators.client import ClientKeys, OperatorClient

REDRAW_S: Final = 0.2
"""Between two pictures while nothing happens but numbers that change."""
SOONEST_S: Final = 0.1
"""Between two pictures at least."""
_KEY_ENDS_S: Final = 0.25
_LAST_ANSWERS_S: Final = 3.0
_BYTES: Final = 1024


class Drawer(threading.Thread):
    """Draws in a thread of its own: a terminal that takes nothing must not keep keys from being read."""

    def __init__(self, terminal: Terminal, panel_status: PanelStatus) -> None:
        super().__init__(name="screen", daemon=True)
        self._terminal = terminal
        self._status = panel_status
        self._painter = Painter(terminal.write)
        self._iterate = threading.Lock()
        self._left = False
        self.gone = False
        """Whether the terminal cannot be written to any more."""

    def run(self) -> None:
        """Draw until ``leave``."""
        while not self._left:
            self._status.changed.wait(REDRAW_S)
            self._status.changed.clear()
            with self._iterate:
                if self._left:
                    return
                try:
                    self._draw()
                except OSError:
                    self.gone = True
                    return
            time.sleep(SOONEST_S)

    def _draw(self) -> None:
        view, display = self._status.view(), self._terminal.display()
        try:
            lines = screen(view, display)
        except Exception as error:  # whatever a daemon sends, keys must work and somebody must see that
            lines = _undrawable(view, display, error)
        self._painter.paint(lines, display)

    def pause(self) -> bool:
        """Draw nothing from now on; return whether the last picture has ended."""
        return self._iterate.acquire(timeout=SOONEST_S * 10)

    def go_on(self, paused: bool) -> None:
        """Draw again, all of it."""
        self._painter.forget()
        if paused:
            self._iterate.release()
        self._status.changed.set()

    def leave(self) -> None:
        """End, in the middle of a picture only if the terminal has stopped taking it."""
        self._left = True
        self._status.changed.set()
        self.join(SOONEST_S * 10)


class Panel:
    """What keys do; ``run`` takes them until somebody leaves."""

    def __init__(
        self, terminal: Terminal, panel_status: PanelStatus, connect: partial[OperatorClient], observer: bool
    ) -> None:
        self._terminal = terminal
        self._status = panel_status
        self._observer = observer
        self._commands = Sender(connect, panel_status, "commands")
        self._stops = {verb: Sender(connect, panel_status, verb) for verb in sorted(STOPPING)}
        self._drawer = Drawer(terminal, panel_status)
        self._keys = KeyReader()
        self._left = False

    def run(self) -> int:
        """Return the number of the signal that ended it, 0 for the key."""
        for thread in (self._commands, *self._stops.values(), self._drawer):
            thread.start()
        try:
            while not self._left and not self._drawer.gone:
                ready, _, _ = select.select(
                    [self._terminal.keyboard, self._terminal.woken], [], [], _KEY_ENDS_S
                )
                if self._terminal.woken in ready:
                    number = self._woken()
                    if number:
                        return number
                if self._terminal.keyboard in ready:
                    with contextlib.suppress(OSError):
                        if data := os.read(self._terminal.keyboard, _BYTES):
                            for key in self._keys.feed(data):
                                self.press(key)
                            continue
                    return signal.SIGHUP  # the terminal is gone
                self._keys.waited()
            return signal.SIGHUP if self._drawer.gone else 0
        finally:
            self._drawer.leave()

    def say_goodbye(self) -> None:
        """Wait a moment for answers that are on their way."""
        end = time.monotonic() + _LAST_ANSWERS_S
        for sender in (*self._stops.values(), self._commands):
            sender.leave(max(0.0, end - time.monotonic()))

    def press(self, key: str) -> None:
        """Do what a key asks for."""
        binding = BINDINGS.get(key)
        wanted = own(key)
        verb = self._status.confirmed(key)
        helped = self._status.helping
        self._status.show_help(wanted == HELP and not helped)
        if wanted == QUIT:
            self._left = True
        elif wanted == REDRAW:
            self._drawer.go_on(self._drawer.pause())
        elif verb:
            self._send(verb)
        elif binding is None:
            return
        elif binding.name in STOPPING:
            self._stops[binding.name].ask(binding.name)
        elif self._observer:
            self._status.add_message(
                f"{binding.name} is not available: you are an observer, only s and e work", good=False
            )
        elif binding.confirm_key:
            self._status.ask(binding.name)
        else:
            self._send(binding.name)

    def _send(self, verb: str) -> None:
        if self._status.lost:
            self._status.add_message(f"{verb} is NOT sent: the connection is lost", good=False)
        else:
            self._commands.ask(verb)

    def _woken(self) -> int:
        """Return the number of a signal that ends the panel, 0 after the others."""
        for number in os.read(self._terminal.woken, _BYTES):
            if number in LEAVING:
                return number
            paused = self._drawer.pause()
            try:
                if number == signal.SIGTSTP:
                    self._terminal.suspend()
                else:
                    self._terminal.take()
            except OSError:
                return signal.SIGHUP
            finally:
                self._drawer.go_on(paused)
        return 0


def watch_panel(
    environment: Mapping[str, str],
    address: str | None,
    operator: str | None,
    role: Role,
    keys: ClientKeys | None,
) -> tuple[int, list[str]]:
    """Show the panel until somebody leaves; return the exit code and what is to be told afterwards.

    The code is 0, or 128 and the number of the signal that ended it. Raises UsageError where no daemon
    answers at first, ProtocolError where it refuses.
    """
    terminal = Terminal(environment)
    first = OperatorClient(address, operator, role, "mastd ctl watch", keys)
    granted = read_role(first.welcome.role)
    me, observer = first.welcome.operator, granted is None or not commands(granted)
    # The same daemon all the time: where another one answers, somebody would command another table.
    connect = partial(OperatorClient, first.address, me, role, "mastd ctl watch", keys)
    panel_status = PanelStatus(me, observer)
    watcher = Watcher(first, connect, panel_status)
    watcher.start()
    with terminal:
        panel = Panel(terminal, panel_status, connect, observer)
        number = panel.run()
    reported = panel_status.message_count
    panel.say_goodbye()
    watcher.leave()
    watcher.join(SOONEST_S)
    texts = [message.text for message in panel_status.messages_since(reported) if not message.event]
    view = panel_status.view()
    texts.append(f"panel closed, nothing was stopped; the state was {state_name(view)}")
    return (0 if number in (0, signal.SIGINT) else 128 + number), texts


def _undrawable(view: View, display: Display, error: Exception) -> list[Text]:
    """Return what is left when a status cannot be shown: the state, the reason, the keys that stop."""
    reason = printable(
        f"this status cannot be shown ({type(error).__name__}: {error}); see `mastd ctl status`", keep=""
    )
    lines = [Text(state_name(view), BAD), *paragraph(reason, display.width), Text("s STOP  e E-STOP  q quit")]
    return [fitted(line, display) for line in [*lines, *[Text()] * display.height][: display.height]]
