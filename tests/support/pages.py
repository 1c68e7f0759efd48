"""What the tests of the console's page share: a daemon with its console, and browsers in front of it."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mastd.errors import UsageError
from mastd.wire.access.roles import Role
from mastd.wire.operators.client import OperatorClient
from tests.support.lab import Lab, replaced

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Playwright

START_S = 90.0
"""The first start compiles the kernels."""
WAIT_S = 60.0
_URL = re.compile(r"console at (\S+)")
_TOKEN = re.compile(r"(operator|observer)'s token: in (\S+)")


def patient(lab: Lab) -> Path:
    """Write settings of a daemon that forgives a machine that is busy painting pictures."""
    text = lab.config.read_text(encoding="utf-8")
    text = replaced(text, "sample_stale: 150 ms", "sample_stale: 1.5 s")
    text = replaced(text, "maximum_missed: 150", "maximum_missed: 1500")
    text = replaced(text, "following_delay: 20 ms", "following_delay: 1 s")
    text = replaced(text, "stuck_travel: 1 mm", "stuck_travel: 3 mm")
    text = replaced(text, "lease: 60 s", "lease: 600 s")
    path = lab.directory / "patient.yaml"
    path.write_text(text, encoding="utf-8")
    return path


class Daemon:
    """A service on a simulated plant, and a watcher who never commands."""

    def __init__(self, lab: Lab, *options: object) -> None:
        self._lab = lab
        self._options = ("--sim", "--table", lab.table, "--config", patient(lab), *options)
        self._address = f"ipc://{lab.environment['XDG_RUNTIME_DIR']}/mastd.operators"
        self.start()

    def start(self) -> None:
        """Start it and wait until its loop runs."""
        self.process = self._lab.start("serve", *self._options)
        deadline = time.monotonic() + START_S
        while True:
            try:
                self.client = self.join("test", "observer")
                break
            except UsageError:
                assert self.process.poll() is None, "the daemon has ended"
                assert time.monotonic() < deadline, "the daemon did not come up"
                threading.Event().wait(0.1)  # another process's socket can only be looked for
        self.until(lambda status: status["loop"] == "running")

    def join(self, operator: str, role: Role = "engineer") -> OperatorClient:
        """Return a session of somebody without a browser."""
        return OperatorClient(self._address, operator, role)

    def status(self) -> dict[str, Any]:
        """Return what the daemon itself says."""
        return self.client.status()

    def until(self, done: Callable[[dict[str, Any]], bool], seconds: float = WAIT_S) -> dict[str, Any]:
        """Return the first status that fits."""
        deadline = time.monotonic() + seconds
        for status in self.client.watch():
            if done(status):
                return status
            assert time.monotonic() < deadline, status
        raise AssertionError("the daemon has ended")

    def state(self, name: str, seconds: float = WAIT_S) -> dict[str, Any]:
        """Wait until the daemon is in a state."""
        return self.until(lambda status: bool(status["state"] == name), seconds)

    def kill(self) -> None:
        """Take it away without a word."""
        self.client.close()
        self.process.kill()
        self.process.communicate()


class Console:
    """A console of the daemon; ``port`` 0 takes a free one, which a later start takes again."""

    def __init__(self, lab: Lab, profiles: Path) -> None:
        self._lab = lab
        self._profiles = profiles
        self._port = 0
        self.start()

    def start(self) -> None:
        """Start it and read where it is and which tokens it takes."""
        self.process = self._lab.start(
            "console", "--listen", f"127.0.0.1:{self._port}", "--profiles", self._profiles
        )
        assert self.process.stdout is not None
        said = ""
        while "Ctrl-C" not in said:
            line = self.process.stdout.readline()
            assert line, f"the console did not come up: {said}"
            said += line
        found = _URL.search(said)
        assert found, said
        self.url = found[1]
        self._port = int(self.url.rstrip("/").rpartition(":")[2])
        self.tokens = {role: Path(path).read_text().strip() for role, path in _TOKEN.findall(said)}

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        """Let it stand still for a while, as a machine does that is in distress."""
        os.kill(self.process.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self.process.pid, signal.SIGCONT)

    def kill(self) -> None:
        """Take it away without a word."""
        self.process.kill()
        self.process.communicate()


@dataclass
class Screen:
    """One page, and what went wrong in it: errors of the page, and requests to somewhere else."""

    page: Page
    home: str
    errors: list[str] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on(
            "console", lambda message: self.errors.append(message.text) if message.type == "error" else None
        )
        self.page.on("request", lambda request: self._look(request.url))
        self.page.on("websocket", lambda socket: self._look(socket.url.replace("ws", "http", 1)))

    def _look(self, url: str) -> None:
        if not url.startswith(self.home):
            self.strangers.append(url)

    def log_in(self, token: str) -> None:
        """Come as somebody who has this token."""
        self.page.goto(self.home)
        self.page.fill("#token", token)
        self.page.click("button[type=submit]")

    def button(self, verb: str) -> Any:
        """Return one of the commanding buttons, by its verb or its id."""
        return self.page.locator(f"[data-verb={verb}], #{verb}")

    def text(self, place: str) -> str:
        """Return what stands at a place."""
        return self.page.locator(place).inner_text()

    def number(self, place: str) -> float:
        """Return the first number at a place."""
        found = re.search(r"[+−-]?\d+(\.\d+)?", self.text(place))
        assert found, f"no number at {place}: {self.text(place)}"
        return float(found[0].replace("−", "-"))

    def until(self, condition: str, seconds: float = WAIT_S) -> None:
        """Wait until a JavaScript expression is true, looking at every picture that is painted.

        The page's content policy forbids to compile text in it, so nothing but this way is left.
        """
        fulfilled = self.page.evaluate(
            f"""async (limit) => {{
              const end = performance.now() + limit;
              while (!({condition})) {{
                if (performance.now() > end) return false;
                await new Promise(requestAnimationFrame);
              }}
              return true;
            }}""",
            seconds * 1000.0,
        )
        assert fulfilled, f"not within {seconds:g} s: {condition}"


def browser_program() -> str | None:
    """Return the system's Chromium, None without."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def launch(playwright: Playwright) -> Browser:
    """Start the browser; without its sandbox, which a container's root may not have."""
    return playwright.chromium.launch(executable_path=browser_program(), args=["--no-sandbox"])


def end(process: subprocess.Popen[str]) -> None:
    """End a process of a test, whatever became of it."""
    if process.poll() is None:
        process.kill()
    process.communicate()
