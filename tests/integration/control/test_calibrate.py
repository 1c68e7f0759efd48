"""`mastd calibrate offsets` as a technician uses it: play, look, write, play again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mastd.cli import main
from mastd.commands.calibrate.offsets import write
from mastd.control.table.gains import with_drive_gains
from mastd.errors import UsageError
from mastd.settings.core.loader import load
from mastd.settings.table.table import TableSettings
from tests.support.lab import ROOT, Lab, replaced
from tests.support.unlike_actuators import named_types

pytestmark = pytest.mark.real_time

SLOW = """
name: slow
segments:
  - {kind: hold, duration: 1 s}
  - {kind: sine, frequency: 1 Hz, fade: 0.5 s, axes: {heave: {amplitude: 4 mm}}, duration: 4 s}
"""
OFF = """
name: one transducer off
deviation: {spread: 10 %, seed: 3}
actuators:
  - {link: vertical front left, transducer_offset: 0.2 mm}
"""
PATTERN = 0.5 * np.array([-1.0, 1.0, -1.0, 1.0, 0.0, 0.0, 0.0])


def calibrate(
    lab: Lab, capsys: pytest.CaptureFixture[str], *options: object, config: Path | None = None
) -> tuple[int, Any, str]:
    """Run the command; return exit code, document and what stands on standard error."""
    arguments = ["calibrate", "offsets", "--table", lab.table, "--config", config or lab.config, "--json"]
    arguments += ["--out", lab.directory / "runs", *options]
    code = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return code, json.loads(out) if out else None, err


def test_an_offset_is_found_written_and_gone(
    lab: Lab, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(lab.runtime))
    play = ["--profile", lab.profile(SLOW), "--truth", lab.profile(OFF, "off.yaml")]
    play += ["--link", "direct", "--lockstep"]
    text = lab.table.read_text(encoding="utf-8")
    code, found, _ = calibrate(lab, capsys, *play)
    assert code == 0
    assert found["balanced"]
    assert found["told"]
    (pattern,) = found["patterns"]
    np.testing.assert_allclose(pattern["links"], PATTERN, atol=1e-3)
    assert pattern["by_lengths_m"] == pytest.approx(-0.1e-3, abs=2e-6), "half of it along the pattern"
    assert pattern["by_balance_m"] == pytest.approx(-0.1e-3, abs=40e-6), "their spread adds to it"
    assert lab.table.read_text(encoding="utf-8") == text, "it was not told to write"

    code, written, _ = calibrate(lab, capsys, "--from", found["run"], "--write")
    assert code == 0
    assert written["patterns"] == found["patterns"]
    lines = zip(text.splitlines(), lab.table.read_text(encoding="utf-8").splitlines(), strict=True)
    different = [(old, new) for old, new in lines if old != new]
    assert len(different) == 4, "the links of the pattern, all else to the character"
    assert all(old.split("offset")[0] == new.split("offset")[0] for old, new in different)
    assert lab.table.with_name("table.yaml.bak").read_text(encoding="utf-8") == text

    code, _, err = calibrate(lab, capsys, "--from", found["run"], "--write")
    assert code == 2
    assert "has changed since that run" in err, "what was written is not written twice"

    settings = lab.config.read_text(encoding="utf-8")
    free = lab.directory / "free.yaml"
    free.write_text(replaced(settings, r"balance: \{gain: 10 1/s", "balance: {gain: 0 1/s"), encoding="utf-8")
    _, after, _ = calibrate(lab, capsys, *play, config=free)
    assert not after["balanced"]
    assert abs(after["patterns"][0]["internal_force_n"]) < 500.0, "without the balance's help"


def test_the_starter_table_is_nobodys_to_write_and_what_cannot_be_read_is_one_line(
    lab: Lab, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UsageError, match="mastd init"):
        write(ROOT / "config" / "table.yaml", load(lab.table, TableSettings), [])
    code, _, err = calibrate(lab, capsys, "--from", lab.directory / "nothing")
    assert code == 2
    assert err.count("\n") == 1


def test_a_table_on_six_actuators_is_refused_before_it_moves(
    lab: Lab, capsys: pytest.CaptureFixture[str]
) -> None:
    text = lab.table.read_text(encoding="utf-8")
    first, last = text.index("  - name: vertical rear right"), text.index("  - name: vertical rear left")
    lab.table.write_text(text[:first] + text[last:], encoding="utf-8")
    code, found, told = calibrate(
        lab, capsys, "--profile", lab.profile(SLOW), "--link", "direct", "--lockstep"
    )
    assert code == 2
    assert found is None
    assert "as many freedoms as actuators, 6, so that no internal force shows them; nothing was moved" in told
    assert not list(lab.directory.glob("runs/*/*.mcap"))


def test_offsets_are_written_into_a_table_of_several_types(tmp_path: Path) -> None:
    path = tmp_path / "table.yaml"
    path.write_text(named_types(1.5), encoding="utf-8")
    stated = load(path, TableSettings)
    recorded = TableSettings.model_validate_json(with_drive_gains(stated).model_dump_json())
    write(path, recorded, [1e-4, *(link.transducer.offset for link in stated.links[1:])])
    assert load(path, TableSettings).links[0].transducer.offset == 1e-4


def test_without_heave_the_slow_motion_has_to_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    table = ROOT / "config" / "tables" / "biaxial" / "table.yaml"
    assert main(["calibrate", "offsets", "--sim", "--table", str(table)]) == 2
    told = capsys.readouterr().err
    assert "guides hold heave, so that slow_heave cannot be run" in told
    assert "a slow motion in surge, sway, yaw by --profile" in told
