"""Pictures of many actuators: each is named in a legend, within its own limit."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from mastd.arrays import FloatArray
from mastd.report.drawing.drawing import TextItem, draw
from mastd.report.drawing.picture import Panel
from mastd.report.pictures.motion import force_panels, length_panels
from mastd.report.reading import View

KINDS = ["horizontal"] * 10 + ["vertical"] * 14
STROKES = {"horizontal": 1.0, "vertical": 0.5}


def view(kinds: list[str]) -> View:
    """Return a record of a second with length and force of each actuator; actuator k is k mm out."""
    times = np.linspace(0.0, 1.0, 101)

    def column(name: str) -> FloatArray:
        what, number = name.split(".")
        return np.full(101, 8.0 + 1e-3 * int(number) if what == "length" else 1e3 * int(number))

    metadata = {
        "table": {
            "links": [{"actuator": kind, "stroke": STROKES[kind], "neutral_length": 8.0} for kind in kinds],
            "actuators": {"horizontal": {"maximum_force": 4e6}, "vertical": {"maximum_force": 5e6}},
        }
    }

    def numbered(what: str) -> list[str]:
        return [f"{what}.{number}" for number in range(1, len(kinds) + 1)]

    run = SimpleNamespace(metadata=metadata, period=0.01, numbered=numbered)
    found = SimpleNamespace(
        run=run, times=times, span=(0.0, 1.0), column=column, happenings=(), clock="s", of_fault=False
    )
    return cast(View, found)


def legends(panels: tuple[Panel, ...]) -> list[list[str]]:
    """Return for each wide panel the names of curves that its head has room for."""
    heads = []
    for panel in panels[::2]:
        names = {curve.name for curve in panel.curves}
        items = [item for item in draw(panel).items if isinstance(item, TextItem) and item.y == 12.0]
        heads.append(sorted((item.text for item in items if item.text in names), key=int))
    return heads


def test_all_of_24_actuators_are_named_in_groups_of_one_stroke() -> None:
    panels = length_panels(view(KINDS))
    assert [panel.title for panel in panels[::2]] == [
        f"length about neutral, mm: actuators {which}" for which in ("1–5", "6–10", "11–17", "18–24")
    ]
    assert [name for names in legends(panels) for name in names] == [str(k) for k in range(1, 25)]
    assert [panel.bounds[1].value for panel in panels] == [1000.0] * 4 + [500.0] * 4
    assert all(len({curve.tone for curve in panel.curves}) == len(panel.curves) for panel in panels)
    assert [bar.high for panel in panels[1::2] for bar in panel.bars] == pytest.approx(range(1, 25))


def test_forces_stand_within_the_limit_of_their_type_wherever_its_actuators_are() -> None:
    mixed = ["vertical", "horizontal"] * 5
    panels = force_panels(view(mixed))
    assert [panel.title for panel in panels[::2]] == [
        "force, kN: actuators 1, 3, 5, 7, 9",
        "force, kN: actuators 2, 4, 6, 8, 10",
    ]
    assert [panel.bounds[1].value for panel in panels[::2]] == [5000.0, 4000.0]


@pytest.mark.parametrize("count", [1, 4, 8])
def test_few_actuators_share_one_picture(count: int) -> None:
    wide, narrow = force_panels(view(["vertical"] * count))
    assert wide.title == "force, kN"
    assert len(wide.curves) == len(narrow.bars) == count
    assert len(legends((wide,))[0]) == count
