"""The whole screen: which parts, in which order and size, so that what matters is always there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from rich.text import Text

from mastd.panel.actuator_rows import actuator_rows
from mastd.panel.keys import BINDINGS, CONFIRM, CONFIRM_S
from mastd.panel.lines import BAD, CARE, QUIET, fitted, paragraph
from mastd.panel.reading import text
from mastd.panel.sections import (
    Lines,
    cycle,
    forces,
    people,
    pose,
    profile,
    state,
    state_name,
    title,
    trouble,
    vehicle,
)
from mastd.panel.view import MIN_WIDTH, Display, Message, View, glyphs
from mastd.wire.access.verbs import may


@dataclass(frozen=True)
class Part:
    """A part of the screen, from its smallest size to its largest."""

    name: str
    sizes: list[Lines]
    need: int
    """The lowest goes first when there is too little room; parts of ``ALWAYS`` never do."""


ALWAYS: Final = 100
_SECTIONS: Final[tuple[tuple[Callable[[View, Display], list[Lines]], int], ...]] = (
    (title, 20),
    (state, ALWAYS),
    (trouble, ALWAYS),
    (actuator_rows, 90),
    (forces, 80),
    (pose, 50),
    (cycle, 60),
    (profile, 85),
    (vehicle, 30),
    (people, 70),
)
_GROWTH: Final = ("actuator_rows", "profile", "cycle", "vehicle", "state", "pose", "forces", "history")
"""What grows first when there is room."""
_MAX_HISTORY: Final = 5
_USEFUL: Final = {
    "OFF": "u raise",
    "READY": "a arm  l lower",
    "ARMED": "t start  l lower",
    "RUNNING": "h hold",
    "HOLD": "r resume",
    "FAULT": "x reset  l lower",
    "ESTOP": "x reset",
}
"""Keys that make sense in a state, where there is no space for all."""


def screen(view: View, display: Display) -> list[Text]:
    """Return exactly ``display.height`` lines, none wider than ``display.width``."""
    if display.width < MIN_WIDTH:
        lines = [Text(state_name(view), BAD), Text("s stop e e-stop q quit")]
        return _exactly([fitted(line, display) for line in lines], display.height)
    if view.help:
        return _exactly([fitted(line, display) for line in help_lines(view, display)], display.height)
    parts = [Part(section.__name__, section(view, display), need) for section, need in _SECTIONS]
    foot = footer(view, display)
    parts.append(Part("history", history(view), 10))
    chosen = fit(parts, display.height - len(foot))
    bottom = [*chosen.pop("history", []), *foot]
    space = max(display.height - len(bottom), 0)
    body = spread([chosen[part.name] for part in parts if chosen.get(part.name)], space)
    return _exactly([fitted(line, display) for line in [*_exactly(body, space), *bottom]], display.height)


def fit(parts: list[Part], height: int) -> dict[str, Lines]:
    """Return the lines of the parts that fit, each as large as there is room for."""
    chosen = {part.name: part.sizes[0] for part in parts}
    for part in sorted(parts, key=lambda part: part.need):
        if _height(chosen) <= height or part.need >= ALWAYS:
            break
        del chosen[part.name]
    for name in _GROWTH:
        for size in next(part.sizes for part in parts if part.name == name):
            if name in chosen and _height({**chosen, name: size}) <= height:
                chosen[name] = size
    return chosen


def spread(groups: list[Lines], height: int) -> Lines:
    """Return the groups behind each other, with blank lines between them as far as there is room."""
    free = height - sum(len(lines) for lines in groups)
    body: Lines = []
    for index, lines in enumerate(groups):
        body += [*([Text()] if 0 < index <= free else []), *lines]
    return body


def _height(chosen: dict[str, Lines]) -> int:
    return sum(len(lines) for lines in chosen.values())


def _exactly(lines: Lines, height: int) -> Lines:
    return [*lines, *[Text()] * height][:height]


def newest_answer(view: View) -> Message | None:
    """Return what the message line shows: the newest answer, which no event pushes away."""
    return next((message for message in reversed(view.messages) if not message.event), None)


def history(view: View) -> list[Lines]:
    """Return what happened beside the newest answer, from nothing to the last few."""
    newest = newest_answer(view)
    others = [message for message in view.messages if message is not newest][-_MAX_HISTORY:]
    lines = [Text(f"{message.clock} {message.text}", QUIET if message.good else BAD) for message in others]
    return [lines[len(lines) - count :] for count in range(len(lines) + 1)]


def footer(view: View, display: Display) -> Lines:
    """Return the newest answer, or the question that waits, above the keys."""
    lines: Lines = []
    newest = newest_answer(view)
    if view.question:
        lines += paragraph(view.question, display.width, f"{CARE} reverse")
    elif newest:
        style = "bold" if newest.good else BAD
        lines += paragraph(f"{newest.clock} {newest.text}", display.width, style)
    else:
        lines.append(Text(glyphs(display).line * display.width, QUIET))
    return [*lines, keys_line(view, display)]


def keys_line(view: View, display: Display) -> Text:
    """Return the keys in one line, those that stop first."""
    always = "s STOP  e E-STOP"
    if view.observer:
        return Text.assemble((always, "bold"), "  q quit  ? help", ("   other keys are off: observer", QUIET))
    others = "  h hold  r resume  u raise  a arm  t start  l lower  x reset  q quit  ? help"
    useful = _USEFUL.get(text(view.status, "state"), "")
    short = f"{useful and '  '}{useful}  q quit  ? help"
    fits = len(always) + len(others) <= display.width
    return Text.assemble((always, "bold"), others if fits else short)


def help_lines(view: View, display: Display) -> Lines:
    """Return what every key does."""
    lines = [Text.assemble(("Keys", "bold"), f"   you are {view.me}; the state is {state_name(view)}")]
    for key, verb in BINDINGS.items():
        for_observers = may("observer", verb.name)
        off = view.observer and not for_observers
        confirmed = f" (then {CONFIRM} within {CONFIRM_S:g} s)" if verb.confirm_key else ""
        note = " - off, you are an observer" if off else confirmed
        style = QUIET if off else "bold" if for_observers else ""
        lines.append(Text(f"  {key}  {verb.name:<8} {verb.help}{note}", style))
    lines += [
        Text("  q  quit     close this panel; it never stops anything. Ctrl-C does the same"),
        Text("  ?  help     back to the panel"),
        Text("  Ctrl-L redraws, Ctrl-Z suspends, pasted text is ignored"),
        Text(""),
    ]
    for note in (
        "Bars show each actuator within its stroke, retracted left; follow is the maximum following error "
        "since arming, margin (mrg) the margin to the maximum force, residual how well the lengths fit one "
        "pose. Where many stand side by side, * is near the end of the stroke and ! beyond it.",
        "In danger use the e-stop of the table: it needs no computer.",
    ):
        lines += paragraph(note, display.width)
    return lines
