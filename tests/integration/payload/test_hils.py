"""A vehicle as payload in the loop, on the real plant in process: what the plant feels, what goes wrong."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from mastd.loop.cycle.slots import ProfileSlots
from mastd.loop.payload import pickling
from mastd.loop.payload.hils import GIVING_UP, TableVehicle
from mastd.loop.payload.prepare import ready_profile, table_vehicle
from mastd.loop.payload.profile_inputs import ProfileInputs
from mastd.loop.process.installation import Plan
from mastd.safety.faults import Action, Code
from mastd.safety.states import State
from mastd.settings.core.starter import find
from mastd.settings.profile.profile import ProfileSettings
from mastd.settings.table.payload import VehiclePayload
from mastd.wire.access.verbs import Verb
from mastd.wire.common import vehicle_block as block
from tests.support.lab import Lab
from tests.support.rigs.rig import Rig

PROFILE = """
name: a car on the table
payload: {kind: vehicle, vehicle: benchmark_sedan}
segments:
  - kind: sine
    frequency: 1.2 Hz
    duration: 3 s
    axes: {heave: {amplitude: 8 mm}, roll: {amplitude: 0.2 deg}}
"""
PERIOD = 1e-3
MASS = 1526.0
GRAVITY = 9.80665


@pytest.fixture(scope="module")
def profile() -> ProfileSettings:
    payload = VehiclePayload(kind="vehicle", vehicle=str(find("vehicle", "benchmark_sedan")))
    return ProfileSettings.model_validate(
        {"name": "car", "payload": payload, "segments": ({"kind": "hold", "duration": 1.0},)}
    )


@pytest.fixture
def vehicle(profile: ProfileSettings, lab: Lab) -> TableVehicle:
    table = Plan.load(lab.table, lab.profile(PROFILE), lab.config).table
    found = table_vehicle(ProfileInputs.read(profile, table), PERIOD)
    assert isinstance(found, TableVehicle)
    return found


def numbers() -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.zeros(block.VEHICLE_NUMBERS)


def test_the_plant_carries_the_vehicle_from_off_to_the_end_of_the_profile(lab: Lab) -> None:
    rig = Rig(Plan.load(lab.table, lab.profile(PROFILE), lab.config))
    wrench = rig.cycle.frame.field("command.payload_wrench")
    for _ in range(20):
        rig.step()
    assert rig.state() is State.OFF
    assert wrench[2] == pytest.approx(-MASS * GRAVITY, rel=1e-6)
    assert rig.cycle.vehicles.label == "benchmark sedan|hils|fl|fr|rl|rr"
    rig.run_profile(0.0)
    loads: list[float] = []
    forces: list[float] = []
    while rig.state() is State.RUNNING:
        rig.step()
        found = rig.cycle.frame.vehicle
        loads.append(found[block.first_wheel(False) :][:4].sum())
        forces.append(rig.cycle.sensing.forces[:4].sum())
    assert rig.codes() == []
    assert rig.state() is State.READY
    assert rig.cycle.sensing.following_peak.max() < 1e-3
    load = np.array(loads)
    assert np.ptp(load) > 0.1 * MASS * GRAVITY, "the car is shaken, it does not only press"
    table = rig.plan.table.body.mass
    assert np.mean(forces) == pytest.approx((table + MASS) * GRAVITY, rel=0.01), "what the legs carry"


BURST = """
name: a heave burst that lifts wheels
payload: {kind: vehicle, vehicle: sedan}
fade: 1 s
segments:
  - kind: sine
    frequency: 1.6 Hz
    duration: 4 s
    axes: {heave: {amplitude: 40 mm}}
"""


def test_wheels_that_leave_the_table_come_down_without_chatter_or_fault(lab: Lab) -> None:
    """In the ride's resonance half of gravity lifts the rear wheels, once in each period of the burst."""
    rig = Rig(Plan.load(lab.table, lab.profile(BURST), lab.config))
    rig.run_profile(0.0)
    rows = []
    while rig.state() is State.RUNNING:
        rig.step()
        rows.append(rig.cycle.frame.vehicle.copy())
    found = np.array(rows)
    loads = found[:, block.first_wheel(False) :][:, :4]
    assert rig.codes() == []
    assert found[:, block.CONVERGED].all()
    assert loads.min() == 0.0
    aloft = loads == 0.0
    assert 10 < aloft[:, 2].sum() < 200, "ms that the left rear wheel is off the table"
    changes = np.abs(np.diff(aloft.astype(int), axis=0)).sum(axis=0)
    assert changes.max() <= 2 * round(4.0 * 1.6), "once up and once down in a period"
    assert loads.max() < 4.0 * 1400.0 * GRAVITY / 4.0


def test_missed_periods_are_made_up_for_so_that_vehicle_and_plant_keep_one_time(lab: Lab) -> None:
    """The same motion of the table, seen every period and with gaps, shakes the car alike."""
    plan = Plan.load(lab.table, lab.profile(PROFILE), lab.config)
    every, gaps = (table_vehicle(plan.inputs, PERIOD) for _ in range(2))
    assert every is not None
    assert gaps is not None
    found = []
    for vehicle, stride in ((every, 1), (gaps, 5)):
        vehicle.lie(np.zeros(6), numbers())
        for step in range(stride, 1001, stride):
            t = step * PERIOD
            pose = np.array([0.0, 0.0, 0.01 * (1.0 - np.cos(6.0 * t)), 0.0, 0.0, 0.0])
            assert vehicle.ride(pose, stride, numbers()) == []
        found.append(vehicle.wrench.copy())
    assert found[1] == pytest.approx(found[0], rel=0.02, abs=30.0)
    before = gaps.wrench.copy()
    gaps.ride(np.ones(6), 0, numbers())
    assert np.array_equal(gaps.wrench, before), "no sample, no step"


def test_a_vehicle_that_cannot_be_simulated_becomes_a_dead_weight_until_it_is_put_on_again(
    vehicle: TableVehicle,
) -> None:
    vehicle.lie(np.zeros(6), numbers())
    weight = vehicle.wrench.copy()
    pose, reports, wrenches = np.zeros(6), [], []
    for step in range(400):
        pose[2] = 0.4 * (1.0 - np.cos(2.0 * np.pi * 12.0 * step * PERIOD))  # 230 g
        reports = vehicle.ride(pose, 1, numbers())
        wrenches.append(vehicle.wrench.copy())
        if reports:
            break
    assert [report.code for report in reports] == [Code.VEHICLE_FAILED]
    assert "benchmark sedan" in reports[0].detail
    for _ in range(round(GIVING_UP / PERIOD)):
        assert [report.code for report in vehicle.ride(pose, 1, numbers())] == [Code.VEHICLE_FAILED]
        wrenches.append(vehicle.wrench.copy())
    assert np.isfinite(wrenches).all()
    assert vehicle.wrench[:3] == pytest.approx(weight[:3], abs=1e-6)
    out = numbers()
    vehicle.lie(np.zeros(6), out)
    assert vehicle.wrench == pytest.approx(weight)
    assert out[block.CONVERGED] == 1.0
    assert vehicle.ride(np.zeros(6), 1, out) == []


def test_a_wheel_that_leaves_the_table_stops_it(profile: ProfileSettings, lab: Lab) -> None:
    assert isinstance(profile.payload, VehiclePayload)
    payload = profile.payload.model_copy(update={"position": (2.49, 0.0), "restrained": False})
    plan = Plan.load(lab.table, lab.profile(PROFILE), lab.config)
    moved = profile.model_copy(update={"payload": payload})
    vehicle = table_vehicle(ProfileInputs.read(moved, plan.table), PERIOD)
    assert vehicle is not None
    vehicle.lie(np.zeros(6), numbers())
    pose, reports = np.zeros(6), []
    for step in range(500):
        pose[0] = (
            -15.0 * (step * PERIOD) ** 2
        )  # three times what tyres hold: the table is drawn from under it
        reports = vehicle.ride(pose, 1, numbers())
        if reports:
            break
    assert [(report.code, report.action) for report in reports] == [(Code.VEHICLE_LOST, Action.STOP)]
    assert "mm off the table" in reports[0].detail
    assert "wheel f" in reports[0].detail


def test_another_payload_is_taken_in_off_only_and_the_same_one_stands_on(lab: Lab) -> None:
    plan = Plan.load(lab.table, lab.profile(PROFILE), lab.config)
    slots = ProfileSlots()
    rig = Rig(plan)
    rig.cycle = plan.bare_cycle(slots)
    rig.supervisor = rig.cycle.supervisor
    slots.write(0, ready_profile(plan.inputs, PERIOD, 1.0, slot=0))
    bare = Plan.load(
        lab.table, lab.profile(PROFILE.replace("benchmark_sedan", "sedan"), "other.yaml"), lab.config
    )
    slots.write(1, ready_profile(bare.inputs, PERIOD, 1.0, slot=1))
    rig.step()
    rig.step(Verb.LOAD, arguments=(1.0, 1.0))
    assert rig.supervisor.refusal == ""
    rig.step()
    assert rig.cycle.vehicles.label.startswith("sedan|")
    rig.step(Verb.LOAD, arguments=(0.0, 2.0))
    rig.step(skipped=30)  # what making the vehicle took: nothing is wrong with that in OFF
    assert rig.codes() == []
    rig.step(Verb.RAISE)
    rig.until(State.READY)
    standing = rig.cycle.vehicles.on_table
    assert standing is not None
    rig.step(Verb.LOAD, arguments=(1.0, 3.0))
    assert "lower the table before changing it" in rig.supervisor.refusal
    rig.step(Verb.LOAD, arguments=(0.0, 4.0))
    assert rig.supervisor.refusal == ""
    assert rig.cycle.vehicles.on_table is standing


def test_a_real_plant_is_sent_no_wrench_and_its_actuators_carry_a_rigid_vehicle(lab: Lab) -> None:
    rig = Rig(Plan.load(lab.table, lab.profile(PROFILE), lab.config))
    rig.cycle.orders.meet_plant(False)
    for _ in range(20):
        rig.step()
    assert not rig.cycle.frame.field("command.payload_wrench").any()
    forces = rig.cycle.frame.field("command.force_references")
    expected = (rig.plan.table.body.mass + MASS) * GRAVITY
    assert forces[:4].sum() == pytest.approx(expected, rel=1e-3)
    assert np.isfinite(rig.cycle.frame.vehicle[: block.HEAD]).all(), "its twin is simulated all the same"


class Spy:
    called = False

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return print, ("a foreign call",)


def test_a_parcel_makes_objects_of_our_own_only(
    vehicle: TableVehicle, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ValueError, match="print is not allowed in a loaded vehicle"):
        pickling.unpack(pickle.dumps(Spy()))
    assert capsys.readouterr().out == ""
    with pytest.raises(ValueError, match="not a pickle"):
        pickling.unpack(b"nonsense")
    again = pickling.unpack(pickling.pack(vehicle))
    assert isinstance(again, TableVehicle)
    for one in (vehicle, again):
        one.lie(np.zeros(6), numbers())
        for step in range(200):
            one.ride(np.array([0.0, 0.0, 1e-3 * np.sin(0.05 * step), 0.0, 0.0, 0.0]), 1, numbers())
    assert np.array_equal(vehicle.wrench, again.wrench)
