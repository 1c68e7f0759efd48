"""What the panel shows of a status: all that matters, on any terminal, and nothing that commands it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from mastd.panel.lines import progress, track
from mastd.panel.painter import Painter
from mastd.panel.screen import screen
from mastd.panel.states import letters
from mastd.panel.view import ASCII, UNICODE, Display, Message, View
from mastd.safety.faults import ROWS
from mastd.safety.states import State
from mastd.wire.operators.snapshot import ACTIONS
from tests.support.terminals import Screen
from tests.unit.panel.test_status_text import nothing_known
from tests.unit.wire.operators.test_sessions import Counter

SMALL, LARGE = Display(80, 24), Display(120, 40)
ME = "anna@rig/pts/0"
NEUTRAL, STROKE = 1.25, 0.1
DESCRIPTION: dict[str, Any] = {
    "table_name": "table of Jin 2012",
    "pid": 4711,
    "rate_hz": 1000.0,
    "simulated": True,
    "maximum_force_n": 196e3,
    "supplies": [{"name": "", "pressure_pa": 210e5}],
    "links": [
        {
            "name": f"vertical {actuator}",
            "neutral_length_m": NEUTRAL,
            "stroke_m": STROKE,
            "maximum_force_n": 196e3,
        }
        for actuator in range(7)
    ],
}


def status(state: str = "RUNNING", cause: bool = False, **changes: Any) -> dict[str, Any]:
    """Return the status of a daemon in the middle of its day."""
    counter = Counter()
    counter.poll(3)
    found = counter.handler.status_view.snapshot(counter.now)
    row = ROWS[max(ROWS, key=lambda code: len(ROWS[code].hint))]
    told = {
        "code": 10,
        "name": "FOLLOWING_ERROR",
        "text": "following error: actuator 3 (vertical front left), 12.0 mm, more than 10.0 mm for 20 ms",
        "action": ACTIONS[2],
        "clear": row.clear,
        "hint": row.hint,
    }
    return {
        **found,
        "state": state,
        "since_s": 12.34,
        "cause": told if cause else None,
        "active": ["FOLLOWING_ERROR", "VELOCITY"] if cause else [],
        "lengths_m": [NEUTRAL + STROKE * share for share in (-1.2, -0.95, -0.5, 0.0, 0.5, 0.95, 1.2)],
        "forces_n": [-190e3, 12.3e3, 0.0, 1.0, 2.0, 3.0, 4.0],
        "following_peak_m": [0.00123 * actuator for actuator in range(7)],
        "pressures_pa": [[101e5 + 1e5 * actuator, 96e5] for actuator in range(7)],
        "internal_force_n": 1234.0,
        "residual_m": 45e-6,
        "pose": [0.001, 0.002, 0.00345, 0.01, 0.02, 0.03],
        "reference": [0.001, 0.002, 0.00300, 0.01, 0.02, 0.03],
        "supply": {"pressure_pa": 207e5, "stage": 2, "each": [{"pressure_pa": 207e5, "charged": 0.98}]},
        "cycle_time": {
            "window_s": 1.0,
            "compute_s": {"median": 21e-6, "p99": 35e-6, "max": 83e-6},
            "late_s": {"median": 12e-6, "p99": 44e-6, "max": 312e-6},
            "late": 0,
        },
        "late": 3,
        "missed": 5,
        "dropped": 6,
        "rigs": [{"name": "pad", "operator": "bert", "kind": "driver", "age_s": 0.02}],
        "profile": {"name": "shaking", "loaded": 1, "time_s": 4.2, "duration_s": 10.0, "speed": 1.0},
        "lease": {"holder": ME, "left_s": 42.0},
        **changes,
    }


def view(state: str = "RUNNING", cause: bool = False, **changes: Any) -> View:
    """Return a view of such a status."""
    return View(status(state, cause, **changes), DESCRIPTION, 0.1, me=ME)


def shown(found: View, display: Display) -> str:
    """Return the screen as text; every line is there and none is too wide."""
    lines = screen(found, display)
    assert len(lines) == display.height
    for line in lines:
        assert line.cell_len <= display.width, line.plain
        assert line.plain.isprintable(), line.plain
        assert display.unicode or line.plain.isascii(), line.plain
    return "\n".join(line.plain for line in lines)


def in_one_line(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize(
    "display", [SMALL, LARGE, replace(SMALL, unicode=False), replace(SMALL, colour=False)]
)
@pytest.mark.parametrize("state", [state.name for state in State])
@pytest.mark.parametrize("cause", [False, True])
def test_what_matters_is_there_in_every_state(display: Display, state: str, cause: bool) -> None:
    found = view(state, cause)
    text = in_one_line(shown(found, display))
    large = display == LARGE
    assert large or state in text.replace(" ", "")
    assert "since 12.3 s" in text
    for words in ("207 bar of 210, stage high", "internal 1.2 kN", "late", "missed", "recorded"):
        assert words in text
    for words in (
        "residual 45",
        "shaking",
        "42 %",
        "5.8 s left",
        "YOU (42 s)",
        ME,
        "s STOP",
        "e E-STOP",
    ):
        assert words in text
    for actuator in range(7):
        assert f"{101 + actuator}/96" in text
        assert f"{1.23 * actuator:.2f}" in text
    assert text.count("BEYOND!") == 2
    assert text.count("on stop" if state in ("OFF", "LOW", "HIGH") else "NEAR END") == 2
    for words in ("+3.45", "q quit", "as of 0.1 s ago"):
        assert words in text
    if cause:
        for key in ("text", "name", "hint", "clear"):
            assert found.status["cause"][key] in text
        assert "also VELOCITY" in text
    else:
        assert "cause none" in text
    if large:
        for words in ("21/35/83", "12/44/312", "late cycles 3", "missed periods 5", "frames not recorded 6"):
            assert words in text
        for words in ("command x", "error x", "+0.45", "vertical 6", "bert", "SIMULATED PLANT", "t start"):
            assert words in text


def test_the_letters_can_be_read() -> None:
    assert [line.plain for line in letters("LOW", SMALL)] == [
        "█    ▄▀▀▄ █   █",
        "█    █  █ █▄▀▄█",
        "▀▀▀▀  ▀▀  ▀   ▀",
    ]
    for state in (*(state.name for state in State), "CONNECTION LOST", "LOOP STUCK", "PREPARING"):
        assert len(letters(state, LARGE)) == 3
    assert letters("LOW", replace(LARGE, unicode=False)) == []


def test_a_lost_connection_is_unmistakable() -> None:
    reason = (
        "the daemon at ipc:///run/user/1000/mastd.operators shows no status any more; the daemon with "
        "process id 4711 is there: unless it is just starting, use the table's e-stop, or end it by "
        "`kill -TERM 4711` (SIGTERM), which lowers the table"
    )
    lost = replace(view(cause=True), lost=reason, age_s=12.3)
    text = in_one_line(shown(lost, SMALL))
    for words in (
        "CONNECTION LOST",
        "last known: RUNNING",
        "NO NEWS FOR 12.3 s",
        reason,
        "reconnects by itself",
    ):
        assert words in text
    assert "as of" not in text
    assert all(f"\n{actuator} " in shown(lost, SMALL) for actuator in range(1, 8))
    stale = in_one_line(shown(replace(view(), age_s=1.3), SMALL))
    assert "NO NEWS FOR 1.3 s" in stale


@pytest.mark.parametrize(("loop", "words"), [("stuck", "LOOP STUCK"), ("ended", "DAEMON ENDED")])
def test_a_loop_that_does_not_run_is_unmistakable(loop: str, words: str) -> None:
    advice = "the drive lowers the table by itself; restart the daemon"
    text = in_one_line(shown(view(loop=loop, advice=advice, silent_s=7.5), SMALL))
    for expected in (words, "last known: RUNNING", "NO NEWS FOR 7.6 s", advice):
        assert expected in text
    preparing = View(status(loop="preparing", advice="wait for it"), {}, 0.1)
    assert "wait for it" in shown(preparing, SMALL)
    assert "P R E P A R I N G" in shown(preparing, SMALL)


OLD = ("pressures_pa", "internal_force_n", "cycle_time", "late", "rigs")


def views_of_little() -> Iterator[View]:
    """Give views of daemons that tell little, or nothing that makes sense."""
    told = status(cause=True)
    yield View()
    yield View({key: entry for key, entry in told.items() if key not in OLD})
    yield View(nothing_known(told), DESCRIPTION)
    yield View(told, nothing_known(DESCRIPTION))
    yield View({**told, "lengths_m": [math.nan] * 7, "pose": "x", "profile": 3, "lease": [], "level": None})
    yield View({"state": "NEW_ONE", "loop": "running", "lengths_m": 7, "vehicle": {"driven": True}})
    for key in told:
        yield View({**told, key: None}, DESCRIPTION)
        yield View({name: entry for name, entry in told.items() if name != key}, DESCRIPTION)


def test_what_a_daemon_does_not_tell_is_not_known() -> None:
    for found in views_of_little():
        for display in (SMALL, LARGE):
            text = shown(found, display)
            assert "None" not in text
            assert "nan" not in text
    old = View({key: entry for key, entry in status().items() if key not in OLD}, {}, 0.1)
    text = in_one_line(shown(old, LARGE))
    for words in ("internal not known", "rigs not known", "stroke not known", "late cycles not known"):
        assert words in text
    assert "since 12.3 s" in text


@pytest.mark.parametrize("display", [SMALL, LARGE])
def test_axes_that_guides_hold_are_not_shown(display: Display) -> None:
    guided = {**DESCRIPTION, "freedoms": ["surge", "sway", "yaw"]}
    found = next(row for row in shown(View(status(), guided, 0.1), display).splitlines() if "pose " in row)
    assert found.split()[1:] == ["x", "+1.00", "y", "+2.00", "mm", "yaw", "+1.719", "deg"]


def test_nothing_reaches_the_terminal_that_commands_it() -> None:
    evil = "\x1b[2Janna\nREADY\r\x07\u202e漢字"
    told = status(cause=True, loading=evil, name=evil, advice=evil)
    told["profile"]["name"] = told["lease"]["holder"] = told["vehicle"]["name"] = evil
    told["cause"] = dict.fromkeys(told["cause"], evil)
    told["rigs"] = [dict.fromkeys(("name", "operator", "kind"), evil)]
    described = {**DESCRIPTION, "table_name": evil, "links": [{"name": evil}] * 7}
    for display in (SMALL, LARGE, replace(LARGE, unicode=False)):
        shown(View(told, described, 0.1), display)
    assert r"\x1b[2Janna" in shown(View(told, described, 0.1), LARGE)


@pytest.mark.parametrize(
    ("width", "height"), [(1, 1), (10, 3), (20, 5), (40, 12), (79, 23), (200, 60), (300, 10)]
)
def test_any_size_will_do(width: int, height: int) -> None:
    display = Display(width, height)
    answered = (Message("12:00:00", "hold is refused in ARMED; needed: a running profile", good=False),)
    for found in (view(cause=True), replace(view(), lost="gone"), replace(view(), help=True), View()):
        text = shown(replace(found, messages=answered), display)
        if width >= 40 and height >= 12 and not found.help:
            assert "needed: a running profile" in in_one_line(text)
            assert "s STOP" in text


def test_the_newest_answer_stays_and_events_go_above_it() -> None:
    answer = Message("12:00:00", "stop: accepted; STOPPING")
    event = Message("12:00:01", "RUNNING > STOPPING", event=True)
    lines = shown(replace(view(), messages=(answer, event)), LARGE).splitlines()
    assert lines[-2].rstrip() == "12:00:00 stop: accepted; STOPPING"
    assert lines[-3].rstrip() == "12:00:01 RUNNING > STOPPING"
    asked = shown(replace(view(), messages=(answer,), question=" lower? press y within 3 s "), SMALL)
    assert "lower? press y" in asked.splitlines()[-2]


def test_bars_show_where_an_actuator_is() -> None:
    assert track(0.0, 11, ASCII) == "[----#----]"
    assert track(-1.0, 11, ASCII) == "[#---+----]"
    assert track(1.0, 11, ASCII) == "[----+---#]"
    assert track(-1.01, 11, ASCII) == "<----+----]"
    assert track(1.01, 11, ASCII) == "[----+---->"
    assert track(0.5, 11, UNICODE) == "├────┼─█──┤"
    assert progress(0.5, 10, ASCII) == "[####....]"


def test_meaning_is_not_in_colour_alone_and_only_changed_lines_are_sent() -> None:
    sent: list[str] = []
    painter = Painter(sent.append)
    display = replace(SMALL, colour=False)
    first, second = screen(view(cause=True), display), screen(view(cause=True, missed=7), display)
    painter.paint(first, display)
    terminal = Screen(80, 24)
    terminal.feed(sent[0])
    assert terminal.lines == [line.plain.rstrip() for line in first]
    assert terminal.styles <= {"", "0", "1", "2", "7"}, "bold, dim, reverse and nothing else"
    painter.paint(second, display)
    terminal.feed(sent[1])
    assert terminal.lines == [line.plain.rstrip() for line in second]
    assert len(sent[1]) < 200
    painter.paint(second, display)
    assert len(sent) == 2
    painter.forget()
    painter.paint(second, display)
    assert len(sent[2]) > 1000
    coloured: list[str] = []
    Painter(coloured.append).paint(screen(view(cause=True), SMALL), SMALL)
    terminal = Screen(80, 24)
    terminal.feed(coloured[0])
    assert "31" in {code for codes in terminal.styles for code in codes.split(";")}


def many(count: int) -> View:
    """Return the view of a table of so many actuators, of long strokes and large forces."""
    links = [
        {
            "name": f"vertical {actuator}",
            "neutral_length_m": 8.0,
            "stroke_m": 1.0,
            "maximum_force_n": 4.5e6,
        }
        for actuator in range(1, count + 1)
    ]
    shares = [-0.999 + 0.05 * actuator for actuator in range(count)]
    found = status(
        lengths_m=[8.0 + share for share in shares],
        forces_n=[-4321.0e3 + 1e3 * actuator for actuator in range(count)],
        following_peak_m=[0.0] * count,
        pressures_pa=[[101e5, 96e5]] * count,
    )
    return View(found, {**DESCRIPTION, "links": links}, 0.1, me=ME)


@pytest.mark.parametrize("count", [9, 17, 24])
@pytest.mark.parametrize("display", [SMALL, LARGE, Display(80, 50)])
def test_every_actuator_of_a_large_table_is_shown_whole(count: int, display: Display) -> None:
    lines = [line.plain for line in screen(many(count), display)]
    shown = "\n".join(lines)
    assert all(len(line) <= display.width for line in lines)
    for number in range(1, count + 1):
        offset, force = -999.0 + 50.0 * (number - 1), -4321.0 + number - 1
        assert any(
            f"{offset:+.2f}" in line and f"{force:+.1f}" in line and f"{number} " in line for line in lines
        ), (number, shown)
    for part in ("supply", "pose", "profile", "s STOP"):
        assert part in shown.replace("\n", " "), shown


def test_side_by_side_a_mark_tells_which_actuator_is_near_its_end() -> None:
    lines = [line.plain for line in screen(many(24), SMALL)]
    assert " 1  -999.00* -4321.0     4" in "\n".join(lines)
    assert " 9  -599.00  -4313.0     4" in "\n".join(lines)
