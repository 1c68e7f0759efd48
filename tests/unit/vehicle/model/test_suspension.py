"""Suspension kinematics against plane geometry, symmetry and the definitions of ISO 8855."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mastd.arrays import FloatArray
from mastd.vehicle.elements.spring_damper.element import SpringDamper
from mastd.vehicle.joints.primitive import Primitive, PrimitiveKind
from mastd.vehicle.kinematics.linkage import Linkage, LinkageError, Pose, WheelHeight, design_pose
from mastd.vehicle.kinematics.suspension import AxleKinematics, suspension_kinematics
from mastd.vehicle.model.definition import Axle, Body, Corner, Model, Wheel
from mastd.vehicle.model.library import find
from mastd.vehicle.state.motion import design_state
from mastd.vehicle.tyres.linear_tyre import Tyre
from tests.support.vehicle.benchmark import distance, revolute, spherical
from tests.support.vehicle.oracle import Oracle
from tests.support.vehicle.variants import equipped, with_last_axle_repeated, with_stops
from tests.unit.vehicle.equations.test_oracle import any_motion

TYRE = Tyre(0.33, 0.32, 200e3, 0.0, 20.0, 15.0, 1.0)
X = np.array([1.0, 0.0, 0.0])


def plane_axle(upper_in: tuple[float, float], upper_out: tuple[float, float]) -> Model:
    """Return an axle whose corners move in the y-z plane, with (y, z) of the left upper arm.

    The lower arm goes from y = 0.4 to 0.7 at z = 0.2; the toe link lies level with it, further ahead. The
    spring stands upright on the arm, half way out.
    """
    bodies = [Body("chassis", 1000.0, np.array([0.0, 0.0, 0.5]), np.eye(3))]
    primitives: list[Primitive] = []
    springs: list[SpringDamper] = []
    wheels: list[Wheel] = []
    corners: list[Corner] = []
    for number, (name, side) in enumerate((("left", 1.0), ("right", -1.0))):

        def at(x: float, y: float, z: float, sign: float = side) -> FloatArray:
            return np.array([x, sign * y, z])

        first_body, first_primitive = len(bodies), len(primitives)
        lower, upper, knuckle = first_body, first_body + 1, first_body + 2
        for part, centre in (
            ("lower", at(0, 0.55, 0.2)),
            ("upper", at(0, 0.6, 0.45)),
            ("knuckle", at(0, 0.72, 0.3)),
        ):
            bodies.append(Body(f"{name} {part}", 5.0, centre, 0.1 * np.eye(3)))
        for arm, (y, z), (out_y, out_z) in (
            (lower, (0.4, 0.2), (0.7, 0.2)),
            (upper, upper_in, upper_out),
        ):
            hinge = (at(0.1, y, z), at(-0.1, y, z))
            primitives.extend(revolute(0, arm, hinge, f"{name} hinge"))
            primitives.extend(spherical(arm, knuckle, at(0.0, out_y, out_z), f"{name} ball joint"))
        primitives.extend(distance(0, knuckle, (at(0.15, 0.4, 0.2), at(0.15, 0.7, 0.2)), f"{name} toe link"))
        springs.append(
            SpringDamper(
                f"{name} spring",
                0,
                lower,
                at(0.0, 0.55, 0.6),
                at(0.0, 0.55, 0.2),
                30e3,
                0.45,
                0.0,
            )
        )
        wheels.append(
            Wheel(name, knuckle, at(0.0, 0.75, 0.3), np.array([0.0, 1.0, 0.0]), 15.0, 1.0, 0.6, TYRE)
        )
        corners.append(
            Corner(
                name,
                (lower, upper, knuckle),
                tuple(range(first_primitive, len(primitives))),
                (number,),
                number,
                0,
            )
        )
    return Model(
        name="plane",
        gravity=9.81,
        bodies=tuple(bodies),
        primitives=tuple(primitives),
        springs=tuple(springs),
        bars=(),
        wheels=tuple(wheels),
        corners=tuple(corners),
        axles=(Axle("only", (), (), (), -1, (0, 1)),),
        drives=(),
    )


@pytest.fixture(scope="module")
def sedan() -> Model:
    return find("benchmark_sedan")


@pytest.fixture(scope="module")
def axles(sedan: Model) -> tuple[AxleKinematics, ...]:
    return suspension_kinematics(sedan, np.linspace(-0.06, 0.06, 13), np.linspace(-0.06, 0.06, 13))


def test_parallel_equal_arms_keep_the_wheel_upright() -> None:
    """The knuckle goes round a circle of the arms' length without turning."""
    model = plane_axle((0.4, 0.5), (0.7, 0.5))
    travel = np.linspace(-0.1, 0.1, 9)
    (axle,) = suspension_kinematics(model, travel)
    sweep, length = axle.travel, 0.3
    inward = length - np.sqrt(length**2 - travel**2)
    np.testing.assert_allclose(sweep.camber, 0.0, atol=1e-10)
    np.testing.assert_allclose(sweep.toe, 0.0, atol=1e-10)
    np.testing.assert_allclose(sweep.recession, 0.0, atol=1e-10)
    np.testing.assert_allclose(sweep.track_change, -2.0 * inward, atol=1e-10)
    np.testing.assert_allclose(sweep.track, 1.5 - 2.0 * inward, atol=1e-10)
    # The spring's foot is half way out on the arm.
    foot = np.stack([0.4 + 0.5 * (length - inward), 0.2 + 0.5 * travel], axis=1)
    spring = np.hypot(0.55 - foot[:, 0], 0.6 - foot[:, 1])
    np.testing.assert_allclose(sweep.spring_length, np.stack([spring, spring], axis=1), atol=1e-10)
    ratio = ((0.6 - foot[:, 1]) * 0.5 - (0.55 - foot[:, 0]) * 0.5 * travel / (length - inward)) / spring
    np.testing.assert_allclose(sweep.motion_ratio, np.stack([ratio, ratio], axis=1), atol=1e-9)
    assert axle.steer == ()


def test_unequal_arms_follow_the_plane_four_bar() -> None:
    upper_in, upper_out = np.array([0.45, 0.48]), np.array([0.66, 0.5])
    model = plane_axle((0.45, 0.48), (0.66, 0.5))
    (axle,) = suspension_kinematics(model, np.linspace(-0.08, 0.08, 9))
    lower_in, lower_out, centre = np.array([0.4, 0.2]), np.array([0.7, 0.2]), np.array([0.75, 0.3])
    upper_length = np.linalg.norm(upper_out - upper_in)
    coupler = np.linalg.norm(upper_out - lower_out)

    def stand(angle: float) -> tuple[float, FloatArray]:
        """Return turn of the knuckle and wheel centre at a lower arm's angle: two circles meet."""
        ball = lower_in + 0.3 * np.array([np.cos(angle), np.sin(angle)])
        between = upper_in - ball
        gap = np.linalg.norm(between)
        along = (coupler**2 - upper_length**2 + gap**2) / (2 * gap)
        beside = np.sqrt(coupler**2 - along**2)
        normal = np.array([between[1], -between[0]]) / gap
        upper = ball + along * between / gap + beside * normal
        now, before = upper - ball, upper_out - lower_out
        turn = np.arctan2(now[1], now[0]) - np.arctan2(before[1], before[0])
        matrix = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
        return float(turn), ball + matrix @ (centre - lower_out)

    angles = np.linspace(-0.45, 0.45, 2001)
    table = np.array([[*stand(angle)[1], stand(angle)[0]] for angle in angles])
    heights = table[:, 1] - centre[1]
    sweep = axle.travel
    # A turn from y to z tips the left wheel's top inward: negative camber.
    camber = -np.interp(sweep.travel[:, 0], heights, table[:, 2])
    np.testing.assert_allclose(sweep.camber, np.stack([camber, camber], axis=1), atol=1e-6)
    assert np.ptp(camber) > 0.02
    sideways = np.interp(sweep.travel[:, 0], heights, table[:, 0])
    np.testing.assert_allclose(sweep.centre[:, 0, 1], sideways, atol=1e-6)
    # The contact centre is 0.3 m below the wheel's centre, in the wheel's own plane.
    contact = sideways - 0.3 * np.sin(camber)
    np.testing.assert_allclose(sweep.track_change, 2.0 * (contact - 0.75), atol=1e-6)


def test_left_and_right_are_mirror_images(axles: tuple[AxleKinematics, ...]) -> None:
    for axle in axles:
        sweep = axle.travel
        for values in (sweep.camber, sweep.toe, sweep.recession, sweep.motion_ratio, sweep.spring_length):
            np.testing.assert_allclose(values[:, 0], values[:, 1], atol=1e-9)
        np.testing.assert_allclose(sweep.steer[:, 0], -sweep.steer[:, 1], atol=1e-9)


def test_a_mirrored_rack_gives_mirrored_steer(axles: tuple[AxleKinematics, ...]) -> None:
    (sweep,) = axles[0].steer
    np.testing.assert_allclose(sweep.steer, -sweep.steer[::-1, ::-1], atol=1e-9)
    for values in (sweep.camber, sweep.castor, sweep.kingpin_inclination, sweep.kingpin_offset):
        np.testing.assert_allclose(values, values[::-1, ::-1], atol=1e-9)
    np.testing.assert_allclose(sweep.ackermann[:6], sweep.ackermann[:6:-1], atol=1e-7)
    # Behind the axle: the rack to the left steers to the right. Ackermann: the inner wheel steers more.
    assert np.all(np.diff(sweep.steer, axis=0) < 0.0)
    assert np.all(np.abs(sweep.steer[-1]) > np.radians(25.0))
    assert abs(sweep.steer[-1, 1]) > abs(sweep.steer[-1, 0])
    assert np.nanmin(sweep.ackermann) > 0.0
    np.testing.assert_allclose(sweep.travel, 0.0, atol=1e-10)
    assert axles[1].steer == ()


def test_in_the_design_position_everything_is_as_drawn(axles: tuple[AxleKinematics, ...]) -> None:
    """Kingpin: the line through the ball joints (-20, 690, 575) and (5, 735, 195) mm."""
    sweep = axles[0].travel
    middle = len(sweep.rack) // 2
    for found in (sweep, axles[1].travel):
        for values in (found.camber, found.toe, found.recession, found.travel, found.track_change[:, None]):
            np.testing.assert_allclose(values[middle], 0.0, atol=1e-10)
        np.testing.assert_allclose(np.diff(found.recession, axis=0), -np.diff(found.centre[..., 0], axis=0))
        np.testing.assert_array_equal(found.toe, found.steer * [-1.0, 1.0])
    np.testing.assert_allclose(sweep.castor[middle], np.arctan(25.0 / 380.0), atol=1e-6)
    np.testing.assert_allclose(sweep.kingpin_inclination[middle], np.arctan(45.0 / 380.0), atol=1e-6)
    share = 195.0 / 380.0
    np.testing.assert_allclose(sweep.castor_offset[middle], 0.005 + 0.025 * share, atol=1e-6)
    np.testing.assert_allclose(sweep.kingpin_offset[middle], 0.79 - 0.735 - 0.045 * share, atol=1e-6)
    assert sweep.track[middle] == pytest.approx(1.58)
    # Short upper arms: the wheel's top comes in in bump. No rack, no kingpin at the rear.
    assert np.all(np.diff(sweep.camber, axis=0) < 0.0)
    assert np.all(np.isnan(axles[1].travel.castor))


def test_motion_ratio_is_the_slope_of_the_springs_length(sedan: Model) -> None:
    travel = np.linspace(-0.04, 0.04, 81)
    for axle in suspension_kinematics(sedan, travel, np.zeros(1)):
        slopes = -np.gradient(axle.travel.spring_length[:, 0], travel, edge_order=2)
        np.testing.assert_allclose(axle.travel.motion_ratio[:, 0], slopes, atol=1e-6)


def test_the_equations_of_a_linkage_are_those_of_the_joints(sedan: Model) -> None:
    """In any position, open as it may be, against the independent ones; all but the chassis moves."""
    random = np.random.default_rng(8)
    further = [
        Primitive(kind, 3, 4, p, q, u, v, 0.4, -1, "further")
        for kind in (PrimitiveKind.DOT_1, PrimitiveKind.DOT_2, PrimitiveKind.DISTANCE)
        for p, q, u, v in [random.standard_normal((4, 3))]
    ]
    model = replace(sedan, primitives=(*sedan.primitives, *further))
    linkage = Linkage(model, range(1, len(model.bodies)), range(len(model.primitives)))
    state, oracle = any_motion(model), Oracle(model)
    state.position[0], state.attitude[0] = model.bodies[0].centre, [1.0, 0.0, 0.0, 0.0]
    gap, jacobian = linkage.joints(Pose(state.position, state.attitude), np.array([0.02]))
    expected = oracle.constraints(state, np.array([[0.02, 0.0, 0.0]]))[0]
    np.testing.assert_allclose(gap, expected, atol=1e-12)
    np.testing.assert_allclose(jacobian, oracle.joint_jacobian(state)[:, 6:-4], atol=1e-12)


def test_the_rows_of_a_linkage_have_no_negative_zero(sedan: Model) -> None:
    """Least squares round by a zero's sign: a negative one changes the last digits of steering tables."""
    linkage = Linkage(sedan, range(1, len(sedan.bodies)), range(len(sedan.primitives)))
    _, jacobian = linkage.joints(design_pose(sedan), np.array([0.0]))
    assert not np.any(np.signbit(jacobian[jacobian == 0.0]))


def test_joints_are_closed_where_the_wheels_should_be(sedan: Model) -> None:
    bodies = range(1, len(sedan.bodies))
    linkage = Linkage(sedan, bodies, range(len(sedan.primitives)))
    heights = [WheelHeight(index) for index in range(4)]
    targets = np.array([0.35, 0.30, 0.28, 0.33])
    rack = np.array([0.01])
    pose = linkage.close(design_pose(sedan), rack, heights, targets)
    assert [linkage.measure(pose, height)[0] for height in heights] == pytest.approx(targets, abs=1e-10)
    oracle = Oracle(sedan)
    state = replace(
        design_state(sedan),
        position=pose.position,
        attitude=pose.attitude,
    )
    assert np.max(np.abs(oracle.constraints(state, np.array([[0.01, 0.0, 0.0]]))[0])) < 1e-10


def test_the_travel_ends_at_the_stops(sedan: Model) -> None:
    model = with_stops(sedan, 0.03, 0.02)
    for axle in suspension_kinematics(model, rack=np.zeros(1)):
        lengths = axle.travel.spring_length[:, 0]
        stop = model.springs[0 if axle.axle == "front" else 2]
        assert stop.bump_stop is not None
        assert stop.rebound_stop is not None
        assert lengths[0] == pytest.approx(stop.rebound_stop.contact_length, abs=1e-9)
        assert lengths[-1] == pytest.approx(stop.bump_stop.contact_length, abs=1e-9)
        assert axle.travel.travel[0, 0] < -0.02 / 0.7
        assert axle.travel.travel[-1, 0] > 0.03 / 0.7


def test_the_first_stop_of_an_axle_ends_its_travel(sedan: Model) -> None:
    near, far = with_stops(sedan, 0.02, 0.015), with_stops(sedan, 0.03, 0.03)
    mixed = replace(sedan, springs=(near.springs[0], far.springs[1], *far.springs[2:]))
    expected, _ = suspension_kinematics(near, rack=np.zeros(1))
    found, _ = suspension_kinematics(mixed, rack=np.zeros(1))
    np.testing.assert_allclose(found.travel.travel[[0, -1]], expected.travel.travel[[0, -1]], atol=1e-9)


def test_a_stop_that_touches_already_bounds_nothing(sedan: Model) -> None:
    front, _ = suspension_kinematics(equipped(sedan), rack=np.zeros(1))
    assert front.travel.travel[-1, 0] == pytest.approx(0.06)
    assert front.travel.travel[0, 0] < -0.06


def test_every_axle_is_swept(sedan: Model) -> None:
    model = with_last_axle_repeated(sedan, 1.2)
    third = suspension_kinematics(model, np.array([-0.02, 0.03]), np.zeros(1))[2]
    second = suspension_kinematics(sedan, np.array([-0.02, 0.03]), np.zeros(1))[1]
    np.testing.assert_allclose(third.travel.camber, second.travel.camber, atol=1e-10)
    assert third.axle == "axle 3"


def test_out_of_reach_is_said_with_place_and_joint(sedan: Model) -> None:
    with pytest.raises(LinkageError, match=r"axle front: cannot reach wheel travel .* mm: .* open by"):
        suspension_kinematics(sedan, np.array([0.0, 0.5]))
    with pytest.raises(LinkageError, match=r"axle front: .*rack \d+\.\d mm: front right tie rod stays open"):
        suspension_kinematics(sedan, np.zeros(1), np.array([0.0, 0.3]))


def test_a_broken_design_position_is_said(sedan: Model) -> None:
    """A tie rod half a metre too long cannot be put in."""
    rod = next(p for p in sedan.primitives if p.kind is PrimitiveKind.DISTANCE)
    longer = tuple(replace(p, length=p.length + 0.5) if p is rod else p for p in sedan.primitives)
    with pytest.raises(LinkageError, match=r"front left tie rod stays open by \d+ mm"):
        suspension_kinematics(replace(sedan, primitives=longer))
