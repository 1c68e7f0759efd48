"""The commands fk, ik, reproduce and bench: their documents, files, exit codes and refusals."""

from __future__ import annotations

import argparse
import json
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from mastd.bench import registry
from mastd.errors import FormatError, MastdError, UsageError
from mastd.formats.core.columns import read_columns
from mastd.reproduce.item import compare

TABLE = Path(__file__).parents[3] / "config" / "table.yaml"


def command(*words: str) -> int:
    parser = argparse.ArgumentParser()
    subparsers = parser.add_subparsers(required=True)
    for module in ("kinematics", "reproduce", "bench"):
        import_module(f"mastd.commands.{module}").add_parsers(subparsers)
    arguments = parser.parse_args(words)
    return int(arguments.run(arguments))


def document(capsys: pytest.CaptureFixture[str], *words: str) -> object:
    command(*words, "--json")
    return json.loads(capsys.readouterr().out)


def test_ik_takes_quantities_and_answers_lengths(capsys: pytest.CaptureFixture[str]) -> None:
    answer = document(capsys, "ik", "5mm", "0mm", "-3mm", "0.5deg", "0deg", "0deg")
    assert isinstance(answer, dict)
    assert list(answer) == ["lengths_m"]
    assert len(answer["lengths_m"]) == 7
    assert answer["lengths_m"][0] == pytest.approx(1.1900896617, abs=1e-9)
    assert document(capsys, "ik", "5mm", "0mm", "-3mm", "0.5deg") == answer
    assert document(capsys, "ik", "-5mm") != answer


def test_fk_inverts_ik(capsys: pytest.CaptureFixture[str]) -> None:
    answer = document(capsys, "ik", "5mm", "-2mm", "-3mm", "0.5deg", "-0.2deg", "3mrad")
    assert isinstance(answer, dict)
    lengths = [f"{length!r}m" for length in answer["lengths_m"]]
    for method in ("observer", "second-order", "newton"):
        found = document(capsys, "fk", *lengths, "--method", method)
        assert isinstance(found, dict)
        assert list(found) == ["pose", "converged", "updates", "residual_m"]
        assert found["converged"] is True
        assert found["residual_m"] < 1e-6
        expected = [5e-3, -2e-3, -3e-3, *np.radians([0.5, -0.2]), 3e-3]
        assert np.allclose(found["pose"], expected, rtol=0, atol=1e-6)


def test_fk_of_impossible_lengths_has_no_pose_and_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert command("fk", *["5m"] * 7, "--json") == 2
    found = json.loads(capsys.readouterr().out)
    assert found["pose"] is None
    assert found["converged"] is False
    assert command("fk", *["5m"] * 7) == 2
    assert "no pose" in capsys.readouterr().out


def test_pose_of_the_control_point(capsys: pytest.CaptureFixture[str]) -> None:
    at_point = document(capsys, "ik", "0mm", "0mm", "0mm", "1deg", "--point", "T")
    assert isinstance(at_point, dict)
    lengths = [f"{length!r}m" for length in at_point["lengths_m"]]
    found = document(capsys, "fk", *lengths, "--point", "T")
    assert isinstance(found, dict)
    assert np.allclose(found["pose"], [0, 0, 0, np.radians(1), 0, 0], rtol=0, atol=1e-6)
    centre = document(capsys, "fk", *lengths)
    assert isinstance(centre, dict)
    assert centre["pose"][1] == pytest.approx(0.5 * np.sin(np.radians(1)), abs=1e-6)


def test_rows_go_from_file_to_file_and_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    poses, lengths, again = (tmp_path / name for name in ("poses.csv", "lengths.csv", "again.csv"))
    poses.write_text(
        "yaw_rad,x_m,y_m,z_m,roll_rad,pitch_rad,note\n0.001,0.005,0,-0.003,0.01,0,a\n\n0,0,0,0.02,0,0,b\n"
    )
    assert command("ik", "--in", str(poses), "--out", str(lengths)) == 0
    assert command("fk", "--in", str(lengths), "--out", str(again)) == 0
    assert capsys.readouterr().out == ""
    columns = ("x_m", "y_m", "z_m", "roll_rad", "pitch_rad", "yaw_rad")
    assert np.allclose(read_columns(again, columns), read_columns(poses, columns), rtol=0, atol=1e-6)
    assert (read_columns(again, ("converged",)) == 1).all()
    assert command("ik", "--in", str(poses)) == 0
    assert capsys.readouterr().out == lengths.read_text()
    rows = document(capsys, "fk", "--in", str(lengths))
    assert isinstance(rows, list)
    assert len(rows) == 2


def test_a_row_without_a_pose_leaves_its_cells_empty(tmp_path: Path) -> None:
    lengths, poses = tmp_path / "lengths.csv", tmp_path / "poses.csv"
    names = ",".join(f"length_{actuator}_m" for actuator in range(1, 8))
    lengths.write_text(names + "\n" + ",".join(["1.2"] * 7) + "\n" + ",".join(["-1"] * 7) + "\n")
    assert command("fk", "--in", str(lengths), "--out", str(poses)) == 2
    assert poses.read_text().splitlines()[2].startswith(",,,,,,0,20,")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["ik", "5", "1mm"], "x: 5 has no unit"),
        (["ik", "5deg"], "'deg' is a unit of angle"),
        (["ik"], "0 quantities given, 6 quantities expected"),
        (["fk", "1.2m"], "1 quantities given, 7 quantities expected"),
        (["fk", *["1.2m"] * 6, "nan m"], "length_7: 'nan m' is not finite"),
        (["ik", "1mm", "--in", "x.csv"], "not both"),
        (["ik", "--in", "missing.csv"], "missing.csv: cannot be read"),
        (["ik", "1mm", "--table", "missing.yaml"], "no such table file"),
        (["ik", "1mm", "--out", "missing/x.csv"], "missing/x.csv: cannot be written"),
        (["reproduce", "9"], "9: no such document"),
        (["bench", "ik.ms"], "ik.ms: no such bench, did you mean ik.us"),
    ],
)
def test_bad_input_is_refused_with_exit_code_2(words: list[str], told: str) -> None:
    with pytest.raises(MastdError) as refused:
        command(*words)
    assert told in str(refused.value)
    assert refused.value.exit_code == 2


def test_all_bad_quantities_are_told_at_once() -> None:
    with pytest.raises(UsageError) as refused:
        command("ik", "1", "2mm", "x", "4mm")
    assert len(str(refused.value).splitlines()) == 3


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "rows.csv:1:1: the first line must name the columns a_m, b_m"),
        ("a_m\n1\n", "b_m is missing"),
        ("a_m,b_m\n", "no rows"),
        ("a_m,b_m\n1,2\n1\n", "rows.csv:3:2: b_m: '' is not a finite number"),
        ("a_m,b_m\nnan,1_0\n", "rows.csv:2:2: b_m: '1_0' is not a finite number"),
    ],
)
def test_bad_rows_are_refused_with_their_place(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(text)
    with pytest.raises(FormatError) as refused:
        read_columns(path, ("a_m", "b_m"))
    assert told in str(refused.value)


def test_reproduce_prints_chosen_items_as_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    items = document(capsys, "reproduce", "004.table4", "004.mobility")
    assert isinstance(items, list)
    assert len(items) == 8
    assert list(items[0]) == ["id", "document", "what", "paper", "ours", "unit", "within"]
    assert items[0]["id"] == "004.mobility"
    assert items[0]["document"] == "004"
    assert all(item["within"] for item in items)


def test_reproduce_names_the_nearest_item(monkeypatch: pytest.MonkeyPatch) -> None:
    known = compare("004.table4.links_5_mm", "", 35, 35, "mm")
    monkeypatch.setattr("mastd.reproduce.registry.DOCUMENTS", {"004": lambda _: [known]})
    with pytest.raises(UsageError, match=r"004\.tabel4: no such item, did you mean 004\.table4"):
        command("reproduce", "004.tabel4")


def test_reproduce_shows_a_joint_moved_in_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    moved = tmp_path / "moved.yaml"
    moved.write_text(
        TABLE.read_text().replace(
            "base_joint: [1400 mm, 800 mm, 0 mm]", "base_joint: [1450 mm, 800 mm, 0 mm]"
        )
    )
    assert command("reproduce", "004.table3", "--table", str(moved)) == 1
    printed = capsys.readouterr().out
    missed = [line.split()[0] for line in printed.splitlines() if "  NO  " in line]
    for method in ("observer", "newton"):
        assert any(name.startswith(f"004.table3.{method}.mean_um.") for name in missed)


def test_bench_prints_median_and_percentiles(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def measured() -> dict[str, registry.Figure]:
        return {
            "some.us": registry.figure(np.arange(1.0, 1002.0), "us"),
            "some.ratio": registry.ratio(2.5, 1001),
        }

    monkeypatch.setattr(registry, "_BENCHES", {"some.us": measured, "some.ratio": measured})
    monkeypatch.setattr(registry, "load", lambda: None)
    answer = document(capsys, "bench", "some")
    assert answer == {
        "some.us": {"median": 501.0, "p99": 991.0, "p999": 1000.0, "unit": "us", "runs": 1001},
        "some.ratio": {"median": 2.5, "unit": "1", "runs": 1001},
    }
    assert document(capsys, "bench", "some.ratio") == {
        "some.ratio": {"median": 2.5, "unit": "1", "runs": 1001}
    }
    assert command("bench") == 0
    assert "some.ratio" in capsys.readouterr().out
    assert command("bench", "--list") == 0
    assert capsys.readouterr().out.splitlines()[:2] == ["some.us", "some.ratio"]
