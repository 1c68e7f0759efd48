"""`mastd inspect`: what a user sees of a file, whatever is in it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mastd.cli import main
from mastd.formats import catalogue
from mastd.formats.core.measurement import Channel, Measurement, Series
from mastd.formats.strong_motion.peer import FORMAT as PEER
from tests.support.lab import ROOT

STARTER = ROOT / "config" / "profiles" / "artificial_motion.AT2"
MATRIX = Measurement(
    "csv",
    (
        Series(
            tuple(
                Channel(f"acceleration {k}", "g", np.sin(np.arange(200) * 0.01 * k) * k) for k in range(1, 31)
            ),
            0.01,
        ),
    ),
)


def write(format_name: str, path: Path, measurement: Measurement) -> Path:
    writer = catalogue.named(format_name).write
    assert writer is not None
    writer(path, measurement)
    return path


def inspected(capsys: pytest.CaptureFixture[str], *arguments: object) -> Any:
    code = main(["inspect", "--json", *map(str, arguments)])
    captured = capsys.readouterr()
    assert code == 0, captured.err
    return json.loads(captured.out)


def page(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert main(["inspect", *map(str, arguments)]) == 0
    return capsys.readouterr().out


def test_a_document_has_the_figures_of_the_file(capsys: pytest.CaptureFixture[str]) -> None:
    document = inspected(capsys, STARTER)
    lines = STARTER.read_text(encoding="ascii").splitlines()[4:]
    values = np.array([float(word) for line in lines for word in line.split()])
    series, channel = document["series"][0], document["series"][0]["channels"][0]
    assert document["format"]["name"] == "peer"
    assert document["size_bytes"] == STARTER.stat().st_size
    assert (series["count"], series["step"], series["start"], series["duration"]) == (2400, 0.01, 0.0, 24.0)
    assert series["end"] == pytest.approx(23.99)
    assert channel["unit"].lower() == "g"
    assert channel["si"] == {"unit": "m/s2", "factor": 9.80665, "offset": 0.0, "quantity": "acceleration"}
    assert channel["max"] == values.max()
    assert channel["max_at"] == pytest.approx(0.01 * values.argmax())
    assert channel["min"] == values.min()
    assert channel["mean"] == pytest.approx(values.mean(), rel=1e-12)
    assert channel["rms"] == pytest.approx(math.sqrt((values**2).mean()), rel=1e-12)
    assert channel["standard_deviation"] == pytest.approx(values.std(), rel=1e-12)
    assert channel["crest_factor"] == pytest.approx(abs(values).max() / channel["rms"], rel=1e-12)
    assert channel["missing"] == 0


def test_a_page_fits_a_terminal_and_says_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    text = page(capsys, STARTER)
    assert max(map(len, text.splitlines())) <= 100
    for part in (
        "2400 values every 0.01 s (100 Hz), 24 s",
        "9.80665 m/s2",
        "ARTIFICIAL STRONG MOTION",
        "PEER",
    ):
        assert part in text


def test_many_channels_are_cut_and_shown_with_all(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = write("csv", tmp_path / "many.csv", MATRIX)
    short, long = page(capsys, path), page(capsys, path, "--all")
    assert "acceleration 24 " in short
    assert "acceleration 25 " not in short
    assert "6 more of 30 channels" in short
    assert "acceleration 30 " in long
    assert max(map(len, short.splitlines())) <= 100
    document = inspected(capsys, path, "--channels", "30,acceleration 2")
    assert [channel["number"] for channel in document["series"][0]["channels"]] == [30, 2]


def test_what_a_file_does_not_state_is_asked_for_and_taken(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "column.txt"
    path.write_text("".join(f"{math.sin(k / 9):.6f}\n" for k in range(300)), encoding="ascii")
    text = page(capsys, path)
    assert "step not stated: give it with --step" in text
    assert "not stated: give it with --unit" in text
    document = inspected(capsys, path, "--step", "5ms", "--unit", "cm/s2")
    assert document["series"][0]["step"] == 0.005
    assert document["series"][0]["channels"][0]["si"]["factor"] == 0.01
    assert main(["inspect", str(STARTER), "--step", "5ms"]) == 2
    assert "states a step of 0.01 s" in capsys.readouterr().err
    assert main(["inspect", str(path), "--step", "0"]) == 2
    assert "--step" in capsys.readouterr().err


def test_files_that_cannot_be_read_do_not_hide_the_others(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    broken = tmp_path / "broken.AT2"
    broken.write_bytes(STARTER.read_bytes()[:2000])
    absent, junk = tmp_path / "absent.rsp", tmp_path / "junk.bin"
    junk.write_bytes(bytes(range(256)))
    paths = [str(path) for path in (broken, STARTER, absent, junk, tmp_path)]
    assert main(["inspect", *paths]) == 2
    captured = capsys.readouterr()
    assert "2400 values" in captured.out
    assert len(captured.err.splitlines()) == 4
    assert all(any(line.startswith(path) for path in paths) for line in captured.err.splitlines())
    assert main(["inspect", "--json", *paths]) == 2
    documents = json.loads(capsys.readouterr().out)
    assert ["problems" in document for document in documents] == [True, False, True, True, True]


def test_control_characters_of_a_file_do_not_reach_the_terminal(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    channel = Channel("accel\x9b31m\u202e\u2028", "g", np.arange(20.0))
    path = write("csv", tmp_path / "odd.csv", Measurement("csv", (Series((channel,), 0.01),)))
    text = page(capsys, path)
    assert "accel" in text
    assert all(letter.isprintable() for line in text.split("\n") for letter in line)


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_a_picture_has_the_channels_and_their_units(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, suffix: str
) -> None:
    channels = (
        Channel("sine $x_{", "°", np.sin(np.arange(5000.0))),
        Channel("holes", "", np.where(np.arange(5000) % 100 == 7, np.nan, 1.0)),
        Channel("constant", "kN", np.ones(5000)),
    )
    drawn = channels if suffix == ".svg" else channels[:1]
    path = write("csv", tmp_path / "some.csv", Measurement("csv", (Series(drawn, 1 / 256),)))
    picture = tmp_path / f"picture{suffix}"
    assert str(picture) in page(capsys, path, "--plot", picture)
    assert picture.stat().st_size > 5000
    if suffix == ".svg":
        from matplotlib import rc_context

        with rc_context({"svg.fonttype": "none"}):
            page(capsys, path, "--plot", picture)
        text = picture.read_text(encoding="utf-8")
        for part in ("sine", "holes", "constant", "kN", "time, s", "frequency, Hz", "unit not stated"):
            assert part in text


def test_a_picture_shows_the_first_channels_and_says_so(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = write("csv", tmp_path / "many.csv", MATRIX)
    assert "12 of 30 channels" in page(capsys, path, "--plot", tmp_path / "many.png")
    assert main(["inspect", str(path), "--plot", str(tmp_path / "many.bmp")]) == 2
    assert main(["inspect", str(path), "--plot", str(tmp_path / "nowhere" / "many.png")]) == 2
    assert main(["inspect", str(path), str(path), "--plot", str(tmp_path / "two.png")]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 3


def test_the_starter_record_is_told_by_its_content(tmp_path: Path) -> None:
    renamed = tmp_path / "a record, renamed.dat"
    renamed.write_bytes(STARTER.read_bytes())
    assert catalogue.recognise(renamed) == PEER
