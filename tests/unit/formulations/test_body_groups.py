"""Body groups: the four steps of Kang and Yoon, word for word, beside ours; the paper's car; limits."""

from __future__ import annotations

from itertools import chain, combinations

import pytest

from mastd.counting.paper_car import paper_car
from mastd.formulations.tree.body_groups import body_groups
from mastd.formulations.tree.topology import Topology, topology_of
from mastd.vehicle.model import library
from mastd.vehicle.model.definition import Model
from mastd.vehicle.state.arrays import lay_out
from tests.support.formulations.tree_models import CHASSIS, X, Y, Z, cross, hinge, model_of, rod, slide
from tests.unit.formulations.test_topology import FIVE_LINKS, model_named, read

GROUPS = {
    "benchmark_sedan": 6,
    "mcpherson_hatchback": 6,
    "quarter_car": 2,
    "sedan": 6,
    "transporter_8_axles": 24,
    "transporter_8x8": 11,
}
"""Chassis, racks and corners, counted by hand; the larger transporter has a cab as well."""

Group = tuple[frozenset[int], frozenset[int]]


def groups(model: Model) -> list[Group]:
    found = body_groups(model, topology_of(model))
    return [(frozenset(group.bodies), frozenset(group.cuts)) for group in found]


class Paper:
    """Steps 1 to 4 as the paper puts them: all two-way splits, all bodies out, again in each half."""

    def __init__(self, model: Model, topology: Topology) -> None:
        self.cuts = {cut: frozenset(topology.constrained(model, cut)) for cut in topology.cuts}
        self.rows = {cut: model.primitives[cut].kind.rows for cut in topology.cuts}
        self.free = {link.body: 0 if link.drive >= 0 else link.joint.coordinates for link in topology.links}
        used = frozenset(chain.from_iterable(self.cuts.values()))
        alone: list[Group] = [
            (frozenset({link.body}), frozenset()) for link in topology.links if link.body not in used
        ]
        self.found: list[Group] = [*alone, *self.divided(used, frozenset(self.cuts), frozenset())]

    def divided(self, bodies: frozenset[int], cuts: frozenset[int], out: frozenset[int]) -> list[Group]:
        halves = self.halves(bodies, cuts, out)
        if halves is not None:
            return [group for half in halves for group in self.divided(*half, out)]
        for count in range(1, len(bodies)):
            for chosen in map(frozenset, combinations(sorted(bodies), count)):
                apart = out | chosen
                halves = self.halves(bodies - chosen, cuts, apart)
                if halves is not None and all(self.moves(*half) for half in halves):
                    rest = [group for half in halves for group in self.divided(*half, apart)]
                    return rest + [(frozenset({body}), frozenset()) for body in chosen]
        return [(bodies, cuts)]

    def halves(self, bodies: frozenset[int], cuts: frozenset[int], out: frozenset[int]) -> list[Group] | None:
        first, *others = sorted(bodies)
        for count in range(len(others)):
            for joining in combinations(others, count):
                left = frozenset({first, *joining})
                sides = [self.cuts[cut] - out for cut in cuts]
                if all(side and (side <= left or not side & left) for side in sides):
                    own = frozenset(cut for cut in cuts if self.cuts[cut] - out <= left)
                    return [(left, own), (bodies - left, cuts - own)]
        return None

    def moves(self, bodies: frozenset[int], cuts: frozenset[int]) -> bool:
        return sum(self.free[body] for body in bodies) > sum(self.rows[cut] for cut in cuts)


@pytest.mark.parametrize(
    "name", ["benchmark_sedan", "mcpherson_hatchback", "quarter_car", "sedan", "paper car", "five links"]
)
def test_groups_are_those_of_the_papers_four_steps(name: str) -> None:
    """Not the transporters: to part 24 bodies in all ways takes too long, which is why ours does not."""
    model = read(FIVE_LINKS) if name == "five links" else model_named(name)
    assert set(groups(model)) == set(Paper(model, topology_of(model)).found)


@pytest.mark.parametrize("name", library.names())
def test_every_body_and_every_cut_is_in_one_group(name: str) -> None:
    model = library.find(name)
    found = groups(model)
    bodies = sorted(chain.from_iterable(group for group, _ in found))
    assert bodies == list(range(len(model.bodies)))
    assert sorted(chain.from_iterable(cuts for _, cuts in found)) == list(topology_of(model).cuts)
    assert len(found) == GROUPS[name]


@pytest.mark.parametrize("name", [*GROUPS, "paper car"])
def test_groups_constrain_their_own_bodies_and_single_ones_taken_out(name: str) -> None:
    model = model_named(name)
    topology = topology_of(model)
    found = body_groups(model, topology)
    single = {group.bodies[0] for group in found if not group.cuts}
    assert all(len(group.bodies) == 1 for group in found if not group.cuts)
    for group in found:
        for cut in group.cuts:
            others = set(topology.constrained(model, cut)) - set(group.bodies)
            assert others <= single
            assert not set(topology.constrained(model, cut)) <= single


def test_corners_of_a_car_are_groups_with_the_corners_names() -> None:
    model = library.find("mcpherson_hatchback")
    found = body_groups(model, topology_of(model))
    corners = {corner.name: set(corner.bodies) for corner in model.corners}
    assert {group.name: set(group.bodies) for group in found if group.cuts} == corners
    assert [group.name for group in found][:2] == ["chassis", "front rack"]


def test_the_car_of_kang_and_yoon_has_the_papers_numbers_and_groups() -> None:
    model = paper_car()
    topology = topology_of(model)
    found = body_groups(model, topology)
    equations = sum(model.primitives[cut].kind.rows for cut in topology.cuts)
    assert len(model.bodies) == 22
    assert topology.coordinates == 39
    assert (len(topology.cuts), equations) == (8, 24)
    assert topology.coordinates - equations == 15
    members = {
        frozenset(model.bodies[body].name for body in group.bodies): len(group.cuts) for group in found
    }
    expected = {frozenset({"chassis"}): 0, frozenset({"rack"}): 0}
    for side in ("left", "right"):
        front = {f"front {side} {part}" for part in ("lower arm", "knuckle", "strut", "tie rod")}
        rear = {f"rear {side} {part}" for part in ("lower arm", "knuckle", "upper arm", "toe link")}
        expected |= {frozenset(front): 2, frozenset(rear): 2}
        expected |= {frozenset({f"{end} {side} wheel"}): 0 for end in ("front", "rear")}
    assert members == expected
    assert len(members) == 10


def test_the_car_of_kang_and_yoon_can_be_laid_out_and_closes() -> None:
    model = paper_car()
    assert lay_out(model).model is model
    for primitive in model.primitives:
        apart = primitive.point_second - primitive.point_first
        assert float(abs(apart).max()) == 0.0, primitive.joint


def test_a_body_is_taken_out_only_where_the_rest_keeps_freedom() -> None:
    """Two posts on a free rack: with one coordinate each, the rack's is needed for the second link."""
    posts = {"rack": (0.0, 0.0, 0.0), "left": (0.0, 1.0, 0.5), "right": (0.0, -1.0, 0.5)}
    guide = slide("guide", CHASSIS, 1, (0, 0, 0), Y)
    rods = rod("left rod", 1, 2, (0, 0.1, 0), (0, 1, 0.5)), rod("right rod", 1, 3, (0, -0.1, 0), (0, -1, 0.5))
    stiff = model_of(
        posts, guide, hinge("l", CHASSIS, 2, (0, 1, 0), X), hinge("r", CHASSIS, 3, (0, -1, 0), X), *rods
    )
    assert sorted(len(group) for group, _ in groups(stiff)) == [1, 3]
    axes = X, Y
    loose = model_of(
        posts,
        guide,
        cross("l", CHASSIS, 2, (0, 1, 0), axes),
        cross("r", CHASSIS, 3, (0, -1, 0), axes),
        *rods,
    )
    assert sorted(len(group) for group, _ in groups(loose)) == [1, 1, 1, 1]


@pytest.mark.parametrize(("drive", "sizes"), [(None, [1, 1, 1, 2]), (0, [1, 4])])
def test_a_driven_coordinate_is_no_freedom_of_a_rest(drive: int | None, sizes: list[int]) -> None:
    """The left post stands on a slider: only if that is free may the rack be taken out."""
    parts = {
        "rack": (0.0, 0.0, 0.0),
        "left": (0.0, 1.0, 0.5),
        "right": (0.0, -1.0, 0.5),
        "slider": (0.0, 1.0, 0.0),
    }
    model = model_of(
        parts,
        slide("guide", CHASSIS, 1, (0, 0, 0), Y),
        slide("slide", CHASSIS, 4, (0, 1, 0), Y, drive),
        hinge("l", 4, 2, (0, 1, 0), X),
        cross("r", CHASSIS, 3, (0, -1, 0), (X, Y)),
        rod("left rod", 1, 2, (0, 0.1, 0), (0, 1, 0.5)),
        rod("right rod", 1, 3, (0, -0.1, 0), (0, -1, 0.5)),
    )
    assert sorted(len(group) for group, _ in groups(model)) == sizes


def test_a_body_is_not_taken_out_where_the_rest_would_be_singular() -> None:
    """The left rod points at the middle of the left post's joint: only the rack can follow it."""
    posts = {"rack": (0.0, 0.0, 0.0), "left": (0.0, 1.0, 0.5), "right": (0.0, -1.0, 0.5)}
    model = model_of(
        posts,
        slide("guide", CHASSIS, 1, (0, 0, 0), Y),
        cross("l", CHASSIS, 2, (0, 1, 0), (X, Z)),
        cross("r", CHASSIS, 3, (0, -1, 0), (X, Y)),
        rod("left rod", 1, 2, (0, 0.1, 0), (0, 0.5, 0)),
        rod("right rod", 1, 3, (0, -0.1, 0), (0, -1, 0.5)),
    )
    assert sorted(len(group) for group, _ in groups(model)) == [1, 3]
