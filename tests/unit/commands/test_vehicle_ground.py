"""What ``--road`` names."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from mastd.commands.vehicle.ground import add_ground_options, ground_of
from mastd.errors import FormatError, UsageError
from mastd.roads.ground import Ground, GroundKind, outside
from mastd.vehicle.model.definition import Model
from mastd.vehicle.model.library import find
from tests.support.formats.opencrg_texts import block, crg


@pytest.fixture(scope="module")
def sedan() -> Model:
    return find("benchmark_sedan")


def ground(model: Model, *options: str) -> Ground:
    parser = argparse.ArgumentParser()
    add_ground_options(parser)
    return ground_of(parser.parse_args(options), model)


def test_flat_by_default(sedan: Model) -> None:
    assert ground(sedan) == ground(sedan, "--road", "flat") == Ground.flat()


def test_a_class_is_a_random_road_that_begins_before_the_car(sedan: Model) -> None:
    first, again, other = (ground(sedan, "--road", text) for text in ("class:C:7", "class:C:7", "class:C"))
    assert first == again
    assert first != other
    assert first.kind is GroundKind.TRACKS
    for wheel in sedan.wheels:
        assert first.height(*wheel.centre[:2]) == 0.0
        assert outside(first.parameters, *wheel.centre[:2]) == 0.0
    front = max(wheel.centre[0] for wheel in sedan.wheels)
    assert first.height(front + 50.0, 0.8) != 0.0


def test_a_measured_road_is_put_before_the_car(sedan: Model, tmp_path: Path) -> None:
    path = tmp_path / "road.csv"
    path.write_text("x_m,z_m\n" + "".join(f"{100 + k},{5.0 + 0.01 * k}\n" for k in range(31)))
    road = ground(sedan, "--road", str(path))
    front = max(float(wheel.centre[0]) for wheel in sedan.wheels)
    assert all(road.height(*wheel.centre[:2]) == 0.0 for wheel in sedan.wheels)
    assert road.height(front + 1.0 + 20.0, 0.5) == pytest.approx(0.2, abs=1e-3)
    assert outside(road.parameters, front + 1.0 + 32.0, 0.0) == pytest.approx(2.0)


def test_an_opencrg_road_is_put_before_the_car(sedan: Model, shared: Path) -> None:
    path = shared / "data" / "crg" / "chrono_halfround_4in.crg"
    road, stored = ground(sedan, "--road", str(path)), Ground.crg(path).ground
    front = max(float(wheel.centre[0]) for wheel in sedan.wheels)
    for x in (0.0, 49.9, 50.0, 50.05, 99.0):
        assert road.height(front + 1.0 + x, 0.8) == pytest.approx(stored.height(x, 0.8), abs=1e-9)
    assert all(outside(road.parameters, *wheel.centre[:2]) == 0.0 for wheel in sedan.wheels)


def test_what_is_not_applied_of_an_opencrg_road_is_told(
    sedan: Model, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = block("ROAD_CRG_OPTS", "BORDER_MODE_U = 3", "BORDER_MODE_V = 2", "REFLINE_CONTINUATION = 1")
    path = crg(tmp_path / "road.crg", more=options)
    ground(sedan, "--road", str(path))
    shown = capsys.readouterr()
    assert not shown.out
    assert [line.split(" (")[0] for line in shown.err.splitlines()] == [
        f"{path}:12: BORDER_MODE_U = 3",
        f"{path}:14: REFLINE_CONTINUATION = 1",
    ]


@pytest.mark.parametrize("text", ["", "class:I", "class:c", "class:A:-1", "class:A:x", "road.txt", "bumpy"])
def test_what_names_no_ground_is_refused(sedan: Model, text: str) -> None:
    with pytest.raises(
        UsageError, match=f"--road: '{text}' is not a road, expected flat, class:A to class:H"
    ):
        ground(sedan, "--road", text)


@pytest.mark.parametrize("name", ["none.crg", "none.csv"])
def test_a_file_that_is_not_there_is_told(sedan: Model, tmp_path: Path, name: str) -> None:
    with pytest.raises(FormatError, match="No such file"):
        ground(sedan, "--road", str(tmp_path / name))
