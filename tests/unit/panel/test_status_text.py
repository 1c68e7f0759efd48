"""What `mastd ctl status` and `watch` print: what is not known, and what must not reach a terminal."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from mastd.panel.status_text import line, page, vehicle_text
from mastd.safety.states import State
from tests.support.wire.operators import StandInLoop
from tests.unit.wire.operators.test_sessions import Counter

MEASURED = (
    "pose",
    "reference",
    "lengths",
    "forces",
    "following_peak",
    "residual",
    "supply_pressure",
    "supply_pressures",
    "stage",
)


def snapshot(monkeypatch: pytest.MonkeyPatch, *unknown: str) -> dict[str, Any]:
    """Return the snapshot of a loop that knows nothing of ``unknown``."""
    show = StandInLoop.show

    def show_unknown(loop: StandInLoop, ended: bool = False) -> None:
        for name in unknown:
            loop.status.field(name)[:] = math.nan
        show(loop, ended)

    monkeypatch.setattr(StandInLoop, "show", show_unknown)
    counter = Counter()
    counter.poll(3)
    return counter.handler.status_view.snapshot(counter.now)


def test_what_is_not_known_is_nil_and_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    status = snapshot(monkeypatch, *MEASURED)
    assert status["pose"] == [None] * 6
    assert status["supply"] == {"pressure_pa": None, "stage": None, "each": []}
    lines = [text.split(maxsplit=1) for text in page(status).splitlines()]
    said = {words[0]: words[1] for words in lines}
    for name in ("pose", "command", "lengths", "forces"):
        assert said[name] == "not known"
    assert said["supply"] == "pressure not known, stage not known"
    assert "heave not known  pressure not known" in line(status)
    json.dumps(status, allow_nan=False)


def test_a_vehicle_on_the_table_is_told_with_what_its_seat_feels() -> None:
    vehicle = {"name": "van", "driven": False, "seat": {"rms": {"x": 0.1, "y": 0.2, "z": 0.314}}}
    assert vehicle_text(vehicle) == "van on the table; seat x 0.10, y 0.20, z 0.31 m/s2 weighted"


def test_a_vehicle_that_is_driven_is_told_with_its_speed_gear_and_a_driver_who_is_lost() -> None:
    driven = {"driven": True, "driver_lost": False, "speed": 10.0, "driver": {"gear": -2.0}}
    assert vehicle_text(driven) == " 36.0 km/h  lever R2"
    unknown = {"driven": True, "driver_lost": True, "speed": None, "driver": {"gear": None}}
    assert vehicle_text(unknown) == "not known  lever not known  DRIVER LOST"
    counter = Counter()
    assert "\n  vehicle       45.0 km/h  lever 2\n" in page(counter.handler.status_view.snapshot(counter.now))
    counter.loop.status.set_text("vehicle", "")
    counter.loop.status.publish()
    counter.handler.poll(counter.now)
    assert "  vehicle " not in page(counter.handler.status_view.snapshot(counter.now))


def test_of_a_row_only_what_is_not_known_is_called_so(monkeypatch: pytest.MonkeyPatch) -> None:
    status = snapshot(monkeypatch)
    status["lengths_m"] = [1.5, None, 1.25, *status["lengths_m"][3:]]
    assert "1500.00  not known  1250.00" in page(status)


def test_of_the_pose_the_axes_that_are_free_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    status = snapshot(monkeypatch)
    status["pose"] = status["reference"] = [0.001, 0.0, 0.0, 0.0, 0.0, 0.01]
    freedoms = ["surge", "yaw"]
    assert "  pose         x +1.000 mm  yaw +0.573 deg" in page(status, freedoms).splitlines()
    assert "  surge +1.00 mm  " in line(status, freedoms)
    assert "heave" not in line(status, freedoms)


def nothing_known(value: Any) -> Any:
    """Return ``value`` with nil for every number."""
    if isinstance(value, dict):
        return {key: nothing_known(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [nothing_known(entry) for entry in value]
    return None if type(value) in (int, float) else value


def test_a_status_of_which_no_number_is_known_can_be_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    status = nothing_known(snapshot(monkeypatch))
    status["lease"] = {"holder": "anna", "left_s": None}
    for text in (page(status), line(status)):
        assert "None" not in text
        assert "nan" not in text
    assert "anna, for an unknown time" in page(status)


def test_nothing_reaches_the_terminal_that_commands_it(monkeypatch: pytest.MonkeyPatch) -> None:
    status = snapshot(monkeypatch)
    evil = "\x1b[2Janna\nREADY\r\x07\u202e"
    status["lease"] = {"holder": evil, "left_s": 5.0}
    status["profile"]["name"] = status["loading"] = status["name"] = evil
    status["cause"] = dict.fromkeys(("name", "text", "hint", "clear", "action"), evil)
    status["active"] = [evil, State.READY.name]
    for text in (*page(status).split("\n"), line(status)):
        assert text.isprintable()
    assert r"\x1b[2Janna\nREADY" in line(status)
    assert len(page(status).split("\n")) == 18
    status["advice"] = evil
    assert line(status).isprintable()


def test_the_figures_of_24_actuators_stand_in_columns_behind_their_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    status = snapshot(monkeypatch)
    status["lengths_m"] = [8.0 + 1e-3 * actuator for actuator in range(1, 24)] + [None]
    status["forces_n"] = [-4.5e6] * 24
    lines = page(status).splitlines()
    assert "  lengths   1–6   8001.00   8002.00   8003.00   8004.00   8005.00   8006.00 mm" in lines
    assert "          19–24   8019.00   8020.00   8021.00   8022.00   8023.00 not known mm" in lines
    assert max(map(len, lines)) < 120


def test_several_supplies_are_told_each_and_how_far_they_are_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    status = snapshot(monkeypatch)
    each = [{"pressure_pa": 150e5, "charged": 0.4}, {"pressure_pa": 280e5, "charged": 1.0}]
    status["supply"] = {"pressure_pa": 150e5, "stage": 1, "each": each}
    status["state"] = "HIGH"
    (told,) = (line for line in page(status).splitlines() if line.strip().startswith("supply"))
    assert told.split(maxsplit=1)[1] == (
        "1: 150 bar, 2: 280 bar, low; accumulators 40% charged, the table waits for them"
    )
    status["state"] = "READY"
    (told,) = (line for line in page(status).splitlines() if line.strip().startswith("supply"))
    assert told.endswith("280 bar, low")
