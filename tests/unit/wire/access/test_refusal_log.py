"""The gateway's log: what is told at once, what is held back, and what it says."""

from __future__ import annotations

from mastd.log.sinks import Line
from mastd.wire.access.audit_log import COMMANDS_PER_S, MAX_KINDS, SPACING_S, RefusalLog
from mastd.wire.access.authentication import Cause, Unheard


class Page:
    """A sink that keeps its lines, and a clock."""

    statistics = False

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.now = 100.0

    def write(self, line: Line, unix: float) -> None:
        self.lines.append(line)

    def close(self) -> None:
        pass

    def log(self, commands: bool = True) -> RefusalLog:
        return RefusalLog(self, commands, lambda: self.now)

    def told(self) -> list[str]:
        texts = [line.message for line in self.lines]
        self.lines.clear()
        return texts


def test_the_first_is_told_at_once_and_then_one_in_so_long_with_the_number() -> None:
    page = Page()
    log = page.log()
    for _ in range(240):
        log.beyond_role("otto", "observer", "arm")
        page.now += 0.125
        log.poll()
    text = "arm by otto refused: an observer may not"
    told = page.told()
    assert told[0] == text
    assert len(told) == 1 + int(240 * 0.125 / SPACING_S)
    log.beyond_role("otto", "observer", "arm")
    log.close()
    told += page.told()
    more = [int(line.removeprefix(f"{text} … and ").removesuffix(" more")) for line in told if line != text]
    assert len(told) + sum(more) == 241, "none is forgotten"


def test_another_name_or_verb_is_told_for_itself() -> None:
    page = Page()
    log = page.log()
    for operator in ("otto", "rita"):
        for verb in ("arm", "load"):
            log.beyond_role(operator, "observer", verb)
    assert len(page.told()) == 4
    page.now += SPACING_S
    log.poll()
    log.beyond_role("otto", "observer", "arm")
    assert len(page.told()) == 1, "after a quiet time it is a first one again"


def test_a_stranger_who_makes_up_keys_fills_neither_log_nor_memory() -> None:
    page = Page()
    log = page.log()
    for number in range(1000):
        log.unheard(Unheard(Cause.UNKNOWN_KEY, "", "192.0.2.9", f"key {number}"))
    assert page.told() == [
        "connection refused from 192.0.2.9: its key key 0 is unknown; see `mastd keys list`"
    ]
    for number in range(10 * MAX_KINDS):
        log.unheard(Unheard(Cause.UNKNOWN_KEY, "", f"peer {number}", "x"))
    assert len(page.told()) == MAX_KINDS, "the others share one count"


def test_commands_are_told_one_by_one_up_to_a_rate_and_by_a_service_only() -> None:
    page = Page()
    log = page.log()
    for _ in range(50):
        log.accepted("anna", "jog", "anna")
    assert page.told() == ["jog by anna: accepted, lease: anna"] * (round(COMMANDS_PER_S) + 1)
    page.now += SPACING_S
    log.poll()
    assert page.told() == ["jog by anna: accepted, lease: anna … and 38 more"]
    page.log(commands=False).accepted("anna", "jog", "anna")
    assert page.told() == []


def test_what_a_terminal_would_obey_is_shown_as_text() -> None:
    page = Page()
    page.log().beyond_role("an\x1b[2Jna", "rig", "arm")
    assert page.told() == ["arm by an\\x1b[2Jna refused: a rig may not"]
