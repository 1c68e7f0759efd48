"""How states display: in words, in colour and, where there is room, in letters that are seen from afar."""

from __future__ import annotations

from typing import Final

from rich.text import Text

from mastd.panel.view import Display

_QUIET, _CALM, _CARE, _MOVES, _ALARM = "white", "green", "yellow", "cyan", "red"
_STATES: Final = {
    "OFF": (_QUIET, "supply off, table down"),
    "LOW": (_MOVES, "supply building up, table at rest"),
    "HIGH": (_MOVES, "supply building up, table at rest"),
    "RAISING": (_MOVES, "table MOVES to neutral"),
    "READY": (_CALM, "table at rest, pressurised"),
    "ARMED": (_CARE, "start moves the table"),
    "RUNNING": (_MOVES, "table MOVES, program running"),
    "HOLD": (_CARE, "test paused (hold)"),
    "STOPPING": (_MOVES, "table MOVES, stopping"),
    "LOWERING": (_MOVES, "table MOVES down"),
    "FAULT": (_ALARM, "a fault is latched"),
    "ESTOP": (_ALARM, "emergency stop, supply off"),
}
_ALARMS: Final = {
    "CONNECTION LOST": "the state of the table is not known here",
    "LOOP STUCK": "nothing is commanded",
    "DAEMON ENDED": "nothing is commanded",
}
LETTER_ROWS: Final = 3
# Five rows a letter, from the top.
_LETTERS: Final = {
    "A": (".##.", "#..#", "####", "#..#", "#..#"),
    "C": (".###", "#...", "#...", "#...", ".###"),
    "D": ("###.", "#..#", "#..#", "#..#", "###."),
    "E": ("####", "#...", "###.", "#...", "####"),
    "F": ("####", "#...", "###.", "#...", "#..."),
    "G": (".###", "#...", "#.##", "#..#", ".###"),
    "H": ("#..#", "#..#", "####", "#..#", "#..#"),
    "I": ("###", ".#.", ".#.", ".#.", "###"),
    "K": ("#..#", "#.#.", "##..", "#.#.", "#..#"),
    "L": ("#...", "#...", "#...", "#...", "####"),
    "M": ("#...#", "##.##", "#.#.#", "#...#", "#...#"),
    "N": ("#...#", "##..#", "#.#.#", "#..##", "#...#"),
    "O": (".##.", "#..#", "#..#", "#..#", ".##."),
    "P": ("###.", "#..#", "###.", "#...", "#..."),
    "R": ("###.", "#..#", "###.", "#.#.", "#..#"),
    "S": (".###", "#...", ".##.", "...#", "###."),
    "T": ("#####", "..#..", "..#..", "..#..", "..#.."),
    "U": ("#..#", "#..#", "#..#", "#..#", ".##."),
    "W": ("#...#", "#...#", "#.#.#", "##.##", "#...#"),
    "Y": ("#...#", ".#.#.", "..#..", "..#..", "..#.."),
    " ": ("..", "..", "..", "..", ".."),
}
_HALVES: Final = {(False, False): " ", (True, False): "▀", (False, True): "▄", (True, True): "█"}


def meaning(state: str) -> str:
    """Return what a state means for people at the table."""
    return _ALARMS.get(state) or _STATES.get(state, (_QUIET, ""))[1]


def bar_style(state: str, display: Display) -> str:
    """Return the style of a whole line that says the state."""
    if not display.colour:
        return "bold reverse"
    colour = _colour(state)
    return f"bold white on {colour}" if colour == _ALARM else f"bold black on {colour}"


def letters(state: str, display: Display) -> list[Text]:
    """Return the state in large letters, ``LETTER_ROWS`` lines; none where they cannot be drawn."""
    if not display.unicode or any(letter not in _LETTERS for letter in state):
        return []
    rows = [".".join(_LETTERS[letter][row] for letter in state) for row in range(5)]
    rows.append("." * len(rows[0]))
    style = f"bold {_colour(state)}" if display.colour else "bold"
    return [
        Text("".join(_HALVES[upper == "#", lower == "#"] for upper, lower in zip(*pair, strict=True)), style)
        for pair in zip(rows[::2], rows[1::2], strict=True)
    ]


def _colour(state: str) -> str:
    return _ALARM if state in _ALARMS else _STATES.get(state, (_QUIET, ""))[0]
