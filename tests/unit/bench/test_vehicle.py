"""The vehicle's bench: turns and ratios, peers that are or are not there, cars with more axles."""

from __future__ import annotations

import re
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from mastd.arrays import FloatArray
from mastd.bench import registry
from mastd.bench.vehicle.axles import SPACING, with_axles
from mastd.bench.vehicle.peers import Peer, PeerMissingError
from mastd.bench.vehicle.timing import (
    interleaved,
    own_work,
    ratio_of_turns,
    straight_line,
    tail_over_median,
)
from mastd.errors import UsageError
from mastd.vehicle.elements.spring_damper.element import SpringDamper
from mastd.vehicle.joints.primitive import Primitive
from mastd.vehicle.model.definition import Axle, Corner, Model
from mastd.vehicle.model.library import find

ROOT = Path(__file__).parents[3]
PROGRAMS = Path("peers") / "vehicle"


@pytest.fixture(scope="module")
def sedan() -> Model:
    return find("benchmark_sedan")


def test_all_take_turns_and_the_first_call_of_each_is_not_counted() -> None:
    calls: list[str] = []

    def counted(name: str) -> float:
        calls.append(name)
        return float(calls.count(name))

    found = interleaved({name: partial(counted, name) for name in "abc"}, 4)
    assert set(found) == set("abc")
    assert all(list(values) == [2.0, 3.0, 4.0, 5.0] for values in found.values())
    rounds = [calls[start : start + 3] for start in range(0, len(calls), 3)]
    assert all(sorted(turn) == ["a", "b", "c"] for turn in rounds)
    assert {turn[0] for turn in rounds} == {"a", "b", "c"}


def test_a_ratio_does_not_see_load_that_slows_both() -> None:
    load = np.array([1.0, 1.1, 3.0, 1.0, 7.0])
    found = ratio_of_turns(5.0 * load, 2.0 * load)
    assert found.median == pytest.approx(2.5)
    assert found.as_json() == {"median": pytest.approx(2.5), "unit": "1", "runs": 5}


def test_the_tail_is_told_in_medians() -> None:
    steps = np.full(10_000, 3.0)
    steps[:20] = 12.0
    assert tail_over_median(registry.figure(steps, "us")).median == pytest.approx(4.0)
    steps[:] = 3.0
    assert tail_over_median(registry.figure(steps, "us")).median == pytest.approx(1.0)
    assert np.isnan(tail_over_median(registry.ratio(2.0)).median)


def test_the_own_tail_has_the_steps_that_work_more_and_not_the_load_of_single_rounds() -> None:
    """A tenth of the places works twice as much in every round; one place in ten is disturbed at random."""
    rng = np.random.default_rng(3)
    work = np.where(np.arange(200) % 10 == 0, 6.0, 3.0)
    disturbed = np.where(rng.random((21, 200)) < 0.1, 50.0, 0.0)
    assert tail_over_median(registry.figure((work + disturbed).ravel(), "us")).median > 15.0
    found = own_work([work + disturbed, np.full((21, 100), 3.0)])
    assert found.runs == 300
    assert tail_over_median(found).median == pytest.approx(2.0)


def test_a_linear_cost_lies_on_its_line_and_a_quadratic_one_does_not() -> None:
    sizes = (2, 4, 6, 8, 12)
    n = np.array(sizes, dtype=np.float64)
    slope, farthest = straight_line(sizes, 0.7 + 1.3 * n)
    assert slope == pytest.approx(1.3)
    assert farthest == pytest.approx(0.0, abs=1e-12)
    assert straight_line(sizes, 0.7 + 1.3 * n**2)[1] > 0.2


def test_peers_that_are_not_here_say_why(tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere"
    with pytest.raises(PeerMissingError, match="mujoco: there are no programs of the peers"):
        Peer("mujoco", nowhere, nowhere)
    with pytest.raises(PeerMissingError, match="mujoco: is not installed, `make bench` does it"):
        Peer("mujoco", tmp_path, nowhere)
    with pytest.raises(PeerMissingError, match="prototype: ModuleNotFoundError: No module named 'chord'"):
        Peer("prototype", tmp_path, nowhere)


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("print('Welcome!')\nraise RuntimeError('no licence')", "prototype: RuntimeError: no licence"),
        ("import os\nos._exit(3)", "prototype: its process ended without a result"),
    ],
)
def test_a_peer_that_fails_says_why_whatever_it_prints(tmp_path: Path, program: str, told: str) -> None:
    (tmp_path / "chord.py").write_text(program)
    with pytest.raises(PeerMissingError, match=re.escape(told)):
        Peer("prototype", tmp_path, tmp_path)


def test_a_peer_is_driven_on_request_and_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    (tmp_path / "common.py").write_text(
        "class Vehicle:\n    scenario = staticmethod(lambda name: {'t_end': 4.0})\n"
    )
    (tmp_path / "ref_ode.py").write_text("def build(vehicle): return None\n")
    (tmp_path / "chord.py").write_text(
        "import time\n"
        "class Chord:\n"
        "    def __init__(self, vehicle, scenario, h, rho): pass\n"
        "    def matrix(self, corot): return None\n"
        "    def run(self, niter, corot, mode, matrix, tol, reps, t_end):\n"
        "        print('noise')\n"
        "        self.ts = [t_end * rep for rep in range(1, reps + 1)]\n"
    )
    before = sorted(path.name for path in tmp_path.iterdir())
    peer = Peer("prototype", tmp_path, tmp_path)
    try:
        assert peer.drive("jturn") == pytest.approx(2 * 4.0)
        assert peer.drive("bump", 250) == pytest.approx(2 * 0.25)
    finally:
        peer.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == before


@pytest.mark.evidence
def test_the_prototype_drives_as_fast_whoever_asks(shared: Path) -> None:
    peer = Peer("prototype", shared / PROGRAMS, Path(sys.prefix))
    try:
        times = [peer.drive(name) for name in ("bump", "jturn")]
    finally:
        peer.close()
    assert all(0.0 < time < 1e3 for time in times)


def test_the_peers_are_locked_to_our_versions_and_to_no_registry() -> None:
    ours, theirs = (
        (ROOT / name).read_text(encoding="utf-8") for name in ("requirements.txt", "requirements-peers.txt")
    )
    assert "://" not in theirs
    assert not re.search(r"^\s*-(i|f|-index|-find|-extra)", theirs, flags=re.MULTILINE)
    found = re.split(r"\n(?=\S)", theirs.strip())
    assert all("--hash=sha256:" in entry for entry in found)
    pinned = {entry.split(" \\")[0] for entry in found}
    names = {entry.split("==")[0] for entry in pinned}
    assert {"mujoco", "exudyn", "numpy", "scipy", "numba", "pyyaml"} <= names
    common = {line.split(" \\")[0] for line in ours.splitlines() if line.split("==")[0] in names}
    assert common
    assert common <= pinned


@pytest.mark.parametrize("count", [2, 3, 6, 12])
def test_a_car_with_more_axles_is_whole(sedan: Model, count: int) -> None:
    car = with_axles(sedan, count)
    assert len(car.axles) == count
    assert len({wheel.name for wheel in car.wheels}) == len(car.wheels) == 2 * count
    assert [wheel.name for wheel in car.wheels[:4]] == ["fl", "fr", "rl", "rr"]
    assert len({body.name for body in car.bodies}) == len(car.bodies)
    groups: list[Axle | Corner] = [*car.axles, *car.corners]
    assert sorted(body for group in groups for body in group.bodies) == list(range(1, len(car.bodies)))
    assert sorted(p for group in groups for p in group.primitives) == list(range(len(car.primitives)))
    assert sorted(spring for group in groups for spring in group.springs) == list(range(len(car.springs)))
    front: list[Axle | Corner] = [sedan.axles[0], *(sedan.corners[index] for index in sedan.axles[0].corners)]
    front_rows = sum(sedan.primitives[p].kind.rows for group in front for p in group.primitives)
    rear = sedan.rows - front_rows
    assert car.rows == sedan.rows + (count - 2) * rear


@pytest.mark.parametrize("count", [3, 6, 12])
def test_added_axles_are_the_rear_one_again_and_hang_on_nothing_but_the_chassis(
    sedan: Model, count: int
) -> None:
    car = with_axles(sedan, count)
    for number, axle in enumerate(car.axles):
        shift = np.array([-SPACING * max(number - 1, 0), 0.0, 0.0])
        template = sedan.axles[min(number, 1)]
        for index, old_index in zip(axle.corners, template.corners, strict=True):
            corner, old = car.corners[index], sedan.corners[old_index]
            assert corner.axle == number
            assert car.wheels[corner.wheel].carrier in corner.bodies
            assert car.wheels[corner.wheel].centre == pytest.approx(sedan.wheels[old.wheel].centre + shift)
            own = {0, *axle.bodies, *corner.bodies}
            for part, old_part in zip(corner.primitives, old.primitives, strict=True):
                _same_place(car.primitives[part], sedan.primitives[old_part], own, shift)
            for part, old_part in zip(corner.springs, old.springs, strict=True):
                _same_place(car.springs[part], sedan.springs[old_part], own, shift)


def _same_place(
    part: Primitive | SpringDamper, old: Primitive | SpringDamper, own: set[int], shift: FloatArray
) -> None:
    assert {part.first, part.second} <= own
    assert part.point_first == pytest.approx(old.point_first + shift)
    assert part.point_second == pytest.approx(old.point_second + shift)


@pytest.mark.parametrize("count", [3, 6, 12])
def test_every_axle_carries_what_it_carried(sedan: Model, count: int) -> None:
    """Forces and moments of the sedan's own axle loads balance the heavier, longer chassis."""

    def places(model: Model) -> FloatArray:
        return np.array(
            [model.wheels[model.corners[axle.corners[0]].wheel].centre[0] for axle in model.axles]
        )

    chassis, front_rear = sedan.bodies[0], places(sedan)
    loads = np.linalg.solve(
        np.vstack((np.ones(2), front_rear)), chassis.mass * np.array([1.0, chassis.centre[0]])
    )
    car = with_axles(sedan, count)
    carried = np.array([loads[0], *[loads[1]] * (count - 1)])
    assert carried.sum() == pytest.approx(car.bodies[0].mass)
    assert carried @ places(car) == pytest.approx(car.bodies[0].mass * car.bodies[0].centre[0])


def test_a_car_that_cannot_grow_is_refused(sedan: Model) -> None:
    with pytest.raises(UsageError, match="2 axles cannot become 1"):
        with_axles(sedan, 1)
    with pytest.raises(UsageError, match="3 axles cannot become 4"):
        with_axles(with_axles(sedan, 3), 4)
