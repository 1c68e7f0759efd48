"""Vehicle files that are refused: every mistake at its place, with its name and by how much."""

from __future__ import annotations

from pathlib import Path

import pytest

from mastd.errors import UsageError
from mastd.settings.core.export import as_json
from mastd.settings.core.loader import load_text
from mastd.settings.vehicle.vehicle import VehicleSettings
from mastd.vehicle.model import library
from tests.support.vehicle.refusals import refused_vehicle, wrong_lines
from tests.support.vehicle.texts import CAB, CUSTOM, PIVOT, SEDAN, changed, position

Change = tuple[str, str]

LOWER_ARM = "[0.06 kg m2, 0.06 kg m2, 0.11 kg m2]"
ARM = """      arm:
        mass: 14 kg
"""
EXTRA = """      extra:
        mass: 1 kg
        centre_of_mass: [-2600 mm, 650 mm, 315 mm]
        inertia: [0.3 kg m2, 0.6 kg m2, 0.7 kg m2]
"""


def in_sedan(*changes: Change) -> str:
    return changed(SEDAN, *changes)


def in_custom(*changes: Change) -> str:
    return changed(CUSTOM, *changes)


HARDPOINTS = {
    "missing": (
        in_sedan(("      lower_arm_outer: [5 mm, 735 mm, 195 mm]\n", "")),
        "hardpoints:",
        "axles[0].hardpoints.lower_arm_outer: key 'lower_arm_outer' is missing (Ball joint between lower arm "
        "and knuckle)",
    ),
    "misspelt": (
        in_sedan(("lower_arm_outer: [5", "lower_arm_otuer: [5")),
        "hardpoints:",
        "axles[0].hardpoints.lower_arm_outer: key 'lower_arm_outer' is missing (Ball joint between lower arm "
        "and knuckle), did you mean 'lower_arm_otuer'?",
    ),
    "given-twice": (
        in_sedan(
            ("      spring_lower: [0 mm", "      wheel_centre : [0 mm, 1 m, 1 m]\n      spring_lower: [0 mm")
        ),
        "wheel_centre :",
        "axles[0].hardpoints.wheel_centre: key 'wheel_centre' is defined twice, first in line 23; keep one "
        "of the two",
    ),
    "two-at-one-place": (
        in_sedan(("lower_arm_rear: [-200 mm, 400 mm, 225 mm]", "lower_arm_rear: [120 mm, 390 mm, 220 mm]")),
        "lower_arm_rear: [120",
        "axles[0].hardpoints.lower_arm_rear: coincides with 'lower_arm_front', the axis of joint "
        "'lower_arm_bearings' needs two points",
    ),
    "rod-of-no-length": (
        in_sedan(
            ("tie_rod_outer: [-2940 mm, 730 mm, 260 mm]", "tie_rod_outer: [-2945 mm, 395 mm, 272.05 mm]")
        ),
        "tie_rod_outer: [-2945",
        "axles[1].hardpoints.tie_rod_outer: lies 0.05 mm from 'tie_rod_inner', the rod of joint 'tie_rod' "
        "needs two points",
    ),
    "spring-of-no-length": (
        in_sedan(("spring_upper: [-10 mm, 540 mm, 640 mm]", "spring_upper: [0 mm, 620 mm, 215 mm]")),
        "spring_lower: [0",
        "axles[0].hardpoints.spring_lower: coincides with 'spring_upper', spring 'coil' needs two points",
    ),
    "unused": (
        in_sedan(
            ("      spring_lower: [0 mm", "      bar_link: [0 mm, 5 mm, 5 mm]\n      spring_lower: [0 mm")
        ),
        "bar_link: [0",
        "axles[0].hardpoints.bar_link: no joint, spring or bar uses hardpoint 'bar_link', remove it",
    ),
    "unknown-in-spring": (
        in_sedan(("points: [spring_upper, spring_lower]", "points: [spring_uper, spring_lower]")),
        "spring_uper",
        "axles[0].springs.coil.points[0]: no hardpoint 'spring_uper', did you mean 'spring_upper'?",
    ),
    "unknown-in-axis": (
        in_custom(("axis: [pivot_inner, pivot_outer]", "axis: [pivot_inner, pivot_oter]")),
        "pivot_oter",
        "axles[1].joints.pivot.axis[1]: no hardpoint 'pivot_oter', did you mean 'pivot_outer'?",
    ),
    "not-a-name": (
        in_custom(("      pivot_inner: [", "      Pivot Inner: [")),
        "Pivot Inner",
        "axles[1].hardpoints.Pivot Inner: 'Pivot Inner' is not a valid name: a-z, 0-9 and _, at most 40, a "
        "letter first",
    ),
}

SIDES = {
    "wheel-on-the-right": (
        in_sedan(("wheel_centre: [0 mm, 790 mm", "wheel_centre: [0 mm, -790 mm")),
        "wheel_centre: [0 mm, -790",
        "axles[0].hardpoints.wheel_centre: the wheel has this point at y = -790 mm, on the left side y "
        "must be "
        "above 0",
    ),
    "outer-point-on-the-right": (
        in_sedan(("upper_arm_outer: [-2810 mm, 690", "upper_arm_outer: [-2810 mm, -690")),
        "upper_arm_outer: [-2810",
        "axles[1].hardpoints.upper_arm_outer: body 'knuckle', which carries the wheel, has this point at "
        "y = -690 "
        "mm, on the left side y must be above 0",
    ),
    "knuckle-on-the-right": (
        in_sedan(("centre_of_mass: [-10 mm, 710 mm", "centre_of_mass: [-10 mm, -710 mm")),
        "centre_of_mass: [-10 mm, -710",
        "axles[0].knuckle.centre_of_mass: lies at y = -710 mm, on the left side y must be above 0",
    ),
    "no-mirror-image": (
        in_sedan(
            (
                "    lower_arm:",
                "    right_hardpoints: {lower_arm_outer: [5 mm, -735 mm, 207 mm]}\n    lower_arm:",
            )
        ),
        "lower_arm_outer: [5 mm, -735",
        "axles[0].right_hardpoints.lower_arm_outer: lies 12 mm from the mirror image of the left point, "
        "[5 mm, "
        "-735 mm, 195 mm]",
    ),
    "nothing-on-the-left": (
        in_sedan(
            (
                "    lower_arm:",
                "    right_hardpoints: {lower_arm_oter: [5 mm, -735 mm, 195 mm]}\n    lower_arm:",
            )
        ),
        "lower_arm_oter",
        "axles[0].right_hardpoints.lower_arm_oter: the left side has no hardpoint 'lower_arm_oter', did "
        "you mean "
        "'lower_arm_outer'?",
    ),
    "rear-in-front": (
        in_sedan(("wheel_centre: [-2800 mm", "wheel_centre: [2800 mm")),
        "wheel_centre: [2800",
        "axles[1].hardpoints.wheel_centre: at x = 2800 mm does not lie behind the axle before it, at 0 "
        "mm; "
        "expected axles in order from front to rear",
    ),
}

BODIES = {
    "negative-mass": (
        in_sedan(("mass: 6 kg", "mass: -6 kg")),
        "-6 kg",
        "axles[0].lower_arm.mass: -6 kg is out of range: must be above 0 kg",
    ),
    "triangle": (
        in_sedan((LOWER_ARM, "[0.06 kg m2, 0.02 kg m2, 0.11 kg m2]")),
        "inertia: [0.06 kg m2, 0.02",
        "axles[0].lower_arm.inertia: no body has this inertia: the largest moment of inertia, 0.11 kg m2, "
        "exceeds "
        "the sum of the other two by 0.03 kg m2",
    ),
    "not-positive-definite": (
        in_sedan((LOWER_ARM, f"{LOWER_ARM}\n      products_of_inertia: [0.07 kg m2, 0 kg m2, 0 kg m2]")),
        "products_of_inertia",
        "axles[0].lower_arm.products_of_inertia: no body has this inertia: the least principal moment of "
        "inertia is "
        "-0.01 kg m2, not above 0",
    ),
    "triangle-of-principal-moments": (
        in_sedan((LOWER_ARM, f"{LOWER_ARM}\n      products_of_inertia: [0 kg m2, 0.02 kg m2, 0 kg m2]")),
        "products_of_inertia",
        "axles[0].lower_arm.products_of_inertia: no body has this inertia: the largest principal moment "
        "of inertia, "
        "0.117016 kg m2, exceeds the sum of the other two by 0.00403124 kg m2",
    ),
    "wheel-triangle": (
        in_sedan(("axial_inertia: 1.2", "axial_inertia: 1.5")),
        "0.7 kg m2",
        "axles[0].wheel.transverse_inertia: no body has this inertia: the largest moment of inertia, 1.5 "
        "kg m2, "
        "exceeds the sum of the other two by 0.1 kg m2",
    ),
    "joined-to-nothing": (
        in_custom((ARM, EXTRA + ARM)),
        "extra:",
        "axles[1].bodies.extra: body 'extra' is not connected, give it a joint or a spring",
    ),
    "name-taken": (
        in_custom((ARM, EXTRA.replace("extra", "chassis") + ARM)),
        "chassis:\n        mass: 1 kg",
        "axles[1].bodies.chassis: 'chassis' is the name of another body, choose a name of its own",
    ),
}

CONNECTIONS = {
    "joint-to-itself": (
        in_custom(("bodies: [chassis, arm], axis", "bodies: [arm, arm], axis")),
        "bodies: [arm, arm]",
        "axles[1].joints.pivot.bodies: joint 'pivot' is between 'arm' and itself, it needs two bodies",
    ),
    "spring-to-itself": (
        in_sedan(("bodies: [chassis, lower_arm]", "bodies: [lower_arm, lower_arm]")),
        "bodies: [lower_arm, lower_arm]",
        "axles[0].springs.coil.bodies: spring 'coil' is between 'lower_arm' and itself, it needs two bodies",
    ),
    "unknown-body": (
        in_custom(("bodies: [chassis, arm], axis", "bodies: [chasis, arm], axis")),
        "chasis, arm",
        "axles[1].joints.pivot.bodies[0]: no body 'chasis', did you mean 'chassis'?",
    ),
    "spring-of-no-corner": (
        in_sedan(("bodies: [chassis, lower_arm]", "bodies: [chassis, rack]")),
        "bodies: [chassis, rack]",
        "axles[0].springs.coil.bodies: spring 'coil' is joined to no body of the left side, it belongs "
        "elsewhere",
    ),
    "unknown-joint": (
        in_custom(("kind: revolute", "kind: revolut")),
        "revolut,",
        "axles[1].joints.pivot.kind: 'revolut': expected one of spherical, revolute, prismatic, universal, "
        "distance, "
        "dot_1, dot_2, did you mean 'revolute'?",
    ),
    "axis-without-a-place": (
        in_custom(("axis: [pivot_inner, pivot_outer]", "axis: [0, 1, 0]")),
        "pivot:",
        "axles[1].joints.pivot: give point or points: this axis has no hardpoints to take the middle of",
    ),
    "axis-without-a-direction": (
        in_custom(("axis: [pivot_inner, pivot_outer]", "axis: [0, 0, 0], point: pivot_inner")),
        "axis: [0, 0, 0]",
        "axles[1].joints.pivot.axis: this vector has no direction, one of its numbers must differ from 0",
    ),
    "unknown-carrier": (
        in_custom(("carrier: arm", "carrier: ram")),
        "ram\n",
        "axles[1].carrier: no body 'ram' of the left side, did you mean 'arm'?",
    ),
    "bar-on-the-chassis": (
        in_custom(
            (
                "    carrier",
                "    anti_roll_bar: {body: chassis, point: spring_lower, stiffness: 9 N/mm}\n    carrier",
            )
        ),
        "chassis, point",
        "axles[1].anti_roll_bar.body: no body 'chassis' of the left side, known: arm",
    ),
    "no-rack": (
        in_sedan(
            ("tie_rod: {to: rack}", "tie_rod: {to: chassis}"),
            ("    tie_rod: {to: chassis}\n    wheel", "    tie_rod: {to: rack}\n    wheel"),
        ),
        "rack}\n    wheel:",
        "axles[1].tie_rod.to: this axle has no rack, give it one or join the tie rod to the chassis",
    ),
}

SPRINGS = {
    "falling-force": (
        in_sedan(
            ("damping: 4500 N s/m", "damper: [[-1 m/s, -99 N], [0 m/s, 0 N], [0.5 m/s, 98 N], [1 m/s, 90 N]]")
        ),
        "90 N]]",
        "axles[0].springs.coil.damper[3][1]: 90 N does not lie above the 98 N before it, it must rise",
    ),
    "falling-velocity": (
        in_sedan(("damping: 4500 N s/m", "damper: [[-1 m/s, -99 N], [0 m/s, 0 N], [-0.5 m/s, 90 N]]")),
        "-0.5 m/s",
        "axles[0].springs.coil.damper[2][0]: -0.5 m/s does not lie above the 0 m/s before it",
    ),
    "force-at-rest": (
        in_sedan(("damping: 4500 N s/m", "damper: [[-1 m/s, -99 N], [1 m/s, 90 N]]")),
        "damper:",
        "axles[0].springs.coil.damper: has no point [0 m/s, 0 N]: a damper at rest makes no force",
    ),
    "bump-stop-beyond-the-spring": (
        in_sedan(("damping: 4500 N s/m", "bump_stop: {gap: 450 mm, stiffness: 60 N/mm}")),
        "450 mm",
        "axles[0].springs.coil.bump_stop.gap: is 450 mm, the spring is only 432.6 mm long in the design "
        "position",
    ),
    "preload-without-stiffness": (
        in_sedan(("stiffness: 60 N/mm", "stiffness: 0 N/mm")),
        "5700 N",
        "axles[0].springs.coil.preload: is 5700 N without a stiffness, a preload needs a spring that "
        "carries it",
    ),
    "no-free-length": (
        in_sedan(("preload: 5700 N", "preload: -30 kN")),
        "-30 kN",
        "axles[0].springs.coil.preload: with this tension at design length the spring has no length "
        "without force",
    ),
}

MOBILITY = {
    "under-constrained": (
        in_custom(
            (PIVOT, "      pivot: {kind: spherical, bodies: [chassis, arm], point: pivot_outer}\n"),
            ("      pivot_inner: [-2400 mm, 400 mm, 330 mm]\n", ""),
        ),
        "arm:\n        mass: 14",
        "axles[1].bodies.arm: rear left: under-constrained by 2, 'rear left arm' can move in 2 ways; add "
        "a joint that "
        "holds it",
    ),
    "over-constrained-redundant": (
        in_custom(
            (
                PIVOT,
                f"{PIVOT}      guide: {{kind: dot_1, bodies: [chassis, arm], axes: [[0, 1, 0], [1, 0, "
                f"0]]}}\n",
            )
        ),
        "pivot: {",
        "axles[1].joints.pivot: rear left: over-constrained by 1, 1 of 6 equations repeats others: 'rear "
        "left pivot' "
        "and 'rear left guide'",
    ),
    "over-constrained-locked": (
        in_custom(
            (
                PIVOT,
                f"{PIVOT}      rod: {{kind: distance, bodies: [chassis, arm], points: [spring_upper, "
                f"wheel_centre]}}\n",
            )
        ),
        "pivot: {",
        "axles[1].joints.pivot: rear left: over-constrained by 1, the wheel cannot travel: 6 equations "
        "for 6 coordinates "
        "(rear left pivot 5, rear left rod 1); leave out one",
    ),
    "no-travel": (
        in_custom(
            (
                PIVOT,
                "      pivot: {kind: prismatic, bodies: [chassis, arm], axis: [pivot_inner, pivot_outer]}\n",
            )
        ),
        "pivot: {",
        "axles[1].joints.pivot: rear left: the wheel cannot travel up and down, the one freedom left is "
        "that 'rear left "
        "arm' can move along [0.00, 1.00, 0.00]",
    ),
    "no-spring": (
        in_custom(("        stiffness: 40 N/mm\n        preload: 4000 N\n", "        damping: 4 kN s/m\n")),
        "arm:\n        mass: 14",
        "axles[1].bodies.arm: rear left: the one freedom is held by no spring, 'rear left arm' can turn "
        "about [0.00, "
        "1.00, 0.00]",
    ),
    "nearly-singular": (
        in_sedan(("upper_arm_outer: [-20 mm, 690 mm, 575 mm]", "upper_arm_outer: [5 mm, 735 mm, 195.4 mm]")),
        "name: front",
        "axles[0]: front left: nearly singular, condition 5.16e+03, at most 1000: 'front left upper arm "
        "ball joint' and "
        "'front left lower arm ball joint' hardly hold it, 'front left knuckle' can turn about [-0.04, "
        "1.00, 0.00]",
    ),
    "singular": (
        in_sedan(
            ("upper_arm_outer: [-20 mm, 690 mm, 575 mm]", "upper_arm_outer: [5 mm, 735 mm, 195 mm]"),
            ("tie_rod_outer: [-130 mm, 730 mm, 250 mm]", "tie_rod_outer: [5 mm, 735 mm, 195 mm]"),
        ),
        "name: front",
        "axles[0]: front left: singular in the design position, 2 of 17 equations repeat others: 'front "
        "left lower arm "
        "bearings', 'front left upper arm bearings', 'front left tie rod' and 'front left lower arm ball "
        "joint'; and "
        "'front left knuckle' can move in 2 ways",
    ),
    "unassemblable-distance": (
        in_custom(
            (
                PIVOT,
                f"{PIVOT}      rod: {{kind: distance, bodies: [chassis, arm], points: [spring_upper, "
                f"wheel_centre], length: 3 m}}\n",
            )
        ),
        "rod: {kind",
        "axles[1].joints.rod: rear left: cannot be assembled, 'rear left rod' stays open by 1512 mm at best",
    ),
    "unassemblable-points": (
        in_custom(
            (
                "    carrier",
                "      stay: {kind: spherical, bodies: [chassis, arm], points: [pivot_outer, mate]}\n    "
                "carrier",
            ),
            (
                "      spring_lower: [-2750",
                "      mate: [-2400 mm, 720 mm, 330 mm]\n      spring_lower: [-2750",
            ),
        ),
        "pivot: {",
        "axles[1].joints.pivot: rear left: cannot be assembled, 'rear left pivot' stays open by 10 mm at "
        "best",
    ),
    "cab-held-by-too-few-springs": (
        CUSTOM
        + CAB.replace(
            "      side: {bodies: [chassis, cab], points: [lateral, left_upper], stiffness: 90 N/mm}\n", ""
        ).replace("      lateral: [-100 mm, 900 mm, 1100 mm]\n", ""),
        "cab:\n        mass",
        "groups.cab.bodies.cab: cab: 1 of 3 freedoms are held by no spring, 'cab' can turn about [0.00, "
        "0.00, 1.00]",
    ),
}


@wrong_lines(HARDPOINTS | SIDES | BODIES | CONNECTIONS | SPRINGS | MOBILITY)
def test_a_wrong_line_is_reported_at_its_position(text: str, part: str, message: str, tmp_path: Path) -> None:
    assert refused_vehicle(tmp_path, text) == [f"{position(text, part)}: {message}"]


def test_bodies_that_are_joined_only_to_each_other_are_refused(tmp_path: Path) -> None:
    pair = "      pair: {kind: spherical, bodies: [extra, other], point: spring_lower}\n"
    text = in_custom((ARM, EXTRA + EXTRA.replace("extra", "other") + ARM), (PIVOT, PIVOT + pair))
    lines = [line.split(": ", 2)[2] for line in refused_vehicle(tmp_path, text)]
    assert lines == [
        "body 'extra' is joined only to other, and nothing joins these to the chassis",
        "body 'other' is joined only to extra, and nothing joins these to the chassis",
    ]


def test_products_of_inertia_that_a_body_can_have_are_read() -> None:
    text = in_sedan((LOWER_ARM, f"{LOWER_ARM}\n      products_of_inertia: [4e-2 kg m2, 0 kg m2, 0 kg m2]"))
    vehicle = load_text(text, "vehicle.yaml", VehicleSettings)
    tensor = vehicle.axles[0].expanded().bodies["lower_arm"].tensor()
    assert tensor.tolist() == [[0.06, -0.04, 0.0], [-0.04, 0.06, 0.0], [0.0, 0.0, 0.11]]


def test_all_mistakes_are_told_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    text = in_sedan(
        ("mass: 1350 kg", "mass: -1350 kg"),
        ("lower_arm_rear: [-200 mm, 400 mm, 225 mm]", "lower_arm_rear: [120 mm, 390 mm, 220 mm]"),
        ("wheel_centre: [0 mm, 790 mm", "wheel_centre: [0 mm, -790 mm"),
        ("bodies: [chassis, lower_arm]", "bodies: [chassis, lower_amr]"),
        ("tie_rod: {to: chassis}", "tie_rod: {to: rack}"),
        ("stiffness: 58 N/mm", "stiffness: 58"),
    )
    found = refused_vehicle(tmp_path, text)
    assert [line.split(": ")[1] for line in found] == [
        "chassis.mass",
        "axles[0].hardpoints.wheel_centre",
        "axles[0].hardpoints.lower_arm_rear",
        "axles[0].springs.coil.bodies[1]",
        "axles[1].tie_rod.to",
        "axles[1].springs.coil.stiffness",
    ]


def test_units_that_cannot_move_are_told_at_once(tmp_path: Path) -> None:
    rod = "      rod: {kind: distance, bodies: [chassis, arm], points: [spring_upper, wheel_centre]}\n"
    text = in_custom(
        ("upper_arm_outer: [-20 mm, 690 mm, 575 mm]", "upper_arm_outer: [5 mm, 735 mm, 195.4 mm]"),
        (PIVOT, PIVOT + rod),
    )
    assert [line.split(": ")[1] for line in refused_vehicle(tmp_path, text)] == [
        "axles[0]",
        "axles[1].joints.pivot",
    ]


@pytest.mark.parametrize("axles", [1, 13])
def test_a_vehicle_has_2_to_12_axles(axles: int, tmp_path: Path) -> None:
    start = SEDAN.index("  - name: front")
    end = SEDAN.index("  - name: rear")
    text = SEDAN[:start] + SEDAN[start:end] * axles
    assert any("axles: " in line and str(axles) in line for line in refused_vehicle(tmp_path, text))


def test_two_axles_of_one_name_are_refused(tmp_path: Path) -> None:
    text = in_sedan(("name: rear", "name: front"))
    assert refused_vehicle(tmp_path, text) == [
        "70:11: axles[1].name: 'front' is the name of axles[0] already",
    ]


def test_a_vehicle_is_found_by_name_and_a_wrong_name_gets_a_hint() -> None:
    assert library.names() == [
        "benchmark_sedan",
        "mcpherson_hatchback",
        "quarter_car",
        "sedan",
        "transporter_8_axles",
        "transporter_8x8",
    ]
    for name in library.names():
        library.find(name)
    with pytest.raises(UsageError, match="no such vehicle, did you mean benchmark_sedan"):
        library.find("benchmark_sedn")
    with pytest.raises(UsageError, match="no such vehicle file"):
        library.find("not/there.yaml")


@pytest.mark.parametrize("name", library.names())
def test_plain_json_reads_back_to_an_equal_object(name: str) -> None:
    vehicle = library.settings(name)
    assert VehicleSettings.model_validate(as_json(vehicle), strict=False) == vehicle
    assert VehicleSettings.model_validate_json(vehicle.model_dump_json()) == vehicle
