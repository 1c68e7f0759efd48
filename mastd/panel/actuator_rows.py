"""The actuators of the table: a bar within the stroke for each, and what they carry."""

from __future__ import annotations

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


def actuator_rows(view: View, display: Display) -> list[list[Text]]:
    """Return a row for each actuator behind a heading; where there is room with its name and whole length."""
    found = actuators(view.status, view.description)
    if not found:
        return [[joined([("actuators not known", QUIET)])]]
    wide = display.width >= _WIDE
    name_width = min(max(len(actuator.name) for actuator in found), _MAX_NAME_LENGTH) + 1 if wide else 0
    numbers = f"{_LENGTH if wide else ''}{_NUMBERS}"
    bar_width = max(display.width - 2 - name_width - len(numbers) - _NOTE, _MIN_BAR)
    within = f"{'in':<{bar_width // 2 - 3}}{'neutral':<{bar_width - bar_width // 2}}out"
    heading = f"  {'':{name_width}}{within:<{bar_width}}{numbers}"
    lies = text(view.status, "state") in LYING
    rows = [
        _row(number, actuator, lies, (name_width, bar_width), display)
        for number, actuator in enumerate(found, start=1)
    ]
    return [[Text(heading, QUIET), *rows]]


def _row(
    number: int, actuator: ActuatorReading, lies: bool, widths: tuple[int, int], display: Display
) -> Text:
    name_width, bar_width = widths
    style, note = _state(actuator.ratio, lies)
    little = actuator.margin is not None and not actuator.margin >= LITTLE_FORCE
    margin_style = (
        "" if not little else CARE if actuator.margin is not None and actuator.margin >= 0.0 else BAD
    )
    return joined(
        [
            (f"{number} ", "bold"),
            filled(actuator.name, name_width),
            (track(_within(actuator.ratio), bar_width, glyphs(display)), style),
            _figure(actuator.length, 1e3, "z11.2f") if name_width else "",
            _figure(actuator.offset, 1e3, "+z10.2f"),
            _figure(actuator.following, 1e3, "z10.2f"),
            _pressures(actuator),
            _figure(actuator.force, 1e-3, "+z10.1f"),
            (_figure(actuator.margin, 100.0, "z9.0f"), margin_style),
            (note, style),
        ]
    )


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
