"""Torques and damper forces that somebody outside gives a vehicle: against laws, statics, energy."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from mastd.arrays import FloatArray
from mastd.errors import UsageError
from mastd.loop.payload.virtual_drive import VirtualDrive
from mastd.vehicle.elements.spring_damper.arrays import SPRING
from mastd.vehicle.elements.spring_damper.element import SpringDamper
from mastd.vehicle.equations.prescribed_forces import PrescribedForces, damper_of_wheel
from mastd.vehicle.equilibrium.dense_equations import System
from mastd.vehicle.equilibrium.settle import settle
from mastd.vehicle.kinematics.suspension import suspension_kinematics
from mastd.vehicle.model.definition import Model
from mastd.vehicle.model.library import find, names
from mastd.vehicle.payload.on_road import VehicleOnRoad
from mastd.vehicle.payload.on_table import VehicleOnTable
from mastd.vehicle.simulation.simulation import Simulation
from mastd.vehicle.state.motion import design_state
from tests.support.vehicle.cosimulation import standing
from tests.support.vehicle.drives import TIGHT, energy, without_losses
from tests.support.vehicle.virtual_drives import by_hand, drive_of
from tests.unit.vehicle.payload.test_on_table import shaken

STEP = 1e-3
COASTING = np.zeros(5)
"""Straight on, no pedal, neutral."""


@pytest.fixture(scope="module")
def quarter() -> Model:
    return find("quarter_car")


@pytest.fixture(scope="module")
def benchmark() -> Model:
    return find("benchmark_sedan")


def with_springs(model: Model, change: Callable[[SpringDamper], SpringDamper]) -> Model:
    return replace(model, springs=tuple(change(spring) for spring in model.springs))


def damped(model: Model, damping: float) -> Model:
    return with_springs(model, lambda spring: replace(spring, damper_table=None, damping=damping))


def pushed(model: Model, count: int, step: float) -> tuple[Simulation, FloatArray]:
    """Return a quarter car at rest, and inputs (count, width) that push its chassis down and up."""
    simulation = Simulation(model, step=step, newton=TIGHT)
    simulation.start(0.0)
    layout = simulation.system.inputs
    inputs = np.zeros((count, layout.width))
    times = step * np.arange(1, count + 1)
    inputs[:, layout.chassis_wrench.start + 2] = -600.0 * np.sin(2.0 * np.pi * 1.5 * times)
    return simulation, inputs


# Which damper


def test_every_wheel_of_the_shipped_vehicles_has_a_damper_of_its_own() -> None:
    for name in names():
        model = find(name)
        found = [damper_of_wheel(model, wheel.name) for wheel in model.wheels]
        assert len(set(found)) == len(model.wheels)
        for wheel, index in zip(model.wheels, found, strict=True):
            spring = model.springs[index]
            assert spring.damper_table is not None or spring.damping > 0.0
            # At its own corner: nearer to this wheel than to any other.
            distances = [np.linalg.norm(spring.point_second - other.centre) for other in model.wheels]
            assert model.wheels[int(np.argmin(distances))] is wheel
    hatchback = find("mcpherson_hatchback")
    rear = [hatchback.springs[damper_of_wheel(hatchback, wheel)].name for wheel in ("rl", "rr")]
    assert rear == ["rear left damper", "rear right damper"]


def test_a_damper_of_zero_in_the_file_is_the_one_whose_force_is_given() -> None:
    hatchback = find("mcpherson_hatchback")
    bare = with_springs(hatchback, lambda spring: replace(spring, damper_table=None))
    assert bare.springs[damper_of_wheel(bare, "rr")].name == "rear right damper"
    alone = damped(find("quarter_car"), 0.0)
    assert damper_of_wheel(alone, "fl") == 0


def test_it_is_refused_to_guess_a_damper() -> None:
    hatchback = find("mcpherson_hatchback")
    both = with_springs(hatchback, lambda spring: replace(spring, damper_table=None, damping=1e3))
    with pytest.raises(UsageError) as refused:
        damper_of_wheel(both, "rl")
    text = str(refused.value)
    assert text.startswith(
        "McPherson hatchback: wheel rl: not clear which of rear left coil, rear left damper is"
    )
    assert "2 have damping" in text
    assert "\n" not in text
    none = with_springs(
        hatchback, lambda spring: replace(spring, damper_table=None, damping=0.0, stiffness=2e4)
    )
    with pytest.raises(UsageError, match=r"wheel rl: not clear which of .*none has damping"):
        damper_of_wheel(none, "rl")
    with pytest.raises(UsageError, match="no wheel 'rx', "):
        damper_of_wheel(hatchback, "rx")


# Damper forces


def test_a_constant_force_is_a_longer_spring(quarter: Model) -> None:
    force = 350.0
    stiffness = quarter.springs[0].stiffness
    longer = with_springs(
        quarter, lambda spring: replace(spring, free_length=spring.free_length + force / stiffness)
    )
    expected, inputs = pushed(longer, 500, STEP)
    simulation, _ = pushed(quarter, 500, STEP)
    # Both begin at the rest of the longer spring.
    rest = settle(System(longer), design_state(longer)).state
    given = PrescribedForces(simulation.layout)
    for each in (simulation, expected):
        each.begin(rest)
    given.take(np.zeros(1), np.array([force]))
    ours, theirs = simulation.run(inputs), expected.run(inputs)
    assert np.ptp(theirs.wheel_travel) > 0.01
    assert ours.converged.all()
    assert ours.wheel_travel == pytest.approx(theirs.wheel_travel, abs=1e-8)
    assert ours.wheel_loads == pytest.approx(theirs.wheel_loads, abs=1e-2)


def test_its_work_is_the_energy_that_it_brings(quarter: Model) -> None:
    model, step, count = without_losses(quarter), 2.5e-4, 2400
    simulation = Simulation(model, step=step, newton=replace(TIGHT, damping=0.95))
    simulation.start(0.0)
    given, spring = PrescribedForces(simulation.layout), simulation.layout.arrays.elements.springs.values
    item, lane = simulation.layout.spring[0]
    still = simulation.system.inputs.row()[np.newaxis]
    begin = energy(model, simulation.state)
    work, most = 0.0, 0.0
    last, before = 0.0, float(spring[item, SPRING.length, lane])
    for k in range(1, count + 1):
        force = 300.0 * np.sin(2.0 * np.pi * 1.3 * k * step)
        given.take(np.zeros(1), np.array([force]))
        simulation.advance(still)
        length = float(spring[item, SPRING.length, lane])
        # Pushing the ends apart does work where they go apart.
        work += 0.5 * (force + last) * (length - before)
        last, before = force, length
        most = max(most, abs(work))
        if k % 400 == 0:
            assert energy(model, simulation.state) - begin == pytest.approx(work, abs=0.01 * most)
    assert most > 4.0


def test_a_force_that_follows_the_rate_comes_to_the_same_as_a_damper(quarter: Model) -> None:
    damping, duration = 2500.0, 0.4
    errors = []
    for step in (1e-3, 5e-4, 2.5e-4):
        count = round(duration / step)
        expected, inputs = pushed(damped(quarter, damping), count, step)
        simulation, _ = pushed(damped(quarter, 0.0), count, step)
        given, spring = PrescribedForces(simulation.layout), simulation.layout.arrays.elements.springs.values
        item, lane = simulation.layout.spring[0]
        travel = np.zeros(count)
        for k in range(count):
            rate = spring[item, SPRING.rate, lane]
            given.take(np.zeros(1), np.array([-damping * rate]))
            travel[k] = simulation.step(inputs[k])[1][simulation.signals.wheel(2)][0]
        theirs = expected.run(inputs).wheel_travel[:, 0]
        assert np.ptp(theirs) > 5e-3
        errors.append(np.abs(travel - theirs).max() / np.ptp(theirs))
    assert errors[0] < 0.005
    # The rate is one step old: the error goes with the step.
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.15)
    assert errors[1] / errors[2] == pytest.approx(2.0, rel=0.15)


def travel_by(model: Model, force: float, travel: FloatArray) -> FloatArray:
    """Return how far a force (N) in each damper moves the wheels from ``travel`` (nw), by hand.

    At the same load the spring pushes less by the force: it is longer by force / stiffness, and the wheel
    lower by that over the ratio of both travels.
    """
    found = []
    for axle in suspension_kinematics(model, travel=np.linspace(-0.04, 0.04, 17)):
        sweep = axle.travel
        for column, name in enumerate(sweep.corners):
            corner = next(each for each in model.corners if each.name == name)
            spring = model.springs[corner.springs[0]]
            place = np.interp(travel[corner.wheel], sweep.travel[:, column], sweep.spring_length[:, column])
            order = np.argsort(sweep.spring_length[:, column])
            longer = place + force / spring.stiffness
            there = np.interp(longer, sweep.spring_length[order, column], sweep.travel[order, column])
            found.append(there - travel[corner.wheel])
    return np.array(found)


def test_forces_in_all_dampers_lift_the_chassis_on_the_table(benchmark: Model) -> None:
    vehicle = standing(benchmark, STEP)
    vehicle.follow(np.zeros(6), 1)
    travels = vehicle.layout.wheel(2)
    before, weight = vehicle.signals[travels].copy(), vehicle.wrench.copy()
    height = float(vehicle.signals[2])
    vehicle.give(np.zeros(4), np.full(4, 250.0))
    for _ in range(40):
        vehicle.follow(np.zeros(6), 100)
        assert vehicle.missed == 0
    moved = vehicle.signals[travels] - before
    expected = travel_by(benchmark, 250.0, before)
    assert (expected < -0.006).all()
    # The brakes hold the wheels: their arms and tyres feel it a little.
    assert moved == pytest.approx(expected, rel=0.06)
    assert vehicle.signals[2] - height == pytest.approx(-np.mean(expected), rel=0.1)
    assert vehicle.wrench[:3] == pytest.approx(weight[:3], abs=1e-3 * abs(weight[2]))


def test_one_force_acts_at_its_own_wheel(benchmark: Model) -> None:
    for wheel in range(4):
        vehicle = standing(benchmark, STEP)
        forces = np.zeros(4)
        forces[wheel] = 500.0
        vehicle.give(np.zeros(4), forces)
        loads = vehicle.layout.wheel(0)
        before = vehicle.signals[loads].copy()
        vehicle.follow(np.zeros(6), 12)
        # At once it presses the wheel down, and the others feel next to nothing.
        change = vehicle.signals[loads] - before
        assert np.argmax(np.abs(change)) == wheel
        assert change[wheel] > 5.0 * np.abs(np.delete(change, wheel)).max()


def test_forces_in_all_dampers_lift_the_chassis_on_the_road(benchmark: Model) -> None:
    vehicle = rolling(10.0)
    travels = vehicle.layout.wheel(2)
    roll_on(vehicle, 1)
    before = vehicle.signals[travels].copy()
    vehicle.give(np.zeros(4), np.full(4, 250.0))
    roll_on(vehicle, 3000)
    moved = vehicle.signals[travels] - before
    assert moved == pytest.approx(travel_by(benchmark, 250.0, before), rel=0.06)


# Wheel torques


def rolling(speed: float, name: str = "benchmark_sedan") -> VehicleOnRoad:
    return by_hand(vehicle=name, speed=speed).vehicle


def roll_on(vehicle: VehicleOnRoad, count: int) -> FloatArray:
    """Let it roll, driven by nobody's hands and feet; return the speeds."""
    speeds = np.zeros(count)
    for k in range(count):
        vehicle.receive(COASTING)
        vehicle.step()
        speeds[k] = vehicle.signals[3]
    assert vehicle.conditions == ()
    return speeds


@pytest.mark.parametrize("torque", [200.0, -200.0])
def test_a_torque_accelerates_the_car_by_itself_over_radius_and_mass(benchmark: Model, torque: float) -> None:
    without, with_it = rolling(15.0), rolling(15.0)
    torques = np.array([torque, torque, 0.0, 0.0])
    with_it.give(torques, np.zeros(4))
    free, driven = roll_on(without, 1500), roll_on(with_it, 1500)
    # The ground pushes at the loaded tyre's radius; the wheel turns as the rolling radius says.
    loads = without.signals[without.layout.wheel(0)]
    tyres = [wheel.tyre for wheel in benchmark.wheels]
    radii = np.array([tyre.free_radius for tyre in tyres])
    radii -= loads / [tyre.stiffness for tyre in tyres]
    inertias = np.array([wheel.axial_inertia for wheel in benchmark.wheels])
    mass = sum(body.mass for body in benchmark.bodies)
    mass += np.sum(inertias / radii / [tyre.rolling_radius for tyre in tyres])
    gained = (driven[-1] - free[-1]) - (driven[499] - free[499])
    assert gained == pytest.approx(np.sum(torques / radii) / mass, rel=0.015)
    # The chassis takes the reaction: it goes down at the end that it is turned to.
    pitch = with_it.signals[10] - without.signals[10]
    assert np.sign(pitch) == -np.sign(torque)
    # Nothing is given any more: it rolls on as it is.
    with_it.give(np.zeros(4), np.zeros(4))
    held = roll_on(with_it, 1000)
    assert abs(held[-1] - held[299]) < 0.05 * abs(gained)


def test_a_torque_beyond_the_grip_spins_the_wheels() -> None:
    vehicle = rolling(10.0, "sedan")
    vehicle.give(np.array([4000.0, 4000.0, 0.0, 0.0]), np.zeros(4))
    speeds = roll_on(vehicle, 800)
    loads, spins = vehicle.signals[vehicle.layout.wheel(0)], vehicle.signals[vehicle.layout.wheel(1)]
    weight = np.sum(loads)
    acceleration = (speeds[-1] - speeds[299]) / 0.5
    assert 0.1 < acceleration / 9.81 < 1.3 * np.sum(loads[:2]) / weight
    assert (spins[:2] > 2.0 * spins[2:]).all()


def test_a_torque_on_the_braked_wheels_of_the_table_tilts_the_chassis(benchmark: Model) -> None:
    vehicle = standing(benchmark, STEP)
    vehicle.follow(np.zeros(6), 1)
    begin, pitch = vehicle.wrench.copy(), float(vehicle.signals[10])
    vehicle.give(np.array([0.0, 0.0, 800.0, 800.0]), np.zeros(4))
    for _ in range(40):
        vehicle.follow(np.zeros(6), 100)
        assert vehicle.missed == 0
    # Forward on the wheels, backward on the chassis: its nose rises. All of it is between car and car.
    assert vehicle.signals[10] - pitch < -1e-4
    assert vehicle.wrench == pytest.approx(begin, abs=2e-3 * abs(begin[2]))
    assert np.abs(vehicle.signals[vehicle.layout.wheel(1)]).max() < 1e-3


# As if nothing were there


def ridden(
    vehicle: VehicleOnTable, poses: FloatArray, give: Callable[[int], tuple[FloatArray, FloatArray]] | None
) -> FloatArray:
    rows = []
    for k, pose in enumerate(poses):
        if give is not None:
            vehicle.give(*give(k))
        vehicle.follow(pose, 1)
        rows.append(np.concatenate([vehicle.signals, vehicle.wrench]))
    return np.array(rows)


def driven(
    drive: VirtualDrive, count: int, give: Callable[[int], tuple[FloatArray, FloatArray]] | None
) -> FloatArray:
    rows = []
    for k in range(count):
        if give is not None:
            drive.vehicle.give(*give(k))
        drive.step()
        rows.append(np.concatenate([drive.signals, drive.inputs]))
    return np.array(rows)


def nothing(k: int) -> tuple[FloatArray, FloatArray]:
    return np.zeros(4), np.zeros(4)


def something(k: int) -> tuple[FloatArray, FloatArray]:
    return np.full(4, 50.0 * np.sin(0.1 * k)), np.array([200.0, -100.0, 50.0, 0.0]) * np.cos(0.07 * k)


def test_zeros_change_no_bit(benchmark: Model) -> None:
    poses = shaken(200)
    for model in (benchmark, find("sedan")):
        without = ridden(standing(model, STEP), poses, None)
        assert np.array_equal(ridden(standing(model, STEP), poses, nothing), without)
        assert not np.allclose(ridden(standing(model, STEP), poses, something), without, rtol=1e-6)
    without = driven(drive_of(), 300, None)
    assert np.array_equal(driven(drive_of(), 300, nothing), without)
    assert not np.allclose(driven(drive_of(), 300, something), without, rtol=1e-6)


def test_what_was_given_is_forgotten_at_the_start(benchmark: Model) -> None:
    poses = shaken(150)
    vehicle = standing(benchmark, STEP)
    first = ridden(vehicle, poses, None)
    vehicle.lie(np.zeros(6))
    ridden(vehicle, poses, something)
    vehicle.lie(np.zeros(6))
    assert np.array_equal(ridden(vehicle, poses, None), first)
    # Given to one that has not moved yet.
    vehicle.lie(np.zeros(6))
    vehicle.give(*something(3))
    vehicle.lie(np.zeros(6))
    assert np.array_equal(ridden(vehicle, poses, None), first)
    drive = drive_of()
    once = driven(drive, 150, None)
    drive.begin(np.zeros((3, 6)))
    driven(drive, 150, something)
    drive.begin(np.zeros((3, 6)))
    assert np.array_equal(driven(drive, 150, None), once)


def test_what_is_given_holds_and_goes_through_a_pickle(benchmark: Model) -> None:
    poses = shaken(150)
    given = np.array([30.0, 20.0, 10.0, 0.0]), np.array([300.0, -200.0, 100.0, 50.0])
    vehicle, drive = standing(benchmark, STEP), drive_of()
    again = ridden(standing(benchmark, STEP), poses, lambda k: given)
    ahead = driven(drive_of(), 150, lambda k: given)
    vehicle.give(*given)
    drive.vehicle.give(*given)
    rows = [ridden(vehicle, poses[:70], None)]
    ways = [driven(drive, 70, None)]
    vehicle = pickle.loads(pickle.dumps(vehicle))
    drive = pickle.loads(pickle.dumps(drive))
    rows.append(ridden(vehicle, poses[70:], None))
    ways.append(driven(drive, 80, None))
    assert np.array_equal(np.vstack(rows), again)
    assert np.array_equal(np.vstack(ways), ahead)
    # What came out of the pickle takes new ones.
    vehicle.give(*nothing(0))
    assert not vehicle._blocks[0].elements.springs.values[:, SPRING.prescribed].any()


def test_unused_lanes_are_pushed_like_the_first(quarter: Model) -> None:
    simulation = Simulation(quarter)
    given = PrescribedForces(simulation.layout)
    given.take(np.zeros(1), np.array([123.0]))
    assert (simulation.layout.arrays.elements.springs.values[:, SPRING.prescribed] == 123.0).all()
    given.drop()
    assert not simulation.layout.arrays.elements.springs.values[:, SPRING.prescribed].any()
