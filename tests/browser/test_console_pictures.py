"""The manual's pictures of the console, from real runs; `MASTD_PICTURES=docs/images` keeps them there."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.lab import SHAKING, Lab, quick_lab, replaced
from tests.support.pages import WAIT_S, Console, Daemon, Screen, browser_program, end, launch

if TYPE_CHECKING:
    from playwright.sync_api import ViewportSize

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytest.importorskip("uvicorn", reason="mastd[console] is not installed")
pytestmark = [
    pytest.mark.alone,
    pytest.mark.evidence,
    pytest.mark.skipif(browser_program() is None, reason="no Chromium on this machine"),
]

SIZE: ViewportSize = {"width": 1600, "height": 1000}
STUCK_S = 100
"""When a transducer sticks: late enough that the profile plays."""


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Lab]:
    with tempfile.TemporaryDirectory(prefix="mastd-test-") as runtime:
        yield replace(quick_lab(tmp_path), runtime=Path(runtime))


@contextlib.contextmanager
def site(lab: Lab, *options: object) -> Iterator[tuple[Daemon, Console, Screen]]:
    """A daemon, its console, and a large browser that has logged in."""
    sync_api.expect.set_options(timeout=WAIT_S * 1000.0)
    daemon, console = Daemon(lab, *options), Console(lab, lab.directory)
    try:
        with sync_api.sync_playwright() as playwright:
            browser = launch(playwright)
            screen = Screen(browser.new_page(viewport=SIZE), console.url)
            screen.log_in(console.tokens["operator"])
            sync_api.expect(screen.page.locator("#profile-list option").first).to_be_attached()
            yield daemon, console, screen
            browser.close()
    finally:
        daemon.client.close()
        end(console.process)
        end(daemon.process)


def keep(screen: Screen, lab: Lab, name: str) -> None:
    """Take a picture of the page."""
    directory = Path(os.environ.get("MASTD_PICTURES", lab.directory)).absolute()
    screen.page.screenshot(path=directory / f"{name}.png")


def test_a_picture_of_a_vehicle_that_is_shaken(here: Lab) -> None:
    with site(here) as (daemon, _, screen):
        play(daemon, "sedan_on_table")
        daemon.until(lambda status: (status["profile"]["time_s"] or 0.0) > 11.0)
        keep(screen, here, "console")


def test_pictures_of_a_fault_and_of_a_console_that_is_gone(here: Lab) -> None:
    """A transducer sticks while a profile plays; then the console is taken away."""
    profile = here.profile(replaced(SHAKING, "duration: 8 s", "duration: 600 s"), "long_shaking.yaml")
    with site(here, "--fault", f"length-stuck.3@{STUCK_S} s") as (daemon, console, screen):
        play(daemon, str(profile))
        daemon.state("FAULT", STUCK_S + WAIT_S)
        sync_api.expect(screen.page.locator("#state")).to_have_text("FAULT")
        keep(screen, here, "console_fault")
        console.kill()
        sync_api.expect(screen.page.locator("#lost-again")).to_contain_text("attempt 4")
        keep(screen, here, "console_lost")


def play(daemon: Daemon, profile: str) -> None:
    """Let the daemon play a profile, as an operator elsewhere would."""
    with daemon.join("anna@rig") as operator:
        for verb, arguments, state in (
            ("load", {"profile": profile}, "OFF"),
            ("raise", {}, "READY"),
            ("arm", {}, "ARMED"),
            ("start", {}, "RUNNING"),
        ):
            answer = operator.command(verb, arguments)
            assert answer.accepted, answer
            daemon.state(state)
