"""The spanning tree found from the joints: arrays (1)–(3) of Kang and Yoon, cuts, and what cannot be cut."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from mastd.arrays import FloatArray
from mastd.counting.paper_car import paper_car
from mastd.errors import UsageError
from mastd.formulations.tree.design_rank import cut_jacobian
from mastd.formulations.tree.topology import Link, Topology, TreeJoint, topology_of
from mastd.settings.core.loader import load_text
from mastd.settings.vehicle.vehicle import VehicleSettings
from mastd.vehicle.joints.primitive import PrimitiveKind
from mastd.vehicle.model import library, mobility
from mastd.vehicle.model.build import build
from mastd.vehicle.model.definition import Model
from tests.support.formulations.tree_models import CHASSIS, X, Y, Z, cross, hinge, model_of, rod, slide
from tests.support.vehicle.texts import CAB, CUSTOM, PIVOT, SEDAN, changed

SHIPPED = {
    "benchmark_sedan": (27, 16),
    "mcpherson_hatchback": (35, 24),
    "quarter_car": (11, 4),
    "sedan": (27, 16),
    "transporter_8_axles": (93, 64),
    "transporter_8x8": (48, 32),
}
"""Coordinates and equations of the cuts, counted by hand."""

LINKS = (
    ("upper_front", "[-2700 mm, 400 mm, 480 mm]", "[-2800 mm, 690 mm, 500 mm]"),
    ("upper_rear", "[-2950 mm, 420 mm, 470 mm]", "[-2830 mm, 690 mm, 500 mm]"),
    ("lower_front", "[-2600 mm, 350 mm, 230 mm]", "[-2790 mm, 700 mm, 200 mm]"),
    ("lower_rear", "[-2980 mm, 330 mm, 220 mm]", "[-2830 mm, 700 mm, 200 mm]"),
    ("toe", "[-2950 mm, 350 mm, 300 mm]", "[-2960 mm, 690 mm, 300 mm]"),
)
FIVE_LINKS = changed(
    CUSTOM,
    (
        "      pivot_inner: [-2400 mm, 400 mm, 330 mm]\n      pivot_outer: [-2400 mm, 700 mm, 330 mm]\n",
        "".join(f"      {name}_in: {start}\n      {name}_out: {end}\n" for name, start, end in LINKS),
    ),
    (
        PIVOT,
        "".join(
            f"      {name}: {{kind: distance, bodies: [chassis, arm], points: [{name}_in, {name}_out]}}\n"
            for name, _, _ in LINKS
        ),
    ),
)
"""The sedan with wheel carriers on five massless links behind."""


def read(text: str) -> Model:
    return build(load_text(text, "vehicle.yaml", VehicleSettings))


def model_named(name: str) -> Model:
    return paper_car() if name == "paper car" else library.find(name)


def rows(model: Model, topology: Topology) -> int:
    return sum(model.primitives[cut].kind.rows for cut in topology.cuts)


def link(model: Model, topology: Topology, name: str) -> Link:
    """Return the link of the body with this name."""
    return topology.link_of([body.name for body in model.bodies].index(name))


def below(model: Model, topology: Topology, name: str) -> tuple[str, TreeJoint]:
    """Return the name of a body's lower body, and the joint."""
    found = link(model, topology, name)
    return model.bodies[found.lower].name, found.joint


@dataclass(frozen=True, eq=False)
class Motion:
    """A rotation (vector, rad) about a point, and a shift."""

    turn: FloatArray
    axis_angle_quaternion: FloatArray
    shift: FloatArray

    def direction(self, vector: FloatArray) -> FloatArray:
        carried: FloatArray = Rotation.from_rotvec(self.turn).apply(vector)
        return carried

    def point(self, place: FloatArray) -> FloatArray:
        return self.axis_angle_quaternion + self.direction(place - self.axis_angle_quaternion) + self.shift


STILL = Motion(np.zeros(3), np.zeros(3), np.zeros(3))


def moved(
    topology: Topology, which: Link, axis: FloatArray, change: float, rotational: bool
) -> dict[int, Motion]:
    """Return the motion of every body above a joint when the joint moves."""
    lower = topology.connection

    def above(body: int) -> bool:
        return body >= 0 and (body == which.body or above(lower[body]))

    still = np.zeros(3)
    turn, shift = (change * axis, still) if rotational else (still, change * axis)
    motion = Motion(turn, which.point, shift)
    return {body: motion for body in range(len(lower)) if above(body)}


def residual(model: Model, cut: int, motions: dict[int, Motion]) -> FloatArray:
    primitive = model.primitives[cut]
    first, second = motions.get(primitive.first, STILL), motions.get(primitive.second, STILL)
    carried = replace(
        primitive,
        point_first=first.point(primitive.point_first),
        point_second=second.point(primitive.point_second),
        axis_first=first.direction(primitive.axis_first),
        axis_second=second.direction(primitive.axis_second),
    )
    return mobility.residual(carried)


def directions(which: Link) -> list[tuple[FloatArray, bool]]:
    """Return axis and kind (turning or not) of each coordinate."""
    turns = {TreeJoint.REVOLUTE: which.axes[:1], TreeJoint.UNIVERSAL: which.axes}
    if which.joint is TreeJoint.PRISMATIC:
        return [(which.axes[0], False)]
    free = [(axis, False) for axis in np.eye(3)] if which.joint is TreeJoint.FREE else []
    return free + [(axis, True) for axis in turns.get(which.joint, np.eye(3))]


@pytest.mark.parametrize("name", library.names())
def test_shipped_vehicles_have_the_coordinates_and_cuts_counted_by_hand(name: str) -> None:
    model = library.find(name)
    topology = topology_of(model)
    assert (topology.coordinates, rows(model, topology)) == SHIPPED[name]
    driven = sum(each.drive >= 0 for each in topology.links)
    assert driven == len(model.drives)
    left = topology.coordinates - rows(model, topology) - driven - len(model.held)
    assert left == mobility.freedom(model), "what the joints leave does not depend on the coordinates"


@pytest.mark.parametrize("name", [*library.names(), "paper car"])
def test_the_three_arrays_describe_one_tree(name: str) -> None:
    model = model_named(name)
    topology = topology_of(model)
    connection, height, order = topology.connection, topology.height, topology.height_order
    assert sorted(order) == list(range(len(model.bodies)))
    assert order[CHASSIS] == CHASSIS
    assert connection[CHASSIS] == -1
    assert height[CHASSIS] == 1
    assert all(height[body] == height[connection[body]] + 1 for body in order[1:])
    assert [height[body] for body in order] == sorted(height)
    assert [each.body for each in topology.links] == list(order)


@pytest.mark.parametrize("name", [*library.names(), "paper car"])
def test_loops_are_cut_at_ball_joints_and_massless_links(name: str) -> None:
    model = model_named(name)
    topology = topology_of(model)
    kinds = {model.primitives[cut].kind for cut in topology.cuts}
    assert kinds <= {PrimitiveKind.SPHERICAL, PrimitiveKind.DISTANCE}
    joints = {model.primitives[cut].joint for cut in topology.cuts}
    assert not joints & {each.name for each in topology.links}
    assert joints | {each.name for each in topology.links} == (
        {primitive.joint for primitive in model.primitives} | {"chassis"}
    ), "every joint is in the tree or cut"


def test_a_strut_and_its_tie_rod_stand_in_the_tree_as_in_kang_and_yoon() -> None:
    model = library.find("mcpherson_hatchback")
    topology = topology_of(model)
    assert below(model, topology, "front left lower arm") == ("chassis", TreeJoint.REVOLUTE)
    assert below(model, topology, "front left knuckle") == ("front left lower arm", TreeJoint.SPHERICAL)
    assert below(model, topology, "front left strut rod") == ("front left knuckle", TreeJoint.PRISMATIC)
    assert below(model, topology, "front left tie rod") == ("front rack", TreeJoint.UNIVERSAL)
    assert below(model, topology, "rear left upper arm") == ("chassis", TreeJoint.REVOLUTE)
    assert below(model, topology, "rear left toe link") == ("chassis", TreeJoint.UNIVERSAL)
    cuts = {model.primitives[cut].joint for cut in topology.cuts}
    assert {"front left strut top ball joint", "front left tie rod outer ball joint"} <= cuts
    assert {"rear left upper arm ball joint", "rear left toe link outer ball joint"} <= cuts


@pytest.mark.parametrize("name", ["mcpherson_hatchback", "paper car", "five links"])
def test_the_jacobian_of_the_cuts_is_what_moving_each_joint_gives(name: str) -> None:
    model = read(FIVE_LINKS) if name == "five links" else model_named(name)
    topology = topology_of(model)
    free = [each for each in topology.links if each.drive < 0]
    bodies = {each.body for each in free}
    matrix = cut_jacobian(model, topology.links, topology.cuts, bodies)
    columns, rotational = [], []
    for each in free:
        for axis, turns in directions(each):
            step = 1e-6
            ahead, behind = (moved(topology, each, axis, sign * step, turns) for sign in (1, -1))
            gaps = [
                (residual(model, cut, ahead) - residual(model, cut, behind)) / (2 * step)
                for cut in topology.cuts
            ]
            columns.append(np.concatenate(gaps))
            rotational.append(turns)
    expected, turns_too = np.array(columns).T, np.array(rotational)
    np.testing.assert_allclose(matrix[:, ~turns_too], expected[:, ~turns_too], atol=1e-8)
    largest = np.argmax(np.abs(expected * turns_too))
    length = expected.flat[largest] / matrix.flat[largest]
    assert 0.1 < length < 10.0, "rotations are multiplied by a length of the car's size"
    np.testing.assert_allclose(matrix[:, turns_too] * length, expected[:, turns_too], atol=1e-8)


@pytest.mark.parametrize("reverse", [False, True])
def test_a_driven_coordinate_is_the_drives_displacement(reverse: bool) -> None:
    ends = (1, CHASSIS) if reverse else (CHASSIS, 1)
    model = model_of({"rack": (0.0, 0.0, 0.0)}, slide("guide", *ends, (0.0, 0.0, 0.0), Y, drive=0))
    topology = topology_of(model)
    rack = link(model, topology, "rack")
    assert (rack.joint, rack.drive, topology.cuts) == (TreeJoint.PRISMATIC, 0, ())
    driven = next(k for k, primitive in enumerate(model.primitives) if primitive.drive == 0)
    motion = moved(topology, rack, rack.axes[0], 0.03, rotational=False)
    assert residual(model, driven, motion) == pytest.approx(0.03), "the row reads: value minus displacement"


@pytest.mark.parametrize("reverse", [False, True])
def test_a_cross_has_one_axis_in_each_body(reverse: bool) -> None:
    ends, axes = ((1, CHASSIS), (Z, X)) if reverse else ((CHASSIS, 1), (X, Z))
    model = model_of({"rod": (0.0, 1.0, 0.0)}, cross("cross", *ends, (0.0, 0.0, 0.0), axes))
    rod_link = link(model, topology_of(model), "rod")
    assert rod_link.joint is TreeJoint.UNIVERSAL
    np.testing.assert_array_equal(rod_link.axes, [X, Z])


def test_a_carrier_on_five_links_is_free_on_the_chassis() -> None:
    model = read(FIVE_LINKS)
    topology = topology_of(model)
    assert below(model, topology, "rear left arm") == ("chassis", TreeJoint.FREE)
    arm = link(model, topology, "rear left arm")
    np.testing.assert_array_equal(arm.point, model.bodies[arm.body].centre)
    assert [
        model.primitives[cut].joint for cut in topology.cuts if "rear left" in model.primitives[cut].joint
    ] == [f"rear left {name.replace('_', ' ')}" for name, _, _ in LINKS]


def test_what_hangs_on_a_slider_by_links_is_free_on_the_slider() -> None:
    starts = [(0.0, 0.3, 0.0), (0.2, 0.3, 0.0), (0.0, 0.3, 0.3), (0.2, 0.3, 0.3), (-0.2, 0.3, 0.1)]
    ends = [(0.0, 0.7, 0.0), (0.1, 0.7, 0.0), (0.0, 0.7, 0.3), (0.1, 0.7, 0.35), (-0.2, 0.7, 0.1)]
    pairs = enumerate(zip(starts, ends, strict=True))
    links = [rod(f"link {k}", 2, 1, start, end) for k, (start, end) in pairs]
    parts = {"carrier": (0.0, 0.8, 0.1), "slider": (0.0, 0.2, 0.0), "rim": (0.0, 0.9, 0.1)}
    model = model_of(
        parts, *links, slide("guide", CHASSIS, 2, (0, 0, 0), Y), hinge("bearing", 1, 3, (0, 0.9, 0.1), Y)
    )
    topology = topology_of(model)
    assert below(model, topology, "carrier") == ("slider", TreeJoint.FREE)
    assert below(model, topology, "rim") == ("carrier", TreeJoint.REVOLUTE)
    assert all(topology.constrained(model, cut) == (1,) for cut in topology.cuts)


def test_a_cab_stands_on_its_ball_joint_and_without_it_is_free() -> None:
    with_pin = read(SEDAN + CAB)
    assert below(with_pin, topology_of(with_pin), "cab") == ("chassis", TreeJoint.SPHERICAL)
    primitives = tuple(each for each in with_pin.primitives if each.joint != "cab pin")
    model = replace(with_pin, primitives=primitives)
    assert below(model, topology_of(model), "cab") == ("chassis", TreeJoint.FREE)


def test_dots_that_stand_alone_stay_constraints() -> None:
    model = read(SEDAN)
    first = model.primitives[0]
    dot = replace(first, first=CHASSIS, second=4, axis_first=X, axis_second=Z, joint="front left stay")
    topology = topology_of(replace(model, primitives=(*model.primitives, dot)))
    assert topology.cuts == (*topology_of(model).cuts, len(model.primitives))


def test_a_ball_joint_with_dots_about_two_axes_is_no_hinge() -> None:
    parts = hinge("bearing", CHASSIS, 1, (0, 0, 0), Y)
    parts[2] = replace(parts[2], axis_first=X, axis_second=Z)
    model = model_of({"arm": (0.5, 0.0, 0.0)}, parts)
    topology = topology_of(model)
    assert below(model, topology, "arm") == ("chassis", TreeJoint.SPHERICAL)
    assert topology.cuts == (1, 2)


def test_a_loop_of_hinges_alone_is_named() -> None:
    model = model_of(
        {"crank": (0.0, 0.0, 0.5), "coupler": (0.5, 0.0, 1.0), "rocker": (1.0, 0.0, 0.5)},
        hinge("crank pin", CHASSIS, 1, (0, 0, 0), Y),
        hinge("coupler pin", 1, 2, (0, 0, 1), Y),
        hinge("far pin", 2, 3, (1, 0, 1), Y),
        hinge("ground pin", 3, CHASSIS, (1, 0, 0), Y),
    )
    with pytest.raises(UsageError) as caught:
        topology_of(model)
    message = str(caught.value)
    assert message.startswith("test rig: the loop of ")
    assert all(f"'{name} pin'" in message for name in ("crank", "coupler", "far", "ground"))
    assert "\n" not in message
    with_link = model_of(
        {"crank": (0.0, 0.0, 0.5), "rocker": (1.0, 0.0, 0.5)},
        hinge("crank pin", CHASSIS, 1, (0, 0, 0), Y),
        hinge("ground pin", 2, CHASSIS, (1, 0, 0), Y),
        rod("coupler", 1, 2, (0, 0, 1), (1, 0, 1)),
    )
    assert len(topology_of(with_link).cuts) == 1, "with a distance link it can be cut, as the message says"


def test_every_loop_without_a_cut_is_named_on_its_own_line() -> None:
    hinges = [hinge(f"hinge {k}", CHASSIS, 1, (0, k, 0), Y) for k in range(3)]
    with pytest.raises(UsageError) as caught:
        topology_of(model_of({"door": (1.0, 0.0, 0.0)}, *hinges))
    lines = str(caught.value).splitlines()
    assert ["'hinge 1'" in line or "'hinge 2'" in line for line in lines] == [True, True]


def test_a_link_that_is_there_twice_is_named() -> None:
    model = library.find("benchmark_sedan")
    twin = next(each for each in model.primitives if each.joint == "rear right tie rod")
    doubled = replace(model, primitives=(*model.primitives, replace(twin, joint="rear right second rod")))
    with pytest.raises(UsageError) as caught:
        topology_of(doubled)
    message = str(caught.value)
    assert message.startswith(f"{model.name}: 1 of 5 equations of the cut loops repeats others, at ")
    assert "'rear right tie rod' and 'rear right second rod'" in message
    assert "ball joint" not in message
    assert "\n" not in message


def test_more_equations_than_coordinates_are_refused() -> None:
    model = model_of(
        {"door": (1.0, 0.0, 0.0)},
        hinge("hinge", CHASSIS, 1, (0, 0, 0), Z),
        rod("stay", CHASSIS, 1, (0.5, 1.0, 0.0), (0.5, 0.0, 0.0)),
        rod("strap", CHASSIS, 1, (0.5, 1.0, 0.5), (0.5, 0.0, 0.0)),
    )
    with pytest.raises(UsageError, match=r"1 of 2 equations .* 'stay' and 'strap'"):
        topology_of(model)


def test_a_driven_coordinate_does_not_make_equations_independent() -> None:
    parts = {"rack": (0.0, 0.0, 0.0), "post": (0.0, 1.0, 0.0)}
    stay = rod("stay", 1, 2, (0.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    post = hinge("hinge", CHASSIS, 2, (0, 1, 0), X)
    free = model_of(parts, slide("guide", CHASSIS, 1, (0, 0, 0), Y), post, stay)
    assert len(topology_of(free).cuts) == 1
    driven = model_of(parts, slide("guide", CHASSIS, 1, (0, 0, 0), Y, drive=0), post, stay)
    with pytest.raises(UsageError, match="'stay'"):
        topology_of(driven)
