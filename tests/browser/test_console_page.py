"""The console's page in a real browser, before a real console and a real daemon on a simulated plant."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mastd.safety.states import COMMANDS, Conditions, State, next_state
from tests.support.lab import SHAKING, quick_lab, replaced
from tests.support.pages import WAIT_S, Console, Daemon, Screen, browser_program, end, launch

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ViewportSize

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytest.importorskip("uvicorn", reason="mastd[console] is not installed")
pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(browser_program() is None, reason="no Chromium on this machine"),
]

SMALL: ViewportSize = {"width": 1200, "height": 760}
WITHOUT_WEBGL = """
const all = HTMLCanvasElement.prototype.getContext;
HTMLCanvasElement.prototype.getContext = function (kind, ...others) {
  return kind.startsWith("webgl") ? null : all.call(this, kind, ...others);
};
"""
"""Without a graphics card the picture costs more than all else: only who looks at it has it."""
UNAVOIDABLE = ("WebSocket connection to", "Failed to load resource")
"""What a browser itself complains of when the console is taken away."""


class Site:
    """Daemon, console and browser of this file's tests, and the screens that one test has opened."""

    def __init__(self, daemon: Daemon, console: Console, browser: Browser) -> None:
        self.daemon = daemon
        self.console = console
        self.browser = browser
        self.screens: list[Screen] = []

    def screen(self, picture: bool = False) -> Screen:
        """Open a browser that knows nothing yet, with a picture of the table or without."""
        context = self.browser.new_context(viewport=SMALL)
        context.set_default_timeout(WAIT_S * 1000.0)
        if not picture:
            context.add_init_script(WITHOUT_WEBGL)
        self.screens.append(Screen(context.new_page(), self.console.url))
        return self.screens[-1]

    def visit(self, role: str = "operator", picture: bool = False) -> Screen:
        """Open a browser, log in, and wait until it shows the table."""
        screen = self.screen(picture)
        screen.log_in(self.console.tokens[role])
        expect_text(screen, "#link", "connected")
        sync_api.expect(screen.page.locator("#lost")).to_be_hidden()
        return screen

    def leave(self) -> None:
        """Close the screens; nothing may have gone wrong in them, and nothing may have left this machine."""
        for screen in self.screens:
            screen.page.context.close()
            errors = [error for error in screen.errors if not error.startswith(UNAVOIDABLE)]
            assert errors == []
            assert screen.strangers == []
        self.screens.clear()


@pytest.fixture(scope="module")
def whole_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    directory = tmp_path_factory.mktemp("console")
    profiles = directory / "profiles"
    profiles.mkdir()
    long = replaced(SHAKING, "duration: 8 s", "duration: 120 s")
    (profiles / "shaking.yaml").write_text(long, encoding="utf-8")
    runtime = tempfile.mkdtemp(prefix="mastd-test-")
    lab = replace(quick_lab(directory), runtime=Path(runtime))
    sync_api.expect.set_options(timeout=WAIT_S * 1000.0)
    daemon, console = Daemon(lab), Console(lab, profiles)
    with sync_api.sync_playwright() as playwright:
        browser = launch(playwright)
        yield Site(daemon, console, browser)
        browser.close()
    daemon.client.close()
    end(console.process)
    end(daemon.process)
    shutil.rmtree(runtime, ignore_errors=True)


@pytest.fixture
def site(whole_site: Site) -> Iterator[Site]:
    yield whole_site
    whole_site.leave()


def expect_text(screen: Screen, place: str, text: str) -> None:
    sync_api.expect(screen.page.locator(place)).to_contain_text(text)


def press(screen: Screen, verb: str) -> None:
    """Press a commanding button as soon as it is not marked as impossible."""
    sync_api.expect(screen.button(verb)).to_have_attribute("aria-disabled", "false")
    screen.button(verb).click()


def press_twice(screen: Screen, verb: str) -> None:
    """Press a button that asks whether it is meant; on a busy machine the question may be over meanwhile."""
    sync_api.expect(screen.button(verb)).to_have_attribute("aria-disabled", "false")
    asks = f"document.querySelector('[data-verb={verb}]').textContent.includes('Really')"
    sent = f"document.getElementById('answer').textContent.startsWith('{verb.upper()}')"
    for _ in range(5):
        # By the keyboard: a click soon after another belongs to that one and decides nothing.
        screen.button(verb).press("Enter")
        # What was sent may make the button impossible: look before it is pressed again.
        screen.until(f"{asks} || {sent}")
        if screen.page.evaluate(sent):
            return
    raise AssertionError(f"{verb} was not sent")


def test_a_wrong_token_shows_nothing_of_the_table(site: Site) -> None:
    screen = site.screen()
    screen.log_in("guess")
    expect_text(screen, ".problem", "not the token")
    assert screen.page.locator("#state").count() == 0


def test_a_profile_from_its_check_to_its_stop(site: Site) -> None:
    """Check, load, raise, arm, start: the page shows what the daemon does; a stop on the page stops it."""
    screen, daemon = site.visit(picture=True), site.daemon
    picture = screen.page.locator("#view canvas")
    press(screen, "raise")
    assert daemon.status()["state"] == "OFF", "the first press only asks"
    expect_text(screen, "[data-verb=raise]", "Really raise?")
    press_twice(screen, "raise")
    daemon.state("READY")
    expect_text(screen, "#state", "READY")

    screen.button("arm").click()
    expect_text(screen, "#answer", "ARM refused: arm is refused: no profile is loaded")
    screen.button("hold").click(force=True)
    expect_text(screen, "#answer", "hold is for RUNNING; the state is READY")

    screen.page.select_option("#profile-list", "shaking")
    screen.page.click("#load")
    expect_text(screen, "#answer", "check it first")
    screen.page.click("#check")
    expect_text(screen, "#verdict", "CHECK OK")
    expect_text(screen, "#verdict", "Critical: ")
    screen.page.click("#load")
    expect_text(screen, "#answer", "LOAD accepted")
    expect_text(screen, "#profile-name", "shaking")

    press(screen, "arm")
    daemon.state("ARMED")
    sync_api.expect(screen.button("start")).to_have_attribute("aria-disabled", "false")
    screen.button("start").dblclick()
    expect_text(screen, "[data-verb=start]", "Really start?")
    assert daemon.status()["state"] == "ARMED", "a double click is one decision"
    press_twice(screen, "start")
    daemon.state("RUNNING")
    expect_text(screen, "#state", "RUNNING")
    shown = screen.page.evaluate(SWING)
    assert shown["pose"] > 4.0, "of 8 mm from peak to peak"
    assert shown["trace"] > 4.0
    assert shown["pictures"] > 3
    assert picture.screenshot() != picture.screenshot(), "the table moves"

    press(screen, "hold")
    asked = daemon.until(lambda status: status["state"] == "HOLD" and abs(status["profile"]["speed"]) < 1e-9)
    screen.until("document.getElementById('state').textContent === 'HOLD'")
    screen.until(f"Math.abs({NUMBER}('#profile-time') - {asked['profile']['time_s']}) < 0.06")
    screen.until(f"Math.abs({NUMBER}('#pose-heave') - {asked['pose'][2] * 1e3}) < 0.05")
    screen.until(f"Math.abs({NUMBER}('[data-channel=\"pose.heave\"]') - {asked['pose'][2] * 1e3}) < 0.05")
    press(screen, "resume")
    daemon.state("RUNNING")
    screen.page.fill("#level", "50")
    screen.page.click("#level-set")
    daemon.until(lambda status: status["level"]["target"] == 0.5)

    screen.page.click("#stop")
    stood = daemon.state("READY")["reference"][2]
    expect_text(screen, "#state", "READY")
    expect_text(screen, "#answer", "STOP accepted")
    screen.page.select_option("#jog-what", "axis heave")
    press(screen, "jog-plus")
    daemon.until(lambda status: abs(status["reference"][2] - stood - 1e-4) < 1e-9)

    screen.page.click("#traces-choose")
    screen.page.fill("#channels-search", "measured length 3")
    assert screen.page.locator("#channels label:visible").count() < 20
    screen.page.click("#channels-list label:has-text('length.3') >> visible=true")
    expect_text(screen, "#traces-legend", "length.3")
    screen.page.click("#channels-close")
    assert screen.page.locator("#events li").count() > 4
    press(screen, "release")
    expect_text(screen, "#lease", "none")


NUMBER = (
    "((place) => Number(document.querySelector(place).textContent.replace('−', '-').match(/-?[\\d.]+/)[0]))"
)
SWING = f"""async () => {{
  const number = {NUMBER};
  const canvas = document.querySelector("#traces canvas");
  const seen = {{ pose: [], trace: [], pictures: new Set() }};
  for (let quarter = 0; quarter < 8; quarter += 1) {{
    const end = performance.now() + 250;
    while (performance.now() < end) {{
      await new Promise(requestAnimationFrame);
      seen.pose.push(number("#pose-heave"));
      seen.trace.push(number('[data-channel="pose.heave"]'));
    }}
    seen.pictures.add(canvas.toDataURL());
  }}
  const swing = (values) => Math.max(...values) - Math.min(...values);
  return {{ pose: swing(seen.pose), trace: swing(seen.trace), pictures: seen.pictures.size }};
}}"""
"""How far the figures of pose and trace have moved in a while, and how often the plot has changed."""


@pytest.mark.evidence
def test_two_browsers_and_an_observer(site: Site) -> None:
    """One commands, the others are told who does; anybody stops, and a browser that hangs holds up nobody."""
    first, second, watcher, daemon = site.visit(), site.visit(), site.visit("observer"), site.daemon
    press_twice(first, "raise")
    daemon.until(lambda status: status["state"] == "READY" and abs(status["reference"][2]) < 1e-9)
    press(first, "arm")
    daemon.state("ARMED")
    expect_text(first, "#lease", "you")
    expect_text(second, "#operate-note", "has control. Stop and e-stop work for everybody.")
    expect_text(watcher, "#operator", "observer")
    second.button("start").click(force=True)
    expect_text(second, "#answer", "has control for another")
    watcher.button("start").click(force=True)
    expect_text(watcher, "#answer", "you are an observer")

    press_twice(first, "start")
    daemon.state("RUNNING")
    second.page.evaluate(HANG)
    before = daemon.status()["profile"]["time_s"]
    first.until(f"{NUMBER}('#profile-time') > {before} + 1")
    second.page.click("#stop")
    daemon.state("READY")
    expect_text(second, "#state", "READY")
    assert "CONNECTION LOST" not in second.text("#events")

    watcher.page.click("#estop")
    daemon.state("ESTOP")
    for screen in (first, second, watcher):
        expect_text(screen, "#state", "ESTOP")
        expect_text(screen, "#cause", "emergency stop")
        expect_text(screen, "#todo", "make sure that everybody is safe")
    daemon.until(lambda status: bool(status["supply"]["pressure_pa"] < 5e5))
    press(first, "reset")
    daemon.state("OFF")
    press(first, "release")
    expect_text(second, "#lease", "none")


HANG = """() => {
  setTimeout(() => {
    const end = performance.now() + 2500;
    while (performance.now() < end);
  });
}"""


def test_what_the_page_holds_possible_is_what_the_states_take(site: Site) -> None:
    screen = site.visit()
    taken = screen.page.evaluate("async () => (await import('/static/verbs.js')).VERBS")
    best = Conditions(
        raised=True, supply_on=True, profile_loaded=True, at_start=True, feedback_valid=True, drive_idle=True
    )
    for event in COMMANDS:
        accepted = {state.name for state in State if not next_state(state, event, best).refusal}
        assert set(taken[event.value]["states"]) == accepted, event


def test_without_webgl_all_but_the_picture_is_there(site: Site) -> None:
    screen = site.visit()
    expect_text(screen, "#view", "WebGL is not there")
    screen.until("document.querySelector('#traces canvas') !== null")


@pytest.mark.evidence
def test_a_lost_connection_is_unmistakable_and_comes_back(site: Site) -> None:
    screen, console, daemon = site.visit(), site.console, site.daemon
    with console.frozen():
        screen.until(covered("CONNECTION LOST"))
        expect_text(screen, "#lost-age", "old. In danger use the table's own e-stop.")
    sync_api.expect(screen.page.locator("#lost")).to_be_hidden()

    daemon.kill()
    screen.until(covered("THE DAEMON DOES NOT ANSWER"))
    daemon.start()
    sync_api.expect(screen.page.locator("#lost")).to_be_hidden()
    expect_text(screen, "#state", "OFF")

    console.kill()
    screen.until(covered("CONNECTION LOST"))
    console.start()
    screen.page.click("#lost-login")
    screen.log_in(console.tokens["operator"])
    expect_text(screen, "#link", "connected")
    sync_api.expect(screen.page.locator("#lost")).to_be_hidden()


def covered(title: str) -> str:
    """Return the condition that a banner of this title lies over everything: nothing below can be pressed."""
    return f"""document.getElementById("lost-title").textContent === "{title}"
      && document.getElementById("page").inert
      && ["stop", "estop"].every((id) => {{
        const box = document.getElementById(id).getBoundingClientRect();
        const top = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
        return document.getElementById("lost").contains(top);
      }})"""
