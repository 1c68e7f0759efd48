"""The actuators of the table: a bar within the stroke for each, and what they carry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.text import Text

from mastd.panel.lines import BAD, CARE, QUIET, filled, joined, track
from mastd.panel.reading import ActuatorReading, actuators, text
from mastd.panel.view import Display, View, glyphs

NEAR_END: Final = 0.9
"""Fraction of the stroke beyond which an actuator is called near its end."""
BEYOND_END: Final = 1.02
"""Fraction of the stroke beyond which no stop explains it; a table that lies on its stops presses them."""
LYING: Final = frozenset({"OFF", "LOW", "HIGH"})
"""States in which the table lies on its lower stops."""
LITTLE_FORCE: Final = 0.1
"""Fraction of the maximum force below which a margin is called small."""
_MIN_BAR: Final = 9
_WIDE: Final = 110
_MAX_NAME_LENGTH: Final = 24
_NUMBERS: Final = " offset mm follow mm   a/b bar  force kN margin %"
_LENGTH: Final = "  length mm"
_NOTE: Final = len(" NEAR END")
MANY: Final = 8
"""Most actuators that have a row each at every height."""
_CELL: Final = f"{'offset mm':>11} {'force kN':>8}{'mrg %':>6}"
"""Heading above each column where actuators stand side by side; the last figure is the margin."""
_MARKS: Final = {" NEAR END": "*", " BEYOND!": "!"}


def actuator_rows(view: View, display: Display) -> list[list[Text]]:
    """Return a row for each actuator behind a heading; where there is room with its name and whole length.

    More than ``MANY`` stand side by side, with fewer figures, where there is no room for a row each.
    """
    found = actuators(view.status, view.description)
    if not found:
        return [[joined([("actuators not known", QUIET)])]]
    lies = text(view.status, "state") in LYING
    rows = _whole_rows(found, lies, display)
    return [_side_by_side(found, lies, display), rows] if len(found) > MANY else [rows]


def _side_by_side(found: Sequence[ActuatorReading], lies: bool, display: Display) -> list[Text]:
    """Return the actuators in columns, each from the upper to the lower one; a mark stands for the note."""
    columns = max((display.width + 1) // (len(_CELL) + 1), 1)
    height = -(-len(found) // columns)
    columns = -(-len(found) // height)
    lines = [Text(" ".join([_CELL] * columns), QUIET)]
    for line in range(height):
        cells = [_cell(place + 1, found[place], lies) for place in range(line, len(found), height)]
        lines.append(Text(" ").join(cells))
    return lines


def _cell(number: int, actuator: ActuatorReading, lies: bool) -> Text:
    style, note = _state(actuator.ratio, lies)
    return joined(
        [
            (f"{number:2d}", "bold"),
            (_figure(actuator.offset, 1e3, "+z9.2f"), style),
            (_MARKS.get(note, " "), style),
            _figure(actuator.force, 1e-3, "+z8.1f"),
            (_figure(actuator.margin, 100.0, "z6.0f"), _margin_style(actuator.margin)),
        ]
    )


def _whole_rows(found: Sequence[ActuatorReading], lies: bool, display: Display) -> list[Text]:
    wide = display.width >= _WIDE
    name_width = min(max(len(actuator.name) for actuator in found), _MAX_NAME_LENGTH) + 1 if wide else 0
    numbers = f"{_LENGTH if wide else ''}{_NUMBERS}"
    digits = len(str(len(found)))
    bar_width = max(display.width - 1 - digits - name_width - len(numbers) - _NOTE, _MIN_BAR)
    within = f"{'in':<{bar_width // 2 - 3}}{'neutral':<{bar_width - bar_width // 2}}out"
    heading = f"{'':{digits + 1}}{'':{name_width}}{within:<{bar_width}}{numbers}"
    rows = [
        _row(f"{number:{digits}d} ", actuator, lies, (name_width, bar_width), display)
        for number, actuator in enumerate(found, start=1)
    ]
    return [Text(heading, QUIET), *rows]


def _row(
    number: str, actuator: ActuatorReading, lies: bool, widths: tuple[int, int], display: Display
) -> Text:
    name_width, bar_width = widths
    style, note = _state(actuator.ratio, lies)
    return joined(
        [
            (number, "bold"),
            filled(actuator.name, name_width),
            (track(_within(actuator.ratio), bar_width, glyphs(display)), style),
            _figure(actuator.length, 1e3, "z11.2f") if name_width else "",
            _figure(actuator.offset, 1e3, "+z10.2f"),
            _figure(actuator.following, 1e3, "z10.2f"),
            _pressures(actuator),
            _figure(actuator.force, 1e-3, "+z10.1f"),
            (_figure(actuator.margin, 100.0, "z9.0f"), _margin_style(actuator.margin)),
            (note, style),
        ]
    )


def _margin_style(margin: float | None) -> str:
    if margin is None or margin >= LITTLE_FORCE:
        return ""
    return CARE if margin >= 0.0 else BAD


def _within(ratio: float | None) -> float | None:
    """Return a share that presses a stop as at the end."""
    return ratio if ratio is None or not abs(ratio) <= BEYOND_END else min(max(ratio, -1.0), 1.0)


def _state(ratio: float | None, lies: bool) -> tuple[str, str]:
    """Return style and note of a bar; a table that lies on its stops is where it belongs."""
    if ratio is None:
        return QUIET, ""
    if not abs(ratio) <= BEYOND_END:
        return BAD, " BEYOND!"
    if abs(ratio) <= NEAR_END:
        return "", ""
    return (QUIET, " on stop") if lies else (CARE, " NEAR END")


def _pressures(actuator: ActuatorReading) -> str:
    if actuator.pressures == (None, None):
        return f"{'?':>10}"
    a, b = (_figure(pressure, 1e-5, "z.0f") for pressure in actuator.pressures)
    return f"{f'{a}/{b}':>10}"


def _figure(found: float | None, factor: float, form: str) -> str:
    if found is not None:
        return format(found * factor, form)
    width = form.strip("+z").partition(".")[0]
    return f"{'?':>{width}}" if width else "?"
