"""From a vehicle file to the model: numbers, mirror image, wheels in their carriers, freedoms, assembly."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from mastd.arrays import FloatArray
from mastd.settings.core.export import as_json
from mastd.settings.core.loader import load_text
from mastd.settings.vehicle.axles import CustomAxle
from mastd.settings.vehicle.templates import cross_axes
from mastd.settings.vehicle.vehicle import VehicleSettings
from mastd.vehicle.equilibrium.constraints import held_rows
from mastd.vehicle.joints.primitive import Primitive, PrimitiveKind
from mastd.vehicle.magic_formula.formula import normal_load
from mastd.vehicle.model import library, mobility
from mastd.vehicle.model.assembly import moved
from mastd.vehicle.model.build import build, spin_axis
from mastd.vehicle.model.definition import Axle, Body, Corner, Model
from mastd.vehicle.model.mobility import Unit
from mastd.vehicle.tyres.linear_tyre import Tyre
from tests.support.vehicle.texts import CAB, CUSTOM, changed

MIRROR = np.diag([1.0, -1.0, 1.0])
SHIPPED = {
    "benchmark_sedan": (14, 74, 10),
    "mcpherson_hatchback": (18, 98, 10),
    "quarter_car": (4, 17, 2),
    "sedan": (14, 74, 10),
    "transporter_8_axles": (56, 313, 23),
    "transporter_8x8": (27, 148, 14),
}
"""Bodies, equations, and freedoms without wheel spins: 6, one a corner, one of the transporter's cab."""


def model_of(text: str, *changes: tuple[str, str]) -> Model:
    return build(load_text(changed(text, *changes), "vehicle.yaml", VehicleSettings))


def body(model: Model, name: str) -> Body:
    return next(each for each in model.bodies if each.name == name)


def joints(model: Model, name: str) -> list[Primitive]:
    return [each for each in model.primitives if each.joint == name]


def assert_same(ours: object, theirs: object, where: str = "model") -> None:
    """Compare two models to the last bit, whatever they are made of."""
    if is_dataclass(ours) and not isinstance(ours, type):
        assert type(ours) is type(theirs), where
        for each in fields(ours):
            assert_same(getattr(ours, each.name), getattr(theirs, each.name), f"{where}.{each.name}")
    elif isinstance(ours, tuple) and isinstance(theirs, tuple):
        assert len(ours) == len(theirs), where
        for k, pair in enumerate(zip(ours, theirs, strict=True)):
            assert_same(*pair, f"{where}[{k}]")
    else:
        assert np.array_equal(np.asarray(ours), np.asarray(theirs)), where


def whole_jacobian(model: Model) -> FloatArray:
    """Return all rows over all bodies by central differences of points and axes on turned bodies."""
    columns: list[FloatArray] = []
    step = 1e-6
    for index, each in enumerate(model.bodies):
        for k in range(6):
            ahead = _constraints(model, index, each.centre, step * np.eye(6)[k])
            behind = _constraints(model, index, each.centre, -step * np.eye(6)[k])
            columns.append((ahead - behind) / (2.0 * step))
    return np.array(columns).T


def _constraints(model: Model, index: int, centre: FloatArray, change: FloatArray) -> FloatArray:
    turn = Rotation.from_rotvec(change[3:]).as_matrix()
    values: list[float] = []
    for each in model.primitives:
        ends = []
        for which, point, axis in (
            (each.first, each.point_first, each.axis_first),
            (each.second, each.point_second, each.axis_second),
        ):
            if which == index:
                ends.append((centre + change[:3] + turn @ (point - centre), turn @ axis))
            else:
                ends.append((point, axis))
        gap = ends[1][0] - ends[0][0]
        if each.kind is PrimitiveKind.SPHERICAL:
            values.extend(gap)
        elif each.kind is PrimitiveKind.DOT_1:
            values.append(float(ends[0][1] @ ends[1][1]))
        elif each.kind is PrimitiveKind.DOT_2:
            values.append(float(ends[0][1] @ gap))
        else:
            values.append(float(gap @ gap - each.length**2) / (2.0 * each.length))
    return np.array(values)


# -------------------- the benchmark sedan


@pytest.fixture(scope="module")
def sedan() -> Model:
    return library.find("benchmark_sedan")


@pytest.fixture
def benchmark(shared: Path) -> dict[str, Any]:
    text = (shared / "data" / "sedan_benchmark" / "vehicle.yaml").read_text(encoding="utf-8")
    data: dict[str, Any] = yaml.safe_load(text)
    return data


CORNERS = [("front", "left", 1.0), ("front", "right", -1.0), ("rear", "left", 1.0), ("rear", "right", -1.0)]


def test_the_sedan_has_the_benchmarks_bodies(sedan: Model, benchmark: dict[str, Any]) -> None:
    assert sedan.gravity == benchmark["gravity"]
    chassis = benchmark["bodies"]["chassis"]
    assert sedan.bodies[0].mass == chassis["mass"]
    assert sedan.bodies[0].centre.tolist() == chassis["com"]
    assert np.array_equal(sedan.bodies[0].inertia, np.diag(chassis["inertia"]))
    rack = benchmark["bodies"]["rack"]
    assert body(sedan, "front rack").mass == rack["mass"]
    assert body(sedan, "front rack").centre.tolist() == rack["com"]
    assert np.array_equal(body(sedan, "front rack").inertia, np.diag(rack["inertia"]))
    for axle, side, sign in CORNERS:
        numbers = benchmark["axles"][axle]
        for ours, theirs in (("lower arm", "lca"), ("upper arm", "uca")):
            arm = body(sedan, f"{axle} {side} {ours}")
            mean = np.mean([numbers[f"{theirs}_{point}"] for point in ("in_front", "in_rear", "out")], axis=0)
            assert arm.mass == numbers[theirs]["mass"]
            assert arm.centre == pytest.approx(mean * [1.0, sign, 1.0], abs=1e-15)
            assert np.array_equal(arm.inertia, np.diag(numbers[theirs]["inertia"]))


def test_the_sedan_has_the_benchmarks_joints(sedan: Model, benchmark: dict[str, Any]) -> None:
    for axle, side, sign in CORNERS:
        numbers = benchmark["axles"][axle]
        for ours, theirs in (("lower arm", "lca"), ("upper arm", "uca")):
            inner = [
                np.array(numbers[f"{theirs}_in_{point}"]) * [1.0, sign, 1.0] for point in ("front", "rear")
            ]
            hinge, *guides = joints(sedan, f"{axle} {side} {ours} bearings")
            assert hinge.point_first == pytest.approx((inner[0] + inner[1]) / 2, abs=1e-15)
            for guide in guides:
                assert np.cross(guide.axis_second, inner[1] - inner[0]) == pytest.approx(0.0, abs=1e-15)
            (ball,) = joints(sedan, f"{axle} {side} {ours} ball joint")
            assert ball.point_second == pytest.approx(
                np.array(numbers[f"{theirs}_out"]) * [1.0, sign, 1.0], abs=0
            )
        (rod,) = joints(sedan, f"{axle} {side} tie rod")
        assert sedan.bodies[rod.first].name == {"rack": "front rack", "chassis": "chassis"}[numbers["tie_on"]]
        assert rod.point_first == pytest.approx(np.array(numbers["tie_in"]) * [1.0, sign, 1.0], abs=0)
        assert rod.length == pytest.approx(math.dist(numbers["tie_in"], numbers["tie_out"]), rel=1e-15)


def test_the_sedan_has_the_benchmarks_springs_and_tyres(sedan: Model, benchmark: dict[str, Any]) -> None:
    tyre = benchmark["tyre"]
    for (axle, _, sign), spring, wheel in zip(CORNERS, sedan.springs, sedan.wheels, strict=True):
        numbers = benchmark["axles"][axle]
        length = math.dist(numbers["spring_upper"], numbers["spring_lower"])
        assert (spring.stiffness, spring.damping) == (numbers["spring"]["k"], numbers["spring"]["c"])
        assert spring.stiffness * (spring.free_length - length) == pytest.approx(numbers["spring"]["preload"])
        assert spring.point_second == pytest.approx(
            np.array(numbers["spring_lower"]) * [1.0, sign, 1.0], abs=0
        )
        assert wheel.centre == pytest.approx(np.array(numbers["wheel_center"]) * [1.0, sign, 1.0], abs=0)
        assert wheel.axis.tolist() == [0.0, 1.0, 0.0]
        assert [wheel.transverse_inertia, wheel.axial_inertia] == numbers["wheel"]["inertia"][:2]
        ours = wheel.tyre
        assert isinstance(ours, Tyre)
        assert (ours.free_radius, ours.rolling_radius) == (tyre["r0"], tyre["re"])
        assert (ours.stiffness, ours.damping, ours.least_speed) == (tyre["kz"], tyre["cz"], tyre["v_min"])
        assert ours.longitudinal_slip_stiffness == tyre["c_kappa"]
        assert ours.cornering_stiffness == tyre["c_alpha"][axle]
    assert [wheel.name for wheel in sedan.wheels] == ["fl", "fr", "rl", "rr"]


def test_a_knuckle_carries_its_wheel_but_for_the_spin(sedan: Model) -> None:
    """Second moments about the vehicle's origin add up; knuckle and wheel as in the benchmark's front."""
    for side, sign in (("left", 1.0), ("right", -1.0)):
        total = np.zeros((3, 3))
        parts = [
            (12.0, [-0.010, 0.710, 0.330], [0.16, 0.16, 0.08]),
            (22.0, [0.0, 0.790, 0.310], [0.7, 0.0, 0.7]),
        ]
        moment = np.zeros(3)
        for mass, place, inertia in parts:
            x, y, z = place[0], sign * place[1], place[2]
            total += np.diag(inertia)
            total += mass * np.array(  # second moments
                [
                    [y * y + z * z, -x * y, -x * z],
                    [-x * y, x * x + z * z, -y * z],
                    [-x * z, -y * z, x * x + y * y],
                ]
            )
            moment += mass * np.array([x, y, z])
        knuckle = body(sedan, f"front {side} knuckle")
        assert knuckle.mass == 34.0
        assert knuckle.centre == pytest.approx(moment / 34.0, abs=1e-15)
        c = knuckle.centre
        about_origin = knuckle.inertia + 34.0 * (c @ c * np.eye(3) - np.outer(c, c))
        assert about_origin == pytest.approx(total, abs=1e-13)


# -------------------- all that is shipped


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_vehicles_have_the_freedoms_that_are_due(name: str) -> None:
    model = library.find(name)
    bodies, rows, freedom = SHIPPED[name]
    assert (len(model.bodies), model.rows, mobility.freedom(model)) == (bodies, rows, freedom)
    jacobian = whole_jacobian(model)
    assert jacobian.shape == (rows, 6 * bodies)
    values = np.linalg.svd(jacobian, compute_uv=False)
    assert values[-1] > 1e-3 * values[0]
    assert {mobility.examine(model, unit).freedom for unit in mobility.units(model) if unit.wheel >= 0} == {1}


@pytest.mark.parametrize("name", sorted(set(SHIPPED) - {"quarter_car"}))
def test_the_right_side_is_the_mirror_image(name: str) -> None:
    model = library.find(name)
    for axle in model.axles:
        if not axle.corners:
            continue
        left, right = (model.corners[index] for index in axle.corners)
        for one, two in zip(left.bodies, right.bodies, strict=True):
            assert model.bodies[two].mass == model.bodies[one].mass
            assert model.bodies[two].centre == pytest.approx(MIRROR @ model.bodies[one].centre, abs=1e-15)
            assert model.bodies[two].inertia == pytest.approx(
                MIRROR @ model.bodies[one].inertia @ MIRROR, abs=1e-13
            )
        for first, second in zip(left.primitives, right.primitives, strict=True):
            one_point, two_point = model.primitives[first].point_first, model.primitives[second].point_first
            assert two_point == pytest.approx(MIRROR @ one_point, abs=1e-15)
        assert model.wheels[right.wheel].axis == pytest.approx(
            -MIRROR @ model.wheels[left.wheel].axis, abs=1e-15
        )


@pytest.mark.parametrize("name", SHIPPED)
def test_every_part_belongs_to_exactly_one_axle_or_corner(name: str) -> None:
    model = library.find(name)
    groups: list[Axle | Corner] = [*model.axles, *model.corners]
    assert sorted(k for group in groups for k in group.bodies) == list(range(1, len(model.bodies)))
    assert sorted(k for group in groups for k in group.primitives) == list(range(len(model.primitives)))
    assert sorted(k for group in groups for k in group.springs) == list(range(len(model.springs)))
    for corner in model.corners:
        within = {0, *corner.bodies, *model.axles[corner.axle].bodies}
        assert {
            each
            for k in corner.primitives
            for each in (model.primitives[k].first, model.primitives[k].second)
        } <= within
        assert model.wheels[corner.wheel].carrier in corner.bodies


@pytest.mark.parametrize(
    ("name", "tolerance"),
    [
        ("mcpherson_hatchback", 2.0),
        ("quarter_car", 2.0),
        ("sedan", 2.0),
        ("transporter_8_axles", 10.0),
        ("transporter_8x8", 10.0),
    ],
)
def test_vehicles_with_matched_preloads_stand_still_in_the_design_position(
    name: str, tolerance: float
) -> None:
    """The work of weights, springs and tyres along every motion that the joints allow vanishes."""
    model = library.find(name)
    forces = np.zeros((len(model.bodies), 6))

    def push(index: int, point: FloatArray, force: FloatArray) -> None:
        forces[index] += np.concatenate([force, np.cross(point - model.bodies[index].centre, force)])

    for index, each in enumerate(model.bodies):
        push(index, each.centre, np.array([0.0, 0.0, -each.mass * model.gravity]))
    for wheel in model.wheels:
        depth = wheel.tyre.free_radius - wheel.centre[2]
        if isinstance(wheel.tyre, Tyre):
            load = wheel.tyre.stiffness * depth
        else:
            load = normal_load(wheel.tyre.coefficients, depth, 0.0)
        push(wheel.carrier, wheel.centre, np.array([0.0, 0.0, load]))
    for spring in model.springs:
        line = spring.point_second - spring.point_first
        length = float(np.linalg.norm(line))
        force = spring.stiffness * (spring.free_length - length) * line / length
        push(spring.second, spring.point_second, force)
        push(spring.first, spring.point_first, -force)
    held = held_rows(model)[:, : forces.size]
    _, _, right = np.linalg.svd(np.vstack([whole_jacobian(model), held]))
    work = right[model.rows + len(held) :] @ forces.ravel()
    weight = sum(each.mass for each in model.bodies) * model.gravity
    assert np.linalg.norm(forces) > 0.1 * weight
    assert work == pytest.approx(0.0, abs=tolerance)


@pytest.mark.parametrize("name", SHIPPED)
def test_a_template_is_the_same_as_its_free_definition(name: str) -> None:
    settings = library.settings(name)
    data = as_json(settings)
    data["axles"] = [as_json(axle.expanded()) for axle in settings.axles]
    free = VehicleSettings.model_validate(data, strict=False)
    assert all(isinstance(axle, CustomAxle) for axle in free.axles)
    assert_same(build(free), build(settings))


def test_the_hatchback_has_the_bodies_of_kang_and_yoon() -> None:
    model = library.find("mcpherson_hatchback")
    names = [each.name for each in model.bodies]
    corner = {
        "front": ["lower arm", "knuckle", "strut rod", "tie rod"],
        "rear": ["lower arm", "upper arm", "knuckle", "toe link"],
    }
    expected = ["chassis", "front rack"] + [
        f"{axle} {side} {part}" for axle, side, _ in CORNERS for part in corner[axle]
    ]
    assert sorted(names) == sorted(expected)
    assert len(names) + len(model.wheels) == 22
    assert [bar.stiffness for bar in model.bars] == [26000.0, 14000.0]
    assert [axle.bar for axle in model.axles] == [0, 1]
    damper = next(each for each in model.springs if each.name == "front left damper")
    assert damper.damper_table is not None
    assert damper.damper_table[0].tolist() == [-1.0, -900.0]
    length = float(np.linalg.norm(damper.point_second - damper.point_first))
    assert damper.bump_stop is not None
    assert damper.rebound_stop is not None
    assert damper.bump_stop.contact_length == pytest.approx(length - 0.035)
    assert damper.rebound_stop.contact_length == pytest.approx(length + 0.080)
    assert (damper.bump_stop.doubling, damper.rebound_stop.doubling) == (0.02, math.inf)


def test_toe_in_and_positive_camber_point_the_way_they_are_defined() -> None:
    for right in (False, True):
        outwards = -1.0 if right else 1.0
        toe = spin_axis(0.02, 0.0, right)
        forward = np.cross(toe, [0.0, 0.0, 1.0])
        assert forward[0] > 0.99
        assert forward[1] * outwards < 0.0, "toe-in: the front of the wheel points inwards"
        camber = spin_axis(0.0, 0.03, right)
        top = np.cross([1.0, 0.0, 0.0], camber)
        assert top[2] > 0.99
        assert top[1] * outwards > 0.0, "positive camber: the top leans outwards"
        assert np.linalg.norm(spin_axis(0.1, -0.2, right)) == pytest.approx(1.0, abs=1e-15)


# -------------------- joints

UNIT = st.builds(
    lambda a, b: np.array([math.cos(a) * math.cos(b), math.sin(a) * math.cos(b), math.sin(b)]),
    st.floats(-3.0, 3.0),
    st.floats(-1.5, 1.5),
)
POINT = st.tuples(*[st.floats(-1.0, 1.0)] * 3).map(np.array)


@given(
    kind=st.sampled_from(list(PrimitiveKind)),
    points=st.tuples(POINT, POINT),
    centres=st.tuples(POINT, POINT),
    axes=st.tuples(UNIT, UNIT),
)
def test_the_jacobian_is_the_derivative_of_the_constraint(
    kind: PrimitiveKind,
    points: tuple[FloatArray, FloatArray],
    centres: tuple[FloatArray, FloatArray],
    axes: tuple[FloatArray, FloatArray],
) -> None:
    bodies = tuple(Body("body", 1.0, centre, np.eye(3)) for centre in centres)
    primitive = Primitive(kind, 0, 1, *points, *axes, 0.7, -1, "joint")
    model = Model("two", 9.81, bodies, (primitive,), (), (), (), (), (), ())
    analytic = np.hstack(mobility.jacobian(primitive, bodies))
    assert analytic == pytest.approx(whole_jacobian(model), abs=1e-8)
    assert mobility.residual(primitive) == pytest.approx(
        _constraints(model, 0, centres[0], np.zeros(6)), abs=1e-15
    )


@given(start=POINT, end=POINT)
def test_a_rod_on_a_cross_joint_cannot_turn_about_itself(start: FloatArray, end: FloatArray) -> None:
    line = end - start
    if not np.linalg.norm(line) > 1e-3:
        return
    first, second = (np.array(axis) for axis in cross_axes(tuple(start), tuple(end)))
    line /= np.linalg.norm(line)
    assert [first @ second, first @ line, second @ line] == pytest.approx([0.0, 0.0, 0.0], abs=1e-12)
    turned = Rotation.from_rotvec(1e-6 * line).apply(second)
    assert abs(first @ turned) == pytest.approx(1e-6, rel=1e-6)


FREE_JOINTS = {
    "spherical": ("{kind: spherical, bodies: [chassis, cab], point: pin}", 3),
    "revolute": ("{kind: revolute, bodies: [chassis, cab], point: pin, axis: [0, 1, 0]}", 5),
    "prismatic": ("{kind: prismatic, bodies: [chassis, cab], point: pin, axis: [0, 0, 2]}", 5),
    "universal": ("{kind: universal, bodies: [chassis, cab], point: pin, axes: [[1, 0, 0], [0, 1, 0]]}", 4),
    "distance": ("{kind: distance, bodies: [chassis, cab], points: [left_lower, pin]}", 1),
    "dot_1": ("{kind: dot_1, bodies: [chassis, cab], axes: [[1, 0, 0], [0, 1, 0]]}", 1),
    "dot_2": ("{kind: dot_2, bodies: [chassis, cab], axis: [0, 1, 0], points: [pin, pin]}", 1),
}


SIX_SPRINGS_POINTS = """      below: [1000 mm, 0 mm, 700 mm]
      ahead: [1300 mm, 0 mm, 900 mm]
      beside: [1000 mm, 300 mm, 900 mm]
"""
SIX_SPRINGS = """      vertical: {bodies: [chassis, cab], points: [below, pin], stiffness: 90 N/mm}
      longitudinal: {bodies: [chassis, cab], points: [ahead, pin], stiffness: 90 N/mm}
      lateral: {bodies: [chassis, cab], points: [beside, pin], stiffness: 90 N/mm}
"""


@pytest.mark.parametrize("kind", FREE_JOINTS)
def test_every_joint_takes_as_many_freedoms_as_it_has_equations(kind: str) -> None:
    joint, rows = FREE_JOINTS[kind]
    model = model_of(
        CUSTOM + CAB,
        ("pin: {kind: spherical, bodies: [chassis, cab], point: pin}", f"pin: {joint}"),
        ("      pin: [1000", SIX_SPRINGS_POINTS + "      pin: [1000"),
        ("      side: {", SIX_SPRINGS + "      side: {"),
    )
    (unit,) = [each for each in mobility.units(model) if each.name == "cab"]
    assert (mobility.examine(model, unit).rank, mobility.freedom(model)) == (rows, 10 + 6 - rows)


def test_a_group_is_an_axle_without_corners_and_is_not_mirrored() -> None:
    model = model_of(CUSTOM + CAB)
    cab = model.axles[-1]
    assert (cab.name, cab.corners, cab.bar) == ("cab", (), -1)
    assert [model.bodies[k].name for k in cab.bodies] == ["cab"]
    assert [model.springs[k].name for k in cab.springs] == ["cab left", "cab right", "cab side"]
    assert mobility.freedom(model) == 13


def test_corners_may_stand_on_a_subframe() -> None:
    """The trailing arms turn on a beam, which the chassis holds by six springs' worth of freedom."""
    beam = CAB.replace("groups:\n  cab:\n", "    subframe:\n").replace("\n      ", "\n        ")
    beam = beam.replace("    hardpoints", "      hardpoints").replace("    bodies:", "      bodies:")
    beam = beam.replace("    joints:", "      joints:").replace("    springs:", "      springs:")
    beam = beam.replace("cab", "beam").replace("        beam:", "        beam:")
    model = model_of(CUSTOM + beam, ("bodies: [chassis, arm], axis", "bodies: [beam, arm], axis"))
    rear = model.axles[1]
    assert [model.bodies[k].name for k in rear.bodies] == ["rear beam"]
    for index in rear.corners:
        firsts = {model.primitives[k].first for k in model.corners[index].primitives}
        assert firsts == set(rear.bodies)
    assert mobility.freedom(model) == 6 + 4 + 3


# -------------------- assembly


def closed(model: Model) -> float:
    return max(float(np.max(np.abs(mobility.residual(each)))) for each in model.primitives)


def test_points_that_lie_apart_are_brought_together() -> None:
    """With parallel axes and the wheel's height kept the arm only shifts; springs keep force and gap."""
    model = model_of(
        CUSTOM,
        ("axis: [pivot_inner, pivot_outer]", "axis: [pivot_inner, pivot_outer], points: [pivot_inner, mate]"),
        ("      spring_lower: [-2750", "      mate: [-2390 mm, 405 mm, 330 mm]\n      spring_lower: [-2750"),
        (
            "        preload: 4000 N",
            "        preload: 4000 N\n        bump_stop: {gap: 50 mm, stiffness: 90 N/mm}",
        ),
    )
    straight = model_of(CUSTOM)
    assert closed(model) <= 1e-12
    for side, sign in (("left", 1.0), ("right", -1.0)):
        shift = np.array([-0.010, -0.005 * sign, 0.0])
        ours, theirs = body(model, f"rear {side} arm"), body(straight, f"rear {side} arm")
        assert ours.centre == pytest.approx(theirs.centre + shift, abs=1e-12)
        assert ours.inertia == pytest.approx(theirs.inertia, abs=1e-12)
    heights = [wheel.centre[2] for wheel in model.wheels]
    assert heights == pytest.approx([wheel.centre[2] for wheel in straight.wheels], abs=1e-12)
    for corner in model.corners[2:]:
        spring = model.springs[corner.springs[0]]
        length = float(np.linalg.norm(spring.point_second - spring.point_first))
        assert spring.stiffness * (spring.free_length - length) == pytest.approx(4000.0, abs=1e-6)
        assert spring.bump_stop is not None
        assert spring.bump_stop.contact_length == pytest.approx(length - 0.05, abs=1e-12)
    assert_same(model.corners, straight.corners)


def test_axes_that_differ_are_brought_together_by_turning_the_body() -> None:
    """The arm turns by the angle between the axes; centre, inertia and wheel turn with it."""
    model = model_of(
        CUSTOM,
        ("axis: [pivot_inner, pivot_outer]", "axes: [[0, 1, 0], [0.1, 1, 0]], point: pivot_inner"),
        ("      pivot_outer: [-2400 mm, 700 mm, 330 mm]\n", ""),
    )
    straight = model_of(CUSTOM)
    assert closed(model) <= 1e-12
    turn = Rotation.from_rotvec([0.0, 0.0, math.atan(0.1)]).as_matrix()
    pivot = np.array([-2.4, 0.4, 0.33])
    ours, theirs = body(model, "rear left arm"), body(straight, "rear left arm")
    assert ours.centre == pytest.approx(pivot + turn @ (theirs.centre - pivot), abs=1e-9)
    assert ours.inertia == pytest.approx(turn @ theirs.inertia @ turn.T, abs=1e-9)
    assert model.wheels[2].axis == pytest.approx(turn @ [0.0, 1.0, 0.0], abs=1e-9)
    assert model.wheels[3].axis == pytest.approx(turn.T @ [0.0, 1.0, 0.0], abs=1e-9)


def test_a_longer_tie_rod_is_assembled_into_toe() -> None:
    """Rod 5 mm longer than the points: the knuckle turns until it fits, all joints closed, mass as before."""
    settings = library.settings("benchmark_sedan")
    data = as_json(settings)
    data["axles"] = [as_json(axle.expanded()) for axle in settings.axles]
    rod = data["axles"][0]["joints"]["tie_rod"]
    design = math.dist(*(data["axles"][0]["hardpoints"][name] for name in rod["points"]))
    rod["length"] = design + 0.005
    model = build(VehicleSettings.model_validate(data, strict=False))
    assert closed(model) <= 1e-12
    (joint,) = joints(model, "front left tie rod")
    assert math.dist(joint.point_first, joint.point_second) == pytest.approx(design + 0.005, abs=1e-12)
    left, right = model.wheels[0], model.wheels[1]
    assert -left.axis[0] == pytest.approx(-0.005 / 0.125, rel=0.3), "rod behind the axle: longer is toe-in"
    assert right.axis == pytest.approx(-MIRROR @ left.axis, abs=1e-9)
    assert [left.centre[2], right.centre[2]] == pytest.approx([0.31, 0.31], abs=1e-9)
    assert_same(model.bodies[9], build(settings).bodies[9])


def test_moving_a_unit_leaves_distances_within_its_bodies_as_they_are(sedan: Model) -> None:
    unit = Unit("arm", (2,), (), (), -1)
    shift, turn = np.array([[0.01, -0.02, 0.03]]), np.array([[0.3, -0.2, 0.4]])
    away = moved(sedan, unit, shift, turn)
    (before,), (after,) = (joints(each, "front left lower arm ball joint") for each in (sedan, away))
    arm_before, arm_after = sedan.bodies[2], away.bodies[2]
    lever = Rotation.from_rotvec(turn[0]).apply(before.point_first - arm_before.centre)
    assert after.point_first - arm_after.centre == pytest.approx(lever, abs=1e-14)
    assert after.point_second.tolist() == before.point_second.tolist()
    principal = np.linalg.eigvalsh(arm_after.inertia)
    assert principal == pytest.approx(np.linalg.eigvalsh(arm_before.inertia), abs=1e-14)
