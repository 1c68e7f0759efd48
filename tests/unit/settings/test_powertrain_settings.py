"""Powertrain files: what is read, and every mistake refused at its place."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mastd import units
from mastd.errors import SettingsError
from mastd.settings.core.loader import load_text
from mastd.settings.vehicle.powertrain import PowertrainSettings
from mastd.vehicle.powertrain.build import powertrain_of
from mastd.vehicle.powertrain.model import Clutch, Converter, Differential, LockUp, Powertrain, problems
from tests.support.vehicle.powertrain_rig import RPM
from tests.support.vehicle.refusals import refused
from tests.support.vehicle.texts import changed

CAR = """\
engine:
  inertia: 0.16 kg m2
  full_load:
    - [700 rpm, 100 N m]
    - [4000 rpm, 200 N m]
    - [6500 rpm, 150 N m]
  drag:
    - [0 rpm, -14 N m]
    - [6000 rpm, -44 N m]
  idle_speed: 800 rpm
  stall_speed: 350 rpm
  limit_speed: 6400 rpm
launch:
  kind: clutch
  capacity: 320 N m
gearbox:
  forward: [3.6, 2.0, 1.3]
  reverse: [-3.3]
  efficiency: 97 %
  input_inertia: 0.012 kg m2
  output_inertia: 0.01 kg m2
  synchroniser_torque: 35 N m
  changes:
    map:
      - [0 %, 2000 rpm, 1000 rpm]
      - [100 %, 6000 rpm, 2500 rpm]
    duration: 300 ms
    throttle_share: 30 %
shaft:
  stiffness: 1 kN m/rad
  damping: 2 N m s/rad
differentials:
  centre:
    drives: [front, rear]
    shares: [40 %, 60 %]
    lock: {kind: locked}
  front:
    axle: first
    ratio: 4
    efficiency: 96 %
    hub_ratio: 1.5
  rear:
    axle: second
    ratio: 4
    lock: {kind: limited_slip, preload: 50 N m, torque_share: 20 %}
"""

CONVERTER = """\
launch:
  kind: converter
  reference_speed: 2000 rpm
  characteristic:
    - [0, 200 N m, 2.0]
    - [0.8, 150 N m, 1.1]
    - [1, 0 N m, 1.0]
  lock_up: {capacity: 400 N m, open_speed: 1100 rpm}
"""

MAP = """\
  map:
    throttles: [0, 30 %, 1]
    speeds: [0 rpm, 3000 rpm, 9000 rpm]
    torques:
      - [-50 N m, -50 N m, -20 N m]
      - [0 N m, 0 N m, 0 N m]
      - [280 N m, 280 N m, 90 N m]
"""

AXLES = {"first": (0, 1), "second": (2, 3)}
FRONT = CAR[CAR.index("    axle: first") : CAR.index("  rear:\n")]
CURVES = CAR[CAR.index("  full_load") : CAR.index("  idle_speed")]
WITH_CONVERTER = CAR.replace(CAR[CAR.index("launch:") : CAR.index("gearbox:")], CONVERTER)
WITH_MAP = CAR.replace(CURVES, MAP)


def read(text: str) -> Powertrain:
    settings = load_text(text, "vehicle.yaml", PowertrainSettings)
    assert settings.axle_problems(AXLES) == []
    return powertrain_of(settings, AXLES)


def test_every_quantity_arrives_in_si_at_its_place() -> None:
    made = read(CAR)
    engine = made.engine
    assert engine.speeds / RPM == pytest.approx([0.0, 700.0, 4000.0, 6000.0, 6500.0])
    assert engine.torques[0] == pytest.approx([-14.0, -17.5, -34.0, -44.0, -44.0])
    assert engine.torques[1] == pytest.approx([100.0, 100.0, 200.0, 160.0, 150.0])
    assert (engine.idle_speed, engine.stall_speed) == pytest.approx((800 * RPM, 350 * RPM))
    assert engine.limit_speed == pytest.approx(6400 * RPM)
    assert made.launch == Clutch(320.0)
    assert (made.gearbox.forward, made.gearbox.reverse) == ((3.6, 2.0, 1.3), (-3.3,))
    assert made.gearbox.changes is not None
    assert made.gearbox.changes.up / RPM == pytest.approx([2000.0, 6000.0])
    assert made.gearbox.changes.down / RPM == pytest.approx([1000.0, 2500.0])
    assert (made.gearbox.changes.duration, made.gearbox.changes.hold) == (0.3, 0.5)
    assert (made.stiffness, made.damping) == (1000.0, 2.0)
    front = Differential("front", 0, 1, 4.0, 0.96, hub_ratio=1.5)
    rear = Differential("rear", 2, 3, 4.0, preload=50.0, torque_share=0.2)
    assert made.driveline == Differential("centre", front, rear, torque_split=0.4, preload=math.inf)


def test_a_converter_and_a_map_are_read() -> None:
    launch = read(WITH_CONVERTER).launch
    assert isinstance(launch, Converter)
    assert launch.factors == pytest.approx(np.array([200.0, 150.0, 0.0]) / (2000 * RPM) ** 2)
    assert launch.torque_ratios == pytest.approx([2.0, 1.1, 1.0])
    assert launch.lock_up == LockUp(400.0, 0.85, 2, units.parse("1100 rpm", units.ANGULAR_VELOCITY), 0.4)
    engine = read(WITH_MAP).engine
    assert engine.throttles == pytest.approx([0.0, 0.3, 1.0])
    assert engine.torques[2] == pytest.approx([280.0, 280.0, 90.0])
    assert read(CAR.replace("kind: clutch\n  capacity: 320 N m", "kind: rigid")).launch is None


def test_an_axle_that_the_vehicle_does_not_have_is_told() -> None:
    settings = load_text(CAR, "vehicle.yaml", PowertrainSettings)
    assert settings.axle_problems(["first", "secnd"]) == [
        (("differentials", "rear", "axle"), "no axle 'second', did you mean 'secnd'?")
    ]


REFUSALS = [
    ("inertia: 0.16", "inertia: 0", "engine.inertia: 0 kg m2 is out of range: must be above 0 kg m2"),
    (
        "[4000 rpm",
        "[600 rpm",
        "engine.full_load[1][0]: speed 600 rpm does not lie above the 700 rpm before it",
    ),
    ("150 N m]", "-1 N m]", "engine.full_load[2][1]: -1 N m is out of range: must be at least 0 N m"),
    (
        "[6000 rpm, -44",
        "[0 rpm, -44",
        "engine.drag[1][0]: speed 0 rpm does not lie above the 0 rpm before it",
    ),
    ("[0 rpm, -14", "[0 rpm, 14", "engine.drag[0][1]: is 14 N m, a drag is at most 0 N m"),
    (
        "idle_speed: 800",
        "idle_speed: 300",
        "engine.stall_speed: is 350 rpm, it must lie below the idle speed, 300 rpm",
    ),
    (
        "limit_speed: 6400",
        "limit_speed: 700",
        "engine.limit_speed: is 700 rpm, it must lie above the idle speed, 800 rpm",
    ),
    (
        "[700 rpm, 100",
        "[900 rpm, 0",
        "engine.idle_speed: 800 rpm cannot be held, the torque there is 0 N m at most",
    ),
    (CURVES, "", "engine: give either full_load and drag, or a map"),
    (CURVES, CURVES + MAP, "engine.map: give either full_load and drag, or a map"),
    (
        "  drag:\n    - [0 rpm, -14 N m]\n    - [6000 rpm, -44 N m]\n",
        "",
        "engine: give full_load and drag together",
    ),
    (
        CURVES,
        MAP.replace("[0, 30 %, 1]", "[0, 30 %, 90 %]"),
        "throttles: run from 0 to 0.9, they must run from 0 to 1",
    ),
    (
        CURVES,
        MAP.replace("[0, 30 %, 1]", "[0, 0, 1]"),
        "throttles[1]: throttle 0 does not lie above the 0 before it",
    ),
    (
        CURVES,
        MAP.replace("3000", "0"),
        "engine.map.speeds[1]: speed 0 rpm does not lie above the 0 rpm before it",
    ),
    (
        CURVES,
        MAP.replace("[-50 N m, -50 N m, -20 N m]", "[-50 N m, -50 N m]"),
        "torques[0]: 2 torques for 3 speeds",
    ),
    (
        CURVES,
        MAP.replace("-20 N m", "20 N m"),
        "torques[0][2]: is 20 N m, without throttle the torque is at most 0",
    ),
    (
        CURVES,
        MAP.replace("90 N m", "-90 N m"),
        "torques[2][2]: is -90 N m, below the 0 N m with less throttle",
    ),
    (
        CURVES,
        MAP.replace("      - [0 N m, 0 N m, 0 N m]\n", ""),
        "torques: 2 rows for 3 throttles, each needs one",
    ),
    (
        "capacity: 320 N m",
        "capacity: 320 N m\n  open_pedal: 10 %",
        "launch.open_pedal: is 0.1, the pedal opens behind",
    ),
    (
        "capacity: 320 N m",
        "capacity: 320 N m\n  closing_speeds: [1500 rpm, 900 rpm]",
        "closing_speeds[1]: speed 900 rpm does not lie above the 1500 rpm before it",
    ),
    (
        "[3.6, 2.0, 1.3]",
        "[3.6, -2.0, 1.3]",
        "gearbox.forward[1]: is -2, the ratio of a forward gear is above 0",
    ),
    ("[3.6, 2.0, 1.3]", "[3.6, 4.0, 1.3]", "forward[1]: 4 does not lie below the 3.6 of the gear before"),
    ("[3.6, 2.0, 1.3]", "[]", "gearbox.forward: 0 given, a gearbox has at least one forward gear"),
    ("[-3.3]", "[3.3]", "gearbox.reverse[0]: is 3.3, the ratio of a reverse gear is below 0"),
    (
        "efficiency: 97 %",
        "efficiency: 103 %",
        "gearbox.efficiency: 103 % is out of range: must be at most 1",
    ),
    ("output_inertia: 0.01", "output_inertia: -0.01", "gearbox.output_inertia: -0.01 kg m2 is out of range"),
    (
        "[0 %, 2000 rpm, 1000 rpm]",
        "[0 %, 2000 rpm, 1200 rpm]",
        "changes.map[0][2]: gears 1 and 2 overlap: changed up at 2000 rpm, gear 2 turns at 1111.1 rpm, which "
        "must be above the 1200 rpm where it changes down",
    ),
    ("[100 %, 6000", "[0 %, 6000", "changes.map[1][0]: throttle 0 does not lie above the 0 before it"),
    (
        "stiffness: 1 kN m/rad",
        "stiffness: 1 kN/m",
        "shaft.stiffness: 'kN/m' is a unit of stiffness, expected a torsional",
    ),
    (
        "[40 %, 60 %]",
        "[40 %, 50 %]",
        "differentials.centre.shares: 0.4 and 0.5 are 0.9 together, they must be 1",
    ),
    ("    shares: [40 %, 60 %]\n", "", "differentials.centre: give shares where drives is given"),
    (
        "drives: [front, rear]",
        "drives: [front, raer]",
        "centre.drives[1]: no differential 'raer', did you mean 'rear'?",
    ),
    (
        "drives: [front, rear]",
        "drives: [front, front]",
        "centre.drives[1]: 'front' is driven by 'centre' already",
    ),
    ("axle: second", "axle: first", "differentials.rear.axle: axle 'first' is driven by 'front' already"),
    ("    axle: first\n", "", "differentials.front: give either axle (its wheels are driven) or drives"),
    (
        "  rear:\n",
        "  spare: {axle: third}\n  rear:\n",
        "differentials.spare: is not driven: the gearbox drives 'centre', add it to the drives of one behind",
    ),
    (
        FRONT,
        "    drives: [centre, rear]\n    shares: [50 %, 50 %]\n",
        "differentials.front.drives[1]: 'rear' is driven by",
    ),
    (
        FRONT,
        "    drives: [centre, third]\n    shares: [50 %, 50 %]\n",
        "differentials.front.drives[1]: no differential 'third'",
    ),
    (
        "    lock: {kind: locked}\n",
        "    hub_ratio: 2\n",
        "centre.hub_ratio: a hub ratio belongs to a differential",
    ),
]

CONVERTER_REFUSALS = [
    ("- [0, 200", "- [0.1, 200", "characteristic: speed ratios run from 0.1 to 1, they must run from 0 to 1"),
    ("[0.8, 150", "[0, 150", "characteristic[1][0]: speed ratio 0 does not lie above the 0 before it"),
    (
        "[1, 0 N m, 1.0]",
        "[1, 9 N m, 1.0]",
        "characteristic[2][1]: is 9 N m, at equal speeds the pump torque is 0",
    ),
    (
        "150 N m, 1.1]",
        "150 N m, 1.3]",
        "characteristic[1][2]: is 1.3: with speed ratio 0.8 its output power exceeds",
    ),
    ("150 N m, 1.1]", "150 N m, 0.9]", "characteristic[1][2]: 0.9 is out of range: must be at least 1"),
    (
        "open_speed: 1100 rpm",
        "open_speed: 1100 rpm, first_gear: 4",
        "gearbox.forward: 3 gears, but the converter's",
    ),
]


@pytest.mark.parametrize(
    ("text", "old", "new", "words"),
    [*((CAR, *each) for each in REFUSALS), *((WITH_CONVERTER, *each) for each in CONVERTER_REFUSALS)],
)
def test_a_mistake_is_refused_at_its_place(text: str, old: str, new: str, words: str) -> None:
    lines = refused(lambda: read(changed(text, (old, new))))
    assert [line for line in lines if words in line], lines
    assert all(line.startswith("vehicle.yaml:") for line in lines)


def test_all_mistakes_are_told_at_once() -> None:
    text = CAR.replace("0.16", "0").replace("[-3.3]", "[3.3]").replace("60 %]", "70 %]").replace("kN m", "kN")
    assert [line.split(": ")[1] for line in refused(lambda: read(text))] == [
        "engine.inertia",
        "gearbox.reverse[0]",
        "shaft.stiffness",
        "differentials.centre.shares",
    ]


def test_differentials_in_a_ring_leave_none_for_the_gearbox() -> None:
    ring = """differentials:
  a: {drives: [b, c], shares: [50 %, 50 %]}
  b: {drives: [a, d], shares: [50 %, 50 %]}
  c: {axle: first}
  d: {axle: second}
"""
    with pytest.raises(SettingsError, match="each is driven by another one, so that none is left"):
        read(CAR[: CAR.index("differentials:")] + ring)


def test_a_ring_beside_the_tree_is_not_driven() -> None:
    ring = """  a: {drives: [b, c], shares: [50 %, 50 %]}
  b: {drives: [a, d], shares: [50 %, 50 %]}
  c: {axle: third}
  d: {axle: fourth}
"""
    assert [line.split(": ")[1] for line in refused(lambda: read(CAR + ring))] == [
        f"differentials.{name}" for name in "abcd"
    ]


def test_a_shaft_of_ordinary_stiffness_takes_a_step_of_two_milliseconds() -> None:
    assert problems(read(CAR), (1.2,) * 4, 2e-3) == []
