"""A driven vehicle that moves the table, in the loop on the real plant: transitions and fallbacks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mastd.loop.cycle.slots import ProfileSlots
from mastd.loop.payload.driver_port import DriverPort
from mastd.loop.process.installation import Plan
from mastd.safety.faults import Code
from mastd.safety.states import State
from mastd.wire.access.verbs import Verb
from mastd.wire.common import vehicle_block as block
from mastd.wire.common.blocks import DRIVER, NewestValueBlock
from tests.support.lab import Lab
from tests.support.rigs.rig import Rig

DRIVE = """
name: in the seat
mode: oils
payload: {{kind: rigid, mass: 2 t, centre_of_gravity: [0 m, 0 m, 1.7 m], inertia: [1 t m2, 1 t m2, 1 t m2]}}
oils:
  vehicle: sedan
  cabin_seat: [0 m, 0 m, 1.5 m]
  speed: {speed}
  duration: {duration}
  road: {road}
  driver: {driver}
  cueing: {{kind: washout}}
"""
MAX_JERK = 60.0
"""m/s³ of the path of C, which the boxes of the settings allow together."""


def rig_of(
    lab: Lab,
    driver: str = "{kind: lane_change}",
    speed: str = "60 km/h",
    road: str = "{kind: flat}",
    duration: str = "4 s",
) -> Rig:
    text = DRIVE.format(driver=driver, speed=speed, road=road, duration=duration)
    return Rig(Plan.load(lab.table, lab.profile(text), lab.config))


def raised(rig: Rig) -> Rig:
    rig.step()
    rig.step(Verb.RAISE)
    rig.until(State.READY)
    return rig


def start(rig: Rig) -> None:
    rig.step(Verb.ARM)
    assert rig.supervisor.refusal == ""
    rig.step(Verb.START)
    assert rig.state() is State.RUNNING


def jerks(rig: Rig, first: int) -> float:
    """Return the largest third difference of the commanded translation since a cycle, m/s³."""
    poses = np.array(rig.commanded[first:])[:, :3]
    return float(np.abs(np.diff(poses, 3, axis=0)).max() / 1e-9)


def test_a_hold_in_mid_turn_stands_the_world_still_and_resume_goes_on_exactly(lab: Lab) -> None:
    through, held = raised(rig_of(lab)), raised(rig_of(lab))
    tracks: list[dict[float, list[float]]] = []
    for rig, holds in ((through, False), (held, True)):
        start(rig)
        first = len(rig.commanded)
        track: dict[float, list[float]] = {}
        for cycle in range(25_000):
            verb = Verb.NONE
            if holds and cycle == 1500:
                verb = Verb.HOLD
            if holds and cycle == 4000:
                assert rig.state() is State.HOLD
                assert rig.cycle.reference.standing
                verb = Verb.RESUME
            rig.step(verb)
            knots = round(float(rig.cycle.reference.stream[1]))
            track[knots] = rig.cycle.frame.vehicle[: block.HEAD + block.DRIVEN].tolist()
            if rig.state() is State.READY:
                break
        assert rig.state() is State.READY
        assert rig.codes() == []
        assert jerks(rig, first) < MAX_JERK
        tracks.append(track)
    assert len(tracks[0]) > 4000
    for knot, numbers in tracks[0].items():
        assert tracks[1][knot] == numbers, f"the car's world at {knot} ms"
    assert np.ptp([numbers[block.YAW_RATE] for numbers in tracks[0].values()]) > 0.1, "it does turn"
    assert np.abs(held.cycle.frame.motion[0]).max() < 1e-3, "the table has come home"


def test_it_starts_where_the_table_stands_and_after_a_stop_from_there(lab: Lab) -> None:
    rig = raised(rig_of(lab, "{kind: cruise}", duration="6 s"))
    rig.step(Verb.JOG, arguments=(0.0, 1.0, 0.01, 0.0))
    for _ in range(3000):
        rig.step()
    assert rig.cycle.frame.motion[0, 1] == pytest.approx(0.01, abs=1e-9)
    start(rig)
    first = len(rig.commanded)
    for _ in range(1500):
        rig.step()
    rig.step(Verb.LEVEL, arguments=(0.5,))
    assert "its gains are in the cueing of the profile" in rig.supervisor.refusal
    rig.step(Verb.STOP)
    rig.until(State.READY)
    stood = rig.cycle.frame.motion[0].copy()
    assert 1e-4 < abs(stood[1]) < 5e-3, "on its way home"
    start(rig)
    rig.until(State.READY, 60_000)
    assert rig.codes() == []
    assert jerks(rig, first) < MAX_JERK
    assert np.abs(rig.cycle.frame.motion[0, :3]).max() < 2e-4


def test_a_vehicle_that_fails_stops_the_table_softly_and_can_be_started_again(lab: Lab) -> None:
    rig = raised(rig_of(lab, "{kind: cruise}", "15 m/s", "{kind: kerb, height: 240 mm, distance: 10 m}"))
    start(rig)
    first = len(rig.commanded)
    rig.until(State.FAULT)
    assert rig.codes() == [int(Code.VEHICLE_FAILED)]
    assert rig.supervisor.enabled, "it stands, held by the drive"
    assert jerks(rig, first) < MAX_JERK
    rig.step(Verb.RESET)
    assert rig.state() is State.READY
    start(rig)
    rig.until(State.FAULT)
    assert rig.codes() == [int(Code.VEHICLE_FAILED)] * 2


def test_a_driver_who_is_lost_is_told_and_taken_back(lab: Lab) -> None:
    rig = raised(rig_of(lab, "{kind: operator, timeout: 100 ms}", "10 m/s", duration="60 s"))
    line = NewestValueBlock(DRIVER)
    rig.cycle.vehicles.driver = DriverPort(NewestValueBlock(DRIVER, line.descriptor))

    def drive(cycles: int, throttle: float | None) -> None:
        for cycle in range(cycles):
            if throttle is not None and cycle % 20 == 0:
                line.field("count")[:] += 1.0
                line.field("throttle")[:] = throttle
                line.field("gear")[:] = 100.0
                line.publish()
            rig.step()

    start(rig)
    drive(1500, 1.0)
    assert rig.supervisor.latch.active.keys() == set()
    numbers = rig.cycle.frame.vehicle
    assert numbers[block.DRIVER + 1] == pytest.approx(1.0)
    quick = numbers[block.SPEED]
    assert quick > 10.5
    drive(1500, None)
    assert Code.DRIVER_LOST in rig.supervisor.latch.active
    assert rig.state() is State.RUNNING
    assert numbers[block.SPEED] < quick - 1.0, "it coasts and brakes gently"
    drive(500, 1.0)
    assert rig.supervisor.latch.active.keys() == set()
    rig.step(Verb.STOP)
    rig.until(State.READY)
    assert int(Code.DRIVER_LOST) in rig.codes()


def test_missed_periods_take_the_drive_along_and_a_stall_does_not(lab: Lab) -> None:
    rig = raised(rig_of(lab, duration="20 s"))
    start(rig)
    for _ in range(1000):
        rig.step()
    reference = rig.cycle.reference
    before = reference.time
    rig.step(skipped=40)
    assert reference.time == pytest.approx(before + 0.041)
    assert reference.stream[1] == pytest.approx(reference.time * 1e3, abs=1.5)
    before = reference.time
    rig.step(skipped=140)
    assert reference.time < before + 0.13, "past what the drive bridges its world has stood still"
    for _ in range(2000):
        rig.step()
    assert rig.state() is State.RUNNING
    assert {Code(code) for code in rig.codes()} <= {Code.STALL, Code.LATE_CYCLES, Code.DRIVE_TIMED_OUT}


def test_a_drive_is_loaded_in_off_only(lab: Lab) -> None:
    rig = rig_of(lab)
    slots = ProfileSlots()
    slots.write(0, replace(rig.plan.ready, slot=0))
    rig.cycle = rig.plan.bare_cycle(slots)
    rig.supervisor = rig.cycle.supervisor
    rig.step()
    rig.step(Verb.LOAD, arguments=(0.0, 1.0))
    assert rig.supervisor.refusal == ""
    assert rig.cycle.vehicles.label.startswith("sedan|oils|")
    raised(rig)
    rig.step(Verb.LOAD, arguments=(0.0, 2.0))
    assert "loads in OFF only; lower the table first" in rig.supervisor.refusal
    start(rig)
    for _ in range(200):
        rig.step()
    assert rig.cycle.frame.vehicle[block.SPEED] == pytest.approx(60.0 / 3.6, rel=0.01)
