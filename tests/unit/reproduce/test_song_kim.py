"""Song and Kim: its items where they are not the kernels' own results."""

from __future__ import annotations

import argparse
import json

import numpy as np
import pytest

from mastd.commands import reproduce
from mastd.counting import number
from mastd.counting.number import counting_array
from mastd.formulations.subsystem.algebra import MIN_PIVOT
from mastd.reproduce.song_kim.car import Car
from mastd.reproduce.song_kim.operations import full_elimination
from mastd.reproduce.song_kim.tables import AXLES, OFF_LINE, axle_items
from mastd.vehicle.blocks.linear_algebra import solve_augmented
from mastd.vehicle.model.library import find


@pytest.mark.parametrize(("size", "sides"), [(1, 1), (5, 3), (18, 2)])
def test_the_formula_of_a_full_elimination_counts_the_kernel_on_a_full_matrix(size: int, sides: int) -> None:
    block = counting_array(np.random.default_rng(2).standard_normal((size, size + sides)))
    before = list(number.tally)
    assert solve_augmented.py_func(block, size, size + sides, MIN_PIVOT)  # type: ignore[attr-defined]
    done = [now - then for now, then in zip(number.tally, before, strict=True)]
    comparisons = size  # each pivot is compared with a share of the largest
    expected = full_elimination(size, sides)
    multiplied = done[number.KIND.multiplications] + done[number.KIND.divisions] - comparisons
    assert (multiplied, done[number.KIND.additions]) == (expected.multiplications, expected.additions)


def test_times_off_a_line_over_axles_are_not_within() -> None:
    def within(times: list[float]) -> list[bool]:
        return [item.within for item in axle_items("joint", "joint coordinates", times)]

    straight = [2.0 + 0.8 * count for count in AXLES]
    assert within(straight) == [True, True]
    assert within([count**2.0 for count in AXLES]) == [True, False]
    slope, distance = axle_items("joint", "joint coordinates", straight)
    assert slope.ours == pytest.approx(0.8)
    assert distance.ours == pytest.approx(0.0, abs=1e-9)
    assert OFF_LINE < 1.0


def test_all_ways_agree_at_a_state_that_moves() -> None:
    car = Car(find("sedan"))
    car.move(3)
    expected = car.accelerations("joint")
    assert np.all(np.isfinite(expected))
    for way in ("cartesian", "mixed", "lagrange"):
        difference = np.max(np.abs(car.accelerations(way) - expected))
        assert difference <= 1e-9 * np.max(np.abs(expected))
    car.move(4)
    assert not np.allclose(car.accelerations("joint"), expected)


@pytest.mark.evidence
@pytest.mark.real_time
def test_song_and_kim_is_reproduced(capsys: pytest.CaptureFixture[str]) -> None:
    """Everything but times, which are the bench's."""
    parser = argparse.ArgumentParser()
    reproduce.add_parsers(parser.add_subparsers(required=True))
    arguments = parser.parse_args(["reproduce", "002", "--json"])
    arguments.run(arguments)
    found = json.loads(capsys.readouterr().out)
    assert {item["id"] for item in found} >= {
        "002.operations.cartesian.total",
        "002.operations.joint.total",
        "002.accelerations.quarter_car.cartesian",
        "002.time.evaluation.ratio",
        "002.axles.joint.off_line",
    }
    measured = ("002.time", "002.axles")
    assert not [item for item in found if not item["within"] and not item["id"].startswith(measured)]
