"""`mastd ctl watch` beside a real daemon: the screen shows what the table does, keys move and stop it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.acceptance.test_serve import PROFILE, Service
from tests.support.lab import Lab
from tests.support.terminals import Screen, Terminal

pytestmark = [pytest.mark.real_time, pytest.mark.evidence]


@pytest.fixture
def service(lab: Lab) -> Iterator[Service]:
    service = Service(lab)
    yield service
    service.clean_up()


def offset(screen: Screen) -> str:
    """Return how far the first actuator is from neutral, as shown; empty where it is not."""
    found = re.search(r"^1 \S+ +([+-][0-9.]+) ", screen.text, flags=re.MULTILINE)
    return found[1] if found else ""


def test_a_shift_at_the_panel(service: Service) -> None:
    lab = service.lab
    service.state("OFF")
    service.accepted("load", profile=str(lab.profile(PROFILE.format(seconds=60))))
    environment = {**lab.environment, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
    command = lab.command("ctl", "watch", "--as", "night shift")
    with Terminal(command, lab.directory, environment, (80, 24)) as panel:
        panel.shows("O F F", "supply off, table down", "SIMULATED PLANT", "shaking", "you are night shift")
        panel.press("u")
        panel.shows("raise? press y")
        panel.press("y")
        panel.shows("R A I S I N G", "table MOVES to neutral")
        panel.shows("R E A D Y", "table at rest, pressurised", "stage high")
        panel.press("a")
        panel.shows("A R M E D", "start moves the table")
        panel.press("ty")
        panel.shows("R U N N I N G", "YOU (")
        panel.until(lambda screen: "not known" not in screen.text, "everything that a daemon tells")
        before = offset(panel.screen)
        assert before
        panel.until(lambda screen: offset(screen) not in ("", before), "the links move")
        panel.press("s")
        panel.shows("stop: accepted")
        panel.shows("R E A D Y")
        assert service.status()["state"] == "READY"
        panel.press("e")
        panel.shows("E S T O P", "do this", "clears")
        assert service.status()["state"] == "ESTOP"
        service.process.kill()
        panel.shows("CONNECTION LOST", "last known: ESTOP", "NO NEWS FOR")
        panel.press("q")
        assert panel.ended() == 0
        assert panel.attributes == panel.before
        assert panel.screen.wrapped == 0
