"""``mastd table show``: figures of the starter table by hand, and of a table that is not stable."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from mastd.cli import main
from mastd.settings.core.starter import find
from tests.support.lab import replaced

FORCE, SHARE, MASS = 196e3, 0.9, 35e3
AREA, VELOCITY = 95e-4, 0.6


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    """Return the document of ``mastd table show``."""
    main(["table", "show", *arguments, "--json"])
    document = json.loads(capsys.readouterr().out)
    assert isinstance(document, dict)
    return document


def test_axes_of_the_starter_table_are_those_of_its_actuators(capsys: pytest.CaptureFixture[str]) -> None:
    """One actuator along surge, two along sway, four along heave, all through the plane of C."""
    document = shown(capsys)
    axes = {axis["axis"]: axis for axis in document["axes"]}
    for axis, count, weight in (("surge", 1, 0.0), ("sway", 2, 0.0), ("heave", 4, 9.80665)):
        assert axes[axis]["velocity"]["value"] == pytest.approx(VELOCITY)
        assert axes[axis]["acceleration_bare"]["value"] == pytest.approx(
            count * SHARE * FORCE / MASS - weight, rel=0.02
        )
        assert axes[axis]["flow_m3_s"] == pytest.approx(count * AREA * VELOCITY, rel=0.01)
        assert axes[axis]["travel"] == pytest.approx([-0.05, 0.05], abs=1e-3)
    heaviest = 0.7 * 4 * SHARE * FORCE / 9.80665
    assert document["heaviest_kg"] == pytest.approx(heaviest, rel=0.01)
    assert len(document["internal_force_patterns"]) == 1
    heave = next(mode["hz"] for mode in document["oil_column"] if mode["axis"] == "heave")
    spring = 2.0 * 0.7e9 * AREA / 0.07
    assert heave == pytest.approx(math.sqrt(4.0 * spring / MASS) / (2.0 * math.pi), rel=0.01)


def test_an_unstable_table_is_shown_with_what_would_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = find("table", "table").read_text(encoding="utf-8")
    path = tmp_path / "table.yaml"
    path.write_text(replaced(text, "pressure_damping: 60 1/s", "pressure_damping: 300 1/s"), encoding="utf-8")
    assert main(["table", "show", str(path)]) == 1
    told = capsys.readouterr().out
    assert "7 actuators" in told
    assert "      5 lateral front, 6 lateral rear, 7 longitudinal\n" in told
    pattern = "twist of vertical rear right, rear left, front left and front right"
    assert f"\n  −1 +2 −3 +4  80 kN  {pattern}\n" in told
    assert "1 pattern of internal force" in told
    assert "stability: an oscillation grows" in told
    assert "would do, left out they are computed" in told


@pytest.mark.parametrize(
    ("removed", "axes"),
    [
        ("longitudinal left", None),  # the lateral ones still tell yaw
        ("longitudinal", "surge"),
        ("lateral|longitudinal", "surge, sway, yaw"),
        ("lateral rear|longitudinal left", "surge, sway, yaw"),  # two for three: a turn about one point
        ("vertical|lateral|longitudinal", "surge, sway, heave, roll, pitch, yaw"),
    ],
)
def test_axes_that_the_accelerometers_do_not_determine_are_told(
    removed: str, axes: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = find("table", "table").read_text(encoding="utf-8")
    text, count = re.subn(rf"^    - {{name: (?:{removed}).*\n", "", text, flags=re.MULTILINE)
    path = tmp_path / "table.yaml"
    path.write_text(
        text if count < 8 else replaced(text, "accelerometers: .*", "accelerometers: []"), encoding="utf-8"
    )
    told = shown(capsys, str(path))["warnings"]
    left = 8 - count
    line = (
        f"sensors.accelerometers: {left} accelerometers do not determine the acceleration of {axes}, which "
    )
    assert [warning.startswith(line) for warning in told] == [True] * (axes is not None)


def test_check_and_show_warn_of_what_the_accelerometers_do_not_determine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = find("table", "table").read_text(encoding="utf-8")
    path = tmp_path / "table.yaml"
    path.write_text(re.sub(r"^    - {name: longitudinal.*\n", "", text, flags=re.MULTILINE), encoding="utf-8")
    profile = tmp_path / "short.yaml"
    profile.write_text("name: short\nsegments: [{kind: hold, duration: 1 s}]\n", encoding="utf-8")
    for command in (["table", "show", str(path)], ["check", str(profile), "--table", str(path)]):
        assert main(command) == 0, "a warning, no refusal"
        warnings = [line for line in capsys.readouterr().out.splitlines() if line.startswith("warning: ")]
        assert [line.partition(" of ")[2].partition(",")[0] for line in warnings] == ["surge"]


def test_performance_and_workspace_are_drawn_with_the_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "curves.svg"
    assert main(["table", "show", "--plot", str(path)]) == 0
    assert f"picture: {path}\n" in capsys.readouterr().out
    drawn = path.read_text(encoding="utf-8")
    for label in ("surge, m/s²", "yaw, rad/s²", "full payload, 15.4 t", "valve", "stroke", "−35 … +35"):
        assert f"<!-- {label} -->" in drawn
    assert main(["table", "show", "--plot", str(tmp_path / "curves.gif")]) == 2
    assert "a picture must end in .svg, .png, .pdf" in capsys.readouterr().err
