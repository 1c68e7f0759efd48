"""Static supports: their wrench, what it leaves the actuators, and what others make of it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from hil_sim.plant.plant import Plant
from hil_sim.plant.truth import PlantTruth
from mastd.arrays import FloatArray
from mastd.control.identification.body import fit_body
from mastd.control.identification.measurement import Measurement
from mastd.control.table.closed_loop import Gains, closed_loop
from mastd.control.table.gains import linear_plant
from mastd.dynamics.supports import support_rows, support_slopes, support_wrench
from mastd.dynamics.table_model import WORK_ROWS, TableModel, force_reference
from mastd.kinematics.geometry import Geometry
from mastd.kinematics.workspace import lengths_at
from mastd.motion.preflight.performance import standing_limits, static_capacity
from mastd.settings.core.loader import load
from mastd.settings.core.starter import find
from mastd.settings.table.payload import NoPayload
from mastd.settings.table.supports import SupportGasSettings, SupportSettings
from mastd.settings.table.table import TableSettings

BARE = load(find("table", "table"), TableSettings)
WEIGHT = BARE.body.mass * BARE.gravity
SPRING = SupportSettings(name="spring", position=(0.8, -0.5, -0.9), force=90e3, stiffness=4e5, damping=3e4)
STRUT = SupportSettings(
    name="strut",
    position=(-1.1, 0.4, -0.9),
    force=120e3,
    gas=SupportGasSettings(volume=20e-3, area=100e-4, exponent=1.3),
)
HOLD_DOWN = SupportSettings(
    name="hold-down",
    position=(0.2, 0.9, -0.6),
    force=-60e3,
    gas=SupportGasSettings(volume=20e-3, area=100e-4),
    damping=2e4,
)


def table(*supports: SupportSettings) -> TableSettings:
    return BARE.model_copy(update={"supports": supports})


def turned(pose: FloatArray) -> FloatArray:
    return np.asarray(Rotation.from_euler("ZYX", pose[[5, 4, 3]]).as_matrix())


def by_hand(supports: tuple[SupportSettings, ...], pose: FloatArray, rates: FloatArray) -> FloatArray:
    """Return the wrench at C in B: heights of the points by matrices, their speeds by differences."""
    total, step = np.zeros(6), 1e-6
    for one in supports:
        arm = turned(pose) @ one.position

        def height(time: float, one: SupportSettings = one) -> float:
            at = pose + time * rates
            return float(at[2] + (turned(at) @ one.position)[2] - one.position[2])

        rise, speed = height(0.0), (height(step) - height(-step)) / (2.0 * step)
        force = one.force - one.stiffness * rise - one.damping * speed
        if one.gas is not None:
            # What pushes lets its gas expand as the table rises; what holds down compresses it.
            volume = one.gas.volume + math.copysign(one.gas.area, one.force) * rise
            force += one.force * ((one.gas.volume / volume) ** one.gas.exponent - 1.0)
        total += np.array([0.0, 0.0, force, *np.cross(arm, [0.0, 0.0, force])])
    return total


@pytest.mark.parametrize("seed", range(3))
def test_the_actuators_make_up_what_the_supports_leave_at_a_tilted_pose(seed: int) -> None:
    supports = (SPRING, STRUT, HOLD_DOWN)
    random = np.random.default_rng(seed)
    pose = random.uniform(-1.0, 1.0, 6) * [0.03, 0.03, 0.04, 0.2, 0.2, 0.3]
    rates, accelerations = random.uniform(-0.5, 0.5, (2, 6))
    carried = by_hand(supports, pose, rates)
    found = support_wrench(table(*supports), pose, rates)
    assert found == pytest.approx(carried, rel=1e-6, abs=0.05)
    geometry, model = Geometry.from_settings(BARE), TableModel.from_settings(BARE, NoPayload()).values
    made = []
    for of in (table(*supports), BARE):
        work, forces = np.zeros((geometry.actuators + WORK_ROWS, 6)), np.empty(geometry.actuators)
        force_reference(geometry.legs, model, support_rows(of), pose, rates, accelerations, work, forces)
        arms = geometry.table_joints @ turned(pose).T
        units = geometry.neutral_position + pose[:3] + arms - geometry.base_joints
        units /= np.linalg.norm(units, axis=1)[:, None]
        moment = np.sum(np.cross(arms, forces[:, None] * units), axis=0)
        made.append(np.array([*(forces @ units), *moment]))
    assert made[1] - made[0] == pytest.approx(carried, rel=1e-6, abs=0.05)


def test_stiffness_and_damping_are_the_slopes_of_the_wrench() -> None:
    supports = (SPRING, STRUT, HOLD_DOWN)
    heave, still = np.eye(6)[2], np.zeros(6)
    pose = np.array([0.0, 0.0, 0.03, 0.0, 0.0, 0.0])
    stiffness, damping = support_slopes(table(*supports), pose)
    step = 1e-5
    ahead, back = (by_hand(supports, pose + sign * step * heave, still) for sign in (1.0, -1.0))
    assert stiffness[:, 2] == pytest.approx((back - ahead) / (2.0 * step), rel=1e-4, abs=5.0)
    moved = by_hand(supports, pose, heave)
    assert damping[:, 2] == pytest.approx(by_hand(supports, pose, still) - moved, rel=1e-6, abs=0.1)


def test_the_plant_stands_on_the_supports_of_its_table_and_on_those_of_its_truth() -> None:
    hidden = SPRING.model_copy(update={"position": (0.0, 0.0, -0.5)})
    resting = Plant(table(STRUT), PlantTruth(static_supports=(hidden,)), 1_000_000, 1)
    for _ in range(200):
        resting.advance(None, 1_000_000)
    pose = np.array(resting.true_pose)
    carried = by_hand((STRUT, hidden), pose, np.zeros(6))[2]
    assert resting.forces[:4].sum() == pytest.approx(WEIGHT - carried, rel=2e-3)


def test_supports_raise_the_mass_that_is_held_and_lower_the_pressure_at_rest() -> None:
    geometry = Geometry.from_settings(BARE)
    middle = SPRING.model_copy(update={"position": (0.0, 0.0, -0.9)})
    held = table(middle)
    more = static_capacity(held, geometry) - static_capacity(BARE, geometry)
    assert more == pytest.approx(90e3 / BARE.gravity, rel=1e-6)
    model = TableModel.from_settings(BARE, NoPayload())
    pressures = [
        {limit.name: limit.worst for limit in standing_limits(of, geometry, model)}["supply_pressure"]
        for of in (BARE, held)
    ]
    area = BARE.types[0].cylinder.piston_areas[0]
    assert pressures[0] - pressures[1] == pytest.approx(90e3 / 4.0 / area, rel=1e-6)


def test_the_linear_loop_hangs_on_the_supports_where_no_oil_holds_it() -> None:
    """A table whose oil and valves do nothing swings in heave on its spring: ω² = k/m, 2 ζ ω = c/m."""
    soft = SupportSettings(
        name="soft", position=(0.0, 0.0, -0.9), force=0.0, stiffness=35e3 * 900.0, damping=35e3 * 6.0
    )
    plant = linear_plant(table(soft), 1e-3, 0.0)
    loop = closed_loop(plant, np.zeros(6), plant.bare)
    bare = closed_loop(linear_plant(BARE, 1e-3, 0.0), np.zeros(6), plant.bare)
    nothing = Gains(np.zeros(7), np.zeros(7), np.zeros(6))
    changed = loop.matrix(nothing) - bare.matrix(nothing)
    assert changed[8, 2] == pytest.approx(-900.0, rel=1e-9)
    assert changed[8, 8] == pytest.approx(-6.0, rel=1e-9)


def test_identification_takes_off_what_the_supports_carry() -> None:
    """Pressures and accelerometers of a motion without friction: the body found is the table, not less."""
    held, period, turn = table(SPRING, STRUT, HOLD_DOWN), 1e-3, 2.0 * math.pi
    times = np.arange(0.0, 6.0, period)
    omegas = turn * np.array([0.7, 0.9, 1.3, 1.6, 1.9, 2.3])
    sizes = np.array([0.02, 0.02, 0.02, 0.01, 0.01, 0.01])
    sines, cosines = np.sin(np.outer(times, omegas)), np.cos(np.outer(times, omegas))
    poses, rates, accelerations = sizes * sines, sizes * omegas * cosines, -sizes * omegas**2 * sines
    geometry, model = Geometry.from_settings(BARE), TableModel.from_settings(BARE, NoPayload()).values
    forces = np.empty((len(times), geometry.actuators))
    work, rows = np.zeros((geometry.actuators + WORK_ROWS, 6)), support_rows(held)
    for k in range(len(times)):
        force_reference(geometry.legs, model, rows, poses[k], rates[k], accelerations[k], work, forces[k])
    turns = Rotation.from_euler("ZYX", poses[:, [5, 4, 3]]).as_matrix()
    felt = []
    for sensor in BARE.sensors.accelerometers:
        place = poses[:, :3] + turns @ sensor.position
        pulled = np.gradient(np.gradient(place, period, axis=0), period, axis=0)
        pulled[:, 2] += BARE.gravity
        felt.append(np.einsum("kba,kb,a->k", turns, pulled, sensor.direction))
    area = BARE.types[0].cylinder.piston_areas[0]
    none = np.zeros_like(forces)
    measured = Measurement(
        period=period,
        lengths=lengths_at(geometry, poses),
        pressures=np.stack((forces / area + 1e7, none + 1e7), axis=2),
        spools=none,
        supply=np.zeros((len(times), 2)),
        accelerometers=np.stack(felt, axis=1),
        pose=poses,
        length_commands=none,
        rate_commands=none,
        acceleration_commands=none,
        force_commands=none,
        trims=none,
    )
    found = fit_body(measured, held, geometry).body
    assert found[:4] == pytest.approx(model[:4], rel=5e-3, abs=0.01 * BARE.body.mass)
