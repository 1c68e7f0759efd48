"""Keys of the panel: what counts as one, and what must not."""

from __future__ import annotations

import pytest

from mastd.panel.board import PanelStatus
from mastd.panel.keys import BINDINGS, CONFIRM, CONFIRM_S, KeyReader, own
from mastd.panel.terminal import speaks_unicode
from mastd.wire.access.verbs import STOPPING, VERBS, may


def test_keys_are_letters_whatever_their_case() -> None:
    assert KeyReader().feed(b"sS?q\x0c") == ["s", "s", "?", "q", "\x0c"]
    assert [own(key) for key in "q?"] == ["quit", "help"]


def test_other_keys_and_pasted_text_are_none() -> None:
    reader = KeyReader()
    assert reader.feed(b"\x1b[A\x1b[1;5C\x1bOS\x1b[15~\xc3\xa9") == []
    assert reader.feed(b"\x1b[200~lower, yes\x1b[201~h") == ["h"]
    assert reader.feed(b"\x1b[200~sly") == []
    assert reader.feed(b"more\x1b[20") == []
    assert reader.feed(b"1~e") == ["e"]
    assert reader.feed(b"\x1bs") == ["s"], "with Alt, or soon after escape"
    for cut in range(1, 5):
        assert reader.feed(b"\x1b[24~"[:cut]) == []
        assert reader.feed(b"\x1b[24~"[cut:] + b"s") == ["s"]


def test_what_has_begun_and_does_not_go_on_takes_no_key_away() -> None:
    reader = KeyReader()
    for beginning in (b"\x1b", b"\x1b[", b"\x1bO", b"\x1b[200~half"):
        assert reader.feed(beginning) == []
        reader.waited()
        assert reader.feed(b"s") == ["s"]
    assert reader.feed(b"\x1b[" + b"9" * 100 + b"s")[-1] == "s", "not a sequence of any length"


def test_whatever_moves_the_table_is_confirmed_and_stops_are_not() -> None:
    assert {binding.name for binding in BINDINGS.values()} <= VERBS
    for binding in BINDINGS.values():
        moves = binding.name in {"raise", "start", "resume", "lower"}
        assert binding.confirm_key == moves
        assert may("observer", binding.name) == (binding.name in STOPPING)
    assert {BINDINGS[key].name for key in "se"} == STOPPING


def test_a_confirmation_is_the_next_key_and_soon() -> None:
    now = 0.0
    board = PanelStatus("anna", observer=False, clock=lambda: now)
    assert board.confirmed(CONFIRM) == ""
    board.ask("lower")
    assert "lower? press y" in board.view().question
    assert board.confirmed("l") == "", "a key that repeats itself confirms nothing"
    assert board.confirmed(CONFIRM) == "", "any other key has let it go"
    board.ask("lower")
    assert board.confirmed(CONFIRM) == "lower"
    board.ask("lower")
    now = CONFIRM_S + 0.1
    assert board.view().question == ""
    assert board.confirmed(CONFIRM) == ""


@pytest.mark.parametrize(
    ("encoding", "environment", "expected"),
    [
        ("utf-8", {"LANG": "en_US.UTF-8"}, True),
        ("utf-8", {"LANG": "de_DE.utf8@euro"}, True),
        ("utf-8", {"LC_ALL": "C", "LANG": "en_US.UTF-8"}, False),
        ("utf-8", {"LC_ALL": "", "LC_CTYPE": "C.UTF-8", "LANG": "C"}, True),
        ("utf-8", {}, False),
        ("iso8859-1", {"LANG": "en_US.UTF-8"}, False),
    ],
)
def test_characters_beyond_ascii_need_a_terminal_that_knows_them(
    encoding: str, environment: dict[str, str], expected: bool
) -> None:
    assert speaks_unicode(encoding, environment) is expected


def test_the_board_keeps_the_newest_messages_and_tells_what_changes() -> None:
    board = PanelStatus("anna", observer=False)
    board.show({"state": "READY", "loop": "running"})
    board.show({"state": "ARMED", "loop": "running"})
    board.show({"state": "FAULT", "loop": "running", "cause": {"text": "actuator 3"}})
    board.show({"state": "FAULT", "loop": "stuck", "cause": {"text": "actuator 3"}})
    told = [message.text for message in board.view().messages]
    assert told == ["READY > ARMED", "ARMED > FAULT: actuator 3", "FAULT, the loop is stuck"]
    board.lose("gone")
    assert board.lost
    assert board.view().lost == "gone"
    board.show({"state": "OFF"})
    assert not board.lost
    for number in range(100):
        board.add_message(str(number))
    assert board.message_count == 104
    assert [message.text for message in board.messages_since(102)] == ["98", "99"]
    assert len(board.messages_since(0)) == len(board.view().messages) == 50
