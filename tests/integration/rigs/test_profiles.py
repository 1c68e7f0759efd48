"""Rigs in the place of a part, in the loop on the real plant: a vehicle, a pose, a seat from outside."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from mastd.errors import SettingsError
from mastd.loop.cycle.slots import ProfileSlots
from mastd.loop.payload.loaded_profile import OnTable
from mastd.loop.payload.prepare import ready_profile
from mastd.loop.process.installation import Plan
from mastd.loop.rigs.bound_rig import BoundRig
from mastd.safety.faults import Report
from mastd.safety.states import State
from mastd.settings.core.starter import find
from mastd.settings.table.payload import VehiclePayload
from mastd.vehicle.payload.load import vehicle_on_table
from mastd.wire.access.verbs import Verb
from tests.support.lab import Lab
from tests.support.rigs.profiles import heave, pose_stream, shaking, vehicle_here, vehicle_of_rig
from tests.support.rigs.rig import Rig
from tests.support.rigs.rigs import joined, rigs_file

PERIOD = 1e-3
GRAVITY = 9.80665
INSIDE, OUTSIDE = vehicle_here(shaking("3 s")), vehicle_of_rig(shaking("3 s"))
PITCH = "  pitch: {travel: 8 mrad, velocity: 0.05 rad/s, acceleration: 0.7 rad/s2, jerk: 60 rad/s3}\n"
POSE = pose_stream("4 s", heave("20 mm") + PITCH)


def planned(lab: Lab, text: str, name: str = "profile.yaml") -> Plan:
    """Return the plan of a profile where the rigs of these tests may join."""
    return Plan.load(lab.table, lab.profile(text, name), lab.config, rigs_path=rigs_file(lab))


def vehicle_of_a_rig(rig: Rig, car: BoundRig) -> Callable[[State], list[Report]]:
    """Return a ``ride`` that lets a vehicle follow the table outside first, as a rig in lockstep does."""
    file = str(find("vehicle", "benchmark_sedan"))
    vehicle = vehicle_on_table(VehiclePayload(kind="vehicle", vehicle=file), rig.plan.table, PERIOD)
    sensing, ride = rig.cycle.sensing, rig.cycle.vehicles.ride
    last: list[int] = []

    def ride_after(state: State) -> list[Report]:
        step, seen = sensing.sample.step, sensing.usable and sensing.pose_valid
        steps = step - last[-1] if seen and last else 0
        if seen:
            last[:] = [step]
        if state is State.OFF or not last:
            vehicle.lie(sensing.smoothed_pose)
        else:
            vehicle.follow(sensing.smoothed_pose, steps)
        car.values[:] = vehicle.wrench
        return ride(state)

    return ride_after


def test_a_vehicle_outside_gives_the_commands_of_the_vehicle_here_bit_for_bit(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From OFF over raising and playing to the end: every command, and where the table went."""
    car = joined("car", "vehicle")
    here = Rig(planned(lab, INSIDE))
    outside = Rig(
        planned(lab, OUTSIDE, "outside.yaml"),
        {"car": car},
    )
    monkeypatch.setattr(outside.cycle.vehicles, "ride", vehicle_of_a_rig(outside, car))
    loads: list[float] = []
    for cycle in range(30_000):
        verb = Verb.NONE
        if cycle == 20:
            verb = Verb.RAISE
        elif here.state() is State.READY:
            if loads:
                break
            verb = Verb.ARM
        elif here.state() is State.ARMED:
            verb = Verb.START
        for rig in (here, outside):
            rig.step(verb)
        assert here.state() is outside.state()
        assert np.array_equal(here.cycle.frame.command, outside.cycle.frame.command), f"cycle {cycle}"
        assert np.array_equal(here.cycle.frame.measured, outside.cycle.frame.measured)
        if here.state() is State.RUNNING:
            loads.append(float(outside.cycle.frame.field("command.payload_wrench")[2]))
    assert len(loads) > 3000
    assert np.ptp(loads) > 0.1 * 1526.0 * GRAVITY, "the car is shaken, it does not only press"
    assert here.codes() == outside.codes() == []
    assert np.isnan(outside.cycle.frame.vehicle).all()
    assert outside.cycle.vehicles.label == ""


def test_without_its_rig_the_table_carries_the_rigid_body_and_is_not_armed(lab: Lab) -> None:
    car = joined("car", "vehicle")
    car.present = False
    rig = Rig(planned(lab, OUTSIDE), {"car": car})
    rig.step()
    rig.step(Verb.RAISE)
    rig.until(State.READY)
    assert rig.cycle.frame.field("command.payload_wrench")[2] == pytest.approx(-1526.0 * GRAVITY, rel=1e-6)
    rig.step(Verb.ARM)
    assert rig.supervisor.refusal == "arm is refused: rig car has not joined; start it first"
    car.present = True
    car.values[2] = -1526.0 * GRAVITY
    rig.step(Verb.ARM)
    assert rig.state() is State.ARMED
    car.present = False
    rig.step(Verb.START)
    assert rig.supervisor.refusal == "start is refused: rig car has not joined; start it first"
    assert rig.state() is State.ARMED


def test_a_real_plant_is_sent_no_wrench_and_its_actuators_carry_the_rigid_body(lab: Lab) -> None:
    car = joined("car", "vehicle")
    rig = Rig(planned(lab, OUTSIDE), {"car": car})
    rig.cycle.orders.meet_plant(False)
    car.values[2] = -20_000.0
    for _ in range(20):
        rig.step()
    assert not rig.cycle.frame.field("command.payload_wrench").any()
    forces = rig.cycle.frame.field("command.force_references")
    expected = (rig.plan.table.body.mass + 1526.0) * GRAVITY
    assert forces[:4].sum() == pytest.approx(expected, rel=1e-3)


def test_a_table_follows_a_rigs_pose_holds_resumes_and_comes_home(lab: Lab) -> None:
    source = joined("source", "pose", derivatives=True)
    rig = Rig(planned(lab, POSE), {"source": source})

    def step(verb: Verb = Verb.NONE) -> None:
        omega, t = 2.0 * math.pi, rig.now * 1e-9
        source.values[2] = 0.012 * math.sin(omega * t)
        source.values[8] = 0.012 * omega * math.cos(omega * t)
        source.values[14] = -0.012 * omega**2 * math.sin(omega * t)
        rig.step(verb)

    rig.step()
    rig.step(Verb.RAISE)
    rig.until(State.READY)
    rig.step(Verb.ARM)
    rig.step(Verb.START)
    assert rig.state() is State.RUNNING
    first = len(rig.commanded)
    rig.step(Verb.LEVEL, arguments=(0.5,))
    assert (
        rig.supervisor.refusal
        == "level is refused: a pose stream has no level; its amplitude is set by the rig"
    )
    asked, made = [], []
    for cycle in range(40_000):
        step({1800: Verb.HOLD, 3300: Verb.RESUME}.get(cycle, Verb.NONE))
        if cycle == 3200:
            assert rig.state() is State.HOLD
            assert rig.cycle.reference.standing
        if 1200 < cycle < 1800:
            asked.append(source.values[2])
            made.append(rig.commanded[-1][2])
        if rig.state() is State.READY:
            break
    assert rig.state() is State.READY
    assert rig.codes() == []
    assert np.abs(np.subtract(made, asked)).max() < 0.2e-3
    assert np.ptp(made) > 0.01
    poses = np.array(rig.commanded[first:])
    assert np.abs(poses[:, 2]).max() <= 0.02
    assert np.abs(np.diff(poses[:, 2], 3)).max() / PERIOD**3 < 2.0 * 160.0, "of the box, and of the hold"
    assert np.abs(rig.cycle.frame.motion[0]).max() < 2e-4


def test_a_profile_whose_rigs_are_not_here_is_refused_and_changes_nothing(lab: Lab) -> None:
    plan = planned(lab, POSE)
    slots = ProfileSlots()
    rig = Rig(plan, {"source": joined("source", "pose")})
    standing = rig.cycle.orders.loaded
    rig.cycle = plan.bare_cycle(slots)
    rig.cycle.vehicles.rigs = {}
    rig.supervisor = rig.cycle.supervisor
    slots.write(0, ready_profile(plan.inputs, PERIOD, 1.0, slot=0))
    rig.step()
    rig.step(Verb.LOAD, arguments=(0.0, 1.0))
    assert rig.supervisor.refusal == (
        "load is refused: the profile uses rig source, the daemon's settings name: none"
    )
    rig.cycle.vehicles.rigs = {"source": joined("source", "seat")}
    rig.step(Verb.LOAD, arguments=(0.0, 2.0))
    assert "rig source as kind pose, in the daemon's settings it is of kind seat" in rig.supervisor.refusal
    assert rig.cycle.orders.loaded is None
    assert rig.cycle.vehicles.driven is None
    rig.cycle.vehicles.rigs = {"source": joined("source", "pose")}
    rig.step(Verb.LOAD, arguments=(0.0, 3.0))
    assert rig.supervisor.refusal == ""
    assert rig.cycle.orders.loaded is not standing
    assert rig.cycle.vehicles.label == ""
    with pytest.raises(
        SettingsError, match="the rigs' settings have no rig 'source', there are: none; give the rigs"
    ):
        Plan.load(lab.table, lab.profile(POSE), lab.config)


def test_signals_of_rigs_reach_the_vehicle_that_takes_them(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the order of the profile, and before the vehicle is ridden for the first time."""
    taken: list[tuple[str, ...]] = []

    def bind_signals(vehicle: OnTable, rigs: list[BoundRig]) -> None:
        taken.append(tuple(rig.name for rig in rigs))

    plan = planned(lab, f"rigs: [ecu, pedals]\n{INSIDE}")
    monkeypatch.setattr(type(plan.ready.vehicle), "bind_signals", bind_signals)
    rigs = {name: joined(name, "signals") for name in ("pedals", "ecu")}
    rig = Rig(plan, rigs)
    assert taken == [("ecu", "pedals")]
    assert rig.cycle.orders.missing_rig == ""
    rigs["pedals"].present = False
    assert rig.cycle.orders.missing_rig == "pedals"
